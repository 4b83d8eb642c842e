/*
 * plan/prune.c - removes code from checked trees that literals and constants exclude, or a whole
 * body.
 */
#include "plan/prune.h"

#include <assert.h>

/* ---- expressions ---- */

/* The same everywhere: made of literals alone. */
static bool prune_is_constant(const Expr *e) {
    bool value = e->kind <= EXPR_STR;
    bool method = e->kind == EXPR_METHOD && e->method;
    bool operation = e->kind >= EXPR_UNARY && e->kind <= EXPR_COND;
    if (!value && !method && !operation)
        return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!prune_is_constant(e->args[i]))
            return false;
    return e->is_static;
}

static Tri prune_decided(const Expr *e) {
    return e->kind == EXPR_BOOL ? tri_of(e->boolean) : TRI_UNKNOWN;
}

/* `a && b` with one side decided; NULL if neither decides anything. `a || true` stays: where a has
 * no value nothing matches. */
static Expr *prune_rest_of(Expr *e) {
    Expr *a = e->args[0], *b = e->args[1];
    Tri decisive = tri_decisive(e->op);
    if (prune_decided(a) != TRI_UNKNOWN)
        return prune_decided(a) == decisive ? a : b;
    if (prune_decided(b) == TRI_UNKNOWN)
        return NULL;
    if (prune_decided(b) != decisive)
        return a;
    return e->op == OP_AND && !expr_has_effect(a) ? b : NULL;
}

/* Prunes an expression: returns it with its parts pruned, or something smaller. */
static void prune_expr(Script *s, Expr **at) {
    Expr *e = *at;
    Value v;
    for (uint32_t i = 0; i < e->nargs; i++)
        prune_expr(s, &e->args[i]);
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR) && prune_rest_of(e)) {
        *at = prune_rest_of(e);
    } else if (e->kind == EXPR_COND && prune_decided(e->args[0]) != TRI_UNKNOWN) {
        *at = e->args[prune_decided(e->args[0]) == TRI_YES ? 1 : 2];
    } else if (e->kind != EXPR_BOOL && e->type->kind == TYPE_BOOL && prune_is_constant(e) &&
               fold(e, NULL, &v)) {
        Expr *literal = arena_new(&s->arena, Expr);
        *literal = (Expr){.kind = EXPR_BOOL,
                          .span = e->span,
                          .type = e->type,
                          .is_static = true,
                          .boolean = v.bits != 0};
        *at = literal;
    }
}

/* ---- statements ---- */

/* Where the next statement of a block goes. */
typedef struct Out {
    Script *script;
    Stmt **end;
} Out;

static void prune_put(Out *out, Stmt *s) {
    *out->end = s;
    out->end = &s->next;
}

/* Reduces a block that never runs to its variables, which the rest may use. */
static void put_declarations(Out *out, Stmt *s) {
    while (s) {
        Stmt *next = s->next;
        if (s->kind == STMT_DECL) {
            s->var->init = NULL;
            prune_put(out, s);
        }
        for (uint32_t i = 0; i < s->narms; i++)
            put_declarations(out, s->arms[i].body.first);
        s = next;
    }
}

static void prune_put_block(Out *out, Stmt *s);

/* The arms that may be executed. One that is always executed is the last, and if it is the only
 * one, its statements replace the whole. */
static void prune_put_if(Out *out, Stmt *s) {
    uint32_t n = 0;
    Block always = {0};
    bool ends = false;
    for (uint32_t i = 0; i < s->narms; i++) {
        IfArm *arm = &s->arms[i];
        if (arm->cond && !ends)
            prune_expr(out->script, &arm->cond);
        Tri c = ends ? TRI_NO : arm->cond ? prune_decided(arm->cond) : TRI_YES;
        if (c == TRI_NO) {
            put_declarations(out, arm->body.first);
        } else if (c == TRI_YES && !n) {
            always = arm->body;
        } else {
            prune_block(out->script, &arm->body);
            s->arms[n++] = (IfArm){c == TRI_YES ? NULL : arm->cond, arm->body};
        }
        ends |= c == TRI_YES;
    }
    s->narms = n;
    prune_put_block(out, always.first);
    if (n)
        prune_put(out, s);
}

static void prune_put_loop(Out *out, Stmt *s) {
    prune_expr(out->script, &s->arms[LOOP_BODY].cond);
    bool never = prune_decided(s->arms[LOOP_BODY].cond) == TRI_NO;
    for (uint32_t i = 0; i < LOOP_ARMS; i++) {
        if (never)
            put_declarations(out, s->arms[i].body.first);
        else
            prune_block(out->script, &s->arms[i].body);
    }
    if (!never)
        prune_put(out, s);
}

static void prune_put_block(Out *out, Stmt *s) {
    while (s) {
        Stmt *next = s->next;
        if (s->var && s->var->init && !s->var->constant)
            prune_expr(out->script, &s->var->init);
        if (s->target)
            prune_expr(out->script, &s->target);
        if (s->value)
            prune_expr(out->script, &s->value);
        if (s->kind == STMT_ANNOTATED)
            prune_block(out->script, &s->arms[0].body);
        if (s->kind == STMT_IF)
            prune_put_if(out, s);
        else if (s->kind == STMT_LOOP)
            prune_put_loop(out, s);
        else if (s->kind != STMT_DECL || !s->var->constant)
            prune_put(out, s);
        s = next;
    }
}

void prune_block(Script *s, Block *b) {
    Out out = {s, &b->first};
    prune_put_block(&out, b->first);
    *out.end = NULL;
}

bool prune_probe(Script *s, Probe *p) {
    if (p->predicate)
        prune_expr(s, &p->predicate);
    Tri c = p->predicate ? prune_decided(p->predicate) : TRI_YES;
    if (c == TRI_NO)
        return true;
    if (c == TRI_YES)
        p->predicate = NULL;
    prune_block(s, &p->body);
    return false;
}

/* ---- empty bodies ---- */

typedef Vec(Expr *) Exprs;

/* Collects the bound names that are numbers, each once. */
static void collect_number(void *ctx, Expr *e) {
    Exprs *found = ctx;
    if (e->kind != EXPR_NAME || !e->is_bound || e->type->kind > TYPE_BOOL)
        return;
    for (uint32_t i = 0; i < found->len; i++)
        if (found->at[i]->bound.id == e->bound.id && found->at[i]->bound.n == e->bound.n)
            return;
    vec_push(found, e);
}

static bool prune_takes(const Fn *fn, const Exprs *args) {
    bool same = fn->nparams == args->len;
    for (uint32_t i = 0; same && i < args->len; i++)
        same = fn->params[i]->type == args->at[i]->type;
    return same;
}

static Fn *prune_add_empty(Plan *plan, uint32_t script, const Exprs *args) {
    Fn *fn = arena_new(&plan->arena, Fn);
    *fn = (Fn){.name = STR("empty"), .span = NO_SPAN, .result = &type_unit};
    fn->index = plan->fns.len - plan->first_fn.at[script];
    fn->nparams = fn->nvars = args->len;
    fn->params = fn->vars = arena_array(&plan->arena, Var *, args->len + 1);
    for (uint32_t i = 0; i < args->len; i++) {
        fn->params[i] = arena_new(&plan->arena, Var);
        *fn->params[i] =
            (Var){.type = args->at[i]->type, .param = true, .span = NO_SPAN, .index = i};
    }
    vec_push(&plan->fns, ((PlanFn){fn, script, NULL}));
    return fn;
}

/* Functions of a script come after those of the scripts before it, empty ones at the end. */
static Fn *empty_for(Plan *plan, uint32_t script, const Exprs *args) {
    uint32_t first = plan->first_fn.at[script] + plan->scripts.at[script]->fns.len;
    for (uint32_t i = first; i < plan->fns.len; i++)
        if (prune_takes(plan->fns.at[i].fn, args))
            return (Fn *)plan->fns.at[i].fn;
    return prune_add_empty(plan, script, args);
}

static Stmt *call_of(Script *s, const Probe *p, Fn *fn, const Exprs *args) {
    Expr *call = arena_new(&s->arena, Expr);
    *call = (Expr){.kind = EXPR_CALL,
                   .span = p->rule.span,
                   .depth = 2,
                   .type = &type_unit,
                   .name = fn->name,
                   .nargs = args->len,
                   .fn = fn};
    call->args = arena_array(&s->arena, Expr *, args->len + 1);
    for (uint32_t i = 0; i < args->len; i++)
        call->args[i] = args->at[i];
    Stmt *stmt = arena_new(&s->arena, Stmt);
    *stmt = (Stmt){.kind = STMT_CALL, .span = p->rule.span, .value = call};
    return stmt;
}

static void put_lasting(Out *out, Stmt *s) {
    while (s) {
        Stmt *next = s->next;
        if (s->kind == STMT_DECL && s->var->storage != STORAGE_LOCAL)
            prune_put(out, s);
        for (uint32_t i = 0; i < s->narms; i++)
            put_lasting(out, s->arms[i].body.first);
        s = next;
    }
}

void prune_to_call(Plan *plan, uint32_t script, Probe *p) {
    assert(script < plan->scripts.len);
    Script *s = plan->scripts.at[script];
    Exprs args = {0};
    Probe body = {.body = p->body};
    ast_walk_probe(&body, collect_number, &args);
    Out out = {s, &p->body.first};
    put_lasting(&out, p->body.first);
    prune_put(&out, call_of(s, p, empty_for(plan, script, &args), &args));
    *out.end = NULL;
    vec_free(&args);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nvars; i++)
        if (p->vars[i]->storage != STORAGE_LOCAL) {
            p->vars[n] = p->vars[i];
            p->vars[n]->index = n;
            n++;
        }
    p->nvars = n;
}
