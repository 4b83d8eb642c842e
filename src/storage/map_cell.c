/*
 * storage/map_cell.c - the elements of maps that are cells.
 */
#include "storage/map_cell.h"

#include "plan/describe.h"

static const Var *decl_of(const MapCells *c, uint32_t map) {
    return c->plan->vars.at[c->plan->cells.maps.at[map].var].decl;
}

static Str description(MapCells *c, const Type *t) {
    Buf text = {0};
    describe_type(t, &text);
    Str s = {arena_strndup(&c->arena, (const char *)text.data, text.len), (uint32_t)text.len};
    buf_free(&text);
    return s;
}

void cells_init(MapCells *c, const Plan *plan) {
    *c = (MapCells){.plan = plan};
    c->maps = arena_array(&c->arena, CellRow, plan->cells.maps.len + 1);
    for (uint32_t i = 0; i < plan->cells.maps.len; i++) {
        const CellMap *m = &plan->cells.maps.at[i];
        const Type *type = decl_of(c, i)->type;
        c->maps[i] = (CellRow){.key = description(c, type->key),
                               .value = description(c, type->value),
                               .nleaves = type_leaves(type->key),
                               .step = 8 * (uint64_t)(m->leaves + m->marked)};
    }
}

void cells_free(MapCells *c) {
    arena_free(&c->arena);
    vec_free(&c->list);
    vec_free(&c->leaves);
    map_free(&c->by_key);
    buf_free(&c->scratch);
}

/* ---- keys ---- */

/* A leaf of a key as the runtime keeps it: all zeros are the same. */
static uint64_t map_cell_key_word(Value v) {
    uint64_t bits = value_wasm_bits(v);
    switch (v.kind) {
    case TYPE_U64:
    case TYPE_I64: return bits;
    case TYPE_F64: return bits == UINT64_C(1) << 63 ? 0 : bits;
    case TYPE_F32: return (uint32_t)bits == UINT32_C(1) << 31 ? 0 : (uint32_t)bits;
    default: return (uint32_t)bits;
    }
}

/* The key's contents as bytes; false if it has no value at the site. */
static bool key_bytes(const CellKey *key, const Site *site, Buf *b) {
    b->len = 0;
    buf_u32le(b, key->map);
    for (uint32_t i = 0; i < key->nleaves; i++) {
        Value v;
        if (!fold(key->leaves[i], site, &v))
            return false;
        if (v.kind == TYPE_STR)
            buf_name(b, v.text);
        else
            buf_u64le(b, map_cell_key_word(v));
    }
    return true;
}

static void keep_leaves(MapCells *c, const CellKey *key, const Site *site) {
    for (uint32_t i = 0; i < key->nleaves; i++) {
        Value v;
        ImageKeyLeaf leaf = {0};
        fold(key->leaves[i], site, &v);
        if (v.kind == TYPE_STR)
            leaf.text = (Str){arena_strndup(&c->arena, v.text.ptr, v.text.len), v.text.len};
        else
            leaf.word = map_cell_key_word(v);
        vec_push(&c->leaves, leaf);
    }
}

uint32_t cells_count(MapCells *c, const Variant *v, const Site *site) {
    uint32_t globals = 0;
    for (uint32_t i = 0; i < v->keys.list.len; i++) {
        const CellKey *key = &v->keys.list.at[i];
        if (!key_bytes(key, site, &c->scratch))
            continue;
        bool added;
        Str bytes = buf_view(&c->scratch);
        uint64_t at = *map_put(&c->by_key, bytes, c->list.len, &added);
        if (added) {
            vec_push(&c->list,
                     ((MapCell){.map = key->map, .key = c->leaves.len, .first_sum = c->nsums}));
            c->nsums += c->plan->cells.maps.at[key->map].leaves + 1;
            keep_leaves(c, key, site);
            c->maps[key->map].n++;
            globals += c->plan->cells.maps.at[key->map].leaves;
        }
        globals += key->marks && !c->list.at[at].marked;
        c->list.at[at].marked |= key->marks;
    }
    return globals;
}

const MapCell *cells_find(const MapCells *c, const Variant *v, uint32_t n, const Site *site,
                          Buf *scratch) {
    if (!key_bytes(&v->keys.list.at[n], site, scratch))
        return NULL;
    uint64_t *at = map_get(&c->by_key, buf_view(scratch));
    return at ? &c->list.at[*at] : NULL;
}

/* ---- order ---- */

/* An element for qsort. */
typedef struct Sorted {
    const MapCells *cells;
    uint32_t at;
} Sorted;

static int map_cell_by_key(const void *a, const void *b) {
    const Sorted *x = a, *y = b;
    const MapCells *c = x->cells;
    const MapCell *p = &c->list.at[x->at], *q = &c->list.at[y->at];
    return image_compare_keys(c->maps[p->map].key, c->leaves.at + p->key, c->leaves.at + q->key);
}

static void sort_row(MapCells *c, CellRow *row, Sorted *list) {
    for (uint32_t i = 0; i < row->n; i++)
        list[i] = (Sorted){c, row->sorted[i]};
    if (row->n)
        qsort(list, row->n, sizeof *list, map_cell_by_key);
    for (uint32_t i = 0; i < row->n; i++) {
        row->sorted[i] = list[i].at;
        c->list.at[list[i].at].rank = i;
    }
}

void cells_close(MapCells *c) {
    Sorted *list = mem_alloc(sizeof *list * (c->list.len + 1u));
    uint32_t *n = mem_zalloc(sizeof *n * (c->plan->cells.maps.len + 1u));
    for (uint32_t i = 0; i < c->plan->cells.maps.len; i++)
        c->maps[i].sorted = arena_array(&c->arena, uint32_t, c->maps[i].n + 1);
    for (uint32_t i = 0; i < c->list.len; i++) {
        uint32_t map = c->list.at[i].map;
        c->maps[map].sorted[n[map]++] = i;
    }
    for (uint32_t i = 0; i < c->plan->cells.maps.len; i++)
        sort_row(c, &c->maps[i], list);
    free(n);
    free(list);
}

/* ---- the report ---- */

void cells_add_row(MapCells *c, Image *image, uint32_t image_var, uint32_t map, uint32_t id) {
    const CellMap *m = &c->plan->cells.maps.at[map];
    CellRow *row = &c->maps[map];
    ImageKeyLeaf *keys = mem_alloc(sizeof *keys * ((size_t)row->n * row->nleaves + 1));
    for (uint32_t i = 0; i < row->n; i++)
        for (uint32_t k = 0; k < row->nleaves; k++)
            keys[(size_t)i * row->nleaves + k] = c->leaves.at[c->list.at[row->sorted[i]].key + k];
    ImageCells cells = {.id = id,
                        .key = row->key,
                        .value = row->value,
                        .marked = m->marked,
                        .counts = m->counts,
                        .leaves = row->nleaves,
                        .n = row->n,
                        .keys = keys};
    row->row = image_cells_row(image, image_var, &cells);
    free(keys);
}

/* ---- layout ---- */

uint64_t cells_hidden_size(const MapCells *c) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < c->plan->cells.maps.len; i++)
        if (!decl_of(c, i)->report)
            size += c->maps[i].n * c->maps[i].step;
    return size;
}

void cells_place(MapCells *c, const Image *image, uint64_t values_at, uint64_t hidden_at) {
    for (uint32_t i = 0; i < c->plan->cells.maps.len; i++) {
        CellRow *row = &c->maps[i];
        bool reported = decl_of(c, i)->report;
        row->at = reported ? values_at + image_tail_offset(image, row->row) : hidden_at;
        if (!reported)
            hidden_at += row->n * row->step;
    }
}

void cells_add(MapCells *c, WasmModule *m) {
    for (uint32_t i = 0; i < c->list.len; i++) {
        MapCell *cell = &c->list.at[i];
        const Type *value = decl_of(c, cell->map)->type->value;
        cell->first_global = m->globals.len;
        for (uint32_t k = 0; k < c->plan->cells.maps.at[cell->map].leaves; k++)
            wasm_add_global_zero(m, type_wasm(type_leaf(value, k)), true, STR(""));
        if (cell->marked)
            wasm_add_global_zero(m, WASM_I32, true, STR(""));
    }
}

uint64_t cells_address(const MapCells *c, const MapCell *cell) {
    const CellRow *row = &c->maps[cell->map];
    return row->at + cell->rank * row->step;
}
