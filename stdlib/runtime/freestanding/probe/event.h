/*
 * runtime/freestanding/probe/event.h - the same for probe/event.h.
 */
#ifndef WHAMMC_PROBE_EVENT_H
#define WHAMMC_PROBE_EVENT_H

#include "wasm/op.h"

/* Whether an instruction can trap; false if that makes no difference. */
bool op_can_trap(WasmOp op);

#endif
