/*
 * inject/moves.h - where the instructions of a program moved to, for its DWARF and for a source map
 * of the instrumented program.
 *
 * An instruction keeps its location; inserted code has none. Locations refer to the innermost
 * function, from DWARF or a source map.
 */
#ifndef WHAMMC_INJECT_MOVES_H
#define WHAMMC_INJECT_MOVES_H

#include "dwarf/dwarf_moves.h"
#include "edit/edit.h"
#include "locations/locator.h"

/* The instructions of a function. */
typedef struct MovedFunc {
    uint32_t *at; /* offsets in the body, ascending */
    uint32_t *to; /* ... in the new one, or WASM_NOWHERE */
    uint32_t n;
} MovedFunc;

/* The moved instructions of all functions of a program. */
typedef struct Moves {
    const WasmModule *m;
    MovedFunc *funcs; /* by function; without a body: empty */
} Moves;

/* Makes room for the functions of a program that is read; no instruction has moved. */
void moves_begin(Moves *v, const WasmModule *m);
/* Makes wasm_edit_body fill in where the instructions of a function go. Thread-safe for different
 * functions. */
void moves_mark(const Moves *v, uint32_t func, WasmBodyEdit *edit);
/* Returns the new offset of an instruction of a function, or WASM_NOWHERE. */
uint32_t moves_find(const Moves *v, uint32_t func, uint32_t at);
/* Frees the lists of all functions. */
void moves_free(Moves *v);

/* Appends the source map of the written module, in JSON. Relative paths of sources get the prefix
 * `root`: empty, or a folder that ends in '/'. */
void moves_source_map(const Moves *v, const WasmModule *written, Locations *l, Str root, Buf *json);

/* The moves of all code, in offsets of the code section's contents. */
typedef struct MovedCode {
    DwarfMoves moves; /* borrows the rest */
    DwarfBody *from, *to;
    Vec(DwarfRun) runs;
    uint32_t *globals;
} MovedCode;

/* Compares the written module with the program. Release with moved_code_free. */
void moves_code(const Moves *v, const WasmModule *written, MovedCode *code);
void moved_code_free(MovedCode *code);

/* Appends a custom section with the URL of a source map to a module. */
void moves_put_url(Str url, Buf *module);

#endif
