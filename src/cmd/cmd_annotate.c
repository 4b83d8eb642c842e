/*
 * cmd/cmd_annotate.c - `whammc annotate`: the sources of a program with the counts of a report.
 */
#include "cmd/cmd.h"

#include "api/api_locate.h"
#include "merge/modules.h"
#include "run/run.h"
#include "valid/valid.h"
#include "annotate/annotate.h"
#include "annotate/html.h"

#include <unistd.h>

typedef enum PageFormat { PAGE_TEXT, PAGE_HTML } PageFormat;
typedef enum When { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER } When;

typedef struct Settings {
    const char *out, *variable, *names, *script;
    PageFormat format;
    When colour;
    uint32_t flush;
    bool instructions, no_demangle;
    DebugOptions debug;
    Words modules; /* of a command; none = all */
    Words files;   /* what is shown, NULL at the end; none = all */
} Settings;

/* What is read of a program. */
typedef struct Inputs {
    const Cli *cli;
    const char *name;        /* of the program, for people */
    const char *report_name; /* of its report */
    DebugOptions debug;
    Buf app;
    WasmModule module;
    Places places;
    const Report *report;
    Diags diags;
} Inputs;

/* A text with reports. */
typedef struct Reports {
    const char *name;
    Str text;
    Modules modules;
    bool told; /* what is wrong with it was said */
} Reports;

/* What is made. */
typedef struct Output {
    Buf text;
    const char *title; /* of a page */
    bool several;      /* programs are shown */
    bool to_stderr;
    uint32_t parts, anchors; /* there are already */
    Vec(bool) fits;          /* by FILE: something in these programs has this name */
    bool functions;          /* FILEs are names of functions, at least in some */
} Output;

static bool open_program(const Cli *cli, const Settings *s, const char *path, Inputs *in) {
    for (uint32_t i = 0; i < s->debug.maps.len; i++)
        vec_push(&in->debug.maps, s->debug.maps.at[i]);
    in->debug.file = s->debug.file;
    if (!file_read_module(cli, path, &in->app) || !names_give(cli, path, s->names, &in->app) ||
        !debug_prepare(cli, &in->debug, in->name, &in->app))
        return false;
    DiagFileId file = diag_file(&in->diags, file_title(in->name), in->app.data, in->app.len, true);
    if (!wasm_load(&in->module, in->app.data, in->app.len, file, &in->diags))
        return false;
    places_open(&in->places, &in->module);
    return true;
}

/* Reads a text. False after a message. */
static bool read_reports(const Cli *cli, const Settings *s, Reports *r) {
    Buf why = {0};
    bool found = modules_read(&r->modules, r->text, s->flush, &why), ok = found && !why.len;
    if (!found)
        message_one(cli, DIAG_NOT_A_REPORT, NULL, "%s: there is no %s in it", r->name,
                    r->modules.parts.flushes ? "such report" : "report");
    else if (!ok)
        message_one(cli, DIAG_OTHER_REPORT, NULL, "%s: %s", r->name, buf_cstr(&why));
    buf_free(&why);
    return ok;
}

/* Finds the report of a program. False after a message. */
static bool find_report(Reports *r, Inputs *in) {
    Buf why = {0};
    const ModuleReport *one = modules_of_program(&r->modules, &in->places, &why);
    in->report_name = r->name;
    if (!one)
        diag(&in->diags, DIAG_OTHER_REPORT, NO_SPAN, "%s: %s", r->name, buf_cstr(&why));
    else if (!r->told)
        modules_warn(&r->modules, r->name, r->text, &in->diags);
    r->told = true;
    buf_free(&why);
    in->report = one ? one->report : NULL;
    return one;
}

static void free_inputs(Inputs *in) {
    places_free(&in->places);
    wasm_module_free(&in->module);
    debug_free(&in->debug);
    buf_free(&in->app);
    diag_free(&in->diags);
}

/* Reports problems with the counts; false if there are none at all. */
static bool check_counts(const Settings *s, Inputs *in, const Annotation *a, const ReportVar *var) {
    const char *report = in->report_name, *app = file_title(in->name);
    if (!var && s->variable)
        diag(&in->diags, DIAG_NO_COUNTS, NO_SPAN, "%s: the variable '%s' has no numbers at sites",
             report, s->variable);
    else if (!var)
        diag_hint(&in->diags,
                  diag(&in->diags, DIAG_NO_COUNTS, NO_SPAN, "%s: no variable has numbers at sites",
                       report),
                  "`whammc run -s hotness -o REPORT APP` counts how often each instruction is "
                  "executed");
    else if (!a->counted)
        diag(&in->diags, DIAG_NO_COUNTS, NO_SPAN,
             "%s: expected a report of %s, found counts at none of its instructions", report, app);
    else if (a->foreign)
        diag(&in->diags, DIAG_OTHER_PROGRAM, NO_SPAN,
             "%s: %u of %u sites are not in %s; is it the report of another program?", report,
             a->foreign, a->foreign + a->counted, app);
    return var && a->counted;
}

/* Whether a FILE operand matches something that has counts. */
static bool fits_any(const Annotation *a, const AnnotateOptions *look, const char *wanted) {
    bool fits = false;
    AnnotatedFunctions functions = annotate_functions(a);
    Buf name = {0};
    for (uint32_t i = 0; look->instructions && i < functions.len && !fits; i++) {
        name.len = 0;
        annotate_name(look, functions.at[i].fid, &name);
        fits = annotate_fits(wanted, buf_view(&name));
    }
    for (uint32_t i = 0; !look->instructions && i < a->files.len && !fits; i++)
        fits = annotate_fits(wanted, a->files.at[i].path);
    buf_free(&name);
    vec_free(&functions);
    return fits;
}

static void note_files(const Annotation *a, const AnnotateOptions *look, Output *o) {
    o->functions |= look->instructions;
    for (uint32_t i = 0; look->files[i]; i++) {
        if (i == o->fits.len)
            vec_push(&o->fits, false);
        o->fits.at[i] = o->fits.at[i] || fits_any(a, look, look->files[i]);
    }
}

/* Warns of FILEs that fit nothing. */
static void check_files(const Settings *s, const Output *o, Diags *diags) {
    for (uint32_t i = 0; i < o->fits.len; i++)
        if (!o->fits.at[i])
            diag(diags, DIAG_NO_SUCH_SOURCE, NO_SPAN, "%s: no %s with counts has this name",
                 s->files.at[i], o->functions ? "function" : "source");
}

static void check_lengths(Inputs *in, const Annotation *a, const AnnotateOptions *look,
                          const char *app) {
    ShortSource s = {0};
    for (uint32_t i = 0; i < a->files.len; i++) {
        const AnnotatedFile *f = &a->files.at[i];
        if (f->lines.len && annotate_wants(look, f->path))
            source_check_length(&s, f->path, source_text(look->sources, f->path),
                                vec_last(&f->lines).line);
    }
    source_warn_short(&s, file_title(app), &in->diags);
}

static void put_part(const Settings *s, const Annotation *a, const AnnotateOptions *look,
                     Output *o) {
    Buf *out = &o->text;
    bool page = s->format == PAGE_HTML;
    if (page && !o->parts)
        annotate_html_begin(o->title ? str_of(o->title) : look->title, out);
    if (o->several && page)
        html_element(out, "h1", look->title);
    else if (o->several)
        buf_printf(out, "%smodule: %.*s\n\n", o->parts ? "\n" : "", STR_ARG(look->title));
    if (page)
        o->anchors = annotate_html(a, look, o->anchors, out);
    else
        annotate_text(a, look, out);
    o->parts++;
}

static bool is_coloured(const Settings *s, const Output *o) {
    bool to_terminal = !s->out || strcmp(s->out, "-") == 0;
    int fd = o->to_stderr && !s->out ? STDERR_FILENO : STDOUT_FILENO;
    return s->colour == WHEN_ALWAYS ||
           (s->colour == WHEN_AUTO && to_terminal && message_is_colourful(fd));
}

/* Appends what is shown of a program. */
static bool make(const Settings *s, const char *path, Inputs *in, Output *o) {
    const ReportVar *var = annotate_variable(in->report, s->variable);
    Annotation a = {0};
    ApiLocator l;
    api_locator_begin(&l, &in->debug.info, file_title(in->name), &in->diags);
    Locator *locator = s->instructions ? NULL : &l.locator;
    if (var)
        annotate_make(&a, &in->places, locator, in->report, var);
    bool left_out = o->several && !a.counted; /* others may have counts */
    bool ok = !left_out && check_counts(s, in, &a, var);
    SourceFiles files;
    source_files_begin(&files, path);
    files.app = in->name;
    Sources sources = {.read = source_files_read,
                       .ctx = &files,
                       .embedded = ok && locator ? locator_open(locator, &in->module) : NULL,
                       .folder = {in->name, (uint32_t)(file_base(in->name) - in->name)}};
    AnnotateOptions look = {
        .places = &in->places,
        .sources = &sources,
        .title = str_of(file_base(file_title(in->name))),
        .variable = var ? var->name : (Str){"", 0},
        .files = s->files.at,
        .instructions = s->instructions || !a.files.len,
        .colour = is_coloured(s, o),
        .mangled = s->no_demangle,
    };
    if (ok)
        annotate_join(&a, &sources);
    if (ok)
        note_files(&a, &look, o);
    if (ok && !o->several)
        check_files(s, o, &in->diags);
    if (ok)
        put_part(s, &a, &look, o);
    if (ok && !look.instructions)
        check_lengths(in, &a, &look, in->name);
    source_files_end(in->cli, &files);
    sources_free(&sources);
    api_locator_end(&l);
    annotate_free(&a);
    return ok || left_out;
}

static bool deliver(const Cli *cli, const Settings *s, Output *o) {
    bool ok = true;
    if (s->format == PAGE_HTML)
        annotate_html_end(&o->text);
    if (s->out)
        ok = file_write(cli, s->out, o->text.data, o->text.len);
    else if (o->to_stderr)
        message_result(&o->text);
    else
        message_stdout(&o->text);
    return ok;
}

static int annotate(const Cli *cli, const Settings *s) {
    const char *path = cli->operands[0];
    Buf text = {0};
    Output out = {0};
    Inputs in = {.cli = cli, .name = path};
    Reports r = {.name = file_title(cli->operands[1])};
    bool ok = open_program(cli, s, path, &in) && file_read(cli, cli->operands[1], &text);
    r.text = buf_view(&text);
    ok = ok && read_reports(cli, s, &r) && find_report(&r, &in) && make(s, path, &in, &out);
    message_diags(cli, &in.diags);
    ok = ok && deliver(cli, s, &out);
    free_inputs(&in);
    modules_free(&r.modules);
    buf_free(&text);
    vec_free(&out.fits);
    buf_free(&out.text);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- commands ---- */

typedef struct Commanded {
    const Cli *cli;
    const Settings *settings;
    bool has_reports;
} Commanded;

/* Appends what is shown of the program in a file. The name is for people. */
static bool add_program(const Cli *cli, const Settings *s, const char *path, const char *name,
                        Reports *r, Output *o) {
    Inputs in = {.cli = cli, .name = name};
    bool ok = open_program(cli, s, path, &in) && find_report(r, &in) && make(s, path, &in, o);
    message_diags(cli, &in.diags);
    free_inputs(&in);
    return ok;
}

static bool add_programs(const Commanded *c, const CommandReports *all, Reports *r, Output *o) {
    const Settings *s = c->settings;
    bool ok = true;
    o->several = (s->modules.len ? s->modules.len : all->modules.len) > 1;
    o->title = o->several ? c->cli->operands[0] : NULL;
    for (uint32_t i = 0; i < s->modules.len; i++)
        ok = add_program(c->cli, s, s->modules.at[i], s->modules.at[i], r, o) && ok;
    for (uint32_t i = 0; !s->modules.len && i < all->modules.len; i++)
        ok = add_program(c->cli, s, all->modules.at[i].path, all->modules.at[i].name, r, o) && ok;
    return ok;
}

/* Shows the counts of all threads and processes of a command. */
static bool show_of_command(void *ctx, const CommandReports *all) {
    Commanded *c = ctx;
    Output out = {.to_stderr = true};
    Reports r = {.name = "report", .text = buf_view(&all->text)};
    c->has_reports = true;
    bool ok = read_reports(c->cli, c->settings, &r) && add_programs(c, all, &r, &out);
    Diags diags = {0};
    if (out.several)
        check_files(c->settings, &out, &diags);
    message_diags(c->cli, &diags);
    diag_free(&diags);
    if (out.parts)
        ok = deliver(c->cli, c->settings, &out) && ok;
    else if (ok)
        message_one(c->cli, DIAG_NO_COUNTS, "the script `hotness` counts at each instruction",
                    "no variable has numbers at sites of any module");
    modules_free(&r.modules);
    vec_free(&out.fits);
    buf_free(&out.text);
    return ok && out.parts;
}

/* In the end as the command ended, unless that is 0 and something else failed. */
static int annotate_command(const Cli *cli, const Settings *s, const char *program) {
    static const DefineOptions none;
    Commanded c = {.cli = cli, .settings = s};
    CommandJob job = {.program = program,
                      .script = s->script ? s->script : "hotness",
                      .definitions = &none,
                      .take = show_of_command,
                      .ctx = &c};
    if (s->flush)
        return cli_usage(cli, "--flush is for saved reports, and '%s' is a command",
                         cli->operands[0]);
    if ((s->debug.file || s->names) && s->modules.len != 1)
        return cli_usage(cli, "--%s is of one program: choose that with --module=APP",
                         s->debug.file ? "debug-file" : "names");
    int status = command_run(cli, &job);
    return status == STATUS_OK && !c.has_reports ? STATUS_ERROR : status;
}

/* ---- the command line ---- */

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_FORMAT: s->format = (PageFormat)option_choice(cli, key, value); break;
    case OPTION_COLOUR: s->colour = (When)option_choice(cli, key, value); break;
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_VARIABLE: s->variable = value; break;
    case OPTION_FLUSH: return cli_count(cli, "flush", value, &s->flush);
    case OPTION_INSTRUCTIONS: s->instructions = true; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_NO_DEMANGLE: s->no_demangle = true; break;
    case OPTION_SCRIPT: s->script = value; break;
    case OPTION_MODULE: vec_push(&s->modules, value); break;
    case OPTION_FILE: vec_push(&s->files, value); break;
    }
    return true;
}

static int check(const Cli *cli, const Settings *s) {
    if (cli->noperands < 2)
        return cli_usage(cli, "expected the program APP and its REPORT");
    if (s->script || s->modules.len)
        return cli_usage(cli, "--%s is for commands, which follow '--'",
                         s->script ? "script" : "module");
    const char *const inputs[] = {cli->operands[0], cli->operands[1]};
    int status = cli_check_stdin(cli, inputs, 2, 0);
    return status == STATUS_OK ? cli_check_other(cli, s->out, inputs, 2, "an input") : status;
}

/* The command, which follows "--"; NULL: the operands are a program and its report. */
static char *find_command(const Cli *cli) {
    bool stopped = cli->noperands && strcmp(cli->operands[-1], "--") == 0;
    return stopped ? command_find(cli->operands[0]) : NULL;
}

static int annotate_saved(const Cli *cli, Settings *s) {
    int status = check(cli, s);
    for (int i = 2; i < cli->noperands; i++)
        vec_push(&s->files, cli->operands[i]);
    vec_push(&s->files, NULL);
    return status == STATUS_OK ? annotate(cli, s) : status;
}

int cmd_annotate(Cli *cli) {
    Settings s = {0};
    char *command = NULL;
    int status = cli_options(cli, set, &s);
    if (status == STATUS_OK)
        command = find_command(cli);
    if (command) {
        vec_push(&s.files, NULL);
        status = annotate_command(cli, &s, command);
    } else if (status == STATUS_OK) {
        status = annotate_saved(cli, &s);
    }
    free(command);
    debug_free(&s.debug);
    vec_free(&s.modules);
    vec_free(&s.files);
    return status;
}
