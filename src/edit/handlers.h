/*
 * edit/handlers.h - which exceptions handlers in a function catch.
 */
#ifndef WHAMMC_EDIT_HANDLERS_H
#define WHAMMC_EDIT_HANDLERS_H

#include "wasm/module.h"

/* A zeroed one is valid. */
typedef struct WasmHandlers {
    Vec(struct WasmTryInfo) tries; /* every try and try_table, in order of occurrence */
    Vec(struct WasmTryTag) tags;
    Vec(struct WasmTryFrame) frames; /* open constructs at the position of the walk */
    uint32_t seen;                   /* tries that the walk has met */
} WasmHandlers;

/* Collects the handlers of a body, from its first instruction. False if nothing in it throws. */
bool wasm_handlers_scan(WasmHandlers *h, WasmCode code);
/* Advances over an instruction of the same body. */
void wasm_handlers_step(WasmHandlers *h, const WasmInstr *i);
/* Which handlers of the function catch an exception that an instruction throws. */
typedef enum WasmCaught { WASM_NOT_CAUGHT, WASM_MAYBE_CAUGHT, WASM_CAUGHT } WasmCaught;
/* The same for the throwing instruction `i`, before its step. */
WasmCaught wasm_handlers_catch(const WasmHandlers *h, const WasmModule *m, const WasmInstr *i);
void wasm_handlers_free(WasmHandlers *h);

#endif
