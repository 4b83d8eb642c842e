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

/* Returns whether the format has one of the traits of whammc_report_format_traits. */
bool format_has(WhammcReportFormat format, unsigned trait);
/* Accepts the argument of --label; if it is wrong, prints a message and returns false. */
bool label_option(const Cli *cli, Words *labels, const char *value);

/* ---- tables (show.c) ---- */

enum { SHOW_TOP = 20 }; /* rows of a variable by default */

/* The appearance of tables: the members of WhammcReportOptions with command-line options. */
typedef WhammcReportOptions Look;
/* Accepts one of the options for tables. */
void look_option(const Cli *cli, Look *look, int key, const char *value);
/* Returns whether source locations are needed. */
bool look_asks_lines(const Look *look);

/* Returns the columns of a terminal; 0 if `fd` is none. */
uint32_t show_width(int fd);
/* Returns whether terminals show nothing but ASCII. */
bool show_is_ascii(void);

/* ---- monitor modules for `info` (monitor_info.c) ---- */

/* Returns whether the operand of `info` is a file with a module, not a rule. */
bool monitor_is_file(const char *operand);
/* Shows the probes of a monitor; `verbose`: with the meanings of the values. Returns the exit
 * status. */
int monitor_show(const Cli *cli, const char *path, bool verbose);

/* ---- the reference for `info` (reference.c, markdown.c) ---- */

/* Shows the topics. Returns the exit status. */
int reference_topics(bool json);
/* Shows the entries of a topic or, for other operands, those of these words, perhaps after a topic;
 * returns whether there are any. */
bool reference_show(const char *const *operands, uint32_t n, bool json);
/* Returns the topic or entry that was probably meant, or NULL. The caller frees it. */
char *reference_guess(const char *word);
/* Appends a member of a JSON object, `"name":"text"`, a comma before it unless it is the first. */
void reference_put_member(Buf *out, const char *name, const char *text);

/* Shows for each probe of a script, or for one with a match rule that counts, how many sites it has
 * in the program at `path`, and whether it only counts (cmd_list.c). Returns the exit status. */
int list_costs(const Cli *cli, const char *script, const char *path);

/* Appends Markdown as text in lines of at most `width` columns. */
void markdown_put(Str text, uint32_t width, Buf *out);

/* ---- reports while a program runs (serving.c) ---- */

/* Options of the commands that can serve, push or show reports of a running program; zeroed: none
 * given. */
typedef struct HttpOptions {
    const char *address, *token; /* of a server */
    const char *push;            /* the URL of a collector */
    uint32_t seconds;            /* between two profiles for the collector; 0 = not given */
    uint32_t watch;              /* seconds between two tables; 0 = none are wanted */
    WhammcReportOptions look;    /* of these tables */
    const char *file;            /* takes the reports instead, in `format`; NULL = tables */
    WhammcReportFormat format;
} HttpOptions;

/* Accepts the value of one of them; on failure, prints a message and returns false. */
bool http_option(const Cli *cli, HttpOptions *o, int key, const char *value);
/* Returns whether reports may be requested while the program runs. */
bool http_wanted(const HttpOptions *o);
/* Checks whether they can be used: STATUS_OK, or another status after a message. */
int http_check(const Cli *cli, const HttpOptions *o);

typedef struct Running Running;
typedef struct Serving {
    Live *live;
    Serve *serve;
    Push *push;
    LiveTimer watch;
} Serving;
/* Starts the server, printing its URL, the pushing of profiles, and the tables, as requested.
 * Returns STATUS_OK, or another status after a message. The caller keeps *s where it is. */
int serving_begin(const Running *r, Serving *s);
/* Ends all; `report`: the program's last report, or empty. */
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
    bool unseen;             /* the program's output is discarded */
    Metrics *metrics;        /* NULL: nothing is measured */
    const HttpOptions *http; /* NULL: no reports while it runs */
    ServedProgram served;    /* the program, for http; serving.c sets title and module */
    Catch caught;            /* bound: reports in its output */
    whammc *w;               /* owned, as the following */
    Buf app, report;
    int wait_status; /* from waitpid() */
};

/* Prepares a run with a bundled script, whose report is JSON: sets w, app, silent and *made, for
 * running_instrumented. The engine must be set before. */
void running_bundled(Running *r, const char *script, const Buf *app, whammc_options *made);
/* Instruments the program with the scripts of w and runs it. Returns the exit status; STATUS_OK: it
 * has run. */
int running_instrumented(Running *r, const whammc_options *options, const LibraryOptions *libs);
/* Runs the output of whammc_instrument or whammc_bind, if `result` is WHAMMC_OK. */
int running_made(Running *r, whammc_status result, const uint8_t *module, size_t size,
                 const LibraryOptions *imports);
/* Prints why there is no report. */
void running_explain_silence(const Running *r);
/* Writes the reports, which are in this format, into a file. On failure, prints a message and
 * returns false. */
bool running_save(const Running *r, const char *path, whammc_format format);
void running_free(Running *r);

/* ---- heap profiles (profile_heap.c) ---- */

typedef struct HeapOptions {
    bool on;
    const char *value;     /* the value in views; NULL = bytes allocated */
    uint32_t sample_bytes; /* 0 = all allocations */
    Words allocators;      /* "NAME:size@0" */
} HeapOptions;

/* Accepts the argument of --alloc; if it is wrong, prints a message and returns false. */
bool heap_option_alloc(const Cli *cli, HeapOptions *h, const char *value);
/* Defines the constants of the script heap. */
void heap_define(const Cli *cli, const HeapOptions *h, WhammcModule *m, whammc *w);

/* ---- functions without entries of their own in profiles (profile_left_out.c) ---- */

typedef struct LeftOut {
    WhammcModule *m;     /* the program */
    const bool *untimed; /* by function: not timed */
    bool mangled;        /* names of C++ and Rust functions stay as they are */
    uint32_t top;        /* the maximum number of functions without a frame; 0 = all */
} LeftOut;

/* Appends the line with the functions that were not timed, if there are any. */
void left_out_untimed(const LeftOut *l, Buf *out);
/* Appends the line with the other functions of `app` that have no frame on the shadow stack: w's
 * script `sample` pushes none, as they are small. */
void left_out_frames(const LeftOut *l, whammc *w, const Buf *app, Buf *out);

/* ---- functions that are not timed (exclude.c) ---- */

typedef struct Exclusion {
    Words globs;       /* of names, as in the program or as in the source */
    uint32_t min_size; /* shorter bodies, in bytes, are left out */
    const char *from;  /* a file with a report of calls; NULL = none */
} Exclusion;

/* Accepts the argument of one of the options; on failure, prints a message and returns false. */
bool exclude_option(const Cli *cli, Exclusion *x, int key, const char *value);
/* Returns whether any was given. */
bool exclude_given(const Exclusion *x);
/* Checks that no definition is for the constant that the options set: STATUS_OK, or another status
 * after a message. */
int exclude_check(const Cli *cli, const Exclusion *x, const DefineOptions *definitions);
/* Sets the constant of the scripts of w to the functions of the program to leave untimed, if there
 * was such an option. Returns false, after a message, if the scripts have no such constant, or the
 * report of an earlier run could not be used. */
bool exclude_give(const Cli *cli, const Exclusion *x, const Buf *app, whammc *w);

/* Appends the options --exclude equivalent to --exclude-from=REPORT for this program, one a line,
 * for functions with names. On failure, prints a message and returns false. */
bool exclude_suggest(const Cli *cli, const char *report, const Buf *app, Buf *out);

/* Appends the numbers of the functions that match the globs; returns whether there are any. */
bool exclude_named(const Exclusion *x, WhammcModule *m, Buf *out);

/*
 * Marks the functions of `app`, read as `m`, to leave untimed. With counted calls (else NULL),
 * these include tiny functions with many calls; without, there is a warning about globs that match
 * no function. Returns false, after a message, if the report of an earlier run could not be used.
 */
bool exclude_mark(const Cli *cli, const Exclusion *x, const Buf *app, WhammcModule *m,
                  const WhammcProfile *counted, bool *marked);
/* Appends the numbers of the marked functions: "3,17-20". */
void exclude_put(const WhammcModule *m, const bool *marked, Buf *out);

/* ---- programs with counts, and their sources (source_files.c) ---- */

/* A program of a report. */
typedef struct ProgramFile {
    Buf app;
    DebugOptions debug;
} ProgramFile;
typedef Vec(ProgramFile *) ProgramFiles;

/* Reads the program at `path`, `name` in messages, and adds it to the report; `names` is the
 * argument of --names or NULL, `debug` has the given options. The list must live as long as the
 * report. On failure, prints a message and returns false. */
bool program_add(const Cli *cli, ProgramFiles *all, const char *path, const char *name,
                 const char *names, const DebugOptions *debug, WhammcReport *r);
void programs_free(ProgramFiles *all);

typedef struct SourceFiles {
    const char *app; /* the program, or a title for several */
    int64_t made;    /* when it was written, 0 = unknown; of several, the last one */
    uint32_t newer;  /* the number of newer files read */
    Buf first;       /* the path of one of them */
    Buf text;        /* of the file that was read last */
} SourceFiles;

/* `app` is borrowed. */
void source_files_begin(SourceFiles *s, const char *app);
/* Adds a program, by its path, to which the sources may also belong. */
void source_files_also(SourceFiles *s, const char *path);
/* The callback `source` of WhammcAnnotateOptions and WhammcCoverageOptions; ctx is the SourceFiles.
 */
const void *source_files_text(void *ctx, const char *path, size_t *size);
/* Warns if any file was newer than the program, and frees the texts. */
void source_files_end(const Cli *cli, SourceFiles *s);

/* ---- coverage (covering.c) ---- */

/* A program whose coverage is shown. */
typedef struct CoveredProgram {
    const char *name; /* its path or another name */
    const char *path; /* of its file */
    Buf bytes;        /* the contents of the file */
    DebugOptions debug;
} CoveredProgram;

/* A request for coverage. */
typedef struct CoverageRequest {
    Vec(CoveredProgram *) programs;
    const char *title;       /* of the programs together; NULL = the name of the first one */
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

/* Adds a program; the texts are borrowed. A NULL name: the path is the name. */
void covering_program(CoverageRequest *s, const char *path, const char *name);
/* Prints the messages of the last call; returns the exit status for `status`. */
int covering_messages(const Cli *cli, WhammcCoverage *c, whammc_status status);
/* Reads the programs. Returns the exit status. */
int covering_open(const Cli *cli, CoverageRequest *s, WhammcCoverage *c);
/* Writes the coverage. Returns the exit status, STATUS_ERROR also if too little was executed. */
int covering_show(const Cli *cli, const CoverageRequest *s, WhammcCoverage *c);
/* Checks that the output is none of the object files: STATUS_OK, or another status after a
 * message. */
int covering_check_objects(const Cli *cli, const char *out, const Words *objects);
/* Reads saved reports and shows their coverage. Returns the exit status. */
int covering_saved(const Cli *cli, CoverageRequest *s);
void covering_free(CoverageRequest *s);

#endif
