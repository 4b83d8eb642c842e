/*
 * wasm/leb.h - a cursor over bytes of a module, and the readers of numbers and types that the
 * decoder and the module reader share (decode.c). They step the cursor; on failure they return
 * false and set its error, once.
 */
#ifndef WHAMMC_WASM_LEB_H
#define WHAMMC_WASM_LEB_H

#include "base/buf.h"
#include "wasm/opcode.h"

/* A cursor over code bytes. */
typedef struct WasmCode {
    const uint8_t *start, *at, *end;
    const char *error;     /* the mistake, NULL = none; static text */
    uint32_t error_offset; /* where, from start */
    bool error_found;      /* the error is about the number error_code, of an opcode after the byte
                              error_prefix if that is not 0: see wasm_code_error */
    uint8_t error_prefix;
    uint32_t error_code;
    bool exact; /* an exact heap type was read */
    const struct WasmInstr *decoded; /* the instructions from `at` on if they are decoded already,
                                        then one of size 0; else NULL */
} WasmCode;

/* A cursor over `size` bytes, standing at byte `from`. */
WasmCode wasm_code(const uint8_t *bytes, size_t size, size_t from);

/* Notes an error at a location (the first one is kept). Returns false. */
bool wasm_code_fail(WasmCode *c, const uint8_t *at, const char *error);

/* The same about a number that was found there; `error` has two words or more, "unknown opcode". */
bool wasm_code_found(WasmCode *c, const uint8_t *at, const char *error, uint32_t code);

/* For the functions below: unsigned, of any length; `bits` is 32 or 64. */
bool wasm_get_uleb_slow(WasmCode *c, uint32_t bits, uint64_t *v);
/* Signed of 32, 33 or 64 bits. */
bool wasm_get_sleb(WasmCode *c, uint32_t bits, int64_t *v);

/* Reads a number if it has at most four bytes; four are there. Returns how many, 0 = it has more.
 */
static inline uint32_t wasm_uleb_of_4(const uint8_t *p, uint32_t *v) {
    uint32_t w = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    uint32_t stop = ~w & 0x80808080u;
    if (!stop)
        return 0;
    uint32_t n = ((uint32_t)__builtin_ctz(stop) + 1) / 8;
    w &= UINT32_MAX >> (32 - 8 * n);
    *v = (w & 0x7f) | (w >> 1 & 0x3f80) | (w >> 2 & 0x1fc000) | (w >> 3 & 0xfe00000);
    return n;
}

/* The sign of such a number, of n bytes. */
static inline int64_t wasm_sleb_of_4(uint32_t v, uint32_t n) {
    return (int32_t)(v << (32 - 7 * n)) >> (32 - 7 * n);
}

/* The same for up to five bytes, which linkers make of each number that they fill in; eight are
 * there. Returns how many bytes, 0 = it has more; *v can be larger than any u32. */
static inline uint32_t wasm_uleb_of_5(const uint8_t *p, uint64_t *v) {
    uint64_t w = u64le(p), stop = ~w & 0x8080808080;
    if (!stop)
        return 0;
    uint32_t n = ((uint32_t)__builtin_ctzll(stop) + 1) / 8;
    w &= UINT64_MAX >> (64 - 8 * n);
    *v = (w & 0x7f) | (w >> 1 & 0x3f80) | (w >> 2 & 0x1fc000) | (w >> 3 & 0xfe00000) |
         (w >> 4 & 0x7f0000000);
    return n;
}

/* The sign of such a number, of n bytes; it can be beyond any i32. */
static inline int64_t wasm_sleb_of_5(uint64_t v, uint32_t n) {
    return (int64_t)(v << (64 - 7 * n)) >> (64 - 7 * n);
}

/* Initial values and offsets are mostly constants. The size of an expression that is one of four
 * bytes at most, and its `end`; 0 = it is another one. */
static inline uint32_t wasm_short_const(const uint8_t *at, const uint8_t *end, WasmType *type,
                                        int64_t *value) {
    enum { LONGEST = 6, I32_CONST = 0x41, I64_CONST = 0x42, END = 0x0b };
    uint32_t number, n;
    if (end - at < LONGEST || (*at != I32_CONST && *at != I64_CONST) ||
        !(n = wasm_uleb_of_4(at + 1, &number)) || at[1 + n] != END)
        return 0;
    *type = *at == I32_CONST ? WASM_I32 : WASM_I64;
    *value = wasm_sleb_of_4(number, n);
    return n + 2;
}

/* wasm_uleb_of_4 if four bytes are there; 0 = read it the slow way. */
static inline uint32_t wasm_short_uleb(const WasmCode *c, uint32_t *v) {
    return c->end - c->at < 4 ? 0 : wasm_uleb_of_4(c->at, v);
}

/* Reads an unsigned number of at most 32, 64 bits. False with an error of the cursor if it is
 * malformed. */
static inline bool wasm_get_u32(WasmCode *c, uint32_t *v) {
    uint32_t n = wasm_short_uleb(c, v);
    if (n) {
        c->at += n;
        return true;
    }
    uint64_t wide = 0;
    bool ok = wasm_get_uleb_slow(c, 32, &wide);
    *v = (uint32_t)wide;
    return ok;
}

static inline bool wasm_get_u64(WasmCode *c, uint64_t *v) {
    uint32_t narrow, n = wasm_short_uleb(c, &narrow);
    if (!n)
        return wasm_get_uleb_slow(c, 64, v);
    c->at += n;
    *v = narrow;
    return true;
}

/* One byte. */
bool wasm_get_u8(WasmCode *c, uint8_t *v);
/* `n` bytes; *at points to them. */
bool wasm_get_bytes(WasmCode *c, size_t n, const uint8_t **at);
/* A value type; with `packed` i8 and i16 as well. */
bool wasm_get_type(WasmCode *c, bool packed, WasmType *t);
/* A heap type as a nullable reference type. */
bool wasm_get_heap(WasmCode *c, WasmType *t);

/* Reads an unsigned LEB128 that was checked before. */
static inline uint64_t wasm_uleb(const uint8_t **at) {
    uint64_t v = 0;
    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
}

#endif
