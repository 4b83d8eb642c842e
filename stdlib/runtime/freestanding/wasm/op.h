/*
 * runtime/freestanding/wasm/op.h - the parts of the compiler that src/analysis/segment.c needs, for
 * the runtime of monitors: that file is compiled into both, and there finds this header first.
 *
 * Arrays are blocks of the monitor's memory; instructions come from the runtime's decoder
 * (site/site_count.c).
 */
#ifndef WHAMMC_WASM_OP_H
#define WHAMMC_WASM_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "site/site_ops.h"

/* ---- base/mem.h ---- */

#define vec_free(v)                                                                                \
    (vec_drop_((v)->at, (v)->cap, sizeof *(v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)
/* Frees and clears an array. */
void vec_drop_(void *at, uint32_t cap, size_t item);

/* ---- wasm/op.h ---- */

typedef struct WasmInstr {
    uint32_t offset, size;
    uint16_t op; /* WasmOp */
    uint32_t a, count;
    const uint8_t *vec;
} WasmInstr;

/* A function body. */
typedef struct WasmCode {
    const uint8_t *start, *at, *end;
    uint32_t func; /* + 1 */
} WasmCode;

typedef struct WasmCatch {
    uint32_t label;
} WasmCatch;

typedef struct WasmHandler {
    bool switches;
    uint32_t label;
} WasmHandler;

/* These three as in the compiler (src/wasm/op.h). */
bool wasm_next(WasmCode *c, WasmInstr *i);
static inline const WasmInstr *wasm_step(WasmCode *c, WasmInstr *room) {
    return wasm_next(c, room) ? room : NULL;
}

/* Whether an instruction can trap; false if that does not matter here. */
bool op_can_trap(WasmOp op);

/* Whether control always goes on from an instruction to the next one. */
static inline bool wasm_is_straight(WasmOp op) {
    return wasm_flow(op) == WASM_FLOW_NEXT && !op_can_trap(op) && op != WASM_OP_ARRAY_NEW &&
           op != WASM_OP_ARRAY_NEW_DEFAULT && op != WASM_OP_CONT_BIND;
}

/* Only hosts of programs need the location. */
static inline bool op_hides_trap(WasmOp op) {
    (void)op;
    return false;
}

uint32_t wasm_vec_u32(const uint8_t **at);
WasmCatch wasm_vec_catch(const uint8_t **at);
WasmHandler wasm_vec_handler(const uint8_t **at);

#endif
