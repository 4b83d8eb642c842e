/*
 * check/check_literal.c - literals: the type they take from their context, their range, their
 * value.
 */
#include "check/check_parts.h"

#include <locale.h>
#include <math.h>

/* ---- literals that adapt to their context ---- */

static bool is_flexible_op(Op op) {
    switch (op) {
    case OP_COMPLEMENT:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITAND:
    case OP_SHL:
    case OP_SHR:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM: return true;
    default: return false;
    }
}

/* A bound constant such as data_size, which behaves like a literal, or the number of an instruction
 * like i32.const. */
static bool is_literal_name(const Check *c, const Expr *e, Bound *out) {
    return c->place == PLACE_PROBE && e->kind == EXPR_NAME && !check_find_var(c, e->name) &&
           !check_type_bound(c, e->name) && c->scope->name &&
           c->scope->name(c->scope->ctx, e->name, out) && (out->literal || out->widens) &&
           out->type;
}

bool check_is_flexible(const Check *c, const Expr *e) {
    Bound bound = {0};
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT: return true;
    case EXPR_NAME: return is_literal_name(c, e, &bound);
    case EXPR_UNARY: return is_flexible_op(e->op) && check_is_flexible(c, e->args[0]);
    case EXPR_BINARY:
        return is_flexible_op(e->op) && check_is_flexible(c, e->args[0]) &&
               check_is_flexible(c, e->args[1]);
    case EXPR_COND: return check_is_flexible(c, e->args[1]) && check_is_flexible(c, e->args[2]);
    default: return false;
    }
}

/* A number becomes wider of its own class; which sign the type has does not matter. */
static bool widens_to(const Type *t, const Type *want) {
    return type_is_float(t) == type_is_float(want) && type_is_numeric(want) &&
           type_bits(t) <= type_bits(want);
}

bool check_can_be(const Check *c, const Expr *e, const Type *want) {
    Bound bound = {0};
    if (e->kind == EXPR_NAME)
        return !is_literal_name(c, e, &bound) || !bound.widens || widens_to(bound.type, want);
    for (uint32_t i = e->kind == EXPR_COND; i < e->nargs; i++)
        if (!check_can_be(c, e->args[i], want))
            return false;
    return true;
}

/* Of several literals together, the type that comes last here wins. */
static int check_literal_rank(const Type *t) {
    switch (t->kind) {
    case TYPE_I32: return 0;
    case TYPE_I64: return 3;
    case TYPE_U64: return 4;
    case TYPE_F32: return 5;
    case TYPE_F64: return 6;
    case TYPE_U32: return 2;
    default: return 1;
    }
}

static bool check_literal_fits(const Expr *e, const Type *t) {
    if (e->too_big)
        return false;
    uint32_t bits = type_bits(t);
    if (!type_is_signed(t))
        return !(e->negative && e->integer) && (bits == 64 || e->integer >> bits == 0);
    uint64_t limit = (uint64_t)1 << (bits - 1);
    return e->negative ? e->integer <= limit : e->integer < limit;
}

static const Type *natural_int(const Expr *e) {
    static const TypeKind kinds[] = {TYPE_I32, TYPE_I64, TYPE_U64};
    for (int i = 0; i < 3; i++)
        if (check_literal_fits(e, &type_scalar[kinds[i]]))
            return &type_scalar[kinds[i]];
    return &type_scalar[e->negative ? TYPE_I64 : TYPE_U64];
}

/* The value of a float literal, rounded once to the width of `t`. */
static double float_value(const Expr *e, const Type *t) {
    char text[512];
    uint32_t len = 0;
    for (uint32_t i = 0; i < e->text.len && len + 1 < sizeof text; i++)
        if (e->text.ptr[i] != '_')
            text[len++] = e->text.ptr[i];
    text[len] = 0;
    /* Not every program that uses the library keeps the decimal point of the C locale. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = t->kind == TYPE_F32 ? (double)strtof_l(text, NULL, c_locale)
                                       : strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

static bool is_special(const Expr *e) {
    return e->text.len == 4 && e->text.ptr[0] == '-' &&
           ((e->text.ptr[1] | 0x20) == 'i' || (e->text.ptr[1] | 0x20) == 'n');
}

static const Type *natural_float(const Expr *e) {
    const Type *f32 = &type_scalar[TYPE_F32];
    return isfinite(float_value(e, f32)) ? f32 : &type_scalar[TYPE_F64];
}

/* The type of the number of an instruction like i32.const that is in e; NULL if there is none. */
static const Type *number_type(const Check *c, const Expr *e) {
    Bound bound = {0};
    if (e->kind == EXPR_NAME)
        return is_literal_name(c, e, &bound) && bound.widens ? bound.type : NULL;
    const Type *t = NULL;
    for (uint32_t i = e->kind == EXPR_COND; i < e->nargs && !t; i++)
        t = number_type(c, e->args[i]);
    return t;
}

const Type *check_natural_type(const Check *c, const Expr *e) {
    Bound bound = {0};
    const Type *number = number_type(c, e);
    if (number)
        return number;
    switch (e->kind) {
    case EXPR_INT: return natural_int(e);
    case EXPR_FLOAT: return natural_float(e);
    case EXPR_NAME: return is_literal_name(c, e, &bound) ? bound.type : &type_error;
    default: break;
    }
    const Type *t = &type_scalar[TYPE_I32];
    for (uint32_t i = e->kind == EXPR_COND; i < e->nargs; i++) {
        const Type *arg = check_natural_type(c, e->args[i]);
        if (check_literal_rank(arg) > check_literal_rank(t))
            t = arg;
    }
    return t;
}

/* ---- values ---- */

static void range_hint(Check *c, Diag *g, const Type *t) {
    if (type_is_signed(t)) {
        long long most = type_bits(t) == 64 ? INT64_MAX : (1LL << (type_bits(t) - 1)) - 1;
        diag_hint(c->diags, g, "%s goes from %lld to %lld", t->text, -most - 1, most);
    } else {
        unsigned long long most = UINT64_MAX >> (64 - type_bits(t));
        diag_hint(c->diags, g, "%s goes from 0 to %llu", t->text, most);
    }
}

/* 0x… and 0b… say bits: of any number that is as wide. */
static bool is_pattern(const Expr *e, const Type *t) {
    const char *digits = e->text.ptr + e->negative;
    bool prefixed = e->text.len > 2u + e->negative && digits[0] == '0' && digits[1] > '9';
    return prefixed && (type_bits(t) == 64 || e->integer >> type_bits(t) == 0);
}

/* The number of type t with these bits, extended to 64. */
static uint64_t wrap(uint64_t value, const Type *t) {
    uint32_t shift = 64 - type_bits(t);
    return type_is_signed(t) ? (uint64_t)((int64_t)(value << shift) >> shift)
                             : value << shift >> shift;
}

/* A number that its type does not have. A negative one of a type without sign counts from the end,
 * as in C: scripts write -1 for the highest. */
static bool check_literal_check_range(Check *c, Expr *e, const Type *t) {
    if (is_pattern(e, t))
        return true;
    if (e->negative && e->integer <= (uint64_t)1 << (type_bits(t) - 1)) {
        diag(c->diags, DIAG_LITERAL_SIGN, e->span, "%.*s becomes %llu here: %s is unsigned",
             STR_ARG(e->text), (unsigned long long)wrap(0 - e->integer, t), t->text);
        return true;
    }
    Diag *g = check_error(c, DIAG_LITERAL_RANGE, e->span, "%.*s is out of range for %s",
                          STR_ARG(e->text), t->text);
    range_hint(c, g, t);
    return false;
}

const Type *check_int(Check *c, Expr *e, const Type *want) {
    e->is_static = true;
    if (e->too_big) {
        Diag *g =
            check_error(c, DIAG_LITERAL_RANGE, e->span, "this number does not fit in 64 bits");
        range_hint(c, g, &type_scalar[e->negative ? TYPE_I64 : TYPE_U64]);
        return &type_error;
    }
    if (want && type_is_float(want)) {
        e->kind = EXPR_FLOAT;
        e->real = want->kind == TYPE_F32 ? (double)(float)e->integer : (double)e->integer;
        if (e->negative)
            e->real = -e->real;
        return want;
    }
    const Type *t = want && type_is_integer(want) ? want : natural_int(e);
    if (!check_literal_fits(e, t) && !check_literal_check_range(c, e, t))
        return &type_error;
    e->integer = wrap(e->negative ? 0 - e->integer : e->integer, t);
    return t;
}

/* Makes e, of type t, `e as want`. */
static const Type *check_literal_convert(Check *c, Expr *e, const Type *t, const Type *want) {
    Expr *name = arena_new(&c->script->arena, Expr);
    *name = *e;
    name->type = t;
    *e = (Expr){.kind = EXPR_CAST,
                .span = e->span,
                .depth = e->depth + 1,
                .cast = want,
                .is_static = true,
                .nargs = 1};
    e->args = arena_new(&c->script->arena, Expr *);
    e->args[0] = name;
    return want;
}

/* A constant of the event keeps the low bits where its value does not fit: the script may mean
 * other events of its rule. */
static void report_narrowing(Check *c, const Expr *e, const Type *want) {
    uint64_t value = e->bound.value, kept = wrap(value, want);
    Diag *g =
        diag(c->diags, DIAG_NARROWING, e->span,
             type_is_signed(want) ? "'%.*s' is %llu in %s, but its low %u bits as %s are %lld"
                                  : "'%.*s' is %llu in %s, but its low %u bits as %s are %llu",
             STR_ARG(e->name), (unsigned long long)value, c->scope->describe, type_bits(want),
             want->text, (long long)kept);
    diag_hint(c->diags, g, "use a wider type, or 'as %s' to keep the low bits", want->text);
}

const Type *check_constant_name(Check *c, Expr *e, const Type *t, const Type *want) {
    if (!type_is_numeric(want) || want == t)
        return t;
    if (e->bound.widens)
        return widens_to(t, want) ? check_literal_convert(c, e, t, want) : t;
    if (type_is_float(want))
        return check_literal_convert(c, e, t, want);
    if (check_literal_fits(&(Expr){.integer = e->bound.value}, want))
        return want;
    report_narrowing(c, e, want);
    return check_literal_convert(c, e, t, want);
}

const Type *check_float(Check *c, Expr *e, const Type *want) {
    e->is_static = true;
    const Type *t = want && type_is_float(want) ? want : natural_float(e);
    e->real = float_value(e, t);
    if (!isfinite(e->real) && !is_special(e)) {
        check_error(c, DIAG_LITERAL_RANGE, e->span, "this number is out of range for %s", t->text);
        return &type_error;
    }
    return t;
}
