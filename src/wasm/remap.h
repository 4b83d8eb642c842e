/*
 * wasm/remap.h - indices that follow a mapping, for copying, editing and writing.
 */
#ifndef WHAMMC_WASM_REMAP_H
#define WHAMMC_WASM_REMAP_H

#include "wasm/module.h"

/* The index spaces that an instruction's immediates can name, as bits 1 << WasmSpace, by WasmOp. */
extern const uint16_t wasm_op_spaces[WASM_OP_COUNT];

/* An index with its space. */
typedef struct WasmEntity {
    WasmSpace space;
    uint32_t index;
} WasmEntity;

/* The entities that the plain indices, or the memory argument, of an instruction name; returns
 * their number. */
uint32_t wasm_instr_names(const WasmInstr *i, WasmEntity out[2]);

/* The spaces that a mapping changes, as bits. */
uint32_t wasm_remap_mask(const WasmRemap *map);

/* Writes `index` in place of `was`, whose LEB128 is the `width` bytes at `old`: in the same width
 * if it fits. */
void wasm_put_index(Buf *out, const uint8_t *old, uint32_t width, uint32_t was, uint32_t index);

#endif
