/*
 * link/options.h - options of a program that is instrumented.
 */
#ifndef WHAMMC_LINK_OPTIONS_H
#define WHAMMC_LINK_OPTIONS_H

#include "base/sink.h"
#include "link/host.h"
#include "report/image.h"

/* Where per-site variables live. */
typedef enum StorageChoice { STORAGE_AUTO, STORAGE_GLOBALS, STORAGE_MEMORY } StorageChoice;

/* LINK_AUTO: merge, unless only that would make the program need an engine with multi-memory. */
typedef enum LinkChoice { LINK_MERGE, LINK_IMPORT, LINK_AUTO } LinkChoice;

/* How the report leaves the program. */
typedef struct Hosted {
    HostChoice host; /* the host chosen for HOST_AUTO; HOST_AUTO still if the program needs no host
                        of ours */
    Str why; /* "the program imports WASI", in the plan's arena; empty if the host was given */
} Hosted;

typedef struct RewriteOptions {
    StorageChoice storage;
    HostChoice host;
    ImageFormat format;
    ReportDest report;
    const char *report_file; /* REPORT_FILE; else NULL */
    LinkChoice link;
    LinkChoice *linked;  /* receives the choices; may be NULL */
    Hosted *hosted;      /* likewise */
    bool host_flushes;   /* HOST_JS: the host calls whammc:flush at the end */
    bool polls;          /* the program calls whammc.poll at intervals, where reports can be made */
    bool several;        /* the program is one of several modules that call each other */
    bool alone;          /* it is not, regardless of its sections */
    bool quiet;          /* HOST_COMPONENT: nothing throws exceptions in the component */
    bool no_optimise;    /* do not optimise their code */
    bool coalesce;       /* count by segments, not at each site */
    bool exact_traps;    /* ... and end segments at instructions that can trap */
    uint32_t threads;    /* at most so many; 0 = one for each processor */
    bool keep_debug;     /* keep DWARF, adjusted to the new code */
    const char *map_url; /* URL of the output's source map; NULL = none */
    const char *map_root; /* its sourceRoot; NULL = none */
    Buf *map;             /* receives the source map */
    const Sink *sink;     /* receives the output as it is made, before validation; may be NULL */
} RewriteOptions;

#endif
