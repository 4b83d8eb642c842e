/*
 * rewrite/counting.c - the counters of segments and loops (storage/coalesce.h).
 */
#include "rewrite/pass.h"
#include "storage/loop_count.h"

static bool counting_begin(Rewrite *r, void *self) {
    (void)self;
    if (!r->options->coalesce)
        return false;
    bool exact =
        r->options->exact_traps || r->host == HOST_PROF || r->host == HOST_COMPONENT;
    coalesce_init(&r->coalesce, r->p.plan, &r->p.m, exact);
    r->coalesce.counts.decoded = &r->p.matcher.body;
    r->coalesce.counts.options.polls = r->options->polls;
    r->coalesce.counts.options.follows_locals = !r->options->no_optimise && !r->options->polls;
    r->coalesce.counts.options.grows_memory = flush_can_grow(&r->p.m);
    r->store.coalesce = &r->coalesce;
    r->store.counts = &r->coalesce.counts;
    return true;
}

static void counting_decide(Rewrite *r, void *self) {
    (void)self;
    const Counts *counts = &r->coalesce.counts;
    coalesce_close(&r->coalesce);
    for (uint32_t k = 0; k < counts->funcs.len; k++) {
        const CountFunc *f = &counts->funcs.at[k];
        if (f->last)
            r->p.touched[f->func] |= TOUCHED_END;
        if (f->otherwise)
            r->p.touched[f->func] |= TOUCHED_LOCALS;
        bool keeps = !(r->p.touched[f->func] & TOUCHED_CODE); /* probes' code may change locals */
        for (uint32_t i = f->point; !keeps && i < f->point + f->npoints; i++)
            counts->points.at[i].loop = 0;
    }
}

static void counting_add(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    loop_counts_add(&r->store, &r->p.m);
}

/* Frees sums and values, which are not used any more: the start and the flush function have their
 * code. */
static void counting_finish(Rewrite *r, void *self, const Reach *reach) {
    (void)self, (void)reach;
    counts_free_sums(&r->coalesce.counts);
    counts_free_values(&r->coalesce.counts);
}

/* Adds one, before a br_table, if its operand is beyond its targets. Needs no branch. */
static void put_otherwise(Rewrite *r, uint32_t func, uint32_t n, Pieces *pieces) {
    Buf *code = &pieces->code;
    size_t from = code->len;
    const CountPoint *p = &r->store.counts->points.at[n];
    EmitNumber counter = store_counter(&r->store, &r->p.m, n);
    WasmCode at;
    WasmInstr table;
    wasm_func_code(&r->p.m, func, &at);
    at.at = at.start + p->offset;
    wasm_next(&at, &table);
    uint32_t index = pool_take(&r->p.splicer.pool, WASM_I32);
    emit(code, "local.tee %u", index);
    emit_update(code, counter, "local.get %u i32.const %u i32.ge_u i64.extend_i32_u i64.add", index,
                table.count);
    pool_free_local(&r->p.splicer.pool, index);
    pieces_add(pieces, WASM_BEFORE, p->offset, RANK_PROBE, from, code->len);
}

/* Adds the code of counter n, which is in the function. */
static void counting_put_count(Rewrite *r, uint32_t func, uint32_t n, Pieces *pieces) {
    Buf *code = &pieces->code;
    size_t from = code->len;
    const CountPoint *p = &r->store.counts->points.at[n];
    if (p->otherwise) {
        put_otherwise(r, func, n, pieces);
        return;
    }
    if (p->loop) {
        loop_count_put_entry(&r->store, &r->p.m, p->loop - 1, code);
        pieces_add_count(pieces, WASM_BEFORE, p->offset, from, code->len);
        from = code->len;
        loop_count_put_head(&r->store, &r->p.m, p->loop - 1, code);
    } else {
        store_put_count(&r->store, &r->p.m, n, p->cool, code);
    }
    pieces_add_count(pieces, p->after ? WASM_AFTER : WASM_BEFORE, p->offset, from, code->len);
}

static void counting_enter(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    (void)self;
    const CountFunc *f = counts_func(r->store.counts, func);
    for (uint32_t i = f ? f->point : 0; f && i < f->point + f->npoints; i++)
        counting_put_count(r, func, i, pieces);
}

static void counting_free(Rewrite *r, void *self) {
    (void)self;
    if (r->store.counts)
        coalesce_free(&r->coalesce);
}

const RewritePass counting_pass = {
    .name = "counting",
    .begin = counting_begin,
    .decide = counting_decide,
    .add = counting_add,
    .finish = counting_finish,
    .enter = counting_enter,
    .free = counting_free,
};
