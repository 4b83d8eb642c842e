/*
 * fmt/fmt_lines.c - puts the tokens of a script on lines.
 *
 * All decisions depend on the tokens, their widths and the lines of the source where statements and
 * blocks begin and end, which stay: so formatted text is formatted to itself.
 */
#include "fmt/fmt_parts.h"
#include "whamm-parse.h"

#include <string.h>

/* A comment after the code of a line. Those of consecutive lines begin in one column. */
typedef struct Aside {
    size_t at;       /* in the output, before it is aligned */
    uint32_t code;   /* columns before it; 0: it goes on the comment of the line before */
    uint32_t column; /* where it begins, when its group has ended */
    uint32_t source; /* where a line comment begins in the source's line */
} Aside;

/* Where a statement can be broken. */
typedef struct Break {
    uint32_t after; /* this token */
    uint32_t end;   /* of the tokens up to the next break that is not of an inner level */
} Break;

typedef struct Lines {
    const char *text;
    const FmtToken *tokens;
    Buf out;
    uint32_t indent, column; /* of the current line */
    bool empty;              /* nothing is on it yet */
    Vec(Aside) asides;
    uint32_t group;       /* the first of those that are aligned with the next one */
    uint32_t least, most; /* columns of code in that group; 0: there is none */
    Vec(Break) breaks;
    Vec(uint32_t) stack;
} Lines;

static const FmtToken *token_at(const Lines *l, uint32_t i) {
    return &l->tokens[i];
}

/* The columns of the tokens [from, to) on one line, without a blank before them. */
static uint32_t columns(const Lines *l, uint32_t from, uint32_t to) {
    const FmtToken *first = token_at(l, from);
    return token_at(l, to)->columns - first->columns - (from < to && first->space);
}

/* Whether they can stand on one line, in which the source has them, too. */
static bool is_flat(const Lines *l, uint32_t from, uint32_t to) {
    return token_at(l, from)->hard == token_at(l, to)->hard &&
           token_at(l, from + 1)->broken == token_at(l, to)->broken;
}

static bool fits(const Lines *l, uint32_t from, uint32_t to, uint32_t indent) {
    return is_flat(l, from, to) && indent + columns(l, from, to) <= FMT_WIDTH;
}

/* ---- the output ---- */

/* Lets the comments of a group begin in one column. */
static void end_group(Lines *l) {
    enum { GAP = 4 };
    for (; l->group < l->asides.len; l->group++)
        l->asides.at[l->group].column = l->most + GAP;
    l->least = l->most = 0;
}

/* Begins a line, unless the current one is empty. */
static void fmt_line(Lines *l, uint32_t indent) {
    if (!l->empty)
        buf_u8(&l->out, '\n');
    if (indent != l->indent)
        end_group(l);
    l->indent = l->column = indent;
    l->empty = true;
}

static void blank_line(Lines *l) {
    fmt_line(l, l->indent);
    end_group(l);
    buf_u8(&l->out, '\n');
}

static void fmt_blanks(Buf *out, uint32_t n) {
    for (; n; n--)
        buf_u8(out, ' ');
}

/* Puts a comment of several lines: those with a star at the beginning are indented, others stay. */
static void put_block_comment(Lines *l, const FmtToken *t) {
    const char *at = l->text + t->start, *end = l->text + t->end;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *last = line ? line : end;
        const char *first = at;
        while (last > at && line && fmt_is_blank(last[-1]))
            last--;
        while (first < last && fmt_is_blank(*first))
            first++;
        bool star = at > l->text + t->start && first < last && *first == '*';
        if (star)
            fmt_blanks(&l->out, l->indent + 1);
        buf_bytes(&l->out, star ? first : at, (size_t)(last - (star ? first : at)));
        if (line)
            buf_u8(&l->out, '\n');
        at = line ? line + 1 : end;
    }
}

/* The column after a token at the current one. */
static uint32_t move_column(const Lines *l, const FmtToken *t) {
    uint32_t n = l->column;
    for (uint32_t i = t->start; i < t->end; i++)
        n = l->text[i] == '\n' ? 0 : n + (((uint8_t)l->text[i] & 0xc0) != 0x80);
    return n;
}

static void put_text(Lines *l, const FmtToken *t) {
    if (t->kind == FMT_BLOCK_COMMENT)
        put_block_comment(l, t);
    else
        buf_bytes(&l->out, l->text + t->start, t->end - t->start);
    l->column = move_column(l, t);
    l->empty = false;
}

static void put_token(Lines *l, uint32_t i) {
    const FmtToken *t = token_at(l, i);
    if (l->empty)
        fmt_blanks(&l->out, l->indent);
    else if (t->space) {
        buf_u8(&l->out, ' ');
        l->column++;
    }
    put_text(l, t);
}

/* Puts [from, to) on the current line. */
static void put_flat(Lines *l, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        put_token(l, i);
}

/* ---- comments ---- */

/* The column of a comment to the end of a line, in the source. */
static uint32_t source_column(const Lines *l, const FmtToken *t) {
    uint32_t n = 0;
    for (uint32_t i = t->start; i && l->text[i - 1] != '\n'; i--)
        n += ((uint8_t)l->text[i - 1] & 0xc0) != 0x80;
    return n;
}

/* Adds code up to this column to the group, if it differs little in width from the others there. */
static void add_to_group(Lines *l, uint32_t code) {
    enum { MOST = 24 };
    uint32_t least = !l->least || code < l->least ? code : l->least;
    uint32_t most = code > l->most ? code : l->most;
    if (most - least > MOST) {
        end_group(l);
        least = most = code;
    }
    l->least = least;
    l->most = most;
}

/* Puts a comment after the code of the current line. */
static void put_aside(Lines *l, uint32_t i) {
    const FmtToken *t = token_at(l, i);
    Aside a = {.at = l->out.len, .code = l->column};
    if (t->kind == FMT_LINE_COMMENT)
        a.source = source_column(l, t);
    if (a.code)
        add_to_group(l, a.code);
    vec_push(&l->asides, a);
    put_text(l, t);
}

/* Whether a token is a comment at the end of a line, after code. */
static bool is_aside(const Lines *l, uint32_t i) {
    return token_at(l, i)->ends_line && !token_at(l, i)->newlines;
}

/* Whether it goes on the comment of the line before, below that. */
static bool continues_aside(const Lines *l, uint32_t i) {
    const FmtToken *t = token_at(l, i);
    return t->kind == FMT_LINE_COMMENT && t->newlines == 1 && l->asides.len > l->group &&
           vec_last(&l->asides).source && vec_last(&l->asides).source == source_column(l, t);
}

/* Puts the comments from i that follow the current line; returns the token after them. */
static uint32_t put_asides(Lines *l, uint32_t i) {
    if (!is_aside(l, i))
        return i;
    put_aside(l, i);
    for (i++; is_aside(l, i); i++)
        put_token(l, i);
    for (; continues_aside(l, i); i++) {
        buf_u8(&l->out, '\n');
        l->column = 0;
        put_aside(l, i);
    }
    return i;
}

/* Puts a comment on a line of its own. */
static void put_own_line(Lines *l, uint32_t i, uint32_t indent) {
    fmt_line(l, indent);
    end_group(l);
    put_token(l, i);
}

/* ---- statements that are broken ---- */

/* Finds the breaks of the tokens [from, to). */
static void find_breaks(Lines *l, uint32_t from, uint32_t to) {
    l->breaks.len = l->stack.len = 0; /* on the stack: those whose end is not yet known */
    for (uint32_t i = from; i + 1 < to; i++) {
        if (!token_at(l, i)->level)
            continue;
        for (; l->stack.len; l->stack.len--) {
            Break *b = &l->breaks.at[vec_last(&l->stack)];
            if (token_at(l, b->after)->level < token_at(l, i)->level)
                break;
            b->end = i + 1;
        }
        vec_push(&l->stack, l->breaks.len);
        vec_push(&l->breaks, ((Break){.after = i, .end = to}));
    }
}

/* Whether the line ends at the nth break; the next one begins at `indent`. */
static bool is_broken(const Lines *l, uint32_t n, uint32_t to, uint32_t indent) {
    const Break *b = &l->breaks.at[n];
    uint32_t next = b->after + 1, column = l->column + token_at(l, next)->space;
    uint32_t width = columns(l, next, b->end);
    if (token_at(l, b->after)->level == FMT_FORCED)
        return true;
    if (column + width <= FMT_WIDTH)
        return false;
    if (indent + width <= FMT_WIDTH)
        return true;
    uint32_t end = n + 1 < l->breaks.len ? l->breaks.at[n + 1].after + 1 : to;
    return column + columns(l, next, end) > FMT_WIDTH;
}

/* Puts a statement, or what is before a block with its '{', on the current line and more. */
static void put_statement(Lines *l, uint32_t from, uint32_t to, uint32_t indent) {
    bool flat = token_at(l, from)->hard == token_at(l, to)->hard;
    if (flat &&
        l->column + (!l->empty && token_at(l, from)->space) + columns(l, from, to) <= FMT_WIDTH) {
        put_flat(l, from, to);
        return;
    }
    find_breaks(l, from, to);
    for (uint32_t i = from, n = 0; i < to; i++) {
        const FmtToken *t = token_at(l, i);
        if (fmt_is_comment(t) && t->newlines && i > from)
            fmt_line(l, indent + FMT_INDENT);
        if (is_aside(l, i) && !t[-1].ends_line && !l->empty)
            put_aside(l, i);
        else
            put_token(l, i);
        bool at_break = n < l->breaks.len && l->breaks.at[n].after == i;
        if ((t->ends_line && !is_aside(l, i + 1)) ||
            (at_break && is_broken(l, n, to, indent + FMT_INDENT)))
            fmt_line(l, indent + FMT_INDENT);
        n += at_break;
    }
}

/* ---- blocks ---- */

static void put_items(Lines *l, uint32_t from, uint32_t indent);

/* Puts a block after its '{', with its '}', each statement on a line. */
static void put_block(Lines *l, uint32_t brace, uint32_t indent) {
    uint32_t close = token_at(l, brace)->close, first = brace + 1;
    if (is_aside(l, first))
        end_group(l);
    first = put_asides(l, first);
    if (close > brace + 1) {
        put_items(l, first, indent + FMT_INDENT);
        fmt_line(l, indent);
    }
    put_token(l, close);
}

/* The '{' or ';' with which a statement, function or probe, or an arm of an `if`, begins its block
 * or ends. */
static uint32_t head_end(const Lines *l, uint32_t i) {
    while (token_at(l, i)->kind != '{' && token_at(l, i)->kind != ';')
        i++;
    return i;
}

/* The next arm of an `if` after the '}' at `close`, past the comments in between; 0 = none. */
static uint32_t next_arm(const Lines *l, uint32_t close) {
    uint32_t i = close + 1;
    while (fmt_is_comment(token_at(l, i)))
        i++;
    int kind = token_at(l, i)->kind;
    return kind == ELIF || kind == ELSE ? i : 0;
}

/* Where the statement, function or probe at i ends. */
static uint32_t end_of_item(const Lines *l, uint32_t i) {
    uint32_t close;
    do {
        uint32_t head = head_end(l, i);
        if (token_at(l, head)->kind == ';')
            return head + 1;
        close = token_at(l, head)->close;
        i = next_arm(l, close);
    } while (i);
    return close + 1;
}

/* Whether each arm of an `if` stands on a line of its own. */
static bool has_short_arms(const Lines *l, uint32_t from, uint32_t indent) {
    bool lines = false;
    for (uint32_t arm = from, next = from + 1, close; next; arm = next) {
        close = token_at(l, head_end(l, arm))->close;
        lines |= arm > from && token_at(l, arm)->newlines;
        if (!fits(l, arm, close + 1, indent))
            return false;
        next = next_arm(l, close);
    }
    return lines;
}

/* Puts the comments [from, to) between two arms. */
static void put_between(Lines *l, uint32_t from, uint32_t to, uint32_t indent) {
    for (from = put_asides(l, from); from < to; from++)
        put_own_line(l, from, indent);
}

/* Puts a statement with a block, a function or a probe. */
static void put_arms(Lines *l, uint32_t from, uint32_t indent) {
    bool are_short = has_short_arms(l, from, indent);
    for (uint32_t arm = from, next = from + 1; next; arm = next) {
        uint32_t brace = head_end(l, arm), close = token_at(l, brace)->close;
        if (are_short) {
            put_flat(l, arm, close + 1);
        } else {
            put_statement(l, arm, brace + 1, indent);
            put_block(l, brace, indent);
        }
        next = next_arm(l, close);
        if (next)
            put_between(l, close + 1, next, indent);
        if (next && (are_short || next > close + 1))
            fmt_line(l, indent);
    }
}

static void put_item(Lines *l, uint32_t from, uint32_t to, uint32_t indent) {
    fmt_line(l, indent);
    if (token_at(l, to - 1)->kind == ';')
        put_statement(l, from, to, indent);
    else
        put_arms(l, from, indent);
}

/* Whether the line of the source goes on at i with another statement. */
static bool row_goes_on(const Lines *l, uint32_t i) {
    const FmtToken *t = token_at(l, i);
    return t->kind != END && t->kind != '}' && !t->newlines && !t->ends_line;
}

/* Puts statements that share a line of the source on as few lines as they need; `split`: on a line
 * each. Returns the token after them. */
static uint32_t put_row(Lines *l, uint32_t from, uint32_t indent, bool split) {
    bool flat = false; /* the last one is all on the current line */
    do {
        uint32_t to = end_of_item(l, from), column = l->column + 1;
        if (flat && fits(l, from, to, column)) {
            put_flat(l, from, to);
        } else if ((flat = fits(l, from, to, indent))) {
            fmt_line(l, indent);
            put_flat(l, from, to);
        } else {
            put_item(l, from, to, indent);
        }
        from = to;
    } while (!split && row_goes_on(l, from));
    return from;
}

/* Puts all up to the end of the block or the script. */
static void put_items(Lines *l, uint32_t from, uint32_t indent) {
    bool split = indent && !token_at(l, from)->newlines;
    for (uint32_t i = from; token_at(l, i)->kind != '}' && token_at(l, i)->kind != END;) {
        const FmtToken *t = token_at(l, i);
        if (t->newlines > 1 && i > from)
            blank_line(l);
        if (t->ends_line) {
            put_own_line(l, i, indent);
            for (i++; is_aside(l, i); i++)
                put_token(l, i);
        } else {
            i = put_asides(l, put_row(l, i, indent, split));
        }
    }
}

/* ---- the script ---- */

/* Appends the lines with their comments aligned. */
static void put_aligned(const Lines *l, Buf *out) {
    size_t at = 0;
    for (uint32_t i = 0; i < l->asides.len; i++) {
        const Aside *a = &l->asides.at[i];
        buf_bytes(out, l->out.data + at, a->at - at);
        fmt_blanks(out, a->column - a->code);
        at = a->at;
    }
    buf_bytes(out, l->out.data + at, l->out.len - at);
}

void fmt_lines(const char *text, const FmtTokens *tokens, Buf *out) {
    Lines l = {.text = text, .tokens = tokens->at, .empty = true};
    buf_reserve(&l.out, vec_last(tokens).end + 1);
    put_items(&l, 0, 0);
    fmt_line(&l, 0);
    end_group(&l);
    put_aligned(&l, out);
    buf_free(&l.out);
    vec_free(&l.asides);
    vec_free(&l.breaks);
    vec_free(&l.stack);
}
