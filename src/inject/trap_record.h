/*
 * inject/trap_record.h - records of traps in the middle of segments (counts.h) in an instrumented
 * program, filled from the first on. They are globals, which are copied to where the runtime reads
 * them (stdlib/runtime/sums.h) before a report, or are there. The host reports a trap through two
 * exports:
 *
 * whammc:trapped(deficit, fid, from, to: i32) -> i32: `from` is 2 * pc + 1, pc that of the original
 * instruction. Returns 0 if there is no room for another location.
 *
 * whammc:correct(variable: i32, amount: i64): for each variable with an amount. Variable -1 traps,
 * so that the host sees the engine's name for the module.
 */
#ifndef WHAMMC_INJECT_TRAP_RECORD_H
#define WHAMMC_INJECT_TRAP_RECORD_H

#include "wasm/emit.h"

/* Words (i32) of a record, in the order of stdlib/runtime/sums.h. */
enum { TRAP_FID, TRAP_FROM, TRAP_TO, TRAP_TIMES, TRAP_DEFICIT, TRAP_WORDS };
enum { TRAP_RECORDS = 8 };

/* Adds the globals of all records, in their order, and returns the handle of the first. */
uint32_t trap_record_add_globals(WasmModule *m);

/* Returns word k of record n; `first`: word 0 of record 0, a global or in memory. */
EmitNumber trap_record_word(EmitNumber first, uint32_t n, uint32_t k);

/* Adds the export whammc:trapped for the records whose first word this is. With NULL its arguments
 * are ignored, and it always returns success. */
void trap_record_add_trapped(WasmModule *m, const EmitNumber *first);

/* Appends code that copies the records to an address of a memory; handles. */
void trap_record_put_copy(Buf *b, const WasmModule *m, uint32_t first, uint32_t memory,
                          uint64_t at);

/* Adds the export whammc:correct with this code, whose parameters are locals 0 and 1. */
void trap_record_add_correct(WasmModule *m, const Buf *code);

#endif
