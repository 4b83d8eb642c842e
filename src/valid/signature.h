/*
 * valid/signature.h - what signature.c and signature_gc.c share.
 */
#ifndef WHAMMC_VALID_SIGNATURE_H
#define WHAMMC_VALID_SIGNATURE_H

#include "valid/typer.h"

/* wasm_sig for references and GC (signature_gc.c). */
bool wasm_sig_gc(WasmSig *s);

/* Fails with a message if index is not below count. */
bool wasm_sig_exists(WasmSig *s, const char *what, uint32_t index, uint32_t count);
/* Fails if a reference type names a type that does not exist. */
bool wasm_sig_type_exists(WasmSig *s, WasmType t);
bool wasm_sig_elem_exists(WasmSig *s, uint32_t elem);
/* Fails also without a data count section. */
bool wasm_sig_data_exists(WasmSig *s, uint32_t data);
/* The types of a label, counted from inside. */
bool wasm_sig_label(WasmSig *s, uint32_t depth, WasmTypeList *types);
/* The definition of type `index` if it is of this kind, else NULL with a message. */
const WasmTypeDef *wasm_sig_def(WasmSig *s, uint32_t index, WasmTypeKind kind);
/* As wasm_typer_operand, but may give WASM_BOT_REF. */
WasmType wasm_sig_operand(const WasmSig *s, uint32_t n);
void wasm_sig_put(WasmTypes *to, const WasmType *types, uint32_t n);

#endif
