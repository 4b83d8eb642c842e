/*
 * monitor/make/emit_monitor.c - compiles a plan to a monitor module.
 *
 *   1. split the scripts' actions by instructions (monitor/make/unit.c)
 *   2. lay out the known part of the monitor's memory: values of the report, classes of records,
 *      the report's skeleton, headers of maps
 *   3. compile (monitor/make/monitor_code.c); strings get their places while that goes on
 *   4. link the code with the runtime, into a module that begins with the memory
 *   5. give probes their rules as names
 *   6. read the output back, as engines do
 *
 * The memory is laid out as stdlib/runtime/values.h says. After the stack, or VALUES_START:
 *
 *     values of shared and script rows, classes, skeleton, headers of maps, strings,
 *     table of instructions (if the monitor asks about locations), heap
 */
#include "monitor/make/emit_monitor.h"

#include "base/phase.h"
#include "plan/removal.h"

#include <assert.h>
#include <stdio.h>

#include "../../../stdlib/runtime/site/site.h" /* SITE_STATE */
#include "../../../stdlib/runtime/values.h"    /* the layout of the memory */
#include "edit/merge.h"
#include "edit/write.h"
#include "gen/compile_options.h"
#include "gen/template.h"
#include "link/import_library.h"
#include "link/runtime.h"
#include "monitor/make/monitor_code.h"
#include "monitor/make/monitor_input.h"
#include "monitor/make/record.h"
#include "monitor/read/inline.h"
#include "monitor/read/monitor.h"
#include "storage/memory.h"
#include "valid/limits.h"
#include "valid/op_table.h"
#include "valid/valid.h"
#include "wasm/emit.h"

enum { PAGE = 65536 };

/* Addresses. */
typedef struct MonitorPlaces {
    uint32_t maps, texts, heap;
    Map text; /* of strings */
} MonitorPlaces;

typedef struct MonitorTarget {
    Plan *plan;
    const MonitorOptions *options;
    Diags *diags;
    WasmModule m;
    Store store;
    Counters counters;
    Units units;
    Records records;
    MonitorInput in;
    MonitorCode code;
    uint32_t *frame_at;
    MonitorTail *tail;

    MemoryOps memories;
    uint32_t helpers[HELPER_COUNT]; /* handles of the functions that operations on memories call */
    RuntimePlace place;             /* its memory is the monitor's */
    MonitorPlaces at;
    Buf classes, image, texts, table;

    WasmModule runtime;
    WasmMerge linked; /* the runtime in the module */
    Vec(uint32_t) roots;
    uint32_t fmod; /* handle */
} MonitorTarget;

static uint32_t next_address(uint64_t end) {
    return (uint32_t)align8(end);
}

static bool cannot_store(MonitorTarget *t, const char *what) {
    diag(t->diags, DIAG_CANNOT_STORE, NO_SPAN, "%s", what);
    return false;
}

static bool emit_monitor_fault(MonitorTarget *t, const char *what) {
    diag(t->diags, DIAG_INTERNAL, NO_SPAN, "the monitor would be invalid; nothing was written: %s",
         what);
    return false;
}

/* ---- layout ---- */

/* Strings get their places on first use. */
static uint32_t emit_monitor_text_at(void *ctx, Str text) {
    MonitorTarget *t = ctx;
    bool added;
    uint64_t *at = map_put(&t->at.text, text, 0, &added);
    if (added && text.len) { /* the empty string is at 0 */
        *at = t->at.texts + t->texts.len;
        buf_u32le(&t->texts, text.len);
        buf_str(&t->texts, text);
        while (t->texts.len % 4)
            buf_u8(&t->texts, 0);
    }
    return (uint32_t)*at;
}

/* Frame variables of one name in a script are one. */
static void place_frame(MonitorTarget *t) {
    uint32_t n = t->plan->vars.len, bytes = 0;
    t->frame_at = mem_zalloc(sizeof *t->frame_at * (n + 1u));
    for (uint32_t i = 0; i < n; i++) {
        const PlanVar *v = &t->plan->vars.at[i];
        uint32_t first = t->store.frame_of[i];
        if (v->decl->storage != STORAGE_FRAME)
            continue;
        t->frame_at[i] = first == i ? bytes : t->frame_at[first];
        if (first == i)
            bytes += 8 * type_leaves(v->decl->type);
    }
    t->in.frame_at = t->frame_at;
    t->in.frame_bytes = bytes;
}

static void place_tail(MonitorTarget *t, uint32_t at) {
    t->tail = mem_alloc(sizeof *t->tail * (t->store.tail.len + 1u));
    uint32_t base = (uint32_t)image_tail_offset(t->store.rows.image, 0);
    for (uint32_t i = 0; i < t->store.tail.len; i++) {
        uint32_t offset = (uint32_t)image_tail_offset(t->store.rows.image, i) - base;
        t->tail[i] = (MonitorTail){t->store.tail.at[i], at + offset};
    }
    t->in.tail = t->tail;
    t->in.ntail = t->store.tail.len;
    t->in.tail_at = at;
    t->in.tail_bytes = next_address(image_values_size(t->store.rows.image));
}

/* The end of the stack, and the code's memory for maps. */
static uint32_t tail_at(const MonitorTarget *t) {
    return t->plan->asks.elements ? VALUES_START : VALUES_STACK;
}

static bool make_image(MonitorTarget *t) {
    const MonitorOptions *o = t->options;
    ImageOptions options = {o->format, o->report, str_of(o->report_file), 1};
    bool ok = t->records.rows ? image_skeleton(t->store.rows.image, &options, &t->image)
                              : image_finish(t->store.rows.image, &options, &t->image);
    return ok || cannot_store(t, "the report's path is too long");
}

static bool emit_monitor_lay_out(MonitorTarget *t) {
    MonitorInput *in = &t->in;
    store_close(&t->store, &t->m);
    place_frame(t);
    place_tail(t, tail_at(t));
    uint32_t classes_at = next_address(in->tail_at + in->tail_bytes);
    records_make(&t->records, t->plan, &t->units, &t->store, classes_at, &t->classes);
    if (!make_image(t))
        return false;
    *in = (MonitorInput){.plan = t->plan,
                         .units = &t->units,
                         .records = t->records.of_residue,
                         .own_records = t->records.own,
                         .frame_at = in->frame_at,
                         .frame_bytes = in->frame_bytes,
                         .text_at = emit_monitor_text_at,
                         .ctx = t,
                         .once = plan_once(t->plan, &t->m),
                         .exact_traps = t->options->exact_traps,
                         .reports = t->store.rows.reports,
                         .rows = t->records.rows,
                         .image_at = next_address(classes_at + t->classes.len),
                         .image_len = (uint32_t)t->image.len,
                         .tail_at = in->tail_at,
                         .tail_bytes = in->tail_bytes,
                         .tail = in->tail,
                         .ntail = in->ntail};
    t->at.maps = next_address((uint64_t)in->image_at + in->image_len);
    uint64_t texts = (uint64_t)t->at.maps + (uint64_t)t->store.maps.count * VALUES_MAP_HEADER;
    t->at.texts = next_address(texts);
    return texts < 1u << 30 || cannot_store(t, "there are too many variables");
}

/* ---- the memory ---- */

static void add_data(MonitorTarget *t, uint32_t at, Buf *content, const char *name) {
    if (content->len)
        wasm_add_data_active(&t->m, t->place.memory, at, content, str_of(name));
}

static bool calls_runtime(const WasmModule *code, const char *name) {
    for (uint32_t i = 0; i < code->imports.len; i++)
        if (str_is(code->imports.at[i].module, "rt") && str_is(code->imports.at[i].name, name))
            return true;
    return false;
}

/* Calls of the runtime when the monitor is attached. */
static Str done_function(const WasmModule *code) {
    return str_of(calls_runtime(code, "site_count_begin") ? "site_count_done" : "site_done");
}

/* Whether the monitor, which counts segments of programs, must know that bind does so, too. */
static bool can_be_coalesced(const MonitorTarget *t, const WasmModule *code) {
    return calls_runtime(code, "site_count_begin") && !t->options->exact_traps;
}

static bool asks_places(const WasmModule *code) {
    for (uint32_t i = 0; i < code->imports.len; i++) {
        Str name = code->imports.at[i].name;
        if (str_is(code->imports.at[i].module, "rt") && name.len > 5 &&
            memcmp(name.ptr, "site_", 5) == 0)
            return true;
    }
    return false;
}

/* The parts of the memory that do not start at zero; then its size is known. */
static void emit_monitor_fill_memory(MonitorTarget *t, const WasmModule *code) {
    uint32_t table_at = next_address((uint64_t)t->at.texts + t->texts.len);
    if (asks_places(code)) {
        Buf state = {0};
        wasm_op_table(&t->table);
        buf_u32le(&state, table_at);
        add_data(t, SITE_STATE, &state, "state of places");
    }
    t->at.heap = next_address((uint64_t)table_at + t->table.len);
    runtime_add_state(&t->m, t->place.memory,
                      &(RuntimeState){.heap = t->at.heap,
                                      .maps = t->at.maps,
                                      .image = t->in.image_at,
                                      .nmaps = t->store.maps.count,
                                      .image_len = t->in.image_len},
                      STR("state"));
    add_data(t, next_address(t->in.tail_at + t->in.tail_bytes), &t->classes, "records");
    add_data(t, t->in.image_at, &t->image, "report");
    add_data(t, t->at.texts, &t->texts, "texts");
    add_data(t, table_at, &t->table, "instructions");
    t->m.memories.at[t->place.memory].limits.min = (t->at.heap + PAGE - 1) / PAGE;
}

/* ---- linking ---- */

/* The function of the runtime that code imports as `name`. */
static const WasmExport *runtime_function(const MonitorTarget *t, Str name) {
    char full[64];
    snprintf(full, sizeof full, "whammc_%.*s", STR_ARG(name));
    return wasm_find_export(&t->runtime, WASM_SPACE_FUNC, str_of(full));
}

static uint32_t emit_monitor_number_in(Str name) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < name.len; i++)
        n = 10 * n + (uint32_t)(name.ptr[i] - '0');
    return n;
}

/* ---- built-in functions on memories ---- */

/* Records the functions that the code calls; memories of libraries that it operates on become
 * imports. */
static bool note_memories(MonitorTarget *t, const WasmModule *code) {
    Site nowhere = plan_nowhere(t->plan, &t->m);
    const Libraries *libraries = t->plan->libraries;
    bool ok = true;
    t->memories.monitor = true;
    for (uint32_t i = 0; i < code->imports.len; i++)
        if (str_is(code->imports.at[i].module, "mem"))
            ok &= memory_note_call(&t->memories, &nowhere,
                                   emit_monitor_number_in(code->imports.at[i].name), t->diags);
    for (uint32_t i = 0; libraries && i < libraries->list.len; i++)
        if (memory_uses_library(&t->memories, i))
            library_import_memory(&t->m, libraries->list.at[i]);
    return ok;
}

/* Adds the recorded functions and memories. */
static void add_memories(MonitorTarget *t) {
    memory_add(&t->memories,
               &(MemoryPlaces){.runtime = (int64_t)t->place.memory, .helpers = t->helpers});
}

static bool emit_monitor_merge_runtime(MonitorTarget *t, const WasmModule *code) {
    RuntimeModule rt = runtime_module(
        t->options->report == REPORT_FILE ? RUNTIME_MONITOR_FILE : RUNTIME_MONITOR, true);
    if (!wasm_load_own(&t->runtime, rt.bytes, rt.len, t->diags))
        return false;
    Vec(uint32_t) roots = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < code->imports.len; i++) {
        const WasmImport *import = &code->imports.at[i];
        if (!str_is(import->module, "rt"))
            continue;
        const WasmExport *e = runtime_function(t, import->name);
        if (e)
            vec_push(&roots, e->handle);
        else if (str_is(import->name, "fmod"))
            ok = runtime_add_fmod(&t->m, &t->fmod, t->diags);
        else
            ok = emit_monitor_fault(t, arena_printf(&t->plan->arena,
                                                    "the runtime has no function %.*s",
                                                    STR_ARG(import->name)));
    }
    if (asks_places(code))
        vec_push(&roots, runtime_function(t, done_function(code))->handle);
    if (can_be_coalesced(t, code))
        vec_push(&roots, runtime_function(t, STR("site_count_exact"))->handle);
    bool used[HELPER_COUNT] = {0};
    memory_helpers(&t->memories, false, used);
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        if (used[h])
            vec_push(&roots, runtime_function(t, str_of(helper_infos[h].name))->handle);
    t->linked = (WasmMerge){.to = &t->m,
                            .from = &t->runtime,
                            .memory = t->place.memory,
                            .resolve = runtime_resolve,
                            .ctx = &t->place,
                            .prefix = t->place.prefix};
    ok = ok && wasm_merge(&t->linked, roots.at, roots.len, t->diags);
    for (uint32_t h = 0; ok && h < HELPER_COUNT; h++)
        if (used[h])
            t->helpers[h] =
                t->linked.handles[WASM_SPACE_FUNC]
                                 [runtime_function(t, str_of(helper_infos[h].name))->handle];
    vec_free(&roots);
    return ok;
}

static int64_t import_library(MonitorTarget *t, uint32_t n) {
    const LibraryFn *fn = &t->plan->library_fns.at[n];
    if (fn->bundled)
        return library_import_bundled(&t->m, fn->bundled);
    return wasm_need_import_func(&t->m, fn->library->import_as, fn->name,
                                 wasm_func_type(&fn->library->module, fn->func));
}

/* Resolves the imports of the compiled code (monitor/make/monitor_code.h). */
static int64_t resolve_code(void *ctx, const WasmImport *import) {
    MonitorTarget *t = ctx;
    uint32_t n;
    if (str_is(import->module, "rt")) {
        const WasmExport *e = runtime_function(t, import->name);
        return e ? t->linked.handles[WASM_SPACE_FUNC][e->handle] : t->fmod;
    }
    if (str_is(import->module, REMOVAL_MODULE))
        return wasm_need_import_func(
            &t->m, import->module, import->name,
            &(WasmTypeDef){.params = (WasmType[]){WASM_I32}, .nparams = 1});
    n = emit_monitor_number_in(import->name);
    if (str_is(import->module, "mem")) {
        Site nowhere = plan_nowhere(t->plan, &t->m);
        return memory_function(&t->memories, n, &nowhere);
    }
    if (str_is(import->module, "var"))
        return t->store.global[n / HOLE_LEAVES] + n % HOLE_LEAVES;
    return import_library(t, n);
}

/* ---- probes ---- */

/*
 * A body that engines inline must not have blocks: those of 2025 crash. A `return` at the end keeps
 * it from being inlined.
 */
static void keep_from_inlining(WasmFunc *f) {
    WasmCode code = wasm_code(f->code.data, f->code.len, 0);
    Buf locals = {0};
    WasmRemap same = {0};
    bool ok = f->code.len <= INLINE_MAX_BYTES && wasm_copy_locals(&code, &same, &locals);
    buf_free(&locals);
    if (!ok)
        return;
    InlineLook look = inline_look(code);
    if (!look.blocks || look.branches)
        return;
    f->code.len--; /* its end */
    wasm_put_op(&f->code, WASM_OP_RETURN);
    wasm_put_op(&f->code, WASM_OP_END);
}

static void add_export(MonitorTarget *t, const Buf *name, uint32_t func) {
    wasm_add_export(&t->m, buf_view(name), WASM_SPACE_FUNC, func);
}

/* Exports it under the name of its rule, and under the name that engines from 2025 know. */
static void export_probe(MonitorTarget *t, const MonitorExport *e, uint32_t func) {
    Buf name = {0}, event = {0};
    rule_print(&e->rule, &name);
    add_export(t, &name, func);
    const char *older = e->rule.event == MONITOR_OPCODE ? rule_mnemonic(e->rule.op, true) : NULL;
    if (older) {
        rule_print_event(&e->rule, &event);
        Buf other = {0};
        buf_printf(&other, "wasm:opcode:%s", older);
        buf_bytes(&other, name.data + event.len, name.len - event.len);
        add_export(t, &other, func);
        buf_free(&other);
    }
    buf_free(&name);
    buf_free(&event);
}

static uint32_t code_function(const WasmModule *code, const char *name) {
    const WasmExport *e = wasm_find_export(code, WASM_SPACE_FUNC, str_of(name));
    return e ? e->handle : UINT32_MAX;
}

/* A library that functions of the monitor call. */
static bool emit_monitor_is_called(const MonitorTarget *t, const WasmModule *code,
                                   const Library *library) {
    for (uint32_t i = 0; i < code->imports.len; i++) {
        const WasmImport *import = &code->imports.at[i];
        if (str_is(import->module, "lib") &&
            t->plan->library_fns.at[emit_monitor_number_in(import->name)].library == library)
            return true;
    }
    return false;
}

/*
 * The start function: engines do not call `_initialize` of WASI reactors, so the monitor does.
 * `start` is the compiled code's; -1 = there is none.
 */
static void set_start(MonitorTarget *t, const WasmModule *code, int64_t start) {
    const Libraries *libraries = t->plan->libraries;
    Vec(uint32_t) calls = {0};
    for (uint32_t i = 0; libraries && i < libraries->list.len; i++) {
        const Library *library = libraries->list.at[i];
        const WasmExport *e =
            wasm_find_export(&library->module, WASM_SPACE_FUNC, STR("_initialize"));
        const WasmTypeDef *type = e ? wasm_func_type(&library->module, e->handle) : NULL;
        if (!e || type->nparams || type->nresults || !emit_monitor_is_called(t, code, library))
            continue;
        uint32_t func = wasm_need_import_func(&t->m, library->import_as, e->name, type);
        vec_push(&calls, func);
    }
    if (start >= 0)
        vec_push(&calls, (uint32_t)start);
    if (calls.len) {
        Buf body = {0};
        emit_calls(&body, &t->m, calls.at, calls.len);
        wasm_set_start(&t->m, emit_function(&t->m, "whammc.start", "%p", &body));
        buf_free(&body);
    }
    vec_free(&calls);
}

static void export_runtime(MonitorTarget *t, const char *name, Str function) {
    uint32_t func = runtime_function(t, function)->handle;
    wasm_add_export(&t->m, str_of(name), WASM_SPACE_FUNC, t->linked.handles[WASM_SPACE_FUNC][func]);
}

static bool has_intervals(const Plan *plan) {
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        if (ast_first_interval(plan->scripts.at[i]))
            return true;
    return false;
}

static void export_all(MonitorTarget *t, const WasmModule *code, const uint32_t *handles) {
    for (uint32_t i = 0; i < t->code.probes.len; i++) {
        const MonitorExport *e = &t->code.probes.at[i];
        uint32_t func = handles[code_function(code, e->function.ptr)];
        keep_from_inlining(&t->m.funcs.at[func]);
        export_probe(t, e, func);
    }
    for (uint32_t i = 0; i < t->code.callbacks.len; i++) {
        Str name = t->code.callbacks.at[i];
        wasm_add_export(&t->m, name, WASM_SPACE_FUNC, handles[code_function(code, name.ptr)]);
    }
    if (t->code.ends)
        wasm_add_export(&t->m, str_of("wasm:exit"), WASM_SPACE_FUNC,
                        handles[code_function(code, "exit")]);
    set_start(t, code, t->code.starts ? (int64_t)handles[code_function(code, "start")] : -1);
    if (can_be_coalesced(t, code))
        export_runtime(t, MONITOR_COALESCED, STR("site_count_exact"));
    if (asks_places(code))
        export_runtime(t, MONITOR_ATTACHED, done_function(code));
    if (has_intervals(t->plan))
        wasm_add_export(&t->m, str_of(MONITOR_INTERVALS), WASM_SPACE_MEMORY, t->place.memory);
}

/* False after a message if the code calls functions that engines do not have. */
static bool check_functions(const MonitorTarget *t, const WasmModule *code) {
    bool ok = true;
    for (uint32_t i = 0; i < code->imports.len; i++) {
        const WasmImport *import = &code->imports.at[i];
        if (!str_is(import->module, "lib"))
            continue;
        const LibraryFn *fn = &t->plan->library_fns.at[emit_monitor_number_in(import->name)];
        if (fn->bundled)
            ok &= library_check_host(fn->bundled, HOST_WASI, fn->called, t->diags);
    }
    return ok;
}

/* The compiled code becomes part of the module, with its runtime functions. */
static bool emit_monitor_link(MonitorTarget *t) {
    WasmModule code;
    Vec(uint32_t) roots = {0};
    bool ok = wasm_load_own(&code, t->code.module.data, t->code.module.len, t->diags) &&
              check_functions(t, &code) && note_memories(t, &code) &&
              emit_monitor_merge_runtime(t, &code);
    if (ok)
        add_memories(t);
    for (uint32_t i = 0; ok && i < t->code.probes.len; i++)
        vec_push(&roots, code_function(&code, t->code.probes.at[i].function.ptr));
    for (uint32_t i = 0; ok && i < t->code.callbacks.len; i++)
        vec_push(&roots, code_function(&code, t->code.callbacks.at[i].ptr));
    if (ok && t->code.starts)
        vec_push(&roots, code_function(&code, "start"));
    if (ok && t->code.ends)
        vec_push(&roots, code_function(&code, "exit"));
    for (uint32_t i = 0; ok && i < roots.len; i++)
        ok = roots.at[i] != UINT32_MAX || emit_monitor_fault(t, "a function is missing");
    WasmMerge g = {.to = &t->m,
                   .from = &code,
                   .memory = t->place.memory,
                   .resolve = resolve_code,
                   .ctx = t,
                   .prefix = str_of("")};
    ok = ok && wasm_merge(&g, roots.at, roots.len, t->diags);
    if (ok) {
        export_all(t, &code, g.handles[WASM_SPACE_FUNC]);
        emit_monitor_fill_memory(t, &code);
        wasm_merge_free(&g);
    }
    wasm_module_free(&code);
    vec_free(&roots);
    return ok;
}

/* ---- */

static bool emit_monitor_compile(MonitorTarget *t) {
    uint32_t n = t->plan->vars.len;
    bool *in_memory = mem_zalloc(n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        Storage storage = t->plan->vars.at[i].decl->storage;
        in_memory[i] = storage == STORAGE_UNSHARED || storage == STORAGE_FRAME;
    }
    GenOptions options = {
        .optimise = !t->options->no_optimise, .in_memory = in_memory, .pages = true};
    t->in.options = &options;
    Phase before = phase_begin(PHASE_COMPILE);
    bool ok = gen_monitor(&t->in, &t->code, t->diags);
    phase_end(before);
    free(in_memory);
    return ok;
}

/* Reads the output as engines do. */
static bool emit_monitor_check_output(MonitorTarget *t, const Buf *out) {
    Diags found = {0};
    Monitor monitor;
    bool empty = !t->code.probes.len && !t->code.ends;
    bool ok = monitor_read(&monitor, out->data, out->len, 0, &found) && found.list.len == empty;
    if (ok && empty)
        diag(t->diags, DIAG_MONITOR_EMPTY, NO_SPAN,
             "the monitor has no probes: nothing in the scripts is for an engine");
    if (!ok)
        emit_monitor_fault(t, found.list.len ? found.list.at[0]->message : "it cannot be read");
    ok = ok && limits_check(&monitor.m, out->len, NULL, NO_SPAN, t->diags);
    monitor_free(&monitor);
    diag_free(&found);
    return ok;
}

static bool emit_monitor_write(MonitorTarget *t, Buf *out) {
    Phase before = phase_begin(PHASE_WRITE);
    bool ok = wasm_write(&t->m, &(WasmWriter){0}, out);
    phase_end(before);
    return ok;
}

static bool emit_monitor_make(MonitorTarget *t, Buf *out) {
    counters_init(&t->counters, t->plan, COUNTERS_MONITOR);
    Counters *counters = t->options->coalesce ? &t->counters : NULL;
    Phase before = phase_begin(PHASE_PLAN);
    bool planned = units_make(t->plan, counters, &t->units, t->diags);
    phase_end(before);
    if (!planned || !emit_monitor_lay_out(t) || !emit_monitor_compile(t))
        return false;
    WasmLimits limits = {.min = 1, .page_log2 = 16};
    t->place = (RuntimePlace){.to = &t->m, .from = &t->runtime, .prefix = STR("whammc.")};
    t->place.memory = t->place.shown = wasm_add_memory(&t->m, limits, str_of("memory"));
    wasm_add_export(&t->m, str_of("memory"), WASM_SPACE_MEMORY,
                    t->place.memory); /* the first one */
    t->place.stack_pointer = wasm_add_global_i32(&t->m, true, str_of("whammc.stack"), VALUES_STACK);
    store_add(&t->store, &t->m);
    return emit_monitor_link(t) && emit_monitor_write(t, out) && emit_monitor_check_output(t, out);
}

bool monitor_module(Plan *plan, const MonitorOptions *options, Buf *out, Diags *diags) {
    assert(!out->len && plan_check(plan));
    MonitorTarget t = {.plan = plan, .options = options, .diags = diags};
    wasm_module_init(&t.m);
    store_init(&t.store, plan);
    memory_init(&t.memories, plan, &t.m);
    Phase before = phase_begin(PHASE_STORAGE);
    bool ok = emit_monitor_make(&t, out);
    phase_end(before);
    if (!ok)
        out->len = 0;
    monitor_code_free(&t.code);
    records_free(&t.records);
    units_free(&t.units);
    counters_free(&t.counters);
    store_free(&t.store);
    memory_free(&t.memories);
    if (t.linked.to)
        wasm_merge_free(&t.linked);
    if (t.runtime.bytes)
        wasm_module_free(&t.runtime);
    wasm_module_free(&t.m);
    buf_free(&t.classes);
    buf_free(&t.image);
    buf_free(&t.texts);
    buf_free(&t.table);
    map_free(&t.at.text);
    free(t.frame_at);
    free(t.tail);
    return ok;
}
