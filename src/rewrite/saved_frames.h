/*
 * rewrite/saved_frames.h - frame variables of functions that Asyncify leaves and calls again: their
 * values are kept by the runtime meanwhile, for each stack.
 */
#ifndef WHAMMC_REWRITE_SAVED_FRAMES_H
#define WHAMMC_REWRITE_SAVED_FRAMES_H

#include "analysis/asyncify.h"
#include "inject/pieces.h"
#include "plan/plan.h"
#include "storage/fill.h"

/* Whether functions of the program may have frame variables to keep: then the runtime's
 * frame_push and frame_pop are needed. */
bool saved_frames_needed(const Plan *plan, const WasmAsyncify *asyncify);

/* Pass 2, after the sites of a function: adds code where it begins and ends. */
void saved_frames_put(const WasmAsyncify *asyncify, const Fill *fill, uint32_t func,
                      Pieces *pieces);

#endif
