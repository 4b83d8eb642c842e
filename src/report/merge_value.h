/*
 * report/merge_value.h - parsed values of reports, which can be combined.
 */
#ifndef WHAMMC_REPORT_MERGE_VALUE_H
#define WHAMMC_REPORT_MERGE_VALUE_H

#include "base/vec.h"
#include "report/aggregate.h"
#include "report/report_read.h"

/* How two values are combined. */
typedef enum MergeRule {
    MERGE_SUM,   /* adds numbers, ors booleans, keeps the first string */
    MERGE_LESS,  /* subtracts the second number from the first; keeps booleans and strings */
    MERGE_MAX,   /* the larger number */
    MERGE_MIN,   /* the smaller one */
    MERGE_FIRST, /* the first stays */
    MERGE_SAME,  /* both must be equal */
} MergeRule;

typedef enum MergeKind {
    MERGE_UNSIGNED,
    MERGE_SIGNED,
    MERGE_REAL,
    MERGE_BOOL,
    MERGE_TEXT,
    MERGE_TUPLE,
    MERGE_MAP,
} MergeKind;

typedef struct MergeValue {
    MergeKind kind;
    AggregateKind aggregate; /* TUPLE: its fields are those of one */
    uint32_t nparts;         /* TUPLE, MAP */
    union {
        uint64_t u; /* UNSIGNED, BOOL */
        int64_t i;
        double real;
        Str text; /* as JSON has it, with its quotes */
        struct MergeValue *parts;
        struct MergeEntries *entries;
    } of;
} MergeValue;

/* The entries of a map, in the order in which they were first reported. */
typedef struct MergeEntries {
    Map index; /* the key as JSON -> index */
    Vec(MergeValue) values;
} MergeEntries;

/* Parses a value of this type from JSON; strings are slices of the input. False if it has another
 * type. */
bool merge_value_read(Str type, Str json, MergeValue *v);
void merge_value_free(MergeValue *v);

/* Combines two values of one type into the first; entries that only `from` has are added or
 * subtracted as well. False if they must be equal and are not. Strings are copied to the arena. */
bool merge_value_combine(MergeValue *into, const MergeValue *from, MergeRule rule, Arena *arena);

/* A deep copy in the arena. */
MergeValue merge_value_copy(const MergeValue *v, Arena *arena);

/* Appends a number as reports have it: the fewest digits that read back as the same one. */
void merge_real_text(double real, Buf *out);

/* Appends it as JSON. */
void merge_value_put(const MergeValue *v, Buf *out);

#endif
