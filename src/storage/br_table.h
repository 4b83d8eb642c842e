/*
 * storage/br_table.h - functions that return the label depth of a br_table's target by its index;
 * br_tables with the same targets share one.
 */
#ifndef WHAMMC_STORAGE_BR_TABLE_H
#define WHAMMC_STORAGE_BR_TABLE_H

#include "wasm/module.h"

typedef struct TargetList {
    Vec(uint32_t) depths;
    uint32_t func; /* handle */
} TargetList;

/* A zeroed one is valid. */
typedef struct BrTables {
    Map known; /* by the bytes of the targets: index into lists */
    Vec(TargetList) lists;
} BrTables;

/* Pass 1: records that a br_table's targets are used. */
void br_tables_note(BrTables *t, const WasmInstr *i);

/* Adds the functions, (i32) -> i32; the module is not laid out. */
void br_tables_add(BrTables *t, WasmModule *m);

/* The handle of the function for a recorded br_table. */
uint32_t br_table_function(const BrTables *t, const WasmInstr *i);

/* Frees the lists; the module keeps the functions. */
void br_tables_free(BrTables *t);

#endif
