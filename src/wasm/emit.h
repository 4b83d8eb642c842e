/*
 * wasm/emit.h - appending code to a function. Indices are handles or final ones, as the caller
 * likes.
 */
#ifndef WHAMMC_WASM_EMIT_H
#define WHAMMC_WASM_EMIT_H

#include "wasm/module.h"

/*
 * Appends instructions, written as in the text format without its parentheses: each mnemonic is
 * followed by its immediates, which are numbers or what printf writes for a number: %u, %d, PRIu64.
 *
 *     emit(b, "local.get 0 i32.const %u i32.add local.set %u", n, local);
 *     emit(b, "block loop local.get 1 i32.eqz br_if 1 ... br 0 end end");
 *     emit(b, "local.get 0 local.get 1 %s.add", wide ? "i64" : "i32");
 *
 * The code may begin with names of its locals, in their order from 0, and of other numbers:
 *
 *     emit(b, "$n $sum $add=%u local.get $n local.get $sum call $add local.set $sum", add);
 *
 * After block, loop and if comes a result type (i32, i64, f32, f64) or none. Loads and stores have
 * a memory and an offset, and need not be aligned: "i64.load %u 8", or are: "i64.load %u 8
 * align=8". Floats are given by their bits. Instructions whose immediates are no numbers are not
 * known here, but for ref.null func. %s stands for a mnemonic, the beginning of one, or nothing.
 * For code that is made once, not for each site: it is read when it is emitted.
 */
void emit(Buf *b, const char *code, ...) __attribute__((format(printf, 2, 3)));

/* Appends local declarations, the beginning of a function's code: so many of i32, then of i64. */
void emit_locals(Buf *b, uint32_t i32, uint32_t i64);

/* Appends a br_table with these labels. */
void emit_br_table(Buf *b, const uint32_t *labels, uint32_t n, uint32_t otherwise);

/* Appends the body of a function (to, from, length), of i32 all: memory.copy between two memories,
 * whose handles are given. */
void emit_copy(Buf *b, const WasmModule *m, uint32_t to, uint32_t from);

/* The immediates of a load or store. */
static inline void emit_memarg(Buf *b, uint32_t align_log2, uint64_t memory, uint64_t offset) {
    buf_uleb(b, align_log2 |
                    (memory ? 0x40 : 0)); /* a memory index follows, which not all engines know */
    if (memory)
        buf_uleb(b, memory);
    buf_uleb(b, offset);
}

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
