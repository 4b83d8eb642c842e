/*
 * edit/write.h - writes a module: the input's bytes, with renumbered indices and additions.
 */
#ifndef WHAMMC_EDIT_WRITE_H
#define WHAMMC_EDIT_WRITE_H

#include "base/sink.h"
#include "wasm/module.h"

/*
 * Writes the module. `body` returns the code of each input function with a body (its size field
 * included, as wasm_edit_body appends it); NULL = copy all. Returns false if body did. Lays the
 * module out if needed. Branch hints follow edited bodies; the name section gets the names of
 * additions.
 */
typedef struct WasmWriter {
    bool (*body)(void *ctx, uint32_t func, Buf *out); /* may be NULL */
    void *ctx;
    /* Names of locals added to input functions, for a name section that names locals; may be NULL.
     */
    Str (*local_name)(void *ctx, uint32_t func, uint32_t nth_added);
    uint32_t (*locals_added)(void *ctx, uint32_t func);
    uint32_t threads; /* threads that copy large parts; 0 is 1 */
    const Sink *sink; /* gets the output as it is made; may be NULL */
} WasmWriter;
bool wasm_write(WasmModule *m, const WasmWriter *w, Buf *out);

/* Whether the bytes of the input's data segments are written unchanged: the entities that they name
 * have kept their indices. The module is laid out. */
bool wasm_writes_datas_as_read(const WasmModule *m);

/* ---- shared by write.c and write_names.c ---- */

/* True if something that was added has a name; locals have none if w is NULL. */
bool wasm_names_added(const WasmModule *m, const WasmWriter *w);

/*
 * Appends the contents of the updated name section `s` (NULL = none yet). With `additions`, the
 * names of added items are included. `resized` says by function handle whether the body was edited.
 */
void wasm_put_names(const WasmModule *m, const WasmWriter *w, const WasmSection *s, bool additions,
                    const bool *resized, Buf *out);

#endif
