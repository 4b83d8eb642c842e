/*
 * runtime/freestanding/wasm/module.h - of the model of a module, the parts that types of
 * instructions depend on. site/site_module.c fills them in.
 */
#ifndef WHAMMC_WASM_MODULE_H
#define WHAMMC_WASM_MODULE_H

#include "wasm/type_def.h"

typedef struct WasmFunc {
    uint32_t type;
    bool exact;
} WasmFunc;

typedef struct WasmTable {
    WasmType type;
    WasmLimits limits;
} WasmTable;

typedef struct WasmMemory {
    WasmLimits limits;
} WasmMemory;

typedef struct WasmGlobal {
    WasmType type;
    bool mutable;
} WasmGlobal;

typedef struct WasmTag {
    uint32_t type;
} WasmTag;

typedef struct WasmModule {
    Vec(WasmTypeDef) types;
    Vec(WasmFunc) funcs;
    Vec(WasmTable) tables;
    Vec(WasmMemory) memories;
    Vec(WasmGlobal) globals;
    Vec(WasmTag) tags;
    bool exact;
} WasmModule;

static inline WasmType wasm_exactly(const WasmModule *m, uint32_t type) {
    (void)m;
    return WASM_REF(0, type) | WASM_EXACT_BIT;
}
static inline bool wasm_is_exact_func(const WasmFunc *f) {
    return f->exact;
}
static inline WasmType wasm_memory_address(const WasmModule *m, uint32_t memory) {
    return m->memories.at[memory].limits.is64 ? WASM_I64 : WASM_I32;
}
static inline WasmType wasm_table_address(const WasmModule *m, uint32_t table) {
    return m->tables.at[table].limits.is64 ? WASM_I64 : WASM_I32;
}
static inline const WasmTypeDef *wasm_func_type(const WasmModule *m, uint32_t func) {
    return &m->types.at[m->funcs.at[func].type];
}

#endif
