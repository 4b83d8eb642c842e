/*
 * runtime/sums.h - counts derived from counters, and their corrections after traps. Used for
 * reports (format.c), bound monitors (sums_bound.c) and monitors in an engine (site/site_count.c).
 *
 * WORDS are i64, little endian: counters, and counts derived from them, which a table describes.
 * For each derived word
 *
 *   ULEB  terms << 2 | moved << 1 | deficit
 *   moved:   zigzag ULEB  distance of the word from the one that is next
 *   deficit: ULEB  its number << 1 | subtracted
 *   terms:   ULEB  distance << 2 | derived << 1 | subtracted; the distance is, of a counter, zigzag
 *            from the counter of the term before, in whichever word; of a derived word, how far it
 * is before this word
 *
 * A word without `moved` is the one after the word before, and the first is word 0. In monitors,
 * whose words are anywhere in memory, all of them are called counters.
 *
 * A SUM of multiples of counters is a list of parts, in the order of the counters:
 *
 *   ULEB  distance << 4 | weight: the distance of the counter from the one after that of the part
 *         before (of the first part: from counter 0); the weight is 1 to 11 as it is, 12 to 15 for
 *         -1 to -4
 *   weight 0: zigzag ULEB  the weight
 *
 * TRAPS are records from the host: u32 function index, from, to, times, deficit, 0. Rows of that
 * function with from <= key < to have been counted that many times too often; the deficit is a term
 * of derived words. The first record with 0 times ends the list.
 */
#ifndef WHAMMC_RUNTIME_SUMS_H
#define WHAMMC_RUNTIME_SUMS_H

#include "reader.h"

enum { SUMS_TRAP = 24 }; /* bytes */
enum { SUMS_SUBTRACTED = 1, SUMS_DERIVED = 2, SUMS_TERM_SHIFT = 2 };
enum { SUMS_DEFICIT = 1, SUMS_MOVED = 2, SUMS_TERMS_SHIFT = 2 };
enum { SUMS_WEIGHT_SHIFT = 4, SUMS_WEIGHT = 15, SUMS_POSITIVE = 11 };

typedef struct SumsWords {
    uint8_t *counters, *derived;
    uint32_t ncounters, nderived;
} SumsWords;

typedef struct SumsTraps {
    const uint8_t *at;
    uint32_t n;
} SumsTraps;

/* The value of a sum: at `sum` is the number of bytes that its parts take, u32, then the parts; the
 * words are counters. Exported as whammc_sum; needs no stack, as it may be called at any time. */
uint64_t sums_add_up(const uint8_t *sum, const uint8_t *words);

/* How a part has its weight; 0 = it follows. */
static inline uint64_t sums_weight_code(uint64_t weight) {
    uint64_t below = 0 - weight;
    return weight <= SUMS_POSITIVE                ? weight
           : below <= SUMS_WEIGHT - SUMS_POSITIVE ? SUMS_POSITIVE + below
                                                  : 0;
}

/* Unsigned LEB128, which is complete. */
static inline __attribute__((always_inline)) uint64_t sums_uleb(const uint8_t **at) {
    uint64_t v = 0, byte;
    uint32_t shift = 0;
    do {
        byte = *(*at)++;
        v |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return v;
}

/* Reads a part, whose weight it returns. `counter`: the one after that of the part before; becomes
 * that of the part. */
static inline __attribute__((always_inline)) uint64_t sums_part(const uint8_t **at,
                                                                uint32_t *counter) {
    uint64_t part = sums_uleb(at), code = part & SUMS_WEIGHT, far;
    *counter += (uint32_t)(part >> SUMS_WEIGHT_SHIFT);
    if (code)
        return code <= SUMS_POSITIVE ? code : SUMS_POSITIVE - code;
    far = sums_uleb(at);
    return far >> 1 ^ (0 - (far & 1));
}

/* The number of records in use. */
SumsTraps sums_traps(const uint8_t *at, uint32_t room);

/* How many executions too many were counted for this key in a function. */
uint64_t sums_too_often(SumsTraps traps, uint32_t fid, uint32_t key);

/* Computes all derived words of a table, which ends where the reader does. Ignores words that a
 * damaged table names but that do not exist. */
void sums_derive(Reader *table, SumsWords words, SumsTraps traps);

#endif
