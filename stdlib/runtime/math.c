/*
 * runtime/math.c - arithmetic that WebAssembly has no instruction for, called by probe code.
 *
 * Compiled like the hosts: no data, no stack, nothing imported.
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name), visibility("default")))

enum { MANTISSA = 52 };
/* Not `static const`: those would be data. */
#define SIGN     ((uint64_t)1 << 63)
#define ONE      ((uint64_t)1 << MANTISSA)
#define INFINITE ((uint64_t)0x7ff << MANTISSA)

static uint64_t bits_of(double x) {
    union {
        double real;
        uint64_t bits;
    } u = {.real = x};
    return u.bits;
}

static double real_of(uint64_t bits) {
    union {
        uint64_t bits;
        double real;
    } u = {.bits = bits};
    return u.real;
}

/* Splits |x| (not zero): returns the biased exponent; the mantissa has its top bit at bit 52.
 * Inlined, so that nothing needs a stack. */
__attribute__((always_inline)) static inline int split(uint64_t *x) {
    int e = (int)(*x >> MANTISSA);
    if (e) {
        *x = (*x & (ONE - 1)) | ONE;
        return e;
    }
    int shift = __builtin_clzll(*x) - (63 - MANTISSA);
    *x <<= shift;
    return 1 - shift;
}

/* The remainder x - n*y, n = x/y rounded towards zero: exact, with the sign of x, as C's fmod. NaN
 * if y is zero or x is not finite. */
EXPORT("whammc_fmod") double whammc_fmod(double x, double y) {
    uint64_t a = bits_of(x) & ~SIGN, b = bits_of(y) & ~SIGN;
    if (b == 0 || b > INFINITE || a >= INFINITE)
        return (x * y) / (x * y);
    if (a < b)
        return x;
    int ea = split(&a), eb = split(&b);
    for (; ea > eb; ea--) {
        if (a >= b)
            a -= b;
        a <<= 1;
    }
    if (a >= b)
        a -= b;
    if (a) {
        int shift = __builtin_clzll(a) - (63 - MANTISSA);
        a <<= shift;
        eb -= shift;
        a = eb > 0 ? (a & (ONE - 1)) | (uint64_t)eb << MANTISSA : a >> (1 - eb);
    }
    return real_of(a | (bits_of(x) & SIGN));
}
