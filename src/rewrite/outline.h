/*
 * rewrite/outline.h - code that is the same at many sites but for a few numbers becomes a function,
 * which the sites call with these.
 *
 * Only code that calls something anyway, such as a clock: there one more call hardly matters.
 * Elements of maps must be in memory, so that an address tells one from another.
 */
#ifndef WHAMMC_REWRITE_OUTLINE_H
#define WHAMMC_REWRITE_OUTLINE_H

#include "plan/plan.h"

/* After pass 1: whether there would be such code if elements of maps were in memory. */
bool outline_wants_memory(const Plan *plan);

/* Makes these functions, when shapes have their templates: they are added to Plan.fns. */
void outline_shapes(Plan *plan);

#endif
