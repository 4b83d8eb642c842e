/*
 * lang/parse.h - interfaces between the scanner, the grammar and the tree's constructors. Private
 * to the parser, but for the kinds of tokens.
 *
 * Who does what:
 *
 *   grammar/whamm.l  characters to tokens, without context
 *   lang/scan.c      lang_yylex(), the context: where a match rule begins, where a predicate ends,
 *                    which braces are open
 *   grammar/whamm.y  the grammar; each action is one call of a constructor
 *   lang/build.c     the constructors
 *   lang/interpolate.c
 *                    the parts of texts to print
 *   lang/interval.c  probes that run at intervals
 *   lang/edge.c      probes of wasm:edge
 *   lang/stack_value.c
 *                    the value `stack`, name_of()
 *   lang/syntax.c    messages for syntax errors
 */
#ifndef WHAMMC_LANG_PARSE_H
#define WHAMMC_LANG_PARSE_H

#include "lang/lang.h"

/* A list under construction, in the arena. NULL is the empty list. */
typedef struct ListNode {
    void *item;
    Span span;
    struct ListNode *next;
} ListNode;

typedef struct List {
    ListNode *head, *last;
    uint32_t len;
} List;

/* A name or a pattern with its place. */
typedef struct Word {
    Str text;
    Span span;
} Word;

typedef enum ScanMode {
    SCAN_CODE,   /* statements and expressions */
    SCAN_RULE,   /* the parts of a match rule */
    SCAN_BOUNDS, /* the parenthesised bounds after a part */
} ScanMode;

enum {
    PARSE_MAX_NESTING = 200, /* open braces and parentheses */
    PARSE_MAX_BYTES = 16 << 20,
};

/* Whether a file is read without those that it includes. */
typedef enum ParseAlone {
    PARSE_WITH_ALL,
    PARSE_ALONE,         /* lang_check_syntax */
    PARSE_ALONE_JOINING, /* it includes one, so that any word may be the name of a package */
} ParseAlone;

/* The last tokens. */
typedef struct ParseTokens {
    int prev;                    /* the last one, 0 at the start */
    bool after_at;               /* the one before it is '@' */
    Span prev_span, before_span; /* of the last token, and of the one before it */
    Span first_span;             /* of the first token of the statement */
} ParseTokens;

/* Open brackets. */
typedef struct ParseOpen {
    Span braces[PARSE_MAX_NESTING];
    uint32_t nbraces, nparens, nangles;
    uint32_t closing;    /* so many '}' are to be made up, since a new probe began */
    uint32_t last_block; /* where the last probe or function ended */
} ParseOpen;

typedef struct Parse {
    Script *script;
    Diags *diags;
    const char *text;
    uint32_t len;
    DiagFileId file;
    struct Parse *outer; /* of the file that includes this one, or NULL */
    bool made;           /* the text is our own, not the user's (build_made) */
    ParseAlone alone;
    void *scanner;
    uint32_t pos; /* offset of the next byte that the scanner reads */

    ScanMode mode;
    bool in_predicate;
    ParseTokens token;
    ParseOpen open;
    bool stop;   /* nothing more is read: nested too deeply */
    bool at_end; /* the text ended inside a block */

    uint32_t comment_depth, string_start;
    Buf string;       /* the string literal that is being read */
    Stmt *last_stmt;  /* of the script scope */
    List *salvaged;   /* arms of an if before an error */
    Vec(Stmt *) told; /* of the outermost file: blocks that tell what `limit` has left out; they
                         come last */
    bool failed, too_deep;
    Expr **part; /* gets an expression that is read by itself, of a text; NULL: all is read */
} Parse;

/* ---- scanner ---- */

union LANG_YYSTYPE;
/* Flex's scanner, and the one that bison calls, which adds the context of scan.c. */
int lang_scan(union LANG_YYSTYPE *value, Span *span, void *scanner);
int lang_yylex(union LANG_YYSTYPE *value, Span *span, Parse *p);

/* For the actions of grammar/whamm.l. */
void token_place(Parse *p, Span *span, uint32_t len);
void token_cut(Parse *p, Span *span, uint32_t excess);
int token_number(const Parse *p, const char *text, uint32_t len, uint32_t *keep);
void token_bad_number(Parse *p, Span span);
void token_bad_char(Parse *p, const Span *span);
/* Text in quotes that are not '"': reported, and taken for a string. */
void token_bad_quotes(Parse *p, Span span);
void token_open_comment(Parse *p);
void token_string_start(Parse *p, Span span);
void token_escape_char(Parse *p, char c);
void token_escape_code(Parse *p, Span span, const char *hex, uint32_t len);
void token_bad_escape(Parse *p, Span span);
void token_open_string(Parse *p);

/* A character of words: a letter, a digit or '_'. */
bool parse_is_word(char c);
/* Whether a word stands for values of the program that have names: args, locals, this. */
bool parse_has_members(Str word);
/* The end of the comment at `at`; comments in slashes and stars may have others in them. */
uint32_t parse_comment_end(const char *text, uint32_t at, uint32_t len);
/* Whether an operand can end with a token of this kind. */
bool token_ends_operand(int token);

/* Parses the expression that is the text from `from` to `to`, which is no expression of the script
 * by itself. NULL after an error. */
Expr *parse_part(Parse *p, uint32_t from, uint32_t to);
/* Finds the parts of texts to print, when the script has been read. */
void interpolate(Parse *p);

/* ---- messages ---- */

/* An error of the parser; lang_parse() will give false. */
Diag *parse_error(Parse *p, DiagTag tag, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports a token that does not fit: the token found, and the n names (aliases in grammar/whamm.y)
 * of tokens that could follow. */
void syntax_error(Parse *p, Span span, const char *found, const char *const *expected, uint32_t n);
/* A statement without its ';' before the token at `found` (empty: made up). */
void missing_semicolon(Parse *p, const Stmt *s, Span found);
/* Bison's own: the stack is full. */
void lang_yyerror(const Span *span, Parse *p, const char *message);

/* ---- constructors ---- */

/* Appends an item with its span to a list; NULL = the empty list. */
List *list_add(Parse *p, List *list, void *item, Span span);

/* A token, as a word or an expression. */
Word build_word(Parse *p, Span span);
/* A word that may name something in a package, "alloc.live". */
Word build_id(Parse *p, Span span);
Expr *build_int(Parse *p, Span span);
Expr *build_float(Parse *p, Span span);
Expr *build_string(Parse *p, Span span);
Expr *build_bool(Parse *p, Span span, bool value);
Expr *build_name(Parse *p, Word name);
/* path: the fields after it, or NULL. */
Expr *build_index(Parse *p, Span span, Word name, Expr *key, List *path);
Expr *build_field(Parse *p, Span span, Word name, List *path);
/* The tag of a value, arg0.tag; a member of args, locals and this. */
Expr *build_tag(Parse *p, Span span, Word value, Word tag);
Expr *build_member(Parse *p, Span span, Expr *of, Word name);
Expr *build_item(Parse *p, Span span, Expr *of, Expr *index);
Expr *build_unary(Parse *p, Span span, Op op, Expr *a);
Expr *build_binary(Parse *p, Span span, Op op, Expr *a, Expr *b);
/* -a; `minus` is the place of the sign. */
Expr *build_minus(Parse *p, Span minus, Expr *a);
Expr *build_cast(Parse *p, Span span, Expr *a, const Type *to);
Expr *build_cond(Parse *p, Span span, Expr *cond, Expr *yes, Expr *no);
Expr *build_call(Parse *p, Span span, Word name, List *args);
Expr *build_method(Parse *p, Span span, Word receiver, Word name, List *args);
/* The same of an element of a map. */
Expr *build_element_method(Parse *p, Span span, Expr *receiver, Word name, List *args);
/* `delete m[k]`, `k in m`: a method of the map. */
Expr *build_map_call(Parse *p, Span span, Expr *map, const char *name, Expr *key);
Expr *build_annotated(Parse *p, Span span, Word annotation, Expr *call);
Expr *build_tuple(Parse *p, Span span, List *entries);
Expr *build_parens(Span span, Expr *inner);

/* Types; type_error after an error. */
const Type *build_tuple_type(Parse *p, Span span, List *fields);
const Type *build_array_type(Parse *p, const Type *value, Span length);
const Type *build_map_type(Parse *p, Span span, const Type *key, const Type *value);
/* An aggregation; arguments are types, or NULL for numbers. */
const Type *build_aggregate(Parse *p, Span span, Span name, List *args);

/* Decorators: a bit set and the span of all. */
typedef struct Decorators {
    uint32_t bits;
    Span span;
} Decorators;
/* Adds a decorator; reports one that is there. */
Decorators build_decorator(Parse *p, Decorators so_far, uint32_t bit, Span span);
/* Declarations and statements. */
Var *build_var(Parse *p, Decorators decorators, Word name, const Type *type, Span type_span);
/* Elements of a type, one `per` so many bytes of a memory. */
Var *build_shadow(Parse *p, Decorators decorators, Word name, const Type *element, Span type_span,
                  Span bytes);
/* Elements for each byte of memory 0 and for each value. */
Var *build_shadow_value(Parse *p, Decorators decorators, Word name, const Type *element,
                        Span type_span);
/* The declaration of a derived column. */
Stmt *build_derived(Parse *p, Span span, Word name, const Type *type, Span type_span, Expr *value);
Var *build_constant(Parse *p, Decorators decorators, Word name, const Type *type, Span type_span);
Stmt *build_decl(Parse *p, Span span, Var *var, Expr *init);
Stmt *build_assign(Parse *p, Span span, Expr *target, Expr *value);
/* `target op= by` */
Stmt *build_update(Parse *p, Span span, Expr *target, Op op, Expr *by);
Stmt *build_step(Parse *p, Span span, StmtKind kind, Expr *target);
Stmt *build_return(Parse *p, Span span, Expr *value);
Stmt *build_call_stmt(Parse *p, Span span, Expr *call);
Stmt *build_annotated_block(Parse *p, Span span, Word annotation, Block body);
/* A call of print that is made every n times, or at most n times. */
Stmt *build_paced(Parse *p, Span span, Expr *call, bool every, Expr *n);
Stmt *build_if(Parse *p, Span span, List *arms, const Block *otherwise);
/* `break`, `continue`. */
Stmt *build_jump(Parse *p, Span span, StmtKind kind);
Stmt *build_while(Parse *p, Span span, Expr *condition, Block body);
/* for (name in from..to): of a loop with a variable and its limit. */
Stmt *build_for(Parse *p, Span span, Word name, Expr *from, Expr *to, Block body);
/* for (key in map), for (key, value in map); value: NULL = there is none. */
Stmt *build_for_keys(Parse *p, Span span, Word key, const Word *value, Expr *map, Block body);
IfArm *build_arm(Parse *p, Expr *cond, Block body);
/* A block under construction: `last` is its end. */
typedef struct StmtList {
    Stmt *first, *last;
    bool incomplete;
} StmtList;
/* NULL stands for an unreadable statement. */
StmtList build_stmts(StmtList list, Stmt *stmt);
/* Adds a last statement that has no ';' before the '}' at `brace`. */
StmtList build_unended(Parse *p, StmtList list, Stmt *stmt, Span brace);
Block build_block(StmtList list);

/* The number of the package that is read, 0 = none. */
uint32_t parse_package(const Parse *p);
/* Parses one file of a script; `p` says which. */
void parse_file(Parse *p);

/* Adds an item at script scope to the script. */
void build_include(Parse *p, Span span, const Expr *path);
/* Reads text of our own as if the script had it at `where`; the text lives as long as the script.
 * Names in it that end with '_' are no script's; methods are functions of bundled libraries. */
void build_made(Parse *p, Span where, const char *text);
/* Reads the package of a name, "std.alloc", if the script does not have it; it is called `alias`
 * here. */
void include_package(Parse *p, Span span, Str name, Word alias);
void build_use(Parse *p, Word name);
/* `use std.alloc;`: the names of the path; `alias`: what it is called here, NULL = the last one. */
void build_use_package(Parse *p, Span span, const List *path, const Word *alias);
void build_script_stmt(Parse *p, Stmt *stmt);
void build_fn(Parse *p, Span span, Word name, List *params, const Type *result, Span result_span,
              Block body);
void build_probe(Parse *p, Span span, Rule *rule, Expr *predicate, Block body);
/* A probe of wasm:interval: keeps its body as a function, which polls call. False: the rule is for
 * other events. */
bool build_interval(Parse *p, const Rule *rule, Expr *predicate, Block body);
/* When the whole script has been read: what polls do. */
void build_intervals(Parse *p);
/* Then, too: probes of block:start in place of those of wasm:edge. */
void build_edges(Parse *p);
/* Then, too: calls in place of the value `stack` and of name_of(), and what keeps them. */
void build_stack(Parse *p);
Rule *build_rule(Parse *p, Span span, Rule *first, Rule *next);
Rule *build_part(Parse *p, Span span, Word pattern, List *bounds);

/* Unreadable text: notes the names that it may have declared. Returns the statement that was read
 * before the mistake, or NULL. */
Stmt *build_broken(Parse *p, Span span);
/* Keeps the arms of an if that an error takes off the parser's stack for build_broken. */
void build_salvage(Parse *p, List *arms);
/* Blocks after unreadable text, as arms of an if. */
List *build_broken_arm(Parse *p, List *arms, Span span, Block body);
Stmt *build_broken_if(Parse *p, Span span, List *arms);
/* A function or a probe with unreadable text before its block. */
void build_broken_fn(Parse *p, Span span, Word name, Span error, Block body);
void build_broken_probe(Parse *p, Span span, Rule *rule, Span error, Block body);
/* Statements of a block whose head is unknown: kept as a probe without a rule. */
void build_orphans(Parse *p, Stmt *first);
/* A '}' without its '{': the items before it may belong into a block that was closed too early. */
void build_stray_brace(Parse *p, Span error);
/* Checks that concern the whole script: it has a probe. */
void build_script_end(Parse *p, Span end);

#endif
