/*
 * storage/coalesce.h - counts probes per segment (inject/counts.h) instead of per site:
 * counter-only probes (plan/counter.h) insert no code at their sites.
 *
 * Additions stay at their sites in functions in which an alt probe may replace code, and in
 * functions with a probe that may make a report or end the program: whamm_core.flush(), libraries.
 */
#ifndef WHAMMC_STORAGE_COALESCE_H
#define WHAMMC_STORAGE_COALESCE_H

#include "inject/counts.h"
#include "plan/counter.h"
#include "storage/map_cell.h"

typedef struct Coalesce {
    const Plan *plan;
    const WasmModule *m;
    Counters counters;
    Counts counts;             /* its variables: PlanVar.id; after these, MapCell.first_sum... */
    Vec(uint32_t) corrections; /* by variable of `counts`: 1 + the counter that receives its
                                  corrections after traps; 0 = the variable itself does */
    bool watched[WASM_OP_COUNT], watches; /* replaced by `alt` probes, or with probes in which a
                                             report may be due; any of them */
    bool nowhere;                         /* a report may be due in every function */
    uint32_t func;                        /* the current one */
    bool allowed;                         /* ... is counted by segments */
} Coalesce;

/* exact_traps: as counts_init. */
void coalesce_init(Coalesce *c, const Plan *plan, const WasmModule *m, bool exact_traps);
void coalesce_free(Coalesce *c);

/* Whether counters of a function are counted by segments. The same in both passes; functions come
 * in their order. */
bool coalesce_allows(Coalesce *c, uint32_t func);

/* Whether a match is counted by segments, so that no code is inserted at its site. */
bool coalesce_takes(Coalesce *c, const Site *site, const Match *match);

/* Pass 1: records the additions of an accepted match to shared variables, script variables and
 * existing map cells. */
void coalesce_note(Coalesce *c, MapCells *cells, const Site *site, const Match *match);

/* Calls add() with each such variable and amount, and the ways of a branch (WAY_...) on which it is
 * added. */
void coalesce_each_share(Coalesce *c, MapCells *cells, const Site *site, const Match *match,
                         void (*add)(void *ctx, uint32_t var, uint64_t amount, unsigned ways),
                         void *ctx);

/* The amount that each execution adds to an unshared variable, or sets it to. */
typedef struct CountedAmount {
    uint64_t amount;
    bool flag;
    uint8_t ways; /* of a branch: WAY_... */
} CountedAmount;
CountedAmount coalesce_amount(Coalesce *c, const Site *site, const Match *match, uint32_t var);

/* Pass 1 is over. */
void coalesce_close(Coalesce *c);

#endif
