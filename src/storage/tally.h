/*
 * storage/tally.h - arrays that count which targets br_tables take, for maps of sites that do
 * nothing else (plan/cell.h). An array is in the runtime's memory, and has an i64 for each target
 * and for the default. Part of storage.h.
 *
 * The map gets what was counted when a report is due, and the array is zero again.
 */
#ifndef WHAMMC_STORAGE_TALLY_H
#define WHAMMC_STORAGE_TALLY_H

#include "plan/plan.h"

typedef struct Tally {
    uint32_t map;   /* its number */
    uint32_t text;  /* the number of the description of its type */
    uint32_t n;     /* its words */
    uint64_t first; /* ... of those before it */
} Tally;

/* A zeroed one is valid. */
typedef struct Tallies {
    bool wanted;     /* the runtime's memory is in the program */
    Vec(Tally) list; /* in the order of the sites, at one site of the variables */
    uint64_t words;
    uint64_t at; /* the address of the first word */
} Tallies;

/* Pass 1: makes the array of map number `map`, the variable of a variant, at a br_table; nothing if
 * it is no tally. */
void tallies_count(Tallies *t, const Variant *v, const Var *var, const Site *site, uint32_t map);

/* Whether a variable of a variant has an array at each site. */
static inline bool tallies_has(const Tallies *t, const Variant *v, const Var *var) {
    return t->wanted && v->tallies && v->tallies[var->index];
}

/* The address of an array. */
uint64_t tallies_address(const Tallies *t, uint32_t n);

#endif
