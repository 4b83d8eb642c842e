/*
 * runtime/sums_bound.h - the compiler's input to sums_bound.c: a memory with records of traps and
 * words, as in sums.h, and the tables.
 *
 * Of numbers that follow from one word:
 *
 *   ULEB flags: logarithm of a number's size in bytes, BOUND_...
 *   BOUND_MEMORY:  ULEB  these and the following are in this memory: all distances start at 0
 *   BOUND_SEVERAL: ULEB  how many; zigzag ULEB step from one to the next
 *   ULEB  the word; derived ones are after the counters
 *   zigzag ULEB  distance of the first number from where those before ended
 *   zigzag ULEB  what a number grows by each time, or what it is set to (BOUND_SETS)
 *   BOUND_TRAPS:   ULEB  distance of the function's index; for each number, ULEB distance of its
 * key
 */
#ifndef WHAMMC_RUNTIME_SUMS_BOUND_H
#define WHAMMC_RUNTIME_SUMS_BOUND_H

#include "sums.h"

enum {
    BOUND_SIZE = 3, /* a mask */
    BOUND_SETS = 4,
    BOUND_SEVERAL = 8,
    BOUND_TRAPS = 16, /* something in the segment can trap */
    BOUND_MEMORY = 32,
};

/* Addresses of 4 bytes, as the compiler writes them. */
#ifdef __wasm__
typedef struct Bound {
    const uint8_t *traps;
    uint32_t ntraps;
    uint8_t *words;
    uint32_t ncounters, nderived;
    const uint8_t *derived, *numbers, *end; /* the tables */
} Bound;
_Static_assert(sizeof(Bound) == 32, "the compiler writes eight words");
#endif

#endif
