/*
 * rewrite/frame_liveness.c - whether control, after an instruction, soon reaches a call or the end
 * of the function.
 */
#include "rewrite/frame_liveness.h"

enum {
    SIMPLE = 32, /* simple instructions on one way */
    AHEAD = 16,  /* remaining simple instructions where liveness_fork stops */
    STEPS = 192, /* instructions examined, on all ways together */
};

/* Finds constructs, from their openers to their ends; a `delegate` is one. */
static void find_constructs(Liveness *s) {
    Vec(uint32_t) open = {0}, arms = {0};
    for (uint32_t k = 0; k < s->n; k++) {
        uint16_t op = s->body.at.at[k].op;
        s->outer[k] = open.len ? vec_last(&open) : (uint32_t)LIVENESS_FUNCTION;
        if (wasm_flow_opens(wasm_flow(op))) {
            vec_push(&open, k);
        } else if (op == WASM_OP_ELSE && open.len) {
            s->end[k] = vec_last(&open); /* for now: its `if` */
            vec_push(&arms, k);
        } else if ((op == WASM_OP_END || op == WASM_OP_DELEGATE) && open.len) {
            s->end[vec_last(&open)] = k;
            open.len--;
        }
    }
    for (uint32_t k = 0; k < arms.len; k++)
        s->end[arms.at[k]] = s->end[s->end[arms.at[k]]];
    vec_free(&open);
    vec_free(&arms);
}

void liveness_begin(Liveness *s, const WasmModule *m, uint32_t func) {
    WasmCode code;
    wasm_func_code(m, func, &code);
    wasm_decode(&s->body, func, &code);
    s->n = s->body.at.len - 1;
    s->outer = mem_zalloc(sizeof *s->outer * (s->n + 1u));
    s->end = mem_zalloc(sizeof *s->end * (s->n + 1u));
    find_constructs(s);
}

void liveness_free(Liveness *s) {
    vec_free(&s->body.at);
    free(s->outer);
    free(s->end);
}

uint32_t liveness_target(const Liveness *s, uint32_t k, uint32_t label) {
    uint32_t to = s->outer[k];
    while (label-- && to != LIVENESS_FUNCTION)
        to = s->outer[to];
    if (to == LIVENESS_FUNCTION || s->body.at.at[to].op == WASM_OP_LOOP)
        return to;
    return s->end[to];
}

/* Whether an instruction takes about as long as other simple ones, and cannot branch. */
static bool is_simple(const WasmInstr *i) {
    switch ((WasmCategory)wasm_ops[i->op].category) {
    case WASM_CAT_ARITH:
    case WASM_CAT_COMPARE:
    case WASM_CAT_CONST:
    case WASM_CAT_CONVERT:
    case WASM_CAT_GLOBAL:
    case WASM_CAT_LOAD:
    case WASM_CAT_LOCAL:
    case WASM_CAT_STORE: return true;
    default: return i->op == WASM_OP_DROP || i->op == WASM_OP_SELECT || i->op == WASM_OP_NOP;
    }
}

static bool ends_from(const Liveness *s, uint32_t k, uint32_t left, uint32_t *steps);

/* Whether the way that a branch takes from instruction k soon ends. */
static bool branch_ends(const Liveness *s, uint32_t k, uint32_t left, uint32_t *steps) {
    uint32_t to = liveness_target(s, k, s->body.at.at[k].a);
    if (to == LIVENESS_FUNCTION)
        return true;
    return ends_from(s, to + 1, left, steps);
}

/* Returns the instruction after the arm of an `if` that is not executed. */
static uint32_t frame_liveness_other_arm(const Liveness *s, uint32_t k) {
    for (uint32_t arm = k + 1; arm < s->end[k]; arm++)
        if (s->body.at.at[arm].op == WASM_OP_ELSE && s->outer[arm] == k)
            return arm + 1;
    return s->end[k] + 1;
}

/* Whether ways from instruction k soon end, with `left` simple instructions remaining. */
static bool ends_from(const Liveness *s, uint32_t k, uint32_t left, uint32_t *steps) {
    for (; k < s->n; k++) {
        const WasmInstr *i = &s->body.at.at[k];
        if (++*steps > STEPS)
            return false;
        if (s->covers(s->ctx, i))
            return true;
        switch (i->op) {
        case WASM_OP_RETURN:
        case WASM_OP_UNREACHABLE: return true;
        case WASM_OP_BLOCK:
        case WASM_OP_LOOP:
        case WASM_OP_END: continue;
        case WASM_OP_BR: return branch_ends(s, k, left, steps);
        case WASM_OP_BR_IF:
            if (!branch_ends(s, k, left, steps))
                return false;
            continue;
        case WASM_OP_IF:
            if (!ends_from(s, frame_liveness_other_arm(s, k), left, steps))
                return false;
            continue;
        case WASM_OP_ELSE: k = s->end[k]; continue;
        default: break;
        }
        if (!left-- || !is_simple(i))
            return false;
    }
    return true;
}

bool liveness_ends(const Liveness *s, uint32_t k) {
    uint32_t steps = 0;
    return ends_from(s, k + 1, SIMPLE, &steps);
}

uint32_t liveness_fork(const Liveness *s, uint32_t k) {
    uint32_t fork = k, left = SIMPLE, steps = 0;
    for (k++; k < s->n; k++) {
        const WasmInstr *i = &s->body.at.at[k];
        bool two = i->op == WASM_OP_BR_IF || i->op == WASM_OP_IF; /* ways on */
        if (i->op == WASM_OP_BLOCK)
            continue;
        if (!two && i->op != WASM_OP_BR) {
            if (left-- == AHEAD || !is_simple(i))
                break;
            continue;
        }
        uint32_t to =
            i->op == WASM_OP_IF ? frame_liveness_other_arm(s, k) - 1 : liveness_target(s, k, i->a);
        if (two && (to == LIVENESS_FUNCTION || ends_from(s, to + 1, left, &steps))) {
            fork = k;
            continue;
        }
        if (to == LIVENESS_FUNCTION || s->body.at.at[to].op == WASM_OP_LOOP ||
            (two && !ends_from(s, k + 1, left, &steps)))
            break;
        k = to;
        fork = two ? to : fork;
    }
    return fork;
}
