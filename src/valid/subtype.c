/*
 * valid/subtype.c - subtyping and other questions about types.
 *
 * Type definitions that are equal by the iso-recursive rule have the same WasmTypeDef.canonical, so
 * a type index is compared by that word; beyond equality a type is below those on its chain of
 * declared supertypes.
 */
#include "valid/subtype.h"

/* The abstract heap type directly above a definition. */
static uint32_t kind_heap(const WasmTypeDef *d) {
    switch (d->kind) {
    case WASM_TYPE_FUNC: return WASM_HEAP_FUNC;
    case WASM_TYPE_STRUCT: return WASM_HEAP_STRUCT;
    case WASM_TYPE_CONT: return WASM_HEAP_CONT;
    default: return WASM_HEAP_ARRAY;
    }
}

/* The one below all definitions of the kind. */
static uint32_t bottom_heap(const WasmTypeDef *d) {
    switch (d->kind) {
    case WASM_TYPE_FUNC: return WASM_HEAP_NOFUNC;
    case WASM_TYPE_CONT: return WASM_HEAP_NOCONT;
    default: return WASM_HEAP_NONE;
    }
}

/* a <: b for abstract heap types, given as their bytes. */
static bool abstract_subtype(uint32_t a, uint32_t b) {
    if (a == b || a == 0)
        return true;
    switch (a) {
    case WASM_HEAP_NONE:
        return b == WASM_HEAP_I31 || b == WASM_HEAP_STRUCT || b == WASM_HEAP_ARRAY ||
               b == WASM_HEAP_EQ || b == WASM_HEAP_ANY;
    case WASM_HEAP_I31:
    case WASM_HEAP_STRUCT:
    case WASM_HEAP_ARRAY: return b == WASM_HEAP_EQ || b == WASM_HEAP_ANY;
    case WASM_HEAP_EQ: return b == WASM_HEAP_ANY;
    case WASM_HEAP_NOFUNC: return b == WASM_HEAP_FUNC;
    case WASM_HEAP_NOEXTERN: return b == WASM_HEAP_EXTERN;
    case WASM_HEAP_NOEXN: return b == WASM_HEAP_EXN;
    case WASM_HEAP_NOCONT: return b == WASM_HEAP_CONT;
    default: return false;
    }
}

/* Whether two type indices name equal types. */
static bool same_index(const WasmModule *m, uint32_t a, uint32_t b) {
    return a < m->types.len && b < m->types.len &&
           m->types.at[a].canonical == m->types.at[b].canonical;
}

/* a <: b for type indices. */
static bool index_subtype(const WasmModule *m, uint32_t a, uint32_t b) {
    if (a >= m->types.len || b >= m->types.len)
        return false;
    uint32_t want = m->types.at[b].canonical;
    for (uint32_t steps = 0; steps <= WASM_MAX_SUBTYPE_DEPTH; steps++) {
        const WasmTypeDef *d = &m->types.at[a];
        if (d->canonical == want)
            return true;
        if (!d->has_super || d->super >= a)
            return false;
        a = d->super;
    }
    return false;
}

static bool heap_subtype(const WasmModule *m, uint32_t a, uint32_t b) {
    bool a_abstract = (a & WASM_ABSTRACT_BIT) != 0, b_abstract = (b & WASM_ABSTRACT_BIT) != 0;
    uint32_t a_byte = a & ~WASM_ABSTRACT_BIT, b_byte = b & ~WASM_ABSTRACT_BIT;
    if (a_abstract && b_abstract)
        return abstract_subtype(a_byte, b_byte);
    if (!a_abstract && !b_abstract)
        return index_subtype(m, a, b);
    if (a_abstract) { /* only the bottoms are below a definition */
        if (a_byte == 0)
            return true;
        return b < m->types.len && a_byte == bottom_heap(&m->types.at[b]);
    }
    return a < m->types.len && abstract_subtype(kind_heap(&m->types.at[a]), b_byte);
}

bool wasm_subtype(const WasmModule *m, WasmType a, WasmType b) {
    if (a == b || a == WASM_BOT)
        return true;
    if (!WASM_IS_REF(a) || !WASM_IS_REF(b))
        return false;
    if ((a & WASM_NULL_BIT) && !(b & WASM_NULL_BIT))
        return false;
    if ((b & WASM_EXACT_BIT) && !(a & WASM_ABSTRACT_BIT))
        return (a & WASM_EXACT_BIT) && same_index(m, WASM_HEAP_OF(a), WASM_HEAP_OF(b));
    return heap_subtype(m, WASM_HEAP_OF(a), WASM_HEAP_OF(b));
}

bool wasm_subtypes(const WasmModule *m, WasmTypeList a, WasmTypeList b) {
    if (a.len != b.len)
        return false;
    for (uint32_t k = 0; k < a.len; k++)
        if (!wasm_subtype(m, a.at[k], b.at[k]))
            return false;
    return true;
}

WasmType wasm_top_type(const WasmModule *m, WasmType t) {
    uint32_t heap = WASM_HEAP_OF(t), top = WASM_HEAP_ANY;
    if (heap & WASM_ABSTRACT_BIT) {
        switch (heap & ~WASM_ABSTRACT_BIT) {
        case WASM_HEAP_FUNC:
        case WASM_HEAP_NOFUNC: top = WASM_HEAP_FUNC; break;
        case WASM_HEAP_EXTERN:
        case WASM_HEAP_NOEXTERN: top = WASM_HEAP_EXTERN; break;
        case WASM_HEAP_EXN:
        case WASM_HEAP_NOEXN: top = WASM_HEAP_EXN; break;
        case WASM_HEAP_CONT:
        case WASM_HEAP_NOCONT: top = WASM_HEAP_CONT; break;
        default: break;
        }
    } else if (heap < m->types.len && (m->types.at[heap].kind == WASM_TYPE_FUNC ||
                                       m->types.at[heap].kind == WASM_TYPE_CONT)) {
        top = kind_heap(&m->types.at[heap]);
    }
    return WASM_REF(1, WASM_HEAP(top));
}
