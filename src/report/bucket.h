/*
 * report/bucket.h - aggregations for people: their fields, and the buckets of histograms.
 */
#ifndef WHAMMC_REPORT_BUCKET_H
#define WHAMMC_REPORT_BUCKET_H

#include "report/aggregate.h"

/* Appends a tuple, which is JSON, for people: "count 3, sum 12, min 2, ...". False if it is
 * damaged. */
bool aggregate_show(const AggregateType *t, Str json, Buf *out);

/* Appends the bucket with this lower bound: "[4K, 8K)", "0", "[10, 20)", "< 0", ">= 100". */
void aggregate_put_bucket(const AggregateType *t, Str bound, Buf *out);
/* The lower bound of the next bucket; false after the last one. */
bool aggregate_next_bucket(const AggregateType *t, Str bound, Buf *next);

#endif
