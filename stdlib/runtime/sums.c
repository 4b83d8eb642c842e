/*
 * runtime/sums.c - computes derived counts. The table is described in sums.h.
 */
#include "sums.h"

#if defined __wasm__ && !defined HOST_IMPORT
#include "host.h"
#define SUMS_EXPORT EXPORT("whammc_sum")
#else
#define SUMS_EXPORT
#endif

SumsTraps sums_traps(const uint8_t *at, uint32_t room) {
    SumsTraps traps = {at, 0};
    while (traps.n < room && load32(at + SUMS_TRAP * (uintptr_t)traps.n + 12))
        traps.n++;
    return traps;
}

static const uint8_t *record(SumsTraps traps, uint32_t i) {
    return traps.at + SUMS_TRAP * (uintptr_t)i;
}

uint64_t sums_too_often(SumsTraps traps, uint32_t fid, uint32_t key) {
    uint64_t times = 0;
    for (uint32_t i = 0; i < traps.n; i++) {
        const uint8_t *t = record(traps, i);
        if (load32(t) == fid && load32(t + 4) <= key && key < load32(t + 8))
            times += load32(t + 12);
    }
    return times;
}

/* The number of traps that belong to a deficit. */
static uint64_t deficit(SumsTraps traps, uint32_t number) {
    uint64_t times = 0;
    for (uint32_t i = 0; i < traps.n; i++) {
        const uint8_t *t = record(traps, i);
        if (load32(t + 16) == number)
            times += load32(t + 12);
    }
    return times;
}

static uint64_t word(const uint8_t *words, uint32_t n, uint32_t index) {
    return index < n ? load64(words + 8 * (uintptr_t)index) : 0;
}

void sums_derive(Reader *table, SumsWords words, SumsTraps traps) {
    uint32_t next = 0, counter = 0;
    while (table->at < table->end) {
        uint64_t head = read_uleb(table), sum = 0;
        if (head & SUMS_MOVED)
            next += (uint32_t)read_zigzag(table);
        if (head & SUMS_DEFICIT) {
            uint32_t number = (uint32_t)read_uleb(table);
            uint64_t times = deficit(traps, number >> 1);
            sum = number & SUMS_SUBTRACTED ? 0 - times : times;
        }
        for (uint64_t n = head >> SUMS_TERMS_SHIFT; n && table->at < table->end; n--) {
            uint64_t term = read_uleb(table), v;
            uint32_t distance = (uint32_t)(term >> SUMS_TERM_SHIFT);
            if (term & SUMS_DERIVED) {
                v = word(words.derived, words.nderived, next - distance);
            } else {
                counter += distance >> 1 ^ (0 - (distance & 1));
                v = word(words.counters, words.ncounters, counter);
            }
            sum += term & SUMS_SUBTRACTED ? 0 - v : v;
        }
        if (next < words.nderived)
            store64(words.derived + 8 * (uintptr_t)next, sum);
        next++;
    }
}

SUMS_EXPORT uint64_t sums_add_up(const uint8_t *sum, const uint8_t *words) {
    const uint8_t *at = sum + 4, *end = at + load32(sum);
    uint64_t total = 0;
    for (uint32_t counter = 0; at < end; counter++) {
        uint64_t weight = sums_part(&at, &counter);
        total += weight * load64(words + 8 * (uintptr_t)counter);
    }
    return total;
}
