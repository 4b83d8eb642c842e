/*
 * dwarf/dwarf.h - reads DWARF of versions 2 to 5: the source location of a code offset, with the
 * chain of functions that were inlined there.
 *
 * Nothing here knows WebAssembly modules: a caller passes the contents of the sections .debug_* and
 * where function bodies are. All addresses are offsets in the contents of the code section, as in
 * DWARF for WebAssembly.
 *
 * Sections are data that nobody has checked. Whatever they contain, each question ends in time and
 * memory that are linear in their size; what cannot be read is unknown, and dwarf_problem says what
 * it was.
 *
 * LAZY. dwarf_open reads the headers of units and runs line programs only to learn where their
 * sequences are. The rows of a sequence, the functions of a unit and the calls that were inlined
 * into a function are read by the first question that needs them; of rows and inlined calls only
 * the last ones are kept, so ask in the order of the code.
 */
#ifndef WHAMMC_DWARF_DWARF_H
#define WHAMMC_DWARF_DWARF_H

#include "base/buf.h"

/* The contents of the sections; what is not there is empty. They must outlive the Dwarf. */
typedef struct DwarfSections {
    Str info, abbrev, str, str_offsets, line, line_str, addr, ranges, rnglists;
    bool of_types; /* `info` is .debug_types, which version 4 has besides */
} DwarfSections;

/* Where a function's body is: its locals, then its code. */
typedef struct DwarfBody {
    uint32_t start, end; /* end exclusive */
} DwarfBody;

/* One function of an inlined chain, and where in it the code is from. */
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

/* Reads what is needed first. `bodies` are sorted and do not overlap; they are borrowed. */
Dwarf *dwarf_open(const DwarfSections *sections, const DwarfBody *bodies, uint32_t nbodies);
void dwarf_free(Dwarf *d);

/*
 * Whether the sections describe other code than this: most of their functions do not begin and end
 * where a body does, or all of it is gone. Reads units until some hundred functions have been
 * looked at.
 */
bool dwarf_is_stale(Dwarf *d);

/*
 * The frames at an address, the innermost inlined function first; *frames is valid until the next
 * question. Returns how many: 0 if nothing is known, and at least one if a line or a function is.
 * Paths are as recorded, made absolute by the compilation directory if they are relative to it.
 * Equal paths have equal pointers.
 */
uint32_t dwarf_at(Dwarf *d, uint32_t address, const DwarfFrame **frames);

/*
 * What the linker has removed, but the sections still describe: calls `found` for each line that
 * the code had (the frame has nothing but path and line; a line can come several times), and for
 * each function (names, and where it is declared). Frames are valid during the call.
 */
typedef void DwarfFound(void *ctx, const DwarfFrame *frame);
void dwarf_removed_lines(Dwarf *d, DwarfFound *found, void *ctx);
void dwarf_removed_functions(Dwarf *d, DwarfFound *found, void *ctx);

/* Changes while questions are answered. */
const DwarfProblem *dwarf_problem(const Dwarf *d);

#endif
