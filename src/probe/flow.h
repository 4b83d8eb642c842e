/*
 * probe/flow.h - the nesting of constructs, reachability and basic blocks of a function body,
 * followed instruction by instruction.
 *
 * A basic block is a maximal run of instructions that is entered only at its first and left only
 * behind its last. It starts at the function's first instruction, behind every instruction that may
 * transfer control within the function, at the first instruction inside a loop, and behind every
 * `end` that some branch targets (the false edge of an `if` and the jump over an else-arm are
 * branches). Calls do not end blocks; code that cannot be reached belongs to none.
 */
#ifndef WHAMMC_PROBE_FLOW_H
#define WHAMMC_PROBE_FLOW_H

#include "wasm/op.h"

typedef struct FlowFrame {
    uint16_t op;   /* WasmOp of the opener; WASM_OP_COUNT for the body */
    bool live;     /* the opener can be reached */
    bool targeted; /* control may come to its end other than from the instruction in front of it */
} FlowFrame;

/* A zeroed one is valid; flow_begin for each body. */
typedef struct Flow {
    Vec(FlowFrame) frames;
    bool live;      /* the next instruction can be reached */
    bool starts;    /* it starts a block */
    uint32_t count; /* instructions of the open block so far */
} Flow;

typedef struct FlowStep {
    bool live;
    bool first, last;  /* of a basic block */
    uint32_t count;    /* if last: instructions in the block */
    bool branched_end; /* an `end` to whose place branches lead too */
} FlowStep;

void flow_begin(Flow *f);
/* Goes over the next instruction. */
FlowStep flow_control_(Flow *f, const WasmInstr *i);
static inline FlowStep flow_step(Flow *f, const WasmInstr *i) {
    uint8_t category = wasm_ops[i->op].category;
    if (category == WASM_CAT_CONTROL || category == WASM_CAT_EXN || category == WASM_CAT_TABLE ||
        category == WASM_CAT_MISC)
        return flow_control_(f, i);
    FlowStep s = {.live = f->live, .first = f->live && f->starts};
    f->count = s.first ? 1 : f->count + 1;
    f->starts = false;
    return s;
}
void flow_free(Flow *f);

/* Whether basic blocks end with such an instruction: always, but for an `end`. */
bool flow_may_end_block(WasmOp op);

/* Where the parts of a construct are, by the order of openers and parts (block loop if else try
 * catch catch_all try_table) in the body. */
typedef struct Construct {
    uint32_t start; /* offset of the opener or part */
    bool loop;
    uint32_t part_end; /* offset of what closes this part: the next else or catch, or the end (or
                          delegate) */
    uint32_t end;      /* offset of the construct's end (or delegate) */
} Construct;
typedef Vec(Construct) Constructs;

/* Fills `out` for a body from its first instruction; what is not closed ends at UINT32_MAX. */
void constructs_find(WasmCode code, Constructs *out);

/* Whether an instruction opens a construct or a further part of one. */
bool opens_part(WasmOp op);

#endif
