/*
 * merge/origins.c - finds origins of reports by the module that they name.
 */
#include "merge/origins.h"

void origins_add(Origins *all, const ReportOrigin *o, uint32_t number) {
    if (!o->told)
        return;
    if (o->module.len)
        map_put(&all->modules, o->module, number, NULL);
    if (!o->name.ptr)
        return;
    map_put(&all->names, o->name, number, NULL);
    if (!o->module.len)
        map_put(&all->bare, o->name, number, NULL);
}

static uint32_t first(const Map *m, Str key) {
    const uint64_t *number = key.ptr ? map_get(m, key) : NULL;
    return number ? (uint32_t)*number : ORIGINS_NONE;
}

uint32_t origins_find(const Origins *all, const ReportOrigin *o) {
    if (!o->told)
        return ORIGINS_NONE;
    if (!o->module.len)
        return first(&all->names, o->name);
    uint32_t same = first(&all->modules, o->module), bare = first(&all->bare, o->name);
    return same < bare ? same : bare;
}

void origins_free(Origins *all) {
    map_free(&all->modules);
    map_free(&all->names);
    map_free(&all->bare);
}
