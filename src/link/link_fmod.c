/*
 * link/link_fmod.c - arithmetic that templates call.
 */
#include "link/link_fmod.h"

#include "report/embedded.h"
#include "edit/merge.h"
#include "valid/valid.h"

/* The module imports nothing that its functions need. */
static int64_t resolve(void *ctx, const WasmImport *import) {
    (void)ctx, (void)import;
    return -1;
}

bool link_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags) {
    RuntimeModule rt = runtime_arithmetic();
    WasmModule from;
    bool ok = wasm_load_own(&from, rt.bytes, rt.len, diags);
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
