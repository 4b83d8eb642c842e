/*
 * cmd/cmd_coverage.c - `whammc coverage`: which lines of the source a program executes.
 *
 * The program is run with stdlib/coverage.whamm (running.c), or was before; coverage/ makes the
 * formats.
 */
#include "cmd/cmd.h"
#include "cli/process.h"
#include "whammc/coverage.h"

#include <time.h>
#include <unistd.h>

enum {
    FORMAT = OPTION_LONG,
    FROM,
    SAVE,
    INCLUDE,
    EXCLUDE,
    ALL_FILES,
    NO_MARKERS,
    FAIL_UNDER,
    ENGINE,
    ENGINE_OPTION,
    NO_DEMANGLE,
};

static const Option options[] = {
    {FORMAT, "format", "text|lcov|cobertura|html|json",
     "a table of files, a tracefile of lcov, Cobertura's XML, one page with the sources, or all "
     "numbers; default: what OUT ends in (.info, .xml, .html, .json), else text"},
    {'o', "output", "OUT",
     "the file to write; default: standard error, or standard output with --from"},
    {FROM, "from", "REPORT",
     "read this report, which --save or 'whammc run -s coverage -o' has written, instead of "
     "running the program; may be repeated: counts are added up"},
    {SAVE, "save", "REPORT", "also write the report to this file, for --from"},
    {INCLUDE, "include", "GLOB",
     "only source files whose paths match this shell pattern; may be repeated"},
    {EXCLUDE, "exclude", "GLOB",
     "no source files whose paths match this shell pattern; may be repeated"},
    {ALL_FILES, "all-files", NULL, "also source files that cannot be read"},
    {NO_MARKERS, "no-markers", NULL,
     "count also what comments like LCOV_EXCL_LINE in sources exclude"},
    {FAIL_UNDER, "fail-under", "PERCENT", "fail if less than this part of the lines was executed"},
    DEBUG_OPTIONS,
    NAMES_OPTION,
    {ENGINE, "engine", "ENGINE",
     "run in node, node24 or wasmtime, or in the program with this path (a Node, or a Python with "
     "the package wasmtime); default: node"},
    {ENGINE_OPTION, "engine-option", "OPTION", "pass this option to the engine; may be repeated"},
    DIR_OPTION,
    ENV_OPTION,
    {NO_DEMANGLE, "no-demangle", NULL,
     "show names of C++ and Rust functions as they are in the program"},
    {0},
};

typedef struct Settings {
    Words from, include, exclude, engine_options, world;
    DebugOptions debug;
    const char *engine, *out, *save, *names, *fail_under;
    WhammcCoverageFormat format;
    double least; /* of fail_under */
    bool format_given, all_files, no_markers, no_demangle;
} Settings;

/* ---- sources ---- */

/* The file that was read last. */
static const void *read_source(void *ctx, const char *path, size_t *size) {
    Buf *text = ctx;
    text->len = 0;
    buf_reserve(text, 1); /* an empty file is not NULL */
    if (!file_read_source(NULL, path, INT32_MAX, text))
        return NULL;
    *size = text->len;
    return text->data;
}

/* ---- results ---- */

static int messages(const Cli *cli, WhammcCoverage *c, whammc_status status) {
    unsigned flags = cli->json ? WHAMMC_JSON : cli->colour ? WHAMMC_COLOUR : 0;
    const char *text = whammc_coverage_messages(c, flags);
    message_stderr(text, strlen(text));
    return status == WHAMMC_OK ? STATUS_OK : STATUS_ERROR;
}

static double percent(size_t executed, size_t all) {
    return all ? 100.0 * (double)executed / (double)all : 100;
}

static void put_share(const char *what, size_t executed, size_t all, Buf *out) {
    if (all)
        buf_printf(out, "%s %.1f%% (%zu/%zu)", what, (double)(1000 * executed / all) / 10, executed,
                   all);
}

/* One line, where the result itself is in a file. */
static void summarise(const Settings *s, const WhammcCoverageTotals *t) {
    Buf line = {0};
    put_share("lines", t->lines_executed, t->lines, &line);
    put_share(", functions", t->functions_executed, t->functions, &line);
    put_share(", branches", t->branches_executed, t->branches, &line);
    buf_printf(&line, "%s%s\n", line.len ? ": " : "", s->out);
    message_stderr(line.data, line.len);
    buf_free(&line);
}

/* STATUS_ERROR after a message if too little was executed. */
static int judge(const Cli *cli, const Settings *s, const WhammcCoverageTotals *t) {
    double is = percent(t->lines_executed, t->lines);
    if (!s->fail_under || is >= s->least)
        return STATUS_OK;
    message_one(cli, DIAG_LOW_COVERAGE, NULL,
                "%s: expected at least %s%% of the lines to be executed, found %.2f%% (%zu of %zu)",
                file_title(cli->operands[0]), s->fail_under, is, t->lines_executed, t->lines);
    return STATUS_ERROR;
}

static bool write_out(const Cli *cli, const Settings *s, const uint8_t *text, size_t size) {
    Buf all = {.data = (uint8_t *)text, .len = size};
    if (s->out)
        return file_write(cli, s->out, text, size);
    if (s->from.len)
        message_stdout(&all);
    else
        message_stderr(text, size);
    return true;
}

/* Writes the coverage. */
static int show(const Cli *cli, const Settings *s, WhammcCoverage *c) {
    Buf source = {0};
    int fd = s->from.len ? STDOUT_FILENO : STDERR_FILENO;
    WhammcCoverageOptions look = {
        .source = read_source,
        .ctx = &source,
        .all_files = s->all_files,
        .include = s->include.at,
        .exclude = s->exclude.at,
        .no_markers = s->no_markers,
        .mangled = s->no_demangle,
        .title = s->format == WHAMMC_COVERAGE_HTML ? file_base(file_title(cli->operands[0])) : NULL,
        .time = (uint64_t)time(NULL),
        .width = s->out ? 0 : show_width(fd)};
    uint8_t *text;
    size_t size;
    int status = messages(cli, c, whammc_coverage_write(c, s->format, &look, &text, &size));
    if (status == STATUS_OK && !write_out(cli, s, text, size))
        status = STATUS_ERROR;
    if (status == STATUS_OK) {
        WhammcCoverageTotals t = whammc_coverage_totals(c);
        if (s->out && strcmp(s->out, "-") != 0)
            summarise(s, &t);
        status = judge(cli, s, &t);
    }
    whammc_release(text);
    buf_free(&source);
    return status;
}

/* ---- reports ---- */

static int add_saved(const Cli *cli, const Settings *s, WhammcCoverage *c) {
    int status = STATUS_OK;
    for (uint32_t i = 0; i < s->from.len && status == STATUS_OK; i++) {
        Buf text = {0};
        const char *path = s->from.at[i];
        status = STATUS_ERROR;
        if (file_read(cli, path, &text))
            status =
                messages(cli, c, whammc_coverage_add(c, file_title(path), text.data, text.len));
        buf_free(&text);
    }
    return status;
}

/* Runs the program; in r is then how it ended. */
static int run_program(const Cli *cli, const Settings *s, const Engine *engine, const Buf *app,
                       Running *r) {
    size_t len;
    const char *text = whammc_bundled_script("coverage", &len);
    bool node = engine->kind == ENGINE_NODE;
    whammc_options made = {.host = node ? WHAMMC_HOST_JS : WHAMMC_HOST_WASI,
                           .link = node ? WHAMMC_LINK_AUTO : WHAMMC_LINK_IMPORT,
                           .format = WHAMMC_FORMAT_JSON};
    static const LibraryOptions none;
    r->cli = cli;
    r->engine = engine;
    r->engine_options = &s->engine_options;
    r->world = &s->world;
    r->clock = "host"; /* nobody asks */
    r->silent = true;
    r->w = whammc_new();
    buf_bytes(&r->app, app->data, app->len);
    whammc_add_script(r->w, "coverage", text, len);
    return running_instrumented(r, &made, &none);
}

/* Ends as the program, unless that went well and something else did not. */
static int run_and_show(const Cli *cli, const Settings *s, const Engine *engine, const Buf *app,
                        WhammcCoverage *c) {
    Running r = {0};
    int shown = STATUS_OK, status = run_program(cli, s, engine, app, &r);
    if (status == STATUS_OK && !r.report.len) {
        running_explain_silence(&r);
        shown = STATUS_ERROR;
    } else if (status == STATUS_OK) {
        shown = messages(cli, c, whammc_coverage_add(c, "report", r.report.data, r.report.len));
        if (shown == STATUS_OK)
            shown = show(cli, s, c);
        if (s->save && !running_save(&r, s->save, WHAMMC_FORMAT_JSON))
            shown = STATUS_ERROR;
    }
    process_unguard();
    if (status == STATUS_OK) {
        status = process_imitate(r.wait_status);
        status = status == STATUS_OK ? shown : status;
    }
    running_free(&r);
    return status;
}

static int coverage(const Cli *cli, Settings *s, const Engine *engine) {
    WhammcCoverage *c = whammc_coverage_new();
    Buf app = {0};
    const char *path = cli->operands[0], *title = file_title(path);
    int status = STATUS_ERROR;
    if (file_read_module(cli, path, &app) && names_give(cli, path, s->names, &app) &&
        debug_prepare(cli, &s->debug, path, &app))
        status = messages(cli, c, whammc_coverage_set_module(c, title, app.data, app.len));
    whammc_coverage_locate(c, &s->debug.info);
    if (status == STATUS_OK && s->from.len) {
        status = add_saved(cli, s, c);
        if (status == STATUS_OK)
            status = show(cli, s, c);
    } else if (status == STATUS_OK) {
        status = run_and_show(cli, s, engine, &app, c);
    }
    whammc_coverage_free(c);
    buf_free(&app);
    return status;
}

/* ---- the command line ---- */

static bool set_least(const Cli *cli, Settings *s, const char *value) {
    char *end;
    s->fail_under = value;
    s->least = strtod(value, &end);
    if (end != value && !*end && s->least >= 0 && s->least <= 100)
        return true;
    cli_usage(cli, "--fail-under=%s: expected a number from 0 to 100", value);
    return false;
}

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, Settings *s, int key, const char *value) {
    switch (key) {
    case FORMAT:
        s->format = (WhammcCoverageFormat)option_choice(cli->command, key, value);
        s->format_given = true;
        break;
    case 'o': s->out = value; break;
    case FROM: vec_push(&s->from, value); break;
    case SAVE: s->save = value; break;
    case INCLUDE: vec_push(&s->include, value); break;
    case EXCLUDE: vec_push(&s->exclude, value); break;
    case ALL_FILES: s->all_files = true; break;
    case NO_MARKERS: s->no_markers = true; break;
    case FAIL_UNDER: return set_least(cli, s, value);
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_NAMES: s->names = value; break;
    case ENGINE: s->engine = value; break;
    case ENGINE_OPTION: vec_push(&s->engine_options, value); break;
    case OPTION_DIR:
    case OPTION_ENV: return world_option(cli, &s->world, key, value);
    case NO_DEMANGLE: s->no_demangle = true; break;
    }
    return true;
}

/* What a file is meant to be, by its name. */
static WhammcCoverageFormat format_of(const char *out) {
    static const struct {
        const char *suffix;
        WhammcCoverageFormat format;
    } suffixes[] = {{".info", WHAMMC_COVERAGE_LCOV},
                    {".xml", WHAMMC_COVERAGE_COBERTURA},
                    {".html", WHAMMC_COVERAGE_HTML},
                    {".json", WHAMMC_COVERAGE_JSON}};
    const char *dot = out ? strrchr(file_base(out), '.') : NULL;
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(dot, suffixes[i].suffix) == 0)
            return suffixes[i].format;
    return WHAMMC_COVERAGE_TEXT;
}

/* Whether the options and operands go together: STATUS_OK, or another status after a message. */
static int check(const Cli *cli, const Settings *s) {
    if (s->from.len && s->save)
        return cli_usage(cli, "--save is for a run, but --from=%s takes its report from a file",
                         s->from.at[0]);
    if (s->from.len && cli->noperands > 1)
        return cli_usage(cli, "--from runs nothing: what is '%s' for?", cli->operands[1]);
    int status = cli_check_app(cli);
    if (status == STATUS_OK)
        status = cli_check_stdin(cli, s->from.at, s->from.len,
                                 cli->operands[0] && strcmp(cli->operands[0], "-") == 0);
    if (status == STATUS_OK && s->out)
        status = cli_check_other(cli, s->out, s->from.at, s->from.len, "a report");
    return status;
}

static int run(Cli *cli) {
    Settings s = {.engine = "node"};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = set(cli, &s, key, value);
    int status = !ok ? STATUS_USAGE : cli_option_status(key);
    if (ok && key == ARGS_END)
        status = check(cli, &s);
    if (ok && key == ARGS_END && status == STATUS_OK) {
        Engine engine = {0};
        if (!s.format_given)
            s.format = format_of(s.out);
        vec_push(&s.include, NULL);
        vec_push(&s.exclude, NULL);
        if (!s.from.len)
            status = engine_find(cli, s.engine, NULL, &engine);
        if (status == STATUS_OK && !s.from.len && engine.kind == ENGINE_WIZARD)
            status =
                cli_usage(cli, "use node or wasmtime: Wizard takes monitors, and 'whammc run "
                               "--engine=wizard -s coverage -o REPORT' makes a report for --from");
        if (status == STATUS_OK)
            status = coverage(cli, &s, &engine);
        free(engine.program);
    }
    vec_free(&s.from);
    vec_free(&s.include);
    vec_free(&s.exclude);
    vec_free(&s.engine_options);
    world_free(&s.world);
    debug_free(&s.debug);
    return status;
}

const Command cmd_coverage = {
    .name = "coverage",
    .usage = "APP [ARGUMENT]...",
    .summary = "run a program and show which lines of its source were executed",
    .about =
        "Run the program APP with the ARGUMENTs, and show how much of its source was executed: "
        "lines, functions and branches, with exact counts. The program needs debug information: "
        "DWARF (compile it with -g), or a source map. Standard streams and the exit status are "
        "those of the program, unless that is 0 and --fail-under is not met; it may open files in "
        "the current directory and in those of --dir. Options end at APP.",
    .options = options,
    .examples = "  whammc coverage app.wasm input.txt\n"
                "  whammc coverage -o coverage.html --save=1.json app.wasm one.txt\n"
                "  whammc coverage --from=1.json --from=2.json -o coverage.info app.wasm\n",
    .stops = true,
    .run = run,
};
