/*
 * link/host.h - the host of an instrumented program, and how its imports decide it.
 */
#ifndef WHAMMC_LINK_HOST_H
#define WHAMMC_LINK_HOST_H

#include "wasm/module.h"

typedef enum HostChoice { HOST_AUTO, HOST_WASI, HOST_JS, HOST_NONE, HOST_PROF } HostChoice;

/* Whether a module imports WASI, of either version. */
bool host_uses_wasi(const WasmModule *m);
/* A function that the program imports from elsewhere than WASI and its extensions ("wasi",
 * "wasi_..."), which only a host made for the program provides, in general JavaScript; NULL = there
 * is none. */
const WasmImport *host_foreign_import(const WasmModule *m);

/* The module that the program's WASI functions come from. */
const char *host_wasi_module(const WasmModule *m);

#endif
