/*
 * wasm/op_text.h - one instruction as text.
 */
#ifndef WHAMMC_WASM_OP_TEXT_H
#define WHAMMC_WASM_OP_TEXT_H

#include "wasm/op.h"

/* Appends an instruction as in the text format, indices as numbers ("i32.load offset=8 align=2";
 * the alignment only if it is not the natural one). Long lists are cut. */
void wasm_instr_text(Buf *out, const WasmInstr *i);

#endif
