/*
 * monitor/attach/attach.h - attaches monitor modules to a program ahead of time: does what an
 * engine does when it loads both, and makes a program that runs on any engine.
 *
 * Monitors run while they are attached (engine_side.h): their start functions, predicates and
 * callbacks, in the order of an engine. The resulting contents of memories, globals and tables are
 * their initial contents at run time (freeze.h, shim.h).
 *
 * Differences to engines: basic blocks are exact (analysis/flow.h), and so is instr_count; where
 * engines crash or read garbage there is an error, or in unreachable code no probe; `frame` is
 * null; insert_new_probe is not possible; remove_probe(id) removes all probes of the monitor at
 * that location that had asked for probe_id.
 */
#ifndef WHAMMC_ATTACH_ATTACH_H
#define WHAMMC_ATTACH_ATTACH_H

#include "link/host.h"

/* A module; all is borrowed. */
typedef struct BindFile {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    DiagFileId file;
} BindFile;

/* A monitor with its libraries, which it imports by their file names without folder and extension.
 */
typedef struct BindMonitor {
    BindFile module;
    const BindFile *libraries;
    uint32_t nlibraries;
} BindMonitor;

typedef struct BindOptions {
    HostChoice host;   /* for output of monitors: see shim.h */
    uint32_t threads;  /* at most so many; 0 = one for each processor */
    bool keep_debug;   /* keep DWARF, adjusted to the new code */
    bool no_optimise;  /* call all probes, inline none */
    bool coalesce;     /* count by segments the probes that only count */
    bool exact_traps;  /* ... which end where something can trap, too */
    bool empty_bodies; /* probes call an empty function instead of theirs; none are counted or
                          inlined */
    /* Output of monitors while they are attached (stream 1 or 2); NULL = dropped. */
    void (*write)(void *ctx, int stream, const void *bytes, size_t n);
    /* Called for each probe, in the order of monitors and exports, with its number of sites; may be
     * NULL. */
    void (*attached)(void *ctx, uint32_t monitor, Str export, uint64_t places);
    void *ctx;
    HostChoice *hosted; /* set to where the monitors' text goes, HOST_AUTO = there is none; may be
                           NULL */
} BindOptions;

/* Attaches monitors to a program, in this order. False with messages; then `out` is empty. The
 * output is validated. */
bool bind_program(const BindMonitor *monitors, uint32_t nmonitors, const BindFile *app,
                  const BindOptions *options, Buf *out, Diags *diags);

#endif
