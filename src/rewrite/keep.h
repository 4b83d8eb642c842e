/*
 * rewrite/keep.h - calls that are rarely executed in loops hand back the loop's floats.
 *
 * A call destroys the registers of floats, so compilers keep what is alive at it in memory, and
 * some (Cranelift) do so at each iteration. So where the code under a rare condition (rare.h) at
 * the head of a loop without other calls is the call of a function without parameters,
 *
 *     if  call f  local.set v  end
 *
 * the floats that the loop uses become arguments and results of another function, which calls f:
 *
 *     if  local.get x  local.get y  call keep  local.set v  local.set y  local.set x  end
 */
#ifndef WHAMMC_REWRITE_KEEP_H
#define WHAMMC_REWRITE_KEEP_H

#include "analysis/survey.h"
#include "plan/plan.h"
#include "storage/fill.h"

/* A loop without calls that uses floats. */
typedef struct KeepLoop {
    uint32_t func, at;
    uint32_t first; /* its floats: the first in Keep.locals, f32 before f64 */
    uint32_t nf32, nf64;
} KeepLoop;

/* A function that calls `fn` (index into Plan.fns, as its own) and returns its arguments. */
typedef struct Keeper {
    uint32_t fn, nf32, nf64, own;
} Keeper;

/* A zeroed one is valid: nothing is kept. */
typedef struct Keep {
    Vec(KeepLoop) loops;  /* by function, then by offset */
    Vec(uint32_t) locals; /* of all loops */
    Vec(uint32_t) fns;    /* that are called so */
    Vec(Keeper) keepers;
} Keep;

/* After rare_mark: marks such calls in templates, finds the loops of functions that `touched` says
 * have code, and adds the functions to Plan.fns. */
void keep_find(Keep *k, Plan *plan, const WasmModule *m, WasmSurvey *survey,
               const uint8_t *touched);
/* Marks the functions that it added. */
void keep_reach(const Keep *k, bool *fns);
/* Pass 2: what is kept at a site. */
void keep_at(const Keep *k, const Site *site, const Match *matches, uint32_t n, FillFloats *floats);
void keep_free(Keep *k);

#endif
