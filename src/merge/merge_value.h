/*
 * merge/merge_value.h - values of reports as data that can be added up.
 */
#ifndef WHAMMC_MERGE_MERGE_VALUE_H
#define WHAMMC_MERGE_MERGE_VALUE_H

#include "base/vec.h"
#include "report/report_read.h"

/* How two values become one. */
typedef enum MergeRule {
    MERGE_SUM,   /* numbers are added, truth values or-ed; of texts the first stays */
    MERGE_LESS,  /* the second is subtracted from the first; truth values and texts stay */
    MERGE_MAX,   /* the larger number */
    MERGE_MIN,   /* the smaller one */
    MERGE_FIRST, /* the first stays */
    MERGE_SAME,  /* they must be equal */
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
    uint32_t nparts; /* TUPLE, MAP */
    union {
        uint64_t u; /* UNSIGNED, BOOL */
        int64_t i;
        double real;
        Str text; /* as JSON has it, with its quotes */
        struct MergeValue *parts;
        struct MergeEntries *entries;
    } of;
} MergeValue;

/* The entries of a map, in the order of their first report. */
typedef struct MergeEntries {
    Map index; /* the key as JSON -> index */
    Vec(MergeValue) values;
} MergeEntries;

/* Reads a value of this type from JSON; texts are slices of it. False if it is not of the type. */
bool merge_value_read(Str type, Str json, MergeValue *v);
void merge_value_free(MergeValue *v);

/* Combines two values of one type; what `from` has alone is added or subtracted likewise. False if
 * they must be the same, and are not. Texts are copied to the arena. */
bool merge_value_combine(MergeValue *into, const MergeValue *from, MergeRule rule, Arena *arena);

/* A copy; texts in the arena. */
MergeValue merge_value_copy(const MergeValue *v, Arena *arena);

/* Appends it as JSON. */
void merge_value_put(const MergeValue *v, Buf *out);

#endif
