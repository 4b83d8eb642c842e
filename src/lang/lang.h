/*
 * lang/lang.h - the front end: parse scripts. See ast.h for the tree; check/ checks it.
 */
#ifndef WHAMMC_LANG_LANG_H
#define WHAMMC_LANG_LANG_H

#include "lang/ast.h"

/*
 * Parses a script, of which at most `includer` is set. `text` is borrowed and must outlive the
 * script. Several syntax errors are reported in one run (recovery at ';' and '}'). Always returns a
 * script, which can be checked even if a part of it is missing; release with script_free. False if
 * there was a syntax error.
 */
bool lang_parse(Script *s, const char *text, size_t len, DiagFileId file, Diags *diags);
void script_free(Script *s);

/* Checks only the syntax of a file of a script, which needs no probe. Files that it includes are
 * not read. */
bool lang_check_syntax(const char *text, size_t len, DiagFileId file, Diags *diags);

/* A token; kinds are those of grammar/whamm.y. */
typedef struct ScriptToken {
    uint32_t start, end; /* in the text */
    int kind;
} ScriptToken;
typedef Vec(ScriptToken) ScriptTokens;
/* Appends the tokens of a text whose syntax is right, or else those before what is wrong. Blanks
 * and comments are between them. */
void lang_tokens(const char *text, size_t len, ScriptTokens *out);

/* A file that a script includes. */
typedef struct IncludedFile {
    const char *name; /* for messages; the same name is the same file */
    const char *text;
    size_t len;
    const char *problem; /* why it cannot be read; NULL = it is not there */
} IncludedFile;

/* Finds the files that scripts include; Script.includer. */
typedef struct Includer {
    /* The file that `from`, the name of a script or file, includes by this path. Name and text must
     * outlive the script. False: there is none. */
    bool (*find)(void *ctx, const char *from, const char *path, IncludedFile *out);
    void *ctx;
    const char *hint; /* where it looks; NULL = it has no files */
} Includer;

/*
 * Sets a constant of a parsed, unchecked script to another value: `definition` is NAME=VALUE, the
 * text of `file`; it is borrowed and must outlive the script. A str is VALUE as it is, others are
 * written as in scripts. False if the script has no such constant; a value that is none of the
 * constant's type is reported, here or when the script is checked.
 */
bool lang_define(Script *s, Str definition, DiagFileId file, Diags *diags);

/*
 * Leaves something out of a parsed, unchecked script, to measure its cost. Without predicates, each
 * probe's body runs wherever its rule matches, but for alt. Without reports, no variable is
 * reported and there are no wasm:report probes; all variables are where they were.
 */
void lang_leave_out_predicates(Script *s);
void lang_leave_out_reports(Script *s);

/* Returns whether a rule may match alt probes, whose code is part of the program. */
bool lang_may_be_alt(const Rule *r);

/*
 * Lets the report of a parsed, unchecked script have further variables: how often each statement,
 * each body of a probe, and each event of a probe with a predicate occurred. They are named
 * "(statement FILE:LINE:COLUMN)", "(function ...)" in functions, "(probe ...)" and "(event ...)".
 * Functions that predicates or constants may call are left out, as they must have no effects.
 */
void lang_count_statements(Script *s, Diags *diags);

/* Writes the tree as an S-expression, for tests and debugging (typed if checked). */
void lang_dump(const Script *s, Buf *out);
/* The same for one probe, such as a checked clone. */
void lang_dump_probe(const Probe *p, Buf *out);

/* The nth word that the grammar has as a token of its own, such as "while"; NULL after the last.
 * Static storage. */
const char *lang_keyword(uint32_t n);

/* ---- words of other languages (hint.def) ---- */

/* Where a word is that has no meaning there. */
typedef enum HintPlace {
    HINT_STATEMENT,    /* the first word of unreadable text */
    HINT_START,        /* where a statement begins */
    HINT_TARGET,       /* after an assignable expression */
    HINT_OPERATOR,     /* where an operator can stand */
    HINT_PREFIX,       /* a word before a second operand */
    HINT_OPERAND,      /* where an operand is expected */
    HINT_DECLARATION,  /* after the type of a declaration */
    HINT_UNTYPED,      /* after the name in a declaration, instead of ':' */
    HINT_RESULT,       /* after the parameters of a function */
    HINT_BLOCK,        /* instead of '{' */
    HINT_TYPE,         /* where a type is expected */
    HINT_NAME,         /* a name that is not declared */
    HINT_FUNC_NAME,    /* the same in probes on functions */
    HINT_CALL,         /* a function that does not exist */
    HINT_LIBRARY,      /* before a dot */
    HINT_STR_METHOD,   /* a method that str does not have */
    HINT_MAP_METHOD,   /* a method of a map */
    HINT_ARRAY_METHOD, /* ... of an array */
    HINT_ARGUMENT,     /* a built-in function that takes no str here */
    HINT_STR_OPERATOR, /* an operator on str */
    HINT_CONSTANT,     /* "value": no literal; "block": in a block */
    HINT_CHARACTER,    /* a character without a meaning */
    HINT_AT_SIGN,      /* '@' without an annotation */
    HINT_PROVIDER,     /* the first part of a rule */
    HINT_PACKAGE,      /* the second part */
    HINT_FUNC_EVENT,   /* the third part, after func */
    HINT_OPCODE_EVENT, /* the third part, after opcode */
} HintPlace;

/* Whether there is a hint for a word. */
bool hint_exists(HintPlace place, Str word);
/* Adds the hint for a word; false if there is none. */
bool hint_add(Diags *d, Diag *g, HintPlace place, Str word);
/* The same for the longest word or operator of the table with which the text begins. */
bool hint_add_longest(Diags *d, Diag *g, HintPlace place, Str text);

#endif
