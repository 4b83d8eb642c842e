/*
 * runtime/core.c - maps that scripts use by their numbers, through the bundled library whamm_core.
 *
 * The compiler does not supply the types of these maps (values.h): the first insertion into a map
 * without a type creates it, later ones compare kinds. An i32 stands for u32, too.
 */
#include "memory.h"

/* Descriptions of a key and of a value, the first byte lowest; there is no static data. */
#define ONE(kind, value) ((uint64_t)(kind) | (uint64_t)(value) << 8)
#define TWO(a, b, value)                                                                           \
    ((uint64_t)REPORT_TUPLE | 2 << 8 | ONE(a, b) << 16 | (uint64_t)(value) << 32)
#define THREE(a, b, c, value)                                                                      \
    ((uint64_t)REPORT_TUPLE | 3 << 8 | ONE(a, b) << 16 | ONE(c, value) << 32)

#define I32_I32       ONE(REPORT_I32, REPORT_I32)
#define I32_STR       ONE(REPORT_I32, REPORT_STR)
#define STR_I32       ONE(REPORT_STR, REPORT_I32)
#define I32_I32_I32   TWO(REPORT_I32, REPORT_I32, REPORT_I32)
#define I32_BOOL_I32  TWO(REPORT_I32, REPORT_BOOL, REPORT_I32)
#define THREE_I32_I32 THREE(REPORT_I32, REPORT_I32, REPORT_I32, REPORT_I32)

/* ---- types ---- */

enum { MAX_TYPE = 64 }; /* bytes of a description that is made here */

static uint8_t next(uint64_t *kinds) {
    uint8_t kind = (uint8_t)*kinds;
    *kinds >>= 8;
    return kind;
}

static uint32_t put_chars(uint32_t to, uint64_t word) {
    for (; word; word >>= 8)
        *at(to++) = (uint8_t)word;
    return to;
}

static uint32_t put_name(uint32_t to, uint8_t kind) {
    return put_chars(to, kind == REPORT_I32   ? WORD("i32")
                         : kind == REPORT_STR ? WORD("str")
                                              : WORD("bool"));
}

/* Appends the length and text of the next type. */
static uint32_t put_text(uint32_t to, uint64_t *kinds) {
    uint32_t length = to++;
    uint8_t kind = next(kinds);
    if (kind == REPORT_TUPLE) {
        uint8_t n = next(kinds);
        for (uint8_t i = 0; i < n; i++)
            to = put_name(put_chars(to, i ? WORD(",") : WORD("(")), next(kinds));
        to = put_chars(to, WORD(")"));
    } else {
        to = put_name(to, kind);
    }
    *at(length) = (uint8_t)(to - length - 1);
    return to;
}

static uint32_t make_type(uint64_t kinds) {
    uint32_t type = values_str_new(MAX_TYPE), to = type + 4;
    bool tuple = (uint8_t)kinds == REPORT_TUPLE;
    *at(to++) = tuple ? (uint8_t)(kinds >> 8) : 1;
    *at(to++) = 1;
    to = put_chars(to, kinds);
    to = put_text(to, &kinds);
    to = put_text(to, &kinds);
    set32(type, to - (type + 4));
    return values_str_intern(type);
}

static bool type_is(uint32_t type, uint64_t kinds) {
    for (uint32_t d = type + 4 + 2; kinds; d++) {
        uint8_t kind = *at(d) == REPORT_U32 ? REPORT_I32 : *at(d);
        if (kind != next(&kinds))
            return false;
    }
    return true;
}

/* The type of a map, which must have these kinds; 0 = none yet. Traps if there is no such map. */
static uint32_t type_of(uint32_t map, uint64_t kinds) {
    const MapHeader *h = values_map_header(map);
    if (!h || (h->type && !type_is(h->type, kinds)))
        __builtin_trap();
    return h->type;
}

static uint32_t type_to_insert(uint32_t map, uint64_t kinds) {
    uint32_t type = type_of(map, kinds);
    return type ? type : make_type(kinds);
}

/* ---- strings ---- */

/* A new string with these bytes, to be interned or freed. */
static uint32_t new_string(uint32_t ptr, uint32_t len) {
    if ((uint64_t)ptr + len > values_end())
        __builtin_trap();
    uint32_t s = values_str_new(len);
    __builtin_memcpy(at(s + 4), at(ptr), len);
    return s;
}

/* ---- insertion ---- */

VALUES_EXPORT(insert_i32_i32)
void values_insert_i32_i32(uint32_t map, uint32_t k, uint32_t v) {
    set32(values_map_at1(map, type_to_insert(map, I32_I32), k), v);
}

VALUES_EXPORT(insert_i32_string)
void values_insert_i32_string(uint32_t map, uint32_t k, uint32_t ptr, uint32_t len) {
    uint32_t type = type_to_insert(map, I32_STR);
    uint32_t s = values_str_intern(new_string(ptr, len));
    set32(values_map_at1(map, type, k), s);
}

VALUES_EXPORT(insert_string_i32)
void values_insert_string_i32(uint32_t map, uint32_t ptr, uint32_t len, uint32_t v) {
    uint32_t type = type_to_insert(map, STR_I32);
    uint32_t s = values_str_intern(new_string(ptr, len));
    set32(values_map_at1(map, type, s), v);
}

VALUES_EXPORT(insert_i32i32tuple_i32)
void values_insert_i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t v) {
    set32(values_map_at2(map, type_to_insert(map, I32_I32_I32), a, b), v);
}

VALUES_EXPORT(insert_i32booltuple_i32)
void values_insert_i32booltuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t v) {
    set32(values_map_at2(map, type_to_insert(map, I32_BOOL_I32), a, b != 0), v);
}

VALUES_EXPORT(insert_i32i32i32tuple_i32)
void values_insert_i32i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t c,
                                      uint32_t v) {
    set32(values_map_at3(map, type_to_insert(map, THREE_I32_I32), a, b, c), v);
}

/* ---- look-up: a map that was never used has no type, and no keys ---- */

VALUES_EXPORT(get_i32_i32)
uint32_t values_get_i32_i32(uint32_t map, uint32_t k) {
    uint32_t type = type_of(map, I32_I32);
    return type ? get32(values_map_find1(map, type, k)) : 0;
}

VALUES_EXPORT(get_i32_string)
uint32_t values_get_i32_string(uint32_t map, uint32_t k) {
    uint32_t type = type_of(map, I32_STR);
    if (!type)
        __builtin_trap();
    return get32(values_map_find1(map, type, k));
}

VALUES_EXPORT(get_string_i32)
uint32_t values_get_string_i32(uint32_t map, uint32_t ptr, uint32_t len) {
    uint32_t type = type_of(map, STR_I32);
    if (!type)
        return 0;
    uint32_t s = new_string(ptr, len), v = get32(values_map_find1(map, type, s));
    values_str_drop(s);
    return v;
}

VALUES_EXPORT(get_i32i32tuple_i32)
uint32_t values_get_i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b) {
    uint32_t type = type_of(map, I32_I32_I32);
    return type ? get32(values_map_find2(map, type, a, b)) : 0;
}

VALUES_EXPORT(get_i32booltuple_i32)
uint32_t values_get_i32booltuple_i32(uint32_t map, uint32_t a, uint32_t b) {
    uint32_t type = type_of(map, I32_BOOL_I32);
    return type ? get32(values_map_find2(map, type, a, b != 0)) : 0;
}

VALUES_EXPORT(get_i32i32i32tuple_i32)
uint32_t values_get_i32i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t type = type_of(map, THREE_I32_I32);
    return type ? get32(values_map_find3(map, type, a, b, c)) : 0;
}
