/*
 * monitor/attach/engine_side.h - the engine's side of a monitor that is being attached, implemented
 * with the interpreter (eval/).
 *
 * A host runs one monitor with its libraries for one program. It offers the modules of engines:
 * `wizeng`, `whamm:reflect`, `whamm:dyninstr`, WASI, and the libraries under their names. A
 * function that reads or writes memory uses the first memory that the calling module exports, in
 * the order of exports.
 */
#ifndef WHAMMC_ATTACH_ENGINE_SIDE_H
#define WHAMMC_ATTACH_ENGINE_SIDE_H

#include "eval/eval.h"

typedef struct BindHost BindHost;

/* A monitor or a library. */
typedef struct BindModule {
    Str name;                 /* the name by which later modules import it; empty: none */
    const WasmModule *module; /* read and validated, nothing added to it */
} BindModule;

typedef struct BindHostOptions {
    const WasmModule *app; /* the program. Only its input is used, so it may be added to */
    Str app_path;          /* for whamm:reflect.read_module_path */
    /* Printed text (stream 1 or 2, as it comes); NULL = dropped. */
    void (*write)(void *ctx, int stream, const void *bytes, size_t n);
    /* remove_probe while the monitor is attached; NULL = nothing happens. */
    void (*remove_probe)(void *ctx, uint32_t id);
    void *ctx;
    uint64_t fuel; /* limit of instructions for all calls together; 0 = bind_fuel's */
} BindHostOptions;

/* The limit of instructions for a monitor while it is attached to a program, start functions
 * included: a second's work, and a share for each byte of the program. Monitors that whammc makes
 * use less than a fifth of the share. */
uint64_t bind_fuel(const WasmModule *app);

/*
 * Instantiates the libraries in order, then the monitor, which is the last of `modules`; start
 * functions run. All that is given must outlive the host, names included. NULL with messages (tag
 * cannot-bind) if something cannot be linked. A start function that traps is a warning, and the
 * instance is used as it is then, as on engines.
 */
BindHost *bind_host_new(const BindHostOptions *options, const BindModule *modules,
                        uint32_t nmodules, Diags *diags);
void bind_host_free(BindHost *h);

/*
 * Calls a function of the monitor, by handle: a predicate or a callback. False with *error on a
 * trap, or when the instructions are used up (EVAL_FUEL); eval_report makes a message of that.
 */
bool bind_host_call(BindHost *h, uint32_t func, const EvalValue *args, uint32_t nargs,
                    EvalValue *results, uint32_t nresults, EvalError *error);

/* Charges the fuel for handing the monitor so many bytes. */
void bind_host_spend(BindHost *h, size_t bytes);

uint32_t bind_host_count(const BindHost *h); /* modules */
/* Module n as it was given; the last one is the monitor. */
const BindModule *bind_host_module(const BindHost *h, uint32_t n);
/* Its instance. */
EvalInstance *bind_host_instance(const BindHost *h, uint32_t n);
/* The instance of the monitor. */
EvalInstance *bind_host_monitor(const BindHost *h);

/* The program's answers (monitor/attach/reflect.h). */
const struct Reflect *bind_host_reflect(const BindHost *h);

/* The import name of a library file: without directories and the last extension. Part of `path`. */
Str bind_library_name(Str path);

/* The first memory that a module exports, by handle; -1 = none. */
int64_t bind_host_memory(const WasmModule *m);

#endif
