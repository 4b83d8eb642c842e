/*
 * wasm/wat.h - modules in the text format, which wabt's wat2wasm assembles: recognition, and
 * messages.
 */
#ifndef WHAMMC_WASM_WAT_H
#define WHAMMC_WASM_WAT_H

#include "base/diag.h"

/* Whether a file is such a module, by its name or its beginning. */
bool wat_is_module(const char *path, const Buf *content);

/* Adds the messages of wat2wasm about the text to `d`. Returns false if there are none. */
bool wat_messages(Diags *d, DiagFileId file, const Buf *text, const char *said);

#endif
