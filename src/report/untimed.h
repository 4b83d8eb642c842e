/*
 * report/untimed.h - functions whose calls were counted, but not timed.
 *
 * The time of such a function is in that of who called it. What it called may have been timed,
 * though: that time is taken from its callers too, in the proportion of their calls, as it would
 * count twice otherwise.
 */
#ifndef WHAMMC_REPORT_UNTIMED_H
#define WHAMMC_REPORT_UNTIMED_H

#include "report/profile.h"

/*
 * Marks the functions that the report's variable `not_timed`, a str with a list of numbers ("3,
 * 17-20"), says were not timed, and gives the arcs to them the time of those from them.
 */
void untimed_settle(Profile *p, const Report *r);

#endif
