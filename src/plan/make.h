/*
 * plan/make.h - from checked scripts to a plan.
 */
#ifndef WHAMMC_PLAN_MAKE_H
#define WHAMMC_PLAN_MAKE_H

#include "plan/access.h"

typedef struct PlanOptions {
    bool cells;        /* maps become cells where that is possible */
    uint32_t steps;    /* that an execution of a probe may take; 0 = 10,000,000 */
    bool empty_bodies; /* bodies at sites only call a function that does nothing */
    AccessProgram program;
} PlanOptions;

/*
 * Checks the scripts (parsed, unchecked) and makes the plan. The scripts and libraries are borrowed
 * and must outlive it. False if there were errors; plan_free is needed either way.
 */
bool plan_make(Plan *plan, Script *const *scripts, uint32_t n, const Libraries *libraries,
               const PlanOptions *options, Diags *diags);
void plan_free(Plan *plan);

#endif
