/*
 * cachegrind.c - a library for scripts: the caches that valgrind's cachegrind simulates. An
 * instruction cache, a data cache, and a last-level cache for what these miss; each is
 * set-associative, and replaces what was not used for the longest time. For
 * ../scripts/cachegrind.whamm.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o cachegrind.wasm
 * cachegrind.c
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { CODE, DATA, LAST, CACHES };
enum { MAX_LINES = 1 << 19 }; /* of a cache: 32 MiB with lines of 64 bytes */

/* The results of an access. */
enum { MISSED = 1, MISSED_LAST = 2 };

typedef struct Cache {
    uint32_t line_bits, sets, ways;
    uint32_t *lines; /* of each set, the one that was used last first: their numbers plus one */
} Cache;

static Cache caches[CACHES];
static uint32_t lines_of[CACHES][MAX_LINES];

static int is_power_of_2(uint32_t n) {
    return n && !(n & (n - 1));
}

/* Ends by a trap unless there can be a cache of this size, in bytes. */
EXPORT("check") void check(int32_t size, int32_t ways, int32_t line) {
    if (ways <= 0 || line < 16 || !is_power_of_2((uint32_t)line) || size % (ways * line) ||
        !is_power_of_2((uint32_t)(size / (ways * line))) || size / line > MAX_LINES)
        __builtin_trap();
}

/* Sets the size of a cache: 0 = instructions, 1 = data, 2 = the last level. */
EXPORT("configure") void configure(int32_t which, int32_t size, int32_t ways, int32_t line) {
    Cache *c = &caches[which];
    c->line_bits = (uint32_t)__builtin_ctz((uint32_t)line);
    c->ways = (uint32_t)ways;
    c->sets = (uint32_t)(size / (ways * line));
    c->lines = lines_of[which];
}

static int misses_line(const Cache *c, uint32_t line) {
    uint32_t *set = c->lines + (line & (c->sets - 1)) * c->ways, wanted = line + 1, i = 0;
    if (set[0] == wanted)
        return 0;
    while (i < c->ways - 1 && set[i] != wanted)
        i++;
    int missed = set[i] != wanted;
    for (; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = wanted;
    return missed;
}

/* An access to several lines is one miss at most. */
static int misses(const Cache *c, uint32_t address, uint32_t size) {
    uint32_t first = address >> c->line_bits, last = (address + size - 1) >> c->line_bits;
    int missed = 0;
    for (uint32_t line = first; line <= last; line++)
        missed |= misses_line(c, line);
    return missed;
}

static int32_t access(const Cache *c, uint32_t address, uint32_t size) {
    if (!misses(c, address, size))
        return 0;
    return misses(&caches[LAST], address, size) ? MISSED | MISSED_LAST : MISSED;
}

/* A load or a store. */
EXPORT("data") int32_t data(int32_t address, int32_t size) {
    return access(&caches[DATA], (uint32_t)address, (uint32_t)size);
}

/* The fetch of code at an address. */
EXPORT("code") int32_t code(int32_t address, int32_t size) {
    return access(&caches[CODE], (uint32_t)address, (uint32_t)size);
}

/* ---- while a program is instrumented: where its code is ---- */

static int32_t function = -1, function_size;
static uint32_t function_start;

/* The address of an instruction, if functions lie one after another. To be called for all of them
 * in their order. */
EXPORT("address") int32_t address(int32_t fid, int32_t fn_size, int32_t pc) {
    if (fid != function)
        function_start += (uint32_t)function_size;
    function = fid;
    function_size = fn_size;
    return (int32_t)function_start + pc;
}
