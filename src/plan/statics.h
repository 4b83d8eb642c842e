/*
 * plan/statics.h - '@static' calls: library functions that run at compile time.
 *
 * A library has one instance for the whole compilation, so its state persists from one call to the
 * next. Calls are made in the order that the language defines: script scope, functions of the
 * script, then the sites in the order of the program, predicates before bodies, each once. A
 * program is walked several times; the first walk makes the calls, the others reuse the values.
 *
 * All calls together have a budget of instructions that grows with the program; when it is used up,
 * calls fail.
 *
 * Expr.known of each call has its value at the current site, which fold() reads. Calls that the
 * language leaves out (after a short circuit, in an arm that is not executed) are not made; their
 * value, on which nothing depends, is zero.
 */
#ifndef WHAMMC_PLAN_STATICS_H
#define WHAMMC_PLAN_STATICS_H

#include "eval/wasi.h"
#include "plan/plan.h"

/* Prepares the plan for sites if there are calls: evaluates those at script scope and in functions
 * of the scripts. `wasi` and `diags` must outlive the plan. False with messages if that fails.
 * Errors at sites are reported there, and all further calls return zero. */
bool statics_start(Plan *plan, const EvalWasi *wasi, Diags *diags);
void statics_free(Plan *plan);

/* The walk has reached a function of the program. */
void statics_function(Plan *plan, const WasmModule *m, uint32_t func);

/* Sets the values of the variant's calls at a site. False if nothing matches there: the predicate
 * is false, or an argument has no value. */
bool statics_site(Plan *plan, Variant *v, const Site *s);

/* Sets a call to the value that the same call of another variant has now. */
void statics_copy(Plan *plan, Expr *to, const Expr *from);

#endif
