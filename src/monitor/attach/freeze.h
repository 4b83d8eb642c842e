/*
 * monitor/attach/freeze.h - makes instances part of a program in their current state.
 *
 * Instances that ran at compile time (a monitor and its libraries, while it was attached) continue
 * when the program runs: their functions are merged into the program (wasm_merge), their memories,
 * tables and globals with their current contents. Active segments and start functions are left out,
 * since they have already had their effect. Only what is reachable from the roots is copied; a
 * function that a copied table or global holds is reachable.
 *
 * Instances share what they import from one another, directly or indirectly, and so do the copies:
 * an import becomes the copy of the object that it is bound to. `resolve` handles imported host
 * functions.
 *
 *     freeze_add(&f, library instance, "cache."), freeze_add(&f, monitor instance, "mon.")
 *     freeze_merge(&f, instance, roots, nroots)    as often as needed
 *     freeze_finish(&f)                            the contents
 */
#ifndef WHAMMC_ATTACH_FREEZE_H
#define WHAMMC_ATTACH_FREEZE_H

#include "edit/merge.h"
#include "eval/eval.h"

/* One instance. */
typedef struct Frozen {
    struct Freeze *freeze;
    EvalInstance *instance;
    WasmMerge merge; /* merge.handles[space][index] is where something is in the program, or
                        UINT32_MAX */
} Frozen;

/* To be set by the caller: to, resolve, ctx and diags; the rest is zero. */
typedef struct Freeze {
    WasmModule *to; /* must not be laid out */
    /* The replacement of an imported host function, as WasmMerge.resolve: a handle in `to`, -1 = it
     * has no replacement, -2 = an error was reported. The import has the names by which the host
     * knows it, also if the module imports it through another one. */
    int64_t (*resolve)(void *ctx, const Frozen *module, const WasmImport *import);
    void *ctx;
    Diags *diags;
    Vec(Frozen *) modules;
} Freeze;

/* Instances come in the order of instantiation. Names of copies begin with `prefix`, which must
 * outlive `f`. */
Frozen *freeze_add(Freeze *f, EvalInstance *instance, Str prefix);

/* Copies everything that the functions `roots` (handles of the instance's module) need;
 * freeze_finish copies contents. Returns false with messages. */
bool freeze_merge(Freeze *f, Frozen *module, const uint32_t *roots, uint32_t nroots);

/* Contents of the copied memories, tables and globals, as the instances have them now. Once, at the
 * end; `to` is still not laid out. False with messages. */
bool freeze_finish(Freeze *f);

/* Frees the modules that freeze_add has added; the program keeps the copies. */
void freeze_free(Freeze *f);

#endif
