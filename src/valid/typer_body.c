/*
 * valid/typer_body.c - the beginning and end of a function body's typing; copies; messages.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "valid/signature.h"
#include "valid/typer.h"

/* ---- beginning and end ---- */

static void reset(WasmTyper *t, const WasmModule *m, uint32_t func) {
    t->m = m;
    t->func = func;
    t->locals.len = t->stack.len = t->frames.len = t->inits.len = 0;
    t->tracks_inits = false;
    t->error[0] = 0;
    t->error_offset = 0;
}

bool wasm_typer_fail(WasmTyper *t, const WasmInstr *i, const char *format, ...) {
    int n = i ? snprintf(t->error, sizeof t->error, "%s: ", wasm_ops[i->op].mnemonic) : 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->error + n, sizeof t->error - (size_t)n, format, ap);
    va_end(ap);
    t->error_offset = i ? i->offset : 0;
    return false;
}

/* Finds out which locals need a value before they are read, and whether one has an exact type. */
static bool typer_body_check_locals(WasmTyper *t, uint32_t nparams, bool *exact) {
    WasmType any = 0;
    for (uint32_t k = nparams; k < t->locals.len; k++)
        any |= t->locals.at[k];
    *exact = any & WASM_EXACT_BIT;
    if (!(any & WASM_REF_BIT)) /* numbers only, as mostly */
        return true;
    for (uint32_t k = nparams; k < t->locals.len; k++) {
        if (!wasm_type_exists(t->locals.at[k], t->m->types.len))
            return wasm_typer_fail(t, NULL, "the type of local %u does not exist", k);
        if (!wasm_defaultable(t->locals.at[k]))
            t->tracks_inits = true;
    }
    if (!t->tracks_inits)
        return true;
    if (t->local_init_cap < t->locals.len) {
        t->local_init = mem_realloc(t->local_init, t->locals.len);
        t->local_init_cap = t->locals.len;
    }
    for (uint32_t k = 0; k < t->locals.len; k++)
        t->local_init[k] = k < nparams || wasm_defaultable(t->locals.at[k]);
    return true;
}

bool wasm_typer_begin(WasmTyper *t, const WasmModule *m, uint32_t func, WasmCode *code) {
    assert(func < m->funcs.len);
    reset(t, m, func);
    const WasmFunc *f = &m->funcs.at[func];
    const char *error = NULL;
    char text[WASM_CODE_ERROR_SIZE];
    bool exact;
    uint32_t start = wasm_func_locals(m, func, &t->locals, &error);
    if (start == 0) {
        if (!f->added && !wasm_func_code(m, func, code))
            error = wasm_code_error(code, text);
        return wasm_typer_fail(t, NULL, "%s",
                               error ? error : "the local declarations are malformed");
    }
    if (!typer_body_check_locals(t, wasm_func_type(m, func)->nparams, &exact))
        return false;
    vec_push(&t->frames,
             (WasmFrame){.op = WASM_OP_COUNT, .block_type = WASM_FUNC_TYPE_BIT | f->type});
    *code = f->added ? wasm_code(f->code.data, f->code.len, start)
                     : wasm_code(wasm_func_body(m, func), f->body_size, start);
    code->exact = exact;
    return true;
}

void wasm_typer_begin_expr(WasmTyper *t, const WasmModule *m, WasmType type) {
    reset(t, m, UINT32_MAX);
    vec_push(&t->frames, (WasmFrame){.op = WASM_OP_COUNT, .block_type = type});
}

bool wasm_typer_end(WasmTyper *t) {
    if (t->frames.len == 0)
        return true;
    const WasmFrame *f = &vec_last(&t->frames);
    if (f->op == WASM_OP_COUNT)
        return wasm_typer_fail(t, NULL, "the code ends without an end");
    return wasm_typer_fail(t, &(WasmInstr){.op = f->op, .offset = f->offset},
                           "the code ends before this is closed");
}

#define COPY_ALL(to, from)                                                                         \
    ((to)->len = 0, vec_reserve(to, (from)->len), (to)->len = (from)->len,                         \
     (void)((from)->len && memcpy((to)->at, (from)->at, (from)->len * sizeof *(from)->at)))

void wasm_typer_copy(WasmTyper *to, const WasmTyper *from) {
    assert(to != from);
    to->m = from->m;
    to->func = from->func;
    to->tracks_inits = from->tracks_inits;
    COPY_ALL(&to->locals, &from->locals);
    COPY_ALL(&to->stack, &from->stack);
    COPY_ALL(&to->frames, &from->frames);
    COPY_ALL(&to->inits, &from->inits);
    if (!from->tracks_inits)
        return;
    vec_grow_((void *)&to->local_init, &to->local_init_cap, from->locals.len, 1);
    memcpy(to->local_init, from->local_init, from->locals.len);
}

void wasm_typer_free(WasmTyper *t) {
    vec_free(&t->locals);
    vec_free(&t->stack);
    vec_free(&t->frames);
    vec_free(&t->inits);
    vec_free(&t->params);
    vec_free(&t->results);
    free(t->local_init);
    memset(t, 0, sizeof *t);
}

void wasm_call_types(const WasmModule *m, const WasmInstr *i, WasmTypes *params,
                     WasmTypes *results) {
    assert(wasm_flow(i->op) == WASM_FLOW_CALL);
    WasmTyper nothing = {.m = m}; /* without labels: those of handlers are not needed */
    WasmSig s = {&nothing, i, params, results, NULL};
    wasm_sig(&s);
}
