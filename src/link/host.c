/*
 * link/host.c - finds a program's host from its imports.
 */
#include "link/host.h"

#include <assert.h>

Str host_name(HostChoice host) {
    static const char *const names[] = {"auto", "wasi", "js", "none", "prof", "component"};
    assert(host < sizeof names / sizeof *names);
    return str_of(names[host]);
}

static bool imports_from(const WasmModule *m, const char *module) {
    for (uint32_t i = 0; i < m->input_import_count; i++)
        if (str_is(m->imports.at[i].module, module))
            return true;
    return false;
}

const WasmImport *host_foreign_import(const WasmModule *m) {
    for (uint32_t i = 0; i < m->input_import_count; i++) {
        const WasmImport *im = &m->imports.at[i];
        bool wasi = im->module.len >= 4 && memcmp(im->module.ptr, "wasi", 4) == 0;
        if (im->space == WASM_SPACE_FUNC && !wasi)
            return im;
    }
    return NULL;
}

bool host_uses_wasi(const WasmModule *m) {
    return imports_from(m, "wasi_snapshot_preview1") || imports_from(m, "wasi_unstable");
}

bool host_is_quiet(const WasmImport *im) {
    static const struct {
        const char *module, *name;
    } quiet[] = {
#define QUIET(module, name) {module, name},
#include "link/quiet.def"
    };
    Str module = wasm_is_wasi(im->module) ? STR("wasi_snapshot_preview1") : im->module;
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        if (str_is(module, quiet[i].module) && (!*quiet[i].name || str_is(im->name, quiet[i].name)))
            return true;
    return false;
}

const char *host_wasi_module(const WasmModule *m) {
    bool old = imports_from(m, "wasi_unstable") && !imports_from(m, "wasi_snapshot_preview1");
    return old ? "wasi_unstable" : "wasi_snapshot_preview1";
}
