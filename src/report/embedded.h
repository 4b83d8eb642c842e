/*
 * report/embedded.h - the compiled runtimes, most of which become part of instrumented programs.
 *
 * Each but the last is a module that imports env.memory, env.__stack_pointer (a mutable i32) and
 * functions of its host, and exports whammc_report(image, len, values) and whammc_sum(sum, words)
 * (stdlib/runtime/sums.h), and those of JavaScript and WASI without values, which may be in the
 * program's memory, whammc_no_memory(), which says that this could not be grown. It has no data,
 * table, start function or static memory, so it can be put into any memory; it needs RUNTIME_STACK
 * bytes of stack below __stack_pointer. RUNTIME_IMPORT is complete, with a memory: programs import
 * it from module RUNTIME_IMPORT_MODULE. Its exports are in stdlib/runtime/hosts/host_import.c.
 */
#ifndef WHAMMC_REPORT_EMBEDDED_H
#define WHAMMC_REPORT_EMBEDDED_H

#include "base/mem.h"

typedef enum RuntimeHost {
    RUNTIME_JS,           /* imports whammc.write(ptr, len) */
    RUNTIME_NONE,         /* also exports whammc_report_ptr() and whammc_report_len() */
    RUNTIME_WASI,         /* fd_write; the runtime is in the memory that WASI sees */
    RUNTIME_WASI_FILE,    /* ... and path_open, fd_prestat_get, fd_close */
    RUNTIME_BORROW,       /* fd_write, app.copy_in, app.copy_out; the runtime has its own memory */
    RUNTIME_BORROW_FILE,  /* ... and path_open, fd_prestat_get, fd_close */
    RUNTIME_MONITOR,      /* WASI's fd_write, whamm:reflect; for monitor modules */
    RUNTIME_MONITOR_FILE, /* ... and path_open, fd_prestat_get, fd_close */
    RUNTIME_IMPORT,
    RUNTIME_COUNT
} RuntimeHost;

enum { RUNTIME_STACK = 16384 };

#define RUNTIME_IMPORT_MODULE "whammc_runtime"

typedef struct RuntimeModule {
    const char *name;
    const uint8_t *bytes;
    size_t len;
} RuntimeModule;

/*
 * With `values`, the runtime has the functions of stdlib/runtime/values.h too: strings, maps, text,
 * the clock. values_map_at1 is exported as whammc_map_at1, and so on. Such a runtime has a memory
 * to itself, laid out as that file says, and its __stack_pointer starts at VALUES_STACK.
 * RUNTIME_IMPORT always has them, exported without whammc_. The runtimes of monitors always have
 * them, and the functions of stdlib/runtime/rows.h and stdlib/runtime/site/site.h, as
 * whammc_rows_site, whammc_site_op
 * ...
 */
RuntimeModule runtime_module(RuntimeHost host, bool values);

/* Arithmetic for probe code: exports whammc_fmod, imports nothing that it uses. */
RuntimeModule runtime_arithmetic(void);

/* The sums of bound monitors: exports whammc_sums (stdlib/runtime/sums_bound.h), imports app.change
 * and env.memory, perhaps env.__stack_pointer. */
RuntimeModule runtime_sums(void);

/* WASI for libraries inside a program: a complete module that exports functions with the names of
 * WASI's. Its imports are in stdlib/runtime/bridge.c. */
RuntimeModule runtime_adapters(void);

/* The hub of a component: a complete module that imports its memory, WASI's functions and those of
 * instances, as stdlib/runtime/hosts/hub.c says. `file`: reports go to a file; `serves`: there is no command whose end is that of
 * the program. */
RuntimeModule runtime_component(bool file, bool serves);

#endif
