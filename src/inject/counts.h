/*
 * inject/counts.h - counting by segments: which counters a program gets, and how the counts that
 * are asked for follow from them.
 *
 * Pass 1 notes, function by function, which counts of segments (analysis/segment.h) are needed: for
 * values, which are multiples of one segment's count, and for shares of variables, which are sums
 * over segments. At the end of a function, as few counters as possible are chosen from which the
 * counts of all these segments follow.
 *
 * How often a branch goes one way is the count of the segment after it, and the other way the
 * difference between that and the count of its own segment.
 *
 * If an instruction traps, the rest of its segment has been counted but not executed. Counts.traps
 * says what to correct then, if the offset of the trap is known.
 *
 * Runs of functions can be counted by themselves, on several threads, and joined in the order of
 * the program (counts_join.c): what is numbered in a run moves by what was numbered before it.
 */
#ifndef WHAMMC_INJECT_COUNTS_H
#define WHAMMC_INJECT_COUNTS_H

#include "analysis/exits.h"
#include "analysis/loop_step.h"
#include "analysis/segment.h"
#include "event/branch.h"
#include "plan/plan.h"

/* There are at most so many loops, each of which takes two globals. */
enum { COUNT_LOOP_BITS = 14, COUNT_MAX_LOOPS = 10000 };

/* Where a counter is counted: before the instruction at `offset`, or (`after`) after it. */
typedef struct CountPoint {
    uint32_t offset;
    uint32_t loop : COUNT_LOOP_BITS; /* its number in Counts.loops, from 1; 0 = none */
    uint32_t after : 1;
    uint32_t cool : 1;      /* calling a function that counts would hardly be noticed here */
    uint32_t otherwise : 1; /* ... of a br_table, before which it is, only if that takes its default
                             */
} CountPoint;

/* A loop that is counted by what it does to a local (analysis/loop_step.h). */
typedef struct CountLoop {
    uint32_t func, counter;
    LoopStep step;
} CountLoop;

/* How often something was executed: a counter, or a derived count. */
typedef struct CountRef {
    uint32_t index : 31, derived : 1;
} CountRef;

/* `amount` times how often something was executed, or (`flag`) just `amount` if ever it was. */
typedef struct CountValue {
    uint64_t amount; /* 0: whatever was executed, the value is 0 */
    CountRef ref;
    bool flag;
} CountValue;

/* What is counted in place of a segment. */
enum { COUNT_NONE = UINT32_MAX, COUNT_EXITS = 0x7fffffff };
/* With the number of a segment: its count, less that of the next segment. */
#define COUNT_LEFT UINT32_C(0x80000000)

/* What is counted of a variable: the sum of its parts, each of which is a multiple of a counter. */
typedef struct CountSum {
    Buf parts;     /* as stdlib/runtime/sums.h describes them */
    uint32_t n;    /* how many */
    uint32_t next; /* the counter after that of the last one */
} CountSum;

/*
 * A function in which something is counted. Counts.traps has, for each of its segments in which
 * instructions can trap:
 *
 *   ULEB  such instructions << 2 | has variables to correct << 1 | has a deficit
 *   ULEB  its deficit, less CountFunc.deficit, if it has one
 *   ULEB  if it has variables: how many; for each ULEB its number
 *   ULEB  `to`, below which keys (counts_key) are in the segment, less twice the offset of its last
 *         such instruction; 0 = it is the last segment
 *   if it has variables, for each such instruction:
 *     ULEB  bytes that follow; 0 = what is to be added is the same as at the instruction before
 *     SLEB  for each variable: what is to be added
 */
typedef struct CountFunc {
    uint32_t func;
    uint32_t point, npoints; /* Counts.points.at[point...]; its counters have the same numbers */
    bool last, otherwise;    /* some of these are */
    uint32_t trap, ntraps;   /* Counts.trap_points.at[trap...] */
    uint32_t deficit;        /* of all deficits the last one before its own; 0 = none */
    uint32_t nsegments;      /* in Counts.traps, from here on: */
    size_t segments;
} CountFunc;

/* What each execution of a segment adds to a variable. */
typedef struct CountShare {
    uint32_t var, segment, key;
    uint32_t stage; /* traps of the function before it */
    uint64_t amount;
    uint32_t before; /* 1 + the share of the variable before it; 0 = it is the first one */
} CountShare;

/* What is known of the function that is being counted. */
/* By segment of the current function. */
typedef struct CountSegments {
    Vec(uint64_t) weights;
    Vec(bool) needed, asked, derived;
    Vec(CountRef) refs;
} CountSegments;

typedef struct CountsHere {
    uint32_t func;
    bool found;
    Segments segments;
    uint32_t cursor;
    uint32_t first_value; /* its values in `values`: until it is over, ref.index is the segment, and
                             ref.derived says COUNT_LEFT */
    Vec(CountShare) shares; /* in the order of the code */
    Vec(uint32_t) vars;     /* of which there are shares */
    uint32_t nshares;       /* as given, of which some are joined */
    uint32_t stage;         /* traps before the key that was given last */
    uint32_t since; /* while it is walked: shares from this one on are of the current segment, after
                       the last trap */
    Vec(uint32_t) last_share; /* by variable: 1 + the last one of it; 0 = there is none */
    Vec(uint32_t) starts;     /* where deficits by class begin */
    Vec(struct CountDeficit) deficits, by_class; /* what deficits add to variables; sorted */
    Vec(uint32_t) to_correct;                    /* variables of a segment */
    Vec(uint64_t) amounts;                       /* at one of its traps, by variable */
    CountSegments of;
    Vec(bool) weighed;        /* by blocks of segments: some of these may have a weight */
    Vec(uint32_t) deficit_of; /* by class: 0 = none, 1 = one without number, 2 + its number */
    Vec(uint32_t) place_of;   /* by variable: in to_correct, from 1; 0 = it is not in it */
    ExitOffsets ways_out;
    Vec(uint32_t) exits; /* the segments that begin there */
} CountsHere;

/* What traps make of counts. */
typedef struct CountTraps {
    bool exact; /* segments end at instructions that can trap: nothing is to be corrected */
    Buf table;  /* segments in which instructions can trap, and what to correct then: see CountFunc
                 */
    Vec(uint32_t) points;    /* offsets of these instructions, in the order of the code */
    uint32_t *moved;         /* ... in the new bodies; filled in as these are written */
    Vec(uint32_t) corrected; /* variables that are to be corrected somewhere */
    Vec(bool) corrects;      /* by variable: whether it is one of these */
    uint32_t ndeficits;      /* deficits of derived counts, numbered from 1 */
} CountTraps;

/* A run of functions, to be joined to what is before it. */
typedef struct CountRun {
    bool is;                /* the Counts are those of a run */
    Vec(uint32_t) numbered; /* where `derived` has numbers that then change */
    uint32_t first_term;    /* ... of the first counter, + 1; the others are of deficits */
} CountRun;

/* What may be set first. */
typedef struct CountOptions {
    bool follows_locals; /* there can be loops */
    bool grows_memory;   /* memory 0 can become larger than the program declares */
    bool asks_ways;      /* ways of branches will be asked for, */
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
    Vec(CountPoint) points; /* in the order of functions, in these of code */
    Vec(CountLoop) loops;
    uint32_t nderived;
    Buf derived;            /* how they are computed: a table of stdlib/runtime/sums.h */
    uint32_t last_counter;  /* of its last term that is a counter */
    Vec(CountValue) values; /* in the order of counts_value */
    Vec(CountSum) sums;     /* by variable */
    bool sums_freed;
    CountTraps corrections;
    CountRun run;
    bool cuts_exits;
    int64_t proc_exit;
    CountsHere here; /* the current function */
} Counts;

/* With exact_traps nothing is ever to be corrected, as instructions that can trap end segments. */
void counts_init(Counts *c, const WasmModule *m, bool exact_traps);
void counts_free(Counts *c);
void counts_free_here(CountsHere *h);
/* Frees all but what trap_section_put needs, once bodies and tables are written. */
void counts_written(Counts *c);

/* Ways out of functions will be asked for (EVENT_FUNC_EXIT): segments end before them, too, so
 * that no trap comes between. Calls of `proc_exit` (-1: there is none) are some. */
void counts_cut_exits(Counts *c, int64_t proc_exit);

/* Begins a function; the one before is over. */
void counts_enter(Counts *c, uint32_t func);

/* What happens at a site. */
typedef struct CountEvent {
    Event event;
    bool entering; /* a `loop`: only where control enters it, not where a branch goes back */
    uint8_t ways;  /* WAY_..., if there are any: WAY_BOTH */
} CountEvent;
/* Of an action, in some of its ways. */
static inline CountEvent counts_event(const Action *a, unsigned ways) {
    return (CountEvent){a->event, a->variant->asks.entering, (uint8_t)ways};
}

/* The segment of that function in which the probe of an event at a site would be; COUNT_NONE: it is
 * never executed; COUNT_EXITS: several, which stand for all ways out; with COUNT_LEFT: that
 * segment's executions that the next one does not follow. Sites come in the order of the code. */
uint32_t counts_segment(Counts *c, const Site *site, CountEvent event);

/* Orders what is in one segment: twice the offset of the instruction, one more for what is after
 * it, one less for what is before a loop. An instruction at `pc` that traps keeps those above
 * 2 * pc from happening. No engine takes bodies that these would be too large for, of 2 GiB. */
uint32_t counts_key(const Site *site, CountEvent event);
/* What of that the event makes: -1, 0 or 1. */
int32_t counts_place(CountEvent event);

/* Finds the segments of the current function, if that is not done. */
void counts_find(Counts *c);
/* The segment that an offset is in, once they are found; COUNT_NONE if it is dead. Offsets must not
 * decrease within a function. */
static inline uint32_t counts_segment_before(Counts *c, uint32_t offset) {
    const Segments *s = &c->here.segments;
    uint32_t k = c->here.cursor;
    while (k + 1 < s->at.len && s->at.at[k + 1].start <= offset)
        k++;
    c->here.cursor = k;
    return s->at.at[k].dead ? COUNT_NONE : k;
}

/* Finds them as the caller goes through all instructions of the function: it begins at an offset,
 * steps over each instruction, and ends. What is asked of an instruction comes after its step.
 * False: they are found already, nothing is to be done. */
bool counts_walk(Counts *c, uint32_t offset);
static inline void counts_step(Counts *c, const WasmInstr *i) {
    const Segments *s = &c->here.segments;
    uint32_t segments = s->at.len, traps = s->traps.len;
    segments_step(&c->here.segments, i);
    if (s->at.len != segments || s->traps.len != traps)
        c->here.since = c->here.shares.len;
}
void counts_walked(Counts *c);
/* Comes after counts_share while it is walked: such shares need not be of the current segment. */
static inline void counts_go_on(Counts *c) {
    c->here.since = c->here.shares.len;
}
/* Whether the walk may leave out straight instructions, and may ask for what is before one with
 * counts_..._now: before its step, or after that of a `loop` or `end`. */
static inline bool counts_skims(const Counts *c) {
    return !c->here.segments.ncuts;
}
/* The step of an instruction that can trap, where its place is always known, and does nothing else.
 */
static inline void counts_step_trap(Counts *c, uint32_t offset, uint32_t next) {
    segments_step_trap(&c->here.segments, offset, next);
    c->here.since = c->here.shares.len;
}
static inline uint32_t counts_segment_now(const Counts *c) {
    const Segments *s = &c->here.segments;
    return segments_live(s) ? s->at.len - 1 : COUNT_NONE;
}

/* Each execution of the segment adds so much to a variable, at `key`; the caller numbers variables,
 * and goes in the order of the code. */
void counts_share(Counts *c, uint32_t var, uint32_t segment, uint32_t key, uint64_t amount);
/* The same before the instruction at an offset, where counts_segment_now is the segment. */
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

/* Asks for a CountValue of a segment (as counts_segment gives it): an index into `values`. It is
 * `last`, the index that was given before or COUNT_NONE, if that is the same. */
uint32_t counts_value(Counts *c, uint32_t segment, uint64_t amount, bool flag, uint32_t last);

/* The current function is over, and no other one has begun. */
void counts_leave(Counts *c);

/* The last function is over, too. */
void counts_close(Counts *c);

/* A trap may have to correct the variable. */
void counts_correct(Counts *c, uint32_t var);

/* Makes `run`, a zeroed one or one that was joined before, count like `whole` from nothing. */
void counts_begin_run(Counts *run, const Counts *whole);
/* Exchanges what a run needs for the current function, before it begins and after it has been left:
 * the runs that a thread counts use the same memory. */
void counts_exchange_here(Counts *run, CountsHere *here);
/* Adds what a run has counted, whose functions come next. Both have been left. */
void counts_join(Counts *c, const Counts *run);

/* When it is closed: what a function has; NULL: nothing. */
const CountFunc *counts_func(const Counts *c, uint32_t func);

/* Adds a part to a sum; parts come in the order of their counters. */
void count_sum_add(CountSum *sum, uint32_t counter, uint64_t weight);
/* When it is closed: adds a counter that nobody counts as a part of a variable. */
uint32_t counts_add_part(Counts *c, uint32_t var);

/* The sum of a variable; without parts if nothing was shared. Valid as long as nothing is added. */
const CountSum *counts_sum(const Counts *c, uint32_t var);
/* Frees all of them, once what adds them up is there: those over all code have many parts. */
void counts_free_sums(Counts *c);
/* Frees values and the table of derived counts, once the report's image has them: there may be as
 * many values as instructions. */
void counts_free_values(Counts *c);

#endif
