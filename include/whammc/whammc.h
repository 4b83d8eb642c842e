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
 * bytes of a program are read only during the call that they are given to. whammc/module.h
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

/* What functions that can fail return. Details are in the messages. */
typedef enum whammc_status {
    WHAMMC_OK = 0,
    WHAMMC_ERROR = 1,   /* the script or the module is at fault, or the options do not fit them */
    WHAMMC_INTERNAL = 2 /* whammc is at fault: the output would have been invalid */
} whammc_status;

/* The version, "1.2.3". */
const char *whammc_version(void);

/* A compiler without scripts; never NULL. whammc_free takes NULL too. */
whammc *whammc_new(void);
void whammc_free(whammc *w);

/* Adds a script; name (for messages) and text are copied. Nothing is checked yet. */
void whammc_add_script(whammc *w, const char *name, const char *text, size_t len);

/*
 * The text of a script that comes with whammc, "profile" for example, of *len bytes; NULL if there
 * is none of that name. And their names: of script n, NULL after the last. Static storage.
 */
const char *whammc_bundled_script(const char *name, size_t *len);
const char *whammc_bundled_name(size_t n);

/*
 * Returns the constant `name` of scripts another value: text as it is for a str, else as scripts
 * write it ("false", "-5", "0x10"). All scripts that have such a constant get it; that none has, or
 * that the value is not of its type, is an error of the calls that read the scripts. Both are
 * copied; of several values for one name the last counts.
 */
void whammc_define(whammc *w, const char *name, const char *value);

/*
 * Adds a library: a module whose exported functions scripts call after `use NAME;`. With
 * WHAMMC_LINK_IMPORT the output imports them from the module `import_as`, NULL = `name`. All is
 * copied, and checked when it is used.
 */
void whammc_add_library(whammc *w, const char *name, const char *import_as, const void *bytes,
                        size_t size);

/*
 * What library functions see that run while compiling ('@static'): nothing by default. They have
 * clocks and random numbers, but no files. Strings are borrowed and must outlive w.
 */
typedef struct whammc_world {
    /* Takes what they write to standard output (stream 1) and error (2). May be NULL. */
    void (*write)(void *ctx, int stream, const void *bytes, size_t size);
    void *ctx;
    const char *const *args;        /* end with NULL; may be NULL */
    const char *const *environment; /* "NAME=VALUE", end with NULL; may be NULL */
} whammc_world;
void whammc_set_world(whammc *w, const whammc_world *world);

/* Parses and checks all scripts without a program. */
whammc_status whammc_check(whammc *w);

/* A constant of a script. */
typedef struct whammc_constant {
    const char *script; /* the script's name */
    const char *name;
    const char *type;  /* "bool" */
    const char *value; /* what it has got, as scripts write it, but a str as it is; NULL = none that
                          is right */
} whammc_constant;
/* Those of all scripts in the order of the text, as the last call read them. *n of them, owned by
 * w, valid until its next use. */
const whammc_constant *whammc_constants(whammc *w, size_t *n);

/* ---- messages of the last call ---- */

enum { WHAMMC_COLOUR = 1, WHAMMC_JSON = 2 };

/* All errors and warnings of the last call, as text with carets (ANSI colours on request) or one
 * JSON object a line.
 * "" if there are none. Owned by w, valid until its next use. */
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
    WHAMMC_HOST_PROF /* no report: the program imports the five functions of module "prof" */
} whammc_host;
typedef enum whammc_link {
    WHAMMC_LINK_MERGE,  /* the runtime becomes part of the program */
    WHAMMC_LINK_IMPORT, /* the program imports it from module "whammc_runtime" */
    WHAMMC_LINK_AUTO    /* merge, unless only that makes an engine with multi-memory necessary */
} whammc_link;
typedef enum whammc_format {
    WHAMMC_FORMAT_CSV,        /* separated by ", ", nothing quoted */
    WHAMMC_FORMAT_JSON,       /* an object a line */
    WHAMMC_FORMAT_CSV_RFC4180 /* quoted as RFC 4180 has it */
} whammc_format;

/* What is left out, in whammc_options.without. */
enum {
    /* Probes call an empty function, with the numbers that the event has supplied to the body; only
     * those of alt, begin, end and report keep theirs. Nothing is counted by segments. Variables
     * and the report stay. */
    WHAMMC_WITHOUT_BODIES = 1,
    WHAMMC_WITHOUT_PREDICATES =
        2,                    /* bodies run wherever the rule of their probe matches; not of alt */
    WHAMMC_WITHOUT_REPORT = 4 /* no variable is reported, there are no report probes */
};

/* All zero = the defaults. */
typedef struct whammc_options {
    whammc_storage storage; /* where per-site variables live */
    whammc_host host;       /* how the report gets out of the program */
    whammc_format format;   /* of the report */
    const char *report;     /* "stdout" (NULL), "stderr", or a file below a directory that the host
                               opens (WASI) */
    int no_optimise;        /* leave out the optimiser's passes over probe code */
    int keep_debug; /* keep DWARF sections, adjusted to the new code; else they are dropped */
    whammc_link link;
    int no_coalesce;  /* count at each place, also what only counts and could be counted by
                         straight-line segments */
    int exact_traps;  /* segments end after instructions that can trap, so that counts are exact
                         even if nobody tells the program where it trapped (whammc:trapped) */
    int host_flushes; /* with WHAMMC_HOST_JS: the host calls whammc:flush at the end, so there is no
                         warning if nothing else does */
    /* The path or URL of the source map that the output will have (whammc_source_map), written into
     * it; NULL: none. For whammc_instrument. */
    const char *source_map_url;
    unsigned threads; /* work on at most so many threads; 0: one for each processor. The output does
                         not depend on it */
    /* The folder that relative paths of sources count from, as its source map names it: written
     * before them. NULL: they stay as they are. */
    const char *source_map_root;
    /* For whammc_instrument: the program imports whammc.poll, (i32) -> i32, and calls it now and
     * then where nothing of a probe is under way: before loops go on, and when functions begin that
     * call others. There the host may call whammc:flush, and all counts are exact. The parameter is
     * 0, or 1 before each call of WASI that may wait (poll_oneoff, fd_read). The result is after
     * how many of the other places the host wants to be called again, at least 1; the first time is
     * after 1,000. If scripts print text, the exported function whammc:text writes what is left of
     * that. Not with WHAMMC_HOST_PROF. */
    int polls;
    /* For whammc_instrument: there is one more script, which reports a text `build_id`, a hash of
     * the program, the scripts and what was defined. Reports with different ones cannot be added
     * up (whammc_report_add). */
    int build_id;
    /* To measure what parts of a script cost: WHAMMC_WITHOUT_..., or'ed. whammc_bind knows only
     * WHAMMC_WITHOUT_BODIES. */
    unsigned without;
} whammc_options;

/* The module that programs instrumented with WHAMMC_LINK_IMPORT import. It imports WASI and exports
 * its memory; hosts instantiate it as "whammc_runtime" before the program. Static storage. */
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
 * whammc_release. The output has been validated. On failure *out is NULL. Warnings may be there in
 * both cases.
 */
whammc_status whammc_instrument(whammc *w, const char *name, const void *bytes, size_t size,
                                const whammc_options *options, uint8_t **out, size_t *out_size);
/*
 * The source map of the last module that was instrumented with options.source_map_url: for each
 * instruction that the program had, the location that whammc_locate and the program know; what was
 * inserted has none. *size bytes, and a NUL after them; owned by w, valid until its next use.
 */
const char *whammc_source_map(whammc *w, size_t *size);

/* Releases a buffer that this library has given; takes NULL too. */
void whammc_release(void *buffer);

/*
 * Compiles the scripts without a program into a monitor module, for engines that attach it by
 * themselves to the program that they run. Of the options format, report and no_optimise count. The
 * output as for whammc_instrument.
 */
whammc_status whammc_compile_monitor(whammc *w, const whammc_options *options, uint8_t **out,
                                     size_t *out_size);

/* Tells how the scripts are split into the probes of a monitor, as text. Owned by w, valid until
 * its next use. */
whammc_status whammc_explain_monitor(whammc *w, const whammc_options *options, const char **text);

/* How the last module was linked: WHAMMC_LINK_MERGE or WHAMMC_LINK_IMPORT. */
whammc_link whammc_linked(const whammc *w);

/*
 * How the report of the last module that was instrumented gets out: what WHAMMC_HOST_AUTO was taken
 * for, and in *why, unless that is NULL, the reason ("the program imports WASI"; "" if the host was
 * asked for). WHAMMC_HOST_AUTO: the program needs no host, as it reports nothing. Owned by w, valid
 * until its next use.
 */
whammc_host whammc_hosted(whammc *w, const char **why);

/* The probes of the scripts in order, with the site counts of the last instrument or list call. *n
 * of them; owned by w. */
const whammc_probe_stats *whammc_probes(whammc *w, size_t *n);

/* ---- source locations ---- */

/* A function of an inlined chain, and where in it an instruction is from. */
typedef struct whammc_frame {
    const char *file;      /* the path; "" = unknown */
    uint32_t line, column; /* from 1; 0 = unknown */
    const char *function;  /* its name in the source, without scopes; "" = unknown */
    const char *linkage;   /* the linker's name for it, often mangled; "" = none */
} whammc_frame;

/* Paths of sources that begin with `from`, a folder or a whole path, begin with `to` instead. */
typedef struct whammc_path_map {
    const char *from, *to;
} whammc_path_map;

/* Where the locations of a program are, besides in itself. All is borrowed. */
typedef struct whammc_debug_info {
    /* A file to take them from, whatever the program has: a module with DWARF sections and the same
     * code, or a source map. NULL = none. */
    const char *file_name;
    const void *file;
    size_t file_size;
    /* The file that the program names (whammc_debug_reference). If it is missing but needed, that
     * is a warning. */
    const char *named_name;
    const void *named;
    size_t named_size;
    const whammc_path_map *maps; /* the first that fits counts */
    size_t nmaps;
    int no_frames; /* whammc_list gives no frames: only scripts ask */
    /* Called before the first question, and only then: it may set what is above. NULL = it is set.
     */
    void (*prepare)(void *ctx);
    void *ctx;
} whammc_debug_info;

/* Where the names `file`, `line`, `column`, `src_function` and `inlined` of scripts get their
 * values from, in whammc_instrument and whammc_list, and asks whammc_list for source locations;
 * `info` must live as long as those calls. NULL: whammc_list gives none, and scripts have what is
 * in the program. */
void whammc_locate(whammc *w, const whammc_debug_info *info);

/* The file with debug information that a module names, a path relative to it or a URL, if it needs
 * that: *name points into the module. Returns the name's length, 0 = there is none. */
size_t whammc_debug_reference(const void *bytes, size_t size, const char **name);

/* ---- listing ---- */

/* One place where a probe matches. Strings are valid during the call. */
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
} whammc_site;

/* Finds every site of every probe in a module, calling `site` for each in code order; it may be
 * NULL (then only the counts of whammc_probes are filled). */
whammc_status whammc_list(whammc *w, const char *name, const void *bytes, size_t size,
                          void (*site)(void *ctx, const whammc_site *s), void *ctx);

/* A script variable that is a map. */
typedef struct whammc_map {
    const char *script, *name, *type;
    uint32_t line;
    int cells; /* its keys are known when a program is instrumented: there is no map at run time */
} whammc_map;

/* These variables, in the order of the scripts, after an instrument or list call. *n of them; owned
 * by w. */
const whammc_map *whammc_maps(whammc *w, size_t *n);

/* Whether a probe only counts, so that its places need no code of their own. */
typedef struct whammc_counting {
    int counts; /* 0: it does not everywhere, or matched nowhere */
    int partly; /* at some places at least it does */
    const char
        *why; /* if not: the reason, and its place in the script; NULL = it matched nowhere */
    uint32_t line, column;
} whammc_counting;

/* One for each of whammc_probes, after an instrument or list call. *n of them; owned by w. */
const whammc_counting *whammc_countings(whammc *w, size_t *n);

/* ---- names ---- */

/*
 * Gives the functions of a program names, for one that has lost its own: from a symbol map, as
 * Emscripten writes it (`emcc --emit-symbol-map`, lines "NUMBER:NAME"), or from another build of
 * the program, a module that differs only in names. They become its name section; functions that
 * have none there keep theirs. `names_name` is what messages call the names. Output as with
 * whammc_instrument; names that do not fit the program are an error.
 */
whammc_status whammc_name_functions(whammc *w, const char *name, const void *bytes, size_t size,
                                    const char *names_name, const void *names, size_t names_size,
                                    uint8_t **out, size_t *out_size);

/* ---- monitors ---- */

/*
 * Adds a monitor module for whammc_bind, and a library for the monitor that was added last, which
 * imports it by the library's file name without folder and extension. All is copied, and checked
 * when it is used.
 */
void whammc_add_monitor(whammc *w, const char *path, const void *bytes, size_t size);
void whammc_add_monitor_library(whammc *w, const char *path, const void *bytes, size_t size);

/*
 * Attaches the monitors, in their order, to a program, as an engine would that loads them with it.
 * They run while that is done (start functions, predicates, callbacks); what they print goes where
 * whammc_set_world says. Of the options host, no_optimise and keep_debug count. Output as with
 * whammc_instrument.
 */
whammc_status whammc_bind(whammc *w, const char *name, const void *bytes, size_t size,
                          const whammc_options *options, uint8_t **out, size_t *out_size);

/* A probe of a monitor and at how many places the last whammc_bind attached it. */
typedef struct whammc_attached {
    const char *monitor; /* its path */
    const char *name;    /* the export's */
    uint64_t places;
} whammc_attached;
/* In the order of monitors and exports; *n of them, owned by w. */
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

/* Expands a rule such as "wasm:opcode:*load*:before" and calls `event` for everything that it
 * matches, in probe number order. Strings are valid during the call. */
whammc_status whammc_explain(whammc *w, const char *rule,
                             void (*event)(void *ctx, const whammc_event *e), void *ctx);

/* ---- reading monitor modules ---- */

/* A function that a monitor exports: a predicate or match-time callback, as a probe calls it. */
typedef struct whammc_monitor_call {
    const char *name;                          /* "$alloc" */
    const char *type;                          /* "(i32, i32) -> i32" */
    const struct whammc_monitor_value *values; /* its arguments */
    size_t nvalues;
} whammc_monitor_call;

/* Something that a probe, a predicate or a callback asks the engine for. */
typedef struct whammc_monitor_value {
    const char *text;                /* "arg0", "$alloc(fid, pc)" */
    const char *type;                /* of the parameter; "i32, i32" if it takes two */
    const char *doc;                 /* what it is; "" for the result of a callback */
    const whammc_monitor_call *call; /* the callback; NULL for other values */
} whammc_monitor_value;

typedef struct whammc_monitor_probe {
    const char *name;                     /* of the export */
    const char *event;                    /* "wasm:opcode:br_if" */
    const char *rule;                     /* all of it, as whammc spells it */
    const whammc_monitor_call *predicate; /* NULL = none */
    const whammc_monitor_value *values;
    size_t nvalues;
    uint32_t fid;      /* of the probe function */
    const char *fname; /* its name, "" = none */
    const char *type;
    uint32_t size; /* bytes of its body; 0 = it is imported */
    /* Why engines with the limits of Wizard's do not inline it: "branches"; NULL = they do. */
    const char *not_inlined;
    int is_older;   /* other engines know this probe by another name, which is there too */
    uint32_t group; /* from 0; the same for probes with the same code, predicate and values */
} whammc_monitor_probe;

/* An import of a monitor. */
typedef struct whammc_monitor_import {
    const char *module, *name;
    const char *type; /* "(i32) -> ()", "memory" ... */
    const char *from; /* who has it: "the engine", "WASI", "a library" */
} whammc_monitor_import;

typedef struct whammc_monitor {
    const whammc_monitor_probe *probes; /* in the order of the exports, older ones last */
    size_t nprobes;
    const whammc_monitor_import *imports;
    size_t nimports;
    int has_exit; /* wasm:exit is there, to run at the end */
    uint32_t exit_fid;
} whammc_monitor;

/* Reads a monitor module and checks what can be checked without a program. *out is owned by w and
 * valid until its next use; NULL on failure. */
whammc_status whammc_read_monitor(whammc *w, const char *name, const void *bytes, size_t size,
                                  const whammc_monitor **out);

#ifdef __cplusplus
}
#endif

#endif
