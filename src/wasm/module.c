/*
 * wasm/module.c - making, freeing and looking things up in the module model.
 */
#include "wasm/module.h"

#include "wasm/leb.h"

#include <assert.h>

void wasm_module_init(WasmModule *m) {
    *m = (WasmModule){.start = -1};
    for (uint32_t k = 0; k < WASM_SPACE_COUNT; k++)
        m->layout.identity[k] = true;
}

void wasm_module_written(WasmModule *m) {
    for (uint32_t i = 0; i < m->funcs.len; i++)
        buf_free(&m->funcs.at[i].code);
    for (uint32_t i = 0; i < m->tables.len; i++)
        buf_free(&m->tables.at[i].code);
    for (uint32_t i = 0; i < m->elems.len; i++) {
        buf_free(&m->elems.at[i].code);
        buf_free(&m->elems.at[i].content);
    }
    for (uint32_t i = 0; i < m->extras.len; i++) {
        buf_free(&m->extras.at[i].code);
        buf_free(&m->extras.at[i].content);
    }
}

void wasm_module_free(WasmModule *m) {
    wasm_module_written(m);
    vec_free(&m->sections);
    vec_free(&m->refs);
    vec_free(&m->hints);
    vec_free(&m->rare);
    buf_free(&m->func_refs);
    vec_free(&m->types);
    vec_free(&m->funcs);
    vec_free(&m->tables);
    vec_free(&m->memories);
    vec_free(&m->globals);
    vec_free(&m->tags);
    vec_free(&m->elems);
    vec_free(&m->datas);
    vec_free(&m->extras);
    vec_free(&m->imports);
    vec_free(&m->exports);
    for (uint32_t k = 0; k < WASM_SPACE_COUNT; k++)
        free(m->layout.final[k]);
    free(m->layout.called);
    free(m->layout.entered);
    free(m->declared);
    free(m->ops);
    arena_free(&m->arena);
    wasm_module_init(m);
}

WasmExtra *wasm_need_extra(WasmModule *m, uint32_t *extra) {
    assert(*extra <= m->extras.len);
    if (!*extra) {
        vec_add(&m->extras);
        *extra = m->extras.len;
    }
    return &m->extras.at[*extra - 1];
}

WasmExtra *wasm_global_extra(WasmModule *m, WasmGlobal *g) {
    uint32_t extra = g->extra;
    WasmExtra *out = wasm_need_extra(m, &extra);
    g->extra = extra & 0x1fffffff; /* there cannot be more: each takes 64 bytes */
    return out;
}

Str wasm_func_name(const WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    return m->funcs.at[func].name;
}

Str wasm_shown_name(const WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    return m->funcs.at[func].shown;
}

Str wasm_shown_module(const WasmModule *m, const char *path) {
    const char *slash = strrchr(path, '/');
    return m->name.len ? m->name : str_of(slash ? slash + 1 : path);
}

Str wasm_known_name(const WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    const WasmFunc *f = &m->funcs.at[func];
    return f->named ? f->shown : (Str){NULL, 0};
}

bool wasm_names_funcs(const WasmModule *m) {
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (m->funcs.at[f].name.len)
            return true;
    return false;
}

static void show_as(WasmFunc *f, Str name, bool named) {
    f->shown = name;
    f->named = named;
}

/* "module.name"; either may have zero bytes in it. */
static Str import_name(WasmModule *m, const WasmImport *im) {
    uint32_t len = im->module.len + 1 + im->name.len;
    char *text = arena_alloc(&m->arena, len + 1);
    memcpy(text, im->module.ptr, im->module.len);
    text[im->module.len] = '.';
    memcpy(text + im->module.len + 1, im->name.ptr, im->name.len);
    return (Str){text, len};
}

/* "#5", in so much memory as it needs: there may be very many. */
static Str number_name(WasmModule *m, uint32_t func) {
    char text[12], *at = text + sizeof text;
    do {
        *--at = (char)('0' + func % 10);
        func /= 10;
    } while (func);
    *--at = '#';
    uint32_t len = (uint32_t)(text + sizeof text - at);
    return (Str){arena_strndup(&m->arena, at, len), len};
}

void wasm_name_funcs(WasmModule *m) {
    for (uint32_t f = 0; f < m->funcs.len; f++)
        show_as(&m->funcs.at[f], m->funcs.at[f].name, m->funcs.at[f].name.len > 0);
    for (uint32_t i = 0; i < m->exports.len; i++) {
        const WasmExport *e = &m->exports.at[i];
        if (e->space == WASM_SPACE_FUNC && !m->funcs.at[e->handle].named && e->name.len)
            show_as(&m->funcs.at[e->handle], e->name, true);
    }
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        WasmFunc *func = &m->funcs.at[f];
        if (func->named)
            continue;
        const WasmImport *im = func->import >= 0 ? &m->imports.at[func->import] : NULL;
        show_as(func, im ? import_name(m, im) : number_name(m, f), im != NULL);
    }
}

bool wasm_func_code(const WasmModule *m, uint32_t func, WasmCode *code) {
    assert(func < m->funcs.len);
    if (m->funcs.at[func].import >= 0)
        return false;
    *code = wasm_code(wasm_func_body(m, func), m->funcs.at[func].body_size, 0);
    uint32_t groups, n;
    WasmType type;
    if (!wasm_get_u32(code, &groups))
        return false;
    while (groups--)
        if (!wasm_get_u32(code, &n) || !wasm_get_type(code, false, &type))
            return false;
    return true;
}

uint32_t wasm_func_locals(const WasmModule *m, uint32_t func, WasmTypes *out, const char **error) {
    assert(func < m->funcs.len && m->funcs.at[func].import < 0);
    const WasmFunc *f = &m->funcs.at[func];
    const WasmTypeDef *type = wasm_func_type(m, func);
    vec_reserve(out, type->nparams);
    for (uint32_t i = 0; i < type->nparams; i++)
        out->at[out->len++] = type->params[i];
    *error = NULL;
    WasmCode c = f->added ? wasm_code(f->code.data, f->code.len, 0)
                          : wasm_code(m->bytes + f->body, f->body_size, 0);
    uint32_t groups, n;
    uint64_t total = type->nparams;
    WasmType t;
    if (!wasm_get_u32(&c, &groups))
        goto bad;
    while (groups--) {
        if (!wasm_get_u32(&c, &n) || !wasm_get_type(&c, false, &t))
            goto bad;
        if (WASM_IS_REF(t) && !(t & WASM_ABSTRACT_BIT) && WASM_HEAP_OF(t) >= m->types.len) {
            *error = "unknown type of a local";
            return 0;
        }
        total += n;
        if (total > WASM_MAX_LOCALS) {
            *error = "too many locals";
            return 0;
        }
        vec_reserve(out, n);
        while (n--)
            out->at[out->len++] = t;
    }
    return (uint32_t)(c.at - c.start);
bad:
    *error = c.error;
    return 0;
}

const WasmExport *wasm_find_export(const WasmModule *m, WasmSpace space, Str name) {
    assert(space < WASM_SPACE_LOCAL);
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (m->exports.at[i].space == space && str_eq(m->exports.at[i].name, name))
            return &m->exports.at[i];
    return NULL;
}

Map wasm_exports_by_name(const WasmModule *m, WasmSpace space) {
    Map names = {0};
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (m->exports.at[i].space == space)
            map_put(&names, m->exports.at[i].name, i, NULL);
    return names;
}

int64_t wasm_find_import(const WasmModule *m, Str module, Str name) {
    for (uint32_t i = 0; i < m->imports.len; i++) {
        const WasmImport *im = &m->imports.at[i];
        if (im->space == WASM_SPACE_FUNC && str_eq(im->name, name) && str_eq(im->module, module))
            return im->handle;
    }
    return -1;
}

bool wasm_is_wasi(Str module) {
    return str_is(module, "wasi_snapshot_preview1") || str_is(module, "wasi_unstable");
}

#ifndef NDEBUG
/* An import belongs to the entity that names it; definitions have none. */
static bool check_import(const WasmModule *m, int32_t import, WasmSpace space, uint32_t handle) {
    if (import < 0)
        return import == -1;
    const WasmImport *im = &m->imports.at[import];
    return (uint32_t)import < m->imports.len && im->space == space && im->handle == handle;
}

static void check_entities(const WasmModule *m) {
    for (uint32_t i = 0; i < m->tables.len; i++)
        assert(check_import(m, m->tables.at[i].import, WASM_SPACE_TABLE, i));
    for (uint32_t i = 0; i < m->memories.len; i++)
        assert(check_import(m, m->memories.at[i].import, WASM_SPACE_MEMORY, i));
    for (uint32_t i = 0; i < m->tags.len; i++) {
        assert(m->tags.at[i].type < m->types.len);
        assert(check_import(m, m->tags.at[i].import, WASM_SPACE_TAG, i));
    }
    for (uint32_t i = 0; i < m->globals.len; i++) {
        const WasmGlobal *g = &m->globals.at[i];
        assert(!g->imported || check_import(m, (int32_t)g->import, WASM_SPACE_GLOBAL, i));
        assert(g->extra <= m->extras.len);
    }
}

static void check_segments(const WasmModule *m) {
    for (uint32_t i = 0; i < m->elems.len; i++) {
        const WasmElem *e = &m->elems.at[i];
        assert(e->mode != WASM_ACTIVE || e->table < m->tables.len);
        for (uint32_t k = 0; e->added_funcs && k < e->count; k++)
            assert(e->added_funcs[k] < m->funcs.len);
    }
    for (uint32_t i = 0; i < m->datas.len; i++) {
        const WasmData *d = &m->datas.at[i];
        assert(d->mode != WASM_ACTIVE || d->memory < m->memories.len);
        assert(d->extra <= m->extras.len && (!d->joins || i));
    }
}

bool wasm_module_check(const WasmModule *m) {
    uint32_t ninput = m->input_count[WASM_SPACE_FUNC];
    for (uint32_t space = 0; space < WASM_SPACE_LOCAL; space++)
        assert(m->input_imports[space] <= m->input_count[space] &&
               m->input_count[space] <= wasm_space_count(m, space));
    for (uint32_t i = 0; i < m->types.len; i++)
        assert(m->types.at[i].canonical <= i);
    for (uint32_t i = 0; i < m->funcs.len; i++) {
        const WasmFunc *f = &m->funcs.at[i];
        assert(f->type < m->types.len && m->types.at[f->type].kind == WASM_TYPE_FUNC);
        assert(check_import(m, f->import, WASM_SPACE_FUNC, i) && f->added == (i >= ninput));
    }
    check_entities(m);
    check_segments(m);
    for (uint32_t i = 0; i < m->exports.len; i++)
        assert(m->exports.at[i].handle < wasm_space_count(m, m->exports.at[i].space));
    assert(m->start == -1 || m->start < m->funcs.len);
    return true;
}
#endif
