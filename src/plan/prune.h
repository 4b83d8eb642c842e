/*
 * plan/prune.h - removes from checked trees the code that literals and constants exclude, before
 * anything else looks at what a script needs: `const timed: bool = false;` removes the code after
 * `if (timed)`, and with it what only that code calls.
 *
 * Scripts can observe one difference: nothing in a removed arm happens at start-up or at the end.
 * Its '@init' and '@exit' calls are not made; its variables exist and start at zero.
 */
#ifndef WHAMMC_PLAN_PRUNE_H
#define WHAMMC_PLAN_PRUNE_H

#include "lang/ast.h"

/* Statements of script scope or of a function. Declarations of constants go, too. */
void prune_block(Script *s, Block *b);

/* A probe that was checked. True if its predicate is false everywhere: then the probe and its
 * variables are dropped. */
bool prune_probe(Script *s, Probe *p);

#endif
