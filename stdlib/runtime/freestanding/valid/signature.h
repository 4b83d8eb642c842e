/*
 * runtime/freestanding/valid/signature.h - types of instructions in a program that the engine has
 * validated: only what leads to types is checked, and there are no messages.
 */
#ifndef WHAMMC_FREESTANDING_SIGNATURE_H
#define WHAMMC_FREESTANDING_SIGNATURE_H

#include_next "valid/signature.h"

/* site/site_compiler.c */
const WasmSimpleSig *site_simple_sig(uint32_t op);
#define wasm_simple_sig(op) site_simple_sig(op)

/* The arguments are not evaluated. */
#define wasm_sig_fail(s, ...)      ((void)sizeof wasm_sig_fail(s, __VA_ARGS__), false)
#define wasm_typer_fail(t, i, ...) ((void)sizeof wasm_typer_fail(t, i, __VA_ARGS__), false)

static inline bool site_memory_exists(const WasmSig *s) {
    const WasmSimpleSig *g = wasm_simple_sig(s->i->op);
    return !g->nparams || g->params[0] || s->i->b < s->t->m->memories.len;
}

#define wasm_sig_exists(s, what, index, count) ((index) < (count))
#define wasm_sig_check_simple(s)               site_memory_exists(s)
#define wasm_sig_elem_exists(s, elem)          true
#define wasm_sig_data_exists(s, data)          true
#define wasm_sig_declared(s, func)             true
#define wasm_sig_elements_fit(s, from, to)     ((void)(from), (void)(to), true)
#define wasm_sig_segment_fits(s, elem, to)     ((void)(to), true)

#endif
