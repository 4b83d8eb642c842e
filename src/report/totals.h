/*
 * report/totals.h - sums of the values at sites, by line, function or file; columns that are
 * derived from values and sums.
 */
#ifndef WHAMMC_REPORT_TOTALS_H
#define WHAMMC_REPORT_TOTALS_H

#include "report/report_read.h"

typedef enum TotalsBy { TOTALS_SITE, TOTALS_LINE, TOTALS_FUNCTION, TOTALS_FILE } TotalsBy;

/*
 * Sums up the rows that have places, of each variable by itself; `by` is not TOTALS_SITE. Lines and
 * files need locations; rows without one are summed up, too, under a name that says so. A row of
 * the result has the name of the line, function or file as fname, the number of sites as pc, and
 * the probe only if it is one. Truth values are counted. Values that are no numbers, and rows
 * without places, are left out. Sums that do not fit are the nearest number that does.
 *
 * `out` must be empty; its texts are those of `r`, which must live as long. The rows of a variable
 * come in the order of the code, those of lines and files in that of their names.
 */
void totals_make(const Report *r, TotalsBy by, Report *out);

/* ---- derived columns ---- */

/*
 * Values that are computed from others, after all that is added up has been. A script says
 * `report ratio: f64 = hits / all;`, and programs write a row for it whose type has the formula
 * (lang/derived.def): "f64=hits all /". Its value is computed here: of the whole report, and, if a
 * variable in it has rows at sites, of each site where all such variables have one. Written reports
 * have both the values and the formula, so they can be merged again.
 */

/* Leaves one row of each column, without a value. To be called before reports are merged. */
void derived_reset(Report *r);

/* Computes the columns of the report of a module; after that it may be reset again. */
void derived_compute(Report *r);

/* Adds the columns to the totals of a report that were made without them, and whose columns have
 * been computed. */
void derived_of_totals(const Report *r, TotalsBy by, Report *totals);

#endif
