/*
 * event/range.c - which values expressions can have.
 */
#include "event/range.h"

#include "event/fold.h"

#include <assert.h>

static const Range unknown = {0};

static Range range_between(uint64_t least, uint64_t most) {
    return (Range){true, least, most};
}

Range range_join(Range a, Range b) {
    assert((!a.known || a.least <= a.most) && (!b.known || b.least <= b.most));
    if (!a.known || !b.known)
        return unknown;
    return range_between(a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most);
}

static bool range_is_wide(const Type *t) {
    return type_bits(t) == 64;
}

Range range_any_bits(const Type *t) {
    if (t->kind != TYPE_BOOL && (!type_is_integer(t) || type_is_signed(t)))
        return unknown;
    return range_between(0, range_is_wide(t) ? UINT64_MAX : UINT32_MAX);
}

Range range_any_value(const Type *t) {
    switch (t->kind) {
    case TYPE_U8: return range_between(0, UINT8_MAX);
    case TYPE_U16: return range_between(0, UINT16_MAX);
    default: return range_any_bits(t);
    }
}

/* The largest value of an integer type. */
static uint64_t largest(const Type *t) {
    return UINT64_MAX >> (64 - type_bits(t) + type_is_signed(t));
}

Range range_fit(const Type *t, Range r) {
    return r.known && r.most <= largest(t) ? r : range_any_value(t);
}

static Range range_literal(const Expr *e) {
    Value v;
    if (!fold(e, NULL, &v))
        return unknown;
    bool negative = e->kind == EXPR_INT && type_is_signed(e->type) && (int64_t)v.bits < 0;
    return negative ? unknown : range_between(v.bits, v.bits);
}

static Range of_name(const RangeFacts *f, const Expr *e) {
    const RangeFact *fact = range_fact(f, e);
    if (fact)
        return fact->range;
    if (e->is_bound && e->is_static && e->type->kind == TYPE_BOOL)
        return range_between(0, 1);
    return e->is_bound ? range_any_value(e->type) : range_any_bits(e->type);
}

static Range of_cast(const RangeFacts *f, const Expr *e) {
    const Type *from = e->args[0]->type, *to = e->cast;
    if (to->kind == TYPE_BOOL)
        return type_is_float(from) ? range_any_bits(to) : range_between(0, 1);
    if (!type_is_integer(to))
        return unknown;
    return range_fit(to, range_of(f, e->args[0]));
}

/* All bits up to the highest one of a number. */
static uint64_t bits_below(uint64_t n) {
    return n ? UINT64_MAX >> __builtin_clzll(n) : 0;
}

static Range of_shift(const Expr *e, Range a, Range by) {
    uint64_t counts = range_is_wide(e->type) ? 63 : 31;
    bool fixed = by.known && by.least == by.most;
    uint64_t n = by.least & counts;
    if (!a.known)
        return unknown;
    if (e->op == OP_SHR)
        return fixed ? range_between(a.least >> n, a.most >> n) : range_between(0, a.most);
    bool fits = fixed && a.most <= UINT64_MAX >> n;
    return range_fit(e->type, fits ? range_between(a.least << n, a.most << n) : unknown);
}

static Range of_sum(const Expr *e, Range a, Range b) {
    Range r = unknown;
    uint64_t least, most;
    bool both = a.known && b.known;
    if (both && e->op == OP_SUB && a.least >= b.most)
        r = range_between(a.least - b.most, a.most - b.least);
    if (both && e->op == OP_ADD && !__builtin_add_overflow(a.most, b.most, &most))
        r = range_between(a.least + b.least, most);
    if (both && e->op == OP_MUL && !__builtin_mul_overflow(a.most, b.most, &most) &&
        !__builtin_mul_overflow(a.least, b.least, &least))
        r = range_between(least, most);
    return range_fit(e->type, r);
}

static Range of_quotient(const Expr *e, Range a, Range b) {
    if (!a.known || !b.known)
        return unknown;
    if (e->op == OP_DIV)
        return range_fit(e->type, range_between(b.most ? a.least / b.most : 0,
                                                a.most / (b.least ? b.least : 1)));
    return range_fit(e->type, range_between(0, b.most && b.most <= a.most ? b.most - 1 : a.most));
}

static Range range_of_bits(const Expr *e, Range a, Range b) {
    if (e->op != OP_BITAND)
        return a.known && b.known ? range_between(0, bits_below(a.most | b.most)) : unknown;
    if (!a.known && !b.known)
        return unknown;
    uint64_t most = a.known ? a.most : b.most;
    return range_between(0, b.known && b.most < most ? b.most : most);
}

/* a && b and a || b: the code has the value of b where a does not decide. */
static Range of_logic(Op op, Range a, Range b) {
    if (a.known && op == OP_AND && a.most == 0)
        return range_between(0, 0);
    if (a.known && op == OP_OR && a.least > 0)
        return range_between(1, 1);
    bool decided = a.known && (op == OP_AND ? a.least > 0 : a.most == 0);
    return decided ? b : range_join(range_between(0, 1), b);
}

static Range of_comparison(const Expr *e, Range a, Range b) {
    bool yes, no;
    if (e->args[0]->type->kind == TYPE_STR)
        return range_any_bits(e->type);
    if (!a.known || !b.known)
        return range_between(0, 1);
    switch (e->op) {
    case OP_LT: yes = a.most < b.least, no = a.least >= b.most; break;
    case OP_LE: yes = a.most <= b.least, no = a.least > b.most; break;
    case OP_GT: yes = a.least > b.most, no = a.most <= b.least; break;
    case OP_GE: yes = a.least >= b.most, no = a.most < b.least; break;
    default:
        no = a.most < b.least || b.most < a.least;
        yes = a.least == a.most && b.least == b.most && !no;
        if (e->op == OP_NE)
            return range_between(no, !yes);
    }
    return range_between(yes, !no);
}

/* Known values are not negative, so that one of them bounds max. */
static Range of_extreme(const Expr *e, Range a, Range b) {
    if (a.known && b.known) {
        bool least = (a.least < b.least) == (e->op == OP_MIN);
        bool most = (a.most < b.most) == (e->op == OP_MIN);
        return range_between(least ? a.least : b.least, most ? a.most : b.most);
    }
    if (e->op == OP_MIN || (!a.known && !b.known))
        return unknown;
    return range_between(a.known ? a.least : b.least, largest(e->type));
}

static Range of_binary(const RangeFacts *f, const Expr *e) {
    Range a = range_of(f, e->args[0]), b = range_of(f, e->args[1]);
    switch (e->op) {
    case OP_AND:
    case OP_OR: return of_logic(e->op, a, b);
    case OP_EQ:
    case OP_NE:
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT: return of_comparison(e, a, b);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR: return range_of_bits(e, a, b);
    case OP_SHL:
    case OP_SHR: return of_shift(e, a, b);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return of_sum(e, a, b);
    case OP_DIV:
    case OP_REM: return of_quotient(e, a, b);
    case OP_MIN:
    case OP_MAX: return of_extreme(e, a, b);
    default: return unknown;
    }
}

/* An arm of `c ? x : y`; none if it is never chosen. */
static Range of_arm(const RangeFacts *f, const Expr *e, bool truth, bool *chosen) {
    RangeFacts in = range_copy(f);
    range_assume(&in, e->args[0], truth);
    *chosen = !in.never;
    Range r = in.never ? unknown : range_of(&in, e->args[truth ? 1 : 2]);
    range_free(&in);
    return r;
}

static Range of_choice(const RangeFacts *f, const Expr *e) {
    bool first, second;
    Range x = of_arm(f, e, true, &first), y = of_arm(f, e, false, &second);
    return first && second ? range_join(x, y) : first ? x : y;
}

static Range of_log2(Range n, const Type *t) {
    return n.known ? range_between(log2_of(n.least), log2_of(n.most))
                   : range_between(0, type_bits(t) - 1u);
}

static Range of_unary(const RangeFacts *f, const Expr *e) {
    const Expr *x = e->args[0];
    switch (e->op) {
    case OP_NOT: return range_between(0, 1);
    case OP_LOG2: return of_log2(range_of(f, x), x->type);
    case OP_ABS: return range_of(f, x); /* unknown: the smallest number has no absolute value */
    case OP_CLZ:
    case OP_CTZ:
    case OP_POPCNT: return range_between(0, type_bits(e->type));
    default: return range_any_value(e->type);
    }
}

static Range of_operation(const RangeFacts *f, const Expr *e) {
    bool read = e->is_bound && (e->bound.id == FN_READ_U8 || e->bound.id == FN_READ_U16);
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_BOOL: return range_literal(e);
    case EXPR_NAME: return of_name(f, e);
    case EXPR_CAST: return of_cast(f, e);
    case EXPR_COND: return of_choice(f, e);
    case EXPR_BINARY: return of_binary(f, e);
    case EXPR_UNARY: return of_unary(f, e);
    case EXPR_CALL:
        return e->fn  ? range_of_call(f, e)
               : read ? range_any_value(e->type)
                      : range_any_bits(e->type);
    default: return range_any_bits(e->type);
    }
}

Range range_of(const RangeFacts *f, const Expr *e) {
    assert(e->type && f->budget);
    if (!f->budget->steps || (!type_is_integer(e->type) && e->type->kind != TYPE_BOOL))
        return range_any_bits(e->type);
    f->budget->steps--;
    f->budget->active++;
    Range r = of_operation(f, e);
    f->budget->active--;
    return r;
}
