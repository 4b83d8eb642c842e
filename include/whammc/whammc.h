/*
 * whammc.h - compile Whamm scripts and instrument WebAssembly modules, from memory to memory.
 *
 *     whammc *w = whammc_new();
 *     whammc_add_script(w, "hotness.whamm", text, text_len);
 *     uint8_t *out; size_t out_size;
 *     if (whammc_instrument(w, "app.wasm", bytes, size, NULL, &out, &out_size) != WHAMMC_OK)
 *         fputs(whammc_messages(w, 0), stderr);
 *     whammc_release(out);
 *     whammc_free(w);
 *
 * The library does no input or output, keeps no global state and never exits, unless there is no
 * memory left. Different whammc objects may be used by different threads at the same time; one
 * object by one thread at a time. Texts end with a NUL; names in programs may be any bytes. The
 * bytes of a program are read only during the call that they are passed to. whammc/module.h
 * instruments without a script, whammc/report.h reads the reports of programs.
 */
#ifndef WHAMMC_WHAMMC_H
#define WHAMMC_WHAMMC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct whammc whammc;

/* The result of functions that can fail. Details are in the messages. */
typedef enum whammc_status {
    WHAMMC_OK = 0,
    WHAMMC_ERROR = 1,   /* an error in the script, the module or the options */
    WHAMMC_INTERNAL = 2 /* an internal error of whammc: the output would have been invalid */
} whammc_status;

/* Returns the version, "1.2.3". */
const char *whammc_version(void);

/* Returns a compiler without scripts; never NULL. whammc_free accepts NULL. */
whammc *whammc_new(void);
void whammc_free(whammc *w);

/* Adds a script; name (for messages) and text are copied. Nothing is checked yet. */
void whammc_add_script(whammc *w, const char *name, const char *text, size_t len);

/*
 * Adds a file that scripts can include: `include "lib/heap.whamm";`. Of the names of files and
 * scripts that were added, the path is one relative to the folder of the including one; or the
 * function of whammc_set_files finds it; or it is a name as it stands; or that of a bundled script,
 * "hotness.whamm". The file of a package is found so, too: for `use std.alloc;` "std/alloc.whamm".
 * Name and text are copied.
 */
void whammc_add_file(whammc *w, const char *name, const char *text, size_t len);

/* A file that scripts include. */
typedef struct whammc_file {
    const char *name; /* for messages. It identifies the file, which scripts include only once: that
                         of an added script is the script */
    const char *text; /* of `len` bytes */
    size_t len;
    const char *problem; /* why it cannot be read, for a message; NULL: there is no such file */
} whammc_file;
/* Finds the file that `from`, the name of a script or an included file, includes by this path. It
 * fills in *file, which is all zero, with what is valid until the next call, and returns 1; 0 =
 * there is none, or it cannot be read (`name` and `problem`). */
typedef int (*whammc_find)(void *ctx, const char *from, const char *path, whammc_file *file);
/* Sets the function that finds included files; NULL = none. `hint` says in messages where it looks;
 * borrowed. */
void whammc_set_files(whammc *w, whammc_find find, void *ctx, const char *hint);

/*
 * Returns the text, of *len bytes, of a bundled script such as "profile", NULL if there is none of
 * that name; and the name of the nth bundled script, NULL after the last. Static storage.
 */
const char *whammc_bundled_script(const char *name, size_t *len);
const char *whammc_bundled_name(size_t n);

/*
 * Gives the constant `name` of scripts another value: for a str the text itself, else as in scripts
 * ("false", "-5", "0x10"). All scripts that have such a constant get it. If no script has it, or
 * the value does not have its type, calls that read the scripts fail. Both are copied; of several
 * values for one name the last counts.
 */
void whammc_define(whammc *w, const char *name, const char *value);

/*
 * How many steps (iterations of loops, calls of recursive functions) an execution of a probe may
 * take; one that takes more is left, and the probe does nothing any more. 0: 10,000,000.
 */
void whammc_set_steps(whammc *w, unsigned steps);

/*
 * Chooses which core modules of components are instrumented or listed: those whose name in the
 * component ("main", "module 0", "composed.main") matches one of the shell patterns; the list ends
 * with NULL and is copied. It is an error if one matches nothing, or if the program is no
 * component. NULL or none: all but the adapters and shims that tools for components have added.
 */
void whammc_choose_modules(whammc *w, const char *const *globs);

/* A core module of a program. */
typedef struct whammc_core_module {
    const char *name; /* in its component; "" = it is the program */
    const void *bytes;
    size_t size;
    int chosen; /* it is instrumented or listed (whammc_choose_modules) */
} whammc_core_module;
/* Calls `module` for each core module of a component, those of components inside, too; of a module
 * for itself. Nothing is validated. What *m has is valid during the call, the bytes are the
 * program's. */
whammc_status whammc_core_modules(whammc *w, const char *name, const void *bytes, size_t size,
                                  void (*module)(void *ctx, const whammc_core_module *m),
                                  void *ctx);

/*
 * Adds a library: a module whose exported functions scripts call after `use NAME;`. With
 * WHAMMC_LINK_IMPORT the output imports them from the module `import_as`, NULL = `name`. Everything
 * is copied, and checked when it is used.
 */
void whammc_add_library(whammc *w, const char *name, const char *import_as, const void *bytes,
                        size_t size);

/*
 * The arguments and environment of library functions that run while compiling ('@static'): none by
 * default. These functions have clocks and random numbers, but no files. Strings are borrowed and
 * must outlive w.
 */
typedef struct whammc_world {
    /* Receives their standard output (stream 1) and error (2). May be NULL. */
    void (*write)(void *ctx, int stream, const void *bytes, size_t size);
    void *ctx;
    const char *const *args;        /* end with NULL; may be NULL */
    const char *const *environment; /* "NAME=VALUE", end with NULL; may be NULL */
} whammc_world;
void whammc_set_world(whammc *w, const whammc_world *world);

/* Parses and checks all scripts without a program. */
whammc_status whammc_check(whammc *w);

/*
 * Formats a script, which is not one of those that were added: the same tokens and comments with
 * other blanks. Its syntax must be right; files that it includes are not read. On success *out is a
 * new buffer of *out_len bytes, without a NUL, released with whammc_release; otherwise NULL. `text`
 * must outlive the messages of this call.
 */
whammc_status whammc_format_script(whammc *w, const char *name, const char *text, size_t len,
                                   char **out, size_t *out_len);

/* A constant of a script. */
typedef struct whammc_constant {
    const char *script; /* the script's name */
    const char *name;
    const char *type;  /* "bool" */
    const char *value; /* as in scripts, but the text itself of a str; NULL = no valid value */
} whammc_constant;
/* Returns the constants of all scripts in the order of the text, as the last call read them. *n of
 * them, owned by w, valid until its next use. */
const whammc_constant *whammc_constants(whammc *w, size_t *n);

/* ---- messages of the last call ---- */

enum { WHAMMC_COLOUR = 1, WHAMMC_JSON = 2 };

/* Returns all errors and warnings of the last call, as text with carets (ANSI colours on request)
 * or one JSON object a line; "" if there are none. Owned by w, valid until its next use. */
const char *whammc_messages(whammc *w, unsigned flags);
size_t whammc_error_count(const whammc *w);
size_t whammc_warning_count(const whammc *w);

/* ---- instrumenting ---- */

typedef enum whammc_storage {
    WHAMMC_STORAGE_AUTO,
    WHAMMC_STORAGE_GLOBALS,
    WHAMMC_STORAGE_MEMORY
} whammc_storage;
typedef enum whammc_host {
    WHAMMC_HOST_AUTO,
    WHAMMC_HOST_WASI,
    WHAMMC_HOST_JS,
    WHAMMC_HOST_NONE,
    WHAMMC_HOST_PROF,     /* no report: the program imports the five functions of module "prof" */
    WHAMMC_HOST_COMPONENT /* the result of whammc_hosted for components: modules that are added to
                             them write the report. As an option the same as AUTO */
} whammc_host;
typedef enum whammc_link {
    WHAMMC_LINK_MERGE,  /* the runtime becomes part of the program */
    WHAMMC_LINK_IMPORT, /* the program imports it from module "whammc_runtime" */
    WHAMMC_LINK_AUTO    /* merge, unless only that would require an engine with multi-memory */
} whammc_link;
typedef enum whammc_format {
    WHAMMC_FORMAT_CSV,        /* separated by ", ", nothing quoted */
    WHAMMC_FORMAT_JSON,       /* an object a line */
    WHAMMC_FORMAT_CSV_RFC4180 /* quoted as in RFC 4180 */
} whammc_format;

/* Parts to leave out, and one to add, for whammc_options.without. */
enum {
    /* Probes call an empty function with the numbers that the event supplies to the body; only
     * probes of alt, begin, end and report keep their bodies. Nothing is counted by segments.
     * Variables and the report stay. */
    WHAMMC_WITHOUT_BODIES = 1,
    WHAMMC_WITHOUT_PREDICATES =
        2, /* bodies run wherever the rule of their probe matches; except for alt */
    WHAMMC_WITHOUT_REPORT = 4, /* no variable is reported, there are no report probes */
    /* The report has further variables: how often each statement "(statement FILE:LINE:COLUMN)",
     * each body of a probe "(probe ...)" and each statement of a function "(function ...)" ran, and
     * how often the event of a probe with a predicate happened, "(event ...)". Functions that
     * predicates or constants may call are left out. */
    WHAMMC_COUNT_STATEMENTS = 8
};

/* All zero = the defaults. */
typedef struct whammc_options {
    whammc_storage storage; /* where per-site variables live */
    whammc_host host;       /* how the report leaves the program */
    whammc_format format;   /* of the report */
    const char *report;     /* "stdout" (NULL), "stderr", or a file below a directory that the host
                               opens (WASI) */
    int no_optimise;        /* leave out the optimiser's passes over probe code */
    int keep_debug; /* keep DWARF sections, adjusted to the new code; else they are dropped */
    whammc_link link;
    int no_coalesce;  /* count at each site, even where straight-line segments could be counted
                         instead */
    int exact_traps;  /* segments end after instructions that can trap, so that counts are exact
                         even if nobody tells the program where it trapped (whammc:trapped) */
    int host_flushes; /* with WHAMMC_HOST_JS: the host calls whammc:flush at the end, so there is no
                         warning if nothing else does; with WHAMMC_LINK_IMPORT: in each thread */
    /* The path or URL of the output's source map (whammc_source_map), which is written into the
     * output; NULL: none. For whammc_instrument. */
    const char *source_map_url;
    unsigned threads; /* the maximal number of threads; 0: one for each processor. The output does
                         not depend on it */
    /* The prefix of relative paths of sources in the source map: the folder that they are relative
     * to. NULL: none. */
    const char *source_map_root;
    /* For whammc_instrument: the program imports whammc.poll, (i32) -> i32, and calls it now and
     * then at points where no probe is active: before a loop's next iteration, and at the entry of
     * functions that call others. There the host may call whammc:flush, and all counts are exact.
     * The parameter is 0, or 1 before each call of WASI that may wait (poll_oneoff, fd_read). The
     * result is the number of such points, at least 1, until the next call; the first call is after
     * 1,000. If scripts print text, the exported function whammc:text flushes the buffered text.
     * Not with WHAMMC_HOST_PROF. */
    int polls;
    /* For whammc_instrument: one more script reports a text `build_id`, a hash of the program, the
     * scripts and the defined constants. Reports with different ones cannot be added up
     * (whammc_report_add). */
    int build_id;
    /* To measure the cost of parts of a script: WHAMMC_WITHOUT_..., or'ed. whammc_bind knows only
     * WHAMMC_WITHOUT_BODIES. */
    unsigned without;
    /* For whammc_instrument with WHAMMC_HOST_JS: the program is one of several modules that call
     * each other, and are all instrumented. Calls between them then have their real callers,
     * instead of coming from outside. Programs that are linked dynamically (with a section
     * `dylink.0`) are known to be; a negative number says that no other module is loaded. */
    int linked;
} whammc_options;

/* Returns the module that programs instrumented with WHAMMC_LINK_IMPORT import. It imports WASI and
 * exports its memory; hosts instantiate it as "whammc_runtime" before the program. Static
 * storage. */
const void *whammc_runtime(size_t *size);

/* How often each probe matched; filled by whammc_instrument and whammc_list. */
typedef struct whammc_probe_stats {
    const char *script; /* name of the script */
    const char *rule;   /* the rule as written */
    uint32_t line;      /* of the rule in the script, from 1 */
    uint64_t sites;
} whammc_probe_stats;

/*
 * Instruments a module. On success *out is a new buffer of *out_size bytes, released with
 * whammc_release. The output has been validated. On failure *out is NULL. There may be warnings in
 * both cases.
 */
whammc_status whammc_instrument(whammc *w, const char *name, const void *bytes, size_t size,
                                const whammc_options *options, uint8_t **out, size_t *out_size);
/*
 * Returns the source map of the last module that was instrumented with options.source_map_url: the
 * program's instructions have their locations, as given by whammc_locate and the program; inserted
 * code has none. *size bytes, and a NUL after them; owned by w, valid until its next use.
 */
const char *whammc_source_map(whammc *w, size_t *size);

/* Receives the output of whammc_instrument while it is made, such as to write it to a file on
 * another thread. It has not been validated yet. */
typedef struct whammc_sink {
    /* The bytes [from, to) of the output are complete; `bytes` points to its beginning. They may be
     * read until `hold` is called, and the rest after the next call of `put`. A range may be put
     * again, with other bytes. */
    void (*put)(void *ctx, const uint8_t *bytes, size_t from, size_t to);
    /* The bytes put so far are about to change or to move. Returns when nobody reads them any
     * more. */
    void (*hold)(void *ctx);
    void *ctx;
} whammc_sink;
/* Sets the sink of all further calls of whammc_instrument; NULL = none. `sink` is copied. If such a
 * call succeeds, all of the output was put, and must not be released as long as it is read;
 * otherwise nothing may be read any more. */
void whammc_set_sink(whammc *w, const whammc_sink *sink);

/* Releases a buffer that this library has returned; accepts NULL. */
void whammc_release(void *buffer);

/*
 * Compiles the scripts without a program into a monitor module, for engines that attach it to the
 * program that they run. Of the options, format, report and no_optimise have an effect. The output
 * is as for whammc_instrument.
 */
whammc_status whammc_compile_monitor(whammc *w, const whammc_options *options, uint8_t **out,
                                     size_t *out_size);

/* Describes, as text, how the scripts are split into the probes of a monitor. Owned by w, valid
 * until its next use. */
whammc_status whammc_explain_monitor(whammc *w, const whammc_options *options, const char **text);

/* Returns how the last module was linked: WHAMMC_LINK_MERGE or WHAMMC_LINK_IMPORT. */
whammc_link whammc_linked(const whammc *w);

/*
 * Returns the host of the last module that was instrumented or bound, after WHAMMC_HOST_AUTO was
 * resolved. *why, unless why is NULL, is the reason ("the program imports WASI"; "" if the host was
 * requested, and for bound modules). WHAMMC_HOST_AUTO: the program needs no host, as it reports and
 * prints nothing. Owned by w, valid until its next use.
 */
whammc_host whammc_hosted(whammc *w, const char **why);

/* Returns whether a script of the last whammc_instrument measures times: it reads the clock, and
 * not only to take samples, for which a slow clock will do. */
int whammc_measures_times(const whammc *w);

/* Returns whether one of these scripts does anything that is seen without a report: it prints
 * lines, ends the program or changes what it does. */
int whammc_acts(const whammc *w);

/* Returns the probes of the scripts in order, with the site counts of the last instrument or list
 * call. *n of them; owned by w. */
const whammc_probe_stats *whammc_probes(whammc *w, size_t *n);

/* ---- source locations ---- */

/* A function of a chain of inlined calls, and a source location in it. */
typedef struct whammc_frame {
    const char *file;      /* the path; "" = unknown */
    uint32_t line, column; /* from 1; 0 = unknown */
    const char *function;  /* its name in the source, without scopes; "" = unknown */
    const char *linkage;   /* the linker's name for it, often mangled; "" = none */
} whammc_frame;

/* Replaces `from`, a folder or a whole path, by `to` at the beginning of paths of sources. */
typedef struct whammc_path_map {
    const char *from, *to;
} whammc_path_map;

/* Additional sources of the locations of a program. All is borrowed. */
typedef struct whammc_debug_info {
    /* A file to use instead of the program's own information: a module with DWARF sections and the
     * same code, or a source map. NULL = none. */
    const char *file_name;
    const void *file;
    size_t file_size;
    /* The file that the program names (whammc_debug_reference). If it is needed but missing, there
     * is a warning. */
    const char *named_name;
    const void *named;
    size_t named_size;
    const whammc_path_map *maps; /* the first that fits counts */
    size_t nmaps;
    int no_frames; /* whammc_list returns no frames: only scripts need locations */
    /* Called once, before locations are first needed: it may set the members above. NULL = they
     * are set. */
    void (*prepare)(void *ctx);
    void *ctx;
} whammc_debug_info;

/* Sets where whammc_instrument and whammc_list find the values of the names `file`, `line`,
 * `column`, `src_function` and `inlined`, and makes whammc_list return source locations; `info`
 * must outlive these calls. NULL: whammc_list returns no locations, and scripts use the program's
 * own. */
void whammc_locate(whammc *w, const whammc_debug_info *info);

/* Finds the file with debug information that a module names: a path relative to the module or a
 * URL. *name points into the module. Returns the name's length, 0 = it names none, or needs
 * none. */
size_t whammc_debug_reference(const void *bytes, size_t size, const char **name);

/* ---- listing ---- */

/* A site: a location where a probe matches. Strings are valid during the call. */
typedef struct whammc_site {
    uint32_t probe;    /* index into whammc_probes */
    uint32_t number;   /* the probe number of reports */
    const char *event; /* "wasm:opcode:call:before" */
    uint32_t fid;
    const char *fname; /* "" = none */
    uint32_t pc;
    const char *instruction; /* with immediates, "call 12"; "" at function entry */
    /* After whammc_locate: from the innermost inlined function; none if nothing is known. */
    const whammc_frame *frames;
    size_t nframes;
    const char *module; /* the name of the core module in its component; "" = it is the program */
} whammc_site;

/* Finds every site of every probe in a module or a component, calling `site` for each in code
 * order; it may be NULL (then only the counts of whammc_probes are filled). */
whammc_status whammc_list(whammc *w, const char *name, const void *bytes, size_t size,
                          void (*site)(void *ctx, const whammc_site *s), void *ctx);

/* A script variable that is a map. */
typedef struct whammc_map {
    const char *script, *name, *type;
    uint32_t line;
    int cells; /* its keys are known when a program is instrumented: there is no map at run time */
} whammc_map;

/* Returns the variables that are maps, in the order of the scripts, after an instrument or list
 * call. *n of them; owned by w. */
const whammc_map *whammc_maps(whammc *w, size_t *n);

/* Whether a probe only counts, so that its sites need no code. */
typedef struct whammc_counting {
    int counts; /* 1: at all its sites, at least one */
    int partly; /* 1: at some sites */
    const char
        *why; /* if not: the reason, and its location in the script; NULL = it matched nowhere */
    uint32_t line, column;
} whammc_counting;

/* Returns one for each of whammc_probes, after an instrument or list call. *n of them; owned by
 * w. */
const whammc_counting *whammc_countings(whammc *w, size_t *n);

/* ---- names ---- */

/*
 * Adds function names to a program without a name section: from a symbol map, as Emscripten writes
 * it (`emcc --emit-symbol-map`, lines "NUMBER:NAME"), or from another build of the program, a
 * module that differs only in names. They become its name section; functions without a name there
 * keep theirs. `names_name` is the title of the names in messages. Output as with
 * whammc_instrument; names that do not fit the program are an error.
 */
whammc_status whammc_name_functions(whammc *w, const char *name, const void *bytes, size_t size,
                                    const char *names_name, const void *names, size_t names_size,
                                    uint8_t **out, size_t *out_size);

/* ---- monitors ---- */

/*
 * Adds a monitor module for whammc_bind, and a library for the monitor that was added last, which
 * imports it by the library's file name without folder and extension. Everything is copied, and
 * checked when it is used.
 */
void whammc_add_monitor(whammc *w, const char *path, const void *bytes, size_t size);
void whammc_add_monitor_library(whammc *w, const char *path, const void *bytes, size_t size);

/*
 * Attaches the monitors, in their order, to a program, as an engine that loads both would.
 * Meanwhile parts of the monitors run (start functions, predicates, callbacks); their output goes
 * where whammc_set_world says. Of the options, host, no_optimise and keep_debug have an effect. The
 * output is as for whammc_instrument.
 */
whammc_status whammc_bind(whammc *w, const char *name, const void *bytes, size_t size,
                          const whammc_options *options, uint8_t **out, size_t *out_size);

/* A probe of a monitor and the number of sites at which the last whammc_bind attached it. */
typedef struct whammc_attached {
    const char *monitor; /* its path */
    const char *name;    /* the export's */
    uint64_t places;
} whammc_attached;
/* Returns these in the order of monitors and exports; *n of them, owned by w. */
const whammc_attached *whammc_attachments(whammc *w, size_t *n);

/* ---- asking about rules ---- */

typedef struct whammc_name {
    const char *name;
    const char *type; /* "u32"; NULL = needs a type bound */
    int is_static;    /* a constant at each site */
    int assignable;
    const char *doc;
} whammc_name;

/* A function that the body of a probe can call. */
typedef struct whammc_function {
    const char *text; /* "alt_call_by_id(i32)" */
    const char *doc;
} whammc_function;

typedef struct whammc_event {
    const char *text; /* "wasm:opcode:br_if:before" */
    const char *doc;
    const whammc_name *names;
    size_t nnames;
    const whammc_function *functions;
    size_t nfunctions;
} whammc_event;

/* Expands a rule such as "wasm:opcode:*load*:before" and calls `event` for every event that it
 * matches, in the order of probe numbers. Strings are valid during the call. */
whammc_status whammc_explain(whammc *w, const char *rule,
                             void (*event)(void *ctx, const whammc_event *e), void *ctx);

/* Describes, as text, a package of scripts such as "std.alloc": its comment, and what it declares.
 * It is found as scripts find it. Owned by w, valid until its next use. */
whammc_status whammc_explain_package(whammc *w, const char *name, const char **text);

/* ---- the reference ---- */

/* Returns the name of the nth topic of the reference, such as "functions", and what it lists; NULL
 * after the last. Static storage. */
const char *whammc_topic(size_t n, const char **summary);

/* Something that the reference describes. */
typedef struct whammc_entry {
    const char *topic; /* "functions" */
    const char *word;  /* "read_str" */
    const char *form;  /* how it is written, its type, its severity; "" = nothing to say */
    const char *summary;
} whammc_entry;

/* Calls `entry` for each entry of a topic, or of all topics (NULL). Strings are valid during the
 * call. Returns WHAMMC_ERROR if there is no such topic. */
whammc_status whammc_entries(whammc *w, const char *topic,
                             void (*entry)(void *ctx, const whammc_entry *e), void *ctx);

/* Describes an entry, in Markdown: what the compiler's tables and the manual say about it. Without
 * a topic (NULL), describes a word of code that may be in none, by what the language's reference
 * says where it has the word. Returns WHAMMC_ERROR, without a message, if there is nothing to say.
 * The text is owned by w, and valid until its next use. */
whammc_status whammc_manual(whammc *w, const char *topic, const char *word, const char **text);

/* ---- reading monitor modules ---- */

/* A call of a function that a monitor exports: a predicate or match-time callback. */
typedef struct whammc_monitor_call {
    const char *name;                          /* "$alloc" */
    const char *type;                          /* "(i32, i32) -> i32" */
    const struct whammc_monitor_value *values; /* its arguments */
    size_t nvalues;
} whammc_monitor_call;

/* A value that a probe, a predicate or a callback requests from the engine. */
typedef struct whammc_monitor_value {
    const char *text;                /* "arg0", "$alloc(fid, pc)" */
    const char *type;                /* of the parameter; "i32, i32" if there are two */
    const char *doc;                 /* its meaning; "" for the result of a callback */
    const whammc_monitor_call *call; /* the callback; NULL for other values */
} whammc_monitor_value;

typedef struct whammc_monitor_probe {
    const char *name;                     /* of the export */
    const char *event;                    /* "wasm:opcode:br_if" */
    const char *rule;                     /* the whole rule, as whammc spells it */
    const whammc_monitor_call *predicate; /* NULL = none */
    const whammc_monitor_value *values;
    size_t nvalues;
    uint32_t fid;      /* of the probe function */
    const char *fname; /* its name, "" = none */
    const char *type;
    uint32_t size; /* bytes of its body; 0 = it is imported */
    /* Why engines with the limits of Wizard's do not inline it: "branches"; NULL = they do. */
    const char *not_inlined;
    int is_older;   /* this is the name by which engines from 2025 know another probe of the list */
    uint32_t group; /* from 0; the same for probes with the same code, predicate and values */
} whammc_monitor_probe;

/* An import of a monitor. */
typedef struct whammc_monitor_import {
    const char *module, *name;
    const char *type; /* "(i32) -> ()", "memory" ... */
    const char *from; /* the provider: "the engine", "WASI", "a library" */
} whammc_monitor_import;

typedef struct whammc_monitor {
    const whammc_monitor_probe *probes; /* in the order of the exports, older ones last */
    size_t nprobes;
    const whammc_monitor_import *imports;
    size_t nimports;
    int has_exit; /* wasm:exit is exported, to run at the end */
    uint32_t exit_fid;
} whammc_monitor;

/* Reads a monitor module and checks it as far as possible without a program. *out is owned by w and
 * valid until its next use; NULL on failure. */
whammc_status whammc_read_monitor(whammc *w, const char *name, const void *bytes, size_t size,
                                  const whammc_monitor **out);

#ifdef __cplusplus
}
#endif

#endif
