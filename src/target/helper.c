/*
 * target/helper.c - functions of the runtime that templates call.
 */
#include "target/helper.h"

#include "report/runtime.h"

static const char *const exports[HELPER_COUNT] = {[HELPER_FMOD] = "whammc_fmod"};

static void note_calls(const Template *t, bool used[HELPER_COUNT]) {
    for (uint32_t i = 0; t && i < t->nholes; i++)
        if (t->holes[i].kind == HOLE_HELPER)
            used[t->holes[i].n] = true;
}

/* The helpers' module imports nothing that they need. */
static int64_t resolve(void *ctx, const WasmImport *import) {
    (void)ctx, (void)import;
    return -1;
}

bool helpers_add(WasmModule *m, const Plan *plan, const Template *const *init,
                 uint32_t handles[HELPER_COUNT], Diags *diags) {
    bool used[HELPER_COUNT] = {false};
    uint32_t roots[HELPER_COUNT], n = 0;
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        note_calls(plan->shapes.at[i]->template, used);
        note_calls(plan->shapes.at[i]->predicate, used);
        note_calls(plan->shapes.at[i]->init, used);
        note_calls(plan->shapes.at[i]->exit, used);
    }
    for (uint32_t i = 0; i < plan->fns.len; i++)
        note_calls(plan->fns.at[i].template, used);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        note_calls(init[i], used);
        note_calls(plan->exits[i], used);
    }
    RuntimeModule rt = runtime_arithmetic();
    WasmModule from;
    bool any = false;
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        any |= used[h];
    if (!any)
        return true;
    bool ok = wasm_read(&from, rt.bytes, rt.len, 0, diags);
    for (uint32_t h = 0; ok && h < HELPER_COUNT; h++)
        if (used[h])
            roots[n++] = wasm_find_export(&from, WASM_SPACE_FUNC, str_of(exports[h]))->handle;
    WasmMerge g = {.to = m, .from = &from, .resolve = resolve, .prefix = str_of("whammc.")};
    ok = ok && wasm_merge(&g, roots, n, diags);
    for (uint32_t h = 0, k = 0; ok && h < HELPER_COUNT; h++)
        if (used[h])
            handles[h] = g.handles[WASM_SPACE_FUNC][roots[k++]];
    if (ok)
        wasm_merge_free(&g);
    wasm_module_free(&from);
    return ok;
}
