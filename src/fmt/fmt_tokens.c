/*
 * fmt/fmt_tokens.c - the tokens of a script with its comments, the blanks between them, and where
 * lines can be broken.
 */
#include "fmt/fmt_parts.h"
#include "whamm-parse.h"

#include <assert.h>
#include <string.h>

/* ---- comments ---- */

static void add_token(FmtTokens *out, FmtToken t, uint32_t newlines) {
    t.newlines = (uint8_t)(newlines > 2 ? 2 : newlines);
    vec_push(out, t);
}

/* Adds the comments in the gap [at, end) between two tokens; returns the newlines after them. */
static uint32_t gap_comments(const char *text, uint32_t at, uint32_t end, FmtTokens *out) {
    uint32_t newlines = 0;
    while (at < end) {
        if (text[at] != '/') {
            newlines += text[at++] == '\n';
            continue;
        }
        FmtToken t = {.start = at, .kind = FMT_BLOCK_COMMENT};
        if (text[at + 1] == '/')
            t.kind = FMT_LINE_COMMENT;
        at = t.end = parse_comment_end(text, at, end);
        while (t.kind == FMT_LINE_COMMENT && fmt_is_blank(text[t.end - 1]))
            t.end--;
        add_token(out, t, newlines);
        newlines = 0;
    }
    return newlines;
}

/* ---- blanks ---- */

/* Whether a statement or the end of a block follows a token of this kind. */
static bool starts_statement(int kind) {
    return kind == ';' || kind == '{' || kind == '}';
}

/* What a token is in its context, beyond its kind. */
typedef enum Role {
    ROLE_NONE,
    ROLE_PREFIX,      /* a sign before its operand, '@' */
    ROLE_NUMBER_SIGN, /* a minus before a number, of which it is no part */
    ROLE_RULE_COLON,  /* between two parts of a rule */
    ROLE_CHOICE,      /* the ':' of a conditional expression */
    ROLE_OPEN,        /* '<' of a type */
    ROLE_CLOSE,       /* '>' of a type */
} Role;

enum { MAX_DEPTH = 1 << 9 };

/* The place in the text. */
typedef struct Context {
    const char *text;
    int prev; /* kinds of the last tokens that are no comments; 0 = none */
    Role prev_role;
    uint32_t depth;              /* of parentheses and brackets */
    uint16_t choices[MAX_DEPTH]; /* at each: '?' without ':' so far */
    bool angle[MAX_DEPTH];       /* opened by '<' */
} Context;

/* Whether a minus sign and this text would be read as one token. */
static bool joins_sign(const char *text, const FmtToken *next) {
    char c = text[next->start];
    if (c == '-' || (c >= '0' && c <= '9'))
        return true;
    uint32_t n = next->end - next->start;
    char low[3] = {0};
    for (uint32_t i = 0; i < 3 && i < n; i++)
        low[i] = text[next->start + i] | 0x20;
    return memcmp(low, "inf", 3) == 0 || memcmp(low, "nan", 3) == 0;
}

static Role role_of(const Context *c, const FmtToken *t) {
    switch (t->kind) {
    case '!':
    case '~':
    case '@': return ROLE_PREFIX;
    case '-':
        if (token_ends_operand(c->prev))
            return ROLE_NONE;
        return joins_sign(c->text, t + 1) ? ROLE_NUMBER_SIGN : ROLE_PREFIX;
    case '<': return c->prev == MAP || c->prev == ARRAY ? ROLE_OPEN : ROLE_NONE;
    case '>': return c->depth && c->angle[c->depth] ? ROLE_CLOSE : ROLE_NONE;
    case ':':
        if (c->choices[c->depth])
            return ROLE_CHOICE;
        return !c->prev || starts_statement(c->prev) || c->prev == PATTERN || c->prev == ')' ||
                       c->prev_role == ROLE_RULE_COLON
                   ? ROLE_RULE_COLON
                   : ROLE_NONE;
    default: return ROLE_NONE;
    }
}

static bool opens(int kind, Role role) {
    return kind == '(' || kind == '[' || kind == UNITS || role == ROLE_OPEN;
}

static bool is_callee(int kind) {
    return kind == ID || kind == AGGREGATE || kind == PATTERN;
}

/* Whether there is a blank between the last token and this one, which is no comment. */
static bool needs_space(const Context *c, const FmtToken *t, Role role) {
    int prev = c->prev;
    if (starts_statement(prev))
        return prev != '{' || t->kind != '}';
    if (prev == '.' || prev == DOTS || c->prev_role == ROLE_PREFIX || opens(prev, c->prev_role))
        return false;
    if (c->prev_role == ROLE_NUMBER_SIGN)
        return t[-1].end != t->start;
    if (c->prev_role == ROLE_RULE_COLON && t->kind != PREDICATE && t->kind != '{')
        return false;
    switch (t->kind) {
    case ';':
    case ',':
    case ')':
    case ']':
    case '.':
    case '[':
    case UNITS:
    case INC:
    case DEC: return false;
    case DOTS: return prev == FLOAT;
    case ARROW: return prev == ')';
    case '(': return !is_callee(prev);
    case '<':
    case '>': return role == ROLE_NONE;
    case ':': return role == ROLE_CHOICE;
    default: return true;
    }
}

static bool space_before(const Context *c, const FmtToken *t, Role role) {
    if (t->start == 0 || !t[0].kind)
        return false;
    bool after_comment = c->prev && fmt_is_comment(t - 1);
    if (fmt_is_comment(t))
        return !opens(c->prev, c->prev_role) || fmt_is_comment(t - 1);
    if (after_comment)
        return t->kind != ',' && t->kind != ';' && t->kind != ')' && t->kind != ']';
    return c->prev && needs_space(c, t, role);
}

/* ---- breaks ---- */

/* How strongly an operator binds, from 2; 0 = a line is not broken after it. */
static uint32_t binding(int kind, Role role) {
    switch (kind) {
    case ',': return 2;
    case ':': return role == ROLE_CHOICE ? 3 : 0;
    case '?': return 4;
    case AND:
    case OR: return 5;
    case '|': return 6;
    case '^': return 7;
    case '&': return 8;
    case EQ:
    case NE:
    case GE:
    case LE: return 9;
    case '<':
    case '>': return role == ROLE_NONE ? 9 : 0;
    case SHL:
    case SHR: return 10;
    case '+':
    case '-': return role == ROLE_NONE ? 11 : 0;
    case '*':
    case '/':
    case '%': return 12;
    default: return 0;
    }
}

/* Whether the break after this token is one of a whole statement: before a predicate, and before a
 * text that is all of a value. */
static bool breaks_all(const FmtToken *t) {
    return t->kind == PREDICATE ||
           (t->kind == '=' && t[1].kind == STRING_LITERAL && t[2].kind == ';');
}

static uint16_t level_of(const Context *c, const FmtToken *t, Role role) {
    enum { LEVELS = 16 };
    uint32_t binds = binding(t->kind, role);
    if (t[1].ends_line && !t[1].newlines)
        return 0; /* the line ends after that comment */
    if (breaks_all(t))
        return FMT_FORCED;
    return (uint16_t)(binds ? c->depth * LEVELS + binds : 0);
}

/* ---- all of it ---- */

static void move_on(Context *c, const FmtToken *t, Role role) {
    if (opens(t->kind, role)) {
        c->depth += c->depth + 1 < MAX_DEPTH;
        c->choices[c->depth] = 0;
        c->angle[c->depth] = role == ROLE_OPEN;
    } else if (c->depth && (t->kind == ')' || t->kind == ']' || role == ROLE_CLOSE)) {
        c->depth--;
    } else if (t->kind == '?') {
        c->choices[c->depth]++;
    } else if (role == ROLE_CHOICE) {
        c->choices[c->depth]--;
    } else if (t->kind == ';' || t->kind == '{' || t->kind == '}' || t->kind == PREDICATE) {
        c->depth = 0;
        c->choices[0] = 0;
    }
    if (t->kind == ARROW && c->prev != ')')
        role = ROLE_PREFIX; /* of a member */
    c->prev = t->kind;
    c->prev_role = role;
}

static uint32_t columns_of(const char *text, const FmtToken *t) {
    uint32_t n = 0;
    for (uint32_t i = t->start; i < t->end; i++)
        n += ((uint8_t)text[i] & 0xc0) != 0x80;
    return n;
}

static bool is_hard(const char *text, const FmtToken *t) {
    return t->kind == FMT_LINE_COMMENT ||
           (t->kind == FMT_BLOCK_COMMENT && memchr(text + t->start, '\n', t->end - t->start));
}

/* Finds comments after which a line ends; before them are others, or code. */
static void find_ends(FmtTokens *tokens) {
    for (uint32_t i = tokens->len - 1; i--;) {
        FmtToken *t = &tokens->at[i], *next = t + 1;
        t->ends_line =
            fmt_is_comment(t) && (t->kind == FMT_LINE_COMMENT || next->newlines ||
                                  next->ends_line || next->kind == END || next->kind == '}');
    }
}

static void measure(const char *text, FmtTokens *tokens) {
    Context c = {.text = text};
    Vec(uint32_t) braces = {0};
    uint32_t columns = 0, hard = 0, broken = 0;
    for (uint32_t i = 0; i < tokens->len; i++) {
        FmtToken *t = &tokens->at[i];
        bool comment = fmt_is_comment(t);
        Role role = comment ? ROLE_NONE : role_of(&c, t);
        bool empty = t->kind == '}' && i && t[-1].kind == '{';
        t->space = space_before(&c, t, role);
        t->columns = columns;
        t->hard = hard;
        t->broken = broken;
        columns += t->space + columns_of(text, t);
        hard += is_hard(text, t);
        broken += t->newlines && starts_statement(c.prev) && !empty;
        if (comment || !t->kind)
            continue;
        t->level = level_of(&c, t, role);
        if (t->kind == '{')
            vec_push(&braces, i);
        if (t->kind == '}' && braces.len)
            tokens->at[braces.at[--braces.len]].close = i;
        move_on(&c, t, role);
    }
    assert(!braces.len);
    vec_free(&braces);
}

void fmt_tokens(Str text, const ScriptTokens *found, FmtTokens *out) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < found->len; i++) {
        const ScriptToken *t = &found->at[i];
        uint32_t newlines = gap_comments(text.ptr, at, t->start, out);
        add_token(out, (FmtToken){.start = t->start, .end = t->end, .kind = (int16_t)t->kind},
                  newlines);
        at = t->end;
    }
    uint32_t newlines = gap_comments(text.ptr, at, text.len, out);
    add_token(out, (FmtToken){.start = text.len, .end = text.len, .kind = END}, newlines);
    find_ends(out);
    measure(text.ptr, out);
}
