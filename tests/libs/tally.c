/*
 * tally.c - a library for tests: counts how often each number occurs, in a hash table on the heap.
 * Functions are called through a table, memory grows, a constructor runs in _initialize.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

typedef struct Entry {
    struct Entry *next;
    int64_t key, count;
} Entry;

static Entry **buckets;
static uint32_t bucket_count, entry_count;

static uint64_t scramble(uint64_t n) {
    return (n ^ n >> 29) * 0x9e3779b97f4a7c15u;
}

__attribute__((constructor)) static void begin(void) {
    bucket_count = 8;
    buckets = calloc(bucket_count, sizeof *buckets);
}

static void grow(void) {
    uint32_t count = bucket_count * 2;
    Entry **to = calloc(count, sizeof *to);
    for (uint32_t i = 0; i < bucket_count; i++)
        for (Entry *e = buckets[i], *next; e; e = next) {
            next = e->next;
            Entry **at = &to[scramble((uint64_t)e->key) % count];
            e->next = *at;
            *at = e;
        }
    free(buckets);
    buckets = to;
    bucket_count = count;
}

/* Counts a number: how often it has occurred now. */
EXPORT("count") int64_t count(int64_t key) {
    Entry **at = &buckets[scramble((uint64_t)key) % bucket_count];
    for (Entry *e = *at; e; e = e->next)
        if (e->key == key)
            return ++e->count;
    Entry *e = malloc(sizeof *e);
    *e = (Entry){*at, key, 1};
    *at = e;
    if (++entry_count > bucket_count)
        grow();
    return 1;
}

EXPORT("distinct") int32_t distinct(void) {
    return (int32_t)entry_count;
}

static int by_count(const void *a, const void *b) {
    const Entry *x = *(Entry *const *)a, *y = *(Entry *const *)b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->key > y->key) - (x->key < y->key);
}

static int by_key(const void *a, const void *b) {
    const Entry *x = *(Entry *const *)a, *y = *(Entry *const *)b;
    return (x->key > y->key) - (x->key < y->key);
}

/* The number at a rank, 0 first, ordered by count (`sorted` 0) or by itself; -1 = there is none. */
EXPORT("ranked") int64_t ranked(int32_t rank, int32_t sorted) {
    static int (*const orders[])(const void *, const void *) = {by_count, by_key};
    if (rank < 0 || (uint32_t)rank >= entry_count)
        return -1;
    Entry **list = malloc(entry_count * sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < bucket_count; i++)
        for (Entry *e = buckets[i]; e; e = e->next)
            list[n++] = e;
    qsort(list, n, sizeof *list, orders[sorted != 0]);
    int64_t key = list[rank]->key;
    free(list);
    return key;
}

/* The mean of all numbers that occurred. */
EXPORT("mean") double mean(void) {
    double sum = 0, total = 0;
    for (uint32_t i = 0; i < bucket_count; i++)
        for (Entry *e = buckets[i]; e; e = e->next) {
            sum += (double)e->key * (double)e->count;
            total += (double)e->count;
        }
    return total ? sum / total : 0;
}
