/*
 * check/check_derived.c - derived columns: their formulas, for readers of reports
 * (lang/derived.def).
 *
 * They are computed from what is reported, after reports have been merged, so they may name nothing
 * else. All of a formula is computed in the type of its column.
 */
#include "check/check_parts.h"

#include <inttypes.h>
#include <math.h>

typedef struct Formula {
    Check *c;
    const Var *column;
    Buf text;
    uint32_t values, most; /* on the reader's stack: now, and the most at any time */
    bool ok;
} Formula;

static bool formula_is_whole(const Formula *f) {
    return !type_is_float(f->column->type);
}

/* An error at e, unless there is one already. NULL: there is. */
static Diag *derived_wrong(Formula *f, Span span, const char *what) {
    if (!f->ok)
        return NULL;
    f->ok = false;
    return check_error(f->c, DIAG_BAD_DERIVED, span, "the derived column '%.*s' %s",
                       STR_ARG(f->column->name), what);
}

/* Appends a word, which takes values and leaves one. */
static void formula_word(Formula *f, Str word, uint32_t takes) {
    buf_str(&f->text, f->text.len ? STR(" ") : STR(""));
    buf_str(&f->text, word);
    f->values -= takes;
    f->values++;
    f->most = f->values > f->most ? f->values : f->most;
}

/* ---- numbers ---- */

/* A literal that was checked. */
static void formula_number(Formula *f, const Expr *e) {
    Buf word = {0};
    bool radix = e->kind == EXPR_FLOAT && memchr(e->text.ptr, 'x', e->text.len);
    radix = radix || (e->kind == EXPR_FLOAT && memchr(e->text.ptr, 'b', e->text.len));
    if (e->kind == EXPR_INT && type_is_signed(e->type))
        buf_printf(&word, "%" PRId64, (int64_t)e->integer);
    else if (e->kind == EXPR_INT)
        buf_printf(&word, "%" PRIu64, e->integer);
    else if (radix)
        buf_printf(&word, "%.0f", e->real);
    bool as_written = !word.len;
    for (uint32_t i = 0; as_written && i < e->text.len; i++)
        if (e->text.ptr[i] != '_')
            buf_u8(&word, (uint8_t)e->text.ptr[i]);
    formula_word(f, buf_view(&word), 0);
    buf_free(&word);
}

static void formula_literal(Formula *f, Expr *e) {
    const Type *t = e->type ? e->type : check_expr(f->c, e, f->column->type);
    bool number = t->kind != TYPE_ERROR && type_is_numeric(t);
    if (t->kind == TYPE_ERROR)
        f->ok = false;
    else if (!number || (e->kind == EXPR_FLOAT && !isfinite(e->real)))
        derived_wrong(f, e->span, "can be computed from numbers only");
    else if (formula_is_whole(f) && type_is_float(t))
        derived_wrong(f, e->span, "is of whole numbers, but this is not one");
    else
        formula_number(f, e);
}

/* ---- names ---- */

/* A reported variable of this name that a block declares, after `after` if that is not NULL. */
static const Var *find_in_block(Block b, Str name, const Var **after) {
    for (const Stmt *s = b.first; s; s = s->next) {
        bool found = s->kind == STMT_DECL && str_eq(s->var->name, name);
        if (found && !*after)
            return s->var;
        if (found && s->var == *after)
            *after = NULL;
        for (uint32_t i = 0; i < s->narms; i++) {
            const Var *v = find_in_block(s->arms[i].body, name, after);
            if (v)
                return v;
        }
    }
    return NULL;
}

/* The next variable of probes with this name. */
static const Var *find_in_probes(const Script *s, Str name, const Var *after) {
    for (uint32_t i = 0; i < s->probes.len; i++) {
        const Var *v = find_in_block(s->probes.at[i]->body, name, &after);
        if (v)
            return v;
    }
    return NULL;
}

/* Whether the aggregation has a field that readers know by this name. */
static bool has_field(const Type *t, Str name) {
    static const struct {
        AggregateId id;
        const char *name;
    } fields[] = {
#define FIELD(id, field, type, merge) {AGG_##id, field},
#include "lang/type.def"
        {AGG_AVG, "mean"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].id == t->aggregate && str_is(name, fields[i].name))
            return true;
    return false;
}

static bool is_whole_number(const Type *t, Str field) {
    if (!field.len)
        return !type_is_float(t);
    return !str_is(field, "mean") && !str_is(field, "squares") &&
           (str_is(field, "count") || !type_is_float(t->added));
}

/* Whether the variable, or its field, is a number of the report. */
static bool check_reported_number(Formula *f, const Expr *e, const Var *v, Str field) {
    const Type *t = v->type;
    Diag *g = NULL;
    if (t->kind == TYPE_ERROR)
        f->ok = false;
    else if (!(v->decorators & DECO_REPORT))
        g = derived_wrong(f, e->span, "can name only variables that are reported");
    else if (field.len && !(t->aggregate && has_field(t, field)))
        g = derived_wrong(f, e->span, "names a field that the variable does not have");
    else if (!field.len && !type_is_numeric(t))
        g = derived_wrong(f, e->span,
                          t->aggregate
                              ? "needs a field of an aggregation that has several, as in x.count()"
                              : "can be computed from numbers only");
    else if (formula_is_whole(f) && !is_whole_number(t, field))
        g = derived_wrong(f, e->span, "is of whole numbers, but this is not one");
    if (g)
        diag_label(f->c->diags, g, v->span, "declared here as %s", t->text);
    return f->ok;
}

static void unknown_variable(Formula *f, const Expr *e, Str name) {
    f->ok = false;
    if (!check_tell(f->c, name, e->span, false))
        return;
    Diag *g = check_error(f->c, DIAG_UNDECLARED_NAME, e->span,
                          "unknown name '%.*s': a derived column is computed from what the script "
                          "reports",
                          STR_ARG(name));
    check_suggest(f->c, g, name, NEAR_NAMES);
}

/* The value of a variable, or (.len != 0) of a field of it. */
static void formula_variable(Formula *f, const Expr *e, Str name, Str field) {
    const Script *s = f->c->script;
    const Var *v = check_find_var(f->c, name);
    bool of_script = v != NULL;
    Buf word = {0};
    buf_str(&word, of_script ? v->name : name);
    if (field.len)
        buf_printf(&word, ":%.*s", STR_ARG(field));
    if (!v)
        v = find_in_probes(s, name, NULL);
    if (v)
        check_note_var(f->c, field.len ? e->recv_span : e->name_span, v); /* perhaps once more */
    else
        unknown_variable(f, e, name);
    for (; v && check_reported_number(f, e, v, field);)
        v = of_script ? NULL : find_in_probes(s, name, v);
    if (f->ok)
        formula_word(f, buf_view(&word), 0);
    buf_free(&word);
}

static void formula_name(Formula *f, const Expr *e) {
    const Var *v = check_find_var(f->c, e->name);
    bool later =
        v && v->derived && (v == f->column || script_precedes(f->c->script, e->span, v->span));
    if (v)
        check_note_var(f->c, e->name_span, v);
    if (later)
        derived_wrong(f, e->span, "can name only derived columns that are declared before it");
    else if (v && v->derived && !v->formula.len)
        f->ok = false; /* that was reported */
    else if (v && v->constant)
        formula_literal(f, v->init);
    else
        formula_variable(f, e, e->name, (Str){NULL, 0});
}

/* ---- operators ---- */

typedef struct Operator {
    Op op;
    const char *text;
    uint32_t takes;
} Operator;

/* An operator or a function that formulas can have; else .text is NULL. */
static Operator operator_of(Op op) {
    static const Operator operators[] = {
#define DERIVED(id, text, operands) {OP_##id, text, operands},
#include "lang/derived.def"
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].op == op)
            return operators[i];
    return (Operator){0};
}

/* Appends an expression; `truth`: a condition is wanted, else a number. */
static void put_formula(Formula *f, Expr *e, bool truth);

static void formula_operation(Formula *f, const Expr *e, Operator o, bool truths) {
    for (uint32_t i = 0; i < e->nargs; i++)
        put_formula(f, e->args[i], truths);
    formula_word(f, str_of(o.text), o.takes);
}

/* Whether a whole number is divided by something that may be 0. */
static bool divides_by_zero(const Formula *f, const Expr *e) {
    const Expr *by = e->args[e->nargs - 1];
    const Var *v = by->kind == EXPR_NAME ? check_find_var(f->c, by->name) : NULL;
    if (v && v->constant)
        by = v->init;
    return formula_is_whole(f) && (e->op == OP_DIV || e->op == OP_REM) &&
           (by->kind != EXPR_INT || by->integer == 0);
}

static void formula_operator(Formula *f, const Expr *e, bool truth) {
    bool logic = e->op == OP_AND || e->op == OP_OR || e->op == OP_NOT;
    bool tests = logic || (e->op >= OP_EQ && e->op <= OP_LT);
    Operator o = operator_of(e->op);
    if (!o.text)
        derived_wrong(f, e->span, "cannot have this operator");
    else if (tests != truth)
        derived_wrong(f, e->span, truth ? "needs a condition here" : "needs a number here");
    else if (divides_by_zero(f, e))
        derived_wrong(f, e->args[1]->span,
                      "is of whole numbers, so it can only be divided by a number other than 0");
    else
        formula_operation(f, e, o, logic);
}

/* min(a, b), max(a, b), abs(a) */
static void formula_call(Formula *f, const Expr *e) {
    static const Op ops[] = {OP_MIN, OP_MAX, OP_ABS};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        Operator o = operator_of(ops[i]);
        if (!str_is(e->name, o.text) || e->nargs != o.takes || check_find_fn(f->c, e->name))
            continue;
        formula_operation(f, e, o, false);
        return;
    }
    derived_wrong(f, e->span, "can call min(a, b), max(a, b) and abs(a) only");
}

/* x.count() */
static void formula_field(Formula *f, const Expr *e) {
    if (e->received || e->nargs || e->annotation != ANN_NONE)
        derived_wrong(f, e->span, "can have numbers, variables and operators only");
    else
        formula_variable(f, e, e->recv, e->name);
}

static void formula_choice(Formula *f, const Expr *e) {
    put_formula(f, e->args[0], true);
    put_formula(f, e->args[1], false);
    put_formula(f, e->args[2], false);
    formula_word(f, STR(DERIVED_CHOICE), 3);
}

static void put_formula(Formula *f, Expr *e, bool truth) {
    bool logic = e->kind == EXPR_BINARY || e->kind == EXPR_UNARY;
    if (e->kind == EXPR_BROKEN)
        f->ok = false; /* that was reported */
    else if (truth && !logic)
        derived_wrong(f, e->span, "needs a condition here");
    if (!f->ok)
        return;
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT: formula_literal(f, e); break;
    case EXPR_NAME: formula_name(f, e); break;
    case EXPR_UNARY:
    case EXPR_BINARY: formula_operator(f, e, truth); break;
    case EXPR_CALL: formula_call(f, e); break;
    case EXPR_METHOD: formula_field(f, e); break;
    case EXPR_COND: formula_choice(f, e); break;
    case EXPR_CAST:
        if (e->cast == f->column->type)
            put_formula(f, e->args[0], false);
        else
            derived_wrong(f, e->span, "is computed in its own type: it can have no other");
        break;
    default: derived_wrong(f, e->span, "can have numbers, variables and operators only");
    }
}

void check_derived(Check *c, Var *column) {
    Formula f = {.c = c, .column = column, .ok = true};
    TypeKind kind = column->type->kind;
    if (kind == TYPE_ERROR)
        return;
    if ((kind != TYPE_F64 && kind != TYPE_U64 && kind != TYPE_I64) || column->type->aggregate)
        derived_wrong(&f, column->type_span, "must be f64, u64 or i64");
    put_formula(&f, column->init, false);
    if (f.text.len > DERIVED_TEXT || f.most > DERIVED_DEPTH)
        derived_wrong(&f, column->init->span, "is too long: divide it into several");
    if (f.ok)
        column->formula =
            (Str){arena_strndup(&c->script->arena, (const char *)f.text.data, f.text.len),
                  (uint32_t)f.text.len};
    buf_free(&f.text);
}
