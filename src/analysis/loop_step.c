/*
 * analysis/loop_step.c - symbolic execution of one iteration.
 */
#include "analysis/loop_step.h"

enum { MAX_LOCALS = 32, MAX_STACK = 32, MAX_STRIDE = 65536, MIN_ACCESSES = 2, NONE = UINT32_MAX };

/* factor * (what `local` was when the iteration began) + offset; or any value. */
typedef struct Linear {
    uint32_t local; /* NONE: the factor is 0 */
    uint32_t factor;
    uint32_t offset;
    bool offset_known; /* else it just is the same in all iterations */
    bool any;
    bool counted; /* any value, but made of others that are not */
} Linear;

/* A local that the loop writes to. */
typedef struct Written {
    uint32_t local;
    bool set; /* in this iteration: to */
    Linear to;
    uint32_t accesses;
    uint32_t
        grain; /* their addresses are multiples of this times what it was when the iteration began,
                  and something that does not change; a power of two, 0 = there is none */
} Written;

typedef struct Iteration {
    Written written[MAX_LOCALS];
    uint32_t nwritten;
    Linear stack[MAX_STACK];
    uint32_t depth;
} Iteration;

static const Linear any = {.local = NONE, .any = true};

static Linear constant(uint32_t value) {
    return (Linear){.local = NONE, .offset = value, .offset_known = true};
}

static bool push(Iteration *it, Linear v) {
    if (it->depth == MAX_STACK)
        return false;
    it->stack[it->depth++] = v;
    return true;
}

/* What is below the loop's own operands can be any value: there are no more of them in valid code.
 */
static Linear pop(Iteration *it) {
    return it->depth ? it->stack[--it->depth] : any;
}

static Written *find_written(Iteration *it, uint32_t local) {
    for (uint32_t i = 0; i < it->nwritten; i++)
        if (it->written[i].local == local)
            return &it->written[i];
    return NULL;
}

/* ---- values ---- */

static Linear value_of(Iteration *it, uint32_t local) {
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
static bool is_constant(Linear v) {
    return !v.any && v.local == NONE && v.offset_known;
}

/* Comparing values that follow locals, not what is in memory. */
static Linear compare(Linear a, Linear b) {
    return (Linear){.local = NONE, .any = true, .counted = !a.any && !b.any};
}

static Linear combine(WasmOp op, Linear a, Linear b) {
    switch (op) {
    case WASM_OP_I32_ADD: return sum(a, b);
    case WASM_OP_I32_SUB: return sum(a, product(b, UINT32_MAX));
    case WASM_OP_I32_MUL:
        return is_constant(a) ? product(b, a.offset) : is_constant(b) ? product(a, b.offset) : any;
    case WASM_OP_I32_SHL: return is_constant(b) ? product(a, UINT32_C(1) << (b.offset & 31)) : any;
    case WASM_OP_I32_EQ:
    case WASM_OP_I32_NE:
    case WASM_OP_I32_LT_S:
    case WASM_OP_I32_LT_U:
    case WASM_OP_I32_GT_S:
    case WASM_OP_I32_GT_U:
    case WASM_OP_I32_LE_S:
    case WASM_OP_I32_LE_U:
    case WASM_OP_I32_GE_S:
    case WASM_OP_I32_GE_U: return compare(a, b);
    default: return any;
    }
}

static void note_address(Iteration *it, Linear v) {
    uint32_t grain = v.factor & (0 - v.factor);
    if (v.any || v.local == NONE || !grain)
        return;
    Written *w = find_written(it, v.local);
    w->accesses++;
    if (!w->grain || grain < w->grain)
        w->grain = grain;
}

/* ---- one iteration ---- */

/* An instruction with the types of its line in wasm/opcode.def. False if these do not tell. */
static bool step_typed(Iteration *it, const WasmInstr *i) {
    const WasmOpInfo *info = &wasm_ops[i->op];
    if (info->operands[0] == '*' || info->results[0] == '*')
        return false;
    bool access = info->imm == WASM_IMM_MEMARG || info->imm == WASM_IMM_MEMARG_LANE;
    Linear operands[4];
    size_t n = strlen(info->operands);
    for (size_t k = n; k-- > 0;)
        operands[k] = pop(it);
    if (access)
        note_address(it, operands[0]);
    Linear result = n == 2                     ? combine((WasmOp)i->op, operands[0], operands[1])
                    : i->op == WASM_OP_I32_EQZ ? compare(operands[0], constant(0))
                                               : any;
    for (const char *p = info->results; *p; p++)
        if (!push(it, result))
            return false;
    return true;
}

static bool step(Iteration *it, const WasmInstr *i) {
    Written *w;
    switch (i->op) {
    case WASM_OP_LOCAL_GET: return push(it, value_of(it, i->a));
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE:
        w = find_written(it, i->a);
        w->to = pop(it);
        w->set = true;
        return i->op == WASM_OP_LOCAL_SET || push(it, w->to);
    case WASM_OP_I32_CONST: return push(it, constant((uint32_t)i->c));
    case WASM_OP_GLOBAL_GET: return push(it, any);
    case WASM_OP_DROP:
    case WASM_OP_GLOBAL_SET: pop(it); return true;
    case WASM_OP_SELECT:
    case WASM_OP_TYPED_SELECT:
        pop(it);
        pop(it);
        pop(it);
        return push(it, any);
    default: return step_typed(it, i);
    }
}

/* The locals that are written to, up to the branch back. False if the loop is of another form. */
static bool survey(Iteration *it, WasmCode code) {
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

static bool is_step(const Written *w, LoopStep *step) {
    Linear v = w->to;
    if (!w->set || w->accesses < MIN_ACCESSES || v.any || v.local != w->local || v.factor != 1 ||
        !v.offset_known || !v.offset)
        return false;
    bool down = v.offset >> 31;
    uint32_t by = down ? 0 - v.offset : v.offset;
    if (by & (by - 1))
        return false;
    *step = (LoopStep){.local = w->local, .down = down};
    while (by >> step->log2 != 1)
        step->log2++;
    return (uint64_t)w->grain << step->log2 <= MAX_STRIDE;
}

bool loop_step_find(WasmCode code, LoopStep *step_out) {
    Iteration it = {.nwritten = 0};
    WasmInstr i;
    if (!survey(&it, code))
        return false;
    while (wasm_next(&code, &i) && (i.op != WASM_OP_BR_IF || i.a != 0)) {
        if (i.op == WASM_OP_BR_IF)
            pop(&it);
        else if (!step(&it, &i))
            return false;
    }
    Linear condition = pop(&it);
    if (condition.any && !condition.counted)
        return false;
    for (uint32_t k = 0; k < it.nwritten; k++)
        if (is_step(&it.written[k], step_out))
            return true;
    return false;
}
