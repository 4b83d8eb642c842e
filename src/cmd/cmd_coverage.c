/*
 * cmd/cmd_coverage.c - `whammc coverage`: which lines of the source a program executes.
 *
 * The program is run with stdlib/coverage.whamm (running.c), or its reports were saved; coverage/
 * makes the formats.
 */
#include "cli/process.h"
#include "cmd/cmd.h"
#include "whammc/coverage.h"

typedef struct Settings {
    CoverageRequest request;
    Words engine_options, world;
    const char *engine, *save;
    ModuleGlobs modules;    /* the chosen ones of a command or a component; none = all */
    const char *for_module; /* the last option that commands do not allow; NULL = none */
    bool format_given;
} Settings;

/* ---- running ---- */

/* Runs the program; r then has its exit status. */
static int cmd_coverage_run_program(const Cli *cli, const Settings *s, const Engine *engine,
                                    const Buf *app, Running *r) {
    whammc_options made;
    static const LibraryOptions none;
    r->cli = cli;
    r->engine = engine;
    r->engine_options = &s->engine_options;
    r->world = &s->world;
    r->clock = "host"; /* it is not read */
    running_bundled(r, "coverage", app, &made);
    modules_choose(&s->modules, r->w);
    return running_instrumented(r, &made, &none);
}

/* Returns the program's exit status, or another if that is 0 and something else failed. */
static int run_and_show(const Cli *cli, const Settings *s, const Engine *engine, const Buf *app,
                        WhammcCoverage *c) {
    Running r = {0};
    int shown = STATUS_OK, status = cmd_coverage_run_program(cli, s, engine, app, &r);
    if (status == STATUS_OK && !r.report.len) {
        running_explain_silence(&r);
        shown = STATUS_ERROR;
    } else if (status == STATUS_OK) {
        shown = covering_messages(cli, c,
                                  whammc_coverage_add(c, "report", r.report.data, r.report.len));
        if (shown == STATUS_OK)
            shown = covering_show(cli, &s->request, c);
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
    int status = covering_open(cli, &s->request, c);
    if (status == STATUS_OK)
        status = run_and_show(cli, s, engine, &s->request.programs.at[0]->bytes, c);
    whammc_coverage_free(c);
    return status;
}

/* ---- commands ---- */

typedef struct Commanded {
    const Cli *cli;
    Settings *settings;
    bool has_reports;
} Commanded;

/* Returns whether the command has run this module, as far as is known; if not, prints a message. */
static bool has_run(const Cli *cli, const char *path, const CommandReports *all) {
    Buf asked = {0};
    bool ok = file_read_module(cli, path, &asked), found = false;
    for (uint32_t i = 0; ok && i < all->modules.len; i++) {
        const Buf *bytes = &all->modules.at[i].bytes;
        found |= !bytes->len || str_eq(buf_view(bytes), buf_view(&asked));
    }
    if (ok && !found)
        message_one(cli, DIAG_NOT_A_REPORT, "give it as it was before it was instrumented",
                    "%s: none of the modules that the command has run is this one", path);
    buf_free(&asked);
    return found;
}

/* Chooses the modules to show: the requested ones, or all. On failure, prints a message and returns
 * false. */
static bool choose_modules(const Cli *cli, Settings *s, const CommandReports *all) {
    bool ok = true;
    for (uint32_t i = 0; i < s->modules.len; i++) {
        ok = has_run(cli, s->modules.at[i], all) && ok;
        covering_program(&s->request, s->modules.at[i], NULL);
    }
    for (uint32_t i = 0; !s->modules.len && i < all->modules.len; i++) {
        const CommandModule *m = &all->modules.at[i];
        if (!m->bytes.len)
            message_one(cli, DIAG_CANNOT_READ, "give it with --module=APP",
                        "%s: the module is not there any more", m->path);
        ok = ok && m->bytes.len;
        covering_program(&s->request, m->path, m->name);
    }
    if (s->request.programs.len > 1)
        s->request.title = cli->operands[0];
    return ok;
}

/* Shows the coverage by all threads and processes of a command. */
static bool cmd_coverage_show_of_command(void *ctx, const CommandReports *all) {
    Commanded *c = ctx;
    Settings *s = c->settings;
    WhammcCoverage *coverage = whammc_coverage_new();
    int status = STATUS_ERROR;
    c->has_reports = true;
    if (choose_modules(c->cli, s, all))
        status = covering_open(c->cli, &s->request, coverage);
    if (status == STATUS_OK)
        status = covering_messages(
            c->cli, coverage,
            whammc_coverage_add(coverage, "report", all->text.data, all->text.len));
    if (status == STATUS_OK)
        status = covering_show(c->cli, &s->request, coverage);
    if (s->save && !file_write(c->cli, s->save, all->text.data, all->text.len))
        status = STATUS_ERROR;
    whammc_coverage_free(coverage);
    return status == STATUS_OK;
}

/* Runs the command and ends as it did, unless its status is 0 and something else failed. */
static int cover_command(const Cli *cli, Settings *s, const char *program) {
    static const DefineOptions none;
    Commanded c = {.cli = cli, .settings = s};
    if (s->for_module)
        return cli_usage(cli, "--%s is for a program in WebAssembly, and '%s' is a command",
                         s->for_module, cli->operands[0]);
    CommandJob job = {.program = program,
                      .script = "coverage",
                      .definitions = &none,
                      .take = cmd_coverage_show_of_command,
                      .ctx = &c};
    int status = command_run(cli, &job);
    return status == STATUS_OK && !c.has_reports ? STATUS_ERROR : status;
}

/* ---- the command line ---- */

static bool set_least(const Cli *cli, Settings *s, const char *value) {
    char *end;
    s->request.fail_under = value;
    s->request.least = strtod(value, &end);
    if (end != value && !*end && s->request.least >= 0 && s->request.least <= 100)
        return true;
    cli_usage(cli, "--fail-under=%s: expected a number from 0 to 100", value);
    return false;
}

/* Returns false for wrong usage, after a message. */
static bool cmd_coverage_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_FORMAT:
        s->request.format = (WhammcCoverageFormat)option_choice(cli, key, value);
        s->format_given = true;
        break;
    case OPTION_OUTPUT: s->request.out = value; break;
    case OPTION_FROM: vec_push(&s->request.from, value); break;
    case OPTION_SAVE: s->save = value; break;
    case OPTION_INCLUDE: vec_push(&s->request.include, value); break;
    case OPTION_EXCLUDE: vec_push(&s->request.exclude, value); break;
    case OPTION_ALL_FILES: s->request.all_files = true; break;
    case OPTION_INCLUDE_OBJECTS: vec_push(&s->request.objects, value); break;
    case OPTION_NO_MARKERS: s->request.no_markers = true; break;
    case OPTION_FAIL_UNDER: return set_least(cli, s, value);
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->request.debug, key, value);
    case OPTION_NAMES: s->request.names = value; break;
    case OPTION_MODULE: vec_push(&s->modules, value); break;
    case OPTION_ENGINE:
        s->engine = value;
        s->for_module = "engine";
        break;
    case OPTION_ENGINE_OPTION:
        vec_push(&s->engine_options, value);
        s->for_module = "engine-option";
        break;
    case OPTION_DIR:
    case OPTION_ENV:
        s->for_module = key == OPTION_DIR ? "dir" : "env";
        return world_option(cli, &s->world, key, value);
    case OPTION_NO_DEMANGLE: s->request.no_demangle = true; break;
    }
    return true;
}

/* Returns the format of an output file, by its extension. */
static WhammcCoverageFormat format_of(const char *out) {
    static const struct {
        const char *suffix;
        WhammcCoverageFormat format;
    } suffixes[] = {
#define COVERAGE(NAME, name, write, ending) {ending, WHAMMC_COVERAGE_##NAME},
#include "format/formats.def"
    };
    const char *dot = out ? strrchr(file_base(out), '.') : NULL;
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(dot, suffixes[i].suffix) == 0)
            return suffixes[i].format;
    return WHAMMC_COVERAGE_TEXT;
}

/* Returns how many of the first n operands are standard input. */
static uint32_t count_stdin(const Cli *cli, int n) {
    uint32_t found = 0;
    for (int i = 0; i < n && cli->operands[i]; i++)
        found += strcmp(cli->operands[i], "-") == 0;
    return found;
}

/* Checks that the options and operands go together: STATUS_OK, or another status after a
 * message. */
static int cmd_coverage_check(const Cli *cli, const Settings *s) {
    if (s->request.from.len && s->save)
        return cli_usage(cli, "--save is for a run, but --from=%s takes its report from a file",
                         s->request.from.at[0]);
    if (s->request.format == WHAMMC_COVERAGE_DRCOV && !s->request.out && !s->request.from.len)
        return cli_usage(cli, "--format=drcov is no text: give it a file with --output=OUT");
    int status = cli_check_outputs(cli, (const char *[]){s->request.out, s->save}, 2);
    if (status == STATUS_OK)
        status = cli_check_stdin(cli, s->request.from.at, s->request.from.len,
                                 count_stdin(cli, s->request.from.len ? cli->noperands : 1));
    if (status == STATUS_OK && s->request.out)
        status = cli_check_other(cli, s->request.out, s->request.from.at, s->request.from.len,
                                 "a report");
    if (status == STATUS_OK)
        status = covering_check_objects(cli, s->request.out, &s->request.objects);
    return status;
}

/* Shows the coverage of a program, by a run of it or by saved reports. */
static int cover_program(const Cli *cli, Settings *s) {
    Engine engine = {0};
    int status = STATUS_OK;
    if (s->modules.len && (s->request.from.len || !file_is_component(cli->operands[0])))
        return cli_usage(cli, "--module=%s is for commands and components that are run",
                         s->modules.at[0]);
    int programs = s->request.from.len ? cli->noperands : 1;
    for (int i = 0; i < programs; i++)
        covering_program(&s->request, cli->operands[i], NULL);
    if (s->request.from.len)
        return covering_saved(cli, &s->request);
    status = engine_find(cli, s->engine, NULL, cli->operands[0], &engine);
    if (status == STATUS_OK && engine.kind == ENGINE_WIZARD)
        status = cli_usage(cli, "use node or wasmtime: monitors, which Wizard takes, cannot count "
                                "returns from calls");
    if (status == STATUS_OK)
        status = coverage(cli, s, &engine);
    engine_free(&engine);
    return status;
}

int cmd_coverage(Cli *cli) {
    Settings s = {0};
    char *command = NULL;
    int status = cli_options(cli, cmd_coverage_set, &s);
    if (status == STATUS_OK)
        status = cmd_coverage_check(cli, &s);
    if (!s.format_given)
        s.request.format = format_of(s.request.out);
    if (status == STATUS_OK && !s.request.from.len)
        command = command_find(cli->operands[0]);
    if (status == STATUS_OK)
        status = command ? cover_command(cli, &s, command) : cover_program(cli, &s);
    free(command);
    vec_free(&s.engine_options);
    vec_free(&s.modules);
    world_free(&s.world);
    covering_free(&s.request);
    return status;
}
