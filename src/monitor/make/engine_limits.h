/*
 * monitor/make/engine_limits.h - the limits of engines that run monitors.
 */
#ifndef WHAMMC_UNIT_ENGINE_LIMITS_H
#define WHAMMC_UNIT_ENGINE_LIMITS_H

#include "plan/plan.h"

/*
 * Reports requirements of the scripts that no engine meets, one message for each probe and reason
 * (tag monitor-cannot). `happens` tells whether an action may happen at all. Returns true if there
 * are none. Requirements of only some events of a probe are recorded in Action.unseen instead.
 */
bool engine_can(Plan *plan, bool (*happens)(const Action *a), Diags *diags);

#endif
