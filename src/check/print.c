/*
 * check/print.c - statements that print, and those that end the program with a text: trap, assert,
 * exit.
 *
 * The parser has made arguments of the text and its values (lang/interpolate.c). Here these get
 * their types, and the statement becomes the calls of the runtime that it means (the bundled
 * library ".print"): one for each run of text and each value, the last one ends the line. So no
 * later layer knows of printing.
 */
#include "check/check_parts.h"

#include "../../stdlib/runtime/values.h" /* formats */

/* The statement that is made. */
typedef struct Printing {
    Check *c;
    Span span;
    Stmt **end;  /* of its calls */
    Buf literal; /* text before the next value */
} Printing;

/* ---- calls ---- */

static void print_put_stmt(Printing *p, StmtKind kind, Expr *value, Var *var) {
    Stmt *s = arena_new(&p->c->script->arena, Stmt);
    s->kind = kind;
    s->span = p->span;
    s->value = value;
    s->var = var;
    *p->end = s;
    p->end = &s->next;
}

/* Appends a call of the library ".print". */
static void put_call(Printing *p, const char *name, Expr *const *args, uint32_t n) {
    Expr *call = check_new_node(p->c, EXPR_METHOD, &type_unit, p->span);
    check_bundled_call(p->c, call, STR(".print"), str_of(name), &type_unit, args, n);
    print_put_stmt(p, STMT_CALL, call, NULL);
}

static Expr *literal_text(Printing *p) {
    Expr *e = check_new_node(p->c, EXPR_STR, &type_scalar[TYPE_STR], p->span);
    e->text.len = (uint32_t)p->literal.len;
    e->text.ptr =
        arena_strndup(&p->c->script->arena, (const char *)p->literal.data, p->literal.len);
    p->literal.len = 0;
    return e;
}

/* Appends a call for a value, after one for the text before it. */
static void put_value(Printing *p, const char *name, Expr *value, uint32_t format) {
    Expr *number = check_node_int(p->c, &type_scalar[TYPE_I32], format, value->span);
    if (p->literal.len) {
        Expr *text = literal_text(p);
        put_call(p, "text", &text, 1);
    }
    put_call(p, name, (Expr *[]){value, number}, 2);
}

/* ---- formats ---- */

static uint32_t print_form(char letter) {
    switch (letter) {
    case 'x': return LINES_HEX;
    case 'X': return LINES_UPPER;
    case 'b': return LINES_BINARY;
    case 'o': return LINES_OCTAL;
    case 'e': return LINES_EXPONENT;
    case '?': return LINES_QUOTED;
    default: return LINES_PLAIN;
    }
}

static uint32_t print_align(char sign) {
    return sign == '<'   ? LINES_LEFT
           : sign == '>' ? LINES_RIGHT
           : sign == '^' ? LINES_CENTRE
                         : LINES_OWN;
}

static uint32_t print_format(const TextPart *f) {
    return f->width | (uint32_t)(f->precision + 1) << LINES_PRECISION_SHIFT |
           print_form(f->form) << LINES_FORM_SHIFT | print_align(f->align) << LINES_ALIGN_SHIFT |
           (f->zero ? LINES_ZERO : 0) | (f->prefix ? LINES_PREFIX : 0);
}

/* What a type can be printed as. */
typedef struct Allowed {
    const char *forms, *hint;
    bool prefix, zero, precision;
} Allowed;

static Allowed allowed_for(const Type *t) {
    if (type_is_integer(t))
        return (Allowed){"xXbo", "x, X, b and o, with 0x by #, a width and zeros: {n:#010x}, {n:8}",
                         true, true, false};
    if (type_is_float(t))
        return (Allowed){"e", "digits after the point, e, a width and zeros: {t:.3}, {t:10.3e}",
                         false, true, true};
    if (t->kind == TYPE_STR)
        return (Allowed){"?", "a width, and ? for quotes and escapes: {s:<20}, {s:?}", false, false,
                         false};
    return (Allowed){"", t->kind == TYPE_BOOL ? "a width: {b:8}" : "none", false, false, false};
}

/* Whether a value of the type can be printed so; reports it if not. */
static bool fits_format(Check *c, const TextPart *f, const Expr *e) {
    const Type *t = e->type;
    Allowed a = allowed_for(t);
    bool width = t->kind != TYPE_TUPLE || (!f->width && !f->align);
    bool fits = (!f->form || strchr(a.forms, f->form)) && (!f->prefix || (a.prefix && f->form)) &&
                (!f->zero || a.zero) && (f->precision < 0 || a.precision) && width;
    if (fits)
        return true;
    Diag *g =
        check_error(c, DIAG_BAD_FORMAT, f->format, "%s cannot be printed in this format", t->text);
    diag_label(c->diags, g, e->span, "this is %s", t->text);
    diag_hint(c->diags, g, "formats of this type: %s", a.hint);
    return false;
}

/* ---- values ---- */

static void print_value(Printing *p, Expr *e, const TextPart *f);

static void print_integer(Printing *p, Expr *e, const TextPart *f) {
    static const TypeKind bits[] = {TYPE_U8, TYPE_U16, TYPE_U32, TYPE_U64};
    uint32_t n = type_bits(e->type), log = n == 8 ? 0 : n == 16 ? 1 : n == 32 ? 2 : 3;
    bool is_signed = type_is_signed(e->type);
    if (is_signed && !f->form) {
        put_value(p, "int", check_node_cast(p->c, e, &type_scalar[TYPE_I64]),
                  print_format(f) | LINES_SIGNED);
        return;
    }
    Expr *plain = check_node_cast(
        p->c, e, &type_scalar[bits[log]]); /* -1 as x: as many digits as it has bits */
    put_value(p, "int", check_node_cast(p->c, plain, &type_scalar[TYPE_U64]), print_format(f));
}

/* The field of a tuple that is in a variable. */
static Expr *printed_field(Check *c, const Expr *e, uint32_t n) {
    Expr *field = check_new_node(c, EXPR_FIELD, e->type->fields[n], e->span);
    field->name = e->name;
    field->var = e->var;
    field->npath = e->npath + 1;
    field->path = arena_array(&c->script->arena, uint32_t, field->npath);
    for (uint32_t i = 0; i < e->npath; i++)
        field->path[i] = e->path[i];
    field->path[e->npath] = n;
    return field;
}

static void print_tuple(Printing *p, const Expr *e, const TextPart *f) {
    buf_u8(&p->literal, '(');
    for (uint32_t i = 0; i < e->type->nfields; i++) {
        if (i)
            buf_str(&p->literal, STR(", "));
        print_value(p, e->kind == EXPR_TUPLE ? e->args[i] : printed_field(p->c, e, i), f);
    }
    buf_u8(&p->literal, ')');
}

static void print_value(Printing *p, Expr *e, const TextPart *f) {
    const Type *t = e->type;
    if (type_is_integer(t))
        print_integer(p, e, f);
    else if (type_is_float(t))
        put_value(p, "float", check_node_cast(p->c, e, &type_scalar[TYPE_F64]),
                  print_format(f) | (t->kind == TYPE_F32 ? LINES_F32 : 0));
    else if (t->kind == TYPE_BOOL)
        put_value(p, "bool", e, print_format(f));
    else if (t->kind == TYPE_TUPLE)
        print_tuple(p, e, f);
    else if (e->kind == EXPR_STR && !f->width && !f->form)
        buf_str(&p->literal, e->text); /* a constant */
    else
        put_value(p, "str", e, print_format(f));
}

/* ---- the order of evaluation ---- */

/* Whether it may call a function of the script, which may print lines of its own. */
static bool may_print(const Expr *e) {
    bool may = e->fn != NULL;
    for (uint32_t i = 0; i < e->nargs && !may; i++)
        may = may_print(e->args[i]);
    return may;
}

/* Puts the value into a variable of the statement's own, before anything is printed. */
static Expr *keep(Printing *p, Expr *e) {
    Var *v = check_hidden_var(p->c, e->type, e->span);
    v->init = e;
    print_put_stmt(p, STMT_DECL, NULL, v);
    return check_node_name(p->c, v, e->span);
}

static bool is_simple_tuple(const Expr *e) {
    return e->type->kind != TYPE_TUPLE || e->kind == EXPR_TUPLE || e->kind == EXPR_NAME ||
           e->kind == EXPR_FIELD;
}

static void keep_values(Printing *p, const Expr *call, uint32_t first) {
    bool all = false;
    for (uint32_t i = first; i < call->nargs; i++)
        all |= may_print(call->args[i]);
    for (uint32_t i = first; i < call->nargs; i++) {
        Expr **e = &call->args[i];
        if (!(*e)->is_static && (all || !is_simple_tuple(*e)))
            *e = keep(p, *e);
    }
}

/* ---- texts ---- */

static bool check_printable(Check *c, const Expr *e) {
    TypeKind kind = e->type->kind;
    if (kind != TYPE_MAP && kind != TYPE_FUNCREF)
        return kind != TYPE_ERROR;
    Diag *g = check_error(c, DIAG_BAD_FORMAT, e->span, "a %s cannot be printed",
                          kind == TYPE_MAP ? "map" : "funcref");
    check_explain(c, g, e);
    if (kind == TYPE_MAP)
        diag_hint(c->diags, g,
                  "declare it 'report var', or print it with whamm_core.print_map of its number");
    else
        diag_hint(c->diags, g, "print the index of its function: resolved_fid");
    return false;
}

static bool check_parts(Check *c, const Expr *call, uint32_t first) {
    bool ok = true;
    for (uint32_t i = first; i < call->nargs; i++) {
        check_value(c, call->args[i], NULL);
        ok &= check_printable(c, call->args[i]) &&
              (call->parts[i].literal || fits_format(c, &call->parts[i], call->args[i]));
    }
    return ok;
}

static void print_parts(Printing *p, const Expr *call, uint32_t first) {
    for (uint32_t i = first; i < call->nargs; i++)
        print_value(p, call->args[i], &call->parts[i]);
}

static void end_line(Printing *p) {
    Expr *last = literal_text(p);
    put_call(p, "end", &last, 1);
}

static void wrong_call(Check *c, Expr *call, const char *takes, const char *hint) {
    Diag *g =
        check_error(c, DIAG_ARGUMENT_COUNT, call->span, "'%.*s' takes %s, found %u argument%s",
                    STR_ARG(call->name), takes, call->nargs, call->nargs == 1 ? "" : "s");
    diag_hint(c->diags, g, "%s", hint);
    for (uint32_t i = 0; i < call->nargs; i++)
        check_value(c, call->args[i], NULL);
}

/* ---- the end of the program ---- */

/* A report that is being made would be lost. */
static bool may_end(Check *c, const Expr *call) {
    bool at_exit = c->early == ANN_EXIT;
    const char *place = at_exit                   ? "an '@exit' block"
                        : c->place == PLACE_PROBE ? c->scope->describe
                                                  : NULL;
    bool reports =
        place && (at_exit || strcmp(place, "wasm:end") == 0 || strcmp(place, "wasm:report") == 0);
    if (reports)
        check_error(c, DIAG_ENDS_EARLY, call->span,
                    "'%.*s' cannot end the program in %s, while its report is made",
                    STR_ARG(call->name), place);
    return !reports;
}

/* Prints the text, after the place in the script, and the function: script.whamm:12: text (in
 * main). */
static void check_print_trap(Check *c, const Expr *call, Printing *p, uint32_t first) {
    Bound bound;
    keep_values(p, call, first);
    print_parts(p, call, first);
    if (c->place == PLACE_PROBE && !check_find_var(c, STR("fname")) &&
        check_bound_name(c, STR("fname"), &bound)) {
        Expr *name = check_new_node(c, EXPR_NAME, NULL, p->span);
        name->name = STR("fname");
        buf_str(&p->literal, STR(" (in "));
        check_value(c, name, NULL);
        print_value(p, name, &(TextPart){.precision = -1});
        buf_str(&p->literal, STR(")"));
    }
    end_line(p);
    put_call(p, "report", NULL, 0);
    put_call(p, "trap", NULL, 0);
}

/* exit(status) */
static void check_print_exit(Printing *p, Expr *const *status) {
    put_call(p, "report", NULL, 0);
    put_call(p, "exit", status, 1);
}

/* ---- all ---- */

typedef enum Printed {
    PRINTED_NOT,
    PRINTED_LINE,
    PRINTED_TRAP,
    PRINTED_ASSERT,
    PRINTED_EXIT
} Printed;

static Printed print_kind(Str name) {
    return str_is(name, "print")    ? PRINTED_LINE
           : str_is(name, "trap")   ? PRINTED_TRAP
           : str_is(name, "assert") ? PRINTED_ASSERT
           : str_is(name, "exit")   ? PRINTED_EXIT
                                    : PRINTED_NOT;
}

/* Whether the arguments are right; reports it if not. */
static bool check_print_arguments(Check *c, Expr *call, Printed kind) {
    if (kind == PRINTED_EXIT) {
        if (call->nargs == 1)
            return !check_expect(c, call->args[0], &type_scalar[TYPE_I32], "the status") &&
                   may_end(c, call);
        wrong_call(c, call, "the exit status", "0 says that all is well: exit(0);");
        return false;
    }
    if (!call->parts) {
        if (!c->script->broken && kind == PRINTED_ASSERT)
            wrong_call(c, call, "a condition and a text", "assert(n < 10, \"n is {n}\");");
        else if (!c->script->broken)
            wrong_call(c, call, "one text", "values are written in the text: \"{a} and {b:x}\"");
        return false;
    }
    bool asserts = kind == PRINTED_ASSERT, ok = check_parts(c, call, asserts);
    if (asserts)
        check_condition(c, call->args[0], "the condition of 'assert'");
    ok = ok && (!asserts || call->args[0]->type->kind == TYPE_BOOL);
    return ok && (kind == PRINTED_LINE || may_end(c, call));
}

bool check_print(Check *c, Stmt *s) {
    Expr *call = s->value;
    Printed kind = call->kind == EXPR_CALL ? print_kind(call->name) : PRINTED_NOT;
    if (kind == PRINTED_NOT || check_find_fn(c, call->name))
        return false;
    meaning_note(c->script->meanings, (Meaning){.span = call->name_span, .kind = MEANING_FUNCTION});
    if (!check_print_arguments(c, call, kind)) {
        call->type = &type_error;
        return true;
    }
    Block body = {0};
    Printing p = {.c = c, .span = s->span, .end = &body.first};
    Expr *cond = check_new_node(c, EXPR_BOOL, &type_scalar[TYPE_BOOL], s->span);
    cond->boolean = true; /* the statements themselves remain (plan/prune.c) */
    switch (kind) {
    case PRINTED_LINE:
        keep_values(&p, call, 0);
        print_parts(&p, call, 0);
        end_line(&p);
        break;
    case PRINTED_ASSERT:
        cond = check_node_op(c, OP_NOT, &type_scalar[TYPE_BOOL], call->args[0], NULL);
        check_print_trap(c, call, &p, 1);
        break;
    case PRINTED_TRAP: check_print_trap(c, call, &p, 0); break;
    default: check_print_exit(&p, call->args); break;
    }
    buf_free(&p.literal);
    s->kind = STMT_IF;
    s->value = NULL;
    s->narms = 1;
    s->arms = arena_array(&c->script->arena, IfArm, 1);
    s->arms[0] = (IfArm){cond, body};
    return true;
}
