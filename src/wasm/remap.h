/*
 * wasm/remap.h - what copying, editing and writing share about indices that follow a mapping.
 */
#ifndef WHAMMC_WASM_REMAP_H
#define WHAMMC_WASM_REMAP_H

#include "wasm/module.h"

/* The index spaces that immediates of a shape (WasmImm) can name, as bits 1 << WasmSpace. */
extern const uint16_t wasm_imm_spaces[];

/* The spaces that a mapping changes, as bits. */
uint32_t wasm_remap_mask(const WasmRemap *map);

/* Writes `index` in place of `was`, whose LEB128 is the `width` bytes at `old`: in the same width
 * if it fits. */
void wasm_put_index(Buf *out, const uint8_t *old, uint32_t width, uint32_t was, uint32_t index);

#endif
