/*
 * locations/locations.h - which source location an instruction has: file, line, column, function,
 * and the functions that it was inlined into.
 *
 * Locations come from the first of these that there is and that describes this code: DWARF in the
 * program, DWARF in a separate module (`external_debug_info`), a source map (`sourceMappingURL`).
 * A separate file that the caller gives comes before all of them. Nothing here reads files.
 *
 * Everything is read when it is asked for (see dwarf/dwarf.h): ask in the order of the code, and on
 * one thread at a time.
 */
#ifndef WHAMMC_LOCATIONS_LOCATIONS_H
#define WHAMMC_LOCATIONS_LOCATIONS_H

#include "wasm/module.h"

typedef struct Locations Locations;

/* One function of an inlined chain, and where in it the instruction is from. */
typedef struct LocationFrame {
    Str file;              /* the path; empty = unknown. Equal paths have equal pointers */
    uint32_t line, column; /* from 1; 0 = unknown */
    Str function;          /* its name in the source, without scopes; empty = unknown */
    Str linkage;           /* the linker's name, often mangled; empty = none */
    Str declared_file;     /* where it is declared; empty = unknown */
    uint32_t declared;     /* the line there; 0 = unknown */
} LocationFrame;

/* --path-map: paths that begin with `from`, a folder or a whole path, begin with `to` instead. */
typedef struct PathMap {
    Str from, to;
} PathMap;

/* A separate file. All is borrowed. */
typedef struct LocationFile {
    const char *title; /* what messages call it */
    Str name;          /* its path or URL, which relative paths in a source map refer to */
    Str bytes;         /* a module or a source map; ptr NULL = there is none */
} LocationFile;

typedef struct LocationOptions {
    LocationFile debug; /* instead of what the program has or names */
    LocationFile named; /* the file that the program names (locations_named) */
    Str program;        /* the program's path; what sources in a data URL are relative to */
    const PathMap *maps;
    uint32_t nmaps;
    const char *without; /* what it means if there are no locations: a hint; NULL = nothing more */
} LocationOptions;

/*
 * Prepares questions about a program. Options and program are borrowed. Warns if something is there
 * that cannot be used. Never NULL.
 */
Locations *locations_open(const WasmModule *m, const LocationOptions *options, Diags *diags);

/* Whether there is anything that may know locations. */
bool locations_any(const Locations *l);

/*
 * The frames at a place in a function of the program, the innermost inlined function first; *frames
 * is valid until the next question. `pc` is an offset in the function's body; that of its locals is
 * the function's own line. Returns how many: 0 if nothing is known.
 */
uint32_t locations_at(Locations *l, uint32_t func, uint32_t pc, const LocationFrame **frames);

/*
 * What the linker has removed, but the debug information still describes: calls `line` for each
 * line that the code had (the frame has nothing but file and line; a line can come several times),
 * and `function` for each function (names, and where it is declared). Frames are valid during the
 * call.
 */
typedef void LocationFound(void *ctx, const LocationFrame *frame);
void locations_removed(Locations *l, LocationFound *line, LocationFound *function, void *ctx);

/* The text of the source with this path, if the debug information has it: source maps can. It lives
 * until locations_close. */
bool locations_text(Locations *l, Str path, Str *text);

/* Warns of what could not be read, now that the questions are over. */
void locations_close(Locations *l, Diags *diags);

/* Whether a module has debug information, or names a file that does. */
bool locations_mentioned(Str module);

/* The path or URL of the separate file with debug information that a module names and needs; false
 * if it needs none. */
bool locations_named(Str module, Str *name);

#endif
