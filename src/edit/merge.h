/*
 * edit/merge.h - copies parts of one module into another.
 */
#ifndef WHAMMC_EDIT_MERGE_H
#define WHAMMC_EDIT_MERGE_H

#include "wasm/module.h"

/*
 * Copies everything that `roots` (function handles of `from`) need from module `from` into `to`:
 * functions reachable from them, their types, globals, tags, tables with their elements, and data.
 * `from` must have no additions, `to` must not be laid out.
 *
 * There are two ways to treat memories:
 *
 * - A piece of code for an existing memory (`whole` false): every memory access of the copied
 *   code goes to memory handle `memory` of `to`; from's own memory is not copied. All active data
 *   segments are added for that memory. A start function is not copied unless it is a root.
 * - A library (`whole`): each memory that is needed becomes a further memory of `to`, with its
 *   active data. Needed are memories that reachable code names, memory 0 and the exported "memory"
 *   if a function has to be imported (the host may look into it), and all with `keep_memories`. The
 *   start function and the exported function "_initialize" are roots too, if there are such: `to`
 *   must call first `start`, then `initialize`, before anything else of the library.
 *
 * In both, tables come with their active element segments, so that all functions that an indirect
 * call can reach are there; unreachable entities are left out, with their active segments. The
 * exports of `from` do not become exports.
 *
 * `resolve` returns the handle in `to` for an import of `from` that is needed (it may add to `to`,
 * and see in g->handles the types and memories), or -1, or -2 if it has given a message itself.
 * Without `resolve` it is -1. Unresolved imports are errors, except: globals env.__memory_base and
 * env.__table_base of position-independent code become constants, a table __indirect_function_table
 * becomes a new one, and in a library so does a memory. The type of resolve's result must match the
 * import's. wasm_merge_join is a resolver for imports that shall stay imports.
 *
 * A library can also be copied without its beginning (`keep`): the caller then supplies the
 * contents of the copies. Start functions and "_initialize" are no roots, active and declarative
 * segments become empty passive ones where code names them; of a global or table the initial value,
 * of a passive segment the contents are left out if `keep` says false.
 *
 * wasm_merge can be called again with the same `g`: it then copies what is not there yet.
 */
typedef struct WasmMerge {
    WasmModule *to;
    const WasmModule *from;
    bool whole, keep_memories;
    uint32_t memory;      /* unless `whole` */
    uint64_t memory_base; /* value of env.__memory_base */
    int64_t (*resolve)(void *ctx, const WasmImport *import);
    bool (*keep)(void *ctx, WasmSpace space, uint32_t index); /* NULL: `from` begins as it says */
    void *ctx;
    Str prefix;                /* put before names of copied functions, globals and so on */
    int64_t start, initialize; /* result with `whole`: to's function handles, -1 = none */
    uint32_t *handles[WASM_SPACE_COUNT]; /* result: from's index to to's handle, UINT32_MAX = not
                                            copied; freed by wasm_merge_free */
} WasmMerge;
/* False with messages in diags (in from's file) if it cannot be done; `to` may then hold parts. */
bool wasm_merge(WasmMerge *g, const uint32_t *roots, uint32_t nroots, Diags *diags);
/* The same for something that is not a function. */
bool wasm_merge_one(WasmMerge *g, WasmSpace space, uint32_t index, Diags *diags);
/*
 * For use in `resolve`: the handle of an import of `to` that has the same module, name and type, or
 * of a new one. Returns -1 for tables that `to` does not import, and for parts of the library's own
 * memory: memories, env.__stack_pointer and the bases.
 */
int64_t wasm_merge_join(const WasmMerge *g, const WasmImport *import);
/* Adds a function in place of an imported one, and of its type. `code` is consumed. */
uint32_t wasm_merge_func(const WasmMerge *g, const WasmImport *im, const char *name, Buf *code);
void wasm_merge_free(WasmMerge *g);

#endif
