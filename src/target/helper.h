/*
 * target/helper.h - functions of the runtime that templates call.
 */
#ifndef WHAMMC_TARGET_HELPER_H
#define WHAMMC_TARGET_HELPER_H

#include "gen/gen.h"

/* Which helpers the plan's templates and `init` (one a script, NULL = none) call, by Helper. */
void helpers_used(const Plan *plan, const Template *const *init, bool used[HELPER_COUNT]);

/* Adds C's fmod to the module, which is not laid out. False on an internal fault (reported). */
bool helpers_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags);

#endif
