/*
 * quicksort.c - sorts an array of structs three times, each time by another comparison reached
 * through a pointer.
 *
 * usage: quicksort [N]     sorts N records; N is 500000 if not given.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 8, INSERTION_LIMIT = 12, MAX_RECORDS = 10000000 };

typedef struct Record {
    char name[NAME_SIZE];
    uint32_t id;
    int32_t score;
    double weight;
} Record;

typedef int Compare(const Record *a, const Record *b);

static int by_id(const Record *a, const Record *b) {
    return (a->id > b->id) - (a->id < b->id);
}

static int by_name(const Record *a, const Record *b) {
    int order = strncmp(a->name, b->name, NAME_SIZE);
    return order ? order : by_id(a, b);
}

static int by_score(const Record *a, const Record *b) {
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1; /* best first */
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return by_id(a, b);
}

static void swap(Record *a, Record *b) {
    Record t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(Record *at, int len, Compare *compare) {
    for (int i = 1; i < len; i++) {
        Record item = at[i];
        int j = i;
        for (; j > 0 && compare(&item, &at[j - 1]) < 0; j--)
            at[j] = at[j - 1];
        at[j] = item;
    }
}

/* Moves the median of the first, middle and last record to the front. */
static void choose_pivot(Record *at, int len, Compare *compare) {
    Record *first = at, *middle = at + len / 2, *last = at + len - 1;
    if (compare(middle, first) < 0)
        swap(middle, first);
    if (compare(last, first) < 0)
        swap(last, first);
    if (compare(last, middle) < 0)
        swap(last, middle);
    swap(first, middle);
}

/* Hoare's partition; gives the length of the left part. */
static int partition(Record *at, int len, Compare *compare) {
    choose_pivot(at, len, compare);
    Record pivot = at[0];
    int i = -1, j = len;
    for (;;) {
        do
            i++;
        while (compare(&at[i], &pivot) < 0);
        do
            j--;
        while (compare(&at[j], &pivot) > 0);
        if (i >= j)
            return j + 1;
        swap(&at[i], &at[j]);
    }
}

static void quicksort(Record *at, int len, Compare *compare) {
    while (len > INSERTION_LIMIT) {
        int left = partition(at, len, compare);
        if (left < len - left) {
            quicksort(at, left, compare);
            at += left;
            len -= left;
        } else {
            quicksort(at + left, len - left, compare);
            len = left;
        }
    }
    insertion_sort(at, len, compare);
}

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void fill(Record *at, int len) {
    uint32_t state = 2463534242u;
    for (int i = 0; i < len; i++) {
        for (int c = 0; c < NAME_SIZE - 1; c++)
            at[i].name[c] = (char)('a' + next_random(&state) % 6);
        at[i].name[NAME_SIZE - 1] = 0;
        at[i].id = (uint32_t)i;
        at[i].score = (int32_t)(next_random(&state) % 1000) - 500;
        at[i].weight = (double)(next_random(&state) % 4096) / 16.0;
    }
}

static uint32_t digest(const Record *at, int len) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < len; i++)
        hash = (hash ^ at[i].id) * 16777619u;
    return hash;
}

static int sorted(const Record *at, int len, Compare *compare) {
    for (int i = 1; i < len; i++)
        if (compare(&at[i - 1], &at[i]) >= 0)
            return 0;
    return 1;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        Compare *compare;
    } orders[] = {{"name", by_name}, {"score", by_score}, {"id", by_id}};

    int len = argc > 1 ? atoi(argv[1]) : 500000;
    if (len < 1 || len > MAX_RECORDS) {
        fprintf(stderr, "quicksort: N must be from 1 to %d\n", MAX_RECORDS);
        return 2;
    }
    Record *at = malloc(sizeof(Record) * (size_t)len);
    if (!at) {
        fprintf(stderr, "quicksort: out of memory\n");
        return 1;
    }
    fill(at, len);
    int ok = 1;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        quicksort(at, len, orders[i].compare);
        int good = sorted(at, len, orders[i].compare);
        printf("by %-6s first %.7s last %.7s digest %08x %s\n", orders[i].name, at[0].name,
               at[len - 1].name, (unsigned)digest(at, len), good ? "sorted" : "NOT SORTED");
        ok = ok && good;
    }
    free(at);
    return ok ? 0 : 1;
}
