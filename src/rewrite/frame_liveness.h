/*
 * rewrite/frame_liveness.h - whether control, after an instruction, soon reaches a call or the end
 * of the function, on all ways.
 */
#ifndef WHAMMC_REWRITE_FRAME_LIVENESS_H
#define WHAMMC_REWRITE_FRAME_LIVENESS_H

#include "wasm/module.h"

enum { LIVENESS_FUNCTION = UINT32_MAX };

/* The state for one body. `covers` selects the calls that count; the others take long. */
typedef struct Liveness {
    bool (*covers)(const void *ctx, const WasmInstr *call);
    const void *ctx;
    WasmDecoded body;
    uint32_t n; /* its instructions */
    uint32_t
        *outer;    /* by instruction: the innermost construct around it, LIVENESS_FUNCTION = none */
    uint32_t *end; /* by instruction that opens a construct, and by `else`: its end */
} Liveness;

/* Analyzes a function, a valid one of the input; `covers` and `ctx` are set, the rest is zero. */
void liveness_begin(Liveness *s, const WasmModule *m, uint32_t func);
void liveness_free(Liveness *s);

/* Whether, after instruction k, at most a few simple instructions, none of which begins a loop or
 * may take long, are executed before a call that counts or the end of the function. */
bool liveness_ends(const Liveness *s, uint32_t k);

/* Returns k or an instruction after it such that all ways that leave those between them soon end in
 * this sense: work to be done after k can be done after the result. */
uint32_t liveness_fork(const Liveness *s, uint32_t k);

/* Returns the target of a branch from instruction k to a label: the opener of a loop, or the end of
 * another construct; LIVENESS_FUNCTION = the function's end. */
uint32_t liveness_target(const Liveness *s, uint32_t k, uint32_t label);

#endif
