/*
 * testing/condition.h - conditions on the variables of reports, for `whammc test` and
 * `whammc report --fail-if`:
 *
 *   instructions > 1.02 * base.instructions && count(calls[fname == "f"]) > 0
 *
 * A name is a variable of the report: the sum of its values at all sites, or of all values of a
 * map; filters select some of them. base.NAME is a variable of another report. docs/reports.md,
 * "Conditions", describes them.
 */
#ifndef WHAMMC_TESTING_CONDITION_H
#define WHAMMC_TESTING_CONDITION_H

#include "base/diag.h"
#include "whammc/report.h"

/*
 * Evaluates a condition, which is called `name` in messages. `base` may be NULL. `used` receives
 * the values of its names: "calls = 12". On errors the result is false, and `diags` has messages
 * with locations in the text.
 */
bool condition_holds(const char *name, const char *text, WhammcReport *report, WhammcReport *base,
                     Buf *used, Diags *diags);

#endif
