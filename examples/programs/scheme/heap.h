/*
 * heap.h - allocation and garbage collection.
 *
 * Collection happens only in heap_collect_if_due(), which the VM calls where every live value is on
 * its stack or reachable from the symbols. Everything else may allocate freely and keep values in C
 * variables.
 */
#ifndef SCHEME_HEAP_H
#define SCHEME_HEAP_H

#include "value.h"

enum { SIZE_CLASSES = 8, CLASS_STEP = 16, LARGE_CLASS = 0xff, FREE_CELL = 0xff };

typedef struct Heap {
    struct Block *blocks;            /* of cells of one size each */
    struct Cell *free[SIZE_CLASSES]; /* free cells by size */
    struct Large *large;             /* objects with an allocation of their own */
    Symbol **symbols;                /* hash table of all symbols */
    uint32_t symbol_count, symbol_slots;
    size_t allocated, threshold; /* bytes since the last collection; when the next is due */
    size_t live;                 /* bytes that the last collection left */
    uint32_t collections;
    Object **gray; /* the mark stack */
    uint32_t gray_len, gray_cap;
} Heap;

void heap_init(Heap *h);
void heap_free(Heap *h);

/* A zeroed object of `size` bytes, head included. Ends the program if there is no memory. */
void *heap_new(Heap *h, Type type, size_t size);

/* Collects if enough has been allocated; `mark_roots` calls heap_mark for each root. */
void heap_collect_if_due(Heap *h, void (*mark_roots)(Heap *h, void *context), void *context);
void heap_mark(Heap *h, Value v);

Value cons(Heap *h, Value first, Value rest);
Value string_new(Heap *h, const char *bytes, size_t len); /* bytes may be NULL: zeroed */
Value vector_new(Heap *h, uint32_t len, Value fill);
Value box_new(Heap *h, Value value);
Value table_new(Heap *h);
Value intern(Heap *h, const char *name, size_t len);

/* The value of a key, or `otherwise`. */
Value table_get(const Table *t, Value key, Value otherwise);
void table_set(Heap *h, Table *t, Value key, Value value);
void table_delete(Table *t, Value key);

#endif
