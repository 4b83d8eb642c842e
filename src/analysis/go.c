/*
 * analysis/go.c - functions compiled by Go's compiler.
 */
#include "analysis/go.h"

#include <assert.h>

/* The section `producers` names the compiler, also where the linker was told to leave out the other
 * one. */
bool wasm_is_go(const WasmModule *m) {
    static const char compiler[] = "Go cmd/compile";
    for (uint32_t i = 0; i < m->sections.len; i++) {
        const WasmSection *s = &m->sections.at[i];
        if (s->id != WASM_SEC_CUSTOM)
            continue;
        if (str_is(s->name, "go:buildid") ||
            (str_is(s->name, "producers") &&
             memmem(m->bytes + s->payload, s->end - s->payload, compiler, sizeof compiler - 1)))
            return true;
    }
    return false;
}

/* The instructions that compare the stack pointer with the limit in the goroutine. */
static bool may_compare(const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_LOCAL_GET:
    case WASM_OP_GLOBAL_GET:
    case WASM_OP_I32_WRAP_I64:
    case WASM_OP_I32_LOAD:
    case WASM_OP_I32_CONST:
    case WASM_OP_I32_ADD:
    case WASM_OP_I32_LE_U: return true;
    default: return false;
    }
}

/* The offset after the `if` that begins here and grows the stack; `code` stands after the
 * comparison. 0 = it does something else. */
static uint32_t after_growing(WasmCode code, WasmInstr i) {
    bool calls = false, leaves = false;
    if (i.op != WASM_OP_IF)
        return 0;
    while (wasm_next(&code, &i) && i.op != WASM_OP_END) {
        if (wasm_flow_opens(wasm_flow(i.op)) || i.op == WASM_OP_ELSE)
            return 0;
        calls |= i.op == WASM_OP_CALL;
        leaves |= calls && (i.op == WASM_OP_BR_IF || i.op == WASM_OP_RETURN);
    }
    return leaves && i.op == WASM_OP_END ? i.offset + i.size : 0;
}

/* The same for the code at `code`, where control comes if the function is called. */
static uint32_t after_check(WasmCode code) {
    bool compares = false;
    WasmInstr i = {0};
    while (wasm_next(&code, &i) && may_compare(&i))
        compares = i.op == WASM_OP_I32_LE_U;
    return compares ? after_growing(code, i) : 0;
}

/* Leaves `code` where the br_table leads if the function is called. */
static bool find_called(const WasmModule *m, uint32_t func, WasmCode *code) {
    WasmInstr i;
    uint32_t last = UINT32_MAX; /* the local that was pushed last */
    if (!wasm_func_code(m, func, code))
        return false;
    do {
        if (!wasm_next(code, &i) || wasm_flow(i.op) == WASM_FLOW_CALL)
            return false;
        if (i.op == WASM_OP_BR_TABLE)
            break;
        last = i.op == WASM_OP_LOCAL_GET ? i.a : UINT32_MAX;
    } while (true);
    return last == 0 && wasm_next(code, &i) && i.op == WASM_OP_END;
}

uint32_t wasm_go_start(const WasmModule *m, uint32_t func) {
    assert(func < m->input_count[WASM_SPACE_FUNC]);
    WasmCode code;
    if (!find_called(m, func, &code))
        return 0;
    uint32_t checked = after_check(code);
    return checked ? checked : (uint32_t)(code.at - wasm_func_body(m, func));
}

uint32_t wasm_go_left(const WasmModule *m, uint32_t func) {
    assert(func < m->input_count[WASM_SPACE_FUNC]);
    WasmCode code;
    WasmInstr i = {0}, before = {0};
    bool one = false;
    if (!wasm_func_code(m, func, &code))
        return 0;
    while (wasm_next(&code, &i)) {
        one = before.op == WASM_OP_I32_CONST && before.c == 1;
        before = i;
    }
    return one && i.op == WASM_OP_END ? i.offset : 0;
}
