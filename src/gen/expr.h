/*
 * gen/expr.h - typed trees to Binaryen IR. Private to gen/.
 *
 *   expr.c   operators, casts, bound names, conditions: what gives one Wasm value
 *   value.c  variables, strings, tuples and maps
 *   stmt.c   statements and bodies
 *
 * A value is a list of leaves (type_leaves). Most have one; those of a tuple are given as several
 * expressions, which must be evaluated once each, in order, with nothing that calls between them.
 */
#ifndef WHAMMC_GEN_EXPR_H
#define WHAMMC_GEN_EXPR_H

#include "gen/gen.h"

#include <binaryen-c.h>

typedef BinaryenExpressionRef Ref;
typedef Vec(Ref) Refs;

/* What it takes to turn one body into a function of the scratch module. */
typedef struct Body {
    BinaryenModuleRef module;
    const Plan *plan;
    const GenOptions *options;
    const Variant *variant; /* of script scope and functions: Plan.scopes */
    uint64_t atoms;
    Map *imports;     /* names of the holes already declared in the module */
    uint32_t nparams; /* locals in front of the others */
    Vec(BinaryenType) locals;
    uint32_t *local_of; /* by Var.index: the local of the first leaf */
    const Type *result; /* &type_unit = none */
    bool leaves;        /* `return` goes to what is behind the body */
    uint32_t given;     /* then: the first local of the result's leaves */
} Body;

/* ---- holes ---- */

/* The imported global that stands for a hole: "v12i" = HOLE_VAR, 12, i32. */
void hole_name(char name[32], HoleKind kind, uint32_t n, BinaryenType type);
/* Reads such a name back. */
bool hole_parse(Str name, Hole *out);
Ref hole_get(Body *b, HoleKind kind, uint32_t n, BinaryenType type);
Ref hole_set(Body *b, HoleKind kind, uint32_t n, BinaryenType type, Ref value);
/* A call of an import that stands for something the splicer knows. */
Ref hole_call(Body *b, HoleKind kind, uint32_t n, const Refs *args, const BinaryenType *params,
              BinaryenType result);
Ref helper_call(Body *b, Helper h, const Ref *args);

/* ---- expressions ---- */

BinaryenType gen_type(const Type *t); /* of a leaf */
BinaryenType
gen_result(const Type *type); /* of a function's result: none if it has several leaves */
Ref gen_zero(Body *b, const Type *t);
Ref const_i32(Body *b, uint32_t v);
Ref gen_number(Body *b, const Type *t, Value v);
/* An expression with one leaf, or with none. */
Ref gen_expr(Body *b, const Expr *e);
/* Appends the leaves of any expression. */
void gen_leaves(Body *b, const Expr *e, Refs *out);
Ref gen_block_of(Body *b, Refs *list, BinaryenType type); /* takes over the list */
/* x + 1 or x - 1 of a number */
Ref gen_stepped(Body *b, const Type *t, Op op, Ref x);
Ref gen_bound_set(Body *b, const Expr *target, Ref value);
Ref gen_bound_get(Body *b, const Expr *e);

/* ---- values ---- */

/* A new local. */
uint32_t gen_temp(Body *b, BinaryenType type);
Ref gen_text(Body *b, uint32_t id); /* into Plan.texts */
/* What expressions on variables, strings and maps give; see gen_expr. */
Ref gen_var_get(Body *b, const Var *v, uint32_t leaf);
Ref gen_method(Body *b, const Expr *e);
Ref gen_str_equal(Body *b, Ref x, Ref y);
/* The leaves of a map's element. */
void gen_index_leaves(Body *b, const Expr *e, Refs *out);
/* Sets a variable, or the target of an assignment, to new leaves. */
Ref gen_var_set(Body *b, const Var *v, const Refs *leaves);
Ref gen_assign(Body *b, const Expr *target, const Expr *value);
Ref gen_step(Body *b, const Expr *target, Op op);

/* ---- bodies ---- */

/* A script variable whose initial value is a constant: its global starts with it. */
bool starts_constant(const Var *v);
/* A body with the locals of its variables; b->result must be set. */
Ref gen_body(Body *b, const Block *block, Var *const *vars, uint32_t nvars);
void gen_declare_locals(Body *b, Var *const *vars, uint32_t nvars);
/* What the block wants done at start-up, once a site: the initial values of unshared variables that
 * are not static, and '@init' calls, in their order. */
Ref gen_site_start(Body *b, const Block *block);
/* The '@exit' calls in the block; NULL if there are none. */
Ref gen_exit_calls(Body *b, const Block *block);
/* Sets the shared variables whose initial values are computed at start-up. */
Ref gen_shared_values(Body *b, Var *const *vars, uint32_t nvars);
Ref gen_fn_call(Body *b, const Expr *e);

#endif
