/*
 * analysis/asyncify.c - programs whose stack is left and resumed by Asyncify.
 */
#include "analysis/asyncify.h"

enum { SMALL = 64 }; /* bytes of the functions that Asyncify adds, at most */

/* The function begins as asyncify_start_unwind and asyncify_start_rewind do, whatever they are
 * called: it sets one global to a constant, another one to its only parameter, and traps if the
 * block is full. So a program's own functions that only set two globals are not taken for these. */
static bool sets_state(const WasmModule *m, uint32_t func, int32_t state, uint32_t globals[2]) {
    const WasmFunc *f = &m->funcs.at[func];
    const WasmTypeDef *t = wasm_func_type(m, func);
    WasmCode code;
    WasmInstr i[4], rest;
    uint32_t n = 0;
    if (f->import >= 0 || f->body_size > SMALL || t->nparams != 1 || t->nresults)
        return false;
    if (!wasm_func_code(m, func, &code))
        return false;
    while (n < 4 && wasm_next(&code, &i[n]))
        n++;
    if (n < 4 || i[0].op != WASM_OP_I32_CONST || (int32_t)i[0].c != state ||
        i[1].op != WASM_OP_GLOBAL_SET || i[2].op != WASM_OP_LOCAL_GET || i[2].a != 0 ||
        i[3].op != WASM_OP_GLOBAL_SET || i[3].a == i[1].a)
        return false;
    globals[0] = i[1].a;
    globals[1] = i[3].a;
    while (wasm_next(&code, &rest))
        if (rest.op == WASM_OP_UNREACHABLE)
            return true;
    return false;
}

static bool asyncify_is_number(const WasmModule *m, uint32_t global) {
    WasmType t = m->globals.at[global].type;
    return t == WASM_I32 || t == WASM_I64;
}

/* The exported function that sets the state to `state`; the globals of the first one must be
 * those of the second one. */
static uint32_t find_setter(WasmAsyncify *a, const WasmModule *m, int32_t state) {
    uint32_t globals[2];
    for (uint32_t i = 0; i < m->exports.len; i++) {
        const WasmExport *e = &m->exports.at[i];
        if (e->space != WASM_SPACE_FUNC || e->handle >= m->input_count[WASM_SPACE_FUNC] ||
            !sets_state(m, e->handle, state, globals))
            continue;
        bool first = state == ASYNCIFY_UNWINDING;
        if (first ? m->globals.at[globals[0]].type == WASM_I32 && asyncify_is_number(m, globals[1])
                  : globals[0] == a->state && globals[1] == a->data) {
            a->state = globals[0];
            a->data = globals[1];
            return e->handle;
        }
    }
    return UINT32_MAX;
}

/* In side modules the globals are imported, and the functions are the main module's. */
static bool find_imports(WasmAsyncify *a, const WasmModule *m) {
    bool state = false, data = false;
    for (uint32_t i = 0; i < m->input_import_count; i++) {
        const WasmImport *import = &m->imports.at[i];
        if (import->space != WASM_SPACE_GLOBAL || !asyncify_is_number(m, import->handle))
            continue;
        if (str_is(import->name, "__asyncify_state")) {
            a->state = import->handle;
            state = true;
        } else if (str_is(import->name, "__asyncify_data")) {
            a->data = import->handle;
            data = true;
        }
    }
    return state && data;
}

/* It reads the state, and calls functions: asyncify_get_state only returns it. */
static bool looks_at_state(const WasmAsyncify *a, const WasmModule *m, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    bool looks = false, calls = false;
    if (m->funcs.at[func].import >= 0 || !wasm_may_have(m, func, WASM_OP_GLOBAL_GET) ||
        !wasm_func_code(m, func, &code))
        return false;
    while (!(looks && calls) && wasm_next(&code, &i)) {
        looks |= i.op == WASM_OP_GLOBAL_GET && i.a == a->state;
        calls |= wasm_flow(i.op) == WASM_FLOW_CALL;
    }
    return looks && calls;
}

void wasm_asyncify_find(WasmAsyncify *a, const WasmModule *m) {
    if (a->looked)
        return;
    a->looked = true;
    a->unwind = find_setter(a, m, ASYNCIFY_UNWINDING);
    a->rewind = a->unwind == UINT32_MAX ? UINT32_MAX : find_setter(a, m, ASYNCIFY_REWINDING);
    a->found = a->rewind != UINT32_MAX || find_imports(a, m);
    if (!a->found)
        return;
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    a->funcs = mem_zalloc(n + 1u);
    for (uint32_t f = 0; f < n; f++)
        a->funcs[f] = looks_at_state(a, m, f);
}

void wasm_asyncify_free(WasmAsyncify *a) {
    free(a->funcs);
    *a = (WasmAsyncify){0};
}
