/*
 * check/check_steps.c - loops and recursive functions, which take steps.
 *
 * An iteration of a loop is a step, and so is the call of a recursive function. An execution of a
 * probe, with all functions that it calls, may take so many; one that takes more is left
 * (gen/steps.c), and the probe does nothing any more: its predicate requires that a variable of
 * script scope, Probe.stopped, is zero. That is reported under a name that no script can declare,
 * from which report/ makes a message.
 */
#include "check/check_parts.h"

#include <assert.h>

/* ---- what takes steps ---- */

bool ast_calls_steps(const Expr *e) {
    if (e->kind == EXPR_CALL && e->fn && e->fn->steps)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (ast_calls_steps(e->args[i]))
            return true;
    return false;
}

static void note_call(void *ctx, Expr *e) {
    *(bool *)ctx |= e->kind == EXPR_CALL && e->fn && e->fn->steps;
}

bool ast_block_calls_steps(Block b) {
    bool calls = false;
    ast_walk_probe(&(Probe){.body = b}, note_call, &calls);
    return calls;
}

bool ast_block_loops(Block b) {
    for (const Stmt *s = b.first; s; s = s->next) {
        if (s->kind == STMT_LOOP)
            return true;
        for (uint32_t i = 0; i < s->narms; i++)
            if (ast_block_loops(s->arms[i].body))
                return true;
    }
    return false;
}

/* Calls between functions, by index: from caller to callee. */
typedef struct FnCall {
    uint32_t caller, callee;
} FnCall;

typedef struct FnCalls {
    Vec(FnCall) list;
    uint32_t caller;
} FnCalls;

static void steps_add_call(void *ctx, Expr *e) {
    FnCalls *c = ctx;
    if (e->kind == EXPR_CALL && e->fn)
        vec_push(&c->list, ((FnCall){c->caller, e->fn->index}));
}

/* Removes functions that call no other one (or are not called), as long as there are any: those on
 * cycles stay. */
static void remove_ends(Script *s, const FnCalls *calls, bool callers) {
    uint32_t *left = mem_zalloc(sizeof *left * (s->fns.len + 1u));
    bool more = true;
    while (more) {
        more = false;
        memset(left, 0, sizeof *left * s->fns.len);
        for (uint32_t i = 0; i < calls->list.len; i++) {
            const FnCall *k = &calls->list.at[i];
            bool both = s->fns.at[k->caller]->recursive && s->fns.at[k->callee]->recursive;
            left[callers ? k->caller : k->callee] += both;
        }
        for (uint32_t i = 0; i < s->fns.len; i++) {
            more |= s->fns.at[i]->recursive && !left[i];
            s->fns.at[i]->recursive &= left[i] != 0;
        }
    }
    free(left);
}

static void find_functions(Script *s) {
    FnCalls calls = {0};
    for (uint32_t i = 0; i < s->fns.len; i++) {
        calls.caller = i;
        ast_walk_probe(&(Probe){.body = s->fns.at[i]->body}, steps_add_call, &calls);
        s->fns.at[i]->recursive = true;
    }
    remove_ends(s, &calls, true);
    remove_ends(s, &calls, false);
    for (uint32_t i = 0; i < s->fns.len; i++)
        s->fns.at[i]->steps = s->fns.at[i]->recursive || ast_block_loops(s->fns.at[i]->body);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < calls.list.len; i++) {
            Fn *caller = s->fns.at[calls.list.at[i].caller];
            more |= !caller->steps && s->fns.at[calls.list.at[i].callee]->steps;
            caller->steps |= s->fns.at[calls.list.at[i].callee]->steps;
        }
    }
    vec_free(&calls.list);
}

/* ---- the variables ---- */

static Var *hidden_var(Script *s, const char *name, Span span, bool report) {
    Var *v = arena_new(&s->arena, Var);
    *v = (Var){.name = str_of(name),
               .type = &type_scalar[TYPE_U32],
               .storage = STORAGE_SCRIPT,
               .report = report,
               .decorators = report ? DECO_REPORT : 0,
               .span = span,
               .type_span = span,
               .decorator_span = span,
               .index = s->vars.len};
    vec_push(&s->vars, v);
    return v;
}

/* The names of calls in a probe that is not checked. */
static void note_unchecked(void *ctx, Expr *e) {
    Check *c = ctx;
    const Fn *fn = e->kind == EXPR_CALL ? check_find_fn(c, e->name) : NULL;
    if (fn && fn->steps)
        c->nloops = 1;
}

static bool takes_steps(Check *c, const Probe *p) {
    c->nloops = ast_block_loops(p->body);
    c->package = script_package(c->script, p->rule.span.file);
    ast_walk_probe(p, note_unchecked, c);
    bool takes = c->nloops;
    c->nloops = 0;
    return takes;
}

static Var *stopped_var(Check *c, const Probe *p) {
    Buf name = {0};
    uint32_t line, column;
    buf_printf(&name, STOPPED);
    for (uint32_t i = 0; i < p->rule.nparts; i++)
        buf_printf(&name, "%s%.*s", i ? ":" : "", STR_ARG(p->rule.parts[i].pattern));
    diag_position(c->diags, p->rule.span.file, p->rule.span.start, &line, &column);
    buf_printf(&name, " %u:%u", line, column);
    const char *text = arena_strndup(&c->script->arena, buf_cstr(&name), name.len);
    buf_free(&name);
    return hidden_var(c->script, text, p->rule.span, true);
}

void check_find_steps(Check *c) {
    Script *s = c->script;
    find_functions(s);
    bool outside = ast_block_loops(s->init) || ast_block_calls_steps(s->init), any = false;
    for (uint32_t i = 0; i < s->fns.len; i++)
        any |= s->fns.at[i]->steps; /* it is compiled even if nothing calls it */
    for (uint32_t i = 0; i < s->probes.len; i++) {
        Probe *p = s->probes.at[i];
        if (!p->rule.broken && takes_steps(c, p))
            p->stopped = stopped_var(c, p);
    }
    s->counts.steps = any ? hidden_var(s, "(steps)", NO_SPAN, false) : NULL;
    s->counts.depth = any ? hidden_var(s, "(depth)", NO_SPAN, false) : NULL;
    if (outside)
        s->counts.stopped = hidden_var(s, STOPPED "script scope", NO_SPAN, true);
}

/* ---- probes that are stopped ---- */

void check_guard(Check *c, Probe *p) {
    if (!p->stopped)
        return;
    const Type *u32 = &type_scalar[TYPE_U32];
    const Type *boolean = &type_scalar[TYPE_BOOL];
    Expr *stopped = check_node_name(c, p->stopped, p->rule.span);
    Expr *zero = check_node_int(c, u32, 0, p->rule.span);
    Expr *runs = check_node_op(c, OP_EQ, boolean, stopped, zero);
    if (!p->predicate)
        p->predicate = runs;
    else if (ast_calls_steps(p->predicate))
        p->predicate = check_node_op(c, OP_AND, boolean, runs, p->predicate);
    else
        p->predicate = check_node_op(c, OP_AND, boolean, p->predicate, runs);
}
