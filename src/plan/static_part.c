/*
 * plan/static_part.c - static expressions: whether their values vary, and whether they may lack
 * one.
 */
#include "plan/static_part.h"

#include <assert.h>

bool static_has_names(const Expr *e) {
    if (e->is_bound && (e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_CALL))
        return true;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (static_has_names(e->args[i]))
            return true;
    return false;
}

bool static_may_lack(const Expr *e) {
    if (e->kind == EXPR_NAME)
        return e->is_bound && e->bound.id == NAME_IMM;
    if (e->kind == EXPR_CALL || (e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM)))
        return true;
    if (e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (static_may_lack(e->args[i]))
            return true;
    return false;
}

void static_note_lack(Variant *v, Expr *e) {
    assert(e->is_static);
    if (!static_may_lack(e))
        return;
    vec_push(&v->consts, e);
    v->may_lack_consts = true;
}

Expr *static_call_part(Plan *plan, Expr *call, uint32_t n) {
    assert(call->annotation == ANN_STATIC && n < type_leaves(call->type));
    if (!call->known)
        call->known = arena_array(&plan->arena, Value, type_leaves(call->type) + 1);
    Expr *part = arena_new(&plan->arena, Expr);
    *part = (Expr){.kind = EXPR_METHOD,
                   .span = call->span,
                   .type = type_leaf(call->type, n),
                   .annotation = ANN_STATIC,
                   .is_static = true,
                   .known = call->known + n};
    return part;
}
