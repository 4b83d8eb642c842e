/*
 * plan/alt.h - whether the body of an alt probe can replace the instruction at a site: it must
 * supply what the instruction leaves.
 */
#ifndef WHAMMC_PLAN_ALT_H
#define WHAMMC_PLAN_ALT_H

#include "plan/plan.h"
#include "valid/frame.h"

/* On which paths through it a body supplies results, by a return or by calling a function. */
Supply alt_supply(const Block *body);

/* Appends the types that an alt body at a site must supply; `types` are those of the instruction,
 * of which `t` knows the surroundings. */
void alt_find_supplies(const WasmTyper *t, const WasmInstr *i, const SiteTypes *types,
                       WasmTypes *out);

/* The shape that replaces the instruction at a site where `shape` matches: the same, or that of a
 * variant whose literals have the types that are needed there. NULL if the body does not fit, which
 * is recorded for alt_report. */
Shape *alt_fit(Plan *plan, Shape *shape, const Site *s, const SiteTypes *types);

/* After all sites have been seen: reports those that alt bodies did not fit. */
void alt_report(Plan *plan, const WasmModule *m, Diags *diags);

/* If the body that replaces a branch supplies nothing, the values that the branch carries stay on
 * the stack: the number of these operands, the deepest ones. */
uint32_t alt_carries(const Variant *v, WasmOp op, const SiteTypes *types);

/* An instruction after which nothing runs. */
bool alt_diverges(WasmOp op);

/* After the body the function returns. */
bool alt_returns(const Variant *v, WasmOp op);

#endif
