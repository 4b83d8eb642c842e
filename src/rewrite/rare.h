/*
 * rewrite/rare.h - conditions of probes that rarely hold: engines that read branch hints keep the
 * code under them away from the rest, so that it needs no registers there.
 */
#ifndef WHAMMC_REWRITE_RARE_H
#define WHAMMC_REWRITE_RARE_H

#include "plan/plan.h"
#include "wasm/module.h"

/* Marks each `if` of templates that asks whether a 32-bit integer is below 0, or whether a variable
 * that has just been decreased is 0, as a countdown does (`left--; if (left < 0) { ... }`, `left--;
 * if (left == 0) { ... }`), or whether the host has called the function (`if (stack.outermost() !=
 * 0) { ... }`), and makes the module get hints. A program that has hints of its own
 * gets none. */
void rare_mark(Plan *plan, WasmModule *m);

#endif
