/*
 * cli/cmd_run.c - `whammc run`: instruments a program, runs it in an engine, shows its report.
 *
 * Node and wasmtime run instrumented programs (runner.c); Wizard runs programs as they are and
 * attaches monitors to them (wizard.c).
 */
#include "cli/cli.h"
#include "report/demangle.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENGINE = OPTION_LONG,
    ENGINE_OPTION,
    MONITOR,
    LINK,
    TOP,
    REPORT_FORMAT,
    NO_DEMANGLE,
    NOT_LOADED = 126, /* what the runners say */
    CRASHED = 254     /* what Wizard says, and 255, also for programs that trap */
};

static const Option options[] = {
    {'s', "script", "SCRIPT", "instrument with this script; may be repeated"},
    LIBRARY_OPTION,
    {MONITOR, "monitor", "MON.wasm[+LIB.wasm]...",
     "attach this monitor module, which imports the libraries behind it, instead of instrumenting "
     "with scripts; may be repeated"},
    {LINK, "link", "merge|import|auto",
     "make libraries and the runtime part of the program, or let it import them; default: auto, "
     "which imports them if the program would need multi-memory otherwise"},
    {ENGINE, "engine", "ENGINE",
     "run in node, node24, wasmtime, wizard, or the program with this path (a Node, a Python that "
     "has the package wasmtime, or wizeng...); default: node"},
    {ENGINE_OPTION, "engine-option", "OPTION",
     "an option for the engine itself; may be repeated. Wizard gets --mode=jit if there is no "
     "other "
     "--mode"},
    {'o', "output", "REPORT",
     "write the report into this file and show nothing ('-': standard output)"},
    {REPORT_FORMAT, "report-format", "csv|json|csv-rfc4180", "format of that file; default: csv"},
    {TOP, "top", "N", "show the N largest values of each variable, 0 = all; default: 20"},
    {NO_DEMANGLE, "no-demangle", NULL,
     "show names of C++ and Rust functions as they are in the program"},
    {0},
};

typedef struct Settings {
    Vec(const char *) scripts;
    LibraryOptions libs;
    MonitorOptions monitors;
    Words engine_options;
    const char *engine, *out;
    whammc_options options;
    uint32_t top;
    bool no_demangle;
} Settings;

/* ---- the report ---- */

/* Says why there is no report. */
static void explain_silence(const Cli *cli, EngineKind engine, int wait_status) {
    if (WIFSIGNALED(wait_status))
        message_one(cli, DIAG_NO_REPORT, NULL, "no report: signal %d ended the program",
                    WTERMSIG(wait_status));
    else if (WEXITSTATUS(wait_status) == NOT_LOADED)
        message_one(cli, DIAG_NO_REPORT,
                    "engines have different features, and offer programs nothing but WASI",
                    "no report: the engine could not load the program");
    else if (engine == ENGINE_WIZARD && WEXITSTATUS(wait_status) >= CRASHED)
        message_one(cli, DIAG_NO_REPORT,
                    "where Wizard's compiler fails it may help to interpret: "
                    "--engine-option=--mode=int",
                    "no report: the engine ended with status %d", WEXITSTATUS(wait_status));
    else
        message_one(cli, DIAG_NO_REPORT, "do the scripts declare 'report' variables?", "no report");
}

/* Shows the last report as tables on standard error, or writes all of them. False if they could not
 * be written. */
static bool deliver(const Cli *cli, const Settings *s, EngineKind engine, const Buf *text,
                    int wait_status) {
    Str all = {(const char *)text->data, (uint32_t)text->len}; /* file_read stops before 4 GiB */
    Report r = {0};
    Buf out = {0};
    bool found = report_read(&r, all, 0);
    if (!s->out)
        buf_bytes(&out, r.rest.data, r.rest.len); /* what scripts have printed */
    if (!s->out && found) {
        if (out.len && out.data[out.len - 1] != '\n')
            buf_u8(&out, '\n');
        if (!s->no_demangle)
            demangle_report(&r);
        ShowOptions look = {.top = s->top, .fd = STDERR_FILENO, .colour = cli->colour};
        show_tables(&r, &look, &out);
    } else if (!found && !all.len) {
        explain_silence(cli, engine, wait_status);
    }
    message_stderr(out.data, out.len);
    buf_free(&out);
    report_free(&r);
    if (!s->out)
        return true;
    /* Programs put an empty line in front, for streams that have other things in them. */
    uint32_t skip = 0;
    if (s->options.format == WHAMMC_FORMAT_JSON && all.len && all.ptr[0] == '\n')
        skip = 1;
    if (s->options.format == WHAMMC_FORMAT_CSV_RFC4180 && all.len > 1 &&
        memcmp(all.ptr, "\r\n", 2) == 0)
        skip = 2;
    return file_write(cli, s->out, all.ptr + skip, all.len - skip);
}

/* ---- running ---- */

/* How many messages of the library have this tag. */
static size_t count_messages(whammc *w, const char *tag) {
    Buf member = {0};
    buf_printf(&member, "\"tag\":\"%s\"", tag);
    const char *text = whammc_messages(w, WHAMMC_JSON), *wanted = buf_cstr(&member);
    size_t n = 0;
    while ((text = strstr(text, wanted)))
        n++, text += member.len;
    buf_free(&member);
    return n;
}

/* Whether there is anything to run; else says so. */
static bool can_run(const Cli *cli, whammc *w, bool bound) {
    if (!count_messages(w, "no-flush-point"))
        return true;
    message_one(
        cli, DIAG_CANNOT_RUN,
        bound ? "attach the monitors with `whammc bind`, load the program where its exports "
                "are called and call its 'whammc:flush' at the end"
              : "instrument it with `whammc instr --host=js`, load it where its exports are "
                "called and connect it with whammc.js",
        "%s has no main, _start or start function that could be run", file_title(cli->operands[0]));
    return false;
}

/* A run of a program. */
typedef struct Run {
    const Cli *cli;
    const Settings *settings;
    const Engine *engine;
    whammc *w;
    Buf app, report;
    int wait_status;
} Run;

/* Runs what whammc_instrument or whammc_bind has made, if it could; gives the exit status. */
static int run_made(Run *r, whammc_status result, const uint8_t *module, size_t size,
                    const LibraryOptions *imports) {
    /* Nobody keeps the module: what was dropped from it does not matter. */
    bool quiet =
        result == WHAMMC_OK && count_messages(r->w, "stale-section") == whammc_warning_count(r->w);
    int status = quiet ? STATUS_OK : message_library(r->cli, r->w, result);
    if (status == STATUS_OK && !can_run(r->cli, r->w, r->settings->monitors.len > 0))
        status = STATUS_ERROR;
    if (status == STATUS_OK) {
        RunnerJob job = {.engine = r->engine,
                         .options = &r->settings->engine_options,
                         .module = module,
                         .len = size,
                         .libs = imports};
        r->wait_status = runner_run(r->cli, &job, &r->report);
        status = r->wait_status < 0 ? STATUS_ERROR : STATUS_OK;
    }
    return status;
}

static int instrument_and_run(Run *r) {
    uint8_t *out;
    size_t size;
    const char *name = file_title(r->cli->operands[0]);
    progress_start("instrumenting", name, r->app.len);
    whammc_status result =
        whammc_instrument(r->w, name, r->app.data, r->app.len, &r->settings->options, &out, &size);
    progress_end();
    bool imports = whammc_linked(r->w) == WHAMMC_LINK_IMPORT;
    int status = run_made(r, result, out, size, imports ? &r->settings->libs : NULL);
    whammc_release(out);
    return status;
}

static int bind_and_run(Run *r) {
    uint8_t *out;
    size_t size;
    whammc_options made = {.host = WHAMMC_HOST_AUTO};
    const char *name = file_title(r->cli->operands[0]);
    monitors_give(&r->settings->monitors, r->w);
    progress_start("binding", name, r->app.len);
    whammc_status result = whammc_bind(r->w, name, r->app.data, r->app.len, &made, &out, &size);
    progress_end();
    int status = run_made(r, result, out, size, NULL);
    whammc_release(out);
    return status;
}

/* Runs the program as it is in an engine that attaches monitors itself. */
static int attach_and_run(Run *r, const MonitorOptions *monitors) {
    WizardJob job = {.engine = r->engine,
                     .options = &r->settings->engine_options,
                     .monitors = monitors,
                     .app = &r->app,
                     .reports = r->settings->scripts.len};
    bool failed = false;
    r->wait_status = wizard_run(r->cli, &job, &r->report, &failed);
    return r->wait_status < 0 || failed ? STATUS_ERROR : STATUS_OK;
}

/* The libraries of scripts as those of their monitor: what it imports them as is their file name.
 */
static void add_libraries(const LibraryOptions *libs, MonitorOption *m) {
    for (uint32_t i = 0; i < libs->len; i++) {
        const LibraryOption *o = &libs->at[i];
        MonitorFile f = {0};
        if (asprintf(&f.path, "%s.wasm", o->import_as ? o->import_as : o->name) < 0)
            f.path = NULL;
        buf_bytes(&f.module, o->module.data, o->module.len);
        vec_push(&m->files, f);
    }
}

/* Makes a monitor of the scripts first. */
static int compile_and_run(Run *r) {
    uint8_t *out;
    size_t size;
    whammc_options made = r->settings->options;
    made.report = WIZARD_REPORT;
    whammc_status result = whammc_compile_monitor(r->w, &made, &out, &size);
    int status = message_library(r->cli, r->w, result);
    if (status == STATUS_OK) {
        MonitorOptions monitors = {0};
        MonitorOption m = {0};
        MonitorFile f = {.path = strdup("scripts.wasm")};
        buf_bytes(&f.module, out, size);
        vec_push(&m.files, f);
        add_libraries(&r->settings->libs, &m);
        vec_push(&monitors, m);
        status = attach_and_run(r, &monitors);
        monitors_free(&monitors);
    }
    whammc_release(out);
    return status;
}

/* Runs the program by the way that there is for its engine. */
static int run_somehow(Run *r) {
    const MonitorOptions *monitors = &r->settings->monitors;
    if (r->engine->kind == ENGINE_WIZARD)
        return monitors->len ? attach_and_run(r, monitors) : compile_and_run(r);
    return monitors->len ? bind_and_run(r) : instrument_and_run(r);
}

/* Reads everything and runs it; in the end as the program ended. */
static int run_program(const Cli *cli, Settings *s, const Engine *e) {
    Run r = {.cli = cli, .settings = s, .engine = e, .w = whammc_new()};
    int status = STATUS_ERROR;
    bool ok = library_give_all(cli, &s->libs, s->scripts.at, s->scripts.len, r.w,
                               s->out && strcmp(s->out, "-") == 0);
    ok = monitors_read(cli, &s->monitors) && ok;
    if (file_read_module(cli, cli->operands[0], &r.app) && ok)
        status = run_somehow(&r);
    if (status == STATUS_OK) {
        bool written = true;
        if (s->monitors.len) /* what programs without WASI have printed for them */
            file_write_fd(STDOUT_FILENO, r.report.data, r.report.len);
        else
            written = deliver(cli, s, e->kind, &r.report, r.wait_status);
        status = process_imitate(r.wait_status);
        if (!written && status == STATUS_OK)
            status = STATUS_ERROR;
    }
    whammc_free(r.w);
    buf_free(&r.app);
    buf_free(&r.report);
    return status;
}

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, Settings *s, int key, const char *value) {
    switch (key) {
    case 's': vec_push(&s->scripts, value); break;
    case 'o': s->out = value; break;
    case OPTION_LIBRARY: return library_option(cli, &s->libs, value);
    case LINK:
        s->options.link = (whammc_link)option_choice(&cmd_run, key, value);
        s->options.host = s->options.link == WHAMMC_LINK_IMPORT ? WHAMMC_HOST_WASI : WHAMMC_HOST_JS;
        break;
    case MONITOR: monitors_add(&s->monitors, value); break;
    case ENGINE: s->engine = value; break;
    case ENGINE_OPTION: vec_push(&s->engine_options, value); break;
    case TOP: return cli_count(cli, "top", value, &s->top);
    case NO_DEMANGLE: s->no_demangle = true; break;
    case REPORT_FORMAT:
        s->options.format = (whammc_format)option_choice(&cmd_run, key, value);
        break;
    }
    return true;
}

/* Whether the options and operands go together: STATUS_OK, else it was said. */
static int check(const Cli *cli, const Settings *s) {
    if (s->scripts.len && s->monitors.len)
        return cli_usage(cli, "scripts or monitors: compile the scripts with 'whammc monitor'");
    if (s->monitors.len && s->out)
        return cli_usage(cli, "monitors write where they were made to: --output is for scripts");
    return s->monitors.len ? cli_check_app(cli)
                           : cli_check_inputs(cli, s->scripts.at, s->scripts.len, false);
}

static int run(Cli *cli) {
    Settings s = {.engine = "node",
                  .top = SHOW_TOP,
                  .options = {.host = WHAMMC_HOST_JS, .link = WHAMMC_LINK_AUTO}};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = set(cli, &s, key, value);
    int status = !ok ? STATUS_USAGE : cli_option_status(key);
    if (!s.out) /* what tables are made of; maps cannot be taken apart in CSV */
        s.options.format = WHAMMC_FORMAT_JSON;
    if (ok && key == ARGS_END)
        status = check(cli, &s);
    if (ok && key == ARGS_END && status == STATUS_OK) {
        Engine engine = {0};
        status = engine_find(cli, s.engine, &engine);
        if (status == STATUS_OK)
            status = run_program(cli, &s, &engine);
        free(engine.program);
    }
    vec_free(&s.scripts);
    vec_free(&s.engine_options);
    library_free(&s.libs);
    monitors_free(&s.monitors);
    return status;
}

const Command cmd_run = {
    .name = "run",
    .usage = "{-s SCRIPT | --monitor=MON} APP [ARGUMENT]...",
    .summary = "instrument a program, run it and show its report",
    .about =
        "Instrument the program APP, run it with the ARGUMENTs in an engine that gives it WASI, "
        "and show its report as tables on standard error when it has ended. Standard streams "
        "and exit status are those of the program; it may open files in the current directory. "
        "Options end at APP.",
    .options = options,
    .examples = "  whammc run -s hotness.whamm app.wasm input.txt\n"
                "  whammc run -s calls.whamm --engine=wasmtime -o calls.csv app.wasm\n",
    .stops = true,
    .run = run,
};
