/*
 * analysis/exits.h - the exits of a function: where func:exit happens.
 */
#ifndef WHAMMC_ANALYSIS_EXITS_H
#define WHAMMC_ANALYSIS_EXITS_H

#include "wasm/module.h"

typedef Vec(uint32_t) ExitOffsets;

/* The offsets of the exits of a valid body, ascending: its last `end`, to which branches may lead,
 * returns, tail calls, `unreachable`, instructions whose exceptions the body does not catch, calls
 * of function `proc_exit` (-1: there is none). `code` is at its first instruction. */
void exits_find(const WasmModule *m, WasmCode code, int64_t proc_exit, ExitOffsets *out);

#endif
