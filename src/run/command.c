/*
 * run/command.c - running a command whose Node processes instrument the modules that they load.
 *
 * The hook of the npm package (bindings/js/lib/register.mjs) is loaded into each of them by
 * NODE_OPTIONS. It calls this program to instrument, and writes the reports into our scratch
 * directory. Where whammc itself is the npm package, its JavaScript says where the hook is.
 */
#include "run/run.h"
#include "cli/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define HOOK "WHAMMC_HOOK" /* set by bindings/js/lib/node.mjs: the hook's URL */

/* Embedded from bindings/js/lib and stdlib/host, as one file. */
extern const unsigned char host_register_mjs[];
extern const unsigned long host_register_mjs_size;

/* ---- what is a command ---- */

static bool is_module(const char *path) {
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
    if (!*name || is_module(name) || (here && !strchr(name, '/')))
        return NULL;
    return process_find(NULL, name);
}

/* ---- its environment ---- */

/* This program. False: errno. */
static bool set_native(void) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return false;
    self[n] = '\0';
    return setenv("WHAMMC_NATIVE", self, 1) == 0;
}

/* Where the hook is, and who instruments for it. NULL: errno. */
static const char *prepare_hook(Place *place, Arena *arena) {
    const char *given = getenv(HOOK);
    if (given && *given)
        return given;
    const char *path =
        place_file(place, "register.mjs", host_register_mjs, (size_t)host_register_mjs_size);
    return path && set_native() ? arena_printf(arena, "file://%s", path) : NULL;
}

/* "a=1;b=2". */
static const char *join(const DefineOptions *definitions, Arena *arena) {
    const char *all = "";
    for (uint32_t i = 0; i < definitions->len; i++)
        all = arena_printf(arena, "%s%s%s", all, i ? ";" : "", definitions->at[i]);
    return all;
}

static bool set_environment(const CommandJob *job, const char *hook, const char *out,
                            const char *index, Arena *arena) {
    const char *before = getenv("NODE_OPTIONS");
    const char *options =
        arena_printf(arena, "%s%s--import=%s", before ? before : "", before ? " " : "", hook);
    return setenv("NODE_OPTIONS", options, 1) == 0 &&
           setenv("WHAMMC_SCRIPT", job->script, 1) == 0 &&
           setenv("WHAMMC_DEFINE", join(job->definitions, arena), 1) == 0 &&
           setenv("WHAMMC_OUT", out, 1) == 0 && setenv("WHAMMC_WRITTEN", index, 1) == 0 &&
           unsetenv("WHAMMC_ROOT") == 0 && unsetenv("WHAMMC_REGISTER") == 0;
}

/* ---- its reports ---- */

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* A report is ".../report.thread1.json", and ".thread1" tells it from others. */
static bool take_report(const Cli *cli, const CommandJob *job, Place *place, const char *path,
                        const char *module_path) {
    const char *name = path + strlen(place->directory) + sizeof "/report" - 1;
    char *which = strndup(name, strlen(name) - (sizeof ".json" - 1));
    Buf text = {0}, module = {0};
    place_path(place, path + strlen(place->directory) + 1); /* to be removed */
    bool ok = which && file_read(cli, path, &text) &&
              (!exists(module_path) || file_read(cli, module_path, &module)) &&
              job->take(job->ctx, which, &text, &module);
    buf_free(&text);
    buf_free(&module);
    free(which);
    return ok;
}

/* Cuts off a line; NULL: there is none. */
static char *next_line(char **text) {
    char *line = *text, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return line;
}

/* All that the index names: a line with the report, one with the module. */
static bool take_reports(const Cli *cli, const CommandJob *job, Place *place, const char *index) {
    Buf names = {0};
    if (!exists(index)) {
        message_one(
            cli, DIAG_NO_REPORT,
            "modules are instrumented that Node 18.19 or later loads with WebAssembly.compile, "
            "instantiate, their streaming variants or new WebAssembly.Module",
            "no report: no module was instrumented and run");
        return true;
    }
    bool ok = file_read(cli, index, &names);
    char *text = (char *)buf_cstr(&names), *report, *module;
    while (ok && (report = next_line(&text)) && (module = next_line(&text)))
        ok = take_report(cli, job, place, report, module);
    buf_free(&names);
    return ok;
}

/* ---- all of it ---- */

int command_run(const Cli *cli, const CommandJob *job) {
    Place place = {0};
    Arena arena = {0};
    const char *hook, *out, *index;
    int status = -1;
    bool made = place_make(&place, "?#%") && (out = place_path(&place, "report.json")) &&
                (index = place_path(&place, "written")) && (hook = prepare_hook(&place, &arena)) &&
                set_environment(job, hook, out, index, &arena);
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
    bool ok = status >= 0 && take_reports(cli, job, &place, index);
    process_unguard();
    vec_free(&argv);
    place_remove(&place);
    arena_free(&arena);
    int ended = status < 0 ? STATUS_ERROR : process_imitate(status);
    return !ok && ended == STATUS_OK ? STATUS_ERROR : ended;
}
