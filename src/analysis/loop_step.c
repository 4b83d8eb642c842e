/*
 * analysis/loop_step.c - symbolic execution of one iteration.
 */
#include "analysis/loop_step.h"

#include <assert.h>

enum { MAX_LOCALS = 32, MAX_STACK = 32, MAX_ACCESSES = 32, MIN_ACCESSES = 2, NONE = UINT32_MAX };

/* factor * (`local` at the beginning of the iteration) + offset; or any value. */
typedef struct Linear {
    uint32_t local; /* NONE: the factor is 0 */
    uint32_t factor;
    uint32_t offset;
    bool offset_known; /* else it just is the same in all iterations */
    bool any;
    bool counted;    /* any value, but made of others that are not: */
    uint32_t number; /* from 1: whether it is not 0 is the result of this comparison */
} Linear;

/* `left` op `right`. */
typedef struct Comparison {
    WasmOp op;
    Linear left, right;
} Comparison;

/* A local that the loop writes to. */
typedef struct Written {
    uint32_t local;
    bool set; /* in this iteration: to */
    Linear to;
    uint32_t accesses; /* at addresses that follow it */
} Written;

/* An access to memory at factor * (`local` at the beginning of the iteration) + a loop
 * invariant. */
typedef struct Access {
    uint32_t local, factor;
    uint64_t end;   /* the first byte behind it, from this address */
    uint64_t bytes; /* the memory never has more */
} Access;

typedef struct Iteration {
    const WasmModule *m;
    bool grows; /* memory 0 can become larger than it is declared */
    Written written[MAX_LOCALS];
    uint32_t nwritten;
    Access accesses[MAX_ACCESSES];
    uint32_t naccesses;
    Comparison last; /* the last comparison */
    uint32_t ncompared;
    bool ends_elsewhere; /* a value in memory can end the loop, or another branch can */
    Linear stack[MAX_STACK];
    uint32_t depth;
} Iteration;

static const Linear any = {.local = NONE, .any = true};

static Linear loop_step_constant(uint32_t value) {
    return (Linear){.local = NONE, .offset = value, .offset_known = true};
}

static bool loop_step_push(Iteration *it, Linear v) {
    if (it->depth == MAX_STACK)
        return false;
    it->stack[it->depth++] = v;
    return true;
}

/* Operands below the loop's own can have any value: valid code does not use them. */
static Linear loop_step_pop(Iteration *it) {
    return it->depth ? it->stack[--it->depth] : any;
}

static Written *find_written(Iteration *it, uint32_t local) {
    for (uint32_t i = 0; i < it->nwritten; i++)
        if (it->written[i].local == local)
            return &it->written[i];
    return NULL;
}

/* ---- values ---- */

static Linear loop_step_value_of(Iteration *it, uint32_t local) {
    const Written *w = find_written(it, local);
    if (!w)
        return (Linear){.local = NONE};
    return w->set ? w->to : (Linear){.local = local, .factor = 1, .offset_known = true};
}

static Linear sum(Linear a, Linear b) {
    if (a.any || b.any || (a.local != NONE && b.local != NONE && a.local != b.local))
        return any;
    return (Linear){.local = a.local != NONE ? a.local : b.local,
                    .factor = a.factor + b.factor,
                    .offset = a.offset + b.offset,
                    .offset_known = a.offset_known && b.offset_known};
}

static Linear product(Linear a, uint32_t by) {
    a.factor *= by;
    a.offset *= by;
    return a;
}

/* Whether the value is a known number. */
static bool loop_step_is_constant(Linear v) {
    return !v.any && v.local == NONE && v.offset_known;
}

/* Compares values that follow locals, not values in memory. */
static Linear loop_step_compare(Iteration *it, WasmOp op, Linear a, Linear b) {
    it->last = (Comparison){op, a, b};
    it->ncompared++;
    return (Linear){
        .local = NONE, .any = true, .counted = !a.any && !b.any, .number = it->ncompared};
}

static Linear loop_step_combine(Iteration *it, WasmOp op, Linear a, Linear b) {
    switch (op) {
    case WASM_OP_I32_ADD: return sum(a, b);
    case WASM_OP_I32_SUB: return sum(a, product(b, UINT32_MAX));
    case WASM_OP_I32_MUL:
        return loop_step_is_constant(a)   ? product(b, a.offset)
               : loop_step_is_constant(b) ? product(a, b.offset)
                                          : any;
    case WASM_OP_I32_SHL:
        return loop_step_is_constant(b) ? product(a, UINT32_C(1) << (b.offset & 31)) : any;
    case WASM_OP_I32_EQ:
    case WASM_OP_I32_NE:
    case WASM_OP_I32_LT_S:
    case WASM_OP_I32_LT_U:
    case WASM_OP_I32_GT_S:
    case WASM_OP_I32_GT_U:
    case WASM_OP_I32_LE_S:
    case WASM_OP_I32_LE_U:
    case WASM_OP_I32_GE_S:
    case WASM_OP_I32_GE_U: return loop_step_compare(it, op, a, b);
    default: return any;
    }
}

/* The most bytes that memory k can have. Its type in an import holds for whatever is given. */
static uint64_t most_bytes(const Iteration *it, uint32_t k) {
    const WasmLimits *l = &it->m->memories.at[k].limits;
    if (!l->has_max || (k == 0 && it->grows))
        return l->page_log2 ? UINT64_C(1) << 32 : UINT32_MAX;
    return l->max << l->page_log2;
}

static void note_access(Iteration *it, const WasmInstr *i, Linear v) {
    it->ends_elsewhere |= v.any || it->naccesses == MAX_ACCESSES;
    if (v.any || v.local == NONE || !v.factor || it->m->memories.at[i->b].limits.is64)
        return;
    find_written(it, v.local)->accesses++;
    if (it->naccesses < MAX_ACCESSES)
        it->accesses[it->naccesses++] =
            (Access){v.local, v.factor, i->c + wasm_access_bytes(i->op), most_bytes(it, i->b)};
}

/* ---- one iteration ---- */

/* An instruction with the types of its line in wasm/opcode.def. False if these do not tell. */
static bool step_typed(Iteration *it, const WasmInstr *i) {
    const WasmOpInfo *info = &wasm_ops[i->op];
    if (info->operands[0] == '*' || info->results[0] == '*')
        return false;
    bool access = info->imm == WASM_IMM_MEMARG || info->imm == WASM_IMM_MEMARG_LANE;
    Linear operands[4];
    it->ends_elsewhere |= wasm_op_traps[i->op];
    size_t n = strlen(info->operands);
    for (size_t k = n; k-- > 0;)
        operands[k] = loop_step_pop(it);
    if (access)
        note_access(it, i, operands[0]);
    Linear result = n == 2 ? loop_step_combine(it, (WasmOp)i->op, operands[0], operands[1])
                    : i->op == WASM_OP_I32_EQZ
                        ? loop_step_compare(it, WASM_OP_I32_EQ, operands[0], loop_step_constant(0))
                        : any;
    for (const char *p = info->results; *p; p++)
        if (!loop_step_push(it, result))
            return false;
    return true;
}

static bool loop_step_step(Iteration *it, const WasmInstr *i) {
    Written *w;
    switch (i->op) {
    case WASM_OP_LOCAL_GET: return loop_step_push(it, loop_step_value_of(it, i->a));
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE:
        w = find_written(it, i->a);
        w->to = loop_step_pop(it);
        w->set = true;
        return i->op == WASM_OP_LOCAL_SET || loop_step_push(it, w->to);
    case WASM_OP_I32_CONST: return loop_step_push(it, loop_step_constant((uint32_t)i->c));
    case WASM_OP_GLOBAL_GET: return loop_step_push(it, any);
    case WASM_OP_DROP:
    case WASM_OP_GLOBAL_SET: loop_step_pop(it); return true;
    case WASM_OP_SELECT:
    case WASM_OP_TYPED_SELECT:
        loop_step_pop(it);
        loop_step_pop(it);
        loop_step_pop(it);
        return loop_step_push(it, any);
    default: return step_typed(it, i);
    }
}

/* The locals that are written to, up to the branch back. False if the loop is of another form. */
static bool loop_step_survey(Iteration *it, WasmCode code) {
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        if (i.op == WASM_OP_BR_IF && i.a == 0)
            return wasm_next(&code, &i) && i.op == WASM_OP_END;
        if (flow != WASM_FLOW_NEXT && i.op != WASM_OP_BR_IF)
            return false;
        bool writes = i.op == WASM_OP_LOCAL_SET || i.op == WASM_OP_LOCAL_TEE;
        if (!writes || find_written(it, i.a))
            continue;
        if (it->nwritten == MAX_LOCALS)
            return false;
        it->written[it->nwritten++] = (Written){.local = i.a};
    }
    return false;
}

/* ---- how many iterations there can be ---- */

/* By how much an iteration changes the local; 0: nothing, or not the same each time. */
static uint32_t loop_step_change_of(const Written *w) {
    bool same = w->set && !w->to.any && w->to.local == w->local && w->to.factor == 1;
    return same && w->to.offset_known ? w->to.offset : 0;
}

/* By how much an iteration changes a value that is not any. */
static uint32_t loop_step_change(Iteration *it, Linear v) {
    return v.local == NONE ? 0 : v.factor * loop_step_change_of(find_written(it, v.local));
}

/* The value goes through all numbers with its lowest bits before it repeats: how many bits. */
static uint32_t fixed_bits(uint32_t change) {
    assert(change);
    return (uint32_t)__builtin_ctz(change);
}

/* Within 2^(32 - bits) iterations the address has been everywhere in 4 GiB in steps of 2^bits: in
 * the highest place, or before, the access has trapped. */
static bool must_trap(const Access *a, uint32_t bits) {
    assert(a->bytes <= UINT64_C(1) << 32);
    return (UINT64_C(1) << 32) - (UINT64_C(1) << bits) + a->end > a->bytes;
}

/* With the operands exchanged. */
static WasmOp mirror(WasmOp op) {
    switch (op) {
    case WASM_OP_I32_LT_S: return WASM_OP_I32_GT_S;
    case WASM_OP_I32_LT_U: return WASM_OP_I32_GT_U;
    case WASM_OP_I32_GT_S: return WASM_OP_I32_LT_S;
    case WASM_OP_I32_GT_U: return WASM_OP_I32_LT_U;
    case WASM_OP_I32_LE_S: return WASM_OP_I32_GE_S;
    case WASM_OP_I32_LE_U: return WASM_OP_I32_GE_U;
    case WASM_OP_I32_GE_S: return WASM_OP_I32_LE_S;
    case WASM_OP_I32_GE_U: return WASM_OP_I32_LE_U;
    default: return op;
    }
}

/* Whether x op `to` is false for some x, where all x have the same bits below `bits`, whatever
 * these are. The smallest such x is below 2^bits, the greatest is within 2^bits of the maximum. */
static bool fails_once(WasmOp op, Linear to, uint32_t bits) {
    uint32_t rest = (UINT32_C(1) << bits) - 1, top = UINT32_MAX - rest;
    bool known = loop_step_is_constant(to),
         alone = !rest; /* x is everything, so `to` does not matter */
    uint32_t u = to.offset, s = to.offset ^ UINT32_C(0x80000000); /* in the order of signed ones */
    switch (op) {
    case WASM_OP_I32_LT_U: return alone || (known && u <= top);
    case WASM_OP_I32_LT_S: return alone || (known && s <= top);
    case WASM_OP_I32_GT_U: return alone || (known && u >= rest);
    case WASM_OP_I32_GT_S: return alone || (known && s >= rest);
    case WASM_OP_I32_LE_U: return known && u < top;
    case WASM_OP_I32_LE_S: return known && s < top;
    case WASM_OP_I32_GE_U: return known && u > rest;
    case WASM_OP_I32_GE_S: return known && s > rest;
    case WASM_OP_I32_EQ: return true;
    default: return alone;
    }
}

/* Whether a constant is in the local when the loop is entered. */
static bool starts_at(const LoopPlace *place, uint32_t local, uint32_t *value) {
    WasmCode code = place->before;
    WasmInstr i;
    bool known = false, constant = false;
    uint32_t last = 0;
    while (code.at < code.end && wasm_next(&code, &i)) {
        bool tees = i.op == WASM_OP_LOCAL_TEE;
        if ((tees || i.op == WASM_OP_LOCAL_SET) && i.a == local) {
            known = constant;
            *value = last;
        }
        constant = i.op == WASM_OP_I32_CONST || (tees && constant);
        last = i.op == WASM_OP_I32_CONST ? (uint32_t)i.c : last;
    }
    return known;
}

/* Whether the compared values become equal, given the locals before the loop. */
static bool meets(const LoopPlace *place, Linear v, Linear to, uint32_t bits) {
    uint32_t first;
    if (!v.offset_known || !loop_step_is_constant(to) || !starts_at(place, v.local, &first))
        return false;
    return ((v.factor * first + v.offset - to.offset) & ((UINT32_C(1) << bits) - 1)) == 0;
}

/* Whether the condition, with a value that follows a local on the left, ends the loop. */
static bool must_end(Iteration *it, const LoopPlace *place, const Comparison *c, uint32_t *bits) {
    uint32_t by =
        c->left.any || c->right.any || c->right.local != NONE ? 0 : loop_step_change(it, c->left);
    if (!by)
        return false;
    *bits = fixed_bits(by);
    return fails_once(c->op, c->right, *bits) ||
           (c->op == WASM_OP_I32_NE && meets(place, c->left, c->right, *bits));
}

/* Whether a multiple of a local is the same again after some number of iterations. This lowers
 * *bits until it is so after 2^(32 - *bits). */
static bool repeats_with(Iteration *it, uint32_t local, uint32_t factor, uint32_t *bits) {
    uint32_t by = factor * loop_step_change_of(find_written(it, local));
    if (by && fixed_bits(by) < *bits)
        *bits = fixed_bits(by);
    return by != 0;
}

static bool repeats(Iteration *it, Linear v, uint32_t *bits) {
    return !v.any && (v.local == NONE || !v.factor || repeats_with(it, v.local, v.factor, bits));
}

/* Whether the loop ends before its condition and all its addresses repeat, or else never does. */
static bool ends_or_spins(Iteration *it, const Comparison *c, uint32_t *bits) {
    if (it->ends_elsewhere || !repeats(it, c->left, bits) || !repeats(it, c->right, bits))
        return false;
    for (uint32_t k = 0; k < it->naccesses; k++)
        if (!repeats_with(it, it->accesses[k].local, it->accesses[k].factor, bits))
            return false;
    return true;
}

/* Conditions that limit the number of iterations to 2^(32 - bits). */
typedef struct Bound {
    bool known;
    uint32_t bits;
} Bound;

static void limit(Bound *bound, uint32_t bits) {
    *bound = (Bound){true, bound->known && bound->bits > bits ? bound->bits : bits};
}

static void limit_by_accesses(Iteration *it, Bound *bound) {
    for (uint32_t k = 0; k < it->naccesses; k++) {
        const Access *a = &it->accesses[k];
        uint32_t by = a->factor * loop_step_change_of(find_written(it, a->local));
        if (by && must_trap(a, fixed_bits(by)))
            limit(bound, fixed_bits(by));
    }
}

static void limit_by_condition(Iteration *it, const LoopPlace *place, Linear v, Bound *bound) {
    Comparison c = {WASM_OP_I32_NE, v, loop_step_constant(0)};
    if (v.number && v.number == it->ncompared)
        c = it->last;
    Comparison mirrored = {mirror(c.op), c.right, c.left};
    uint32_t bits = 31;
    if (must_end(it, place, &c, &bits) || must_end(it, place, &mirrored, &bits))
        limit(bound, bits);
    bits = 31;
    if (ends_or_spins(it, &c, &bits))
        limit(bound, bits);
}

/* Whether the local changes by a power of two, and has no value twice in the loop. */
static bool is_step(const Written *w, uint32_t bits, LoopStep *step) {
    uint32_t by = loop_step_change_of(w);
    *step = (LoopStep){.local = w->local, .down = by >> 31};
    by = step->down ? 0 - by : by;
    if (!by || by & (by - 1))
        return false;
    step->log2 = (uint8_t)fixed_bits(by);
    return step->log2 <= bits;
}

/* Chooses the local: one that accesses follow, if there is any. */
static bool loop_step_choose(Iteration *it, uint32_t bits, LoopStep *step) {
    bool worth = false;
    for (uint32_t k = 0; k < it->nwritten; k++) {
        const Written *w = &it->written[k];
        if (w->accesses < MIN_ACCESSES || !loop_step_change_of(w))
            continue;
        worth = true;
        if (is_step(w, bits, step))
            return true;
    }
    for (uint32_t k = 0; worth && k < it->nwritten; k++)
        if (is_step(&it->written[k], bits, step))
            return true;
    return false;
}

bool loop_step_find(const LoopPlace *place, WasmCode code, LoopStep *step_out) {
    Iteration it = {.m = place->m, .grows = place->grows};
    WasmInstr i;
    if (!loop_step_survey(&it, code))
        return false;
    while (wasm_next(&code, &i) && (i.op != WASM_OP_BR_IF || i.a != 0)) {
        it.ends_elsewhere |= i.op == WASM_OP_BR_IF;
        if (i.op == WASM_OP_BR_IF)
            loop_step_pop(&it);
        else if (!loop_step_step(&it, &i))
            return false;
    }
    Linear condition = loop_step_pop(&it);
    if (condition.any && !condition.counted)
        return false;
    Bound bound = {0};
    limit_by_accesses(&it, &bound);
    limit_by_condition(&it, place, condition, &bound);
    return bound.known && loop_step_choose(&it, bound.bits, step_out);
}
