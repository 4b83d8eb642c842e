/*
 * inject/counts.h - counting by segments: chooses the counters of a program and derives the
 * requested counts from them.
 *
 * Pass 1 notes, function by function, which counts of segments (analysis/segment.h) are needed: for
 * values, which are multiples of one segment's count, and for shares of variables, which are sums
 * over segments. At the end of a function, as few counters as possible are chosen from which the
 * counts of all these segments follow.
 *
 * How often a branch goes one way is the count of the segment after it, and the other way the
 * difference between that and the count of its own segment.
 *
 * If an instruction traps, the rest of its segment has been counted but not executed.
 * Counts.corrections holds the corrections, which require the offset of the trap.
 *
 * Runs of functions can be counted separately, on several threads, and joined in program order
 * (counts_join.c): numbers in a run are shifted by the totals of the runs before it.
 */
#ifndef WHAMMC_INJECT_COUNTS_H
#define WHAMMC_INJECT_COUNTS_H

#include "analysis/exits.h"
#include "analysis/loop_step.h"
#include "analysis/segment.h"
#include "event/branch.h"
#include "plan/plan.h"

/* Maximum number of loops; each takes two globals. */
enum { COUNT_LOOP_BITS = 14, COUNT_MAX_LOOPS = 10000 };

/* Where a counter is incremented: before the instruction at `offset`, or (`after`) after it. */
typedef struct CountPoint {
    uint32_t offset;
    uint32_t loop : COUNT_LOOP_BITS; /* its number in Counts.loops, from 1; 0 = none */
    uint32_t after : 1;
    uint32_t cool : 1;      /* a call of a counting function costs little here */
    uint32_t otherwise : 1; /* before a br_table: only if it takes its default */
} CountPoint;

/* A loop counted by how it steps a local (analysis/loop_step.h). */
typedef struct CountLoop {
    uint32_t func, counter;
    LoopStep step;
} CountLoop;

/* An execution count: a counter, or a derived count. */
typedef struct CountRef {
    uint32_t index : 31, derived : 1;
} CountRef;

/* `amount` times an execution count, or (`flag`) `amount` if that count is not 0. */
typedef struct CountValue {
    uint64_t amount; /* 0: the value is always 0 */
    CountRef ref;
    bool flag;
} CountValue;

/* Special segment numbers. */
enum { COUNT_NONE = UINT32_MAX, COUNT_EXITS = 0x7fffffff };
/* Flag on a segment number: the segment's count minus that of the next segment. */
#define COUNT_LEFT UINT32_C(0x80000000)

/* The count of a variable: a sum of parts, each a multiple of a counter. */
typedef struct CountSum {
    Buf parts;     /* encoded as in stdlib/runtime/sums.h */
    uint32_t n;    /* number of parts */
    uint32_t next; /* 1 + the counter of the last part */
} CountSum;

/*
 * A function with counters or corrections. Counts.corrections.table has, for each of its segments
 * in which instructions can trap:
 *
 *   ULEB  number of such instructions << 2 | has variables to correct << 1 | has a deficit
 *   ULEB  its deficit, less CountFunc.deficit, if it has one
 *   ULEB  if it has variables: their count; for each: ULEB its number
 *   ULEB  `to`, the end of the segment's keys (counts_key), minus twice the offset of its last
 *         such instruction; 0 = the last segment
 *   if it has variables, for each such instruction:
 *     ULEB  number of bytes that follow; 0 = same amounts as at the previous instruction
 *     SLEB  for each variable: the amount to add
 */
typedef struct CountFunc {
    uint32_t func;
    uint32_t point, npoints; /* Counts.points.at[point...]; its counters have the same numbers */
    bool last, otherwise;    /* some of its counted segments are */
    uint32_t trap, ntraps;   /* Counts.corrections.points.at[trap...] */
    uint32_t deficit;        /* the last deficit before its own; 0 = none */
    uint32_t nsegments;      /* in corrections.table, at offset `segments` */
    size_t segments;
} CountFunc;

/* The amount that each execution of a segment adds to a variable. */
typedef struct CountShare {
    uint32_t var, segment, key;
    uint32_t stage; /* number of the function's traps before it */
    uint64_t amount;
    uint32_t before; /* 1 + the variable's previous share; 0 = none */
} CountShare;

/* By segment of the current function. */
typedef struct CountSegments {
    Vec(uint64_t) weights;
    Vec(bool) needed, asked, derived;
    Vec(CountRef) refs;
} CountSegments;

/* The state of the function being counted. */
typedef struct CountsHere {
    uint32_t func;
    bool found;
    Segments segments;
    uint32_t cursor;
    uint32_t first_value; /* its first entry in `values`; until it is left, ref.index is the segment
                             and ref.derived is COUNT_LEFT */
    Vec(CountShare) shares; /* in the order of the code */
    Vec(uint32_t) vars;     /* those with shares */
    uint32_t nshares;       /* as given, before some are merged */
    uint32_t stage;         /* traps before the last given key */
    uint32_t since; /* during the walk: shares from this index on are in the current segment, after
                       the last trap */
    Vec(uint32_t) last_share;                    /* by variable: 1 + its last share; 0 = none */
    Vec(uint32_t) starts;                        /* where deficits by class begin */
    Vec(struct CountDeficit) deficits, by_class; /* added to variables; sorted */
    Vec(uint32_t) to_correct;                    /* variables of the current segment */
    Vec(uint64_t) amounts;                       /* at one of its traps, by index in to_correct */
    CountSegments of;
    Vec(bool) weighed;        /* by block of segments: some may have a weight */
    Vec(uint32_t) deficit_of; /* by class: 0 = none, 1 = not numbered, else 1 + its number */
    Vec(uint32_t) place_of;   /* by variable: 1 + index in to_correct; 0 = not in it */
    ExitOffsets ways_out;
    Vec(uint32_t) exits; /* the segments that begin at ways_out */
} CountsHere;

/* Corrections of counts after traps. */
typedef struct CountTraps {
    bool exact;              /* segments end at instructions that can trap: no corrections needed */
    Buf table;               /* corrections by segment with traps: see CountFunc */
    Vec(uint32_t) points;    /* offsets of these instructions, in the order of the code */
    uint32_t *moved;         /* ... in the new bodies; filled in as these are written */
    Vec(uint32_t) corrected; /* variables with corrections */
    Vec(bool) corrects;      /* by variable: whether it is one of these */
    uint32_t ndeficits;      /* deficits of derived counts, numbered from 1 */
} CountTraps;

/* A run of functions, to be joined to the preceding ones. */
typedef struct CountRun {
    bool is;                /* the Counts are those of a run */
    Vec(uint32_t) numbered; /* offsets in `derived` of numbers that joining changes */
    uint32_t first_term;    /* 1 + that of the first counter; the others are deficits */
} CountRun;

/* Options, set before counting begins. */
typedef struct CountOptions {
    bool follows_locals; /* loops may be counted by locals (CountLoop) */
    bool grows_memory;   /* memory 0 can become larger than the program declares */
    bool asks_ways;      /* ways of branches will be requested, */
    bool splits_tables;  /* and of br_tables */
    bool polls;          /* reports may be made where an iteration of a loop begins */
} CountOptions;

typedef struct Counts {
    const WasmModule *m;
    const WasmDecoded *decoded; /* where the current function may be decoded, or NULL */
    CountOptions options;
    Vec(CountFunc) funcs;  /* in the order of functions */
    Vec(uint32_t) of_func; /* when it is closed, by function: its number in `funcs`, from 1 */
    uint32_t ncounters;
    Vec(CountPoint) points; /* by function, then in code order */
    Vec(CountLoop) loops;
    uint32_t nderived;
    Buf derived;            /* their definitions: a table of stdlib/runtime/sums.h */
    uint32_t last_counter;  /* the last counter among its terms */
    Vec(CountValue) values; /* in the order of counts_value */
    Vec(CountSum) sums;     /* by variable */
    bool sums_freed;
    CountTraps corrections;
    CountRun run;
    bool cuts_exits;
    int64_t proc_exit;
    CountsHere here; /* the current function */
} Counts;

/* Initializes the counts. With exact_traps no corrections are needed, as instructions that can trap
 * end segments. */
void counts_init(Counts *c, const WasmModule *m, bool exact_traps);
void counts_free(Counts *c);
void counts_free_here(CountsHere *h);
/* Frees all but the inputs of trap_section_put, once bodies and tables are written. */
void counts_written(Counts *c);

/* Enables counts of ways out of functions (EVENT_FUNC_EXIT): segments end before them, too, so that
 * no trap comes between. Calls of `proc_exit` (-1 = none) are ways out. */
void counts_cut_exits(Counts *c, int64_t proc_exit);

/* Begins a function, ending the previous one. */
void counts_enter(Counts *c, uint32_t func);

/* An event at a site. */
typedef struct CountEvent {
    Event event;
    bool entering; /* a `loop`: only where control enters it, not where a branch goes back */
    uint8_t ways;  /* WAY_...; WAY_BOTH if the event has none */
} CountEvent;
/* Returns the event of an action, in some of its ways. */
static inline CountEvent counts_event(const Action *a, unsigned ways) {
    return (CountEvent){a->event, a->variant->asks.entering, (uint8_t)ways};
}

/* Returns the segment that the probe of an event at a site would be in; COUNT_NONE: never executed;
 * COUNT_EXITS: the segments of all ways out; with COUNT_LEFT: that segment's executions not
 * followed by the next one. Sites must come in code order. */
uint32_t counts_segment(Counts *c, const Site *site, CountEvent event);

/* Returns a key that orders events within a segment: twice the offset of the instruction, plus one
 * after it, minus one before a loop. A trap at `pc` prevents events with keys above 2 * pc. Keys
 * cannot overflow: no engine accepts bodies of 2 GiB. */
uint32_t counts_key(const Site *site, CountEvent event);
/* Returns the event's part of its key: -1, 0 or 1. */
int32_t counts_place(CountEvent event);

/* Finds the segments of the current function, unless already done. */
void counts_find(Counts *c);
/* Returns the segment of an offset, once segments are found; COUNT_NONE if it is dead. Offsets must
 * not decrease within a function. */
static inline uint32_t counts_segment_before(Counts *c, uint32_t offset) {
    const Segments *s = &c->here.segments;
    uint32_t k = c->here.cursor;
    while (k + 1 < s->at.len && s->at.at[k + 1].start <= offset)
        k++;
    c->here.cursor = k;
    return s->at.at[k].dead ? COUNT_NONE : k;
}

/* Begins to find segments, at an offset, while the caller walks all instructions of the function:
 * counts_step follows for each, then counts_walked. Queries about an instruction come after its
 * step. Returns false if they are already found; then no walk is needed. */
bool counts_walk(Counts *c, uint32_t offset);
static inline void counts_step(Counts *c, const WasmInstr *i) {
    const Segments *s = &c->here.segments;
    uint32_t segments = s->at.len, traps = s->traps.len;
    segments_step(&c->here.segments, i);
    if (s->at.len != segments || s->traps.len != traps)
        c->here.since = c->here.shares.len;
}
void counts_walked(Counts *c);
/* Must follow counts_share during a walk: such shares need not be of the current segment. */
static inline void counts_go_on(Counts *c) {
    c->here.since = c->here.shares.len;
}
/* Whether the walk may skip straight instructions, and may use counts_..._now for the position
 * before an instruction: before its step, or after that of a `loop` or `end`. */
static inline bool counts_skims(const Counts *c) {
    return !c->here.segments.ncuts;
}
/* Steps over an instruction whose only effect on control is a trap at a place that is always
 * known. */
static inline void counts_step_trap(Counts *c, uint32_t offset, uint32_t next) {
    segments_step_trap(&c->here.segments, offset, next);
    c->here.since = c->here.shares.len;
}
static inline uint32_t counts_segment_now(const Counts *c) {
    const Segments *s = &c->here.segments;
    return segments_live(s) ? s->at.len - 1 : COUNT_NONE;
}

/* Adds `amount` to a variable for each execution of the segment, at `key`; the caller numbers
 * variables, and proceeds in code order. */
void counts_share(Counts *c, uint32_t var, uint32_t segment, uint32_t key, uint64_t amount);
/* Does the same before the instruction at an offset, in segment counts_segment_now. */
void counts_add_now_(Counts *c, uint32_t var, uint32_t offset, uint64_t amount);
static inline void counts_share_now(Counts *c, uint32_t var, uint32_t offset, uint64_t amount) {
    CountsHere *h = &c->here;
    uint32_t last = var < h->last_share.len ? h->last_share.at[var] : 0;
    if (last > h->since && amount) {
        h->shares.at[last - 1].amount += amount;
        h->nshares++;
    } else {
        counts_add_now_(c, var, offset, amount);
    }
}

/* Requests a CountValue of a segment (from counts_segment) and returns its index in `values`;
 * `last`, the previous index or COUNT_NONE, if that is the same value. */
uint32_t counts_value(Counts *c, uint32_t segment, uint64_t amount, bool flag, uint32_t last);

/* Ends the current function without beginning another. */
void counts_leave(Counts *c);

/* Ends the last function and completes the counts. */
void counts_close(Counts *c);

/* Records that a trap may have to correct the variable. */
void counts_correct(Counts *c, uint32_t var);

/* Resets `run`, zeroed or already joined, to count with the options of `whole`. */
void counts_begin_run(Counts *run, const Counts *whole);
/* Exchanges a run's state of the current function, before it begins and after it has been left:
 * runs counted by one thread use the same memory. */
void counts_exchange_here(Counts *run, CountsHere *here);
/* Appends the counts of a run, whose functions come next. Both have been left. */
void counts_join(Counts *c, const Counts *run);

/* Returns a function's counters and corrections, after counts_close; NULL = none. */
const CountFunc *counts_func(const Counts *c, uint32_t func);

/* Adds a part to a sum; parts come in the order of their counters. */
void count_sum_add(CountSum *sum, uint32_t counter, uint64_t weight);
/* Adds, after counts_close, a counter that no code increments as a part of a variable. */
uint32_t counts_add_part(Counts *c, uint32_t var);

/* Returns the sum of a variable; without parts if nothing was shared. Valid as long as nothing is
 * added. */
const CountSum *counts_sum(const Counts *c, uint32_t var);
/* Frees all sums, once the code that adds them up exists: sums over all code have many parts. */
void counts_free_sums(Counts *c);
/* Frees values and the table of derived counts, once the report's image has them: there may be as
 * many values as instructions. */
void counts_free_values(Counts *c);

#endif
