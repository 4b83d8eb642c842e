/*
 * check/check_parts.h - interfaces between the parts of the checker. Private to it.
 *
 *   check.c          entry points: scripts, functions, probes
 *   check_stmt.c     statements
 *   check_expr.c     expressions: operators, casts, conditionals, fields
 *   check_literal.c  literals and the types they take from their context
 *   check_explain.c  where types come from, for messages
 *   check_call.c     calls: functions, built-ins, libraries, string methods
 *   lower.c          what is added to aggregations, as plainer statements
 *   print.c          statements that print
 *   check_steps.c    loops and recursive functions, which take steps
 *   check_node.c     nodes that the checker makes
 *   check_name.c     declarations, resolution, "did you mean"
 *   meaning.c        notes what names mean, for editors
 *   check_access.c   values of the program by members: args[0], args.p->size
 *   check_derived.c  derived columns, which readers of reports compute
 *   check_shadow.c   shadow memories, which become calls of the runtime
 *
 * Types flow in two directions: check_expr() is told the type that the context wants (or NULL) and
 * returns the type that the expression has. Only literals (and bound constants that behave like
 * them) adapt to the wanted type; the caller compares the two, since it knows the message. An
 * expression that was reported has &type_error, which fits everything, so that one mistake causes
 * one message.
 */
#ifndef WHAMMC_CHECK_CHECK_PARTS_H
#define WHAMMC_CHECK_CHECK_PARTS_H

#include "check/check.h"
#include "check/meaning.h"

typedef enum Place { PLACE_SCRIPT, PLACE_FN, PLACE_PROBE } Place;

typedef struct Check {
    Script *script;
    const Scope *scope;
    Diags *diags;
    Place place;
    uint32_t package;   /* that the statement, the function or the probe belongs to, 0 = none */
    const Fn *fn;       /* PLACE_FN */
    const Probe *probe; /* PLACE_PROBE */
    Vec(Var *) locals;  /* of the fn or probe, parameters first */
    uint32_t words;     /* WebAssembly's locals that they take */
    Map local_names;    /* name to Var */
    Vec(Var *) loops;   /* variables of the loops around, outermost first */
    uint32_t nloops;    /* how many loops there are around */
    /* Set while an expression is checked that runs apart from the body: the initialiser of a kept
     * variable, or the arguments of an annotated call. */
    const Var *init_of;
    Annotation early;   /* of the call, or of `within` */
    const Expr *target; /* what the statement being checked assigns to */
    bool lenient;       /* the set of names is not known: an unknown one is no error */
    Map told;           /* unknown names that were reported */
    bool ok;
    /* The '@init' or '@exit' block that is checked, or NULL. */
    const Stmt *within;
} Check;

/* An error of the checker: the result of the run is false. */
Diag *check_error(Check *c, DiagTag tag, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes a variable, or a function, of the script at the place of a name. */
void check_note_var(Check *c, Span span, const Var *v);
void check_note_fn(Check *c, Span span, const Fn *fn);

/* ---- names ---- */

/* Enters all declarations of a block, in the order of the text; reports those that are not
 * allowed. */
void check_declare_block(Check *c, Block b);
/* Enters a variable; reports if its name is taken or its type cannot be stored. */
void check_declare_var(Check *c, Var *v);
/* Makes and enters a variable without a name that a script could use, for a value of the statement
 * at span. */
Var *check_hidden_var(Check *c, const Type *type, Span span);
/* Enters a variable of the loop that begins here: its name means something until the loop ends. */
void check_declare_loop(Check *c, Var *v);
/* Reports a function whose name is taken. */
void check_fn_name(Check *c, const Fn *fn);
/* Resolves e->name (NAME, INDEX, FIELD): sets var or bound, and e->is_static. The type of the
 * variable. */
const Type *check_name(Check *c, Expr *e);
/* A bound name of the scope. */
bool check_bound_name(const Check *c, Str name, Bound *out);
/* A variable that is visible, by name alone; NULL if there is none. */
Var *check_find_var(const Check *c, Str name);
/* The function of the script with this name, or NULL. */
Fn *check_find_fn(const Check *c, Str name);
/* Whether the script, or the package that is checked, has `use` of a library. */
bool check_uses(const Check *c, Str library);
/* Whether an unknown name is worth a message: not if unreadable text may have declared it, and not
 * more than once. */
bool check_tell(Check *c, Str name, Span span, bool function);
/* Reports a value of one execution, e, where code runs apart from the body. */
void check_early_value(Check *c, const Expr *e);
/* When the code with an annotation runs, for messages. */
const char *check_when(Annotation annotation);
/* Where a name must exist, for messages. */
const char *check_places(const Check *c);
/* The bound (name: type) of the rule for a name, or NULL. */
const TypeBound *check_type_bound(const Check *c, Str name);
typedef enum Near { NEAR_NAMES, NEAR_FUNCTIONS, NEAR_LIBRARIES } Near;
/* Adds "did you mean" for an unknown name; returns whether a similar one is known. NEAR_LIBRARIES:
 * names that can stand before a dot. */
bool check_suggest(Check *c, Diag *g, Str name, Near what);
/* Checks the type bounds of the probe's rule. */
void check_bounds(Check *c);
/* A type that can be stored: no map as key or in a tuple. */
void check_storable(Check *c, const Type *t, Span span);

/* ---- expressions ---- */

/* Types e and all below it; the result is e->type. A call without result has &type_unit. */
const Type *check_expr(Check *c, Expr *e, const Type *want);
/* The same of what stands before '=' or '.': aggregations keep their type. */
const Type *check_receiver(Check *c, Expr *e);
/* The same, but the expression must have a value. */
const Type *check_value(Check *c, Expr *e, const Type *want);
/* Checks a value of exactly type `want`; `what` names its place ("'x'", "argument 1 of 'f'").
 * Returns NULL if it fits, else the message, to which the caller adds where `want` comes from. */
Diag *check_expect(Check *c, Expr *e, const Type *want, const char *what);
/* A value that must be bool. */
void check_condition(Check *c, Expr *e, const char *what);
/* Adds to a message where the type of e comes from: for an operation, its operand that decides. */
void check_explain(Check *c, Diag *g, const Expr *e);
/* The same for the variable or element that e names (NAME, INDEX, FIELD). */
void check_explain_name(Check *c, Diag *g, const Expr *e);
/* Whether a value of type a can be where b is expected; type_error fits all. */
bool type_fits(const Type *a, const Type *b);

/* ---- values of the program by members ---- */

/* Whether e is such a value, rather than an element or member of something that the script has. */
bool check_is_access(const Check *c, const Expr *e);
/* Replaces it by its value; the type. */
const Type *check_access(Check *c, Expr *e);
/* The methods of such a value: e (METHOD), whose receiver is the first argument; and of `args`. */
bool check_is_access_method(const Check *c, const Expr *e);
const Type *check_access_method(Check *c, Expr *e);

/* ---- literals ---- */

/* True if e consists only of literals and gets the type that its context requires, if it can. */
bool check_is_flexible(const Check *c, const Expr *e);
/* Whether a flexible expression can have the type: a number of an instruction like i32.const
 * becomes neither narrower, nor of the other class. */
bool check_can_be(const Check *c, const Expr *e, const Type *want);
/* The type that a flexible expression has if nothing is wanted. */
const Type *check_natural_type(const Check *c, const Expr *e);
/* A literal; `want` is the type that its context requires, or NULL. Returns its type. */
const Type *check_int(Check *c, Expr *e, const Type *want);
const Type *check_float(Check *c, Expr *e, const Type *want);
/* The bound constant e, of type t, which behaves like a literal, where `want` is wanted. */
const Type *check_constant_name(Check *c, Expr *e, const Type *t, const Type *want);

/* ---- nodes that the checker makes; they have their types ---- */

/* A node without operands; literals are static. */
Expr *check_new_node(Check *c, ExprKind kind, const Type *type, Span span);
/* Gives it these operands, and the depth that follows; an operation is static if they are. Returns
 * e. */
Expr *check_node_args(Check *c, Expr *e, Expr *const *args, uint32_t n);
Expr *check_node_int(Check *c, const Type *type, uint64_t n, Span span);
/* The value of a variable. */
Expr *check_node_name(Check *c, Var *v, Span span);
/* An operation on a and b, or (b NULL) on a. */
Expr *check_node_op(Check *c, Op op, const Type *type, Expr *a, Expr *b);
/* Makes e a call of a function of a bundled library, with a result of the type. Returns e. */
Expr *check_bundled_call(Check *c, Expr *e, Str library, Str function, const Type *type,
                         Expr *const *args, uint32_t n);
/* e as another type, or as it is. */
Expr *check_node_cast(Check *c, Expr *e, const Type *to);

/* ---- shadow memories ---- */

/* Reports a declaration whose decorators or elements are wrong. */
void check_shadow_var(Check *c, const Var *v);
/* Reports a shadow memory without an address. */
const Type *check_shadow_whole(Check *c, const Expr *e);
/* Resolves the tag of a value, e (NAME); the type of the tags. */
const Type *check_shadow_tag(Check *c, Expr *e);
/* Checks the address of an element, e (INDEX); the type of the element. */
const Type *check_shadow_address(Check *c, Expr *e);
/* Makes e, an element that is read, a call. */
void check_shadow_read(Check *c, Expr *e);
/* Checks a method, and makes it a call. */
const Type *check_shadow_method(Check *c, Expr *e, Var *v);
/* Makes a declaration, or an assignment or step of an element, a statement with calls. */
void check_shadow_declare(Check *c, Stmt *s);
void check_shadow_write(Check *c, Stmt *s);

/* Makes a change of an array's element one that happens if there is such an element. */
void lower_array(Check *c, Stmt *s);

/* ---- derived columns ---- */

/* Checks the type and the value of a column; sets its formula. */
void check_derived(Check *c, Var *column);

/* ---- calls and statements ---- */

/* An expression with an operator; `want` as for check_expr. */
/* Types both operands; a literal takes the type of the other side. */
void check_operands(Check *c, Expr *a, Expr *b, const Type *want);
/* An expression with a unary operator; `want` as for check_expr. */
const Type *check_unary(Check *c, Expr *e, const Type *want);
const Type *check_binary(Check *c, Expr *e, const Type *want);
/* The value of `x op= e`, of which the first operand, x, was checked before. */
const Type *check_updated(Check *c, Expr *e);
/* `bare`: the call is a statement, so @init and @exit are allowed. */
const Type *check_call(Check *c, Expr *e, const Type *want);
const Type *check_method(Check *c, Expr *e, bool bare);
/* A call of print, as a statement: replaces it by calls of the runtime. False if it is another
 * call. */
bool check_print(Check *c, Stmt *s);
void check_block(Check *c, Block b);
/* Declares the variables that count steps, where a checked script and its functions take any. */
void check_find_steps(Check *c);
/* Lets a checked probe that has taken too many steps do nothing any more. */
void check_guard(Check *c, Probe *p);
/* True if every way through the block returns. */
bool check_returns(Block b);

/* ---- aggregations ---- */

/* Checks x.add(...) and x.clear() of an aggregation, whose receiver has been checked: it is the
 * first argument. */
const Type *check_aggregate(Check *c, Expr *e, const Type *t);
/* Replaces such a call, without errors, by statements that do it. */
void lower_aggregate(Check *c, Stmt *s);

#endif
