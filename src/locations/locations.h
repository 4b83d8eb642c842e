/*
 * locations/locations.h - source locations of instructions: file, line, column, function, and the
 * functions that it was inlined into.
 *
 * Locations come from the first of these that exists and describes this code: DWARF in the program,
 * DWARF in a separate module (`external_debug_info`), a source map (`sourceMappingURL`). A separate
 * file given by the caller precedes all of them. Nothing here reads files.
 *
 * Everything is read lazily (see dwarf/dwarf.h): query in code order, and on one thread at a time.
 */
#ifndef WHAMMC_LOCATIONS_LOCATIONS_H
#define WHAMMC_LOCATIONS_LOCATIONS_H

#include "dwarf/dwarf.h"
#include "wasm/module.h"

typedef struct Locations Locations;

/* One function of an inlined chain, with the location of the instruction in it. */
typedef struct LocationFrame {
    Str file;              /* the path, without ".." if it is not from --path-map; empty = unknown.
                              Equal paths have equal pointers */
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
    const char *title; /* its name in messages */
    Str name;          /* its path or URL, which relative paths in a source map refer to */
    Str bytes;         /* a module or a source map; ptr NULL = there is none */
} LocationFile;

typedef struct LocationOptions {
    LocationFile debug; /* overrides the section or file named by the program */
    LocationFile named; /* the file that the program names (locations_named) */
    Str program;        /* the program's path, the base of sources in a data URL */
    const PathMap *maps;
    uint32_t nmaps;
    const char *without; /* a hint for the warning that there are no locations; NULL = none */
} LocationOptions;

/*
 * Prepares queries about a program. Options and program are borrowed. Warns about unusable debug
 * information. Never returns NULL.
 */
Locations *locations_open(const WasmModule *m, const LocationOptions *options, Diags *diags);

/* Whether there is any usable debug information. */
bool locations_any(const Locations *l);

/*
 * Returns the number of frames at an offset in a function, the innermost inlined function first,
 * and sets *frames, which is valid until the next query. `pc` is an offset in the function's body;
 * at the locals' declarations it has the function's line. 0 if nothing is known.
 */
uint32_t locations_at(Locations *l, uint32_t func, uint32_t pc, const LocationFrame **frames);

/* The location of a frame's function: its declaration or, if that is unknown, the frame's location,
 * whose query should then be at offset 0. */
void locations_beginning(const LocationFrame *frame, Str *file, uint32_t *line);

/*
 * Reports code that the linker removed but the debug information still describes: calls `line` for
 * each line of such code (a frame with file and line only; a line may be reported several times),
 * and `function` for each function (names, and the location of the declaration). Frames are valid
 * during the call.
 */
typedef void LocationFound(void *ctx, const LocationFrame *frame);
void locations_removed(Locations *l, LocationFound *line, LocationFound *function, void *ctx);

/* Calls `function` for each function that was inlined somewhere, with the same as above. */
void locations_inlined(Locations *l, LocationFound *function, void *ctx);

/* The module with the DWARF sections in use: the program or a separate file. False if locations do
 * not come from DWARF. */
bool locations_dwarf(const Locations *l, Str *module);

/* The DWARF in use, for questions about values; *start is the address of the function's body. NULL
 * = locations do not come from DWARF. */
Dwarf *locations_values(Locations *l, uint32_t func, uint32_t *start);

/* The text of the source with this path, if the debug information (a source map) embeds it. Valid
 * until locations_close. */
bool locations_text(Locations *l, Str path, Str *text);

/* The path of a source as the debug information has it, if that has a ".." that was resolved. Equal
 * to `path` but for links to folders. Valid until locations_close. */
bool locations_recorded(Locations *l, Str path, Str *recorded);

/* Warns about unreadable debug information; call it after the last query. */
void locations_close(Locations *l, Diags *diags);

/* Whether a module has debug information, or names a file that does. */
bool locations_mentioned(Str module);

/* The path or URL of the separate file with debug information that a module names and needs; false
 * if it needs none. */
bool locations_named(Str module, Str *name);

#endif
