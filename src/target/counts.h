/*
 * target/counts.h - counting by segments: which counters a program gets, and how what is asked for
 * follows from them.
 *
 * Pass 1 notes, function by function, what is to be known of which segment (probe/segment.h):
 * values, which are multiples of one segment's count, and shares of variables, which are sums over
 * segments. When a function is over, few counters are chosen that tell how often all segments that
 * matter were executed.
 */
#ifndef WHAMMC_TARGET_COUNTS_H
#define WHAMMC_TARGET_COUNTS_H

#include "probe/event.h"
#include "probe/fold.h"
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

/* `amount` times how often something was executed. */
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

/* A part of a variable: `weight` times a counter. */
typedef struct CountPart {
    uint32_t counter;
    uint64_t weight;
} CountPart;
typedef Vec(CountPart) CountParts;

typedef struct Counts {
    const WasmModule *m;
    uint32_t ncounters;
    Vec(CountPoint) points; /* in the order of functions, in these of code */
    Vec(CountFunc) funcs;
    Vec(uint32_t) words;
    Vec(CountValue) values; /* in the order of counts_value */
    Vec(CountParts) parts;  /* by variable */

    /* the function at hand */
    uint32_t func;
    bool found;
    Segments segments;
    uint32_t cursor;
    uint32_t first_value; /* its values in `values`: until it is over, ref.index is the segment */
    Vec(struct CountShare) shares;
    Vec(uint64_t) weights;
    Vec(bool) needed;
    Vec(CountRef) refs; /* by segment */
} Counts;

void counts_init(Counts *c, const WasmModule *m);
void counts_free(Counts *c);

/* Begins a function; the one before is over. */
void counts_enter(Counts *c, uint32_t func);

/* The segment of that function in which the probe of an event at a site would be; COUNT_NONE: it is
 * never executed. Sites come in the order of the code. */
uint32_t counts_segment(Counts *c, const Site *site, Event event);

/* Each execution of the segment adds so much to a variable; the caller numbers these. */
void counts_share(Counts *c, uint32_t var, uint32_t segment, uint64_t amount);

/* Asks for `amount` times the segment's (or COUNT_NONE's) count: an index into `values`. It is
 * `last`, the index that was given before or COUNT_NONE, if that is the same. */
uint32_t counts_value(Counts *c, uint32_t segment, uint64_t amount, uint32_t last);

/* The last function is over, too. */
void counts_close(Counts *c);

/* The parts of a variable; none if nothing was shared. Valid as long as nothing is added. */
CountParts counts_parts(const Counts *c, uint32_t var);

#endif
