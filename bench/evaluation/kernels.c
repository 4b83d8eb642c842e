/*
 * The kinds of programs that the thesis on WasmProf measured: simple mathematics and array
 * operations, some recursive; kernels of image processing; and one that finds a marker in pictures,
 * which calls many small functions. Each exported function does its work on data of its own and
 * returns a checksum. The programs that the thesis used are not copied here.
 */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(name), noinline))
#define KEEP         __attribute__((noinline))

enum { N = 1 << 16, WIDTH = 320, HEIGHT = 240 };

static int32_t ints[N], other_ints[N];
static double doubles[N], other_doubles[N];
static uint8_t picture[WIDTH * HEIGHT * 4], grey[WIDTH * HEIGHT], result[WIDTH * HEIGHT];

static uint32_t seed = 1;
static uint32_t next_random(void) {
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

EXPORT("prepare") void prepare(void) {
    seed = 1;
    for (int i = 0; i < N; i++) {
        ints[i] = (int32_t)next_random();
        other_ints[i] = (int32_t)next_random();
        doubles[i] = next_random() / 65536.0;
        other_doubles[i] = next_random() / 65536.0;
    }
    for (int i = 0; i < WIDTH * HEIGHT * 4; i++)
        picture[i] = (uint8_t)next_random();
}

/* ---- simple mathematics ---- */

static KEEP int32_t multiply(int32_t a, int32_t b) {
    return a * b;
}

EXPORT("multiplyInt") double multiply_int(void) {
    int32_t product = 1;
    for (int i = 0; i < N; i++)
        product = multiply(product, ints[i] | 1);
    return product;
}

EXPORT("multiplyDouble") double multiply_double(void) {
    double product = 1;
    for (int i = 0; i < N; i++)
        product = product * doubles[i] / other_doubles[i | 1];
    return product;
}

EXPORT("multiplyIntVec") double multiply_int_vec(void) {
    int32_t sum = 0;
    for (int i = 0; i < N; i++)
        sum += ints[i] * other_ints[i];
    return sum;
}

EXPORT("multiplyDoubleVec") double multiply_double_vec(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += doubles[i] * other_doubles[i];
    return sum;
}

EXPORT("sumInt") double sum_int(void) {
    int32_t sum = 0;
    for (int i = 0; i < N; i++)
        sum += ints[i];
    return sum;
}

EXPORT("sumDouble") double sum_double(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += doubles[i];
    return sum;
}

/* Sorts a[low] to a[high], by recursion; the program has it for two types. */
#define QUICKSORT(name, type)                                                                      \
    static KEEP void name(type *a, int low, int high) {                                            \
        type pivot = a[(low + high) / 2];                                                          \
        int i = low, j = high;                                                                     \
        while (i <= j) {                                                                           \
            while (a[i] < pivot)                                                                   \
                i++;                                                                               \
            while (a[j] > pivot)                                                                   \
                j--;                                                                               \
            if (i <= j) {                                                                          \
                type held = a[i];                                                                  \
                a[i++] = a[j];                                                                     \
                a[j--] = held;                                                                     \
            }                                                                                      \
        }                                                                                          \
        if (low < j)                                                                               \
            name(a, low, j);                                                                       \
        if (i < high)                                                                              \
            name(a, i, high);                                                                      \
    }

QUICKSORT(quicksort_ints, int32_t)
QUICKSORT(quicksort_doubles, double)

EXPORT("quicksortInt") double quicksort_int(void) {
    prepare();
    quicksort_ints(ints, 0, N - 1);
    return ints[N / 3];
}

EXPORT("quicksortDouble") double quicksort_double(void) {
    prepare();
    quicksort_doubles(doubles, 0, N - 1);
    return doubles[N / 3];
}

/* ---- image processing ---- */

EXPORT("imageGrayscale") double image_grayscale(void) {
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        grey[i] =
            (uint8_t)((picture[4 * i] * 77 + picture[4 * i + 1] * 151 + picture[4 * i + 2] * 28) >>
                      8);
    return grey[WIDTH * HEIGHT / 2];
}

EXPORT("imageThreshold") double image_threshold(void) {
    int above = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        result[i] = grey[i] > 127 ? 255 : 0;
        above += result[i] != 0;
    }
    return above;
}

EXPORT("imageConvolute") double image_convolute(void) {
    static const int kernel[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    int sum = 0;
    for (int y = 1; y < HEIGHT - 1; y++)
        for (int x = 1; x < WIDTH - 1; x++) {
            int value = 0;
            for (int k = 0; k < 9; k++)
                value += kernel[k] * grey[(y + k / 3 - 1) * WIDTH + x + k % 3 - 1];
            result[y * WIDTH + x] = (uint8_t)(value >> 4);
            sum += value & 15;
        }
    return sum;
}

/* ---- detection of a marker: regions of dark pixels, by a flood with small functions, and how
 * square they are ---- */

typedef struct Region {
    int left, top, right, bottom, pixels;
} Region;

static int32_t waiting[WIDTH * HEIGHT];
static int waiting_count;
static uint8_t seen[WIDTH * HEIGHT];

static KEEP int is_dark(int at) {
    return grey[at] < 120 && !seen[at];
}

static KEEP void push(int at) {
    if (is_dark(at)) {
        seen[at] = 1;
        waiting[waiting_count++] = at;
    }
}

static KEEP int pop(void) {
    return waiting[--waiting_count];
}

static KEEP void include(Region *r, int x, int y) {
    r->left = x < r->left ? x : r->left;
    r->right = x > r->right ? x : r->right;
    r->top = y < r->top ? y : r->top;
    r->bottom = y > r->bottom ? y : r->bottom;
    r->pixels++;
}

static KEEP Region flood(int at) {
    Region r = {WIDTH, HEIGHT, 0, 0, 0};
    push(at);
    while (waiting_count) {
        int now = pop(), x = now % WIDTH, y = now / WIDTH;
        include(&r, x, y);
        if (x > 0)
            push(now - 1);
        if (x < WIDTH - 1)
            push(now + 1);
        if (y > 0)
            push(now - WIDTH);
        if (y < HEIGHT - 1)
            push(now + WIDTH);
    }
    return r;
}

static KEEP int squareness(const Region *r) {
    int width = r->right - r->left + 1, height = r->bottom - r->top + 1;
    return abs(width - height) * 4 < width + height ? r->pixels * 100 / (width * height) : 0;
}

EXPORT("markerDetection") double marker_detection(void) {
    int best = 0;
    image_grayscale();
    image_convolute();
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        seen[i] = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        if (is_dark(i)) {
            Region r = flood(i);
            int square = squareness(&r);
            best = square > best ? square : best;
        }
    return best;
}
