/*
 * link/import_library.c - libraries of scripts as imports of a module.
 */
#include "link/import_library.h"

#include "library/builtin.h"

#include <assert.h>

static WasmType letter(char c) {
    return type_wasm(bundled_type(c));
}

uint32_t library_import_bundled(WasmModule *m, const BundledFn *fn) {
    WasmType params[8], result = *fn->result ? letter(*fn->result) : WASM_NONE;
    WasmTypeDef type = {.params = params, .results = &result, .nresults = *fn->result != 0};
    for (; fn->params[type.nparams]; type.nparams++)
        params[type.nparams] = letter(fn->params[type.nparams]);
    Str module = bundled_is_ours(fn) ? STR("whammc") : str_of(fn->library);
    return wasm_need_import_func(m, module, str_of(fn->name), &type);
}

/* OUT.js, of --host=js, has all of them. */
static bool import_library_has_function(HostChoice host, const BundledFn *fn) {
    return host == HOST_JS || host == HOST_NONE || (host == HOST_PROF && !bundled_is_ours(fn));
}

bool library_check_host(const BundledFn *fn, HostChoice host, Span span, Diags *diags) {
    if (import_library_has_function(host, fn))
        return true;
    Diag *d = diag(diags, DIAG_CANNOT_HOST, span, "the host %.*s has no function `%s.%s`",
                   STR_ARG(host_name(host)), fn->library, fn->name);
    diag_hint(diags, d,
              bundled_is_ours(fn) ? "call it only in JavaScript: / HOST == \"js\" /"
                                  : "call it only there: / HOST == \"prof\" /");
    return false;
}

void library_import_memory(WasmModule *m, Library *lib) {
    assert(!m->layout.done);
    const WasmExport *e = library_memory(lib);
    WasmLimits limits = lib->module.memories.at[e->handle].limits;
    limits.has_max &= limits.shared; /* it may be larger at run time, and have any maximum */
    lib->memory = wasm_add_import_memory(m, lib->import_as, e->name, limits);
}
