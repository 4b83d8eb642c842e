/*
 * valid/valid.h - validation of a whole module (WebAssembly 3.0, appendix "validation
 * algorithm", with legacy exceptions besides).
 */
#ifndef WHAMMC_VALID_VALID_H
#define WHAMMC_VALID_VALID_H

#include "wasm/module.h"

/*
 * Reads and validates a module. Errors go to diags with the byte offset, the function, the expected
 * and the found; components and text files are recognised and named. False if there was an error;
 * the module is then empty. Damaged names and branch hints are left out, they are no errors.
 */
bool wasm_load(WasmModule *m, const uint8_t *bytes, size_t size, DiagFileId file, Diags *diags);

/* Like wasm_load, on so many threads (base/workers.h). */
bool wasm_load_program(WasmModule *m, const uint8_t *bytes, size_t size, DiagFileId file,
                       uint32_t threads, Diags *diags);

/* Parts of an output that need no validation, since they come from a valid module and were changed
 * only in ways that keep them valid: bodies with renumbered indices and with counters between two
 * instructions; data segments. docs/internals.md says why that is enough. */
typedef struct WasmKept {
    const WasmModule *from; /* the valid module; the output has its functions in the same order */
    const bool *bodies;     /* by its bodies in the order of the code section */
    bool datas;             /* byte for byte, before others (wasm_writes_datas_as_read) */
} WasmKept;

/* Like wasm_load, for an output of ours. With assertions the kept parts are validated, too. Kept
 * data segments are not in m->datas. */
bool wasm_load_output(WasmModule *m, const uint8_t *bytes, size_t size, const WasmKept *kept,
                      uint32_t threads, Diags *diags);

/* Checks type definitions from `first` on, and the limits of memories and tables, of a module that
 * has nothing else. */
bool wasm_check_types(WasmModule *m, uint32_t first, Diags *diags);

/* Reads once more the very bytes that wasm_load has found valid before: they are not validated. */
void wasm_load_again(WasmModule *m, const uint8_t *bytes, size_t size);

/* Like wasm_load without validating, only for modules that whammc itself has made: the runtime, and
 * the code of scripts. They become part of an output, which is validated. */
bool wasm_load_own(WasmModule *m, const uint8_t *bytes, size_t size, Diags *diags);

#endif
