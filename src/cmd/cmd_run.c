/*
 * cmd/cmd_run.c - `whammc run`: instruments a program, runs it in an engine, shows its report.
 *
 * Node and wasmtime run instrumented programs (running.c); Wizard runs programs as they are and
 * attaches monitors to them (run/wizard.c).
 */
#include "cli/process.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <unistd.h>

typedef struct Settings {
    ScriptOptions scripts;
    Exclusion exclusion;
    DebugOptions debug;
    MonitorOptions monitors;
    HttpOptions http;
    Metrics metrics;
    Words engine_options, world;
    const char *engine, *out, *clock, *names;
    whammc_options options;
    uint32_t top;
    bool no_demangle, by_thread;
    const char *for_module; /* the last option that commands do not allow; NULL = none */
    Look look;
} Settings;

/* ---- the report ---- */

/* Reads a report of a run; false if there are fewer than `which`, or none. */
static bool cmd_run_read_run(const Running *run, WhammcReport *r, const Buf *text, uint32_t which) {
    whammc_status status =
        whammc_report_read(r, file_title(run->cli->operands[0]), text->data, text->len, which);
    if (!which && status == WHAMMC_OK)
        message_report(run->cli, r, status);
    return whammc_report_count(r) > 0;
}

/* Sets the program of the report, if source locations are requested. */
static void cmd_run_locate(const Settings *s, const Running *run, WhammcReport *r) {
    const char *name = file_title(run->cli->operands[0]);
    if (!look_asks_lines(&s->look))
        return;
    message_report(run->cli, r, whammc_report_set_module(r, name, run->app.data, run->app.len));
    whammc_report_locate(r, &s->debug.info);
}

/* Appends the report in a format. On failure, prints a message and returns false. */
static bool cmd_run_put_report(const Cli *cli, WhammcReport *r, WhammcReportFormat format,
                               const WhammcReportOptions *look, Buf *out) {
    uint8_t *text;
    size_t size;
    whammc_status status = whammc_report_write(r, format, look, &text, &size);
    bool ok = message_report(cli, r, status) == STATUS_OK;
    if (ok)
        buf_bytes(out, text, size);
    whammc_release(text);
    return ok;
}

/* Returns the appearance of tables on standard error. */
static WhammcReportOptions table_look(const Settings *s, const Cli *cli) {
    WhammcReportOptions look = s->look;
    look.top = s->top;
    look.mangled = s->no_demangle;
    look.width = show_width(STDERR_FILENO);
    look.colour = cli->colour;
    look.ascii = show_is_ascii();
    return look;
}

/* Appends the tables of a report. */
static void cmd_run_show(const Settings *s, const Running *run, WhammcReport *r, Buf *out) {
    WhammcReportOptions look = table_look(s, run->cli);
    look.no_instructions = true;
    if (out->len && out->data[out->len - 1] != '\n')
        buf_u8(out, '\n');
    cmd_run_locate(s, run, r);
    cmd_run_put_report(run->cli, r, WHAMMC_REPORT_TABLE, &look, out);
}

/* Returns the format of reports that corresponds to --report-format. */
static WhammcReportFormat saved_format(const Settings *s) {
    static const WhammcReportFormat forms[] = {
#define PRINTED(NAME, name) [WHAMMC_FORMAT_##NAME] = WHAMMC_REPORT_##NAME,
#include "format/formats.def"
    };
    return forms[s->options.format];
}

/* Appends a report in the format of --output, unless it is empty. */
static void put_located(const Settings *s, const Running *run, WhammcReport *r, Buf *out) {
    const WhammcReportOptions look = {.lines = s->look.lines};
    size_t rows;
    whammc_report_rows(r, &rows);
    cmd_run_locate(s, run, r);
    if (rows)
        cmd_run_put_report(run->cli, r, saved_format(s), &look, out);
}

static bool write_saved(const Settings *s, const Running *run, Buf *out) {
    bool written = file_write(run->cli, s->out, out->data, out->len);
    buf_free(out);
    return written;
}

/* Separates the reports of monitors from their output, or from the output of the runtime for
 * programs without WASI, and passes the rest to standard output. Without a report, the file of
 * --output becomes empty, as with scripts. */
static bool deliver_caught(const Settings *s, Running *run) {
    Buf *text = &run->caught.report, out = {0};
    WhammcReport *r = whammc_report_new();
    buf_bytes(text, run->report.data, run->report.len);
    bool found = cmd_run_read_run(run, r, text, 0);
    size_t size;
    const char *rest = whammc_report_rest(r, &size);
    bool written = found ? file_write_fd(STDOUT_FILENO, rest, size)
                         : file_write_fd(STDOUT_FILENO, text->data, text->len);
    if (s->out && found)
        put_located(s, run, r, &out);
    if (s->out)
        written = write_saved(s, run, &out) && written;
    if (s->out && !found)
        message_one(run->cli, DIAG_NO_REPORT,
                    "is it a monitor with 'report' variables, compiled with --report=stdout and "
                    "--report-format=csv?",
                    "no report on standard output");
    if (!s->out && found)
        cmd_run_show(s, run, r, &out);
    message_result(&out);
    buf_free(&out);
    whammc_report_free(r);
    return written;
}

/* Writes all reports, with locations, if these are wanted, and derived columns. */
static bool save_located(const Settings *s, const Running *run) {
    WhammcReport *r = whammc_report_new();
    Buf out = {0};
    for (uint32_t i = 1; cmd_run_read_run(run, r, &run->report, i) && i <= whammc_report_count(r);
         i++)
        put_located(s, run, r, &out);
    whammc_report_free(r);
    return write_saved(s, run, &out);
}

typedef struct Commanded {
    const Cli *cli;
    const Settings *settings;
} Commanded;

/* Reads the reports, and the modules if source locations are requested. On failure, prints a
 * message and returns false. */
static bool read_of_command(const Commanded *c, const CommandReports *all, WhammcReport *r) {
    whammc_report_by_thread(r, c->settings->by_thread);
    whammc_status status =
        whammc_report_read(r, c->cli->operands[0], all->text.data, all->text.len, 0);
    bool ok = message_report(c->cli, r, status) == STATUS_OK;
    for (uint32_t i = 0; ok && i < all->modules.len; i++) {
        const CommandModule *m = &all->modules.at[i];
        if (m->bytes.len && look_asks_lines(&c->settings->look))
            ok = message_report(c->cli, r,
                                whammc_report_add_module(r, m->path, m->bytes.data,
                                                         m->bytes.len)) == STATUS_OK;
    }
    return ok;
}

/* Shows or writes the reports of all threads and processes of a command. */
static bool cmd_run_show_of_command(void *ctx, const CommandReports *all) {
    const Commanded *c = ctx;
    const Settings *s = c->settings;
    WhammcReport *r = whammc_report_new();
    WhammcReportOptions look = table_look(s, c->cli);
    Buf made = {0};
    bool ok =
        read_of_command(c, all, r) &&
        cmd_run_put_report(c->cli, r, s->out ? saved_format(s) : WHAMMC_REPORT_TABLE, &look, &made);
    if (ok && s->out)
        ok = file_write(c->cli, s->out, made.data, made.len);
    else if (ok)
        message_result(&made);
    buf_free(&made);
    whammc_report_free(r);
    return ok;
}

/* Shows or writes the sum of the threads of a program, or each of them. */
static bool deliver_threads(const Settings *s, const Running *run) {
    const Commanded c = {run->cli, s};
    const char *title = file_title(run->cli->operands[0]);
    CommandReports all = {.text = run->report};
    vec_push(&all.modules, ((CommandModule){.path = title, .name = title, .bytes = run->app}));
    bool written = cmd_run_show_of_command((void *)(uintptr_t)&c, &all);
    vec_free(&all.modules);
    return written;
}

/* Whether there is one report and nothing else, with derived columns, which have no values yet. */
static bool lacks_columns(WhammcReport *r) {
    size_t rest, n;
    whammc_report_rest(r, &rest);
    const WhammcVariable *variables = whammc_report_variables(r, &n);
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= variables[i].formula != NULL;
    return any && !rest && whammc_report_count(r) == 1;
}

/* Shows the last report as tables on standard error, or writes all reports. False if they could not
 * be written. */
static bool cmd_run_deliver(const Settings *s, const Running *run) {
    WhammcReport *r = whammc_report_new();
    Buf out = {0};
    size_t size;
    bool found = cmd_run_read_run(run, r, &run->report, 0);
    bool threads = found && (whammc_report_threads(r, NULL) || s->by_thread);
    const char *rest = whammc_report_rest(r, &size);
    if (!s->out) /* text printed by scripts */
        buf_bytes(&out, rest, size);
    if (!s->out && found && !threads)
        cmd_run_show(s, run, r, &out);
    else if (!found && !run->report.len)
        running_explain_silence(run);
    bool anew = s->out && found && (s->look.lines || lacks_columns(r));
    message_result(&out);
    buf_free(&out);
    whammc_report_free(r);
    if (threads)
        return deliver_threads(s, run);
    if (anew)
        return save_located(s, run);
    return !s->out || running_save(run, s->out, s->options.format);
}

/* ---- running ---- */

static int bind_and_run(Running *r, const Settings *s) {
    uint8_t *out;
    size_t size;
    whammc_options made = {.host = WHAMMC_HOST_AUTO};
    const char *name = file_title(r->cli->operands[0]);
    r->bound = true;
    monitors_give(&s->monitors, r->w);
    progress_start("binding", name, r->app.len);
    whammc_status result = whammc_bind(r->w, name, r->app.data, r->app.len, &made, &out, &size);
    progress_end();
    int status = running_made(r, result, out, size, NULL);
    whammc_release(out);
    return status;
}

/* Runs the unchanged program in an engine that attaches monitors itself. */
static int attach_and_run(Running *r, const MonitorOptions *monitors, bool reports) {
    WizardJob job = {.engine = r->engine,
                     .options = r->engine_options,
                     .world = r->world,
                     .monitors = monitors,
                     .app = &r->app,
                     .reports = reports,
                     .caught = reports ? NULL : &r->caught};
    bool failed = false;
    metrics_note(r->metrics, r->w, r->app.len, r->app.len);
    Phase before = phase_begin(PHASE_RUN);
    r->wait_status = wizard_run(r->cli, &job, &r->report, &failed);
    phase_end(before);
    return r->wait_status < 0 || failed ? STATUS_ERROR : STATUS_OK;
}

/* Adds the libraries of scripts to those of their monitor, which imports them by their file
 * names. */
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

/* Compiles the scripts to a monitor, and runs the program with it. */
static int compile_and_run(Running *r, const Settings *s) {
    uint8_t *out;
    size_t size;
    whammc_options made = s->options;
    made.report = RUN_REPORT;
    whammc_status result = whammc_compile_monitor(r->w, &made, &out, &size);
    int status = message_library(r->cli, r->w, result);
    if (status == STATUS_OK) {
        MonitorOptions monitors = {0};
        MonitorOption m = {0};
        MonitorFile f = {.path = strdup("scripts.wasm")};
        buf_bytes(&f.module, out, size);
        vec_push(&m.files, f);
        add_libraries(&s->scripts.libs, &m);
        vec_push(&monitors, m);
        status = attach_and_run(r, &monitors, true);
        monitors_free(&monitors);
    }
    whammc_release(out);
    return status;
}

/* Runs the program in the way its engine requires. */
static int run_somehow(Running *r, const Settings *s) {
    if (r->engine->kind == ENGINE_WIZARD)
        return s->monitors.len ? attach_and_run(r, &s->monitors, false) : compile_and_run(r, s);
    return s->monitors.len ? bind_and_run(r, s)
                           : running_instrumented(r, &s->options, &s->scripts.libs);
}

/* Reads all inputs and runs the program; ends as the program did. */
static int cmd_run_run_program(const Cli *cli, Settings *s, const Engine *e) {
    Running r = {.cli = cli,
                 .engine = e,
                 .engine_options = &s->engine_options,
                 .clock = s->clock,
                 .world = &s->world,
                 .metrics = &s->metrics,
                 .http = &s->http,
                 .served = {.debug = &s->debug.info,
                            .times = true,
                            .memory = true,
                            .tree = true,
                            .unsure = true,
                            .mangled = s->no_demangle},
                 .w = whammc_new()};
    int status = STATUS_ERROR;
    bool ok = script_options_give(cli, &s->scripts, r.w, s->out && strcmp(s->out, "-") == 0);
    ok = monitors_read(cli, &s->monitors) && ok;
    if (modules_check(cli, &s->scripts.modules, e->component) != STATUS_OK)
        status = STATUS_USAGE;
    else if (file_read_module(cli, cli->operands[0], &r.app) &&
             names_give(cli, cli->operands[0], s->names, &r.app) && ok &&
             exclude_give(cli, &s->exclusion, &r.app, r.w) &&
             debug_give(cli, &s->debug, r.w, cli->operands[0], &r.app, false))
        status = run_somehow(&r, s);
    if (status == STATUS_OK) {
        bool written = s->monitors.len ? deliver_caught(s, &r) : cmd_run_deliver(s, &r);
        written = metrics_write(cli, &s->metrics) && written;
        process_unguard();
        status = process_imitate(r.wait_status);
        if (!written && status == STATUS_OK)
            status = STATUS_ERROR;
    }
    process_unguard();
    running_free(&r);
    return status;
}

/* ---- commands ---- */

/* Checks that the options suit a command: STATUS_OK, or another status after a message. */
static int check_command(const Cli *cli, const Settings *s) {
    if (s->for_module)
        return cli_usage(cli, "--%s is for a program in WebAssembly, and '%s' is a command",
                         s->for_module, cli->operands[0]);
    if (s->scripts.files.len != 1)
        return cli_usage(cli, "a command is run with one script, found %u", s->scripts.files.len);
    for (uint32_t i = 0; i < s->scripts.definitions.len; i++)
        if (strchr(s->scripts.definitions.at[i], ';'))
            return cli_usage(cli, "--define=%s: a command cannot be given a value with ';'",
                             s->scripts.definitions.at[i]);
    return STATUS_OK;
}

/* Runs the command, and ends as it did. */
static int run_command(const Cli *cli, const Settings *s, const char *program) {
    Commanded c = {cli, s};
    CommandJob job = {.program = program,
                      .script = s->scripts.files.len ? s->scripts.files.at[0] : NULL,
                      .text = s->scripts.files.len ? s->scripts.texts.at[0] : NULL,
                      .include = &s->scripts.include,
                      .definitions = &s->scripts.definitions,
                      .take = cmd_run_show_of_command,
                      .ctx = &c};
    int status = check_command(cli, s);
    return status == STATUS_OK ? command_run(cli, &job) : status;
}

/* Returns false for wrong usage, after a message. */
static bool cmd_run_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    if (option_is_for_module(key))
        s->for_module = option_name(key);
    code_option(cli, &s->options, key, value);
    switch (key) {
    case OPTION_SCRIPT:
    case OPTION_EVAL:
    case OPTION_INCLUDE_DIR:
    case OPTION_DEFINE:
    case OPTION_STEPS:
    case OPTION_MODULE:
    case OPTION_LIBRARY: return script_option(cli, &s->scripts, key, value);
    case OPTION_EXCLUDE:
    case OPTION_MIN_SIZE:
    case OPTION_EXCLUDE_FROM: return exclude_option(cli, &s->exclusion, key, value);
    case OPTION_BY_THREAD: s->by_thread = true; break;
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_LINK:
        s->options.link = (whammc_link)option_choice(cli, key, value);
        s->options.host = s->options.link == WHAMMC_LINK_IMPORT ? WHAMMC_HOST_WASI : WHAMMC_HOST_JS;
        break;
    case OPTION_MONITOR: monitors_add(&s->monitors, value); break;
    case OPTION_ENGINE: s->engine = value; break;
    case OPTION_ENGINE_OPTION: vec_push(&s->engine_options, value); break;
    case OPTION_DIR:
    case OPTION_ENV: return world_option(cli, &s->world, key, value);
    case OPTION_CLOCK: s->clock = value; break;
    case OPTION_BUILD_ID: s->options.build_id = true; break;
    case OPTION_HTTP:
    case OPTION_HTTP_TOKEN:
    case OPTION_PUSH:
    case OPTION_WATCH:
    case OPTION_PUSH_SECONDS: return http_option(cli, &s->http, key, value);
    case OPTION_TOP: return cli_count(cli, "top", value, &s->top);
    case OPTION_BY:
    case OPTION_SORT:
    case OPTION_NONZERO:
    case OPTION_HEX:
    case OPTION_LINES: look_option(cli, &s->look, key, value); break;
    case OPTION_NO_DEMANGLE: s->no_demangle = true; break;
    case OPTION_METRICS: metrics_want(&s->metrics, value); break;
    case OPTION_REPORT_FORMAT:
        s->options.format = (whammc_format)option_choice(cli, key, value);
        break;
    }
    return true;
}

/* Checks that the output is no monitor, nor a library of one. */
static int check_monitors(const Cli *cli, const Settings *s, const char *out) {
    int status = STATUS_OK;
    for (uint32_t i = 0; i < s->monitors.len; i++) {
        const MonitorOption *m = &s->monitors.at[i];
        for (uint32_t k = 0; status == STATUS_OK && k < m->files.len; k++)
            status = cli_check_other(cli, out, (const char *const[]){m->files.at[k].path}, 1,
                                     k ? "a library" : "a monitor");
    }
    return status;
}

/* Checks that no output is an input or another output. */
static int cmd_run_check_outputs(const Cli *cli, const Settings *s) {
    const char *outputs[] = {s->out, s->metrics.file};
    int status = cli_check_outputs(cli, outputs, 2);
    for (uint32_t i = 0; status == STATUS_OK && i < 2; i++) {
        status =
            cli_check_other(cli, outputs[i], s->scripts.files.at, s->scripts.files.len, "a script");
        if (status == STATUS_OK)
            status = check_monitors(cli, s, outputs[i]);
    }
    return status;
}

/* Checks that the options and operands go together: STATUS_OK, or another status after a
 * message. */
static int cmd_run_check(const Cli *cli, const Settings *s) {
    if (s->scripts.files.len && s->monitors.len)
        return cli_usage(
            cli, "give either scripts or monitors: 'whammc monitor' compiles scripts to monitors");
    if (s->monitors.len && s->scripts.definitions.len)
        return cli_usage(
            cli, "--define is for scripts: monitors have the values that they were compiled with");
    if (s->monitors.len && exclude_given(&s->exclusion))
        return cli_usage(
            cli, "--exclude, --min-size and --exclude-from apply to scripts, not to monitors");
    if (s->monitors.len && http_wanted(&s->http))
        return cli_usage(
            cli,
            "--http, --push and --watch need scripts: monitors cannot report while the program "
            "runs");
    int status = http_check(cli, &s->http);
    if (status == STATUS_OK)
        status = cmd_run_check_outputs(cli, s);
    if (status != STATUS_OK || s->monitors.len)
        return status;
    status = cli_check_inputs(cli, s->scripts.files.at, s->scripts.files.len, false);
    return status == STATUS_OK ? exclude_check(cli, &s->exclusion, &s->scripts.definitions)
                               : status;
}

int cmd_run(Cli *cli) {
    Settings s = {.top = SHOW_TOP, .options = {.host = WHAMMC_HOST_JS, .link = WHAMMC_LINK_AUTO}};
    int status = cli_options(cli, cmd_run_set, &s);
    if (!s.out) /* for tables; maps cannot be taken apart in CSV */
        s.options.format = WHAMMC_FORMAT_JSON;
    if (status == STATUS_OK)
        status = cmd_run_check(cli, &s);
    s.http.look = table_look(&s, cli);
    s.http.look.no_instructions = true;
    s.http.file = s.out && strcmp(s.out, "-") != 0 ? s.out : NULL;
    s.http.format = saved_format(&s);
    char *command = status == STATUS_OK ? command_find(cli->operands[0]) : NULL;
    if (command) {
        status = run_command(cli, &s, command);
    } else if (status == STATUS_OK) {
        Engine engine = {0};
        status = engine_find(cli, s.engine, s.clock, cli->operands[0], &engine);
        if (status == STATUS_OK)
            status = world_check(cli, &s.world, &engine);
        if (status == STATUS_OK && http_wanted(&s.http) && engine.kind == ENGINE_WIZARD)
            status = cli_usage(
                cli,
                "--http, --push and --watch need node or wasmtime: Wizard cannot report while the "
                "program runs");
        if (status == STATUS_OK)
            status = cmd_run_run_program(cli, &s, &engine);
        engine_free(&engine);
    }
    free(command);
    script_options_free(&s.scripts);
    vec_free(&s.engine_options);
    world_free(&s.world);
    vec_free(&s.exclusion.globs);
    debug_free(&s.debug);
    monitors_free(&s.monitors);
    return status;
}
