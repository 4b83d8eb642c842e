/*
 * locations/locator.c - the locations that are shown, and names for scripts.
 */
#include "locations/locator.h"
#include "base/demangle.h"

#include <assert.h>

static void locator_prepare(Locator *l) {
    if (!l->prepared)
        l->prepare(l->ctx, &l->options);
    l->prepared = true;
}

static void locations_locator_open(Locator *l, const WasmModule *m, const char *without) {
    if (l->locations)
        return;
    locator_prepare(l);
    l->options.without = without;
    l->locations = locations_open(m, &l->options, l->diags);
}

uint32_t locator_at(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                    const LocationFrame **frames) {
    assert(func < m->funcs.len);
    locations_locator_open(l, m, NULL);
    return locations_at(l->locations, func, pc, frames);
}

bool locator_has_file(Locator *l) {
    locator_prepare(l);
    return l->options.debug.bytes.ptr || l->options.named.bytes.ptr;
}

Locations *locator_open(Locator *l, const WasmModule *m) {
    locations_locator_open(l, m, NULL);
    return l->locations;
}

/* The demangled symbol, or the symbol itself. */
static Str demangled(Locator *l, Str symbol) {
    bool added;
    uint64_t *kept = map_put(&l->demangled, symbol, 0, &added);
    if (added) {
        Buf text = {0};
        Str *name = arena_new(&l->names, Str);
        *name = symbol;
        if (demangle(symbol, &text))
            *name = (Str){arena_strndup(&l->names, (const char *)text.data, text.len),
                          (uint32_t)text.len};
        *kept = (uint64_t)(uintptr_t)name;
        buf_free(&text);
    }
    return *(const Str *)(uintptr_t)*kept;
}

Str locator_function(Locator *l, const LocationFrame *frame) {
    if (frame->function.len || !frame->linkage.len)
        return frame->function;
    return demangled(l, frame->linkage);
}

const LocatorPlace *locator_place(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc) {
    if (l->asked && l->func == func && l->pc == pc)
        return &l->place;
    locations_locator_open(l, m, l->without);
    const LocationFrame *f;
    uint32_t n = locator_at(l, m, func, pc, &f);
    l->asked = true;
    l->func = func;
    l->pc = pc;
    l->place = (LocatorPlace){0};
    if (n)
        l->place = (LocatorPlace){f->file, f->line, f->column, locator_function(l, f), n - 1};
    return &l->place;
}

void locator_close(Locator *l) {
    if (l->locations)
        locations_close(l->locations, l->diags);
    map_free(&l->demangled);
    arena_free(&l->names);
    *l = (Locator){0};
}
