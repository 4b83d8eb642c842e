/*
 * runtime/memory.h - the memory that values live in, and what the files that implement values.h
 * share. Nobody else includes this.
 *
 * Addresses are u32. In the compiler itself they are offsets into a block of host memory that
 * never moves.
 */
#ifndef WHAMMC_RUNTIME_MEMORY_H
#define WHAMMC_RUNTIME_MEMORY_H

#include "host.h"
#include "values.h"

#ifndef __wasm__
#define VALUES_EXPORT(name)
#elif defined HOST_IMPORT
#define VALUES_EXPORT(name) EXPORT(#name)
#else
#define VALUES_EXPORT(name) EXPORT("whammc_" #name)
#endif

#define INLINE __attribute__((always_inline)) static inline

#define WORD_BYTE(s, i) (uint64_t)(uint8_t)(s)[(i) < sizeof(s) ? (i) : sizeof(s) - 1] << 8 * (i)
/* Up to 8 characters as a number, since there is no static data; the first is lowest. */
#define WORD(s)                                                                                    \
    (WORD_BYTE(s, 0) | WORD_BYTE(s, 1) | WORD_BYTE(s, 2) | WORD_BYTE(s, 3) | WORD_BYTE(s, 4) |     \
     WORD_BYTE(s, 5) | WORD_BYTE(s, 6) | WORD_BYTE(s, 7))

/* For hashing: 2^64 divided by the golden ratio. */
#define GOLDEN 0x9e3779b97f4a7c15u

/* Blocks have 16, 24, 32, 48, 64, 96 ... bytes. */
enum { BLOCK_CLASSES = 56 };

typedef struct Values {
    uint32_t heap, maps, nmaps, image, image_len; /* ValuesField */
    uint32_t free_block[BLOCK_CLASSES];           /* given back, linked by their first word */
    /* Contents of strings: u32 address (0 = free), u32 hash, in open addressing. */
    uint32_t strings, nstrings, string_slots;
    /* Headers of maps with ids from nmaps; those given back are linked by `mask`. */
    uint32_t more_maps, nmore, more_cap, free_map; /* free_map: 1 + id, 0 = none */
    uint64_t key[VALUES_MAX_LEAVES + 1];           /* values_key */
} Values;

/* At the address of a map's header; all zero = empty. */
typedef struct MapHeader {
    uint32_t index;   /* addresses of entries (0 = free), mask + 1 of them, half of them used */
    uint32_t entries; /* in the order of insertion: leaves of the key, leaves of the value */
    uint32_t count;
    uint32_t type;
    uint32_t mask;
    uint8_t shift; /* a hash's upper bits, from here on, are its place in the index */
    uint8_t plain; /* keys are equal if their leaves have the same bits */
    uint8_t key_leaves, value_leaves;
} MapHeader;

_Static_assert(sizeof(MapHeader) == VALUES_MAP_HEADER, "headers are laid out by the compiler");

#ifdef __wasm__
#ifdef HOST_IMPORT
extern Values values_state;
#define V (&values_state)
#else
#define V ((Values *)VALUES_STATE)
_Static_assert(VALUES_STATE + sizeof(Values) <= VALUES_TEXT, "the state has its place");
#endif
INLINE uint8_t *at(uint32_t address) {
    return (uint8_t *)(uintptr_t)address;
}
#else
extern _Thread_local Values values_state;
extern _Thread_local uint8_t *values_base;
#define V (&values_state)
INLINE uint8_t *at(uint32_t address) {
    return values_base + address;
}
#endif

INLINE uint32_t get32(uint32_t address) {
    uint32_t v;
    __builtin_memcpy(&v, at(address), sizeof v);
    return v;
}

INLINE uint64_t get64(uint32_t address) {
    uint64_t v;
    __builtin_memcpy(&v, at(address), sizeof v);
    return v;
}

INLINE void set32(uint32_t address, uint32_t v) {
    __builtin_memcpy(at(address), &v, sizeof v);
}

INLINE void set64(uint32_t address, uint64_t v) {
    __builtin_memcpy(at(address), &v, sizeof v);
}

enum { PAGE = 65536 };

/* Bytes of the memory, up to which addresses are good. */
#ifdef __wasm__
INLINE uint64_t values_end(void) {
    return (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
}
#else
uint64_t values_end(void);
#endif
/* A block of at least n bytes and a multiple of 8, not cleared; traps if there is no memory. */
uint32_t values_block(uint64_t n);
/* The same block size again. */
void values_block_free(uint32_t block, uint64_t n);

/* The header of a map; NULL if there is none of this number. */
MapHeader *values_map_header(uint32_t map);
/* Puts entries into the index again, after it was used for something else. */
void values_map_reindex(MapHeader *h);

#endif
