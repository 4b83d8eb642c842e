/*
 * validation.c - functions whose times are in known ratios: loops of n, n, n/2 and n/4 calls of a
 * tiny function, and combinations of these. A profiler must count each call and see the ratios.
 *
 * usage: validation [N [ROUNDS]]     N is 10000 if not given; with 10000000, add is called
 *                                    52,500,000 times in each round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

static uint32_t whole, half, quarter; /* iterations */

APART static uint32_t add(uint32_t a, uint32_t b) {
    __asm__ volatile(""); /* or it would be known to have no effect, and some calls would go */
    return a + b;
}

APART static uint32_t f_main_1(void) {
    uint32_t sum = 0, count = whole;
    for (uint32_t i = 0; i < count; i++)
        sum += add(sum, i);
    return sum;
}

/* The same from the other end. */
APART static uint32_t f_main_2(void) {
    uint32_t sum = 0;
    for (uint32_t i = whole; i > 0; i--)
        sum += add(sum, i);
    return sum;
}

APART static uint32_t f_half(uint32_t start) {
    uint32_t sum = start, count = half;
    for (uint32_t i = 0; i < count; i++)
        sum += add(sum, i);
    return sum;
}

APART static uint32_t f_quarter(uint32_t start) {
    uint32_t sum = start, count = quarter;
    for (uint32_t i = 0; i < count; i++)
        sum += add(sum, i);
    return sum;
}

/* As long as f_main_1. */
APART static uint32_t f_main_3(void) {
    return f_half(1) ^ f_half(2);
}

/* As long as f_main_1. */
APART static uint32_t f_main_4(void) {
    return f_quarter(1) ^ f_quarter(2) ^ f_quarter(3) ^ f_quarter(4);
}

/* As long as f_half. */
APART static uint32_t f_half_2(void) {
    return f_quarter(1) ^ f_quarter(2);
}

int main(int argc, char **argv) {
    whole = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    half = whole / 2;
    quarter = whole / 4;
    uint32_t sum = 0;
    for (unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1; rounds; rounds--) {
        sum = sum << 1 | sum >> 31; /* or two rounds would cancel out */
        sum ^= f_main_1();
        sum ^= f_main_2();
        sum ^= f_main_3();
        sum ^= f_main_4();
        sum ^= f_half(0);
        sum ^= f_half_2();
        sum ^= f_quarter(0);
    }
    printf("sum %08x\n", (unsigned)sum);
    return 0;
}
