/*
 * rewrite/suspend.h - where a program's stack is left and resumed (`wasm:stack:suspend`,
 * `wasm:stack:resume`): where Asyncify's state is set; or the host says so, if a promise that an
 * import returns suspends the stack (JavaScript Promise Integration).
 */
#ifndef WHAMMC_REWRITE_SUSPEND_H
#define WHAMMC_REWRITE_SUSPEND_H

#include "analysis/asyncify.h"
#include "link/host.h"

/* Whether Asyncify does that, by functions of the program. */
bool stacks_are_asyncifys(const WasmAsyncify *asyncify);
/* Whether the program itself does, by continuations (the stack-switching proposal). */
bool stacks_are_continuations(const WasmModule *m);
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
#endif
