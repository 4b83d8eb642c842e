/*
 * storage/loop_count.h - loops counted by an induction variable (Counts.loops): the loop stores the
 * local's value, which is cheaper than incrementing a counter.
 *
 * Each has two more globals: the local's value at the last execution of the `loop`, and its value
 * at the first execution since the loop was entered. Their difference gives the number of
 * iterations but for the first one, and is added to the counter when the loop is next entered, and
 * at a flush; the first one is counted when the loop is entered. (So the difference is between 0
 * and 2^(32 - log2) - 1: this many iterations, and one, are told apart from one.) Nothing depends
 * on how the loop is left, and nothing is lost if it traps or is interrupted.
 */
#ifndef WHAMMC_STORAGE_LOOP_COUNT_H
#define WHAMMC_STORAGE_LOOP_COUNT_H

#include "storage/storage.h"

/* Adds the globals; before the layout. */
void loop_counts_add(Store *s, WasmModule *m);

/* Append code for loop `n`: before it; at its head; for a flush. */
void loop_count_put_entry(const Store *s, const WasmModule *m, uint32_t n, Buf *out);
void loop_count_put_head(const Store *s, const WasmModule *m, uint32_t n, Buf *out);
void loop_count_put_flush(const Store *s, const WasmModule *m, uint32_t n, Buf *out);

#endif
