/*
 * lang/ast.h - the tree of a script, and the annotations of the checker.
 *
 * Invariants:
 *
 *   - Only the parser makes nodes; each has the span of its source text. All live in the script's
 *     arena.
 *   - After parsing, types are NULL and names unresolved. check_script() resolves and types
 *     script-scope statements and functions in place.
 *   - Probe bodies and predicates are typed by check_probe(), which works on a *clone* of the
 *     probe, since a glob can match events on which the same name has different types: one clone
 *     per combination of types.
 *   - Where the text does not follow the grammar, the tree has the readable parts; `broken` and
 *     `incomplete` mark where something is missing, and the checker reports no errors that may be
 *     due to that.
 *   - In checked trees a constant is replaced by its value (Expr.var is the constant); only its
 *     declaration remains.
 *   - In a checked tree every Expr has a type; literals have the type that their context requires,
 *     so that generators need no conversions other than EXPR_CAST.
 */
#ifndef WHAMMC_LANG_AST_H
#define WHAMMC_LANG_AST_H

#include "base/diag.h"

/* ---- types ---- */

/* In the order in which reports group them. */
typedef enum TypeKind {
    TYPE_U8,
    TYPE_I8,
    TYPE_U16,
    TYPE_I16,
    TYPE_U32,
    TYPE_I32,
    TYPE_F32,
    TYPE_U64,
    TYPE_I64,
    TYPE_F64,
    TYPE_BOOL,
    TYPE_STR,
    TYPE_FUNCREF,
    TYPE_TUPLE,
    TYPE_MAP,
    TYPE_UNIT,  /* no value: calls without result */
    TYPE_ERROR, /* already reported; fits everything */
} TypeKind;

/* The aggregations of type.def, in its order. */
typedef enum AggregateId {
    AGG_NONE,
#define AGGREGATE(id, name, text, doc) AGG_##id,
#include "lang/type.def"
} AggregateId;

/* Types are interned: equal types are the same pointer. */
typedef struct Type {
    TypeKind kind;    /* of an aggregation that of its representation: a number, a tuple or a map */
    const char *text; /* as written, no blanks: "map<(u32,u32),i32>" */
    uint32_t nfields; /* TYPE_TUPLE */
    const struct Type **fields;
    const struct Type *key, *value; /* TYPE_MAP */
    uint32_t length;                /* ... of an array, which is a map from u32; else 0 */
    uint32_t depth; /* 0 of scalars; limited, so walking over a type needs no care */
    AggregateId aggregate;
    const struct Type *added; /* of an aggregation: the type of what is added; count: NULL */
    int64_t steps[3];         /* lhist: least, most, step; top: the N */
} Type;

extern const Type type_scalar[TYPE_FUNCREF + 1]; /* by kind */
extern const Type type_unit, type_error;

/* The number class of a type. */
bool type_is_integer(const Type *t);
bool type_is_float(const Type *t);
bool type_is_numeric(const Type *t); /* integer or float; bool is not */
bool type_is_signed(const Type *t);  /* i8..i64 and floats */
uint32_t type_bits(const Type *t);   /* 8, 16, 32, 64 of numeric types and bool (8) */
/* The Wasm type of values of t as a letter: i i32, l i64, f f32, d f64, r funcref; 0 = not one Wasm
 * value. */
char type_wasm_class(const Type *t);
/*
 * A tuple is handled as its leaves: the fields of its fields, in order, down to fields that are no
 * tuples. Any other type is its own only leaf; &type_unit has none.
 */
uint32_t type_leaves(const Type *t);
const Type *type_leaf(const Type *t, uint32_t n);
/* The leaf at which the field at the end of a path begins, and its type. */
uint32_t type_path(const Type *t, const uint32_t *path, uint32_t npath, const Type **field);
/* A scalar type by its name ("u8" ... "funcref"), or NULL. */
const Type *type_by_name(Str name);
/* An aggregation by its name, or AGG_NONE; its name. */
AggregateId aggregate_by_name(Str name);
const char *aggregate_name(AggregateId id);
/* The buckets of a hist or lhist: those outside of an lhist's bounds included. */
uint32_t type_buckets(const Type *t);
/* The lower bound of the bucket of a number of 64 bits; the smallest one of the type if there is
 * none. */
uint64_t type_bucket(const Type *t, uint64_t number);

/* ---- variables ---- */

typedef enum Storage {
    STORAGE_LOCAL,    /* one execution of a probe body or fn */
    STORAGE_SCRIPT,   /* script scope: the whole run */
    STORAGE_UNSHARED, /* one per match site */
    STORAGE_SHARED,   /* one per probe */
    STORAGE_FRAME, /* one per activation of the function; the same name is the same variable in all
                      probes */
} Storage;

/* Decorators as written; the checker decides their meaning, which depends on the scope. */
enum {
    DECO_REPORT = 1,
    DECO_UNSHARED = 2,
    DECO_SHARED = 4,
    DECO_FRAME = 8,
    DECO_ATOMIC = 16,
    DECO_SHADOW = 32
};

typedef struct Var {
    Str name;
    uint32_t decorators; /* DECO_... */
    Span decorator_span; /* of all decorators */
    Span type_span;
    const Type *type;
    Storage storage;
    bool report;
    bool atomic;         /* all threads of a program have one value */
    const Type *element; /* of a shadow memory, whose value is a number of the runtime; else NULL */
    uint8_t unit_log;    /* ... with one element for 1 << unit_log bytes */
    bool tags;           /* ... and one for each value of the program */
    bool param;          /* a parameter of a fn */
    bool loop;           /* of a loop: visible in it, and assigned by it alone */
    bool derived;      /* a column that readers of reports compute (init), as `formula` says; in no
                          list of variables */
    Str formula;       /* ... set by the checker: init in postfix form (lang/derived.def) */
    bool constant;     /* `const`: where it is used the checker puts its value, a literal (init) */
    bool escapes;      /* for later layers: a map that is used as a whole */
    bool computed;     /* ... a map with keys that are known only at run time */
    uint32_t cells;    /* ... 1 + index of a map that is cells; 0 = it is not */
    Span span;         /* of the name in its declaration */
    struct Expr *init; /* NULL = zero */
    struct NumberList *list; /* of a constant: its numbers (list.h), if anything uses them */
    uint32_t
        index; /* 0.. among variables of its scope (script, fn, probe), in order of declaration */
    /* The '@init' or '@exit' block that declares it, or NULL. */
    const struct Stmt *within;
} Var;

/* ---- expressions ---- */

/* The deepest nesting of expressions and blocks; the parser reports deeper ones. */
enum { LANG_MAX_DEPTH = 400 };

typedef enum ExprKind {
    EXPR_INT,
    EXPR_FLOAT,
    EXPR_BOOL,
    EXPR_STR,
    EXPR_NAME,  /* a variable, or a bound name */
    EXPR_INDEX, /* name[a[0]], the element at a key; or a field of it, name[a[0]].path */
    EXPR_FIELD, /* name.path */
    EXPR_UNARY,
    EXPR_BINARY,
    EXPR_CAST,
    EXPR_COND,   /* a[0] ? a[1] : a[2] */
    EXPR_CALL,   /* name(args): fn, built-in or bound function */
    EXPR_METHOD, /* recv.name(args): library function or string method; annotation */
    EXPR_TUPLE,  /* args */
    EXPR_MEMBER, /* a[0].name or a[0]->name; a[0][a[1]], then without name: of a value of the
                    program. None in checked trees (check/check_access.c) */
    EXPR_BROKEN, /* not kept; its error was reported */
} ExprKind;

typedef enum Op {
    OP_NOT,
    OP_COMPLEMENT, /* unary ! ~ */
    OP_LOG2,       /* log2(n), a function to scripts */
    OP_ABS,        /* these are functions, too */
    OP_CLZ,
    OP_CTZ,
    OP_POPCNT,
    OP_BUCKET, /* the lower bound of the bucket of a number; `cast` is the hist or lhist */
    OP_AND,
    OP_OR, /* && || */
    OP_BITOR,
    OP_BITXOR,
    OP_BITAND,
    OP_EQ,
    OP_NE,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_SHL,
    OP_SHR,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_REM,
    OP_MIN, /* functions to scripts */
    OP_MAX,
} Op;
/* The operator as scripts write it. */
const char *op_text(Op op);

/* The methods of str, of an atomic variable, of maps and of aggregations. */
typedef enum StrMethod {
    STR_NO_METHOD,
#define METHOD(id, name, argument, result, reserved, doc) STR_##id,
#include "lang/function.def"
    ATOMIC_FETCH_ADD,
    METHOD_ADD, /* statements that the checker replaces */
    METHOD_CLEAR,
#define MAP_METHOD(id, name, takes_key, result, changes, doc) MAP_##id,
#include "lang/function.def"
    MAP_KEYS, /* of loops: the keys of a map; whether there is a next one of args[1]; it */
    MAP_NEXT,
    MAP_KEY,
} StrMethod;
#define MAP_KEYS_TEXT "(keys)" /* the name of MAP_KEYS before it is checked */

typedef enum Annotation { ANN_NONE, ANN_STATIC, ANN_INIT, ANN_EXIT } Annotation;

/* The meaning of a bound name. The numbers are those of the scope that resolved it (event/). */
typedef struct Bound {
    int id;         /* which name */
    uint32_t n;     /* N of argN, resN, localN, immN */
    bool is_static; /* a constant at each site */
    bool assignable;
    bool literal;     /* an integer that is the same wherever the event happens (`value`: bytecode,
                         category_id, data_size): like an int literal it takes the type that its context
                         wants; without a context it has `type` */
    bool widens;      /* the number of an instruction like i32.const: it takes any type of its class
                         that is at least as wide as `type` */
    uint64_t value;   /* of a literal */
    bool boundable;   /* typed, but a type bound may state another type */
    bool only_bound;  /* it has no value: only type bounds may speak of it */
    bool of_code;     /* a function that acts on the instruction where it is called */
    bool yields;      /* a variable of the script may have this name, and hides it */
    bool reads;       /* a function that reads the program's memory when it is called */
    const Type *type; /* NULL = open: needs a type bound in the rule */
} Bound;

/* An argument of a call whose text has values in braces, "{n:x}" (interpolate.c). */
typedef struct TextPart {
    bool literal; /* text as it is */
    bool zero;    /* the width is filled up with zeros */
    bool prefix;  /* 0x and so on */
    char align;   /* '<' '>' '^'; 0 = that of the type */
    char form;    /* 'x' 'X' 'b' 'o' 'e' '?'; 0 = the plain one */
    uint8_t width;
    int8_t precision; /* -1 = none */
    Span format;      /* empty: none */
} TextPart;

typedef struct Expr {
    ExprKind kind;
    Span span;
    uint32_t depth; /* of the tree below; at most LANG_MAX_DEPTH, so walking over it may recurse */
    bool parens;    /* written as ( expr ) */
    const Type *type; /* set by the checker */
    Str name;         /* NAME, INDEX, FIELD, CALL, METHOD: the (function's) name */
    Span name_span;
    Str recv; /* METHOD: the part before the dot: a library, or a name of type str */
    Span recv_span;
    StrMethod method; /* METHOD of a str, a map or an atomic variable, set by the checker, which
                         also puts the receiver before the arguments (a[0]) */
    bool received;    /* METHOD: the parser has put it there */
    bool bundled;     /* METHOD: the parser has made it, of a bundled library */
    const struct NumberList *list; /* METHOD: STR_LISTS: the numbers of the list a[0] (list.h) */
    Annotation annotation;
    Op op;
    const Type *cast; /* CAST: the target */
    uint64_t integer; /* INT: magnitude; after checking: the value's bits in the width of `type`
                         (sign-extended to 64) */
    bool negative, too_big; /* INT before checking: sign; does not fit 64 bits */
    double real;  /* FLOAT (also of an INT literal in a float context, kind becomes FLOAT) */
    Str text;     /* FLOAT: as written; STR: decoded bytes */
    bool boolean; /* BOOL */
    uint32_t nargs;
    struct Expr **args;    /* operands, arguments, tuple entries */
    const TextPart *parts; /* CALL: what the arguments are, made of a text; NULL = it has none */
    uint32_t npath;        /* FIELD, INDEX (0 = the element as a whole) */
    uint32_t *path;
    /* Resolution. At most one is set. */
    Var *var; /* of a literal: the constant that it is the value of; of the argument of
                 remove_probe: the variable that hides the bound name (plan/removal.h) */
    struct Fn *fn;
    bool is_bound; /* NAME: bound is valid. CALL: a bound or built-in function, bound.id says which
                    */
    Bound bound;
    bool is_static; /* set by the checker: the value is a constant at each site */
    uint32_t
        slot; /* for later layers: 1 + index of the site constant that stands for it; 0 = none */
    struct Value *known; /* for later layers: the value that an '@static' call has had */
    bool inserts; /* INDEX: reading the element inserts it, as zeros or as an empty map; in the
                     first operand of an assigned value: the target itself, as x op= e reads it */
    bool present; /* for later layers: an element that must be in its map already, or is without
                     more when it is written */
    /* For later layers: an element that only counts. */
    bool targets; /* the key is the number of a br_table's target */
    bool tally;   /* the key is small, so that an array may count (storage/tally.h) */
} Expr;

/* ---- statements ---- */

typedef enum StmtKind {
    STMT_DECL,
    STMT_ASSIGN,
    STMT_INC,
    STMT_DEC,
    STMT_RETURN,
    STMT_IF,
    STMT_CALL,
    STMT_ANNOTATED, /* @init { }, @exit { }: one arm without a condition */
    STMT_LOOP,
    STMT_BREAK,
    STMT_CONTINUE
} StmtKind;

/* The arms of a loop. Only the second has a condition: while it holds, that arm and then the third
 * are executed. */
enum { LOOP_INIT, LOOP_BODY, LOOP_STEP, LOOP_ARMS };

typedef struct Block {
    struct Stmt *first; /* linked by next */
    bool incomplete;    /* has unreadable statements */
} Block;

typedef struct IfArm {
    Expr *cond; /* NULL = else */
    Block body;
} IfArm;

typedef struct Stmt {
    StmtKind kind;
    Span span;
    struct Stmt *next;
    Var *var;     /* DECL */
    Expr *target; /* ASSIGN, INC, DEC: NAME, INDEX or FIELD */
    Expr *value;  /* ASSIGN, RETURN (NULL = none), CALL */
    bool updates; /* ASSIGN before checking: `target op= e`, as target = target op e with one target
                   */
    const Expr
        *added;     /* for later layers: ASSIGN: the amount added to an element (storage/tally.h) */
    uint32_t narms; /* IF, ANNOTATED, LOOP */
    IfArm *arms;
    Annotation annotation; /* ANNOTATED; ANN_NONE after an error */
    bool broken;           /* IF: blocks of something unreadable; the conditions mean nothing */
} Stmt;

/* ---- derived columns ---- */

/* The choice between two values in their formulas (lang/derived.def). */
#define DERIVED_CHOICE "?"
/* The longest formula, and the most values that it keeps at a time; the most columns of a script.
 */
enum { DERIVED_TEXT = 1000, DERIVED_DEPTH = 64, DERIVED_MOST = 100 };

/* ---- functions, rules, probes ---- */

typedef struct Fn {
    Str name;
    Span span;
    uint32_t nparams;
    Var **params;
    bool broken;        /* its head is unreadable: there may be parameters and a result */
    uint64_t interval;  /* nanoseconds: it is the body of a probe of wasm:interval; else 0 */
    const Type *result; /* &type_unit = none */
    Span result_span;
    Block body;
    uint32_t nvars; /* parameters and locals, in order of declaration; set by the checker */
    Var **vars;
    uint32_t index;
    bool recursive; /* it may call itself, through others, too; set by the checker */
    bool steps; /* so it takes steps (check/check_steps.c), or has loops, or calls functions that do
                 */
} Fn;

/* `(name: type)` after a part of a rule. */
typedef struct TypeBound {
    Str name;
    Span span; /* of the name */
    Span type_span;
    const Type *type;
    uint32_t part; /* 0 provider, 1 package, 2 event, 3 mode */
} TypeBound;

typedef struct RulePart {
    Str pattern; /* globs and alternatives as written; empty = "*" */
    Span span;
} RulePart;

typedef struct Rule {
    Span span;
    bool broken;     /* unreadable; its members mean nothing */
    uint32_t nparts; /* 2, 3 or 4; fewer if broken */
    RulePart parts[4];
    uint32_t nbounds;
    TypeBound *bounds;
} Rule;

typedef struct Probe {
    Rule rule;
    Expr *predicate; /* NULL = true */
    Block body;
    Span span;
    Var *removed; /* for later layers: a hidden variable, which the predicate may use too: the
                     probe is gone from the site; NULL = it never is */
    Var *stopped; /* of a probe that takes steps: a variable of script scope that counts executions
                     which took too many; NULL = it takes none */
    uint32_t nvars; /* set by the checker */
    Var **vars;     /* `removed`, then every variable declared in the body, in order */
    uint32_t index; /* 0.. in the script */
    bool made;      /* not by the script: it may match nothing */
} Probe;

typedef struct Use {
    Str name;
    Span span;
} Use;

/* A file that is read where another one includes it, or uses it as a package. */
typedef struct Inclusion {
    DiagFileId file;
    Span where;
    Str text;
    uint32_t package;
} Inclusion;

/* A package that is read: `use std.alloc;`. */
typedef struct Package {
    Str name;         /* "std.alloc": what its names of script scope begin with, and a dot */
    const char *path; /* of its file */
    Span span;        /* where it was used first */
    bool missing;     /* there is no such file: any name may be in it */
} Package;

/* What a package is called in the script (within = 0), or in package number `within`. */
typedef struct PackageUse {
    Str alias;
    uint32_t within, package; /* package: 1.. */
    Span span;
} PackageUse;

/* The files of a script. */
typedef struct ScriptFiles {
    Map read;                  /* by package and name: the script and what it includes */
    Vec(Inclusion) inclusions; /* in the order in which they are read */
    uint32_t bytes;            /* of all of them */
    Vec(Package) packages;
    Vec(PackageUse) package_uses;
} ScriptFiles;

/* Variables of script scope that count steps, if functions take any (check/check_steps.c). */
typedef struct StepCounts {
    Var *steps;   /* what is left of them; UINT32_MAX = nothing */
    Var *depth;   /* active recursive functions */
    Var *stopped; /* Probe.stopped for statements at script scope */
} StepCounts;

typedef struct Script {
    Arena arena;
    DiagFileId file;
    const struct Includer *includer; /* finds included files; NULL = there are none */
    ScriptFiles files;
    Vec(Use) uses;
    Block init;      /* script-scope statements and declarations in order */
    Vec(Var *) vars; /* script-scope variables in order */
    Vec(Var *) constants;
    Vec(Var *) derived; /* columns of the report */
    Vec(Fn *) fns;
    Vec(Probe *) probes;
    /* Made by the checker; values are addresses. frame_names: the first variable of each name in
     * all checked probes. */
    Map var_names, fn_names, use_names, frame_names;
    StepCounts counts; /* made by the checker */
    struct TypeTable *types;
    struct Meanings *meanings; /* of names, noted by the checker; NULL = nobody asks for them */
    /* Effects of syntax errors. lost_names: words of unreadable text that may have been
     * declarations; told_names: unknown names that were reported. */
    Map lost_names, told_names;
    bool broken;  /* had syntax errors */
    bool faulty;  /* set by the checker: there are errors outside of probes, whose declarations may
                     be missing */
    bool cut_off; /* the end of the text was not read */
} Script;

/* The number of the package that a file belongs to, 0 = none; what a name of script scope that
 * stands in that package is called in the tree: one with a dot is as it is. */
uint32_t script_package(const Script *s, DiagFileId file);
Str script_own_name(Script *s, uint32_t package, Str name);
/* What a word is called in a package: the package of that name, or NULL. */
const PackageUse *script_package_use(const Script *s, uint32_t within, Str alias);

/* Whether `a` is before `b` in the text, where included files stand in place of what includes them.
 */
bool script_precedes(const Script *s, Span a, Span b);

/* Interned composite types of a script; &type_error if they are too large or nested too deeply. */
const Type *type_tuple(Script *s, const Type **fields, uint32_t n);
const Type *type_map(Script *s, const Type *key, const Type *value);
const Type *type_array(Script *s, const Type *value, uint32_t length);
/* An aggregation. `added`: T, the K of top, NULL of count; `steps`: of lhist and top, else NULL. */
const Type *type_aggregate(Script *s, AggregateId id, const Type *added, const int64_t *steps);
void type_table_free(Script *s); /* script_free() does it */

/* A deep copy of a probe, unresolved, in the script's arena. Only for probes that were not checked.
 */
Probe *ast_clone_probe(Script *s, const Probe *p);

/* The body of the first probe of wasm:interval, or NULL. */
const Fn *ast_first_interval(const Script *s);

/* Whether it is a method of a map (MAP_...); whether that changes the map. */
bool ast_is_map_method(const Expr *e);
bool ast_changes_map(const Expr *e);
/* A deep copy of an expression in the script's arena. */
Expr *ast_clone_expr(Script *s, const Expr *e);

/* Whether an expression, a block calls a function that takes steps; whether a block has loops. */
bool ast_calls_steps(const Expr *e);
bool ast_block_calls_steps(Block b);
bool ast_block_loops(Block b);

/* Whether it is a call remove_probe(probe_id) of some library. */
bool ast_is_removal(const Expr *e);

/* The n of `x = x op n`, or of `x = n op x` where that is the same, for an atomic x and an
 * operation that is one step; NULL = the statement is no such assignment. */
const Expr *atomic_operand(const Stmt *s);

/* Calls visit on every expression of the probe (predicate first, then the body in order, parents
 * first). */
void ast_walk_probe(const Probe *p, void (*visit)(void *ctx, Expr *e), void *ctx);

/* Asserts the invariants of a checked probe: every expression has a type, none is broken, each name
 * is resolved. In builds with assertions only. */
bool ast_check_probe(const Probe *p);

#endif
