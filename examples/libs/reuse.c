/*
 * reuse.c - a library for scripts: the reuse distance of accesses, the number of different lines
 * that were accessed since the last access to the same line. For ../scripts/reuse.whamm.
 *
 * Each line has the time of its last access, and a tree of sums (Fenwick) counts the lines by these
 * times. When times are used up, lines get new ones in the same order.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o reuse.wasm reuse.c
 */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { PART_BITS = 12, PARTS = 1 << (32 - PART_BITS) };
enum { FIRST_TIMES = 1 << 16 };

static uint32_t *last[PARTS];      /* times of lines, from 1 on; 0 = not accessed */
static uint32_t *sums, *lines;     /* by times */
static uint32_t now, times, count; /* count = of lines that were accessed */

extern char __heap_base;
static char *heap = &__heap_base;

/* Memory that is zero. It is not freed. */
static void *allocate(uint32_t size) {
    char *at = heap;
    heap += (size + 7) & ~7u;
    uint32_t pages = (uint32_t)__builtin_wasm_memory_size(0),
             needed = ((uint32_t)heap + 65535) >> 16;
    if (needed > pages && __builtin_wasm_memory_grow(0, needed - pages) == (unsigned long)-1)
        __builtin_trap();
    return at;
}

static uint32_t *last_of(uint32_t line) {
    uint32_t **part = &last[line >> PART_BITS];
    if (!*part)
        *part = allocate(sizeof(uint32_t) << PART_BITS);
    return *part + (line & ((1 << PART_BITS) - 1));
}

static void add(uint32_t time, uint32_t n) {
    for (; time <= times; time += time & -time)
        sums[time] += n;
}

/* The number of lines whose last access was not later. */
static uint32_t until(uint32_t time) {
    uint32_t n = 0;
    for (; time; time -= time & -time)
        n += sums[time];
    return n;
}

/* Gives all lines the times from 1 on. There are twice as many times if more than half are in use.
 */
static void renumber(void) {
    uint32_t *from = lines, before = now;
    if (count >= times / 2) {
        times = times ? 2 * times : FIRST_TIMES;
        sums = allocate(sizeof(uint32_t) * (times + 1));
        lines = allocate(sizeof(uint32_t) * (times + 1));
    }
    now = 0;
    for (uint32_t t = 1; t <= before; t++) {
        uint32_t line = from[t], *at = last_of(line);
        if (*at != t)
            continue;
        *at = ++now;
        lines[now] = line;
    }
    for (uint32_t t = 1; t <= times; t++)
        sums[t] = 0;
    for (uint32_t t = 1; t <= times; t++) {
        uint32_t next = t + (t & -t);
        sums[t] += t <= now;
        if (next <= times)
            sums[next] += sums[t];
    }
}

/* Returns the distance, or -1 for the first access to a line. */
EXPORT("access") int64_t access(int32_t line) {
    uint32_t *at = last_of((uint32_t)line);
    int64_t distance = -1;
    if (now == times)
        renumber();
    if (*at) {
        distance = count - until(*at);
        add(*at, (uint32_t)-1);
    } else {
        count++;
    }
    *at = ++now;
    lines[now] = (uint32_t)line;
    add(now, 1);
    return distance;
}
