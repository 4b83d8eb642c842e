/*
 * event/branch.h - conditions of scripts that say which way a branch goes: `taken` and conditions
 * of equal meaning, such as `arg0 != 0` before a `br_if`. Before a `br_table`, "taken" means that
 * its operand is the index of a target, other than the default: `arg0 < num_targets`.
 *
 * How often the branch goes which way is a matter of counting (analysis/segment.h), so code that
 * does nothing but count can have such conditions.
 */
#ifndef WHAMMC_EVENT_BRANCH_H
#define WHAMMC_EVENT_BRANCH_H

#include "event/event.h"

/* The ways of a branch; an effect on both happens whenever the instruction is executed. */
enum { WAY_TAKEN = 1, WAY_NOT_TAKEN = 2, WAY_BOTH = 3 };

/* An instruction that goes one of two ways, at whose probes before it that is known: br_if, if,
 * br_table, br_on_*. */
bool branch_has_ways(Event event);

/* Both do, and the same conditions of a probe say which way they go. */
bool branches_alike(Event a, Event b);

/* WAY_TAKEN: a condition of a probe of that event is true if, and only if, the branch is taken.
 * WAY_NOT_TAKEN: ... if it is not taken. 0: it says something else. */
unsigned branch_way(Event event, const Expr *e);

#endif
