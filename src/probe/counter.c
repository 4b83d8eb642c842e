/*
 * probe/counter.c - which variables are sums, and which shapes add to nothing else.
 */
#include "probe/counter.h"

const char *why_not_text(WhyNot why) {
    switch (why) {
    case WHY_READ: return "the variable is read";
    case WHY_ASSIGNED: return "more than a sum is assigned to the variable";
    case WHY_TYPE: return "the variable is no integer of 32 or 64 bits";
    case WHY_STARTS: return "the variable starts at a value for each site";
    case WHY_PREDICATE: return "the predicate is decided when the program runs";
    case WHY_AMOUNT: return "what is added is known when the program runs";
    case WHY_STATEMENT: return "this does more than count";
    case WHY_CONDITION: return "this condition is decided when the program runs";
    case WHY_EVENT: return "this event is not counted by segments";
    default: return "";
    }
}

/* ---- sums ---- */

static bool is_kept(const Var *v) {
    return v->storage == STORAGE_UNSHARED || v->storage == STORAGE_SHARED ||
           v->storage == STORAGE_SCRIPT;
}

/* x++, x--, x = x + e, x = e + x, x = x - e: what is added; else false. *by is NULL for 1. */
static bool is_addition(const Stmt *s, const Expr **by, bool *minus) {
    if (s->kind != STMT_ASSIGN && s->kind != STMT_INC && s->kind != STMT_DEC)
        return false;
    const Expr *t = s->target;
    if (t->kind != EXPR_NAME || !t->var || !is_kept(t->var))
        return false;
    *by = NULL;
    *minus = s->kind == STMT_DEC;
    if (s->kind != STMT_ASSIGN)
        return true;
    const Expr *e = s->value;
    if (e->kind != EXPR_BINARY || (e->op != OP_ADD && e->op != OP_SUB))
        return false;
    *minus = e->op == OP_SUB;
    for (uint32_t i = 0; i < (*minus ? 1u : 2u); i++) {
        if (e->args[i]->kind == EXPR_NAME && e->args[i]->var == t->var) {
            *by = e->args[1 - i];
            return true;
        }
    }
    return false;
}

typedef struct Look {
    Counters *c;
    const Variant *v; /* NULL: a function, script scope */
    bool tells;       /* a report may be due in what was looked at */
} Look;

static void rule_out(Look *l, const Var *var, WhyNot why, Span span) {
    uint32_t id = var && is_kept(var) ? plan_var_id(l->c->plan, l->v, var) : UINT32_MAX;
    if (id == UINT32_MAX || l->c->vars[id])
        return;
    l->c->vars[id] = why;
    l->c->spans[id] = span;
}

/* Calls in which a report is due, or the program may end. */
static bool is_telling(const Counters *c, const Expr *e) {
    if (e->kind == EXPR_CALL && e->fn)
        return c->fns_tell;
    if (e->kind != EXPR_METHOD || e->method || e->annotation)
        return false;
    const BundledFn *bundled = c->plan->library_fns.at[e->bound.id].bundled;
    return !bundled || bundled_kind(bundled) == BUNDLED_FLUSH;
}

static void look_at_expr(Look *l, const Expr *e) {
    l->tells |= is_telling(l->c, e);
    if (e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_FIELD)
        rule_out(l, e->var, WHY_READ, e->span);
    for (uint32_t i = 0; i < e->nargs; i++)
        look_at_expr(l, e->args[i]);
}

static void look_at_block(Look *l, const Block *b);

static void look_at_stmt(Look *l, const Stmt *s) {
    const Expr *by;
    bool minus;
    if (is_addition(s, &by, &minus)) {
        if (by)
            look_at_expr(l, by);
        return;
    }
    switch (s->kind) {
    case STMT_DECL:
        if (s->var->init)
            look_at_expr(l, s->var->init);
        break;
    case STMT_ASSIGN:
    case STMT_INC:
    case STMT_DEC:
        rule_out(l, s->target->var, WHY_ASSIGNED, s->span);
        for (uint32_t i = 0; i < s->target->nargs; i++)
            look_at_expr(l, s->target->args[i]);
        if (s->value)
            look_at_expr(l, s->value);
        break;
    case STMT_RETURN:
    case STMT_CALL:
        if (s->value)
            look_at_expr(l, s->value);
        break;
    case STMT_IF:
        for (uint32_t i = 0; i < s->narms; i++) {
            if (s->arms[i].cond)
                look_at_expr(l, s->arms[i].cond);
            look_at_block(l, &s->arms[i].body);
        }
        break;
    }
}

static void look_at_block(Look *l, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next)
        look_at_stmt(l, s);
}

static bool is_summable(const Type *t) {
    return t->kind == TYPE_U32 || t->kind == TYPE_I32 || t->kind == TYPE_U64 || t->kind == TYPE_I64;
}

void counters_init(Counters *c, const Plan *plan) {
    *c = (Counters){.plan = plan};
    c->vars = mem_zalloc(sizeof *c->vars * (plan->vars.len + 1u));
    c->spans = mem_zalloc(sizeof *c->spans * (plan->vars.len + 1u));
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const Var *var = plan->vars.at[i].decl;
        c->spans[i] = var->span;
        if (!is_summable(var->type))
            c->vars[i] = WHY_TYPE;
        else if (var->storage == STORAGE_UNSHARED && var->init)
            c->vars[i] = WHY_STARTS;
    }
    c->tells = mem_zalloc(plan->variants.len + 1u);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        Look l = {c, NULL, false};
        look_at_block(&l, &plan->scripts.at[i]->init);
        l.tells = false;
        for (uint32_t k = 0; k < plan->scripts.at[i]->fns.len; k++)
            look_at_block(&l, &plan->scripts.at[i]->fns.at[k]->body);
        c->fns_tell |= l.tells;
    }
    for (uint32_t i = 0; i < plan->variants.len; i++) {
        Look l = {c, plan->variants.at[i], false};
        if (l.v->impossible || !l.v->vars)
            continue;
        if (l.v->probe->predicate)
            look_at_expr(&l, l.v->probe->predicate);
        look_at_block(&l, &l.v->probe->body);
        c->tells[i] = l.tells;
    }
}

void counters_free(Counters *c) {
    free(c->vars);
    free(c->spans);
    free(c->tells);
    vec_free(&c->shapes);
    vec_free(&c->known);
    vec_free(&c->additions);
}

/* ---- counters ---- */

/* The events that a segment's count tells of: in front of an instruction, or behind it if control
 * gets there. */
static bool is_countable(Event e) {
    switch (e.kind) {
    case EVENT_FUNC_ENTRY:
    case EVENT_BLOCK_START:
    case EVENT_BLOCK_END: return true;
    case EVENT_OPCODE: return e.mode == MODE_BEFORE || e.mode == MODE_AFTER;
    default: return false;
    }
}

/* The body of a shape, from the statement that is executed first. */
typedef struct Reading {
    Counters *c;
    const Shape *shape;
    Counting out;
} Reading;

static bool refuse(Reading *r, WhyNot why, Span span) {
    r->out.why_not = why;
    r->out.span = span;
    return false;
}

static bool read_block(Reading *r, const Block *b);

static bool read_if(Reading *r, const Stmt *s) {
    for (uint32_t i = 0; i < s->narms; i++) {
        const Expr *cond = s->arms[i].cond;
        Tri is =
            cond ? shape_decide(r->shape->variant, UINT64_MAX, r->shape->atoms, cond) : TRI_YES;
        if (is == TRI_UNKNOWN)
            return refuse(r, WHY_CONDITION, cond->span);
        if (is == TRI_YES)
            return read_block(r, &s->arms[i].body);
    }
    return true;
}

static bool read_addition(Reading *r, const Stmt *s, const Expr *by, bool minus) {
    uint32_t var = plan_var_id(r->c->plan, r->shape->variant, s->target->var);
    if (r->c->vars[var])
        return refuse(r, r->c->vars[var], r->c->spans[var]);
    if (by && !by->is_static)
        return refuse(r, WHY_AMOUNT, by->span);
    vec_push(&r->c->additions, ((Addition){var, by, minus}));
    r->out.n++;
    return true;
}

static bool read_block(Reading *r, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        const Expr *by;
        bool minus, kept = s->kind == STMT_DECL && is_kept(s->var);
        bool elsewhere = s->kind == STMT_CALL &&
                         (s->value->annotation == ANN_INIT || s->value->annotation == ANN_EXIT);
        if (kept || elsewhere)
            continue; /* runs at start-up, or before the report */
        if (s->kind == STMT_IF) {
            if (!read_if(r, s))
                return false;
        } else if (!is_addition(s, &by, &minus)) {
            return refuse(r, WHY_STATEMENT, s->span);
        } else if (!read_addition(r, s, by, minus)) {
            return false;
        }
    }
    return true;
}

/* Variables of the sites that are no sums have values of their own. */
static bool check_vars(Reading *r) {
    const Variant *v = r->shape->variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        uint32_t id = var->storage == STORAGE_UNSHARED ? v->vars[var->index] : UINT32_MAX;
        if (id != UINT32_MAX && r->c->vars[id])
            return refuse(r, r->c->vars[id], r->c->spans[id]);
    }
    return true;
}

static Counting read_shape(Counters *c, const Shape *shape) {
    const Variant *v = shape->variant;
    Reading r = {c, shape, {.first = c->additions.len}};
    const Expr *predicate = v->probe->predicate;
    if (!is_countable(v->event))
        refuse(&r, WHY_EVENT, v->probe->rule.span);
    else if (predicate && shape_decide(v, UINT64_MAX, shape->atoms, predicate) != TRI_YES)
        refuse(&r, WHY_PREDICATE, predicate->span);
    else if (check_vars(&r))
        read_block(&r, &v->probe->body);
    return r.out;
}

const Counting *counters_shape(Counters *c, const Shape *s) {
    while (c->shapes.len <= s->index) {
        vec_add(&c->shapes);
        vec_push(&c->known, false);
    }
    if (!c->known.at[s->index]) {
        c->known.at[s->index] = true;
        c->shapes.at[s->index] = read_shape(c, s);
    }
    return &c->shapes.at[s->index];
}

uint64_t addition_amount(const Addition *a, const Site *s) {
    Value v = {.bits = 1};
    if (a->by)
        fold(a->by, s, &v); /* a site at which it has no value has no match */
    return a->minus ? 0 - v.bits : v.bits;
}
