/*
 * whammc/report.h - read reports of instrumented programs, access their values, and convert them to
 * other report formats, tables, profiles and pictures.
 *
 *     WhammcReport *r = whammc_report_new();
 *     uint8_t *out = NULL;
 *     size_t size;
 *     if (whammc_report_read(r, "tree.json", text, len, 0) == WHAMMC_OK)
 *         whammc_report_write(r, WHAMMC_REPORT_SVG, NULL, &out, &size);
 *     fputs(whammc_report_messages(r, 0), stderr);
 *     whammc_release(out);
 *     whammc_report_free(r);
 *
 * docs/reports.md describes the formats and the columns of reports.
 *
 * OWNERSHIP. Arguments are copied. Results belong to the WhammcReport, except for the buffers of
 * whammc_report_write, which are released with whammc_release.
 *
 * ERRORS. Functions that can fail return a whammc_status; whammc_report_messages has the details.
 * Reports and modules may be any bytes.
 *
 * THREADS. Nothing here prints, exits or has global state. Different reports can be used by
 * different threads at the same time; one report by one thread at a time, also for reading values.
 * Results do not depend on the locale of the calling program.
 */
#ifndef WHAMMC_REPORT_H
#define WHAMMC_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "whammc/whammc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WhammcReport WhammcReport;

/* Returns an empty report; never NULL. whammc_report_free accepts NULL. */
WhammcReport *whammc_report_new(void);
void whammc_report_free(WhammcReport *r);

/* ---- reading ---- */

/*
 * Reads a report from a text; its format, one of whammc_format, is detected. The text may be the
 * whole output of a program: lines that are not part of a report are skipped. It can have reports
 * of several instances and modules (docs/reports.md, "Parts"): instances of a module are added up,
 * modules are kept apart. `which` selects among several reports of an instance, from 1; an instance
 * with fewer reports contributes its last one. 0 = the last. `name` is the text's name in messages.
 *
 * A text without a report, or without the requested one, is an error; then the report has no rows.
 * So is a text of 4 GiB or more. An empty text, or one of line ends only, is a report without rows,
 * as in JSON. A truncated report is replaced by an earlier one of the instance, or reduced to its
 * complete rows if it is the only report of its module, with a warning.
 *
 * Reading again replaces everything but the programs.
 *
 * A program instrumented with WHAMMC_HOST_NONE has its report in the memory that it exports as
 * `whammc:memory`: pass the `whammc:report_len` bytes at `whammc:report_ptr`.
 */
whammc_status whammc_report_read(WhammcReport *r, const char *name, const void *bytes, size_t size,
                                 uint32_t which);

/*
 * Adds up the reports of several runs of a program that was instrumented with the same scripts:
 * reads another report, as whammc_report_read does, and adds its values to r. Numbers are added,
 * truth values are or'ed, the first of several texts is kept; a script can request otherwise in a
 * text `merge` (docs/reports.md). Call tree nodes with the same callers are merged. Memory use
 * depends on the number of keys and nodes, not of reports. A module that r lacks is added to it if
 * both texts identify their modules. Otherwise it is an error if the report does not have the same
 * variables at the same sites; then r must be read again.
 */
whammc_status whammc_report_add(WhammcReport *r, const char *name, const void *bytes, size_t size,
                                uint32_t which);

/* Subtracts the values of another report, read as by whammc_report_add: with an earlier report of
 * the same run, the result covers the time in between. r keeps its maxima, minima, truth values and
 * texts. Unsigned numbers do not become less than 0. */
whammc_status whammc_report_subtract(WhammcReport *r, const char *name, const void *bytes,
                                     size_t size, uint32_t which);

/*
 * Reads the report of a program instrumented with WHAMMC_LINK_IMPORT from its image and its values.
 * The program passes these to the functions `open`, `put64`, `put32`, `skip` and `close` of the
 * module "whammc_runtime" (docs/linking.md): instead of the module of whammc_runtime, a host can
 * supply its own functions, which collect the bytes, and a `setup` that does nothing. The image
 * does not include the padding to a multiple of 8. It must come from this version of whammc.
 * Strings and maps of scripts are in the memory of whammc's runtime, not among the values: a report
 * with any is an error, except for maps with known keys (`cells` of whammc_map).
 */
whammc_status whammc_report_read_image(WhammcReport *r, const char *name, const void *image,
                                       size_t size, const void *values, size_t values_size);

/*
 * Sets whether reports read into r from now on keep threads apart: the counts of all instances of a
 * module in one thread are added up, and threads are listed in the order of their numbers; the main
 * thread has the number 0. Threads with the same number in several processes or texts are one. By
 * default all threads are added up.
 */
void whammc_report_by_thread(WhammcReport *r, bool by_thread);

/* Returns the number of reports in the text; with several instances, the largest number of any. */
size_t whammc_report_count(const WhammcReport *r);
/* Returns the number of threads that began, according to the text; sets *complete, unless NULL, to
 * the number of them that reported all their counts. 0: the text does not mention threads. */
size_t whammc_report_threads(const WhammcReport *r, size_t *complete);
/* Returns whether the report ends in the middle of a row, or is known to end too early. */
bool whammc_report_is_cut(const WhammcReport *r);
/* Returns the lines of the text that belong to no report: the output of the program itself. *size
 * bytes, and a NUL after them. Valid until the next whammc_report_read. */
const char *whammc_report_rest(WhammcReport *r, size_t *size);

/*
 * Sets the program of the report, as it was before instrumentation (a binary module, or a
 * component, which stands for all core modules inside). It supplies
 * the names of functions for which the report has only a number, and the instructions at sites. It
 * is validated; if it is invalid, the report has no module. For a program without names see
 * whammc_name_functions.
 */
whammc_status whammc_report_set_module(WhammcReport *r, const char *name, const void *bytes,
                                       size_t size);

/*
 * Adds a further program, for a report of several modules (docs/reports.md, "Parts"). Each is the
 * program of the module with its hash, or else of the modules that it fits: that have no other
 * functions and sites, and mostly the same names. A program that fits none causes a warning when
 * the report is written.
 */
whammc_status whammc_report_add_module(WhammcReport *r, const char *name, const void *bytes,
                                       size_t size);

enum { WHAMMC_HASH = 17 }; /* with a NUL */
/* Computes the hash that identifies the program in the line before a report: the member `hash`
 * (docs/reports.md, "Parts"). */
void whammc_program_hash(const void *bytes, size_t size, char hash[WHAMMC_HASH]);

/* Reduces the report to the module whose name, identity or hash is `module` or begins with it;
 * NULL: the module of the program set or added last. An error if there is none. */
whammc_status whammc_report_select(WhammcReport *r, const char *module);

/* Sets an additional source of locations, as whammc_locate does, for the program set or added last,
 * and for the next one. `info` must outlive all calls that use locations; NULL: the program
 * alone. */
void whammc_report_locate(WhammcReport *r, const whammc_debug_info *info);

/* Returns the errors, warnings and notes of the last call that returned a whammc_status, "" if
 * there are none: see whammc_messages. Valid until the next such call, or the next call of this
 * function. */
const char *whammc_report_messages(WhammcReport *r, unsigned flags);
size_t whammc_report_error_count(const WhammcReport *r);
size_t whammc_report_warning_count(const WhammcReport *r);

/* ---- converting ---- */

typedef enum WhammcReportFormat {
    WHAMMC_REPORT_TABLE,       /* tables for people */
    WHAMMC_REPORT_CSV,         /* as a program prints it with WHAMMC_FORMAT_CSV */
    WHAMMC_REPORT_CSV_RFC4180, /* ... WHAMMC_FORMAT_CSV_RFC4180 */
    WHAMMC_REPORT_JSON,        /* ... WHAMMC_FORMAT_JSON */
    /* Of a report with calls or a call tree: */
    WHAMMC_REPORT_GPROF, /* a flat profile and a call graph, in gprof's columns */
    WHAMMC_REPORT_DOT,   /* the call graph for Graphviz */
    /* Of a report with a call tree: */
    WHAMMC_REPORT_FOLDED,     /* folded stacks: "main;f;g 12" */
    WHAMMC_REPORT_SVG,        /* a flame graph; without a call tree, charts of histograms */
    WHAMMC_REPORT_SPEEDSCOPE, /* for speedscope */
    WHAMMC_REPORT_CPUPROFILE, /* for the developer tools of Chrome */
    /* Of a report with calls or a call tree, again: */
    WHAMMC_REPORT_FLAT, /* a flat profile */
    /* Of a report with calls, a call tree, or numbers at sites; not all of them are text: */
    WHAMMC_REPORT_PPROF,     /* for pprof: a compressed profile.proto */
    WHAMMC_REPORT_FIREFOX,   /* for the profiler of Firefox */
    WHAMMC_REPORT_CALLGRIND, /* for KCachegrind and callgrind_annotate */
    /* Of a report with a call tree: */
    WHAMMC_REPORT_PERFETTO, /* Chrome's trace events, for Perfetto; totals, not a course of time */
    /* Of a report of the bundled script heap: */
    WHAMMC_REPORT_HEAP, /* tables of allocations */
    /* Of a report with calls, a call tree, or numbers at sites, again: */
    WHAMMC_REPORT_CACHEGRIND, /* for cg_annotate: costs of lines */
    /* Of any report: */
    WHAMMC_REPORT_PROMETHEUS, /* its numbers, for Prometheus */
} WhammcReportFormat;

/* Finds the format with this name, as for `whammc report --format`: "svg", "pprof". False if there
 * is none. */
bool whammc_report_format(const char *name, WhammcReportFormat *format);

/* Finds the format with the file name extension of this path: PPROF for "a.pb.gz", SVG for "a.svg",
 * CSV for "a.csv". False if there is none. */
bool whammc_report_format_of_file(const char *path, WhammcReportFormat *format);

/* The traits of formats. */
enum {
    WHAMMC_SHOWS_ROWS = 1,        /* all values, as they are */
    WHAMMC_SHOWS_TREE = 2,        /* the call tree that one variable has */
    WHAMMC_SHOWS_PAIRS = 4,       /* the calls of each pair of functions, which samples lack */
    WHAMMC_SHOWS_DIFFERENCES = 8, /* from another report: WhammcReportOptions.base */
    WHAMMC_IS_BINARY = 16,        /* it is not text */
};

/* Returns the traits of a format, or'ed. */
unsigned whammc_report_format_traits(WhammcReportFormat format);

/* The items that the rows of tables stand for. */
typedef enum WhammcReportBy {
    WHAMMC_REPORT_BY_SITE,
    /* Totals of the sites of a line, a function or a file: */
    WHAMMC_REPORT_BY_LINE,
    WHAMMC_REPORT_BY_FUNCTION,
    WHAMMC_REPORT_BY_FILE,
} WhammcReportBy;

/* The order of the rows of a table. */
typedef enum WhammcReportSort {
    WHAMMC_REPORT_SORT_VALUE, /* the largest first */
    WHAMMC_REPORT_SORT_PLACE, /* in the order of the code; lines and files by their names */
    WHAMMC_REPORT_SORT_NAME,  /* of the function, line or file */
} WhammcReportSort;

/* All zero = the defaults. */
typedef struct WhammcReportOptions {
    /* Names of the variables with the calls or the call tree; ends with NULL. NULL or empty: the
     * first suitable variable. The counts of several variables with calls are added; a call tree is
     * one variable. For formats of profiles only. */
    const char *const *variables;
    /* The maximum number of rows of each variable, the largest values first (TABLE), or of
     * functions, the most time first (GPROF, DOT, FLAT). 0 = all. */
    uint32_t top;
    const char
        *title;   /* of SVG, SPEEDSCOPE, PERFETTO and FIREFOX; the program's name in PPROF,
                     FIREFOX, CALLGRIND and CACHEGRIND; NULL = the name of the module or the report */
    bool mangled; /* names of C++ and Rust functions stay as they are in the program */
    /* For TABLE only: */
    uint32_t width; /* columns; 0 = 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* no characters but ASCII in lines and bars */
    WhammcReportBy by;
    WhammcReportSort sort;
    bool nonzero;         /* leave out rows that are 0, false or empty */
    bool hex;             /* whole values and code offsets in hexadecimal */
    bool no_instructions; /* without the instructions at sites, even if the program is known */
    /* Formats with calls: show inlined functions if calls come from them. Needs the program. */
    bool inlined;
    /* TABLE, CSV, JSON and PROMETHEUS: show source locations, in CSV and JSON as further columns.
     * They come from the program (whammc_report_set_module), or else from the report; it is an
     * error if neither has any. The same holds for BY_LINE and BY_FILE. Formats with calls: show
     * the files and lines of functions, from the program. PPROF, FIREFOX and CALLGRIND always have
     * the locations of functions and calls, PPROF and FIREFOX also inlined functions, if the
     * program has this information. */
    bool lines;
    /* For PPROF and FIREFOX: when the report was made, in nanoseconds since 1970; 0 = unknown. */
    int64_t time;
    /* For PPROF: labels of all stacks, as "thread=3"; ends with NULL. NULL = none. */
    const char *const *labels;
    /* Formats with a call tree: the value that is shown, or shown first; HEAP: the sort key of
     * functions. NULL = the last one. */
    const char *value;
    /* TABLE and SVG: the report to compare with, of the program or of another build of it; NULL =
     * none. Functions and stacks are matched by names. */
    struct WhammcReport *base;
} WhammcReportOptions;

/*
 * Writes the report in a format; options NULL = the defaults. On success *out is a new buffer of
 * *size bytes, released with whammc_release. On failure *out is NULL: the report lacks the data for
 * the format. There is a note if the format could show more than one variable, and none was chosen.
 * The report itself does not change.
 */
whammc_status whammc_report_write(WhammcReport *r, WhammcReportFormat format,
                                  const WhammcReportOptions *options, uint8_t **out, size_t *size);

/* Writes the report like whammc_report_write, but passes the text to `write`, in one or more
 * pieces; not on failure. */
whammc_status whammc_report_write_to(WhammcReport *r, WhammcReportFormat format,
                                     const WhammcReportOptions *options,
                                     void (*write)(void *ctx, const void *bytes, size_t size),
                                     void *ctx);

/* ---- counts beside sources ---- */

/* All zero = the defaults. */
typedef struct WhammcAnnotateOptions {
    const char *variable; /* with the counts; NULL = the one that has numbers at the most sites */
    bool html;            /* a self-contained page, instead of text */
    bool instructions;    /* the program's instructions instead of its sources; also works without
                             source locations */
    bool colour;          /* of text: ANSI colours */
    bool mangled;         /* names of C++ and Rust functions stay as they are in the program */
    /* The files to show: names, ends of paths or shell patterns; with `instructions`, names of
     * functions. Ends with NULL. NULL or empty: all. */
    const char *const *files;
    const char *title; /* of a page with several programs; NULL = the name of the report */
    /* The texts of sources, as for WhammcCoverageOptions. */
    const void *(*source)(void *ctx, const char *path, size_t *size);
    void *ctx;
} WhammcAnnotateOptions;

/*
 * Writes the sources of the programs that were set or added, with counts beside their lines: the
 * executions of each line, and the sum of the counts of its instructions. Options NULL = the
 * defaults. *out is a new buffer of *size bytes, released with whammc_release; NULL if there is
 * nothing to show. With several programs, programs without counts are left out, and a program that
 * fits no module of the report is an error; *out then has the others.
 */
whammc_status whammc_report_annotate(WhammcReport *r, const WhammcAnnotateOptions *options,
                                     uint8_t **out, size_t *size);

/* ---- the values ---- */

/*
 * Names and texts end with a NUL. Results are valid until the next call that reads a report, or of
 * whammc_report_set_module.
 */

/* A variable of a script. */
typedef struct WhammcVariable {
    const char *name;
    const char *type;      /* in the script: "u64", "map<(u32,str),u64>" */
    const char *wasm_type; /* "i64" */
    const char *id_type;   /* "memaddr", "global_id", "map_id" */
    const char *script;    /* "script0" */
    size_t rows;           /* the number of its rows in the report */
    const char *formula;   /* of a derived column: what its values are computed from, in postfix
                              form; else NULL */
} WhammcVariable;

/* Returns the variables in the order of the report; *n of them. */
const WhammcVariable *whammc_report_variables(WhammcReport *r, size_t *n);

/* One value of a variable: of a site (with location and probe), of a probe (without location) or
 * of the script (with neither). */
typedef struct WhammcRow {
    size_t variable;         /* index into whammc_report_variables */
    const char *module;      /* the name of its module; NULL: the report has only one */
    const char *thread;      /* the number of its thread: whammc_report_by_thread; else NULL */
    const char *id;          /* "36", in CSV also "(4; 5)" */
    const char *fname;       /* the function's name in the report; NULL: the row has no function */
    const char *shown_fname; /* for people: the module's name if the report has only a number,
                                demangled; NULL if fname is */
    const char *probe;       /* "1_wasm:opcode:call:before"; NULL: the row has no probe */
    const char *instruction; /* at the location: "call 3 (f)"; NULL: not known, see set_module */
    bool has_place;          /* fid and pc are there */
    uint32_t fid, pc;        /* the function's index, the byte offset in its body */
} WhammcRow;

/* Returns the rows in the order of the report; *n of them. */
const WhammcRow *whammc_report_rows(WhammcReport *r, size_t *n);

typedef enum WhammcValueKind {
    WHAMMC_VALUE_UNSIGNED, /* as.u: u8, u16, u32, u64 */
    WHAMMC_VALUE_SIGNED,   /* as.i: i8, i16, i32, i64 */
    WHAMMC_VALUE_FLOAT,    /* as.f: f64; f32, cast to float */
    WHAMMC_VALUE_BOOL,     /* as.u: 0 or 1 */
    WHAMMC_VALUE_STRING,   /* as.text: a str, which need not be UTF-8 */
    WHAMMC_VALUE_TUPLE,    /* as.parts: the fields */
    WHAMMC_VALUE_MAP,      /* as.parts: key, value, key, value ..., in the order of the report */
    /* Aggregations; `count`, `sum` and `top` are numbers and a map. */
    WHAMMC_VALUE_RECORD,  /* as.parts: name, value, name, value ...: min and max (count and the
                             number), avg (count, sum, mean), stats (count, sum, min, max, mean,
                             deviation) */
    WHAMMC_VALUE_BUCKETS, /* as.parts: low, high, count, low, high, count ..., ascending: how many
                             numbers n with low <= n < high were added, to hist and lhist */
    WHAMMC_VALUE_NONE,    /* there is no value: the minimum of no numbers, the end of a bucket
                             that has none */
    WHAMMC_VALUE_UNREADABLE, /* as.text: the text in the report, not a value of the type */
} WhammcValueKind;

typedef struct WhammcValue {
    WhammcValueKind kind;
    size_t size; /* of text: bytes, without the NUL after them; of parts: their number */
    union {
        uint64_t u;
        int64_t i;
        double f;
        const char *text;
        const struct WhammcValue *parts; /* NULL if there are none */
    } as;
} WhammcValue;

/* Returns the value of a row, which is parsed on first use; NULL if there is no such row. */
const WhammcValue *whammc_report_value(WhammcReport *r, size_t row);

/* ---- profiles ---- */

/* Stands for functions outside the program: the caller of calls from outside, the callee of calls
 * to unknown functions. */
#define WHAMMC_OUTSIDE UINT32_MAX

typedef struct WhammcProfileFunction {
    const char *name; /* never empty; ends with a NUL */
    uint32_t fid;     /* or WHAMMC_OUTSIDE: also of functions that were inlined */
    bool untimed;     /* its calls were counted, but not timed */
    /* Of WHAMMC_PROFILE_CALLS only: */
    uint64_t calls;           /* by other functions */
    uint64_t recursive_calls; /* by itself */
    int64_t self;             /* nanoseconds in the function itself */
    int64_t total;            /* ... and in its callees */
    uint32_t cycle;           /* from 1: the same for functions that call each other; 0 = none */
} WhammcProfileFunction;

/* The calls from one function to another; one for each pair. */
typedef struct WhammcProfileArc {
    uint32_t caller, callee; /* indices into `functions` */
    uint64_t calls;
    int64_t ns; /* from the calls to their returns; 0 if the profile has no times */
} WhammcProfileArc;

/* A function that was called in a certain context. */
typedef struct WhammcProfileNode {
    uint32_t parent;   /* an index into `nodes`, less than its own; UINT32_MAX = none */
    uint32_t end;      /* the index after its last descendant */
    uint32_t depth;    /* 0 = no parent */
    uint32_t function; /* an index into `functions` */
    uint64_t calls;
    uint64_t self;  /* nanoseconds in the function itself; calls if the profile has no times */
    uint64_t total; /* ... and in its callees */
} WhammcProfileNode;

typedef enum WhammcProfileKind {
    WHAMMC_PROFILE_CALLS, /* the call graph: `arcs`; from the call tree if there are no calls */
    WHAMMC_PROFILE_TREE,  /* the call tree: `nodes` */
} WhammcProfileKind;

typedef struct WhammcProfile {
    const WhammcProfileFunction *functions;
    size_t nfunctions;
    const WhammcProfileArc *arcs;
    size_t narcs;
    const WhammcProfileNode *nodes; /* depth first, parents before their children */
    size_t nnodes;
    bool timed;   /* there are nanoseconds, not only calls */
    bool sampled; /* `calls` are samples */
} WhammcProfile;

/*
 * Reads the calls or the call tree of a report, which the formats GPROF to FLAT show. Only the
 * options `variables` and `mangled` have an effect. Sums saturate. On success *out is owned by r
 * and valid until the next call of this function, whammc_report_read or whammc_report_set_module;
 * on failure it is NULL.
 */
whammc_status whammc_report_profile(WhammcReport *r, WhammcProfileKind kind,
                                    const WhammcReportOptions *options, const WhammcProfile **out);

#ifdef __cplusplus
}
#endif

#endif
