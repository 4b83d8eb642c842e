/*
 * scanner.c - the tokens of Whamm that depend on more than themselves, as src/lang/scan.c of the
 * compiler decides: where match rules start and predicates end, comments, which nest, texts with
 * values in them.
 *
 * Its only state is whether it is in a value in a text, where strings have \" around them.
 */
#include "tree_sitter/parser.h"

#include <stdlib.h>
#include <string.h>

/* In the order of `externals` in grammar.js. */
enum {
    BLOCK_COMMENT,
    RULE_START,
    PREDICATE_END,
    STRING_CONTENT,
    TEXT_CONTENT,
    INTERPOLATION_START,
    INTERPOLATION_END,
    QUOTED,
    FLOAT,
    NEVER /* never found */
};

typedef struct Scanner {
    bool in_interpolation;
} Scanner;

void *tree_sitter_whamm_external_scanner_create(void) {
    return calloc(1, sizeof(Scanner));
}

void tree_sitter_whamm_external_scanner_destroy(void *scanner) {
    free(scanner);
}

unsigned tree_sitter_whamm_external_scanner_serialize(void *scanner, char *buffer) {
    buffer[0] = ((Scanner *)scanner)->in_interpolation;
    return 1;
}

void tree_sitter_whamm_external_scanner_deserialize(void *scanner, const char *buffer,
                                                    unsigned length) {
    ((Scanner *)scanner)->in_interpolation = length && buffer[0];
}

static void advance(TSLexer *lexer) {
    lexer->advance(lexer, false);
}

static bool found(TSLexer *lexer, int token) {
    lexer->result_symbol = (TSSymbol)token;
    return true;
}

static bool is_one_of(int32_t c, const char *set) {
    return c > 0 && c < 0x80 && strchr(set, (char)c) != NULL;
}

static bool is_digit(int32_t c) {
    return c >= '0' && c <= '9';
}

static bool is_word(int32_t c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Past the rest of a comment, of which "/" has been read; false if it is none. */
static bool skip_comment(TSLexer *lexer) {
    if (lexer->lookahead == '/') {
        while (!lexer->eof(lexer) && lexer->lookahead != '\n')
            advance(lexer);
        return true;
    }
    if (lexer->lookahead != '*')
        return false;
    advance(lexer);
    for (unsigned depth = 1; depth && !lexer->eof(lexer);) {
        int32_t c = lexer->lookahead;
        advance(lexer);
        if (c == '/' && lexer->lookahead == '*')
            depth++;
        else if (c == '*' && lexer->lookahead == '/')
            depth--;
        else
            continue;
        advance(lexer);
        if (depth == 0)
            return true;
    }
    return false;
}

/* Past blanks and comments; false at a "/", which has been read then. */
static bool skip_blank(TSLexer *lexer) {
    for (;;) {
        while (is_one_of(lexer->lookahead, " \t\r\n"))
            advance(lexer);
        if (lexer->lookahead != '/')
            return true;
        advance(lexer);
        if (!skip_comment(lexer))
            return false;
    }
}

/* Past the ')' that belongs to the '(' that comes next; false if there is none before what no
 * bounds have. */
static bool skip_parens(TSLexer *lexer) {
    unsigned depth = 0;
    while (!lexer->eof(lexer) && !is_one_of(lexer->lookahead, ";{}\"")) {
        int32_t c = lexer->lookahead;
        advance(lexer);
        if (c == '/')
            skip_comment(lexer);
        depth += c == '(';
        depth -= c == ')';
        if (depth == 0)
            return true;
    }
    return false;
}

/* A match rule if a colon follows its first part. */
static bool scan_rule_start(TSLexer *lexer) {
    lexer->mark_end(lexer);
    while (is_word(lexer->lookahead) || is_one_of(lexer->lookahead, ".*+\\?|![]"))
        advance(lexer);
    if (!skip_blank(lexer))
        return false;
    if (lexer->lookahead == '(' && !(skip_parens(lexer) && skip_blank(lexer)))
        return false;
    return lexer->lookahead == ':' && found(lexer, RULE_START);
}

/* A comment, or the '/' after a predicate. */
static bool scan_slash(TSLexer *lexer, const bool *valid) {
    advance(lexer);
    lexer->mark_end(lexer);
    if (lexer->lookahead == '*') {
        if (!valid[BLOCK_COMMENT] || !skip_comment(lexer))
            return false;
        lexer->mark_end(lexer);
        return found(lexer, BLOCK_COMMENT);
    }
    if (lexer->lookahead == '/' || !valid[PREDICATE_END])
        return false;
    bool operand = skip_blank(lexer) &&
                   (is_word(lexer->lookahead) || is_one_of(lexer->lookahead, "(!~\"-@\\"));
    return !operand && found(lexer, PREDICATE_END);
}

/* The bytes of a string up to an escape or its end; those of a text up to a brace, too. */
static bool scan_content(TSLexer *lexer, int token) {
    const char *end = token == TEXT_CONTENT ? "\"\\{}" : "\"\\";
    bool any = false;
    for (; !lexer->eof(lexer) && !is_one_of(lexer->lookahead, end); any = true)
        advance(lexer);
    lexer->mark_end(lexer);
    return any && found(lexer, token);
}

/* The '{' before a value in a text; two of them are a brace. */
static bool scan_open_brace(TSLexer *lexer, Scanner *scanner) {
    advance(lexer);
    lexer->mark_end(lexer);
    if (lexer->lookahead == '{')
        return false;
    scanner->in_interpolation = true;
    return found(lexer, INTERPOLATION_START);
}

static bool scan_quoted(TSLexer *lexer) {
    for (unsigned quotes = 0; quotes < 2 && !lexer->eof(lexer) && lexer->lookahead != '"';) {
        bool escape = lexer->lookahead == '\\';
        advance(lexer);
        if (escape) {
            quotes += lexer->lookahead == '"';
            advance(lexer);
        }
        if (quotes == 2) {
            lexer->mark_end(lexer);
            return found(lexer, QUOTED);
        }
        if (quotes == 0)
            return false;
    }
    return false;
}

/* A float that only what follows shows: "1." unless it is the start of "1..2", -inf, -nan. */
static bool scan_float(TSLexer *lexer) {
    if (lexer->lookahead == '-')
        advance(lexer);
    bool digits = is_digit(lexer->lookahead);
    char word[4] = {0};
    for (unsigned n = 0; is_word(lexer->lookahead); n++) {
        if (digits && !is_digit(lexer->lookahead) && lexer->lookahead != '_')
            return false;
        if (n < sizeof word)
            word[n] = (char)(lexer->lookahead | 0x20);
        advance(lexer);
    }
    if (digits) {
        if (lexer->lookahead != '.')
            return false;
        advance(lexer);
    } else if (memcmp(word, "inf", sizeof word) != 0 && memcmp(word, "nan", sizeof word) != 0) {
        return false;
    }
    lexer->mark_end(lexer);
    if (digits && (is_word(lexer->lookahead) || lexer->lookahead == '.'))
        return false;
    return found(lexer, FLOAT);
}

bool tree_sitter_whamm_external_scanner_scan(void *scanner, TSLexer *lexer, const bool *valid) {
    Scanner *s = scanner;
    bool recovers = valid[BLOCK_COMMENT] && valid[STRING_CONTENT] && valid[RULE_START];
    if (valid[TEXT_CONTENT] && !recovers) {
        if (lexer->lookahead == '{')
            return scan_open_brace(lexer, s);
        return scan_content(lexer, TEXT_CONTENT);
    }
    if (valid[STRING_CONTENT] && !recovers)
        return scan_content(lexer, STRING_CONTENT);
    while (is_one_of(lexer->lookahead, " \t\r\n"))
        lexer->advance(lexer, true);
    if (lexer->lookahead == '/')
        return scan_slash(lexer, valid);
    if (valid[INTERPOLATION_END] && s->in_interpolation && lexer->lookahead == '}') {
        advance(lexer);
        lexer->mark_end(lexer);
        s->in_interpolation = false;
        return found(lexer, INTERPOLATION_END);
    }
    if (recovers)
        return false;
    if (valid[QUOTED] && s->in_interpolation && lexer->lookahead == '\\')
        return scan_quoted(lexer);
    if (valid[FLOAT] && (is_digit(lexer->lookahead) || lexer->lookahead == '-'))
        return scan_float(lexer);
    return valid[RULE_START] && !lexer->eof(lexer) && scan_rule_start(lexer);
}
