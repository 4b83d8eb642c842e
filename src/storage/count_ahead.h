/*
 * storage/count_ahead.h - pass 1 on threads: functions in which all matches are counted by
 * segments and known for each kind of instruction (storage/kind_count.h) are counted ahead.
 *
 * Consecutive such functions of a part form a run, which is counted separately (Counts, KindTally)
 * and joined to the rest when the walk arrives at it. The result depends neither on the parts nor
 * on the number of threads: items numbered in a run get the same numbers as if counted in place.
 * Kinds of instructions are found only where functions are walked.
 */
#ifndef WHAMMC_STORAGE_COUNT_AHEAD_H
#define WHAMMC_STORAGE_COUNT_AHEAD_H

#include "analysis/ahead.h"
#include "storage/kind_count.h"

typedef struct CountedPart CountedPart;

typedef struct CountAhead {
    const Matcher *walk;
    Store *store;
    KindCounts *kinds;

    WasmOpSet walked;     /* functions with these instructions must be walked */
    WasmOpSet counting;   /* something is counted at these */
    uint32_t seen, taken; /* functions so far; how many were counted ahead */
    Ahead ahead;
    CountedPart *parts; /* by slot */
    CountsHere *here;   /* by worker */
} CountAhead;

/* With the first members set; `a` must not move. */
void count_ahead_init(CountAhead *a, uint32_t threads);

/* Counts a function, in the order of functions. False: nothing was done, it must be walked. *any:
 * something is counted in it. */
bool count_ahead(CountAhead *a, uint32_t func, bool *any);
void count_ahead_free(CountAhead *a);

#endif
