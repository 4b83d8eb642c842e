/*
 * flush/flush_library.c - user libraries become imports or parts of the program.
 */
#include "flush/flush_library.h"

#include "edit/merge.h"
#include "library/builtin.h"
#include "link/bridge.h"
#include "link/import_library.h"

/* --link=import: each function is an import. */
static void import_functions(WasmModule *m, Plan *plan) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        LibraryFn *fn = &plan->library_fns.at[i];
        if (!fn->runs || fn->bundled)
            continue;
        fn->handle = wasm_need_import_func(m, fn->library->import_as, fn->name,
                                           wasm_func_type(&fn->library->module, fn->func));
    }
}

/* Adds functions that are imports with any --link. False after a message if the host lacks one. */
static bool import_bundled(const Flush *f, Plan *plan) {
    bool ok = true;
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        LibraryFn *fn = &plan->library_fns.at[i];
        if (!fn->runs || !fn->bundled || bundled_kind(fn->bundled) != BUNDLED_IMPORT)
            continue;
        ok &= library_check_host(fn->bundled, f->host, fn->called, f->diags);
        fn->handle = library_import_bundled(f->m, fn->bundled);
    }
    return ok;
}

/* ---- --link=merge ---- */

static int64_t flush_library_resolve(void *ctx, const WasmImport *import) {
    Bridge *b = ctx;
    int64_t handle = bridge_import(b, import);
    return handle == -1 ? wasm_merge_join(b->library, import) : handle;
}

/* Sets the handles of the library's called functions. Functions that the library needs called first
 * run when the program starts or, if that is too early for WASI, at its first call. */
static void take_functions(Flush *f, Plan *plan, Library *lib, const WasmMerge *g, Bridge *bridge) {
    bool late = flush_starts_late(f);
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        LibraryFn *fn = &plan->library_fns.at[i];
        if (fn->library != lib || !fn->runs)
            continue;
        uint32_t func = g->handles[WASM_SPACE_FUNC][fn->func];
        fn->handle = late ? func : bridge_entry(bridge, func);
    }
    if (late && g->start >= 0)
        vec_push(&f->at.library_starts, (uint32_t)g->start);
    if (late && g->initialize >= 0)
        vec_push(&f->at.library_starts, (uint32_t)g->initialize);
}

/* Exports an entity of the library as "NAME:X". */
static bool add_host_export(Flush *f, const Library *lib, Str x, WasmSpace space, uint32_t handle) {
    Str name = str_of(arena_printf(&f->m->arena, "%.*s:%.*s", STR_ARG(lib->name), STR_ARG(x)));
    for (uint32_t i = 0; i < f->m->exports.len; i++)
        if (str_eq(f->m->exports.at[i].name, name)) {
            diag(f->diags, DIAG_CANNOT_MERGE, (Span){lib->module.file, 0, 0},
                 "the library exports 'host:%.*s', but there is an export '%.*s' already",
                 STR_ARG(x), STR_ARG(name));
            return false;
        }
    wasm_add_export(f->m, name, space, handle);
    return true;
}

/* Exports what the library exports as "host:X", and then its memory, too. */
static bool export_to_host(Flush *f, const Library *lib, WasmMerge *g, Bridge *bridge) {
    const Str mark = STR("host:");
    const WasmExport *memory = NULL;
    for (uint32_t i = 0; i < lib->module.exports.len; i++) {
        const WasmExport *e = &lib->module.exports.at[i];
        if (!str_begins(e->name, mark))
            continue;
        if (!wasm_merge_one(g, e->space, e->handle, f->diags))
            return false;
        uint32_t handle = g->handles[e->space][e->handle];
        if (e->space == WASM_SPACE_FUNC && !flush_starts_late(f))
            handle = bridge_entry(bridge, handle);
        Str x = {e->name.ptr + mark.len, e->name.len - mark.len};
        if (!add_host_export(f, lib, x, e->space, handle))
            return false;
        memory = library_memory(lib);
    }
    if (!memory)
        return true;
    return wasm_merge_one(g, WASM_SPACE_MEMORY, memory->handle, f->diags) &&
           add_host_export(f, lib, STR("memory"), WASM_SPACE_MEMORY,
                           g->handles[WASM_SPACE_MEMORY][memory->handle]);
}

static bool merge_library(Flush *f, Plan *plan, Library *lib) {
    Vec(uint32_t) roots = {0};
    Bridge bridge;
    const char *prefix = arena_printf(&f->m->arena, "%.*s.", STR_ARG(lib->name));
    WasmMerge g = {.to = f->m,
                   .from = &lib->module,
                   .whole = true,
                   .keep_memories = lib->memory_runs,
                   .resolve = flush_library_resolve,
                   .ctx = &bridge,
                   .prefix = str_of(prefix)};
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        LibraryFn *fn = &plan->library_fns.at[i];
        if (fn->library != lib || !fn->runs)
            continue;
        fn->func = library_thunk_target(&lib->module, fn->func);
        vec_push(&roots, fn->func);
    }
    bridge_init(&bridge, &g, f->diags);
    bool any = roots.len || lib->memory_runs;
    bool ok = !any || wasm_merge(&g, roots.at, roots.len, f->diags);
    if (ok && any) {
        take_functions(f, plan, lib, &g, &bridge);
        ok = export_to_host(f, lib, &g, &bridge);
    }
    if (ok && lib->memory_runs)
        lib->memory = g.handles[WASM_SPACE_MEMORY][library_memory(lib)->handle];
    bridge_free(&bridge);
    wasm_merge_free(&g);
    vec_free(&roots);
    return ok;
}

/* ---- */

bool libraries_link(Flush *f) {
    Plan *plan = f->matcher->plan;
    bool ok = import_bundled(f, plan);
    if (f->options->link == LINK_IMPORT)
        import_functions(f->m, plan);
    for (uint32_t i = 0; i < plan->libraries->list.len; i++) {
        Library *lib = plan->libraries->list.at[i];
        if (f->options->link != LINK_IMPORT)
            ok &= merge_library(f, plan, lib);
        else if (lib->memory_runs)
            library_import_memory(f->m, lib);
    }
    return ok;
}
