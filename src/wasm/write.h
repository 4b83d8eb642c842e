/*
 * wasm/write.h - what the files of the writer share (write.c, write_names.c).
 */
#ifndef WHAMMC_WASM_WRITE_H
#define WHAMMC_WASM_WRITE_H

#include "wasm/module.h"

/* True if something that was added has a name. */
bool wasm_names_added(const WasmModule *m, const WasmWriter *w);

/*
 * Appends the contents of the name section `s` (NULL = there is none yet) as it is now. With
 * `additions` the names of what was added are put in. `resized` tells by function handle whether
 * the body was edited.
 */
void wasm_put_names(const WasmModule *m, const WasmWriter *w, const WasmSection *s, bool additions,
                    const bool *resized, Buf *out);

#endif
