/*
 * flush/flush.c - how an instrumented program writes its report.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

#include "../../stdlib/runtime/values.h" /* the layout of our memory */
#include "gen/template.h"
#include "inject/program.h"
#include "link/runtime.h"

#include <assert.h>

#define MAX_OWN UINT64_C(0xf0000000) /* leaves the heap some room */

/* ---- deciding ---- */

/* Whether a library that becomes part of the program uses WASI. */
static bool libraries_use_wasi(const Plan *plan) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        const LibraryFn *fn = &plan->library_fns.at[i];
        if (fn->runs && fn->library && host_uses_wasi(&fn->library->module))
            return true;
    }
    return false;
}

/* Whether another module's code runs in the program, with state of its own. */
static bool runs_libraries(const Plan *plan) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++)
        if (plan->library_fns.at[i].runs && plan->library_fns.at[i].library)
            return true;
    return false;
}

/* Whether scripts do something in the program. */
static bool flush_is_used(const Flush *f) {
    bool used = f->store->rows.reports;
    for (uint32_t i = 0; !used && i < f->plan->actions.len; i++) {
        const Action *a = &f->plan->actions.at[i];
        used = a->sites || event_is_nowhere(a->event.kind);
    }
    return used;
}

/* Whether the host can keep the memory of an ended thread: then all counts go to memory. */
static bool outlives_threads(const Flush *f) {
    return flush_has_threads(f->m) && (f->host == HOST_JS || f->host == HOST_PROF) &&
           flush_is_used(f) && f->options->storage != STORAGE_GLOBALS && !runs_libraries(f->plan);
}

/* Whether other modules or the host know memory 0: they can grow it, and rely on its limits. */
static bool is_known_outside(const WasmModule *m) {
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (m->exports.at[i].space == WASM_SPACE_MEMORY)
            return true;
    return m->memories.at[0].import >= 0;
}

bool flush_can_grow(const WasmModule *m) {
    enum { MOST = 65536, ROOM = 4096 }; /* pages */
    if (m->memories.len != 1)
        return false;
    const WasmLimits *limits = &m->memories.at[0].limits;
    bool fixed = limits->has_max && is_known_outside(m);
    bool fits = limits->min > 0 && limits->min <= MOST - ROOM; /* our pages are never at 0 */
    return !limits->is64 && limits->page_log2 == 16 && fits && !fixed;
}

bool flush_fits_globals(const Flush *f, const char *instead) {
    uint64_t cells = store_words(f->store);
    if (cells <= STORAGE_MAX_GLOBALS)
        return true;
    Diag *d =
        diag(f->diags, DIAG_CANNOT_STORE, (Span){f->file, 0, 0},
             "%llu per-site variables do not fit into globals (engines allow about a million)",
             (unsigned long long)cells);
    diag_hint(f->diags, d, "use %s, or a predicate that selects fewer sites", instead);
    return false;
}

/* Decides whether per-site variables go to memory. False with a message if they do not fit. */
static bool choose_storage(Flush *f) {
    Store *s = f->store;
    /* Hosts of components allow instances to have a megabyte, at 16 bytes for a global. */
    enum { COMPONENT_GLOBALS = 20000 };
    uint64_t cells = store_words(s);
    bool many = cells > (f->host == HOST_COMPONENT ? COMPONENT_GLOBALS : STORAGE_MAX_GLOBALS);
    if (s->all_in_memory) {
        s->in_memory = true;
        return true;
    }
    switch (f->options->storage) {
    case STORAGE_MEMORY:
        s->in_memory = s->slots > 0 || (s->counts && s->counts->values.len > 0);
        return true;
    case STORAGE_GLOBALS: return flush_fits_globals(f, "--storage=memory");
    default:
        /* A memory starts faster than very many globals, but needs an engine with multi-memory:
         * take it where there is no other way, or where the program needs such an engine (or none
         * at all) anyway. */
        s->in_memory = many || (cells > 50000 && f->m->memories.len != 1);
        return true;
    }
}

/* ---- the flush function's surroundings ---- */

/* In a component it comes from another core module (link/hub.h): hosts that keep memories for
 * instances have one for each module. */
static uint32_t flush_add_memory(const Flush *f, uint64_t bytes) {
    enum { MOST = 65536 }; /* shared memories need a maximum */
    WasmLimits limits = {.min = flush_pages(bytes), .page_log2 = 16};
    if (f->host == HOST_COMPONENT)
        return wasm_add_import_memory(f->m, text("whammc"), text("memory"), limits);
    if (f->store->all_in_memory)
        limits = (WasmLimits){limits.min, MOST, .has_max = true, .shared = true, .page_log2 = 16};
    return wasm_add_memory(f->m, limits, text("whammc"));
}

/* Lets memory 0 grow further than it is declared, for the report. */
static void raise_maximum(Flush *f) {
    WasmMemory *mem = &f->m->memories.at[0];
    if (!mem->limits.has_max)
        return;
    assert(!is_known_outside(f->m));
    uint64_t more = f->host == HOST_NONE ? 65536 /* the report itself is kept in memory */
                                         : flush_grown_pages(f);
    mem->limits.max = mem->limits.max + more > 65536 ? 65536 : mem->limits.max + more;
    mem->relimited = true;
}

/* Addresses after the image: strings, headers of maps, the heap. */
typedef struct Places {
    uint64_t texts, maps, heap;
} Places;

static Places place_values(Flush *f, uint64_t at, Buf *texts) {
    Places p = {.texts = align8(at)};
    store_put_texts(f->store, p.texts, texts);
    p.maps = align8(p.texts + texts->len);
    p.heap = align8(p.maps + (uint64_t)f->store->maps.count * VALUES_MAP_HEADER);
    return p;
}

static bool place_own(Flush *f) {
    Store *s = f->store;
    Buf image = {0}, texts = {0};
    bool needs_image = s->rows.reports || f->plan->asks.values;
    if (needs_image && !flush_make_image(f, s->rows.image, &image))
        return false;
    image_finished(s->rows.image);
    s->values_at = !f->plan->asks.values    ? RUNTIME_STACK
                   : f->plan->asks.elements ? VALUES_START
                                            : VALUES_STACK;
    f->image.at = align8(s->values_at + store_values_size(s));
    Places places = {.heap = f->image.at + f->image.size};
    if (f->plan->asks.values)
        places = place_values(f, places.heap, &texts);
    if (places.heap > MAX_OWN) {
        diag(f->diags, DIAG_CANNOT_STORE, (Span){f->file, 0, 0},
             "strings, maps and the report need %llu bytes of memory to begin with; at most %llu "
             "are possible",
             (unsigned long long)places.heap, (unsigned long long)MAX_OWN);
        buf_free(&image);
        buf_free(&texts);
        return false;
    }
    f->at.memory = s->memory = flush_add_memory(f, places.heap);
    store_add(s, f->m);
    if (needs_image)
        wasm_add_data_active(f->m, f->at.memory, f->image.at, &image, text("whammc.image"));
    if (texts.len)
        wasm_add_data_active(f->m, f->at.memory, places.texts, &texts, text("whammc.texts"));
    if (f->plan->asks.values)
        runtime_add_state(f->m, f->at.memory,
                          &(RuntimeState){.heap = places.heap,
                                          .maps = places.maps,
                                          .image = f->image.at,
                                          .nmaps = s->maps.count,
                                          .image_len = f->image.len},
                          text("whammc.state"));
    buf_free(&image);
    buf_free(&texts);
    return true;
}

static bool place_grown(Flush *f) {
    Store *s = f->store;
    Buf image = {0};
    f->at.memory = 0;
    store_add(s, f->m);
    if (!s->rows.reports)
        return true;
    if (!flush_make_image(f, s->rows.image, &image))
        return false;
    image_finished(s->rows.image);
    assert(flush_can_grow(f->m)); /* so pages that are added are not at 0, which is no base */
    f->at.base = wasm_add_global_i32(f->m, true, text("whammc.base"), 0);
    f->image.data = wasm_add_data_passive(f->m, &image, text("whammc.image"));
    flush_hide_grown(f);
    raise_maximum(f);
    return true;
}

/* Under WASI each thread counts for itself, and only the one that ends the program reports, unless
 * the host asks all of them. */
static void flush_warn_of_threads(Flush *f) {
    bool asked = f->options->link == LINK_IMPORT && f->options->host_flushes;
    if (f->host != HOST_WASI || asked || !flush_has_threads(f->m))
        return;
    Diag *d = diag(f->diags, DIAG_ONE_THREAD, (Span){f->file, 0, 0},
                   "the program has threads, but the report will have only what the thread counts "
                   "that ends the program");
    diag_hint(f->diags, d, "use --host=js, and run the program in Node, to count in all threads");
}

static void find_flush_points(Flush *f) {
    flush_warn_of_threads(f);
    int64_t ends = f->host == HOST_COMPONENT ? -1 : program_proc_exit(f->m);
    bool own = ends < (int64_t)f->m->input_count[WASM_SPACE_FUNC]; /* not only the runtime's */
    f->proc_exit = own ? ends : -1;
    if (f->host == HOST_PROF && f->at.due != UINT32_MAX)
        return; /* the script tells when something is to be sent */
    if (f->host == HOST_COMPONENT)
        return; /* its hub knows */
    f->main = program_main(f->m);
    bool asked = f->host == HOST_JS && f->options->host_flushes;
    if (f->main < 0 && f->at.due == UINT32_MAX && !asked) {
        diag(f->diags, DIAG_NO_FLUSH_POINT, (Span){f->file, 0, 0},
             "no main, _start or start function: the report is written when the host calls "
             "'whammc:flush'");
    }
}

/* Decides the place of a runtime that becomes part of the program. */
static bool plan_merge(Flush *f) {
    Store *s = f->store;
    if (!choose_storage(f))
        return false;
    s->cells.in_memory = s->in_memory || (f->options->storage == STORAGE_AUTO &&
                                          s->cells.outlined && f->plan->asks.values);
    /* At the end, when it is not observed any more. */
    bool grows =
        flush_can_grow(f->m) && !f->options->polls && f->options->storage != STORAGE_MEMORY;
    /* The functions of a component may be called again, so that it would see its memory grow. */
    if (f->host == HOST_COMPONENT)
        grows = false;
    f->own = s->in_memory || f->plan->asks.values || (s->rows.reports && !grows);
    flush_plan_sums(f);
    store_chosen(s);
    return f->own ? place_own(f) : place_grown(f);
}

HostChoice flush_host(const WasmModule *m, const Plan *plan, const RewriteOptions *options) {
    if (options->link == LINK_IMPORT)
        return HOST_WASI;
    return runtime_host(m, options->host, libraries_use_wasi(plan));
}

bool flush_plan(Flush *f) {
    assert(f->host != HOST_AUTO && f->options->link != LINK_AUTO);
    f->at.flush = f->at.due = f->at.grow = f->at.size = f->at.ready = f->at.no_memory = UINT32_MAX;
    f->at.thread = f->at.thread_start = UINT32_MAX;
    f->main = f->proc_exit = -1;
    f->store->all_in_memory = outlives_threads(f);
    flush_trap_plan(f);
    if (!flush_plan_atomics(f))
        return false;
    return f->options->link == LINK_IMPORT ? flush_import_plan(f) : plan_merge(f);
}

/* Adds the function that scripts call when a report is due; its code comes later. */
static void add_due(Flush *f) {
    Buf none = {0};
    uint32_t type = wasm_add_func_type(f->m, NULL, 0, NULL, 0);
    f->at.due = wasm_add_func(f->m, type, text("whammc.due"), &none, false);
    f->at.flushing = wasm_add_global_i32(f->m, true, text("whammc.flushing"), 0);
}

/* Whether the host has a clock for all intervals; reports it if not. */
static bool has_clock(const Flush *f) {
    for (uint32_t i = 0; i < f->plan->scripts.len && f->host == HOST_NONE; i++) {
        const Fn *body = ast_first_interval(f->plan->scripts.at[i]);
        if (!body)
            continue;
        host_report_no_clock(f->diags, body->span);
        return false;
    }
    return true;
}

/* Whether the host shows lines while the program runs; reports it if not. */
static bool can_print(const Flush *f) {
    if (f->host != HOST_NONE && f->host != HOST_PROF)
        return true;
    Diag *d = diag(f->diags, DIAG_CANNOT_HOST, (Span){f->file, 0, 0},
                   "a script prints or ends the program, which the host '%.*s' cannot do",
                   STR_ARG(host_name(f->host)));
    diag_hint(f->diags, d,
              "use --host=wasi or --host=js, or do so only there: / HOST != \"%.*s\" /",
              STR_ARG(host_name(f->host)));
    return false;
}

bool flush_link(Flush *f, const Reach *reach, const OnceShapes *once) {
    bool used[HELPER_COUNT];
    memcpy(used, reach->helpers, sizeof used);
    used[HELPER_MAP_TALLY] |= f->store->tallies.words != 0;
    f->writes.text = used[HELPER_FLUSH];
    f->writes.lines = used[HELPER_PRINT_FLUSH];
    f->writes.any = f->writes.text || f->writes.lines || f->store->rows.reports;
    if (!has_clock(f) || (f->writes.lines && !can_print(f)))
        return false;
    if (f->host == HOST_PROF && !flush_prof_link(f, used))
        return false;
    if (!(f->options->link == LINK_IMPORT ? flush_import_link(f, used) : flush_merge(f, used)))
        return false;
    if (reach->thread && !flush_link_thread(f))
        return false;
    flush_link_atomics(f, &reach->atomics);
    f->flushes = f->writes.any || reach->exits || once->end.len || once->report.len;
    if (!f->flushes)
        return true;
    if (reach->flushes)
        add_due(f);
    find_flush_points(f);
    return true;
}

/* ---- the functions ---- */

/* Appends code that copies a value to the value area, at the address in local 0. There may be one
 * for each site, so this is not written as text. */
static void put_dump(void *ctx, WasmType type, const FlushSource *source, uint64_t offset) {
    enum { ALIGN_LOG2 = 2 };
    Chunks *c = ctx;
    Buf *b = &c->body;
    put_index(b, WASM_OP_LOCAL_GET, 0);
    flush_push(c->f, source, b);
    wasm_put_op(b, emit_store_op(type));
    emit_memarg(b, ALIGN_LOG2, emit_index(c->f->m, WASM_SPACE_MEMORY, c->f->at.memory), offset);
    chunks_item(c);
}

void flush_splice_shapes(Splicer *s, const ShapeList *list, TemplateKind kind) {
    Site nowhere = plan_nowhere(s->plan, s->m);
    for (uint32_t i = 0; i < list->len; i++) {
        const Shape *shape = list->at[i];
        const Template *t = kind == TEMPLATE_BODY   ? shape->template
                            : kind == TEMPLATE_INIT ? shape->init
                                                    : shape->exit;
        if (t)
            splice_template(s, t, shape->variant, &nowhere);
        pool_release(&s->pool);
    }
}

/* Splices a script's code at script scope; t may be NULL. */
static void splice_script(Splicer *s, const Template *t, uint32_t script) {
    Site nowhere = plan_nowhere(s->plan, s->m);
    if (t)
        splice_template(s, t, s->plan->scopes.at[script], &nowhere);
    pool_release(&s->pool);
}

/* Appends code that copies the values to the value area and calls whammc_report, or that says that
 * memory is lacking. */
static void flush_put_report(Flush *f, Splicer *s, Buf *body) {
    Chunks dump = {.f = f, .s = s, .name = "whammc.dump", .params = {WASM_I32}, .nparams = 1};
    bool says = f->at.no_memory != UINT32_MAX;
    flush_put_atomics(f, body);
    flush_each_value(f, put_dump, &dump);
    emit(body, "%s %s", f->own ? "" : "block", says ? "block" : "");
    flush_put_ready(f, body, "br_if 0");
    if (!f->plan->asks.values)
        emit(body, "%s global.set %u", flush_address(f, RUNTIME_STACK),
             global_index(f, f->at.stack_pointer));
    chunks_call(&dump, flush_address(f, flush_values_at(f)), body);
    emit(body, "%s i32.const %u", flush_address(f, flush_image_at(f)), f->image.len);
    emit(body, "%s call %u", flush_address(f, flush_values_at(f)), func_index(f, f->at.report));
    if (says)
        emit(body, "br 1 end call %u", func_index(f, f->at.no_memory));
    emit(body, f->own ? "" : "end");
}

static void set_flushing(const Flush *f, Buf *b, bool now) {
    if (f->at.due != UINT32_MAX)
        emit(b, "i32.const %d global.set %u", now, global_index(f, f->at.flushing));
}

/* A script that asks for a report while one is made does not get another one. */
static void fill_due(Flush *f, Splicer *s) {
    Buf body = {0};
    splicer_begin(s, 0);
    emit(&body, "global.get %u i32.eqz if call %u end", global_index(f, f->at.flushing),
         func_index(f, f->at.flush));
    flush_fill(f, s, f->at.due, &body);
    buf_free(&body);
}

/* `wasm:end`, `@exit` calls of sites and of scripts, then the report: the default one, or the
 * bodies of `wasm:report`. */
static bool flush_add_flush(Flush *f, Splicer *s, const OnceShapes *once) {
    Buf probes = {0}, report = {0}, exits = {0};
    bool ok = flush_sites(f, s, true, &exits);
    splicer_begin(s, 0);
    if (ok && f->store->rows.reports && f->options->link == LINK_IMPORT)
        ok = flush_import_put(f, s, &report);
    else if (f->store->rows.reports)
        flush_put_report(f, s, &report);
    splicer_begin(s, 0);
    s->out = &probes; /* takes locals, which the functions made so far do not have */
    set_flushing(f, &probes, true);
    emit_calls(&probes, f->m, &f->helpers[HELPER_PRINT_FLUSH], f->writes.lines);
    flush_settle(f, &probes);
    flush_splice_shapes(s, &once->end, TEMPLATE_BODY);
    flush_splice_shapes(s, &once->begin, TEMPLATE_EXIT);
    flush_splice_shapes(s, &once->end, TEMPLATE_EXIT);
    flush_splice_shapes(s, &once->report, TEMPLATE_EXIT);
    flush_splice_shapes(s, &once->suspend, TEMPLATE_EXIT);
    flush_splice_shapes(s, &once->resume, TEMPLATE_EXIT);
    buf_bytes(&probes, exits.data, exits.len);
    for (uint32_t i = 0; i < f->plan->scripts.len; i++)
        splice_script(s, f->plan->at_exit.code[i], i);
    flush_splice_shapes(s, &once->report, TEMPLATE_BODY);
    emit_calls(&probes, f->m, &f->helpers[HELPER_PRINT_FLUSH], f->writes.lines);
    buf_bytes(&probes, report.data, report.len);
    emit_calls(&probes, f->m, &f->helpers[HELPER_FLUSH], f->writes.text);
    set_flushing(f, &probes, false);
    f->at.flush =
        flush_add_code(f, s, wasm_add_func_type(f->m, NULL, 0, NULL, 0), "whammc.flush", &probes);
    wasm_add_export(f->m, text("whammc:flush"), WASM_SPACE_FUNC, f->at.flush);
    if (f->at.due != UINT32_MAX)
        fill_due(f, s);
    if (f->writes.lines && f->host == HOST_JS) /* which the host calls from time to time */
        wasm_add_export(f->m, text("whammc:print"), WASM_SPACE_FUNC,
                        f->helpers[HELPER_PRINT_FLUSH]);
    if (f->options->polls && f->writes.text)
        wasm_add_export(f->m, text("whammc:text"), WASM_SPACE_FUNC, f->helpers[HELPER_FLUSH]);
    buf_free(&probes);
    buf_free(&report);
    buf_free(&exits);
    return ok;
}

/* Returns the program's `_start`, if no code of the program runs before it. */
static const WasmExport *late_start(const WasmModule *m) {
    const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, text("_start"));
    if (!e || m->start >= 0 || m->funcs.at[e->handle].import >= 0)
        return NULL;
    const WasmTypeDef *t = wasm_func_type(m, e->handle);
    return t->nparams || t->nresults ? NULL : e;
}

bool flush_starts_late(const Flush *f) {
    bool calls = f->writes.text || f->writes.lines;
    for (uint32_t i = 0; i < f->plan->library_fns.len; i++)
        calls |= f->plan->library_fns.at[i].runs;
    return calls && late_start(f->m);
}

/* Makes start-up code a function that then calls the program's own start function or `_start`. */
static void flush_put_start(Flush *f, Splicer *s, Buf *body) {
    uint32_t type = wasm_add_func_type(f->m, NULL, 0, NULL, 0);
    const WasmExport *e = flush_starts_late(f) ? late_start(f->m) : NULL;
    int64_t next = e ? (int64_t)e->handle : f->m->start;
    if (next >= 0)
        emit(body, "call %u", wasm_entered(f->m, (uint32_t)next));
    uint32_t func = flush_add_code(f, s, type, "whammc.start", body);
    if (e)
        wasm_set_export(f->m, (uint32_t)(e - f->m->exports.at), func);
    else
        wasm_set_start(f->m, func);
}

/* Adds start-up code: libraries, script-scope statements, start-up code of sites, `wasm:begin`,
 * then the program's own start function. */
static bool add_start(Flush *f, Splicer *s, const Template *const *init, const OnceShapes *once) {
    Buf body = {0}, site_inits = {0};
    Site nowhere = plan_nowhere(f->plan, f->m);
    bool ok = flush_sites(f, s, false, &site_inits);
    s->out = &body;
    splicer_begin(s, 0);
    shadow_put_start(f->shadow, &body);
    emit_calls(&body, f->m, f->at.library_starts.at, f->at.library_starts.len);
    if (f->options->link == LINK_IMPORT && f->plan->asks.values)
        ok = flush_import_start(f, s, &body) && ok;
    for (uint32_t i = 0; i < f->plan->scripts.len; i++)
        splice_script(s, init[i], i);
    for (uint32_t i = 0; i < f->plan->probes.len; i++) {
        const PlanProbe *p = &f->plan->probes.at[i];
        if (p->init)
            splice_template(s, p->init, p->shared_from, &nowhere);
        pool_release(&s->pool);
    }
    flush_splice_shapes(s, &once->begin, TEMPLATE_INIT);
    flush_splice_shapes(s, &once->end, TEMPLATE_INIT);
    flush_splice_shapes(s, &once->report, TEMPLATE_INIT);
    flush_splice_shapes(s, &once->suspend, TEMPLATE_INIT);
    flush_splice_shapes(s, &once->resume, TEMPLATE_INIT);
    buf_bytes(&body, site_inits.data, site_inits.len);
    flush_splice_shapes(s, &once->begin, TEMPLATE_BODY);
    if (body.len)
        flush_put_start(f, s, &body);
    buf_free(&body);
    buf_free(&site_inits);
    return ok;
}

/* `get_<name>` for each script variable that is a number or bool, unless the program exports that
 * name. */
static void add_getters(Flush *f, Splicer *s) {
    Map names = {0};
    for (uint32_t i = 0; i < f->m->exports.len; i++)
        map_put(&names, f->m->exports.at[i].name, 0, NULL);
    for (uint32_t i = 0; i < f->plan->vars.len; i++) {
        const PlanVar *v = &f->plan->vars.at[i];
        if (v->decl->storage != STORAGE_SCRIPT || v->decl->type->kind > TYPE_BOOL ||
            plan_is_for_modules(f->plan, v) || v->decl->name.ptr[0] == '(') /* not the script's */
            continue;
        const char *name = arena_printf(&f->m->arena, "get_%.*s", STR_ARG(v->decl->name));
        bool added;
        map_put(&names, str_of(name), 0, &added);
        if (!added)
            continue;
        Buf body = {0};
        WasmType result = type_wasm(v->decl->type);
        splicer_begin(s, 0);
        FlushSource source = flush_variable(f, v, 0);
        if (store_sum(f->store, v->id))
            flush_settle(f, &body);
        if (source.tabled)
            flush_put_ready(f, &body, "if unreachable end");
        if (v->decl->atomic && f->atomics.any)
            atomics_put_load(&f->atomics, f->m, f->plan, v->id, &body);
        else
            flush_push(f, &source, &body);
        uint32_t func =
            flush_add_code(f, s, wasm_add_func_type(f->m, NULL, 0, &result, 1), name, &body);
        wasm_add_export(f->m, text(name), WASM_SPACE_FUNC, func);
        buf_free(&body);
    }
    map_free(&names);
}

/* The bodies of the script's functions, which were added empty. */
static void fill_functions(Flush *f, Splicer *s, const Reach *reach) {
    Site nowhere = plan_nowhere(f->plan, f->m);
    for (uint32_t i = 0; i < f->plan->fns.len; i++) {
        const Template *t = f->plan->fns.at[i].template;
        if (!reach->fns[i])
            continue;
        Buf body = {0};
        s->out = &body;
        splicer_begin(s, t->nparams);
        splice_template(s, t, f->plan->scopes.at[f->plan->fns.at[i].script], &nowhere);
        flush_fill(f, s, f->fns[i], &body);
        buf_free(&body);
    }
}

bool flush_add(Flush *f, const Template *const *init, const OnceShapes *once, const Reach *reach) {
    Splicer s;
    Fill fill;
    fill_init(&fill, &s, f->m, f->plan, f->store);
    fill.helpers = f->helpers;
    fill.fns = f->fns;
    fill.memories = f->memories;
    fill.stack = f->stack;
    fill.due = f->at.due;
    fill.thread = f->at.thread;
    fill.atomics = &f->atomics;
    flush_add_traps(f, &s);
    flush_add_ready(f);
    flush_add_sums(f, &s);
    fill_functions(f, &s, reach);
    bool ok = add_start(f, &s, init, once);
    if (ok && f->flushes)
        ok = flush_add_flush(f, &s, once);
    flush_add_thread(f);
    flush_add_stacks(f, &s, once);
    add_getters(f, &s);
    splicer_free(&s);
    f->kept = fill.kept;
    fill.kept = (Map){0};
    fill_free(&fill);
    return ok;
}
