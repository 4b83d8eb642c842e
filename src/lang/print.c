/*
 * lang/print.c - statements that print, print("alloc {size} at {addr:x}"), and those that end the
 * program with a text: trap, assert, exit.
 *
 * When the script has been read, the text becomes the arguments of its call, "alloc ", size, " at
 * ", addr, with their formats; not earlier, since a script may have a function of this name. An
 * expression in braces is parsed where it is, so messages point into the text. Quotes in it have a
 * backslash before them, as everywhere in a string.
 *
 * The checker finds the types of the values, and makes of the statement the calls of the runtime
 * that it means (the bundled library ".print"): one for each run of text and each value, the last
 * one ends the line. So no later layer knows of printing.
 */
#include "lang/check.h"
#include "lang/parse.h"

#include "../../stdlib/runtime/values.h" /* formats */

/* ======== the parser's part ======== */

/* A text that is taken apart: its source and what that stands for, in step. */
typedef struct Text {
    Parse *p;
    const Expr *string;
    uint32_t at, end; /* in the source, without the quotes */
    uint32_t decoded; /* the place in string->text */
    Buf literal;      /* text that is not yet a part */
    Vec(TextPart) parts;
    Vec(Expr *) args;
} Text;

static const TextPart no_format = {.precision = -1};

static char interpolate_char(const Text *t, uint32_t at) {
    return at < t->end ? t->p->text[at] : 0;
}

/* The length of the escape or byte of the source at `at`. */
static uint32_t unit_length(const Text *t, uint32_t at) {
    uint32_t n = 2;
    if (interpolate_char(t, at) != '\\')
        return 1;
    if (interpolate_char(t, at + 1) == 'x')
        return 4;
    while (interpolate_char(t, at + 1) == 'u' && interpolate_char(t, at + n - 1) != '}')
        n++;
    return n;
}

/* Skips it. Escapes stand for one character. */
static void skip_unit(Text *t) {
    uint8_t lead = (uint8_t)t->string->text.ptr[t->decoded];
    bool escape = interpolate_char(t, t->at) == '\\';
    t->at += unit_length(t, t->at);
    t->decoded += !escape || lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static void add_part(Text *t, Expr *e, TextPart part) {
    vec_push(&t->args, e);
    vec_push(&t->parts, part);
}

static void end_literal(Text *t) {
    if (!t->literal.len)
        return;
    Expr *e = arena_new(&t->p->script->arena, Expr);
    *e = (Expr){.kind = EXPR_STR, .span = t->string->span, .depth = 1};
    e->text.len = (uint32_t)t->literal.len;
    e->text.ptr = arena_strndup(&t->p->script->arena, (const char *)t->literal.data, e->text.len);
    TextPart part = no_format;
    part.literal = true;
    add_part(t, e, part);
    t->literal.len = 0;
}

/* ---- formats ---- */

static uint32_t take_digits(const Text *t, uint32_t *at) {
    uint32_t n = 0;
    for (char c; n < 1000 && (c = interpolate_char(t, *at)) >= '0' && c <= '9'; ++*at)
        n = 10 * n + (uint32_t)(c - '0');
    return n;
}

static bool print_is_one_of(char c, const char *set) {
    return c && strchr(set, c) != NULL;
}

/* [<>^] [#] [0] [width] [.precision] [xXboe?] */
static bool read_format(const Text *t, uint32_t at, uint32_t end, TextPart *f) {
    enum { MAX_WIDTH = 255, MAX_PRECISION = 40 };
    f->format = (Span){t->p->file, at, end};
    if (print_is_one_of(interpolate_char(t, at), "<>^"))
        f->align = interpolate_char(t, at++);
    if (interpolate_char(t, at) == '#')
        f->prefix = true, at++;
    if (interpolate_char(t, at) == '0')
        f->zero = true, at++;
    uint32_t width = take_digits(t, &at), precision = 0;
    if (interpolate_char(t, at) == '.') {
        uint32_t digits = ++at;
        precision = take_digits(t, &at);
        if (digits == at)
            return false;
        f->precision = (int8_t)(precision > MAX_PRECISION ? 0 : precision);
    }
    if (at < end && print_is_one_of(interpolate_char(t, at), "xXboe?"))
        f->form = interpolate_char(t, at++);
    f->width = (uint8_t)width;
    return at == end && width <= MAX_WIDTH && precision <= MAX_PRECISION;
}

/* ---- values ---- */

/* Where the value that begins at `at` ends: at its '}', or at the ':' before its format. */
static uint32_t end_of_value(const Text *t, uint32_t at, uint32_t *colon) {
    uint32_t depth = 0, choices = 0;
    bool quoted = false;
    *colon = 0;
    for (; at < t->end; at += unit_length(t, at)) {
        char c = interpolate_char(t, at);
        if (c == '\\' && interpolate_char(t, at + 1) == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (print_is_one_of(c, "([{"))
            depth++;
        else if (c == '}' && !depth)
            return at;
        else if (print_is_one_of(c, ")]}") && depth)
            depth--;
        else if (c == '?' && !depth && !*colon)
            choices++;
        else if (c == ':' && !depth && choices)
            choices--;
        else if (c == ':' && !depth && !*colon)
            *colon = at;
    }
    return at;
}

static bool is_blank_until(const Text *t, uint32_t at, uint32_t end) {
    while (at < end && print_is_one_of(interpolate_char(t, at), " \t\r\n"))
        at++;
    return at == end;
}

/* The source with the backslashes before quotes as blanks, if there are some. */
static const char *without_escapes(const Text *t, uint32_t from, uint32_t to) {
    if (!memchr(t->p->text + from, '\\', to - from))
        return t->p->text;
    char *copy = arena_strndup(&t->p->script->arena, t->p->text, to);
    for (uint32_t i = from; i + 1 < to; i++)
        if (copy[i] == '\\' && copy[i + 1] == '"')
            copy[i] = ' ';
    return copy;
}

static void bad_value(Text *t, Span span, const char *what) {
    Diag *g = parse_error(t->p, DIAG_BAD_FORMAT, span, "%s", what);
    diag_hint(t->p->diags, g, "a value is written {n} or {n:08x}, a brace {{ or }}");
}

static bool add_value(Text *t) {
    uint32_t open = t->at, colon, close = end_of_value(t, open + 1, &colon);
    uint32_t end = colon ? colon : close;
    TextPart part = no_format;
    Span whole = {t->p->file, open, close < t->end ? close + 1 : t->end};
    if (close == t->end) {
        bad_value(t, (Span){t->p->file, open, open + 1}, "expected '}' after this value");
        return false;
    }
    if (is_blank_until(t, open + 1, end)) {
        bad_value(t, whole, "expected a value in the braces, found nothing");
        return false;
    }
    if (colon && !read_format(t, colon + 1, close, &part)) {
        Diag *g =
            parse_error(t->p, DIAG_BAD_FORMAT, (Span){t->p->file, colon + 1, close},
                        "'%.*s' is not a format", (int)(close - colon - 1), t->p->text + colon + 1);
        diag_hint(
            t->p->diags, g,
            "a format is, each part if wanted: < > or ^, #, 0, the width, .digits, and one of "
            "x X b o e ?");
        return false;
    }
    end_literal(t);
    const char *text = t->p->text;
    t->p->text = without_escapes(t, open + 1, end);
    Expr *e = parse_part(t->p, open + 1, end);
    t->p->text = text;
    if (e)
        add_part(t, e, part);
    while (t->at <= close)
        skip_unit(t);
    return e != NULL;
}

static bool take_apart(Text *t) {
    while (t->at < t->end) {
        char c = interpolate_char(t, t->at);
        bool doubled = print_is_one_of(c, "{}") && interpolate_char(t, t->at + 1) == c;
        uint32_t from = t->decoded;
        if (c == '}' && !doubled) {
            bad_value(t, (Span){t->p->file, t->at, t->at + 1}, "a '}' without a '{' before it");
            return false;
        }
        if (c == '{' && !doubled) {
            if (!add_value(t))
                return false;
            continue;
        }
        skip_unit(t);
        buf_bytes(&t->literal, t->string->text.ptr + from, t->decoded - from);
        if (doubled)
            skip_unit(t);
    }
    end_literal(t);
    return true;
}

/* ---- calls ---- */

/* Begins the text with the place in the script, "script.whamm:12: ". */
static void put_place(Text *t, Span span) {
    uint32_t line, column;
    diag_position(t->p->diags, t->p->file, span.start, &line, &column);
    buf_printf(&t->literal, "%s:%u: ", diag_file_name(t->p->diags, t->p->file), line);
}

/* Sets where the source of a string begins and ends, without quotes and parentheses. */
static void find_quotes(Text *t) {
    t->at = t->string->span.start + 1;
    t->end = t->string->span.end - 1;
    while (t->p->text[t->at - 1] != '"')
        t->at++;
    while (t->p->text[t->end] != '"')
        t->end--;
}

/* Makes the parts of the text the arguments of the call, in the place of its last one. */
static void interpolate_text(Parse *p, Expr *call) {
    Expr *string = call->args[call->nargs - 1];
    Text t = {.p = p, .string = string};
    bool literal = string->kind == EXPR_STR;
    if (literal)
        find_quotes(&t);
    for (uint32_t i = 0; i + 1 < call->nargs; i++)
        add_part(&t, call->args[i], no_format);
    if (!str_is(call->name, "print"))
        put_place(&t, call->span);
    if (!literal) {
        end_literal(&t);
        add_part(&t, string, no_format);
    }
    if (!literal || take_apart(&t)) {
        TextPart *parts = arena_array(&p->script->arena, TextPart, t.parts.len + 1);
        Expr **args = arena_array(&p->script->arena, Expr *, t.args.len + 1);
        for (uint32_t i = 0; i < t.parts.len; i++) {
            parts[i] = t.parts.at[i];
            args[i] = t.args.at[i];
            call->depth = args[i]->depth >= call->depth ? args[i]->depth + 1 : call->depth;
        }
        call->args = args;
        call->nargs = t.parts.len;
        call->parts = parts;
    }
    buf_free(&t.literal);
    vec_free(&t.parts);
    vec_free(&t.args);
}

static bool interpolate_is_own(const Parse *p, Str name) {
    for (uint32_t i = 0; i < p->script->fns.len; i++)
        if (str_eq(p->script->fns.at[i]->name, name))
            return true;
    return false;
}

/* Whether a call has a text: print(text), trap(text), assert(condition, text). */
static bool has_text(const Expr *call) {
    bool prints = str_is(call->name, "print") || str_is(call->name, "trap");
    return (prints && call->nargs == 1) || (str_is(call->name, "assert") && call->nargs == 2);
}

static void interpolate_call(Parse *p, Expr *call) {
    if (call->kind != EXPR_CALL || call->parts || !has_text(call) ||
        interpolate_is_own(p, call->name))
        return;
    Parse in = {
        .script = p->script, .diags = p->diags, .text = p->text, .len = p->len, .file = p->file};
    for (uint32_t i = 0; i < p->script->inclusions.len; i++) {
        const Inclusion *file = &p->script->inclusions.at[i];
        if (file->file != call->span.file)
            continue;
        in.file = file->file;
        in.text = file->text.ptr;
        in.len = file->text.len;
    }
    interpolate_text(&in, call);
    p->failed |= in.failed;
}

static void interpolate_block(Parse *p, Block b) {
    for (Stmt *s = b.first; s; s = s->next) {
        if (s->kind == STMT_CALL)
            interpolate_call(p, s->value);
        for (uint32_t i = 0; i < s->narms; i++)
            interpolate_block(p, s->arms[i].body);
    }
}

void interpolate(Parse *p) {
    Script *s = p->script;
    interpolate_block(p, s->init);
    for (uint32_t i = 0; i < s->fns.len; i++)
        interpolate_block(p, s->fns.at[i]->body);
    for (uint32_t i = 0; i < s->probes.len; i++)
        interpolate_block(p, s->probes.at[i]->body);
}

/* ======== the checker's part ======== */

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
    const char *place = c->place == PLACE_PROBE ? c->scope->describe : NULL;
    bool reports = place && (strcmp(place, "wasm:end") == 0 || strcmp(place, "wasm:report") == 0);
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
        print_value(p, name, &no_format);
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
