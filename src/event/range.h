/*
 * event/range.h - which values integers can have, as far as operators, conditions and functions of
 * the script tell.
 *
 * A range holds for the value in the generated code, also where that is wider than its type: small
 * types are kept in an i32, and a bool of the program can be any i32. Scripts have no loops, so a
 * body is gone through once; functions are gone through for each call, with the ranges of its
 * arguments. `bits(n)`, which returns 1 + bits(n >> 1) or 0, is at most 32.
 */
#ifndef WHAMMC_EVENT_RANGE_H
#define WHAMMC_EVENT_RANGE_H

#include "event/event.h"

/* The values from `least` to `most`; none is negative. */
typedef struct Range {
    bool known; /* else any value, also a negative one */
    uint64_t least, most;
} Range;

/* A plain variable, or an operand, result or local of the program. */
typedef struct RangeFact {
    const Var *var; /* NULL = a bound name: */
    int id;
    uint32_t n;
    Range range;
} RangeFact;

/* Bounds of time and recursion. */
typedef struct RangeBudget {
    uint32_t steps;  /* expressions that may still be looked at; the range of others is not known */
    uint32_t active; /* expressions, conditions and blocks that are looked at, inside each other */
} RangeBudget;

/* Known ranges at a point of a body. */
typedef struct RangeFacts {
    Vec(RangeFact) list;
    bool never; /* control does not get there */
    RangeBudget *budget;
} RangeFacts;

/* The range of a checked expression; unknown unless it is an integer or a bool. */
Range range_of(const RangeFacts *f, const Expr *e);

/* Goes through a body, for which the predicate holds (NULL = that is not known): calls `on` before
 * each assignment, `++` and `--` that control may get to. */
typedef void OnRangeStep(void *ctx, const RangeFacts *f, Stmt *s);
void range_walk(const Expr *predicate, const Block *body, OnRangeStep *on, void *ctx);

/* ---- private to range*.c ---- */

/* Any value of the Wasm type that has no sign; any of an unsigned type in its range. */
Range range_any_bits(const Type *t);
Range range_any_value(const Type *t);
/* A result without regard to the type's range: if it leaves that, it is any value. */
Range range_fit(const Type *t, Range r);
Range range_join(Range a, Range b);
/* The values that a name can have; NULL = it is not followed, or nothing is known. */
const RangeFact *range_fact(const RangeFacts *f, const Expr *name);
RangeFacts range_copy(const RangeFacts *f);
void range_free(RangeFacts *f);
/* From here on the condition is true, or is not. */
void range_assume(RangeFacts *f, const Expr *condition, bool truth);
/* The range of a function's result. */
Range range_of_call(const RangeFacts *f, const Expr *call);

#endif
