/*
 * analysis/flow.h - the nesting of constructs, reachability and basic blocks of a function body,
 * followed instruction by instruction.
 *
 * A basic block is a maximal run of instructions that is entered only at its first and left only
 * after its last. It starts at the function's first instruction, after every instruction that may
 * transfer control within the function, at every `loop`, and at every `end` that some branch
 * targets (the false edge of an `if` and the jump over an else-arm are branches): branches execute
 * the `loop` or `end` that they lead to. Only a `delegate` is not executed by branches to its
 * label; a block starts after one that some target. Calls do not end blocks. So each instruction
 * that is executed is in exactly one block; code that cannot be reached belongs to none.
 */
#ifndef WHAMMC_ANALYSIS_FLOW_H
#define WHAMMC_ANALYSIS_FLOW_H

#include "wasm/op.h"

typedef struct FlowFrame {
    uint16_t op;   /* WasmOp of the opener; WASM_OP_COUNT for the body */
    bool live;     /* the opener can be reached */
    bool targeted; /* control may come to its end other than from the instruction before it */
    bool dead;     /* the validator knows that the rest of this part cannot be reached */
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
    bool branched_end; /* an `end` that branches lead to, too */
} FlowStep;

/* Whether branches lead to the end of the construct at a depth, 0 = the innermost: all branches
 * that can lead there have been seen. The false edge of an `if` without `else` is one. */
static inline bool flow_end_is_targeted_(const Flow *f, uint32_t depth) {
    if (depth >= f->frames.len)
        return false;
    const FlowFrame *frame = &f->frames.at[f->frames.len - 1 - depth];
    return frame->targeted || (frame->op == WASM_OP_IF && frame->live);
}

/* Whether a block starts at an instruction of this opcode, whatever is before it; an `end` closes
 * the construct at the depth. */
static inline bool flow_starts_block_(const Flow *f, uint32_t depth, uint8_t opcode) {
    enum { LOOP = 0x03, END = 0x0b };
    return opcode == LOOP || (opcode == END && flow_end_is_targeted_(f, depth));
}

/* Counts the instructions of blocks. */
static inline void flow_count_(Flow *f, FlowStep *s, bool ends) {
    f->count = s->first ? 1 : f->count + 1;
    f->starts = ends;
    s->last = s->live && ends;
    s->count = f->count;
}

/* Begins a function, before its first instruction. */
void flow_begin(Flow *f);
/* Advances over the next instruction; `next` is the first byte of the one after it, any value at
 * the body's end. */
FlowStep flow_control_(Flow *f, const WasmInstr *i, uint8_t next);
static inline FlowStep flow_step(Flow *f, const WasmInstr *i, uint8_t next) {
    if (wasm_flow(i->op) != WASM_FLOW_NEXT)
        return flow_control_(f, i, next);
    FlowStep s = {.live = f->live, .first = f->live && f->starts};
    flow_count_(f, &s, flow_starts_block_(f, 0, next));
    return s;
}
void flow_free(Flow *f);
/* The number of instructions of a block whose first one was the last step of f, and is not its
 * last; `code` stands after it. */
uint32_t flow_block_length(const Flow *f, WasmCode code);

/* Whether basic blocks always end with such an instruction. */
bool flow_ends_block(WasmOp op);

/* Where the parts of a construct are, by the order of openers and parts (block loop if else try
 * catch catch_all try_table) in the body. */
typedef struct Construct {
    uint32_t start; /* offset of the opener or part */
    bool loop;
    uint32_t part_end; /* offset of the instruction that closes this part: the next else or catch,
                          or the end (or delegate) */
    uint32_t end;      /* offset of the construct's end (or delegate) */
} Construct;
typedef Vec(Construct) Constructs;

/* Fills `out` for a body from its first instruction; constructs that are not closed end at
 * UINT32_MAX. */
void constructs_find(WasmCode code, Constructs *out);

/* Whether an instruction opens a construct or a further part of one. */
bool opens_part(WasmOp op);

#endif
