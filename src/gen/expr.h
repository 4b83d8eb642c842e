/*
 * gen/expr.h - typed trees to code/. Private to gen/.
 *
 *   expr.c      operators, casts, bound names, conditions: single Wasm values
 *   variable.c  variables, strings, tuples and maps
 *   element.c   elements of maps that are cells, or counted in arrays
 *   page.c      elements of maps from numbers to numbers
 *   stmt.c      statements and bodies
 *   steps.c     loops, and calls of functions that take steps
 *
 * A value is a list of leaves (type_leaves). Most values have one; a tuple is several expressions,
 * which must be evaluated once each, in order, without calls between them.
 */
#ifndef WHAMMC_GEN_EXPR_H
#define WHAMMC_GEN_EXPR_H

#include "code/code.h"
#include "gen/compile_options.h"
#include "gen/template.h"

typedef CodeNode *Ref; /* code that is being made */
typedef Vec(Ref) Refs;

struct HoleOps;

/* Whose steps are counted (check/check_steps.c): of each call, of a function whose caller counts
 * them, of a body. */
typedef enum Budget { BUDGET_CALLS, BUDGET_FN, BUDGET_BODY } Budget;

/* The state of compiling one body to a function of the scratch module. */
typedef struct Body {
    CodeModule *module;
    const Plan *plan;
    const GenOptions *options;
    const Variant *variant; /* of script scope and functions: Plan.scopes */
    uint64_t atoms;
    bool undecided;   /* atoms are known when the code runs */
    uint32_t nparams; /* locals before the others */
    Vec(WasmType) locals;
    uint32_t *npages;   /* of all bodies: elements that keep the page which they used last */
    uint32_t *local_of; /* by Var.index: the local of the first leaf */
    const Type *result; /* &type_unit = none */
    bool leaves;        /* `return` branches to the end of the body */
    uint32_t given;     /* then: the first local of the result's leaves */
    uint32_t end_label; /* ... and its label */
    uint32_t skip; /* in an '@exit' call: the label to go to if an element is not there; else 0 */
    const Fn *fn;  /* the function that the body is of; NULL = another one */
    const struct LoopLabels *loop; /* of the loop around; NULL = none */
    Budget budget;
    uint32_t steps; /* BUDGET_BODY: the local that has what is left of it; UINT32_MAX = the
                       script's variable has */
    bool part;      /* something follows the body in its function */
    const struct HoleOps *ops; /* NULL = holes are those of templates */
    void *ctx;                 /* for them */
} Body;

static inline void body_free(Body *b) {
    vec_free(&b->locals);
    free(b->local_of);
}

/* ---- holes ---- */

/* How holes are filled immediately, where code does not become templates (monitors). There,
 * conditions are better computed than branched on, if that does no harm: engines inline
 * straight-line code. */
typedef struct HoleOps {
    Ref (*get)(Body *b, HoleKind kind, uint32_t n, WasmType type);
    Ref (*set)(Body *b, HoleKind kind, uint32_t n, WasmType type, Ref value);
    Ref (*call)(Body *b, HoleKind kind, uint32_t n, const Refs *args, const WasmType *params,
                WasmType result);
    Ref (*atom)(Body *b, uint32_t n); /* of the variant */
    /* The value of an expression of one node that is static: a bound name, `targets`, a built-in
     * function. */
    Ref (*known)(Body *b, const Expr *e);
    bool (*decided)(const Expr *e, Value *v); /* it has the same value everywhere */
    Ref (*text)(Body *b, Str text);           /* a string */
    /* An '@static' call, or NULL: it is made here. */
    Ref (*called)(Body *b, const Expr *e);
    /* The address of a variable in memory is the value plus *offset. */
    Ref (*address)(Body *b, uint32_t var, uint32_t *offset);
} HoleOps;

/* The imported global that stands for a hole: "v12i" = HOLE_VAR, 12, i32. */
void hole_name(char name[32], HoleKind kind, uint32_t n, WasmType type);
/* Reads such a name back. */
bool hole_parse(Str name, Hole *out);
/* Reads a hole's value; sets the variable that a hole stands for. */
Ref hole_get(Body *b, HoleKind kind, uint32_t n, WasmType type);
Ref hole_set(Body *b, HoleKind kind, uint32_t n, WasmType type, Ref value);
/* A call of an import that stands for something the splicer knows. */
Ref hole_call(Body *b, HoleKind kind, uint32_t n, const Refs *args, const WasmType *params,
              WasmType result);
/* A call of a function of the runtime; as many arguments as helper.def says. */
Ref helper_call(Body *b, Helper h, const Ref *args);
/* The type of a letter of helper.def; 0 = none. */
WasmType gen_letter_type(char letter);
/* ... and back; r = funcref. */
char gen_type_letter(WasmType type);

/* ---- expressions ---- */

WasmType gen_type(const Type *t);      /* of a leaf */
WasmType gen_result(const Type *type); /* of a function's result: none if it has several leaves */
/* Constants: 0 of a type with one leaf; a number; a value as the type has it. */
Ref gen_zero(Body *b, const Type *t);
Ref const_i32(Body *b, uint32_t v);
Ref gen_number(Body *b, const Type *t, Value v);
/* An expression with one leaf, or with none. */
Ref gen_expr(Body *b, const Expr *e);
/* The same for one that a site constant stands for, computed where it stands. */
Ref gen_known(Body *b, const Expr *e);
/* A bool as 0 or 1: an operand of the program that is used as a bool may be another number. */
Ref gen_truth(Body *b, const Expr *e);
/* Whether atoms decide a condition, without leaving out effects that are evaluated before. */
Tri gen_decided(const Body *b, const Expr *e);
/* Whether evaluating it has no effect, cannot trap and needs only a few instructions. */
bool gen_is_plain(const Expr *e);
/* Appends the leaves of any expression. */
void gen_leaves(Body *b, const Expr *e, Refs *out);
Ref gen_block_of(Body *b, Refs *list); /* takes over the list */
/* x + 1 or x - 1 of a number */
Ref gen_stepped(Body *b, const Type *t, Op op, Ref x);
/* x op y of numbers of type t, of which neither is a comparison or a logical operation. */
Ref gen_applied(Body *b, const Type *t, Op op, Ref x, Ref y);
/* x plus or minus a condition, which is 0 or 1, of an integer */
Ref gen_added(Body *b, const Type *t, Op op, Ref x, Ref condition);
/* Sets, gets a bound name. */
Ref gen_bound_set(Body *b, const Expr *target, Ref value);
Ref gen_bound_get(Body *b, const Expr *e);
/* A block of statements. */
Ref gen_block(Body *b, const Block *block);
/* Leaves the body, with zeros as its results. */
Ref gen_leave(Body *b);
/* Appends what has to happen to leave the loops around: their keys are freed. */
void gen_loop_exits(Body *b, Refs *code);
/* A loop; `break` and `continue` in it. */
Ref gen_loop(Body *b, const Stmt *s);
Ref gen_jump(Body *b, const Stmt *s);
/* The steps of a body that begins or ends; appends what it has to begin with. */
void gen_steps_begin(Body *b, const Block *block, Refs *code);
void gen_steps_end(Body *b);
/* The body may be left before its end for having taken too many steps. */
bool gen_steps_leave(const Block *block);
/* A call of a function that takes steps. */
Ref gen_steps_call(Body *b, const Fn *fn, Ref call);
/* A call of a library's function. */
Ref gen_library_call(Body *b, const Expr *e);

/* ---- values ---- */

/* A new local (code_share_locals finds out which ones are one in the end). */
uint32_t gen_temp(Body *b, WasmType type);
/* The first of several, one after the other. */
uint32_t gen_temps(Body *b, const WasmType *types, uint32_t n);
/* The first of one for each leaf of the type. */
uint32_t gen_leaf_temps(Body *b, const Type *t);
Ref gen_text(Body *b, uint32_t id); /* into PlanTexts.list */
/* A byte, a word of memory. */
Ref gen_load_byte(Body *b, Ref at, uint32_t offset);
Ref gen_load_word(Body *b, Ref at, uint32_t offset);
Ref gen_store_word(Body *b, Ref at, uint32_t offset, Ref value);
/* memory.copy and memory.fill in the memory of the module being made. */
Ref gen_memory_copy(Body *b, Ref to, Ref from, Ref bytes);
Ref gen_memory_fill(Body *b, Ref at, Ref byte, Ref bytes);
/* Bytes of a leaf in memory, also of a mark. */
enum { LEAF = 8 };
/* A leaf in memory. */
Ref gen_load_leaf(Body *b, const Type *leaf, Ref at, uint32_t offset);
Ref gen_store_leaf(Body *b, const Type *leaf, Ref at, uint32_t offset, Ref value);
/* Expressions on variables, strings and maps; see gen_expr. */
Ref gen_var_get(Body *b, const Var *v, uint32_t leaf);
Ref gen_method(Body *b, const Expr *e);
Ref gen_str_equal(Body *b, Ref x, Ref y);
/* Where an element is read that does not exist and has no value then: the call that needs it is
 * left out (Body.skip), or it is a trap. */
Ref gen_missing(Body *b);
/* The leaf of a map's element at which e begins: m[k] or a field of it. */
uint32_t gen_first_leaf(const Expr *e);
/* The map of an element is cells (plan/cell.h). */
bool gen_is_cell(const Expr *e);
/* The leaves of such an element, or of a field of it. */
void gen_cell_leaves(Body *b, const Expr *e, Refs *out);
/* Appends code that sets it to new leaves, which read no maps. */
void gen_cell_set(Body *b, const Expr *target, const Refs *leaves, Refs *code);
/* ++ and -- of it. */
Ref gen_cell_step(Body *b, const Expr *target, Op op);
/* The element may be looked for in the page that its code used last. */
bool gen_has_pages(const Body *b, const Expr *e);
/* The address of its value. The leaves of the key are in locals from `first` on; `look_up` is the
 * call that finds or inserts the key. Sets *old to a local that then has the bits of the value. */
Ref gen_page_element(Body *b, const Expr *e, uint32_t first, Ref look_up, uint32_t *old);
/* The lower bound of the bucket of a number of type t, and the number of the bucket, counted from
 * the lowest. */
Ref gen_bucket(Body *b, const Type *histogram, const Type *t, Ref x);
Ref gen_bucket_index(Body *b, const Type *histogram, const Type *t, Ref x);

/* The element is counted in an array. */
bool gen_has_tally(const Body *b, const Expr *target);
/* ++ and -- of it; `op` an amount. */
Ref gen_tally_step(Body *b, const Expr *target, Op op);
Ref gen_tally_add(Body *b, const Expr *target, Op op, const Expr *amount);
/* Sets a variable, or the target of an assignment, to new leaves. */
Ref gen_var_set(Body *b, const Var *v, const Refs *leaves);
Ref gen_assign(Body *b, const Expr *target, const Expr *value);
/* The same of a statement, which is one step where the variable is atomic. */
Ref gen_assign_stmt(Body *b, const Stmt *s);
/* ++ and -- of the target. */
Ref gen_step(Body *b, const Expr *target, Op op);
/* An integer variable plus or minus a condition, which is 0 or 1. */
Ref gen_add(Body *b, const Expr *target, Op op, Ref condition);

/* ---- bodies ---- */

/* The body does nothing but count variables up or down, of types that hold integers. */
bool gen_only_counts(const Block *block);
/* Such a body that runs if local `condition` is 1, as straight-line code; `negate`: if it is 0. */
Ref gen_counts(Body *b, const Block *block, uint32_t condition, bool negate);
/* A body with the locals of its variables; b->result must be set. */
Ref gen_body(Body *b, const Block *block, Var *const *vars, uint32_t nvars);
/* The locals alone. */
void gen_declare_locals(Body *b, Var *const *vars, uint32_t nvars);
/* The code of the block that runs at start-up, once per site: computes the initial values
 * of unshared variables that are not static, and makes '@init' calls, in their order. */
Ref gen_site_start(Body *b, const Block *block);
/* The '@exit' calls in the block; NULL if there are none. */
Ref gen_exit_calls(Body *b, const Block *block);
/* Sets the shared variables whose initial values are computed at start-up. */
Ref gen_shared_values(Body *b, Var *const *vars, uint32_t nvars);
/* A call of a function of the script. */
Ref gen_fn_call(Body *b, const Expr *e);

#endif
