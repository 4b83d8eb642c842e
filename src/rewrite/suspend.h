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

/* Whether Asyncify does that, by functions of the program. */
bool stacks_are_asyncifys(const WasmAsyncify *asyncify);
/* Whether the host does that: a JavaScript host, if the program imports functions other than
 * WASI's, or is one of several modules (`module_id`): the other ones leave its stack, too. */
bool stacks_are_hosts(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                      uint32_t module_id);
/* Whether it can happen at all: then, or if the program uses Asyncify or has continuations. */
bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                       uint32_t module_id);
/* The number of a module that calls other ones and is called by them: one that is linked
 * dynamically, or all if `linked`; 0 = it does not, or its host cannot follow that, as where there
 * are continuations. */
uint32_t stacks_module_id(const WasmModule *m, HostChoice host, bool linked);
/* Marks the helpers that other modules call, if the scripts have a tree. */
void stacks_helpers(uint32_t module_id, bool *used);
/* Marks the functions that get calls. */
void stacks_touch(const WasmAsyncify *asyncify, uint8_t *touched);
/* Exports `whammc:suspend` and `whammc:resume` to the host, unless Asyncify's functions call these;
 * for other modules (`module_id`) in any case, and those of the helpers of stacks_helpers that are
 * `used`. */
void stacks_export(WasmModule *m, const WasmAsyncify *asyncify, const Flush *flush,
                   uint32_t module_id, const bool *used);
/* Pass 2, after the sites of a function: adds the call. */
void stacks_put(const WasmAsyncify *asyncify, const Flush *flush, uint32_t func, Pieces *pieces);

#endif
