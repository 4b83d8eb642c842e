/*
 * event/log2.h - functions of a script that tell the highest bit of a number: a logarithm, however
 * it is written. WebAssembly has instructions for that, i32.clz and i64.clz.
 */
#ifndef WHAMMC_EVENT_LOG2_H
#define WHAMMC_EVENT_LOG2_H

#include "lang/ast.h"

/* What such a function gives: `of_one` + floor(log2(n)) for n > 0. */
typedef struct Log2 {
    uint64_t of_one;
    bool less_at_zero; /* of_one - 1 for 0; else of_one */
} Log2;

/* Whether the function takes one u32 or u64, gives such numbers for each value of it, and does
 * nothing else. That is so if, for each k, the numbers from 2^k up to 2^(k+1) - 1 lead to the range
 * from of_one + k to of_one + k (event/range.h). */
bool log2_of(const Fn *fn, Log2 *log2);

#endif
