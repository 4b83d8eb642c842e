/*
 * plan/access.h - values of the program that probes name by members: args[0], args.p->size.
 *
 * Their types and places differ from function to function. So a probe with such names has one
 * *base* variant per group of events, with the part of the predicate that can be decided without
 * them. Before the plan is finished the program is walked once with these; each site gets a variant
 * in which the names have become values there, shared by all sites where these are the same.
 */
#ifndef WHAMMC_PLAN_ACCESS_H
#define WHAMMC_PLAN_ACCESS_H

#include "plan/plan.h"

/* Whether an event has values by names that begin with `root`. */
bool access_at(EventKind kind, Str root);
/* Reduces a checked variant, some of whose names are not known yet, to a base. Returns whether it
 * cannot match. */
bool access_make_base(Plan *plan, Variant *v);

/* The program that scripts are planned for. */
typedef struct AccessProgram {
    /* Reads it, if scripts name its values; false: it cannot be read. NULL = there is none. */
    bool (*open)(void *ctx, const WasmModule **m, Locator **locator);
    void *ctx;
} AccessProgram;

/* Makes a variant in which the names have these values, by their text; false after messages. */
typedef bool AccessMake(Plan *plan, Variant *v, Diags *diags);
/* Finds the sites of all bases, and makes their variants. False if there were errors. */
bool access_find_sites(Plan *plan, const AccessProgram *program, AccessMake *make, Diags *diags);

/* The variant for a site of a base; NULL = it has none. */
Variant *access_variant(const Plan *plan, const Action *a, const Site *s);

#endif
