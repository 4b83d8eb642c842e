/*
 * rewrite/suspend.h - where a program's stack is left and resumed (`wasm:stack:suspend`,
 * `wasm:stack:resume`): where Asyncify's state is set; or where the host reports it, if a promise
 * returned by an import suspends the stack (JavaScript Promise Integration).
 */
#ifndef WHAMMC_REWRITE_SUSPEND_H
#define WHAMMC_REWRITE_SUSPEND_H

#include "analysis/asyncify.h"
#include "link/host.h"

/* Whether Asyncify leaves and resumes stacks, by functions of the program. */
bool stacks_are_asyncifys(const WasmAsyncify *asyncify);
/* Whether the program itself does so, by continuations (the stack-switching proposal). */
bool stacks_are_continuations(const WasmModule *m);
/* Whether the host does so: a JavaScript host, if the program imports functions other than WASI's,
 * or is one of several modules (`module_id`): the others leave its stack, too. */
bool stacks_are_hosts(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                      uint32_t module_id);
/* Whether stacks can be left at all: by the host, by Asyncify or by continuations. */
bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                       uint32_t module_id);
/* Returns the number of a module that calls other ones and is called by them: one that is linked
 * dynamically, or any if `linked`; 0 = it does not, or its host cannot follow that, as with
 * continuations. */
uint32_t stacks_module_id(const WasmModule *m, HostChoice host, bool linked);
#endif
