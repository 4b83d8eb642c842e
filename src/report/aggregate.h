/*
 * report/aggregate.h - aggregations in reports: what their values consist of, how they are shown.
 *
 * Their values are written as those of their representation: a number, a tuple or a map.
 */
#ifndef WHAMMC_REPORT_AGGREGATE_H
#define WHAMMC_REPORT_AGGREGATE_H

#include "base/buf.h"

typedef enum AggregateKind {
    AGGREGATE_NONE,
#define AGGREGATE(id, name, text, doc) AGGREGATE_##id,
#include "lang/type.def"
} AggregateKind;

/* How fields of two values become one (lang/type.def). */
typedef enum AggregateMerge {
    AGGREGATE_ADD,
    AGGREGATE_LEAST,
    AGGREGATE_MOST,
    AGGREGATE_MEAN,
    AGGREGATE_SQUARES,
} AggregateMerge;

/* A type as reports name it: "stats", "lhist(0,100,10)", "top(10,str)". */
typedef struct AggregateType {
    AggregateKind kind;
    Str added;                 /* the T, or the K of top */
    int64_t least, most, step; /* of lhist */
    uint32_t shown;            /* the N of top */
} AggregateType;

/* False if the type is another one. */
bool aggregate_read(Str type, AggregateType *out);
/* Whether it is a histogram: a map from lower bounds to counts. */
bool aggregate_is_histogram(const AggregateType *t);
/* The number that it is; .ptr is NULL if it is none. */
Str aggregate_number(const AggregateType *t);
/* The types of its fields, "u64,i64"; .ptr is NULL if it is no tuple. */
Str aggregate_fields(const AggregateType *t);
/* A field of it: its name, and how it is merged. */
const char *aggregate_field(AggregateKind kind, uint32_t n, AggregateMerge *merge);

/* Takes the next type of a list "A,B,C"; false if there is none. */
bool value_next_type(Str *list, Str *type);

#endif
