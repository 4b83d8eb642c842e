/*
 * plan/prune.h - leaves out of checked trees what literals and constants decide, before anybody
 * asks what a script needs: `const timed: bool = false;` takes the code after `if (timed)` away,
 * and with it what only that code calls.
 *
 * Nothing changes that a script can tell, but that what stands in an arm which is never taken does
 * not happen at start-up or at the end either: its '@init' and '@exit' calls are not made, its
 * variables exist and start at zero.
 */
#ifndef WHAMMC_PLAN_PRUNE_H
#define WHAMMC_PLAN_PRUNE_H

#include "lang/ast.h"

/* Statements of script scope or of a function. Declarations of constants go, too. */
void prune_block(Script *s, Block *b);

/* A probe that was checked. True if its predicate is false everywhere: then the probe is as good as
 * not there, nor are its variables. */
bool prune_probe(Script *s, Probe *p);

#endif
