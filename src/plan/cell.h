/*
 * plan/cell.h - maps that need no map at run time. Private to plan/.
 *
 * A map of a script whose keys are static wherever it is used is replaced by *cells*: each key
 * becomes a variable of its own. Whether a map qualifies is known when all scripts have been cut;
 * decisions about its elements are deferred until then.
 */
#ifndef WHAMMC_PLAN_CELL_H
#define WHAMMC_PLAN_CELL_H

#include "plan/plan.h"

/* The map may become cells. */
bool cells_possible(const Plan *plan, const Var *v);

/* m[k] in a variant: true if the map may become cells and k does not prevent that. Then it must not
 * be cut yet. */
bool cells_defer(Plan *plan, Variant *v, Expr *e);

/* When everything but these elements has been cut: decides which maps become cells. The elements of
 * the others must then be cut (cut.h). */
void cells_choose(Plan *plan);

/* After that: records the elements of cells. */
void cells_finish(Plan *plan);

/* The same for a variant that is made later. */
void cells_variant(Plan *plan, Variant *v);

#endif
