/*
 * inject/counts_join.c - runs of functions that were counted by themselves become one.
 *
 * A run numbers its counters, derived counts, deficits and loops from 0. Joined after others, their
 * numbers shift by the totals so far. The table of derived counts has mostly distances, which stay;
 * numbers in it that change are noted as it is written (CountRun.numbered).
 */
#include "inject/counts.h"

#include <assert.h>

#include "../../stdlib/runtime/sums.h" /* the table of derived counts */

void counts_begin_run(Counts *run, const Counts *whole) {
    assert(!whole->cuts_exits);
    run->m = whole->m;
    run->corrections.exact = whole->corrections.exact;
    run->options.asks_ways = whole->options.asks_ways;
    run->options.splits_tables = whole->options.splits_tables;
    run->options.polls = whole->options.polls;
    run->options.follows_locals = whole->options.follows_locals;
    run->options.grows_memory = whole->options.grows_memory;
    run->run.is = true;
    run->ncounters = run->nderived = run->corrections.ndeficits = run->last_counter =
        run->run.first_term = 0;
    run->funcs.len = run->points.len = run->loops.len = run->values.len = run->run.numbered.len = 0;
    run->derived.len = run->corrections.table.len = 0;
    run->corrections.points.len = run->corrections.corrected.len = run->corrections.corrects.len =
        0;
    for (uint32_t v = 0; v < run->sums.len; v++)
        run->sums.at[v].parts.len = run->sums.at[v].n = run->sums.at[v].next = 0;
    run->here.func = COUNT_NONE;
    run->here.shares.len = run->here.vars.len = run->here.first_value = 0;
}

void counts_exchange_here(Counts *run, CountsHere *here) {
    CountsHere mine = run->here;
    run->here = *here;
    *here = mine;
}

/* Appends n items to a list that has the same type. */
#define append(to, from)                                                                           \
    do {                                                                                           \
        vec_reserve(to, (from)->len);                                                              \
        if ((from)->len)                                                                           \
            memcpy((to)->at + (to)->len, (from)->at, (from)->len * sizeof *(to)->at);              \
        (to)->len += (from)->len;                                                                  \
    } while (0)

/* Appends counters. The number of loops is limited: further ones are counted like other
 * segments. */
static void join_points(Counts *c, const Counts *run) {
    uint32_t first = c->points.len, loops = c->loops.len, room = COUNT_MAX_LOOPS - loops;
    append(&c->points, &run->points);
    for (uint32_t i = first; i < c->points.len && run->loops.len; i++) {
        CountPoint *p = &c->points.at[i];
        p->loop = p->loop && p->loop <= room ? p->loop + loops : 0;
    }
    for (uint32_t i = 0; i < run->loops.len && i < room; i++) {
        vec_push(&c->loops, run->loops.at[i]);
        vec_last(&c->loops).counter += c->ncounters;
    }
}

/* Returns the first term that is a counter, moved: it is a distance from the table's last one. */
static uint64_t moved_term(const Counts *c, uint64_t term) {
    uint32_t distance = (uint32_t)(term >> SUMS_TERM_SHIFT);
    uint32_t counter = c->ncounters + (distance >> 1 ^ (0 - (distance & 1)));
    distance = counter - c->last_counter;
    distance = distance << 1 ^ (0 - (distance >> 31));
    return (uint64_t)distance << SUMS_TERM_SHIFT | (term & ((1 << SUMS_TERM_SHIFT) - 1));
}

static void join_derived(Counts *c, const Counts *run) {
    const uint8_t *start = run->derived.data, *from = start;
    buf_reserve(&c->derived, run->derived.len);
    for (uint32_t i = 0; i < run->run.numbered.len; i++) {
        const uint8_t *at = start + run->run.numbered.at[i];
        buf_bytes(&c->derived, from, (size_t)(at - from));
        from = at;
        uint64_t number = wasm_uleb(&from);
        buf_uleb(&c->derived, run->run.numbered.at[i] + 1 == run->run.first_term
                                  ? moved_term(c, number)
                                  : number + ((uint64_t)c->corrections.ndeficits << 1));
    }
    if (run->derived.len)
        buf_bytes(&c->derived, from, (size_t)(start + run->derived.len - from));
    if (run->run.first_term)
        c->last_counter = c->ncounters + run->last_counter;
}

static void join_values(Counts *c, const Counts *run) {
    uint32_t first = c->values.len;
    append(&c->values, &run->values);
    for (uint32_t i = first; i < c->values.len; i++) {
        CountValue *v = &c->values.at[i];
        if (v->amount)
            v->ref.index += v->ref.derived ? c->nderived : c->ncounters;
    }
}

/* Appends a run's parts: as they store distances, only the first one changes. */
static void join_sum(CountSum *sum, const CountSum *run, uint32_t ncounters) {
    const uint8_t *at = run->parts.data;
    uint32_t counter = 0;
    uint64_t weight = sums_part(&at, &counter);
    count_sum_add(sum, ncounters + counter, weight);
    buf_bytes(&sum->parts, at, (size_t)(run->parts.data + run->parts.len - at));
    sum->n += run->n - 1;
    sum->next = ncounters + run->next;
}

static void join_sums(Counts *c, const Counts *run) {
    while (c->sums.len < run->sums.len)
        vec_push(&c->sums, ((CountSum){0}));
    for (uint32_t v = 0; v < run->sums.len; v++)
        if (run->sums.at[v].n)
            join_sum(&c->sums.at[v], &run->sums.at[v], c->ncounters);
}

static void join_funcs(Counts *c, const Counts *run) {
    uint32_t first = c->funcs.len;
    append(&c->funcs, &run->funcs);
    for (uint32_t i = first; i < c->funcs.len; i++) {
        CountFunc *f = &c->funcs.at[i];
        f->point += c->points.len;
        f->trap += c->corrections.points.len;
        f->deficit += c->corrections.ndeficits;
        f->segments += c->corrections.table.len;
    }
}

static void join_traps(Counts *c, const Counts *run) {
    append(&c->corrections.points, &run->corrections.points);
    buf_bytes(&c->corrections.table, run->corrections.table.data, run->corrections.table.len);
    for (uint32_t i = 0; i < run->corrections.corrected.len; i++)
        counts_correct(c, run->corrections.corrected.at[i]);
}

void counts_join(Counts *c, const Counts *run) {
    assert(c->here.func == COUNT_NONE && run->run.is);
    assert(c->points.len == c->ncounters && run->points.len == run->ncounters);
    join_funcs(c, run);
    join_points(c, run);
    join_derived(c, run);
    join_values(c, run);
    join_sums(c, run);
    join_traps(c, run);
    c->ncounters += run->ncounters;
    c->nderived += run->nderived;
    c->corrections.ndeficits += run->corrections.ndeficits;
    c->here.first_value = c->values.len;
}
