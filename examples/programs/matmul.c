/*
 * matmul.c - a numeric kernel: dense matrix products in double precision, plain and in blocks.
 *
 * usage: matmul [N]     multiplies N by N matrices both ways and prints checksums; N is 448 if not
 * given.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, MAX_SIZE = 2048 };

typedef struct Matrix {
    int size;
    double *at; /* size * size, by rows */
} Matrix;

static Matrix matrix_new(int size) {
    Matrix m = {size, calloc((size_t)size * (size_t)size, sizeof(double))};
    if (!m.at) {
        fprintf(stderr, "matmul: out of memory\n");
        exit(1);
    }
    return m;
}

/* Small values from a linear congruence, so that sums stay exact. */
static void matrix_fill(Matrix m, uint32_t seed) {
    for (int i = 0; i < m.size * m.size; i++) {
        seed = seed * 1664525u + 1013904223u;
        m.at[i] = (double)(seed >> 28) - 8.0;
    }
}

static void multiply_plain(Matrix out, Matrix a, Matrix b) {
    int n = a.size;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a.at[i * n + k] * b.at[k * n + j];
            out.at[i * n + j] = sum;
        }
}

static int min(int a, int b) {
    return a < b ? a : b;
}

/* One block of the product: rows i0.., columns j0.., summed over k0... */
static void multiply_block(Matrix out, Matrix a, Matrix b, int i0, int j0, int k0) {
    int n = a.size;
    int i1 = min(i0 + BLOCK, n), j1 = min(j0 + BLOCK, n), k1 = min(k0 + BLOCK, n);
    for (int i = i0; i < i1; i++)
        for (int k = k0; k < k1; k++) {
            double factor = a.at[i * n + k];
            for (int j = j0; j < j1; j++)
                out.at[i * n + j] += factor * b.at[k * n + j];
        }
}

static void multiply_blocked(Matrix out, Matrix a, Matrix b) {
    int n = a.size;
    memset(out.at, 0, (size_t)n * (size_t)n * sizeof(double));
    for (int i = 0; i < n; i += BLOCK)
        for (int k = 0; k < n; k += BLOCK)
            for (int j = 0; j < n; j += BLOCK)
                multiply_block(out, a, b, i, j, k);
}

static uint32_t checksum(Matrix m) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < m.size * m.size; i++)
        hash = (hash ^ (uint32_t)(int32_t)m.at[i]) * 16777619u;
    return hash;
}

static double trace(Matrix m) {
    double sum = 0;
    for (int i = 0; i < m.size; i++)
        sum += m.at[i * m.size + i];
    return sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 448;
    if (n < 1 || n > MAX_SIZE) {
        fprintf(stderr, "matmul: N must be from 1 to %d\n", MAX_SIZE);
        return 2;
    }
    Matrix a = matrix_new(n), b = matrix_new(n), plain = matrix_new(n), blocked = matrix_new(n);
    matrix_fill(a, 1);
    matrix_fill(b, 2);
    multiply_plain(plain, a, b);
    multiply_blocked(blocked, a, b);
    printf("size %d\n", n);
    printf("plain   %08x\n", (unsigned)checksum(plain));
    printf("blocked %08x\n", (unsigned)checksum(blocked));
    printf("trace %.1f\n", trace(plain));
    int same = memcmp(plain.at, blocked.at, (size_t)n * (size_t)n * sizeof(double)) == 0;
    puts(same ? "equal" : "different");
    free(a.at);
    free(b.at);
    free(plain.at);
    free(blocked.at);
    return same ? 0 : 1;
}
