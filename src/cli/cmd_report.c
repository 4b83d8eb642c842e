/*
 * cli/cmd_report.c - `whammc report`: shows a report that was saved, or writes it in another
 * format.
 */
#include "cli/cli.h"
#include "report/demangle.h"
#include "report/places.h"
#include "report/value.h"
#include "report/write.h"

#include <unistd.h>

enum { FORMAT = OPTION_LONG, MODULE, TOP, FLUSH, NO_DEMANGLE };

static const Option options[] = {
    {FORMAT, "format", "table|csv|csv-rfc4180|json",
     "show tables (the default), or write the report in this format"},
    {'o', "output", "OUT", "the file to write; default: standard output"},
    {MODULE, "module", "APP",
     "the program before it was instrumented: tables then show the instruction at each place, and "
     "names that the report has not"},
    {FLUSH, "flush", "N", "take the N-th report in FILE; 0, the default: the last"},
    {TOP, "top", "N", "show the N largest values of each variable, 0 = all; default: 20"},
    {NO_DEMANGLE, "no-demangle", NULL,
     "show names of C++ and Rust functions as they are in the program"},
    {0},
};

typedef enum Format { FORMAT_TABLE, FORMAT_CSV, FORMAT_CSV_RFC4180, FORMAT_JSON } Format;

typedef struct Settings {
    const char *out, *module;
    Format format;
    uint32_t top, flush;
    bool no_demangle;
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

static bool read_report(View *v) {
    const char *path = v->cli->operands[0];
    uint32_t wanted = v->settings->flush;
    if (!file_read(v->cli, path, &v->text))
        return false;
    Str text = {(const char *)v->text.data,
                (uint32_t)v->text.len}; /* file_read stops before 4 GiB */
    bool found = report_read(&v->report, text, wanted);
    const char *title = file_title(path);
    uint32_t flushes = v->report.flushes;
    if (!found && flushes)
        message_one(v->cli, DIAG_NOT_A_REPORT, NULL, "%s: it has no report number %u, but %u",
                    title, wanted, flushes);
    else if (!found)
        message_one(v->cli, DIAG_NOT_A_REPORT,
                    "reports are CSV or JSON, as instrumented programs print them",
                    "%s: there is no report in it", title);
    if (found && v->report.cut &&
        v->settings->format != FORMAT_TABLE) /* tables say so themselves */
        message_one(v->cli, DIAG_CUT_REPORT, NULL, "%s: the report ends in the middle of a row",
                    title);
    return found;
}

static bool read_module(View *v) {
    const char *path = v->settings->module;
    if (!path)
        return true;
    if (!file_read_module(v->cli, path, &v->app))
        return false;
    Diags d = {0};
    DiagFileId file = diag_file(&d, file_title(path), v->app.data, v->app.len, true);
    bool ok = wasm_read(&v->module, v->app.data, v->app.len, file, &d);
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
    ShowOptions look = {.top = s->top,
                        .fd = to_terminal ? STDOUT_FILENO : -1,
                        .colour = to_terminal && message_is_colourful(STDOUT_FILENO)};
    if (s->module)
        look.instructions = places_instructions(&v->places, &v->report);
    show_tables(&v->report, &look, out);
}

/* Appends what the settings ask for. */
static void make(View *v, Buf *out) {
    value_unify(&v->report);
    switch (v->settings->format) {
    case FORMAT_TABLE: make_tables(v, out); break;
    case FORMAT_CSV: write_report(&v->report, WRITE_CSV, out); break;
    case FORMAT_CSV_RFC4180: write_report(&v->report, WRITE_CSV_RFC4180, out); break;
    case FORMAT_JSON: write_report(&v->report, WRITE_JSON, out); break;
    }
}

static int report(const Cli *cli, const Settings *s) {
    View v = {.cli = cli, .settings = s};
    Buf out = {0};
    bool ok = read_report(&v) && read_module(&v);
    if (ok) {
        make(&v, &out);
        if (s->out)
            ok = file_write(cli, s->out, out.data, out.len);
        else
            message_stdout(&out);
    }
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
    case FORMAT: s->format = (Format)option_choice(cli->command, key, value); break;
    case 'o': s->out = value; break;
    case MODULE: s->module = value; break;
    case FLUSH: return cli_count(cli, "flush", value, &s->flush);
    case TOP: return cli_count(cli, "top", value, &s->top);
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
    return STATUS_OK;
}

static int run(Cli *cli) {
    Settings s = {.top = SHOW_TOP};
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
    return status;
}

const Command cmd_report = {
    .name = "report",
    .usage = "FILE",
    .summary = "show a saved report, or write it in another format",
    .about =
        "Read the report in FILE ('-': standard input), which an instrumented program has printed "
        "or 'whammc run -o' has written, as CSV or JSON, and show it as 'whammc run' does, or "
        "write it in another format. Whatever else is in FILE is passed over.",
    .options = options,
    .examples = "  whammc report --module=app.wasm hotness.csv\n"
                "  app | whammc report --format=json -o report.json -\n",
    .run = run,
};
