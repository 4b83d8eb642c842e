/*
 * monitor/attach/attach.c - monitor modules are attached to a program ahead of time.
 *
 * The steps are in inject/program.h. This target's part:
 *
 *   match   read the monitors, make their probes a plan (attach_plan.c); for each monitor make an
 *           instance and walk the program: predicates, callbacks (attach_match.c); tell it
 *           that this is over
 *   link    the instances become parts of the program as they are now (shim.h); add the
 *           function that runs wasm:exit; lay out; probe functions to templates (attach_template.c)
 *   splice  templates go in, where engines fire probes
 */
#include "monitor/attach/attach_code.h"

#include <assert.h>

#include "base/workers.h"
#include "edit/edit.h"
#include "inject/splice_hole.h"
#include "link/runtime.h"
#include "plan/make.h"
#include "valid/valid.h"
#include "wasm/emit.h"

static Span attach_whole(const Bind *b) {
    return (Span){b->p.file, 0, 0};
}

/* ---- reading ---- */

static bool read_library(BindState *s, const BindFile *file, Diags *diags) {
    WasmModule *m = mem_zalloc(sizeof *m);
    vec_push(&s->libraries, m);
    vec_push(&s->modules, ((BindModule){bind_library_name(str_of(file->path)), m}));
    return wasm_load(m, file->bytes, file->size, file->file, diags);
}

static bool read_monitor(Diags *diags, BindState *s) {
    const BindFile *file = &s->given->module;
    bool ok = monitor_read(&s->monitor, file->bytes, file->size, file->file, diags);
    for (uint32_t i = 0; i < s->given->nlibraries; i++)
        ok &= read_library(s, &s->given->libraries[i], diags);
    vec_push(&s->modules, ((BindModule){str_of(file->path), &s->monitor.m}));
    return ok;
}

static bool read_monitors(Bind *b) {
    bool ok = true;
    for (uint32_t k = 0; k < b->nstates; k++)
        ok &= read_monitor(b->p.diags, &b->states[k]);
    return ok;
}

/* ---- pass 1 ---- */

static void count_site(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                       uint32_t n) {
    Bind *b = self;
    (void)types;
    program_touch(&b->p, site, true);
    for (uint32_t i = 0; i < n; i++)
        matches[i].action->sites++;
}

/* A callback removes a probe. */
static void remove_now(void *ctx, uint32_t id) {
    BindState *s = ctx;
    bind_remove(s, s->bind->rules.at, id);
}

/* The output of a monitor while it is attached: shown, and kept in case it fails. */
static void print_now(void *ctx, int stream, const void *bytes, size_t n) {
    enum { NOTED = 150 };
    BindState *s = ctx;
    const uint8_t *at = bytes;
    for (size_t i = 0; i < n && s->said.len < NOTED; i++)
        if (at[i] >= ' ' || (s->said.len && i + 1 < n))
            buf_u8(&s->said, at[i] < ' ' ? ' ' : at[i]);
    if (s->options->write)
        s->options->write(s->options->ctx, stream, bytes, n);
}

/* Calls an exported setup function of the monitor, if present. */
static bool tell_monitor(Diags *diags, BindState *s, int64_t func, const char *name) {
    EvalError error;
    if (func < 0 || bind_host_call(s->host, (uint32_t)func, NULL, 0, NULL, 0, &error))
        return true;
    eval_report(&error, diags, DIAG_CANNOT_BIND, name);
    return false;
}

static bool attach_attach(Bind *b, uint32_t k) {
    BindState *s = &b->states[k];
    BindHostOptions options = {.app = &b->p.m,
                               .app_path = str_of(b->app->path),
                               .write = print_now,
                               .remove_probe = remove_now,
                               .ctx = s};
    s->host = bind_host_new(&options, s->modules.at, s->modules.len, b->p.diags);
    b->current = k;
    return s->host && tell_monitor(b->p.diags, s, s->monitor.coalesced, MONITOR_COALESCED) &&
           program_walk(&b->p) && !s->spent &&
           tell_monitor(b->p.diags, s, s->monitor.attached, MONITOR_ATTACHED);
}

static bool has_sites(const Bind *b, const BindState *s) {
    bool any = false;
    for (uint32_t i = 0; i < s->nrules; i++)
        any |= b->plan.actions.at[s->first_rule + i].sites > 0;
    return any;
}

/* Notes whether anything of a monitor runs with the program. */
static void attach_note_attached(Bind *b, BindState *s) {
    bool attached = has_sites(b, s);
    b->p.matched |= attached || s->monitor.exit >= 0;
    if (!attached && s->nrules)
        diag(b->p.diags, DIAG_NO_SITES, (Span){s->monitor.file, 0, 0},
             "no probe of the monitor matches anything in the program");
}

#ifndef NDEBUG
/* The locations of each monitor are in the order of the program, with rules of their own. */
static bool check_hits(const Bind *b) {
    for (uint32_t k = 0; k < b->nstates; k++) {
        const BindState *s = &b->states[k];
        for (uint32_t i = 0; i < s->hits.len; i++) {
            const BindHit *h = &s->hits.at[i];
            assert(h->rule >= s->first_rule && h->rule < s->first_rule + s->nrules);
            assert(h->words + b->rules.at[h->rule].nwords <= s->words.len);
            assert(!i || h[-1].func <= h->func);
            assert(h->first_addition + h->nadditions <= b->additions.len);
        }
        assert(s->accepted <= s->hits.len && s->spliced <= s->hits.len);
    }
    return true;
}
#endif

static bool attach_attach_match(void *self) {
    Bind *b = self;
    uint32_t errors = b->p.diags->errors;
    if (!read_monitors(b))
        return false;
    bind_plan(b);
    b->p.matcher.hooks.at = count_site;
    b->p.matcher.hooks.accept = bind_accept;
    bool ok = true;
    for (uint32_t k = 0; k < b->nstates && ok; k++)
        ok = attach_attach(b, k);
    ok = bind_faults(b) && ok && b->p.diags->errors == errors;
    for (uint32_t k = 0; k < b->nstates && ok; k++)
        attach_note_attached(b, &b->states[k]);
    assert(!ok || check_hits(b));
    return ok;
}

/* ---- whamm:dyninstr ---- */

/* (id): sets the location's flag. */
static uint32_t add_remove_probe(WasmModule *m, BindState *s) {
    uint64_t page = 65536;
    WasmLimits limits = {.min = (s->ids.n + page - 1) / page, .page_log2 = 16};
    s->ids.flags = wasm_add_memory(m, limits, STR("whammc.removed"));
    return emit_function(m, "whammc.remove_probe",
                         "param $id i32 local.get $id i32.const %u i32.lt_u"
                         " if local.get $id i32.const 1 i32.store8 %u 0 end",
                         s->ids.n, (uint32_t)s->ids.flags);
}

/* How a monitor changes its probes while the program runs. */
static int64_t dyninstr(void *ctx, BindPart *part, const WasmImport *import) {
    Bind *b = ctx;
    BindState *s = b->states;
    while (s->part != part)
        s++;
    if (str_is(import->name, "remove_probe")) {
        if (s->ids.remove_probe < 0)
            s->ids.remove_probe = add_remove_probe(&b->p.m, s);
        return s->ids.remove_probe;
    }
    if (!str_is(import->name, "insert_new_probe"))
        return -1;
    const uint8_t *name = (const uint8_t *)import->name.ptr;
    const WasmModule *monitor = &s->monitor.m; /* it may be a library that imports it */
    uint32_t at = name > monitor->bytes && name < monitor->bytes + monitor->size
                      ? (uint32_t)(name - monitor->bytes)
                      : 0;
    Diag *d = diag(b->p.diags, DIAG_CANNOT_BIND,
                   (Span){s->monitor.file, at, at ? at + import->name.len : 0},
                   "the monitor inserts probes while the program runs, which cannot be done ahead "
                   "of time");
    diag_hint(b->p.diags, d, "run it on an engine that attaches monitors");
    return -2;
}

/* ---- the end of the program ---- */

/* Calls a function, if there is one. */
static void call_if(Buf *b, const WasmModule *m, int64_t func) {
    uint32_t handle = (uint32_t)func;
    emit_calls(b, m, &handle, func >= 0);
}

/* Runs wasm:exit of all monitors, once. */
static uint32_t attach_add_flush(Bind *b) {
    WasmModule *m = &b->p.m;
    Buf calls = {0};
    uint32_t done = wasm_add_global_i32(m, true, STR("whammc.done"), 0);
    for (uint32_t k = 0; k < b->nstates; k++)
        emit_calls(&calls, m, b->states[k].dumps.at, b->states[k].dumps.len);
    call_if(&calls, m, b->total.func);
    for (uint32_t k = 0; k < b->nstates; k++) {
        const BindState *s = &b->states[k];
        if (s->monitor.exit >= 0)
            call_if(&calls, m, bind_part_func(s->part, (uint32_t)s->monitor.exit));
    }
    call_if(&calls, m, bind_shim_flush(&b->shim));
    uint32_t func = emit_function(m, "whammc.flush",
                                  "$done=%u global.get $done if return end"
                                  " i32.const 1 global.set $done %p",
                                  done, &calls);
    wasm_add_export(m, STR("whammc:flush"), WASM_SPACE_FUNC, func);
    buf_free(&calls);
    return func;
}

/* A function like `func` that then flushes. */
static uint32_t attach_add_entry(WasmModule *m, uint32_t func, uint32_t flush) {
    Buf after = {0};
    emit_calls(&after, m, &flush, 1);
    uint32_t entry = emit_wrapper(m, STR("whammc.entry"), func, NULL, &after);
    buf_free(&after);
    return entry;
}

/* The program ends where its entry returns to the host; the program itself may call that function
 * too. */
static void wrap_entries(Bind *b, uint32_t flush) {
    static const char *const names[] = {"_start", "main"};
    WasmModule *m = &b->p.m;
    bool any = false;
    for (uint32_t i = 0; i < 2; i++) {
        const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, str_of(names[i]));
        if (!e)
            continue;
        any = true;
        wasm_set_export(m, (uint32_t)(e - m->exports.at),
                        attach_add_entry(&b->p.m, e->handle, flush));
    }
    int64_t start = any ? -1 : program_main(m);
    if (start >= 0)
        wasm_set_start(m, attach_add_entry(&b->p.m, (uint32_t)start, flush));
    if (!any && start < 0)
        diag(b->p.diags, DIAG_NO_FLUSH_POINT, attach_whole(b),
             "no main, _start or start function: wasm:exit runs when the host calls "
             "'whammc:flush'");
}

/* ---- linking ---- */

static Str part_prefix(Arena *arena, const BindState *s) {
    Str name = bind_library_name(str_of(s->given->module.path));
    const char *prefix = arena_printf(arena, "%.*s.", STR_ARG(name));
    return str_of(prefix);
}

/* The functions of a monitor that are probes at some place, and wasm:exit. */
static bool merge_part(Bind *b, BindState *s) {
    Vec(uint32_t) roots = {0};
    for (uint32_t i = 0; i < s->nrules; i++)
        if (b->plan.actions.at[s->first_rule + i].sites)
            vec_push(&roots, s->monitor.probes.at[i].func);
    if (s->monitor.exit >= 0)
        vec_push(&roots, (uint32_t)s->monitor.exit);
    bool ok = bind_part_merge(s->part, roots.at, roots.len);
    vec_free(&roots);
    return ok;
}

/* ---- holes of templates: recorded values, and counters in globals ---- */

static const uint64_t *attach_words_of(void *ctx, const Site *site, const Match *match,
                                       uint32_t *n) {
    Bind *b = ctx;
    uint32_t rule = (uint32_t)(match->action - b->plan.actions.at);
    BindState *s = &b->states[b->rules.at[rule].monitor];
    const BindHit *h = bind_next(s, &s->spliced);
    (void)site;
    *n = b->rules.at[rule].nwords;
    return s->words.at + h->words;
}

static void attach_fill(void *ctx, Splicer *s, const Hole *h, const Variant *v, const Site *site) {
    uint64_t global = wasm_final(s->m, WASM_SPACE_GLOBAL, bind_cell(ctx, s->site.words, h->n));
    (void)v;
    (void)site;
    assert(h->kind == HOLE_CELL);
    hole_put_global(s, h->access, global);
}

static const SpliceBackend backend = {.words = attach_words_of, .fill = attach_fill};

/* Functions without code that take the parameters of probes. */
static void attach_add_empty(Bind *b) {
    WasmModule *m = &b->p.m;
    for (uint32_t i = 0; i < b->rules.len; i++) {
        BindRule *r = &b->rules.at[i];
        const BindState *s = &b->states[r->monitor];
        r->empty = UINT32_MAX;
        if (!b->options->empty_bodies || !b->plan.actions.at[i].sites)
            continue;
        Buf code = {0};
        emit_body(&code, "nop");
        const WasmTypeDef *t = wasm_func_type(m, bind_part_func(s->part, r->probe->func));
        uint32_t type = wasm_add_func_type(m, t->params, t->nparams, NULL, 0);
        r->empty = wasm_add_func(m, type, STR("whammc.empty"), &code, true);
    }
}

/* Whether there is a clock for intervals; reports a monitor that needs one. */
static bool monitors_have_clock(const Bind *b) {
    for (uint32_t k = 0; k < b->nstates && bind_shim_clockless(&b->shim); k++) {
        const Monitor *m = &b->states[k].monitor;
        if (!m->intervals)
            continue;
        host_report_no_clock(b->p.diags, (Span){m->file, 0, 0});
        return false;
    }
    return true;
}

static bool link_parts(Bind *b) {
    BindShimOptions options = {.host = b->options->host, .dyninstr = dyninstr, .ctx = b};
    bind_shim_init(&b->shim, &b->p.m, &options, b->p.diags);
    b->shimmed = true;
    for (uint32_t k = 0; k < b->nstates; k++) {
        BindState *s = &b->states[k];
        s->part = bind_part_new(&b->shim, s->host, part_prefix(&b->plan.arena, s));
    }
    for (uint32_t k = 0; k < b->nstates; k++)
        if (!merge_part(b, &b->states[k]))
            return false;
    attach_add_empty(b);
    bool ok = bind_shim_finish(&b->shim) && monitors_have_clock(b);
    if (b->options->hosted)
        *b->options->hosted = bind_shim_host(&b->shim);
    return ok;
}

static bool attach_link(void *self) {
    Bind *b = self;
    if (!b->p.matched)
        return true; /* the output is the input */
    if (!link_parts(b))
        return false;
    bind_inline(b);
    assert(check_hits(b));
    if (!bind_total(b))
        return false;
    if (b->counts.corrections.table.len)
        b->p.counts = &b->counts;
    uint32_t flush = attach_add_flush(b);
    wrap_entries(b, flush);
    wasm_layout(&b->p.m);
    program_wrap_ends(&b->p, -1, program_proc_exit(&b->p.m));
    b->p.ends.flush = flush;
    splicer_init(&b->p.splicer, &b->p.m, &b->plan, &backend, b);
    b->current = b->nstates;
    return bind_templates(b);
}

/* ---- pass 2 ---- */

/* At the function's entry. */
static void attach_splice_entry(Bind *b, const Site *site, const Match *matches, uint32_t n) {
    Pieces *pieces = &b->p.pieces;
    WasmCode code;
    wasm_func_code(&b->p.m, site->func, &code);
    size_t from = pieces->code.len;
    program_splice_all(&b->p, site, matches, n);
    pieces_add(pieces, WASM_BEFORE, (uint32_t)(code.at - code.start), RANK_PROBE, from,
               pieces->code.len);
}

static void splice_at(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n) {
    Bind *b = self;
    if (!site->instr) {
        attach_splice_entry(b, site, matches, n);
        return;
    }
    program_splice_site(&b->p, site, types, matches, n);
}

/* ---- */

static void attach_blame(void *self, Diag *d) {
    Bind *b = self;
    for (uint32_t i = 0; i < b->rules.len; i++) {
        const BindState *s = &b->states[b->rules.at[i].monitor];
        Str name = b->rules.at[i].probe->name;
        uint32_t at = (uint32_t)((const uint8_t *)name.ptr - s->monitor.m.bytes);
        uint32_t sites = b->plan.actions.at[i].sites;
        if (sites)
            diag_label(b->p.diags, d, (Span){s->monitor.file, at, at + name.len},
                       "this probe has %u sites", sites);
    }
    diag_hint(
        b->p.diags, d,
        "this is an internal error of whammc; please report it with the monitor and the program");
}

static void attach_enter(void *self, uint32_t func, Pieces *pieces) {
    (void)pieces; /* it is the program's */
    bind_put_counters(self, func);
}

static const Target target = {.match = attach_attach_match,
                              .link = attach_link,
                              .enter = attach_enter,
                              .splice = splice_at,
                              .blame = attach_blame};

static void tell_attached(const Bind *b) {
    for (uint32_t i = 0; i < b->rules.len && b->options->attached; i++)
        b->options->attached(b->options->ctx, b->rules.at[i].monitor, b->rules.at[i].probe->name,
                             b->plan.actions.at[i].sites);
}

static void free_state(BindState *s) {
    if (s->host)
        bind_host_free(s->host);
    for (uint32_t i = 0; i < s->libraries.len; i++) {
        wasm_module_free(s->libraries.at[i]);
        free(s->libraries.at[i]);
    }
    vec_free(&s->libraries);
    vec_free(&s->modules);
    monitor_free(&s->monitor);
    vec_free(&s->hits);
    vec_free(&s->words);
    vec_free(&s->ids.hits);
    vec_free(&s->dumps);
    buf_free(&s->said);
    map_free(&s->cells);
}

bool bind_program(const BindMonitor *monitors, uint32_t nmonitors, const BindFile *app,
                  const BindOptions *options, Buf *out, Diags *diags) {
    Bind b = {.options = options, .app = app, .nstates = nmonitors};
    b.states = mem_zalloc(sizeof *b.states * (nmonitors + 1u));
    for (uint32_t k = 0; k < nmonitors; k++) {
        b.states[k].given = &monitors[k];
        b.states[k].options = options;
        b.states[k].bind = &b;
        b.states[k].ids.flags = b.states[k].ids.remove_probe = -1;
    }
    b.p = (Program){.target = &target,
                    .self = &b,
                    .plan = &b.plan,
                    .file = app->file,
                    .diags = diags,
                    .output.keep_debug = options->keep_debug,
                    .threads = workers_threads(options->threads)};
    bool ok = program_instrument(&b.p, app->bytes, app->size, out);
    if (ok)
        tell_attached(&b);
    if (b.shimmed)
        bind_shim_free(&b.shim);
    for (uint32_t k = 0; k < nmonitors; k++)
        free_state(&b.states[k]);
    free(b.states);
    for (uint32_t i = 0; i < b.rules.len; i++)
        if (b.rules.at[i].source)
            buf_free(&b.rules.at[i].source->code);
    vec_free(&b.cells);
    vec_free(&b.sums);
    map_free(&b.sum_at);
    vec_free(&b.additions);
    counts_free(&b.counts);
    vec_free(&b.runs);
    vec_free(&b.keys);
    vec_free(&b.vars);
    vec_free(&b.rules);
    vec_free(&b.scratch);
    vec_free(&b.faults);
    program_free(&b.p);
    plan_free(&b.plan);
    return ok;
}
