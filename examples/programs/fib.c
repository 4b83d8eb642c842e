/*
 * fib.c - recursive Fibonacci: almost nothing but calls.
 *
 * usage: fib [N]     prints fib(N), the number of calls made, and a checksum of the first values; N
 * is 35 if not given.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t calls;

/* Each half in a function that is not inlined, or the compiler would turn one of the calls into a
 * loop. */
__attribute__((noinline)) static uint32_t fib(uint32_t n);

__attribute__((noinline)) static uint32_t fib_before(uint32_t n) {
    uint32_t value = fib(n - 1);
    calls++;
    return value;
}

__attribute__((noinline)) static uint32_t fib(uint32_t n) {
    calls++;
    if (n < 2)
        return n;
    uint32_t left = fib_before(n);
    return left + fib_before(n - 1);
}

int main(int argc, char **argv) {
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 35;
    if (n > 43) {
        fprintf(stderr, "fib: N must be at most 43\n");
        return 2;
    }
    uint32_t checksum = 0;
    for (uint32_t i = 0; i <= n && i <= 12; i++)
        checksum = checksum * 31 + fib(i);
    calls = 0;
    uint32_t value = fib(n);
    printf("fib(%u) = %u\n", (unsigned)n, (unsigned)value);
    printf("calls %u\n", (unsigned)calls);
    printf("checksum %08x\n", (unsigned)checksum);
    return 0;
}
