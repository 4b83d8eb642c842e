/* symbolic: queens, sorting with a comparison that is passed on, shapes of several kinds: calls and branches. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUEENS = 8, COUNT = 20000, SHAPES = 30000 };

static int place(int row, uint32_t columns, uint32_t left, uint32_t right) {
    if (row == QUEENS)
        return 1;
    int found = 0;
    for (uint32_t free = ~(columns | left | right) & ((1u << QUEENS) - 1); free; free &= free - 1) {
        uint32_t bit = free & -free;
        found += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t sorted(void) {
    uint32_t *values = malloc(COUNT * sizeof *values), seed = 7;
    for (int i = 0; i < COUNT; i++)
        values[i] = seed = seed * 1664525u + 1013904223u;
    qsort(values, COUNT, sizeof *values, compare);
    return values[COUNT / 2];
}

typedef struct Shape {
    double (*area)(const struct Shape *);
    double size;
} Shape;

static double square(const Shape *s) {
    return s->size * s->size;
}
static double circle(const Shape *s) {
    return s->size * s->size * 3;
}
static double triangle(const Shape *s) {
    return s->size * s->size / 2;
}

static double shapes(void) {
    double (*kinds[])(const Shape *) = {square, circle, triangle};
    Shape *all = malloc(SHAPES * sizeof *all);
    double total = 0;
    for (int i = 0; i < SHAPES; i++)
        all[i] = (Shape){kinds[i * 7 % 3], i % 10};
    for (int i = 0; i < SHAPES; i++)
        total += all[i].area(&all[i]);
    return total;
}

int main(void) {
    printf("%d %u %.0f\n", place(0, 0, 0, 0), (unsigned)sorted(), shapes());
    return 0;
}
