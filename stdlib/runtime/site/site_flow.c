/*
 * runtime/site/site_flow.c - the nesting of constructs, reachability and basic blocks, as
 * src/analysis/flow.h defines them.
 */
#include "site_state.h"

/* An open construct: WasmOp of its opener (of its part, for else and catch; WASM_OP_COUNT = the
 * body) and bits. */
enum {
    FRAME_OP = 0xffff,
    FRAME_LIVE = 1 << 16,
    FRAME_TARGETED = 1 << 17,
    FRAME_DEAD = 1 << 18 /* the rest of this part is unreachable for the validator */
};

static uint32_t *frame(uint32_t depth) {
    return depth < S->nflow_frames ? words_at(S->flow_frames.at) + (S->nflow_frames - 1 - depth)
                                   : NULL;
}

static bool is_loop(uint32_t depth) {
    const uint32_t *f = frame(depth);
    return f && (*f & FRAME_OP) == WASM_OP_LOOP;
}

/* A branch to the label at `depth`. */
static void target(uint32_t depth) {
    if (S->live && !is_loop(depth) && frame(depth))
        *frame(depth) |= FRAME_TARGETED;
}

static void target_table(const SiteInstr *i, SiteReader r) {
    r.at = r.start + i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        target(site_u32(&r));
    target(i->a);
}

static void target_catches(const SiteInstr *i, SiteReader r) {
    r.at = r.start + i->vec;
    for (uint32_t k = 0; k < i->count; k++) {
        if (site_u8(&r) < 2)
            site_u32(&r);
        target(site_u32(&r));
    }
}

/* The label of the next handler of a resume; false: it has none. */
static bool handler_label(SiteReader *r, uint32_t *label) {
    bool switches = site_u8(r) != 0;
    site_u32(r);
    *label = switches ? 0 : site_u32(r);
    return !switches;
}

static void target_handlers(const SiteInstr *i, SiteReader r) {
    uint32_t label;
    r.at = r.start + i->vec;
    for (uint32_t k = 0; k < i->count; k++)
        if (handler_label(&r, &label))
            target(label);
}

static bool is_try(uint32_t f) {
    return (f & FRAME_OP) == WASM_OP_TRY || (f & FRAME_OP) == WASM_OP_TRY_TABLE;
}

static void open(uint32_t op) {
    S->tries += is_try(op);
    site_push(&S->flow_frames, &S->nflow_frames, op | (S->live ? FRAME_LIVE : 0));
}

static void next_part(uint32_t op) {
    uint32_t *f = frame(0);
    if (!f)
        return;
    S->tries -= is_try(*f);
    *f = (*f & ~(uint32_t)(FRAME_OP | FRAME_DEAD)) | op | (S->live ? FRAME_TARGETED : 0);
    S->live = (*f & FRAME_LIVE) != 0;
}

/* Whether branches lead to the end of the innermost construct, all of which have been seen. The
 * false edge of an `if` is one. */
static bool end_is_targeted(void) {
    const uint32_t *f = frame(0);
    return f && (*f & FRAME_TARGETED || ((*f & FRAME_OP) == WASM_OP_IF && (*f & FRAME_LIVE)));
}

static bool close(void) {
    bool targeted = end_is_targeted();
    if (!S->nflow_frames)
        return false;
    S->tries -= is_try(*frame(0));
    S->nflow_frames--;
    S->live |= targeted;
    return targeted;
}

/* Whether a block starts at an instruction of this opcode, whatever is before it. */
static bool starts_block(uint8_t opcode) {
    enum { LOOP = 0x03, END = 0x0b };
    return opcode == LOOP || (opcode == END && end_is_targeted());
}

/* After an instruction that control does not go on from. */
static void stop(void) {
    S->live = false;
    if (frame(0))
        *frame(0) |= FRAME_DEAD;
}

/* Applies an instruction; returns whether the block ends with it. */
static bool control(const SiteInstr *i, const SiteReader *r) {
    WasmFlow flow = wasm_flow(i->op);
    switch (flow) {
    case WASM_FLOW_OPEN:
        if (i->op == WASM_OP_TRY_TABLE)
            target_catches(i, *r);
        open(i->op);
        return i->op != WASM_OP_BLOCK;
    case WASM_FLOW_LOOP:
    case WASM_FLOW_IF: open(i->op); return flow == WASM_FLOW_IF;
    case WASM_FLOW_ARM: next_part(i->op); return true;
    case WASM_FLOW_END: return close() && i->op == WASM_OP_DELEGATE;
    case WASM_FLOW_BRANCH_IF: target(i->a); return true;
    case WASM_FLOW_BRANCH: target(i->a); break;
    case WASM_FLOW_BRANCH_TABLE: target_table(i, *r); break;
    case WASM_FLOW_NEXT: return false;
    case WASM_FLOW_CALL:
        if (wasm_has_handlers(i->op))
            target_handlers(i, *r);
        return wasm_has_handlers(i->op);
    default: break;
    }
    stop();
    return true;
}

static void step(SiteReader *r) {
    site_next(&S->flow, r);
    bool targeted = S->flow.i.op == WASM_OP_END && end_is_targeted();
    bool live = S->live || targeted;
    S->in_try = S->tries != 0;
    S->dead = frame(0) && *frame(0) & FRAME_DEAD;
    S->first = live && (S->starts || targeted);
    S->open_count = S->first ? 1 : S->open_count + 1;
    bool plain = S->flow.i.signature != 0; /* no control instruction has fixed types */
    bool ends = (!plain && control(&S->flow.i, r)) || !S->nflow_frames || starts_block(*r->at);
    S->last = live && ends;
    S->block_count = S->open_count;
    S->starts = ends;
}

const SiteInstr *site_flow(uint32_t fid, uint32_t pc) {
    SiteCursor *c = &S->flow;
    if (site_restart(c, fid, pc)) {
        S->nflow_frames = S->tries = 0;
        S->live = S->starts = true;
        S->open_count = 0;
        open(WASM_OP_COUNT);
    }
    if (site_before(c, pc)) {
        SiteReader r = site_body(fid);
        while (site_before(c, pc))
            step(&r);
    }
    site_arrived(c, pc);
    return &c->i;
}

/* ---- questions ---- */

SITE_EXPORT(live)
uint32_t site_live(uint32_t fid, uint32_t pc) {
    if (pc == 0) /* the function's entry */
        return 1;
    site_flow(fid, pc);
    return !S->dead;
}

SITE_EXPORT(block_first)
uint32_t site_block_first(uint32_t fid, uint32_t pc) {
    site_flow(fid, pc);
    return S->first;
}

SITE_EXPORT(block_last)
uint32_t site_block_last(uint32_t fid, uint32_t pc) {
    site_flow(fid, pc);
    return S->last;
}

SITE_EXPORT(instr_count)
uint32_t site_instr_count(uint32_t fid, uint32_t pc) {
    site_flow(fid, pc);
    return S->block_count;
}

SITE_EXPORT(in_try)
uint32_t site_in_try(uint32_t fid, uint32_t pc) {
    site_flow(fid, pc);
    return S->in_try;
}

/* ---- what is in a function ---- */

/* Whether an instruction is one of those that site_fn_has looks for. */
static uint32_t kind_of(const SiteInstr *i) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_CALL: return SITE_HAS_CALLS;
    case WASM_FLOW_TAIL_CALL: return SITE_HAS_CALLS | SITE_HAS_TAIL_CALLS;
    case WASM_FLOW_LOOP: return SITE_HAS_LOOPS;
    default: return 0;
    }
}

/* Reads the whole body, once for all sites of a function. */
static uint32_t contents(uint32_t fid) {
    SiteReader r = site_body(fid);
    SiteInstr i;
    uint32_t kinds = 0;
    for (r.at = r.start + S->code; r.at < r.end;) {
        site_decode(&r, &i);
        kinds |= kind_of(&i);
    }
    return kinds;
}

SITE_EXPORT(fn_has)
uint32_t site_fn_has(uint32_t fid, uint32_t kind) {
    if (S->contents_func != fid + 1) {
        S->contents = contents(fid);
        S->contents_func = fid + 1;
    }
    return (S->contents & kind) != 0;
}

/* ---- branches to loops ---- */

/* Whether target `n` of a branch is a loop; a br_table's labels are read in order from *r. */
static bool target_is_loop(const SiteInstr *i, SiteReader *r, uint32_t n) {
    return is_loop(n < i->count ? site_u32(r) : i->a);
}

/* How many targets an instruction has, the default of a br_table included. */
static uint32_t targets(const SiteInstr *i) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_BRANCH:
    case WASM_FLOW_BRANCH_IF: return 1;
    case WASM_FLOW_BRANCH_TABLE: return i->count + 1;
    default: return 0;
    }
}

/* Whether a catch clause of a try_table branches to a loop. Its labels are counted from outside
 * it. */
static bool catches_to_loop(const SiteInstr *i, SiteReader r) {
    for (uint32_t k = 0; i->op == WASM_OP_TRY_TABLE && k < i->count; k++) {
        if (site_u8(&r) < 2)
            site_u32(&r);
        if (is_loop(site_u32(&r) + 1))
            return true;
    }
    return false;
}

static bool handles_in_loop(const SiteInstr *i, SiteReader r) {
    uint32_t label;
    for (uint32_t k = 0; wasm_has_handlers(i->op) && k < i->count; k++)
        if (handler_label(&r, &label) && is_loop(label))
            return true;
    return false;
}

SITE_EXPORT(goes_to_loop)
uint32_t site_goes_to_loop(uint32_t fid, uint32_t pc) {
    const SiteInstr *i = site_flow(fid, pc);
    SiteReader r = site_vec(i, fid);
    for (uint32_t k = 0; k < targets(i); k++)
        if (target_is_loop(i, &r, k))
            return 1;
    return catches_to_loop(i, site_vec(i, fid)) || handles_in_loop(i, site_vec(i, fid));
}

SITE_EXPORT(loop_map)
uint32_t site_loop_map(uint32_t fid, uint32_t pc) {
    const SiteInstr *i = site_flow(fid, pc);
    SiteReader r = site_vec(i, fid);
    uint32_t n = targets(i), bytes = n / 8 + 1, map = values_str_new(bytes);
    __builtin_memset(at(map + 4), 0, bytes);
    for (uint32_t k = 0; k < n; k++)
        if (target_is_loop(i, &r, k))
            *at(map + 4 + k / 8) |= (uint8_t)(1u << (k & 7));
    return values_str_intern(map);
}
