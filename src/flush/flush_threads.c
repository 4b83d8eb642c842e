/*
 * flush/flush_threads.c - programs with threads, which have an instance in each: the thread's
 * number and the variables that all threads share.
 *
 * In JavaScript the host gives the number in an imported global. Under WASI the host passes it to
 * `wasi_thread_start`, which therefore becomes a function of ours.
 */
#include "flush/flush_code.h"

bool flush_has_threads(const WasmModule *m) {
    for (uint32_t i = 0; i < m->memories.len; i++)
        if (m->memories.at[i].import >= 0 && m->memories.at[i].limits.shared)
            return true;
    return false;
}

/* Returns the export of the start function of threads, (number, argument); NULL = none. */
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

/* ---- atomic variables ---- */

static uint64_t hash_str(uint64_t hash, Str s) {
    return hash_more(hash_more(hash, &s.len, sizeof s.len), s.ptr, s.len);
}

/* Returns the number by which all instances find their block: a hash of the program, the scripts
 * and the values of their constants. Not 0. */
static uint64_t flush_threads_number_of(const Flush *f) {
    uint64_t hash = hash_more(HASH_START, f->m->bytes, f->m->size);
    for (uint32_t i = 0; i < f->plan->scripts.len; i++) {
        const Script *s = f->plan->scripts.at[i];
        const DiagFile *file = &f->diags->files.at[s->file - 1];
        hash = hash_str(hash, (Str){file->text, (uint32_t)file->len});
        for (uint32_t k = 0; k < s->constants.len; k++) {
            Value v = {0};
            if (s->constants.at[k]->init && fold(s->constants.at[k]->init, NULL, &v)) {
                uint64_t bits = value_wasm_bits(v);
                hash = hash_str(hash_more(hash, &bits, sizeof bits), v.text);
            }
        }
    }
    return hash ? hash : 1;
}

/* The shadow memory of a thread would not know what the others do to the memory that they share. */
static bool has_shadow_alone(const Flush *f) {
    for (uint32_t i = 0; i < f->plan->vars.len && f->plan->program.threads; i++) {
        const Var *v = f->plan->vars.at[i].decl;
        if (!v->element)
            continue;
        diag(f->diags, DIAG_CANNOT_HOST, v->span,
             "the program has threads, which share a memory, but each would have a shadow memory "
             "'%.*s' of its own",
             STR_ARG(v->name));
        return false;
    }
    return true;
}

bool flush_plan_atomics(Flush *f) {
    const Var *first = NULL;
    uint32_t n = 0;
    if (!has_shadow_alone(f))
        return false;
    for (uint32_t i = 0; i < f->plan->vars.len && f->plan->program.threads; i++) {
        const Var *v = f->plan->vars.at[i].decl;
        n += v->atomic;
        first = v->atomic && !first ? v : first;
    }
    if (first && f->host != HOST_JS) {
        Diag *d = diag(f->diags, DIAG_CANNOT_HOST, first->span,
                       "the program has threads, and this host cannot give them a memory for the "
                       "atomic variable '%.*s'",
                       STR_ARG(first->name));
        diag_hint(f->diags, d, "use --host=js");
        return false;
    }
    if (n > ATOMICS_MAX) {
        diag(f->diags, DIAG_CANNOT_STORE, first->span,
             "the scripts have %u atomic variables; at most %d are possible in a program with "
             "threads",
             n, ATOMICS_MAX);
        return false;
    }
    if (n)
        atomics_import(&f->atomics, f->m);
    return true;
}

void flush_link_atomics(Flush *f, const AtomicUse *use) {
    if (f->atomics.any)
        atomics_add(&f->atomics, use, f->m, f->plan, flush_threads_number_of(f));
}

void flush_put_atomics(const Flush *f, Buf *out) {
    for (uint32_t i = 0; f->atomics.any && i < f->plan->vars.len; i++) {
        const PlanVar *v = &f->plan->vars.at[i];
        if (v->decl->atomic && v->decl->report)
            atomics_put_report(&f->atomics, f->store, f->m, v, out);
    }
}
