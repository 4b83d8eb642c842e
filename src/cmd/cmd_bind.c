/*
 * cmd/cmd_bind.c - `whammc bind`: attaches monitor modules to a program ahead of time.
 */
#include "cli/metrics.h"

#include <stdio.h>

typedef struct Settings {
    MonitorOptions monitors;
    const char *out;
    whammc_options options;
    Metrics metrics;
    bool verbose;
} Settings;

/* Returns false for wrong usage, after a message. */
static bool cmd_bind_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_JOBS: return cli_count(cli, "jobs", value, &s->options.threads);
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_VERBOSE: s->verbose = true; break;
    case OPTION_HOST: s->options.host = (whammc_host)option_choice(cli, key, value); break;
    case OPTION_KEEP_DEBUG: s->options.keep_debug = true; break;
    case OPTION_NO_OPTIMISE:
    case OPTION_NO_COALESCE:
    case OPTION_EXACT_TRAPS:
    case OPTION_BODIES: code_option(cli, &s->options, key, value); break;
    case OPTION_METRICS: metrics_want(&s->metrics, value); break;
    }
    return true;
}

static void show_places(whammc *w) {
    Buf text = {0};
    size_t n;
    const whammc_attached *a = whammc_attachments(w, &n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&text, "%s: ", a[i].monitor);
        message_clean(&text, str_of(a[i].name));
        buf_str(&text, STR(": "));
        message_number(&text, a[i].places);
        buf_printf(&text, " %s\n", message_plural(a[i].places, "place", "places"));
    }
    message_stderr(text.data, text.len);
    buf_free(&text);
}

/* Reports where the output of the monitors goes, if no option says so. */
static void cmd_bind_show_host(const Cli *cli, const Settings *s, whammc *w, const char *name) {
    if (s->options.host == WHAMMC_HOST_AUTO && whammc_hosted(w, NULL) == WHAMMC_HOST_NONE)
        message_one(cli, DIAG_REPORT_IN_MEMORY,
                    "--host=wasi writes it through WASI, --host=js passes it to JavaScript",
                    "%s imports nothing, so what the monitors print stays in memory, at the "
                    "exports 'whammc:report_ptr' and 'whammc:report_len'",
                    name);
}

static int bind_app(const Cli *cli, Settings *s, whammc *w, const char *path, const Buf *app) {
    uint8_t *out;
    size_t size;
    const char *name = file_title(path);
    progress_start("binding", name, app->len);
    whammc_status result = whammc_bind(w, name, app->data, app->len, &s->options, &out, &size);
    int status = message_library(cli, w, result);
    if (status == STATUS_OK && s->verbose)
        show_places(w);
    if (status == STATUS_OK && !file_write(cli, s->out, out, size))
        status = STATUS_ERROR;
    whammc_release(out);
    metrics_note(&s->metrics, w, app->len, size);
    if (status == STATUS_OK)
        cmd_bind_show_host(cli, s, w, name);
    if (status == STATUS_OK && !metrics_write(cli, &s->metrics))
        status = STATUS_ERROR;
    return message_written_status(cli, status);
}

static int read_and_bind(const Cli *cli, Settings *s, const char *path) {
    whammc *w = whammc_new();
    Buf app = {0};
    bool ok = monitors_read(cli, &s->monitors);
    world_give(cli, w, strcmp(s->out, "-") == 0);
    monitors_give(&s->monitors, w);
    int status = STATUS_ERROR;
    if (file_read_module(cli, path, &app) && ok)
        status = bind_app(cli, s, w, path, &app);
    whammc_free(w);
    buf_free(&app);
    return status;
}

static int cmd_bind_check_usage(const Cli *cli, const Settings *s) {
    if (cli->noperands < 2)
        return cli_usage(cli, cli->noperands ? "expected a program: give APP after the monitors"
                                             : "expected monitors and a program");
    int inputs = 0;
    for (int i = 0; i < cli->noperands; i++)
        inputs += strcmp(cli->operands[i], "-") == 0;
    if (inputs > 1)
        return cli_usage(cli, "only one module can be standard input");
    int status = cli_check_output(cli, s->out);
    if (status == STATUS_OK)
        status = cli_check_other(cli, s->out, (const char *const *)cli->operands,
                                 (uint32_t)cli->noperands - 1, "a monitor");
    if (status == STATUS_OK)
        status = metrics_check(cli, &s->metrics, s->out, (const char *const *)cli->operands,
                               (uint32_t)cli->noperands);
    return status;
}

int cmd_bind(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, cmd_bind_set, &s);
    if (status == STATUS_OK)
        status = cmd_bind_check_usage(cli, &s);
    cli->threads = s.options.threads;
    if (status == STATUS_OK) {
        int last = cli->noperands - 1;
        for (int i = 0; i < last; i++)
            monitors_add(&s.monitors, cli->operands[i]);
        status = read_and_bind(cli, &s, cli->operands[last]);
    }
    monitors_free(&s.monitors);
    return status;
}
