/*
 * api/api.h - shared by the files of the public library.
 */
#ifndef WHAMMC_API_API_H
#define WHAMMC_API_API_H

#include "whammc/whammc.h"

#include "api/manual.h"
#include "check/meaning.h"
#include "component/core_program.h"
#include "eval/wasi.h"
#include "plan/plan.h"
#include "rewrite/rewrite.h"

typedef struct Source {
    char *name, *text;
    size_t len;
} Source;

typedef struct LibrarySource {
    char *name, *import_as;
    uint8_t *bytes;
    size_t size;
} LibrarySource;

typedef struct MonitorSource {
    char *path;
    uint8_t *bytes;
    size_t size;
    bool library; /* of the monitor before it */
} MonitorSource;

/* The result of whammc_read_monitor. */
typedef struct MonitorRead {
    whammc_monitor monitor;
    Arena arena;
    Vec(MonitorSource) sources;
    Vec(whammc_attached) attached;
    Vec(whammc_constant) constants;
    Arena names; /* of `attached` and `constants` */
} MonitorRead;

/* Files that scripts include. */
typedef struct ApiFiles {
    Vec(Source) given; /* of whammc_add_file */
    Vec(Source) found; /* of whammc_set_files, in the order in which scripts include them */
    whammc_find find;  /* NULL = none */
    void *find_ctx;
    Includer includer;
} ApiFiles;

struct whammc {
    Vec(Source) sources;
    ApiFiles include;
    Vec(LibrarySource) library_sources;
    Vec(char *) definitions;   /* "NAME=VALUE" */
    Vec(const char *) modules; /* globs of whammc_choose_modules; NULL after the last */
    uint32_t steps;            /* PlanOptions.steps */
    EvalWasi world;
    Diags diags;
    Buf explained; /* the result of whammc_explain_monitor, and of whammc_manual */
    Manual manual; /* empty until it is needed */
    Buf rendered;
    /* The last call's plan. */
    Vec(Script *) scripts;
    Vec(DiagFileId) files;
    Libraries libraries;
    Plan plan;
    Buf source_map; /* of the last module */
    LinkChoice linked;
    Hosted hosted;
    Buf why_hosted;
    Buf build_id; /* the script that reports it */
    Vec(whammc_probe_stats) probes;
    Vec(uint64_t) earlier; /* by probe: sites in modules of a component before the last one */
    Buf rules;             /* texts of `probes` */
    Vec(whammc_map) maps;
    Vec(whammc_counting) countings;
    char *rule; /* the argument of whammc_explain */
    MonitorRead read;
    const whammc_debug_info *debug; /* NULL = locations are not needed */
    Sink sink;                      /* of whammc_instrument; zeroed = none */
    bool noting;                    /* what names mean is noted */
    Meanings meanings;
};

/* Finds the files that scripts include. */
const Includer *api_includer(whammc *w);
/* Frees the copies of files. */
void api_free_files(whammc *w);
/* Renders the messages, with the flags of whammc_messages; the text is owned by *rendered. */
const char *api_messages(Diags *diags, Buf *rendered, unsigned flags);
/* Frees the results of the last call. */
void api_reset(whammc *w);

/* Reads the scripts and instruments a module of a program. False if there were errors. */
bool api_instrument_module(whammc *w, const CorePart *part, const whammc_options *given,
                           const RewriteOptions *options, Buf *out);
/* Warns of probes that match nothing. */
void api_warn_unmatched(whammc *w);
/* Instruments a component (whammc_instrument). */
bool api_instrument_component(whammc *w, const CoreProgram *component, const whammc_options *given,
                              Buf *out);
/* The status of a call that succeeded (`ok`) or failed; passes the output to the caller. */
whammc_status api_output(const whammc *w, bool ok, Buf *buf, uint8_t **out, size_t *out_size);
/* The comment, "//", in the lines above the one with an offset, each line after `indent`. */
void api_comment_above(Str text, uint32_t at, const char *indent, Buf *out);
/* A copy with a NUL, on the heap. */
char *api_copy(const void *s, size_t len);
/* The options of one call of whammc_instrument; NULL = the defaults. */
RewriteOptions api_options(const whammc_options *o);
/* Gives the constants of the parsed scripts the values of whammc_define. */
void api_define(whammc *w);
/* Frees the copies of whammc_add_monitor and whammc_add_monitor_library. */
void api_free_monitors(whammc *w);

#endif
