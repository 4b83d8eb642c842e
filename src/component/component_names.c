/*
 * component/component_names.c - names of a component and of its items.
 */
#include "component/component_names.h"

#include "wasm/leb.h"

#include <assert.h>

enum { NAMES_COMPONENT, NAMES_SORT };

/* A subsection: its kind, and for NAMES_SORT the index space and how many names follow. */
typedef struct NamesPart {
    uint8_t kind, space;
    const uint8_t *from;
    WasmCode c; /* over the contents; NAMES_SORT: over the names */
    uint32_t count;
} NamesPart;

bool component_has_names(const ComponentItem *item) {
    return item->kind == COMPONENT_ITEM_CUSTOM && str_is(item->name, "component-name");
}

/* The next subsection; false at the end, or where the section is damaged. */
static bool next_part(WasmCode *c, NamesPart *p) {
    uint32_t size;
    const uint8_t *contents;
    p->from = c->at;
    if (c->at == c->end || !wasm_get_u8(c, &p->kind) || !wasm_get_u32(c, &size) ||
        !wasm_get_bytes(c, size, &contents))
        return false;
    p->c = wasm_code(contents, size, 0);
    p->space = COMPONENT_SPACE_COUNT;
    if (p->kind != NAMES_SORT)
        return true;
    uint8_t sort = 0;
    bool core = wasm_get_u8(&p->c, &sort) && sort == 0;
    if (core && !wasm_get_u8(&p->c, &sort))
        return false;
    p->space = component_space_of(core, sort);
    return p->space != COMPONENT_SPACE_COUNT && wasm_get_u32(&p->c, &p->count);
}

static bool next_name(NamesPart *p, uint32_t *index, Str *name) {
    uint32_t size;
    const uint8_t *text;
    if (!p->count || !wasm_get_u32(&p->c, index) || !wasm_get_u32(&p->c, &size) ||
        !wasm_get_bytes(&p->c, size, &text))
        return false;
    p->count--;
    *name = (Str){(const char *)text, size};
    return true;
}

static WasmCode names_of(const Component *c, uint32_t item) {
    const ComponentItem *it = &c->items.at[item];
    return wasm_code(c->bytes, it->to, it->from);
}

Str component_own_name(const Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        if (!component_has_names(&c->items.at[i]))
            continue;
        NamesPart p;
        uint32_t size;
        const uint8_t *text;
        for (WasmCode code = names_of(c, i); next_part(&code, &p);)
            if (p.kind == NAMES_COMPONENT && wasm_get_u32(&p.c, &size) &&
                wasm_get_bytes(&p.c, size, &text))
                return (Str){(const char *)text, size};
    }
    return (Str){0};
}

void component_names_read(Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        if (!component_has_names(&c->items.at[i]))
            continue;
        NamesPart p;
        uint32_t index;
        Str name;
        for (WasmCode code = names_of(c, i); next_part(&code, &p);) {
            Str **names = p.space == COMPONENT_SPACE_CORE_MODULE ? &c->module_names
                          : p.space == COMPONENT_SPACE_COMPONENT ? &c->component_names
                                                                 : NULL;
            if (names && !*names)
                *names = arena_array(c->arena, Str, c->count[p.space] + 1u);
            while (names && next_name(&p, &index, &name))
                if (index < c->count[p.space])
                    (*names)[index] = name;
        }
    }
}

Str component_name_of(const Component *c, ComponentRef ref) {
    bool module = ref.space == COMPONENT_SPACE_CORE_MODULE;
    assert(module || ref.space == COMPONENT_SPACE_COMPONENT);
    const Str *names = module ? c->module_names : c->component_names;
    return names && ref.index < c->count[ref.space] ? names[ref.index] : (Str){0};
}

/* Appends a subsection of names with other indices; those of items that do not exist are left out.
 */
static void write_names_part(const Component *c, NamesPart *p,
                             uint32_t (*final)(void *ctx, ComponentRef ref), void *ctx, Buf *out) {
    Buf names = {0}, contents = {0};
    uint32_t index, count = 0;
    Str name;
    const uint8_t *sort = p->c.start;
    while (next_name(p, &index, &name)) {
        if (index >= c->count[p->space])
            continue;
        count++;
        buf_uleb(&names, final(ctx, (ComponentRef){p->space, index}));
        buf_uleb(&names, name.len);
        buf_bytes(&names, name.ptr, name.len);
    }
    buf_bytes(&contents, sort, *sort ? 1 : 2);
    buf_uleb(&contents, count);
    buf_bytes(&contents, names.data, names.len);
    buf_u8(out, NAMES_SORT);
    buf_uleb(out, contents.len);
    buf_bytes(out, contents.data, contents.len);
    buf_free(&names);
    buf_free(&contents);
}

void component_names_write(const Component *c, uint32_t item,
                           uint32_t (*final)(void *ctx, ComponentRef ref), void *ctx, Buf *out) {
    NamesPart p;
    for (WasmCode code = names_of(c, item); next_part(&code, &p);) {
        if (p.kind == NAMES_SORT)
            write_names_part(c, &p, final, ctx, out);
        else
            buf_bytes(out, p.from, (size_t)(code.at - p.from));
    }
}
