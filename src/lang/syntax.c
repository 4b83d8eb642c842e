/*
 * lang/syntax.c - the words for syntax errors: what was expected, what was found, and what may have
 * been meant.
 */
#include "lang/parse.h"
#include "whamm-parse.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- words of other languages ---- */

typedef struct Hint {
    HintPlace place;
    const char *word, *text, *section;
} Hint;

static const Hint hints[] = {
#define HINT(place, word, wrong, text, section, right) {HINT_##place, word, text, section},
#include "lang/hint.def"
};

enum { HINTS = sizeof hints / sizeof *hints };

static const Hint *find_hint(HintPlace place, Str word) {
    for (size_t i = 0; i < HINTS; i++)
        if (hints[i].place == place && str_is(word, hints[i].word))
            return &hints[i];
    return NULL;
}

/* Whether the text begins with the word, and the word ends there. */
static bool begins_with_word(Str text, const char *word) {
    size_t len = strlen(word);
    if (!len || len > text.len || memcmp(text.ptr, word, len) != 0)
        return false;
    bool splits = len < text.len && parse_is_word(word[len - 1]) && parse_is_word(text.ptr[len]);
    return !splits;
}

static const Hint *find_longest(HintPlace place, Str text) {
    const Hint *best = NULL;
    for (size_t i = 0; i < HINTS; i++)
        if (hints[i].place == place && begins_with_word(text, hints[i].word) &&
            (!best || strlen(hints[i].word) > strlen(best->word)))
            best = &hints[i];
    return best;
}

static bool add_hint(Diags *d, Diag *g, const Hint *h) {
    if (h)
        diag_hint(d, g, "%s (docs/language.md#%s)", h->text, h->section);
    return h != NULL;
}

bool hint_exists(HintPlace place, Str word) {
    return find_hint(place, word) != NULL;
}

bool hint_add(Diags *d, Diag *g, HintPlace place, Str word) {
    return add_hint(d, g, find_hint(place, word));
}

bool hint_add_longest(Diags *d, Diag *g, HintPlace place, Str text) {
    return add_hint(d, g, find_longest(place, text));
}

/* ---- syntax errors ---- */

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

static bool syntax_expects(const Expected *e, const char *name) {
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

/* Names of the grammar's tokens and items, for readers. */
static void syntax_describe_expected(const Expected *e, char *text, size_t size) {
    bool expression = syntax_expects(e, "a string");
    const char *words = NULL;
    if (expression)
        words = syntax_expects(e, "';'")   ? "an expression or ';'"
                : syntax_expects(e, "')'") ? "an expression or ')'"
                                           : "an expression";
    else if (syntax_expects(e, "end of file") && syntax_expects(e, "'=='"))
        words = "an operator or '}'"; /* after a value in a text to print */
    else if (syntax_expects(e, "'use'"))
        words = "a declaration, a statement or a probe";
    else if (syntax_expects(e, "'if'"))
        words = "a statement or '}'";
    else if (syntax_expects(e, "';'"))
        words =
            syntax_expects(e, "'='") ? "';' after this declaration" : "';' after this statement";
    else if (syntax_expects(e, "'/' after the predicate"))
        words = "'/' and a block after this predicate";
    else if (syntax_expects(e, "'map'"))
        words = syntax_expects(e, "')'") ? "a type or ')'" : "a type";
    else if (syntax_expects(e, "')'"))
        words = syntax_expects(e, "','") ? "',' or ')'" : "')'";
    else if (syntax_expects(e, "']'"))
        words = "']'";
    else if (syntax_expects(e, "'/' before a predicate"))
        words = syntax_expects(e, "':'") ? "':', '/' and a predicate, or '{'" : "'{'";
    else if (syntax_expects(e, "'++'"))
        words = "an assignment or a call";
    else if (syntax_expects(e, "'var'"))
        words = "'var' or another decorator";
    else if (syntax_expects(e, "':'"))
        words = syntax_expects(e, "'=='") ? "':' and the other value of this conditional"
                                          : "':' and a type";
    if (words)
        snprintf(text, size, "%s", words);
    else
        list_expected(e, text, size);
}

static void describe_found(const Parse *p, Span span, const char *found, char *text, size_t size) {
    uint32_t len = span.end - span.start;
    if (strcmp(found, "end of file") == 0 && p->part)
        snprintf(text, size, "the end of the braces");
    else if (strcmp(found, "end of file") == 0)
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

static Str syntax_text_of(const Parse *p, Span span) {
    return (Str){p->text + span.start, span.end - span.start};
}

/* A misspelt annotation: '@name' without a library. */
static bool is_after_at_sign(const Parse *p) {
    uint32_t at = p->token.before_span.start;
    return at < p->len && (p->text[at] == '@' || (at && p->text[at - 1] == '@'));
}

/* The first word of a statement decides its kind: the error is at the word after it, or at the
 * block that it does not expect. */
static bool hint_statement(Parse *p, Diag *g, const char *found) {
    bool second =
        p->token.before_span.end && p->token.before_span.start == p->token.first_span.start;
    return (second || found_is(found, "'{'")) &&
           hint_add(p->diags, g, HINT_STATEMENT, syntax_text_of(p, p->token.first_span));
}

/* Habits from other languages, in one place: by the token's text, or by its name. */
static bool syntax_hint_at(Parse *p, Diag *g, HintPlace place, Span span, const char *found) {
    return hint_add_longest(p->diags, g, place, (Str){p->text + span.start, p->len - span.start}) ||
           hint_add(p->diags, g, place, str_of(found));
}

static bool hint_operator(Parse *p, Diag *g, Span span, const char *found) {
    return syntax_hint_at(p, g, HINT_OPERATOR, span, found) ||
           hint_add(p->diags, g, HINT_PREFIX, syntax_text_of(p, p->token.before_span));
}

/* Habits from other languages (hint.def). */
static bool add_habit(Parse *p, Diag *g, Span span, const char *found, const Expected *e) {
    if (hint_statement(p, g, found))
        return true;
    if (is_after_at_sign(p) && !syntax_expects(e, "'('"))
        return hint_add(p->diags, g, HINT_AT_SIGN, STR(""));
    if (syntax_expects(e, "'=='"))
        return hint_operator(p, g, span, found);
    if (syntax_expects(e, "a string"))
        return syntax_hint_at(p, g, HINT_OPERAND, span, found);
    if (syntax_expects(e, "'if'"))
        return syntax_hint_at(p, g, HINT_START, span, found);
    if (syntax_expects(e, "'map'"))
        return syntax_hint_at(p, g, HINT_TYPE, span, found);
    if (syntax_expects(e, "';'") && syntax_expects(e, "'='"))
        return syntax_hint_at(p, g, HINT_DECLARATION, span, found);
    if (syntax_expects(e, "'->'"))
        return syntax_hint_at(p, g, HINT_RESULT, span, found);
    if (syntax_expects(e, "'++'"))
        return syntax_hint_at(p, g, HINT_TARGET, span, found);
    if (e->n == 1 && syntax_expects(e, "':'"))
        return syntax_hint_at(p, g, HINT_UNTYPED, span, found);
    if (e->n == 1 && syntax_expects(e, "'{'"))
        return syntax_hint_at(p, g, HINT_BLOCK, span, found) ||
               hint_add(p->diags, g, HINT_BLOCK, STR(""));
    return false;
}

static void add_hints(Parse *p, Diag *g, Span span, const char *found, const Expected *e) {
    Diags *d = p->diags;
    bool want_name = syntax_expects(e, "a name");
    if (add_habit(p, g, span, found, e))
        return;
    bool prefix = found_is(found, "'!'") || found_is(found, "'~'") || found_is(found, "'-'");
    if (prefix && want_name)
        diag_hint(d, g, "an operand can have only one prefix operator; use parentheses");
    else if (found_is(found, "'as'") && syntax_expects(e, "'+'"))
        diag_hint(d, g, "an operand can have only one cast; use parentheses");
    else if ((is_keyword_name(found) || found_is(found, "a scalar type")) && want_name)
        diag_hint(d, g, "'%.*s' is a reserved word", (int)(span.end - span.start),
                  p->text + span.start);
    else if (found_is(found, "'='") && e->n == 1 && syntax_expects(e, "'('"))
        diag_hint(d, g, "the fields of a tuple have numbers: t.0, t.1");
    else if (found_is(found, "'map'") || (e->n == 1 && syntax_expects(e, "'<'")))
        diag_hint(d, g, "'map' is a reserved word; the type is written map<key, value>");
}

void syntax_error(Parse *p, Span span, const char *found, const char *const *names, uint32_t n) {
    p->failed = true;
    bool made_up = span.start == span.end && found_is(found, "'}'");
    if (p->too_deep || made_up || strcmp(found, "an unreadable token") == 0)
        return; /* already reported */
    const char *kept[64];
    Expected e = {kept, 0};
    for (uint32_t i = 0; i < n && e.n < sizeof kept / sizeof *kept; i++)
        if (strcmp(names[i], "an aggregation") != 0) /* a name, or listed with the types */
            kept[e.n++] = names[i];
    char wanted[256], got[128];
    syntax_describe_expected(&e, wanted, sizeof wanted);
    describe_found(p, span, found, got, sizeof got);
    /* A missing ';' belongs after what comes before it. */
    Span place = strncmp(wanted, "';'", 3) == 0
                     ? (Span){p->file, p->token.before_span.end, p->token.before_span.end}
                     : span;
    DiagTag tag = p->part ? DIAG_BAD_FORMAT : DIAG_SYNTAX;
    Diag *g = parse_error(p, tag, place, "expected %s, found %s", wanted, got);
    add_hints(p, g, span, found, &e);
}

void missing_semicolon(Parse *p, const Stmt *s, Span found) {
    p->failed = true;
    bool made_up = found.start == found.end && p->token.prev == '}';
    if (p->too_deep || made_up)
        return; /* the missing brace was reported */
    char got[128];
    describe_found(p, found, found.start == found.end ? "a match rule" : "", got, sizeof got);
    parse_error(p, DIAG_SYNTAX, (Span){p->file, s->span.end, s->span.end},
                "expected ';' after this %s, found %s",
                s->kind == STMT_DECL ? "declaration" : "statement", got);
}
