/*
 * monitor/make/engine_limits.h - what an engine cannot do for a monitor.
 */
#ifndef WHAMMC_UNIT_ENGINE_LIMITS_H
#define WHAMMC_UNIT_ENGINE_LIMITS_H

#include "plan/plan.h"

/*
 * Reports what the scripts ask for that no engine has for a monitor, one message for each probe and
 * reason (tag monitor-cannot). `happens` tells whether an action may happen at all. True if there
 * is nothing. What only some events of a probe ask for is noted in Action.unseen instead.
 */
bool engine_can(Plan *plan, bool (*happens)(const Action *a), Diags *diags);

#endif
