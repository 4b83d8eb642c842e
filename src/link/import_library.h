/*
 * link/import_library.h - functions and memories of script libraries as imports of a module.
 */
#ifndef WHAMMC_LINK_IMPORT_LIBRARY_H
#define WHAMMC_LINK_IMPORT_LIBRARY_H

#include "library/library.h"
#include "link/host.h"

/* Makes the memory of a library an import: sets Library.memory. */
void library_import_memory(WasmModule *m, Library *lib);

/* Returns the import for a bundled function that the host implements, which is added if new. Call
 * it before the layout. */
uint32_t library_import_bundled(WasmModule *m, const BundledFn *fn);

/* Whether a host may implement that function; the embedder of a program without a host can.
 * False after a message. `span`: where a script calls it. */
bool library_check_host(const BundledFn *fn, HostChoice host, Span span, Diags *diags);

#endif
