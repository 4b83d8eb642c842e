/*
 * flush/flush_threads.c - programs with threads, which have an instance in each: which thread it
 * is.
 *
 * In JavaScript the host tells it, by a global that is imported. Under WASI the number is what the
 * host passes to `wasi_thread_start`, which therefore becomes a function of ours.
 */
#include "flush/flush_code.h"

bool flush_has_threads(const WasmModule *m) {
    for (uint32_t i = 0; i < m->memories.len; i++)
        if (m->memories.at[i].import >= 0 && m->memories.at[i].limits.shared)
            return true;
    return false;
}

/* The export of the function in which a thread begins: (number, argument); NULL = there is none. */
static WasmExport *find_start(WasmModule *m) {
    static const WasmType params[] = {WASM_I32, WASM_I32};
    int64_t type = wasm_find_func_type(m, params, 2, NULL, 0);
    for (uint32_t i = 0; type >= 0 && i < m->exports.len; i++) {
        WasmExport *e = &m->exports.at[i];
        if (e->space == WASM_SPACE_FUNC && str_is(e->name, "wasi_thread_start"))
            return m->funcs.at[e->handle].type == (uint32_t)type ? e : NULL;
    }
    return NULL;
}

/* Replaces it by a function that first keeps the number in a global. */
static void wrap_start(Flush *f, WasmExport *start) {
    Buf none = {0};
    f->at.thread = wasm_add_global_i32(f->m, true, text("whammc.thread"), 0);
    f->at.begins = start->handle;
    f->at.thread_start = wasm_add_func(f->m, f->m->funcs.at[start->handle].type,
                                       text("whammc.thread_start"), &none, true);
    start->handle = f->at.thread_start;
}

bool flush_link_thread(Flush *f) {
    if (!flush_has_threads(f->m))
        return true;
    WasmExport *start = f->host == HOST_WASI ? find_start(f->m) : NULL;
    if (f->host == HOST_JS) {
        f->at.thread =
            wasm_add_import_global(f->m, text("whammc"), text("thread"), WASM_I32, false);
    } else if (start) {
        wrap_start(f, start);
    } else {
        Diag *d = diag(f->diags, DIAG_CANNOT_HOST, f->plan->asks.thread->span,
                       "the program has threads, and %s cannot tell their numbers",
                       f->host == HOST_WASI ? "without the export wasi_thread_start the host"
                                            : "this host");
        diag_hint(f->diags, d, "use --host=js");
        return false;
    }
    return true;
}

void flush_add_thread(Flush *f) {
    if (f->at.thread_start == UINT32_MAX)
        return;
    emit_body(&f->m->funcs.at[f->at.thread_start].code,
              "local.get 0 global.set %u local.get 0 local.get 1 call %u",
              global_index(f, f->at.thread), func_index(f, f->at.begins));
}
