/*
 * tests/fuzz/fuzz_merge.c - libFuzzer target for merging: what a valid module exports, merged into
 * an empty one, is valid; and so is a program with a library merged into it.
 */
#include "edit/merge.h"
#include "edit/write.h"
#include "link/bridge.h"
#include "valid/valid.h"

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

/* The roots of all tests: all functions that a module exports. */
static WasmTypes exported_functions(const WasmModule *from) {
    WasmTypes roots = {0};
    for (uint32_t k = 0; k < from->exports.len; k++)
        if (from->exports.at[k].space == WASM_SPACE_FUNC)
            vec_push(&roots, from->exports.at[k].handle);
    return roots;
}

/* Merges; the result must be valid, or refused with a message. */
static void merge(WasmMerge *g, Diags *diags) {
    WasmModule again;
    WasmTypes roots = exported_functions(g->from);
    uint32_t half = roots.len / 2;
    Buf out = {0};
    /* In two steps, of which the second has to find what the first has copied. */
    const uint32_t *second = half ? roots.at + half : roots.at;
    bool ok =
        wasm_merge(g, roots.at, half, diags) && wasm_merge(g, second, roots.len - half, diags);
    if (!ok && !diags->errors)
        abort();
    for (uint32_t k = 0; ok && k < roots.len; k++)
        if (g->handles[WASM_SPACE_FUNC][roots.at[k]] >= g->to->funcs.len)
            abort();
    if (ok) {
        if (!wasm_write(g->to, NULL, &out) || !wasm_load(&again, out.data, out.len, 0, diags))
            abort();
        wasm_module_free(&again);
    }
    vec_free(&roots);
    buf_free(&out);
    wasm_merge_free(g);
}

static void merge_code(const WasmModule *from, Diags *diags) {
    WasmModule to;
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
    merge(&g, diags);
    wasm_module_free(&to);
}

static int64_t resolve_library(void *ctx, const WasmImport *im) {
    Bridge *b = ctx;
    int64_t handle = bridge_import(b, im);
    return handle == -1 ? wasm_merge_join(b->library, im) : handle;
}

/* A library into a program, both arbitrary. */
static void merge_library(WasmModule *to, const WasmModule *from, bool memories, Diags *diags) {
    Bridge bridge;
    WasmMerge g = {.to = to,
                   .from = from,
                   .whole = true,
                   .keep_memories = memories,
                   .resolve = resolve_library,
                   .ctx = &bridge,
                   .prefix = STR("lib.")};
    bridge_init(&bridge, &g, diags);
    merge(&g, diags);
    bridge_free(&bridge);
}

/* Where the second of two modules begins; 0 = there is one. */
static size_t second_module(const uint8_t *bytes, size_t size) {
    static const uint8_t magic[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    for (size_t at = sizeof magic; at + sizeof magic <= size; at++)
        if (memcmp(bytes + at, magic, sizeof magic) == 0)
            return at;
    return 0;
}

static bool load(WasmModule *m, const uint8_t *bytes, size_t size, Diags *diags) {
    return wasm_load(m, bytes, size, 0, diags);
}

/* One module, which is then both program and library, or two, one after the other. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    size_t at = second_module(bytes, size);
    Diags diags = {0};
    WasmModule from, to;
    if (load(&from, bytes + at, size - at, &diags)) {
        merge_code(&from, &diags);
        diag_free(&diags);
        diags = (Diags){0};
        if (load(&to, bytes, at ? at : size, &diags))
            merge_library(&to, &from, size & 1, &diags);
        wasm_module_free(&to);
    }
    wasm_module_free(&from);
    diag_free(&diags);
    return 0;
}
