/*
 * link/import_library.h - what libraries of scripts have, as imports of a module.
 */
#ifndef WHAMMC_LINK_IMPORT_LIBRARY_H
#define WHAMMC_LINK_IMPORT_LIBRARY_H

#include "library/library.h"

/* The memory of a library becomes an import: sets Library.memory. */
void library_import_memory(WasmModule *m, Library *lib);

/* A bundled function that is one of the host: its import, made if it is not there. The module is
 * not laid out. */
uint32_t library_import_bundled(WasmModule *m, const BundledFn *fn);

#endif
