/*
 * analysis/exits.c - the exits of a function.
 */
#include "analysis/exits.h"

#include "edit/handlers.h"

/* The same exits as in edit/edit.c. */
static bool is_exit(const WasmModule *m, const WasmHandlers *handlers, int64_t proc_exit,
                    const WasmInstr *i) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_RETURN:
    case WASM_FLOW_TAIL_CALL:
    case WASM_FLOW_TRAP: return true;
    case WASM_FLOW_CALL: return i->op == WASM_OP_CALL && (int64_t)i->a == proc_exit;
    case WASM_FLOW_THROW: return !wasm_handlers_catch(handlers, m, i);
    default: return false;
    }
}

void exits_find(const WasmModule *m, WasmCode code, int64_t proc_exit, ExitOffsets *out) {
    WasmHandlers handlers = {0};
    WasmInstr i;
    out->len = 0;
    bool throws = wasm_handlers_scan(&handlers, code);
    while (wasm_next(&code, &i)) {
        if (code.at == code.end || is_exit(m, &handlers, proc_exit, &i))
            vec_push(out, i.offset);
        if (throws)
            wasm_handlers_step(&handlers, &i);
    }
    wasm_handlers_free(&handlers);
}
