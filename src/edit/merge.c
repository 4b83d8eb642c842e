/*
 * edit/merge.c - copies parts of one module into another.
 *
 * First everything that the roots reach is marked (merge_mark.c); then each marked entity gets a
 * handle in the target; then expressions and bodies are copied with their indices mapped.
 */
#include "edit/merge_mark.h"

#include <assert.h>

#include "edit/merge.h"
#include "valid/subtype.h"
#include "wasm/leb.h"

/* ---- types ---- */

static WasmType merge_map_type(const WasmMerge *g, WasmType t) {
    if (!WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT))
        return t;
    return wasm_with_index(t, g->handles[WASM_SPACE_TYPE][WASM_HEAP_OF(t)]);
}

static const WasmType *map_types(Merge *x, const WasmType *types, uint32_t n) {
    WasmType *copy = arena_array(&x->to->arena, WasmType, n);
    for (uint32_t k = 0; k < n; k++)
        copy[k] = merge_map_type(x->g, types[k]);
    return copy;
}

static void copy_def(Merge *x, const WasmTypeDef *d, uint32_t index, uint32_t group) {
    WasmTypeDef copy = *d;
    const uint32_t *handles = x->g->handles[WASM_SPACE_TYPE];
    copy.super = d->has_super ? handles[d->super] : 0;
    copy.descriptor = d->has_descriptor ? handles[d->descriptor] : 0;
    copy.describes = d->is_descriptor ? handles[d->describes] : 0;
    copy.canonical = index;
    copy.group = group;
    copy.params = map_types(x, d->params, d->nparams);
    copy.results = map_types(x, d->results, d->nresults);
    WasmField *fields = arena_array(&x->to->arena, WasmField, d->nfields);
    for (uint32_t k = 0; k < d->nfields; k++)
        fields[k] = (WasmField){merge_map_type(x->g, d->fields[k].type), d->fields[k].mutable};
    copy.fields = fields;
    vec_push(&x->to->types, copy);
}

static void merge_copy_types(Merge *x) {
    const WasmModule *m = x->from;
    uint32_t *handles = x->g->handles[WASM_SPACE_TYPE];
    for (uint32_t first = 0, end; first < m->types.len; first = end) {
        const WasmTypeDef *d = &m->types.at[first];
        end = first + d->group_len;
        if (!x->marked[WASM_SPACE_TYPE][first])
            continue;
        if (d->group_len == 1 && d->kind == WASM_TYPE_FUNC && d->final && !d->has_super) {
            handles[first] = x->to->types.len; /* for references to itself */
            handles[first] =
                wasm_add_func_type(x->to, map_types(x, d->params, d->nparams), d->nparams,
                                   map_types(x, d->results, d->nresults), d->nresults);
            continue;
        }
        uint32_t group = x->to->types.len;
        for (uint32_t k = first; k < end; k++)
            handles[k] = group + (k - first);
        for (uint32_t k = first; k < end; k++)
            copy_def(x, &m->types.at[k], group + (k - first), group);
    }
}

/* ---- imports ---- */

static bool merge_limits_fit(const WasmLimits *have, const WasmLimits *want) {
    return have->is64 == want->is64 && have->shared == want->shared &&
           have->page_log2 == want->page_log2 && have->min >= want->min &&
           (!want->has_max || (have->has_max && have->max <= want->max));
}

static bool func_types_fit(const WasmModule *m, uint32_t have, uint32_t want) {
    if (have == want || wasm_subtype(m, WASM_REF(0, have), WASM_REF(0, want)))
        return true;
    const WasmTypeDef *a = &m->types.at[have], *b = &m->types.at[want];
    bool same = a->final && b->final && !a->has_super && !b->has_super && a->group_len == 1 &&
                b->group_len == 1 && a->nparams == b->nparams && a->nresults == b->nresults;
    for (uint32_t k = 0; same && k < a->nparams; k++)
        same = wasm_canonical(m, a->params[k]) == wasm_canonical(m, b->params[k]);
    for (uint32_t k = 0; same && k < a->nresults; k++)
        same = wasm_canonical(m, a->results[k]) == wasm_canonical(m, b->results[k]);
    return same;
}

/* Whether handle `h` of the target has the type that the import wants. */
static bool merge_fits(const WasmMerge *g, const WasmImport *im, uint32_t h) {
    const WasmModule *to = g->to, *from = g->from;
    const uint32_t *types = g->handles[WASM_SPACE_TYPE];
    switch (im->space) {
    case WASM_SPACE_FUNC:
        return h < to->funcs.len &&
               to->funcs.at[h].exact >= from->funcs.at[im->handle].exact &&
               func_types_fit(to, to->funcs.at[h].type, types[from->funcs.at[im->handle].type]);
    case WASM_SPACE_TAG:
        return h < to->tags.len &&
               func_types_fit(to, to->tags.at[h].type, types[from->tags.at[im->handle].type]);
    case WASM_SPACE_MEMORY:
        return h < to->memories.len &&
               merge_limits_fit(&to->memories.at[h].limits, &from->memories.at[im->handle].limits);
    case WASM_SPACE_TABLE: {
        const WasmTable *want = &from->tables.at[im->handle];
        return h < to->tables.len && merge_limits_fit(&to->tables.at[h].limits, &want->limits) &&
               wasm_canonical(to, to->tables.at[h].type) ==
                   wasm_canonical(to, merge_map_type(g, want->type));
    }
    default: {
        const WasmGlobal *want = &from->globals.at[im->handle];
        if (h >= to->globals.len || to->globals.at[h].mutable != want->mutable)
            return false;
        WasmType have = to->globals.at[h].type, type = merge_map_type(g, want->type);
        return wasm_canonical(to, have) == wasm_canonical(to, type) ||
               (!want->mutable && wasm_subtype(to, have, type));
    }
    }
}

int64_t wasm_merge_join(const WasmMerge *g, const WasmImport *im) {
    assert(im->handle < wasm_space_count(g->from, im->space));
    WasmModule *to = g->to;
    const WasmModule *from = g->from;
    if (im->space == WASM_SPACE_MEMORY || merge_is_base(im, "__memory_base") ||
        merge_is_base(im, "__table_base") || merge_is_base(im, "__stack_pointer"))
        return -1;
    for (uint32_t k = 0; k < to->imports.len; k++) {
        const WasmImport *have = &to->imports.at[k];
        if (have->space == im->space && str_eq(have->module, im->module) &&
            str_eq(have->name, im->name) && merge_fits(g, im, have->handle))
            return have->handle;
    }
    const uint32_t *types = g->handles[WASM_SPACE_TYPE];
    switch (im->space) {
    case WASM_SPACE_FUNC: {
        const WasmFunc *func = &from->funcs.at[im->handle];
        uint32_t handle = wasm_add_import_func(to, im->module, im->name, types[func->type]);
        to->funcs.at[handle].exact = func->exact;
        return handle;
    }
    case WASM_SPACE_TAG:
        return wasm_add_import_tag(to, im->module, im->name, types[from->tags.at[im->handle].type]);
    case WASM_SPACE_GLOBAL: {
        const WasmGlobal *global = &from->globals.at[im->handle];
        return wasm_add_import_global(to, im->module, im->name, merge_map_type(g, global->type),
                                      global->mutable);
    }
    default: return -1;
    }
}

static Str prefixed(Merge *x, Str name) {
    if (!name.len)
        return name;
    char *text = arena_printf(&x->to->arena, "%.*s%.*s", STR_ARG(x->g->prefix), STR_ARG(name));
    return str_of(text);
}

/* The handle for an unresolved import, or -1. */
static int64_t substitute(Merge *x, const WasmImport *im) {
    bool memory_base = merge_is_base(im, "__memory_base");
    if (memory_base || merge_is_base(im, "__table_base")) {
        Buf init = {0};
        WasmType type = x->from->globals.at[im->handle].type;
        if (x->from->globals.at[im->handle].mutable || (type != WASM_I32 && type != WASM_I64))
            return -1;
        wasm_put_init(&init, type, memory_base ? x->g->memory_base : 0);
        return wasm_add_global(x->to, type, false, prefixed(x, im->name), &init);
    }
    if (im->space == WASM_SPACE_TABLE && str_is(im->name, "__indirect_function_table")) {
        const WasmTable *t = &x->from->tables.at[im->handle];
        WasmType type = merge_map_type(x->g, t->type);
        if (WASM_IS_REF(type) && (type & WASM_NULL_BIT))
            return wasm_add_table(x->to, type, t->limits, (Str){0});
    }
    if (im->space == WASM_SPACE_MEMORY)
        return wasm_add_memory(x->to, x->from->memories.at[im->handle].limits,
                               prefixed(x, STR("memory")));
    return -1;
}

static void put_func_type(Buf *out, const WasmModule *m, uint32_t type) {
    const WasmTypeDef *d = &m->types.at[type];
    char text[32];
    buf_u8(out, '(');
    for (uint32_t k = 0; k < d->nparams; k++)
        buf_printf(out, "%s%s", k ? ", " : "", wasm_type_text(d->params[k], text));
    buf_printf(out, ") -> (");
    for (uint32_t k = 0; k < d->nresults; k++)
        buf_printf(out, "%s%s", k ? ", " : "", wasm_type_text(d->results[k], text));
    buf_u8(out, ')');
    buf_u8(out, 0);
}

/* The message for an import whose type differs from the supplied entity's. */
static bool fail_type(Merge *x, const WasmImport *im, uint32_t at, uint32_t handle) {
    if (im->space != WASM_SPACE_FUNC)
        return merge_fail(
            x, at, "the imported %s %.*s.%.*s does not have the type of what is supplied for it",
            wasm_space_name(im->space), STR_ARG(im->module), STR_ARG(im->name));
    Buf have = {0}, want = {0};
    put_func_type(&want, x->from, x->from->funcs.at[im->handle].type);
    put_func_type(&have, x->to, x->to->funcs.at[handle].type);
    merge_fail(
        x, at, "the imported function %.*s.%.*s is %s here, but what is supplied for it is %s",
        STR_ARG(im->module), STR_ARG(im->name), (const char *)want.data, (const char *)have.data);
    buf_free(&have);
    buf_free(&want);
    return false;
}

static bool merge_resolve(Merge *x, const WasmImport *im) {
    int64_t handle = x->g->resolve ? x->g->resolve(x->g->ctx, im) : -1;
    uint32_t at = (uint32_t)((const uint8_t *)im->name.ptr - x->from->bytes);
    const char *what = wasm_space_name(im->space);
    if (handle == -1)
        handle = substitute(x, im);
    if (handle == -1 && merge_is_base(im, "__stack_pointer"))
        return merge_fail(
            x, at,
            "the module imports its stack pointer: it was linked as a dynamic library "
            "(--shared), and has to be linked with a memory of its own");
    if (handle == -1 && im->space == WASM_SPACE_TABLE)
        return merge_fail(x, at,
                          "nothing is supplied for the imported table %.*s.%.*s: only a table that "
                          "the program also imports can be",
                          STR_ARG(im->module), STR_ARG(im->name));
    if (handle == -1)
        return merge_fail(x, at, "nothing is supplied for the imported %s %.*s.%.*s", what,
                          STR_ARG(im->module), STR_ARG(im->name));
    if (handle < 0)
        return false;
    assert((uint64_t)handle < wasm_space_count(x->to, im->space));
    if (!merge_fits(x->g, im, (uint32_t)handle))
        return fail_type(x, im, at, (uint32_t)handle);
    x->g->handles[im->space][im->handle] = (uint32_t)handle;
    return true;
}

/* Resolves the imports that are memories, or all others. */
static bool resolve_all(Merge *x, bool memories) {
    for (uint32_t k = 0; k < x->from->imports.len; k++) {
        const WasmImport *im = &x->from->imports.at[k];
        if ((im->space == WASM_SPACE_MEMORY) == memories && x->marked[im->space][im->handle] &&
            !merge_resolve(x, im))
            return false;
    }
    return true;
}

/* Memories come first: a resolver may need their handles. */
static bool copy_imports(Merge *x) {
    const WasmModule *m = x->from;
    if (!resolve_all(x, true))
        return false;
    for (uint32_t k = m->input_imports[WASM_SPACE_MEMORY]; k < m->memories.len; k++) {
        const WasmMemory *mem = &m->memories.at[k];
        if (x->marked[WASM_SPACE_MEMORY][k])
            x->g->handles[WASM_SPACE_MEMORY][k] = wasm_add_memory(
                x->to, mem->limits, prefixed(x, mem->name.len ? mem->name : STR("memory")));
    }
    return resolve_all(x, false);
}

/* ---- definitions ---- */

static bool copy_expr(Merge *x, uint32_t offset, uint32_t len, Buf *out) {
    WasmCode c = wasm_code(x->from->bytes + offset, len, 0);
    return wasm_copy_code(&c, &x->map, out);
}

/* Tables come before globals, so their initial values can only use imported ones. */
static bool check_table_init(Merge *x, uint32_t k) {
    const WasmTable *t = &x->from->tables.at[k];
    WasmCode c = wasm_code(x->from->bytes + t->init, t->init_len, 0);
    WasmInstr i;
    while (wasm_next(&c, &i)) {
        uint32_t h = i.op == WASM_OP_GLOBAL_GET ? x->g->handles[WASM_SPACE_GLOBAL][i.a] : 0;
        if (i.op == WASM_OP_GLOBAL_GET &&
            (h >= x->to->globals.len || !x->to->globals.at[h].imported))
            return merge_fail(x, t->init,
                              "the initial value of table %u is from global %u, which is an import "
                              "that does not stay one",
                              k, i.a);
    }
    return true;
}

static bool copy_tables(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->tables.len; k++) {
        const WasmTable *t = &m->tables.at[k];
        if (!x->marked[WASM_SPACE_TABLE][k] || t->import >= 0)
            continue;
        bool init = t->init_len && merge_keeps(x, WASM_SPACE_TABLE, k);
        if (init && !check_table_init(x, k))
            return false;
        uint32_t handle =
            wasm_add_table(x->to, merge_map_type(x->g, t->type), t->limits, prefixed(x, t->name));
        x->g->handles[WASM_SPACE_TABLE][k] = handle;
        if (init)
            copy_expr(x, t->init, t->init_len, &x->to->tables.at[handle].code);
    }
    return true;
}

static void copy_tags(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->tags.len; k++) {
        const WasmTag *t = &m->tags.at[k];
        if (x->marked[WASM_SPACE_TAG][k] && t->import < 0)
            x->g->handles[WASM_SPACE_TAG][k] =
                wasm_add_tag(x->to, x->g->handles[WASM_SPACE_TYPE][t->type], prefixed(x, t->name));
    }
}

/* Functions get their handles here and their code at the end. */
static void copy_func_heads(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const WasmFunc *f = &m->funcs.at[k];
        if (!x->marked[WASM_SPACE_FUNC][k] || f->import >= 0)
            continue;
        Buf none = {0};
        uint32_t type = x->g->handles[WASM_SPACE_TYPE][f->type];
        x->g->handles[WASM_SPACE_FUNC][k] =
            wasm_add_func(x->to, type, prefixed(x, f->name), &none, false);
    }
}

static bool copy_func_code(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const WasmFunc *f = &m->funcs.at[k];
        if (!x->marked[WASM_SPACE_FUNC][k] || f->import >= 0)
            continue;
        WasmCode c = wasm_code(m->bytes + f->body, f->body_size, 0);
        Buf *out = &x->to->funcs.at[x->g->handles[WASM_SPACE_FUNC][k]].code;
        if (!wasm_copy_locals(&c, &x->map, out) || !wasm_copy_code(&c, &x->map, out))
            return merge_fail(x, f->body + c.error_offset, "%s", c.error);
    }
    return true;
}

static void copy_globals(Merge *x) {
    const WasmModule *m = x->from;
    for (uint32_t k = 0; k < m->globals.len; k++) {
        const WasmGlobal *g = &m->globals.at[k];
        if (!x->marked[WASM_SPACE_GLOBAL][k] || g->imported)
            continue;
        bool number = g->type == WASM_I32 || g->type == WASM_I64;
        uint64_t v;
        Buf init = {0};
        if (!merge_keeps(x, WASM_SPACE_GLOBAL, k)) {
            /* the caller's */
        } else if (number && merge_const(x, g->init, g->init_len, &v)) {
            wasm_put_init(&init, g->type, v);
        } else {
            copy_expr(x, g->init, g->init_len, &init);
        }
        x->g->handles[WASM_SPACE_GLOBAL][k] =
            wasm_add_global(x->to, merge_map_type(x->g, g->type), g->mutable,
                            prefixed(x, wasm_extra(m, g->extra)->name), &init);
    }
}

/* The offset of an active segment. */
static void copy_offset(Merge *x, bool is64, uint32_t offset, uint32_t len, Buf *out) {
    uint64_t v;
    if (!merge_const(x, offset, len, &v)) {
        copy_expr(x, offset, len, out);
        return;
    }
    wasm_put_init(out, is64 ? WASM_I64 : WASM_I32, v);
}

static void copy_elem(Merge *x, uint32_t k) {
    const WasmElem *e = &x->from->elems.at[k];
    bool kept = merge_keeps(x, WASM_SPACE_ELEM, k);
    WasmElem copy = {.mode = kept ? e->mode : WASM_PASSIVE,
                     .type = merge_map_type(x->g, e->type),
                     .count = kept ? e->count : 0,
                     .exprs = e->exprs};
    if (copy.mode == WASM_ACTIVE) {
        copy.table = x->g->handles[WASM_SPACE_TABLE][e->table];
        copy_offset(x, x->to->tables.at[copy.table].limits.is64, e->offset, e->offset_len,
                    &copy.code);
    }
    uint32_t *funcs = NULL;
    if (kept && e->exprs) {
        copy_expr(x, e->items, merge_items_len(x->from, e), &copy.content);
    } else if (kept) {
        const uint8_t *at = x->from->bytes + e->items;
        funcs = mem_alloc(sizeof *funcs * ((size_t)e->count + 1));
        for (uint32_t n = 0; n < e->count; n++)
            funcs[n] = x->g->handles[WASM_SPACE_FUNC][(uint32_t)wasm_uleb(&at)];
        copy.added_funcs = funcs;
    }
    x->g->handles[WASM_SPACE_ELEM][k] = wasm_add_elem(x->to, copy);
    free(funcs);
}

static void copy_elems(Merge *x) {
    for (uint32_t k = 0; k < x->from->elems.len; k++)
        if (x->marked[WASM_SPACE_ELEM][k])
            copy_elem(x, k);
    for (uint32_t k = 0; k < x->declared.len; k++)
        x->declared.at[k] = x->g->handles[WASM_SPACE_FUNC][x->declared.at[k]];
    if (x->declared.len)
        wasm_add_elem_declared(x->to, x->declared.at, x->declared.len);
}

static void copy_data(Merge *x, uint32_t k) {
    const WasmData *d = &x->from->datas.at[k];
    bool kept = merge_keeps(x, WASM_SPACE_DATA, k);
    Buf content = {0};
    if (kept)
        buf_bytes(&content, x->from->bytes + d->bytes, d->size);
    uint32_t handle =
        wasm_add_data_passive(x->to, &content, prefixed(x, wasm_extra(x->from, d->extra)->name));
    x->g->handles[WASM_SPACE_DATA][k] = handle;
    if (!kept || d->mode == WASM_PASSIVE)
        return;
    WasmData *copy = &x->to->datas.at[handle];
    copy->mode = WASM_ACTIVE;
    copy->memory = x->g->handles[WASM_SPACE_MEMORY][d->memory];
    copy_offset(x, x->to->memories.at[copy->memory].limits.is64, d->offset, d->offset_len,
                &wasm_need_extra(x->to, &copy->extra)->code);
}

static bool copy_all(Merge *x) {
    merge_copy_types(x);
    if (!copy_imports(x))
        return false;
    copy_func_heads(x);
    if (!copy_tables(x))
        return false;
    copy_tags(x);
    copy_globals(x);
    copy_elems(x);
    for (uint32_t k = 0; k < x->from->datas.len; k++)
        if (x->marked[WASM_SPACE_DATA][k])
            copy_data(x, k);
    return copy_func_code(x);
}

/* ---- the whole ---- */

/* Whether code can use an existing memory. */
static bool merge_check_memory(Merge *x) {
    const WasmModule *m = x->from;
    if (x->g->whole)
        return true;
    if (m->memories.len > 1)
        return merge_fail(x, 0, "the module has %u memories; only one can be merged",
                          m->memories.len);
    if (m->memories.len == 0 || !x->marked[WASM_SPACE_MEMORY][0])
        return true;
    if (x->g->memory >= x->to->memories.len)
        return merge_fail(x, 0, "the module uses its memory, and there is none to merge it into");
    if (x->to->memories.at[x->g->memory].limits.is64 != m->memories.at[0].limits.is64)
        return merge_fail(x, 0, "memories of 32 and of 64 bits cannot be merged");
    return true;
}

/* Makes room for the result, unless there is one of an earlier call. */
static void start_merge(WasmMerge *g) {
    if (g->handles[WASM_SPACE_TYPE])
        return;
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++) {
        size_t size = sizeof(uint32_t) * ((size_t)g->from->input_count[space] + 1);
        g->handles[space] = mem_alloc(size);
        memset(g->handles[space], 0xff, size);
    }
    for (uint32_t k = 0; !g->whole && k < g->from->input_count[WASM_SPACE_MEMORY]; k++)
        g->handles[WASM_SPACE_MEMORY][k] = g->memory;
}

/* Skips entities that an earlier call has copied. */
static void unmark_copied(Merge *x) {
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        for (uint32_t k = 0; k < x->from->input_count[space]; k++)
            if (x->g->handles[space][k] != UINT32_MAX)
                x->marked[space][k] = 0;
}

static void find_first_calls(WasmMerge *g) {
    bool begins = g->whole && !g->keep;
    int64_t initialize = begins ? merge_initialize(g->from) : -1;
    const uint32_t *funcs = g->handles[WASM_SPACE_FUNC];
    g->start = begins && g->from->start >= 0 ? (int64_t)funcs[g->from->start] : -1;
    g->initialize = initialize >= 0 ? (int64_t)funcs[initialize] : -1;
}

static bool merge(WasmMerge *g, WasmSpace root_space, const uint32_t *roots, uint32_t nroots,
                  Diags *diags) {
    Merge x = {.g = g, .from = g->from, .to = g->to, .diags = diags};
    start_merge(g);
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++) {
        uint32_t n = g->from->input_count[space];
        x.marked[space] = mem_zalloc(n + 1u);
        x.map.map[space] = space == WASM_SPACE_LOCAL ? NULL : g->handles[space];
        x.map.count[space] = n;
    }
    bool ok = merge_mark(&x, root_space, roots, nroots) && merge_check_memory(&x);
    unmark_copied(&x);
    ok = ok && copy_all(&x);
    if (ok)
        find_first_calls(g);
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        free(x.marked[space]);
    vec_free(&x.todo);
    vec_free(&x.declared);
    return ok;
}

bool wasm_merge(WasmMerge *g, const uint32_t *roots, uint32_t nroots, Diags *diags) {
    assert(g->to != g->from && !g->to->layout.done);
    return merge(g, WASM_SPACE_FUNC, roots, nroots, diags);
}

bool wasm_merge_one(WasmMerge *g, WasmSpace space, uint32_t index, Diags *diags) {
    assert(index < wasm_space_count(g->from, space));
    return merge(g, space, &index, 1, diags);
}

uint32_t wasm_merge_func(const WasmMerge *g, const WasmImport *im, const char *name, Buf *code) {
    assert(im->space == WASM_SPACE_FUNC && g->handles[WASM_SPACE_TYPE]);
    uint32_t type = g->handles[WASM_SPACE_TYPE][g->from->funcs.at[im->handle].type];
    return wasm_add_func(g->to, type, str_of(name), code, false);
}

void wasm_merge_free(WasmMerge *g) {
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++) {
        free(g->handles[space]);
        g->handles[space] = NULL;
    }
}
