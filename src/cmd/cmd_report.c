/*
 * cmd/cmd_report.c - `whammc report`: shows a saved report, or writes it in another format.
 */
#include "cmd/cmd.h"
#include "testing/condition.h"

#include <unistd.h>

typedef struct Settings {
    const char *out, *names, *fail_if, *base, *only;
    Words modules;
    ProgramFiles programs; /* by module */
    bool diff, by_thread;
    WhammcReport *old; /* the report of `base` */
    Words variables;
    Words labels;  /* in the end with a NULL */
    Words objects; /* for coverage */
    bool format_given;
    WhammcReportFormat format;
    bool coverage; /* instead, in coverage_format */
    WhammcCoverageFormat coverage_format;
    uint32_t top, flush;
    bool top_given, no_demangle, suggest;
    Look look;
    DebugOptions debug;
} Settings;

/* Returns the program of the report; NULL unless exactly one was given. */
static const char *cmd_report_module_of(const Settings *s) {
    return s->modules.len == 1 ? s->modules.at[0] : NULL;
}

static bool cmd_report_read_text(const Cli *cli, const Settings *s, WhammcReport *r) {
    const char *path = cli->operands[0];
    Buf text = {0};
    if (!file_read(cli, path, &text))
        return false;
    whammc_status status = whammc_report_read(r, file_title(path), text.data, text.len, s->flush);
    buf_free(&text);
    return message_report(cli, r, status) == STATUS_OK;
}

/* Adds up all given reports. */
static bool cmd_report_read_all(const Cli *cli, const Settings *s, WhammcReport *r) {
    bool ok = cmd_report_read_text(cli, s, r);
    for (int i = 1; i < cli->noperands && ok; i++) {
        Buf text = {0};
        const char *path = cli->operands[i];
        ok = file_read(cli, path, &text) &&
             message_report(
                 cli, r, whammc_report_add(r, file_title(path), text.data, text.len, s->flush)) ==
                 STATUS_OK;
        buf_free(&text);
    }
    return ok;
}

/* Reads the programs, and selects the module to show. */
static bool cmd_report_read_modules(const Cli *cli, Settings *s, WhammcReport *r) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->modules.len; i++)
        ok = program_add(cli, &s->programs, s->modules.at[i], s->modules.at[i], s->names, &s->debug,
                         r);
    return ok && (!s->only || s->suggest ||
                  message_report(cli, r, whammc_report_select(r, s->only)) == STATUS_OK);
}

/* Appends the requested output. On failure, prints a message and returns false. */
static bool cmd_report_make(const Cli *cli, const Settings *s, WhammcReport *r, Buf *out) {
    bool to_terminal = !s->out || strcmp(s->out, "-") == 0;
    bool table = s->format == WHAMMC_REPORT_TABLE;
    Words variables = {0};
    for (uint32_t i = 0; i < s->variables.len; i++)
        vec_push(&variables, s->variables.at[i]);
    vec_push(&variables, NULL);
    WhammcReportOptions look = s->look;
    look.variables = variables.at;
    look.labels = s->labels.at;
    look.time = file_time(cli->operands[0]);
    bool limited = table || s->format == WHAMMC_REPORT_SVG;
    look.top = limited && !s->top_given ? SHOW_TOP : s->top;
    look.base = s->diff ? s->old : NULL;
    look.title =
        file_base(file_title(cmd_report_module_of(s) ? cmd_report_module_of(s) : cli->operands[0]));
    look.mangled = s->no_demangle;
    look.width = to_terminal ? show_width(STDOUT_FILENO) : 0;
    look.colour = to_terminal && message_is_colourful(STDOUT_FILENO);
    look.ascii = show_is_ascii();
    uint8_t *text;
    size_t size;
    whammc_status status = whammc_report_write(r, s->format, &look, &text, &size);
    *out = (Buf){.data = text, .len = size, .cap = size};
    vec_free(&variables);
    return message_report(cli, r, status) == STATUS_OK;
}

/* Reads the report to compare with. NULL after a message. */
static WhammcReport *cmd_report_read_base(const Cli *cli, const Settings *s) {
    WhammcReport *r = whammc_report_new();
    Buf text = {0};
    whammc_report_by_thread(r, s->by_thread);
    bool ok = file_read(cli, s->base, &text) &&
              message_report(cli, r,
                             whammc_report_read(r, file_title(s->base), text.data, text.len, 0)) ==
                  STATUS_OK;
    ok = ok && (!s->only || message_report(cli, r, whammc_report_select(r, s->only)) == STATUS_OK);
    buf_free(&text);
    if (ok)
        return r;
    whammc_report_free(r);
    return NULL;
}

/* Returns whether the condition of --fail-if is false; if not, prints a message. */
static bool passes(const Cli *cli, const Settings *s, WhammcReport *r) {
    Diags diags = {0};
    Buf used = {0};
    bool fails = condition_holds("--fail-if", s->fail_if, r, s->old, &used, &diags);
    bool ok = !fails && !diags.errors;
    message_diags(cli, &diags);
    if (fails)
        message_one(cli, DIAG_FAILED_IF, NULL, "%s: %s%s%s%s", file_title(cli->operands[0]),
                    s->fail_if, used.len ? " (" : "", buf_cstr(&used), used.len ? ")" : "");
    buf_free(&used);
    diag_free(&diags);
    return ok;
}

static int cmd_report_report(const Cli *cli, Settings *s) {
    WhammcReport *r = whammc_report_new();
    Buf out = {0};
    whammc_report_by_thread(r, s->by_thread);
    bool ok = (s->suggest || cmd_report_read_all(cli, s, r)) &&
              cmd_report_read_modules(cli, s, r) &&
              (!s->base || (s->old = cmd_report_read_base(cli, s))) &&
              (s->suggest ? exclude_suggest(cli, cli->operands[0], &s->programs.at[0]->app, &out)
                          : cmd_report_make(cli, s, r, &out));
    if (ok && s->out)
        ok = file_write(cli, s->out, out.data, out.len);
    else if (ok)
        message_stdout(&out);
    ok = ok && (!s->fail_if || passes(cli, s, r));
    buf_free(&out);
    whammc_report_free(r);
    whammc_report_free(s->old);
    programs_free(&s->programs);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- the command line ---- */

/* Sets the format, of a report or of coverage. */
static void set_format(Settings *s, const char *name) {
    static const struct {
        const char *name;
        WhammcCoverageFormat format;
    } of_coverage[] = {
#define COVERAGE(NAME, name, write, ending) {name, WHAMMC_COVERAGE_##NAME},
#include "format/formats.def"
    };
    s->format_given = true;
    s->format = WHAMMC_REPORT_TABLE;
    s->coverage = !whammc_report_format(name, &s->format);
    for (uint32_t i = 0; s->coverage && i < sizeof of_coverage / sizeof *of_coverage; i++)
        if (strcmp(of_coverage[i].name, name) == 0)
            s->coverage_format = of_coverage[i].format;
}

/* Returns false for wrong usage, after a message. */
static bool cmd_report_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_FORMAT: set_format(s, value); break;
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_MODULE: vec_push(&s->modules, value); break;
    case OPTION_ONLY: s->only = value; break;
    case OPTION_BY_THREAD: s->by_thread = true; break;
    case OPTION_FLUSH: return cli_count(cli, "flush", value, &s->flush);
    case OPTION_TOP: s->top_given = true; return cli_count(cli, "top", value, &s->top);
    case OPTION_LABEL: return label_option(cli, &s->labels, value);
    case OPTION_INCLUDE_OBJECTS: vec_push(&s->objects, value); break;
    case OPTION_VARIABLE: vec_push(&s->variables, value); break;
    case OPTION_FAIL_IF: s->fail_if = value; break;
    case OPTION_BASE: s->base = value; break;
    case OPTION_DIFF:
        s->base = value;
        s->diff = true;
        break;
    case OPTION_BY:
    case OPTION_SORT:
    case OPTION_NONZERO:
    case OPTION_HEX:
    case OPTION_INLINED:
    case OPTION_LINES: look_option(cli, &s->look, key, value); break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_NO_DEMANGLE: s->no_demangle = true; break;
    case OPTION_SUGGEST: s->suggest = true; break;
    }
    return true;
}

/* Shows the coverage of one or more reports. */
static int show_coverage(const Cli *cli, Settings *s) {
    CoverageRequest q = {.out = s->out,
                         .names = s->names,
                         .format = s->coverage_format,
                         .no_demangle = s->no_demangle,
                         .objects = s->objects,
                         .debug = s->debug};
    s->debug = (DebugOptions){0};
    s->objects = (Words){0};
    for (int i = 0; i < cli->noperands; i++)
        vec_push(&q.from, cli->operands[i]);
    for (uint32_t i = 0; i < s->modules.len; i++)
        covering_program(&q, s->modules.at[i], NULL);
    int status = covering_saved(cli, &q);
    covering_free(&q);
    return status;
}

/* Returns whether one of the files is standard input. */
static bool is_stdin(const Words *files) {
    for (uint32_t i = 0; i < files->len; i++)
        if (strcmp(files->at[i], "-") == 0)
            return true;
    return false;
}

/* Checks that the options suit coverage: STATUS_OK, or another status after a message. */
static int check_coverage(const Cli *cli, const Settings *s) {
    if (!s->modules.len)
        return cli_usage(cli, "that format shows lines of programs: give them with --module=APP");
    if (s->fail_if || s->base)
        return cli_usage(cli, "--fail-if is not for coverage: see 'whammc coverage --fail-under'");
    if (s->flush || s->variables.len || s->top_given || s->only || s->by_thread)
        return cli_usage(cli,
                         "--flush, --variable, --top, --only and --by-thread have no effect on "
                         "coverage");
    int status = covering_check_objects(cli, s->out, &s->objects);
    return status == STATUS_OK ? cli_check_stdin(cli, (const char *const *)cli->operands,
                                                 cli->noperands, is_stdin(&s->modules))
                               : status;
}

static int cmd_report_check(const Cli *cli, const Settings *s) {
    if (cli->noperands && s->coverage)
        return check_coverage(cli, s);
    if (s->objects.len && !s->coverage)
        return cli_usage(cli,
                         "--include-objects=%s is for coverage: give --format=lcov, "
                         "cobertura, html or text",
                         s->objects.at[0]);
    if (!cli->noperands)
        return cli_usage(cli, "expected a report: give its FILE ('-': standard input)");
    if (cli_check_stdin(cli, (const char *const *)cli->operands, cli->noperands,
                        is_stdin(&s->modules)) != STATUS_OK)
        return STATUS_USAGE;
    if (s->diff && !format_has(s->format, WHAMMC_SHOWS_DIFFERENCES))
        return cli_usage(cli,
                         "--diff shows tables, or with --format=svg a flame graph; for pprof give "
                         "both profiles to `go tool pprof -diff_base=OLD NEW`");
    if (s->base && !s->fail_if && !s->diff)
        return cli_usage(cli, "--base=%s needs --fail-if or --diff", s->base);
    if (s->suggest &&
        (!cmd_report_module_of(s) || cli->noperands > 1 || s->base || s->format_given))
        return cli_usage(cli, "--suggest-exclude needs one report and --module=APP, and cannot be "
                              "combined with --format, --diff or --fail-if");
    if (s->names && !cmd_report_module_of(s))
        return cli_usage(cli,
                         "--names=%s needs one --module=APP, the program whose functions it names",
                         s->names);
    if (s->debug.file && !cmd_report_module_of(s))
        return cli_usage(cli,
                         "--debug-file=%s needs one --module=APP, the program that it describes",
                         s->debug.file);
    if (!s->modules.len && s->debug.maps.len)
        return cli_usage(cli, "--path-map needs --module=APP, the program with the paths");
    if (format_has(s->format, WHAMMC_IS_BINARY) &&
        cli_check_bytes(cli, s->out ? s->out : "-") != STATUS_OK)
        return STATUS_USAGE;
    if (s->variables.len && format_has(s->format, WHAMMC_SHOWS_ROWS) && !s->suggest)
        return cli_usage(cli,
                         "--variable=%s is for profiles and pictures: tables, CSV and JSON have "
                         "all variables",
                         s->variables.at[0]);
    bool one_tree = format_has(s->format, WHAMMC_SHOWS_TREE) && s->format != WHAMMC_REPORT_SVG;
    if (s->variables.len > 1 && one_tree)
        return cli_usage(
            cli, "this format shows one call tree: expected one --variable, found also '%s'",
            s->variables.at[1]);
    return STATUS_OK;
}

int cmd_report(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, cmd_report_set, &s);
    if (!s.format_given && s.out)
        whammc_report_format_of_file(s.out, &s.format);
    vec_push(&s.labels, NULL);
    if (status == STATUS_OK)
        status = cmd_report_check(cli, &s);
    if (status == STATUS_OK)
        status = s.coverage ? show_coverage(cli, &s) : cmd_report_report(cli, &s);
    vec_free(&s.variables);
    vec_free(&s.labels);
    vec_free(&s.objects);
    vec_free(&s.modules);
    debug_free(&s.debug);
    return status;
}
