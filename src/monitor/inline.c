/*
 * monitor/inline.c - which probe functions the Wizard engine inlines.
 */
#include "monitor/inline.h"

static bool is_branch(WasmOp op) {
    switch (op) {
    case WASM_OP_IF:
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE:
    case WASM_OP_BR_ON_NULL:
    case WASM_OP_BR_ON_NON_NULL:
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL:
    case WASM_OP_RETURN: return true;
    default: return false;
    }
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
