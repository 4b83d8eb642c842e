/*
 * valid/limits.h - whether engines accept an output: they have limits that the specification does
 * not know (wasm/limit.def).
 */
#ifndef WHAMMC_VALID_LIMITS_H
#define WHAMMC_VALID_LIMITS_H

#include "wasm/module.h"

/*
 * Reports the limits that `m`, of `size` bytes, exceeds and `from` did not; `m` was made of `from`
 * (NULL: of nothing). Returns false if there are any.
 */
bool limits_check(const WasmModule *m, size_t size, const WasmModule *from, Span place,
                  Diags *diags);

#endif
