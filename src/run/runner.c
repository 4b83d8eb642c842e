/*
 * run/runner.c - runs an instrumented program in Node or wasmtime.
 *
 * The engine executes one of our runners (stdlib/host), which provides WASI to the program and
 * receives the report. All files are in memory (memfd), and disappear with the last process that
 * has them open; the program inherits our standard streams and the current directory.
 */
#include "cli/process.h"
#include "cli/scratch_dir.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Embedded from stdlib/host. */
extern const unsigned char host_run_node_mjs[], host_run_wasmtime_py[];
extern const unsigned long host_run_node_mjs_size, host_run_wasmtime_py_size;

typedef struct Files {
    const char *module, *runner, *report; /* runner: NULL for Node */
    const char *measured;                 /* NULL: nothing is to be measured */
    Words libraries;                      /* options of the runner, owned: --lib=NAME=FILE */
    Vec(int) open;
    Place place; /* for files, if memory files are not supported */
    Arena arena;
} Files;

#ifdef __EMSCRIPTEN__

/* Makes a file, and returns its path. NULL: errno. */
static const char *runner_put_file(Files *f, const char *name, const void *bytes, size_t len) {
    (void)name;
    if (!f->place.directory && !place_make(&f->place, NULL))
        return NULL;
    return place_file(&f->place, arena_printf(&f->arena, "%u", f->place.made.len), bytes, len);
}

#else

/* Makes a file in memory, which exists as long as a process has it open; returns its path in the
 * child. NULL: errno. */
static const char *runner_put_file(Files *f, const char *name, const void *bytes, size_t len) {
    int fd = memfd_create(name, 0);
    if (fd < 0)
        return NULL;
    vec_push(&f->open, fd);
    return file_write_fd(fd, bytes, len) ? arena_printf(&f->arena, "/dev/fd/%d", fd) : NULL;
}

#endif

static bool runner_put_library(Files *f, const char *name, const void *bytes, size_t len) {
    const char *path = runner_put_file(f, name, bytes, len);
    if (!path)
        return false;
    Buf word = {0};
    buf_printf(&word, "--lib=%s=%s", name, path);
    buf_cstr(&word);
    vec_push(&f->libraries, (const char *)word.data);
    return true;
}

/* Makes files of the libraries that the program imports. */
static bool put_libraries(Files *f, const LibraryOptions *libs) {
    for (uint32_t i = 0; i < libs->len; i++) {
        const LibraryOption *o = &libs->at[i];
        if (!runner_put_library(f, o->import_as ? o->import_as : o->name, o->module.data,
                                o->module.len))
            return false;
    }
    size_t size;
    const void *runtime = whammc_runtime(&size);
    return runner_put_library(f, "whammc_runtime", runtime, size);
}

static bool runner_put_files(Files *f, const RunnerJob *job) {
    bool python = job->engine->kind == ENGINE_PYTHON;
    f->module = runner_put_file(f, "app.wasm", job->module, job->len);
    if (python)
        f->runner =
            runner_put_file(f, "run-wasmtime.py", host_run_wasmtime_py, host_run_wasmtime_py_size);
    f->report = runner_put_file(f, "report", "", 0);
    if (job->measured)
        f->measured = runner_put_file(f, "metrics", "", 0);
    return f->module && (f->runner || !python) && f->report && (f->measured || !job->measured) &&
           (!job->libs || put_libraries(f, job->libs));
}

/* Appends the runner: for Node as text, since it accepts modules only from files whose name ends in
 * .mjs. */
static void push_runner(Files *f, const RunnerJob *job, Words *argv) {
    if (job->engine->kind == ENGINE_PYTHON) {
        vec_push(argv, f->runner);
        return;
    }
    vec_push(argv, "--expose-internals"); /* against interrupts while it reports */
    vec_push(argv, "--input-type=module");
    vec_push(argv, "--eval");
    vec_push(argv, arena_printf(&f->arena, "process.argv.splice(1, 0, 'run-node.mjs');\n%.*s",
                                (int)host_run_node_mjs_size, (const char *)host_run_node_mjs));
    vec_push(argv, "--");
}

static int call_runner(const Cli *cli, const RunnerJob *job, Files *f) {
    Words argv = {0};
    vec_push(&argv, job->engine->program);
    for (uint32_t i = 0; i < job->options->len; i++)
        vec_push(&argv, job->options->at[i]);
    push_runner(f, job, &argv);
    for (uint32_t i = 0; i < f->libraries.len; i++)
        vec_push(&argv, f->libraries.at[i]);
    for (uint32_t i = 0; job->world && i < job->world->len; i++)
        vec_push(&argv, job->world->at[i]);
    char clock[32];
    snprintf(clock, sizeof clock, "--clock=%s", job->clock ? job->clock : "host");
    if (job->engine->kind == ENGINE_NODE)
        vec_push(&argv, clock);
    vec_push(&argv, "--interruptible");
    if (f->measured)
        vec_push(&argv, arena_printf(&f->arena, "--metrics=%s", f->measured));
    if (job->live)
        vec_push(&argv, job->live);
    vec_push(&argv, f->module);
    vec_push(&argv, f->report);
    for (int i = 0; i <= cli->noperands; i++)
        vec_push(&argv, cli->operands[i]); /* and the NULL after them */
    int null = job->unseen ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    /* Python that is interrupted during startup reports an unrelated error. */
    ProcessStreams streams = {-1, null, null, .interrupt = true,
                              .deaf = job->engine->kind == ENGINE_PYTHON};
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
    if (job->engine->component)
        return component_run(cli, job, report);
    Place none = {0};
    Files files = {0};
    Phase before = phase_begin(PHASE_RUN);
    process_guard();
    bool made = runner_put_files(&files, job);
    int error = errno, status = -1;
    if (made) {
        status = call_runner(cli, job, &files);
        error = errno;
    }
    phase_end(before);
    if (status >= 0 && files.measured)
        file_read(cli, files.measured, job->measured);
    if (status >= 0)
        file_read(cli, files.report, report);
    else
        engine_failed(cli, made ? job->engine : NULL, &none, error);
    for (uint32_t i = 0; i < files.libraries.len; i++)
        free((char *)files.libraries.at[i]);
    for (uint32_t i = 0; i < files.open.len; i++)
        close(files.open.at[i]);
    vec_free(&files.libraries);
    vec_free(&files.open);
    place_remove(&files.place);
    arena_free(&files.arena);
    return status;
}
