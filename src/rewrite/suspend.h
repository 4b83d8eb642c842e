/*
 * rewrite/suspend.h - where a program's stack is left and resumed (`wasm:stack:suspend`,
 * `wasm:stack:resume`): where Asyncify's state is set; or the host says so, if a promise that an
 * import returns suspends the stack (JavaScript Promise Integration).
 */
#ifndef WHAMMC_REWRITE_SUSPEND_H
#define WHAMMC_REWRITE_SUSPEND_H

#include "analysis/asyncify.h"
#include "flush/flush.h"
#include "inject/program.h"

/* Whether that can happen: for JavaScript hosts, if the program imports functions other than
 * WASI's. */
bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host);
/* Marks the functions that get calls. */
void stacks_touch(const WasmAsyncify *asyncify, uint8_t *touched);
/* Exports `whammc:suspend` and `whammc:resume` to the host, unless Asyncify's functions call these.
 */
void stacks_export(WasmModule *m, const WasmAsyncify *asyncify, const FlushHandles *at);
/* Pass 2, after the sites of a function: adds the call. */
void stacks_put(const WasmAsyncify *asyncify, const Flush *flush, uint32_t func, Pieces *pieces);

#endif
