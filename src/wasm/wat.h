/*
 * wasm/wat.h - modules in the text format, which wabt's wat2wasm assembles: what they look like,
 * and what it says of them.
 */
#ifndef WHAMMC_WASM_WAT_H
#define WHAMMC_WASM_WAT_H

#include "base/diag.h"

/* Whether a file is such a module, by its name or its beginning. */
bool wat_is_module(const char *path, const Buf *content);

/* Adds what wat2wasm has said of the text to `d`. False if there is no message in it. */
bool wat_messages(Diags *d, DiagFileId file, const Buf *text, const char *said);

#endif
