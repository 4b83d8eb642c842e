/*
 * wasm/constant.c - the values of constant expressions.
 */
#include "wasm/read.h"

#include <assert.h>

enum { STACK = 8, LENGTH = 100 }; /* in bytes; real ones need a few */

typedef struct Constant {
    const WasmModule *m;
    bool (*imported)(void *ctx, const WasmImport *import, uint64_t *v);
    void *ctx;
} Constant;

static bool global_value(const Constant *x, uint32_t index, uint64_t *v);

static bool constant_value(const Constant *x, WasmCode c, bool globals, uint64_t *v) {
    uint64_t stack[STACK] = {0};
    uint32_t n = 0;
    WasmInstr i;
    if (c.end - c.at > LENGTH)
        return false;
    while (wasm_next(&c, &i) && i.op != WASM_OP_END) {
        bool add = i.op == WASM_OP_I32_ADD || i.op == WASM_OP_I64_ADD;
        bool sub = i.op == WASM_OP_I32_SUB || i.op == WASM_OP_I64_SUB;
        bool mul = i.op == WASM_OP_I32_MUL || i.op == WASM_OP_I64_MUL;
        if (add || sub || mul) {
            if (n < 2)
                return false;
            uint64_t b = stack[--n], a = stack[n - 1];
            stack[n - 1] = add ? a + b : sub ? a - b : a * b;
        } else if (n == STACK) {
            return false;
        } else if (i.op == WASM_OP_I32_CONST || i.op == WASM_OP_I64_CONST) {
            stack[n++] = i.c;
        } else if (!globals || i.op != WASM_OP_GLOBAL_GET || !global_value(x, i.a, &stack[n++])) {
            return false;
        }
    }
    *v = stack[0];
    return !c.error && n == 1;
}

static bool global_value(const Constant *x, uint32_t index, uint64_t *v) {
    const WasmModule *m = x->m;
    if (index >= m->input_count[WASM_SPACE_GLOBAL] || m->globals.at[index].mutable)
        return false;
    const WasmGlobal *g = &m->globals.at[index];
    if (!g->imported)
        return constant_value(x, wasm_code(m->bytes + g->init, g->init_len, 0), false, v);
    return x->imported && x->imported(x->ctx, &m->imports.at[g->import], v);
}

bool wasm_const_value(const WasmModule *m, uint32_t offset, uint32_t len,
                      bool (*imported)(void *ctx, const WasmImport *import, uint64_t *v), void *ctx,
                      uint64_t *v) {
    assert((uint64_t)offset + len <= m->size);
    Constant x = {m, imported, ctx};
    WasmType type;
    int64_t constant;
    if (wasm_short_const(m->bytes + offset, m->bytes + m->size, &type, &constant)) {
        *v = (uint64_t)constant;
        return true;
    }
    return constant_value(&x, wasm_code(m->bytes + offset, len, 0), true, v);
}

void wasm_note_data(WasmModule *m, const WasmData *d) {
    assert(d->mode == WASM_ACTIVE && d->memory < m->memories.len);
    WasmMemory *memory = &m->memories.at[d->memory];
    uint64_t at;
    if (wasm_const_value(m, d->offset, d->offset_len, NULL, NULL, &at))
        wasm_note_bytes(memory, at, d->size);
    else if (d->size)
        memory->data_unknown = true;
}
