/*
 * storage/fill.h - fills the holes of templates in rewritten programs: variables, maps, and
 * functions of the runtime, of libraries and of scripts.
 */
#ifndef WHAMMC_STORAGE_FILL_H
#define WHAMMC_STORAGE_FILL_H

#include "inject/splice.h"
#include "storage/br_table.h"
#include "storage/memory.h"
#include "storage/shadow.h"
#include "storage/stack.h"
#include "storage/storage.h"
#include "storage/tags.h"

/* The frame variables of the function being edited, by PlanVar.id: the local of the first leaf;
 * UINT32_MAX = none yet. */
typedef struct FrameLocals {
    uint32_t *local;
    Vec(uint32_t) used;
} FrameLocals;

/* The map element that was looked up last. */
typedef struct LastElement {
    const Variant *variant; /* NULL = none was */
    const WasmInstr *instr;
    uint32_t key, func, pc;
    const MapCell *cell;
} LastElement;

/* Floats of a loop that calls of function `fn` hand back: those calls are of `keeper`, another
 * function (rewrite/preserve_floats.c). Indices into Plan.fns. */
typedef struct FillFloats {
    uint32_t fn, keeper;
    const uint32_t *locals;
    uint32_t n; /* 0 = there are none */
} FillFloats;

/* The state of the back end, for one splicer. */
typedef struct Fill {
    const WasmModule *m; /* laid out */
    const Plan *plan;
    const Store *store;
    const uint32_t *helpers; /* handles by Helper */
    const uint32_t *fns;     /* handles by index into Plan.fns */
    const Shadow *shadow;
    const BrTables *br_tables;
    const MemoryOps *memories;
    const StackPlaces *stack;
    uint32_t due; /* handle of the function to call when a report is due; UINT32_MAX = none */
    const Atomics *atomics;
    uint32_t thread;     /* handle of a global, the number of the thread; UINT32_MAX = it is 0 */
    uint32_t grow, size; /* handles of functions that stand for memory.grow, memory.size */
    TagPlaces tags;      /* of the current function */
    FillFloats floats;   /* at the current site */
    FrameLocals frame;
    SlotCursor cursor;
    Vec(uint64_t) slots; /* of the current match */
    LastElement last;
    Map kept; /* words that cache a page of a map: number, by element and site */
    Buf key;  /* scratch */
} Fill;

/* Makes `s` a splicer of this back end; `fill` must outlive it. The caller then sets the other
 * members that the code needs. */
void fill_init(Fill *fill, Splicer *s, const WasmModule *m, const Plan *plan, const Store *store);
void fill_free(Fill *f);

/* Whether there are enough such words for each element at each site. */
bool fill_can_keep_pages(const Store *store);

/* Calls `each` with the local of each leaf of the current function's frame variables, in one order
 * or the other. */
void fill_each_frame_local(const Fill *f, bool backwards,
                           void (*each)(void *ctx, uint32_t local, WasmType type), void *ctx);

/* Appends the call that stands for the instruction, if there is such a function. */
bool fill_put_memory(const Fill *f, const WasmInstr *i, Buf *out);

/* Restarts at the first site. */
void fill_restart(Fill *f);

#endif
