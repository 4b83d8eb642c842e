/*
 * link/bridge.h - WASI for a library that becomes part of a program.
 *
 * WASI functions read and write the memory that the instance exports as "memory". A merged library
 * (wasm_merge with `whole`) keeps its own memory, so for its imports from wasi_snapshot_preview1
 * there are three ways:
 *
 * - the program exports no memory: the library's becomes the exported one, and the library calls
 *   WASI itself;
 * - the function takes no addresses: the library calls WASI itself;
 * - else the library gets an adapter (stdlib/runtime/bridge.c), which borrows some bytes of the
 *   program's memory during the call. The adapters of a library share one further memory.
 *
 * WASI imports are merged with the program's own.
 */
#ifndef WHAMMC_LINK_BRIDGE_H
#define WHAMMC_LINK_BRIDGE_H

#include "edit/merge.h"
#include "wasm/module.h"

typedef struct Bridge {
    const WasmMerge *library;
    Diags *diags;
    bool of_monitor;  /* messages speak of a monitor */
    int64_t memory;   /* the library's memory that WASI uses, a handle; -1 = its export "memory", or
                         its first one */
    int64_t app, lib; /* memory handles of the program's exported memory and of the library's */
    int64_t begun;    /* the global that is not 0 after the first call of an entry, */
    uint32_t begin;   /* and the function that sets it; begun -1 = there are none yet */
    bool loaded;      /* `from` and `adapters` are in use */
    WasmModule from;  /* the module of all adapters */
    WasmMerge adapters; /* the functions that are in the program */
} Bridge;

/* For one merge of one library, which must outlive it. Call bridge_import from its resolver,
 * bridge_free afterwards. */
void bridge_init(Bridge *b, const WasmMerge *library, Diags *diags);
void bridge_free(Bridge *b);

/* Resolves an imported function of the library, as WasmMerge.resolve: a handle, or -2 with a
 * message in diags (in the library's file). -1 if the import is neither WASI's nor AssemblyScript's
 * env.abort, which becomes a trap. */
int64_t bridge_import(Bridge *b, const WasmImport *import);

/*
 * After the merge: returns a wrapper of `func`, a handle of a library function in the program.
 * Before the first call of any such function, the wrappers call the library's `start` and
 * `initialize`. This is for libraries that use WASI in these functions: the program's start
 * function would be too early, since Node's WASI must be given the instance first. Returns `func`
 * itself if nothing has to be called.
 */
uint32_t bridge_entry(Bridge *b, uint32_t func);

#endif
