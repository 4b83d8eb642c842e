/*
 * check/check_node.c - nodes that the checker makes: they have their types and need no checking.
 */
#include "check/check_parts.h"

#include <assert.h>

Expr *check_new_node(Check *c, ExprKind kind, const Type *type, Span span) {
    Expr *e = arena_new(&c->script->arena, Expr);
    *e = (Expr){.kind = kind, .type = type, .span = span, .name_span = span, .depth = 1};
    e->is_static = kind <= EXPR_STR;
    return e;
}

Expr *check_node_args(Check *c, Expr *e, Expr *const *args, uint32_t n) {
    bool operation = (e->kind >= EXPR_UNARY && e->kind <= EXPR_COND) || e->kind == EXPR_TUPLE;
    e->nargs = n;
    e->args = arena_array(&c->script->arena, Expr *, n);
    e->is_static = operation;
    for (uint32_t i = 0; i < n; i++) {
        e->args[i] = args[i];
        e->depth = args[i]->depth >= e->depth ? args[i]->depth + 1 : e->depth;
        e->is_static &= args[i]->is_static;
    }
    return e;
}

Expr *check_node_int(Check *c, const Type *type, uint64_t n, Span span) {
    Expr *e = check_new_node(c, EXPR_INT, type, span);
    e->integer = n;
    return e;
}

Expr *check_node_name(Check *c, Var *v, Span span) {
    Expr *e = check_new_node(c, EXPR_NAME, v->type, span);
    e->name = v->name;
    e->var = v;
    return e;
}

Expr *check_node_op(Check *c, Op op, const Type *type, Expr *a, Expr *b) {
    Expr *e = check_new_node(c, b ? EXPR_BINARY : EXPR_UNARY, type, a->span);
    e->op = op;
    return check_node_args(c, e, (Expr *[]){a, b}, b ? 2 : 1);
}

Expr *check_node_cast(Check *c, Expr *e, const Type *to) {
    if (e->type == to)
        return e;
    Expr *cast = check_new_node(c, EXPR_CAST, to, e->span);
    cast->cast = to;
    return check_node_args(c, cast, &e, 1);
}

Expr *check_bundled_call(Check *c, Expr *e, Str library, Str function, const Type *type,
                         Expr *const *args, uint32_t n) {
    const Type *const *params;
    const Type *result;
    uint32_t nparams;
    *e = (Expr){.kind = EXPR_METHOD,
                .span = e->span,
                .name_span = e->name_span,
                .recv_span = e->name_span,
                .recv = library,
                .name = function,
                .depth = 1,
                .type = type};
    e->is_bound = c->scope->library &&
                  c->scope->library(c->scope->ctx, e, &e->bound, &params, &nparams, &result);
    if (c->scope->library && !e->is_bound)
        c->ok = false; /* reported by the scope */
    assert(!e->is_bound || nparams == n);
    return check_node_args(c, e, args, n);
}
