/*
 * cmd/cmd_monitor.c - `whammc monitor`: compiles scripts into a monitor module.
 */
#include "cli/metrics.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <unistd.h>

typedef struct Settings {
    ScriptOptions scripts;
    const char *out;
    whammc_options options;
    Metrics metrics;
    bool explain;
} Settings;

/* Turns "dir/hotness.whamm" into "hotness.wasm". On the heap. */
static char *default_name(const char *script) {
    const char *name = file_base(script);
    const char *dot = strrchr(name, '.');
    Buf out = {0};
    buf_bytes(&out, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    buf_printf(&out, ".wasm");
    buf_cstr(&out);
    return (char *)out.data;
}

static int cmd_monitor_explain(const Cli *cli, const Settings *s, whammc *w) {
    const char *text;
    int status = message_library(cli, w, whammc_explain_monitor(w, &s->options, &text));
    if (status == STATUS_OK) {
        Buf shown = {0};
        buf_str(&shown, str_of(text));
        message_stdout(&shown);
        buf_free(&shown);
        status = message_written_status(cli, status);
    }
    return status;
}

static int write_monitor(const Cli *cli, Settings *s, whammc *w, const char *path) {
    uint8_t *out;
    size_t size;
    int status = message_library(cli, w, whammc_compile_monitor(w, &s->options, &out, &size));
    if (status == STATUS_OK && !file_write(cli, path, out, size))
        status = STATUS_ERROR;
    metrics_note(&s->metrics, w, 0, size);
    if (status == STATUS_OK && !metrics_write(cli, &s->metrics))
        status = STATUS_ERROR;
    whammc_release(out);
    return status;
}

/* Returns whether the engine itself provides the library. */
static bool is_of_engine(const LibraryOption *o) {
    return strcmp(o->name, "dyninstr") == 0 && o->import_as &&
           strcmp(o->import_as, "whamm:dyninstr") == 0;
}

/* Warns about libraries whose name differs from the file name by which engines know them. */
static void check_libraries(const Cli *cli, const LibraryOptions *libs) {
    for (uint32_t i = 0; i < libs->len; i++) {
        const LibraryOption *o = &libs->at[i];
        const char *module = o->import_as ? o->import_as : o->name, *base = file_base(o->path);
        const char *dot = strrchr(base, '.');
        int len = dot ? (int)(dot - base) : (int)strlen(base);
        bool fits = strlen(module) == (size_t)len && memcmp(module, base, (size_t)len) == 0;
        if (fits || is_of_engine(o))
            continue;
        char hint[160];
        snprintf(hint, sizeof hint, "use --lib='%s(%.*s)=...', or name the file %s.wasm", o->name,
                 len, base, module);
        message_one(cli, DIAG_MONITOR_LIBRARY, hint,
                    "the monitor imports the library '%s' from the module '%s', but engines call "
                    "it '%.*s', after its file",
                    o->name, module, len, base);
    }
}

static int cmd_monitor_compile(const Cli *cli, Settings *s) {
    whammc *w = whammc_new();
    bool ok = script_options_give(cli, &s->scripts, w, true);
    int status = ok ? STATUS_OK : STATUS_ERROR;
    if (ok && s->explain)
        status = cmd_monitor_explain(cli, s, w);
    if (status == STATUS_OK && (s->out || !s->explain)) {
        char *name = s->out ? NULL : default_name(s->scripts.files.at[0]);
        status = write_monitor(cli, s, w, s->out ? s->out : name);
        if (status == STATUS_OK)
            check_libraries(cli, &s->scripts.libs);
        free(name);
    }
    whammc_free(w);
    return status;
}

static int cmd_monitor_check_usage(const Cli *cli, const Settings *s) {
    if (!s->scripts.files.len)
        return cli_usage(cli, "expected a script: give one with --script=SCRIPT, or its text with "
                              "--eval=TEXT");
    if (cli->noperands)
        return cli_usage(cli,
                         "unexpected operand '%s': a monitor is compiled without a program; give "
                         "scripts with --script=SCRIPT",
                         cli->operands[0]);
    if (cli_check_stdin(cli, s->scripts.files.at, s->scripts.files.len, 0) != STATUS_OK)
        return STATUS_USAGE;
    const char *first = s->scripts.files.at[0];
    if ((!first || strcmp(first, "-") == 0) && !s->out && !s->explain)
        return cli_usage(cli, "expected an output file: give it with --output=MON");
    if (s->out && strcmp(s->out, "-") == 0 && (isatty(STDOUT_FILENO) || s->explain))
        return cli_usage(
            cli, "standard output is a terminal or used by --explain: expected a file for the "
                 "module");
    if (metrics_check(cli, &s->metrics, s->out, s->scripts.files.at, s->scripts.files.len) !=
        STATUS_OK)
        return STATUS_USAGE;
    return cli_check_other(cli, s->out, s->scripts.files.at, s->scripts.files.len, "a script");
}

static bool cmd_monitor_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_SCRIPT:
    case OPTION_EVAL:
    case OPTION_INCLUDE_DIR:
    case OPTION_DEFINE:
    case OPTION_STEPS:
    case OPTION_LIBRARY: return script_option(cli, &s->scripts, key, value);
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_REPORT: s->options.report = value; break;
    case OPTION_REPORT_FORMAT:
        s->options.format = (whammc_format)option_choice(cli, key, value);
        break;
    case OPTION_NO_OPTIMISE:
    case OPTION_NO_COALESCE:
    case OPTION_EXACT_TRAPS:
    case OPTION_BODIES:
    case OPTION_NO_PREDICATES:
    case OPTION_NO_REPORT: code_option(cli, &s->options, key, value); break;
    case OPTION_METRICS: metrics_want(&s->metrics, value); break;
    case OPTION_EXPLAIN: s->explain = true; break;
    }
    return true;
}

int cmd_monitor(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, cmd_monitor_set, &s);
    if (status == STATUS_OK)
        status = cmd_monitor_check_usage(cli, &s);
    if (status == STATUS_OK)
        status = cmd_monitor_compile(cli, &s);
    script_options_free(&s.scripts);
    return status;
}
