/*
 * analysis/ahead.h - what threads do for functions ahead of a walk, which takes what they made in
 * the order of the program.
 *
 * A window of the program is divided into parts, which threads make. From where on the walk does
 * nothing with a window but take what was made, the next one is made meanwhile; not before, as what
 * the walk does may change what a job depends on.
 */
#ifndef WHAMMC_ANALYSIS_AHEAD_H
#define WHAMMC_ANALYSIS_AHEAD_H

#include "base/workers.h"
#include "wasm/module.h"

/* Functions [from, to), which one thread does in one go. */
typedef struct AheadPart {
    uint32_t from, to;
    uint32_t slot; /* a number that no other part has that is being made or taken */
    bool whole;    /* the job tells: the walk does nothing with these functions but take them */
} AheadPart;

typedef void AheadJob(void *ctx, uint32_t worker, AheadPart *part);

typedef struct AheadWindow {
    uint32_t from, to;
    Vec(AheadPart) parts;
    AheadJob *job;
    void *ctx;
    Workers *making; /* NULL: it is made */
} AheadWindow;

/* A zeroed one with the first members set is ready. */
typedef struct Ahead {
    const WasmModule *m;
    uint32_t threads;
    /* Bytes of code: of a part, at most; of the windows, of which the second is twice as large as
     * the first, and so on. */
    uint32_t part, first, most;
    AheadJob *job;
    /* Comes before each window, when no thread works. False: the walk does the next function
     * itself. NULL: all windows are made. */
    bool (*prepare)(void *ctx);
    void *ctx;

    uint64_t size; /* of the last window */
    AheadWindow windows[2];
    uint32_t turn; /* the window that the walk is in, */
    uint32_t at;   /* the part in it */
} Ahead;

/* Slots are below this number. */
static inline uint32_t ahead_slots(const Ahead *a) {
    return 2 * (a->most / a->part + 1);
}

/* The part that a function is in, made; NULL: `prepare` did not want it. The walk asks for all
 * functions, in order, before it does anything else with them. */
const AheadPart *ahead_part(Ahead *a, uint32_t func);
void ahead_free(Ahead *a);

#endif
