/*
 * run/run.h - running programs in engines.
 */
#ifndef WHAMMC_RUN_RUN_H
#define WHAMMC_RUN_RUN_H

#include "cli/cli.h"
#include "cli/metrics.h"
#include "cli/scratch_dir.h"

/* ---- engines (engine.c, runner.c) ---- */

typedef enum EngineKind {
    ENGINE_NODE,     /* runs stdlib/host/run-node.mjs; components: run-component.mjs */
    ENGINE_PYTHON,   /* ... run-wasmtime.py */
    ENGINE_WIZARD,   /* attaches monitors by itself */
    ENGINE_WASMTIME, /* the command wasmtime, for components */
} EngineKind;

typedef struct Engine {
    EngineKind kind;
    bool component; /* the program to be run is a component */
    char *program;  /* its path, on the heap */
    char *jco;      /* Node, for a component: the path of jco, which translates it; on the heap */
} Engine;

/* Finds the requested engine for the program at `app`, by name or path, and checks that it supports
 * the requested clock (see RunnerJob). NULL: Node for modules, wasmtime for components. STATUS_OK,
 * or another status after a message. */
int engine_find(const Cli *cli, const char *asked, const char *clock, const char *app, Engine *e);
void engine_free(Engine *e);
/* Returns the names of known engines, in turn; NULL after the last one. */
const char *engine_known(uint32_t i);
/* Returns whether a known engine is installed, without a message. */
bool engine_is_there(const char *name);
/* Returns the kind of the requested engine, whether it is installed or not. */
EngineKind engine_kind(const char *asked);
/* Returns whether the engine supports several memories: not Node before version 22. */
bool engine_has_memories(const Engine *e);
/* Reports that the engine could not be run (errno `error`); NULL: the files for it could not be
 * made at the place. */
void engine_failed(const Cli *cli, const Engine *e, const Place *place, int error);

typedef Vec(const char *) Words;

/* Separates the output of a program from the reports of monitors (report_catch.c). */
typedef struct Catch {
    Buf held;    /* the possible beginning of a report */
    Buf report;  /* all output from the first report on */
    bool found;  /* there is a report */
    bool inside; /* a line is not complete */
    bool closed; /* standard output cannot be written to any more */
} Catch;

/* Receives printed bytes (a callback for process_read; ctx is a Catch). */
bool catch_take(void *ctx, const uint8_t *bytes, size_t n);
/* Ends the input. */
void catch_end(Catch *c);

/* A program to be run with the operands after APP. */
typedef struct RunnerJob {
    const Engine *engine;
    const Words *options; /* for the engine */
    const char *clock;    /* Node's clock: an option's choice; NULL = its own */
    const Words *world;   /* options of the runner: --dir, --env */
    bool unseen;          /* the program's output is discarded */
    Catch *caught;        /* reports in its output; NULL: all output goes to our streams */
    const void *module;
    size_t len;
    const LibraryOptions *libs; /* its imports besides the runtime; NULL: no runtime either */
    Buf *measured;              /* gets the runner's measurements (cli/metrics.h); NULL: none */
    const char *live; /* an option of the runner (serve/live.h); NULL: no reports are requested */
} RunnerJob;

/* Runs it and reads its report. Returns the status of waitpid(), or -1 after a message. */
int runner_run(const Cli *cli, const RunnerJob *job, Buf *report);

/* ---- components (run_component.c) ---- */

/* Runs a component like runner_run. It writes its report to RUN_REPORT. */
int component_run(const Cli *cli, const RunnerJob *job, Buf *report);

/* ---- the world of programs (world.c) ---- */

/* Appends an option, owned by `words`: the concatenation of both. */
void words_put(Words *words, const char *name, const char *value);

/* Accepts the argument of --dir or --env, as an option for runners and engines; on failure, prints
 * a message and returns false. */
bool world_option(const Cli *cli, Words *world, int key, const char *value);
/* Checks that the engine supports it: STATUS_OK, or another status after a message. */
int world_check(const Cli *cli, const Words *world, const Engine *e);
void world_free(Words *world);

/* The path, relative to a preopened directory, to which a monitor or component must write its
 * report for wizard_run or component_run to find it. */
#define RUN_REPORT "whammc-report.tmp/report"
/* Makes the directory for it; returns its path in the file system. NULL: errno. */
const char *world_report(Place *p);

/* ---- commands that run modules in Node (command.c) ---- */

/* An instrumented module. */
typedef struct CommandModule {
    const char *path; /* of a copy */
    const char *name; /* for people; others can have the same */
    Buf bytes;        /* empty if the copy is gone */
} CommandModule;

/* The reports of all processes and threads of a command. */
typedef struct CommandReports {
    Buf text;                   /* JSON; if there are several reports, with a line before each;
                                   if there were several threads, with one about them */
    Vec(CommandModule) modules; /* each once */
} CommandReports;

/* A command: the operands. */
typedef struct CommandJob {
    const char *program;              /* its path */
    const char *script;               /* a path or the name of a bundled one; NULL = `text` */
    const char *text;                 /* of the script */
    const IncludeOptions *include;    /* NULL = it includes nothing */
    const DefineOptions *definitions; /* its constants */
    /* Gets the reports, if there are any; false: it has failed, after a message. */
    bool (*take)(void *ctx, const CommandReports *r);
    void *ctx;
} CommandJob;

/* Returns the path of the command, on the heap; NULL if `name` is the file of a module, or not
 * found. */
char *command_find(const char *name);
/* Runs it, instrumenting the modules that Node loads in it. Returns its exit status, or ends as it
 * did; another status, after a message, if it could not be run or take() failed. */
int command_run(const Cli *cli, const CommandJob *job);
/* Returns whether an option is about a WebAssembly program or its engine, so that commands do not
 * allow it. */
bool option_is_for_module(int key);

/* ---- Wizard (wizard.c) ---- */

typedef struct WizardJob {
    const Engine *engine;
    const Words *options;
    const Words *world; /* as of RunnerJob */
    const MonitorOptions *monitors;
    const Buf *app;
    bool reports;  /* a monitor writes its report to RUN_REPORT */
    Catch *caught; /* reports in the output; NULL: they are left there */
} WizardJob;

/*
 * Runs a program with monitors in Wizard. The engine's messages about monitors that it could not
 * attach are removed from its standard output; sets *failed, after a message, if the program ran
 * without one of them, or not at all. Otherwise like runner_run.
 */
int wizard_run(const Cli *cli, const WizardJob *job, Buf *report, bool *failed);

#endif
