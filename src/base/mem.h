/*
 * base/mem.h - checked heap allocation, arenas, growable arrays.
 *
 * Out of memory is the one condition the library does not report: it prints a line and aborts.
 * Sizes that come from input must therefore be bounded by the input's length before they get here.
 */
#ifndef WHAMMC_BASE_MEM_H
#define WHAMMC_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

/* Like malloc/calloc/realloc, but never return NULL. Release with free(). */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *p, size_t size);

/*
 * An arena: objects of one lifetime, freed together. A zeroed Arena is valid and empty.
 * Built with WHAMMC_ARENA_MALLOC each object is a separate malloc, so that sanitizers see its ends.
 */
typedef struct Arena {
    struct ArenaBlock *head; /* newest block; older ones are chained after it */
    char *next, *end;        /* free part of the newest block */
} Arena;

/* `size` zeroed bytes, aligned for any type. Owned by the arena. */
void *arena_alloc(Arena *a, size_t size);

/* A copy of `len` bytes with a NUL after them. */
char *arena_strndup(Arena *a, const char *s, size_t len);

/* printf into the arena. */
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees everything; the arena is empty and usable again. */
void arena_free(Arena *a);

#define arena_new(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Growable arrays of base/vec.h are heap memory. */
#define vec_free(v) (free((v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)

/* The next multiple of 8: where a number of 64 bits can be. */
static inline uint64_t align8(uint64_t n) {
    return (n + 7) & ~(uint64_t)7;
}

#include <stdlib.h>

#endif
