/*
 * target/helper.h - functions of the runtime that templates call.
 */
#ifndef WHAMMC_TARGET_HELPER_H
#define WHAMMC_TARGET_HELPER_H

#include "gen/gen.h"

/*
 * Adds the helpers that the plan's templates and `init` (one a script, NULL = none) call to the
 * module, which is not laid out; handles[Helper] is set for those. False on an internal fault
 * (reported).
 */
bool helpers_add(WasmModule *m, const Plan *plan, const Template *const *init,
                 uint32_t handles[HELPER_COUNT], Diags *diags);

#endif
