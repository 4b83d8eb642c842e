/*
 * edit/merge_mark.h - shared by merge.c and merge_mark.c.
 */
#ifndef WHAMMC_EDIT_MERGE_MARK_H
#define WHAMMC_EDIT_MERGE_MARK_H

#include "edit/merge.h"

typedef struct Merge {
    WasmMerge *g;
    const WasmModule *from;
    WasmModule *to;
    Diags *diags;
    uint8_t *marked[WASM_SPACE_COUNT]; /* by from's index; not 0 = needed */
    Vec(uint32_t) todo;                /* functions marked but not scanned */
    Vec(uint32_t) declared;            /* functions that code takes references of */
    WasmRemap map;
} Merge;

/* Reports an error at an offset of from's file; false. */
bool merge_fail(Merge *x, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Marks everything that the roots, indices of a space, need. False with a message on failure. */
bool merge_mark(Merge *x, WasmSpace space, const uint32_t *roots, uint32_t nroots);

/* Whether something keeps its contents from the module (WasmMerge.keep). */
bool merge_keeps(const Merge *x, WasmSpace space, uint32_t index);

/* Whether an import is env.`name` as in position-independent code. */
bool merge_is_base(const WasmImport *im, const char *name);

/* The value of an expression in from's file with at most a few integer operations and bases, if it
 * is known. */
bool merge_const(const Merge *x, uint32_t offset, uint32_t len, uint64_t *v);

/* The exported function `_initialize` of WASI reactors, or -1. */
int64_t merge_initialize(const WasmModule *m);

/* The length in bytes of the items of a segment of expressions. */
uint32_t merge_items_len(const WasmModule *m, const WasmElem *e);

#endif
