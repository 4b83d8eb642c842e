/*
 * api/api_report.c - the public interface to reports (include/whammc/report.h): reading and
 * converting.
 */
#include "api/api_report.h"

#include "api/api.h"
#include "api/api_compare.h"
#include "base/demangle.h"
#include "base/escape.h"
#include "format/format.h"
#include "heap/heap.h"
#include "profile/profile_join.h"
#include "profile/profile_source.h"
#include "report/image.h"
#include "report/report_write.h"
#include "report/table.h"
#include "report/value.h"
#include "valid/valid.h"

#include <assert.h>
#include <locale.h>

#define FORMAT(NAME, number, name, from, write, traits, ending)                                    \
    static_assert((int)WHAMMC_REPORT_##NAME == FORMAT_##NAME, "WhammcReportFormat is Format");
#include "format/formats.def"
static_assert((int)WHAMMC_REPORT_BY_SITE == TOTALS_SITE &&
                  (int)WHAMMC_REPORT_BY_LINE == TOTALS_LINE &&
                  (int)WHAMMC_REPORT_BY_FUNCTION == TOTALS_FUNCTION &&
                  (int)WHAMMC_REPORT_BY_FILE == TOTALS_FILE,
              "WhammcReportBy is TotalsBy");
static_assert((int)WHAMMC_REPORT_SORT_VALUE == TABLE_BY_VALUE &&
                  (int)WHAMMC_REPORT_SORT_PLACE == TABLE_BY_PLACE &&
                  (int)WHAMMC_REPORT_SORT_NAME == TABLE_BY_NAME,
              "WhammcReportSort is TableSort");

static const WhammcReportOptions defaults;

/* ---- the object ---- */

WhammcReport *whammc_report_new(void) {
    WhammcReport *r = mem_zalloc(sizeof *r);
    r->name = api_copy("", 0);
    r->numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return r;
}

void api_forget_messages(WhammcReport *r) {
    diag_free(&r->diags);
    r->diags = (Diags){0};
}

static void forget_report(WhammcReport *r) {
    api_forget_joined(r);
    modules_free(&r->modules);
    r->modules = (Modules){0};
    for (uint32_t i = 0; i < r->added.len; i++)
        whammc_report_free(r->added.at[i]);
    r->added.len = 0;
    free(r->name);
    free(r->text);
    r->name = r->text = NULL;
}

void whammc_report_free(WhammcReport *r) {
    if (!r)
        return;
    forget_report(r);
    api_forget_programs(r);
    api_forget_messages(r);
    vec_free(&r->added);
    vec_free(&r->programs);
    vec_free(&r->of);
    vec_free(&r->homes.all);
    buf_free(&r->rendered);
    if (r->numbers)
        freelocale(r->numbers);
    free(r);
}

locale_t api_enter(const WhammcReport *r) {
    return uselocale(r->numbers); /* without one, this thread's locale stays */
}

void api_leave(locale_t before) {
    uselocale(before);
}

/* ---- messages ---- */

static whammc_status api_report_status_of(const WhammcReport *r) {
    return r->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}

const char *whammc_report_messages(WhammcReport *r, unsigned flags) {
    return api_messages(&r->diags, &r->rendered, flags);
}

size_t whammc_report_error_count(const WhammcReport *r) {
    return r->diags.errors;
}

size_t whammc_report_warning_count(const WhammcReport *r) {
    return r->diags.warnings;
}

/* ---- reading ---- */

void whammc_report_by_thread(WhammcReport *r, bool by_thread) {
    r->by_thread = by_thread;
}

/* A report without rows is an empty text in JSON. */
static bool is_empty_json(Str text, uint32_t which) {
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\n' && text.ptr[i] != '\r')
            return false;
    return which <= 1;
}

static void explain_not_found(WhammcReport *r, uint32_t which) {
    uint32_t flushes = r->modules.parts.flushes;
    if (flushes) {
        diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: it has no report number %u, but %u",
             r->name, which, flushes);
        return;
    }
    Diag *g = diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: there is no report in it", r->name);
    diag_hint(&r->diags, g, "reports are CSV or JSON, as instrumented programs print them");
}

whammc_status whammc_report_read(WhammcReport *r, const char *name, const void *bytes, size_t size,
                                 uint32_t which) {
    api_forget_messages(r);
    forget_report(r);
    r->name = api_copy(name, strlen(name));
    if (size > UINT32_MAX) {
        diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN,
             "%s: it has %zu bytes, expected less than 4 GiB", name, size);
        return WHAMMC_ERROR;
    }
    r->text = api_copy(bytes, size);
    Str text = {r->text, (uint32_t)size};
    locale_t before = api_enter(r);
    Buf why = {0};
    r->modules.by_thread = r->by_thread;
    bool found = modules_read(&r->modules, text, which, &why);
    api_leave(before);
    if (!found && is_empty_json(text, which)) {
        modules_read_nothing(&r->modules);
        found = true;
    }
    if (!found)
        explain_not_found(r, which);
    else if (why.len)
        diag(&r->diags, DIAG_OTHER_REPORT, NO_SPAN, "%s: %s", name, buf_cstr(&why));
    else
        modules_warn(&r->modules, name, text, &r->diags);
    buf_free(&why);
    return api_report_status_of(r);
}

/* Adds or subtracts a report that was read. */
static void api_report_combine(WhammcReport *r, WhammcReport *other, bool less) {
    Buf why = {0};
    locale_t before = api_enter(r);
    api_forget_joined(r);
    bool open = modules_open(&r->modules, &why);
    if (!open || !modules_add(&r->modules, &other->modules, less, &why))
        diag(&r->diags, DIAG_OTHER_REPORT, NO_SPAN, "%s: %s", open ? other->name : r->name,
             buf_cstr(&why));
    api_leave(before);
    buf_free(&why);
}

static whammc_status read_and_combine(WhammcReport *r, const char *name, const void *bytes,
                                      size_t size, uint32_t which, bool less) {
    WhammcReport *other = whammc_report_new();
    other->by_thread = r->modules.by_thread;
    whammc_status status = whammc_report_read(other, name, bytes, size, which);
    uint32_t before = r->modules.all.len;
    api_forget_messages(r);
    r->diags = other->diags;
    other->diags = (Diags){0};
    if (status == WHAMMC_OK && !before)
        diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: there is no report to combine it with",
             name);
    else if (status == WHAMMC_OK)
        api_report_combine(r, other, less);
    if (r->modules.all.len > before)
        vec_push(&r->added, other);
    else
        whammc_report_free(other);
    return api_report_status_of(r);
}

whammc_status whammc_report_add(WhammcReport *r, const char *name, const void *bytes, size_t size,
                                uint32_t which) {
    return read_and_combine(r, name, bytes, size, which, false);
}

whammc_status whammc_report_subtract(WhammcReport *r, const char *name, const void *bytes,
                                     size_t size, uint32_t which) {
    return read_and_combine(r, name, bytes, size, which, true);
}

/* Why an image cannot be read; NULL if it can. */
static const char *wrong_image(const void *image, size_t size, size_t values_size) {
    if (size > UINT32_MAX || !image_is_whole(image, (uint32_t)size))
        return "expected an image that was made by this version of whammc, of a report without "
               "strings, and without maps that exist at run time";
    return values_size < image_values_wanted(image) ? "the image has more values than these" : NULL;
}

/* The maximal length of the text of an image and its values with this total size: a row takes a
 * few bytes of them, but has the name of a function in its text. */
static size_t most_text(size_t bytes) {
    enum { LEAST = 1 << 20, A_BYTE = 1000 };
    return bytes < (UINT32_MAX - LEAST) / A_BYTE ? LEAST + bytes * A_BYTE : UINT32_MAX;
}

whammc_status whammc_report_read_image(WhammcReport *r, const char *name, const void *image,
                                       size_t size, const void *values, size_t values_size) {
    const char *wrong = wrong_image(image, size, values_size);
    Buf text = {0};
    if (!wrong) {
        uint8_t *own = (uint8_t *)api_copy(values, values_size); /* derived words are filled in */
        if (!image_render_within(image, (uint32_t)size, own, most_text(size + values_size), &text))
            wrong = "the report is much longer than that of any program would be";
        free(own);
    }
    if (!wrong) {
        whammc_status status = whammc_report_read(r, name, text.data, text.len, 0);
        buf_free(&text);
        return status;
    }
    buf_free(&text);
    api_forget_messages(r);
    forget_report(r);
    r->name = api_copy(name, strlen(name));
    diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: %s", name, wrong);
    return WHAMMC_ERROR;
}

size_t whammc_report_count(const WhammcReport *r) {
    return r->modules.parts.flushes;
}

size_t whammc_report_threads(const WhammcReport *r, size_t *complete) {
    const RunThreads *t = &r->modules.parts.threads;
    if (complete)
        *complete = t->complete;
    return t->began;
}

bool whammc_report_is_cut(const WhammcReport *r) {
    bool cut = r->modules.parts.torn;
    for (uint32_t i = 0; i < r->modules.all.len; i++)
        cut |= r->modules.all.at[i].report->cut;
    return cut;
}

const char *whammc_report_rest(WhammcReport *r, size_t *size) {
    *size = r->modules.parts.rest.len;
    return buf_cstr(&r->modules.parts.rest);
}

whammc_status whammc_report_set_module(WhammcReport *r, const char *name, const void *bytes,
                                       size_t size) {
    api_forget_programs(r);
    return whammc_report_add_module(r, name, bytes, size);
}

whammc_status whammc_report_add_module(WhammcReport *r, const char *name, const void *bytes,
                                       size_t size) {
    api_forget_messages(r);
    api_add_program(r, name, bytes, size);
    return api_report_status_of(r);
}

/* The module with this name; NULL after a message. */
static ModuleReport *module_named(WhammcReport *r, const char *module) {
    ModuleReport *one = modules_named(&r->modules, str_of(module));
    if (one)
        return one;
    Buf names = {0};
    for (uint32_t i = 0; i < r->modules.all.len; i++)
        buf_printf(&names, "%s'%.*s'", i ? ", " : "", STR_ARG(r->modules.all.at[i].title));
    diag(&r->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: it has no module '%s', but %s", r->name,
         module, names.len ? buf_cstr(&names) : "none");
    buf_free(&names);
    return NULL;
}

/* The first report of a core module of a component. */
static ModuleReport *module_of_component(WhammcReport *r, ReportProgram *part) {
    api_prepare(r);
    for (uint32_t i = 0; i < r->programs.len; i++) {
        const ReportProgram *p = r->programs.at[i];
        if (api_given_together(p, part) && api_module_of_part(r, p))
            return api_module_of_part(r, p);
    }
    diag(&r->diags, DIAG_OTHER_REPORT, NO_SPAN,
         "%s: expected the report of a core module of %s, found none: %s", r->name, part->file,
         buf_cstr(&part->unfit));
    return NULL;
}

ModuleReport *api_module_of(WhammcReport *r, ReportProgram *program) {
    if (program->given)
        return module_of_component(r, program);
    Buf why = {0};
    ModuleReport *one = modules_of_program(&r->modules, &program->places, &why);
    if (!one)
        diag(&r->diags, DIAG_OTHER_REPORT, NO_SPAN, "%s: %s", r->name, buf_cstr(&why));
    buf_free(&why);
    return one;
}

whammc_status whammc_report_select(WhammcReport *r, const char *module) {
    api_forget_messages(r);
    ModuleReport *one = NULL;
    if (module)
        one = module_named(r, module);
    else if (r->programs.len)
        one = api_module_of(r, vec_last(&r->programs));
    else
        diag(&r->diags, DIAG_NO_PROGRAM, NO_SPAN, "%s: no program was given that could select it",
             r->name);
    if (one) {
        api_forget_joined(r);
        modules_select(&r->modules, one);
    }
    return api_report_status_of(r);
}

/* ---- profiles ---- */

static ProfileVariables api_report_variables_of(const WhammcReportOptions *options) {
    ProfileVariables v = {.names = options->variables};
    while (v.names && v.names[v.count])
        v.count++;
    return v;
}

static bool read_profile(Profile *p, const Report *report, bool tree, ProfileVariables variables) {
    return tree ? profile_read_tree(p, report, variables) : profile_read_arcs(p, report, variables);
}

/* The first of the variables that does not fit the request. */
static const char *api_report_unfit(const WhammcReport *r, bool tree, ProfileVariables variables) {
    uint32_t i = 0;
    for (bool ok = true; ok && i < variables.count; i += ok) {
        Profile p = {0};
        ok = read_profile(&p, r->report, tree, (ProfileVariables){&variables.names[i], 1});
        profile_free(&p);
    }
    return variables.names[i < variables.count ? i : 0];
}

/* Notes that there are more variables, if none was requested. */
static void mention_others(WhammcReport *r, bool tree, ProfileVariables variables) {
    const ReportVar *other = profile_other(r->report, tree);
    if (!other || variables.count)
        return;
    Diag *g = diag(&r->diags, DIAG_MORE_VARIABLES, NO_SPAN,
                   "%s: '%.*s' could be shown, too: only the first such variable is", r->name,
                   STR_ARG(other->name));
    diag_hint(&r->diags, g,
              tree ? "--variable=NAME takes another one"
                   : "--variable=NAME takes another one, or several");
}

/* Reports why there is no profile of the requested kind: a tree or arcs. */
static void api_report_explain(WhammcReport *r, const Profile *p, bool tree,
                               ProfileVariables variables) {
    static const char tree_hint[] =
        "`whammc run -s calltree` makes one: a report variable of type map<u32, (u32, u32, u64, "
        "u64)>, node -> (parent, function, calls, nanoseconds)";
    static const char arcs_hint[] =
        "`whammc run -s profile` counts them: a report variable of type map<(u32, u32), u64>, "
        "(caller, callee) -> calls; with times the values are (u64, u64), (calls, nanoseconds)";
    Diags *d = &r->diags;
    if (p->problem) {
        diag(d, DIAG_NO_PROFILE, NO_SPAN, "%s: %s", r->name, p->problem);
    } else if (variables.count) {
        Diag *g = diag(d, DIAG_NO_PROFILE, NO_SPAN,
                       "%s: the variable '%s' is not in the report or has no %s", r->name,
                       api_report_unfit(r, tree, variables), tree ? "call tree" : "calls");
        diag_hint(d, g,
                  "see \"What views look for\" in docs/reports.md for the types that there are");
    } else {
        Diag *g =
            diag(d, DIAG_NO_PROFILE, NO_SPAN, "%s: the report has no %s, which this format shows",
                 r->name, tree ? "call tree" : "calls");
        diag_hint(d, g, "%s", tree ? tree_hint : arcs_hint);
    }
}

/* Reports that a format has nothing to show; stacks can be made of anything. */
static void explain_no_stacks(WhammcReport *r, const char *problem, const char *variable) {
    Diags *d = &r->diags;
    if (problem) {
        diag(d, DIAG_NO_PROFILE, NO_SPAN, "%s: %s", r->name, problem);
    } else if (variable) {
        Diag *g = diag(d, DIAG_NO_PROFILE, NO_SPAN,
                       "%s: the variable '%s' is not in the report or has no call tree, calls or "
                       "numbers at sites",
                       r->name, variable);
        diag_hint(d, g,
                  "see \"What views look for\" in docs/reports.md for the types that there are");
    } else {
        Diag *g = diag(d, DIAG_NO_PROFILE, NO_SPAN,
                       "%s: the report has no call tree, no calls and no numbers at sites, which "
                       "this format shows",
                       r->name);
        diag_hint(d, g,
                  "`whammc run -s calltree`, `-s profile` and `-s hotness` make such reports");
    }
}

/* Reports that there is no program. */
static void explain_no_program(WhammcReport *r, const char *what) {
    Diag *g = diag(&r->diags, DIAG_NO_PROGRAM, NO_SPAN,
                   "%s: the report has no %s, and no program was given that could supply them",
                   r->name, what);
    diag_hint(&r->diags, g, "give the program with --module=APP");
}

/* Adds the debug information. */
static void add_sources(WhammcReport *r, uint32_t module, Format format,
                        const WhammcReportOptions *options, Profile *p) {
    ReportProgram *program = r->of.at[module];
    if (!program || format == FORMAT_TABLE || (!options->lines && !options->inlined))
        return;
    ApiLocator l;
    api_locate_program(r, program, &l);
    if (options->inlined)
        profile_inline(p, r->modules.all.at[module].report, &program->places, &l.locator,
                       !options->mangled);
    if (options->lines)
        profile_locate(p, &program->places, &l.locator, !format_is(format, FORMAT_HAS_LINES));
    api_locator_end(&l);
}

/* The profile of one module; false if it has none. */
static bool api_report_read_module(WhammcReport *r, uint32_t module, bool tree, Format format,
                                   const WhammcReportOptions *options, Profile *p) {
    const Report *report = r->modules.all.at[module].report;
    if (!read_profile(p, report, tree, api_report_variables_of(options)))
        return false;
    profile_name(p, report, api_places(r, module), &r->homes, !options->mangled);
    if (r->modules.all.at[module].module == module)
        api_note_nameless(r, module, p);
    add_sources(r, module, format, options, p);
    return true;
}

/* "thread 3". */
static Str thread_name(const WhammcReport *r, uint32_t module, Arena *arena) {
    Str thread = *api_thread(r, module);
    return str_is(thread, "0") ? STR("main thread")
                               : str_of(arena_printf(arena, "thread %.*s", STR_ARG(thread)));
}

/* The label of a module, in a thread: "app.wasm, thread 3"; NULL = there is only one. */
static const Str *api_report_name_of(const WhammcReport *r, uint32_t module, Arena *arena) {
    const Str *title = api_title(r, module);
    if (!api_thread(r, module))
        return title;
    Str *name = arena_new(arena, Str), thread = thread_name(r, module, arena);
    *name = title ? str_of(arena_printf(arena, "%.*s, %.*s", STR_ARG(*title), STR_ARG(thread)))
                  : thread;
    return name;
}

/* In a tree threads have nodes; elsewhere functions tell their thread. */
static ProfilePart api_report_part_of(const WhammcReport *r, uint32_t module, bool tree,
                                      Arena *arena) {
    bool rooted = tree && r->modules.by_thread;
    Str *thread = rooted ? arena_new(arena, Str) : NULL;
    if (rooted)
        *thread = thread_name(r, module, arena);
    bool apart = r->modules.by_thread && !rooted;
    return (ProfilePart){.module_id = r->homes.all.at[module].module_id,
                         .only_thread = apart ? *api_thread(r, module) : (Str){"", 0},
                         .module = 1 + (rooted ? r->modules.all.at[module].module : module),
                         .title =
                             rooted ? api_title(r, module) : api_report_name_of(r, module, arena),
                         .thread = thread};
}

/* The profiles of all modules that have one, together. */
static bool api_report_read_modules(WhammcReport *r, bool tree, Format format,
                                    const WhammcReportOptions *options, Profile *p) {
    uint32_t n = r->modules.all.len;
    if (n == 1 && !r->modules.by_thread)
        return api_report_read_module(r, 0, tree, format, options, p);
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        Profile one = {0};
        Arena names = {0};
        bool ok = api_report_read_module(r, i, tree, format, options, &one);
        ProfilePart part = api_report_part_of(r, i, tree, &names);
        if (ok && !profile_join(p, &one, &part))
            diag_hint(&r->diags,
                      diag(&r->diags, DIAG_MORE_VARIABLES, NO_SPAN,
                           "%s: %.*s has a tree with other values, which is left out", r->name,
                           STR_ARG(r->modules.all.at[i].title)),
                      "--only=MODULE shows one module");
        arena_free(&names);
        any |= ok;
        if (!ok && one.problem)
            p->problem = one.problem;
        profile_free(&one);
    }
    profile_join_end(p);
    return any;
}

/* Whether there is a program, if the options need it; else after a message. */
static bool has_sources(WhammcReport *r, Format format, const WhammcReportOptions *options) {
    bool needed = format != FORMAT_TABLE && (options->lines || options->inlined);
    if (needed && !r->programs.len)
        explain_no_program(r, options->lines ? "lines of functions" : "inlined functions");
    return !needed || r->programs.len;
}

bool api_read_profile(WhammcReport *r, bool tree, Format format, const WhammcReportOptions *options,
                      Profile *p) {
    assert(!p->funcs.len);
    ProfileVariables variables = api_report_variables_of(options);
    if (tree && variables.count > 1) {
        diag(&r->diags, DIAG_NO_PROFILE, NO_SPAN,
             "%s: expected one variable with a call tree, found '%s' and '%s'", r->name,
             variables.names[0], variables.names[1]);
        return false;
    }
    api_prepare(r);
    if (!has_sources(r, format, options))
        return false;
    bool ok = api_report_read_modules(r, tree, format, options, p);
    if (ok)
        mention_others(r, tree, variables);
    else
        api_report_explain(r, p, tree, variables);
    return ok;
}

/* ---- writing ---- */

static void write_tables(const WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    Report shown;
    api_copy_report(r, options->mangled, &shown);
    TableOptions look = {.top = options->top,
                         .width = options->width,
                         .colour = options->colour,
                         .ascii = options->ascii,
                         .lines = options->lines,
                         .by = (TotalsBy)options->by,
                         .sort = (TableSort)options->sort,
                         .nonzero = options->nonzero,
                         .hex = options->hex};
    look.instructions = options->no_instructions ? NULL : api_instructions(r, &shown);
    table_print(&shown, &look, out);
    report_free(&shown);
}

static Str api_report_title_of(const WhammcReport *r, const WhammcReportOptions *options) {
    bool one = r->programs.len && r->modules.all.len == 1 &&
               api_given_together(r->programs.at[0], vec_last(&r->programs));
    return str_of(options->title ? options->title : one ? r->programs.at[0]->file : r->name);
}

/* Selects the requested value; false after a message if there is none. */
static bool weigh(WhammcReport *r, const WhammcReportOptions *options, Profile *p) {
    if (!options->value || profile_weigh(p, options->value))
        return true;
    diag(&r->diags, DIAG_NO_PROFILE, NO_SPAN, "%s: the tree has no value '%s'", r->name,
         options->value);
    return false;
}

/* The heap profile of one module; false if it is no report of the script. `filled`: only if
 * objects were allocated there. */
static bool write_heap_of(WhammcReport *r, uint32_t module, const WhammcReportOptions *options,
                          bool filled, Buf *out) {
    ReportProgram *program = r->of.at[module];
    const Report *report = r->modules.all.at[module].report;
    Profile p = {0};
    ApiLocator l;
    HeapView view = {.report = report,
                     .m = program ? &program->module : NULL,
                     .value = options->value,
                     .top = options->top};
    if (!api_report_read_module(r, module, true, FORMAT_TABLE, options, &p) ||
        (filled && !heap_has_objects(&p, report))) {
        profile_free(&p);
        return false;
    }
    Arena names = {0};
    const Str *name = api_report_name_of(r, module, &names);
    if (name) {
        buf_str(out, out->len ? STR("\n") : STR(""));
        escape_shown(out, *name);
        buf_str(out, STR("\n\n"));
    }
    arena_free(&names);
    if (program)
        api_locate_program(r, program, &l);
    if (program && options->lines)
        view.locator = &l.locator;
    bool ok = view_heap(&p, &view, out);
    if (program)
        api_locator_end(&l);
    profile_free(&p);
    return ok;
}

static void write_heap(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    Profile p = {0};
    bool any = false;
    if (options->lines && !r->programs.len)
        explain_no_program(r, "lines of calls");
    else if (api_read_profile(r, true, FORMAT_TABLE, options, &p)) {
        bool filled = r->modules.all.len > 1 && heap_has_objects(&p, NULL);
        for (uint32_t i = 0; i < r->modules.all.len; i++)
            any |= write_heap_of(r, i, options, filled, out);
        if (!any)
            diag(&r->diags, DIAG_NO_PROFILE, NO_SPAN,
                 "%s: it is not a report of the script heap: the tree has other values", r->name);
    }
    profile_free(&p);
}

/* The tree to compare with; false after a message if there is none. */
static bool api_report_read_base(WhammcReport *r, const WhammcReportOptions *options,
                                 Profile *base) {
    WhammcReport *old = options->base;
    bool ok = api_read_profile(old, true, FORMAT_TABLE, options, base) && weigh(old, options, base);
    if (old->diags.errors)
        diag(&r->diags, DIAG_NO_PROFILE, NO_SPAN, "%s: there is no call tree in it", old->name);
    return ok;
}

static void api_report_write_view(WhammcReport *r, Format format,
                                  const WhammcReportOptions *options,
                                  void (*write)(const ProfileView *v, Buf *out), Buf *out) {
    Profile p = {0}, base = {0};
    bool compares = options->base && format_is(format, FORMAT_COMPARES);
    ProfileView view = {.p = &p,
                        .base = compares ? &base : NULL,
                        .top = options->top,
                        .title = api_report_title_of(r, options)};
    if (api_read_profile(r, format_needs_tree(format), format, options, &p) &&
        weigh(r, options, &p) && (!compares || api_report_read_base(r, options, &base)))
        write(&view, out);
    profile_free(&p);
    profile_free(&base);
}

/* Pictures of a report without a call tree, or of variables that are chosen: charts of histograms.
 * False if it has none. */
static bool write_charts(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    ProfileVariables chosen = api_report_variables_of(options);
    Report shown;
    if (options->base || (!chosen.count && profile_fits(r->report, true, NULL)))
        return false;
    api_copy_report(r, options->mangled, &shown);
    ChartView view = {.report = &shown,
                      .variables = options->variables,
                      .top = options->top,
                      .title = api_report_title_of(r, options)};
    bool any = format_charts(&view, out);
    report_free(&shown);
    return any;
}

typedef Vec(StacksLabel) Labels;

static void labels_of(const WhammcReportOptions *options, Labels *out) {
    for (const char *const *l = options->labels; l && *l; l++) {
        const char *end = strchrnul(*l, '=');
        Str key = {*l, (uint32_t)(end - *l)};
        vec_push(out, ((StacksLabel){key, str_of(*end ? end + 1 : end)}));
    }
}

/* Whether there is a source of locations. */
static bool has_locations(const ReportProgram *p) {
    Str bytes = {(const char *)p->module.bytes, (uint32_t)p->module.size};
    return (p->debug && p->debug->file) || locations_mentioned(bytes);
}

typedef Vec(StacksPart) StacksParts;

/* Of a module: one for each thread, if these are kept apart. */
static void api_report_parts_of(const WhammcReport *r, uint32_t module, StacksParts *out) {
    for (uint32_t i = module; i < r->modules.all.len; i++)
        if (r->modules.all.at[i].module == module)
            vec_push(out, ((StacksPart){r->modules.all.at[i].report, api_thread(r, i)}));
}

/* Adds the stacks of one module, which is called `title` if there are several; false if it has
 * none. `why` as for stacks_read. */
static bool read_stacks(WhammcReport *r, uint32_t module, const StacksParts *parts,
                        const Str *title, const WhammcReportOptions *options, const Labels *labels,
                        Stacks *s, StacksProblem *why) {
    ReportProgram *program = r->of.at[module];
    ApiLocator l;
    bool asked = options->lines || options->inlined;
    bool located = program && (asked || has_locations(program));
    StacksSource from = {.parts = parts->at,
                         .nparts = parts->len,
                         .places = api_places(r, module),
                         .module = title,
                         .homes = &r->homes,
                         .demangled = !options->mangled,
                         .variables = api_report_variables_of(options),
                         .labels = labels->at,
                         .nlabels = labels->len};
    if (located) {
        api_locate_program(r, program, &l);
        from.locator = &l.locator;
    }
    bool ok = stacks_read(s, &from, why);
    if (located)
        api_locator_end(&l);
    return ok;
}

/* Those of all modules. In formats without threads each of these is like a module. */
static bool read_all_stacks(WhammcReport *r, Format format, const WhammcReportOptions *options,
                            const Labels *labels, Stacks *s, StacksProblem *why) {
    bool any = false, by_part = format_is(format, FORMAT_SPLITS);
    for (uint32_t i = 0; i < r->modules.all.len; i++) {
        const ModuleReport *one = &r->modules.all.at[i];
        StacksParts parts = {0};
        Arena names = {0};
        if (by_part)
            vec_push(&parts, ((StacksPart){one->report, NULL}));
        else if (one->module == i)
            api_report_parts_of(r, i, &parts);
        const Str *title = by_part ? api_report_name_of(r, i, &names) : api_title(r, i);
        any |= parts.len && read_stacks(r, i, &parts, title, options, labels, s, why);
        vec_free(&parts);
        arena_free(&names);
    }
    return any;
}

static void write_stacks(WhammcReport *r, Format format, const WhammcReportOptions *options,
                         void (*write)(const Stacks *s, Buf *out), Buf *out) {
    if (!has_sources(r, format, options))
        return;
    Stacks s = {.program = api_report_title_of(r, options),
                .time = options->time,
                .inlined = options->inlined};
    Labels labels = {0};
    StacksProblem why = {0};
    labels_of(options, &labels);
    if (read_all_stacks(r, format, options, &labels, &s, &why)) {
        mention_others(r, profile_fits(r->report, true, NULL), api_report_variables_of(options));
        for (uint32_t v = 0; options->value && v < s.values.len; v++)
            if (str_is(s.values.at[v].name, options->value))
                s.shown = v;
        write(&s, out);
    } else {
        explain_no_stacks(r, why.text, why.variable);
    }
    stacks_free(&s);
    vec_free(&labels);
}

bool whammc_report_format(const char *name, WhammcReportFormat *format) {
    Format found;
    bool ok = format_named(name, &found);
    if (ok)
        *format = (WhammcReportFormat)found;
    return ok;
}

bool whammc_report_format_of_file(const char *path, WhammcReportFormat *format) {
    Format found;
    bool ok = format_of_file(path, &found);
    if (ok)
        *format = (WhammcReportFormat)found;
    return ok;
}

unsigned whammc_report_format_traits(WhammcReportFormat format) {
    Format f = (Format)format;
    return (format_source(f) == FORMAT_OF_ROWS ? WHAMMC_SHOWS_ROWS : 0u) |
           (format_needs_tree(f) ? WHAMMC_SHOWS_TREE : 0u) |
           (format_is(f, FORMAT_HAS_PAIRS) ? WHAMMC_SHOWS_PAIRS : 0u) |
           (format_is(f, FORMAT_COMPARES) ? WHAMMC_SHOWS_DIFFERENCES : 0u) |
           (format_is(f, FORMAT_IS_BINARY) ? WHAMMC_IS_BINARY : 0u);
}

void whammc_report_locate(WhammcReport *r, const whammc_debug_info *info) {
    r->debug = info;
    for (uint32_t i = 0; i < r->programs.len; i++)
        if (api_given_together(r->programs.at[i], vec_last(&r->programs)))
            r->programs.at[i]->debug = info;
}

/* Finds the locations of the rows if they were requested. False after a message if there are
 * none. */
static bool api_report_locate(WhammcReport *r, const WhammcReportOptions *options) {
    if (!options->lines && options->by != WHAMMC_REPORT_BY_LINE &&
        options->by != WHAMMC_REPORT_BY_FILE)
        return true;
    if (!r->programs.len && !r->report->located) {
        explain_no_program(r, "source locations");
        return false;
    }
    for (uint32_t i = 0; i < r->modules.all.len; i++) {
        ReportProgram *program = r->of.at[i];
        ApiLocator l;
        if (!program)
            continue;
        api_locate_program(r, program, &l);
        places_locate(&program->places, &l.locator, r->modules.all.at[i].report);
        api_locator_end(&l);
    }
    if (r->programs.len) {
        api_forget_joined(r);
        api_prepare(r);
    }
    return true;
}

/* With the line about threads that are missing, where tools that know only CSV do not read it. */
static void write_rows(const WhammcReport *r, WriteForm form, bool lines, Buf *out) {
    const RunThreads *t = &r->modules.parts.threads;
    if (t->complete < t->began && form != WRITE_CSV_RFC4180)
        run_put_threads(t, out);
    write_report(r->report, form, lines, out);
}

static void write_csv(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    write_rows(r, WRITE_CSV, options->lines, out);
}

static void write_csv_quoted(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    write_rows(r, WRITE_CSV_RFC4180, options->lines, out);
}

static void write_json(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    write_rows(r, WRITE_JSON, options->lines, out);
}

static void write_prometheus(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    Report shown;
    api_copy_report(r, options->mangled, &shown);
    format_prometheus(&shown, out);
    report_free(&shown);
}

/* Tables, or their differences from those of the base. */
static void write_table(WhammcReport *r, const WhammcReportOptions *options, Buf *out) {
    if (!options->base) {
        write_tables(r, options, out);
        return;
    }
    compare_reports(options->base, r, options, out);
    api_forget_messages(r); /* without calls, a report may have other numbers */
    api_forget_messages(options->base);
}

/* How a format is written: one of them is set, according to its source. */
typedef struct FormatWriter {
    void (*report)(WhammcReport *r, const WhammcReportOptions *options, Buf *out);
    void (*profile)(const ProfileView *v, Buf *out);
    void (*stacks)(const Stacks *s, Buf *out);
} FormatWriter;

/* A row without a function does not compile: neither NULL nor nothing has an address. */
#define WRITER_OF_ROWS(write)   .report = &write
#define WRITER_OF_CALLS(write)  .profile = &write
#define WRITER_OF_TREE(write)   .profile = &write
#define WRITER_OF_STACKS(write) .stacks = &write
#define WRITER_OF_HEAP(write)   .report = &write

static const FormatWriter writers[] = {
#define FORMAT(NAME, number, name, from, write, traits, ending)                                    \
    [FORMAT_##NAME] = {WRITER_OF_##from(write)},
#include "format/formats.def"
};

static void write_format(WhammcReport *r, WhammcReportFormat format,
                         const WhammcReportOptions *options, Buf *out) {
    Format view = (Format)format;
    assert(view < sizeof writers / sizeof *writers);
    const FormatWriter *w = &writers[view];
    api_forget_messages(r);
    locale_t before = api_enter(r);
    api_prepare(r);
    if (format_source(view) == FORMAT_OF_ROWS && !api_report_locate(r, options)) {
        api_leave(before);
        return;
    }
    if (w->report)
        w->report(r, options, out);
    else if (w->profile && !(view == FORMAT_SVG && write_charts(r, options, out)))
        api_report_write_view(r, view, options, w->profile, out);
    else if (w->stacks)
        write_stacks(r, view, options, w->stacks, out);
    api_check_programs(r);
    api_leave(before);
}

whammc_status whammc_report_write(WhammcReport *r, WhammcReportFormat format,
                                  const WhammcReportOptions *options, uint8_t **out, size_t *size) {
    Buf text = {0};
    *out = NULL;
    *size = 0;
    write_format(r, format, options ? options : &defaults, &text);
    whammc_status status = api_report_status_of(r);
    if (status == WHAMMC_OK) {
        buf_cstr(&text); /* not NULL, even if it is empty */
        *out = text.data;
        *size = text.len;
    } else {
        buf_free(&text);
    }
    return status;
}

whammc_status whammc_report_write_to(WhammcReport *r, WhammcReportFormat format,
                                     const WhammcReportOptions *options,
                                     void (*write)(void *ctx, const void *bytes, size_t size),
                                     void *ctx) {
    uint8_t *text;
    size_t size;
    whammc_status status = whammc_report_write(r, format, options, &text, &size);
    if (status == WHAMMC_OK && size)
        write(ctx, text, size);
    whammc_release(text);
    return status;
}
