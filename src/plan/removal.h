/*
 * plan/removal.h - probes that remove themselves: `dyninstr.remove_probe(probe_id)`.
 *
 * A removed probe does nothing any more at that site. Each site has a hidden flag for it: the call
 * becomes `flag = true`, and the predicate `!flag && predicate`. The result is the same in a
 * program, in a monitor, and for one of several probes at a location, where an engine would remove
 * all. Monitors also call the engine's own function where it removes nothing else
 * (monitor/make/monitor_code.c).
 */
#ifndef WHAMMC_PLAN_REMOVAL_H
#define WHAMMC_PLAN_REMOVAL_H

#include "lang/ast.h"
#include "library/library.h"

/* The module from which engines export remove_probe. */
#define REMOVAL_MODULE "whamm:dyninstr"

/* Whether calls of a library of that name are calls of the engine: there is no such library, or it
 * is to be imported from REMOVAL_MODULE. */
bool removal_is_engine(const Libraries *libraries, Str library);

/* Replaces the calls in a probe that was not checked yet, and sets Probe.removed. The script's own
 * variables are known by then; where one is called probe_id, the call stays, with the variable. */
void removal_prepare(Script *s, const Libraries *libraries, Probe *p);

#endif
