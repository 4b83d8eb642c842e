/*
 * valid/limits.h - whether engines accept an output: they have limits that the specification does
 * not know (wasm/limit.def).
 */
#ifndef WHAMMC_VALID_LIMITS_H
#define WHAMMC_VALID_LIMITS_H

#include "wasm/module.h"

/*
 * `m`, of `size` bytes, is the output that was made of `from` (NULL: of none). Reports what is too
 * large in `m` and was not in `from`. False if there is anything.
 */
bool limits_check(const WasmModule *m, size_t size, const WasmModule *from, Span place,
                  Diags *diags);

#endif
