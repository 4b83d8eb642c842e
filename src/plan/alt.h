/*
 * plan/alt.h - whether the body of an alt probe can replace the instruction at a site: it must
 * supply the instruction's results.
 */
#ifndef WHAMMC_PLAN_ALT_H
#define WHAMMC_PLAN_ALT_H

#include "plan/plan.h"
#include "valid/frame.h"

/* On which paths through it a body supplies results, by a return or by calling a function. */
Supply alt_supply(const Block *body);

/* Appends the types that an alt body at a site must supply. `types` are the operand and result
 * types of the instruction; `t` is the typer before it. */
void alt_find_supplies(const WasmTyper *t, const WasmInstr *i, const SiteTypes *types,
                       WasmTypes *out);

/* The shape that replaces the instruction at a site where `shape` matches: the same shape, or a
 * variant's whose literals have the required types. Returns NULL, and records the misfit for
 * alt_report, if the body does not fit. */
Shape *alt_fit(Plan *plan, Shape *shape, const Site *s, const SiteTypes *types);

/* Reports the sites that alt bodies did not fit. Call it after all sites. */
void alt_report(Plan *plan, const WasmModule *m, Diags *diags);

/* If the body that replaces a branch supplies nothing, the values that the branch carries stay on
 * the stack: the number of these operands, the deepest ones. */
uint32_t alt_carries(const Variant *v, WasmOp op, const SiteTypes *types);

/* An instruction after which nothing runs. */
bool alt_diverges(WasmOp op);

/* After the body the function returns. */
bool alt_returns(const Variant *v, WasmOp op);

#endif
