/*
 * rewrite/leaf.h - calls of small functions become the functions' code.
 *
 * A call makes an engine store all that it has in registers, at each site. So what probes call is
 * inlined if it is a *leaf*: small, without calls and loops. Such are functions of scripts, of
 * libraries, and of the runtime.
 */
#ifndef WHAMMC_REWRITE_LEAF_H
#define WHAMMC_REWRITE_LEAF_H

#include "plan/plan.h"
#include "wasm/module.h"

/* Inlines calls of leaves in the templates of shapes and of Plan.fns. Sites make a program longer,
 * so shapes are left as they are from where it would grow by more than an eighth.
 *
 * Before the module is laid out `helpers` is NULL: then only functions of scripts are inlined, and
 * those that nothing calls any more need not be added to the module. Afterwards, `helpers` has the
 * handles of the runtime's functions (gen/helper.def). */
void leaf_inline(Plan *plan, const WasmModule *m, const uint32_t *helpers);

#endif
