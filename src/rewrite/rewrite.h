/*
 * rewrite/rewrite.h - a program and a plan go in, an instrumented program comes out.
 */
#ifndef WHAMMC_REWRITE_REWRITE_H
#define WHAMMC_REWRITE_REWRITE_H

#include "storage/storage.h"

typedef enum HostChoice { HOST_AUTO, HOST_WASI, HOST_JS, HOST_NONE, HOST_PROF } HostChoice;

/* LINK_AUTO: merge, unless only that would make the program need an engine with multi-memory. */
typedef enum LinkChoice { LINK_MERGE, LINK_IMPORT, LINK_AUTO } LinkChoice;

/* How the report of a program gets out. */
typedef struct Hosted {
    HostChoice
        host; /* what HOST_AUTO has become; HOST_AUTO still if the program needs no host of ours */
    Str why;  /* "the program imports WASI", in the plan's arena; empty if it was asked for */
} Hosted;

typedef struct RewriteOptions {
    StorageChoice storage;
    HostChoice host;
    ImageFormat format;
    ReportDest report;
    const char *report_file; /* REPORT_FILE; else NULL */
    LinkChoice link;
    LinkChoice *linked; /* receives what was taken; may be NULL */
    Hosted *hosted;     /* likewise */
    bool host_flushes;  /* HOST_JS: the host calls whammc:flush at the end */
    bool no_optimise;   /* leave out Binaryen's passes */
    bool coalesce;      /* count by segments, not at each site */
    bool exact_traps;   /* ... which end at instructions that can trap */
    bool keep_debug;    /* keep sections that describe the old code */
} RewriteOptions;

/*
 * Instruments `bytes` with the plan (made by plan_make, not used before). `file` is the module's
 * name in diags. The output is validated before it is given back. False if there were errors; then
 * out is empty. The actions' site counts are filled in either way as far as matching got.
 */
bool rewrite_module(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                    const RewriteOptions *options, Buf *out, Diags *diags);

/* Only finds the sites: calls `at` as Matcher does. False if the module is malformed. */
bool rewrite_list(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                  void (*at)(void *ctx, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n),
                  void *ctx, Diags *diags);

#endif
