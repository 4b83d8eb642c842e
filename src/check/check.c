/*
 * check/check.c - entry points of the checker: script scope and functions, and one probe at a time.
 */
#include "check/check_parts.h"

/* Returns the collected locals to the arena. */
static Var **keep_locals(Check *c, uint32_t *n) {
    *n = c->locals.len;
    Var **vars = arena_array(&c->script->arena, Var *, *n);
    if (*n)
        memcpy(vars, c->locals.at, sizeof *vars * *n);
    vec_free(&c->locals);
    vec_free(&c->loops);
    c->words = 0;
    map_free(&c->local_names);
    return vars;
}

static void declare_uses(Check *c) {
    Script *s = c->script;
    for (uint32_t i = 0; i < s->uses.len; i++) {
        bool added;
        Str name =
            script_own_name(s, script_package(s, s->uses.at[i].span.file), s->uses.at[i].name);
        meaning_note(s->meanings, (Meaning){.span = s->uses.at[i].span,
                                            .kind = MEANING_LIBRARY,
                                            .declares = true,
                                            .declaration = s->uses.at[i].span});
        const Use *first = &s->uses.at[*map_put(&s->use_names, name, i, &added)];
        if (!added && first->span.file == s->uses.at[i].span.file) {
            Diag *g = check_error(c, DIAG_DUPLICATE_NAME, s->uses.at[i].span,
                                  "'%.*s' is already used", STR_ARG(first->name));
            diag_label(c->diags, g, first->span, "first used here");
        }
    }
}

static void declare_fns(Check *c) {
    Script *s = c->script;
    for (uint32_t i = 0; i < s->fns.len; i++) {
        Fn *fn = s->fns.at[i];
        bool added;
        c->package = script_package(s, fn->span.file);
        check_note_fn(c, fn->span, fn);
        uint64_t *at = map_put(&s->fn_names, fn->name, (uint64_t)(uintptr_t)fn, &added);
        const Fn *first = (const Fn *)(uintptr_t)*at;
        if (added) {
            check_fn_name(c, fn);
        } else {
            Diag *g = check_error(c, DIAG_DUPLICATE_NAME, fn->span, "'%.*s' is already declared",
                                  STR_ARG(fn->name));
            diag_label(c->diags, g, first->span, "first declared here, as a function");
        }
    }
}

static void check_fn(Check *c, Fn *fn) {
    c->place = PLACE_FN;
    c->fn = fn;
    c->package = script_package(c->script, fn->span.file);
    c->lenient = fn->broken;
    map_free(&c->told);
    for (uint32_t i = 0; i < fn->nparams; i++)
        check_declare_var(c, fn->params[i]);
    check_declare_block(c, fn->body);
    check_storable(c, fn->result, fn->result_span);
    if (fn->result->aggregate)
        check_error(c, DIAG_BAD_TYPE, fn->result_span, "a %s cannot be a result", fn->result->text);
    check_block(c, fn->body);
    if (fn->result->kind != TYPE_UNIT && !check_returns(fn->body)) {
        Diag *g = check_error(c, DIAG_MISSING_RETURN, fn->span,
                              "'%.*s' can end without returning a value", STR_ARG(fn->name));
        diag_label(c->diags, g, fn->result_span, "it returns %s", fn->result->text);
    }
    fn->vars = keep_locals(c, &fn->nvars);
    c->lenient = false;
}

/* ---- functions of packages ---- */

typedef struct Callees {
    Check *c;
    bool *called;     /* by index of the function */
    Vec(Fn *) bodies; /* of those */
} Callees;

static void add_callee(Callees *x, Fn *fn) {
    if (x->called[fn->index])
        return;
    x->called[fn->index] = true;
    vec_push(&x->bodies, fn);
}

static void visit_callee(void *ctx, Expr *e) {
    Callees *x = ctx;
    Fn *fn = e->kind != EXPR_CALL ? NULL : e->fn ? e->fn : check_find_fn(x->c, e->name);
    if (fn)
        add_callee(x, fn);
}

/* Drops functions of packages that nothing calls, so that a package costs what a script uses. */
static void drop_uncalled(Check *c) {
    Script *s = c->script;
    Callees x = {c, arena_array(&s->arena, bool, s->fns.len), {0}};
    for (uint32_t i = 0; i < s->fns.len; i++)
        x.called[i] = false;
    ast_walk_probe(&(Probe){.body = s->init}, visit_callee, &x);
    for (uint32_t i = 0; i < s->probes.len; i++) {
        c->package = script_package(s, s->probes.at[i]->rule.span.file);
        ast_walk_probe(s->probes.at[i], visit_callee, &x);
    }
    for (uint32_t i = 0; i < s->fns.len; i++)
        if (!script_package(s, s->fns.at[i]->span.file))
            add_callee(&x, s->fns.at[i]);
    for (uint32_t i = 0; i < x.bodies.len; i++) { /* which grows */
        c->package = script_package(s, x.bodies.at[i]->span.file);
        ast_walk_probe(&(Probe){.body = x.bodies.at[i]->body}, visit_callee, &x);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->fns.len; i++) {
        if (!x.called[i])
            continue;
        s->fns.at[n] = s->fns.at[i];
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        s->fns.at[i]->index = i;
    s->fns.len = n;
    vec_free(&x.bodies);
}

/* ---- derived columns ---- */

static void check_columns(Check *c, void (*check)(Check *c, Var *column)) {
    for (uint32_t i = 0; i < c->script->derived.len; i++) {
        Var *column = c->script->derived.at[i];
        c->package = script_package(c->script, column->span.file);
        if (i == DERIVED_MOST && check == check_derived)
            check_error(c, DIAG_BAD_DERIVED, column->span, "a script can have %d derived columns",
                        DERIVED_MOST);
        check(c, column);
    }
}

/* ---- entry points ---- */

bool check_script(Script *s, const Scope *scope, Diags *diags) {
    Check c = {.script = s, .scope = scope, .diags = diags, .place = PLACE_SCRIPT, .ok = true};
    declare_uses(&c);
    declare_fns(&c);
    check_declare_block(&c, s->init);
    check_columns(&c, check_declare_var);
    check_block(&c, s->init);
    check_columns(&c, check_derived);
    vec_free(&c.loops);
    for (uint32_t i = 0; i < s->fns.len; i++)
        check_fn(&c, s->fns.at[i]);
    map_free(&c.told);
    if (c.ok && s->files.packages.len)
        drop_uncalled(&c);
    if (c.ok)
        check_find_steps(&c);
    s->faulty = !c.ok;
    return c.ok;
}

bool check_probe(Script *s, Probe *p, const Scope *scope, Diags *diags) {
    Check c = {
        .script = s, .scope = scope, .diags = diags, .place = PLACE_PROBE, .probe = p, .ok = true};
    c.lenient = p->rule.broken || scope->unknown;
    c.package = script_package(s, p->rule.span.file);
    check_bounds(&c);
    if (p->removed)
        check_declare_var(&c, p->removed);
    /* The predicate runs before anything of the body exists, so it is checked before that is
     * declared. */
    if (p->predicate)
        check_condition(&c, p->predicate, "the predicate");
    check_declare_block(&c, p->body);
    check_block(&c, p->body);
    if (c.ok)
        check_guard(&c, p);
    p->vars = keep_locals(&c, &p->nvars);
    map_free(&c.told);
    return c.ok;
}
