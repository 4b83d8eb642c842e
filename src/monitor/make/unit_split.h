/*
 * monitor/make/unit_split.h - the residues of a unit, for each assignment of its atoms. Private to
 * monitor/make/.
 */
#ifndef WHAMMC_UNIT_UNIT_SPLIT_H
#define WHAMMC_UNIT_UNIT_SPLIT_H

#include "monitor/make/unit.h"

/* State that the units of a list share while they are split. */
typedef struct Splitter {
    Plan *plan;
    Counters *counters; /* NULL: nothing is counted by segments */
    Map forms;          /* of code: Residue.form */
    Map probes; /* the rest of a variant's probe, by variant, event and atoms: a text's number */
    Map texts;  /* numbers of texts */
    uint32_t nresidues;
    Map terms; /* by number of atoms and sets: UnitTerm and their number, in the plan's arena */
} Splitter;

/* Frees the maps; residues are in the arena of the plan. */
void splitter_free(Splitter *s);

/* Makes the residues of a unit whose atoms and parts are complete. False if it has more than
 * UNIT_ATOMS atoms that are not conditions. */
bool unit_split(Splitter *s, Unit *unit);

#endif
