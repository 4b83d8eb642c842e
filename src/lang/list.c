/*
 * lang/list.c - lists of numbers in strings.
 */
#include "lang/list.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Reader {
    Str text;
    uint32_t at;
} Reader;

static void skip_blanks(Reader *r) {
    while (r->at < r->text.len && memchr(" \t\r\n", r->text.ptr[r->at], 4))
        r->at++;
}

/* Consumes a character, with the blanks after it, if it comes next. */
static bool list_take(Reader *r, char c) {
    if (r->at == r->text.len || r->text.ptr[r->at] != c)
        return false;
    r->at++;
    skip_blanks(r);
    return true;
}

/* Reads a number and the blanks after it. Returns NULL, or what was expected. */
static const char *list_number(Reader *r, uint64_t *out) {
    uint32_t start = r->at;
    *out = 0;
    for (; r->at < r->text.len; r->at++) {
        uint32_t digit = (uint32_t)(unsigned char)r->text.ptr[r->at] - '0';
        if (digit > 9)
            break;
        if (*out > (UINT64_MAX - digit) / 10) {
            r->at = start;
            return "a number of at most 64 bits";
        }
        *out = *out * 10 + digit;
    }
    if (r->at == start)
        return "a number";
    skip_blanks(r);
    return NULL;
}

static int list_by_start(const void *a, const void *b) {
    const NumberRange *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Sorts the ranges and joins adjacent ones. */
static void tidy(NumberList *list) {
    uint32_t n = 0;
    if (list->n)
        qsort(list->ranges, list->n, sizeof *list->ranges, list_by_start);
    for (uint32_t i = 0; i < list->n; i++) {
        NumberRange r = list->ranges[i];
        NumberRange *last = n ? &list->ranges[n - 1] : NULL;
        if (!last || (last->to != UINT64_MAX && r.from > last->to + 1))
            list->ranges[n++] = r;
        else if (r.to > last->to)
            last->to = r.to;
    }
    list->n = n;
}

const char *list_parse(Arena *arena, Str text, NumberList *out, uint32_t *wrong) {
    Reader r = {text, 0};
    uint32_t most = 1;
    for (uint32_t i = 0; i < text.len; i++)
        most += text.ptr[i] == ',';
    *out = (NumberList){0, arena_array(arena, NumberRange, most)};
    skip_blanks(&r);
    while (r.at < text.len || out->n) {
        NumberRange *range = &out->ranges[out->n++];
        uint32_t start = r.at;
        const char *expected = list_number(&r, &range->from);
        range->to = range->from;
        if (!expected && list_take(&r, '-'))
            expected = list_number(&r, &range->to);
        if (!expected && range->to < range->from) {
            r.at = start;
            expected = "an ascending range";
        }
        if (!expected && r.at < text.len && text.ptr[r.at] != ',')
            expected = "',' or '-'";
        *wrong = r.at;
        if (expected)
            return expected;
        if (!list_take(&r, ','))
            break;
    }
    tidy(out);
    return NULL;
}

bool list_has(const NumberList *list, uint64_t number) {
    assert(!list->n || list->ranges[0].from <= list->ranges[list->n - 1].to);
    uint32_t low = 0, high = list->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const NumberRange *r = &list->ranges[middle];
        if (number < r->from)
            high = middle;
        else if (number > r->to)
            low = middle + 1;
        else
            return true;
    }
    return false;
}
