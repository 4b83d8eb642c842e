/*
 * run/run_component.c - runs components: in the command wasmtime, or in Node, for which jco
 * translates them.
 *
 * The program has what modules have (stdlib/host): its arguments, our environment and standard
 * streams, the current directory as '.' and by its name, and what --dir and --env say. It writes
 * its report to a file in a temporary directory.
 */
#include "cli/process.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Embedded from stdlib/host. */
extern const unsigned char host_run_component_mjs[];
extern const unsigned long host_run_component_mjs_size;

typedef struct Files {
    Place place;
    Arena arena;
    const char *component, *report;
    const char *jco, *packages;      /* for Node: its path, and the folder with its packages */
    const char *runner, *translated; /* a module, the directory of what jco makes */
} Files;

/* Appends the directories that every program may open: the current one, also by its name, since
 * some programs use absolute paths. */
static void put_own_directory(Words *out) {
    char *directory = getcwd(NULL, 0);
    const char *named = getenv("PWD");
    struct stat here, there;
    words_put(out, "--dir=", ".::.");
    if (directory)
        words_put(out, "--dir=.::", directory);
    if (named && *named == '/' && (!directory || strcmp(named, directory) != 0) &&
        stat(".", &here) == 0 && stat(named, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        words_put(out, "--dir=.::", named);
    free(directory);
}

/* Appends the options for what the program has access to. */
static void put_world(const RunnerJob *job, const Files *f, Words *out) {
    put_own_directory(out);
    words_put(out, "--dir=", f->place.directory);
    for (uint32_t i = 0; job->world && i < job->world->len; i++)
        words_put(out, "", job->world->at[i]);
}

/* ---- Node ---- */

/* The package with jco's implementation of WASI. */
#define SHIM "@bytecodealliance/preview2-shim"

/* Finds the directory node_modules in which jco has its packages. On failure, prints a message and
 * returns false. */
static bool find_packages(const Cli *cli, const RunnerJob *job, Files *f) {
    char *path = realpath(job->engine->jco, NULL), *end;
    f->jco = arena_printf(&f->arena, "%s", path ? path : job->engine->jco);
    while (!f->packages && path && (end = strrchr(path, '/'))) {
        *end = 0;
        const char *packages = arena_printf(&f->arena, "%s/node_modules", path);
        if (access(arena_printf(&f->arena, "%s/" SHIM, packages), F_OK) == 0)
            f->packages = packages;
    }
    free(path);
    if (!f->packages)
        message_one(cli, DIAG_NO_ENGINE, "name it: WHAMMC_JCO=/path/to/node_modules/.bin/jco",
                    "%s is not in a folder node_modules with the package " SHIM, f->jco);
    return f->packages != NULL;
}

/* Makes the files of a translated component, but not these themselves. False: errno. */
static bool put_runner(Files *f) {
    const char *link = place_path(&f->place, "node_modules");
    f->runner =
        place_file(&f->place, "run.mjs", host_run_component_mjs, host_run_component_mjs_size);
    f->translated = place_path(&f->place, "translated");
    return f->runner && f->translated && link && symlink(f->packages, link) == 0;
}

/* Translates the component. On failure, prints a message, unless a signal has ended that, and
 * returns false. */
static bool translate(const Cli *cli, const RunnerJob *job, Files *f) {
    size_t len = strlen(f->jco);
    bool memories = engine_has_memories(job->engine),
         script = len > 3 && strcmp(f->jco + len - 3, ".js") == 0;
    const char *argv[] = {job->engine->program,
                          f->jco,
                          "transpile",
                          f->component,
                          "--out-dir",
                          f->translated,
                          "--name",
                          "component",
                          "--quiet",
                          memories ? "--multi-memory" : NULL,
                          NULL};
    int status =
        process_run(argv + !script, (ProcessStreams){-1, STDERR_FILENO, -1, .interrupt = true});
    int error = errno;
    place_found(&f->place, f->translated);
    if (status < 0 && !process_asked())
        message_one(cli, DIAG_CANNOT_RUN, NULL, "%s: %s", f->jco, strerror(error));
    else if (status > 0)
        message_one(cli, DIAG_CANNOT_RUN,
                    memories ? NULL : "with several memories it needs Node 22 or later",
                    "jco cannot translate %s for Node", file_title(cli->operands[0]));
    return status == 0;
}

/* ---- */

/* The environment of the command wasmtime and its arguments up to the component. */
static void put_wasmtime_words(const Cli *cli, const RunnerJob *job, const Files *f, Words *out) {
    words_put(out, "", "run");
    words_put(out, "", "-Sinherit-env=y");
    words_put(out, "", "-Shttp=y");
    for (uint32_t i = 0; i < job->options->len; i++)
        words_put(out, "", job->options->at[i]);
    put_world(job, f, out);
    words_put(out, "--argv0=", cli->operands[0]);
    words_put(out, "", f->component);
}

static void put_node_words(const Cli *cli, const RunnerJob *job, const Files *f, Words *out) {
    for (uint32_t i = 0; i < job->options->len; i++)
        words_put(out, "", job->options->at[i]);
    words_put(out, "", f->runner);
    put_world(job, f, out);
    words_put(out, f->translated, "/component.js");
    words_put(out, "", cli->operands[0]);
}

static int call_component(const Cli *cli, const RunnerJob *job, const Files *f) {
    Words argv = {0}, options = {0};
    int null = job->unseen ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    (job->engine->kind == ENGINE_NODE ? put_node_words : put_wasmtime_words)(cli, job, f, &options);
    vec_push(&argv, job->engine->program);
    for (uint32_t i = 0; i < options.len; i++)
        vec_push(&argv, options.at[i]);
    for (int i = 1; i <= cli->noperands; i++)
        vec_push(&argv, cli->operands[i]); /* and the NULL after them */
    int status = process_run(argv.at, (ProcessStreams){-1, null, null, .interrupt = true});
    int error = errno;
    if (null >= 0)
        close(null);
    world_free(&options);
    vec_free(&argv);
    errno = error;
    return status;
}

/* Makes all files. False: errno. */
static bool component_put_files(Files *f, const RunnerJob *job) {
    if (!place_make(&f->place, NULL))
        return false;
    f->component = place_file(&f->place, "component.wasm", job->module, job->len);
    f->report = world_report(&f->place);
    return f->component && f->report && (job->engine->kind != ENGINE_NODE || put_runner(f));
}

int component_run(const Cli *cli, const RunnerJob *job, Buf *report) {
    Files files = {0};
    Phase before = phase_begin(PHASE_RUN);
    process_guard();
    bool node = job->engine->kind == ENGINE_NODE, told = node && !find_packages(cli, job, &files);
    bool made = !told && component_put_files(&files, job);
    int error = errno, status = -1;
    if (made && node)
        told = !translate(cli, job, &files);
    if (made && !told) {
        status = call_component(cli, job, &files);
        error = errno;
    }
    phase_end(before);
    if (status >= 0 && access(files.report, F_OK) == 0)
        file_read(cli, files.report, report);
    if (status < 0 && !told)
        engine_failed(cli, made ? job->engine : NULL, &files.place, error);
    place_remove(&files.place);
    arena_free(&files.arena);
    return status;
}
