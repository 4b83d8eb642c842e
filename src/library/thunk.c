/*
 * library/thunk.c - thunks: functions that only call another one.
 *
 * Linkers wrap the exports of a command: the wrapper of wasm-ld calls constructors, the function,
 * and destructors. Often there are no constructors and destructors.
 */
#include "library/library.h"

#include <assert.h>

enum { MAX_CALLS = 32, MAX_DEPTH = 8 }; /* the longest chain */

/* A call that does nothing: neither parameters nor results, nor anything but such calls. */
static bool does_nothing(const WasmModule *m, uint32_t func, uint32_t *calls) {
    const WasmTypeDef *type = wasm_func_type(m, func);
    WasmCode code;
    WasmInstr i;
    if (++*calls > MAX_CALLS || type->nparams || type->nresults || !wasm_func_code(m, func, &code))
        return false;
    while (wasm_next(&code, &i))
        if (i.op != WASM_OP_END && i.op != WASM_OP_NOP &&
            (i.op != WASM_OP_CALL || !does_nothing(m, i.a, calls)))
            return false;
    return true;
}

/* The function that this one calls with its own parameters, for its own results, and that is all;
 * UINT32_MAX = there is none. */
static uint32_t only_call(const WasmModule *m, uint32_t func) {
    uint32_t given = 0, calls = 0, found = UINT32_MAX;
    WasmCode code;
    WasmInstr i;
    if (!wasm_func_code(m, func, &code))
        return UINT32_MAX;
    while (wasm_next(&code, &i)) {
        if (i.op == WASM_OP_END || (i.op == WASM_OP_CALL && does_nothing(m, i.a, &calls)))
            continue;
        if (i.op == WASM_OP_LOCAL_GET && found == UINT32_MAX && i.a == given)
            given++;
        else if (i.op == WASM_OP_CALL && found == UINT32_MAX)
            found = i.a;
        else
            return UINT32_MAX;
    }
    bool same = found != UINT32_MAX && given == wasm_func_type(m, func)->nparams &&
                m->funcs.at[found].type == m->funcs.at[func].type && m->funcs.at[found].import < 0;
    return same ? found : UINT32_MAX;
}

uint32_t library_thunk_target(const WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    for (uint32_t k = 0; k < MAX_DEPTH; k++) {
        uint32_t next = only_call(m, func);
        if (next == UINT32_MAX)
            break;
        func = next;
    }
    return func;
}
