/*
 * analysis/flow.c - the nesting of constructs, reachability and basic blocks of a function body.
 */
#include "analysis/flow.h"

#include <assert.h>

void flow_begin(Flow *f) {
    f->frames.len = 0;
    vec_push(&f->frames, ((FlowFrame){.op = WASM_OP_COUNT, .live = true}));
    f->live = f->starts = true;
    f->count = 0;
}

void flow_free(Flow *f) {
    vec_free(&f->frames);
}

/* A branch to the label at `depth`, from code that can be reached or not: dead branches target
 * nothing. */
static void flow_target(Flow *f, uint32_t depth) {
    if (!f->live || depth >= f->frames.len)
        return;
    FlowFrame *frame = &f->frames.at[f->frames.len - 1 - depth];
    if (frame->op != WASM_OP_LOOP)
        frame->targeted = true;
}

static void target_table(Flow *f, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        flow_target(f, wasm_vec_u32(&at));
    flow_target(f, i->a);
}

static void target_catches(Flow *f, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        flow_target(f, wasm_vec_catch(&at).label);
}

static void target_handlers(Flow *f, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        if (!h.switches)
            flow_target(f, h.label);
    }
}

/* `else`, `catch`, `catch_all`: control that falls into it continues after the end; the new part is
 * reachable if the construct was. */
static void flow_next_part(Flow *f, uint16_t op) {
    FlowFrame *frame = &vec_last(&f->frames);
    frame->targeted |= f->live;
    frame->op = op;
    frame->dead = false;
    f->live = frame->live;
}

/* Returns whether branches lead to its end, too. */
static bool flow_close_construct(Flow *f) {
    bool targeted = flow_end_is_targeted_(f, 0);
    if (f->frames.len)
        f->frames.len--;
    f->live |= targeted;
    return targeted;
}

/* Updates nesting and reachability at a control instruction. Returns whether it ends the block. */
static bool flow_control(Flow *f, const WasmInstr *i) {
    WasmFlow flow = wasm_flow(i->op);
    switch (flow) {
    case WASM_FLOW_OPEN:
    case WASM_FLOW_LOOP:
    case WASM_FLOW_IF:
        if (i->op == WASM_OP_TRY_TABLE)
            target_catches(f, i);
        vec_push(&f->frames, ((FlowFrame){.op = i->op, .live = f->live}));
        break;
    case WASM_FLOW_ARM:
        if (f->frames.len)
            flow_next_part(f, i->op);
        break;
    case WASM_FLOW_BRANCH_IF:
    case WASM_FLOW_BRANCH: flow_target(f, i->a); break;
    case WASM_FLOW_BRANCH_TABLE: target_table(f, i); break;
    case WASM_FLOW_CALL:
        if (wasm_has_handlers(i->op))
            target_handlers(f, i);
        break;
    case WASM_FLOW_END: return flow_close_construct(f) && i->op == WASM_OP_DELEGATE;
    default: break;
    }
    if (wasm_flow_stops(flow)) {
        f->live = false;
        if (f->frames.len)
            vec_last(&f->frames).dead = true;
    }
    return flow_ends_block((WasmOp)i->op);
}

FlowStep flow_control_(Flow *f, const WasmInstr *i, uint8_t next) {
    assert(f->frames.len); /* begun */
    FlowStep s = {.branched_end = i->op == WASM_OP_END && flow_end_is_targeted_(f, 0)};
    s.live = f->live || s.branched_end;
    s.first = s.live && (f->starts || s.branched_end);
    bool ends = flow_control(f, i) || !f->frames.len;
    flow_count_(f, &s, ends || flow_starts_block_(f, 0, next));
    return s;
}

uint32_t flow_block_length(const Flow *f, WasmCode code) {
    uint32_t count = 1, opened = 0, closed = 0; /* no branch leads to what is opened in the block */
    bool ends = false;
    WasmInstr i;
    while (!ends && code.at < code.end &&
           !flow_starts_block_(f, opened ? UINT32_MAX : closed, *code.at) && wasm_next(&code, &i)) {
        bool closes = wasm_flow(i.op) == WASM_FLOW_END;
        ends = flow_ends_block((WasmOp)i.op) ||
               (i.op == WASM_OP_DELEGATE && !opened && flow_end_is_targeted_(f, closed));
        count++;
        opened += wasm_flow(i.op) == WASM_FLOW_OPEN;
        closed += closes && !opened;
        opened -= closes && opened;
    }
    return count;
}

bool flow_ends_block(WasmOp op) {
    WasmFlow flow = wasm_flow(op);
    return flow == WASM_FLOW_IF || flow == WASM_FLOW_ARM || flow == WASM_FLOW_BRANCH_IF ||
           wasm_flow_stops(flow) || (flow == WASM_FLOW_OPEN && op != WASM_OP_BLOCK) ||
           wasm_has_handlers(op);
}

bool opens_part(WasmOp op) {
    return wasm_flow_opens(wasm_flow(op)) || wasm_flow(op) == WASM_FLOW_ARM;
}

void constructs_find(WasmCode code, Constructs *out) {
    assert(!code.error);
    Vec(uint32_t) open = {
        0}; /* the current part of each open construct; its earlier parts are chained by `end` */
    WasmInstr i;
    out->len = 0;
    while (wasm_next(&code, &i)) {
        WasmOp op = (WasmOp)i.op;
        bool further = wasm_flow(op) == WASM_FLOW_ARM, closes = wasm_flow(op) == WASM_FLOW_END;
        uint32_t before = UINT32_MAX;
        if ((further || closes) && open.len) {
            before = vec_last(&open);
            open.len--;
            out->at[before].part_end = i.offset;
        }
        if (opens_part(op)) {
            vec_push(&open, out->len);
            vec_push(out, ((Construct){i.offset, op == WASM_OP_LOOP, UINT32_MAX, before}));
        }
        for (uint32_t part = closes ? before : UINT32_MAX; part != UINT32_MAX;) {
            uint32_t earlier = out->at[part].end;
            out->at[part].end = i.offset;
            part = earlier;
        }
    }
    vec_free(&open);
}
