/*
 * api/api_sink.h - outputs that are written to a file while they are made.
 */
#ifndef WHAMMC_API_API_SINK_H
#define WHAMMC_API_API_SINK_H

#include "base/sink.h"
#include "whammc/whammc.h"

/*
 * Outputs of whammc_instrument also go to a sink while they are made, before it is known whether
 * they are valid. If the call succeeds the sink has all of the output, which must not be released
 * as long as it reads; otherwise it no longer reads anything. NULL = to none.
 */
void api_sink(whammc *w, const Sink *sink);

#endif
