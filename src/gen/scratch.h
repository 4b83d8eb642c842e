/*
 * gen/scratch.h - the module in which the functions of one run are built. Private to gen/.
 */
#ifndef WHAMMC_GEN_SCRATCH_H
#define WHAMMC_GEN_SCRATCH_H

#include "gen/compile_options.h"
#include "gen/expr.h"

/* The state that all bodies of one run share. */
typedef struct Scratch {
    const Plan *plan;
    const GenOptions *options;
    const HoleOps *ops; /* of all bodies; NULL = templates */
    void *ctx;          /* for them */
    CodeModule code;
    uint32_t npages; /* elements that keep the page which they used last */
} Scratch;

/* A body for code of the variant where its atoms have these values; scratch_add frees it. */
Body scratch_body(Scratch *x, const Variant *v, uint64_t atoms);
/* Adds a function with the parameters (b->nparams) and locals of the body, which is freed. */
void scratch_add(Scratch *x, Body *b, const char *name, const WasmType *params, WasmType result,
                 Ref body);

/* Optimises the function if the options say so; locals share slots in any case. */
void scratch_finish(Scratch *x);

/* A function of a script. Where it ends without a return it returns zero. */
void scratch_fn(Scratch *x, const PlanFn *f, const char *name);
/* The initial values of a probe's shared variables that do not fold. */
void scratch_shared(Scratch *x, const Variant *v, const char *name);
/* Script-scope statements; false if there are none that generate code. */
bool scratch_init(Scratch *x, uint32_t script, const char *name);
/* '@exit' calls at script scope; false if there are none. */
bool scratch_exit(Scratch *x, uint32_t script, const char *name);

#endif
