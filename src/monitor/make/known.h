/*
 * monitor/make/known.h - the values of static expressions that are known from the event alone,
 * without a program.
 */
#ifndef WHAMMC_UNIT_KNOWN_H
#define WHAMMC_UNIT_KNOWN_H

#include "plan/plan.h"

/*
 * The value of a static expression as far as it is the same at all sites of the event: the
 * instruction's name, category, access size and values derived from them. Returns false if it
 * differs from site to site, or has no value.
 */
bool known_value(Event event, const Expr *e, Value *out);

/* A static expression with the known values filled in, allocated in `a`; never the same node. */
Expr *known_simplify(Arena *a, Event event, const Expr *e);

/* Whether a static expression has a value at the sites of the event. TRI_UNKNOWN: at some. Memories
 * that it names are taken to be there. */
Tri known_exists(Event event, const Expr *e);

/* Whether the value of a static expression (simplified) depends on the location in the function. */
bool known_has_place(const Expr *e);

#endif
