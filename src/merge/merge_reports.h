/*
 * merge/merge_reports.h - adds up the reports of several runs of a program, and subtracts an
 * earlier report of a run.
 *
 * Reports can be combined if they have the same rows: the same variables of the same scripts at the
 * same sites, in the same order. Nodes of call trees, which each run numbers differently, are
 * matched by their paths.
 *
 * A script can give variables other rules than summation, in a reported string:
 *
 *   report var merge: str = "peak max, sampled same, failures nodes heap";
 *
 * The rules are sum, the default; max; min; first, the value of the first report; same, whose
 * values must be equal; and nodes TREE, for a map whose keys are nodes of this tree. The sum of
 * booleans is their disjunction; of strings it is the first.
 */
#ifndef WHAMMC_MERGE_MERGE_REPORTS_H
#define WHAMMC_MERGE_MERGE_REPORTS_H

#include "report/report_read.h"

typedef struct Merge Merge;

/* Begins with a report, whose tuples and maps are JSON (value_unify) and which will hold the sums.
 * It must outlive the result. Returns NULL if its rules cannot be parsed, with a message in `why`.
 * */
Merge *merge_begin(Report *r, Buf *why);

/*
 * Adds a report with the same rows, or subtracts it, which does not change maxima, minima and
 * strings. The sums are in the report that merge_begin was given. Returns false if the report does
 * not belong to the others: `why` has a message, and the sums are invalid.
 */
bool merge_add(Merge *m, const Report *other, bool less, Buf *why);

/* NULL does nothing. The texts of the values in the report are freed; everything else stays. */
void merge_free(Merge *m);

#endif
