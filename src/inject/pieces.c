/*
 * inject/pieces.c - pieces of code with their offsets in the function that is being edited.
 */
#include "inject/pieces.h"

#include "edit/edit.h"
#include "wasm/emit.h"

#include <assert.h>

void pieces_begin(Pieces *p) {
    p->code.len = p->exit_from = p->exit_to = 0;
    p->at.len = p->around.len = p->ends.len = 0;
    p->left = p->param = UINT32_MAX;
    p->unsorted = false;
    p->only_counts = true;
}

void pieces_free(Pieces *p) {
    buf_free(&p->code);
    vec_free(&p->at);
    vec_free(&p->around);
    vec_free(&p->ends);
}

static inline int order(const WasmPatch *a, const WasmPatch *b) {
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->where != b->where)
        return a->where - b->where;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Sorts pieces by a stable bottom-up merge sort: equal ones stay in the order they were made in. */
static void pieces_sort(Pieces *p) {
    uint32_t n = p->at.len;
    WasmPatch *from = p->at.at, *to = mem_alloc(n * sizeof *to + 1), *spare = to;
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t low = 0; low < n; low += 2 * width) {
            uint32_t mid = low + width < n ? low + width : n,
                     high = low + 2 * width < n ? low + 2 * width : n;
            for (uint32_t a = low, b = mid, k = low; k < high; k++)
                to[k] = a < mid && (b == high || order(&from[a], &from[b]) <= 0) ? from[a++]
                                                                                 : from[b++];
        }
        WasmPatch *swap = from;
        from = to;
        to = swap;
    }
    if (from != p->at.at)
        memcpy(p->at.at, from, n * sizeof *from);
    free(spare);
}

static void pieces_add_one(Pieces *p, const WasmPatch *patch) {
    p->unsorted |= p->at.len && order(&vec_last(&p->at), patch) > 0;
    vec_push(&p->at, *patch);
}

void pieces_add(void *ctx, WasmWhere where, uint32_t at, PieceRank rank, size_t from, size_t to) {
    assert(from <= to && to <= ((Pieces *)ctx)->code.len);
    Pieces *p = ctx;
    if (where == WASM_UNWIND) {
        pieces_add_around(p, where, from);
        return;
    }
    bool leaves =
        rank == RANK_PROBE || (rank >= RANK_LEAVES && rank < RANK_REPLACED && rank % 2 == 0);
    WasmPatch patch = {.at = at,
                       .where = (uint8_t)where,
                       .exits = where == WASM_REPLACE && !leaves,
                       .rank = rank,
                       .code = (uint32_t)from,
                       .len = (uint32_t)(to - from)};
    p->only_counts = false;
    pieces_add_one(p, &patch);
}

void pieces_add_count(Pieces *p, WasmWhere where, uint32_t at, size_t from, size_t to) {
    assert(from <= to && to <= p->code.len);
    pieces_add_one(p, &(WasmPatch){.at = at,
                                   .where = (uint8_t)where,
                                   .rank = RANK_PROBE,
                                   .code = (uint32_t)from,
                                   .len = (uint32_t)(to - from)});
}

void pieces_add_region(void *ctx, WasmWhere where, uint32_t at, uint32_t until, size_t from,
                       size_t to) {
    assert(at <= until);
    Pieces *p = ctx;
    pieces_add(p, where, at, RANK_CONSTRUCT, from, to);
    vec_last(&p->at).until = until;
}

void pieces_add_around(Pieces *p, WasmWhere where, size_t from) {
    assert(from <= p->code.len);
    uint8_t exits = where == WASM_EXIT ? WASM_EXIT_ALL : 0;
    p->only_counts = false;
    vec_push(&p->around, ((WasmPatch){.where = (uint8_t)where,
                                      .exits = exits,
                                      .code = (uint32_t)from,
                                      .len = (uint32_t)(p->code.len - from)}));
}

void pieces_add_exit(Pieces *p, size_t from, PieceExits exits) {
    pieces_add_around(p, WASM_EXIT, from);
    vec_last(&p->around).exits = exits == PIECE_RETURNS ? 0 : WASM_EXIT_ALL | WASM_EXIT_ONLY;
}

static void put_left(Pieces *p) {
    emit(&p->code, "i32.const 1 local.set %u", p->left);
}

void pieces_note_left(Pieces *p, uint32_t local) {
    assert(p->left == UINT32_MAX); /* one for each function */
    size_t from = p->code.len;
    p->left = local;
    put_left(p);
    pieces_add_around(p, WASM_EXIT, from);
    WasmPatch patch = vec_last(&p->around);
    patch.exits = WASM_EXIT_THROW | WASM_EXIT_ONLY;
    memmove(p->around.at + 1, p->around.at, (p->around.len - 1) * sizeof patch);
    p->around.at[0] = patch;
}

void pieces_call_at_throws(Pieces *p, uint32_t func) {
    size_t from = p->code.len;
    emit(&p->code, "call %u", func);
    pieces_add_around(p, WASM_EXIT, from);
    vec_last(&p->around).exits = WASM_EXIT_THROW | WASM_EXIT_ONLY;
}

void pieces_end_program(Pieces *p) {
    assert(p->exit_from <= p->exit_to && p->exit_to <= p->code.len);
    for (uint32_t i = 0; i < p->ends.len; i++) {
        size_t from = p->code.len, len = p->exit_to - p->exit_from;
        if (p->left != UINT32_MAX)
            put_left(p);
        buf_reserve(&p->code, len + 1); /* so that there is an address, even of no bytes */
        buf_bytes(&p->code, p->code.data + p->exit_from, len);
        if (p->code.len > from)
            pieces_add(p, p->ends.at[i].where, p->ends.at[i].at, (PieceRank)p->ends.at[i].rank,
                       from, p->code.len);
    }
}

#ifndef NDEBUG
static bool is_sorted(const Pieces *p) {
    for (uint32_t i = 1; i < p->at.len; i++)
        if (order(&p->at.at[i - 1], &p->at.at[i]) > 0)
            return false;
    return true;
}
#endif

void pieces_finish(Pieces *p, WasmBodyEdit *edit) {
    if (p->unsorted)
        pieces_sort(p);
    assert(is_sorted(p));
    for (uint32_t i = 0; i < p->at.len && p->around.len; i++)
        vec_push(&p->around, p->at.at[i]);
    bool around = p->around.len > 0;
    edit->patches = around ? p->around.at : p->at.at;
    edit->npatches = around ? p->around.len : p->at.len;
    edit->code = p->code.data;
}
