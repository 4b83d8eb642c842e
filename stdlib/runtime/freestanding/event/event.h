/*
 * runtime/freestanding/event/event.h - the same for event/event.h.
 */
#ifndef WHAMMC_PROBE_EVENT_H
#define WHAMMC_PROBE_EVENT_H

#include "wasm/op.h"

/* Whether an instruction can trap; false if that makes no difference. */
bool op_can_trap(WasmOp op);

/* Only hosts of programs want to know the place. */
static inline bool op_hides_trap(WasmOp op) {
    (void)op;
    return false;
}

#endif
