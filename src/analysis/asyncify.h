/*
 * analysis/asyncify.h - programs whose stack is left and resumed by Binaryen's pass Asyncify
 * (`wasm-opt --asyncify`, Emscripten's -sASYNCIFY, TinyGo).
 *
 * Such a program has a *state*, a global: 0 = it runs; 1 = functions return one after the other, so
 * that the stack is left; 2 = they are called again, in the opposite order, so that it is resumed.
 * Another global has the address of the block where they keep their locals meanwhile, the *data*,
 * which is different for each stack that has been left. The functions that can be on the stack then
 * look at the state when they begin, and after calls.
 */
#ifndef WHAMMC_ANALYSIS_ASYNCIFY_H
#define WHAMMC_ANALYSIS_ASYNCIFY_H

#include "wasm/module.h"

enum { ASYNCIFY_UNWINDING = 1, ASYNCIFY_REWINDING = 2 };

/* A zeroed one is valid; wasm_asyncify_free releases it. */
typedef struct WasmAsyncify {
    bool looked;
    bool found;
    uint32_t state, data;    /* if it is found: handles of globals, */
    uint32_t unwind, rewind; /* functions that set the state to 1 and 2; UINT32_MAX = they are
                                in another module */
    bool *funcs;             /* by input function: it looks at the state */
} WasmAsyncify;

/* Looks at the input, as it was read: for exported functions that Asyncify adds, under any name,
 * else for its globals among the imports. */
void wasm_asyncify_find(WasmAsyncify *a, const WasmModule *m);
void wasm_asyncify_free(WasmAsyncify *a);

/* The function returns, and is called again, while the stack is left and resumed. */
static inline bool wasm_asyncify_spans(const WasmAsyncify *a, uint32_t func) {
    return a->found && a->funcs[func];
}

#endif
