/*
 * cmd/cmd_annotate.c - `whammc annotate`: the sources of a program with the counts of a report.
 */
#include "cmd/cmd.h"

#include "api/api_locate.h"
#include "merge/modules.h"
#include "valid/valid.h"
#include "annotate/annotate.h"

#include <unistd.h>

enum { FORMAT = OPTION_LONG, VARIABLE, FLUSH, INSTRUCTIONS, COLOUR, NO_DEMANGLE };
typedef enum Format { FORMAT_TEXT, FORMAT_HTML } Format;
typedef enum When { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER } When;

static const Option options[] = {
    {FORMAT, "format", "text|html", "text for a terminal (the default), or a self-contained page"},
    {'o', "output", "OUT", "the file to write; default: standard output"},
    {VARIABLE, "variable", "NAME",
     "the variable with the counts; default: the one with numbers at the most sites"},
    {FLUSH, "flush", "N",
     "use the N-th report of each instance, or its last if it has fewer; 0, the default, is the "
     "last"},
    {INSTRUCTIONS, "instructions", NULL,
     "show the program's instructions instead of its sources; FILE is then the name of a function. "
     "This is the default for programs without source locations"},
    NAMES_OPTION,
    DEBUG_OPTIONS,
    {COLOUR, "color", "auto|always|never",
     "show hot lines in colour; default: auto, if it goes to a terminal and NO_COLOR is not set"},
    {NO_DEMANGLE, "no-demangle", NULL,
     "show names of C++ and Rust functions as they are in the program"},
    {0},
};

typedef struct Settings {
    const char *out, *variable, *names;
    Format format;
    When colour;
    uint32_t flush;
    bool instructions, no_demangle;
    DebugOptions debug;
} Settings;

/* What is read. */
typedef struct Inputs {
    Buf app, text;
    WasmModule module;
    Places places;
    Modules modules;
    const Report *report; /* of the program */
    Diags diags;
} Inputs;

static bool read_inputs(const Cli *cli, Settings *s, Inputs *in) {
    const char *app = cli->operands[0], *report = cli->operands[1];
    if (!file_read_module(cli, app, &in->app) || !names_give(cli, app, s->names, &in->app) ||
        !debug_prepare(cli, &s->debug, app, &in->app) || !file_read(cli, report, &in->text))
        return false;
    DiagFileId file = diag_file(&in->diags, file_title(app), in->app.data, in->app.len, true);
    if (!wasm_load(&in->module, in->app.data, in->app.len, file, &in->diags))
        return false;
    places_open(&in->places, &in->module);
    Str text = buf_view(&in->text);
    const char *title = file_title(report);
    Buf why = {0};
    const ModuleReport *one = NULL;
    if (!modules_read(&in->modules, text, s->flush, &why))
        diag(&in->diags, DIAG_NOT_A_REPORT, NO_SPAN, "%s: there is no %s in it", title,
             in->modules.parts.flushes ? "such report" : "report");
    else if (why.len || !(one = modules_of_program(&in->modules, &in->places, &why)))
        diag(&in->diags, DIAG_OTHER_REPORT, NO_SPAN, "%s: %s", title, buf_cstr(&why));
    if (one) {
        modules_warn(&in->modules, title, text, &in->diags);
        in->report = one->report;
    }
    buf_free(&why);
    return one;
}

static void free_inputs(Inputs *in) {
    modules_free(&in->modules);
    places_free(&in->places);
    wasm_module_free(&in->module);
    buf_free(&in->app);
    buf_free(&in->text);
    diag_free(&in->diags);
}

/* Reports problems with the counts; false if there are none at all. */
static bool check_counts(const Cli *cli, const Settings *s, Inputs *in, const Annotation *a,
                         const ReportVar *var) {
    const char *report = file_title(cli->operands[1]), *app = file_title(cli->operands[0]);
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

static void check_files(Inputs *in, const Annotation *a, const AnnotateOptions *look) {
    for (uint32_t i = 0; look->files[i]; i++)
        if (!fits_any(a, look, look->files[i]))
            diag(&in->diags, DIAG_NO_SUCH_SOURCE, NO_SPAN, "%s: no %s with counts has this name",
                 look->files[i], look->instructions ? "function" : "source");
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

/* Appends the output. */
static bool make(const Cli *cli, const Settings *s, Inputs *in, Buf *out) {
    bool to_terminal = !s->out || strcmp(s->out, "-") == 0;
    const char *app = cli->operands[0];
    const ReportVar *var = annotate_variable(in->report, s->variable);
    Annotation a = {0};
    ApiLocator l;
    api_locator_begin(&l, &s->debug.info, file_title(app), &in->diags);
    Locator *locator = s->instructions ? NULL : &l.locator;
    if (var)
        annotate_make(&a, &in->places, locator, in->report, var);
    bool ok = check_counts(cli, s, in, &a, var);
    SourceFiles files;
    source_files_begin(&files, app);
    Sources sources = {.read = source_files_read,
                       .ctx = &files,
                       .embedded = ok && locator ? locator_open(locator, &in->module) : NULL,
                       .folder = {app, (uint32_t)(file_base(app) - app)}};
    AnnotateOptions look = {
        .places = &in->places,
        .sources = &sources,
        .title = str_of(file_base(file_title(app))),
        .variable = var ? var->name : (Str){"", 0},
        .files = (const char *const *)&cli->operands[2],
        .instructions = s->instructions || !a.files.len,
        .colour = s->colour == WHEN_ALWAYS ||
                  (s->colour == WHEN_AUTO && to_terminal && message_is_colourful(STDOUT_FILENO)),
        .mangled = s->no_demangle,
    };
    if (ok)
        annotate_join(&a, &sources);
    if (ok)
        check_files(in, &a, &look);
    if (ok && s->format == FORMAT_HTML)
        annotate_html(&a, &look, out);
    else if (ok)
        annotate_text(&a, &look, out);
    if (ok && !look.instructions)
        check_lengths(in, &a, &look, app);
    source_files_end(cli, &files);
    sources_free(&sources);
    api_locator_end(&l);
    annotate_free(&a);
    return ok;
}

static int annotate(const Cli *cli, Settings *s) {
    Inputs in = {0};
    Buf out = {0};
    bool ok = read_inputs(cli, s, &in) && make(cli, s, &in, &out);
    message_diags(cli, &in.diags);
    if (ok && s->out)
        ok = file_write(cli, s->out, out.data, out.len);
    else if (ok)
        message_stdout(&out);
    buf_free(&out);
    free_inputs(&in);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- the command line ---- */

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case FORMAT: s->format = (Format)option_choice(cli->command, key, value); break;
    case COLOUR: s->colour = (When)option_choice(cli->command, key, value); break;
    case 'o': s->out = value; break;
    case VARIABLE: s->variable = value; break;
    case FLUSH: return cli_count(cli, "flush", value, &s->flush);
    case INSTRUCTIONS: s->instructions = true; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case NO_DEMANGLE: s->no_demangle = true; break;
    }
    return true;
}

static int check(const Cli *cli, const Settings *s) {
    if (cli->noperands < 2)
        return cli_usage(cli, "expected the program APP and its REPORT");
    const char *const inputs[] = {cli->operands[0], cli->operands[1]};
    int status = cli_check_stdin(cli, inputs, 2, 0);
    return status == STATUS_OK ? cli_check_other(cli, s->out, inputs, 2, "an input") : status;
}

static int run(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, set, &s);
    if (status == STATUS_OK)
        status = check(cli, &s);
    if (status == STATUS_OK)
        status = annotate(cli, &s);
    debug_free(&s.debug);
    return status;
}

const Command cmd_annotate = {
    .name = "annotate",
    .usage = "APP REPORT [FILE]...",
    .summary = "show sources with counts beside their lines",
    .about = "Show the sources of the program APP, as it was before it was instrumented, with "
             "the counts of a saved REPORT ('-': standard input) beside their lines: how "
             "often each line was executed, the sum of the counts of its instructions, and "
             "their share. With FILEs, show only these: names, ends of paths, or shell "
             "patterns.",
    .options = options,
    .examples = "  whammc run -s hotness -o hot.csv app.wasm\n"
                "  whammc annotate app.wasm hot.csv main.c\n"
                "  whammc annotate --format=html -o hot.html app.wasm hot.csv\n",
    .run = run,
};
