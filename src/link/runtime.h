/*
 * link/runtime.h - a runtime (report/embedded.h) becomes part of a module: what the functions that
 * it imports are there, and its state.
 */
#ifndef WHAMMC_LINK_RUNTIME_H
#define WHAMMC_LINK_RUNTIME_H

#include "report/embedded.h"
#include "edit/merge.h"
#include "link/host.h"

typedef struct RuntimePlace {
    WasmModule *to;         /* not laid out */
    const WasmModule *from; /* the runtime */
    uint32_t memory;        /* handle of its memory */
    uint32_t shown;         /* ... of the one that its host sees (runtime_show) */
    uint32_t stack_pointer; /* handle of a global */
    Str prefix;             /* of names of functions, as in WasmMerge */
} RuntimePlace;

/* WasmMerge.resolve; ctx is a RuntimePlace. */
int64_t runtime_resolve(void *ctx, const WasmImport *import);

/* A function that is wanted of a runtime: the name of its export, and where its handle goes. */
typedef struct RuntimeFunc {
    const char *name;
    uint32_t *handle;
} RuntimeFunc;

/* Reads a runtime into `from`, which is freed afterwards, and copies what is wanted of it, as `g`
 * says. False with messages if that cannot be done. */
bool runtime_merge(WasmMerge *g, WasmModule *from, RuntimeModule rt, const RuntimeFunc *wanted,
                   uint32_t n, Diags *diags);

/* Adds C's fmod to the module, which is not laid out. False on an internal error (reported). */
bool runtime_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags);

/* Chooses the memory for text and reports that the host can see: sets p->shown. For WASI that is
 * the export 'memory', the program's if it has one. False with a message if that is something else.
 */
bool runtime_show(RuntimePlace *p, HostChoice host, Diags *diags);

/* The runtime for a host that has been decided, when it is known which memory that sees; `file`:
 * the report goes to one. */
RuntimeHost runtime_for(const RuntimePlace *p, HostChoice host, bool file);

/*
 * HOST_AUTO decided by all that a module imports: JavaScript if there is a function that WASI does
 * not have (Emscripten's programs import both), else WASI, also if what will be part of it uses
 * that
 * (`wasi`), else JavaScript if it imports a memory or the like, else HOST_NONE.
 */
HostChoice runtime_host(const WasmModule *m, HostChoice wanted, bool wasi);

/* Why, in words; what HOST_AUTO has become is `decided`. */
Str runtime_host_reason(const WasmModule *m, HostChoice decided, Arena *arena);

/* The fields of the state (stdlib/runtime/values.h) that the compiler knows. */
typedef struct RuntimeState {
    uint64_t heap, maps, image; /* addresses below 2^32 */
    uint32_t nmaps, image_len;
} RuntimeState;

/* Adds them as initial data of a memory; `name`: of the segment. */
void runtime_add_state(WasmModule *m, uint32_t memory, const RuntimeState *s, Str name);

#endif
