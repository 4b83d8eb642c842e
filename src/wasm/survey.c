/*
 * wasm/survey.c - what can be told of a program only by looking at all of it.
 */
#include "wasm/survey.h"

enum { ESCAPES = 1 };

/* Malformed code is left to those who walk it. */
static void look_at_code(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    WasmTypes locals = {0};
    const char *error;
    WasmInstr i;
    uint32_t first = wasm_func_locals(m, func, &locals, &error);
    vec_free(&locals);
    WasmCode code = wasm_code(wasm_func_body(m, func), m->funcs.at[func].body_size, first);
    while (first && wasm_next(&code, &i)) {
        if ((i.op == WASM_OP_REF_FUNC || i.op == WASM_OP_RETURN_CALL) &&
            i.a < m->input_count[WASM_SPACE_FUNC])
            s->funcs[i.a] |= ESCAPES;
        s->tail_calls |= i.op == WASM_OP_RETURN_CALL || i.op == WASM_OP_RETURN_CALL_INDIRECT ||
                         i.op == WASM_OP_RETURN_CALL_REF;
    }
}

static void make(WasmSurvey *s, const WasmModule *m) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    s->funcs = mem_zalloc(n + 1u);
    for (uint32_t i = 0; i < m->refs.len; i++) /* exports, start, segments, initial values */
        if (m->refs.at[i].space == WASM_SPACE_FUNC && m->refs.at[i].value < n)
            s->funcs[m->refs.at[i].value] |= ESCAPES;
    for (uint32_t f = 0; f < n; f++)
        if (m->funcs.at[f].import < 0)
            look_at_code(s, m, f);
}

bool wasm_survey_escapes(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    if (!s->funcs)
        make(s, m);
    return s->funcs[func] & ESCAPES;
}

bool wasm_survey_tail_calls(WasmSurvey *s, const WasmModule *m) {
    if (!s->funcs)
        make(s, m);
    return s->tail_calls;
}

void wasm_survey_free(WasmSurvey *s) {
    free(s->funcs);
    *s = (WasmSurvey){0};
}
