/*
 * inject/counter_code.h - code that reads counters (counts.h), which are globals or words of a
 * memory: sums of them, and copies in a memory where the runtime reads them.
 */
#ifndef WHAMMC_INJECT_COUNTER_CODE_H
#define WHAMMC_INJECT_COUNTER_CODE_H

#include "inject/counts.h"
#include "wasm/emit.h"

/* Where the counters are. */
typedef struct CounterPlaces {
    EmitNumber (*at)(const void *ctx, uint32_t counter);
    const void *ctx;
} CounterPlaces;

typedef Vec(uint32_t) CounterFuncs; /* handles */

/* A part of a sum: `weight` times a counter. */
typedef struct CountPart {
    uint32_t counter;
    uint64_t weight;
} CountPart;
typedef Vec(CountPart) CountParts;

/* Sums with more parts are made by functions. */
enum { COUNTER_PARTS_INLINE = 8 };

/* Lists the parts of a sum, grouped by weight. */
void counter_parts(const CountSum *sum, CountParts *parts);

/* A sum of counters: its parts if they are few, else the results of these functions; or nothing. */
typedef struct CounterSum {
    const CountSum *parts; /* or NULL */
    const uint32_t *funcs;
    uint32_t nfuncs;
} CounterSum;

/* Whether there is any part. */
static inline bool counter_sum_any(const CounterSum *sum) {
    return sum->nfuncs || (sum->parts && sum->parts->n);
}

/* Adds functions that return sums of the parts, if they are not few. */
void counter_add_functions(WasmModule *m, const CounterPlaces *at, const CountSum *sum,
                           CounterFuncs *funcs);

/* Appends code that pushes the sum, an i64. */
void counter_push_sum(Buf *b, const WasmModule *m, const CounterPlaces *at, const CounterSum *sum);

/* Appends code that copies n counters, which are globals from `first` on, to an address on the
 * stack; handles. A store for each counter would be three times as much code: a small function
 * stores several of them at an address and returns the one after them. */
void counter_save(Buf *b, WasmModule *m, uint32_t first, uint32_t n, uint32_t memory);

#endif
