/*
 * inject/apart.h - pass 2 on threads: bodies into which only counters go are independent of each
 * other; they are made ahead of the walk, a window of the program at a time.
 */
#ifndef WHAMMC_INJECT_APART_H
#define WHAMMC_INJECT_APART_H

#include "inject/pieces.h"

/* Makes the body of a function as the code section has it, with the pieces of one thread. Called on
 * several threads; false if the body is malformed. */
typedef bool ApartJob(void *ctx, Pieces *pieces, uint32_t func, Buf *out);

typedef struct ApartPart ApartPart;

/* A zeroed one with m, threads, make, ctx and is_apart set is ready. */
typedef struct Apart {
    const WasmModule *m;
    uint32_t threads;
    ApartJob *make;
    bool (*is_apart)(const void *ctx, uint32_t func); /* the others are left out */
    void *ctx;

    uint32_t from, to; /* the functions of the window */
    Vec(ApartPart) parts;
    uint32_t part;       /* the one that the next function is in */
    Vec(uint32_t) sizes; /* of bodies, by function of the window */
    Pieces *pieces;      /* by worker */
} Apart;

/* Appends the body of a function that is apart; in the order of functions. False if it is
 * malformed. */
bool apart_put(Apart *a, uint32_t func, Buf *out);
void apart_free(Apart *a);

#endif
