/*
 * storage/count_ahead.h - pass 1 on threads: functions in which all that matches is counted by
 * segments, and is known for each kind of instruction (storage/kind_count.h), are counted ahead, a
 * window of the program at a time.
 *
 * Consecutive functions of a window for which that holds are a run, which is counted by itself
 * (Counts, KindTally) and joined to the rest when the walk arrives at it. The result depends
 * neither on the windows nor on the number of threads: what is numbered in a run gets the numbers
 * that it would have got if it had been counted in place. Kinds of instructions are found between
 * the windows only.
 */
#ifndef WHAMMC_STORAGE_COUNT_AHEAD_H
#define WHAMMC_STORAGE_COUNT_AHEAD_H

#include "storage/kind_count.h"

typedef struct AheadPart AheadPart;

/* A zeroed one with the first members set is ready. */
typedef struct CountAhead {
    const Matcher *walk;
    Store *store;
    KindCounts *kinds;
    uint32_t threads;
    CountsHere *here; /* by thread */

    WasmOpSet walked;     /* a function with such instructions is to be walked; */
    WasmOpSet counting;   /* something is counted at these */
    uint32_t to;          /* the first function after the window */
    uint64_t size;        /* of the last window, in bytes of code */
    uint32_t seen, taken; /* functions in all windows; those that were counted */
    Vec(AheadPart) parts;
    uint32_t part, run; /* those in which the walk is */
} CountAhead;

/* Counts a function, in the order of functions. False: nothing was done, it is to be walked. *any:
 * something is counted in it. */
bool count_ahead(CountAhead *a, uint32_t func, bool *any);
void count_ahead_free(CountAhead *a);

#endif
