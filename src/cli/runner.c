/*
 * cli/runner.c - running an instrumented program in Node or wasmtime.
 *
 * The engine runs one of our runners (stdlib/host), which gives the program WASI and takes the
 * report. Everything that is needed lies in a temporary directory while the program runs; the
 * program itself has our standard streams and the current directory.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Embedded from stdlib/host. */
extern const unsigned char host_run_node_mjs[], host_run_wasmtime_py[];
extern const unsigned long host_run_node_mjs_size, host_run_wasmtime_py_size;

typedef struct Files {
    const char *module, *runner, *report;
    Words libraries; /* options of the runner, owned: --lib=NAME=FILE */
} Files;

static bool put_library(Place *p, Files *f, const char *name, const void *bytes, size_t len) {
    char file[32];
    snprintf(file, sizeof file, "lib%u.wasm", f->libraries.len);
    const char *path = place_file(p, file, bytes, len);
    if (!path)
        return false;
    Buf word = {0};
    buf_printf(&word, "--lib=%s=%s", name, path);
    buf_cstr(&word);
    vec_push(&f->libraries, (const char *)word.data);
    return true;
}

/* What the program imports. */
static bool put_libraries(Place *p, Files *f, const LibraryOptions *libs) {
    for (uint32_t i = 0; i < libs->len; i++) {
        const LibraryOption *o = &libs->at[i];
        if (!put_library(p, f, o->import_as ? o->import_as : o->name, o->module.data,
                         o->module.len))
            return false;
    }
    size_t size;
    const void *runtime = whammc_runtime(&size);
    return put_library(p, f, "whammc_runtime", runtime, size);
}

static bool put_files(Place *p, Files *f, const RunnerJob *job) {
    bool python = job->engine->kind == ENGINE_PYTHON;
    if (!place_make(p, NULL))
        return false;
    f->module = place_file(p, "app.wasm", job->module, job->len);
    f->runner =
        python ? place_file(p, "run-wasmtime.py", host_run_wasmtime_py, host_run_wasmtime_py_size)
               : place_file(p, "run-node.mjs", host_run_node_mjs, host_run_node_mjs_size);
    f->report = place_path(p, "report");
    return f->module && f->runner && f->report && (!job->libs || put_libraries(p, f, job->libs));
}

static int call_runner(const Cli *cli, const RunnerJob *job, const Files *f) {
    Words argv = {0};
    vec_push(&argv, job->engine->program);
    for (uint32_t i = 0; i < job->options->len; i++)
        vec_push(&argv, job->options->at[i]);
    vec_push(&argv, f->runner);
    for (uint32_t i = 0; i < f->libraries.len; i++)
        vec_push(&argv, f->libraries.at[i]);
    char clock[32];
    snprintf(clock, sizeof clock, "--clock=%s", job->clock ? job->clock : "host");
    if (job->engine->kind == ENGINE_NODE)
        vec_push(&argv, clock);
    if (job->engine->kind == ENGINE_NODE && job->interruptible)
        vec_push(&argv, "--interruptible");
    vec_push(&argv, f->module);
    vec_push(&argv, f->report);
    for (int i = 0; i <= cli->noperands; i++)
        vec_push(&argv, cli->operands[i]); /* and the NULL behind them */
    int null = job->unseen ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    ProcessStreams streams = {-1, null, null};
    int status = job->caught ? process_read(argv.at, streams, catch_take, job->caught)
                             : process_run(argv.at, streams);
    int error = errno;
    if (job->caught)
        catch_end(job->caught);
    if (null >= 0)
        close(null);
    vec_free(&argv);
    errno = error;
    return status;
}

int runner_run(const Cli *cli, const RunnerJob *job, Buf *report) {
    Place place = {0};
    Files files = {0};
    process_guard();
    bool made = put_files(&place, &files, job);
    int error = errno, status = -1;
    if (made) {
        status = call_runner(cli, job, &files);
        error = errno;
        if (status >= 0 && access(files.report, F_OK) == 0)
            file_read(cli, files.report, report);
    }
    if (status < 0)
        engine_failed(cli, made ? job->engine : NULL, &place, error);
    for (uint32_t i = 0; i < files.libraries.len; i++)
        free((char *)files.libraries.at[i]);
    vec_free(&files.libraries);
    place_remove(&place);
    process_unguard();
    return status;
}
