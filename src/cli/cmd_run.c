/*
 * cli/cmd_run.c - `whammc run`: instruments a program, runs it in an engine, shows its report.
 *
 * The engine runs one of our runners (stdlib/host), which gives the program WASI and takes the
 * report. Everything that is needed lies in a temporary directory while the program runs; the
 * program itself has our standard streams and the current directory.
 */
#include "cli/cli.h"
#include "report/table.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Embedded from stdlib/host. */
extern const unsigned char host_run_node_mjs[], host_run_wasmtime_py[];
extern const unsigned long host_run_node_mjs_size, host_run_wasmtime_py_size;

enum {
    ENGINE = OPTION_LONG,
    LINK,
    TOP,
    REPORT_FORMAT,
    TOP_DEFAULT = 20,
    NOT_LOADED = 126 /* what the runners say */
};

static const Option options[] = {
    {'s', "script", "SCRIPT", "instrument with this script; may be repeated"},
    LIBRARY_OPTION,
    {LINK, "link", "merge|import|auto",
     "make libraries and the runtime part of the program, or let it import them; default: auto, "
     "which imports them if the program would need multi-memory otherwise"},
    {ENGINE, "engine", "ENGINE",
     "run in node, node24, wasmtime, or the program with this path (a Node, or a Python that "
     "has the package wasmtime); default: node"},
    {'o', "output", "REPORT",
     "write the report into this file and show nothing ('-': standard output)"},
    {REPORT_FORMAT, "report-format", "csv|json|csv-rfc4180", "format of that file; default: csv"},
    {TOP, "top", "N", "show the N largest values of each variable, 0 = all; default: 20"},
    {0},
};

typedef struct Settings {
    Vec(const char *) scripts;
    LibraryOptions libs;
    const char *engine, *out;
    whammc_options options;
    uint32_t top;
} Settings;

/* ---- engines ---- */

typedef struct Engine {
    const char *name, *variable, *program;
    bool python;
    const char *hint; /* how to get it */
} Engine;

static const Engine engines[] = {
    {"node", "WHAMMC_NODE", "node", false,
     "install Node.js 18 or later (Debian package: nodejs), or name it: WHAMMC_NODE=/path/to/node"},
    {"node24", "WHAMMC_NODE24", "node24", false,
     "install Node.js 24 and name it: WHAMMC_NODE24=/path/to/node"},
    {"wasmtime", "WHAMMC_WASMTIME_PYTHON", "python3", true,
     "install the Python package (python3 -m venv DIR && DIR/bin/pip install wasmtime) and name "
     "that Python: WHAMMC_WASMTIME_PYTHON=DIR/bin/python"},
};
enum { NENGINES = sizeof engines / sizeof *engines };

/* Whether this Python has the package. */
static bool has_wasmtime(const char *python) {
    const char *argv[] = {
        python, "-c",
        "import importlib.util, sys; sys.exit(not importlib.util.find_spec('wasmtime'))", NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int status = process_run(argv, (ProcessStreams){null, null, null});
    close(null);
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The engine that was asked for; *program is its path (on the heap). STATUS_OK, else it was said.
 */
static int find_engine(const Cli *cli, const char *asked, Engine *e, char **program) {
    const char *names[NENGINES];
    *e = (Engine){.name = asked, .program = asked, .hint = NULL};
    for (int i = 0; i < NENGINES; i++) {
        names[i] = engines[i].name;
        if (strcmp(asked, engines[i].name) == 0)
            *e = engines[i];
    }
    if (!e->hint && !strchr(asked, '/')) {
        const char *guess = cli_guess(asked, names, NENGINES);
        if (guess)
            return cli_usage(cli, "there is no engine '%s'; did you mean '%s'?", asked, guess);
        return cli_usage(
            cli, "there is no engine '%s': it must be node, node24, wasmtime or a path", asked);
    }
    if (!e->hint)
        e->python = strncmp(strrchr(asked, '/') + 1, "python", 6) == 0;
    *program = process_find(e->variable, e->program);
    if (*program && (!e->python || has_wasmtime(*program)))
        return STATUS_OK;
    const char *missing = *program ? " (that Python has no package wasmtime)" : "";
    message_one(cli, DIAG_NO_ENGINE, e->hint, "the engine %s is not there%s", e->name, missing);
    free(*program);
    *program = NULL;
    return STATUS_NO_ENGINE;
}

/* ---- the temporary directory ---- */

typedef struct Workplace {
    char *directory, *module, *runner, *report;
    Vec(char *) libraries; /* files, in the order of the --lib options, then the runtime */
} Workplace;

static bool put_file(const char *path, const void *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (file_write_fd(fd, data, len))
        return close(fd) == 0;
    int e = errno;
    close(fd);
    errno = e;
    return false;
}

static char *join(const char *directory, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static bool put_library(Workplace *p, const void *bytes, size_t len) {
    char name[32];
    snprintf(name, sizeof name, "lib%u.wasm", p->libraries.len);
    char *path = join(p->directory, name);
    vec_push(&p->libraries, path);
    return path && put_file(path, bytes, len);
}

/* What the program imports. */
static bool put_libraries(Workplace *p, const LibraryOptions *libs) {
    for (uint32_t i = 0; i < libs->len; i++)
        if (!put_library(p, libs->at[i].module.data, libs->at[i].module.len))
            return false;
    size_t size;
    const void *runtime = whammc_runtime(&size);
    return put_library(p, runtime, size);
}

/* Makes it, with the module and the runner in it. False: errno; what is there is removed by
 * workplace_remove all the same. */
static bool workplace_make(Workplace *p, bool python, const void *module, size_t len) {
    const char *top = getenv("TMPDIR");
    p->directory = join(top && *top ? top : "/tmp", "whammc-XXXXXX");
    if (!p->directory || !mkdtemp(p->directory))
        return false;
    p->module = join(p->directory, "app.wasm");
    p->runner = join(p->directory, python ? "run-wasmtime.py" : "run-node.mjs");
    p->report = join(p->directory, "report");
    return p->module && p->runner && p->report && put_file(p->module, module, len) &&
           (python ? put_file(p->runner, host_run_wasmtime_py, host_run_wasmtime_py_size)
                   : put_file(p->runner, host_run_node_mjs, host_run_node_mjs_size));
}

static void workplace_remove(Workplace *p) {
    char *files[] = {p->module, p->runner, p->report};
    for (int i = 0; i < 3; i++) {
        if (files[i])
            unlink(files[i]);
        free(files[i]);
    }
    for (uint32_t i = 0; i < p->libraries.len; i++) {
        if (p->libraries.at[i])
            unlink(p->libraries.at[i]);
        free(p->libraries.at[i]);
    }
    vec_free(&p->libraries);
    if (p->directory)
        rmdir(p->directory);
    free(p->directory);
}

/* ---- the report ---- */

static uint32_t terminal_width(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 0;
}

/* Says why there is no report. */
static void explain_silence(const Cli *cli, int wait_status) {
    if (WIFSIGNALED(wait_status))
        message_one(cli, DIAG_NO_REPORT, NULL, "no report: signal %d ended the program",
                    WTERMSIG(wait_status));
    else if (WEXITSTATUS(wait_status) == NOT_LOADED)
        message_one(cli, DIAG_NO_REPORT,
                    "engines have different features, and offer programs nothing but WASI",
                    "no report: the engine could not load the program");
    else
        message_one(cli, DIAG_NO_REPORT, "do the scripts declare 'report' variables?", "no report");
}

static void table(const Cli *cli, const Settings *s, const Report *r, Buf *out) {
    TableOptions look = {.top = s->top,
                         .width = terminal_width(),
                         .colour = cli->colour,
                         .ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0};
    table_print(r, &look, out);
    if (out->len > 1 && memcmp(out->data + out->len - 2, "\n\n", 2) == 0)
        out->len--; /* the empty line behind the last table */
}

/* Shows the last report as tables on standard error, or writes all of them. False if they could not
 * be written. */
static bool deliver(const Cli *cli, const Settings *s, const Buf *text, int wait_status) {
    Str all = {(const char *)text->data, (uint32_t)text->len}; /* file_read stops before 4 GiB */
    Report r = {0};
    Buf out = {0};
    bool found = report_read(&r, all, 0);
    if (!s->out)
        buf_bytes(&out, r.rest.data, r.rest.len); /* what scripts have printed */
    if (!s->out && found) {
        if (out.len && out.data[out.len - 1] != '\n')
            buf_u8(&out, '\n');
        table(cli, s, &r, &out);
    } else if (!found && !all.len) {
        explain_silence(cli, wait_status);
    }
    message_stderr(out.data, out.len);
    buf_free(&out);
    report_free(&r);
    if (!s->out)
        return true;
    /* Programs put an empty line in front, for streams that have other things in them. */
    uint32_t skip = 0;
    if (s->options.format == WHAMMC_FORMAT_JSON && all.len && all.ptr[0] == '\n')
        skip = 1;
    if (s->options.format == WHAMMC_FORMAT_CSV_RFC4180 && all.len > 1 &&
        memcmp(all.ptr, "\r\n", 2) == 0)
        skip = 2;
    return file_write(cli, s->out, all.ptr + skip, all.len - skip);
}

/* ---- running ---- */

typedef Vec(const char *) Words;

/* The runner's options for what the program imports: --lib=NAME=FILE. The words are owned. */
static void library_words(const Settings *s, const Workplace *p, Words *out) {
    for (uint32_t i = 0; i < p->libraries.len; i++) {
        const LibraryOption *o = i < s->libs.len ? &s->libs.at[i] : NULL;
        const char *name = !o ? "whammc_runtime" : o->import_as ? o->import_as : o->name;
        Buf word = {0};
        buf_printf(&word, "--lib=%s=%s", name, p->libraries.at[i]);
        buf_cstr(&word);
        vec_push(out, (const char *)word.data);
    }
}

static int call_runner(const Cli *cli, const Settings *s, const char *program,
                       const Workplace *place) {
    Words libraries = {0}, argv = {0};
    library_words(s, place, &libraries);
    vec_push(&argv, program);
    vec_push(&argv, place->runner);
    for (uint32_t i = 0; i < libraries.len; i++)
        vec_push(&argv, libraries.at[i]);
    vec_push(&argv, place->module);
    vec_push(&argv, place->report);
    for (int i = 0; i <= cli->noperands; i++)
        vec_push(&argv, cli->operands[i]); /* and the NULL behind them */
    int status = process_run(argv.at, (ProcessStreams){-1, -1, -1}), error = errno;
    for (uint32_t i = 0; i < libraries.len; i++)
        free((char *)libraries.at[i]);
    vec_free(&libraries);
    vec_free(&argv);
    errno = error;
    return status;
}

/* Runs the program, with the libraries if it imports them, and reads its report. Gives what
 * waitpid() told, or -1: it was said. */
static int run_engine(const Cli *cli, const Settings *s, const Engine *e, const char *program,
                      bool imports, const void *module, size_t len, Buf *report) {
    Workplace place = {0};
    process_guard();
    bool made = workplace_make(&place, e->python, module, len);
    if (made && imports)
        made = put_libraries(&place, &s->libs);
    int error = errno, status = -1;
    if (made) {
        status = call_runner(cli, s, program, &place);
        error = errno;
        if (status >= 0 && access(place.report, F_OK) == 0)
            file_read(cli, place.report, report);
    }
    if (status < 0)
        message_one(cli, DIAG_CANNOT_RUN, NULL, "%s: %s",
                    made              ? program
                    : place.directory ? place.directory
                                      : "a temporary directory",
                    strerror(error));
    workplace_remove(&place);
    process_unguard();
    return status;
}

/* How many messages of the library have this tag. */
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

/* Whether there is anything to run; else says so. */
static bool can_run(const Cli *cli, whammc *w) {
    if (!count_messages(w, "no-flush-point"))
        return true;
    message_one(cli, DIAG_CANNOT_RUN,
                "instrument it with `whammc instr --host=js`, load it where its exports are "
                "called and connect it with whammc.js",
                "%s has no main, _start or start function that could be run",
                file_title(cli->operands[0]));
    return false;
}

/* The exit status, and the report if the program was run. */
static int instrument_and_run(const Cli *cli, const Settings *s, whammc *w, const Buf *app,
                              const Engine *e, const char *program, int *wait_status, Buf *report) {
    uint8_t *out;
    size_t size;
    const char *name = file_title(cli->operands[0]);
    progress_start("instrumenting", name, app->len);
    whammc_status result =
        whammc_instrument(w, name, app->data, app->len, &s->options, &out, &size);
    progress_end();
    /* Nobody keeps the module: what was dropped from it does not matter. */
    bool quiet =
        result == WHAMMC_OK && count_messages(w, "stale-section") == whammc_warning_count(w);
    int status = quiet ? STATUS_OK : message_library(cli, w, result);
    if (status == STATUS_OK && !can_run(cli, w))
        status = STATUS_ERROR;
    if (status == STATUS_OK) {
        bool imports = whammc_linked(w) == WHAMMC_LINK_IMPORT;
        *wait_status = run_engine(cli, s, e, program, imports, out, size, report);
        status = *wait_status < 0 ? STATUS_ERROR : STATUS_OK;
    }
    whammc_release(out);
    return status;
}

/* Reads everything and runs it; in the end as the program ended. */
static int run_program(const Cli *cli, Settings *s, const Engine *e, const char *program) {
    whammc *w = whammc_new();
    Buf app = {0}, report = {0};
    bool ok = library_read(cli, &s->libs);
    int status = STATUS_ERROR, wait_status = 0;
    library_give(cli, &s->libs, w, s->out && strcmp(s->out, "-") == 0);
    for (uint32_t i = 0; i < s->scripts.len; i++)
        ok &= file_add_script(cli, w, s->scripts.at[i]);
    if (file_read_module(cli, cli->operands[0], &app) && ok)
        status = instrument_and_run(cli, s, w, &app, e, program, &wait_status, &report);
    if (status == STATUS_OK) {
        bool written = deliver(cli, s, &report, wait_status);
        status = process_imitate(wait_status);
        if (!written && status == STATUS_OK)
            status = STATUS_ERROR;
    }
    whammc_free(w);
    buf_free(&app);
    buf_free(&report);
    return status;
}

/* False: wrong usage, which was said. */
static bool set(const Cli *cli, Settings *s, int key, const char *value) {
    switch (key) {
    case 's': vec_push(&s->scripts, value); break;
    case 'o': s->out = value; break;
    case OPTION_LIBRARY: return library_option(cli, &s->libs, value);
    case LINK:
        s->options.link = (whammc_link)option_choice(&cmd_run, key, value);
        s->options.host = s->options.link == WHAMMC_LINK_IMPORT ? WHAMMC_HOST_WASI : WHAMMC_HOST_JS;
        break;
    case ENGINE: s->engine = value; break;
    case TOP: return cli_count(cli, "top", value, &s->top);
    case REPORT_FORMAT:
        s->options.format = (whammc_format)option_choice(&cmd_run, key, value);
        break;
    }
    return true;
}

static int run(Cli *cli) {
    Settings s = {.engine = "node",
                  .top = TOP_DEFAULT,
                  .options = {.host = WHAMMC_HOST_JS, .link = WHAMMC_LINK_AUTO}};
    const char *value;
    int key;
    bool ok = true;
    while (ok && (key = cli_option(cli, &value)) >= 0)
        ok = set(cli, &s, key, value);
    int status = !ok ? STATUS_USAGE : cli_option_status(key);
    if (!s.out) /* what tables are made of; maps cannot be taken apart in CSV */
        s.options.format = WHAMMC_FORMAT_JSON;
    if (ok && key == ARGS_END)
        status = cli_check_inputs(cli, s.scripts.at, s.scripts.len, false);
    if (ok && key == ARGS_END && status == STATUS_OK) {
        Engine engine;
        char *program = NULL;
        status = find_engine(cli, s.engine, &engine, &program);
        if (status == STATUS_OK)
            status = run_program(cli, &s, &engine, program);
        free(program);
    }
    vec_free(&s.scripts);
    library_free(&s.libs);
    return status;
}

const Command cmd_run = {
    .name = "run",
    .usage = "-s SCRIPT APP [ARGUMENT]...",
    .summary = "instrument a program, run it and show its report",
    .about =
        "Instrument the program APP, run it with the ARGUMENTs in an engine that gives it WASI, "
        "and show its report as tables on standard error when it has ended. Standard streams "
        "and exit status are those of the program; it may open files in the current directory. "
        "Options end at APP.",
    .options = options,
    .examples = "  whammc run -s hotness.whamm app.wasm input.txt\n"
                "  whammc run -s calls.whamm --engine=wasmtime -o calls.csv app.wasm\n",
    .stops = true,
    .run = run,
};
