/*
 * storage/br_table.c - functions that return the label depth of a br_table's target by its index.
 *
 * Such a function is a br_table itself: it branches out of one block for each different depth; the
 * code after a block returns its depth. Beyond the last target it returns 0.
 */
#include "storage/br_table.h"

#include <assert.h>

#include "wasm/emit.h"

/* The bytes of the targets in the program. */
static Str br_table_key_of(const WasmInstr *i) {
    const uint8_t *end = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        wasm_vec_u32(&end);
    return (Str){(const char *)i->vec, (uint32_t)(end - i->vec)};
}

void br_tables_note(BrTables *t, const WasmInstr *i) {
    bool added;
    map_put(&t->known, br_table_key_of(i), t->lists.len, &added);
    if (!added)
        return;
    TargetList list = {0};
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        vec_push(&list.depths, wasm_vec_u32(&at));
    vec_push(&t->lists, list);
}

typedef struct Ranks {
    Vec(uint32_t) depths; /* the different ones */
    uint32_t *of;         /* by target */
} Ranks;

/* Numbers the different depths in the order in which they occur. */
static Ranks br_table_rank(const TargetList *list) {
    Ranks r = {.of = mem_alloc(sizeof *r.of * (list->depths.len + 1u))};
    Map seen = {0};
    for (uint32_t k = 0; k < list->depths.len; k++) {
        bool added;
        Str key = {(const char *)&list->depths.at[k], sizeof list->depths.at[k]};
        uint64_t *n = map_put(&seen, key, r.depths.len, &added);
        r.of[k] = (uint32_t)*n;
        if (added)
            vec_push(&r.depths, list->depths.at[k]);
    }
    map_free(&seen);
    return r;
}

static uint32_t br_table_add_function(WasmModule *m, const TargetList *list) {
    Ranks r = br_table_rank(list);
    Buf blocks = {0}, results = {0};
    emit(&results, "local.get 0");
    emit_br_table(&results, r.of, list->depths.len, r.depths.len);
    for (uint32_t k = 0; k < r.depths.len; k++) {
        emit(&blocks, "block");
        emit(&results, "end i32.const %u return", r.depths.at[k]);
    }
    uint32_t func = emit_function(
        m, "whammc.targets", "param i32 result i32 block %p %p end i32.const 0", &blocks, &results);
    vec_free(&r.depths);
    free(r.of);
    buf_free(&blocks);
    buf_free(&results);
    return func;
}

void br_tables_add(BrTables *t, WasmModule *m) {
    for (uint32_t k = 0; k < t->lists.len; k++)
        t->lists.at[k].func = br_table_add_function(m, &t->lists.at[k]);
}

uint32_t br_table_function(const BrTables *t, const WasmInstr *i) {
    const uint64_t *index = map_get(&t->known, br_table_key_of(i));
    assert(index); /* pass 1 has noted every br_table that pass 2 asks for */
    return t->lists.at[*index].func;
}

void br_tables_free(BrTables *t) {
    for (uint32_t k = 0; k < t->lists.len; k++)
        vec_free(&t->lists.at[k].depths);
    vec_free(&t->lists);
    map_free(&t->known);
}
