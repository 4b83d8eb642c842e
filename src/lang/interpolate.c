/*
 * lang/interpolate.c - texts with values in them: print("alloc {size} at {addr:x}"), and trap and
 * assert, which have texts, too.
 *
 * When the script has been read, the text becomes the arguments of its call, "alloc ", size, " at
 * ", addr, with their formats; not earlier, since a script may have a function of this name. An
 * expression in braces is parsed where it is, so messages point into the text. Quotes in it have a
 * backslash before them, as everywhere in a string.
 */
#include "lang/parse.h"

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

static const TextPart plain_part = {.precision = -1};

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
    TextPart part = plain_part;
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

/* The source without the backslashes before quotes, if there are some: blanks are outside of these
 * strings. */
static const char *without_escapes(const Text *t, uint32_t from, uint32_t to) {
    if (!memchr(t->p->text + from, '\\', to - from))
        return t->p->text;
    char *copy = arena_strndup(&t->p->script->arena, t->p->text, to);
    bool quoted = false;
    for (uint32_t i = from; i + 1 < to; i++) {
        if (copy[i] != '\\' || copy[i + 1] != '"')
            continue;
        copy[i] = quoted ? '"' : ' ';
        copy[i + 1] = quoted ? ' ' : '"';
        quoted = !quoted;
    }
    return copy;
}

static void bad_value(Text *t, Span span, const char *what) {
    Diag *g = parse_error(t->p, DIAG_BAD_FORMAT, span, "%s", what);
    diag_hint(t->p->diags, g, "a value is written {n} or {n:08x}, a brace {{ or }}");
}

static bool add_value(Text *t) {
    uint32_t open = t->at, colon, close = end_of_value(t, open + 1, &colon);
    uint32_t end = colon ? colon : close;
    TextPart part = plain_part;
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
        add_part(&t, call->args[i], plain_part);
    if (!str_is(call->name, "print"))
        put_place(&t, call->span);
    if (!literal) {
        end_literal(&t);
        add_part(&t, string, plain_part);
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

static bool interpolate_is_own(const Parse *p, const Expr *call) {
    Script *s = p->script;
    Str name = script_own_name(s, script_package(s, call->span.file), call->name);
    for (uint32_t i = 0; i < s->fns.len; i++)
        if (str_eq(s->fns.at[i]->name, name))
            return true;
    return false;
}

/* Whether a call has a text: print(text), trap(text), assert(condition, text). */
static bool has_text(const Expr *call) {
    bool prints = str_is(call->name, "print") || str_is(call->name, "trap");
    return (prints && call->nargs == 1) || (str_is(call->name, "assert") && call->nargs == 2);
}

static void interpolate_call(Parse *p, Expr *call) {
    if (call->kind != EXPR_CALL || call->parts || !has_text(call) || interpolate_is_own(p, call))
        return;
    Parse in = {
        .script = p->script, .diags = p->diags, .text = p->text, .len = p->len, .file = p->file};
    for (uint32_t i = 0; i < p->script->files.inclusions.len; i++) {
        const Inclusion *file = &p->script->files.inclusions.at[i];
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
