/*
 * cache.c - a library for scripts: a set-associative data cache of 32 KiB that replaces what was
 * not used for the longest time. For ../scripts/cache.whamm.
 *
 *     clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o cache.wasm cache.c
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { LINE = 64, SETS = 64, WAYS = 8 };

typedef struct Way {
    uint32_t line; /* its number plus one; 0 = empty */
    uint32_t used; /* when, by `now` */
} Way;

static Way sets[SETS][WAYS];
static uint32_t now;
static int32_t hit_count, miss_count;

static int touch(uint32_t line) {
    Way *set = sets[line % SETS], *oldest = set;
    now++;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].line == line + 1) {
            set[i].used = now;
            return 1;
        }
        if (set[i].used < oldest->used)
            oldest = &set[i];
    }
    *oldest = (Way){line + 1, now};
    return 0;
}

/* An access to `size` bytes at an address: the number of cache lines that it missed. */
EXPORT("check_access") int32_t check_access(int32_t address, int32_t size) {
    uint32_t first = (uint32_t)address / LINE,
             last = ((uint32_t)address + (uint32_t)size - 1) / LINE;
    int32_t missed = 0;
    for (uint32_t line = first; line <= last; line++) {
        int hit = touch(line);
        hit_count += hit;
        missed += !hit;
    }
    miss_count += missed;
    return missed;
}

EXPORT("hits") int32_t hits(void) {
    return hit_count;
}

EXPORT("misses") int32_t misses(void) {
    return miss_count;
}
