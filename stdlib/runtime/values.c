/*
 * runtime/values.c - the heap and strings.
 *
 * The heap grows by moving Values.heap up. It consists of strings, which are never freed, and
 * blocks: tables of maps, of strings, of headers. Free blocks are listed by size and reused.
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

/* Grows the memory up to address `to`, with a quarter more if possible. */
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
    values_state = (Values){.heap = VALUES_START};
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

uint32_t values_block_or_none(uint64_t n) {
    return take(class_of(n));
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

/* ---- frame variables of functions that are left ---- */

/* A stack of values; the one used last is the first of the list. */
typedef struct FrameStack {
    uint32_t next; /* address, 0 = none */
    uint32_t id;   /* an empty one is anybody's */
    uint32_t len;  /* more than `room` if there was no memory: these values are lost */
    uint32_t room;
    uint32_t values; /* address, 0 = none */
} FrameStack;

enum { FIRST_ROOM = 16 };

INLINE FrameStack *frames_at(uint32_t address) {
    return (FrameStack *)(void *)at(address);
}

static void frames_first(uint32_t before, uint32_t found) {
    if (!before)
        return;
    frames_at(before)->next = frames_at(found)->next;
    frames_at(found)->next = V->frames;
    V->frames = found;
}

/* The stack with this number, or NULL. */
static FrameStack *frames_of(uint32_t id) {
    uint32_t before = 0, s = V->frames;
    while (s && (!frames_at(s)->len || frames_at(s)->id != id)) {
        before = s;
        s = frames_at(s)->next;
    }
    if (!s)
        return NULL;
    frames_first(before, s);
    return frames_at(s);
}

/* An empty stack, which gets this number, or NULL. */
static FrameStack *frames_begin(uint32_t id) {
    uint32_t before = 0, s = V->frames;
    while (s && frames_at(s)->len) {
        before = s;
        s = frames_at(s)->next;
    }
    if (s) {
        frames_first(before, s);
    } else {
        s = values_mem_alloc(sizeof(FrameStack));
        if (!s)
            return NULL;
        *frames_at(s) = (FrameStack){V->frames, 0, 0, 0, 0};
        V->frames = s;
    }
    frames_at(s)->id = id;
    return frames_at(s);
}

static void frames_grow(FrameStack *s) {
    uint32_t room = s->room ? 2 * s->room : FIRST_ROOM, values = values_mem_alloc(8 * room);
    if (!values)
        return;
    for (uint32_t i = 0; i < s->len; i++)
        set64(values + 8 * i, get64(s->values + 8 * i));
    values_mem_free(s->values);
    s->values = values;
    s->room = room;
}

VALUES_EXPORT(frame_push)
void values_frame_push(uint32_t id, uint64_t value) {
    FrameStack *s = frames_of(id);
    if (!s)
        s = frames_begin(id);
    if (!s)
        return;
    if (s->len == s->room)
        frames_grow(s);
    if (s->len < s->room)
        set64(s->values + 8 * s->len, value);
    s->len++;
}

VALUES_EXPORT(frame_pop)
uint64_t values_frame_pop(uint32_t id) {
    FrameStack *s = frames_of(id);
    if (!s)
        return 0;
    s->len--;
    return s->len < s->room ? get64(s->values + 8 * s->len) : 0;
}

/* ---- hashing ---- */

uint64_t values_hash_bytes(uint32_t from, uint32_t len) {
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

/* The slot of the string with this content, or the free one for it. */
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
    uint32_t len = get32(s), hash = (uint32_t)(values_hash_bytes(s + 4, len) >> 32);
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
