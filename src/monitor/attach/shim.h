/*
 * monitor/attach/shim.h - a monitor becomes part of the program it was attached to: its code and
 * state (monitor/attach/freeze.h), and the functions that stand in for an engine.
 *
 *   wizeng          text goes where reports of scripts go with the program's host; error
 *                   prints its text as a line and traps; crash traps; force_gc does nothing;
 *                   rdtsc is the monotonic clock, in nanoseconds
 *   whamm:reflect   the same answers as before: numbers are constants, and the readable parts of
 *                   the program's bytes are kept
 *   WASI            the program's, through link/bridge.h; where the program's host is another and
 *                   the monitors only write to standard output and read the time, that goes the
 *                   way of wizeng
 *   whamm:dyninstr  functions of the options
 *
 * Only what the monitor's functions can reach is added.
 *
 *     bind_shim_init(&shim, ...)                once a program
 *     part = bind_part_new(&shim, host, "mon.") once a monitor
 *     bind_part_merge(part, roots, nroots)      then bind_part_func for each
 *     bind_shim_finish(&shim)                   then bind_shim_flush
 */
#ifndef WHAMMC_ATTACH_SHIM_H
#define WHAMMC_ATTACH_SHIM_H

#include "link/bridge.h"
#include "link/host.h"
#include "monitor/attach/engine_side.h"
#include "monitor/attach/freeze.h"

/* One monitor. */
typedef struct BindPart {
    struct BindShim *shim;
    BindHost *host;
    Freeze freeze;
    Frozen *monitor;
    Vec(Bridge *) bridges; /* of modules that use WASI */
} BindPart;

typedef struct BindShimOptions {
    HostChoice host; /* HOST_AUTO: as the comment above says */
    /* The replacement of a function of whamm:dyninstr: a handle in the program; -1 = there is no
     * such function, -2 = an error was reported. NULL = always -1. */
    int64_t (*dyninstr)(void *ctx, BindPart *part, const WasmImport *import);
    void *ctx;
} BindShimOptions;

typedef struct BindShim {
    WasmModule *to;
    BindShimOptions options;
    Diags *diags;
    Vec(BindPart *) parts;
    struct BindText *text;       /* where text goes; NULL = none so far */
    struct BindReflect *reflect; /* NULL = nothing was requested so far */
} BindShim;

/* For the program `to`, which must not be laid out; the arguments must outlive the shim. */
void bind_shim_init(BindShim *s, WasmModule *to, const BindShimOptions *options, Diags *diags);
void bind_shim_free(BindShim *s);

/* A part for a monitor; names in the program begin with `prefix`. Owned by the shim. Make all parts
 * before the first merge: HOST_AUTO depends on their imports. */
BindPart *bind_part_new(BindShim *s, BindHost *host, Str prefix);

/* Copies functions of the monitor (by its handles) with all they need. False with messages. */
bool bind_part_merge(BindPart *p, const uint32_t *roots, uint32_t nroots);

/* Where a copied function of the monitor is in the program: a handle. */
static inline uint32_t bind_part_func(const BindPart *p, uint32_t func) {
    return p->monitor->merge.handles[WASM_SPACE_FUNC][func];
}

/* After the last merge: the contents of memories, tables and globals. False with messages. */
bool bind_shim_finish(BindShim *s);

/* Where text goes; HOST_AUTO = there is none. After bind_shim_finish. */
HostChoice bind_shim_host(const BindShim *s);

/* Whether monitors read a clock that the host does not have. After bind_shim_finish. */
bool bind_shim_clockless(const BindShim *s);

/* The function () -> () that sends text that is left, to be called when the program ends, after
 * wasm:exit: a handle, -1 = there is none. After bind_shim_finish. */
int64_t bind_shim_flush(const BindShim *s);

#endif
