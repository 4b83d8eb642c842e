/*
 * runtime/number.c - integers and floats as decimal text.
 *
 * Floats: exact free-format conversion with big integers (the algorithm of Steele and White in the
 * form of Burger and Dybvig). A report is written once, so it is small rather than fast.
 */
#include "format.h"

void format_u64(FormatOut *o, uint64_t v) {
    uint8_t digits[20];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = (uint8_t)('0' + v % 10);
        v /= 10;
    } while (v);
    format_bytes(o, digits + at, (uint32_t)sizeof digits - at);
}

void format_i64(FormatOut *o, int64_t v) {
    if (v < 0)
        format_byte(o, '-');
    format_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* ---- big integers ---- */

/* The largest is 10^324 * 2^55 < 2^1132, and 10 times that while it is tested: 36 limbs. */
enum { LIMBS = 38 };

typedef struct Big {
    uint32_t len; /* limbs in use; the highest is not 0 */
    uint32_t limb[LIMBS];
} Big;

static void big_set(Big *b, uint64_t v) {
    b->limb[0] = (uint32_t)v;
    b->limb[1] = (uint32_t)(v >> 32);
    b->len = b->limb[1] ? 2 : b->limb[0] ? 1 : 0;
}

static void big_mul(Big *b, uint32_t by) {
    uint64_t carry = 0;
    for (uint32_t i = 0; i < b->len; i++) {
        carry += (uint64_t)b->limb[i] * by;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        b->limb[b->len++] = (uint32_t)carry;
}

static void big_shift(Big *b, uint32_t bits) {
    for (; bits >= 31; bits -= 31)
        big_mul(b, 1u << 31);
    big_mul(b, 1u << bits);
}

static void big_mul_pow10(Big *b, uint32_t power) {
    for (; power >= 9; power -= 9)
        big_mul(b, 1000000000);
    for (; power; power--)
        big_mul(b, 10);
}

/* Compares a + c with b: <0, 0, >0. c may be NULL. */
static int big_compare_sum(const Big *a, const Big *c, const Big *b) {
    uint32_t len = a->len > b->len ? a->len : b->len;
    if (c && c->len > len)
        len = c->len;
    /* From the top: the difference (a + c - b) must not exceed what a carry from below can
     * cancel. */
    int64_t diff = 0;
    for (uint32_t i = len; i-- > 0;) {
        diff *= (int64_t)1 << 32;
        diff += i < a->len ? a->limb[i] : 0;
        diff += c && i < c->len ? c->limb[i] : 0;
        diff -= i < b->len ? b->limb[i] : 0;
        if (diff > 0 || diff < -1)
            break;
    }
    return diff < 0 ? -1 : diff > 0;
}

/* a -= b, where a >= b. */
static void big_sub(Big *a, const Big *b) {
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->len; i++) {
        borrow = (uint64_t)a->limb[i] - (i < b->len ? b->limb[i] : 0) - borrow;
        a->limb[i] = (uint32_t)borrow;
        borrow = borrow >> 63;
    }
    while (a->len && a->limb[a->len - 1] == 0)
        a->len--;
}

/* ---- floats ---- */

typedef struct Conversion {
    Big r, s;     /* the number is r / s * 10^exponent */
    Big up, down; /* half the distance to the neighbours, in the unit of r */
    bool even;    /* the bounds themselves read back as the number */
    int exponent;
} Conversion;

/*
 * Sets up mantissa * 2^power so that the next digit is floor(10 r / s). `lower_closer`: the
 * mantissa is the smallest with this power, so the lower neighbour is half as far.
 */
static void conversion_start(Conversion *c, uint64_t mantissa, int power, bool lower_closer) {
    c->even = (mantissa & 1) == 0;
    big_set(&c->r, mantissa);
    big_set(&c->s, 1);
    big_set(&c->up, 1);
    big_set(&c->down, 1);
    uint32_t extra = lower_closer ? 2 : 1;
    big_shift(&c->r, extra + (power > 0 ? (uint32_t)power : 0));
    big_shift(&c->s, extra + (power < 0 ? (uint32_t)-power : 0));
    big_shift(&c->up, extra - 1 + (power > 0 ? (uint32_t)power : 0));
    big_shift(&c->down, power > 0 ? (uint32_t)power : 0);
    /* floor(log10) or one less: 1233 / 4096 is a little under log10(2), 1234 a little over. */
    int bits = power - 1;
    for (uint64_t m = mantissa; m; m >>= 1)
        bits++;
    int estimate = bits >= 0 ? bits * 1233 / 4096 : -((-bits * 1234 + 4095) / 4096);
    if (estimate >= 0) {
        big_mul_pow10(&c->s, (uint32_t)estimate);
    } else {
        big_mul_pow10(&c->r, (uint32_t)-estimate);
        big_mul_pow10(&c->up, (uint32_t)-estimate);
        big_mul_pow10(&c->down, (uint32_t)-estimate);
    }
    /* Now r / s >= 1 (up to the bound above); raise s until the first digit is a single one. */
    c->exponent = estimate - 1;
    while (big_compare_sum(&c->r, &c->up, &c->s) >= (c->even ? 0 : 1)) {
        big_mul(&c->s, 10);
        c->exponent++;
    }
}

/* The next digit; *last if the digits up to it distinguish the number from its neighbours. */
static uint8_t conversion_digit(Conversion *c, bool *last) {
    big_mul(&c->r, 10);
    big_mul(&c->up, 10);
    big_mul(&c->down, 10);
    uint8_t digit = '0';
    while (big_compare_sum(&c->r, NULL, &c->s) >= 0) {
        big_sub(&c->r, &c->s);
        digit++;
    }
    int bound = c->even ? 0 : 1;
    bool low = -big_compare_sum(&c->r, NULL, &c->down) >= bound;
    bool high = big_compare_sum(&c->r, &c->up, &c->s) >= bound;
    *last = low || high;
    if (high && (!low || big_compare_sum(&c->r, &c->r, &c->s) >= 0))
        digit++;
    return digit;
}

static void print_finite(FormatOut *o, uint64_t mantissa, int power, bool lower_closer) {
    Conversion c;
    conversion_start(&c, mantissa, power, lower_closer);
    bool last = false;
    format_byte(o, conversion_digit(&c, &last));
    if (!last)
        format_byte(o, '.');
    while (!last)
        format_byte(o, conversion_digit(&c, &last));
    format_byte(o, 'e');
    format_i64(o, c.exponent);
}

static void special(FormatOut *o, bool nan) {
    format_byte(o, nan ? 'N' : 'i');
    format_byte(o, nan ? 'a' : 'n');
    format_byte(o, nan ? 'N' : 'f');
}

void format_float(FormatOut *o, uint64_t bits, bool is_f64, bool json) {
    uint32_t width = is_f64 ? 52 : 23, top = is_f64 ? 2047 : 255;
    uint64_t hidden = (uint64_t)1 << width, mantissa = bits & (hidden - 1);
    uint32_t biased = (uint32_t)(bits >> width) & top;
    bool negative = bits >> (is_f64 ? 63 : 31) & 1, nan = biased == top && mantissa != 0;
    bool quoted = json && biased == top;
    if (quoted)
        format_byte(o, '"');
    if (!nan && (negative || !json || quoted))
        format_byte(o, negative ? '-' : '+');
    if (biased == top) {
        special(o, nan);
    } else if (biased == 0 && mantissa == 0) {
        format_byte(o, '0');
        format_byte(o, 'e');
        format_byte(o, '0');
    } else {
        int power = (int)(biased ? biased : 1) - (int)(top / 2 + width);
        print_finite(o, biased ? mantissa | hidden : mantissa, power, biased > 1 && mantissa == 0);
    }
    if (quoted)
        format_byte(o, '"');
}

#if defined VALUES || !defined __wasm__
/* ---- floats for people ---- */

typedef struct Decimal {
    uint8_t digits[FORMAT_MAX_PRECISION + 330]; /* without leading zeros */
    uint32_t n;
    int exponent; /* of the first digit */
} Decimal;

/* A finite number other than 0, without its sign. */
static void decimal_shortest(Decimal *d, Conversion *c) {
    for (bool last = false; !last;)
        d->digits[d->n++] = conversion_digit(c, &last);
    d->exponent = c->exponent;
}

/* Adds one to the last digit. */
static void decimal_round_up(Decimal *d) {
    uint32_t i = d->n;
    while (i && d->digits[i - 1] == '9')
        d->digits[--i] = '0';
    if (i) {
        d->digits[i - 1]++;
        return;
    }
    d->digits[0] = '1'; /* the zeros after it are as many as before, with one digit fewer */
    d->exponent++;
}

/* n digits, rounded. */
static void decimal_some(Decimal *d, Conversion *c, uint32_t n) {
    d->exponent = c->exponent;
    while (d->n < n) {
        uint8_t digit = '0';
        for (big_mul(&c->r, 10); big_compare_sum(&c->r, NULL, &c->s) >= 0; digit++)
            big_sub(&c->r, &c->s);
        if (d->n || digit != '0')
            d->digits[d->n++] = digit;
        else
            d->exponent--;
    }
    int half = big_compare_sum(&c->r, &c->r, &c->s);
    if (half > 0 || (half == 0 && d->digits[n - 1] & 1))
        decimal_round_up(d);
}

/* Divides by ten; returns the remainder. */
static uint8_t big_take_digit(Big *b) {
    uint64_t rest = 0;
    for (uint32_t i = b->len; i-- > 0;) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (uint32_t)(rest / 10);
        rest %= 10;
    }
    while (b->len && b->limb[b->len - 1] == 0)
        b->len--;
    return (uint8_t)('0' + rest);
}

/* Divides by 2^bits, rounding to the nearest, of ties to even. */
static void big_shift_right(Big *b, uint32_t bits) {
    bool half = false, more = false;
    for (; bits; bits--) {
        more |= half;
        half = b->len && b->limb[0] & 1;
        for (uint32_t i = 0; i < b->len; i++)
            b->limb[i] = b->limb[i] >> 1 | (i + 1 < b->len ? b->limb[i + 1] << 31 : 0);
        while (b->len && b->limb[b->len - 1] == 0)
            b->len--;
    }
    if (!half || (!more && !(b->len && b->limb[0] & 1)))
        return;
    uint32_t i = 0;
    while (i < b->len && ++b->limb[i] == 0)
        i++;
    if (i == b->len)
        b->limb[b->len++] = 1;
}

/* With so many digits after the point. Returns their number, with at least one before the point. */
static uint32_t decimal_fixed(uint8_t *digits, uint64_t mantissa, int power, uint32_t precision) {
    enum { MOST = FORMAT_MAX_PRECISION + 330 };
    Big b;
    big_set(&b, mantissa);
    big_mul_pow10(&b, precision);
    if (power > 0)
        big_shift(&b, (uint32_t)power);
    else
        big_shift_right(&b, (uint32_t)-power);
    uint32_t n = 0;
    while (n < MOST && (b.len || n <= precision))
        digits[n++] = big_take_digit(&b);
    for (uint32_t i = 0; i < n / 2; i++) {
        uint8_t digit = digits[i];
        digits[i] = digits[n - 1 - i];
        digits[n - 1 - i] = digit;
    }
    return n;
}

/* Appends digits, with a point after so many of them. */
static uint32_t put_digits(uint8_t *to, const uint8_t *digits, uint32_t n, uint32_t point) {
    uint32_t len = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == point)
            to[len++] = '.';
        to[len++] = digits[i];
    }
    return len;
}

static uint32_t put_exponent(uint8_t *to, int exponent) {
    uint32_t len = 0, e = (uint32_t)(exponent < 0 ? -exponent : exponent);
    to[len++] = 'e';
    if (exponent < 0)
        to[len++] = '-';
    if (e >= 100)
        to[len++] = (uint8_t)('0' + e / 100);
    if (e >= 10)
        to[len++] = (uint8_t)('0' + e / 10 % 10);
    to[len++] = (uint8_t)('0' + e % 10);
    return len;
}

/* The digits before and after the point, if there are few zeros beside them. */
static uint32_t put_plain(uint8_t *to, const Decimal *d) {
    uint32_t len = 0, n = d->n;
    for (int e = d->exponent; e < 0; e++) {
        to[len++] = '0';
        if (len == 1)
            to[len++] = '.';
    }
    len += put_digits(to + len, d->digits, n, d->exponent < 0 ? n : (uint32_t)d->exponent + 1);
    for (int e = (int)n; e <= d->exponent; e++)
        to[len++] = '0';
    return len;
}

static uint32_t put_word(uint8_t *to, uint8_t a, uint8_t b, uint8_t c) {
    to[0] = a, to[1] = b, to[2] = c;
    return 3;
}

uint32_t format_decimal(uint8_t *text, uint64_t bits, bool is_f64, int precision, bool exponent) {
    enum { LEAST = -5, MOST = 16 }; /* exponents of numbers that are written without one */
    uint32_t width = is_f64 ? 52 : 23, top = is_f64 ? 2047 : 255, len = 0;
    uint64_t hidden = (uint64_t)1 << width, mantissa = bits & (hidden - 1);
    uint32_t biased = (uint32_t)(bits >> width) & top;
    if (biased == top && mantissa)
        return put_word(text, 'n', 'a', 'n');
    if (bits >> (is_f64 ? 63 : 31) & 1)
        text[len++] = '-';
    if (biased == top)
        return len + put_word(text + len, 'i', 'n', 'f');
    int power = (int)(biased ? biased : 1) - (int)(top / 2 + width);
    bool closer = biased > 1 && mantissa == 0;
    mantissa |= biased ? hidden : 0;
    Decimal d = {.n = 0};
    if (precision >= 0 && !exponent) {
        d.n = decimal_fixed(d.digits, mantissa, power, (uint32_t)precision);
        return len + put_digits(text + len, d.digits, d.n, d.n - (uint32_t)precision);
    }
    Conversion c;
    if (mantissa)
        conversion_start(&c, mantissa, power, closer);
    if (mantissa && precision < 0)
        decimal_shortest(&d, &c);
    else if (mantissa)
        decimal_some(&d, &c, (uint32_t)precision + 1);
    else
        for (int i = 0; i <= (precision < 0 ? 0 : precision); i++)
            d.digits[d.n++] = '0';
    if (!exponent && d.exponent >= LEAST && d.exponent < MOST)
        return len + put_plain(text + len, &d);
    len += put_digits(text + len, d.digits, d.n, 1);
    return len + put_exponent(text + len, d.exponent);
}
#endif
