/*
 * rewrite/suspend.c - where a program's stack is left and resumed.
 */
#include "rewrite/suspend.h"

#include "wasm/emit.h"

/* Asyncify sets its state in this module. */
static bool is_set_here(const WasmAsyncify *asyncify) {
    return asyncify->found && asyncify->rewind != UINT32_MAX;
}

bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host) {
    bool imports = false;
    for (uint32_t i = 0; i < m->input_import_count; i++)
        imports |=
            m->imports.at[i].space == WASM_SPACE_FUNC && !wasm_is_wasi(m->imports.at[i].module);
    return is_set_here(asyncify) || (host == HOST_JS && imports);
}

void stacks_touch(const WasmAsyncify *asyncify, uint8_t *touched) {
    if (!is_set_here(asyncify))
        return;
    touched[asyncify->unwind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
    touched[asyncify->rewind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
}

void stacks_export(WasmModule *m, const WasmAsyncify *asyncify, const FlushHandles *at) {
    if (is_set_here(asyncify))
        return;
    if (at->suspend != UINT32_MAX)
        wasm_add_export(m, STR("whammc:suspend"), WASM_SPACE_FUNC, at->suspend);
    if (at->resume != UINT32_MAX)
        wasm_add_export(m, STR("whammc:resume"), WASM_SPACE_FUNC, at->resume);
}

void stacks_put(const WasmAsyncify *asyncify, const Flush *flush, uint32_t func, Pieces *pieces) {
    if (!is_set_here(asyncify))
        return;
    uint32_t called = func == asyncify->unwind   ? flush->at.suspend
                      : func == asyncify->rewind ? flush->at.resume
                                                 : UINT32_MAX;
    if (called == UINT32_MAX)
        return;
    size_t from = pieces->code.len;
    const WasmModule *m = flush->m;
    emit(&pieces->code, "global.get %u", wasm_final(m, WASM_SPACE_GLOBAL, asyncify->data));
    emit_resize(&pieces->code, m->globals.at[asyncify->data].type, WASM_I32);
    emit_calls(&pieces->code, m, &called, 1);
    pieces_add_exit(pieces, from, PIECE_RETURNS);
}
