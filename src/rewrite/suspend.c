/*
 * rewrite/suspend.c - where a program's stack is left and resumed.
 */
#include "rewrite/suspend.h"

#include "rewrite/continuations.h"
#include "wasm/emit.h"

bool stacks_are_asyncifys(const WasmAsyncify *asyncify) {
    return asyncify->found && asyncify->rewind != UINT32_MAX;
}

/* ---- programs of several modules ---- */

static const struct {
    Helper helper;
    const char *name;
} called_by_others[] = {{HELPER_TREE_HERE, "whammc:tree_here"},
                        {HELPER_TREE_PARENT, "whammc:tree_parent"},
                        {HELPER_TREE_FUNCTION, "whammc:tree_function"},
                        {HELPER_TREE_SITE, "whammc:tree_site"},
                        {HELPER_TREE_DESCEND_AT, "whammc:tree_descend"},
                        {HELPER_TREE_GO_UNTIMED, "whammc:tree_go_untimed"}};
enum { CALLED_BY_OTHERS = sizeof called_by_others / sizeof *called_by_others };

/* As the tools' convention for dynamic linking has it
 * (https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md). */
static bool is_linked(const WasmModule *m) {
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CUSTOM &&
            (str_is(m->sections.at[i].name, "dylink.0") ||
             str_is(m->sections.at[i].name, "dylink")))
            return true;
    return false;
}

uint32_t stacks_module_id(const WasmModule *m, HostChoice host, bool linked) {
    if (host != HOST_JS || !(linked || is_linked(m)) || continuations_in(m))
        return 0;
    uint32_t id = (uint32_t)(hash_more(HASH_START, m->bytes, m->size) >> 32);
    return id ? id : 1;
}

void stacks_helpers(uint32_t module_id, bool *used) {
    for (uint32_t i = 0; module_id && used[HELPER_TREE_HERE] && i < CALLED_BY_OTHERS; i++)
        used[called_by_others[i].helper] = true;
}

/* ---- */

bool stacks_are_hosts(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                      uint32_t module_id) {
    bool imports = false;
    for (uint32_t i = 0; i < m->input_import_count; i++)
        imports |=
            m->imports.at[i].space == WASM_SPACE_FUNC && !wasm_is_wasi(m->imports.at[i].module);
    return (!stacks_are_asyncifys(asyncify) && !continuations_in(m) && host == HOST_JS &&
            imports) ||
           module_id;
}

bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                       uint32_t module_id) {
    return stacks_are_asyncifys(asyncify) || continuations_in(m) ||
           stacks_are_hosts(m, asyncify, host, module_id);
}

void stacks_touch(const WasmAsyncify *asyncify, uint8_t *touched) {
    if (!stacks_are_asyncifys(asyncify))
        return;
    touched[asyncify->unwind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
    touched[asyncify->rewind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
}

void stacks_export(WasmModule *m, const WasmAsyncify *asyncify, const Flush *flush,
                   uint32_t module_id, const bool *used) {
    const FlushHandles *at = &flush->at;
    if (stacks_are_asyncifys(asyncify) && !module_id)
        return;
    if (at->suspend != UINT32_MAX)
        wasm_add_export(m, STR("whammc:suspend"), WASM_SPACE_FUNC, at->suspend);
    if (at->resume != UINT32_MAX)
        wasm_add_export(m, STR("whammc:resume"), WASM_SPACE_FUNC, at->resume);
    for (uint32_t i = 0; module_id && used[HELPER_TREE_HERE] && i < CALLED_BY_OTHERS; i++)
        wasm_add_export(m, str_of(called_by_others[i].name), WASM_SPACE_FUNC,
                        flush->helpers[called_by_others[i].helper]);
}

void stacks_put(const WasmAsyncify *asyncify, const Flush *flush, uint32_t func, Pieces *pieces) {
    if (!stacks_are_asyncifys(asyncify))
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
