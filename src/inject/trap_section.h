/*
 * inject/trap_section.h - the custom section whammc.traps, which tells the host of an instrumented
 * program what to correct when an instruction in the middle of a segment has trapped.
 *
 *   u8 version: 1
 *   per function, ascending:
 *     ULEB  body: its place in the file (of the first byte after its size), as distance
 *     ULEB  its index in the original program, as distance
 *     ULEB  segments in which something can trap; for each:
 *       ULEB  points: instructions that can trap
 *       ULEB  deficit
 *       ULEB  to
 *       ULEB  variables; for each ULEB its number
 *       for each point:
 *         ULEB  offset in the new body, as distance << 1 | shifted
 *         ULEB  if shifted: how much the difference to the original offset changes, zigzag
 *         SLEB  for each variable: amount
 *
 * Distances are from the function before, from the point before in the same function, in whatever
 * segment; the first from 0, as the difference is at first.
 *
 * If there was a trap at a point, what is known of it is given to the exports of
 * inject/trap_record.h before a report.
 */
#ifndef WHAMMC_INJECT_TRAP_SECTION_H
#define WHAMMC_INJECT_TRAP_SECTION_H

#include "inject/counts.h"
#include "inject/moves.h"

/* Before bodies are written: makes room for where the instructions that can trap will be. */
void trap_section_begin(Counts *c);

/* Lets an edit of the function tell where they are: in trap_moved of the counts. */
void trap_section_mark(const Counts *c, uint32_t func, WasmBodyEdit *edit);
/* The same after the edit, where all instructions have been marked. */
void trap_section_find(const Counts *c, uint32_t func, const Moves *moves);

/* Appends the section to a program that has been written and read again as `written`. `m` is what
 * was written, laid out. */
void trap_section_put(const Counts *c, const WasmModule *m, const WasmModule *written, Buf *out);

#endif
