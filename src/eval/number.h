/*
 * eval/number.h - arithmetic where C differs from WebAssembly, and bytes in memory.
 */
#ifndef WHAMMC_EVAL_NUMBER_H
#define WHAMMC_EVAL_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- slots and floats ---- */

/* The number whose bits a slot has. */
static inline float slot_f32(uint64_t slot) {
    uint32_t bits = (uint32_t)slot;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline double slot_f64(uint64_t slot) {
    double f;
    memcpy(&f, &slot, sizeof f);
    return f;
}
/* Results of arithmetic: a NaN is always the same one, whatever the processor computes. */
static inline uint64_t f32_slot(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return f != f ? UINT32_C(0x7fc00000) : bits;
}
static inline uint64_t f64_slot(double f) {
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return f != f ? UINT64_C(0x7ff8000000000000) : bits;
}

/* ---- integers; counts of bits as in WebAssembly, for 0, too ---- */

static inline uint32_t clz32(uint32_t a) {
    return a ? (uint32_t)__builtin_clz(a) : 32;
}
static inline uint32_t ctz32(uint32_t a) {
    return a ? (uint32_t)__builtin_ctz(a) : 32;
}
static inline uint64_t clz64(uint64_t a) {
    return a ? (uint64_t)__builtin_clzll(a) : 64;
}
static inline uint64_t ctz64(uint64_t a) {
    return a ? (uint64_t)__builtin_ctzll(a) : 64;
}
static inline uint32_t rotl32(uint32_t a, uint32_t n) {
    return a << (n & 31) | a >> (-n & 31);
}
static inline uint64_t rotl64(uint64_t a, uint64_t n) {
    return a << (n & 63) | a >> (-n & 63);
}

/* ---- numbers of 128 bits: two slots, the low half first ---- */

static inline void add128(uint64_t a[2], const uint64_t b[2]) {
    a[0] += b[0];
    a[1] += b[1] + (a[0] < b[0]);
}
static inline void sub128(uint64_t a[2], const uint64_t b[2]) {
    a[1] -= b[1] + (a[0] < b[0]);
    a[0] -= b[0];
}
/* Multiplies two numbers of 64 bits: the product takes their place. */
static inline void mul_wide_u(uint64_t x[2]) {
    uint64_t a_low = (uint32_t)x[0], a_high = x[0] >> 32;
    uint64_t b_low = (uint32_t)x[1], b_high = x[1] >> 32;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    x[0] = other << 32 | (uint32_t)low;
    x[1] = a_high * b_high + (middle >> 32) + (other >> 32);
}
static inline void mul_wide_s(uint64_t x[2]) {
    uint64_t a = x[0], b = x[1];
    mul_wide_u(x);
    x[1] -= (a >> 63 ? b : 0) + (b >> 63 ? a : 0);
}

/* ---- floats: NaN in, NaN out; -0 is less than 0 ---- */

static inline float min_f32(float a, float b) {
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static inline float max_f32(float a, float b) {
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}
static inline double min_f64(double a, double b) {
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static inline double max_f64(double a, double b) {
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* Whether a float can be converted to an integer type: NaN cannot. */
static inline int fits_int32_t(double a) {
    return a > -2147483649.0 && a < 2147483648.0;
}
static inline int fits_uint32_t(double a) {
    return a > -1.0 && a < 4294967296.0;
}
static inline int fits_int64_t(double a) {
    return a >= -9223372036854775808.0 && a < 9223372036854775808.0;
}
static inline int fits_uint64_t(double a) {
    return a > -1.0 && a < 18446744073709551616.0;
}

/* ---- little-endian bytes ---- */

static inline uint64_t get8(const uint8_t *p) {
    return p[0];
}
static inline uint64_t get16(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8;
}
static inline uint64_t get32(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}
static inline uint64_t get64(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}
static inline void put8(uint8_t *p, uint64_t v) {
    p[0] = (uint8_t)v;
}
static inline void put16(uint8_t *p, uint64_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void put32(uint8_t *p, uint64_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}
static inline void put64(uint8_t *p, uint64_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    p[4] = (uint8_t)(v >> 32);
    p[5] = (uint8_t)(v >> 40);
    p[6] = (uint8_t)(v >> 48);
    p[7] = (uint8_t)(v >> 56);
}

#endif
