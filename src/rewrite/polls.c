/*
 * rewrite/polls.c - safepoints, as for garbage collectors: places of a program where its host can
 * get a report while it runs, however long it computes.
 *
 * No iteration of a loop begins, and no function that calls others, without a poll: it counts down,
 * and calls the host at zero. All code that runs for long reaches one of these places; leaves
 * without loops do not run for long. Polls come before all probes of their places, but for
 * func:entry, so none is half done; and before the counter of the segment that begins there, so
 * counts are exact if such segments begin at the class EXIT (Segments.polls). The host is also
 * called before each call of WASI that may wait, after the probes at that location.
 */
#include "rewrite/pass.h"

#include "wasm/emit.h"

enum { FIRST = 1000 }; /* polls until the host is called for the first time */

/* Handles. */
typedef struct Polls {
    uint32_t host; /* the import */
    uint32_t poll; /* the function called at zero */
    uint32_t left; /* a global: number of polls until then */
    Buf code;      /* of a poll */
} Polls;

static bool polls_begin(Rewrite *r, void *self) {
    (void)self;
    return r->options->polls;
}

/* Whether the instruction calls functions that may run for long: imports return at once, or are the
 * host's. */
static bool polls_calls(const WasmModule *m, const WasmInstr *i) {
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

/* Instructions found in a function. */
typedef struct Found {
    bool loop, call, wait;
} Found;

static Found polls_find(const WasmModule *m, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    Found found = {0};
    wasm_func_code(m, func, &code); /* the module is valid */
    while (wasm_next(&code, &i)) {
        found.loop |= i.op == WASM_OP_LOOP;
        found.call |= polls_calls(m, &i);
        found.wait |= waits(m, &i);
    }
    return found;
}

/* Marks all functions with places for polls as changed. */
static void polls_decide(Rewrite *r, void *self) {
    (void)self;
    for (uint32_t f = 0; f < r->p.m.input_count[WASM_SPACE_FUNC]; f++) {
        Found found = {0};
        if (r->p.m.funcs.at[f].import < 0)
            found = polls_find(&r->p.m, f);
        if (found.loop || found.call || found.wait)
            r->p.touched[f] |= TOUCHED;
    }
    r->p.matched = true;
}

/* Adds the import, the function and the global. */
static void polls_add(Rewrite *r, void *self, const Reach *reach) {
    (void)reach;
    Polls *p = self;
    WasmModule *m = &r->p.m;
    WasmType i32 = WASM_I32;
    Buf none = {0};
    p->host = wasm_add_import_func(m, STR("whammc"), STR("poll"),
                                   wasm_add_func_type(m, &i32, 1, &i32, 1));
    p->poll = wasm_add_func(m, wasm_add_func_type(m, &i32, 1, NULL, 0), STR("whammc.polled"), &none,
                            true);
    p->left = wasm_add_global_i32(m, true, STR("whammc.left"), FIRST);
}

/* Writes the code of the function and of polls. */
static void polls_fill(Rewrite *r, void *self) {
    Polls *p = self;
    WasmModule *m = &r->p.m;
    uint32_t left = wasm_final(m, WASM_SPACE_GLOBAL, p->left);
    emit_body(&m->funcs.at[p->poll].code, "local.get 0 call %u global.set %u",
              wasm_final(m, WASM_SPACE_FUNC, p->host), left);
    emit(&p->code,
         "global.get %u i32.const 1 i32.sub global.set %u global.get %u i32.eqz if i32.const 0 "
         "call %u end",
         left, left, left, wasm_final(m, WASM_SPACE_FUNC, p->poll));
}

static void polls_free(Rewrite *r, void *self) {
    (void)r;
    Polls *p = self;
    buf_free(&p->code);
}

static void polls_put(const Polls *p, WasmWhere where, uint32_t at, Pieces *pieces) {
    size_t from = pieces->code.len;
    buf_bytes(&pieces->code, p->code.data, p->code.len);
    pieces_add_count(pieces, where, at, from, pieces->code.len);
}

/* Adds a poll after all probes that come before the call. */
static void put_wait(const Polls *p, const WasmModule *m, uint32_t at, Pieces *pieces) {
    size_t from = pieces->code.len;
    emit(&pieces->code, "i32.const 1 call %u", wasm_final(m, WASM_SPACE_FUNC, p->poll));
    pieces_add(pieces, WASM_BEFORE, at, RANK_END, from, pieces->code.len);
}

/* Adds polls before all other pieces of the function. */
static void polls_enter(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    const Polls *p = self;
    const WasmModule *m = &r->p.m;
    Found found = polls_find(m, func);
    WasmCode code;
    WasmInstr i;
    wasm_func_code(m, func, &code);
    if (found.call)
        polls_put(p, WASM_BEFORE, (uint32_t)(code.at - code.start), pieces);
    while ((found.loop || found.wait) && wasm_next(&code, &i)) {
        if (i.op == WASM_OP_LOOP)
            polls_put(p, WASM_AFTER, i.offset, pieces);
        if (waits(m, &i))
            put_wait(p, m, i.offset, pieces);
    }
}

const RewritePass polls_pass = {
    .name = "polls",
    .size = sizeof(Polls),
    .begin = polls_begin,
    .decide = polls_decide,
    .add = polls_add,
    .fill = polls_fill,
    .enter = polls_enter,
    .free = polls_free,
};
