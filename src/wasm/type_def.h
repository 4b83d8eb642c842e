/*
 * wasm/type_def.h - types that a module defines, lists of types, limits: what the model of the
 * compiler and that of the runtime of monitors (stdlib/runtime/freestanding/wasm/module.h) share.
 */
#ifndef WHAMMC_WASM_TYPE_DEF_H
#define WHAMMC_WASM_TYPE_DEF_H

#include "wasm/op.h"

typedef Vec(WasmType) WasmTypes;

typedef enum WasmTypeKind {
    WASM_TYPE_FUNC,
    WASM_TYPE_STRUCT,
    WASM_TYPE_ARRAY,
    WASM_TYPE_CONT
} WasmTypeKind;

typedef struct WasmField {
    WasmType type; /* may be packed */
    bool mutable;
} WasmField;

typedef struct WasmTypeDef {
    uint8_t kind; /* WasmTypeKind */
    bool final;
    bool has_super, has_descriptor, is_descriptor;
    uint32_t super;
    uint32_t descriptor, describes; /* the type of its descriptors; the type that it describes */
    uint32_t canonical; /* the first type that is equal to this one (iso-recursive equality) */
    uint32_t group, group_len; /* first type of its recursion group; the group's length */
    uint32_t nparams, nresults;
    const WasmType *params, *results; /* WASM_TYPE_FUNC */
    uint32_t nfields; /* WASM_TYPE_STRUCT, _ARRAY (one), _CONT (one, which refers to the function's
                         type) */
    const WasmField *fields;
} WasmTypeDef;

typedef struct WasmLimits {
    uint64_t min, max;
    bool has_max, shared, is64;
    uint8_t page_log2; /* 16, or what a custom page size says */
} WasmLimits;

#endif
