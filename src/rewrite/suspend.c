/*
 * rewrite/suspend.c - where a program's stack is left and resumed.
 */
#include "rewrite/suspend.h"

#include "rewrite/pass.h"
#include "wasm/emit.h"

bool stacks_are_asyncifys(const WasmAsyncify *asyncify) {
    return asyncify->found && asyncify->rewind != UINT32_MAX;
}

bool stacks_are_continuations(const WasmModule *m) {
    WasmOpSet leaving = {0};
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        if (wasm_leaves_stack(op))
            op_set_add(&leaving, (uint16_t)op);
    bool any = false;
    for (uint32_t f = 0; m->ops && f < m->input_count[WASM_SPACE_FUNC]; f++)
        any |= op_sets_meet(&m->ops[f], &leaving);
    return any;
}

/* ---- programs of several modules ---- */

static const struct {
    Helper helper;
    const char *name;
} called_by_others[] = {{HELPER_TREE_HERE, "whammc:tree_here"},
                        {HELPER_TREE_PARENT, "whammc:tree_parent"},
                        {HELPER_TREE_FUNCTION, "whammc:tree_function"},
                        {HELPER_TREE_SITE, "whammc:tree_site"},
                        {HELPER_TREE_DESCEND_AT, "whammc:tree_descend"},
                        {HELPER_TREE_GO_UNTIMED, "whammc:tree_go_untimed"}};
enum { CALLED_BY_OTHERS = sizeof called_by_others / sizeof *called_by_others };

/* Whether the module is linked dynamically, by the tools' convention
 * (https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md). */
static bool is_linked(const WasmModule *m) {
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CUSTOM &&
            (str_is(m->sections.at[i].name, "dylink.0") ||
             str_is(m->sections.at[i].name, "dylink")))
            return true;
    return false;
}

uint32_t stacks_module_id(const WasmModule *m, HostChoice host, bool linked) {
    if (host != HOST_JS || !(linked || is_linked(m)) || stacks_are_continuations(m))
        return 0;
    uint32_t id = (uint32_t)(hash_more(HASH_START, m->bytes, m->size) >> 32);
    return id ? id : 1;
}

/* ---- */

bool stacks_are_hosts(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                      uint32_t module_id) {
    bool imports = false;
    for (uint32_t i = 0; i < m->input_import_count; i++)
        imports |=
            m->imports.at[i].space == WASM_SPACE_FUNC && !wasm_is_wasi(m->imports.at[i].module);
    return (!stacks_are_asyncifys(asyncify) && !stacks_are_continuations(m) && host == HOST_JS &&
            imports) ||
           module_id;
}

bool stacks_may_change(const WasmModule *m, const WasmAsyncify *asyncify, HostChoice host,
                       uint32_t module_id) {
    return stacks_are_asyncifys(asyncify) || stacks_are_continuations(m) ||
           stacks_are_hosts(m, asyncify, host, module_id);
}

/* ---- the pass ---- */

static void stacks_decide(Rewrite *r, void *self) {
    (void)self;
    const WasmAsyncify *asyncify = &r->p.matcher.survey.asyncify;
    if (!stacks_are_asyncifys(asyncify) || !(r->once.suspend.len || r->once.resume.len))
        return;
    r->p.touched[asyncify->unwind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
    r->p.touched[asyncify->rewind] |= TOUCHED | TOUCHED_SITE | TOUCHED_END;
}

/* Whether other modules call helpers: the scripts have a tree. */
static bool is_called_by_others(const Rewrite *r, const bool *used) {
    return r->p.plan->program.module_id && used[HELPER_TREE_HERE];
}

static void stacks_reach(Rewrite *r, void *self, Reach *reach) {
    (void)self;
    bool called = is_called_by_others(r, reach->helpers);
    for (uint32_t i = 0; called && i < CALLED_BY_OTHERS; i++)
        reach->helpers[called_by_others[i].helper] = true;
}

/* Exports `whammc:suspend` and `whammc:resume` to the host, unless functions of the program call
 * these; always to other modules, with the helpers that they call. */
static void stacks_finish(Rewrite *r, void *self, const Reach *reach) {
    (void)self;
    WasmModule *m = &r->p.m;
    const FlushHandles *at = &r->flush.at;
    bool own = stacks_are_asyncifys(&r->p.matcher.survey.asyncify) || r->stacks.followed;
    if (own && !r->p.plan->program.module_id)
        return;
    if (at->suspend != UINT32_MAX)
        wasm_add_export(m, STR("whammc:suspend"), WASM_SPACE_FUNC, at->suspend);
    if (at->resume != UINT32_MAX)
        wasm_add_export(m, STR("whammc:resume"), WASM_SPACE_FUNC, at->resume);
    bool called = is_called_by_others(r, reach->helpers);
    for (uint32_t i = 0; called && i < CALLED_BY_OTHERS; i++)
        wasm_add_export(m, str_of(called_by_others[i].name), WASM_SPACE_FUNC,
                        r->helpers[called_by_others[i].helper]);
}

/* Calls the scripts' code from the functions that set Asyncify's state. */
static void stacks_leave(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    (void)self;
    const WasmAsyncify *asyncify = &r->p.matcher.survey.asyncify;
    const WasmModule *m = &r->p.m;
    if (!stacks_are_asyncifys(asyncify))
        return;
    uint32_t called = func == asyncify->unwind   ? r->flush.at.suspend
                      : func == asyncify->rewind ? r->flush.at.resume
                                                 : UINT32_MAX;
    if (called == UINT32_MAX)
        return;
    size_t from = pieces->code.len;
    emit(&pieces->code, "global.get %u", wasm_final(m, WASM_SPACE_GLOBAL, asyncify->data));
    emit_resize(&pieces->code, m->globals.at[asyncify->data].type, WASM_I32);
    emit_calls(&pieces->code, m, &called, 1);
    pieces_add_exit(pieces, from, PIECE_RETURNS);
}

const RewritePass stacks_pass = {
    .name = "stacks",
    .decide = stacks_decide,
    .reach = stacks_reach,
    .finish = stacks_finish,
    .leave = stacks_leave,
};
