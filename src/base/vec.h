/*
 * base/vec.h - growable arrays, wherever their memory is: the compiler has them on the heap
 * (mem.h), the runtime of monitors in its own memory (stdlib/runtime/freestanding/wasm/op.h). Each
 * defines vec_grow_ and vec_free.
 */
#ifndef WHAMMC_BASE_VEC_H
#define WHAMMC_BASE_VEC_H

#include <stddef.h>
#include <stdint.h>

/*
 * A growable array of T: `Vec(int) v = {0}; vec_push(&v, 3); v.at[0]; v.len; vec_free(&v);`
 * `at` moves when the array grows.
 */
#define Vec(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t len, cap;                                                                         \
    }

/* For the macros below: room for `need` items of `item` bytes; `at` points to a list's pointer. */
void vec_grow_(void *at, uint32_t *cap, uint32_t need, size_t item);

/* Makes room for `n` more items. */
#define vec_reserve(v, n)                                                                          \
    ((v)->len + (n) > (v)->cap                                                                     \
         ? vec_grow_((void *)&(v)->at, &(v)->cap, (v)->len + (uint32_t)(n), sizeof *(v)->at)       \
         : (void)0)
#define vec_push(v, ...)                                                                           \
    (vec_reserve(v, 1), (void)((v)->at[(v)->len] = (__VA_ARGS__)), (void)(v)->len++)
/* Appends a zeroed item and returns its address (valid until the next growth). */
#define vec_add(v)                                                                                 \
    (vec_reserve(v, 1), memset(&(v)->at[(v)->len], 0, sizeof *(v)->at), &(v)->at[(v)->len++])
#define vec_last(v) ((v)->at[(v)->len - 1])

/* The number of the first item whose `field`, an uint32_t, is at least `key`; the length if there
 * is none. Items are in the order of that field. */
#define vec_first(v, field, key)                                                                   \
    ((v)->len ? vec_first_(&(v)->at->field, (v)->len, sizeof *(v)->at, key) : 0)
/* The same among the items [from, to). */
#define vec_first_in(v, field, key, from, to)                                                      \
    ((from) < (to)                                                                                 \
         ? (from) + vec_first_(&(v)->at[from].field, (to) - (from), sizeof *(v)->at, key)          \
         : (to))
static inline uint32_t vec_first_(const uint32_t *field, uint32_t len, size_t item, uint32_t key) {
    uint32_t low = 0, high = len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)((const char *)field + middle * item) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
