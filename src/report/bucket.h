/*
 * report/bucket.h - aggregations for people: their fields, and the buckets of histograms.
 */
#ifndef WHAMMC_REPORT_BUCKET_H
#define WHAMMC_REPORT_BUCKET_H

#include "report/aggregate.h"
#include "report/report_read.h"

/* Appends a tuple, which is JSON, for people: "count 3, sum 12, min 2, ...". False if it is
 * damaged. */
bool aggregate_show(const AggregateType *t, Str json, Buf *out);

/* The whole numbers of a bucket: those from `low` up to, but without `high`. */
typedef struct AggregateBucket {
    bool is_signed;         /* the bits of `low` and `high` are those of an i64 */
    bool has_low, has_high; /* false: it has no end there, or one that 64 bits do not hold */
    uint64_t low, high;
} AggregateBucket;

/* The bucket that a report names by this bound; false if the text is no number of its type. */
bool aggregate_bucket(const AggregateType *t, Str bound, AggregateBucket *out);
/* The same of a bound that was read; of signed ones the same bits. */
void aggregate_bucket_at(const AggregateType *t, uint64_t bound, AggregateBucket *out);
typedef struct CountedBucket {
    AggregateBucket bucket;
    uint64_t count;
} CountedBucket;
/* Sorts them by their numbers. */
void aggregate_sort_buckets(CountedBucket *buckets, size_t n);

/* Appends the bucket with this lower bound: "[4K, 8K)", "0", "[10, 20)", "< 0", ">= 100". */
void aggregate_put_bucket(const AggregateType *t, Str bound, Buf *out);
/* Whether values of the type are histograms. */
bool aggregate_histogram_type(Str type);
/*
 * Reads the buckets of a histogram, in their order: a row for each, whose fname is the bucket for
 * people. Empty ones between filled ones are there, too, unless they are very many. `out` must be
 * empty; release it with report_free. False if there are none.
 */
bool aggregate_read_buckets(const ReportRow *row, Report *out);
/* Appends the name of a histogram: "sizes", "sizes[f]" of an entry of a map, "sizes, f pc 3". */
void aggregate_put_name(const ReportRow *row, bool entry, Buf *out);
/* The lower bound of the next bucket; false after the last one. */
bool aggregate_next_bucket(const AggregateType *t, Str bound, Buf *next);

#endif
