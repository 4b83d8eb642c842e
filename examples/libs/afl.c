/*
 * afl.c - a library for scripts: the coverage map of the fuzzer AFL, which counts the edges between
 * basic blocks. For ../scripts/afl.whamm.
 *
 * What it exports as `host:NAME` is for the fuzzer: the instrumented program exports `afl:map`,
 * `afl:reset`, `afl:news` and `afl:memory`.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o afl.wasm afl.c
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { SIZE = 1 << 16 }; /* of the map, in bytes */

static uint8_t map[SIZE] __attribute__((aligned(8)));
static uint8_t seen[SIZE]; /* classes of the counts in all runs */
static uint32_t previous;

/* Counts the edge from the block that was visited last to this one. The shift distinguishes A -> B
 * from B -> A, and A -> A from B -> B. */
EXPORT("visit") void visit(int32_t block) {
    map[((uint32_t)block ^ previous) % SIZE]++;
    previous = (uint32_t)block >> 1;
}

/* The address of the map. */
EXPORT("host:map") uint8_t *map_address(void) {
    return map;
}

/* Begins another run: clears the map. */
EXPORT("host:reset") void reset(void) {
    for (uint32_t i = 0; i < SIZE / 8; i++)
        ((uint64_t *)map)[i] = 0;
    previous = 0;
}

/* The class of a count, a bit: 1, 2, 3, 4-7, 8-15, 16-31, 32-127 or 128-255. */
static uint8_t class_of(uint8_t n) {
    static const uint8_t of[] = {0, 1, 2, 4};
    if (n < sizeof of)
        return of[n];
    return n < 8 ? 8 : n < 16 ? 16 : n < 32 ? 32 : n < 128 ? 64 : 128;
}

/* What the run has reached that no run before has: 2 = an edge, 1 = a class of counts of an edge, 0
 * = nothing. */
EXPORT("host:news") int32_t news(void) {
    int32_t news = 0;
    for (uint32_t word = 0; word < SIZE / 8; word++)
        for (uint32_t i = 8 * word; ((uint64_t *)map)[word] && i < 8 * word + 8; i++) {
            uint8_t class = class_of(map[i]);
            if (!(class & ~seen[i]))
                continue;
            news = !seen[i] ? 2 : news ? news : 1;
            seen[i] |= class;
        }
    return news;
}
