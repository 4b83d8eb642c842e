/*
 * runtime/reader.h - reads byte tables; reading past the end returns 0.
 */
#ifndef WHAMMC_RUNTIME_READER_H
#define WHAMMC_RUNTIME_READER_H

#include <stdint.h>

typedef struct Reader {
    const uint8_t *at, *end;
} Reader;

static inline uint64_t read_uleb(Reader *r) {
    uint64_t v = 0;
    for (uint32_t shift = 0; r->at < r->end && shift < 64; shift += 7) {
        uint8_t byte = *r->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return v;
}

/* The sign is in bit 0. */
static inline int64_t read_zigzag(Reader *r) {
    uint64_t v = read_uleb(r);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static inline uint32_t load32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load64(const uint8_t *p) {
    return load32(p) | (uint64_t)load32(p + 4) << 32;
}

static inline void store64(uint8_t *p, uint64_t v) {
    for (uint32_t i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

#endif
