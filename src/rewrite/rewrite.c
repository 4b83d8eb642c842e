/*
 * rewrite/rewrite.c - compiles a plan into a program.
 *
 * The steps are in inject/program.h. This target's parts:
 *
 *   match   each site gets its storage and its row of the report (sites.c, storage/storage.h)
 *   link    decide where storage and runtime live, add them to the module (flush/flush.h); compile
 *           the shapes that occurred to templates (gen/); lay out the module; add the start and the
 *           flush function
 *   splice  templates go in (sites.c, inject/splice.h)
 *
 * All other changes, and their bookkeeping, are made by the passes.
 */
#include "rewrite/rewrite.h"

#include <assert.h>

#include "base/workers.h"
#include "flush/flush_library.h"
#include "gen/compile_options.h"
#include "library/builtin.h"
#include "link/runtime.h"
#include "plan/alt.h"
#include "rewrite/sites.h"
#include "rewrite/suspend.h"
#include "valid/valid.h"

/* The reasons for the order, where there is one. */
const RewritePass *const rewrite_passes[] = {
    &alts_pass,
    &continuations_pass, /* a function that begins a stack does so first of all */
    &stack_pass,         /* before frames, which are on it */
    &polls_pass,         /* at a poll nothing is half done: neither a frame nor a counter */
    &frames_pass,
    &memories_pass,
    &functions_pass,
    &shadow_pass,
    &br_tables_pass,
    &tags_pass,         /* after all passes that begin a function */
    &counting_pass,     /* after polls and frames, before probes */
    &saved_frames_pass, /* before stacks_pass: frames are saved, then the stack is left */
    &stacks_pass,
    &engine_frames_pass, /* after frames_pass, whose frames it describes */
    &print_order_pass,   /* after engine_frames_pass, whose functions its own ones call */
    &leaf_pass,          /* before outline_pass: may remove the call that makes that pay */
    &outline_pass,
    &branch_hints_pass,    /* after passes that change templates: its holes are in their code */
    &preserve_floats_pass, /* after branch_hints_pass, whose conditions it looks for */
    NULL};

_Static_assert(sizeof rewrite_passes / sizeof *rewrite_passes <= REWRITE_MAX_PASSES, "room");

/* ---- passes ---- */

static void begin_passes(Rewrite *r) {
    for (uint32_t k = 0; rewrite_passes[k]; k++) {
        const RewritePass *pass = rewrite_passes[k];
        r->passes.state[k] = mem_zalloc(pass->size + 1);
        r->passes.runs[k] = !pass->begin || pass->begin(r, r->passes.state[k]);
        if (r->passes.runs[k] && pass->note)
            r->passes.noting[r->passes.nnoting++] = k;
    }
}

static void free_passes(Rewrite *r) {
    for (uint32_t k = 0; rewrite_passes[k]; k++) {
        if (r->passes.state[k] && rewrite_passes[k]->free)
            rewrite_passes[k]->free(r, r->passes.state[k]);
        free(r->passes.state[k]);
    }
}

/* ---- pass 1 ---- */

/* Sets the properties of the program that scripts may know before its sites are known. */
static void rewrite_describe(Plan *plan, const WasmModule *m, const WasmAsyncify *asyncify,
                             HostChoice host, const char *file, uint32_t module_id) {
    plan->program.host = host_name(host);
    plan->program.module_id = module_id;
    plan->program.asyncify = stacks_are_asyncifys(asyncify);
    plan->program.threads = flush_has_threads(m);
    plan->program.module_name =
        plan->program.part.len && !m->name.len ? plan->program.part : wasm_shown_module(m, file);
    plan->program.nameless = !wasm_names_funcs(m);
}

/* Whether the runtime, or a library, requires an engine with multi-memory that the program could do
 * without. dup_at may write to the runtime's memory, which cannot be imported. */
static bool import_helps(const Rewrite *r) {
    const Plan *plan = r->p.plan;
    bool memory = plan->asks.values || r->options->polls; /* hidden from a running program */
    for (uint32_t i = 0; plan->libraries && i < plan->libraries->list.len; i++)
        memory |= plan->libraries->list.at[i]->module.memories.len > 0;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        memory &= !plan->variants.at[i]->calls.dups.len;
    return memory && r->p.m.memories.len == 1 && !stack_is_read(plan);
}

/* Resolves LINK_AUTO, which pass 1 needs; many slots, found by it, need a memory after all. */
static void decide_link(Rewrite *r) {
    const RewriteOptions *options = r->given;
    r->decided.link = options->link;
    r->decided.host = options->host;
    if (options->link != LINK_AUTO)
        return;
    bool import = options->host != HOST_PROF && store_words(&r->store) <= STORAGE_MAX_GLOBALS &&
                  import_helps(r);
    r->decided.link = import ? LINK_IMPORT : LINK_MERGE;
    if (import)
        r->decided.host = r->host = HOST_WASI; /* scripts have been told the host for merge */
}

/* Whether functions of the program may have frame variables to keep while they are left. */
static bool must_save_frames(const Plan *plan, const WasmAsyncify *asyncify) {
    bool any = false;
    for (uint32_t i = 0; i < plan->vars.len; i++)
        any |= plan->vars.at[i].decl->storage == STORAGE_FRAME;
    return any && asyncify->found;
}

/* Makes the decisions that do not depend on sites. */
static void rewrite_begin(Rewrite *r) {
    Plan *plan = r->p.plan;
    const WasmModule *m = &r->p.m;
    WasmAsyncify *asyncify = &r->p.matcher.survey.asyncify;
    const RewriteOptions *options = r->given;
    wasm_asyncify_find(asyncify, m);
    r->host = flush_host(m, plan, options);
    r->p.matcher.survey.in_component = r->host == HOST_COMPONENT;
    r->p.matcher.survey.in_quiet = options->quiet;
    rewrite_describe(plan, m, asyncify, r->host, diag_file_name(r->p.diags, r->p.file),
                     options->alone ? 0 : stacks_module_id(m, r->host, options->several));
    plan_find_alone(plan);
    r->saves_frames = must_save_frames(plan, asyncify);
    r->sets_aside =
        stack_switches(plan) && stacks_are_hosts(m, asyncify, r->host, plan->program.module_id);
    plan->asks.values |= r->saves_frames || r->sets_aside;
    r->decided.polls = options->polls && r->host != HOST_PROF;
    tallies_find(plan);
    store_init(&r->store, plan);
    r->store.knows_sites = true;
    decide_link(r);
}

/* Notes events that happen once: at the beginning, at the end, for a report, where stacks are
 * left. */
static void note_once(Rewrite *r) {
    Plan *plan = r->p.plan;
    OnceShapes *once = &r->once;
    *once = plan_once(plan, &r->p.m);
    if (stacks_may_change(&r->p.m, &r->p.matcher.survey.asyncify, r->host, plan->program.module_id))
        plan_once_stacks(plan, &r->p.m, once);
    const ShapeList *lists[] = {&once->begin, &once->end, &once->report, &once->suspend,
                                &once->resume};
    Site nowhere = plan_nowhere(plan, &r->p.m);
    for (uint32_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        for (uint32_t i = 0; i < lists[k]->len; i++) {
            plan->shapes.at[lists[k]->at[i]->index]->sites++;
            memory_note(&r->memories, &nowhere, lists[k]->at[i]->variant, r->p.diags);
        }
        store_count_once(&r->store, lists[k], &r->p.m);
    }
}

static bool rewrite_match(void *self) {
    Rewrite *r = self;
    uint32_t errors = r->p.diags->errors;
    rewrite_begin(r);
    begin_passes(r);
    r->p.matcher.hooks.at = sites_count;
    if (r->store.counts)
        r->p.matcher.hooks.at_body = sites_count_body;
    r->ahead = (CountAhead){.walk = &r->p.matcher, .store = &r->store, .kinds = &r->kinds};
    count_ahead_init(&r->ahead, r->p.threads);
    bool ok = program_walk(&r->p);
    count_ahead_free(&r->ahead);
    alt_report(r->p.plan, &r->p.m, r->p.diags);
    if (ok) {
        note_once(r);
        REWRITE_EACH (r, k, decide)
            rewrite_passes[k]->decide(r, r->passes.state[k]);
        store_close(&r->store, &r->p.m);
    }
    decide_link(r);
    tallies_choose(&r->store.tallies, r->decided.link == LINK_MERGE && r->host != HOST_PROF);
    return ok && r->p.diags->errors == errors;
}

/* ---- between the passes ---- */

/* The final index of the runtime's memory, before the layout: it is the last one that is imported
 * or defined so far. */
static uint32_t final_memory(const WasmModule *m, uint32_t memory) {
    if (memory == UINT32_MAX || m->memories.at[memory].import < 0)
        return memory == UINT32_MAX ? 0 : memory;
    uint32_t before = 0;
    for (int32_t i = 0; i < m->memories.at[memory].import; i++)
        before += m->imports.at[i].space == WASM_SPACE_MEMORY;
    return before;
}

static bool rewrite_compile(Rewrite *r, const Template **init) {
    GenOptions gen = {.optimise = !r->options->no_optimise,
                      .in_memory = r->store.var_in_memory,
                      .cells_in_memory = r->store.cells.in_memory};
    gen.memory_index = final_memory(&r->p.m, r->store.memory);
    gen.imported = r->options->link == LINK_IMPORT;
    gen.stack_calls = !stack_is_in_program(r->p.plan, gen.imported);
    gen.tallies = r->store.tallies.chosen;
    gen.pages = !gen.imported && fill_can_keep_pages(&r->store);
    Site nowhere = plan_nowhere(r->p.plan, &r->p.m);
    gen.nowhere = &nowhere;
    return gen_templates(r->p.plan, &gen, init, r->p.diags);
}

/* Drops strings and maps that only a report would show, as they need no memory where there is none:
 * compiles to see whether code reads them. */
static bool drop_values(Rewrite *r, const Template **init) {
    Plan *plan = r->p.plan;
    if (r->host != HOST_PROF || !plan->asks.values || r->saves_frames)
        return true;
    if (!rewrite_compile(r, init))
        return false;
    plan->asks.values = reach_find(plan, init).values;
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        s->template = s->predicate = s->init = s->exit = NULL;
    }
    return true;
}

/* Decides where everything is stored, and makes the templates. */
static bool rewrite_place(Rewrite *r, const Template **init) {
    Plan *plan = r->p.plan;
    uint32_t errors = r->p.diags->errors;
    r->flush = (Flush){.m = &r->p.m,
                       .store = &r->store,
                       .plan = plan,
                       .options = r->options,
                       .matcher = &r->p.matcher,
                       .shadow = &r->shadow,
                       .memories = &r->memories,
                       .stack = &r->stack,
                       .helpers = r->helpers,
                       .diags = r->p.diags,
                       .file = r->p.file,
                       .host = r->host};
    r->store.rows.reports = r->store.rows.reported && !r->once.report.len && r->host != HOST_PROF;
    if (plan->faults.lack.call)
        builtin_report(&plan->faults.lack, &r->p.m, r->p.diags);
    if (r->p.diags->errors > errors || !drop_values(r, init) || !flush_plan(&r->flush) ||
        !rewrite_compile(r, init))
        return false;
    REWRITE_EACH (r, k, shape)
        rewrite_passes[k]->shape(r, r->passes.state[k]);
    return true;
}

/* Adds to the module the definitions that code at sites refers to, and lays it out. */
static bool add(Rewrite *r, Reach *reach) {
    REWRITE_EACH (r, k, reach)
        rewrite_passes[k]->reach(r, r->passes.state[k], reach);
    if (!flush_link(&r->flush, reach, &r->once) ||
        (reach->helpers[HELPER_FMOD] &&
         !runtime_add_fmod(&r->p.m, &r->helpers[HELPER_FMOD], r->p.diags)) ||
        !libraries_link(&r->flush))
        return false;
    REWRITE_EACH (r, k, add)
        rewrite_passes[k]->add(r, r->passes.state[k], reach);
    wasm_layout(&r->p.m);
    return true;
}

/* Sets up pass 2: the module is laid out, and all functions are there. */
static void begin_splicing(Rewrite *r) {
    WasmSurvey *survey = &r->p.matcher.survey;
    const FlushHandles *at = &r->flush.at;
    Splicer *s = &r->p.splicer;
    Fill *f = &r->fill;
    fill_init(f, s, &r->p.m, r->p.plan, &r->store);
    f->kept = r->flush.kept; /* code at sites shares it with no other code */
    f->helpers = r->helpers;
    f->fns = r->fns;
    f->shadow = &r->shadow;
    f->br_tables = &r->br_tables;
    f->memories = &r->memories;
    f->stack = &r->stack;
    f->atomics = &r->flush.atomics;
    f->due = at->due;
    f->thread = at->thread;
    f->grow = at->grow;
    f->size = at->size;
    if (survey->asyncify.found)
        s->state = wasm_final(&r->p.m, WASM_SPACE_GLOBAL, survey->asyncify.state);
    s->stacks = r->stacks;
    if (survey->funcs) /* there may be unwind probes */
        s->exceptions = r->p.exceptions = wasm_survey_exceptions(survey, &r->p.m);
    r->region_func = UINT32_MAX;
    bool traps = r->store.counts && r->store.counts->corrections.table.len;
    /* they are not corrected there */
    assert(!traps || (r->flush.host != HOST_PROF && r->flush.host != HOST_COMPONENT));
    if (r->flush.flushes && traps)
        r->p.counts = &r->coalesce.counts;
    r->p.ends.flush = at->flush == UINT32_MAX ? -1 : (int64_t)at->flush;
}

static bool rewrite_link(void *self) {
    Rewrite *r = self;
    const Template **init =
        arena_array(&r->p.plan->arena, const Template *, r->p.plan->scripts.len + 1);
    if (!rewrite_place(r, init))
        return false;
    Reach reach = reach_find(r->p.plan, init);
    if (!add(r, &reach))
        return false;
    store_laid_out(&r->store, &r->p.m);
    program_wrap_ends(&r->p, r->flush.main, r->flush.proc_exit);
    REWRITE_EACH (r, k, fill)
        rewrite_passes[k]->fill(r, r->passes.state[k]);
    if (!flush_add(&r->flush, init, &r->once, &reach)) {
        map_free(&r->flush.kept);
        return false;
    }
    REWRITE_EACH (r, k, finish)
        rewrite_passes[k]->finish(r, r->passes.state[k], &reach);
    begin_splicing(r);
    return true;
}

/* ---- pass 2 ---- */

static void rewrite_enter(void *self, uint32_t func, Pieces *pieces) {
    Rewrite *r = self;
    REWRITE_EACH (r, k, enter)
        rewrite_passes[k]->enter(r, r->passes.state[k], func, pieces);
}

static void rewrite_leave(void *self, uint32_t func, Pieces *pieces) {
    Rewrite *r = self;
    REWRITE_EACH (r, k, leave)
        rewrite_passes[k]->leave(r, r->passes.state[k], func, pieces);
}

/* Frees the counts, except for the section whammc.traps, which is still to be written. */
static void written(void *self) {
    Rewrite *r = self;
    image_free(r->store.rows.image);
    r->store.rows.image = NULL;
    if (r->store.counts)
        counts_written(&r->coalesce.counts);
}

static void append(void *self, const WasmModule *written, Buf *out) {
    Rewrite *r = self;
    REWRITE_EACH (r, k, append)
        rewrite_passes[k]->append(r, r->passes.state[k], written, out);
    atomics_put_section(&r->flush.atomics, &r->store, out);
}

static void rewrite_blame(void *self, Diag *d) {
    const Rewrite *r = self;
    for (uint32_t i = 0; i < r->p.plan->probes.len; i++) {
        const PlanProbe *p = &r->p.plan->probes.at[i];
        uint32_t sites = 0;
        for (uint32_t k = 0; k < p->nactions; k++)
            sites += r->p.plan->actions.at[p->first_action + k].sites;
        if (sites)
            diag_label(r->p.diags, d, p->probe->rule.span, "this probe matched %u sites", sites);
    }
    diag_hint(
        r->p.diags, d,
        "this is an internal error of whammc; please report it with the script and the program");
}

/* Whether the program needs its host for a report, or imports something from it. */
static bool needs_host(const Rewrite *r) {
    bool needs = r->flush.flushes;
    for (uint32_t i = r->p.m.input_import_count; i < r->p.m.imports.len; i++)
        needs |= str_is(r->p.m.imports.at[i].module, "whammc");
    return needs;
}

static void tell_host(const Rewrite *r, const RewriteOptions *options) {
    Hosted *h = options->hosted;
    *h = (Hosted){.host = HOST_AUTO};
    if (!needs_host(r))
        return;
    h->host = r->host;
    if (r->decided.link == LINK_IMPORT)
        h->why = STR("an imported runtime uses WASI");
    else if (options->host == HOST_AUTO)
        h->why = runtime_host_reason(&r->p.m, r->host, &r->p.plan->arena);
}

static const Target target = {.match = rewrite_match,
                              .count = sites_count_func,
                              .link = rewrite_link,
                              .enter = rewrite_enter,
                              .leave = rewrite_leave,
                              .enters_apart = true,
                              .splice = sites_splice,
                              .append = append,
                              .written = written,
                              .blame = rewrite_blame};

/* Whether the scripts need no engine. */
static bool needs_no_engine(const Plan *plan, Diags *diags) {
    const Expr *number = plan->asks.number;
    if (!number)
        return true;
    Diag *d = diag(diags, DIAG_INSTR_CANNOT, number->span,
                   "'probe_id' is the number that an engine gives the location: only monitors have "
                   "it");
    diag_hint(diags, d, "fid and pc tell locations apart");
    return false;
}

bool rewrite_module(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                    const RewriteOptions *options, Buf *out, Diags *diags) {
    Rewrite r = {.given = options, .decided = *options};
    r.options = &r.decided;
    r.p = (Program){.target = &target,
                    .self = &r,
                    .plan = plan,
                    .file = file,
                    .diags = diags,
                    .output.keep_debug = options->keep_debug,
                    .output.map_url = str_of(options->map_url),
                    .output.map_root = str_of(options->map_root),
                    .output.map = options->map,
                    .output.sink = options->sink,
                    .threads = workers_threads(options->threads)};
    bool ok = needs_no_engine(plan, diags) && program_instrument(&r.p, bytes, size, out);
    if (options->linked)
        *options->linked = r.decided.link == LINK_AUTO ? LINK_MERGE : r.decided.link;
    if (ok && options->hosted)
        tell_host(&r, options);
    free_passes(&r);
    store_free(&r.store);
    kinds_free(&r.kinds);
    vec_free(&r.coded);
    fill_free(&r.fill);
    vec_free(&r.flush.at.library_starts);
    vec_free(&r.flush.sums.funcs);
    buf_free(&r.flush.sums.table);
    vec_free(&r.flush.sums.settle);
    program_free(&r.p);
    return ok;
}

bool rewrite_list(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                  void (*at)(void *ctx, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n),
                  void *ctx, Diags *diags) {
    static const RewriteOptions options;
    WasmModule m;
    Matcher w = {.plan = plan, .m = &m, .watch_funcs = {-1, -1}, .hooks.at = at, .hooks.ctx = ctx};
    bool ok = wasm_load(&m, bytes, size, file, diags);
    if (ok) {
        HostChoice host = flush_host(&m, plan, &options);
        wasm_asyncify_find(&w.survey.asyncify, &m);
        rewrite_describe(plan, &m, &w.survey.asyncify, host, diag_file_name(diags, file),
                         stacks_module_id(&m, host, false));
    }
    for (uint32_t f = 0; ok && f < m.funcs.len; f++)
        if (m.funcs.at[f].import < 0 && !match_func(&w, f))
            ok = walk_failed(&w, f, file, diags);
    if (ok && plan->faults.lack.call) {
        builtin_report(&plan->faults.lack, &m, diags);
        ok = false;
    }
    alt_report(plan, &m, diags);
    matcher_free(&w);
    wasm_module_free(&m);
    return ok;
}
