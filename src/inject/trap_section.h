/*
 * inject/trap_section.h - the custom section whammc.traps, which gives the host of an instrumented
 * program the corrections to make when an instruction in the middle of a segment has trapped.
 *
 *   u8 version: 2
 *   per function, ascending:
 *     ULEB  body: file offset of its first byte after its size, as distance
 *     ULEB  its index in the original program, as distance
 *     ULEB  segments in which something can trap; for each:
 *       ULEB  runs << 2 | has variables << 1 | has a deficit
 *       ULEB  its deficit, if it has one
 *       ULEB  if it has variables: their count; for each: ULEB its number
 *       for each run of instructions that can trap with the same result, without new code between
 *       them:
 *         ULEB  offset of the first one in the new body, as distance << 2 | several << 1 | shifted
 *         ULEB  if shifted: how much the difference to the original offset changes, zigzag
 *         ULEB  if there are several: offset of the last one, as distance
 *         SLEB  for each variable: amount
 *       ULEB  `to`, less twice the original offset of the last one; 0 = up to the end of the body
 *
 * Distances are from the previous function, or from the previous offset in the same function,
 * in any segment; the first is from 0, and so is the first difference.
 *
 * If such an instruction has trapped, the host passes its data to the exports of
 * inject/trap_record.h before a report.
 */
#ifndef WHAMMC_INJECT_TRAP_SECTION_H
#define WHAMMC_INJECT_TRAP_SECTION_H

#include "inject/counts.h"
#include "inject/moves.h"

/* Allocates room for the new offsets of instructions that can trap, before bodies are written. */
void trap_section_begin(Counts *c);

/* Lets an edit of the function record the new offsets in Counts.corrections.moved. */
void trap_section_mark(const Counts *c, uint32_t func, WasmBodyEdit *edit);
/* Does the same after the edit, where all instructions have been marked. */
void trap_section_find(const Counts *c, uint32_t func, const Moves *moves);

/* Appends the section to a program that has been written and read again as `written`; `m` is the
 * module that was written, laid out. Works on at most `threads` threads. */
void trap_section_put(const Counts *c, const WasmModule *m, const WasmModule *written,
                      uint32_t threads, Buf *out);

#endif
