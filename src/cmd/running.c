/*
 * cmd/running.c - instruments a program and runs it, for several commands.
 */
#include "cmd/cmd.h"
#include "run/run.h"

#include <stdio.h>
#include <sys/wait.h>

enum {
    NOT_LOADED = 126, /* the status of the runners */
    TRAPPED = 134,    /* also of the command wasmtime */
    CRASHED = 254     /* Wizard's status, or 255; also for programs that trap */
};

/* Returns how many messages of the library have this tag. */
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

/* Returns whether there is anything to run; else prints a message. */
static bool can_run(const Running *r) {
    if (!count_messages(r->w, "no-flush-point"))
        return true;
    message_one(r->cli, DIAG_CANNOT_RUN,
                r->bound
                    ? "attach the monitors with `whammc bind`, load the program where its exports "
                      "are called and call its 'whammc:flush' at the end"
                    : "instrument it with `whammc instr --host=js`, load it where its exports are "
                      "called and connect it with whammc.js",
                "%s has no main, _start or start function to run", file_title(r->cli->operands[0]));
    return false;
}

int running_made(Running *r, whammc_status result, const uint8_t *module, size_t size,
                 const LibraryOptions *imports) {
    /* The module is not kept, so dropped sections do not matter. */
    bool quiet = result == WHAMMC_OK &&
                 (r->silent || count_messages(r->w, "stale-section") == whammc_warning_count(r->w));
    int status = quiet ? STATUS_OK : message_library(r->cli, r->w, result);
    const Buf made = {(uint8_t *)module, size, size};
    if (status == STATUS_OK && !can_run(r))
        status = STATUS_ERROR;
    if (status == STATUS_OK && r->engine->kind != ENGINE_NODE && !r->engine->component &&
        javascript_lacks_sampler(r->cli, r->engine->kind == ENGINE_PYTHON ? "wasmtime" : "Wizard",
                                 &made))
        status = STATUS_ERROR;
    if (status == STATUS_OK) {
        RunnerJob job = {.engine = r->engine,
                         .options = r->engine_options,
                         .clock = r->clock,
                         .world = r->world,
                         .unseen = r->unseen,
                         .caught = r->bound ? &r->caught : NULL,
                         .module = module,
                         .len = size,
                         .libs = imports};
        if (r->metrics && r->metrics->wanted) {
            metrics_note(r->metrics, r->w, r->app.len, size);
            job.measured = &r->metrics->run;
        }
        Serving serving;
        status = serving_begin(r, &serving);
        if (serving.live)
            job.live = live_option(serving.live);
        if (status == STATUS_OK) {
            r->wait_status = runner_run(r->cli, &job, &r->report);
            status = r->wait_status < 0 ? STATUS_ERROR : STATUS_OK;
        }
        serving_end(&serving, &r->report);
    }
    return status;
}

/* Returns whether a program for WASI starts threads: it has this import. A program that contains
 * the bytes by chance runs as well. */
static bool spawns_threads(const Buf *app) {
    static const char import[] = "\4wasi\14thread-spawn";
    return memmem(app->data, app->len, import, sizeof import - 1);
}

/* Sets options for threads: the runner for Node combines the reports of all threads. Counts in
 * memory survive the end of a thread. */
static void prepare_threads(const Running *r, whammc_options *made) {
    made->host_flushes = true;
    if (made->link == WHAMMC_LINK_AUTO && engine_has_memories(r->engine)) {
        made->link = WHAMMC_LINK_MERGE;
        made->host = WHAMMC_HOST_JS;
    }
}

/* Sets options for components: they report by WASI, into the file that the runner reads. */
static void prepare_component(whammc_options *made) {
    made->host = WHAMMC_HOST_WASI;
    made->link = WHAMMC_LINK_MERGE;
    made->report = RUN_REPORT;
}

/* Returns the import of a function of `prof`, which only OUT.js and custom hosts provide. */
static const char *prof_import(const void *module, size_t size) {
    static const char *const names[] = {"getTime", "addArcData", "setArcData", "clearResults",
                                        "printResults"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char import[32];
        int n = snprintf(import, sizeof import, "%cprof%c%s", 4, (int)strlen(names[i]), names[i]);
        if (memmem(module, size, import, (size_t)n))
            return names[i];
    }
    return NULL;
}

/* Returns false, after a message, if the scripts call functions that no runner provides. */
static bool check_imports(const Running *r, const void *module, size_t size) {
    const char *name = prof_import(r->app.data, r->app.len) ? NULL : prof_import(module, size);
    if (name)
        message_one(r->cli, DIAG_CANNOT_HOST,
                    "instrument the program with --host=prof, or call it only there: / HOST == "
                    "\"prof\" /",
                    "a script calls `prof.%s`, which the engines of `whammc run` do not have",
                    name);
    return !name;
}

int running_instrumented(Running *r, const whammc_options *options, const LibraryOptions *libs) {
    uint8_t *out;
    size_t size;
    const char *name = file_title(r->cli->operands[0]);
    whammc_options made = *options;
    made.polls = r->http && http_wanted(r->http);
    bool component = r->engine->component, threads = !component && spawns_threads(&r->app);
    if (!component && file_begins_component(r->app.data, r->app.len))
        return cli_usage(r->cli, "%s is a component, which is run only from a regular file", name);
    if (component && made.polls)
        return cli_usage(r->cli, "--http, --push and --watch need a module: '%s' is a component",
                         name);
    if (threads && r->engine->kind != ENGINE_NODE) {
        message_one(r->cli, DIAG_CANNOT_RUN, "run it in Node: --engine=node24",
                    "%s starts threads, which programs cannot do in this engine", name);
        return STATUS_ERROR;
    }
    if (threads)
        prepare_threads(r, &made);
    if (component)
        prepare_component(&made);
    made.linked = -1; /* runners load no other module */
    progress_start("instrumenting", name, r->app.len);
    whammc_status result =
        whammc_instrument(r->w, name, r->app.data, r->app.len, &made, &out, &size);
    progress_end();
    if (result == WHAMMC_OK && !check_imports(r, out, size)) {
        whammc_release(out);
        return STATUS_ERROR;
    }
    bool imports = whammc_linked(r->w) == WHAMMC_LINK_IMPORT;
    int status = running_made(r, result, out, size, imports ? libs : NULL);
    whammc_release(out);
    return status;
}

void running_bundled(Running *r, const char *script, const Buf *app, whammc_options *made) {
    size_t len;
    const char *text = whammc_bundled_script(script, &len);
    /* The cheapest clock: whammc.now in Node, WASI elsewhere. */
    bool node = r->engine->kind == ENGINE_NODE;
    *made = (whammc_options){.host = node ? WHAMMC_HOST_JS : WHAMMC_HOST_WASI,
                             .link = node ? WHAMMC_LINK_AUTO : WHAMMC_LINK_IMPORT,
                             .format = WHAMMC_FORMAT_JSON};
    r->silent = true;
    r->w = whammc_new();
    buf_bytes(&r->app, app->data, app->len);
    whammc_add_script(r->w, script, text, len);
}

/* Whether the command wasmtime has failed, as far as can be known: it could not load the component,
 * or this returned an error without a report. */
static bool is_not_started(const Running *r) {
    return r->engine->kind == ENGINE_WASMTIME && WEXITSTATUS(r->wait_status) == 1;
}

void running_explain_silence(const Running *r) {
    int wait_status = r->wait_status;
    if (WIFSIGNALED(wait_status))
        message_one(r->cli, DIAG_NO_REPORT, NULL, "no report: signal %d ended the program",
                    WTERMSIG(wait_status));
    else if (r->engine->component && WEXITSTATUS(wait_status) == TRAPPED)
        message_one(r->cli, DIAG_NO_REPORT,
                    "components report when wasi:cli/run returns or calls wasi:cli/exit",
                    "no report: the component trapped, and can then not be called again");
    else if (WEXITSTATUS(wait_status) == NOT_LOADED || is_not_started(r))
        message_one(r->cli, DIAG_NO_REPORT,
                    "engines have different features, and offer programs nothing but WASI",
                    "no report: the engine could not load the program");
    else if (r->engine->kind == ENGINE_WIZARD && WEXITSTATUS(wait_status) >= CRASHED)
        message_one(r->cli, DIAG_NO_REPORT,
                    "where Wizard's compiler fails it may help to interpret: "
                    "--engine-option=--mode=int",
                    "no report: the engine ended with status %d", WEXITSTATUS(wait_status));
    else if (!whammc_acts(r->w))
        message_one(r->cli, DIAG_NO_REPORT,
                    "do the scripts declare 'report' variables? has the program left memory for "
                    "the report?",
                    "no report");
}

bool running_save(const Running *r, const char *path, whammc_format format) {
    const Buf *text = &r->report;
    /* Programs print an empty line before the report, for streams with other output. */
    uint32_t skip = 0;
    if (format == WHAMMC_FORMAT_JSON && text->len && text->data[0] == '\n')
        skip = 1;
    if (format == WHAMMC_FORMAT_CSV_RFC4180 && text->len > 1 && memcmp(text->data, "\r\n", 2) == 0)
        skip = 2;
    return file_write(r->cli, path, text->data + skip, text->len - skip);
}

void running_free(Running *r) {
    whammc_free(r->w);
    buf_free(&r->app);
    buf_free(&r->report);
    buf_free(&r->caught.report);
}
