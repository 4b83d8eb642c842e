/*
 * plan/cut.h - cutting static parts out of checked trees. Private to plan/.
 */
#ifndef WHAMMC_PLAN_CUT_H
#define WHAMMC_PLAN_CUT_H

#include "plan/plan.h"

/*
 * Works on a variant whose probe has been checked: cuts out what is static at its sites (atoms,
 * constants), replaces derived names by what they stand for, and notes what the code needs:
 * operands, strings, alt calls and so on. False after an error.
 */
bool cut_variant(Plan *plan, Variant *v, Diags *diags);

/* The same for a block of script scope or the body of a function; `scope` is of Plan.scopes. */
bool cut_common(Plan *plan, Variant *scope, Block *block, Diags *diags);

/* The Wasm type that operand (or result) n of the event's instruction has wherever it occurs;
 * WASM_BOT if that varies. */
WasmType cut_fixed_type(Event e, bool result, uint32_t n);

/* The value of a static expression may differ from site to site. */
bool cut_has_names(const Expr *e);

/* Sites at which a static expression has no value do not match. */
void cut_may_lack(Variant *v, Expr *e);

/* What stands for leaf n of the tuple that an '@static' call gives. */
Expr *cut_static_part(Plan *plan, Expr *call, uint32_t n);

/* m[k] of a map that exists at run time, where that was put off (cell.h). False after an error. */
bool cut_element(Plan *plan, Variant *v, Expr *e, Diags *diags);

#endif
