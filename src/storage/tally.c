/*
 * storage/tally.c - arrays that count which targets br_tables take.
 */
#include "storage/tally.h"

void tallies_count(Tallies *t, const Variant *v, const Var *var, const Site *site, uint32_t map) {
    if (!tallies_has(t, v, var))
        return;
    uint32_t n = site->instr->count + 1;
    vec_push(&t->list, ((Tally){map, v->tallies[var->index] - 1, n, t->words}));
    t->words += n;
}

uint64_t tallies_address(const Tallies *t, uint32_t n) {
    return t->at + 8 * t->list.at[n].first;
}
