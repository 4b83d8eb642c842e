/*
 * analysis/exits.h - the exits of a function: where func:exit happens.
 */
#ifndef WHAMMC_ANALYSIS_EXITS_H
#define WHAMMC_ANALYSIS_EXITS_H

#include "wasm/module.h"

typedef Vec(uint32_t) ExitOffsets;

/* The offsets of the instructions with which a valid body is left, ascending: its last `end`, which
 * branches lead to, returns, tail calls, `unreachable`, what throws and is not caught in it, calls
 * of function `proc_exit` (-1: there is none). `code` is at its first instruction. */
void exits_find(const WasmModule *m, WasmCode code, int64_t proc_exit, ExitOffsets *out);

#endif
