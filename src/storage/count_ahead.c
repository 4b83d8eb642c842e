/*
 * storage/count_ahead.c - pass 1 on threads.
 */
#include "storage/count_ahead.h"

#include <assert.h>

#include "plan/statics.h"

/* Bytes of code: in a part; ahead of the walk per thread; ahead in all at first, as the first
 * instructions of each kind are not counted ahead. */
#ifdef NDEBUG
enum { PART = 64 << 10, AHEAD = 8 * PART, FIRST = 4 << 10 };
#else
enum { PART = 64, AHEAD = 4 * PART, FIRST = 64 }; /* small programs have several, too */
#endif

/* Functions [from, to). */
typedef struct CountedRun {
    uint32_t from, to;
    KindTally tally;
} CountedRun;

struct CountedPart {
    Vec(CountedRun) runs; /* as many as were ever needed, */
    uint32_t nruns;       /* these, */
    uint32_t run;         /* and the one that the walk comes to next */
};

/* ---- on threads ---- */

/* Whether the body names a function that the walk watches. */
static bool names_watched(const CountAhead *a, uint32_t func) {
    const WasmModule *m = a->walk->m;
    if (!matcher_watches_funcs(a->walk))
        return false;
    for (WasmRefs r = wasm_refs(m, &m->funcs.at[func]); r.next != UINT32_MAX; wasm_next_ref(&r))
        if (matcher_watches_func(a->walk, wasm_ref_func(&r, wasm_func_body(m, func))))
            return true;
    return false;
}

/* Whether all matches in a function are counted here, so that it need not be walked. */
static bool is_counted(const CountAhead *a, uint32_t func) {
    const WasmModule *m = a->walk->m;
    return m->funcs.at[func].import < 0 && !wasm_asyncify_spans(&a->walk->survey.asyncify, func) &&
           !op_sets_meet(&m->ops[func], &a->walked) && !names_watched(a, func);
}

static CountedRun *begin_run(const CountAhead *a, CountedPart *part, CountsHere *here,
                             uint32_t func) {
    CountedRun *run =
        part->nruns < part->runs.len ? &part->runs.at[part->nruns] : vec_add(&part->runs);
    part->nruns++;
    run->from = func;
    counts_exchange_here(&run->tally.counts, here);
    kinds_begin(a->kinds, a->store, &run->tally);
    return run;
}

/* Counts functions of a part from `func` on, up to the first that must be walked; returns that. */
static uint32_t count_run(const CountAhead *a, CountedPart *part, CountsHere *here, uint32_t func,
                          uint32_t to) {
    CountedRun *run = begin_run(a, part, here, func);
    for (; func < to && is_counted(a, func); func++)
        kinds_tally(a->kinds, a->store, &run->tally, &(Site){.m = a->walk->m, .func = func},
                    op_sets_meet(&a->walk->m->ops[func], &a->counting));
    run->to = func;
    counts_exchange_here(&run->tally.counts, here);
    return func;
}

static void count_part(void *ctx, uint32_t worker, AheadPart *at) {
    const CountAhead *a = ctx;
    CountedPart *part = &a->parts[at->slot];
    part->nruns = part->run = 0;
    at->whole = true;
    for (uint32_t f = at->from; f < at->to;) {
        bool counted = is_counted(a, f);
        at->whole &= counted;
        f = counted ? count_run(a, part, &a->here[worker], f, at->to) : f + 1;
    }
}

/* ---- before parts are divided ---- */

/* Puts a kind of instructions into its set. */
static void sort_op(CountAhead *a, WasmOp op) {
    const KindCount *kind = &a->kinds->of[op];
    bool counted = a->walk->index.same[op].n > 0;
    if (!matcher_knows(a->walk, op) || a->store->coalesce->watched[op] || (counted && !kind->all))
        op_set_add(&a->walked, op);
    else if (counted)
        op_set_add(&a->counting, op);
}

/* Whether there are functions to be counted ahead, and not just very few. */
static bool is_possible(const CountAhead *a) {
    enum { SEEN = 256, FEW = 8 };
    return a->store->coalesce && !a->store->coalesce->nowhere &&
           matcher_sees_instrs_only(a->walk) && (a->seen < SEEN || a->taken >= a->seen / FEW);
}

static bool count_ahead_prepare(void *ctx) {
    CountAhead *a = ctx;
    if (!is_possible(a))
        return false;
    a->walked = a->counting = (WasmOpSet){0};
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        sort_op(a, (WasmOp)op);
    kinds_before_runs(a->kinds, a->store);
    return true;
}

void count_ahead_init(CountAhead *a, uint32_t threads) {
    a->ahead = (Ahead){.m = a->walk->m,
                       .threads = threads,
                       .part = PART,
                       .first = FIRST,
                       .most = AHEAD * threads,
                       .job = count_part,
                       .prepare = count_ahead_prepare,
                       .ctx = a};
    a->parts = mem_zalloc(sizeof *a->parts * ahead_slots(&a->ahead));
    a->here = mem_zalloc(sizeof *a->here * threads);
}

/* ---- in the order of functions ---- */

/* Joins a run when the walk arrives at its first function. */
static void count_ahead_join(CountAhead *a, const CountedRun *run) {
    kinds_join(a->kinds, a->store, a->walk->m, &run->tally);
    for (uint32_t f = run->from; f < run->to; f++)
        statics_function(a->walk->plan, a->walk->m, f);
}

bool count_ahead(CountAhead *a, uint32_t func, bool *any) {
    const AheadPart *at = ahead_part(&a->ahead, func);
    a->seen++;
    if (!at)
        return false;
    CountedPart *part = &a->parts[at->slot];
    while (part->run < part->nruns && func >= part->runs.at[part->run].to)
        part->run++;
    if (part->run == part->nruns || func < part->runs.at[part->run].from)
        return false;
    const CountedRun *run = &part->runs.at[part->run];
    assert(is_counted(a, func)); /* also with the kinds known now */
    if (func == run->from)
        count_ahead_join(a, run);
    a->taken++;
    *any = run->tally.funcs.at[func - run->from].any;
    return true;
}

void count_ahead_free(CountAhead *a) {
    ahead_free(&a->ahead);
    for (uint32_t i = 0; a->parts && i < ahead_slots(&a->ahead); i++) {
        for (uint32_t k = 0; k < a->parts[i].runs.len; k++)
            kinds_tally_free(&a->parts[i].runs.at[k].tally);
        vec_free(&a->parts[i].runs);
    }
    free(a->parts);
    for (uint32_t i = 0; a->here && i < a->ahead.threads; i++)
        counts_free_here(&a->here[i]);
    free(a->here);
    *a = (CountAhead){0};
}
