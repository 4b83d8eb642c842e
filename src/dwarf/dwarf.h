/*
 * dwarf/dwarf.h - reads DWARF of versions 2 to 5: the source location of a code offset, with the
 * chain of functions that were inlined there.
 *
 * Nothing here knows WebAssembly modules: a caller passes the contents of the sections .debug_* and
 * where function bodies are. All addresses are offsets in the contents of the code section, as in
 * DWARF for WebAssembly.
 *
 * Sections are untrusted data. Whatever they contain, each query takes time and memory linear in
 * their size; unreadable parts are treated as unknown, and dwarf_problem describes the first one.
 *
 * Reading is lazy. dwarf_open reads the headers of units and runs line programs only to find their
 * sequences. The rows of a sequence, the functions of a unit and the calls inlined into a function
 * are read by the first query that needs them. Only the last rows and inlined calls are cached, so
 * query in code order.
 */
#ifndef WHAMMC_DWARF_DWARF_H
#define WHAMMC_DWARF_DWARF_H

#include "base/buf.h"

/* The contents of the sections, empty if missing. They must outlive the Dwarf. */
typedef struct DwarfSections {
    Str info, abbrev, str, str_offsets, line, line_str, addr, ranges, rnglists;
    bool of_types; /* `info` is .debug_types, which version 4 has besides */
} DwarfSections;

/* Where a function's body is: its locals, then its code. */
typedef struct DwarfBody {
    uint32_t start, end; /* end exclusive */
} DwarfBody;

/* One function of an inlined chain, with the location of the code in it. */
typedef struct DwarfFrame {
    Str path;              /* empty = unknown */
    uint32_t line, column; /* from 1; 0 = unknown */
    Str name;              /* the function's in the source, without scopes; empty = unknown */
    Str linkage;           /* the linker's name for it, often mangled; empty = none */
    Str declared_path;     /* where it is declared; empty = unknown */
    uint32_t declared;     /* the line there; 0 = unknown */
} DwarfFrame;

/* The first thing that could not be read. */
typedef struct DwarfProblem {
    const char *section; /* ".debug_info"; NULL = everything could be read so far */
    uint32_t offset;     /* in the section */
    const char *what;    /* static text */
} DwarfProblem;

typedef struct Dwarf Dwarf;

/* Opens the sections. `bodies` are sorted and do not overlap; they are borrowed. */
Dwarf *dwarf_open(const DwarfSections *sections, const DwarfBody *bodies, uint32_t nbodies);
void dwarf_free(Dwarf *d);

/*
 * Whether the sections are stale: most of their functions do not have the range of a body, or all
 * have been removed. Reads units until about a hundred functions have been compared.
 */
bool dwarf_is_stale(Dwarf *d);

/*
 * Returns the number of frames at an address, the innermost inlined function first, and sets
 * *frames, which is valid until the next query. 0 if nothing is known; at least one if a line or a
 * function is known. Paths are made absolute by the compilation directory if they are relative to
 * it, and have no "." and "..". Equal paths have equal pointers.
 */
uint32_t dwarf_at(Dwarf *d, uint32_t address, const DwarfFrame **frames);

/*
 * Reports code that the linker removed but the sections still describe: calls `found` for each line
 * of such code (a frame with path and line only; a line may be reported several times), and for
 * each function (names, and the location of the declaration). Frames are valid during the call.
 */
typedef void DwarfFound(void *ctx, const DwarfFrame *frame);
void dwarf_removed_lines(Dwarf *d, DwarfFound *found, void *ctx);
void dwarf_removed_functions(Dwarf *d, DwarfFound *found, void *ctx);

/* Calls `found` for each function that was inlined somewhere, even where nothing of it is left. */
void dwarf_inlined_functions(Dwarf *d, DwarfFound *found, void *ctx);

/* A path, and as it was recorded. */
typedef struct DwarfPath {
    Str path, recorded; /* recorded.len 0 = it is too long */
} DwarfPath;

/* The number of paths in which ".." was resolved so far, and these, in *paths. With links to
 * folders, the recorded path may be another file. */
uint32_t dwarf_changed_paths(const Dwarf *d, const DwarfPath **paths);

/* May be set by later queries. */
const DwarfProblem *dwarf_problem(const Dwarf *d);

#endif
