/*
 * runtime/sums.h - counts derived from counters, and their corrections after traps. Used for
 * reports (format.c), bound monitors (sums_bound.c) and monitors in an engine (site_count.c).
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

/* How a part has its weight; 0 = it follows. */
static inline uint64_t sums_weight_code(uint64_t weight) {
    uint64_t below = 0 - weight;
    return weight <= SUMS_POSITIVE                ? weight
           : below <= SUMS_WEIGHT - SUMS_POSITIVE ? SUMS_POSITIVE + below
                                                  : 0;
}

/* Reads a part, whose weight it returns. `counter`: the one after that of the part before; becomes
 * that of the part. */
static inline uint64_t sums_part(Reader *sum, uint32_t *counter) {
    uint64_t part = read_uleb(sum), code = part & SUMS_WEIGHT;
    *counter += (uint32_t)(part >> SUMS_WEIGHT_SHIFT);
    return !code ? (uint64_t)read_zigzag(sum) : code <= SUMS_POSITIVE ? code : SUMS_POSITIVE - code;
}

/* The number of records in use. */
SumsTraps sums_traps(const uint8_t *at, uint32_t room);

/* How many executions too many were counted for this key in a function. */
uint64_t sums_too_often(SumsTraps traps, uint32_t fid, uint32_t key);

/* Computes all derived words of a table, which ends where the reader does. Ignores words that a
 * damaged table names but that do not exist. */
void sums_derive(Reader *table, SumsWords words, SumsTraps traps);

#endif
