/*
 * inject/save.h - copies counters that are globals into a memory, where the runtime reads them.
 *
 * A store for each counter would be three times the code of these calls: a small function stores
 * several counters at an address and returns the one after them.
 */
#ifndef WHAMMC_INJECT_SAVE_H
#define WHAMMC_INJECT_SAVE_H

#include "wasm/emit.h"

enum { SAVE_SEVERAL = 16 };

/* Indices of the functions that store one counter, which is called only if their number is no
 * multiple of SAVE_SEVERAL, and so many. */
typedef struct Savers {
    uint32_t one, several;
} Savers;

/* (address: i32, counters: i64 ...) -> i32: the type of a function for n counters, at most
 * SAVE_SEVERAL; appends its body, but for the `end`. */
uint32_t save_type(WasmModule *m, uint32_t n);
void save_put_saver(Buf *b, uint32_t n, uint32_t memory);

/* Appends calls that store globals first ... first + n - 1: an address is on the stack, that after
 * them then. */
void save_put(Buf *b, uint32_t first, uint32_t n, Savers savers);

#endif
