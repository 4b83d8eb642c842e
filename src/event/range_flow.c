/*
 * event/range_flow.c - known ranges at the points of a body: conditions, assignments, calls of
 * functions.
 */
#include "event/range.h"

#include <assert.h>

enum {
    MOST_STEPS = 1 << 16, /* for each body that is gone through */
    MOST_ACTIVE = 1000,   /* a bound of the C stack; bits(n) of 64 bits has 200 */
    MOST_FACTS = 100,
};

/* ---- facts ---- */

/* A variable that changes only where a body assigns to it. */
static bool range_flow_is_followed(const Expr *e) {
    if (e->kind != EXPR_NAME || !type_is_integer(e->type))
        return false;
    if (e->var)
        return e->var->storage == STORAGE_LOCAL;
    int id = e->is_bound ? e->bound.id : -1;
    return !e->is_static && (id == NAME_ARG || id == NAME_LOCAL || id == NAME_RES);
}

static RangeFact *range_flow_find(const RangeFacts *f, const RangeFact *like) {
    for (uint32_t i = 0; i < f->list.len; i++) {
        RangeFact *fact = &f->list.at[i];
        if (fact->var == like->var && (like->var || (fact->id == like->id && fact->n == like->n)))
            return fact;
    }
    return NULL;
}

/* Sets the known ranges to a copy of `like`. */
static void range_flow_set(RangeFacts *f, RangeFact like) {
    RangeFact *fact = range_flow_find(f, &like);
    if (fact && like.range.known)
        *fact = like;
    else if (fact)
        *fact = f->list.at[--f->list.len];
    else if (like.range.known && f->list.len < MOST_FACTS)
        vec_push(&f->list, like);
}

static RangeFact fact_of(const Expr *name) {
    if (name->var)
        return (RangeFact){.var = name->var};
    return (RangeFact){.id = name->bound.id, .n = name->bound.n};
}

const RangeFact *range_fact(const RangeFacts *f, const Expr *name) {
    RangeFact like = fact_of(name);
    return range_flow_is_followed(name) ? range_flow_find(f, &like) : NULL;
}

static void set_name(RangeFacts *f, const Expr *name, Range r) {
    RangeFact fact = fact_of(name);
    fact.range = r;
    range_flow_set(f, fact);
}

RangeFacts range_copy(const RangeFacts *f) {
    RangeFacts copy = {.never = f->never, .budget = f->budget};
    for (uint32_t i = 0; i < f->list.len; i++)
        vec_push(&copy.list, f->list.at[i]);
    return copy;
}

void range_free(RangeFacts *f) {
    vec_free(&f->list);
}

/* Control may come from a point where `from` is known; takes that over. */
static void range_flow_join(RangeFacts *f, RangeFacts *from) {
    if (f->never && !from->never) {
        range_free(f);
        *f = *from;
        return;
    }
    for (uint32_t i = f->list.len; !from->never && i-- > 0;) {
        RangeFact *fact = &f->list.at[i];
        const RangeFact *other = range_flow_find(from, fact);
        if (other)
            fact->range = range_join(fact->range, other->range);
        else
            *fact = f->list.at[--f->list.len];
    }
    range_free(from);
}

/* ---- conditions ---- */

static Op mirrored(Op op) {
    switch (op) {
    case OP_LT: return OP_GT;
    case OP_GT: return OP_LT;
    case OP_LE: return OP_GE;
    case OP_GE: return OP_LE;
    default: return op;
    }
}

static Op negated(Op op) {
    switch (op) {
    case OP_LT: return OP_GE;
    case OP_GE: return OP_LT;
    case OP_GT: return OP_LE;
    case OP_LE: return OP_GT;
    case OP_EQ: return OP_NE;
    default: return OP_EQ;
    }
}

/* The name that has the value of e, perhaps of another type. */
static const Expr *name_in(const RangeFacts *f, const Expr *e) {
    while (e->kind == EXPR_CAST && type_is_integer(e->cast)) {
        Range r = range_of(f, e->args[0]);
        if (!r.known || range_fit(e->cast, r).most != r.most)
            return NULL;
        e = e->args[0];
    }
    return range_flow_is_followed(e) ? e : NULL;
}

/* The values of a number that may be negative, where `x op y` holds. */
static Range signed_part(Op op, const Type *t, Range y) {
    uint64_t most = type_bits(t) == 64 ? INT64_MAX : INT32_MAX;
    switch (op) {
    case OP_EQ: return y;
    case OP_GE:
    case OP_GT: return (Range){true, y.least, most};
    default: return (Range){0};
    }
}

/* The part of x in which `x op y` may hold; least > most: none. */
static Range part(Op op, Range x, Range y) {
    static const Range none = {true, 1, 0};
    if ((op == OP_LT && !y.most) || (op == OP_GT && y.least == UINT64_MAX))
        return none;
    uint64_t most = y.most - (op == OP_LT), least = y.least + (op == OP_GT);
    bool only = y.least == y.most;
    if (op == OP_NE && only && x.least == x.most && x.least == y.least)
        return none;
    if (op == OP_NE) {
        x.least += only && x.least == y.least;
        x.most -= only && x.most == y.most;
    }
    if ((op == OP_EQ || op == OP_LT || op == OP_LE) && most < x.most)
        x.most = most;
    if ((op == OP_EQ || op == OP_GT || op == OP_GE) && least > x.least)
        x.least = least;
    return x;
}

/* `a op b` holds, so a name in a has fewer values. */
static void assume_comparison(RangeFacts *f, Op op, const Expr *a, const Expr *b) {
    const Expr *name = name_in(f, a);
    Range y = range_of(f, b);
    if (!name || !y.known)
        return;
    Range x = range_of(f, name);
    x = x.known ? part(op, x, y) : signed_part(op, name->type, y);
    if (x.known && x.least > x.most)
        f->never = true;
    else if (x.known)
        set_name(f, name, x);
}

void range_assume(RangeFacts *f, const Expr *e, bool truth) {
    Range r = range_of(f, e);
    f->never |= r.known && (truth ? !r.most : r.least > 0);
    if (f->never)
        return;
    f->budget->active++;
    if (e->kind == EXPR_UNARY && e->op == OP_NOT) {
        range_assume(f, e->args[0], !truth);
    } else if (e->kind == EXPR_BINARY && e->op == (truth ? OP_AND : OP_OR)) {
        range_assume(f, e->args[0], truth);
        range_assume(f, e->args[1], truth);
    } else if (e->kind == EXPR_BINARY && e->op >= OP_EQ && e->op <= OP_LT) {
        Op op = truth ? e->op : negated(e->op);
        assume_comparison(f, op, e->args[0], e->args[1]);
        assume_comparison(f, mirrored(op), e->args[1], e->args[0]);
    }
    f->budget->active--;
}

/* ---- statements ---- */

typedef struct Walk {
    OnRangeStep *on; /* NULL = nothing is called */
    void *ctx;
    Range result;
    bool returns; /* `result`: the range of all values returned so far */
} Walk;

static void range_flow_walk_block(Walk *w, RangeFacts *f, const Block *b);

static void range_flow_walk_if(Walk *w, RangeFacts *f, const Stmt *s) {
    RangeFacts after = {.never = true, .budget = f->budget};
    for (uint32_t i = 0; i < s->narms && !f->never; i++) {
        RangeFacts in = range_copy(f);
        if (s->arms[i].cond) {
            range_assume(&in, s->arms[i].cond, true);
            range_assume(f, s->arms[i].cond, false);
        } else {
            f->never = true;
        }
        range_flow_walk_block(w, &in, &s->arms[i].body);
        range_flow_join(&after, &in);
    }
    range_flow_join(&after, f);
    *f = after;
}

static void forget_changes(RangeFacts *f, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->target && range_flow_is_followed(s->target))
            set_name(f, s->target, range_any_value(s->target->type));
        if (s->kind == STMT_DECL && s->var->storage == STORAGE_LOCAL &&
            type_is_integer(s->var->type))
            range_flow_set(f, (RangeFact){.var = s->var, .range = range_any_value(s->var->type)});
        for (uint32_t i = 0; i < s->narms; i++)
            forget_changes(f, &s->arms[i].body);
    }
}

/* What changes in a loop may have any value wherever an iteration begins, and after the loop. */
static void range_flow_walk_loop(Walk *w, RangeFacts *f, const Stmt *s) {
    range_flow_walk_block(w, f, &s->arms[LOOP_INIT].body);
    for (uint32_t i = LOOP_BODY; i < LOOP_ARMS; i++)
        forget_changes(f, &s->arms[i].body);
    for (uint32_t i = LOOP_BODY; i < LOOP_ARMS; i++) {
        RangeFacts in = range_copy(f);
        if (i == LOOP_BODY)
            range_assume(&in, s->arms[i].cond, true);
        range_flow_walk_block(w, &in, &s->arms[i].body);
        range_free(&in);
    }
}

static Range stepped(const Stmt *s, Range r) {
    if (!r.known || (s->kind == STMT_DEC && !r.least) ||
        (s->kind == STMT_INC && r.most == UINT64_MAX))
        return range_any_value(s->target->type);
    uint64_t by = s->kind == STMT_INC ? 1 : UINT64_MAX;
    return range_fit(s->target->type, (Range){true, r.least + by, r.most + by});
}

static void walk_step(Walk *w, RangeFacts *f, Stmt *s) {
    if (w->on)
        w->on(w->ctx, f, s);
    if (range_flow_is_followed(s->target))
        set_name(f, s->target,
                 s->kind == STMT_ASSIGN ? range_of(f, s->value)
                                        : stepped(s, range_of(f, s->target)));
}

static void walk_return(Walk *w, RangeFacts *f, const Stmt *s) {
    if (s->value) {
        Range r = range_of(f, s->value);
        w->result = w->returns ? range_join(w->result, r) : r;
        w->returns = true;
    }
    f->never = true;
}

static void range_flow_walk_block(Walk *w, RangeFacts *f, const Block *b) {
    RangeBudget *budget = f->budget;
    budget->active++;
    for (Stmt *s = b->first; s && !f->never; s = s->next) {
        switch (s->kind) {
        case STMT_DECL:
            if (s->var->storage == STORAGE_LOCAL && type_is_integer(s->var->type))
                range_flow_set(f, (RangeFact){.var = s->var,
                                              .range = s->var->init ? range_of(f, s->var->init)
                                                                    : (Range){true, 0, 0}});
            break;
        case STMT_INC:
        case STMT_DEC:
        case STMT_ASSIGN: walk_step(w, f, s); break;
        case STMT_RETURN: walk_return(w, f, s); break;
        case STMT_IF: range_flow_walk_if(w, f, s); break;
        case STMT_LOOP: range_flow_walk_loop(w, f, s); break;
        case STMT_BREAK:
        case STMT_CONTINUE: f->never = true; break;
        case STMT_CALL:
        case STMT_ANNOTATED: break; /* runs at another time */
        }
    }
    budget->active--;
}

/* The range of the function's result; `in` has the known ranges of its parameters, and is freed. */
static Range of_body(RangeFacts *in, const Fn *fn) {
    Walk w = {0};
    range_flow_walk_block(&w, in, &fn->body);
    range_free(in);
    return w.returns ? w.result : range_any_bits(fn->result);
}

Range range_of_call(const RangeFacts *f, const Expr *call) {
    assert(call->kind == EXPR_CALL && call->fn);
    const Fn *fn = call->fn;
    if (f->budget->active > MOST_ACTIVE)
        return range_any_bits(call->type);
    RangeFacts in = {.budget = f->budget};
    for (uint32_t i = 0; i < call->nargs && i < fn->nparams; i++)
        if (type_is_integer(fn->params[i]->type))
            range_flow_set(&in,
                           (RangeFact){.var = fn->params[i], .range = range_of(f, call->args[i])});
    return of_body(&in, fn);
}

void range_walk(const Expr *predicate, const Block *body, OnRangeStep *on, void *ctx) {
    RangeBudget budget = {.steps = MOST_STEPS};
    RangeFacts f = {.budget = &budget};
    Walk w = {.on = on, .ctx = ctx};
    if (predicate)
        range_assume(&f, predicate, true);
    range_flow_walk_block(&w, &f, body);
    range_free(&f);
}
