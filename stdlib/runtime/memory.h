/*
 * runtime/memory.h - the memory of values; shared by the files that implement values.h, which alone
 * include it.
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
/* Up to 8 characters as a number, since there is no static data; the first is in the lowest
 * byte. */
#define WORD(s)                                                                                    \
    (WORD_BYTE(s, 0) | WORD_BYTE(s, 1) | WORD_BYTE(s, 2) | WORD_BYTE(s, 3) | WORD_BYTE(s, 4) |     \
     WORD_BYTE(s, 5) | WORD_BYTE(s, 6) | WORD_BYTE(s, 7))

/* For hashing: 2^64 divided by the golden ratio. */
#define GOLDEN 0x9e3779b97f4a7c15u

/* Blocks have 16, 24, 32, 48, 64, 96 ... bytes. */
enum { BLOCK_CLASSES = 56 };

typedef struct Values {
    uint32_t heap, maps, nmaps, image, image_len; /* ValuesField */
    uint32_t page; /* the page of the last look-up in a map of words (VALUES_PAGE) */
    uint32_t free_block[BLOCK_CLASSES]; /* free blocks, linked by their first word */
    /* Contents of strings: u32 address (0 = free), u32 hash, in open addressing. */
    uint32_t strings, nstrings, string_slots;
    /* Headers of maps with ids from nmaps; free ones are linked by `mask`. */
    uint32_t more_maps, nmore, more_cap, free_map; /* free_map: 1 + id, 0 = none */
    uint32_t free_page;                  /* headers of pages of maps from nmaps, linked by `own` */
    uint32_t frames;                     /* the first stack of values; 0 = none */
    uint64_t key[VALUES_MAX_LEAVES + 1]; /* values_key */
    uint32_t lines;                      /* the buffer of lines.c; 0 = none */
} Values;

/* At the address of a map's header; all zero = empty. Its first use decides which of two kinds of
 * map it is: one of words (word_map.c) or one of entries (map.c). */
typedef struct MapHeader {
    uint32_t index;   /* mask + 1 addresses of pages or entries; 0 = free */
    uint32_t entries; /* in the order of insertion until one is deleted: leaves of the key, leaves
                         of the value */
    uint32_t count;   /* of keys */
    uint32_t type;
    uint32_t mask;
    uint8_t shift; /* the bits of a hash from here on are its position in the index */
    uint8_t plain; /* keys are equal if their leaves have the same bits */
    uint8_t key_leaves, value_leaves;
    uint32_t used;      /* of words: slots of the index that are not free */
    uint8_t words;      /* the highest level of its pages; 0 = it is not one of words */
    uint8_t slot_log;   /* ... whose values take 4 or 8 bytes: 2 or 3 */
    uint8_t flagged;    /* ... bits of the leaf before a bool, if that is last; 0 = it is not */
    uint8_t bits;       /* ... of a key */
    uint32_t levels;    /* ... that pages have had, as bits */
    uint32_t free_page; /* headers of pages of this map, if its id is below nmaps */
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

/* The size of the memory in bytes: addresses below it are valid. */
#ifdef __wasm__
INLINE uint64_t values_end(void) {
    return (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
}
#else
uint64_t values_end(void);
#endif
/* A block of at least n bytes and a multiple of 8, not cleared; traps if memory is exhausted. */
uint32_t values_block(uint64_t n);
/* The same, but returns 0 if memory is exhausted. */
uint32_t values_block_or_none(uint64_t n);
/* Frees a block of this size. */
void values_block_free(uint32_t block, uint64_t n);

/* The header of a map; NULL if there is none of this number. */
MapHeader *values_map_header(uint32_t map);
/* Puts the addresses of the entries into the index by ascending keys; values_map_reindex then. */
void values_map_sort(const MapHeader *h);
/* Rebuilds the index from the entries, after it was used for something else. */
void values_map_reindex(MapHeader *h);

/* Mixes a word into a hash; use the upper bits of the result. */
INLINE uint64_t hash_step(uint64_t h, uint64_t word) {
    h ^= word;
    return (h ^ h >> 32) * GOLDEN;
}

/* The hash of `len` bytes. */
uint64_t values_hash_bytes(uint32_t from, uint32_t len);

/* ---- the description of a map's type ---- */

/* Of keys. */
INLINE uint32_t key_description(uint32_t type) {
    return type + 4 + 2;
}

/* The kind of the next leaf in the description of a key, which has no maps. */
INLINE uint8_t next_kind(uint32_t *description) {
    uint8_t kind = *at((*description)++);
    while (kind == REPORT_TUPLE) {
        (*description)++;
        kind = *at((*description)++);
    }
    return kind;
}

/* The first byte of the description of the type's values. */
uint8_t values_value_kind(uint32_t type);

/* ---- maps of words (word_map.c) ---- */

/* Slots for the words base + (n << shift), n < slots, of a block of 1 << level words. */
typedef struct Page {
    uint32_t low;   /* of the base */
    uint32_t shape; /* slots << 5 | shift */
    uint32_t high;  /* of the base */
    uint32_t map;
    uint32_t values;    /* the address of slot 0 */
    uint8_t log, level; /* slots are 1 << log */
    uint8_t refused;    /* it was too sparse to merge others into it */
    uint32_t keys;      /* the number of slots that are in the map */
    uint32_t retry;     /* at this number of keys that is tried again */
    uint64_t own;       /* the value of its only slot; or which are in the map, of up to 64; or the
                           address of such marks; of a free header: the next one */
} Page;

_Static_assert(sizeof(Page) == 40, "headers of pages fill their blocks");
_Static_assert(__builtin_offsetof(Page, low) == VALUES_PAGE_LOW, "compiled code reads it");
_Static_assert(__builtin_offsetof(Page, shape) == VALUES_PAGE_LOW + 4, "compiled code reads it");
_Static_assert(__builtin_offsetof(Page, high) == VALUES_PAGE_HIGH, "compiled code reads it");
_Static_assert(__builtin_offsetof(Page, map) == VALUES_PAGE_MAP, "compiled code reads it");
_Static_assert(__builtin_offsetof(Page, values) == VALUES_PAGE_VALUES, "compiled code reads it");

enum {
    WORD_GONE = 8
}; /* in the index: a page was here (a tombstone); there are zeros at this address */

/* Sets the fields for words of a header, if the types of its keys and values allow it. */
void words_start(MapHeader *h);
/* The word of a key whose leaves are in V->key. */
uint64_t words_pack(const MapHeader *h);
/* The address of the value of a key; without `insert`, 0 if it is not there. */
uint32_t words_seek(uint32_t map, MapHeader *h, uint64_t word, bool insert);
/* The same if the key is found at the first try, as most are, and its value is not zero; else 0. */
INLINE uint32_t words_quick(const MapHeader *h, uint64_t word) {
    if (!h->levels)
        return 0;
    uint32_t level = 31 - (uint32_t)__builtin_clz(h->levels);
    uint64_t place = hash_step(level, word >> level) >> h->shift;
    uint32_t item = get32(h->index + 4 * (uint32_t)place);
    const Page *page = (const Page *)at(item); /* 0 and WORD_GONE are like pages without slots */
    uint32_t distance = (uint32_t)word - page->low, shift = page->shape & 31;
    uint32_t n = distance >> shift | distance << (-shift & 31);
    if (n >= page->shape >> 5 || page->high != (uint32_t)(word >> 32))
        return 0;
    uint32_t slot = page->values + (n << h->slot_log);
    if (!get32(slot) && (h->slot_log == 2 || !get32(slot + 4)))
        return 0;
    V->page = item;
    return slot;
}

/* Deletes a key, if it is there. */
void words_delete(MapHeader *h, uint64_t word);
/* Frees all memory; the map is empty then. */
void words_free(MapHeader *h);

enum { WORD_OPEN_PAGES = 96 }; /* blocks of two values of a bool, each with up to 8 in a region */

typedef struct OpenPage {
    uint32_t page, slot;
} OpenPage;

/* The keys by ascending leaves. Pages are sorted in memory that the index has for that. */
typedef struct WordCursor {
    uint32_t items, nitems; /* addresses of pages */
    uint32_t item;          /* those before it are open or finished */
    uint32_t nopen;
    uint64_t signs;
    OpenPage open[WORD_OPEN_PAGES]; /* with their next slots */
} WordCursor;

/* Puts a cursor before the first key; keys come in their order. */
void words_first(const MapHeader *h, WordCursor *c);
/* The next key's leaves, as entries have them, and the address of its value; 0 = there is none. */
uint32_t words_next(const MapHeader *h, WordCursor *c, uint64_t *leaves);

#endif
