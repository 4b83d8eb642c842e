/*
 * api/whammc.c - the public library: scripts and modules from memory to memory.
 *
 * Each call parses and checks the scripts again (they are small compared with programs), so that a
 * whammc object holds only texts and the results of its last call.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "api/api.h"

#include "api/api_locate.h"
#include "api/api_monitor.h"
#include "api/bundled_scripts.h"
#include "base/phase.h"
#include "component/component.h"
#include "fmt/fmt.h"
#include "monitor/make/emit_monitor.h"
#include "monitor/make/unit.h"
#include "plan/counter.h"
#include "plan/make.h"
#include "plan/statics.h"
#include "report/embedded.h"
#include "valid/valid.h"
#include "wasm/op_text.h"

#include <assert.h>

const char *whammc_version(void) {
    return PACKAGE_VERSION;
}

whammc *whammc_new(void) {
    return mem_zalloc(sizeof(whammc));
}

/* Frees all but messages. */
static void free_scripts(whammc *w) {
    plan_free(&w->plan);
    w->plan = (Plan){0};
    libraries_free(&w->libraries);
    w->libraries = (Libraries){0};
    for (uint32_t i = 0; i < w->scripts.len; i++) {
        script_free(w->scripts.at[i]);
        free(w->scripts.at[i]);
    }
    w->scripts.len = w->files.len = w->probes.len = 0;
    w->rules.len = w->read.attached.len = w->read.constants.len = 0;
    arena_free(&w->read.names);
    meanings_free(&w->meanings);
    free(w->rule);
    w->rule = NULL;
    arena_free(&w->read.arena);
}

void api_reset(whammc *w) {
    free_scripts(w);
    w->earlier.len = 0;
    diag_free(&w->diags);
    w->diags = (Diags){0};
}

void whammc_free(whammc *w) {
    if (!w)
        return;
    api_reset(w);
    buf_free(&w->source_map);
    for (uint32_t i = 0; i < w->sources.len; i++) {
        free(w->sources.at[i].name);
        free(w->sources.at[i].text);
    }
    api_free_files(w);
    for (uint32_t i = 0; i < w->library_sources.len; i++) {
        free(w->library_sources.at[i].name);
        free(w->library_sources.at[i].import_as);
        free(w->library_sources.at[i].bytes);
    }
    for (uint32_t i = 0; i < w->definitions.len; i++)
        free(w->definitions.at[i]);
    whammc_choose_modules(w, NULL);
    vec_free(&w->modules);
    api_free_monitors(w);
    vec_free(&w->definitions);
    vec_free(&w->read.constants);
    vec_free(&w->sources);
    vec_free(&w->library_sources);
    vec_free(&w->scripts);
    vec_free(&w->files);
    vec_free(&w->maps);
    vec_free(&w->countings);
    vec_free(&w->probes);
    vec_free(&w->read.attached);
    vec_free(&w->earlier);
    buf_free(&w->rules);
    buf_free(&w->rendered);
    buf_free(&w->explained);
    manual_free(&w->manual);
    buf_free(&w->why_hosted);
    buf_free(&w->build_id);
    free(w);
}

void whammc_add_script(whammc *w, const char *name, const char *text, size_t len) {
    vec_push(&w->sources, ((Source){api_copy(name, strlen(name)), api_copy(text, len), len}));
}

void whammc_add_library(whammc *w, const char *name, const char *import_as, const void *bytes,
                        size_t size) {
    LibrarySource s = {.name = api_copy(name, strlen(name)), .size = size};
    s.import_as = import_as ? api_copy(import_as, strlen(import_as)) : NULL;
    s.bytes = (uint8_t *)api_copy(bytes, size);
    vec_push(&w->library_sources, s);
}

void whammc_set_world(whammc *w, const whammc_world *world) {
    w->world = (EvalWasi){.write = world->write,
                          .ctx = world->ctx,
                          .args = world->args,
                          .environment = world->environment};
}

/* The status after these messages. */
static whammc_status message_status(const whammc *w) {
    for (uint32_t i = 0; i < w->diags.list.len; i++)
        if (w->diags.list.at[i]->tag == DIAG_INTERNAL)
            return WHAMMC_INTERNAL;
    return w->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}

whammc_status api_output(const whammc *w, bool ok, Buf *buf, uint8_t **out, size_t *out_size) {
    if (ok) {
        *out = buf->data;
        *out_size = buf->len;
        return WHAMMC_OK;
    }
    buf_free(buf);
    whammc_status status = message_status(w);
    return status == WHAMMC_OK ? WHAMMC_INTERNAL : status;
}

static void parse_script(whammc *w, const char *name, const char *text, size_t len) {
    Script *script = mem_zalloc(sizeof *script);
    script->includer = api_includer(w);
    script->meanings = w->noting ? &w->meanings : NULL;
    vec_push(&w->scripts, script);
    vec_push(&w->files, diag_file(&w->diags, name, text, len, false));
    lang_parse(script, text, len, vec_last(&w->files), &w->diags);
}

/* Removes the parts that `without` names from the parsed scripts. */
static void leave_out(whammc *w, unsigned without) {
    for (uint32_t i = 0; i < w->scripts.len; i++) {
        if (without & WHAMMC_WITHOUT_PREDICATES)
            lang_leave_out_predicates(w->scripts.at[i]);
        if (without & WHAMMC_WITHOUT_REPORT)
            lang_leave_out_reports(w->scripts.at[i]);
        if (without & WHAMMC_COUNT_STATEMENTS)
            lang_count_statements(w->scripts.at[i], &w->diags);
    }
}

/* A script that reports a hash of the program, the scripts and their constants. Static storage of
 * w. */
static const char *identify(whammc *w, Str program) {
    uint64_t hash = hash_more(HASH_START, program.ptr, program.len);
    for (uint32_t i = 0; i < w->sources.len; i++) /* with the NUL after each */
        hash = hash_more(hash, w->sources.at[i].text, w->sources.at[i].len + 1);
    for (uint32_t i = 0; i < w->include.found.len; i++)
        hash = hash_more(hash, w->include.found.at[i].text, w->include.found.at[i].len + 1);
    for (uint32_t i = 0; i < w->definitions.len; i++)
        hash = hash_more(hash, w->definitions.at[i], strlen(w->definitions.at[i]) + 1);
    w->build_id.len = 0;
    buf_printf(&w->build_id, "report var build_id: str = \"%016llx\"; wasm:begin { }\n",
               (unsigned long long)hash);
    return buf_cstr(&w->build_id);
}

/* A module that the scripts are planned for: read only if they name its values by members. */
typedef struct PlannedFor {
    whammc *w;
    const CorePart *part;
    bool open;
    WasmModule m;
    ApiLocator locator;
    Diags diags; /* the same is reported when the module is instrumented */
} PlannedFor;

static bool planned_for_open(void *ctx, const WasmModule **m, Locator **locator) {
    PlannedFor *p = ctx;
    const CorePart *part = p->part;
    DiagFileId file = diag_file(&p->diags, part->title, part->bytes, part->size, true);
    p->open = wasm_load(&p->m, part->bytes, part->size, file, &p->diags);
    if (p->open)
        api_locator_begin(&p->locator, p->w->debug, part->file, &p->diags);
    p->locator.part = part->name;
    *m = &p->m;
    *locator = &p->locator.locator;
    return p->open;
}

static void planned_for_close(PlannedFor *p) {
    if (p->open) {
        api_locator_end(&p->locator);
        wasm_module_free(&p->m);
    }
    diag_free(&p->diags);
}

/* Reads the libraries, parses every script and makes the plan; `cells` as for plan_make; `program`:
 * empty, or with its hash one more script is made; `without` as in whammc_options. */
static whammc_status whammc_prepare(whammc *w, bool cells, Str program, unsigned without,
                                    PlannedFor *read) {
    Phase before = phase_begin(PHASE_PLAN);
    if (read)
        free_scripts(w);
    else
        api_reset(w);
    for (uint32_t i = 0; i < w->library_sources.len; i++) {
        const LibrarySource *s = &w->library_sources.at[i];
        DiagFileId file = diag_file(&w->diags, s->name, s->bytes, s->size, true);
        library_add(&w->libraries, str_of(s->name), str_of(s->import_as), s->bytes, s->size, file,
                    &w->diags);
    }
    for (uint32_t i = 0; i < w->sources.len; i++) {
        const Source *s = &w->sources.at[i];
        parse_script(w, s->name, s->text, s->len);
    }
    if (program.len) {
        const char *more = identify(w, program);
        parse_script(w, "build-id", more, strlen(more));
    }
    api_define(w);
    leave_out(w, without);
    PlanOptions options = {.cells = cells,
                           .steps = w->steps,
                           .empty_bodies = (without & WHAMMC_WITHOUT_BODIES) != 0,
                           .program = {read ? planned_for_open : NULL, read}};
    /* Scripts that could be read in part are checked too. */
    plan_make(&w->plan, w->scripts.at, w->scripts.len, &w->libraries, &options, &w->diags);
    if (read)
        planned_for_close(read);
    phase_end(before);
    return message_status(w);
}

/* In all modules so far. */
static uint64_t sites_of(const whammc *w, const PlanProbe *p) {
    uint32_t probe = (uint32_t)(p - w->plan.probes.at);
    uint64_t sites = probe < w->earlier.len ? w->earlier.at[probe] : 0;
    for (uint32_t k = 0; k < p->nactions; k++)
        sites += w->plan.actions.at[p->first_action + k].sites;
    return sites;
}

/* Keeps the numbers of sites while the scripts are read again for another module. */
static void note_sites(whammc *w) {
    for (uint32_t i = 0; i < w->plan.probes.len; i++) {
        uint64_t sites = sites_of(w, &w->plan.probes.at[i]);
        if (i == w->earlier.len)
            vec_push(&w->earlier, 0);
        w->earlier.at[i] = sites;
    }
}

/* The same for work on a module of a program, after api_begin. */
static whammc_status prepare_for_part(whammc *w, const CorePart *part, bool identified,
                                      unsigned without) {
    Str id = identified ? (Str){(const char *)part->bytes, (uint32_t)part->size} : (Str){0};
    PlannedFor read = {.w = w, .part = part};
    if (part->further)
        note_sites(w);
    whammc_status status = whammc_prepare(w, true, id, without, &read);
    if (status == WHAMMC_OK && !statics_start(&w->plan, &w->world, &w->diags))
        status = message_status(w);
    w->plan.program.part = str_of(part->name);
    w->plan.program.component_name = str_of(part->component);
    return status;
}

/* Begins a call for a program, of which the name, the bytes and how to read it are set: finds its
 * core modules. */
static bool begin_program(whammc *w, CoreProgram *p) {
    api_reset(w);
    p->globs = w->modules.len ? w->modules.at : NULL;
    return core_program_open(p, &w->diags);
}

/* False after a message if no core module is to be instrumented or listed. */
static bool has_chosen(whammc *w, const CoreProgram *p) {
    for (uint32_t i = 0; i < p->parts.len; i++)
        if (p->parts.at[i].chosen)
            return true;
    bool adapters = false;
    for (uint32_t i = 0; i < p->inside.len; i++)
        adapters |= p->inside.at[i].adapter;
    Diag *d = diag(&w->diags, DIAG_NO_MODULE, NO_SPAN,
                   "%s: expected a core module to instrument inside of the component, found none%s",
                   p->name, adapters ? " but adapters" : "");
    if (adapters)
        diag_hint(&w->diags, d, "--module=GLOB chooses adapters, too");
    return false;
}

whammc_status whammc_check(whammc *w) {
    return whammc_prepare(w, false, (Str){0}, 0, NULL);
}

whammc_status whammc_format_script(whammc *w, const char *name, const char *text, size_t len,
                                   char **out, size_t *out_len) {
    api_reset(w);
    *out = NULL;
    *out_len = 0;
    Buf buf = {0};
    DiagFileId file = diag_file(&w->diags, name, text, len, false);
    bool ok = fmt_script(text, len, file, &w->diags, &buf);
    return api_output(w, ok, &buf, (uint8_t **)out, out_len);
}

const char *whammc_messages(whammc *w, unsigned flags) {
    return api_messages(&w->diags, &w->rendered, flags);
}

size_t whammc_error_count(const whammc *w) {
    return w->diags.errors;
}

size_t whammc_warning_count(const whammc *w) {
    return w->diags.warnings;
}

/* ---- probes ---- */

const whammc_probe_stats *whammc_probes(whammc *w, size_t *n) {
    w->probes.len = 0;
    w->rules.len = 0;
    /* All texts before the pointers: the buffer moves while it grows. */
    Vec(size_t) at = {0};
    for (uint32_t i = 0; i < w->plan.probes.len; i++) {
        const Rule *r = &w->plan.probes.at[i].probe->rule;
        vec_push(&at, w->rules.len);
        for (uint32_t k = 0; k < r->nparts; k++)
            buf_printf(&w->rules, "%s%.*s", k ? ":" : "", STR_ARG(r->parts[k].pattern));
        buf_u8(&w->rules, 0);
    }
    for (uint32_t i = 0; i < w->plan.probes.len; i++) {
        const PlanProbe *p = &w->plan.probes.at[i];
        whammc_probe_stats *s = vec_add(&w->probes);
        uint32_t column;
        Span span = p->probe->rule.span;
        s->script = diag_file_name(&w->diags, span.file);
        s->rule = (const char *)w->rules.data + at.at[i];
        diag_position(&w->diags, span.file, span.start, &s->line, &column);
        s->sites = sites_of(w, p);
    }
    vec_free(&at);
    *n = w->probes.len;
    return w->probes.at;
}

const whammc_map *whammc_maps(whammc *w, size_t *n) {
    w->maps.len = 0;
    for (uint32_t i = 0; i < w->plan.vars.len; i++) {
        const PlanVar *v = &w->plan.vars.at[i];
        const Var *var = v->decl;
        if (var->storage != STORAGE_SCRIPT || var->type->kind != TYPE_MAP)
            continue;
        whammc_map *m = vec_add(&w->maps);
        uint32_t column;
        m->script = diag_file_name(&w->diags, var->span.file);
        m->name = arena_strndup(&w->plan.arena, var->name.ptr, var->name.len);
        m->type = var->type->text;
        m->cells = var->cells != 0;
        diag_position(&w->diags, var->span.file, var->span.start, &m->line, &column);
    }
    *n = w->maps.len;
    return w->maps.at;
}

const whammc_counting *whammc_countings(whammc *w, size_t *n) {
    Counters counters;
    counters_init(&counters, &w->plan, COUNTERS_ALL);
    w->countings.len = 0;
    for (uint32_t i = 0; i < w->plan.probes.len; i++)
        vec_add(&w->countings);
    for (uint32_t i = 0; i < w->plan.shapes.len; i++) {
        const Shape *shape = w->plan.shapes.at[i];
        if (shape->never || !shape->variant->probe)
            continue;
        const Counting *c = counters_shape(&counters, shape);
        whammc_counting *out = &w->countings.at[shape->variant->source];
        out->partly |= c->why_not == WHY_NOTHING;
        if (out->why || c->why_not == WHY_NOTHING)
            continue;
        Buf why = {0};
        counting_put_reason(c, &why);
        out->why = arena_strndup(&w->plan.arena, (const char *)why.data, why.len);
        buf_free(&why);
        diag_position(&w->diags, c->span.file, c->span.start, &out->line, &out->column);
    }
    for (uint32_t i = 0; i < w->countings.len; i++)
        w->countings.at[i].counts = w->countings.at[i].partly && !w->countings.at[i].why;
    counters_free(&counters);
    *n = w->countings.len;
    return w->countings.at;
}

/* By name only, since only the probe's variants are checked. */
static bool asks_name(const Expr *e) {
    if (e->kind == EXPR_NAME && (str_is(e->name, "fname") || str_is(e->name, "target_fn_name")))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (asks_name(e->args[i]))
            return true;
    return false;
}

/* In a program without a name section, a predicate finds few functions by name. */
static void hint_names(whammc *w, const PlanProbe *p, Diag *d) {
    if (!w->plan.program.nameless || !p->probe->predicate || !asks_name(p->probe->predicate))
        return;
    diag_hint(&w->diags, d,
              "the program has no names but those of imports and exports; --names gives it some");
    diag_hint(
        &w->diags, d,
        "clang -O runs wasm-opt, if it is installed, when it links, and that drops names: add "
        "-g, or link without -O");
}

/* Whether the probe is one of a package, of which it is enough that some probe matches; of those
 * that all do not, the first one is reported. */
static bool is_spare(const whammc *w, const PlanProbe *p) {
    DiagFileId file = p->probe->rule.span.file;
    if (!script_package(w->plan.scripts.at[p->script], file))
        return false;
    for (uint32_t i = 0; i < w->plan.probes.len; i++) {
        const PlanProbe *other = &w->plan.probes.at[i];
        if (other->script == p->script && other->probe->rule.span.file == file &&
            (other < p || sites_of(w, other)))
            return true;
    }
    return false;
}

/* Not for bundled scripts that fit all programs. */
void api_warn_unmatched(whammc *w) {
    for (uint32_t i = 0; i < w->plan.probes.len; i++) {
        const PlanProbe *p = &w->plan.probes.at[i];
        const DiagFile *source = &w->diags.files.at[p->probe->rule.span.file - 1];
        EventKind kind =
            p->nactions ? w->plan.actions.at[p->first_action].event.kind : EVENT_REPORT;
        if (!p->probe->made && !event_is_nowhere(kind) && !sites_of(w, p) &&
            !plan_is_off(&w->plan, p) && !is_spare(w, p) &&
            !script_is_for_all(source->text, source->len))
            hint_names(w, p,
                       diag(&w->diags, DIAG_NO_SITES, p->probe->rule.span,
                            "this probe matches nothing in the program"));
    }
}

/* ---- instrumenting ---- */

static ImageFormat image_format(whammc_format format) {
    static const ImageFormat formats[] = {
#define PRINTED(NAME, name) [WHAMMC_FORMAT_##NAME] = IMAGE_##NAME,
#include "format/formats.def"
    };
    assert(format < sizeof formats / sizeof *formats);
    return formats[format];
}

void whammc_choose_modules(whammc *w, const char *const *globs) {
    for (uint32_t i = 0; i + 1 < w->modules.len; i++)
        free((char *)(uintptr_t)w->modules.at[i]);
    w->modules.len = 0;
    for (uint32_t i = 0; globs && globs[i]; i++)
        vec_push(&w->modules, api_copy(globs[i], strlen(globs[i])));
    if (w->modules.len)
        vec_push(&w->modules, NULL);
}

void whammc_set_steps(whammc *w, unsigned steps) {
    w->steps = steps;
}

RewriteOptions api_options(const whammc_options *o) {
    static const whammc_options defaults;
    if (!o)
        o = &defaults;
    RewriteOptions r = {.storage = (StorageChoice)o->storage,
                        .host = (HostChoice)o->host,
                        .link = (LinkChoice)o->link,
                        .format = image_format(o->format),
                        .report = REPORT_STDOUT,
                        .no_optimise = o->no_optimise != 0,
                        .coalesce = !o->no_coalesce,
                        .exact_traps = o->exact_traps != 0,
                        .keep_debug = o->keep_debug != 0,
                        .map_url = o->source_map_url,
                        .map_root = o->source_map_root,
                        .threads = o->threads,
                        .host_flushes = o->host_flushes != 0,
                        .polls = o->polls != 0,
                        .several = o->linked > 0,
                        .alone = o->linked < 0};
    if (o->host == WHAMMC_HOST_COMPONENT)
        r.host = HOST_AUTO;
    if (o->report && strcmp(o->report, "stderr") == 0) {
        r.report = REPORT_STDERR;
    } else if (o->report && strcmp(o->report, "stdout") != 0) {
        r.report = REPORT_FILE;
        r.report_file = o->report;
    }
    return r;
}

/* Lets the scripts query locations in the program, until scripts_have_asked. */
static void scripts_ask(whammc *w, ApiLocator *l, const CorePart *part) {
    api_locator_begin(l, w->debug, part->file, &w->diags);
    l->part = part->name;
    l->locator.without = "file and src_function are \"\" then, and line, column and inlined are 0";
    w->plan.program.locator = &l->locator;
}

static void scripts_have_asked(whammc *w, ApiLocator *l) {
    w->plan.program.locator = NULL;
    api_locator_end(l);
}

int whammc_measures_times(const whammc *w) {
    return plan_measures_times(&w->plan);
}

int whammc_acts(const whammc *w) {
    return plan_acts(&w->plan);
}

void whammc_set_sink(whammc *w, const whammc_sink *sink) {
    w->sink = sink ? (Sink){sink->put, sink->hold, sink->ctx} : (Sink){0};
}

bool api_instrument_module(whammc *w, const CorePart *part, const whammc_options *given,
                           const RewriteOptions *options, Buf *out) {
    if (prepare_for_part(w, part, given && given->build_id, given ? given->without : 0) !=
        WHAMMC_OK)
        return false;
    RewriteOptions r = *options;
    r.linked = &w->linked;
    r.hosted = &w->hosted;
    w->hosted = (Hosted){0};
    DiagFileId file = diag_file(&w->diags, part->title, part->bytes, part->size, true);
    ApiLocator locator;
    scripts_ask(w, &locator, part);
    if (r.map_url)
        locator.locator.without = NULL; /* the source map needs locations, too, not only scripts */
    bool ok = rewrite_module(&w->plan, part->bytes, part->size, file, &r, out, &w->diags);
    scripts_have_asked(w, &locator);
    return ok;
}

whammc_status whammc_instrument(whammc *w, const char *name, const void *bytes, size_t size,
                                const whammc_options *options, uint8_t **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    Buf buf = {0};
    CoreProgram program = {
        .name = name, .bytes = bytes, .size = size, .threads = options ? options->threads : 0};
    w->source_map.len = 0;
    bool ok = begin_program(w, &program) && has_chosen(w, &program);
    if (ok && program.is_component) {
        ok = api_instrument_component(w, &program, options, &buf);
    } else if (ok) {
        RewriteOptions r = api_options(options);
        r.map = &w->source_map;
        r.sink = w->sink.put ? &w->sink : NULL;
        ok = api_instrument_module(w, &program.parts.at[0], options, &r, &buf);
    }
    if (ok)
        api_warn_unmatched(w);
    core_program_close(&program);
    return api_output(w, ok, &buf, out, out_size);
}

whammc_status whammc_compile_monitor(whammc *w, const whammc_options *options, uint8_t **out,
                                     size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    whammc_status status = whammc_prepare(w, false, (Str){0}, options ? options->without : 0, NULL);
    if (status != WHAMMC_OK)
        return status;
    RewriteOptions r = api_options(options);
    MonitorOptions m = {r.format,      r.report,   r.report_file,
                        r.no_optimise, r.coalesce, r.exact_traps};
    Buf buf = {0};
    bool ok = monitor_module(&w->plan, &m, &buf, &w->diags);
    return api_output(w, ok, &buf, out, out_size);
}

whammc_status whammc_explain_monitor(whammc *w, const whammc_options *options, const char **text) {
    *text = "";
    whammc_status status = whammc_prepare(w, false, (Str){0}, options->without, NULL);
    if (status != WHAMMC_OK)
        return status;
    Units units;
    Counters counters;
    counters_init(&counters, &w->plan, COUNTERS_MONITOR);
    w->explained.len = 0;
    if (units_make(&w->plan, !options->no_coalesce ? &counters : NULL, &units, &w->diags)) {
        units_print(&w->plan, &units, &w->explained);
        *text = buf_cstr(&w->explained);
    }
    units_free(&units);
    counters_free(&counters);
    return message_status(w);
}

const char *whammc_source_map(whammc *w, size_t *size) {
    *size = w->source_map.len;
    return buf_cstr(&w->source_map);
}

whammc_link whammc_linked(const whammc *w) {
    return (whammc_link)w->linked;
}

whammc_host whammc_hosted(whammc *w, const char **why) {
    w->why_hosted.len = 0;
    buf_str(&w->why_hosted, w->hosted.why);
    if (why)
        *why = buf_cstr(&w->why_hosted);
    return (whammc_host)w->hosted.host;
}

const void *whammc_runtime(size_t *size) {
    RuntimeModule m = runtime_module(RUNTIME_IMPORT, true);
    *size = m.len;
    return m.bytes;
}

/* ---- core modules ---- */

whammc_status whammc_core_modules(whammc *w, const char *name, const void *bytes, size_t size,
                                  void (*module)(void *ctx, const whammc_core_module *m),
                                  void *ctx) {
    CoreProgram program = {.name = name, .bytes = bytes, .size = size, .unvalidated = true};
    bool ok = begin_program(w, &program);
    for (uint32_t i = 0; ok && i < program.parts.len; i++) {
        const CorePart *p = &program.parts.at[i];
        whammc_core_module m = {p->name, p->bytes, p->size, p->chosen};
        module(ctx, &m);
    }
    core_program_close(&program);
    return message_status(w);
}

/* ---- listing ---- */

typedef struct Listing {
    whammc *w;
    const CorePart *part;
    void (*site)(void *ctx, const whammc_site *s);
    void *ctx;
    Buf event, instruction, fname;
    ApiLocator locator;
} Listing;

static void list_site(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n) {
    (void)types;
    Listing *l = ctx;
    size_t nframes = 0;
    const whammc_frame *frames = NULL;
    if (l->site && n && l->w->debug && !l->w->debug->no_frames)
        frames = api_locator_at(&l->locator, site->m, site->func, site->pc, &nframes);
    for (uint32_t i = 0; i < n; i++) {
        const Action *a = matches[i].action;
        matches[i].action->sites++;
        if (!l->site)
            continue;
        l->event.len = l->instruction.len = l->fname.len = 0;
        event_text(&l->event, a->event, false);
        if (site->instr)
            wasm_instr_text(&l->instruction, site->instr);
        buf_str(&l->fname, wasm_shown_name(site->m, site->func));
        whammc_site s = {a->variant->source,
                         a->number,
                         buf_cstr(&l->event),
                         site->func,
                         buf_cstr(&l->fname),
                         site->pc,
                         buf_cstr(&l->instruction),
                         frames,
                         nframes,
                         l->part->name};
        l->site(l->ctx, &s);
    }
}

static bool list_part(Listing *l, const CorePart *part) {
    whammc *w = l->w;
    if (prepare_for_part(w, part, false, 0) != WHAMMC_OK)
        return false;
    l->part = part;
    scripts_ask(w, &l->locator, part);
    DiagFileId file = diag_file(&w->diags, part->title, part->bytes, part->size, true);
    bool ok = rewrite_list(&w->plan, part->bytes, part->size, file, list_site, l, &w->diags);
    scripts_have_asked(w, &l->locator);
    return ok;
}

whammc_status whammc_list(whammc *w, const char *name, const void *bytes, size_t size,
                          void (*site)(void *ctx, const whammc_site *s), void *ctx) {
    Listing l = {.w = w, .site = site, .ctx = ctx};
    CoreProgram program = {.name = name, .bytes = bytes, .size = size};
    bool ok = begin_program(w, &program) && has_chosen(w, &program);
    for (uint32_t i = 0; i < program.parts.len; i++)
        if (program.parts.at[i].chosen)
            ok = ok && list_part(&l, &program.parts.at[i]);
    if (ok)
        api_warn_unmatched(w);
    core_program_close(&program);
    buf_free(&l.event);
    buf_free(&l.instruction);
    buf_free(&l.fname);
    return message_status(w);
}

/* ---- explaining ---- */

typedef struct Explained {
    Vec(whammc_name) names;
    Vec(whammc_function) functions;
    Arena arena;
} Explained;

static void explain_name(void *ctx, Str name, const Bound *bound) {
    Explained *x = ctx;
    const NameInfo *info = &name_infos[bound->id];
    vec_push(&x->names, ((whammc_name){arena_strndup(&x->arena, name.ptr, name.len),
                                       bound->type ? bound->type->text : NULL, bound->is_static,
                                       bound->assignable, info->doc}));
}

static void explain_function(void *ctx, FnId id) {
    Explained *x = ctx;
    vec_push(&x->functions, ((whammc_function){function_text(id), function_doc(id)}));
}

/* The events that the parser makes others of: wasm:edge has the names of its place, too. */
typedef struct MadeEvent {
    const char *package, *text, *doc;
} MadeEvent;

static const MadeEvent *explain_made(const Script *s) {
    static const MadeEvent made[] = {
#define MADE(package, event, doc) {package, "wasm:" package event, doc},
#include "event/event.def"
    };
    bool adds = s->probes.len && vec_last(&s->probes)->made;
    const char *package = ast_first_interval(s) ? "interval" : adds ? "edge" : "";
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (strcmp(made[i].package, package) == 0)
            return &made[i];
    return NULL;
}

static void explain_event(Event of, const MadeEvent *made,
                          void (*event)(void *ctx, const whammc_event *e), void *ctx) {
    Explained x = {0};
    Buf name = {0};
    event_text(&name, of, false);
    if (made) {
        vec_push(&x.names, ((whammc_name){"from", "u32", false, false,
                                          "pc of the block that control comes from"}));
        vec_push(&x.names,
                 ((whammc_name){"to", "u32", true, false, "pc of the block that control goes to"}));
    }
    event_name_each(of, explain_name, &x);
    event_function_each(of, explain_function, &x);
    whammc_event e = {made ? made->text : buf_cstr(&name),
                      made ? made->doc : event_doc(of.kind),
                      x.names.at,
                      x.names.len,
                      x.functions.at,
                      x.functions.len};
    event(ctx, &e);
    buf_free(&name);
    vec_free(&x.names);
    vec_free(&x.functions);
    arena_free(&x.arena);
}

whammc_status whammc_explain(whammc *w, const char *rule,
                             void (*event)(void *ctx, const whammc_event *e), void *ctx) {
    api_reset(w);
    /* Makes the rule the only probe of a script. */
    Buf text = {0};
    buf_printf(&text, "%s {}", rule);
    Script script = {0};
    DiagFileId file = diag_file(&w->diags, "rule", text.data, strlen(rule), false);
    Events events = {0};
    bool parsed = lang_parse(&script, (const char *)text.data, text.len, file, &w->diags);
    const MadeEvent *made = parsed ? explain_made(&script) : NULL;
    bool timed = made && ast_first_interval(&script);
    uint32_t own = script.probes.len - (made != NULL);
    if (timed)
        event(ctx, &(whammc_event){.text = made->text, .doc = made->doc});
    else if (parsed && own == 1)
        rule_expand(&script.probes.at[0]->rule, &events, &w->diags);
    else if (parsed)
        diag(&w->diags, DIAG_RULE_SHAPE, (Span){file, 0, 0},
             "expected one match rule, found more than that");
    for (uint32_t i = 0; i < events.len; i++)
        explain_event(events.at[i], made, event, ctx);
    whammc_status status = message_status(w);
    vec_free(&events);
    script_free(&script);
    w->rule = (char *)text.data; /* messages point into it */
    return status;
}

/* ---- monitors ---- */

whammc_status whammc_read_monitor(whammc *w, const char *name, const void *bytes, size_t size,
                                  const whammc_monitor **out) {
    api_reset(w);
    *out = NULL;
    Monitor monitor;
    DiagFileId file = diag_file(&w->diags, name, bytes, size, true);
    if (monitor_read(&monitor, bytes, size, file, &w->diags)) {
        monitor_describe(&monitor, &w->read.arena, &w->read.monitor);
        *out = &w->read.monitor;
    }
    monitor_free(&monitor);
    return message_status(w);
}
