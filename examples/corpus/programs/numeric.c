/* numeric: a matrix product, a stencil, a sieve: the same in each language, to compare what compilers make of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 96, STEPS = 12, LIMIT = 200000 };

static double *matrix(uint32_t seed) {
    double *m = malloc(N * N * sizeof *m);
    for (int i = 0; i < N * N; i++) {
        seed = seed * 1664525u + 1013904223u;
        m[i] = (double)(seed >> 28) - 8;
    }
    return m;
}

static double product(void) {
    double *a = matrix(1), *b = matrix(2), *c = calloc(N * N, sizeof *c), trace = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i * N + j] += a[i * N + k] * b[k * N + j];
    for (int i = 0; i < N; i++)
        trace += c[i * N + i];
    return trace;
}

static double stencil(void) {
    double *a = matrix(3), *b = matrix(3);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                b[i * N + j] = (a[i * N + j] + a[i * N + j - 1] + a[i * N + j + 1] + a[(i - 1) * N + j] + a[(i + 1) * N + j]) / 4;
        double *swap = a;
        a = b;
        b = swap;
    }
    return a[N * N / 2 + N / 2];
}

static int sieve(void) {
    uint8_t *composite = calloc(LIMIT, 1);
    int primes = 0;
    for (int i = 2; i < LIMIT; i++) {
        primes += !composite[i];
        if (!composite[i])
            for (int j = 2 * i; j < LIMIT; j += i)
                composite[j] = 1;
    }
    return primes;
}

int main(void) {
    printf("%.0f %.3f %d\n", product(), stencil(), sieve());
    return 0;
}
