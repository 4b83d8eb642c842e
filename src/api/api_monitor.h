/*
 * api/api_monitor.h - a monitor as the public interface describes it.
 */
#ifndef WHAMMC_API_API_MONITOR_H
#define WHAMMC_API_API_MONITOR_H

#include "monitor/read/monitor.h"
#include "whammc/whammc.h"

/* Fills *out with copies in the arena. */
void monitor_describe(const Monitor *monitor, Arena *arena, whammc_monitor *out);

#endif
