/*
 * inject/parallel_bodies.h - pass 2 on threads: bodies into which only counters go are independent
 * of each other; they are made ahead of the walk.
 */
#ifndef WHAMMC_INJECT_PARALLEL_BODIES_H
#define WHAMMC_INJECT_PARALLEL_BODIES_H

#include "analysis/ahead.h"
#include "inject/pieces.h"

/* Makes the body of a function as the code section has it, with the pieces of one thread. Called on
 * several threads; false if the body is malformed. */
typedef bool ApartJob(void *ctx, Pieces *pieces, uint32_t func, Buf *out);

typedef struct ApartPart ApartPart;

/* With the first members set, parallel_init makes it ready; it must not move then. */
typedef struct ParallelBodies {
    ApartJob *make;
    bool (*is_apart)(const void *ctx, uint32_t func); /* the others are left out */
    void *ctx;

    Ahead ahead;
    ApartPart *parts; /* by slot */
    Pieces *pieces;   /* by worker */
} ParallelBodies;

void parallel_init(ParallelBodies *a, const WasmModule *m, uint32_t threads);
/* Appends the body of a function if it is apart; asked for all functions, in their order. False:
 * nothing was done, or the body is malformed. */
bool parallel_put(ParallelBodies *a, uint32_t func, Buf *out);
void parallel_free(ParallelBodies *a);

#endif
