/*
 * valid/subtype.h - subtyping and other questions about types.
 */
#ifndef WHAMMC_VALID_SUBTYPE_H
#define WHAMMC_VALID_SUBTYPE_H

#include "wasm/module.h"

/* The type of a reference about which nothing is known but that it is one (unreachable code): a
 * reference to a heap type below all others. It exists on the typer's stack only. */
#define WASM_BOT_REF WASM_REF(0, WASM_HEAP(0))

/* Limits that the engines agree on (WebAssembly JavaScript API, implementation-defined limits). */
enum {
    WASM_MAX_ARITY = 1000, /* parameters, results */
    WASM_MAX_FIELDS = 10000,
    WASM_MAX_FIXED_ARRAY = 10000,
    WASM_MAX_SUBTYPE_DEPTH = 63,
    WASM_MAX_STACK = 1 << 24, /* operands at one time */
};

/* Borrowed types. */
typedef struct WasmTypeList {
    const WasmType *at;
    uint32_t len;
} WasmTypeList;

/* a <: b. WASM_BOT is a subtype of every type; packed types only of themselves. */
bool wasm_subtype(const WasmModule *m, WasmType a, WasmType b);
/* The type of a value read from a field: i32 for the packed types. */
static inline WasmType wasm_unpacked(WasmType t) {
    return t == WASM_I8 || t == WASM_I16 ? WASM_I32 : t;
}
/* i8 or i16. */
static inline bool wasm_is_packed(WasmType t) {
    return t == WASM_I8 || t == WASM_I16;
}
/* A concrete heap type's index; false if it is abstract. */
static inline bool wasm_heap_index(WasmType t, uint32_t *index) {
    *index = WASM_HEAP_OF(t);
    return WASM_IS_REF(t) && (t & WASM_ABSTRACT_BIT) == 0;
}
/* False if the type names a type index of `limit` or above. */
static inline bool wasm_type_exists(WasmType t, uint32_t limit) {
    uint32_t index;
    return !wasm_heap_index(t, &index) || index < limit;
}
/* The nullable reference to the top of the hierarchy that a reference type is in. */
WasmType wasm_top_type(const WasmModule *m, WasmType t);
/* Types a and b pairwise a <: b; the lengths must be equal. */
bool wasm_subtypes(const WasmModule *m, WasmTypeList a, WasmTypeList b);
/* wasm_type_text, with words for the types that only the typer has. */
const char *wasm_type_words(WasmType t, char buf[32]);

#endif
