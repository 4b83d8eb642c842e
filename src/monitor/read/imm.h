/*
 * monitor/read/imm.h - the immediates of instructions as engines number them (immN of export
 * names).
 */
#ifndef WHAMMC_MONITOR_IMM_H
#define WHAMMC_MONITOR_IMM_H

#include "wasm/op.h"

/* A constant. i32 and f32 are in the low half of the first word; only v128 has a second. */
typedef struct MonitorValue {
    WasmType type;
    uint64_t bits[2];
} MonitorValue;

/*
 * Immediate n; false if the instruction has no such immediate. In binary order, with these
 * exceptions: accesses have alignment, memory, offset (i32), lane; a br_table begins with its
 * number of targets, its default is the last; block types and heap types are signed numbers, as
 * they are encoded (-64 = no result, -1 = i32). Immediates of br_on_cast and typed select, and the
 * handlers of a try_table, are not shown.
 */
bool monitor_imm(const WasmInstr *i, uint32_t n, MonitorValue *out);

#endif
