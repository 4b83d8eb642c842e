/*
 * storage/tally_find.c - finds the maps that may be counted in arrays.
 */
#include "storage/tally.h"

#include <stdlib.h>

#include "event/range.h"

/* Keys from 0 on that an array may have. */
enum { MAX_KEYS = 1 << 16 };

/* Uses of a map while the program runs. */
typedef struct MapUses {
    bool candidate, escapes;
    uint32_t all, counted;
} MapUses;

typedef struct Finding {
    Plan *plan;
    const Variant *v; /* of the current body */
    MapUses *uses;    /* by PlanVar.id */
    bool *called;     /* by index into Plan.fns: when a report is made */
} Finding;

static bool may_be_tally(const Var *v) {
    const Type *t = v->type;
    bool kept = v->storage == STORAGE_SCRIPT || v->storage == STORAGE_SHARED ||
                v->storage == STORAGE_UNSHARED;
    return kept && !v->cells && t->kind == TYPE_MAP && type_is_integer(t->value) &&
           type_bits(t->value) >= 32 && (type_is_integer(t->key) || t->key->kind == TYPE_BOOL);
}

/* Marks the candidates; false if there are none. */
static bool find_candidates(const Plan *plan, MapUses *uses) {
    bool any = false;
    for (uint32_t i = 0; i < plan->vars.len; i++)
        any |= uses[i].candidate = may_be_tally(plan->vars.at[i].decl);
    return any;
}

static MapUses *uses_of(const Finding *f, const Var *v) {
    if (!v || v->type->kind != TYPE_MAP || v->storage == STORAGE_LOCAL)
        return NULL;
    MapUses *u = &f->uses[plan_var_id(f->plan, f->v, v)];
    return u->candidate ? u : NULL;
}

/* ---- statements that only add ---- */

/* Whether the value is the same anywhere in a statement, and its evaluation has no effect. */
static bool tally_find_is_pure(const Expr *e) {
    bool plain = e->kind <= EXPR_BOOL || e->kind == EXPR_NAME || e->kind == EXPR_FIELD ||
                 (e->kind >= EXPR_UNARY && e->kind <= EXPR_COND);
    for (uint32_t i = 0; plain && i < e->nargs; i++)
        plain = tally_find_is_pure(e->args[i]);
    return plain;
}

/* Whether pure expressions of integers have the same value. */
static bool are_equal(const Expr *a, const Expr *b) {
    bool same = a->kind == b->kind && a->type == b->type && a->op == b->op && a->cast == b->cast &&
                a->var == b->var && a->is_bound == b->is_bound && a->npath == b->npath &&
                a->nargs == b->nargs && a->kind != EXPR_FLOAT && a->integer == b->integer &&
                a->boolean == b->boolean;
    if (same && a->is_bound)
        same = a->bound.id == b->bound.id && a->bound.n == b->bound.n;
    for (uint32_t i = 0; same && i < a->npath; i++)
        same = a->path[i] == b->path[i];
    for (uint32_t i = 0; same && i < a->nargs; i++)
        same = are_equal(a->args[i], b->args[i]);
    return same;
}

static bool is_element(const Expr *e, const Expr *m) {
    return e->kind == EXPR_INDEX && e->var == m->var && are_equal(e->args[0], m->args[0]);
}

/* Returns the amount n of m[k] = m[k] + n, = n + m[k] or = m[k] - n; NULL = another statement. */
static const Expr *tally_find_amount_of(const Stmt *s) {
    const Expr *m = s->target, *sum = s->value;
    bool adds = sum->kind == EXPR_BINARY && (sum->op == OP_ADD || sum->op == OP_SUB);
    if (!adds || !tally_find_is_pure(m->args[0]))
        return NULL;
    for (uint32_t i = 0; i < (sum->op == OP_ADD ? 2 : 1); i++)
        if (is_element(sum->args[i], m) && tally_find_is_pure(sum->args[1 - i]))
            return sum->args[1 - i];
    return NULL;
}

/* Returns the map of a statement that only adds to an element; *uses: how often it names that. */
static MapUses *counted_by(const Finding *f, Stmt *s, uint32_t *uses) {
    bool element = s->target && s->target->kind == EXPR_INDEX && !s->target->npath;
    MapUses *map = element ? uses_of(f, s->target->var) : NULL;
    if (map && s->kind == STMT_ASSIGN)
        s->added = tally_find_amount_of(s);
    *uses = s->kind == STMT_ASSIGN ? 2 : 1;
    bool counts = s->kind == STMT_INC || s->kind == STMT_DEC || s->added;
    return counts ? map : NULL;
}

/* ---- uses ---- */

static void note_use(void *ctx, Expr *e) {
    MapUses *u = uses_of(ctx, e->var);
    if (u)
        u->all++;
}

static void note_counts(const Finding *f, const Block *b) {
    uint32_t n;
    for (Stmt *s = b->first; s; s = s->next) {
        MapUses *u = counted_by(f, s, &n);
        if (u)
            u->counted += n;
        for (uint32_t i = 0; i < s->narms; i++)
            note_counts(f, &s->arms[i].body);
    }
}

static bool is_of_report(const Variant *v) {
    return v->probe && (v->event.kind == EVENT_END || v->event.kind == EVENT_REPORT);
}

/* Notes maps that may be referenced from anywhere: references are not followed. */
static void note_escapes(Finding *f, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        MapUses *u = s->kind == STMT_DECL ? uses_of(f, s->var) : NULL;
        if (u)
            u->escapes |= s->var->escapes;
        for (uint32_t i = 0; i < s->narms; i++)
            note_escapes(f, &s->arms[i].body);
    }
}

static void on_uses(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    (void)plan;
    Finding f = *(Finding *)ctx;
    f.v = v;
    note_escapes(&f, body);
    if (is_of_report(v))
        return;
    ast_walk_probe(&(Probe){.predicate = predicate, .body = *body}, note_use, &f);
    note_counts(&f, body);
}

/* ---- tallies ---- */

/* The numbers that an array would have for the keys of an element: of buckets their indices. */
static Range tally_keys(const RangeFacts *facts, const Expr *e) {
    const Type *t = e->var->type;
    if (t->aggregate == AGG_HIST || t->aggregate == AGG_LHIST)
        return (Range){.known = true, .most = type_buckets(t) - 1};
    return range_of(facts, e->args[0]);
}

/* Notes an element that an array may count. */
static void note_tally(const Finding *f, const RangeFacts *facts, Stmt *s) {
    Expr *e = s->target;
    MapTally *t = &f->plan->tallies[plan_var_id(f->plan, f->v, e->var)];
    Range keys = tally_keys(facts, e);
    bool small = keys.known && keys.most < MAX_KEYS;
    e->tally = small || e->targets;
    if (!e->tally)
        return;
    t->text = e->slot;
    t->buckets = e->var->type->aggregate == AGG_HIST || e->var->type->aggregate == AGG_LHIST;
    t->marked |= s->kind != STMT_INC;
    t->targets |= !small;
    if (small && t->keys <= keys.most)
        t->keys = (uint32_t)keys.most + 1;
}

/* Whether the statement adds to an element of a tally. */
static bool tally_find_counts(const Finding *f, Stmt *s) {
    uint32_t n;
    const MapUses *u = counted_by(f, s, &n);
    return u && u->all == u->counted && !u->escapes;
}

static void on_step(void *ctx, const RangeFacts *facts, Stmt *s) {
    if (tally_find_counts(ctx, s))
        note_tally(ctx, facts, s);
}

static bool any_counts(const Finding *f, const Block *b) {
    for (Stmt *s = b->first; s; s = s->next) {
        if (tally_find_counts(f, s))
            return true;
        for (uint32_t i = 0; i < s->narms; i++)
            if (any_counts(f, &s->arms[i].body))
                return true;
    }
    return false;
}

/* ---- functions ---- */

/* Functions called when a report is made, after the arrays have been added to the maps. */
typedef struct ReportCalls {
    const Plan *plan;
    const Variant *v;
    bool *called;         /* by index into Plan.fns */
    Vec(const Fn *) next; /* their own calls have not been visited */
} ReportCalls;

static void tally_find_note_call(void *ctx, Expr *e) {
    ReportCalls *c = ctx;
    if (e->kind != EXPR_CALL || !e->fn)
        return;
    uint32_t id = plan_fn_id(c->plan, c->v, e->fn);
    if (!c->called[id])
        vec_push(&c->next, e->fn);
    c->called[id] = true;
}

static void on_calls(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    if (!is_of_report(v))
        return;
    ReportCalls c = {.plan = plan, .v = v, .called = ctx};
    ast_walk_probe(&(Probe){.predicate = predicate, .body = *body}, tally_find_note_call, &c);
    while (c.next.len)
        ast_walk_probe(&(Probe){.body = c.next.at[--c.next.len]->body}, tally_find_note_call, &c);
    vec_free(&c.next);
}

/* Whether a body at script scope, or of a function, runs only while the program does. */
static bool runs_before(const Plan *plan, const Block *body, const bool *called) {
    for (uint32_t i = 0; i < plan->fns.len; i++)
        if (&plan->fns.at[i].fn->body == body)
            return !called[i] && !plan->at_exit.any; /* its arguments may call the function */
    return true;
}

static void on_tallies(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    Finding f = *(Finding *)ctx;
    f.v = v;
    bool often = v->probe ? v->event.kind != EVENT_BEGIN && !is_of_report(v)
                          : runs_before(plan, body, f.called);
    if (often && any_counts(&f, body))
        range_walk(v->alt.is ? NULL : predicate, body, on_step, &f);
}

void tallies_find(Plan *plan) {
    Finding f = {.plan = plan, .uses = mem_zalloc(sizeof *f.uses * (plan->vars.len + 1u))};
    if (find_candidates(plan, f.uses) && !plan_takes_numbers(plan)) {
        plan->tallies = arena_array(&plan->arena, MapTally, plan->vars.len);
        f.called = mem_zalloc(plan->fns.len + 1u);
        plan_each_body(plan, on_uses, &f);
        plan_each_body(plan, on_calls, f.called);
        plan_each_body(plan, on_tallies, &f);
        free(f.called);
    }
    free(f.uses);
}
