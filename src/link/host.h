/*
 * link/host.h - hosts, and how the imports of a program determine its host.
 */
#ifndef WHAMMC_LINK_HOST_H
#define WHAMMC_LINK_HOST_H

#include "wasm/module.h"

/* HOST_COMPONENT: the module is part of a component (link/hub.h). It has the interface of HOST_JS,
 * but only the host's hub knows where the program ends, and nobody corrects counts after traps. */
typedef enum HostChoice {
    HOST_AUTO,
    HOST_WASI,
    HOST_JS,
    HOST_NONE,
    HOST_PROF,
    HOST_COMPONENT
} HostChoice;

/* The name of a host, as the option --host and HOST in scripts spell it. */
Str host_name(HostChoice host);

/* Whether a module imports WASI, of either version. */
bool host_uses_wasi(const WasmModule *m);
/* A function that the program imports from another module than WASI and its extensions ("wasi",
 * "wasi_..."), so that it needs a host of its own, usually JavaScript; NULL = none. */
const WasmImport *host_foreign_import(const WasmModule *m);

/* Whether the function certainly writes nothing that people see, does not wait, and does not end
 * the program. */
bool host_is_quiet(const WasmImport *im);

/* The module that the program's WASI functions come from. */
const char *host_wasi_module(const WasmModule *m);

#endif
