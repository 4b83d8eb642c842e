/*
 * event/range.h - which values an integer can have, as far as the operators of its expression tell.
 */
#ifndef WHAMMC_EVENT_RANGE_H
#define WHAMMC_EVENT_RANGE_H

#include "event/event.h"

/* The values from `least` to `most`, none of which is negative. */
typedef struct Range {
    bool known; /* else any value, also a negative one */
    uint64_t least, most;
} Range;

/*
 * The range of a checked expression. It holds for the value in the generated code, also where that
 * is wider than its type: small types are kept in an i32, and a bool of the program can be any i32.
 * Unknown for what is neither an integer nor a bool.
 */
Range range_of(const Expr *e);

#endif
