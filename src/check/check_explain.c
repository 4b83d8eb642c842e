/*
 * check/check_explain.c - second places of messages about types: where a type comes from.
 */
#include "check/check_parts.h"

static const char *check_explain_describe(const Check *c) {
    return c->scope->describe ? c->scope->describe : "this place";
}

/* Which of two operands the other one takes its type from. */
static const Expr *leading(const Check *c, const Expr *a, const Expr *b) {
    bool literal = b->kind == EXPR_INT || b->kind == EXPR_FLOAT;
    return check_is_flexible(c, a) && !literal ? b : a;
}

/* The operand from which an operation has its type; NULL if it has one of its own. */
static const Expr *deciding(const Check *c, const Expr *e) {
    switch (e->kind) {
    case EXPR_UNARY: return e->op == OP_LOG2 ? NULL : e->args[0];
    case EXPR_COND: return leading(c, e->args[1], e->args[2]);
    case EXPR_BINARY:
        if (e->op == OP_AND || e->op == OP_OR || (e->op >= OP_EQ && e->op <= OP_LT))
            return NULL;
        return leading(c, e->args[0], e->args[1]);
    default: return NULL;
    }
}

void check_explain_name(Check *c, Diag *g, const Expr *e) {
    if (e->var) {
        const Type *t = e->var->element;
        diag_label(c->diags, g, e->var->type_span,
                   t ? "the elements of '%.*s' are %s" : "'%.*s' is declared as %s",
                   STR_ARG(e->name), t ? t->text : e->var->type->text);
        return;
    }
    const TypeBound *said = check_type_bound(c, e->name);
    const Type *t = e->bound.type;
    if (!e->is_bound || !t)
        return;
    if (said && said->type == t)
        diag_label(c->diags, g, said->span, "'%.*s' is %s because of this bound", STR_ARG(e->name),
                   t->text);
    else
        diag_label(c->diags, g, e->name_span, "'%.*s' is %s in %s", STR_ARG(e->name), t->text,
                   check_explain_describe(c));
}

void check_explain(Check *c, Diag *g, const Expr *e) {
    for (const Expr *of = deciding(c, e); of && of->type == e->type; of = deciding(c, e))
        e = of;
    bool elsewhere = e->span.start != g->span.start || e->span.end != g->span.end;
    if (e->kind == EXPR_CALL && e->fn)
        diag_label(c->diags, g, e->fn->result_span, "'%.*s' returns %s", STR_ARG(e->name),
                   e->fn->result->text);
    else if (e->var || e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_FIELD)
        check_explain_name(c, g, e);
    else if (e->kind == EXPR_CAST && e->type)
        diag_label(c->diags, g, e->span, "converted to %s here", e->type->text);
    else if (e->kind == EXPR_BINARY && e->type && e->type->kind == TYPE_BOOL && elsewhere)
        diag_label(c->diags, g, e->span, "'%s' returns bool", op_text(e->op));
    else if (e->type && elsewhere)
        diag_label(c->diags, g, e->span, "this is %s", e->type->text);
}
