/*
 * analysis/ahead.h - threads that work on functions ahead of a walk, which takes their results in
 * the order of the program.
 *
 * The program is divided into parts, which threads make. No thread works while the walk handles
 * functions itself, as that may change the input of jobs.
 */
#ifndef WHAMMC_ANALYSIS_AHEAD_H
#define WHAMMC_ANALYSIS_AHEAD_H

#include "base/work_queue.h"
#include "wasm/module.h"

/* Functions [from, to), which one thread does in one go. */
typedef struct AheadPart {
    uint32_t from, to;
    uint32_t size; /* bytes of code */
    uint32_t slot; /* a number that no other part has that is being made or taken */
    bool whole;    /* the job tells: the walk does nothing with these functions but take them */
} AheadPart;

typedef void AheadJob(void *ctx, uint32_t worker, AheadPart *part);

/* A zeroed one with the first members set is ready; it must not move then. */
typedef struct Ahead {
    const WasmModule *m;
    uint32_t threads;
    /* Bytes of code: of a part, at most; of the parts that may be ahead of the walk, at first and
     * at most: twice as many whenever the walk has done so many. */
    uint32_t part, first, most;
    AheadJob *job;
    /* Comes before parts are divided after the walk has done functions itself, when no thread
     * works. False: the walk does the next function, too. NULL: always true. */
    bool (*prepare)(void *ctx);
    void *ctx;

    WorkQueue *queue;
    AheadPart *parts;   /* by slot */
    uint32_t at, end;   /* numbers of parts: the walk's current one, the next to be divided */
    uint32_t divided;   /* the functions below */
    uint32_t size, now; /* bytes that may be ahead, that are */
    uint32_t walked;    /* bytes since `size` has grown */
    bool in_part, prepared;
} Ahead;

/* Slots are below this number. */
static inline uint32_t ahead_slots(const Ahead *a) {
    return a->most / a->part + 2;
}

/* The finished part that contains a function; NULL: `prepare` did not want it. The walk calls it
 * for all functions, in order, before it does anything else with them. */
const AheadPart *ahead_part(Ahead *a, uint32_t func);
void ahead_free(Ahead *a);

#endif
