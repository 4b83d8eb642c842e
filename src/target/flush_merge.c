/*
 * target/flush_merge.c - --link=merge: the runtime becomes part of the program.
 */
#include "target/flush_code.h"

#include <stdio.h>

#include "report/runtime.h"
#include "target/program.h"
#include "../../stdlib/runtime/values.h" /* VALUES_STACK */

/* app.copy_in (into the runtime's memory) and app.copy_out: memory.copy between that and the memory
 * that WASI sees. */
static uint32_t add_copy(Flush *f, bool in) {
    Buf code = {0};
    WasmType params[] = {WASM_I32, WASM_I32, WASM_I32};
    uint32_t type = wasm_add_func_type(f->m, params, 3, NULL, 0);
    buf_u8(&code, 0);
    put_copy(&code, f->m, in ? f->memory : f->shown, in ? f->shown : f->memory);
    wasm_put_op(&code, WASM_OP_END);
    return wasm_add_func(f->m, type, text(in ? "whammc.copy_in" : "whammc.copy_out"), &code, false);
}

typedef struct Resolve {
    Flush *f;
    const WasmModule *runtime;
} Resolve;

static int64_t resolve(void *ctx, const WasmImport *import) {
    const Resolve *r = ctx;
    Flush *f = r->f;
    if (str_is(import->module, "env"))
        return str_is(import->name, "memory") ? (int64_t)f->memory : (int64_t)f->stack_pointer;
    if (str_is(import->module, "app"))
        return add_copy(f, str_is(import->name, "copy_in"));
    const WasmTypeDef *t = wasm_func_type(r->runtime, import->handle);
    uint32_t type = wasm_add_func_type(f->m, t->params, t->nparams, t->results, t->nresults);
    bool wasi = str_is(import->module, "wasi_snapshot_preview1");
    Str module = wasi ? text(program_wasi_module(f->m)) : import->module;
    int64_t have = wasm_find_import(f->m, module, import->name);
    if (have >= 0 && f->m->funcs.at[have].type == type)
        return have;
    return wasm_add_import_func(f->m, module, import->name, type);
}

static RuntimeHost runtime_for(const Flush *f) {
    bool file = f->options->report == REPORT_FILE;
    switch (f->host) {
    case HOST_JS: return RUNTIME_JS;
    case HOST_WASI:
        if (f->memory != f->shown)
            return file ? RUNTIME_BORROW_FILE : RUNTIME_BORROW;
        return file ? RUNTIME_WASI_FILE : RUNTIME_WASI;
    default: return RUNTIME_NONE;
    }
}

/* What is wanted of the runtime: functions by the names of their exports. */
typedef struct Roots {
    const WasmModule *from;
    Vec(uint32_t) funcs;
} Roots;

/* The root's number, or -1 if there is no such function. */
static int64_t add_root(Roots *r, const char *name) {
    const WasmExport *e = wasm_find_export(r->from, WASM_SPACE_FUNC, text(name));
    if (!e)
        return -1;
    vec_push(&r->funcs, e->handle);
    return r->funcs.len - 1;
}

static void merge_runtime(Flush *f, const WasmModule *from, const bool *used, bool *ok) {
    static const char *const pointers[] = {"whammc_report_ptr", "whammc_report_len"};
    static const char *const exports[] = {"whammc:report_ptr", "whammc:report_len"};
    Roots roots = {.from = from};
    int64_t report = f->store->reports ? add_root(&roots, "whammc_report") : -1;
    int64_t helpers[HELPER_COUNT], where[2];
    char name[64];
    for (uint32_t h = 0; h < HELPER_COUNT; h++) {
        snprintf(name, sizeof name, "whammc_%s", helper_infos[h].name);
        helpers[h] = h != HELPER_FMOD && used[h] ? add_root(&roots, name) : -1;
    }
    for (uint32_t i = 0; i < 2; i++)
        where[i] = f->writes ? add_root(&roots, pointers[i]) : -1;
    Resolve r = {f, from};
    WasmMerge g = {.to = f->m,
                   .from = from,
                   .memory = f->memory,
                   .resolve = resolve,
                   .ctx = &r,
                   .prefix = text("whammc.")};
    *ok = wasm_merge(&g, roots.funcs.at, roots.funcs.len, f->diags);
    const uint32_t *handles = g.handles[WASM_SPACE_FUNC];
    if (*ok && report >= 0)
        f->report = handles[roots.funcs.at[report]];
    for (uint32_t h = 0; *ok && h < HELPER_COUNT; h++)
        if (helpers[h] >= 0)
            f->helpers[h] = handles[roots.funcs.at[helpers[h]]];
    for (uint32_t i = 0; *ok && i < 2; i++)
        if (where[i] >= 0)
            wasm_add_export(f->m, text(exports[i]), WASM_SPACE_FUNC,
                            handles[roots.funcs.at[where[i]]]);
    if (*ok)
        wasm_merge_free(&g);
    vec_free(&roots.funcs);
}

/* What the host sees of the runtime's memory. WASI looks at the export 'memory'; a program that has
 * none needs WASI for nothing that reads memory, so it can be ours. */
static bool show_memory(Flush *f) {
    bool wasi = f->host == HOST_WASI;
    f->shown = f->memory;
    for (uint32_t i = 0; wasi && i < f->m->exports.len; i++) {
        const WasmExport *e = &f->m->exports.at[i];
        if (!str_is(e->name, "memory"))
            continue;
        f->shown = e->handle;
        if (e->space == WASM_SPACE_MEMORY)
            return true;
        diag(f->diags, DIAG_CANNOT_HOST, (Span){f->file, 0, 0},
             "WASI looks at the exported 'memory', but the program exports a %s under that name",
             wasm_space_name((WasmSpace)e->space));
        return false;
    }
    wasm_add_export(f->m, text(wasi ? "memory" : "whammc:memory"), WASM_SPACE_MEMORY, f->memory);
    return true;
}

bool flush_merge(Flush *f, const bool *used) {
    bool any = f->store->reports;
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        any |= h != HELPER_FMOD && used[h];
    if (!any)
        return true;
    if ((f->writes || used[HELPER_NOW_NS]) && !show_memory(f))
        return false;
    RuntimeModule rt = runtime_module(runtime_for(f), f->plan->uses_values);
    WasmModule from;
    f->stack_pointer = wasm_add_global_i32(f->m, true, text("whammc.stack"),
                                           f->plan->uses_values ? VALUES_STACK : 0);
    bool ok = wasm_read(&from, rt.bytes, rt.len, 0, f->diags);
    if (ok)
        merge_runtime(f, &from, used, &ok);
    wasm_module_free(&from);
    return ok;
}
