/*
 * wasm/add.c - adding to a module, and the layout: from handles to final indices.
 */
#include "wasm/module.h"

#include <assert.h>

/* ---- layout ---- */

/* Makes final[space][handle] exist for a space whose indices move. */
static void set_final(WasmModule *m, WasmSpace space, uint32_t handle, uint32_t index) {
    if (handle >= m->layout.final_cap[space])
        vec_grow_((void *)&m->layout.final[space], &m->layout.final_cap[space], handle + 1,
                  sizeof(uint32_t));
    m->layout.final[space][handle] = index;
}

static void layout_space(WasmModule *m, WasmSpace space) {
    uint32_t imported = m->input_imports[space], defined = m->input_count[space] - imported;
    uint32_t added_imports = 0;
    for (uint32_t i = m->input_import_count; i < m->imports.len; i++)
        added_imports += m->imports.at[i].space == space;
    if (!added_imports)
        return;
    uint32_t count = wasm_space_count(m, space), next = imported;
    for (uint32_t h = 0; h < imported; h++)
        set_final(m, space, h, h);
    for (uint32_t i = m->input_import_count; i < m->imports.len; i++)
        if (m->imports.at[i].space == space)
            set_final(m, space, m->imports.at[i].handle, next++);
    for (uint32_t h = imported; h < imported + defined; h++)
        set_final(m, space, h, next++);
    /* Additions that are not imports follow in the order of their handles. */
    uint32_t import = m->input_import_count;
    for (uint32_t h = imported + defined; h < count; h++) {
        while (import < m->imports.len &&
               (m->imports.at[import].space != space || m->imports.at[import].handle < h))
            import++;
        if (import == m->imports.len || m->imports.at[import].handle != h)
            set_final(m, space, h, next++);
    }
    m->layout.identity[space] = false;
    for (uint32_t h = 0; h < count && !m->layout.identity[space]; h++)
        if (m->layout.final[space][h] != h)
            return;
    m->layout.identity[space] = true;
}

/* ---- data segments that become one ---- */

enum {
    LATER = 64,        /* segments that may be added after the layout */
    SMALL_GAP = 64,    /* gaps that are looked for first */
    LARGE_GAP = 65536, /* ... and then */
    TRIES = 300        /* gaps that are looked at: each takes a look at all segments */
};

/* Where an active segment goes. */
typedef struct Range {
    uint64_t from, to;
} Range;

static bool add_range_of(const WasmModule *m, const WasmData *d, Range *range) {
    if (d->mode != WASM_ACTIVE ||
        !wasm_const_value(m, d->offset, d->offset_len, NULL, NULL, &range->from))
        return false;
    if (!m->memories.at[d->memory].limits.is64)
        range->from = (uint32_t)range->from;
    range->to = range->from + d->size;
    return range->to >= range->from;
}

/* Whether nothing but zeros is there when segment k is written. */
static bool add_is_empty(const WasmModule *m, uint32_t k, Range gap) {
    uint32_t memory = m->datas.at[k].memory;
    Range range;
    if (m->memories.at[memory].import >= 0)
        return false;
    for (uint32_t i = 0; i < k; i++) {
        const WasmData *d = &m->datas.at[i];
        if (d->mode != WASM_ACTIVE || d->memory != memory || !d->size)
            continue;
        if (!add_range_of(m, d, &range) || (range.from < gap.to && gap.from < range.to))
            return false;
    }
    return true;
}

/* Whether segment k + 1 can be written together with k: both fit, so that neither traps. `tries`:
 * how many gaps may still be looked at. */
static bool can_join(const WasmModule *m, uint32_t k, uint64_t most, uint32_t *tries,
                     uint32_t *gap) {
    const WasmData *a = &m->datas.at[k], *b = &m->datas.at[k + 1];
    Range first, second;
    if (a->memory != b->memory || !add_range_of(m, a, &first) || !add_range_of(m, b, &second) ||
        second.from < first.to || second.from - first.to > most)
        return false;
    const WasmLimits *l = &m->memories.at[a->memory].limits;
    Range between = {first.to, second.from};
    *gap = (uint32_t)(second.from - first.to);
    if (second.to >> l->page_log2 >= l->min || (*gap && !*tries))
        return false;
    *tries -= *gap != 0;
    return !*gap || add_is_empty(m, k, between);
}

/* Joins at most n segments to those before them, the last ones first. Returns how many. */
static uint32_t join_some(WasmModule *m, uint32_t n, uint64_t gap) {
    uint32_t joined = 0, tries = TRIES, zeros;
    for (uint32_t k = m->input_count[WASM_SPACE_DATA]; joined < n && k-- > 1;) {
        if (m->datas.at[k].joins || !can_join(m, k - 1, gap, &tries, &zeros))
            continue;
        m->datas.at[k].joins = true;
        m->datas.at[k].gap = zeros;
        joined++;
    }
    return joined;
}

/* If too many data segments would be there for engines, neighbouring ones of the input become one,
 * where nobody can tell. */
static void join_datas(WasmModule *m) {
    uint32_t count = m->input_count[WASM_SPACE_DATA];
    uint64_t wanted = (uint64_t)m->datas.len + LATER;
    assert(!m->joined_datas);
    if (m->datas.len == count || count > WASM_MAX_DATAS || wanted <= WASM_MAX_DATAS)
        return;
    uint32_t n = (uint32_t)(wanted - WASM_MAX_DATAS);
    m->joined_datas = join_some(m, n, SMALL_GAP);
    m->joined_datas += join_some(m, n - m->joined_datas, LARGE_GAP);
}

/* A segment that is joined to another has its index. */
static void layout_datas(WasmModule *m) {
    join_datas(m);
    if (!m->joined_datas)
        return;
    for (uint32_t h = 0, joined = 0; h < m->datas.len; h++) {
        joined += m->datas.at[h].joins;
        set_final(m, WASM_SPACE_DATA, h, h - joined);
    }
    m->layout.identity[WASM_SPACE_DATA] = false;
}

void wasm_layout(WasmModule *m) {
    assert(wasm_module_check(m));
    if (m->layout.done)
        return;
    m->layout.done = true;
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        layout_space(m, space);
    layout_datas(m);
}

void wasm_wrap_func(WasmModule *m, uint32_t func, uint32_t by) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    assert(m->layout.done && func < n);
    if (!m->layout.called) {
        m->layout.called = mem_alloc(sizeof *m->layout.called * n);
        for (uint32_t h = 0; h < n; h++)
            m->layout.called[h] = wasm_final(m, WASM_SPACE_FUNC, h);
    }
    m->layout.called[func] = wasm_final(m, WASM_SPACE_FUNC, by);
}

void wasm_enter_func(WasmModule *m, uint32_t func, uint32_t by) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    assert(m->layout.done && func < n);
    if (!m->layout.entered)
        m->layout.entered = mem_zalloc(sizeof *m->layout.entered * n);
    m->layout.entered[func] = wasm_final(m, WASM_SPACE_FUNC, by) + 1;
}

/* A definition that is added after the layout goes to the end: index and handle agree. */
static uint32_t added(WasmModule *m, WasmSpace space, uint32_t handle) {
    if (m->layout.done && !m->layout.identity[space])
        set_final(m, space, handle, handle);
    return handle;
}

static Str wasm_add_copy(WasmModule *m, Str s) {
    if (!s.len)
        return (Str){0};
    return (Str){arena_strndup(&m->arena, s.ptr, s.len), s.len};
}

static Buf add_take(Buf *b) {
    Buf taken = *b;
    *b = (Buf){0};
    return taken;
}

/* ---- types ---- */

static bool same_types(const WasmType *a, const WasmType *b, uint32_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

static bool add_is_func_type(const WasmTypeDef *d, const WasmType *params, uint32_t nparams,
                             const WasmType *results, uint32_t nresults) {
    return d->kind == WASM_TYPE_FUNC && d->final && !d->has_super && d->group_len == 1 &&
           d->nparams == nparams && d->nresults == nresults &&
           same_types(d->params, params, nparams) && same_types(d->results, results, nresults);
}

static const WasmType *add_copy_types(WasmModule *m, const WasmType *types, uint32_t n) {
    WasmType *t = arena_array(&m->arena, WasmType, n);
    if (n)
        memcpy(t, types, n * sizeof *t);
    return t;
}

int64_t wasm_find_func_type(const WasmModule *m, const WasmType *params, uint32_t nparams,
                            const WasmType *results, uint32_t nresults) {
    for (uint32_t i = 0; i < m->types.len; i++)
        if (add_is_func_type(&m->types.at[i], params, nparams, results, nresults))
            return i;
    return -1;
}

uint32_t wasm_add_func_type(WasmModule *m, const WasmType *params, uint32_t nparams,
                            const WasmType *results, uint32_t nresults) {
    int64_t same = wasm_find_func_type(m, params, nparams, results, nresults);
    if (same >= 0)
        return (uint32_t)same;
    uint32_t index = m->types.len;
    WasmTypeDef d = {.kind = WASM_TYPE_FUNC,
                     .final = true,
                     .canonical = index,
                     .group = index,
                     .group_len = 1,
                     .nparams = nparams,
                     .nresults = nresults,
                     .params = add_copy_types(m, params, nparams),
                     .results = add_copy_types(m, results, nresults)};
    vec_push(&m->types, d);
    return index;
}

/* ---- imports ---- */

static int32_t add_import(WasmModule *m, Str module, Str name, WasmSpace space, uint32_t handle) {
    assert(!m->layout.done);
    vec_push(&m->imports, (WasmImport){wasm_add_copy(m, module), wasm_add_copy(m, name),
                                       (uint8_t)space, handle});
    return (int32_t)m->imports.len - 1;
}

uint32_t wasm_add_import_func(WasmModule *m, Str module, Str name, uint32_t type) {
    assert(type < m->types.len && m->types.at[type].kind == WASM_TYPE_FUNC);
    uint32_t handle = m->funcs.len;
    int32_t import = add_import(m, module, name, WASM_SPACE_FUNC, handle);
    vec_push(&m->funcs, (WasmFunc){.type = type, .import = import, .added = true});
    return handle;
}

uint32_t wasm_need_import_func(WasmModule *m, Str module, Str name, const WasmTypeDef *d) {
    uint32_t type = wasm_add_func_type(m, d->params, d->nparams, d->results, d->nresults);
    int64_t have = wasm_find_import(m, module, name);
    if (have >= 0 && m->funcs.at[have].type == type)
        return (uint32_t)have;
    return wasm_add_import_func(m, module, name, type);
}

uint32_t wasm_add_import_global(WasmModule *m, Str module, Str name, WasmType type, bool mutable) {
    uint32_t handle = m->globals.len;
    int32_t import = add_import(m, module, name, WASM_SPACE_GLOBAL, handle);
    vec_push(&m->globals,
             (WasmGlobal){
                 .type = type, .mutable = mutable, .imported = true, .import = (uint32_t)import});
    return handle;
}

uint32_t wasm_add_import_memory(WasmModule *m, Str module, Str name, WasmLimits limits) {
    uint32_t handle = m->memories.len;
    int32_t import = add_import(m, module, name, WASM_SPACE_MEMORY, handle);
    vec_push(&m->memories, (WasmMemory){.limits = limits, .import = import});
    return handle;
}

uint32_t wasm_add_import_table(WasmModule *m, Str module, Str name, WasmType type) {
    uint32_t handle = m->tables.len;
    int32_t import = add_import(m, module, name, WASM_SPACE_TABLE, handle);
    vec_push(&m->tables, (WasmTable){.type = type, .import = import});
    return handle;
}

uint32_t wasm_add_import_tag(WasmModule *m, Str module, Str name, uint32_t type) {
    assert(type < m->types.len);
    uint32_t handle = m->tags.len;
    int32_t import = add_import(m, module, name, WASM_SPACE_TAG, handle);
    vec_push(&m->tags, (WasmTag){.type = type, .import = import});
    return handle;
}

/* ---- definitions ---- */

uint32_t wasm_add_func(WasmModule *m, uint32_t type, Str name, Buf *code, bool code_final) {
    assert(type < m->types.len && m->types.at[type].kind == WASM_TYPE_FUNC);
    vec_push(&m->funcs, (WasmFunc){.type = type,
                                   .import = -1,
                                   .name = wasm_add_copy(m, name),
                                   .added = true,
                                   .code = add_take(code),
                                   .code_final = code_final});
    return added(m, WASM_SPACE_FUNC, m->funcs.len - 1);
}

uint32_t wasm_add_global(WasmModule *m, WasmType type, bool mutable, Str name, Buf *init) {
    WasmGlobal g = {.type = type, .mutable = mutable};
    if (name.len || init->len)
        *wasm_global_extra(m, &g) =
            (WasmExtra){.name = wasm_add_copy(m, name), .code = add_take(init)};
    vec_push(&m->globals, g);
    return added(m, WASM_SPACE_GLOBAL, m->globals.len - 1);
}

uint32_t wasm_add_globals_zero(WasmModule *m, WasmType type, bool mutable, uint32_t n) {
    uint32_t first = m->globals.len;
    WasmGlobal zero = {.type = type, .mutable = mutable};
    vec_reserve(&m->globals, n);
    for (uint32_t i = 0; i < n; i++)
        m->globals.at[first + i] = zero;
    m->globals.len += n;
    for (uint32_t i = 0; i < n && m->layout.done; i++)
        added(m, WASM_SPACE_GLOBAL, first + i);
    return first;
}

void wasm_set_global(WasmModule *m, uint32_t global, uint64_t bits) {
    assert(global >= m->input_count[WASM_SPACE_GLOBAL] && global < m->globals.len);
    WasmGlobal *g = &m->globals.at[global];
    wasm_put_init(&wasm_global_extra(m, g)->code, g->type, bits);
}

uint32_t wasm_add_global_i32(WasmModule *m, bool mutable, Str name, int32_t value) {
    Buf init = {0};
    wasm_put_init(&init, WASM_I32, (uint64_t)(int64_t)value);
    return wasm_add_global(m, WASM_I32, mutable, name, &init);
}

void wasm_put_zero(Buf *b, WasmType type) {
    static const uint8_t zeros[16];
    if (type == WASM_V128) {
        wasm_put_op(b, WASM_OP_V128_CONST);
        buf_bytes(b, zeros, sizeof zeros);
    } else if (WASM_IS_REF(type)) {
        wasm_put_op(b, WASM_OP_REF_NULL);
        wasm_put_heap(b, type);
    } else {
        wasm_put_const(b, type, 0);
    }
}

void wasm_put_init(Buf *b, WasmType type, uint64_t bits) {
    if (bits)
        wasm_put_const(b, type, bits);
    else
        wasm_put_zero(b, type);
    wasm_put_op(b, WASM_OP_END);
}

uint32_t wasm_add_global_zero(WasmModule *m, WasmType type, bool mutable, Str name) {
    Buf none = {0};
    return wasm_add_global(m, type, mutable, name, &none);
}

uint32_t wasm_add_memory(WasmModule *m, WasmLimits limits, Str name) {
    vec_push(&m->memories,
             (WasmMemory){.limits = limits, .import = -1, .name = wasm_add_copy(m, name)});
    return added(m, WASM_SPACE_MEMORY, m->memories.len - 1);
}

uint32_t wasm_add_table(WasmModule *m, WasmType type, WasmLimits limits, Str name) {
    vec_push(
        &m->tables,
        (WasmTable){.type = type, .limits = limits, .import = -1, .name = wasm_add_copy(m, name)});
    return added(m, WASM_SPACE_TABLE, m->tables.len - 1);
}

uint32_t wasm_add_tag(WasmModule *m, uint32_t type, Str name) {
    assert(type < m->types.len);
    vec_push(&m->tags, (WasmTag){.type = type, .import = -1, .name = wasm_add_copy(m, name)});
    return added(m, WASM_SPACE_TAG, m->tags.len - 1);
}

uint32_t wasm_add_elem(WasmModule *m, WasmElem e) {
    if (!e.exprs) {
        uint32_t *list = arena_array(&m->arena, uint32_t, e.count);
        if (e.count)
            memcpy(list, e.added_funcs, e.count * sizeof *list);
        e.added_funcs = list;
    }
    vec_push(&m->elems, e);
    return m->elems.len - 1;
}

static uint32_t add_funcs(WasmModule *m, WasmElem e, const uint32_t *funcs, uint32_t nfuncs) {
    e.type = WASM_REF(0, WASM_HEAP(WASM_HEAP_FUNC));
    e.count = nfuncs;
    e.added_funcs = funcs;
    return wasm_add_elem(m, e);
}

uint32_t wasm_add_elem_active(WasmModule *m, uint32_t table, uint64_t at, const uint32_t *funcs,
                              uint32_t nfuncs) {
    assert(table < m->tables.len);
    WasmElem e = {.mode = WASM_ACTIVE, .table = table};
    wasm_put_init(&e.code, wasm_table_address(m, table), at);
    return add_funcs(m, e, funcs, nfuncs);
}

uint32_t wasm_add_elem_passive(WasmModule *m, const uint32_t *funcs, uint32_t nfuncs) {
    return add_funcs(m, (WasmElem){.mode = WASM_PASSIVE}, funcs, nfuncs);
}

uint32_t wasm_add_elem_declared(WasmModule *m, const uint32_t *funcs, uint32_t nfuncs) {
    return add_funcs(m, (WasmElem){.mode = WASM_DECLARATIVE}, funcs, nfuncs);
}

uint32_t wasm_add_data_passive(WasmModule *m, Buf *content, Str name) {
    WasmData d = {.mode = WASM_PASSIVE};
    *wasm_need_extra(m, &d.extra) =
        (WasmExtra){.content = add_take(content), .name = wasm_add_copy(m, name)};
    vec_push(&m->datas, d);
    if (m->joined_datas)
        set_final(m, WASM_SPACE_DATA, m->datas.len - 1, m->datas.len - 1 - m->joined_datas);
    return m->datas.len - 1;
}

uint32_t wasm_add_data_active(WasmModule *m, uint32_t memory, uint64_t at, Buf *content, Str name) {
    assert(memory < m->memories.len);
    uint32_t handle = wasm_add_data_passive(m, content, name);
    WasmData *d = &m->datas.at[handle];
    d->mode = WASM_ACTIVE;
    d->memory = memory;
    wasm_put_init(&wasm_need_extra(m, &d->extra)->code, wasm_memory_address(m, memory), at);
    return handle;
}

void wasm_add_export(WasmModule *m, Str name, WasmSpace space, uint32_t handle) {
    assert(handle < wasm_space_count(m, space));
    vec_push(&m->exports, (WasmExport){wasm_add_copy(m, name), (uint8_t)space, handle});
}

void wasm_set_export(WasmModule *m, uint32_t export, uint32_t handle) {
    assert(export < m->exports.len);
    assert(handle < wasm_space_count(m, m->exports.at[export].space));
    m->exports.at[export].handle = handle;
}

void wasm_set_start(WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    m->start = func;
    m->start_changed = true;
}
