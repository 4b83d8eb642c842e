/*
 * analysis/segment.h - the straight-line segments of a function body, and which of them need a
 * counter so that the counts of all are known.
 *
 * A segment is a straight-line run of instructions: if the first is executed, all are, unless one
 * traps. It ends where a basic block ends (flow.h) and after every call, which may not return.
 * Segments can be empty: for example between a `br_if` and a `loop`, which is the first instruction
 * of a segment. Where an instruction traps, its segment has not been executed as a whole, so flow
 * is not conserved there: either the user corrects that (SegmentTrap), or such instructions end
 * segments, too.
 *
 * Segments are the edges of a flow graph whose nodes are called *classes*: two segments end in the
 * same class if control can continue from both at the same instruction. Flow is conserved at a
 * class: the counts of the segments that end there add up to the counts of the segments that start
 * there. Edges on a spanning tree therefore need no counter (Knuth and Stevenson, "Optimal
 * measurement points for program frequency counts", BIT 13, 1973). Code outside of the function is
 * one more edge: from EXIT, where returns, calls that do not return and exceptions end, to ENTRY.
 * Segments in inner loops are put on the tree first.
 *
 * After a branch comes the segment of its fall-through way, which may be empty, so that both ways
 * are known. If `splits_tables` is set, a br_table is also followed by a segment, which stands for
 * the way to its default.
 */
#ifndef WHAMMC_ANALYSIS_SEGMENT_H
#define WHAMMC_ANALYSIS_SEGMENT_H

#include "wasm/op.h"

typedef struct Segment {
    uint32_t start;   /* offset of its first instruction; if it is empty, of the next instruction */
    uint32_t last_pc; /* offset of the last instruction that was reached in it */
    uint32_t depth;   /* loops around it, at least */
    uint64_t weight;  /* how often it is executed, if that is estimated */
    uint32_t in, out; /* its classes */
    bool dead;        /* cannot be reached: has no classes, is never executed */
    bool at_label; /* begins with a `loop` or an `end` that branches lead to: its counter goes after
                      that instruction */
    bool last;     /* ... which is the body's last `end` */
    bool otherwise;  /* is the edge to the default of the br_table that ends the segment before */
    bool calls;      /* ends with a call */
    bool unplaced;   /* has no place for a counter: goes on the tree before all others */
    bool counted;    /* needs a counter; if not, and not dead, an equation has its count */
    uint8_t urgency; /* for the tree: the lower, the earlier it goes on it */
} Segment;

/* The count of `segment` is the sum of the counts of terms[from..middle), less those of
 * terms[middle..to). */
typedef struct SegmentEquation {
    uint32_t segment;
    uint32_t from, middle, to;
    uint32_t class; /* at which it was found: the segment's start or end */
} SegmentEquation;

/* An instruction in a segment that can trap; in the order of the code. */
typedef struct SegmentTrap {
    uint32_t segment, offset;
} SegmentTrap;

typedef struct SegmentLabel SegmentLabel;

/* The state at an instruction while a body is split. */
typedef struct SegmentWalk {
    uint32_t depth;  /* loops */
    uint32_t cut;    /* the next one of `cuts` */
    uint64_t weight; /* of the current segment */
    bool live;       /* it can be reached */
    bool exact_traps;
} SegmentWalk;

/* A zeroed one can be used for one body after the other. */
typedef struct Segments {
    const uint32_t *cuts; /* offsets, ascending: segments end before these, too; borrowed */
    uint32_t ncuts;
    bool splits_tables; /* there is a segment for the default of each br_table */
    bool estimates;     /* weights, in place of depths, choose the tree: arms count for less */
    bool polls;      /* a report may be made where an iteration of a loop begins: flow need not be
                        conserved there at that moment */
    Vec(Segment) at; /* in the order of the code */
    Vec(SegmentEquation) equations; /* each uses only counters and equations before it */
    Vec(uint32_t) terms;            /* indices of segments */
    Vec(SegmentTrap) traps;
    /* work space: by class, and lists */
    Vec(uint32_t) merged, joined, lists, list_at, reached, via;
    Vec(SegmentLabel) labels;
    SegmentWalk walk;
} Segments;

/* Finds the segments of a valid body; `code` is at its first instruction. With exact_traps segments
 * end after all instructions that can trap; else only after traps whose place is not always known,
 * and where traps are very many. Segments may then be made `unplaced`; none is at first. */
void segments_split(Segments *s, WasmCode code, bool exact_traps);
void segments_free(Segments *s);

/* segments_split instruction by instruction, for callers that walk the body anyway. They may skip
 * instructions that are wasm_is_straight, unless there are cuts. */
void segments_begin(Segments *s, uint32_t offset, bool exact_traps);
void segments_step(Segments *s, const WasmInstr *i);
/* The same for an instruction that is not decoded: it can trap, where its place is always known
 * (op_hides_trap), and does nothing else. Not if there are cuts. */
void segments_step_trap(Segments *s, uint32_t offset, uint32_t next);
void segments_end(Segments *s);
/* Before a step: whether the instruction can be reached; if so, the last segment is its own, unless
 * it is a `loop` or an `end`. */
static inline bool segments_live(const Segments *s) {
    return s->walk.live;
}

/* Whether fewer counters may do than one for each needed segment: not if no count of these follows
 * from the other ones. `needed[i]`: the count of segment i is needed; it is not dead. */
bool segments_may_derive(Segments *s, const bool *needed);
/* If so: finds the counters, and equations for the other segments. */
void segments_solve(Segments *s);
/* Then chooses how to compute the counts of the needed segments. False: each of them gets a
 * counter. True: the equations of needed segments are used; the segments in these equations become
 * needed, too, and needed segments with `counted` get counters. A segment that is unplaced gets one
 * only if that cannot be avoided. */
bool segments_choose(Segments *s, bool *needed);

/* Asserts that the segments are in order and have classes, and that each equation uses only counters
 * and equations before it. After segments_end; in builds with assertions only. */
bool segments_check(const Segments *s);

/* The segment of the instruction at `offset`. Offsets must not decrease from one call to the next;
 * *cursor is 0 at first. */
const Segment *segments_seek(const Segments *s, uint32_t *cursor, uint32_t offset);

#endif
