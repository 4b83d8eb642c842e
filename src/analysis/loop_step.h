/*
 * analysis/loop_step.h - loops whose number of iterations follows from a local.
 *
 *     loop  <straight-line code>  local.get $i  i32.const 8  i32.add  local.tee $i  ...  br_if 0
 * end
 *
 * Each iteration adds the same to $i: its difference to the value at the loop's entry, divided by
 * the step, is the number of iterations.
 */
#ifndef WHAMMC_ANALYSIS_LOOP_STEP_H
#define WHAMMC_ANALYSIS_LOOP_STEP_H

#include "wasm/module.h"

typedef struct LoopStep {
    uint32_t local; /* an i32 */
    uint8_t log2;   /* each iteration adds 1 << log2 to it */
    bool down;      /* ... or subtracts that */
} LoopStep;

/* Facts about a loop from the code around it. */
typedef struct LoopPlace {
    const WasmModule *m;
    bool grows;      /* memory 0 can become larger than it is declared */
    WasmCode before; /* straight-line code that comes to an end just before the loop */
} LoopPlace;

/*
 * Finds such a local. `code` is after a `loop` of a valid body that can be reached. The loop must
 * be straight-line code up to a `br_if` to itself, just before its end, and call nothing; branches
 * may leave it before.
 *
 * The local comes to a value again after 2^(32 - log2) iterations. The difference tells how many
 * there were only if there are no more than these. One of the following sees to that:
 *
 * - Each iteration accesses a memory with 32-bit addresses at a multiple of some local that changes
 *   by the same, plus something that does not change in the loop. Before the address comes to a
 *   value again, it has been everywhere in 4 GiB, in steps of 2^n. If the memory cannot have the
 *   bytes of the access at the highest of these places, the program has trapped.
 * - The branch back compares a value that changes by the same with one that does not change.
 *   Before the value comes to one again, the comparison has been false: `<` at the highest value,
 *   if it can be told that it is not less; `!=` if the value changes by 1, or if both are known
 *   before the loop, and the value comes to the other in steps of 2^n.
 * - Nothing but that comparison can end the loop. Values that it compares come to the same again;
 *   if it was true until then, the loop never ends. (So the count is too low if the host interrupts
 *   a loop that never ends, in which no access traps as its memory has all of 4 GiB.)
 *
 * Only loops that are likely to be executed often qualify: they make at least two accesses along
 * one local, and whether they go on does not depend on memory.
 */
bool loop_step_find(const LoopPlace *place, WasmCode code, LoopStep *step);

#endif
