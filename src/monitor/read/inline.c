/*
 * monitor/read/inline.c - which probe functions the Wizard engine inlines.
 */
#include "monitor/read/inline.h"

static bool is_branch(WasmOp op) {
    WasmFlow f = wasm_flow(op);
    return f == WASM_FLOW_IF || f == WASM_FLOW_BRANCH || f == WASM_FLOW_BRANCH_IF ||
           f == WASM_FLOW_BRANCH_TABLE || f == WASM_FLOW_RETURN;
}

InlineLook inline_look(WasmCode code) {
    InlineLook look = {0};
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        look.branches |= is_branch((WasmOp)i.op);
        look.blocks |= i.op == WASM_OP_BLOCK || i.op == WASM_OP_LOOP;
    }
    return look;
}
