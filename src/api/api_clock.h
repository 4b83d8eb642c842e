/*
 * api/api_clock.h - how the program that was just made uses the clock.
 */
#ifndef WHAMMC_API_API_CLOCK_H
#define WHAMMC_API_API_CLOCK_H

#include <stdbool.h>

#include "whammc/whammc.h"

/* Whether a script of the last whammc_instrument measures times: reads the clock, though it takes
 * no samples. A sampler reads it too seldom to need a fast one. */
bool api_measures_times(const whammc *w);

#endif
