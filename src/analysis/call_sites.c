/*
 * analysis/call_sites.c - the calls in a program's code that may be those from one function to
 * another.
 */
#include "analysis/call_sites.h"

#include <assert.h>

void call_sites_open(CallSites *c, const WasmModule *m, Str passed) {
    uint32_t wrong;
    *c = (CallSites){.m = m};
    if (list_parse(&c->arena, passed, &c->passed, &wrong))
        c->passed = (NumberList){0};
}

static void call_sites_add(CallSites *c, uint32_t callee, uint32_t pc) {
    vec_push(&c->all, ((CallSite){callee, pc}));
}

static void call_sites_walk(CallSites *c, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    bool has_code = c->m->funcs.at[func].import < 0 && wasm_func_code(c->m, func, &code);
    while (has_code && wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        if (flow != WASM_FLOW_CALL && flow != WASM_FLOW_TAIL_CALL)
            continue;
        bool direct = i.op == WASM_OP_CALL || i.op == WASM_OP_RETURN_CALL;
        if (direct)
            call_sites_add(c, i.a, i.offset);
        if (!direct || list_has(&c->passed, i.a)) /* which calls others in turn */
            call_sites_add(c, CALL_SITES_ANY, i.offset);
    }
    call_sites_add(c, CALL_SITES_ANY, CALL_SITES_END);
}

uint32_t call_sites_next(CallSites *c, uint32_t caller, uint32_t callee, uint32_t *at) {
    assert(c->m);
    bool first;
    if (caller >= c->m->funcs.len || callee >= c->m->funcs.len)
        return CALL_SITES_END;
    uint32_t from = (uint32_t)*map_put(&c->walked, (Str){(const char *)&caller, sizeof caller},
                                       c->all.len, &first);
    if (first)
        call_sites_walk(c, caller);
    /* Else nobody but a call by name can reach it. */
    bool others = c->passed.n || wasm_survey_escapes(&c->survey, c->m, callee);
    for (const CallSite *s = &c->all.at[from + *at]; s->pc != CALL_SITES_END; s++) {
        ++*at;
        if (s->callee == callee || (s->callee == CALL_SITES_ANY && others))
            return s->pc;
    }
    return CALL_SITES_END;
}

void call_sites_free(CallSites *c) {
    wasm_survey_free(&c->survey);
    map_free(&c->walked);
    vec_free(&c->all);
    arena_free(&c->arena);
}
