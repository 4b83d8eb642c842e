/*
 * base/capped.h - sums of counts that stay at the largest number instead of beginning again at 0.
 */
#ifndef WHAMMC_BASE_CAPPED_H
#define WHAMMC_BASE_CAPPED_H

#include <stdint.h>

/* a + b, or UINT64_MAX if that is larger. */
static inline uint64_t capped_add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
