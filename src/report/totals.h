/*
 * report/totals.h - sums of the values at sites, by line, function or file.
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

#endif
