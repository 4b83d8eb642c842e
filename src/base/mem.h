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

/* Like malloc/calloc/realloc, but never return NULL. Release with free(). */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *p, size_t size);

/*
 * An arena: objects of one lifetime, freed together. A zeroed Arena is valid and empty.
 * Built with WHAMMC_ARENA_MALLOC each object is a separate malloc, so that sanitizers see its ends.
 */
typedef struct Arena {
    struct ArenaBlock *head; /* newest block; older ones are chained behind it */
    char *next, *end;        /* free part of the newest block */
} Arena;

/* `size` zeroed bytes, aligned for any type. Owned by the arena. */
void *arena_alloc(Arena *a, size_t size);

/* A copy of `len` bytes with a NUL behind them. */
char *arena_strndup(Arena *a, const char *s, size_t len);

/* printf into the arena. */
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees everything; the arena is empty and usable again. */
void arena_free(Arena *a);

#define arena_new(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/*
 * A growable array of T: `Vec(int) v = {0}; vec_push(&v, 3); v.at[0]; v.len; vec_free(&v);`
 * `at` is heap memory and moves when the vector grows.
 */
#define Vec(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t len, cap;                                                                         \
    }

void vec_grow_(void *at, uint32_t *cap, uint32_t need, size_t item);

/* Makes room for `n` more items. */
#define vec_reserve(v, n)                                                                          \
    ((v)->len + (n) > (v)->cap                                                                     \
         ? vec_grow_((void *)&(v)->at, &(v)->cap, (v)->len + (uint32_t)(n), sizeof *(v)->at)       \
         : (void)0)
#define vec_push(v, ...)                                                                           \
    (vec_reserve(v, 1), (void)((v)->at[(v)->len] = (__VA_ARGS__)), (void)(v)->len++)
/* Appends a zeroed item and gives its address (valid until the next growth). */
#define vec_add(v)                                                                                 \
    (vec_reserve(v, 1), memset(&(v)->at[(v)->len], 0, sizeof *(v)->at), &(v)->at[(v)->len++])
#define vec_last(v) ((v)->at[(v)->len - 1])
#define vec_free(v) (free((v)->at), (v)->at = NULL, (v)->len = (v)->cap = 0)

#include <stdlib.h>

#endif
