/*
 * merge/origins.c - finds origins of reports by the module that they name.
 */
#include "merge/origins.h"

Str origins_thread(const ReportOrigin *o) {
    return o->thread.len && !str_is(o->thread, "main") ? o->thread : STR("0");
}

/* The text, after the thread where these are told apart; in `room`. */
static Str key_of(const Origins *all, const ReportOrigin *o, Str text, Buf *room) {
    if (!all->by_thread)
        return text;
    room->len = 0;
    buf_name(room, origins_thread(o));
    buf_str(room, text);
    return buf_view(room);
}

void origins_add(Origins *all, const ReportOrigin *o, uint32_t number) {
    Buf room = {0};
    if (o->told && o->module.len)
        map_put(&all->modules, key_of(all, o, o->module, &room), number, NULL);
    if (o->told && o->name.ptr)
        map_put(&all->names, key_of(all, o, o->name, &room), number, NULL);
    if (o->told && o->name.ptr && !o->module.len)
        map_put(&all->bare, key_of(all, o, o->name, &room), number, NULL);
    buf_free(&room);
}

static uint32_t first(const Origins *all, const Map *m, const ReportOrigin *o, Str text) {
    Buf room = {0};
    const uint64_t *number = text.ptr ? map_get(m, key_of(all, o, text, &room)) : NULL;
    buf_free(&room);
    return number ? (uint32_t)*number : ORIGINS_NONE;
}

uint32_t origins_find(const Origins *all, const ReportOrigin *o) {
    if (!o->told)
        return ORIGINS_NONE;
    if (!o->module.len)
        return first(all, &all->names, o, o->name);
    uint32_t same = first(all, &all->modules, o, o->module);
    uint32_t bare = first(all, &all->bare, o, o->name);
    return same < bare ? same : bare;
}

void origins_free(Origins *all) {
    map_free(&all->modules);
    map_free(&all->names);
    map_free(&all->bare);
}
