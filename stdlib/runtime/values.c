/*
 * runtime/values.c - the heap, strings and maps.
 *
 * The heap grows by moving Values.heap up. What is on it is a string, for ever, or a block: tables
 * of maps, of strings, of headers. Blocks that are given back are kept by size and used again.
 *
 * Maps keep their entries in the order of insertion, and find them through an index with open
 * addressing, whose slots are addresses of entries. So a look-up reads a slot and a key, without
 * arithmetic on sizes. Both tables double together.
 */
#include "memory.h"

/* ---- memory ---- */

#ifdef __wasm__
/* One page less than there can be, so that the address after the end is a 32-bit number too. */
enum { MAX_PAGES = 65535 };

#ifdef HOST_IMPORT
extern uint8_t __heap_base; /* of the linker */
Values values_state;
#endif

static bool grow(uint64_t pages) {
    return pages <= MAX_PAGES &&
           __builtin_wasm_memory_grow(0, pages - __builtin_wasm_memory_size(0)) != (size_t)-1;
}

/* Makes the memory reach up to address `to`, with a quarter more if that can be had. */
static bool reach(uint64_t to) {
    uint64_t pages = (to + PAGE - 1) / PAGE;
    return to <= values_end() || grow(pages + pages / 4) || grow(pages);
}

INLINE void heap_start(void) {
#ifdef HOST_IMPORT
    if (!V->heap)
        V->heap = ((uint32_t)(uintptr_t)&__heap_base + 7) & ~7u;
#endif
}
#else
#include <stdlib.h>

_Thread_local Values values_state;
_Thread_local uint8_t *values_base;
static _Thread_local uint32_t size;

uint8_t *values_native_memory(uint32_t bytes) {
    free(values_base);
    values_base = bytes ? calloc(bytes, 1) : NULL;
    size = values_base ? bytes : 0;
    values_state = (Values){.heap = VALUES_STACK};
    return values_base;
}

void values_native_set(ValuesField field, uint32_t v) {
    __builtin_memcpy((uint8_t *)V + field, &v, sizeof v);
}

uint64_t values_end(void) {
    return size;
}

static bool reach(uint64_t to) {
    return to <= size;
}

INLINE void heap_start(void) {}
#endif

const uint8_t *values_image(uint32_t *len) {
    *len = V->image_len;
    return V->image && *len >= FORMAT_HEADER ? at(V->image) : NULL;
}

static uint64_t align8(uint64_t n) {
    return (n + 7) & ~(uint64_t)7;
}

static uint64_t class_size(uint32_t class) {
    return (uint64_t)(class & 1 ? 24 : 16) << (class >> 1);
}

static uint32_t class_of(uint64_t n) {
    uint32_t class = 0;
    while (class_size(class) < n)
        class ++;
    return class;
}

/* A block of a class, or 0. */
static uint32_t take(uint32_t class) {
    if (class >= BLOCK_CLASSES)
        return 0;
    uint32_t block = V->free_block[class];
    if (block) {
        V->free_block[class] = get32(block);
        return block;
    }
    heap_start();
    block = V->heap;
    uint64_t to = block + class_size(class);
    if (!reach(to))
        return 0;
    V->heap = (uint32_t)to;
    return block;
}

static void give(uint32_t block, uint32_t class) {
    set32(block, V->free_block[class]);
    V->free_block[class] = block;
}

uint32_t values_block(uint64_t n) {
    uint32_t block = take(class_of(n));
    if (!block)
        __builtin_trap();
    return block;
}

void values_block_free(uint32_t block, uint64_t n) {
    if (block)
        give(block, class_of(n));
}

VALUES_EXPORT(mem_alloc)
uint32_t values_mem_alloc(uint32_t n) {
    uint32_t class = class_of((uint64_t)n + 8), block = take(class);
    if (!block)
        return 0;
    set32(block, class);
    return block + 8;
}

VALUES_EXPORT(mem_free)
void values_mem_free(uint32_t address) {
    if (address < 8 || address > values_end() || get32(address - 8) >= BLOCK_CLASSES)
        return;
    give(address - 8, get32(address - 8));
}

VALUES_EXPORT(mem_pages)
uint32_t values_mem_pages(void) {
    return (uint32_t)(values_end() / PAGE);
}

/* ---- hashing ---- */

INLINE uint64_t hash_step(uint64_t h, uint64_t word) {
    h ^= word;
    return (h ^ h >> 32) * GOLDEN;
}

static uint64_t hash_bytes(uint32_t from, uint32_t len) {
    uint64_t h = len, last = 0;
    for (; len >= 8; len -= 8, from += 8)
        h = hash_step(h, get64(from));
    for (uint32_t i = 0; i < len; i++)
        last |= (uint64_t)*at(from + i) << 8 * i;
    return hash_step(h, last);
}

static bool equal_bytes(uint32_t a, uint32_t b, uint32_t len) {
    for (; len >= 8; len -= 8, a += 8, b += 8)
        if (get64(a) != get64(b))
            return false;
    for (; len; len--)
        if (*at(a++) != *at(b++))
            return false;
    return true;
}

/* ---- strings ---- */

VALUES_EXPORT(str_new)
uint32_t values_str_new(uint32_t len) {
    heap_start();
    uint32_t s = V->heap;
    if (!reach(s + align8((uint64_t)len + 4)))
        __builtin_trap();
    set32(s, len);
    return s;
}

VALUES_EXPORT(str_drop)
void values_str_drop(uint32_t s) {
    (void)s; /* the heap still ends before it */
}

/* The slot of the string that has this content, or of where it belongs. */
static uint32_t string_slot(uint32_t s, uint32_t len, uint32_t hash) {
    for (uint32_t i = hash;; i++) {
        uint32_t slot = V->strings + 8 * (i & (V->string_slots - 1)), other = get32(slot);
        if (!other ||
            (get32(slot + 4) == hash && get32(other) == len && equal_bytes(other + 4, s + 4, len)))
            return slot;
    }
}

static void strings_grow(void) {
    uint32_t old = V->strings, slots = V->string_slots;
    V->string_slots = slots ? 2 * slots : 16;
    V->strings = values_block(8 * (uint64_t)V->string_slots);
    __builtin_memset(at(V->strings), 0, 8 * (size_t)V->string_slots);
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t s = get32(old + 8 * i), hash = get32(old + 8 * i + 4);
        if (!s)
            continue;
        uint32_t slot = string_slot(s, get32(s), hash);
        set32(slot, s);
        set32(slot + 4, hash);
    }
    values_block_free(old, 8 * (uint64_t)slots);
}

VALUES_EXPORT(str_intern)
uint32_t values_str_intern(uint32_t s) {
    uint32_t len = get32(s), hash = (uint32_t)(hash_bytes(s + 4, len) >> 32);
    if (len == 0)
        return 0;
    if (V->string_slots) {
        uint32_t same = get32(string_slot(s, len, hash));
        if (same)
            return same;
    }
    V->heap = (uint32_t)(s + align8((uint64_t)len + 4));
    if (2 * V->nstrings >= V->string_slots)
        strings_grow();
    uint32_t slot = string_slot(s, len, hash);
    set32(slot, s);
    set32(slot + 4, hash);
    V->nstrings++;
    return s;
}

VALUES_EXPORT(str_eq)
uint32_t values_str_eq(uint32_t a, uint32_t b) {
    return a == b || (get32(a) == get32(b) && equal_bytes(a + 4, b + 4, get32(a)));
}

VALUES_EXPORT(str_starts)
uint32_t values_str_starts(uint32_t s, uint32_t prefix) {
    uint32_t len = get32(prefix);
    return len <= get32(s) && equal_bytes(s + 4, prefix + 4, len);
}

VALUES_EXPORT(str_ends)
uint32_t values_str_ends(uint32_t s, uint32_t suffix) {
    uint32_t len = get32(suffix), all = get32(s);
    return len <= all && equal_bytes(s + 4 + (all - len), suffix + 4, len);
}

VALUES_EXPORT(str_contains)
uint32_t values_str_contains(uint32_t s, uint32_t part) {
    uint32_t len = get32(part), all = get32(s);
    for (uint32_t i = 0; len <= all && i <= all - len; i++)
        if (equal_bytes(s + 4 + i, part + 4, len))
            return 1;
    return 0;
}

/* ---- maps ---- */

enum { FIRST_SLOTS = 8, NO_LEAVES_ENTRY = 8 };

MapHeader *values_map_header(uint32_t map) {
    if (map < V->nmaps)
        return (MapHeader *)at(V->maps) + map;
    return map - V->nmaps < V->nmore ? (MapHeader *)at(V->more_maps) + (map - V->nmaps) : NULL;
}

INLINE MapHeader *header_of(uint32_t map) {
    if (map < V->nmaps)
        return (MapHeader *)at(V->maps) + map;
    if (map - V->nmaps >= V->nmore)
        __builtin_trap();
    return (MapHeader *)at(V->more_maps) + (map - V->nmaps);
}

static uint64_t entry_size(const MapHeader *h) {
    uint32_t leaves = (uint32_t)h->key_leaves + h->value_leaves;
    return leaves ? 8 * leaves : NO_LEAVES_ENTRY;
}

static uint32_t capacity(const MapHeader *h) {
    return h->index ? (h->mask + 1) / 2 : 0;
}

/* Of a type's description of keys. */
static uint32_t key_description(uint32_t type) {
    return type + 4 + 2;
}

/* The kind of the leaf that comes next in the description of a key, which has no maps. */
static uint8_t next_kind(uint32_t *description) {
    uint8_t kind = *at((*description)++);
    while (kind == REPORT_TUPLE) {
        (*description)++;
        kind = *at((*description)++);
    }
    return kind;
}

/* The first byte of the description of the type's values. */
static uint8_t value_kind(uint32_t type) {
    uint32_t d = key_description(type), rest = 1;
    for (; rest; rest--)
        if (*at(d++) == REPORT_TUPLE)
            rest += *at(d++);
    return *at(d);
}

/* What the first use of a map tells about it. */
static void map_start(MapHeader *h, uint32_t type) {
    h->type = type;
    h->key_leaves = *at(type + 4);
    h->value_leaves = *at(type + 5);
    h->plain = true;
    uint32_t d = key_description(type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        if (kind == REPORT_STR || kind == REPORT_F32 || kind == REPORT_F64)
            h->plain = false;
    }
}

/* A key whose leaves are at `key`. */
static uint64_t hash_key(const MapHeader *h, const uint64_t *key) {
    uint64_t hash = 0;
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint64_t leaf = key[i];
        if (!h->plain && next_kind(&d) == REPORT_STR)
            leaf = hash_bytes((uint32_t)leaf + 4, get32((uint32_t)leaf));
        hash = hash_step(hash, leaf);
    }
    return hash;
}

static bool equal_keys(const MapHeader *h, const uint64_t *a, const uint64_t *b) {
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        bool str = !h->plain && next_kind(&d) == REPORT_STR;
        if (a[i] != b[i] && !(str && values_str_eq((uint32_t)a[i], (uint32_t)b[i])))
            return false;
    }
    return true;
}

static const uint64_t *key_at(uint32_t entry) {
    return (const uint64_t *)at(entry);
}

/* The key in V->key, where all zeros are the same. */
static void normalise_key(const MapHeader *h) {
    uint32_t d = key_description(h->type);
    for (uint32_t i = 0; i < h->key_leaves; i++) {
        uint8_t kind = next_kind(&d);
        if ((kind == REPORT_F32 && V->key[i] == 1u << 31) ||
            (kind == REPORT_F64 && V->key[i] == (uint64_t)1 << 63))
            V->key[i] = 0;
    }
}

INLINE uint32_t slot_address(const MapHeader *h, uint64_t place) {
    return h->index + 4 * (uint32_t)place;
}

/* The first free slot for a hash. */
static uint32_t free_slot(const MapHeader *h, uint64_t hash) {
    uint64_t place = hash >> h->shift;
    while (get32(slot_address(h, place)))
        place = (place + 1) & h->mask;
    return slot_address(h, place);
}

void values_map_reindex(MapHeader *h) {
    if (!h->index)
        return;
    __builtin_memset(at(h->index), 0, 4 * ((size_t)h->mask + 1));
    uint64_t each = entry_size(h);
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t entry = (uint32_t)(h->entries + i * each);
        set32(free_slot(h, hash_key(h, key_at(entry))), entry);
    }
}

static void map_grow(MapHeader *h) {
    uint64_t each = entry_size(h), cap = capacity(h);
    uint64_t slots = cap ? 4 * cap : FIRST_SLOTS;
    uint32_t entries = values_block(slots / 2 * each), index = values_block(4 * slots);
    __builtin_memcpy(at(entries), at(h->entries), (size_t)(h->count * each));
    values_block_free(h->entries, cap * each);
    values_block_free(h->index, 4 * (2 * cap));
    h->entries = entries;
    h->index = index;
    h->mask = (uint32_t)(slots - 1);
    h->shift = (uint8_t)(64 - __builtin_ctzll(slots));
    values_map_reindex(h);
}

/* A new entry with the key in V->key; the address of its value. */
static uint32_t insert(MapHeader *h, uint64_t hash) {
    if (h->count == capacity(h))
        map_grow(h);
    uint64_t each = entry_size(h);
    uint32_t entry = (uint32_t)(h->entries + h->count * each);
    __builtin_memcpy(at(entry), V->key, 8 * (size_t)h->key_leaves);
    __builtin_memset(at(entry + 8 * h->key_leaves), 0, 8 * (size_t)h->value_leaves);
    set32(free_slot(h, hash), entry);
    h->count++;
    return entry + 8 * h->key_leaves;
}

/* What a key that is not there has for its value. */
static uint32_t missing(uint32_t type) {
    if (value_kind(type) > REPORT_BOOL)
        __builtin_trap();
    return 0; /* where the memory begins with zeros */
}

/* The address of the value of the key in V->key, whatever its leaves are; 0 if it is not there.
 * Sets its hash. */
static uint32_t seek(MapHeader *h, uint64_t *hash) {
    if (!h->plain)
        normalise_key(h);
    *hash = hash_key(h, V->key);
    for (uint64_t place = *hash >> h->shift; h->index; place = (place + 1) & h->mask) {
        uint32_t entry = get32(slot_address(h, place));
        if (!entry)
            break;
        if (equal_keys(h, V->key, key_at(entry)))
            return entry + 8 * h->key_leaves;
    }
    return 0;
}

__attribute__((noinline)) static uint32_t look_up(MapHeader *h, uint32_t type, bool insert_it) {
    uint64_t hash;
    if (!h->type)
        map_start(h, type);
    uint32_t there = seek(h, &hash);
    return there ? there : insert_it ? insert(h, hash) : missing(type);
}

/* The same for n leaves of the plain kinds, without a loop over them. */
INLINE uint32_t look_up_plain(uint32_t map, uint32_t type, bool insert_it, uint32_t n, uint64_t k0,
                              uint64_t k1, uint64_t k2) {
    MapHeader *h = header_of(map);
    if (h->plain && h->index) {
        uint64_t hash = hash_step(0, k0);
        if (n > 1)
            hash = hash_step(hash, k1);
        if (n > 2)
            hash = hash_step(hash, k2);
        for (uint64_t place = hash >> h->shift;; place = (place + 1) & h->mask) {
            uint32_t entry = get32(slot_address(h, place));
            if (!entry)
                break;
            const uint64_t *key = key_at(entry);
            if (key[0] == k0 && (n < 2 || key[1] == k1) && (n < 3 || key[2] == k2))
                return entry + 8 * n;
        }
    }
    V->key[0] = k0;
    V->key[1] = k1;
    V->key[2] = k2;
    return look_up(h, type, insert_it);
}

VALUES_EXPORT(map_at1)
uint32_t values_map_at1(uint32_t map, uint32_t type, uint64_t k0) {
    return look_up_plain(map, type, true, 1, k0, 0, 0);
}

VALUES_EXPORT(map_at2)
uint32_t values_map_at2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1) {
    return look_up_plain(map, type, true, 2, k0, k1, 0);
}

VALUES_EXPORT(map_at3)
uint32_t values_map_at3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2) {
    return look_up_plain(map, type, true, 3, k0, k1, k2);
}

VALUES_EXPORT(map_at)
uint32_t values_map_at(uint32_t map, uint32_t type) {
    return look_up(header_of(map), type, true);
}

VALUES_EXPORT(map_find1)
uint32_t values_map_find1(uint32_t map, uint32_t type, uint64_t k0) {
    return look_up_plain(map, type, false, 1, k0, 0, 0);
}

VALUES_EXPORT(map_find2)
uint32_t values_map_find2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1) {
    return look_up_plain(map, type, false, 2, k0, k1, 0);
}

VALUES_EXPORT(map_find3)
uint32_t values_map_find3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2) {
    return look_up_plain(map, type, false, 3, k0, k1, k2);
}

VALUES_EXPORT(map_find)
uint32_t values_map_find(uint32_t map, uint32_t type) {
    return look_up(header_of(map), type, false);
}

VALUES_EXPORT(map_has)
uint32_t values_map_has(uint32_t map) {
    uint64_t hash;
    MapHeader *h = header_of(map);
    return h->type && seek(h, &hash);
}

VALUES_EXPORT(key)
void values_key(uint32_t n, uint64_t leaf) {
    V->key[n & VALUES_MAX_LEAVES] = leaf;
}

static void more_grow(void) {
    uint64_t cap = V->more_cap, each = sizeof(MapHeader);
    uint32_t block = values_block((cap ? 2 * cap : 8) * each);
    __builtin_memcpy(at(block), at(V->more_maps), (size_t)(cap * each));
    values_block_free(V->more_maps, cap * each);
    V->more_maps = block;
    V->more_cap = (uint32_t)(cap ? 2 * cap : 8);
}

VALUES_EXPORT(map_new)
uint32_t values_map_new(void) {
    uint32_t map = V->free_map - 1;
    if (V->free_map) {
        V->free_map = header_of(map)->mask;
    } else {
        if (V->nmore == V->more_cap)
            more_grow();
        map = V->nmaps + V->nmore++;
    }
    *header_of(map) = (MapHeader){0};
    return map;
}

VALUES_EXPORT(map_free)
void values_map_free(uint32_t map) {
    MapHeader *h = header_of(map);
    values_block_free(h->entries, capacity(h) * entry_size(h));
    values_block_free(h->index, 8 * (uint64_t)capacity(h));
    *h = (MapHeader){0};
    if (map >= V->nmaps) {
        h->mask = V->free_map;
        V->free_map = map + 1;
    }
}

VALUES_EXPORT(map_clear)
void values_map_clear(uint32_t map) {
    for (uint32_t other = V->free_map; other; other = header_of(other - 1)->mask)
        if (other - 1 == map)
            __builtin_trap();
    values_map_free(map);
    if (map >= V->nmaps)
        values_map_new(); /* gives what was given back last */
}

/* ---- for programs that import the runtime ---- */

#if defined HOST_IMPORT || !defined __wasm__
VALUES_EXPORT(load8)
uint32_t values_load8(uint32_t address) {
    return *at(address);
}

VALUES_EXPORT(load32)
uint32_t values_load32(uint32_t address) {
    return get32(address);
}

VALUES_EXPORT(load64)
uint64_t values_load64(uint32_t address) {
    return get64(address);
}

VALUES_EXPORT(store8)
void values_store8(uint32_t address, uint32_t v) {
    *at(address) = (uint8_t)v;
}

VALUES_EXPORT(store32)
void values_store32(uint32_t address, uint32_t v) {
    set32(address, v);
}

VALUES_EXPORT(store64)
void values_store64(uint32_t address, uint64_t v) {
    set64(address, v);
}
#endif
