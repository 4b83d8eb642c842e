/*
 * plan/alone.c - finds the parts of scripts that are only for programs of several modules, or with
 * Asyncify; other programs are compiled without them.
 */
#include "plan/plan.h"

#include <assert.h>

/* Code that mentions a variable: only code that other programs run too, or any code. */
typedef struct Mentions {
    bool *lives, *any;  /* by PlanVar.id */
    bool *texts, *told; /* the same of the texts that describe maps with elements, by number */
    bool *called;       /* functions of scripts that are called by code that runs */
} Mentions;

/* The variables in an expression. `off`: nobody runs it. */
static void mention_expr(const Plan *plan, const Variant *v, const Expr *e, bool off,
                         Mentions *to) {
    if (e && e->var && e->var->storage == STORAGE_SCRIPT && !e->var->constant) {
        uint32_t id = plan_var_id(plan, v, e->var);
        to->any[id] = true;
        to->lives[id] |= !off;
    }
    if (e && e->var && e->kind == EXPR_INDEX && e->slot && !e->var->cells) {
        to->told[e->slot - 1] = true;
        to->texts[e->slot - 1] |= !off;
    }
    if (e && e->fn && !off)
        to->called[plan_fn_id(plan, v, e->fn)] = true;
    for (uint32_t i = 0; e && i < e->nargs; i++)
        mention_expr(plan, v, e->args[i], off, to);
}

/* A declaration with the code that initialises the variable. */
static void mention_first(const Plan *plan, const Variant *v, const Var *var, bool off,
                          Mentions *to) {
    mention_expr(plan, v, var->init, off, to);
    if (var->storage == STORAGE_SCRIPT && !var_starts_constant(var))
        to->lives[plan_var_id(plan, v, var)] = true;
}

static void mention_block(const Plan *plan, const Variant *v, const Block *b, bool off,
                          Mentions *to) {
    for (const Stmt *s = b->first; s; s = s->next) {
        mention_expr(plan, v, s->target, off, to);
        mention_expr(plan, v, s->value, off, to);
        if (s->kind == STMT_DECL)
            mention_first(plan, v, s->var, off, to);
        for (uint32_t i = 0; i < s->narms; i++) {
            const IfArm *arm = &s->arms[i];
            bool never = off || plan_excludes_module(plan, arm->cond, 0);
            mention_expr(plan, v, arm->cond, never, to);
            mention_block(plan, v, &arm->body, never, to);
        }
    }
}

/* Mentions in probes and at script scope. */
static void mention_body(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    bool off = plan_excludes_module(plan, predicate, 0);
    if (!v->probe && body != &plan->scripts.at[v->script]->init)
        return;
    mention_expr(plan, v, predicate, off, ctx);
    mention_block(plan, v, body, off, ctx);
}

/* Of functions, which run if something that runs calls them. */
static void mention_fns(Plan *plan, Mentions *to) {
    bool *done = arena_array(&plan->arena, bool, plan->fns.len + 1), more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < plan->fns.len; i++) {
            if (done[i] || !to->called[i])
                continue;
            const PlanFn *f = &plan->fns.at[i];
            mention_block(plan, plan->scopes.at[f->script], &f->fn->body, false, to);
            done[i] = more = true;
        }
    }
    for (uint32_t i = 0; i < plan->fns.len; i++)
        if (!done[i])
            mention_block(plan, plan->scopes.at[plan->fns.at[i].script], &plan->fns.at[i].fn->body,
                          true, to);
}

/* The probe matches something only where module_id is not 0. */
static bool needs_modules(const Plan *plan, const PlanProbe *p) {
    bool needs = p->nactions > 0 && !p->shared_from;
    for (uint32_t i = 0; needs && i < p->nactions; i++) {
        const Variant *v = plan->actions.at[p->first_action + i].variant;
        const Expr *predicate = v->impossible || v->off ? NULL : v->probe->predicate;
        needs =
            plan_excludes_module(plan, predicate, 0) && !plan_excludes_module(plan, predicate, 1);
    }
    return needs;
}

void plan_find_alone(Plan *plan) {
    assert(!plan->alone.vars);
    uint32_t n = plan->vars.len;
    if (plan->program.module_id)
        return;
    bool *found = arena_array(&plan->arena, bool, n + 1u);
    uint32_t ntexts = plan->texts.list.len;
    Mentions m = {.lives = arena_array(&plan->arena, bool, n + 1u),
                  .any = arena_array(&plan->arena, bool, n + 1u),
                  .texts = arena_array(&plan->arena, bool, ntexts + 1u),
                  .told = arena_array(&plan->arena, bool, ntexts + 1u),
                  .called = arena_array(&plan->arena, bool, plan->fns.len + 1u)};
    plan_each_body(plan, mention_body, &m);
    mention_fns(plan, &m);
    for (uint32_t i = 0; i < ntexts; i++)
        m.told[i] = m.told[i] && !m.texts[i];
    plan->alone.texts = m.told;
    for (uint32_t i = 0; i < n; i++) {
        const PlanVar *v = &plan->vars.at[i];
        bool script = v->decl->storage == STORAGE_SCRIPT && !v->decl->report && !v->decl->cells;
        found[i] =
            (script && m.any[i] && !m.lives[i]) ||
            (v->decl->storage == STORAGE_SHARED && needs_modules(plan, &plan->probes.at[v->probe]));
    }
    plan->alone.vars = found;
}
