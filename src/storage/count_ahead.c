/*
 * storage/count_ahead.c - pass 1 on threads.
 */
#include "storage/count_ahead.h"

#include "base/workers.h"
#include "plan/statics.h"

/* Bytes of code: what one thread does in one go; what each has ahead; the first window, which ends
 * early, since the first instructions of each kind are not counted ahead. */
#ifdef NDEBUG
enum { PART = 64 << 10, AHEAD = 4 * PART, FIRST = 4 << 10 };
#else
enum { PART = 64, AHEAD = 4 * PART, FIRST = 64 }; /* small programs have several, too */
#endif

/* Functions [from, to). */
typedef struct AheadRun {
    uint32_t from, to;
    KindTally tally;
} AheadRun;

struct AheadPart {
    uint32_t from, to;
    Vec(AheadRun) runs; /* as many as were ever needed, */
    uint32_t nruns;     /* and these */
};

/* ---- on threads ---- */

/* Whether the body names a function that the walk watches. */
static bool names_watched(const CountAhead *a, uint32_t func, WasmCode code) {
    const WasmModule *m = a->walk->m;
    WasmInstr i;
    if (!matcher_watches_funcs(a->walk))
        return false;
    for (WasmRefs r = wasm_refs(m, &m->funcs.at[func]); r.next != UINT32_MAX; wasm_next_ref(&r)) {
        code.at = code.start + r.next;
        if (wasm_next(&code, &i) && matcher_watches(a->walk, &i))
            return true;
    }
    return false;
}

/* Whether all that matches in a function is counted, so that it need not be walked. */
static bool is_counted(const CountAhead *a, uint32_t func) {
    const WasmModule *m = a->walk->m;
    WasmCode code;
    return m->funcs.at[func].import < 0 && !op_sets_meet(&m->ops[func], &a->walked) &&
           wasm_func_code(m, func, &code) && !names_watched(a, func, code);
}

static AheadRun *begin_run(const CountAhead *a, AheadPart *part, CountsHere *here, uint32_t func) {
    AheadRun *run =
        part->nruns < part->runs.len ? &part->runs.at[part->nruns] : vec_add(&part->runs);
    part->nruns++;
    run->from = func;
    counts_exchange_here(&run->tally.counts, here);
    kinds_begin(a->kinds, a->store, &run->tally);
    return run;
}

/* Counts the functions of a part from `func` on that can be. Returns the first other one. */
static uint32_t count_run(const CountAhead *a, AheadPart *part, CountsHere *here, uint32_t func) {
    AheadRun *run = begin_run(a, part, here, func);
    for (; func < part->to && is_counted(a, func); func++)
        kinds_tally(a->kinds, a->store, &run->tally, &(Site){.m = a->walk->m, .func = func},
                    op_sets_meet(&a->walk->m->ops[func], &a->counting));
    run->to = func;
    counts_exchange_here(&run->tally.counts, here);
    return func;
}

static void count_part(void *ctx, uint32_t worker, uint32_t item) {
    const CountAhead *a = ctx;
    AheadPart *part = &a->parts.at[item];
    for (uint32_t f = part->from; f < part->to;)
        f = is_counted(a, f) ? count_run(a, part, &a->here[worker], f) : f + 1;
}

/* ---- windows ---- */

/* Puts a kind of instructions into its set. */
static void sort_op(CountAhead *a, WasmOp op) {
    const KindCount *kind = &a->kinds->of[op];
    bool counted = a->walk->same[op].n > 0;
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

static void add_part(CountAhead *a, uint32_t from) {
    AheadPart *part = a->part < a->parts.len ? &a->parts.at[a->part] : vec_add(&a->parts);
    part->from = part->to = from;
    part->nruns = 0;
    a->part++;
}

/* The functions from `func` on, as many as fit. */
static void divide(CountAhead *a, uint32_t func) {
    const WasmModule *m = a->walk->m;
    uint64_t most = (uint64_t)AHEAD * a->threads, size = 0, in_part = PART;
    a->size = !a->size ? FIRST : 2 * a->size < most ? 2 * a->size : most;
    a->part = 0;
    for (; func < m->input_count[WASM_SPACE_FUNC] && size < a->size; func++) {
        if (in_part >= PART) {
            add_part(a, func);
            in_part = 0;
        }
        in_part += m->funcs.at[func].body_size;
        size += m->funcs.at[func].body_size;
        a->parts.at[a->part - 1].to = func + 1;
    }
    a->to = func;
}

static void make_window(CountAhead *a, uint32_t func) {
    a->walked = a->counting = (WasmOpSet){0};
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        sort_op(a, (WasmOp)op);
    divide(a, func);
    if (!a->here)
        a->here = mem_zalloc(sizeof *a->here * a->threads);
    workers_run(a->threads, a->part, count_part, a);
    for (uint32_t i = 0; i < a->part; i++)
        for (uint32_t k = 0; k < a->parts.at[i].nruns; k++)
            a->taken += a->parts.at[i].runs.at[k].to - a->parts.at[i].runs.at[k].from;
    a->seen += a->to - func;
    a->part = a->run = 0;
}

/* ---- in the order of functions ---- */

/* Puts a run that begins with the function where it belongs. */
static void join(CountAhead *a, const AheadRun *run) {
    kinds_join(a->kinds, a->store, a->walk->m, &run->tally);
    for (uint32_t f = run->from; f < run->to; f++)
        statics_function(a->walk->plan, a->walk->m, f);
}

bool count_ahead(CountAhead *a, uint32_t func, bool *any) {
    if (func >= a->to) {
        if (!is_possible(a))
            return false;
        make_window(a, func);
    }
    for (; func >= a->parts.at[a->part].to; a->part++)
        a->run = 0;
    const AheadPart *part = &a->parts.at[a->part];
    while (a->run < part->nruns && func >= part->runs.at[a->run].to)
        a->run++;
    if (a->run == part->nruns || func < part->runs.at[a->run].from)
        return false;
    const AheadRun *run = &part->runs.at[a->run];
    if (func == run->from)
        join(a, run);
    *any = run->tally.funcs.at[func - run->from].any;
    return true;
}

void count_ahead_free(CountAhead *a) {
    for (uint32_t i = 0; i < a->parts.len; i++) {
        for (uint32_t k = 0; k < a->parts.at[i].runs.len; k++)
            kinds_tally_free(&a->parts.at[i].runs.at[k].tally);
        vec_free(&a->parts.at[i].runs);
    }
    vec_free(&a->parts);
    for (uint32_t i = 0; a->here && i < a->threads; i++)
        counts_free_here(&a->here[i]);
    free(a->here);
    *a = (CountAhead){0};
}
