/*
 * wasm/read_names.c - names of things, from the custom section "name".
 */
#include "wasm/read.h"

static bool get_name(WasmCode *c, Str *name) {
    uint32_t n;
    const uint8_t *p;
    if (!wasm_get_u32(c, &n) || !wasm_get_bytes(c, n, &p))
        return false;
    *name = (Str){(const char *)p, n};
    return true;
}

/* Where the name of entity `index` is kept, or NULL. */
static Str *name_slot(WasmModule *m, uint8_t kind, uint32_t index) {
    switch (kind) {
    case 1: return index < m->funcs.len ? &m->funcs.at[index].name : NULL;
    case 5: return index < m->tables.len ? &m->tables.at[index].name : NULL;
    case 6: return index < m->memories.len ? &m->memories.at[index].name : NULL;
    case 7: return index < m->globals.len ? &m->globals.at[index].name : NULL;
    case 9: return index < m->datas.len ? &m->datas.at[index].name : NULL;
    case 11: return index < m->tags.len ? &m->tags.at[index].name : NULL;
    default: return NULL;
    }
}

static void read_map(WasmModule *m, uint8_t kind, WasmCode c) {
    uint32_t n, index;
    if (!wasm_get_u32(&c, &n))
        return;
    Str name;
    for (; n && wasm_get_u32(&c, &index) && get_name(&c, &name); n--) {
        Str *slot = name_slot(m, kind, index);
        if (slot && !slot->len)
            *slot = name;
    }
}

void wasm_read_names(WasmModule *m, const WasmSection *s) {
    WasmCode c = {.start = m->bytes, .at = m->bytes + s->payload, .end = m->bytes + s->end};
    uint8_t kind;
    uint32_t size;
    const uint8_t *at;
    while (c.at < c.end && wasm_get_u8(&c, &kind) && wasm_get_u32(&c, &size) &&
           wasm_get_bytes(&c, size, &at)) {
        WasmCode sub = {.start = m->bytes, .at = at, .end = at + size};
        if (kind == 0)
            get_name(&sub, &m->name);
        else
            read_map(m, kind, sub);
    }
}
