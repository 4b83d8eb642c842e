/*
 * storage/tally.h - arrays that count for maps. Part of storage.h.
 *
 * A map is a *tally* if nothing but reports, wasm:end and wasm:report look at it: everything else
 * only adds to its elements, `m[k]++` or `m[k] = m[k] + n`. Then it does not matter where
 * amounts are added up before a report is due. Elements whose keys are small are counted in an
 * array in the runtime's memory: one for each script or shared map, and at each site one for each
 * unshared map. A key has an i64; if an added amount may be zero, it has one more, its mark, which
 * is not zero if anything was added. Each report begins by adding the arrays to the maps, and
 * setting them to zero. Other elements are counted in the map.
 */
#ifndef WHAMMC_STORAGE_TALLY_H
#define WHAMMC_STORAGE_TALLY_H

#include "plan/plan.h"

/* Finds the tallies of a plan (Plan.tallies), in which everything has been cut, and the elements
 * that arrays may count (Expr.tally, Stmt.added). */
void tallies_find(Plan *plan);

typedef struct Tally {
    uint32_t map;   /* its number */
    uint32_t var;   /* PlanVar.id */
    uint32_t keys;  /* 0 = the map is counted in itself */
    uint64_t first; /* words before its own; the variable's next array follows */
} Tally;

/* A zeroed one is valid: there are no tallies. */
typedef struct Tallies {
    const Plan *plan;
    Vec(Tally) list;  /* of script and shared maps, then of sites in their order, within a site in
                         the order of the variables */
    uint32_t once;    /* number of tallies of script and shared maps */
    uint32_t *of_var; /* by PlanVar.id: the index of a script or shared map's */
    bool *chosen;     /* by PlanVar.id: it has arrays */
    uint32_t targets; /* the most targets of a br_table among the sites, with the default */
    uint64_t words;
    uint64_t at; /* the address of the first word */
} Tallies;

/* `maps`: by PlanVar.id, the numbers of script and shared maps. */
void tallies_init(Tallies *t, const Plan *plan, const uint32_t *maps);
void tallies_free(Tallies *t);

/* Pass 1: a match at a site. */
void tallies_site(Tallies *t, const Site *site);
/* ... and, after that, an unshared variable of it with map number `map`. */
void tallies_count(Tallies *t, uint32_t var, const Site *site, uint32_t map);

/* After pass 1: decides which maps have arrays; `can`: the runtime's memory is in the program. */
void tallies_choose(Tallies *t, bool can);

/* Whether there is a tally for an unshared variable at each site, though perhaps without array. */
static inline bool tallies_has(const Plan *plan, uint32_t var) {
    return plan->tallies && plan->tallies[var].text;
}

/* The address of an array. */
uint64_t tallies_address(const Tallies *t, uint32_t n);

#endif
