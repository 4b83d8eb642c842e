/*
 * flush/flush_merge.c - --link=merge: the runtime becomes part of the program.
 */
#include "flush/flush_code.h"

#include "../../stdlib/runtime/values.h" /* VALUES_STACK */
#include "gen/template.h"
#include "link/runtime.h"

static bool flush_merge_merge_runtime(Flush *f, RuntimePlace *place, WasmModule *from,
                                      const bool *used, RuntimeHost host) {
    RuntimeFunc wanted[HELPER_COUNT + 5];
    uint32_t n = 0, report[2] = {0};
    if (f->store->rows.reports)
        wanted[n++] = (RuntimeFunc){"whammc_report", &f->at.report};
    if (f->store->rows.reports && !f->own && host != RUNTIME_NONE)
        wanted[n++] = (RuntimeFunc){"whammc_no_memory", &f->at.no_memory};
    if (f->sums.table.len)
        wanted[n++] = (RuntimeFunc){"whammc_sum", &f->at.sum};
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        if (h != HELPER_FMOD && used[h])
            wanted[n++] = (RuntimeFunc){
                arena_printf(&f->m->arena, "whammc_%s", helper_infos[h].name), &f->helpers[h]};
    bool kept = f->writes.any && host == RUNTIME_NONE; /* the report, in memory */
    if (kept) {
        wanted[n++] = (RuntimeFunc){"whammc_report_ptr", &report[0]};
        wanted[n++] = (RuntimeFunc){"whammc_report_len", &report[1]};
    }
    WasmMerge g = {.to = f->m,
                   .memory = f->at.memory,
                   .resolve = runtime_resolve,
                   .ctx = place,
                   .prefix = place->prefix};
    bool ok =
        runtime_merge(&g, from, runtime_module(host, f->plan->asks.values), wanted, n, f->diags);
    if (ok && kept) {
        wasm_add_export(f->m, text("whammc:report_ptr"), WASM_SPACE_FUNC, report[0]);
        wasm_add_export(f->m, text("whammc:report_len"), WASM_SPACE_FUNC, report[1]);
    }
    return ok;
}

bool flush_merge(Flush *f, const bool *used) {
    bool any = f->store->rows.reports, shows = f->writes.any || used[HELPER_NOW_NS];
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        any |= h != HELPER_FMOD && used[h];
    if (f->store->all_in_memory && !(any && shows))
        wasm_add_export(f->m, text("whammc:memory"), WASM_SPACE_MEMORY, f->at.memory);
    if (!any)
        return true;
    WasmModule from;
    RuntimePlace place = {
        .to = f->m, .from = &from, .memory = f->at.memory, .prefix = text("whammc.")};
    if (shows && !runtime_show(&place, f->host, f->diags))
        return false;
    bool file = f->options->report == REPORT_FILE;
    f->at.stack_pointer = place.stack_pointer = wasm_add_global_i32(
        f->m, true, text("whammc.stack"), f->plan->asks.values ? VALUES_STACK : 0);
    return flush_merge_merge_runtime(f, &place, &from, used, runtime_for(&place, f->host, file));
}
