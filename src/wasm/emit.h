/*
 * wasm/emit.h - appending code to a function. Indices are handles or final ones, as the caller
 * likes, unless a comment says handles.
 */
#ifndef WHAMMC_WASM_EMIT_H
#define WHAMMC_WASM_EMIT_H

#include "wasm/module.h"

/*
 * Appends instructions, written as in the text format without its parentheses: each mnemonic is
 * followed by its immediates, which are numbers or printf's formats for numbers: %u, %d, PRIu64.
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
 * align=8". Floats are given by their bits. Instructions whose immediates are not numbers are not
 * known here, but for ref.null func. %s stands for more code without any %, for the beginning of a
 * mnemonic, or for nothing; %p for the code in a Buf; %u in the place of a type for a WasmType.
 * As it is read when it is emitted, this is for code that is made once, or at few sites.
 */
void emit(Buf *b, const char *code, ...) __attribute__((format(printf, 2, 3)));

/*
 * Adds a function; its handle. The code begins with parameters, results and locals, which may have
 * names, and names of other numbers; the function's `end` is added:
 *
 *     emit_function(m, "add", "param $a i32 $b i64 result i64 local $sum i64 $more=%u ...", more);
 *
 * Indices are handles, as long as the module is not laid out; then final ones.
 */
uint32_t emit_function(WasmModule *m, const char *name, const char *code, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends the code of a function whose type is known already, with its locals and `end`. */
void emit_body(Buf *b, const char *code, ...) __attribute__((format(printf, 2, 3)));

/* Adds a function of the same type as `func`, which it calls with its own arguments, between other
 * code (NULL: none). */
uint32_t emit_wrapper(WasmModule *m, Str name, uint32_t func, const Buf *before, const Buf *after);
/* Appends the code of such a function. */
void emit_wrapper_body(Buf *b, const WasmModule *m, uint32_t func, const Buf *before,
                       const Buf *after);

/* The index by which code refers to a handle: the handle itself until the module is laid out. */
static inline uint32_t emit_index(const WasmModule *m, WasmSpace space, uint32_t handle) {
    return m->layout.done ? wasm_final(m, space, handle) : handle;
}

/* Appends calls of these functions (handles), one after the other. */
void emit_calls(Buf *b, const WasmModule *m, const uint32_t *funcs, uint32_t n);

/* The instruction that makes a number of type `to` of an unsigned one of type `from` (both i32 or
 * i64), or nothing. */
const char *emit_resized(WasmType from, WasmType to);

/* Pops n values. */
void emit_drops(Buf *b, uint32_t n);
/* Makes an i64 of an unsigned i32, or the other way round, unless it is that already. */
void emit_resize(Buf *b, WasmType from, WasmType to);
/* Sets an i32 local to a constant. */
void emit_assign(Buf *b, uint32_t local, int32_t value);
/* Calls a function with a constant. */
void emit_call_on(Buf *b, uint32_t func, int32_t argument);
/* Opens an `if`, whose condition is on the stack; or is that an i32 local equals a value; or is
 * that local. */
void emit_if(Buf *b, WasmType result);
void emit_if_equal(Buf *b, uint32_t local, int32_t value);
void emit_if_set(Buf *b, uint32_t local);

/* A number that a program keeps: a global, or a word at a known address of a memory. */
typedef struct EmitNumber {
    bool in_memory;
    uint8_t size_log2; /* in memory */
    WasmType type;     /* a number; of floats, all bytes are in memory */
    uint32_t index;    /* of the global or memory, as instructions have it */
    uint64_t at;       /* in memory */
} EmitNumber;

/* The number in a global. */
static inline EmitNumber emit_global(WasmType type, uint32_t index) {
    return (EmitNumber){.type = type, .index = index};
}

/* Pushes the number. */
void emit_get(Buf *b, EmitNumber n);
/* Sets the number to the value that the code between these two pushes. */
void emit_begin_set(Buf *b, EmitNumber n);
void emit_set(Buf *b, EmitNumber n);
/* Sets the number to the result of this code, which finds the number on the stack. */
void emit_update(Buf *b, EmitNumber n, const char *code, ...) __attribute__((format(printf, 3, 4)));
/* Adds a constant to an i64. */
void emit_increment(Buf *b, EmitNumber n, uint64_t by);

/* Appends the declarations of a function's locals. */
void emit_locals(Buf *b, const WasmType *types, uint32_t n);

/* "i32", "i64", "f32" or "f64". */
const char *emit_type(WasmType t);
/* The instruction that loads, stores such a number. */
WasmOp emit_load_op(WasmType t);
WasmOp emit_store_op(WasmType t);

/* Appends a br_table with these labels. */
void emit_br_table(Buf *b, const uint32_t *labels, uint32_t n, uint32_t otherwise);

/* Appends the code of a function (to, from, length), all i32, as emit_body does: memory.copy
 * between two memories, given as handles. */
void emit_copy(Buf *b, const WasmModule *m, uint32_t to, uint32_t from);

/* The immediates of a load or store. */
static inline void emit_memarg(Buf *b, uint32_t align_log2, uint64_t memory, uint64_t offset) {
    buf_uleb(b, align_log2 |
                    (memory ? 0x40 : 0)); /* a memory index follows, which not all engines know */
    if (memory)
        buf_uleb(b, memory);
    buf_uleb(b, offset);
}

/* An instruction with one index; i32.const. */
static inline void put_index(Buf *b, WasmOp op, uint64_t index) {
    wasm_put_op(b, op);
    buf_uleb(b, index);
}

static inline void put_i32(Buf *b, uint64_t v) {
    wasm_put_op(b, WASM_OP_I32_CONST);
    buf_sleb(b, (int32_t)(uint32_t)v);
}

#endif
