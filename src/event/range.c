/*
 * event/range.c - which values an integer can have.
 */
#include "event/range.h"

#include "event/fold.h"

static const Range unknown = {0};

static Range range(uint64_t least, uint64_t most) {
    return (Range){true, least, most};
}

static Range join(Range a, Range b) {
    if (!a.known || !b.known)
        return unknown;
    return range(a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most);
}

static bool is_wide(const Type *t) {
    return type_bits(t) == 64;
}

/* Any value of the Wasm type that has no sign. */
static Range any_bits(const Type *t) {
    if (t->kind != TYPE_BOOL && (!type_is_integer(t) || type_is_signed(t)))
        return unknown;
    return range(0, is_wide(t) ? UINT64_MAX : UINT32_MAX);
}

/* Any value of the type, in its range (gen/expr.c). */
static Range any_value(const Type *t) {
    switch (t->kind) {
    case TYPE_U8: return range(0, UINT8_MAX);
    case TYPE_U16: return range(0, UINT16_MAX);
    default: return any_bits(t);
    }
}

/* The largest value of an integer type. */
static uint64_t largest(const Type *t) {
    return UINT64_MAX >> (64 - type_bits(t) + type_is_signed(t));
}

/* A result without regard to the type's range: if it leaves that, it is any value. */
static Range fit(const Type *t, Range r) {
    return r.known && r.most <= largest(t) ? r : any_value(t);
}

static Range literal(const Expr *e) {
    Value v;
    if (!fold(e, NULL, &v))
        return unknown;
    bool negative = e->kind == EXPR_INT && type_is_signed(e->type) && (int64_t)v.bits < 0;
    return negative ? unknown : range(v.bits, v.bits);
}

static Range of_name(const Expr *e) {
    if (e->is_bound && e->is_static && e->type->kind == TYPE_BOOL)
        return range(0, 1);
    return e->is_bound ? any_value(e->type) : any_bits(e->type);
}

static Range of_cast(const Expr *e) {
    const Type *from = e->args[0]->type, *to = e->cast;
    if (to->kind == TYPE_BOOL)
        return type_is_float(from) ? any_bits(to) : range(0, 1);
    if (!type_is_integer(to))
        return unknown;
    return fit(to, range_of(e->args[0]));
}

/* All bits up to the highest one of a number. */
static uint64_t bits_below(uint64_t n) {
    return n ? UINT64_MAX >> __builtin_clzll(n) : 0;
}

static Range of_shift(const Expr *e, Range a, Range by) {
    uint64_t counts = is_wide(e->type) ? 63 : 31;
    bool fixed = by.known && by.least == by.most;
    uint64_t n = by.least & counts;
    if (!a.known)
        return unknown;
    if (e->op == OP_SHR)
        return fixed ? range(a.least >> n, a.most >> n) : range(0, a.most);
    bool fits = fixed && a.most <= UINT64_MAX >> n;
    return fit(e->type, fits ? range(a.least << n, a.most << n) : unknown);
}

static Range of_sum(const Expr *e, Range a, Range b) {
    Range r = unknown;
    uint64_t least, most;
    bool both = a.known && b.known;
    if (both && e->op == OP_SUB && a.least >= b.most)
        r = range(a.least - b.most, a.most - b.least);
    if (both && e->op == OP_ADD && !__builtin_add_overflow(a.most, b.most, &most))
        r = range(a.least + b.least, most);
    if (both && e->op == OP_MUL && !__builtin_mul_overflow(a.most, b.most, &most) &&
        !__builtin_mul_overflow(a.least, b.least, &least))
        r = range(least, most);
    return fit(e->type, r);
}

static Range of_quotient(const Expr *e, Range a, Range b) {
    if (!a.known || !b.known)
        return unknown;
    if (e->op == OP_DIV)
        return fit(e->type, range(b.most ? a.least / b.most : 0, a.most / (b.least ? b.least : 1)));
    return fit(e->type, range(0, b.most && b.most <= a.most ? b.most - 1 : a.most));
}

static Range of_bits(const Expr *e, Range a, Range b) {
    if (e->op != OP_BITAND)
        return a.known && b.known ? range(0, bits_below(a.most | b.most)) : unknown;
    if (!a.known && !b.known)
        return unknown;
    uint64_t most = a.known ? a.most : b.most;
    return range(0, b.known && b.most < most ? b.most : most);
}

static Range of_binary(const Expr *e) {
    Range a = range_of(e->args[0]), b = range_of(e->args[1]);
    switch (e->op) {
    case OP_AND:
    case OP_OR: return join(range(0, 1), b); /* of which the second operand may be what is left */
    case OP_EQ:
    case OP_NE:
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT: return e->args[0]->type->kind == TYPE_STR ? any_bits(e->type) : range(0, 1);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR: return of_bits(e, a, b);
    case OP_SHL:
    case OP_SHR: return of_shift(e, a, b);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return of_sum(e, a, b);
    case OP_DIV:
    case OP_REM: return of_quotient(e, a, b);
    default: return unknown;
    }
}

static Range of_call(const Expr *e) {
    bool byte = e->kind == EXPR_CALL && e->is_bound &&
                (e->bound.id == FN_READ_U8 || e->bound.id == FN_READ_U16);
    return byte ? any_value(e->type) : any_bits(e->type);
}

Range range_of(const Expr *e) {
    if (!type_is_integer(e->type) && e->type->kind != TYPE_BOOL)
        return unknown;
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_BOOL: return literal(e);
    case EXPR_NAME: return of_name(e);
    case EXPR_CAST: return of_cast(e);
    case EXPR_COND: return join(range_of(e->args[1]), range_of(e->args[2]));
    case EXPR_BINARY: return of_binary(e);
    case EXPR_UNARY: return e->op == OP_NOT ? range(0, 1) : any_value(e->type);
    case EXPR_CALL: return of_call(e);
    default: return any_bits(e->type);
    }
}
