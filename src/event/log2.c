/*
 * event/log2.c - functions of a script that tell the highest bit of a number.
 */
#include "event/log2.h"

#include "event/range.h"

enum { MOST_CALLED = 4 }; /* functions that call each other */

/* ---- functions that only compute ---- */

/* The functions that are looked at: one that calls itself is asked once. */
typedef struct Pure {
    const Fn *fns[MOST_CALLED];
    uint32_t n;
} Pure;

static bool is_pure(Pure *p, const Fn *fn);

/* Whether any number can be divided by it: it is a constant other than 0 and -1. */
static bool divides(const Expr *e) {
    return e->kind == EXPR_INT && e->integer != 0 && e->integer != UINT64_MAX;
}

/* Whether computing a number has no effect, and cannot trap. */
static bool is_pure_value(Pure *p, const Expr *e) {
    bool integer = type_is_integer(e->type) || e->type->kind == TYPE_BOOL;
    for (uint32_t i = 0; integer && i < e->nargs; i++)
        integer = is_pure_value(p, e->args[i]);
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_BOOL:
    case EXPR_UNARY:
    case EXPR_COND:
    case EXPR_CAST: return integer;
    case EXPR_BINARY:
        return integer && ((e->op != OP_DIV && e->op != OP_REM) || divides(e->args[1]));
    case EXPR_NAME: return integer && e->var && e->var->storage == STORAGE_LOCAL;
    case EXPR_CALL: return integer && e->fn && is_pure(p, e->fn);
    default: return false;
    }
}

static bool is_pure_block(Pure *p, const Block *b);

static bool is_pure_stmt(Pure *p, const Stmt *s) {
    bool pure = true;
    switch (s->kind) {
    case STMT_DECL:
        return s->var->storage == STORAGE_LOCAL && type_is_integer(s->var->type) &&
               (!s->var->init || is_pure_value(p, s->var->init));
    case STMT_INC:
    case STMT_DEC: return is_pure_value(p, s->target);
    case STMT_ASSIGN: return is_pure_value(p, s->target) && is_pure_value(p, s->value);
    case STMT_RETURN: return s->value && is_pure_value(p, s->value);
    case STMT_IF:
        for (uint32_t i = 0; pure && i < s->narms; i++)
            pure = (!s->arms[i].cond || is_pure_value(p, s->arms[i].cond)) &&
                   is_pure_block(p, &s->arms[i].body);
        return pure;
    default: return false;
    }
}

static bool is_pure_block(Pure *p, const Block *b) {
    bool pure = true;
    for (const Stmt *s = b->first; pure && s; s = s->next)
        pure = is_pure_stmt(p, s);
    return pure;
}

static bool is_pure(Pure *p, const Fn *fn) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->fns[i] == fn)
            return true;
    if (p->n == MOST_CALLED)
        return false;
    p->fns[p->n++] = fn;
    return is_pure_block(p, &fn->body);
}

/* ---- */

/* The one value that the function gives for all arguments in the range. */
static bool gives(const Fn *fn, uint64_t least, uint64_t most, uint64_t *value) {
    Range r = range_of_fn(fn, (Range){true, least, most});
    *value = r.least;
    return r.known && r.least == r.most;
}

bool log2_of(const Fn *fn, Log2 *log2) {
    if (fn->nparams != 1 || !type_is_integer(fn->result))
        return false;
    TypeKind kind = fn->params[0]->type->kind;
    uint32_t bits = kind == TYPE_U64 ? 64 : kind == TYPE_U32 ? 32 : 0;
    uint64_t zero, value;
    Pure pure = {0};
    if (!bits || !is_pure(&pure, fn) || !gives(fn, 1, 1, &log2->of_one) || !gives(fn, 0, 0, &zero))
        return false;
    log2->less_at_zero = zero < log2->of_one;
    if (log2->of_one - zero > 1)
        return false;
    for (uint32_t k = 1; k < bits; k++) {
        uint64_t power = UINT64_C(1) << k;
        if (!gives(fn, power, power + (power - 1), &value) || value != log2->of_one + k)
            return false;
    }
    return log2->of_one <= UINT8_MAX;
}
