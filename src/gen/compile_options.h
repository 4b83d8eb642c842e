/*
 * gen/compile_options.h - options of the generated code.
 */
#ifndef WHAMMC_GEN_COMPILE_OPTIONS_H
#define WHAMMC_GEN_COMPILE_OPTIONS_H

#include "plan/plan.h"

typedef struct GenOptions {
    bool optimise;
    const bool *in_memory; /* by PlanVar.id: the variable is kept in memory, not in globals */
    bool cells_in_memory;  /* elements of maps that are cells are */
    uint32_t memory_index; /* final index of that memory */
    bool imported;         /* strings and maps are in the memory of an imported module */
    bool stack_calls;      /* so is the shadow stack */
    const bool *tallies;   /* by PlanVar.id: it has arrays (storage/tally.h); NULL = none has */
    bool pages;            /* code of elements keeps the page that it used last */
    const Site *nowhere;   /* static values in functions and at script scope are known there */
} GenOptions;

#endif
