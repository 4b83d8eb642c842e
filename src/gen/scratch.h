/*
 * gen/scratch.h - what functions are built in: a module of Binaryen, or of code/code.h. Private to
 * gen/.
 *
 * Between scratch_begin and scratch_finish the process-wide lock is held that Binaryen needs.
 */
#ifndef WHAMMC_GEN_SCRATCH_H
#define WHAMMC_GEN_SCRATCH_H

#include "gen/expr.h"
#include "gen/compile_options.h"

/* What the bodies of one run have in common. */
typedef struct Scratch {
    const Plan *plan;
    const GenOptions *options;
    const HoleOps *ops;                  /* of all bodies; NULL = templates */
    void *ctx;                           /* for them */
    void (*optimise)(struct Scratch *x); /* called if the options say so */
    struct CodeModule *code;             /* templates are built there; NULL = by Binaryen */
    BinaryenModuleRef module;
    Map imports;
    uint32_t npages;                /* elements that keep the page which they used last */
    bool any;                       /* a function was built */
    Vec(BinaryenFunctionRef) plain; /* those that all passes are run on */
    Vec(BinaryenFunctionRef) huge;  /* ... and those that are too large for some */
    Span at;                        /* the probe or function of which something is made */
    uint32_t crowded;               /* locals of a function that has too many for engines; or 0 */
    Span crowded_at;
} Scratch;

/* False if Binaryen cannot be loaded (reported). */
bool scratch_begin(Scratch *x, Diags *diags);
/* Validates, optimises, and appends the bytes to *out (none if nothing was built, or if a function
 * is crowded). False if the module is invalid. */
bool scratch_finish(Scratch *x, Buf *out);
/* Whether engines accept all functions; reports those that they do not. */
bool scratch_fits(const Scratch *x, Diags *diags);

/* Each function for itself; linear in their sizes and number. */
void scratch_optimise_each(Scratch *x);

/* A body for code of the variant where its atoms have these values; scratch_add frees it. */
Body scratch_body(Scratch *x, const Variant *v, uint64_t atoms);
/* Adds a function with the locals of the body, which is freed, and exports it under its name. */
void scratch_add(Scratch *x, Body *b, const char *name, BinaryenType params, BinaryenType result,
                 Ref body);

/* A function of a script. Where it ends without a return it returns zero. */
void scratch_fn(Scratch *x, const PlanFn *f, const char *name);
/* The initial values of a probe's shared variables that do not fold. */
void scratch_shared(Scratch *x, const Variant *v, const char *name);
/* Script-scope statements; false if there are none that generate code. */
bool scratch_init(Scratch *x, uint32_t script, const char *name);
/* '@exit' calls at script scope; false if there are none. */
bool scratch_exit(Scratch *x, uint32_t script, const char *name);

#endif
