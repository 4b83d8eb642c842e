/*
 * analysis/loop_step.h - loops in which a local tells how often they have been executed.
 *
 *     loop  <straight-line code>  local.get $i  i32.const 8  i32.add  local.tee $i  ...  br_if 0
 * end
 *
 * Each iteration adds the same to $i: the difference to what it was when the loop was entered,
 * divided by the step, is the number of iterations.
 */
#ifndef WHAMMC_ANALYSIS_LOOP_STEP_H
#define WHAMMC_ANALYSIS_LOOP_STEP_H

#include "wasm/op.h"

typedef struct LoopStep {
    uint32_t local; /* an i32 */
    uint8_t log2;   /* each iteration adds 1 << log2 to it */
    bool down;      /* ... or subtracts that */
} LoopStep;

/*
 * Finds such a local. `code` is after a `loop` of a valid body that can be reached. The loop must
 * be straight-line code up to a `br_if` to itself, just before its end, and call nothing; branches
 * may leave it before.
 *
 * The difference is also right modulo 2^32 only if the local does not come to a value again: each
 * iteration accesses memory at an address that is a multiple of the local, not 0, plus something
 * that does not change in the loop. Before the local has gone through all its values, the address
 * has been everywhere in 4 GiB (in steps of at most 64 KiB), and the program has trapped.
 *
 * Only of loops that are worth it, which are those that are executed often: they make two such
 * accesses at least, and whether they go on does not depend on what is in memory.
 */
bool loop_step_find(WasmCode code, LoopStep *step);

#endif
