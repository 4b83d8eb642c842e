/*
 * edit/write_names.c - the name section, completed with the names of additions.
 */
#include "edit/write.h"

#include "wasm/leb.h"

/* Subsections. */
enum {
    NAMES_MODULE,
    NAMES_FUNC,
    NAMES_LOCAL,
    NAMES_LABEL,
    NAMES_TYPE,
    NAMES_TABLE,
    NAMES_MEMORY,
    NAMES_GLOBAL,
    NAMES_ELEM,
    NAMES_DATA,
    NAMES_FIELD,
    NAMES_TAG,
    NAMES_COUNT
};

static const uint8_t name_spaces[NAMES_COUNT] = {
    [NAMES_MODULE] = WASM_SPACE_COUNT,  [NAMES_FUNC] = WASM_SPACE_FUNC,
    [NAMES_LOCAL] = WASM_SPACE_FUNC,    [NAMES_LABEL] = WASM_SPACE_FUNC,
    [NAMES_TYPE] = WASM_SPACE_TYPE,     [NAMES_TABLE] = WASM_SPACE_TABLE,
    [NAMES_MEMORY] = WASM_SPACE_MEMORY, [NAMES_GLOBAL] = WASM_SPACE_GLOBAL,
    [NAMES_ELEM] = WASM_SPACE_ELEM,     [NAMES_DATA] = WASM_SPACE_DATA,
    [NAMES_FIELD] = WASM_SPACE_TYPE,    [NAMES_TAG] = WASM_SPACE_TAG,
};

/* The name of entity `handle` of a space; empty if it has none. */
static Str write_names_name_of(const WasmModule *m, uint8_t space, uint32_t handle) {
    switch (space) {
    case WASM_SPACE_FUNC: return m->funcs.at[handle].name;
    case WASM_SPACE_TABLE: return m->tables.at[handle].name;
    case WASM_SPACE_MEMORY: return m->memories.at[handle].name;
    case WASM_SPACE_GLOBAL: return wasm_extra(m, m->globals.at[handle].extra)->name;
    case WASM_SPACE_TAG: return m->tags.at[handle].name;
    case WASM_SPACE_DATA: return wasm_extra(m, m->datas.at[handle].extra)->name;
    default: return (Str){0};
    }
}

/* The first added item from `h` on that has a name, or how many items there are. Most globals are
 * counters, which have none. */
static uint32_t next_named(const WasmModule *m, uint8_t space, uint32_t h) {
    uint32_t n = wasm_space_count(m, space);
    for (; h < n; h++)
        if (!(space == WASM_SPACE_GLOBAL && !m->globals.at[h].extra) &&
            write_names_name_of(m, space, h).len)
            break;
    return h;
}

static bool is_map(uint8_t kind) {
    return kind < NAMES_COUNT && kind != NAMES_MODULE && kind != NAMES_LOCAL &&
           kind != NAMES_LABEL && kind != NAMES_FIELD;
}

static bool adds_to_map(const WasmModule *m, uint8_t kind) {
    uint8_t space = name_spaces[kind];
    return next_named(m, space, m->input_count[space]) < wasm_space_count(m, space);
}

static uint32_t write_names_locals_added(const WasmModule *m, const WasmWriter *w, uint32_t func) {
    if (!w || !w->locals_added || !w->local_name || m->funcs.at[func].import >= 0)
        return 0;
    return w->locals_added(w->ctx, func);
}

static bool adds_locals(const WasmModule *m, const WasmWriter *w) {
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (write_names_locals_added(m, w, f))
            return true;
    return false;
}

static bool adds_to(const WasmModule *m, const WasmWriter *w, uint8_t kind) {
    return kind == NAMES_LOCAL ? adds_locals(m, w) : is_map(kind) && adds_to_map(m, kind);
}

/* Whether to create a subsection that the input lacks. Its locals have no names then; neither have
 * added ones. */
static bool adds_new(const WasmModule *m, uint8_t kind) {
    return is_map(kind) && adds_to_map(m, kind);
}

bool wasm_names_added(const WasmModule *m, const WasmWriter *w) {
    for (uint8_t kind = 0; kind < NAMES_COUNT; kind++)
        if (adds_to(m, w, kind))
            return true;
    return false;
}

/* One item: an index and the bytes that belong to it (a name with its length, or a map of `count`).
 */
typedef struct Item {
    uint32_t index, handle;
    const uint8_t *at;
    uint32_t len;
    uint32_t count; /* items of an inner map, whose items are `at` */
    bool inner;     /* it is one */
    Str name;       /* instead of `at` */
} Item;
typedef Vec(Item) Items;

static int by_index(const void *a, const void *b) {
    const Item *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_items(Items *items) {
    for (uint32_t k = 1; k < items->len; k++)
        if (items->at[k - 1].index > items->at[k].index) {
            qsort(items->at, items->len, sizeof *items->at, by_index);
            return;
        }
}

static bool skip_name(WasmCode *c) {
    uint32_t n;
    const uint8_t *p;
    return wasm_get_u32(c, &n) && wasm_get_bytes(c, n, &p);
}

/* Reads an item of a map; of a map of maps if `inner`. */
static bool read_item(WasmCode *c, bool inner, Item *item) {
    uint32_t index;
    *item = (Item){.inner = inner};
    if (!wasm_get_u32(c, &item->handle))
        return false;
    if (inner && !wasm_get_u32(c, &item->count))
        return false;
    item->at = c->at;
    if (!inner && !skip_name(c))
        return false;
    for (uint32_t k = 0; k < item->count; k++)
        if (!wasm_get_u32(c, &index) || !skip_name(c))
            return false;
    item->len = (uint32_t)(c->at - item->at);
    return true;
}

static void write_names_read_items(const WasmModule *m, uint8_t kind, WasmCode c, Items *items) {
    bool inner = !is_map(kind);
    uint8_t space = name_spaces[kind];
    uint32_t n;
    Item item;
    if (!wasm_get_u32(&c, &n))
        return;
    for (; n && read_item(&c, inner, &item); n--) {
        if (item.handle >= m->input_count[space] ||
            (space == WASM_SPACE_DATA && m->datas.at[item.handle].joins))
            continue;
        item.index = wasm_final(m, space, item.handle);
        vec_push(items, item);
    }
}

static void write_names_add_names(const WasmModule *m, uint8_t kind, Items *items) {
    uint8_t space = name_spaces[kind];
    uint32_t n = wasm_space_count(m, space);
    for (uint32_t h = m->input_count[space]; (h = next_named(m, space, h)) < n; h++)
        vec_push(items, (Item){.index = wasm_final(m, space, h),
                               .handle = h,
                               .name = write_names_name_of(m, space, h)});
}

/* Adds an item for each function with added locals that has none. */
static void add_local_items(const WasmModule *m, const WasmWriter *w, Items *items) {
    uint32_t nfuncs = m->input_count[WASM_SPACE_FUNC];
    bool *has = mem_zalloc(nfuncs + 1);
    for (uint32_t k = 0; k < items->len; k++)
        has[items->at[k].handle] = true;
    for (uint32_t f = 0; f < nfuncs; f++)
        if (!has[f] && write_names_locals_added(m, w, f))
            vec_push(
                items,
                (Item){.index = wasm_final(m, WASM_SPACE_FUNC, f), .handle = f, .inner = true});
    free(has);
}

static uint32_t count_locals(const WasmModule *m, uint32_t func) {
    WasmTypes locals = {0};
    const char *error;
    wasm_func_locals(m, func, &locals, &error);
    uint32_t n = locals.len;
    vec_free(&locals);
    return n;
}

/* The existing names, if the first added local becomes a parameter: the numbers of the locals
 * after it are higher by one. */
static void put_moved_locals(const WasmModule *m, const WasmWriter *w, const Item *item, Buf *out) {
    uint32_t nparams = wasm_func_type(m, item->handle)->nparams, index = 0;
    Str name = w->local_name(w->ctx, item->handle, 0);
    WasmCode c = wasm_code(item->at, item->len, 0);
    bool put = !name.len;
    for (uint32_t k = 0; k <= item->count; k++) {
        bool more = k < item->count && wasm_get_u32(&c, &index);
        if (!put && (!more || index >= nparams)) {
            buf_uleb(out, nparams);
            buf_name(out, name);
            put = true;
        }
        if (!more)
            return;
        const uint8_t *from = c.at;
        skip_name(&c);
        buf_uleb(out, index + (index >= nparams));
        buf_bytes(out, from, (size_t)(c.at - from));
    }
}

static void put_added_locals(const WasmModule *m, const WasmWriter *w, const Item *item, Buf *out) {
    uint32_t n = write_names_locals_added(m, w, item->handle), named = 0;
    for (uint32_t k = 0; k < n; k++)
        named += w->local_name(w->ctx, item->handle, k).len > 0;
    uint32_t base = n ? count_locals(m, item->handle) : 0;
    bool moved = m->funcs.at[item->handle].new_type > 0;
    buf_uleb(out, item->count + named);
    if (moved)
        put_moved_locals(m, w, item, out);
    else
        buf_bytes(out, item->at, item->len);
    for (uint32_t k = moved; k < n; k++) {
        Str name = w->local_name(w->ctx, item->handle, k);
        if (!name.len)
            continue;
        buf_uleb(out, base + k);
        buf_name(out, name);
    }
}

static void write_names_put_items(const WasmModule *m, const WasmWriter *w, uint8_t kind,
                                  const Items *items, Buf *out) {
    buf_uleb(out, items->len);
    for (uint32_t k = 0; k < items->len; k++) {
        const Item *item = &items->at[k];
        buf_uleb(out, item->index);
        if (item->name.len) {
            buf_name(out, item->name);
        } else if (kind == NAMES_LOCAL) {
            put_added_locals(m, w, item, out);
        } else {
            if (item->inner)
                buf_uleb(out, item->count);
            buf_bytes(out, item->at, item->len);
        }
    }
}

/* Drops the labels of edited bodies: labels are numbered by blocks, and these bodies have more. */
static void drop_labels(Items *items, const bool *resized) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < items->len; k++)
        if (!resized[items->at[k].handle])
            items->at[kept++] = items->at[k];
    items->len = kept;
}

/* A subsection with its header; `old` NULL = there was none. */
static void put_subsection(const WasmModule *m, const WasmWriter *w, uint8_t kind,
                           const WasmCode *old, bool additions, const bool *resized, Buf *out) {
    Items items = {0};
    Buf content = {0};
    if (old)
        write_names_read_items(m, kind, *old, &items);
    if (additions && is_map(kind))
        write_names_add_names(m, kind, &items);
    if (additions && kind == NAMES_LOCAL)
        add_local_items(m, w, &items);
    if (kind == NAMES_LABEL && resized)
        drop_labels(&items, resized);
    sort_items(&items);
    write_names_put_items(m, additions ? w : NULL, kind, &items, &content);
    buf_u8(out, kind);
    buf_vec(out, &content);
    buf_free(&content);
    vec_free(&items);
}

/* New subsections with kinds in [from, to) that the input does not have. */
static void put_new(const WasmModule *m, uint32_t *from, uint32_t to, uint32_t present, Buf *out) {
    for (; *from < to; ++*from)
        if (!(present >> *from & 1) && adds_new(m, (uint8_t)*from))
            put_subsection(m, NULL, (uint8_t)*from, NULL, true, NULL, out);
}

static bool next_subsection(WasmCode *c, uint8_t *kind, WasmCode *sub) {
    uint32_t size;
    const uint8_t *at;
    if (c->at == c->end || !wasm_get_u8(c, kind) || !wasm_get_u32(c, &size) ||
        !wasm_get_bytes(c, size, &at))
        return false;
    *sub = (WasmCode){.start = c->start, .at = at, .end = at + size};
    return true;
}

void wasm_put_names(const WasmModule *m, const WasmWriter *w, const WasmSection *s, bool additions,
                    const bool *resized, Buf *out) {
    WasmCode c = {0}, sub;
    uint32_t present = 0, next = 0;
    uint8_t kind;
    if (s)
        c = wasm_code(m->bytes, s->end, s->payload);
    for (WasmCode look = c; next_subsection(&look, &kind, &sub);)
        present |= kind < NAMES_COUNT ? 1u << kind : 0;
    for (const uint8_t *from = c.at; next_subsection(&c, &kind, &sub); from = c.at) {
        if (additions && kind < NAMES_COUNT)
            put_new(m, &next, kind, present, out);
        bool known = kind < NAMES_COUNT && kind != NAMES_MODULE;
        bool moved = known && !m->layout.identity[name_spaces[kind]];
        bool labels = kind == NAMES_LABEL && resized;
        if (moved || labels || (additions && known && adds_to(m, w, kind)))
            put_subsection(m, w, kind, &sub, additions, resized, out);
        else
            buf_bytes(out, from, (size_t)(c.at - from));
    }
    if (additions)
        put_new(m, &next, NAMES_COUNT, present, out);
}
