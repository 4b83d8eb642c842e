/*
 * plan/removal.c - probes that remove themselves.
 */
#include "plan/removal.h"

#include <assert.h>

typedef struct Removal {
    Script *script;
    const Libraries *libraries;
    Span rule;   /* the flag is declared here: the predicate reads it, too */
    Var *flag;   /* NULL until a call was found */
    Var *hidden; /* the variable called probe_id that is visible: the bound name is not */
} Removal;

bool removal_is_engine(const Libraries *libraries, Str library) {
    const Library *given = library_find(libraries, library);
    return str_is(library, "dyninstr") && (!given || str_is(given->import_as, REMOVAL_MODULE));
}

static Expr *removal_new_expr(Removal *r, ExprKind kind, Span span) {
    Expr *e = arena_new(&r->script->arena, Expr);
    e->kind = kind;
    e->span = e->name_span = span;
    e->depth = 1;
    return e;
}

/* No script can have this name. */
static Expr *flag_name(Removal *r, Span span) {
    Expr *e = removal_new_expr(r, EXPR_NAME, span);
    e->name = r->flag->name;
    return e;
}

static Var *new_flag(Removal *r, Span span) {
    Var *v = arena_new(&r->script->arena, Var);
    v->name = STR("(removed)");
    v->decorators = DECO_UNSHARED;
    v->type = &type_scalar[TYPE_BOOL];
    v->span = v->type_span = v->decorator_span = span;
    return v;
}

static bool removal_is_used(const Script *s, Str library) {
    for (uint32_t i = 0; i < s->uses.len; i++)
        if (str_eq(s->uses.at[i].name, library))
            return true;
    return false;
}

static bool is_removal(const Removal *r, const Stmt *s) {
    const Expr *e = s->kind == STMT_CALL ? s->value : NULL;
    return e && ast_is_removal(e) && e->annotation == ANN_NONE &&
           removal_is_engine(r->libraries, e->recv) && removal_is_used(r->script, e->recv);
}

static void replace_in(Removal *r, Block b) {
    Var *hidden = r->hidden;
    for (Stmt *s = b.first; s; s = s->next) {
        if (s->kind == STMT_DECL && str_is(s->var->name, "probe_id"))
            r->hidden = s->var;
        if (is_removal(r, s) && r->hidden) {
            s->value->args[0]->var = r->hidden;
        } else if (is_removal(r, s)) {
            Span span = s->value->span;
            if (!r->flag)
                r->flag = new_flag(r, r->rule);
            s->kind = STMT_ASSIGN;
            s->target = flag_name(r, span);
            s->value = removal_new_expr(r, EXPR_BOOL, span);
            s->value->boolean = true;
        }
        for (uint32_t i = 0; i < s->narms; i++)
            replace_in(r, s->arms[i].body);
    }
    r->hidden = hidden;
}

/* !flag, !flag && predicate */
static Expr *still_there(Removal *r, Expr *predicate) {
    Span span = predicate ? predicate->span : r->flag->span;
    Expr *negated = removal_new_expr(r, EXPR_UNARY, span);
    negated->op = OP_NOT;
    negated->nargs = 1;
    negated->args = arena_array(&r->script->arena, Expr *, 1);
    negated->args[0] = flag_name(r, span);
    negated->depth = 2;
    if (!predicate)
        return negated;
    Expr *and = removal_new_expr(r, EXPR_BINARY, span);
    and->op = OP_AND;
    and->nargs = 2;
    and->args = arena_array(&r->script->arena, Expr *, 2);
    and->args[0] = negated;
    and->args[1] = predicate;
    and->depth = predicate->depth + 1;
    return and;
}

void removal_prepare(Script *s, const Libraries *libraries, Probe *p) {
    assert(!p->removed);
    Removal r = {.script = s, .libraries = libraries, .rule = p->rule.span};
    const uint64_t *script_variable = map_get(&s->var_names, STR("probe_id"));
    r.hidden = script_variable ? (Var *)(uintptr_t)*script_variable : NULL;
    replace_in(&r, p->body);
    p->removed = r.flag;
    if (r.flag)
        p->predicate = still_there(&r, p->predicate);
}
