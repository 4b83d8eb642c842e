/*
 * cmd/cmd_report.c - `whammc report`: shows a report that was saved, or writes it in another
 * format.
 */
#include "cmd/cmd.h"
#include "view/demangle.h"
#include "report/places.h"
#include "report/value.h"
#include "report/report_write.h"
#include "valid/valid.h"
#include "run/run.h"

#include <unistd.h>

enum { FORMAT = OPTION_LONG, MODULE, TOP, FLUSH, VARIABLE, NO_DEMANGLE };

static const Option options[] = {
    {FORMAT, "format", VIEW_FORMATS,
     "show tables (the default); write the report in another format; make of calls that it has: a "
     "flat profile and call graph as gprof does, a graph for Graphviz; and of a call tree: folded "
     "stacks, a flame graph, a file for speedscope or for Chrome's developer tools"},
    {'o', "output", "OUT", "the file to write; default: standard output"},
    {MODULE, "module", "APP",
     "the program before it was instrumented: tables then show the instruction at each place, and "
     "names that the report has not are the program's"},
    NAMES_OPTION,
    {VARIABLE, "variable", "NAME",
     "the variable that has the calls or the call tree; default: the first that can be one; may "
     "be repeated for calls, which are then added up"},
    {FLUSH, "flush", "N", "take the N-th report in FILE; 0, the default: the last"},
    {TOP, "top", "N",
     "show the N largest values of each variable, 0 = all; default: 20. Of gprof and dot: only the "
     "N functions with the most time; default: all"},
    {NO_DEMANGLE, "no-demangle", NULL,
     "show names of C++ and Rust functions as they are in the program"},
    {0},
};

typedef struct Settings {
    const char *out, *module, *names;
    Words variables;
    ViewFormat format;
    uint32_t top, flush;
    bool top_given, no_demangle;
} Settings;

/* What a view is made from. */
typedef struct View {
    const Cli *cli;
    const Settings *settings;
    Report report;
    Buf text, app; /* what the report, the module and the names point into */
    WasmModule module;
    Places places; /* knows nothing without --module */
} View;

/* ---- reading ---- */

/* A report without rows is nothing at all in JSON. */
static bool is_empty_json(Str text, uint32_t wanted) {
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\n' && text.ptr[i] != '\r')
            return false;
    return wanted <= 1;
}

static bool read_report(View *v) {
    const char *path = v->cli->operands[0];
    uint32_t wanted = v->settings->flush;
    if (!file_read(v->cli, path, &v->text))
        return false;
    Str text = {(const char *)v->text.data,
                (uint32_t)v->text.len}; /* file_read stops before 4 GiB */
    bool found = report_read(&v->report, text, wanted);
    if (!found && is_empty_json(text, wanted))
        found = v->report.json = true;
    const char *title = file_title(path);
    uint32_t flushes = v->report.flushes;
    if (!found && flushes)
        message_one(v->cli, DIAG_NOT_A_REPORT, NULL, "%s: it has no report number %u, but %u",
                    title, wanted, flushes);
    else if (!found)
        message_one(v->cli, DIAG_NOT_A_REPORT,
                    "reports are CSV or JSON, as instrumented programs print them",
                    "%s: there is no report in it", title);
    if (found && v->report.cut && v->settings->format != VIEW_TABLE) /* tables say so themselves */
        message_one(v->cli, DIAG_CUT_REPORT, NULL, "%s: the report ends in the middle of a row",
                    title);
    return found;
}

static bool read_module(View *v) {
    const char *path = v->settings->module;
    if (!path)
        return true;
    if (!file_read_module(v->cli, path, &v->app) ||
        !names_give(v->cli, v->settings->names, &v->app))
        return false;
    Diags d = {0};
    DiagFileId file = diag_file(&d, file_title(path), v->app.data, v->app.len, true);
    bool ok = wasm_load(&v->module, v->app.data, v->app.len, file, &d);
    message_diags(v->cli, &d);
    diag_free(&d);
    if (ok)
        places_open(&v->places, &v->module);
    return ok;
}

/* ---- showing ---- */

static void make_tables(View *v, Buf *out) {
    const Settings *s = v->settings;
    bool to_terminal = !s->out || strcmp(s->out, "-") == 0;
    places_name_rows(&v->places, &v->report);
    if (!s->no_demangle)
        demangle_report(&v->report);
    ShowOptions look = {.top = s->top_given ? s->top : SHOW_TOP,
                        .fd = to_terminal ? STDOUT_FILENO : -1,
                        .colour = to_terminal && message_is_colourful(STDOUT_FILENO)};
    if (s->module)
        look.instructions = places_instructions(&v->places, &v->report);
    show_tables(&v->report, &look, out);
}

/* The first of the variables that cannot be what is asked for. */
static const char *unfit(const View *v, bool tree) {
    const Words *names = &v->settings->variables;
    uint32_t i = 0;
    for (bool ok = true; ok && i < names->len; i += ok) {
        Profile p = {0};
        ProfileVariables one = {&names->at[i], 1};
        ok = tree ? profile_read_tree(&p, &v->report, one) : profile_read_arcs(&p, &v->report, one);
        profile_free(&p);
    }
    return names->at[i < names->len ? i : 0];
}

/* Says that there are more variables, if none was asked for. */
static void mention_others(const View *v, bool tree) {
    const ReportVar *other = profile_other(&v->report, tree);
    if (other && !v->settings->variables.len)
        message_one(v->cli, DIAG_MORE_VARIABLES,
                    tree ? "--variable=NAME takes another one"
                         : "--variable=NAME takes another one, or several",
                    "%s: '%.*s' could be shown, too: only the first such variable is",
                    file_title(v->cli->operands[0]), STR_ARG(other->name));
}

/* Says why there is no profile; the one that is asked for is a tree or arcs. */
static void explain(const View *v, const Profile *p, bool tree) {
    const Settings *s = v->settings;
    const char *title = file_title(v->cli->operands[0]);
    if (p->problem)
        message_one(v->cli, DIAG_NO_PROFILE, NULL, "%s: %s", title, p->problem);
    else if (s->variables.len)
        message_one(v->cli, DIAG_NO_PROFILE,
                    "see \"What views look for\" in docs/reports.md for the types that there are",
                    "%s: the variable '%s' is not in the report or has no %s", title,
                    unfit(v, tree), tree ? "call tree" : "calls");
    else if (tree)
        message_one(v->cli, DIAG_NO_PROFILE,
                    "`whammc run -s calltree` makes one: a report variable of type map<u32, "
                    "(u32, u32, u64, u64)>, node -> (parent, function, calls, nanoseconds)",
                    "%s: the report has no call tree, which this format shows", title);
    else
        message_one(v->cli, DIAG_NO_PROFILE,
                    "`whammc run -s profile` counts them: a report variable of type map<(u32, "
                    "u32), u64>, (caller, callee) -> calls; with times the values are (u64, u64), "
                    "(calls, nanoseconds)",
                    "%s: the report has no calls, which this format shows", title);
}

/* False if the report has not what the format shows, which was said. */
static bool make_profile(View *v, Buf *out) {
    const Settings *s = v->settings;
    Profile p = {0};
    bool tree = s->format >= VIEW_FOLDED;
    ProfileVariables variables = {s->variables.at, s->variables.len};
    bool ok = tree ? profile_read_tree(&p, &v->report, variables)
                   : profile_read_arcs(&p, &v->report, variables);
    if (ok) {
        mention_others(v, tree);
        profile_name(&p, &v->report, &v->places, !s->no_demangle);
    } else {
        explain(v, &p, tree);
    }
    if (ok)
        view_format(s->format, &p, s->top, s->module ? s->module : v->cli->operands[0], out);
    profile_free(&p);
    return ok;
}

/* Appends what the settings ask for. False if that cannot be made, which was said. */
static bool make(View *v, Buf *out) {
    value_unify(&v->report);
    switch (v->settings->format) {
    case VIEW_TABLE: make_tables(v, out); break;
    case VIEW_CSV: write_report(&v->report, WRITE_CSV, out); break;
    case VIEW_CSV_RFC4180: write_report(&v->report, WRITE_CSV_RFC4180, out); break;
    case VIEW_JSON: write_report(&v->report, WRITE_JSON, out); break;
    default: return make_profile(v, out);
    }
    return true;
}

static int report(const Cli *cli, const Settings *s) {
    View v = {.cli = cli, .settings = s};
    Buf out = {0};
    bool ok = read_report(&v) && read_module(&v) && make(&v, &out);
    if (ok && s->out)
        ok = file_write(cli, s->out, out.data, out.len);
    else if (ok)
        message_stdout(&out);
    buf_free(&out);
    places_free(&v.places);
    wasm_module_free(&v.module);
    report_free(&v.report);
    buf_free(&v.text);
    buf_free(&v.app);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- the command line ---- */

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, Settings *s, int key, const char *value) {
    switch (key) {
    case FORMAT: s->format = (ViewFormat)option_choice(cli->command, key, value); break;
    case 'o': s->out = value; break;
    case OPTION_NAMES: s->names = value; break;
    case MODULE: s->module = value; break;
    case FLUSH: return cli_count(cli, "flush", value, &s->flush);
    case TOP: s->top_given = true; return cli_count(cli, "top", value, &s->top);
    case VARIABLE: vec_push(&s->variables, value); break;
    case NO_DEMANGLE: s->no_demangle = true; break;
    }
    return true;
}

static int check(const Cli *cli, const Settings *s) {
    if (!cli->noperands)
        return cli_usage(cli, "which report? Give the FILE ('-': standard input)");
    if (cli->noperands > 1)
        return cli_usage(cli, "one report at a time: what is '%s'?", cli->operands[1]);
    if (s->module && strcmp(s->module, "-") == 0 && strcmp(cli->operands[0], "-") == 0)
        return cli_usage(cli, "only one file can be '-', standard input");
    if (s->names && !s->module)
        return cli_usage(cli, "--names=%s: names are for the program of --module", s->names);
    if (s->variables.len > 1 && s->format >= VIEW_FOLDED)
        return cli_usage(cli, "one call tree at a time: what is --variable=%s?",
                         s->variables.at[1]);
    return STATUS_OK;
}

static int run(Cli *cli) {
    Settings s = {0};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = set(cli, &s, key, value);
    int status = ok ? cli_option_status(key) : STATUS_USAGE;
    if (ok && key == ARGS_END)
        status = check(cli, &s);
    if (ok && key == ARGS_END && status == STATUS_OK)
        status = report(cli, &s);
    vec_free(&s.variables);
    return status;
}

const Command cmd_report = {
    .name = "report",
    .usage = "FILE",
    .summary = "show a saved report, or write it in another format",
    .about =
        "Read the report in FILE ('-': standard input), which an instrumented program has printed "
        "or 'whammc run -o' has written, as CSV or JSON, and show it as 'whammc run' does, "
        "write it in another format, or make a profile or picture of it. Whatever else is in FILE "
        "is passed over.",
    .options = options,
    .examples = "  whammc report --module=app.wasm hotness.csv\n"
                "  whammc report --format=svg -o flame.svg calltree.json\n"
                "  app | whammc report --format=json -o report.json -\n",
    .run = run,
};
