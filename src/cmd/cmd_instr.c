/*
 * cmd/cmd_instr.c - `whammc instr`: instruments a module.
 */
#include "base/workers.h"
#include "cli/draft.h"
#include "cli/metrics.h"
#include "cmd/cmd.h"

#include <stdio.h>

typedef struct Settings {
    ScriptOptions scripts;
    Exclusion exclusion;
    DebugOptions debug;
    const char *out, *runtime, *js, *names, *source_map;
    whammc_options options;
    Metrics metrics;
    bool verbose, no_js, no_js_views;
} Settings;

/* Returns false for wrong usage, after a message. */
static bool cmd_instr_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
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
    case OPTION_OUTPUT: s->out = value; break;
    case OPTION_NAMES: s->names = value; break;
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP: return debug_option(cli, &s->debug, key, value);
    case OPTION_JOBS: return cli_count(cli, "jobs", value, &s->options.threads);
    case OPTION_VERBOSE: s->verbose = true; break;
    case OPTION_STORAGE: s->options.storage = (whammc_storage)option_choice(cli, key, value); break;
    case OPTION_HOST: s->options.host = (whammc_host)option_choice(cli, key, value); break;
    case OPTION_LINK: s->options.link = (whammc_link)option_choice(cli, key, value); break;
    case OPTION_RUNTIME: s->runtime = value; break;
    case OPTION_REPORT: s->options.report = value; break;
    case OPTION_REPORT_FORMAT:
        s->options.format = (whammc_format)option_choice(cli, key, value);
        break;
    case OPTION_KEEP_DEBUG: s->options.keep_debug = true; break;
    case OPTION_SOURCE_MAP: s->source_map = value; break;
    case OPTION_JS: s->js = value; break;
    case OPTION_NO_JS: s->no_js = true; break;
    case OPTION_NO_JS_VIEWS: s->no_js_views = true; break;
    case OPTION_NO_OPTIMISE:
    case OPTION_NO_COALESCE:
    case OPTION_EXACT_TRAPS:
    case OPTION_BODIES:
    case OPTION_NO_PREDICATES:
    case OPTION_NO_REPORT: code_option(cli, &s->options, key, value); break;
    case OPTION_LINKED: s->options.linked = true; break;
    case OPTION_POLLS: s->options.polls = true; break;
    case OPTION_BUILD_ID: s->options.build_id = true; break;
    case OPTION_METRICS: metrics_want(&s->metrics, value); break;
    }
    return true;
}

static void show_sites(whammc *w) {
    Buf text = {0};
    size_t n;
    const whammc_probe_stats *p = whammc_probes(w, &n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&text, "%s:%u: %s: ", p[i].script, p[i].line, p[i].rule);
        message_number(&text, p[i].sites);
        buf_printf(&text, " %s\n", message_plural(p[i].sites, "site", "sites"));
    }
    message_stderr(text.data, text.len);
    buf_free(&text);
}

/* Returns whether JavaScript runs the program. */
static bool has_script(whammc_host host) {
    return host == WHAMMC_HOST_JS || host == WHAMMC_HOST_PROF;
}

/* Reports the host chosen for --host=auto, and where the report is if no option says so. */
static void cmd_instr_show_host(const Cli *cli, const Settings *s, whammc *w, const char *name) {
    const char *why;
    whammc_host host = whammc_hosted(w, &why);
    if (!*why)
        return;
    if (s->verbose && host != WHAMMC_HOST_COMPONENT) {
        Buf line = {0};
        Str word = option_word(cli, OPTION_HOST, host);
        buf_printf(&line, "host: %.*s, as ", STR_ARG(word));
        message_clean(&line, str_of(why));
        buf_u8(&line, '\n');
        message_stderr(line.data, line.len);
        buf_free(&line);
    }
    if (host == WHAMMC_HOST_NONE)
        message_one(cli, DIAG_REPORT_IN_MEMORY,
                    "--host=wasi writes it through WASI, --host=js passes it to JavaScript; "
                    "`whammc run` shows it",
                    "%s imports nothing, so its report stays in memory, at the exports "
                    "'whammc:report_ptr' and 'whammc:report_len'",
                    name);
}

/* Shows the core modules of a component. */
static void cmd_instr_show_modules(whammc *w, const Buf *app) {
    Buf text = {0};
    modules_describe(w, app, &text);
    message_stderr(text.data, text.len);
    buf_free(&text);
}

/* Sets *js to the path of the script beside the program, on the heap, or NULL. If a file is there
 * that must not be overwritten, prints a message and returns false. */
static bool choose_script(const Cli *cli, const Settings *s, whammc_host host, char **js) {
    *js = NULL;
    if (s->no_js || !has_script(host))
        return true;
    *js = s->js ? strdup(s->js) : javascript_path(s->out);
    return s->js || !*js || javascript_may_write(cli, *js);
}

/* Writes the program, and the script beside it, if any. */
static bool write_output(const Cli *cli, const Settings *s, const whammc *w, whammc_host host,
                         const Buf *app, Draft *draft, Buf *module) {
    char id[JAVASCRIPT_ID], *js;
    bool ok = choose_script(cli, s, host, &js);
    ok = ok && !(js && javascript_lacks_sampler(cli, file_base(js), module));
    if (has_script(host)) {
        draft->sink.hold(draft->sink.ctx); /* the module moves */
        javascript_tag(module, workers_threads(cli->threads), id);
    }
    JavascriptJob job = {s->out, id, app, module, !s->no_js_views, whammc_measures_times(w)};
    ok = ok && (!js || javascript_write(cli, js, &job)) &&
         file_write_draft(cli, s->out, draft, module);
    free(js);
    return ok;
}

/* Computes the output's reference to its source map, and the map's to the base folder of relative
 * paths: each relative to its own location. */
static void place_map(Settings *s, Buf *url, Buf *root) {
    if (!s->source_map)
        return;
    file_relative(s->out, s->source_map, url);
    file_relative(s->source_map, "./", root);
    s->options.source_map_url = buf_cstr(url);
    s->options.source_map_root = buf_cstr(root);
}

static bool cmd_instr_write_map(const Cli *cli, const Settings *s, whammc *w) {
    size_t size;
    const char *map = whammc_source_map(w, &size);
    return !s->source_map || file_write(cli, s->source_map, map, size);
}

static int instrument(const Cli *cli, Settings *s, whammc *w, const char *path, const Buf *app) {
    uint8_t *out;
    size_t size;
    const char *name = file_title(path);
    Draft draft;
    file_draft(cli, s->out, &draft);
    whammc_set_sink(w, &draft.sink);
    progress_start("instrumenting", name, app->len);
    whammc_status result =
        whammc_instrument(w, name, app->data, app->len, &s->options, &out, &size);
    int status = message_library(cli, w, result);
    if (status == STATUS_OK && s->verbose)
        show_sites(w);
    size_t runtime_size;
    const void *runtime = whammc_runtime(&runtime_size);
    if (status == STATUS_OK && s->runtime && !file_write(cli, s->runtime, runtime, runtime_size))
        status = STATUS_ERROR;
    Buf module = {out, size, size}; /* freed instead of whammc_release */
    bool automatic = s->options.host == WHAMMC_HOST_AUTO;
    whammc_host host = automatic ? whammc_hosted(w, NULL) : s->options.host;
    if (status == STATUS_OK &&
        (!cmd_instr_write_map(cli, s, w) || !write_output(cli, s, w, host, app, &draft, &module)))
        status = STATUS_ERROR;
    draft_end(&draft);
    metrics_note(&s->metrics, w, app->len, size);
    buf_free(&module);
    if (status == STATUS_OK)
        cmd_instr_show_host(cli, s, w, name);
    if (status == STATUS_OK && s->verbose)
        cmd_instr_show_modules(w, app);
    if (status == STATUS_OK && !metrics_write(cli, &s->metrics))
        status = STATUS_ERROR;
    return status;
}

static int read_and_instrument(const Cli *cli, Settings *s, const char *path) {
    whammc *w = whammc_new();
    Buf app = {0}, url = {0}, root = {0};
    char *js;
    bool ok = script_options_give(cli, &s->scripts, w, strcmp(s->out, "-") == 0);
    ok = choose_script(cli, s, s->options.host, &js) && ok;
    free(js);
    js = javascript_path(s->out);
    s->options.host_flushes = !s->no_js && (s->js || js) && s->options.link != WHAMMC_LINK_IMPORT;
    place_map(s, &url, &root);
    free(js);
    int status = STATUS_ERROR;
    if (file_read_module(cli, path, &app) && names_give(cli, path, s->names, &app) && ok &&
        exclude_give(cli, &s->exclusion, &app, w) &&
        debug_give(cli, &s->debug, w, path, &app, false))
        status = instrument(cli, s, w, path, &app);
    whammc_free(w);
    buf_free(&app);
    buf_free(&url);
    buf_free(&root);
    return status;
}

/* Checks that no output is an input or another output; but the program may be instrumented in
 * place. */
static int cmd_instr_check_outputs(const Cli *cli, const Settings *s) {
    const char *outputs[] = {s->out, s->js, s->runtime, s->source_map, s->metrics.file};
    enum { N = sizeof outputs / sizeof *outputs };
    for (uint32_t i = 0; i < N; i++) {
        int status =
            cli_check_other(cli, outputs[i], s->scripts.files.at, s->scripts.files.len, "a script");
        if (status == STATUS_OK && i > 0)
            status = cli_check_other(cli, outputs[i], (const char *const *)cli->operands, 1,
                                     "the program");
        if (status == STATUS_OK)
            status = cli_check_other(cli, outputs[i], outputs + i + 1, N - 1 - i, "another output");
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Checks the command line; STATUS_OK, or another status after a message. */
static int cmd_instr_check_usage(const Cli *cli, const Settings *s) {
    int status = cli_check_inputs(cli, s->scripts.files.at, s->scripts.files.len, true);
    if (status == STATUS_OK)
        status = cli_check_output(cli, s->out);
    if (status == STATUS_OK)
        status = exclude_check(cli, &s->exclusion, &s->scripts.definitions);
    if (status == STATUS_OK && s->runtime && s->options.link != WHAMMC_LINK_IMPORT)
        return cli_usage(cli, "--runtime=FILE needs --link=import");
    if (status == STATUS_OK && s->runtime)
        status = cli_check_output(cli, s->runtime);
    if (status == STATUS_OK && s->js && s->no_js)
        return cli_usage(cli, "--js=FILE and --no-js exclude each other");
    if (status == STATUS_OK && s->js && !has_script(s->options.host))
        return cli_usage(cli, "--js=FILE needs --host=js or --host=prof");
    if (status == STATUS_OK && s->no_js_views && s->options.host != WHAMMC_HOST_JS)
        return cli_usage(cli, "--no-js-views needs --host=js");
    return status == STATUS_OK ? cmd_instr_check_outputs(cli, s) : status;
}

int cmd_instr(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, cmd_instr_set, &s);
    if (status == STATUS_OK)
        status = cmd_instr_check_usage(cli, &s);
    cli->threads = s.options.threads;
    if (status == STATUS_OK)
        status = read_and_instrument(cli, &s, cli->operands[0]);
    script_options_free(&s.scripts);
    vec_free(&s.exclusion.globs);
    debug_free(&s.debug);
    return status;
}
