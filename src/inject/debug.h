/*
 * inject/debug.h - custom sections that describe a program's old code: they are dropped; with
 * --keep-debug, DWARF is adjusted to the new code.
 */
#ifndef WHAMMC_INJECT_DEBUG_H
#define WHAMMC_INJECT_DEBUG_H

#include "inject/moves.h"

typedef struct DebugInfo {
    const WasmModule *m;
    Diags *diags;
    bool keep;        /* the sections that can be adjusted */
    bool has_map;     /* the output gets a source map */
    Locator *locator; /* NULL = the program's own sections count */
    /* Zeroed at first: */
    Locations *own; /* without a locator */
    LocationOptions none;
    Str dwarf; /* the module whose DWARF is adjusted; empty = none */
} DebugInfo;

/* Marks the sections for wasm_write to omit, and finds the DWARF to adjust. Warns of lost data.
 * Returns whether there is DWARF to adjust, which requires moves. */
bool debug_begin(DebugInfo *d, WasmModule *m);

/* Appends the adjusted sections to a written module. Warns of lost data. */
void debug_put(DebugInfo *d, const Moves *moves, const WasmModule *written, Buf *out);
void debug_end(DebugInfo *d);

#endif
