/*
 * plan/prune.h - removes from checked trees the code that literals and constants exclude, before
 * the script's requirements are collected: `const timed: bool = false;` removes the code after `if
 * (timed)`, and libraries that only that code calls.
 *
 * Scripts can observe one difference: nothing in a removed arm happens at start-up or at the end.
 * Its '@init' and '@exit' calls are not made; its variables exist and start at zero.
 */
#ifndef WHAMMC_PLAN_PRUNE_H
#define WHAMMC_PLAN_PRUNE_H

#include "plan/plan.h"

/* Statements of script scope or of a function. Declarations of constants go, too. */
void prune_block(Script *s, Block *b);

/* A probe that was checked. True if its predicate is false everywhere: then the probe and its
 * variables are dropped. */
bool prune_probe(Script *s, Probe *p);

/* Replaces the body of a checked probe by a call of an empty function, whose arguments are the
 * numbers that the event has supplied to the body; this measures the cost of calls. Variables that
 * live longer than the body stay, with their initial values. */
void prune_to_call(Plan *plan, uint32_t script, Probe *p);

#endif
