/*
 * storage/memory.h - memory operations of scripts: memcpy, read_str and the like.
 *
 * Numbers of memories in scripts: the program's memories have their indices; the memories of
 * libraries and of the runtime follow, in the order in which they became part of the module. With
 * --link=import, where the runtime's memory is in another module, it comes last.
 *
 * Each operation becomes a function, once for each combination of memories. Accesses out of bounds
 * have no effect, so that the program behaves as before.
 */
#ifndef WHAMMC_STORAGE_MEMORY_H
#define WHAMMC_STORAGE_MEMORY_H

#include "gen/gen.h"

/* An operation on certain memories. */
typedef struct MemoryOp {
    uint32_t op;    /* FnId, or one of memory.c */
    MemoryRef a, b; /* b: the other memory of copies */
    uint32_t func;  /* handle; UINT32_MAX = none */
} MemoryOp;

/* The results of linking (besides Library.memory). */
typedef struct MemoryPlaces {
    int64_t runtime;         /* handle of the runtime's memory; -1 = it is in another module */
    const uint32_t *helpers; /* handles, by Helper */
} MemoryPlaces;

typedef struct MemoryOps {
    const Plan *plan;
    WasmModule *m;
    Vec(MemoryOp) list;
    Map ids;      /* indices into it, by the bytes of all but func */
    Map wrong;    /* calls that were reported */
    bool monitor; /* the module is a monitor: all calls are functions, all memories have numbers */
    MemoryPlaces at;
    Vec(MemoryRef) numbered; /* the memories that have numbers, in their order; see memory.c */
} MemoryOps;

/* No operations at first. Release with memory_free. */
void memory_init(MemoryOps *x, const Plan *plan, WasmModule *m);
void memory_free(MemoryOps *x);

/* Pass 1: records the operations of a variant's calls at a site (for code without a site: a Site
 * with only m set). False if the program lacks a memory, which is reported once per call. */
bool memory_note(MemoryOps *x, const Site *site, const Variant *v, Diags *diags);
/* The same for one call, an index into Plan.memory_calls. */
bool memory_note_call(MemoryOps *x, const Site *site, uint32_t call, Diags *diags);

/* Whether a recorded operation uses the memory of library n. */
bool memory_uses_library(const MemoryOps *x, uint32_t library);

/* Whether the memory that an argument names at a site can be reached by instructions of the
 * program. `imported`: by --link=import, the runtime's is in another module. */
bool memory_named(const MemoryOps *x, const Expr *memory, const Site *site, bool imported);
/* The handle of such a memory, when everything is linked. */
uint32_t memory_handle(const MemoryOps *x, const Expr *memory, const Site *site);

/* Marks the helpers that the operations call. */
void memory_helpers(const MemoryOps *x, bool imported, bool *used);

/* Adds the functions, after everything has been linked and before the layout. */
void memory_add(MemoryOps *x, const MemoryPlaces *at);

/* Returns the handle of the function that a call stands for, in code with calls as imports
 * (monitor/make/monitor_code.h); after memory_add. */
uint32_t memory_function(const MemoryOps *x, uint32_t call, const Site *site);

/* Appends the code of a call (index into Plan.memory_calls) at a site: its arguments are on the
 * stack; the module is laid out. */
void memory_put_call(const MemoryOps *x, uint32_t call, const Site *site, Buf *out);

#endif
