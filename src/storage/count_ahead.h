/*
 * storage/count_ahead.h - pass 1 on threads: functions in which all that matches is counted by
 * segments, and is known for each kind of instruction (storage/kind_count.h), are counted ahead.
 *
 * Consecutive functions of a part for which that holds are a run, which is counted by itself
 * (Counts, KindTally) and joined to the rest when the walk arrives at it. The result depends
 * neither on the parts nor on the number of threads: what is numbered in a run gets the numbers
 * that it would have got if it had been counted in place. Kinds of instructions are found only
 * where functions are walked.
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

    WasmOpSet walked;     /* a function with such instructions is to be walked; */
    WasmOpSet counting;   /* something is counted at these */
    uint32_t seen, taken; /* functions so far; those that were counted */
    Ahead ahead;
    CountedPart *parts; /* by slot */
    CountsHere *here;   /* by worker */
} CountAhead;

/* With the first members set; `a` must not move. */
void count_ahead_init(CountAhead *a, uint32_t threads);

/* Counts a function, in the order of functions. False: nothing was done, it is to be walked. *any:
 * something is counted in it. */
bool count_ahead(CountAhead *a, uint32_t func, bool *any);
void count_ahead_free(CountAhead *a);

#endif
