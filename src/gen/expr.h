/*
 * gen/expr.h - typed trees to Binaryen IR.
 */
#ifndef WHAMMC_GEN_EXPR_H
#define WHAMMC_GEN_EXPR_H

#include "gen/gen.h"

#include <binaryen-c.h>

/* What it takes to turn one body into a function of the scratch module. */
typedef struct Body {
    BinaryenModuleRef module;
    const Plan *plan;
    const GenOptions *options;
    uint32_t script;
    const Variant *variant; /* NULL for script scope */
    uint64_t atoms;
    Map *imports; /* names of the holes already declared in the module */
    Vec(BinaryenType) locals;
    uint32_t *local_of; /* by Var.index */
} Body;

/* The imported global that stands for a hole: "v12i" = HOLE_VAR, 12, i32. */
void hole_name(char name[32], HoleKind kind, uint32_t n, BinaryenType type);
/* Reads such a name back. */
bool hole_parse(Str name, Hole *out);

/* A script variable whose initial value is a constant: its global starts with it. */
bool starts_constant(const Var *v);

BinaryenType gen_type(const Type *t);
BinaryenExpressionRef gen_block(Body *b, const Block *block);
BinaryenExpressionRef gen_zero(Body *b, const Type *t);
BinaryenType gen_result_type(const Fn *fn);
/* What the block wants done at start-up, once a site: the initial values of unshared variables that
 * are not static, and '@init' calls, in their order. */
BinaryenExpressionRef gen_site_start(Body *b, const Block *block);
/* The '@exit' calls in the block; NULL if there are none. */
BinaryenExpressionRef gen_exit_calls(Body *b, const Block *block);
BinaryenExpressionRef gen_expr(Body *b, const Expr *e);

#endif
