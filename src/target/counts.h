/*
 * target/counts.h - probes that only count, counted by segments.
 *
 * Pass 1 notes for each site of a counter (probe/counter.h) which segment of its function
 * (probe/segment.h) it is in. When a function is over, it is known which segments matter, and few
 * counters are chosen that tell how often all of these were executed. What the report shows is made
 * of them when the report is due: each value of a site is a multiple of one segment's count, shared
 * and script variables are sums over all counters.
 *
 * Counters are i64 globals, or words of our memory. Functions in which something is replaced (alt)
 * keep their additions where they are, as their code may be left out; so do those with instructions
 * at whose probes a report may be due or the program may end: whamm_core.flush(), libraries.
 */
#ifndef WHAMMC_TARGET_COUNTS_H
#define WHAMMC_TARGET_COUNTS_H

#include "probe/counter.h"
#include "probe/segment.h"

/* Where a counter is counted: in front of the instruction at `offset`, or (`behind`) behind it. */
typedef struct CountPoint {
    uint32_t func, offset, counter;
    bool behind, last; /* last: of the body */
} CountPoint;

/* How often something was executed: a counter, or derived value `index` of its function. */
typedef struct CountRef {
    uint32_t index : 31, derived : 1;
} CountRef;

/* A value of a site: `amount` times how often it was executed. */
typedef struct CountValue {
    uint32_t func; /* index into Counts.funcs; COUNT_NONE: always 0 */
    CountRef ref;
    uint64_t amount;
} CountValue;
enum { COUNT_NONE = UINT32_MAX };

/* What is derived in a function, one after the other: words[at...]: how many; for each how many
 * references are added, how many there are in all, and these. */
typedef struct CountFunc {
    uint32_t at;
} CountFunc;

/* A part of a shared or script variable: `weight` times a counter. */
typedef struct CountPart {
    uint32_t counter;
    uint64_t weight;
} CountPart;
typedef Vec(CountPart) CountParts;

typedef struct Counts {
    const Plan *plan;
    const WasmModule *m;
    bool watched[WASM_OP_COUNT], watches; /* replaced by `alt` probes, or with probes in which a
                                             report may be due; any of them */
    bool nowhere;                         /* a report may be due in every function */
    Counters counters;
    uint32_t ncounters;
    Vec(CountPoint) points; /* in the order of functions, in these of code */
    Vec(CountFunc) funcs;
    Vec(uint32_t) words;
    Vec(CountValue) values; /* of sites, in the order of counts_value */
    CountParts *parts;      /* by PlanVar.id */

    /* the function at hand */
    uint32_t func;
    bool allowed, found;
    Segments segments;
    uint32_t cursor;
    uint32_t first_value; /* its values in `values`: until it is over, ref.index is the segment */
    Vec(struct CountShare) shares;
    Vec(uint64_t) weights;
    Vec(bool) needed;
    Vec(CountRef) refs; /* by segment */
} Counts;

void counts_init(Counts *c, const Plan *plan, const WasmModule *m);
void counts_free(Counts *c);

/* Whether a match is counted by segments: then no code goes to the site. The same in both passes;
 * sites come in the order of functions. */
bool counts_takes(Counts *c, const Site *site, const Match *match);

/* Pass 1, of a match that is taken: what it adds to shared and script variables. */
void counts_note(Counts *c, const Site *site, const Match *match);

/* ... what it adds to an unshared variable that is reported: an index into `values`, which may be
 * `last`, the index that the variable's group had last (COUNT_NONE = none), if it is the same. */
uint32_t counts_value(Counts *c, const Site *site, const Match *match, uint32_t var, uint32_t last);

/* Pass 1 is over. */
void counts_close(Counts *c);

#endif
