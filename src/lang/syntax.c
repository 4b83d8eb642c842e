/*
 * lang/syntax.c - the words for syntax errors: what was expected, what was found, and what may have
 * been meant.
 */
#include "lang/parse.h"
#include "whamm-parse.h"

#include <stdarg.h>
#include <stdio.h>

Diag *parse_error(Parse *p, DiagTag tag, Span span, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->failed = true;
    return diag(p->diags, tag, span, "%s", text);
}

void lang_yyerror(const Span *span, Parse *p, const char *message) {
    (void)message; /* the one message that bison has besides syntax errors: its stack is full */
    if (!p->too_deep)
        parse_error(p, DIAG_NESTING, *span, "nested too deeply");
    p->too_deep = true;
}

typedef struct Expected {
    const char *const *names;
    uint32_t n;
} Expected;

static bool expects(const Expected *e, const char *name) {
    for (uint32_t i = 0; i < e->n; i++)
        if (strcmp(e->names[i], name) == 0)
            return true;
    return false;
}

/* "a, b or c" */
static void list_expected(const Expected *e, char *text, size_t size) {
    size_t len = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < e->n && len < size; i++) {
        const char *before = i == 0 ? "" : i + 1 == e->n ? " or " : ", ";
        len += (size_t)snprintf(text + len, size - len, "%s%s", before, e->names[i]);
    }
}

/* What the grammar wants, in the words of a reader. */
static void describe_expected(const Expected *e, char *text, size_t size) {
    bool expression = expects(e, "a string");
    const char *words = NULL;
    if (expression)
        words = expects(e, "';'")   ? "an expression or ';'"
                : expects(e, "')'") ? "an expression or ')'"
                                    : "an expression";
    else if (expects(e, "'use'"))
        words = "a declaration, a statement or a probe";
    else if (expects(e, "'if'"))
        words = "a statement or '}'";
    else if (expects(e, "';'"))
        words = expects(e, "'='") ? "';' after this declaration" : "';' after this statement";
    else if (expects(e, "'/' after the predicate"))
        words = "'/' and a block after this predicate";
    else if (expects(e, "'map'"))
        words = expects(e, "')'") ? "a type or ')'" : "a type";
    else if (expects(e, "')'"))
        words = expects(e, "','") ? "',' or ')'" : "')'";
    else if (expects(e, "']'"))
        words = "']'";
    else if (expects(e, "'/' before a predicate"))
        words = expects(e, "':'") ? "':', '/' and a predicate, or '{'" : "'{'";
    else if (expects(e, "'++'"))
        words = "an assignment or a call";
    else if (expects(e, "'var'"))
        words = "'var' or another decorator";
    else if (expects(e, "':'"))
        words =
            expects(e, "'=='") ? "':' and the other value of this conditional" : "':' and a type";
    if (words)
        snprintf(text, size, "%s", words);
    else
        list_expected(e, text, size);
}

static void describe_found(const Parse *p, Span span, const char *found, char *text, size_t size) {
    uint32_t len = span.end - span.start;
    if (strcmp(found, "end of file") == 0)
        snprintf(text, size, "the end of the file");
    else if (strcmp(found, "a match rule") == 0)
        snprintf(text, size, "the match rule of the next probe");
    else if (strcmp(found, "a string") == 0)
        snprintf(text, size, "a string");
    else if (strcmp(found, "'/' after the predicate") == 0)
        snprintf(text, size, "the end of the predicate");
    else
        snprintf(text, size, "'%.*s%s'", len > 40 ? 40 : (int)len, p->text + span.start,
                 len > 40 ? "..." : "");
}

static bool found_is(const char *found, const char *name) {
    return strcmp(found, name) == 0;
}

static bool is_keyword_name(const char *found) {
    return found[0] == '\'' && found[1] >= 'a' && found[1] <= 'z';
}

/* Habits from other languages. */
static void add_hints(Parse *p, Diag *g, Span span, const char *found, const Expected *e) {
    Diags *d = p->diags;
    char next = span.end < p->len ? p->text[span.end] : 0;
    bool want_name = expects(e, "a name"), want_expression = expects(e, "a string");
    if (found_is(found, "'while'"))
        diag_hint(d, g, "there are no loops");
    else if (found_is(found, "'='") && expects(e, "'=='"))
        diag_hint(d, g, "'==' compares, '=' assigns");
    else if (found_is(found, "'-'") && want_expression)
        diag_hint(d, g, "there is no unary minus: write '0 - x', or a negative number such as -5");
    else if (next == '=' && found[1] && strchr("+-*/%&|^", found[1]) && expects(e, "'='"))
        diag_hint(d, g, "there is no '%c=': write 'x = x %c ...'", found[1], found[1]);
    else if (found_is(found, "'if'") && expects(e, "'{'") && !expects(e, "':'"))
        diag_hint(d, g, "'else if' is written 'elif'");
    else if ((found_is(found, "'!'") || found_is(found, "'~'")) && want_name)
        diag_hint(d, g, "an operand can have only one prefix operator; use parentheses");
    else if (found_is(found, "'as'") && expects(e, "'+'"))
        diag_hint(d, g, "an operand can have only one cast; use parentheses");
    else if (found_is(found, "';'") && expects(e, "'if'"))
        diag_hint(d, g, "there is no empty statement, and no ';' after a block");
    else if (found_is(found, "a name") && expects(e, "a scalar type"))
        diag_hint(d, g,
                  "the types are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool str funcref, (T, ...) "
                  "and map<K, V>");
    else if ((is_keyword_name(found) || found_is(found, "a scalar type")) && want_name)
        diag_hint(d, g, "'%.*s' is a reserved word", (int)(span.end - span.start),
                  p->text + span.start);
    else if (found_is(found, "'='") && e->n == 1 && expects(e, "'('"))
        diag_hint(d, g, "the fields of a tuple have numbers: t.0, t.1");
    else if (found_is(found, "'map'") || (e->n == 1 && expects(e, "'<'")))
        diag_hint(d, g, "'map' is a reserved word; the type is written map<key, value>");
}

void syntax_error(Parse *p, Span span, const char *found, const char *const *names, uint32_t n) {
    p->failed = true;
    bool made_up = span.start == span.end && found_is(found, "'}'");
    if (p->too_deep || made_up || strcmp(found, "an unreadable token") == 0)
        return; /* already reported */
    Expected e = {names, n};
    char wanted[256], got[128];
    describe_expected(&e, wanted, sizeof wanted);
    describe_found(p, span, found, got, sizeof got);
    /* A missing ';' belongs after what comes before it. */
    Span place = strncmp(wanted, "';'", 3) == 0
                     ? (Span){p->file, p->before_span.end, p->before_span.end}
                     : span;
    Diag *g = parse_error(p, DIAG_SYNTAX, place, "expected %s, found %s", wanted, got);
    add_hints(p, g, span, found, &e);
}

void missing_semicolon(Parse *p, const Stmt *s, Span found) {
    p->failed = true;
    bool made_up = found.start == found.end && p->prev == '}';
    if (p->too_deep || made_up)
        return; /* the missing brace was reported */
    char got[128];
    describe_found(p, found, found.start == found.end ? "a match rule" : "", got, sizeof got);
    parse_error(p, DIAG_SYNTAX, (Span){p->file, s->span.end, s->span.end},
                "expected ';' after this %s, found %s",
                s->kind == STMT_DECL ? "declaration" : "statement", got);
}
