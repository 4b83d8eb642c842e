/*
 * tests/fuzz/fuzz_merge.c - libFuzzer target for merging: what a valid module exports, merged into
 * an empty one, is valid.
 */
#include "wasm/valid.h"

typedef struct Merging {
    const WasmModule *from;
    WasmModule *to;
} Merging;

/* Imports of functions and globals become imports, those of tags become tags. */
static int64_t resolve(void *ctx, const WasmImport *im) {
    Merging *x = ctx;
    if (im->space == WASM_SPACE_GLOBAL) {
        const WasmGlobal *g = &x->from->globals.at[im->handle];
        if (WASM_IS_REF(g->type))
            return -1;
        return wasm_add_import_global(x->to, im->module, im->name, g->type, g->mutable);
    }
    uint32_t index = im->space == WASM_SPACE_FUNC  ? x->from->funcs.at[im->handle].type
                     : im->space == WASM_SPACE_TAG ? x->from->tags.at[im->handle].type
                                                   : UINT32_MAX;
    if (index == UINT32_MAX)
        return -1;
    const WasmTypeDef *d = &x->from->types.at[index];
    for (uint32_t k = 0; k < d->nparams + d->nresults; k++)
        if (WASM_IS_REF(k < d->nparams ? d->params[k] : d->results[k - d->nparams]))
            return -1;
    if (!d->final || d->has_super || d->group_len > 1)
        return -1;
    uint32_t type = wasm_add_func_type(x->to, d->params, d->nparams, d->results, d->nresults);
    if (im->space == WASM_SPACE_TAG)
        return wasm_add_tag(x->to, type, im->name);
    return wasm_add_import_func(x->to, im->module, im->name, type);
}

static void merge(const WasmModule *from, Diags *diags) {
    WasmModule to, again;
    wasm_module_init(&to);
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    if (from->memories.len)
        limits.is64 = from->memories.at[0].limits.is64;
    Merging x = {from, &to};
    WasmMerge g = {.to = &to,
                   .from = from,
                   .memory = wasm_add_memory(&to, limits, STR("")),
                   .resolve = resolve,
                   .ctx = &x,
                   .prefix = STR("m.")};
    WasmTypes roots = {0};
    Buf out = {0};
    for (uint32_t k = 0; k < from->exports.len; k++)
        if (from->exports.at[k].space == WASM_SPACE_FUNC)
            vec_push(&roots, from->exports.at[k].handle);
    if (wasm_merge(&g, roots.at, roots.len, diags)) {
        if (!wasm_write(&to, NULL, &out) || !wasm_read(&again, out.data, out.len, 0, diags) ||
            !wasm_validate(&again, diags))
            abort();
        wasm_module_free(&again);
    }
    vec_free(&roots);
    buf_free(&out);
    wasm_merge_free(&g);
    wasm_module_free(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diags diags = {0};
    WasmModule m;
    if (wasm_read(&m, bytes, size, 0, &diags) && wasm_validate(&m, &diags))
        merge(&m, &diags);
    wasm_module_free(&m);
    diag_free(&diags);
    return 0;
}
