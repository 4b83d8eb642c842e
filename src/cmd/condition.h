/*
 * cmd/condition.h - conditions on the numbers of reports, as of `whammc report --fail-if`:
 *
 *   instructions > 1.02 * base.instructions && calls > 0
 *
 * A name is a variable of the report: the sum of its values at all sites, or of all values of a
 * map. base.NAME is that of another report.
 */
#ifndef WHAMMC_CMD_CONDITION_H
#define WHAMMC_CMD_CONDITION_H

#include "base/diag.h"
#include "whammc/report.h"

/*
 * Whether it is true. `base` may be NULL. `used` receives the values of its names: "calls = 12". On
 * errors there are diagnostics in `diags`, with the place in the text, and the result is false.
 */
bool condition_holds(const char *text, WhammcReport *report, WhammcReport *base, Buf *used,
                     Diags *diags);

#endif
