/*
 * link/runtime.h - makes a runtime (report/embedded.h) part of a module: resolves its imports and
 * initialises its state.
 */
#ifndef WHAMMC_LINK_RUNTIME_H
#define WHAMMC_LINK_RUNTIME_H

#include "edit/merge.h"
#include "link/host.h"
#include "report/embedded.h"

typedef struct RuntimePlace {
    WasmModule *to;         /* not laid out */
    const WasmModule *from; /* the runtime */
    uint32_t memory;        /* handle of its memory */
    uint32_t shown;         /* ... of the runtime that its host sees (runtime_show) */
    uint32_t stack_pointer; /* handle of a global */
    Str prefix;             /* of names of functions, as in WasmMerge */
} RuntimePlace;

/* WasmMerge.resolve; ctx is a RuntimePlace. */
int64_t runtime_resolve(void *ctx, const WasmImport *import);

/* A function to copy from a runtime: the name of its export, and where its handle is stored. */
typedef struct RuntimeFunc {
    const char *name;
    uint32_t *handle;
} RuntimeFunc;

/* Reads a runtime into `from`, copies the wanted functions as `g` says, and frees `from`. False
 * with messages on failure. */
bool runtime_merge(WasmMerge *g, WasmModule *from, RuntimeModule rt, const RuntimeFunc *wanted,
                   uint32_t n, Diags *diags);

/* Adds C's fmod to the module, which is not laid out. False on an internal error (reported). */
bool runtime_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags);

/* Chooses the memory for text and reports that the host can see: sets p->shown. For WASI that is
 * the export 'memory', the program's if it has one. False with a message if that is something else.
 */
bool runtime_show(RuntimePlace *p, HostChoice host, Diags *diags);

/* The runtime for a host, once it is known which memory the host sees; `file`: the report is
 * written to a file. */
RuntimeHost runtime_for(const RuntimePlace *p, HostChoice host, bool file);

/*
 * Decides HOST_AUTO by the imports of a module: JavaScript if there is a function that is not
 * WASI's (Emscripten's programs import both); otherwise WASI, also if a part that will be merged
 * uses it (`wasi`); otherwise JavaScript if it imports a memory, table or global; otherwise
 * HOST_NONE.
 */
HostChoice runtime_host(const WasmModule *m, HostChoice wanted, bool wasi);

/* Reports that HOST_NONE has no clock for a probe of wasm:interval. */
void host_report_no_clock(Diags *diags, Span interval);

/* The reason in words; `decided` is the result for HOST_AUTO. */
Str runtime_host_reason(const WasmModule *m, HostChoice decided, Arena *arena);

/* The fields of the state (stdlib/runtime/values.h) that the compiler knows. */
typedef struct RuntimeState {
    uint64_t heap, maps, image; /* addresses below 2^32 */
    uint32_t nmaps, image_len;
} RuntimeState;

/* Adds them as initial data of a memory; `name`: of the segment. */
void runtime_add_state(WasmModule *m, uint32_t memory, const RuntimeState *s, Str name);

#endif
