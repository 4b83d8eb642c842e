/*
 * lang/list.h - lists of numbers in strings, "3, 17, 20-24", for the method `lists` of constants.
 */
#ifndef WHAMMC_LANG_LIST_H
#define WHAMMC_LANG_LIST_H

#include "base/buf.h"

/* From and to, both included. */
typedef struct NumberRange {
    uint64_t from, to;
} NumberRange;

/* Ranges in ascending order, none next to or over another one. */
typedef struct NumberList {
    uint32_t n;
    NumberRange *ranges;
} NumberList;

/*
 * Reads a list: numbers and ranges of them, in decimal and without sign, with commas between them
 * and blanks wherever they like; nothing at all is the empty list. NULL on success; else what was
 * expected, and *wrong is set to the offset where.
 */
const char *list_parse(Arena *arena, Str text, NumberList *out, uint32_t *wrong);

/* Whether a number is in the list; by bisection. */
bool list_has(const NumberList *list, uint64_t number);

#endif
