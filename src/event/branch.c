/*
 * event/branch.c - conditions of scripts that say which way a branch goes.
 */
#include "event/branch.h"

#include "event/fold.h"

bool branch_has_ways(Event e) {
    if (e.kind != EVENT_OPCODE || e.mode != MODE_BEFORE)
        return false;
    switch (wasm_flow(e.op)) {
    case WASM_FLOW_IF:
    case WASM_FLOW_BRANCH_IF:
    case WASM_FLOW_BRANCH_TABLE: return true;
    default: return false;
    }
}

bool branches_alike(Event a, Event b) {
    return branch_has_ways(a) && branch_has_ways(b) &&
           (a.op == WASM_OP_BR_TABLE) == (b.op == WASM_OP_BR_TABLE);
}

static bool is_bound_to(const Expr *e, int name) {
    return e->kind == EXPR_NAME && e->is_bound && (int)e->bound.id == name;
}

/* The operand on top, all 32 bits of it. */
static bool branch_is_operand(const Expr *e) {
    return is_bound_to(e, NAME_ARG) && e->bound.n == 0 &&
           (e->type->kind == TYPE_U32 || e->type->kind == TYPE_I32);
}

static bool branch_is_zero(const Expr *e) {
    Value v;
    return e->is_static && !e->slot && fold(e, NULL, &v) && !v.bits;
}

/* Of a comparison of the operand with 0. */
static unsigned compares_with_zero(const Expr *e) {
    const Expr *x = e->args[0], *y = e->args[1];
    bool other_way = branch_is_zero(x);
    if (!(branch_is_operand(x) && branch_is_zero(y)) && !(other_way && branch_is_operand(y)))
        return 0;
    bool is_unsigned = (other_way ? y : x)->type->kind == TYPE_U32;
    if (e->op == OP_NE || (is_unsigned && e->op == (other_way ? OP_LT : OP_GT)))
        return WAY_TAKEN;
    if (e->op == OP_EQ || (is_unsigned && e->op == (other_way ? OP_GE : OP_LE)))
        return WAY_NOT_TAKEN;
    return 0;
}

/* `target`: arg0 < num_targets ? arg0 : num_targets */
static bool branch_is_target(const Expr *e) {
    return e->kind == EXPR_COND && branch_is_operand(e->args[1]) &&
           is_bound_to(e->args[2], NAME_NUM_TARGETS) && e->args[0]->kind == EXPR_BINARY &&
           e->args[0]->op == OP_LT && branch_is_operand(e->args[0]->args[0]) &&
           is_bound_to(e->args[0]->args[1], NAME_NUM_TARGETS);
}

/* Of a comparison with the number of targets, which is unsigned. */
static unsigned compares_with_targets(const Expr *e) {
    bool other_way = is_bound_to(e->args[0], NAME_NUM_TARGETS);
    const Expr *x = e->args[other_way], *n = e->args[!other_way];
    if (!is_bound_to(n, NAME_NUM_TARGETS) || !(branch_is_operand(x) || branch_is_target(x)))
        return 0;
    if (e->op == (other_way ? OP_GT : OP_LT) || (e->op == OP_NE && branch_is_target(x)))
        return WAY_TAKEN;
    if (e->op == (other_way ? OP_LE : OP_GE) || (e->op == OP_EQ && branch_is_target(x)))
        return WAY_NOT_TAKEN;
    return 0;
}

unsigned branch_way(Event event, const Expr *e) {
    if (!branch_has_ways(event))
        return 0;
    if (is_bound_to(e, NAME_REF_CONDITION) && e->bound.n == REF_BRANCHES)
        return WAY_TAKEN;
    if (event.op == WASM_OP_BR_TABLE)
        return e->kind == EXPR_BINARY ? compares_with_targets(e) : 0;
    if (e->kind == EXPR_CAST && e->type->kind == TYPE_BOOL && branch_is_operand(e->args[0]))
        return WAY_TAKEN;
    return e->kind == EXPR_BINARY ? compares_with_zero(e) : 0;
}
