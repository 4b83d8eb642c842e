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
    ENGINE_NODE,   /* runs stdlib/host/run-node.mjs */
    ENGINE_PYTHON, /* ... run-wasmtime.py */
    ENGINE_WIZARD, /* attaches monitors by itself */
} EngineKind;

typedef struct Engine {
    EngineKind kind;
    char *program; /* its path, on the heap */
} Engine;

/* Finds the requested engine, by name or path, and checks that it supports the requested clock (see
 * RunnerJob). STATUS_OK, or another status after a message. */
int engine_find(const Cli *cli, const char *asked, const char *clock, Engine *e);
/* The kind of an engine by what the user has asked for, whether it is there or not. */
EngineKind engine_kind(const char *asked);
/* Whether programs can have several memories there: not in Node before version 22. */
bool engine_has_memories(const Engine *e);
/* Reports that it could not be run (errno `error`); NULL: what it needs could not be made at the
 * place. */
void engine_failed(const Cli *cli, const Engine *e, const Place *place, int error);

typedef Vec(const char *) Words;

/* Separates what a program prints from the reports of monitors (report_catch.c). */
typedef struct Catch {
    Buf held;    /* what may be the beginning of a report */
    Buf report;  /* all from there on */
    bool found;  /* there is one */
    bool inside; /* a line is not complete */
    bool closed; /* standard output cannot be written to any more */
} Catch;

/* Receives printed bytes (a callback for process_read; ctx is a Catch). */
bool catch_take(void *ctx, const uint8_t *bytes, size_t n);
/* Nothing more comes. */
void catch_end(Catch *c);

/* A program to be run with the operands after APP. */
typedef struct RunnerJob {
    const Engine *engine;
    const Words *options; /* for the engine */
    const char *clock;    /* where Node gets the time from: an option's choice; NULL = its own */
    const Words *world;   /* options of the runner: --dir, --env */
    bool unseen;          /* what the program prints goes nowhere */
    Catch *caught;        /* reports in what it prints; NULL: all goes where ours goes */
    const void *module;
    size_t len;
    const LibraryOptions *libs; /* what it imports besides the runtime; NULL: not even that */
    Buf *measured;    /* gets what the runner has measured (cli/metrics.h); NULL: it need not */
    const char *live; /* an option of the runner (serve/live.h); NULL: it is asked for no reports */
} RunnerJob;

/* Runs it and reads its report. Returns the status of waitpid(), or -1 after a message. */
int runner_run(const Cli *cli, const RunnerJob *job, Buf *report);

/* ---- what programs see (world.c) ---- */

/* Takes the argument of --dir or --env, as an option for runners and engines; false if it is wrong,
 * which was said. */
bool world_option(const Cli *cli, Words *world, int key, const char *value);
/* STATUS_OK unless the engine cannot do it, which was said. */
int world_check(const Cli *cli, const Words *world, const Engine *e);
void world_free(Words *world);

/* ---- commands of which Node runs something (command.c) ---- */

/* A module that was instrumented. */
typedef struct CommandModule {
    const char *path; /* of a copy */
    const char *name; /* for people; others can have the same */
    Buf bytes;        /* empty if that is gone */
} CommandModule;

/* What all processes and threads of a command have reported. */
typedef struct CommandReports {
    Buf text;                   /* JSON; if there are several reports, with a line before each;
                                   if there were several threads, with one about them */
    Vec(CommandModule) modules; /* each once */
} CommandReports;

/* A command: the operands. */
typedef struct CommandJob {
    const char *program;              /* its path */
    const char *script;               /* a bundled one */
    const DefineOptions *definitions; /* its constants */
    /* Gets what was reported, unless that is nothing; false: it has failed, which was said. */
    bool (*take)(void *ctx, const CommandReports *r);
    void *ctx;
} CommandJob;

/* The path of the command, on the heap; NULL if `name` is none, but the file of a module or
 * nothing. */
char *command_find(const char *name);
/* Runs it with the modules instrumented that Node loads in it. Returns its exit status, or ends as
 * it did; another status after a message if it could not be run or take() failed. */
int command_run(const Cli *cli, const CommandJob *job);
/* Whether an option is about a program in WebAssembly or the engine that runs it: commands cannot
 * have it. */
bool option_is_for_module(int key);

/* ---- Wizard (wizard.c) ---- */

typedef struct WizardJob {
    const Engine *engine;
    const Words *options;
    const Words *world; /* as of RunnerJob */
    const MonitorOptions *monitors;
    const Buf *app;
    bool reports;  /* a monitor writes its report to WIZARD_REPORT */
    Catch *caught; /* reports in what is printed; NULL: they are left there */
} WizardJob;

/* Where a monitor has to write its report (relative to some preopened directory) for wizard_run to
 * find it. */
#define WIZARD_REPORT "whammc-report.tmp/report"

/*
 * Runs a program with monitors in Wizard. The engine's messages about monitors that it could not
 * attach are taken out of its standard output: *failed if the program ran without one of them, or
 * not at all, which was said. Otherwise like runner_run.
 */
int wizard_run(const Cli *cli, const WizardJob *job, Buf *report, bool *failed);

#endif
