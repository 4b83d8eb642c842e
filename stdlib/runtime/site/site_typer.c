/*
 * runtime/site/site_typer.c - types of operands: the compiler's typer (src/valid/typer.c) goes
 * through the function with a cursor.
 */
#include "site_state.h"

static void start(WasmTyper *t, uint32_t fid) {
    for (SiteKind kind = 0; kind < SITE_KINDS; kind++)
        t->m = site_module(kind);
    site_locals(fid);
    S->typer.func = fid + 1; /* which new locals have cleared */
    t->func = fid;
    t->stack.len = t->frames.len = 0;
    WasmType type = WASM_FUNC_TYPE_BIT | t->m->funcs.at[fid].type;
    vec_push(&t->frames, ((WasmFrame){.op = WASM_OP_COUNT, .block_type = type}));
}

/* Moves the cursor to a location. */
static WasmTyper *stand(uint32_t fid, uint32_t pc) {
    SiteCursor *c = &S->typer;
    WasmCode r = site_body(fid);
    WasmTyper *t = &site_model()->typer;
    if (site_restart(c, fid, pc))
        start(t, fid);
    while (site_before(c, pc)) {
        if (c->index && !wasm_typer_step(t, &c->i))
            site_fail(SITE_MALFORMED, c->func, c->i.offset);
        site_next(c, &r);
        S->typed = false;
    }
    site_arrived(c, pc);
    return t;
}

static uint32_t type_byte(WasmType t) {
    if (t == WASM_BOT)
        return SITE_ANY;
    if (!WASM_IS_REF(t))
        return t;
    bool one_byte = t & WASM_NULL_BIT && t & WASM_ABSTRACT_BIT;
    return one_byte ? t & 0xff : (uint32_t)SITE_REF;
}

SITE_EXPORT(arg)
uint32_t site_arg(uint32_t fid, uint32_t pc, uint32_t n) {
    WasmTyper *t = stand(fid, pc);
    if (!S->typed) {
        t->params.len = t->results.len = 0;
        wasm_instr_types(t, &S->typer.i, &t->params, &t->results);
        S->typed = true;
    }
    return n < t->params.len ? type_byte(t->params.at[t->params.len - 1 - n]) : (uint32_t)SITE_NONE;
}

SITE_EXPORT(local)
uint32_t site_local(uint32_t fid, uint32_t n) {
    const WasmTypes *locals = site_locals(fid);
    return n < locals->len ? type_byte(locals->at[n]) : (uint32_t)SITE_NONE;
}
