/*
 * code/code_fold.c - simplifies each expression by itself, bottom up.
 */
#include "code/code.h"

static const CodeNode *const nothing = &(const CodeNode){.kind = CODE_NOP, .type = WASM_NONE};

static bool code_fold_is_plain(const CodeNode *e, WasmOp op) {
    return e->kind == CODE_PLAIN && e->op == op;
}

static bool code_fold_is_number(const CodeNode *e, uint64_t bits) {
    return e->kind == CODE_CONST && (e->type == WASM_I32 || e->type == WASM_I64) && e->bits == bits;
}

/* ---- constants ---- */

/* The result of an instruction on integers that cannot trap. False: it is not known here. */
static bool code_fold_compute(WasmOp op, uint64_t x, uint64_t y, uint64_t *out) {
    bool divides = y && y != UINT32_MAX && y != UINT64_MAX; /* so that nothing overflows */
    switch (op) {
#define BOTH(N, i32, i64)                                                                          \
    case WASM_OP_I32_##N: *out = (uint32_t)(i32); return true;                                     \
    case WASM_OP_I64_##N:                                                                          \
        *out = (uint64_t)(i64);                                                                    \
        return true;
#define SAME(N, value) BOTH(N, value, value)
#define ORDER(N, op)                                                                               \
    BOTH(N##_S, (int32_t)x op(int32_t) y, (int64_t)x op(int64_t) y) SAME(N##_U, x op y)
        SAME(ADD, x + y)
        SAME(SUB, x - y)
        SAME(MUL, x * y)
        SAME(AND, x & y)
        SAME(OR, x | y)
        SAME(XOR, x ^ y)
        SAME(EQ, x == y)
        SAME(NE, x != y)
        SAME(EQZ, x == 0)
        ORDER(LT, <)
        ORDER(LE, <=)
        ORDER(GT, >)
        ORDER(GE, >=)
#define DIVISION(N, op)                                                                            \
    case WASM_OP_I32_##N##_S:                                                                      \
        *out = divides ? (uint32_t)((int32_t)x op(int32_t) y) : 0;                                 \
        return divides;                                                                            \
    case WASM_OP_I64_##N##_S:                                                                      \
        *out = divides ? (uint64_t)((int64_t)x op(int64_t) y) : 0;                                 \
        return divides;                                                                            \
    case WASM_OP_I32_##N##_U:                                                                      \
    case WASM_OP_I64_##N##_U: *out = divides ? x op y : 0; return divides;
        DIVISION(DIV, /)
        DIVISION(REM, %)
#undef DIVISION
        BOTH(SHL, x << (y & 31), x << (y & 63))
        BOTH(SHR_U, x >> (y & 31), x >> (y & 63))
#undef BOTH
#undef SAME
#undef ORDER
    case WASM_OP_I32_WRAP_I64: *out = (uint32_t)x; return true;
    case WASM_OP_I64_EXTEND_I32_U: *out = x; return true;
    case WASM_OP_I64_EXTEND_I32_S: *out = (uint64_t)(int64_t)(int32_t)x; return true;
    default: return false;
    }
}

static bool commutes(WasmOp op) {
    switch (op) {
#define BOTH(N)                                                                                    \
    case WASM_OP_I32_##N:                                                                          \
    case WASM_OP_I64_##N:
        BOTH(ADD) BOTH(MUL) BOTH(AND) BOTH(OR) BOTH(XOR) BOTH(EQ) BOTH(NE) return true;
    default: return false;
#undef BOTH
    }
}

/* Instructions that leave the other operand as it is if the second is zero. */
static bool keeps_with_zero(WasmOp op) {
    switch (op) {
#define BOTH(N)                                                                                    \
    case WASM_OP_I32_##N:                                                                          \
    case WASM_OP_I64_##N:
        BOTH(ADD) BOTH(SUB) BOTH(OR) BOTH(XOR) BOTH(SHL) BOTH(SHR_S) BOTH(SHR_U) return true;
    default: return false;
#undef BOTH
    }
}

/* ---- conditions ---- */

/* Its value is 0 or 1. */
static bool is_bool(const CodeNode *e) {
    switch ((CodeKind)e->kind) {
    case CODE_CONST: return code_fold_is_number(e, 0) || code_fold_is_number(e, 1);
    case CODE_PLAIN:
        if (e->op == WASM_OP_I32_AND || e->op == WASM_OP_I32_OR || e->op == WASM_OP_I32_XOR)
            return is_bool(e->kids[0]) && is_bool(e->kids[1]);
        return wasm_ops[e->op].category == WASM_CAT_COMPARE;
    case CODE_IF: return e->nkids == 3 && is_bool(e->kids[1]) && is_bool(e->kids[2]);
    case CODE_SELECT: return is_bool(e->kids[0]) && is_bool(e->kids[1]);
    default: return false;
    }
}

/* The comparison of integers that holds when this one does not, or UNREACHABLE. */
static WasmOp opposite(uint16_t op) {
    switch (op) {
#define PAIR(x, y)                                                                                 \
    case WASM_OP_I32_##x: return WASM_OP_I32_##y;                                                  \
    case WASM_OP_I64_##x: return WASM_OP_I64_##y;                                                  \
    case WASM_OP_I32_##y: return WASM_OP_I32_##x;                                                  \
    case WASM_OP_I64_##y: return WASM_OP_I64_##x;
        PAIR(EQ, NE)
        PAIR(LT_S, GE_S)
        PAIR(LT_U, GE_U)
        PAIR(GT_S, LE_S)
        PAIR(GT_U, LE_U)
#undef PAIR
    case WASM_OP_F32_EQ: return WASM_OP_F32_NE;
    case WASM_OP_F32_NE: return WASM_OP_F32_EQ;
    case WASM_OP_F64_EQ: return WASM_OP_F64_NE;
    case WASM_OP_F64_NE: return WASM_OP_F64_EQ;
    default: return WASM_OP_UNREACHABLE;
    }
}

static CodeNode * not(CodeModule * c, CodeNode *x) {
    if (code_fold_is_plain(x, WASM_OP_I32_EQZ) && is_bool(x->kids[0]))
        return x->kids[0];
    if (x->kind == CODE_CONST)
        return code_const(c, WASM_I32, x->bits == 0);
    WasmOp op = x->kind == CODE_PLAIN && x->nkids == 2 ? opposite(x->op) : WASM_OP_UNREACHABLE;
    if (op != WASM_OP_UNREACHABLE)
        return code_op2(c, op, x->kids[0], x->kids[1]);
    return code_op1(c, WASM_OP_I32_EQZ, x);
}

/* Simplifies x to an expression of equal truth, where only truth matters. */
static CodeNode *code_fold_condition(CodeNode *x) {
    while (
        (code_fold_is_plain(x, WASM_OP_I32_NE) && code_fold_is_number(x->kids[1], 0)) ||
        (code_fold_is_plain(x, WASM_OP_I32_EQZ) && code_fold_is_plain(x->kids[0], WASM_OP_I32_EQZ)))
        x = x->nkids == 2 ? x->kids[0] : x->kids[0]->kids[0];
    return x;
}

/* ---- instructions ---- */

static CodeNode *fold_unary(CodeModule *c, CodeNode *e) {
    CodeNode *x = e->kids[0];
    if (e->op == WASM_OP_I32_EQZ)
        return not(c, x);
    bool extends = code_fold_is_plain(x, WASM_OP_I64_EXTEND_I32_U) ||
                   code_fold_is_plain(x, WASM_OP_I64_EXTEND_I32_S);
    if (e->op == WASM_OP_I32_WRAP_I64 && extends)
        return x->kids[0];
    return e;
}

/* The exponent of a constant that is a power of two; 0 = it is none, or 1. */
static uint32_t exponent(const CodeNode *e) {
    bool power = e->kind == CODE_CONST && e->bits > 1 && !(e->bits & (e->bits - 1));
    return power ? (uint32_t)__builtin_ctzll(e->bits) : 0;
}

static CodeNode *code_fold_fold_binary(CodeModule *c, CodeNode *e) {
    CodeNode *x = e->kids[0], *y = e->kids[1];
    if (x->kind == CODE_CONST && y->kind != CODE_CONST && commutes((WasmOp)e->op)) {
        e->kids[0] = y;
        e->kids[1] = x;
        return code_fold_fold_binary(c, e);
    }
    if (keeps_with_zero((WasmOp)e->op) && code_fold_is_number(y, 0))
        return x;
    if (e->op == WASM_OP_I32_EQ && code_fold_is_number(y, 0))
        return not(c, x);
    if (e->op == WASM_OP_I64_EQ && code_fold_is_number(y, 0))
        return code_op1(c, WASM_OP_I64_EQZ, x);
    if (e->op == WASM_OP_I32_NE && code_fold_is_number(y, 0) && is_bool(x))
        return x;
    if ((e->op == WASM_OP_I32_MUL || e->op == WASM_OP_I64_MUL) && code_fold_is_number(y, 1))
        return x;
    if ((e->op == WASM_OP_I32_MUL || e->op == WASM_OP_I64_MUL) && exponent(y))
        return code_op2(c, e->op == WASM_OP_I32_MUL ? WASM_OP_I32_SHL : WASM_OP_I64_SHL, x,
                        code_const(c, y->type, exponent(y)));
    bool sums = (e->op == WASM_OP_I32_ADD || e->op == WASM_OP_I64_ADD) &&
                code_fold_is_plain(x, (WasmOp)e->op);
    if (sums && y->kind == CODE_CONST && x->kids[1]->kind == CODE_CONST)
        return code_op2(c, (WasmOp)e->op, x->kids[0],
                        code_const(c, y->type, x->kids[1]->bits + y->bits));
    return e;
}

static CodeNode *fold_plain(CodeModule *c, CodeNode *e) {
    bool known = true;
    for (uint32_t i = 0; i < e->nkids; i++)
        known &= e->kids[i]->kind == CODE_CONST;
    uint64_t bits;
    if (known && code_fold_compute((WasmOp)e->op, e->kids[0]->bits,
                                   e->nkids > 1 ? e->kids[1]->bits : 0, &bits))
        return code_const(c, e->type, bits);
    return e->nkids == 1 ? fold_unary(c, e) : code_fold_fold_binary(c, e);
}

/* ---- control flow ---- */

static CodeNode *fold_if(CodeModule *c, CodeNode *e);

/* Without a branch to the label at its end, where control goes anyway. */
static CodeNode *without_last_branch(CodeModule *c, CodeNode *e, uint32_t label) {
    if (e->kind == CODE_BRANCH && e->n == label && !e->nkids)
        return (CodeNode *)nothing;
    if (e->kind == CODE_BLOCK && e->nkids) {
        CodeNode *last = without_last_branch(c, e->kids[e->nkids - 1], label);
        if (last == e->kids[e->nkids - 1])
            return e;
        e->kids[e->nkids - 1] = last;
        CodeNode *r = code_block(c, e->n, e->kids, code_is_nothing(last) ? e->nkids - 1 : e->nkids);
        return r->nkids == 1 && !r->n ? r->kids[0] : r;
    }
    if (e->kind != CODE_IF || e->type != WASM_NONE)
        return e;
    CodeNode *yes = without_last_branch(c, e->kids[1], label);
    CodeNode *no = e->nkids > 2 ? without_last_branch(c, e->kids[2], label) : NULL;
    bool changed = yes != e->kids[1] || (no && no != e->kids[2]);
    return changed ? fold_if(c, code_if(c, e->kids[0], yes, no)) : e;
}

static bool branches_to(const CodeNode *e, uint32_t label) {
    if (e->kind == CODE_BRANCH && e->n == label)
        return true;
    for (uint32_t i = 0; i < e->nkids; i++)
        if (branches_to(e->kids[i], label))
            return true;
    return false;
}

typedef Vec(CodeNode *) Nodes;

/* Appends the expressions of a block; returns false if control does not go on after it. */
static bool code_fold_push_parts(Nodes *parts, CodeNode *e) {
    if (e->kind == CODE_BLOCK && !e->n) {
        for (uint32_t i = 0; i < e->nkids; i++)
            if (!code_fold_push_parts(parts, e->kids[i]))
                return false;
        return true;
    }
    if (e->kind != CODE_NOP)
        vec_push(parts, e);
    return !e->leaves;
}

/* A block whose first part leaves it on a condition, and nothing else does, is an `if`. */
static CodeNode *as_if(CodeModule *c, uint32_t label, CodeNode *const *parts, uint32_t n) {
    const CodeNode *branch = parts[0];
    if (branch->kind != CODE_BRANCH || branch->n != label || branch->nkids != 1)
        return NULL;
    CodeNode *rest = code_block(c, 0, parts + 1, n - 1);
    if (branches_to(branch->kids[0], label) || branches_to(rest, label))
        return NULL;
    return fold_if(c, code_if(c, not(c, branch->kids[0]), rest, NULL));
}

/* A block with a label from its parts: those before the first branch to its end come before it. */
static CodeNode *labelled(CodeModule *c, uint32_t label, CodeNode **parts, uint32_t n) {
    uint32_t before = 0;
    while (before < n && !branches_to(parts[before], label))
        before++;
    if (before == n)
        return code_block(c, 0, parts, n);
    CodeNode *inner = as_if(c, label, parts + before, n - before);
    if (!inner)
        inner = code_block(c, label, parts + before, n - before);
    if (!before)
        return inner;
    parts[before] = inner;
    return code_block(c, 0, parts, before + 1);
}

static CodeNode *fold_block(CodeModule *c, CodeNode *e) {
    if (e->n)
        e = without_last_branch(c, e, e->n);
    if (e->kind != CODE_BLOCK)
        return e; /* all of it was the branch */
    Nodes parts = {0};
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!code_fold_push_parts(&parts, e->kids[i]))
            break;
    CodeNode *r =
        e->n ? labelled(c, e->n, parts.at, parts.len) : code_block(c, 0, parts.at, parts.len);
    vec_free(&parts);
    return r->nkids == 1 && !r->n && r->kind == CODE_BLOCK ? r->kids[0] : r;
}

/* A value that costs next to nothing. */
static bool is_cheap(const CodeNode *e) {
    switch ((CodeKind)e->kind) {
    case CODE_CONST:
    case CODE_LOCAL_GET:
    case CODE_NAME_GET: return true;
    case CODE_PLAIN:
        return !op_can_trap((WasmOp)e->op) && is_cheap(e->kids[0]) &&
               (e->nkids < 2 || e->kids[1]->kind == CODE_CONST);
    default: return false;
    }
}

/* A choice between two values, as one without branches if they are cheap. */
static CodeNode *fold_choice(CodeModule *c, CodeNode *e) {
    CodeNode *x = e->kids[0], *yes = e->kids[1], *no = e->kids[2];
    if (e->type == WASM_I32 && code_fold_is_number(yes, 1) && code_fold_is_number(no, 0))
        return is_bool(x) ? x : code_op2(c, WASM_OP_I32_NE, x, code_const(c, WASM_I32, 0));
    if (e->type == WASM_I32 && code_fold_is_number(yes, 0) && code_fold_is_number(no, 1))
        return not(c, x);
    bool bools = e->type == WASM_I32 && is_bool(x);
    if (bools && code_fold_is_number(no, 0) && is_bool(yes) && is_cheap(yes))
        return code_op2(c, WASM_OP_I32_AND, x, yes);
    if (bools && code_fold_is_number(yes, 1) && is_bool(no) && is_cheap(no))
        return code_op2(c, WASM_OP_I32_OR, x, no);
    CodeEffects before = {0}, arms = {0};
    code_all_effects(c, x, &before);
    code_all_effects(c, yes, &arms);
    code_all_effects(c, no, &arms);
    if (WASM_IS_REF(e->type) || !is_cheap(yes) || !is_cheap(no) || code_conflict(&before, &arms))
        return e;
    return code_node(c, CODE_SELECT, e->type, (CodeNode *[]){yes, no, x}, 3);
}

static CodeNode *fold_if(CodeModule *c, CodeNode *e) {
    CodeNode *x = e->kids[0] = code_fold_condition(e->kids[0]);
    CodeNode *yes = e->kids[1], *no = e->nkids > 2 ? e->kids[2] : (CodeNode *)nothing;
    if (x->leaves)
        return x;
    if (x->kind == CODE_CONST)
        return x->bits ? yes : no;
    if (code_is_nothing(yes) && code_is_nothing(no))
        return code_fold(c, code_node(c, CODE_DROP, WASM_NONE, &x, 1));
    if (code_is_nothing(yes))
        return fold_if(c, code_if(c, not(c, x), no, NULL));
    if (e->nkids > 2 && code_is_nothing(no))
        return fold_if(c, code_if(c, x, yes, NULL));
    if (e->nkids > 2 && code_fold_is_plain(x, WASM_OP_I32_EQZ))
        return fold_if(c, code_if(c, x->kids[0], no, yes));
    if (yes->kind == CODE_BRANCH && !yes->nkids) {
        CodeNode *branch = code_node(c, CODE_BRANCH, WASM_NONE, &x, 1);
        branch->n = yes->n;
        return e->nkids > 2 ? code_block(c, 0, (CodeNode *[]){branch, no}, 2) : branch;
    }
    return e->type != WASM_NONE && !yes->leaves && !no->leaves ? fold_choice(c, e) : e;
}

static CodeNode *fold_drop(const CodeModule *c, CodeNode *e) {
    CodeNode *x = e->kids[0];
    if (code_is_pure(c, x))
        return (CodeNode *)nothing;
    if (x->kind == CODE_LOCAL_TEE) {
        x->kind = CODE_LOCAL_SET;
        x->type = WASM_NONE;
        return x;
    }
    return e;
}

CodeNode *code_fold(CodeModule *c, CodeNode *e) {
    for (uint32_t i = 0; i < e->nkids; i++)
        e->kids[i] = code_fold(c, e->kids[i]);
    if (e->nkids)
        code_note_leaves(e);
    switch ((CodeKind)e->kind) {
    case CODE_PLAIN: return fold_plain(c, e);
    case CODE_BLOCK: return fold_block(c, e);
    case CODE_IF: return fold_if(c, e);
    case CODE_DROP: return fold_drop(c, e);
    case CODE_SELECT: e->kids[2] = code_fold_condition(e->kids[2]); return e;
    default: return e;
    }
}
