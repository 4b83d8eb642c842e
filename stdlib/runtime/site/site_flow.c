/*
 * runtime/site/site_flow.c - the nesting of constructs, reachability and basic blocks: the
 * compiler's walk (src/analysis/flow.c) goes through the function with a cursor.
 */
#include "site_state.h"

static bool is_try(uint32_t op) {
    return op == WASM_OP_TRY || op == WASM_OP_TRY_TABLE;
}

static void step(Flow *f, WasmCode *r) {
    const WasmInstr *i = &S->flow.i;
    site_next(&S->flow, r);
    WasmFlow flow = wasm_flow(i->op);
    if (!f->frames.len)
        site_fail(SITE_MALFORMED, S->flow.func, i->offset);
    S->in_try = S->tries != 0;
    S->dead = vec_last(&f->frames).dead;
    if (flow == WASM_FLOW_ARM || flow == WASM_FLOW_END)
        S->tries -= is_try(vec_last(&f->frames).op);
    FlowStep s = flow_step(f, i, r->at == r->end ? 0 : *r->at);
    S->tries += is_try(i->op);
    S->first = s.first;
    S->last = s.last;
    S->block_count = s.count;
}

const WasmInstr *site_flow(uint32_t fid, uint32_t pc) {
    SiteCursor *c = &S->flow;
    WasmCode r = site_body(fid);
    Flow *f = &site_model()->flow;
    if (site_restart(c, fid, pc)) {
        flow_begin(f);
        S->tries = 0;
    }
    while (site_before(c, pc))
        step(f, &r);
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
    const WasmInstr *i = site_flow(fid, pc);
    if (S->last)
        return S->block_count;
    WasmCode rest = site_body(fid);
    rest.at = rest.start + i->offset + i->size;
    return flow_block_length(&site_model()->flow, rest);
}

SITE_EXPORT(in_try)
uint32_t site_in_try(uint32_t fid, uint32_t pc) {
    site_flow(fid, pc);
    return S->in_try;
}

/* ---- what is in a function ---- */

/* Whether an instruction is one of those that site_fn_has looks for. */
static uint32_t kind_of(const WasmInstr *i) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_CALL: return SITE_HAS_CALLS;
    case WASM_FLOW_TAIL_CALL: return SITE_HAS_CALLS | SITE_HAS_TAIL_CALLS;
    case WASM_FLOW_LOOP: return SITE_HAS_LOOPS;
    default: return 0;
    }
}

/* Reads the whole body, once for all sites of a function. */
static uint32_t contents(uint32_t fid) {
    WasmCode r = site_body(fid);
    WasmInstr i;
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

static bool is_loop(uint32_t depth) {
    const Flow *f = &site_model()->flow;
    return depth < f->frames.len && f->frames.at[f->frames.len - 1 - depth].op == WASM_OP_LOOP;
}

/* Whether target `n` of a branch is a loop; a br_table's labels are read in order from *p. */
static bool target_is_loop(const WasmInstr *i, const uint8_t **p, uint32_t n) {
    return is_loop(n < i->count ? wasm_vec_u32(p) : i->a);
}

/* How many targets an instruction has, the default of a br_table included. */
static uint32_t targets(const WasmInstr *i) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_BRANCH:
    case WASM_FLOW_BRANCH_IF: return 1;
    case WASM_FLOW_BRANCH_TABLE: return i->count + 1;
    default: return 0;
    }
}

/* Whether a catch clause of a try_table branches to a loop. Its labels are counted from outside
 * it. */
static bool catches_to_loop(const WasmInstr *i) {
    const uint8_t *p = i->vec;
    for (uint32_t k = 0; i->op == WASM_OP_TRY_TABLE && k < i->count; k++)
        if (is_loop(wasm_vec_catch(&p).label + 1))
            return true;
    return false;
}

static bool handles_in_loop(const WasmInstr *i) {
    const uint8_t *p = i->vec;
    for (uint32_t k = 0; wasm_has_handlers(i->op) && k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&p);
        if (!h.switches && is_loop(h.label))
            return true;
    }
    return false;
}

SITE_EXPORT(goes_to_loop)
uint32_t site_goes_to_loop(uint32_t fid, uint32_t pc) {
    const WasmInstr *i = site_flow(fid, pc);
    const uint8_t *p = i->vec;
    for (uint32_t k = 0; k < targets(i); k++)
        if (target_is_loop(i, &p, k))
            return 1;
    return catches_to_loop(i) || handles_in_loop(i);
}

SITE_EXPORT(loop_map)
uint32_t site_loop_map(uint32_t fid, uint32_t pc) {
    const WasmInstr *i = site_flow(fid, pc);
    const uint8_t *p = i->vec;
    uint32_t n = targets(i), bytes = n / 8 + 1, map = values_str_new(bytes);
    __builtin_memset(at(map + 4), 0, bytes);
    for (uint32_t k = 0; k < n; k++)
        if (target_is_loop(i, &p, k))
            *at(map + 4 + k / 8) |= (uint8_t)(1u << (k & 7));
    return values_str_intern(map);
}
