/*
 * runtime/site/site_compiler.c - what the files of the compiler that are compiled into the runtime
 * of monitors need: the table of instructions, arrays, errors.
 */
#include "site_state.h"
#include "valid/signature.h"

/* ---- the table of instructions ---- */

INLINE uint32_t half(uint32_t address) {
    uint16_t v;
    __builtin_memcpy(&v, at(address), sizeof v);
    return v;
}

INLINE uint32_t pages_at(void) {
    return S->table + SITE_OP_SIZE * WASM_OP_COUNT;
}

/* Page 0 has no prefix. */
uint32_t wasm_find_op(uint8_t prefix, uint32_t code) {
    uint32_t pages = pages_at();
    uint32_t page = pages + (prefix ? 2u * (prefix - WASM_FIRST_PREFIX + 1u) : 0);
    uint32_t from = half(page), to = half(page + 2);
    return code < to - from ? half(pages + SITE_TABLE_CODES + 2 * (from + code)) : 0;
}

const WasmSimpleSig *site_simple_sig(uint32_t op) {
    uint32_t pages = pages_at(), codes = half(pages + 2 * SITE_TABLE_PAGES);
    uint32_t signatures = pages + SITE_TABLE_CODES + 2 * codes;
    return (const WasmSimpleSig *)(void *)at(signatures) + site_op_info(op)[SITE_OP_SIGNATURE];
}

bool wasm_next(WasmCode *c, WasmInstr *i) {
    return c->at != c->end && wasm_next_long(c, i);
}

const WasmTypeDef *wasm_sig_def(WasmSig *s, uint32_t index, WasmTypeKind kind) {
    const WasmModule *m = s->t->m;
    return index < m->types.len && m->types.at[index].kind == kind ? &m->types.at[index] : NULL;
}

/* ---- arrays ---- */

void vec_grow_(void *array, uint32_t *cap, uint32_t need, size_t item) {
    enum { LEAST = 16 };
    void *from;
    __builtin_memcpy(&from, array, sizeof from);
    uint64_t n = *cap ? 2 * (uint64_t)*cap : LEAST;
    if (n < need)
        n = need;
    void *to = at(values_block(n * item));
    if (*cap)
        __builtin_memcpy(to, from, *cap * item);
    vec_drop_(from, *cap, item);
    __builtin_memcpy(array, &to, sizeof to);
    *cap = (uint32_t)n;
}

void vec_drop_(void *array, uint32_t cap, size_t item) {
    if (!cap)
        return;
    __builtin_memset(array, 0, cap * item);
    values_block_free((uint32_t)(uintptr_t)array, cap * item);
}
