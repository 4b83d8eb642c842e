/*
 * run/engine.c - the engines of `whammc run`, and finding them.
 */
#include "cli/process.h"
#include "cli/scratch_dir.h"
#include "run/run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Known {
    const char *name, *variable, *program;
    EngineKind kind;
    const char *hint; /* how to get it */
} Known;

static const Known engines[] = {
    {"node", "WHAMMC_NODE", "node", ENGINE_NODE,
     "install Node.js 18 or later (Debian package: nodejs), or name it: WHAMMC_NODE=/path/to/node"},
    {"node24", "WHAMMC_NODE24", "node24", ENGINE_NODE,
     "install Node.js 24 and name it: WHAMMC_NODE24=/path/to/node"},
    {"wasmtime", "WHAMMC_WASMTIME_PYTHON", "python3", ENGINE_PYTHON,
     "install the Python package (python3 -m venv DIR && DIR/bin/pip install wasmtime) and name "
     "that Python: WHAMMC_WASMTIME_PYTHON=DIR/bin/python"},
    {"wizard", "WIZENG", "wizeng", ENGINE_WIZARD,
     "build the Wizard engine and name its binary: WIZENG=/path/to/wizeng.x86-64-linux"},
};
enum { NENGINES = sizeof engines / sizeof *engines };

/* "wasmtime", if the program is a component. */
static const Known wasmtime = {
    "wasmtime", "WHAMMC_WASMTIME", "wasmtime", ENGINE_WASMTIME,
    "install the command wasmtime, which runs components, or name it: WHAMMC_WASMTIME=/path/to/"
    "wasmtime; or run the component in Node: --engine=node"};

/* The maximal CPU time of a query to an engine. */
enum { MAX_SECONDS = 30 };

/* Returns whether this Python has the package. */
static bool has_wasmtime(const char *python) {
    const char *argv[] = {
        python, "-c",
        "import importlib.util, sys; sys.exit(not importlib.util.find_spec('wasmtime'))", NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int status = process_run(
        argv, (ProcessStreams){.in = null, .out = null, .err = null, .seconds = MAX_SECONDS});
    close(null);
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Returns the kind of an engine, by the name of its executable. */
static EngineKind engine_kind_of(const char *path) {
    const char *name = file_base(path);
    if (strncmp(name, "python", 6) == 0)
        return ENGINE_PYTHON;
    if (strncmp(name, "wasmtime", 8) == 0)
        return ENGINE_WASMTIME;
    return strncmp(name, "wizeng", 6) == 0 ? ENGINE_WIZARD : ENGINE_NODE;
}

EngineKind engine_kind(const char *asked) {
    for (int i = 0; i < NENGINES; i++)
        if (strcmp(asked, engines[i].name) == 0)
            return engines[i].kind;
    return engine_kind_of(asked);
}

static int check_clock(const Cli *cli, const char *clock, const Engine *e) {
    if (!clock || (e->kind == ENGINE_NODE && !e->component) || strcmp(clock, "thread") != 0)
        return STATUS_OK;
    return cli_usage(cli, "--clock=thread is for modules in Node; %s",
                     e->component ? "components have the clock of WASI"
                                  : "other engines have their own clock");
}

bool engine_is_there(const char *name) {
    for (int i = 0; i < NENGINES; i++) {
        if (strcmp(name, engines[i].name) != 0)
            continue;
        char *program = process_find(engines[i].variable, engines[i].program);
        bool there = program && (engines[i].kind != ENGINE_PYTHON || has_wasmtime(program));
        free(program);
        return there;
    }
    return false;
}

const char *engine_known(uint32_t i) {
    return i < NENGINES ? engines[i].name : NULL;
}

/* Checks that the engine runs modules, or components: STATUS_OK, or another status after a message.
 */
static int check_program(const Cli *cli, const char *asked, const char *app, const Engine *e) {
    if (!e->component && e->kind == ENGINE_WASMTIME)
        return cli_usage(cli,
                         "the command wasmtime runs components, and '%s' is a module: "
                         "--engine=wasmtime runs modules by wasmtime's Python package",
                         file_title(app));
    if (e->component && e->kind != ENGINE_WASMTIME && e->kind != ENGINE_NODE)
        return cli_usage(cli,
                         "'%s' is a component, which node, node24 and the command wasmtime run, "
                         "but not %s",
                         file_title(app), asked);
    return STATUS_OK;
}

/* Finds jco for a component in Node: STATUS_OK, or another status after a message. */
static int find_jco(const Cli *cli, Engine *e) {
    e->jco = process_find("WHAMMC_JCO", "jco");
    if (e->jco)
        return STATUS_OK;
    message_one(cli, DIAG_NO_ENGINE,
                "install it (npm install @bytecodealliance/jco) and put it on the PATH, or name "
                "it: WHAMMC_JCO=/path/to/node_modules/.bin/jco; or run the component in wasmtime: "
                "--engine=wasmtime",
                "Node runs components with jco, which is not installed");
    return STATUS_NO_ENGINE;
}

void engine_free(Engine *e) {
    free(e->program);
    free(e->jco);
    *e = (Engine){0};
}

int engine_find(const Cli *cli, const char *asked, const char *clock, const char *app, Engine *e) {
    bool component = file_is_component(app);
    if (!asked)
        asked = component ? wasmtime.name : engines[0].name;
    const char *names[NENGINES];
    Known known = {.name = asked, .program = asked};
    for (int i = 0; i < NENGINES; i++) {
        names[i] = engines[i].name;
        if (strcmp(asked, engines[i].name) == 0)
            known = engines[i];
    }
    if (component && strcmp(asked, wasmtime.name) == 0)
        known = wasmtime;
    if (!known.hint && !strchr(asked, '/')) {
        const char *guess = cli_guess(asked, names, NENGINES);
        if (guess)
            return cli_usage(cli, "there is no engine '%s'; did you mean '%s'?", asked, guess);
        return cli_usage(
            cli, "there is no engine '%s': expected node, node24, wasmtime, wizard or a path",
            asked);
    }
    if (!known.hint)
        known.kind = engine_kind_of(asked);
    *e = (Engine){known.kind, component, process_find(known.variable, known.program), NULL};
    int status = check_program(cli, asked, app, e);
    if (status == STATUS_OK && e->program && (e->kind != ENGINE_PYTHON || has_wasmtime(e->program)))
        status = check_clock(cli, clock, e);
    else if (status == STATUS_OK) {
        status = STATUS_NO_ENGINE;
        message_one(cli, DIAG_NO_ENGINE, known.hint, "the engine %s is not installed%s", asked,
                    e->program ? " (that Python has no package wasmtime)" : "");
    }
    if (status == STATUS_OK && component && e->kind == ENGINE_NODE)
        status = find_jco(cli, e);
    if (status != STATUS_OK)
        engine_free(e);
    return status;
}

/* Appends the output of an engine (ctx is a Buf). */
static bool take_output(void *ctx, const uint8_t *bytes, size_t n) {
    buf_bytes(ctx, bytes, n);
    return true;
}

bool engine_has_memories(const Engine *e) {
    enum { FIRST = 22 };
    if (e->kind != ENGINE_NODE)
        return true;
    const char *argv[] = {e->program, "--version", NULL};
    Buf version = {0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    process_read(argv, (ProcessStreams){.in = null, .out = -1, .err = null, .seconds = MAX_SECONDS},
                 take_output, &version);
    close(null);
    const char *text = buf_cstr(&version);
    bool has = *text == 'v' && atoi(text + 1) >= FIRST; /* v22.1.0 */
    buf_free(&version);
    return has;
}

void engine_failed(const Cli *cli, const Engine *e, const Place *place, int error) {
    message_one(cli, DIAG_CANNOT_RUN, NULL, "%s: %s",
                e                  ? e->program
                : place->directory ? place->directory
                                   : "a temporary directory",
                strerror(error));
}
