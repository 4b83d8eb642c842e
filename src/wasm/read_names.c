/*
 * wasm/read_names.c - the custom sections that the model knows: names of things ("name") and notes
 * on instructions ("metadata.code.branch_hint" and others of that form).
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
    case 7:
        return index < m->globals.len ? &wasm_global_extra(m, &m->globals.at[index])->name : NULL;
    case 9:
        index -= m->skipped_datas;
        return index < m->datas.len ? &wasm_need_extra(m, &m->datas.at[index].extra)->name : NULL;
    case 11: return index < m->tags.len ? &m->tags.at[index].name : NULL;
    default: return NULL;
    }
}

static void read_names_read_map(WasmModule *m, uint8_t kind, WasmCode c) {
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
            read_names_read_map(m, kind, sub);
    }
}

/* ---- notes on instructions ---- */

bool wasm_is_hint_section(const WasmSection *s) {
    static const char prefix[] = "metadata.code.";
    return s->id == WASM_SEC_CUSTOM && s->name.len >= sizeof prefix - 1 &&
           memcmp(s->name.ptr, prefix, sizeof prefix - 1) == 0;
}

static bool read_func_hints(WasmModule *m, WasmCode *c, uint32_t section) {
    WasmHint h = {.section = section};
    uint32_t n;
    const uint8_t *data;
    if (!wasm_get_u32(c, &h.func) || !wasm_get_u32(c, &n))
        return false;
    while (n--) {
        if (!wasm_get_u32(c, &h.offset) || !wasm_get_u32(c, &h.size) ||
            !wasm_get_bytes(c, h.size, &data))
            return false;
        h.data = (uint32_t)(data - m->bytes);
        h.moved = h.offset;
        vec_push(&m->hints, h);
    }
    return h.func < m->funcs.len && m->funcs.at[h.func].import < 0;
}

static int read_names_by_place(const void *a, const void *b) {
    const WasmHint *x = a, *y = b;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->data < y->data ? -1 : x->data > y->data;
}

void wasm_read_hints(WasmModule *m) {
    for (uint32_t k = 0; k < m->sections.len; k++) {
        const WasmSection *s = &m->sections.at[k];
        if (!wasm_is_hint_section(s))
            continue;
        WasmCode c = {.start = m->bytes, .at = m->bytes + s->payload, .end = m->bytes + s->end};
        uint32_t n, before = m->hints.len;
        bool ok = wasm_get_u32(&c, &n);
        while (ok && n--)
            ok = read_func_hints(m, &c, k);
        if (!ok || c.at != c.end)
            m->hints.len = before;
    }
    if (m->hints.len)
        qsort(m->hints.at, m->hints.len, sizeof *m->hints.at, read_names_by_place);
}
