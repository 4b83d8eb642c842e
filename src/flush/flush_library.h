/*
 * flush/flush_library.h - user libraries become imports or parts of the program.
 */
#ifndef WHAMMC_FLUSH_FLUSH_LIBRARY_H
#define WHAMMC_FLUSH_FLUSH_LIBRARY_H

#include "flush/flush.h"

/*
 * Links the library functions that the plan's scripts call when the program runs: sets
 * LibraryFn.handle, Library.memory and Flush.library_starts. The module is not laid out. False with
 * messages if it cannot be done.
 */
bool libraries_link(Flush *f);

/* The memory of a library becomes an import: sets Library.memory. */
void library_import_memory(WasmModule *m, Library *lib);

/* A bundled function that is one of the host: its import, made if it is not there. The module is
 * not laid out. */
uint32_t library_import_bundled(WasmModule *m, const BundledFn *fn);

#endif
