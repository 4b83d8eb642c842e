/*
 * inject/br_table.h - functions that give the label depth of a br_table's target by its index: one
 * for all br_tables with the same targets.
 */
#ifndef WHAMMC_INJECT_BR_TABLE_H
#define WHAMMC_INJECT_BR_TABLE_H

#include "wasm/module.h"

typedef struct TargetList {
    Vec(uint32_t) depths;
    uint32_t func; /* handle */
} TargetList;

/* A zeroed one is valid. */
typedef struct Targets {
    Map known; /* by the bytes of the targets: index into lists */
    Vec(TargetList) lists;
} Targets;

/* Pass 1: the br_table's targets are asked for. */
void targets_note(Targets *t, const WasmInstr *i);

/* Adds the functions, (i32) -> i32; the module is not laid out. */
void targets_add(Targets *t, WasmModule *m);

/* The handle of the function for a br_table that was noted. */
uint32_t targets_function(const Targets *t, const WasmInstr *i);

void targets_free(Targets *t);

#endif
