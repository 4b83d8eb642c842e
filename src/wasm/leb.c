/*
 * wasm/leb.c - a cursor over bytes of a module: numbers, types and names.
 */
#include "wasm/leb.h"

#include <assert.h>

WasmCode wasm_code(const uint8_t *bytes, size_t size, size_t from) {
    assert(from <= size);
    return (WasmCode){.start = bytes, .at = bytes + from, .end = bytes + size};
}

bool wasm_code_fail(WasmCode *c, const uint8_t *at, const char *error) {
    assert(at >= c->start);
    if (!c->error) {
        c->error = error;
        c->error_offset = (uint32_t)(at - c->start);
    }
    return false;
}

bool wasm_code_found(WasmCode *c, const uint8_t *at, const char *error, uint32_t code) {
    if (!c->error) {
        c->error_found = true;
        c->error_code = code;
    }
    return wasm_code_fail(c, at, error);
}

static bool fail_end(WasmCode *c) {
    return wasm_code_fail(c, c->end, "unexpected end");
}

/* A number of five bytes, the form of numbers that linkers fill in. */
static bool get_linked(WasmCode *c, uint32_t bits, uint64_t *v) {
    enum { SIZE = 5, MORE = 0x80 };
    const uint8_t *p = c->at;
    if (c->end - p < SIZE || !(p[0] & p[1] & p[2] & p[3] & MORE) ||
        p[4] >= (bits == 32 ? 16 : MORE))
        return false;
    *v = (p[0] & 0x7fu) | (p[1] & 0x7fu) << 7 | (p[2] & 0x7fu) << 14 | (p[3] & 0x7fu) << 21 |
         (uint64_t)p[4] << 28;
    c->at += SIZE;
    return true;
}

bool wasm_get_uleb_slow(WasmCode *c, uint32_t bits, uint64_t *v) {
    if (get_linked(c, bits, v))
        return true;
    const uint8_t *p = c->at;
    uint64_t out = 0;
    for (uint32_t shift = 0;; shift += 7) {
        if (p == c->end)
            return fail_end(c);
        uint8_t byte = *p++;
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (shift + 7 >= bits) {
            if (byte & 0x80)
                return wasm_code_fail(c, c->at, "integer representation too long");
            if (byte >> (bits - shift))
                return wasm_code_fail(c, c->at, "integer too large");
            break;
        }
        if (byte < 0x80)
            break;
    }
    c->at = p;
    *v = out;
    return true;
}

bool wasm_get_sleb(WasmCode *c, uint32_t bits, int64_t *v) {
    uint32_t low, n = wasm_short_uleb(c, &low);
    if (n) {
        *v = wasm_sleb_of_4(low, n);
        c->at += n;
        return true;
    }
    const uint8_t *p = c->at;
    uint64_t out = 0;
    for (uint32_t shift = 0;; shift += 7) {
        if (p == c->end)
            return fail_end(c);
        uint8_t byte = *p++;
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (shift + 7 >= bits) {
            if (byte & 0x80)
                return wasm_code_fail(c, c->at, "integer representation too long");
            /* The unused bits must all be copies of the sign bit. */
            uint8_t sign = (uint8_t)(0x7f & ~((1u << (bits - shift - 1)) - 1));
            if ((byte & sign) != 0 && (byte & sign) != sign)
                return wasm_code_fail(c, c->at, "integer too large");
        } else if (byte & 0x80) {
            continue;
        }
        if ((byte & 0x40) && shift + 7 < 64)
            out |= ~(uint64_t)0 << (shift + 7);
        break;
    }
    c->at = p;
    *v = (int64_t)out;
    return true;
}

bool wasm_get_u8(WasmCode *c, uint8_t *v) {
    if (c->at == c->end)
        return fail_end(c);
    *v = *c->at++;
    return true;
}

bool wasm_get_bytes(WasmCode *c, size_t n, const uint8_t **at) {
    if ((size_t)(c->end - c->at) < n)
        return fail_end(c);
    *at = c->at;
    c->at += n;
    return true;
}

bool wasm_get_heap(WasmCode *c, WasmType *t) {
    const uint8_t *from = c->at;
    int64_t v;
    if (!wasm_get_sleb(c, 33, &v))
        return false;
    if (v >= 0) {
        if (v > WASM_MAX_TYPE_INDEX)
            return wasm_code_fail(c, from, "type index too large");
        *t = WASM_REF(1, (uint32_t)v);
        return true;
    }
    uint8_t byte = (uint8_t)(v & 0x7f);
    if (c->at != from + 1 || byte < WASM_HEAP_FIRST || byte > WASM_HEAP_LAST)
        return wasm_code_found(c, from, "unknown heap type", *from);
    *t = WASM_REF(1, WASM_HEAP(byte));
    return true;
}

bool wasm_get_type(WasmCode *c, bool packed, WasmType *t) {
    if (c->at == c->end)
        return fail_end(c);
    uint8_t byte = *c->at;
    if ((byte >= WASM_V128 && byte <= WASM_I32) ||
        (packed && (byte == WASM_I8 || byte == WASM_I16))) {
        c->at++;
        *t = byte;
        return true;
    }
    if (byte >= WASM_HEAP_FIRST && byte <= WASM_HEAP_LAST) {
        c->at++;
        *t = WASM_REF(1, WASM_HEAP(byte));
        return true;
    }
    if (byte == 0x63 || byte == 0x64) {
        c->at++;
        if (!wasm_get_heap(c, t))
            return false;
        if (byte == 0x64)
            *t &= ~WASM_NULL_BIT;
        return true;
    }
    return wasm_code_found(c, c->at, "unknown value type", byte);
}
