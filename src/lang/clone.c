/*
 * lang/clone.c - copies of probes, walking over their expressions, and kinds of calls.
 *
 * Recursion is bounded: the parser limits the depth of expressions and blocks.
 */
#include "lang/ast.h"

#include <assert.h>

Expr *ast_clone_expr(Script *s, const Expr *e) {
    if (!e)
        return NULL;
    Expr *c = arena_new(&s->arena, Expr);
    *c = *e;
    c->args = arena_array(&s->arena, Expr *, e->nargs);
    for (uint32_t i = 0; i < e->nargs; i++)
        c->args[i] = ast_clone_expr(s, e->args[i]);
    return c;
}

static Var *clone_var(Script *s, const Var *v) {
    Var *c = arena_new(&s->arena, Var);
    *c = *v;
    c->init = ast_clone_expr(s, v->init);
    return c;
}

static Block clone_block(Script *s, Block b) {
    Block copy = {NULL, b.incomplete};
    Stmt **end = &copy.first;
    for (const Stmt *stmt = b.first; stmt; stmt = stmt->next) {
        Stmt *c = arena_new(&s->arena, Stmt);
        *c = *stmt;
        c->next = NULL;
        c->var = stmt->var ? clone_var(s, stmt->var) : NULL;
        c->target = ast_clone_expr(s, stmt->target);
        c->value = ast_clone_expr(s, stmt->value);
        c->arms = arena_array(&s->arena, IfArm, stmt->narms);
        for (uint32_t i = 0; i < stmt->narms; i++)
            c->arms[i] =
                (IfArm){ast_clone_expr(s, stmt->arms[i].cond), clone_block(s, stmt->arms[i].body)};
        *end = c;
        end = &c->next;
    }
    return copy;
}

Probe *ast_clone_probe(Script *s, const Probe *p) {
    assert(!p->nvars); /* not checked yet */
    Probe *c = arena_new(&s->arena, Probe);
    *c = *p;
    c->predicate = ast_clone_expr(s, p->predicate);
    c->body = clone_block(s, p->body);
    return c;
}

/* ---- walking ---- */

typedef struct Walk {
    void (*visit)(void *ctx, Expr *e);
    void *ctx;
} Walk;

static void clone_walk_expr(const Walk *w, Expr *e) {
    if (!e)
        return;
    w->visit(w->ctx, e);
    for (uint32_t i = 0; i < e->nargs; i++)
        clone_walk_expr(w, e->args[i]);
}

static void clone_walk_block(const Walk *w, Block b) {
    for (const Stmt *stmt = b.first; stmt; stmt = stmt->next) {
        if (stmt->var)
            clone_walk_expr(w, stmt->var->init);
        clone_walk_expr(w, stmt->target);
        clone_walk_expr(w, stmt->value);
        for (uint32_t i = 0; i < stmt->narms; i++) {
            clone_walk_expr(w, stmt->arms[i].cond);
            clone_walk_block(w, stmt->arms[i].body);
        }
    }
}

void ast_walk_probe(const Probe *p, void (*visit)(void *ctx, Expr *e), void *ctx) {
    Walk w = {visit, ctx};
    clone_walk_expr(&w, p->predicate);
    clone_walk_block(&w, p->body);
}

const Fn *ast_first_interval(const Script *s) {
    for (uint32_t i = 0; i < s->fns.len; i++)
        if (s->fns.at[i]->interval)
            return s->fns.at[i];
    return NULL;
}

bool ast_is_removal(const Expr *e) {
    return e->kind == EXPR_METHOD && str_is(e->name, "remove_probe") && e->nargs == 1 &&
           e->args[0]->kind == EXPR_NAME && str_is(e->args[0]->name, "probe_id");
}

bool ast_is_map_method(const Expr *e) {
    return e->kind == EXPR_METHOD && e->method >= MAP_HAS;
}

bool ast_changes_map(const Expr *e) {
    static const bool changes[] = {
#define MAP_METHOD(id, name, takes_key, result, changes, doc) changes,
#include "lang/function.def"
    };
    return ast_is_map_method(e) && e->method < MAP_KEYS && changes[e->method - MAP_HAS];
}

const Expr *atomic_operand(const Stmt *s) {
    const Expr *e = s->value, *x = s->target;
    if (s->kind != STMT_ASSIGN || e->kind != EXPR_BINARY)
        return NULL;
    bool swaps = e->op == OP_ADD || e->op == OP_BITAND || e->op == OP_BITOR || e->op == OP_BITXOR;
    if (!swaps && e->op != OP_SUB)
        return NULL;
    if (e->args[0]->kind == EXPR_NAME && e->args[0]->var == x->var)
        return e->args[1];
    return swaps && e->args[1]->kind == EXPR_NAME && e->args[1]->var == x->var ? e->args[0] : NULL;
}

#ifndef NDEBUG
static void clone_check_expr(void *ctx, Expr *e) {
    (void)ctx;
    assert(e->kind != EXPR_BROKEN && e->type && e->type->kind != TYPE_ERROR);
    assert(e->kind != EXPR_CALL || !e->fn != !e->is_bound);
    assert(!e->fn || e->nargs == e->fn->nparams);
    for (uint32_t i = 0; i < e->nargs; i++)
        assert(e->args[i]);
}

bool ast_check_probe(const Probe *p) {
    assert(!p->predicate || p->predicate->type->kind == TYPE_BOOL);
    for (uint32_t i = 0; i < p->nvars; i++)
        assert(p->vars[i]->index == i && p->vars[i]->type);
    ast_walk_probe(p, clone_check_expr, NULL);
    return true;
}
#endif
