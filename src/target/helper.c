/*
 * target/helper.c - functions of the runtime that templates call.
 */
#include "target/helper.h"

#include "report/runtime.h"

static void note_calls(const Template *t, bool used[HELPER_COUNT]) {
    for (uint32_t i = 0; t && i < t->nholes; i++)
        if (t->holes[i].kind == HOLE_HELPER)
            used[t->holes[i].n] = true;
}

void helpers_used(const Plan *plan, const Template *const *init, bool used[HELPER_COUNT]) {
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        note_calls(plan->shapes.at[i]->template, used);
        note_calls(plan->shapes.at[i]->predicate, used);
        note_calls(plan->shapes.at[i]->init, used);
        note_calls(plan->shapes.at[i]->exit, used);
    }
    for (uint32_t i = 0; i < plan->fns.len; i++)
        note_calls(plan->fns.at[i].template, used);
    for (uint32_t i = 0; i < plan->probes.len; i++)
        note_calls(plan->probes.at[i].init, used);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        note_calls(init[i], used);
        note_calls(plan->exits[i], used);
    }
    /* text goes out at the latest when the program ends */
    for (uint32_t h = HELPER_PUTC; h < HELPER_FLUSH; h++)
        used[HELPER_FLUSH] |= used[h];
}

/* The module imports nothing that its functions need. */
static int64_t resolve(void *ctx, const WasmImport *import) {
    (void)ctx, (void)import;
    return -1;
}

bool helpers_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags) {
    RuntimeModule rt = runtime_arithmetic();
    WasmModule from;
    bool ok = wasm_read(&from, rt.bytes, rt.len, 0, diags);
    uint32_t root =
        ok ? wasm_find_export(&from, WASM_SPACE_FUNC, str_of("whammc_fmod"))->handle : 0;
    WasmMerge g = {.to = m, .from = &from, .resolve = resolve, .prefix = str_of("whammc.")};
    ok = ok && wasm_merge(&g, &root, 1, diags);
    if (ok) {
        *handle = g.handles[WASM_SPACE_FUNC][root];
        wasm_merge_free(&g);
    }
    wasm_module_free(&from);
    return ok;
}
