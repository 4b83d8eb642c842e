/*
 * rewrite/frame_liveness.h - whether control, after an instruction, soon comes to a call or to the
 * end of the function, whichever way it goes.
 */
#ifndef WHAMMC_REWRITE_FRAME_LIVENESS_H
#define WHAMMC_REWRITE_FRAME_LIVENESS_H

#include "wasm/module.h"

enum { LIVENESS_FUNCTION = UINT32_MAX };

/* Of one body. `covers` says which calls count; the others are not soon over. */
typedef struct Liveness {
    bool (*covers)(const void *ctx, const WasmInstr *call);
    const void *ctx;
    WasmDecoded body;
    uint32_t n; /* its instructions */
    uint32_t
        *outer;    /* by instruction: the innermost construct around it, LIVENESS_FUNCTION = none */
    uint32_t *end; /* by instruction that opens a construct, and by `else`: its end */
} Liveness;

/* `covers` and `ctx` are set, the rest is zero; the function is a valid one of the input. */
void liveness_begin(Liveness *s, const WasmModule *m, uint32_t func);
void liveness_free(Liveness *s);

/* Whether a few simple instructions at most, none of which begins a loop or may take long, are
 * executed after instruction k before a call that counts, or before the function ends. */
bool liveness_ends(const Liveness *s, uint32_t k);

/* An instruction after k such that all ways that leave those between them are soon over in this
 * sense: what is to be done after k can be done after it, or k itself. */
uint32_t liveness_fork(const Liveness *s, uint32_t k);

/* Where control comes to by a branch from instruction k to a label: to the instruction that opens a
 * loop, or that ends another construct; LIVENESS_FUNCTION = the function's end. */
uint32_t liveness_target(const Liveness *s, uint32_t k, uint32_t label);

#endif
