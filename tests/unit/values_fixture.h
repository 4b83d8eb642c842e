/*
 * tests/unit/values_fixture.h - what the tests of strings, tuples and maps share.
 */
#ifndef WHAMMC_VALUES_FIXTURE_H
#define WHAMMC_VALUES_FIXTURE_H

#include "base/buf.h"
#include "stdlib/runtime/values.h"

enum { MEMORY = 1u << 28, STATIC_MAPS = 4 };

#define SEED UINT64_C(88172645463325252) /* not 0, which stays 0 */
static uint64_t seed = SEED;

static inline uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 2685821657736338717u;
}

/* A fresh memory with headers of maps where a compiler would put them. */
static inline void start(void) {
    seed = SEED;
    if (!values_native_memory(MEMORY))
        abort();
    values_native_set(VALUES_MAPS, VALUES_START);
    values_native_set(VALUES_NMAPS, STATIC_MAPS);
    values_native_set(VALUES_HEAP, VALUES_START + STATIC_MAPS * VALUES_MAP_HEADER);
}

static inline void end(void) {
    values_native_memory(0);
}

static inline uint32_t string(Str s) {
    uint32_t at = values_str_new(s.len);
    for (uint32_t i = 0; i < s.len; i++)
        values_store8(at + 4 + i, (uint8_t)s.ptr[i]);
    return values_str_intern(at);
}

/* A leaf in the form in which equal leaves are equal bytes, for keys of the compiler's maps. */
static inline void model_leaf(Buf *key, uint8_t kind, uint64_t leaf) {
    if (kind == REPORT_STR) {
        uint32_t len = values_load32((uint32_t)leaf);
        buf_u32le(key, len);
        for (uint32_t i = 0; i < len; i++)
            buf_u8(key, (uint8_t)values_load8((uint32_t)leaf + 4 + i));
        return;
    }
    bool zero = (kind == REPORT_F64 && leaf << 1 == 0) || (kind == REPORT_F32 && leaf == 1u << 31);
    buf_u64le(key, zero ? 0 : leaf);
}

/* ---- values of maps ---- */

/* Whether leaves of such values have 8 bytes: a number of 32 bits or less may take four. */
static inline bool is_wide_value(const uint8_t *description) {
    uint8_t kind = *description;
    return kind > REPORT_BOOL || kind == REPORT_U64 || kind == REPORT_I64 || kind == REPORT_F64;
}

static inline uint64_t load_leaf(uint32_t at, bool wide) {
    return wide ? values_load64(at) : values_load32(at);
}

static inline void store_leaf(uint32_t at, bool wide, uint64_t leaf) {
    if (wide)
        values_store64(at, leaf);
    else
        values_store32(at, (uint32_t)leaf);
}

/* ---- numbers ---- */

/* A number as programs have it. */
static inline uint64_t number_of_kind(uint8_t kind, uint64_t v) {
    switch (kind) {
    case REPORT_U8: return (uint8_t)v;
    case REPORT_I8: return (uint32_t)(int8_t)v;
    case REPORT_U16: return (uint16_t)v;
    case REPORT_I16: return (uint32_t)(int16_t)v;
    case REPORT_BOOL: return v & 1;
    case REPORT_U64:
    case REPORT_I64:
    case REPORT_F64: return v;
    default: return (uint32_t)v;
    }
}

/* ---- types ---- */

/* Passes over a description. */

static inline uint32_t leaves(const uint8_t **d) {
    uint32_t n = 0, rest = 1;
    for (; rest; rest--) {
        uint8_t kind = *(*d)++;
        if (kind == REPORT_TUPLE) {
            rest += *(*d)++;
            continue;
        }
        if (kind == REPORT_MAP) { /* the descriptions of its keys and values */
            leaves(d);
            leaves(d);
        }
        n++;
    }
    return n;
}

/* The type of maps between two descriptions, whose texts are only printed. */
static inline uint32_t map_type_of(const uint8_t *key, const uint8_t *value, const char *key_text,
                                   const char *value_text) {
    const uint8_t *key_end = key, *value_end = value;
    Buf b = {0};
    buf_u8(&b, (uint8_t)leaves(&key_end));
    buf_u8(&b, (uint8_t)leaves(&value_end));
    buf_bytes(&b, key, (size_t)(key_end - key));
    buf_bytes(&b, value, (size_t)(value_end - value));
    buf_name(&b, str_of(key_text));
    buf_name(&b, str_of(value_text));
    uint32_t type = string((Str){(const char *)b.data, (uint32_t)b.len});
    buf_free(&b);
    return type;
}

static inline uint32_t map_type(const uint8_t *key, const uint8_t *value) {
    return map_type_of(key, value, "K", "V");
}

#define DESC(...)                                                                                  \
    (const uint8_t[]) {                                                                            \
        __VA_ARGS__                                                                                \
    }
#define PAIR(a, b)      REPORT_TUPLE, 2, a, b
#define TRIPLE(a, b, c) REPORT_TUPLE, 3, a, b, c

#endif
