/*
 * lang/scan.c - the tokens as the grammar sees them: grammar/whamm.l's tokens, put in context.
 *
 * A script's statements and its match rules look alike at the start (`lib.f(x);`, `wasm(local0:
 * i32):func:entry`), so at each place where a statement may start the text ahead is looked at: a
 * pattern, bounds or nothing, and then a colon make a rule. The same look tells when a rule starts
 * although the statement or block before has not ended; then the missing end is made up, so that
 * one slip does not hide the rest of the script.
 */
#include "lang/parse.h"
#include "whamm-parse.h"

#include <assert.h>

/* ---- looking ahead in the text ---- */

bool parse_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_pattern_char(char c) {
    return parse_is_word(c) || (c && strchr(".*+\\?|![]", c));
}

uint32_t parse_comment_end(const char *text, uint32_t at, uint32_t len) {
    if (text[at + 1] == '/') {
        while (at < len && text[at] != '\n')
            at++;
        return at;
    }
    uint32_t depth = 0;
    while (at + 1 < len) {
        bool open = text[at] == '/' && text[at + 1] == '*';
        bool close = text[at] == '*' && text[at + 1] == '/';
        at += open || close ? 2 : 1;
        depth = depth + open - close;
        if (close && depth == 0)
            return at;
    }
    return len;
}

static bool is_comment(const Parse *p, uint32_t at) {
    return at + 1 < p->len && p->text[at] == '/' &&
           (p->text[at + 1] == '/' || p->text[at + 1] == '*');
}

/* The offset of the first character at or after `at` that is neither blank nor comment. */
static uint32_t skip_blank(const Parse *p, uint32_t at) {
    while (at < p->len) {
        char c = p->text[at];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            at++;
        else if (is_comment(p, at))
            at = parse_comment_end(p->text, at, p->len);
        else
            break;
    }
    return at;
}

/* Past the ')' that belongs to the '(' at `at`; the end of the text if there is none before ';', a
 * brace or a string, which no bounds have. */
static uint32_t skip_parens(const Parse *p, uint32_t at) {
    uint32_t depth = 0;
    while (at < p->len && !strchr(";{}\"", p->text[at])) {
        if (is_comment(p, at)) {
            at = parse_comment_end(p->text, at, p->len);
            continue;
        }
        depth += p->text[at] == '(';
        depth -= p->text[at] == ')';
        at++;
        if (depth == 0)
            return at;
    }
    return p->len;
}

/* Past a part of a rule and the blanks after it. */
static uint32_t skip_part(const Parse *p, uint32_t at) {
    while (at < p->len && is_pattern_char(p->text[at]))
        at++;
    at = skip_blank(p, at);
    if (at < p->len && p->text[at] == '(')
        at = skip_blank(p, skip_parens(p, at));
    return at;
}

static bool char_is(const Parse *p, uint32_t at, char c) {
    return at < p->len && p->text[at] == c;
}

/* A rule starts at `at` if a colon follows the first part: no statement looks like that. */
static bool starts_rule(const Parse *p, uint32_t at) {
    return char_is(p, skip_part(p, at), ':');
}

/* A whole rule up to its predicate or block; for places where a rule is unexpected. */
static bool is_whole_rule(const Parse *p, uint32_t at) {
    uint32_t parts = 1;
    for (at = skip_part(p, at); char_is(p, at, ':') && parts < 5; parts++)
        at = skip_part(p, skip_blank(p, at + 1));
    return parts > 1 && (char_is(p, at, '{') || char_is(p, at, '/'));
}

/* `fn name(`: functions stand at script scope only. */
static bool starts_function(const Parse *p, uint32_t at) {
    if (p->len - at < 3 || memcmp(p->text + at, "fn", 2) != 0 || parse_is_word(p->text[at + 2]))
        return false;
    uint32_t name = skip_blank(p, at + 2);
    while (name < p->len && parse_is_word(p->text[name]))
        name++;
    return char_is(p, skip_blank(p, name), '(');
}

static bool starts_operand(char c) {
    return parse_is_word(c) || (c && strchr("(!~\"-@", c));
}

/* ---- tokens in context ---- */

bool token_ends_operand(int token) {
    switch (token) {
    case ID:
    case INT:
    case FLOAT:
    case STRING_LITERAL:
    case TRUE:
    case FALSE:
    case SCALAR:
    case AGGREGATE:
    case ')':
    case ']': return true;
    default: return false;
    }
}

static bool is_keyword(int token) {
    return (token >= TRUE && token <= AS) || token == SCALAR;
}

static bool has_newline(const Parse *p, uint32_t from, uint32_t to) {
    return memchr(p->text + from, '\n', to - from) != NULL;
}

/* Whether a word comes next that is no number. */
static bool word_follows(const Parse *p, uint32_t at) {
    at = skip_blank(p, at);
    return at < p->len && parse_is_word(p->text[at]) && !(p->text[at] >= '0' && p->text[at] <= '9');
}

/* Whether `name:` comes next. */
static bool declares_name(const Parse *p) {
    uint32_t at = skip_blank(p, p->pos);
    while (at < p->len && parse_is_word(p->text[at]))
        at++;
    return word_follows(p, p->pos) && char_is(p, skip_blank(p, at), ':');
}

/* A block has no end before the token `what`: supplies the missing braces. */
static void close_blocks(Parse *p, uint32_t at, const char *what) {
    Span open = p->open.braces[p->open.nbraces - 1];
    p->open.closing = p->open.nbraces;
    if (p->too_deep)
        return;
    Diag *g = parse_error(p, DIAG_SYNTAX, (Span){p->file, at, at}, "expected '}' before %s", what);
    diag_label(p->diags, g, open, "the block that begins here is not closed");
}

/* The length of the word at `at` if it can start a statement; "as" and "in" continue an expression,
 * "every" and "limit" a call. */
static uint32_t statement_word(const Parse *p, uint32_t at) {
    uint32_t len = 0;
    while (at + len < p->len && parse_is_word(p->text[at + len]))
        len++;
    bool digit = len && p->text[at] >= '0' && p->text[at] <= '9';
    Str word = {p->text + at, len};
    bool continues = str_is(word, "as") || (str_is(word, "in") && word_follows(p, at + len));
    continues |= p->token.prev == ')' && (str_is(word, "every") || str_is(word, "limit"));
    return digit || continues ? 0 : len;
}

/* Looks whether a match rule comes next, or a new line's statement though the one before has no
 * ';'. Returns a made-up token, or 0. */
static int look_ahead(Parse *p, Span *span) {
    bool at_start =
        !p->token.prev || p->token.prev == ';' || p->token.prev == '{' || p->token.prev == '}';
    /* after these no word can follow, except after "@init" and the like */
    bool unfinished =
        p->open.nparens == 0 && !p->token.after_at &&
        (token_ends_operand(p->token.prev) || p->token.prev == INC || p->token.prev == DEC);
    if (p->mode != SCAN_CODE || p->in_predicate || (!at_start && !unfinished))
        return 0;
    uint32_t at = skip_blank(p, p->pos);
    *span = (Span){p->file, at, at};
    if (at_start && p->open.nbraces == 0 && starts_rule(p, at)) {
        p->mode = SCAN_RULE;
    } else if (at_start && p->open.nbraces && is_whole_rule(p, at)) {
        close_blocks(p, at, "the next probe");
    } else if (at_start && p->open.nbraces && starts_function(p, at)) {
        close_blocks(p, at, "the next function");
    } else if (unfinished && has_newline(p, p->pos, at) && statement_word(p, at)) {
        p->open.nangles = 0;
        if (is_whole_rule(p, at))
            return NEW_RULE;
        span->end += statement_word(p, at);
        return NEW_STATEMENT;
    }
    return 0;
}

static int too_deep(Parse *p, Span span) {
    parse_error(p, DIAG_NESTING, span, "nested too deeply: more than %d open braces or parentheses",
                PARSE_MAX_NESTING);
    p->too_deep = p->stop = true;
    return END;
}

static int open_brace(Parse *p, Span span) {
    p->mode = SCAN_CODE;
    p->in_predicate = false;
    p->open.nparens = p->open.nangles = 0;
    if (p->open.nbraces == PARSE_MAX_NESTING)
        return too_deep(p, span);
    p->open.braces[p->open.nbraces++] = span;
    return '{';
}

static int leave_statement(Parse *p, int token) {
    p->mode = SCAN_CODE;
    p->in_predicate = false;
    p->open.nparens = p->open.nangles = 0;
    if (token == '}' && p->open.nbraces)
        p->open.nbraces--;
    return token;
}

static int open_paren(Parse *p, Span span, int token) {
    if (p->open.nparens == PARSE_MAX_NESTING)
        return too_deep(p, span);
    p->open.nparens++;
    if (p->mode == SCAN_RULE)
        p->mode = SCAN_BOUNDS;
    return token;
}

static int close_paren(Parse *p, int token) {
    if (p->open.nparens)
        p->open.nparens--;
    if (p->mode == SCAN_BOUNDS && p->open.nparens == 0)
        p->mode = SCAN_RULE;
    return token;
}

static int slash(Parse *p) {
    if (p->mode == SCAN_RULE) {
        p->mode = SCAN_CODE;
        p->in_predicate = true;
        return PREDICATE;
    }
    uint32_t next = skip_blank(p, p->pos);
    if (p->in_predicate && !(next < p->len && starts_operand(p->text[next]))) {
        p->in_predicate = false;
        return PREDICATE_END;
    }
    return '/';
}

/* `(i in` or `(k, v in`. */
static bool is_head_of_for(const Parse *p, uint32_t at) {
    uint32_t words = 0, len;
    at = skip_blank(p, at);
    for (char before = '('; words < 2 && char_is(p, at, before); before = ',', words++) {
        at = skip_blank(p, at + 1);
        for (len = 0; at + len < p->len && parse_is_word(p->text[at + len]);)
            len++;
        if (!len)
            return false;
        at = skip_blank(p, at + len);
    }
    return words && p->len - at > 2 && memcmp(p->text + at, "in", 2) == 0 &&
           !parse_is_word(p->text[at + 2]);
}

/* The keyword that a word at the start of a statement is; ID = it is a name. */
static int scan_first_word(const Parse *p, Str text) {
    char next = 0;
    uint32_t at = skip_blank(p, p->pos);
    if (at < p->len)
        next = p->text[at];
    if (str_is(text, "delete"))
        return word_follows(p, p->pos) ? DELETE : ID;
    if (str_is(text, "for"))
        return is_head_of_for(p, p->pos) ? FOR : ID;
    if (next == ';' || next == '}')
        return str_is(text, "break") ? BREAK : str_is(text, "continue") ? CONTINUE : ID;
    return ID;
}

/* Words that are names, except where no name can be: those that begin a statement, `in` after an
 * operand, aggregations and `array` where a type can stand, `per` after its bracket. */
static int scan_word(const Parse *p, Span span) {
    static const int before_type[] = {':', '<', ',', '(', ARROW};
    bool starts =
        !p->token.prev || p->token.prev == ';' || p->token.prev == '{' || p->token.prev == '}';
    bool declares = starts || (p->token.prev >= REPORT && p->token.prev <= FRAME) ||
                    p->token.prev == ATOMIC || p->token.prev == SHADOW;
    Str text = {p->text + span.start, span.end - span.start};
    for (size_t i = 0; i < sizeof before_type / sizeof *before_type; i++) {
        if (p->token.prev != before_type[i])
            continue;
        if (aggregate_by_name(text) != AGG_NONE)
            return AGGREGATE;
        if (str_is(text, "array") && char_is(p, skip_blank(p, p->pos), '<'))
            return ARRAY;
    }
    if (p->token.prev == UNITS)
        return PER;
    if (starts && !p->open.nbraces && str_is(text, "include") &&
        char_is(p, skip_blank(p, p->pos), '"'))
        return INCLUDE;
    if (declares && word_follows(p, p->pos)) {
        int keyword = str_is(text, "const")                              ? CONST
                      : str_is(text, "atomic")                           ? ATOMIC
                      : str_is(text, "shadow")                           ? SHADOW
                      : str_is(text, "value") && p->token.prev == SHADOW ? VALUE
                                                                         : ID;
        if (keyword != ID)
            return keyword;
    }
    if (token_ends_operand(p->token.prev) && !p->token.after_at && str_is(text, "in"))
        return IN;
    return starts ? scan_first_word(p, text) : ID;
}

/* Whether the word "per" comes next. */
static bool before_per(const Parse *p) {
    uint32_t at = skip_blank(p, p->pos);
    return p->len - at > 3 && memcmp(p->text + at, "per", 3) == 0 &&
           !parse_is_word(p->text[at + 3]);
}

/* The same, and `every` and `limit` after a call that is a statement. */
static int scan_pace(const Parse *p, Span span) {
    Str text = {p->text + span.start, span.end - span.start};
    int word = str_is(text, "every") ? EVERY : str_is(text, "limit") ? LIMIT : ID;
    bool paces = p->token.prev == ')' && p->open.nparens == 0 && !p->in_predicate;
    return paces && word != ID ? word : scan_word(p, span);
}

/* Follows the brackets and turns tokens into their meaning in this context. */
static int in_context(Parse *p, Span span, int token) {
    switch (token) {
    case ID: return scan_pace(p, span);
    case '{': return open_brace(p, span);
    case '}':
    case ';': return leave_statement(p, token);
    case '(':
    case '[': return open_paren(p, span, p->token.prev == SCALAR && before_per(p) ? UNITS : token);
    case ')':
    case ']': return close_paren(p, token);
    case '/': return slash(p);
    case '<': p->open.nangles += p->token.prev == MAP || p->token.prev == ARRAY; return token;
    case '>': p->open.nangles -= p->open.nangles > 0; return token;
    case '=': p->open.nangles = 0; return token;
    case REPORT:
        if (!p->token.prev || p->token.prev == ';' || p->token.prev == '{' || p->token.prev == '}')
            return declares_name(p) ? DERIVED : token;
        return p->token.prev == '.' ? ID : token;
    default: return p->token.prev == '.' && is_keyword(token) ? ID : token;
    }
}

bool parse_has_members(Str word) {
    return str_is(word, "args") || str_is(word, "locals") || str_is(word, "this");
}

/* Makes one word of the name of a package and what it names there: "alloc.live". */
static void join_package(Parse *p, Span *span) {
    union LANG_YYSTYPE value;
    Span next;
    bool names = p->mode == SCAN_CODE && p->token.prev != '.' && p->token.prev != USE &&
                 p->token.prev != VAR && p->token.prev != CONST && p->token.prev != FN;
    Str word = {p->text + span->start, span->end - span->start};
    if (!names || p->pos >= p->len || p->text[p->pos] != '.' || !word_follows(p, p->pos + 1))
        return;
    bool annotated = p->token.prev == ID;
    bool may_be = p->alone == PARSE_ALONE_JOINING && !annotated && !parse_has_members(word);
    if (!may_be && !script_package_use(p->script, parse_package(p), word))
        return;
    for (uint32_t start = span->start, i = 0; i < 2; i++) {
        lang_scan(&value, &next, p->scanner);
        *span = (Span){p->file, start, next.end};
    }
}

int lang_yylex(union LANG_YYSTYPE *value, Span *span, Parse *p) {
    *span = (Span){p->file, p->pos, p->pos};
    bool ended = p->stop || p->at_end;
    int token = p->part && !p->token.prev ? PART : 0;
    if (!ended && !p->open.closing && !token)
        token = look_ahead(p, span);
    if (!ended && !p->open.closing && !token) {
        token = lang_scan(value, span, p->scanner);
        if (token == 0)
            *span = (Span){p->file, p->len, p->len};
        token = in_context(p, *span, token);
        if (token == ID)
            join_package(p, span);
    }
    if (token == END && p->open.nbraces && !p->open.closing) {
        close_blocks(p, span->start, "the end of the file");
        p->at_end = true;
    }
    if (p->open.closing) {
        p->open.closing--;
        token = leave_statement(p, '}');
    }
    p->token.after_at = p->token.prev == '@';
    bool made_up = token == NEW_RULE || token == NEW_STATEMENT;
    if (!p->token.prev || p->token.prev == ';' || p->token.prev == '{' || p->token.prev == '}')
        p->token.first_span = *span;
    p->token.prev = made_up ? ';' : token; /* the text is scanned with the next token */
    p->token.before_span = p->token.prev_span;
    p->token.prev_span = *span;
    return token;
}

/* ---- for the actions of grammar/whamm.l ---- */

void token_place(Parse *p, Span *span, uint32_t len) {
    assert(p->pos + len <= p->len);
    *span = (Span){p->file, p->pos, p->pos + len};
    p->pos += len;
}

/* The token is `excess` bytes shorter than the match. */
void token_cut(Parse *p, Span *span, uint32_t excess) {
    assert(excess <= p->pos && excess <= span->end - span->start);
    p->pos -= excess;
    span->end -= excess;
}

static uint32_t span_digits(const char *s, uint32_t len) {
    uint32_t n = 0;
    while (n < len && ((s[n] >= '0' && s[n] <= '9') || s[n] == '_'))
        n++;
    return n;
}

static bool is_radix(const char *s, uint32_t len) {
    char x = len > 2 ? s[1] | 0x20 : 0;
    if (len < 3 || s[0] != '0' || (x != 'x' && x != 'b'))
        return false;
    for (uint32_t i = 2; i < len; i++) {
        char c = s[i] | 0x20;
        bool digit = x == 'b' ? s[i] == '0' || s[i] == '1'
                              : (s[i] >= '0' && s[i] <= '9') || (c >= 'a' && c <= 'f');
        if (!digit)
            return false;
    }
    return true;
}

/* The text after the digits that makes it a float: ".", ".5", "e+5", ".5e+5". */
static bool is_fraction(const char *s, uint32_t len) {
    uint32_t n = 0;
    if (n < len && s[n] == '.') {
        n++;
        while (n < len && s[n] >= '0' && s[n] <= '9')
            n++;
    }
    if (n < len && (s[n] | 0x20) == 'e') {
        n++;
        n += n < len && (s[n] == '+' || s[n] == '-');
        if (n == len)
            return false;
        while (n < len && s[n] >= '0' && s[n] <= '9')
            n++;
    }
    return n > 0 && n == len;
}

/*
 * The kind of a number-like text, and the length of its token. A minus is part of a literal only
 * where an operand may start, and "-0" is no literal; after a dot only the digits count, so that
 * t.0.1 is not a float.
 */
int token_number(const Parse *p, const char *text, uint32_t len, uint32_t *keep) {
    *keep = len;
    if (p->token.prev == '.') {
        *keep = text[0] == '-' ? 1 : span_digits(text, len);
        return text[0] == '-' ? '-' : INT;
    }
    bool minus = text[0] == '-';
    const char *s = text + minus;
    uint32_t n = len - minus, digits = span_digits(s, n);
    bool integer = digits == n && (s[0] != '0' || n == 1);
    if (minus) {
        bool special = digits == 0 && n == 3; /* inf, nan */
        bool literal = special || (digits && !(integer && s[0] == '0') && !is_radix(s, n));
        if (token_ends_operand(p->token.prev) || !literal) {
            *keep = 1;
            return '-';
        }
        if (special)
            return FLOAT;
    }
    if (integer || (!minus && is_radix(s, n)))
        return INT;
    return digits && is_fraction(s + digits, n - digits) ? FLOAT : BAD_TOKEN;
}

void token_bad_number(Parse *p, Span span) {
    const char *s = p->text + span.start;
    uint32_t n = span.end - span.start;
    Diag *g =
        parse_error(p, DIAG_BAD_NUMBER, span, "'%.*s' is not a number", n > 40 ? 40 : (int)n, s);
    s += *s == '-';
    if (n > 1 && s[0] == '0' && ((s[1] >= '0' && s[1] <= '9') || s[1] == '_'))
        diag_hint(p->diags, g,
                  "numbers have no leading zeros and there is no octal notation; 0x starts a "
                  "hexadecimal number");
}

/* A character, with the following text if that is of no use without it. */
static void report_char(Parse *p, Span span) {
    Str c = {p->text + span.start, 1};
    Diag *g = parse_error(p, DIAG_BAD_CHARACTER, span, "'%.*s' has no meaning here", STR_ARG(c));
    hint_add(p->diags, g, HINT_CHARACTER, c);
}

void token_bad_char(Parse *p, const Span *span) {
    assert(span->start < p->len);
    unsigned char c = (unsigned char)p->text[span->start];
    if (c == '\r')
        parse_error(p, DIAG_BAD_CHARACTER, *span, "a carriage return without a line feed");
    else if (c >= 0x80) {
        /* One message for a whole character, and for a run of them. */
        Span last = p->diags->list.len ? vec_last(&p->diags->list)->span : NO_SPAN;
        if (!(p->failed && last.file == span->file && last.end == span->start &&
              vec_last(&p->diags->list)->tag == DIAG_BAD_CHARACTER)) {
            parse_error(
                p, DIAG_BAD_CHARACTER, *span,
                "a character outside ASCII; these are allowed in strings and comments only");
        } else {
            vec_last(&p->diags->list)->span.end = span->end;
        }
    } else if (c < 0x20 || c == 0x7f)
        parse_error(p, DIAG_BAD_CHARACTER, *span, "a control character (0x%02x)", c);
    else
        report_char(p, *span);
}

void token_bad_quotes(Parse *p, Span span) {
    assert(span.end - span.start >= 2);
    report_char(p, span);
    token_string_start(p, span);
    buf_bytes(&p->string, p->text + span.start + 1, span.end - span.start - 2);
}

void token_open_comment(Parse *p) {
    Span span = {p->file, p->string_start, p->string_start + 2};
    parse_error(p, DIAG_OPEN_COMMENT, span, "this comment is not closed");
    p->stop = true;
    p->too_deep = true; /* the missing text after it is not worth a message */
}

void token_string_start(Parse *p, Span span) {
    p->string_start = span.start;
    p->string.len = 0;
}

void token_escape_char(Parse *p, char c) {
    switch (c) {
    case 'n': c = '\n'; break;
    case 'r': c = '\r'; break;
    case 't': c = '\t'; break;
    case '0': c = '\0'; break;
    default: break; /* stands for itself */
    }
    buf_u8(&p->string, (uint8_t)c);
}

/* \xHH and \u{H...}: a code point, stored as UTF-8. */
void token_escape_code(Parse *p, Span span, const char *hex, uint32_t len) {
    uint32_t c = 0;
    for (uint32_t i = 0; i < len && c <= 0x10ffff; i++)
        c = c * 16 + (uint32_t)(hex[i] <= '9' ? hex[i] - '0' : (hex[i] | 0x20) - 'a' + 10);
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        parse_error(p, DIAG_BAD_ESCAPE, span,
                    "there is no such character: code points go up to 10FFFF, except D800 to DFFF");
        return;
    }
    if (c < 0x80) {
        buf_u8(&p->string, (uint8_t)c);
        return;
    }
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    buf_u8(&p->string, (uint8_t)(leads[more] | c >> (6 * more)));
    while (more--)
        buf_u8(&p->string, (uint8_t)(0x80 | ((c >> (6 * more)) & 0x3f)));
}

void token_bad_escape(Parse *p, Span span) {
    Diag *g = parse_error(p, DIAG_BAD_ESCAPE, span, "unknown escape in a string");
    diag_hint(p->diags, g, "the escapes are \\n \\r \\t \\\" \\' \\\\ \\0, \\xHH and \\u{H...}");
}

void token_open_string(Parse *p) {
    parse_error(p, DIAG_OPEN_STRING, (Span){p->file, p->string_start, p->string_start + 1},
                "this string has no closing '\"'");
    p->stop = true;
    p->too_deep = true;
}
