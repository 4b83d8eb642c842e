/*
 * check/check_expr.c - the types of expressions.
 */
#include "check/check_parts.h"

#include <stdio.h>

bool type_fits(const Type *a, const Type *b) {
    return a == b || a->kind == TYPE_ERROR || b->kind == TYPE_ERROR;
}

static const Type *const boolean = &type_scalar[TYPE_BOOL];

static void cast_hint(Check *c, Diag *g, const Expr *e, const Type *to) {
    const Type *from = e->type;
    if (e->kind == EXPR_INT && to->kind == TYPE_BOOL) {
        diag_hint(c->diags, g, "the values of bool are true and false");
        return;
    }
    bool convertible = (type_is_numeric(from) || from->kind == TYPE_BOOL) && type_is_numeric(to);
    if (convertible)
        diag_hint(c->diags, g, "convert it with 'as %s'", to->text);
    else if (to->kind == TYPE_BOOL && type_is_numeric(from))
        diag_hint(c->diags, g, "compare it: '!= 0'");
}

/* The first entry of a tuple that does not fit, instead of the whole; `want` is set to its type. */
static const Expr *wrong_entry(const Expr *e, const Type **want, uint32_t *index) {
    const Type *t = *want;
    if (e->kind != EXPR_TUPLE || t->kind != TYPE_TUPLE || t->nfields != e->nargs)
        return NULL;
    for (uint32_t i = 0; i < e->nargs; i++) {
        if (type_fits(e->args[i]->type, t->fields[i]))
            continue;
        *want = t->fields[i];
        *index = i;
        return e->args[i];
    }
    return NULL;
}

Diag *check_expect(Check *c, Expr *e, const Type *want, const char *what) {
    const Type *t = check_value(c, e, want);
    if (type_fits(t, want))
        return NULL;
    uint32_t index;
    const Expr *wrong = e, *entry;
    Buf field = {0};
    while ((entry = wrong_entry(wrong, &want, &index))) {
        wrong = entry;
        buf_printf(&field, "%s%u", field.len ? "." : "field ", index);
    }
    if (field.len)
        buf_printf(&field, " of ");
    t = wrong->type;
    Diag *g = check_error(c, DIAG_TYPE_MISMATCH, wrong->span, "expected %s for %s%s, found %s",
                          want->text, buf_cstr(&field), what, t->text);
    buf_free(&field);
    check_explain(c, g, wrong);
    cast_hint(c, g, wrong, want);
    return g;
}

void check_condition(Check *c, Expr *e, const char *what) {
    const Type *t = check_value(c, e, NULL);
    if (type_fits(t, boolean))
        return;
    Diag *g = check_error(c, DIAG_CONDITION_TYPE, e->span, "expected bool for %s, found %s", what,
                          t->text);
    check_explain(c, g, e);
    cast_hint(c, g, e, boolean);
}

/* ---- operators ---- */

/* The operand that a unary operator takes, or the alternative to write. */
static bool check_expr_takes(Op op, const Type *t) {
    switch (op) {
    case OP_NOT: return t->kind == TYPE_BOOL;
    case OP_LOG2: return type_is_integer(t) && !type_is_signed(t);
    case OP_ABS: return type_is_numeric(t) && type_is_signed(t);
    default: return type_is_integer(t);
    }
}

static void report_unary(Check *c, const Expr *e, const Type *t) {
    const char *expected = e->op == OP_NOT    ? "bool"
                           : e->op == OP_LOG2 ? "an unsigned integer"
                           : e->op == OP_ABS  ? "a signed integer or a float"
                                              : "an integer";
    Diag *g = check_error(c, DIAG_OPERAND_TYPE, e->span, "expected %s after '%s', found %s",
                          expected, op_text(e->op), t->text);
    check_explain(c, g, e->args[0]);
    if (e->op == OP_NOT && type_is_numeric(t))
        diag_hint(c->diags, g, "compare it: '== 0'; '~' complements the bits");
    if (e->op == OP_LOG2 && type_is_integer(t))
        diag_hint(c->diags, g, "convert it: 'as %s'", type_bits(t) == 64 ? "u64" : "u32");
}

const Type *check_unary(Check *c, Expr *e, const Type *want) {
    bool same = e->op != OP_NOT && e->op != OP_LOG2; /* the result has the operand's type */
    const Type *t = check_value(c, e->args[0], same ? want : NULL);
    e->is_static = e->args[0]->is_static;
    if (check_expr_takes(e->op, t))
        return e->op == OP_LOG2 ? &type_scalar[TYPE_U32] : t;
    if (t->kind != TYPE_ERROR)
        report_unary(c, e, t);
    return &type_error;
}

/* && and || */
static const Type *check_logical(Check *c, Expr *e) {
    for (uint32_t i = 0; i < 2; i++) {
        const Type *t = check_value(c, e->args[i], NULL);
        if (type_fits(t, boolean))
            continue;
        Diag *g =
            check_error(c, DIAG_OPERAND_TYPE, e->args[i]->span,
                        "expected bool on both sides of '%s', found %s", op_text(e->op), t->text);
        check_explain(c, g, e->args[i]);
        cast_hint(c, g, e->args[i], boolean);
    }
    return boolean;
}

typedef enum Class { CLASS_NUMBER, CLASS_INTEGER, CLASS_EQUAL, CLASS_ORDER } Class;

static Class op_class(Op op) {
    switch (op) {
    case OP_EQ:
    case OP_NE: return CLASS_EQUAL;
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT: return CLASS_ORDER;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_MIN:
    case OP_MAX: return CLASS_NUMBER;
    default: return CLASS_INTEGER;
    }
}

static bool in_class(const Type *t, Class class) {
    switch (class) {
    case CLASS_INTEGER: return type_is_integer(t);
    case CLASS_EQUAL: return type_is_numeric(t) || t->kind == TYPE_BOOL || t->kind == TYPE_STR;
    default: return type_is_numeric(t);
    }
}

void check_operands(Check *c, Expr *a, Expr *b, const Type *want) {
    bool a_flexible = check_is_flexible(c, a), b_flexible = check_is_flexible(c, b);
    if (a_flexible && !b_flexible) {
        check_value(c, b, want);
        check_value(c, a, b->type);
    } else if (a_flexible && b_flexible) {
        /* only in comparisons: elsewhere the context of the whole was settled before */
        const Type *t = want;
        if (!t) {
            Expr both = {.kind = EXPR_BINARY, .nargs = 2, .args = (Expr *[]){a, b}};
            t = check_natural_type(c, &both);
        }
        check_value(c, a, t);
        check_value(c, b, t);
    } else {
        check_value(c, a, want);
        check_value(c, b, a->type);
    }
}

static void report_operand(Check *c, const Expr *e, const Expr *operand, Class class) {
    static const char *const wanted[] = {"numbers", "integers", "numbers, bool or str", "numbers"};
    Diag *g = check_error(c, DIAG_OPERAND_TYPE, operand->span, "'%s' works on %s, found %s",
                          op_text(e->op), wanted[class], operand->type->text);
    check_explain(c, g, operand);
    if (operand->type->kind == TYPE_BOOL && (class == CLASS_NUMBER || class == CLASS_ORDER))
        diag_hint(c->diags, g, "convert it with 'as i32'");
    if (operand->type->kind == TYPE_STR)
        hint_add(c->diags, g, HINT_STR_OPERATOR, str_of(op_text(e->op)));
}

static bool check_expr_is_zero(const Expr *e) {
    return e->kind == EXPR_INT && e->integer == 0;
}

static bool compares(Op op) {
    return op_class(op) == CLASS_EQUAL || op_class(op) == CLASS_ORDER;
}

/* The result of an operation on operands that have their types. */
static const Type *check_operation(Check *c, Expr *e) {
    Expr *a = e->args[0], *b = e->args[1];
    Class class = op_class(e->op);
    e->is_static = a->is_static && b->is_static;
    const Type *ta = a->type, *tb = b->type;
    if (ta->kind == TYPE_ERROR || tb->kind == TYPE_ERROR)
        return compares(e->op) ? boolean : &type_error;
    if (!in_class(ta, class)) {
        report_operand(c, e, a, class);
    } else if (!in_class(tb, class)) {
        report_operand(c, e, b, class);
    } else if (ta != tb) {
        Diag *g = check_error(c, DIAG_TYPE_MISMATCH, e->span,
                              "expected one type on both sides of '%s', found %s and %s",
                              op_text(e->op), ta->text, tb->text);
        check_explain(c, g, a);
        check_explain(c, g, b);
        cast_hint(c, g, b, ta);
    } else {
        if ((e->op == OP_DIV || e->op == OP_REM) && check_expr_is_zero(b))
            check_error(c, DIAG_ZERO_DIVISOR, b->span, "'%s' by zero", op_text(e->op));
        return compares(e->op) ? boolean : ta;
    }
    return compares(e->op) ? boolean : &type_error;
}

const Type *check_binary(Check *c, Expr *e, const Type *want) {
    if (e->op != OP_AND && e->op != OP_OR) {
        check_operands(c, e->args[0], e->args[1], compares(e->op) ? NULL : want);
        return check_operation(c, e);
    }
    check_logical(c, e);
    e->is_static = e->args[0]->is_static && e->args[1]->is_static;
    return boolean;
}

const Type *check_updated(Check *c, Expr *e) {
    check_value(c, e->args[1], e->args[0]->type);
    return e->type = check_operation(c, e);
}

static const Type *check_cond(Check *c, Expr *e, const Type *want) {
    Expr *a = e->args[1], *b = e->args[2];
    check_condition(c, e->args[0], "the condition before '?'");
    check_operands(c, a, b, want);
    e->is_static = e->args[0]->is_static && a->is_static && b->is_static;
    if (type_fits(a->type, b->type))
        return a->type->kind == TYPE_ERROR ? b->type : a->type;
    Diag *g = check_error(c, DIAG_TYPE_MISMATCH, e->span,
                          "expected one type on both sides of ':', found %s and %s", a->type->text,
                          b->type->text);
    check_explain(c, g, a);
    check_explain(c, g, b);
    cast_hint(c, g, b, a->type);
    return &type_error;
}

static const Type *check_cast(Check *c, Expr *e) {
    Expr *a = e->args[0];
    bool literal = type_is_float(e->cast) && check_is_flexible(c, a);
    const Type *from = check_value(c, a, literal ? e->cast : NULL);
    e->is_static = a->is_static;
    bool source = type_is_numeric(from) || from->kind == TYPE_BOOL || from->kind == TYPE_ERROR;
    bool target = type_is_numeric(e->cast) || e->cast->kind == TYPE_BOOL;
    if (source && target)
        return e->cast;
    Diag *g = check_error(c, DIAG_BAD_CAST, e->span, "%s cannot be converted to %s", from->text,
                          e->cast->text);
    check_explain(c, g, a);
    diag_hint(c->diags, g, "only numbers and bool can be converted");
    return &type_error;
}

/* ---- parts of values ---- */

/* The type of the field that e names of a value of type t; of t itself if it names none. */
static const Type *check_path(Check *c, const Expr *e, const Type *t) {
    for (uint32_t i = 0; i < e->npath && t->kind != TYPE_ERROR; i++) {
        bool tuple = t->kind == TYPE_TUPLE && !t->aggregate;
        if (tuple && e->path[i] < t->nfields) {
            t = t->fields[e->path[i]];
            continue;
        }
        Diag *g;
        if (!tuple)
            g = check_error(c, DIAG_NOT_A_TUPLE, e->span, "expected a tuple before '.%u', found %s",
                            e->path[i], t->text);
        else
            g = check_error(c, DIAG_FIELD_RANGE, e->span,
                            "%s has %u field%s, numbered from 0; there is no field %u", t->text,
                            t->nfields, t->nfields == 1 ? "" : "s", e->path[i]);
        check_explain_name(c, g, e);
        return &type_error;
    }
    return t;
}

static const Type *check_expr_check_index(Check *c, Expr *e) {
    if (check_is_access(c, e))
        return check_access(c, e);
    const Type *t = check_name(c, e);
    if (t->kind == TYPE_ERROR) {
        check_value(c, e->args[0], NULL);
        return t;
    }
    if (e->var && e->var->element) {
        t = check_path(c, e, check_shadow_address(c, e));
        if (t->kind != TYPE_ERROR && c->target != e)
            check_shadow_read(c, e);
        return t;
    }
    if (t->kind != TYPE_MAP || t->aggregate) {
        Diag *g =
            check_error(c, DIAG_NOT_A_MAP, e->span, "expected a map before '[', found %s", t->text);
        check_explain_name(c, g, e);
        check_value(c, e->args[0], NULL);
        return &type_error;
    }
    char what[80];
    snprintf(what, sizeof what, "the key of '%.*s'", e->name.len > 50 ? 50 : (int)e->name.len,
             e->name.ptr);
    Diag *g = check_expect(c, e->args[0], t->key, what);
    const Expr *key = e->args[0];
    if (g)
        check_explain_name(c, g, e);
    else if (t->length && key->kind == EXPR_INT && key->integer >= t->length)
        check_error(c, DIAG_FIELD_RANGE, key->span, "'%.*s' has %u elements, numbered from 0",
                    STR_ARG(e->name), t->length);
    e->is_static = e->is_static && key->is_static;
    return check_path(c, e, t->value);
}

static const Type *check_field(Check *c, Expr *e) {
    return check_path(c, e, check_name(c, e));
}

static const Type *check_tuple(Check *c, Expr *e, const Type *want) {
    const Type **fields = arena_array(&c->script->arena, const Type *, e->nargs);
    bool by_field = want && want->kind == TYPE_TUPLE && want->nfields == e->nargs;
    e->is_static = true;
    for (uint32_t i = 0; i < e->nargs; i++) {
        fields[i] = check_value(c, e->args[i], by_field ? want->fields[i] : NULL);
        e->is_static &= e->args[i]->is_static;
    }
    return type_tuple(c->script, fields, e->nargs);
}

/* ---- all ---- */

/* The value of a constant in its place. */
static const Type *use_constant(Expr *e, const Var *v) {
    const Expr *value = v->init;
    if (value->type != v->type)
        return &type_error; /* reported at its declaration */
    e->kind = value->kind;
    e->integer = value->integer;
    e->real = value->real;
    e->text = value->text;
    e->boolean = value->boolean;
    e->is_static = true;
    return v->type;
}

/* SCRIPT_MEMID is short for memid(whamm_core), without `use whamm_core;`. */
static const Type *use_script_memory(Check *c, Expr *e) {
    const Type *const *params;
    const Type *result = &type_error;
    uint32_t n;
    Expr *core = arena_new(&c->script->arena, Expr);
    *core = (Expr){.kind = EXPR_NAME,
                   .span = e->span,
                   .name_span = e->name_span,
                   .name = STR("whamm_core"),
                   .type = &type_unit,
                   .is_static = true};
    e->kind = EXPR_CALL;
    e->name = STR("memid");
    e->args = arena_array(&c->script->arena, Expr *, 1);
    e->args[0] = core;
    e->nargs = 1;
    e->is_static = false;
    if (c->scope->function)
        c->scope->function(c->scope->ctx, e->name, &e->bound, &params, &n, &result);
    return result;
}

static const Type *check_plain_name(Check *c, Expr *e, const Type *want) {
    const Type *t = check_name(c, e);
    if (e->var && e->var->constant && t->kind != TYPE_ERROR)
        return use_constant(e, e->var);
    if (e->is_bound && str_is(e->name, "SCRIPT_MEMID"))
        return use_script_memory(c, e);
    if (e->is_bound && t->kind == TYPE_MAP) {
        Diag *g = check_error(c, DIAG_OPERAND_TYPE, e->span,
                              "'%.*s' has no value as a whole; only its elements have values",
                              STR_ARG(e->name));
        diag_hint(c->diags, g, "use one, as in %.*s[0]", STR_ARG(e->name));
        return &type_error;
    }
    bool adapts = e->is_bound && (e->bound.literal || e->bound.widens);
    return adapts && want && t->kind != TYPE_ERROR ? check_constant_name(c, e, t, want) : t;
}

static const Type *check_kind(Check *c, Expr *e, const Type *want) {
    switch (e->kind) {
    case EXPR_INT: return check_int(c, e, want);
    case EXPR_FLOAT: return check_float(c, e, want);
    case EXPR_BOOL: e->is_static = true; return boolean;
    case EXPR_STR: e->is_static = true; return &type_scalar[TYPE_STR];
    case EXPR_NAME: return check_plain_name(c, e, want);
    case EXPR_INDEX: return check_expr_check_index(c, e);
    case EXPR_FIELD: return check_field(c, e);
    case EXPR_UNARY: return check_unary(c, e, want);
    case EXPR_BINARY: return check_binary(c, e, want);
    case EXPR_CAST: return check_cast(c, e);
    case EXPR_COND: return check_cond(c, e, want);
    case EXPR_CALL: return check_call(c, e, want);
    case EXPR_METHOD: return check_method(c, e, false);
    case EXPR_TUPLE: return check_tuple(c, e, want);
    case EXPR_MEMBER: return check_access(c, e);
    case EXPR_BROKEN: c->ok = false; return &type_error;
    }
    return &type_error;
}

/* The number that a count or a sum has; a reference to a map, where one is wanted. */
static const Type *aggregate_value(Check *c, const Expr *e, const Type *t, const Type *want) {
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_MAP)
        return &type_scalar[t->kind];
    if (t->kind == TYPE_MAP && t == want && e->kind == EXPR_NAME)
        return t;
    Diag *g =
        check_error(c, DIAG_OPERAND_TYPE, e->span, "'%.*s' is a %s, which has no value as a whole",
                    STR_ARG(e->name), t->text);
    check_explain_name(c, g, e);
    diag_hint(c->diags, g, "numbers are added with add(x); the report shows what they amount to");
    return &type_error;
}

const Type *check_receiver(Check *c, Expr *e) {
    return e->type = check_kind(c, e, NULL);
}

const Type *check_expr(Check *c, Expr *e, const Type *want) {
    bool adapts = e->kind == EXPR_UNARY || e->kind == EXPR_BINARY || e->kind == EXPR_COND;
    if (adapts && check_is_flexible(c, e) &&
        (!want || !type_is_numeric(want) || !check_can_be(c, e, want)))
        want = check_natural_type(c, e);
    e->type = check_kind(c, e, want);
    if (e->type->aggregate)
        e->type = aggregate_value(c, e, e->type, want);
    return e->type;
}

const Type *check_value(Check *c, Expr *e, const Type *want) {
    const Type *t = check_expr(c, e, want);
    if (t->kind != TYPE_UNIT)
        return t;
    Diag *g = check_error(c, DIAG_NO_VALUE, e->span, "expected a value, but '%.*s' returns none",
                          STR_ARG(e->name));
    if (e->fn)
        diag_label(c->diags, g, e->fn->span, "'%.*s' has no result type", STR_ARG(e->name));
    e->type = &type_error;
    return e->type;
}
