/*
 * api/api_compare.h - how a report differs from another one, of the same program or another build
 * of it.
 */
#ifndef WHAMMC_API_API_COMPARE_H
#define WHAMMC_API_API_COMPARE_H

#include "base/buf.h"
#include "whammc/report.h"

/*
 * Appends tables: the functions' own time and calls, if the reports have calls; the sums of each
 * function for variables at sites; variables that are numbers. Functions are the same if they have
 * the same name. `top` rows of each table, the largest changes; 0 = all.
 */
void compare_reports(WhammcReport *old, WhammcReport *new, const WhammcReportOptions *options,
                     Buf *out);

#endif
