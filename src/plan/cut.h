/*
 * plan/cut.h - cutting static parts out of checked trees. Private to plan/.
 */
#ifndef WHAMMC_PLAN_CUT_H
#define WHAMMC_PLAN_CUT_H

#include "plan/plan.h"

/* Works on a variant whose probe has been checked: cuts out its static parts (atoms, constants),
 * replaces derived names by their definitions, and records the code's requirements: operands,
 * strings, alt calls and so on. False after an error. */
bool cut_variant(Plan *plan, Variant *v, Diags *diags);

/* The same for a block of script scope or the body of a function; `scope` is of Plan.scopes. */
bool cut_common(Plan *plan, Variant *scope, Block *block, Diags *diags);

/* The Wasm type that operand (or result) n of the event's instruction has wherever it occurs;
 * WASM_BOT if that varies. */
WasmType cut_fixed_type(Event e, bool result, uint32_t n);

/* Elements of maps that did not become cells, from `first` of PlanCells.elements, which cells_defer
 * had deferred. False after an error. */
bool cut_elements(Plan *plan, uint32_t first, Diags *diags);

#endif
