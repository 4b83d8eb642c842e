/*
 * run/command.c - running a command whose Node processes instrument the modules that they load.
 *
 * The hook of the npm package (bindings/js/lib/register.mjs) is loaded into each of them by
 * NODE_OPTIONS. It calls this program to instrument, and writes the reports into our scratch
 * directory. Where whammc itself is the npm package, its JavaScript says where the hook is.
 */
#include "cli/process.h"
#include "report/run_model.h"
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define HOOK "WHAMMC_HOOK" /* set by bindings/js/lib/node.mjs: the hook's URL */

/* Embedded from bindings/js/lib and stdlib/host, as one file. */
extern const unsigned char host_register_mjs[];
extern const unsigned long host_register_mjs_size;

/* ---- finding the command ---- */

static bool command_is_module(const char *path) {
    char head[4] = {0};
    size_t len = strlen(path);
    bool named = (len > 5 && strcmp(path + len - 5, ".wasm") == 0) ||
                 (len > 4 && strcmp(path + len - 4, ".wat") == 0);
    FILE *f = named ? NULL : fopen(path, "re");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    return named || (n == sizeof head && memcmp(head, "\0asm", sizeof head) == 0);
}

char *command_find(const char *name) {
    bool here = access(name, F_OK) == 0;
    if (!*name || command_is_module(name) || (here && !strchr(name, '/')))
        return NULL;
    return process_find(NULL, name);
}

/* ---- its environment ---- */

/* Tells the hook the path of this program. False: errno. */
static bool set_native(void) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return false;
    self[n] = '\0';
    return setenv("WHAMMC_NATIVE", self, 1) == 0;
}

/* Returns the URL of the hook, and tells it the program that instruments, unless it was given.
 * NULL: errno. */
static const char *prepare_hook(Place *place, Arena *arena) {
    const char *given = getenv(HOOK);
    if (given && *given)
        return given;
    const char *path =
        place_file(place, "register.mjs", host_register_mjs, (size_t)host_register_mjs_size);
    return path && set_native() ? arena_printf(arena, "file://%s", path) : NULL;
}

/* Joins definitions: "a=1;b=2". */
static const char *command_join(const DefineOptions *definitions, Arena *arena) {
    const char *all = "";
    for (uint32_t i = 0; i < definitions->len; i++)
        all = arena_printf(arena, "%s%s%s", all, i ? ";" : "", definitions->at[i]);
    return all;
}

static bool set_environment(const CommandJob *job, const char *script, const char *hook,
                            const char *out, const char *index, Arena *arena) {
    const char *before = getenv("NODE_OPTIONS");
    const char *options =
        arena_printf(arena, "%s%s--import=%s", before ? before : "", before ? " " : "", hook);
    const char *path = job->include ? include_path(job->include, job->text, arena) : NULL;
    return (path || !job->include) && setenv("NODE_OPTIONS", options, 1) == 0 &&
           setenv("WHAMMC_SCRIPT", script, 1) == 0 &&
           setenv("WHAMMC_DEFINE", command_join(job->definitions, arena), 1) == 0 &&
           (!path || setenv("WHAMMC_PATH", path, 1) == 0) && setenv("WHAMMC_OUT", out, 1) == 0 &&
           setenv("WHAMMC_WRITTEN", index, 1) == 0 && unsetenv("WHAMMC_ROOT") == 0 &&
           unsetenv("WHAMMC_REGISTER") == 0;
}

/* Returns what names the script to the hook. NULL: errno. */
static const char *command_script(const CommandJob *job, Place *place) {
    if (job->script)
        return job->script;
    return place_file(place, "command-line.whamm", job->text, strlen(job->text));
}

/* ---- its reports ---- */

static bool command_exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* Cuts off a line, which must not be NULL: it is the rest then. */
static char *next_line(char **text) {
    char *line = *text, *end = line ? strchr(line, '\n') : NULL;
    if (end)
        *end = '\0';
    *text = end ? end + 1 : NULL;
    return end ? line : NULL;
}

/* The hook's entry for a report. */
typedef struct Entry {
    const char *path;   /* ".../report.4711.thread1.module2.json" */
    const char *module; /* a file, if it is still there */
    const char *name;   /* of the module, for people */
} Entry;

typedef struct Index {
    Buf text;
    Vec(Entry) entries;
    Map modules; /* path -> number */
    RunThreads threads;
} Index;

/* Reads the index that processes and threads have written, each in lines of its own. */
static bool command_read_index(const Cli *cli, const char *path, Index *index) {
    if (!command_exists(path))
        return true;
    if (!file_read(cli, path, &index->text))
        return false;
    char *text = (char *)buf_cstr(&index->text), *line;
    while ((line = next_line(&text))) {
        Entry e;
        index->threads.began += strcmp(line, "began") == 0;
        index->threads.complete += strcmp(line, "ended") == 0;
        if (strcmp(line, "report") == 0 && (e.path = next_line(&text)) &&
            (e.module = next_line(&text)) && (e.name = next_line(&text)))
            vec_push(&index->entries, e);
    }
    return true;
}

/* Returns the part of a file name after a mark, up to the next dot: ".thread1"; empty if the mark
 * is missing. */
static Str name_part(const char *name, const char *mark) {
    const char *at = strstr(name, mark);
    at = at ? at + strlen(mark) : "";
    return (Str){at, (uint32_t)strcspn(at, ".")};
}

/* Appends the line before a report. The name of its file tells the process and the thread. */
static void command_put_head(const Entry *e, const Buf *module, uint32_t number, Buf *out) {
    const char *which = file_base(e->path) + sizeof "report" - 1;
    Str process = name_part(which, "."), thread = name_part(which, ".thread");
    bool first = !process.len || process.ptr[0] < '0' || process.ptr[0] > '9';
    char hash[WHAMMC_HASH] = "";
    if (module->len)
        whammc_program_hash(module->data, module->len, hash);
    char instance[16];
    snprintf(instance, sizeof instance, "%u", number);
    run_put_origin(&(RunOrigin){.module = {.id = str_of(*hash ? hash : e->module),
                                           .name = str_of(e->name),
                                           .hash = *hash ? str_of(hash) : (Str){0}},
                                .run = first ? STR("first") : process,
                                .thread = thread.len ? thread : STR("0"),
                                .instance = str_of(instance)},
                   out);
}

/* Returns the module of a report, read if it is new. NULL after a message. */
static const Buf *take_module(const Cli *cli, const Entry *e, Index *index, CommandReports *r) {
    const char *path = e->module;
    bool added;
    uint64_t number = *map_put(&index->modules, str_of(path), r->modules.len, &added);
    if (added)
        vec_push(&r->modules, ((CommandModule){.path = path, .name = e->name}));
    Buf *module = &r->modules.at[number].bytes;
    return added && command_exists(path) && !file_read(cli, path, module) ? NULL : module;
}

static bool command_take_report(const Cli *cli, Place *place, uint32_t number, Index *index,
                                CommandReports *r) {
    const Entry *e = &index->entries.at[number];
    const Buf *module = NULL;
    Buf text = {0};
    place_path(place, file_base(e->path)); /* to be removed */
    if (!file_read(cli, e->path, &text))
        return false;
    bool ok = !text.len || (module = take_module(cli, e, index, r));
    bool several = text.len && index->entries.len > 1;
    if (ok && several)
        command_put_head(e, module, number, &r->text);
    if (ok)
        buf_bytes(&r->text, text.data, text.len);
    if (ok && several)
        buf_printf(&r->text, "{\"whammc\":\"end\"}\n");
    buf_free(&text);
    return ok;
}

/* Prints why there is no report. */
static void tell_nothing(const Cli *cli, const RunThreads *t) {
    if (!t->began)
        message_one(
            cli, DIAG_NO_REPORT,
            "modules are instrumented that Node 18.19 or later loads with WebAssembly.compile, "
            "instantiate, their streaming variants or new WebAssembly.Module",
            "no report: no module was instrumented and run");
    else if (t->complete < t->began)
        message_one(cli, DIAG_NO_REPORT, RUN_THREADS_HINT,
                    "no report: %llu of %llu threads that ran modules have not reported",
                    (unsigned long long)(t->began - t->complete), (unsigned long long)t->began);
    else
        message_one(cli, DIAG_NO_REPORT, "do the scripts declare 'report' variables?", "no report");
}

/* Passes the reports to the job, which reports missing ones. */
static bool hand_over(const Cli *cli, const CommandJob *job, const RunThreads *threads,
                      CommandReports *r) {
    if (!r->text.len) {
        tell_nothing(cli, threads);
        return true;
    }
    if (threads->began > 1 || threads->complete < threads->began)
        run_put_threads(threads, &r->text);
    return job->take(job->ctx, r);
}

static bool command_take_reports(const Cli *cli, const CommandJob *job, Place *place,
                                 const char *path) {
    Index index = {0};
    CommandReports r = {0};
    bool ok = command_read_index(cli, path, &index);
    for (uint32_t i = 0; ok && i < index.entries.len; i++)
        ok = command_take_report(cli, place, i, &index, &r);
    ok = ok && hand_over(cli, job, &index.threads, &r);
    for (uint32_t i = 0; i < r.modules.len; i++)
        buf_free(&r.modules.at[i].bytes);
    vec_free(&r.modules);
    vec_free(&index.entries);
    map_free(&index.modules);
    buf_free(&index.text);
    buf_free(&r.text);
    return ok;
}

/* ---- all of it ---- */

bool option_is_for_module(int key) {
    switch (key) {
    case OPTION_LIBRARY:
    case OPTION_MONITOR:
    case OPTION_LINK:
    case OPTION_BUILD_ID:
    case OPTION_ENGINE:
    case OPTION_ENGINE_OPTION:
    case OPTION_DIR:
    case OPTION_ENV:
    case OPTION_CLOCK:
    case OPTION_HTTP:
    case OPTION_HTTP_TOKEN:
    case OPTION_PUSH:
    case OPTION_PUSH_SECONDS:
    case OPTION_NAMES:
    case OPTION_DEBUG_FILE:
    case OPTION_PATH_MAP:
    case OPTION_EXCLUDE:
    case OPTION_MIN_SIZE:
    case OPTION_EXCLUDE_FROM:
    case OPTION_AUTO_EXCLUDE:
    case OPTION_ALLOC:
    case OPTION_MODULE:
    case OPTION_METRICS: return true;
    default: return false;
    }
}

int command_run(const Cli *cli, const CommandJob *job) {
    Place place = {0};
    Arena arena = {0};
    const char *hook, *out, *index, *script;
    int status = -1;
    bool made = place_make(&place, "?#%") && (out = place_path(&place, "report.json")) &&
                (index = place_path(&place, "written")) && (hook = prepare_hook(&place, &arena)) &&
                (script = command_script(job, &place)) &&
                set_environment(job, script, hook, out, index, &arena);
    Words argv = {0};
    vec_push(&argv, job->program);
    for (int i = 1; i < cli->noperands; i++)
        vec_push(&argv, cli->operands[i]);
    vec_push(&argv, NULL);
    if (made) {
        process_guard();
        status = process_run(argv.at, (ProcessStreams){.in = -1, .out = -1, .err = -1});
    }
    if (status < 0)
        message_one(cli, DIAG_CANNOT_RUN, NULL, "%s: %s", made ? job->program : "temporary files",
                    strerror(errno));
    bool ok = status >= 0 && command_take_reports(cli, job, &place, index);
    process_unguard();
    vec_free(&argv);
    place_remove(&place);
    arena_free(&arena);
    int ended = status < 0 ? STATUS_ERROR : process_imitate(status);
    return !ok && ended == STATUS_OK ? STATUS_ERROR : ended;
}
