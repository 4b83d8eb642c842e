/*
 * cmd/cmd_annotate.c - `whammc annotate`: the sources of a program with the counts of a report.
 */
#include "cmd/cmd.h"

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
    Words files;   /* to be shown, NULL at the end; none = all */
} Settings;

/* A report and its programs. */
typedef struct Annotated {
    const Cli *cli;
    const Settings *settings;
    WhammcReport *report;
    ProgramFiles programs;
    uint32_t added; /* the number of these in the report */
    SourceFiles sources;
    bool of_command;  /* the result goes to standard error */
    bool has_reports; /* of a command */
} Annotated;

/* Adds a program. The name is for people. */
static bool cmd_annotate_add_program(Annotated *a, const char *path, const char *name) {
    const Settings *s = a->settings;
    if (a->programs.len)
        source_files_also(&a->sources, path);
    else
        source_files_begin(&a->sources, path);
    a->sources.app = a->programs.len ? a->cli->operands[0] : name;
    bool ok = program_add(a->cli, &a->programs, path, name, s->names, &s->debug, a->report);
    a->added += ok;
    return ok;
}

static bool read_report(const Annotated *a, const char *name, const Buf *text) {
    uint32_t which = a->settings->flush;
    whammc_status status = whammc_report_read(a->report, name, text->data, text->len, which);
    size_t n = whammc_report_count(a->report);
    if (n && which <= n)
        return message_report(a->cli, a->report, status) == STATUS_OK;
    message_one(a->cli, DIAG_NOT_A_REPORT, NULL, "%s: there is no %s in it", name,
                n ? "such report" : "report");
    return false;
}

static bool is_coloured(const Annotated *a) {
    const Settings *s = a->settings;
    bool to_terminal = !s->out || strcmp(s->out, "-") == 0;
    int fd = a->of_command && !s->out ? STDERR_FILENO : STDOUT_FILENO;
    return s->colour == WHEN_ALWAYS ||
           (s->colour == WHEN_AUTO && to_terminal && message_is_colourful(fd));
}

static bool cmd_annotate_deliver(const Annotated *a, const Buf *text) {
    const char *out = a->settings->out;
    if (out)
        return file_write(a->cli, out, text->data, text->len);
    if (a->of_command)
        message_result(text);
    else
        message_stdout(text);
    return true;
}

/* Shows the report that was read. On failure, prints a message and returns false. */
static bool cmd_annotate_show(Annotated *a) {
    const Settings *s = a->settings;
    WhammcAnnotateOptions look = {.variable = s->variable,
                                  .html = s->format == PAGE_HTML,
                                  .instructions = s->instructions,
                                  .colour = is_coloured(a),
                                  .mangled = s->no_demangle,
                                  .files = s->files.at,
                                  .title = a->cli->operands[0],
                                  .source = source_files_text,
                                  .ctx = &a->sources};
    uint8_t *text;
    size_t size;
    whammc_status status = whammc_report_annotate(a->report, &look, &text, &size);
    source_files_end(a->cli, &a->sources);
    bool ok = message_report(a->cli, a->report, status) == STATUS_OK;
    if (text)
        ok = cmd_annotate_deliver(a, &(Buf){.data = text, .len = size}) && ok;
    whammc_release(text);
    return ok;
}

static Annotated cmd_annotate_begin(const Cli *cli, const Settings *s) {
    return (Annotated){.cli = cli, .settings = s, .report = whammc_report_new()};
}

static void cmd_annotate_end(Annotated *a) {
    whammc_report_free(a->report);
    programs_free(&a->programs);
}

static int annotate(const Cli *cli, const Settings *s) {
    Annotated a = cmd_annotate_begin(cli, s);
    Buf text = {0};
    bool ok = cmd_annotate_add_program(&a, cli->operands[0], cli->operands[0]) &&
              file_read(cli, cli->operands[1], &text) &&
              read_report(&a, file_title(cli->operands[1]), &text) && cmd_annotate_show(&a);
    buf_free(&text);
    cmd_annotate_end(&a);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- commands ---- */

/* Adds the chosen programs, or all that the command has loaded. */
static bool add_programs(Annotated *a, const CommandReports *all) {
    const Words *chosen = &a->settings->modules;
    bool ok = true;
    for (uint32_t i = 0; i < chosen->len; i++)
        ok = cmd_annotate_add_program(a, chosen->at[i], chosen->at[i]) && ok;
    for (uint32_t i = 0; !chosen->len && i < all->modules.len; i++)
        ok = cmd_annotate_add_program(a, all->modules.at[i].path, all->modules.at[i].name) && ok;
    return ok;
}

/* Shows the counts of all threads and processes of a command. */
static bool cmd_annotate_show_of_command(void *ctx, const CommandReports *all) {
    Annotated *a = ctx;
    a->has_reports = true;
    if (!read_report(a, "report", &all->text))
        return false;
    bool all_added = add_programs(a, all);
    return a->added && cmd_annotate_show(a) && all_added;
}

/* Runs the command and ends as it did, unless its status is 0 and something else failed. */
static int annotate_command(const Cli *cli, const Settings *s, const char *program) {
    static const DefineOptions none;
    if (s->flush)
        return cli_usage(cli, "--flush is for saved reports, and '%s' is a command",
                         cli->operands[0]);
    if ((s->debug.file || s->names) && s->modules.len != 1)
        return cli_usage(cli, "--%s is of one program: choose that with --module=APP",
                         s->debug.file ? "debug-file" : "names");
    Annotated a = cmd_annotate_begin(cli, s);
    a.of_command = true;
    CommandJob job = {.program = program,
                      .script = s->script ? s->script : "hotness",
                      .definitions = &none,
                      .take = cmd_annotate_show_of_command,
                      .ctx = &a};
    int status = command_run(cli, &job);
    cmd_annotate_end(&a);
    return status == STATUS_OK && !a.has_reports ? STATUS_ERROR : status;
}

/* ---- the command line ---- */

/* Returns false for wrong usage, after a message. */
static bool cmd_annotate_set(const Cli *cli, void *settings, int key, const char *value) {
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

static int cmd_annotate_check(const Cli *cli, const Settings *s) {
    if (cli->noperands < 2)
        return cli_usage(cli, "expected the program APP and its REPORT");
    if (s->script || s->modules.len)
        return cli_usage(cli, "--%s is for commands, which follow '--'",
                         s->script ? "script" : "module");
    const char *const inputs[] = {cli->operands[0], cli->operands[1]};
    int status = cli_check_stdin(cli, inputs, 2, 0);
    return status == STATUS_OK ? cli_check_other(cli, s->out, inputs, 2, "an input") : status;
}

/* Returns the command, which follows "--"; NULL: the operands are a program and its report. */
static char *cmd_annotate_find_command(const Cli *cli) {
    bool stopped = cli->noperands && strcmp(cli->operands[-1], "--") == 0;
    return stopped ? command_find(cli->operands[0]) : NULL;
}

static int annotate_saved(const Cli *cli, Settings *s) {
    int status = cmd_annotate_check(cli, s);
    for (int i = 2; i < cli->noperands; i++)
        vec_push(&s->files, cli->operands[i]);
    vec_push(&s->files, NULL);
    return status == STATUS_OK ? annotate(cli, s) : status;
}

int cmd_annotate(Cli *cli) {
    Settings s = {0};
    char *command = NULL;
    int status = cli_options(cli, cmd_annotate_set, &s);
    if (status == STATUS_OK)
        command = cmd_annotate_find_command(cli);
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
