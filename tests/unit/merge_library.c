/*
 * tests/unit/merge_library.c - makes a library part of a program: merge_library PROGRAM LIBRARY OUT
 * [FUNCTION...]. The functions (without names: all) are exported from the result under the names
 * that they have in the library. The first call of one begins with the library's start function and
 * `_initialize`. Imports that are not WASI's stay imports.
 */
#include <stdio.h>

#include "edit/merge.h"
#include "edit/write.h"
#include "file.h"
#include "link/bridge.h"
#include "valid/valid.h"

typedef struct File {
    Buf bytes;
    WasmModule m;
} File;

static bool load(File *f, const char *name, Diags *diags) {
    if (!read_file(name, &f->bytes))
        return false;
    DiagFileId file = diag_file(diags, name, f->bytes.data, f->bytes.len, true);
    return wasm_load(&f->m, f->bytes.data, f->bytes.len, file, diags);
}

static int64_t resolve(void *ctx, const WasmImport *im) {
    Bridge *b = ctx;
    int64_t handle = bridge_import(b, im);
    return handle == -1 ? wasm_merge_join(b->library, im) : handle;
}

static bool wanted(Str name, char **names, int n) {
    for (int i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    return n == 0 && !str_is(name, "_initialize");
}

static bool exports_name(const WasmModule *m, Str name) {
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (str_eq(m->exports.at[i].name, name))
            return true;
    return false;
}

static bool merge(WasmModule *to, const WasmModule *from, char **names, int n, Diags *diags) {
    WasmTypes roots = {0};
    for (uint32_t i = 0; i < from->exports.len; i++) {
        const WasmExport *e = &from->exports.at[i];
        if (e->space == WASM_SPACE_FUNC && wanted(e->name, names, n))
            vec_push(&roots, e->handle);
    }
    Bridge bridge;
    WasmMerge g = {.to = to,
                   .from = from,
                   .whole = true,
                   .resolve = resolve,
                   .ctx = &bridge,
                   .prefix = STR("lib.")};
    bridge_init(&bridge, &g, diags);
    bool ok = wasm_merge(&g, roots.at, roots.len, diags);
    for (uint32_t i = 0; ok && i < from->exports.len; i++) {
        const WasmExport *e = &from->exports.at[i];
        if (e->space == WASM_SPACE_FUNC && wanted(e->name, names, n) &&
            !exports_name(to, e->name)) {
            uint32_t func = g.handles[WASM_SPACE_FUNC][e->handle];
            wasm_add_export(to, e->name, WASM_SPACE_FUNC, bridge_entry(&bridge, func));
        }
    }
    bridge_free(&bridge);
    wasm_merge_free(&g);
    vec_free(&roots);
    return ok;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        puts("ok 1 - merge_library # SKIP it needs the names of modules");
        return 0;
    }
    File to = {0}, from = {0};
    Diags diags = {0};
    Buf out = {0}, messages = {0};
    bool ok = load(&to, argv[1], &diags) && load(&from, argv[2], &diags) &&
              merge(&to.m, &from.m, argv + 4, argc - 4, &diags) && wasm_write(&to.m, NULL, &out);
    ok = ok && write_file(argv[3], &out);
    diag_render_text(&diags, &messages, false);
    fwrite(messages.data, 1, messages.len, stderr);
    wasm_module_free(&to.m);
    wasm_module_free(&from.m);
    buf_free(&to.bytes);
    buf_free(&from.bytes);
    buf_free(&out);
    buf_free(&messages);
    diag_free(&diags);
    return ok ? 0 : 1;
}
