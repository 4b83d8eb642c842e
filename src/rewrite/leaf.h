/*
 * rewrite/leaf.h - calls of small functions become the functions' code.
 *
 * Around a call, engines keep in memory what they otherwise have in registers. So a function that
 * probes call is inlined if it is a *leaf*: small, without calls and loops. Functions of scripts,
 * of libraries and of the runtime can be that.
 */
#ifndef WHAMMC_REWRITE_LEAF_H
#define WHAMMC_REWRITE_LEAF_H

#include "plan/plan.h"
#include "wasm/module.h"

/* How many bytes longer inlining may make a program. */
uint64_t leaf_growth(const WasmModule *m);

/* Inlines calls of leaves in the templates of shapes and of Plan.fns. A template whose sites would
 * take more than *growth bytes, which is what is left of leaf_growth, stays as it is.
 *
 * Before the module is laid out `helpers` is NULL: then only functions of scripts are inlined, and
 * those that nothing calls any more need not be added to the module. Afterwards, `helpers` has the
 * handles of the runtime's functions (gen/helper.def). */
void leaf_inline(Plan *plan, const WasmModule *m, const uint32_t *helpers, uint64_t *growth);

#endif
