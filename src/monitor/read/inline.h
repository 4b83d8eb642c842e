/*
 * monitor/read/inline.h - which probe functions the Wizard engine inlines.
 */
#ifndef WHAMMC_MONITOR_INLINE_H
#define WHAMMC_MONITOR_INLINE_H

#include "wasm/op.h"

enum { INLINE_MAX_BYTES = 50, INLINE_MAX_PARAMS = 10 };

/* Code as the engine looks at it. */
typedef struct InlineLook {
    bool branches; /* it is not inlined */
    bool blocks;   /* without branches: engines from 2025 inline it and crash */
} InlineLook;

/* Looks at a body from its first instruction on. */
InlineLook inline_look(WasmCode code);

#endif
