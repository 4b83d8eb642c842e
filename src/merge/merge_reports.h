/*
 * merge/merge_reports.h - adds up the reports of several runs of a program, and subtracts an
 * earlier report of a run.
 *
 * Reports belong together if they have the same rows: the same variables of the same scripts at the
 * same places, in the same order. Nodes of call trees, which each run numbers itself, are
 * identified by their callers.
 *
 * A script says how variables are combined that are not sums, in a reported text:
 *
 *   report var merge: str = "peak max, sampled same, failures nodes heap";
 *
 * sum is the default; max and min; first: that of the first report; same: reports in which it
 * differs do not belong together; nodes TREE: a map whose keys are nodes of this tree. Of truth
 * values, a sum is whether one is true; of texts it is the first.
 */
#ifndef WHAMMC_MERGE_MERGE_REPORTS_H
#define WHAMMC_MERGE_MERGE_REPORTS_H

#include "report/report_read.h"

typedef struct Merge Merge;

/* Begins with a report, whose tuples and maps are JSON (value_unify), and in which sums will be. It
 * must live as long. NULL: `why` gets a message, as its rules cannot be read. */
Merge *merge_begin(Report *r, Buf *why);

/*
 * Adds a report, of the same kind; or takes it away, which leaves maxima, minima and texts. The
 * report that it began with has the sums then. False if it does not belong to the others: `why`
 * gets a message, and the sums are of no use.
 */
bool merge_add(Merge *m, const Report *other, bool less, Buf *why);

/* NULL does nothing. The report stays as it is, but for the texts of its values, which are gone. */
void merge_free(Merge *m);

#endif
