/*
 * flush/flush_merge.c - --link=merge: the runtime becomes part of the program.
 */
#include "flush/flush_code.h"

#include <stdio.h>

#include "link/runtime.h"
#include "../../stdlib/runtime/values.h" /* VALUES_STACK */
#include "edit/merge.h"
#include "valid/valid.h"
#include "gen/template.h"

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

static void merge_runtime(Flush *f, RuntimePlace *place, const bool *used, bool *ok) {
    static const char *const pointers[] = {"whammc_report_ptr", "whammc_report_len"};
    static const char *const exports[] = {"whammc:report_ptr", "whammc:report_len"};
    Roots roots = {.from = place->from};
    int64_t report = f->store->reports ? add_root(&roots, "whammc_report") : -1;
    int64_t helpers[HELPER_COUNT], where[2];
    char name[64];
    for (uint32_t h = 0; h < HELPER_COUNT; h++) {
        snprintf(name, sizeof name, "whammc_%s", helper_infos[h].name);
        helpers[h] = h != HELPER_FMOD && used[h] ? add_root(&roots, name) : -1;
        if (h != HELPER_FMOD && used[h] && helpers[h] < 0) {
            diag(f->diags, DIAG_INTERNAL, NO_SPAN, "the runtime has no function %s", name);
            *ok = false;
        }
    }
    for (uint32_t i = 0; i < 2; i++)
        where[i] = f->writes ? add_root(&roots, pointers[i]) : -1;
    WasmMerge g = {.to = f->m,
                   .from = place->from,
                   .memory = f->at.memory,
                   .resolve = runtime_resolve,
                   .ctx = place,
                   .prefix = place->prefix};
    *ok = *ok && wasm_merge(&g, roots.funcs.at, roots.funcs.len, f->diags);
    const uint32_t *handles = g.handles[WASM_SPACE_FUNC];
    if (*ok && report >= 0)
        f->at.report = handles[roots.funcs.at[report]];
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

bool flush_merge(Flush *f, const bool *used) {
    bool any = f->store->reports;
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        any |= h != HELPER_FMOD && used[h];
    if (!any)
        return true;
    WasmModule from;
    RuntimePlace place = {
        .to = f->m, .from = &from, .memory = f->at.memory, .prefix = text("whammc.")};
    if ((f->writes || used[HELPER_NOW_NS]) && !runtime_show(&place, f->host, f->diags))
        return false;
    bool file = f->options->report == REPORT_FILE;
    RuntimeModule rt = runtime_module(runtime_for(&place, f->host, file), f->plan->uses_values);
    f->at.stack_pointer = place.stack_pointer = wasm_add_global_i32(
        f->m, true, text("whammc.stack"), f->plan->uses_values ? VALUES_STACK : 0);
    bool ok = wasm_load_own(&from, rt.bytes, rt.len, f->diags);
    if (ok)
        merge_runtime(f, &place, used, &ok);
    wasm_module_free(&from);
    return ok;
}
