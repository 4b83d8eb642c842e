/*
 * rewrite/polls.c - the places of a program where its host can have a report while it runs.
 */
#include "rewrite/polls.h"

#include "wasm/emit.h"

enum { FIRST = 1000 }; /* polls until the host is called for the first time */

/* Calls functions that may go on for long: imports come back at once, or are the host's. */
static bool calls(const WasmModule *m, const WasmInstr *i) {
    WasmFlow flow = wasm_flow(i->op);
    if (flow != WASM_FLOW_CALL && flow != WASM_FLOW_TAIL_CALL)
        return false;
    bool direct = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL;
    return !direct || m->funcs.at[i->a].import < 0;
}

/* Whether it calls an import of WASI that may wait. */
static bool waits(const WasmModule *m, const WasmInstr *i) {
    const WasmFunc *f = i->op == WASM_OP_CALL ? &m->funcs.at[i->a] : NULL;
    if (!f || f->import < 0)
        return false;
    const WasmImport *import = &m->imports.at[f->import];
    return wasm_is_wasi(import->module) &&
           (str_is(import->name, "poll_oneoff") || str_is(import->name, "fd_read"));
}

/* What there is in a function. */
typedef struct Found {
    bool loop, call, wait;
} Found;

static Found find(const WasmModule *m, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    Found found = {0};
    wasm_func_code(m, func, &code); /* the module is valid */
    while (wasm_next(&code, &i)) {
        found.loop |= i.op == WASM_OP_LOOP;
        found.call |= calls(m, &i);
        found.wait |= waits(m, &i);
    }
    return found;
}

bool polls_has_any(const WasmModule *m, uint32_t func) {
    Found found = find(m, func);
    return found.loop || found.call || found.wait;
}

void polls_add(Polls *p, WasmModule *m) {
    WasmType i32 = WASM_I32;
    Buf none = {0};
    p->host = wasm_add_import_func(m, STR("whammc"), STR("poll"),
                                   wasm_add_func_type(m, &i32, 1, &i32, 1));
    p->poll = wasm_add_func(m, wasm_add_func_type(m, &i32, 1, NULL, 0), STR("whammc.polled"), &none,
                            true);
    p->left = wasm_add_global_i32(m, true, STR("whammc.left"), FIRST);
}

void polls_fill(Polls *p, WasmModule *m) {
    uint32_t left = wasm_final(m, WASM_SPACE_GLOBAL, p->left);
    emit_body(&m->funcs.at[p->poll].code, "local.get 0 call %u global.set %u",
              wasm_final(m, WASM_SPACE_FUNC, p->host), left);
    emit(&p->code,
         "global.get %u i32.const 1 i32.sub global.set %u global.get %u i32.eqz if i32.const 0 "
         "call %u end",
         left, left, left, wasm_final(m, WASM_SPACE_FUNC, p->poll));
}

void polls_free(Polls *p) {
    buf_free(&p->code);
}

static void put(const Polls *p, WasmWhere where, uint32_t at, Pieces *pieces) {
    size_t from = pieces->code.len;
    buf_bytes(&pieces->code, p->code.data, p->code.len);
    pieces_add_count(pieces, where, at, from, pieces->code.len);
}

/* After all probes that come before the call. */
static void put_wait(const Polls *p, const WasmModule *m, uint32_t at, Pieces *pieces) {
    size_t from = pieces->code.len;
    emit(&pieces->code, "i32.const 1 call %u", wasm_final(m, WASM_SPACE_FUNC, p->poll));
    pieces_add(pieces, WASM_BEFORE, at, RANK_END, from, pieces->code.len);
}

void polls_put(const Polls *p, const WasmModule *m, uint32_t func, Pieces *pieces) {
    Found found = find(m, func);
    WasmCode code;
    WasmInstr i;
    wasm_func_code(m, func, &code);
    if (found.call)
        put(p, WASM_BEFORE, (uint32_t)(code.at - code.start), pieces);
    while ((found.loop || found.wait) && wasm_next(&code, &i)) {
        if (i.op == WASM_OP_LOOP)
            put(p, WASM_AFTER, i.offset, pieces);
        if (waits(m, &i))
            put_wait(p, m, i.offset, pieces);
    }
}
