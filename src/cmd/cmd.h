/*
 * cmd/cmd.h - shared by several commands.
 */
#ifndef WHAMMC_CMD_CMD_H
#define WHAMMC_CMD_CMD_H

#include "run/run.h"
#include "serve/push.h"
#include "serve/serve.h"
#include "whammc/coverage.h"
#include "whammc/module.h"

/* Whether the format has one of the traits of whammc_report_format_traits. */
bool format_has(WhammcReportFormat format, unsigned trait);
/* Accepts the argument of --label; if it is wrong, prints a message and returns false. */
bool label_option(const Cli *cli, Words *labels, const char *value);

/* ---- tables (show.c) ---- */

enum { SHOW_TOP = 20 }; /* rows of a variable, unless something else is asked for */

/* How the tables of a command look: of the members of WhammcReportOptions, those that have options.
 */
typedef WhammcReportOptions Look;
/* Accepts one of these options. */
void look_option(const Cli *cli, Look *look, int key, const char *value);
/* Whether source locations are needed. */
bool look_asks_lines(const Look *look);

/* The columns of a terminal; 0 if it is none. */
uint32_t show_width(int fd);
/* Whether terminals show nothing but ASCII. */
bool show_is_ascii(void);

/* ---- monitor modules that `info` shows (monitor_info.c) ---- */

/* Whether the operand of `info` is a file with a module, not a rule. */
bool monitor_is_file(const char *operand);
/* Shows the probes of a monitor; `verbose`: what the values mean, too. Returns the exit status. */
int monitor_show(const Cli *cli, const char *path, bool verbose);

/* ---- reports while a program runs (serving.c) ---- */

/* Options of the commands that can serve or push them; zeroed: none are given. */
typedef struct HttpOptions {
    const char *address, *token; /* of a server */
    const char *push;            /* the URL of a collector */
    uint32_t seconds;            /* between two profiles for it; 0 = not given */
} HttpOptions;

/* Takes a value of one of them; false after a message. */
bool http_option(const Cli *cli, HttpOptions *o, int key, const char *value);
/* Whether anybody may want a report while the program runs. */
bool http_wanted(const HttpOptions *o);
/* Whether they can be used: STATUS_OK, or another status after a message. */
int http_check(const Cli *cli, const HttpOptions *o);

typedef struct Running Running;
typedef struct Serving {
    Live *live;
    Serve *serve;
    Push *push;
} Serving;
/* Starts the server, printing its URL, and the pushing of profiles, if requested. STATUS_OK, or
 * another status after a message. */
int serving_begin(const Running *r, Serving *s);
/* `report`: the last one of the program; empty: there is none. */
void serving_end(Serving *s, const Buf *report);

/* ---- a run of a program (running.c) ---- */

struct Running {
    const Cli *cli;
    const Engine *engine;
    const Words *engine_options;
    const char *clock;       /* as of RunnerJob */
    const Words *world;      /* " */
    bool bound;              /* w has monitors, not scripts */
    bool silent;             /* warnings about the instrumented program are not shown */
    bool unseen;             /* what the program prints goes nowhere */
    Metrics *metrics;        /* NULL: nothing is measured */
    const HttpOptions *http; /* NULL: no reports while it runs */
    ServedProgram served;    /* what is known of the program for that; title and module are set */
    Catch caught;            /* bound: reports in what it prints */
    whammc *w;               /* owned, as what follows */
    Buf app, report;
    int wait_status; /* as waitpid() told */
};

/* Prepares a run with a script that comes with whammc, whose report is JSON: sets w, app, silent
 * and *made, for running_instrumented. The engine is set before. */
void running_bundled(Running *r, const char *script, const Buf *app, whammc_options *made);
/* Instruments the program with the scripts of w and runs it. Returns the exit status: STATUS_OK
 * means that it has run. */
int running_instrumented(Running *r, const whammc_options *options, const LibraryOptions *libs);
/* Runs what whammc_instrument or whammc_bind has made, if it could. */
int running_made(Running *r, whammc_status result, const uint8_t *module, size_t size,
                 const LibraryOptions *imports);
/* Says why there is no report. */
void running_explain_silence(const Running *r);
/* Writes the reports, of this format, into a file. On failure, prints a message and returns false.
 */
bool running_save(const Running *r, const char *path, whammc_format format);
void running_free(Running *r);

/* ---- heap profiles (profile_heap.c) ---- */

typedef struct HeapOptions {
    bool on;
    const char *value;     /* what views show; NULL = bytes allocated */
    uint32_t sample_bytes; /* 0 = all allocations */
    Words allocators;      /* "NAME:size@0" */
} HeapOptions;

/* Accepts the argument of --alloc; if it is wrong, prints a message and returns false. */
bool heap_option_alloc(const Cli *cli, HeapOptions *h, const char *value);
/* Defines the constants of the script heap. */
void heap_define(const Cli *cli, const HeapOptions *h, WhammcModule *m, whammc *w);

/* ---- functions that a profile does not show on their own (profile_left_out.c) ---- */

typedef struct LeftOut {
    WhammcModule *m;     /* the program */
    const bool *untimed; /* by function: it was not timed */
    bool mangled;        /* names of C++ and Rust functions stay as they are */
    uint32_t top;        /* how many of those without a frame are shown; 0 = all */
} LeftOut;

/* The line that names those that were not timed; nothing if there are none. */
void left_out_untimed(const LeftOut *l, Buf *out);
/* The line that names the others that have no frame on the shadow stack, as they are small: those
 * in `app` of which the script `sample`, which w has, does not push one. */
void left_out_frames(const LeftOut *l, whammc *w, const Buf *app, Buf *out);

/* ---- functions that are not timed (exclude.c) ---- */

typedef struct Exclusion {
    Words globs;       /* of names, as in the program or as in the source */
    uint32_t min_size; /* shorter bodies, in bytes, are left out */
    const char *from;  /* a file with a report of calls; NULL = none */
} Exclusion;

/* Accepts the argument of one of the options; if it is wrong, prints a message and returns false.
 */
bool exclude_option(const Cli *cli, Exclusion *x, int key, const char *value);
/* Whether there was one. */
bool exclude_given(const Exclusion *x);
/* STATUS_OK unless a definition is for the constant that the options are for, which was said. */
int exclude_check(const Cli *cli, const Exclusion *x, const DefineOptions *definitions);
/* Returns the constant of the scripts of w the functions of the program that are not to be timed,
 * if there was such an option. False if the scripts have no such constant, or the report of an
 * earlier run could not be used, which was said. */
bool exclude_give(const Cli *cli, const Exclusion *x, const Buf *app, whammc *w);

/* Appends the options --exclude that --exclude-from=REPORT stands for with this program, one a
 * line, without functions that have no name. False after a message. */
bool exclude_suggest(const Cli *cli, const char *report, const Buf *app, Buf *out);

/* Appends the numbers of the functions that the globs fit; whether there are any. */
bool exclude_named(const Exclusion *x, WhammcModule *m, Buf *out);

/*
 * Marks the functions of `app`, read as `m`, that are not to be timed. If calls have been counted
 * (else NULL), these are also those with many calls that are tiny; else there is a warning of globs
 * that fit no function. False if the report of an earlier run could not be used, which was said.
 */
bool exclude_mark(const Cli *cli, const Exclusion *x, const Buf *app, WhammcModule *m,
                  const WhammcProfile *counted, bool *marked);
/* Appends the numbers of the functions that are marked: "3,17-20". */
void exclude_put(const WhammcModule *m, const bool *marked, Buf *out);

/* ---- programs with counts, and their sources (source_files.c) ---- */

/* A program that a report is about. */
typedef struct ProgramFile {
    Buf app;
    DebugOptions debug;
} ProgramFile;
typedef Vec(ProgramFile *) ProgramFiles;

/* Reads the program at `path`, which messages call `name`, and adds it to the report; `names` is
 * the argument of --names or NULL, `debug` has the options that are given. The list must live as
 * long as the report. False after a message. */
bool program_add(const Cli *cli, ProgramFiles *all, const char *path, const char *name,
                 const char *names, const DebugOptions *debug, WhammcReport *r);
void programs_free(ProgramFiles *all);

typedef struct SourceFiles {
    const char *app; /* the program, or what several are called */
    int64_t made;    /* when it was written, 0 = unknown; of several, the last one */
    uint32_t newer;  /* files that were read and are newer */
    Buf first;       /* the path of one of them */
    Buf text;        /* of the file that was read last */
} SourceFiles;

/* `app` is borrowed. */
void source_files_begin(SourceFiles *s, const char *app);
/* The sources may be those of the program with this path, too. */
void source_files_also(SourceFiles *s, const char *path);
/* The callback `source` of WhammcAnnotateOptions and WhammcCoverageOptions; ctx is the SourceFiles.
 */
const void *source_files_text(void *ctx, const char *path, size_t *size);
/* Warns if any file was newer than the program, and frees the texts. */
void source_files_end(const Cli *cli, SourceFiles *s);

/* ---- coverage (covering.c) ---- */

/* A program whose coverage is shown. */
typedef struct CoveredProgram {
    const char *name; /* its path, or what else it is called */
    const char *path; /* of its file */
    Buf bytes;        /* what the file has */
    DebugOptions debug;
} CoveredProgram;

/* What is asked for. */
typedef struct CoverageRequest {
    Vec(CoveredProgram *) programs;
    const char *title;       /* what they are called together; NULL = by the first one */
    Words from;              /* saved reports; none: they come from elsewhere */
    Words include, exclude;  /* patterns of paths */
    Words objects;           /* object files and archives */
    const char *out, *names; /* NULL = none */
    const char *fail_under;  /* NULL, or `least` as it was given */
    double least;            /* per cent of the lines */
    WhammcCoverageFormat format;
    bool all_files, no_markers, no_demangle;
    DebugOptions debug; /* of the only program, or of the largest */
} CoverageRequest;

/* Adds a program; the texts are borrowed. The name is NULL if that is the path. */
void covering_program(CoverageRequest *s, const char *path, const char *name);
/* Prints the messages of the last call; the exit status for `status`. */
int covering_messages(const Cli *cli, WhammcCoverage *c, whammc_status status);
/* Reads the programs. The exit status. */
int covering_open(const Cli *cli, CoverageRequest *s, WhammcCoverage *c);
/* Writes the coverage; the exit status says whether enough was executed, too. */
int covering_show(const Cli *cli, const CoverageRequest *s, WhammcCoverage *c);
/* The output is none of the object files: STATUS_OK, or another status after a message. */
int covering_check_objects(const Cli *cli, const char *out, const Words *objects);
/* All of it, from saved reports. */
int covering_saved(const Cli *cli, CoverageRequest *s);
void covering_free(CoverageRequest *s);

#endif
