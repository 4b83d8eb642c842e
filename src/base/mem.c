/*
 * base/mem.c - checked heap allocation, arenas, growable arrays.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { ARENA_BLOCK = 32 * 1024, ALIGN = 16 };

typedef struct ArenaBlock {
    struct ArenaBlock *older;
    _Alignas(ALIGN) char data[];
} ArenaBlock;

static void *checked(void *p, size_t size) {
    if (!p && size) {
        fprintf(stderr, "whammc: out of memory (%zu bytes wanted)\n", size);
        abort();
    }
    return p;
}

/* Where much memory is used, pages of 2 MiB save the time of hundreds of page faults each. */
static void *in_large_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
    enum { MUCH = 4 << 20, PAGE = 4 << 10 };
    if (p && size >= MUCH) {
        size_t before = (uintptr_t)p % PAGE, all = before + size;
        madvise((char *)p - before, all + (PAGE - all % PAGE) % PAGE, MADV_HUGEPAGE);
    }
#else
    (void)size;
#endif
    return p;
}

void *mem_alloc(size_t size) {
    return in_large_pages(checked(malloc(size), size), size);
}

void *mem_zalloc(size_t size) {
    return in_large_pages(checked(calloc(1, size), size), size);
}

void *mem_realloc(void *p, size_t size) {
    return in_large_pages(checked(realloc(p, size), size), size);
}

static ArenaBlock *arena_block(Arena *a, size_t size) {
    ArenaBlock *b = mem_zalloc(sizeof(ArenaBlock) + size);
    b->older = a->head;
    a->head = b;
    return b;
}

void *arena_alloc(Arena *a, size_t size) {
    size = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
#ifdef WHAMMC_ARENA_MALLOC
    return arena_block(a, size)->data;
#else
    if (size > (size_t)(a->end - a->next)) {
        if (size > ARENA_BLOCK / 4) {
            /* A large object gets a block of its own after the current one, which stays in use. */
            ArenaBlock *b = mem_zalloc(sizeof(ArenaBlock) + size);
            if (a->head) {
                b->older = a->head->older;
                a->head->older = b;
            } else {
                a->head = b;
            }
            return b->data;
        }
        ArenaBlock *b = arena_block(a, ARENA_BLOCK);
        a->next = b->data;
        a->end = b->data + ARENA_BLOCK;
    }
    void *p = a->next;
    a->next += size;
    return p;
#endif
}

char *arena_strndup(Arena *a, const char *s, size_t len) {
    char *p = arena_alloc(a, len + 1);
    if (len)
        memcpy(p, s, len);
    return p;
}

char *arena_printf(Arena *a, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *p = arena_alloc(a, (size_t)len + 1);
    vsnprintf(p, (size_t)len + 1, format, again);
    va_end(again);
    return p;
}

void arena_free(Arena *a) {
    for (ArenaBlock *b = a->head, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    *a = (Arena){0};
}

void vec_grow_(void *at, uint32_t *cap, uint32_t need, size_t item) {
    uint32_t bigger = *cap ? *cap * 2 : 8;
    if (bigger < need)
        bigger = need;
    void *p;
    memcpy(&p, at, sizeof p);
    p = mem_realloc(p, bigger * item);
    memcpy(at, &p, sizeof p);
    *cap = bigger;
}
