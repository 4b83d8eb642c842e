/*
 * fmt/fmt_parts.h - shared by the files of the formatter.
 */
#ifndef WHAMMC_FMT_FMT_PARTS_H
#define WHAMMC_FMT_FMT_PARTS_H

#include "lang/lang.h"

enum {
    FMT_WIDTH = 100,
    FMT_INDENT = 4,
    /* Kinds of tokens besides those of the grammar. */
    FMT_LINE_COMMENT = -1,
    FMT_BLOCK_COMMENT = -2,
};

/* A token or a comment. The last one of a script is END, at the end of the text. */
typedef struct FmtToken {
    uint32_t start, end; /* in the text; without blanks at the end of a comment */
    int16_t kind;
    uint16_t level;   /* a line can be broken after it; smaller ones are outer; 0 = it cannot */
    uint8_t newlines; /* before it: 0, 1, or 2 = a blank line */
    bool space;       /* there is a blank before it on one line */
    bool ends_line;   /* a comment with nothing but comments after it on its line */
    uint32_t close;   /* of '{': its '}' */
    /* Of all tokens before it: */
    uint32_t columns; /* on one line */
    uint32_t hard;    /* those after or in which a line must end */
    uint32_t broken;  /* those that begin a line of the source, where statements and blocks begin
                         and end */
} FmtToken;
typedef Vec(FmtToken) FmtTokens;

enum { FMT_FORCED = 1 }; /* FmtToken.level: the line is broken if it does not fit as a whole */

static inline bool fmt_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool fmt_is_comment(const FmtToken *t) {
    return t->kind < 0;
}

/* Joins the tokens of a text without syntax errors with its comments, and finds all that is known
 * of them before they are on lines. */
void fmt_tokens(Str text, const ScriptTokens *found, FmtTokens *out);
/* Appends the tokens on lines. */
void fmt_lines(const char *text, const FmtTokens *tokens, Buf *out);

#endif
