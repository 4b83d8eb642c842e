/*
 * analysis/go.h - functions compiled by Go's compiler, which are left in the middle when a
 * goroutine blocks.
 *
 * Such a function has a parameter, which says where it goes on, and 0 if it is called. It begins
 * with a br_table that leads there. Called, it first looks whether its stack has room: if not, it
 * is left, and called once more when the stack has been moved. Where it is left in the middle,
 * control falls to its last `end`, with the result 1; to where it ends, there is a `return`.
 */
#ifndef WHAMMC_ANALYSIS_GO_H
#define WHAMMC_ANALYSIS_GO_H

#include "wasm/module.h"

/* Go's compiler made the program: its custom sections say so. */
bool wasm_is_go(const WasmModule *m);

/* The instruction, by its offset, to which control comes once for each call, however often the
 * function is left in the middle or called once more; 0 = the first one. */
uint32_t wasm_go_start(const WasmModule *m, uint32_t func);

/* The offset of the last `end`, if control comes there when the function is left in the middle;
 * 0 = it never is. */
uint32_t wasm_go_left(const WasmModule *m, uint32_t func);

#endif
