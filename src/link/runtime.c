/*
 * link/runtime.c - a runtime becomes part of a module.
 */
#include "link/runtime.h"

#include "../../stdlib/runtime/values.h" /* the layout of the state */
#include "valid/valid.h"
#include "wasm/emit.h"

#include <assert.h>

/* app.copy_in (into the runtime's memory) and app.copy_out: memory.copy between that and the memory
 * that the host sees. */
static uint32_t runtime_add_copy(const RuntimePlace *p, Str name) {
    WasmModule *to = p->to;
    bool in = str_is(name, "copy_in");
    Buf code = {0};
    WasmType params[] = {WASM_I32, WASM_I32, WASM_I32};
    uint32_t type = wasm_add_func_type(to, params, 3, NULL, 0);
    emit_copy(&code, to, in ? p->memory : p->shown, in ? p->shown : p->memory);
    const char *full = arena_printf(&to->arena, "%.*s%.*s", STR_ARG(p->prefix), STR_ARG(name));
    return wasm_add_func(to, type, str_of(full), &code, false);
}

int64_t runtime_resolve(void *ctx, const WasmImport *import) {
    const RuntimePlace *p = ctx;
    if (str_is(import->module, "env"))
        return str_is(import->name, "memory") ? p->memory : p->stack_pointer;
    if (str_is(import->module, "app"))
        return runtime_add_copy(p, import->name);
    bool wasi = str_is(import->module, "wasi_snapshot_preview1");
    Str module = wasi ? str_of(host_wasi_module(p->to)) : import->module;
    return wasm_need_import_func(p->to, module, import->name,
                                 wasm_func_type(p->from, import->handle));
}

bool runtime_merge(WasmMerge *g, WasmModule *from, RuntimeModule rt, const RuntimeFunc *wanted,
                   uint32_t n, Diags *diags) {
    assert(!g->from);
    uint32_t *roots = mem_alloc(sizeof *roots * (n + 1u));
    bool ok = wasm_load_own(from, rt.bytes, rt.len, diags);
    g->from = from;
    for (uint32_t i = 0; ok && i < n; i++) {
        const WasmExport *e = wasm_find_export(from, WASM_SPACE_FUNC, str_of(wanted[i].name));
        if (!e)
            diag(diags, DIAG_INTERNAL, NO_SPAN, "the runtime has no function %s", wanted[i].name);
        ok = e != NULL;
        roots[i] = e ? e->handle : 0;
    }
    ok = ok && wasm_merge(g, roots, n, diags);
    for (uint32_t i = 0; ok && i < n; i++)
        *wanted[i].handle = g->handles[WASM_SPACE_FUNC][roots[i]];
    if (ok)
        wasm_merge_free(g);
    wasm_module_free(from);
    free(roots);
    return ok;
}

/* The module imports nothing that fmod needs. */
static int64_t no_import(void *ctx, const WasmImport *import) {
    (void)ctx, (void)import;
    return -1;
}

bool runtime_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags) {
    WasmModule from;
    WasmMerge g = {.to = m, .resolve = no_import, .prefix = STR("whammc.")};
    const RuntimeFunc fmod = {"whammc_fmod", handle};
    return runtime_merge(&g, &from, runtime_arithmetic(), &fmod, 1, diags);
}

bool runtime_show(RuntimePlace *p, HostChoice host, Diags *diags) {
    WasmModule *to = p->to;
    bool wasi = host == HOST_WASI;
    p->shown = p->memory;
    for (uint32_t k = 0; wasi && k < to->exports.len; k++) {
        const WasmExport *e = &to->exports.at[k];
        if (!str_is(e->name, "memory"))
            continue;
        p->shown = e->handle;
        if (e->space == WASM_SPACE_MEMORY)
            return true;
        diag(diags, DIAG_CANNOT_HOST, (Span){to->file, 0, 0},
             "WASI looks at the exported 'memory', but the program exports a %s under that name",
             wasm_space_name((WasmSpace)e->space));
        return false;
    }
    wasm_add_export(to, wasi ? STR("memory") : STR("whammc:memory"), WASM_SPACE_MEMORY, p->memory);
    return true;
}

RuntimeHost runtime_for(const RuntimePlace *p, HostChoice host, bool file) {
    switch (host) {
    case HOST_JS:
    case HOST_COMPONENT: return RUNTIME_JS;
    case HOST_WASI:
        if (p->memory != p->shown)
            return file ? RUNTIME_BORROW_FILE : RUNTIME_BORROW;
        return file ? RUNTIME_WASI_FILE : RUNTIME_WASI;
    case HOST_NONE:
    case HOST_PROF:
    case HOST_AUTO: break;
    }
    return RUNTIME_NONE;
}

HostChoice runtime_host(const WasmModule *m, HostChoice wanted, bool wasi) {
    if (wanted != HOST_AUTO)
        return wanted;
    if (host_foreign_import(m))
        return HOST_JS;
    wasi |= host_uses_wasi(m);
    return wasi ? HOST_WASI : m->input_import_count ? HOST_JS : HOST_NONE;
}

void host_report_no_clock(Diags *diags, Span interval) {
    Diag *d = diag(diags, DIAG_CANNOT_HOST, interval,
                   "wasm:interval needs a clock, which the host 'none' does not have");
    diag_hint(diags, d, "use --host=wasi or --host=js");
}

Str runtime_host_reason(const WasmModule *m, HostChoice decided, Arena *arena) {
    const WasmImport *im = host_foreign_import(m);
    if (decided == HOST_JS && !im)
        im = m->imports.at;
    if (decided == HOST_JS)
        return str_of(arena_printf(arena,
                                   "the program imports %.*s.%.*s, which is not part of WASI",
                                   STR_ARG(im->module), STR_ARG(im->name)));
    if (decided == HOST_NONE)
        return STR("the program imports nothing");
    return host_uses_wasi(m) ? STR("the program imports WASI") : STR("a library imports WASI");
}

void runtime_add_state(WasmModule *m, uint32_t memory, const RuntimeState *s, Str name) {
    assert(memory < m->memories.len);
    Buf state = {0};
    const uint64_t fields[] = {[VALUES_HEAP / 4] = s->heap,
                               [VALUES_MAPS / 4] = s->maps,
                               [VALUES_NMAPS / 4] = s->nmaps,
                               [VALUES_IMAGE / 4] = s->image,
                               [VALUES_IMAGE_LEN / 4] = s->image_len};
    for (uint32_t k = 0; k < VALUES_FIELDS / 4; k++)
        buf_u32le(&state, (uint32_t)fields[k]);
    wasm_add_data_active(m, memory, VALUES_STATE, &state, name);
}
