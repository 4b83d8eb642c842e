/*
 * flush/flush.h - how an instrumented program writes its report: where the runtime lives, the
 * flush function, and the start function that initialises script variables.
 *
 * The runtime (report/embedded.h) uses one of three memories:
 *   own       a separate memory. Engines need multi-memory if the program has a memory, too
 *   grown     the program's memory 0, grown at the flush, when the program has ended
 *   imported  another module (--link=import, flush_import.c)
 */
#ifndef WHAMMC_FLUSH_FLUSH_H
#define WHAMMC_FLUSH_FLUSH_H

#include "flush/reach.h"
#include "gen/template.h"
#include "inject/counter_code.h"
#include "link/options.h"
#include "storage/fill.h"

/* Handles; UINT32_MAX = there is none. */
typedef struct FlushHandles {
    uint32_t memory;              /* the runtime's */
    uint32_t stack_pointer, base; /* globals; base: start of the grown part */
    uint32_t report, no_memory;   /* whammc_report, whammc_no_memory */
    uint32_t flush;               /* the flush function */
    uint32_t due;                 /* the function that scripts call when a report is due */
    uint32_t flushing;            /* a global: the flush function is active (if there is `due`) */
    uint32_t grow, size;          /* the functions that replace memory.grow, memory.size */
    uint32_t thread;              /* a global: the number of the thread */
    uint32_t thread_start;        /* the function that is exported as wasi_thread_start, */
    uint32_t begins;              /* and the program's own */
    uint32_t suspend, resume;     /* functions that get the number of a stack */
    uint32_t sum;                 /* whammc_sum */
    uint32_t ready;               /* the function that makes ready for it */
    uint32_t traps;               /* the first global of records of traps */
    Vec(uint32_t) library_starts; /* functions that libraries need called first, in order */
} FlushHandles;

/* The image of the report. */
typedef struct FlushImage {
    uint32_t data; /* handle of the passive segment (grown) */
    uint64_t at;   /* address (own) */
    uint32_t len;
    uint32_t size; /* with the table of sums after it */
} FlushImage;

/* Handles of functions of the runtime module (imported). */
typedef struct FlushImports {
    uint32_t open, put32, put64, skip, close, setup, setup_text;
} FlushImports;

/* Sums of counters. */
typedef struct FlushSums {
    CounterFuncs funcs;   /* return parts of sums that are counted by segments */
    uint32_t *end;        /* by variable of Counts: of `funcs` */
    Buf table;            /* of the sums that the runtime adds up (stdlib/runtime/sums.h) */
    uint32_t *at;         /* by variable of Counts: 1 + the offset of its sum there, 0 = none */
    Vec(uint32_t) settle; /* handles of functions that update values that code reads at a report */
} FlushSums;

/* What the program writes. */
typedef struct FlushWrites {
    bool text;  /* with whamm_core */
    bool lines; /* with `print` */
    bool any;   /* one of them, or a report */
} FlushWrites;

typedef struct Flush {
    WasmModule *m;
    Store *store;
    const Plan *plan;
    const RewriteOptions *options;
    Matcher *matcher; /* of the rewriter */
    const Shadow *shadow;
    const MemoryOps *memories;
    const StackPlaces *stack;
    uint32_t *helpers;   /* handles by Helper */
    const uint32_t *fns; /* handles of script functions, by index into Plan.fns */
    Diags *diags;
    DiagFileId file;
    HostChoice host; /* decided: not HOST_AUTO */
    bool flushes;    /* there is something to do at the flush points */
    FlushWrites writes;
    bool own; /* the runtime has its own memory */
    FlushHandles at;
    FlushImage image;
    FlushImports rt;
    FlushSums sums;
    Map kept; /* of its code (Fill.kept); the caller takes it over */
    Atomics atomics;
    int64_t proc_exit; /* handle of the import, -1 = none */
    int64_t main;      /* function at whose exits the report is flushed, -1 = none */
} Flush;

/* Whether memory 0 can be grown at the flush, with room for the runtime (code for 32-bit memories).
 * It may become larger than the program declares, but a maximum known to others is not raised. */
bool flush_can_grow(const WasmModule *m);

/* Whether the program has threads: it imports a shared memory, so each can have an instance. */
bool flush_has_threads(const WasmModule *m);

/* Decides HOST_AUTO by the program and the libraries. */
HostChoice flush_host(const WasmModule *m, const Plan *plan, const RewriteOptions *options);

/* Decides placement and storage; adds memory, the image, initial data. Pass 1 is over, the
 * module not laid out. */
bool flush_plan(Flush *f);
/* Adds the runtime, or imports of it, when the calls of templates are known and before the layout.
 * `once`: whether a report involves more than writing it. */
bool flush_link(Flush *f, const Reach *reach, const OnceShapes *once);

/* Whether start-up code runs when the program's `_start` is called, not at instantiation, which is
 * too early for calls of WASI and for writing. */
bool flush_starts_late(const Flush *f);

/* Adds the start and the flush function and exports; after the layout. */
bool flush_add(Flush *f, const Template *const *init, const OnceShapes *once, const Reach *reach);

#endif
