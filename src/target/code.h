/*
 * target/code.h - writing instructions whose indices are handles or final ones, as the caller
 * likes.
 */
#ifndef WHAMMC_TARGET_CODE_H
#define WHAMMC_TARGET_CODE_H

#include "wasm/module.h"

static inline void put_index(Buf *b, WasmOp op, uint64_t index) {
    wasm_put_op(b, op);
    buf_uleb(b, index);
}

static inline void put_i32(Buf *b, uint64_t v) {
    wasm_put_op(b, WASM_OP_I32_CONST);
    buf_sleb(b, (int32_t)(uint32_t)v);
}

/* A block, loop or if without result. */
static inline void put_open(Buf *b, WasmOp op) {
    wasm_put_op(b, op);
    buf_u8(b, WASM_NONE);
}

#endif
