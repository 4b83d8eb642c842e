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
    Str info, abbrev, str, str_offsets, line, line_str, addr, ranges, rnglists, loc, loclists;
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

/* ---- values ---- */

/* Where a value is. */
typedef enum DwarfWhere {
    DWARF_NOWHERE,  /* DwarfPlace.why */
    DWARF_NUMBER,   /* it is the offset */
    DWARF_IN_LOCAL, /* in a local, plus the offset */
    DWARF_AT_LOCAL, /* in memory, at the address in a local, plus the offset */
    DWARF_IN_FRAME, /* the same where the local is the frame base of the whole function */
    DWARF_IN_MEMORY /* in memory, at the offset */
} DwarfWhere;

typedef struct DwarfPlace {
    DwarfWhere where;
    uint32_t local;
    int64_t offset;
    uint32_t start, end; /* addresses of the code for which this is so */
    const char *why;     /* DWARF_NOWHERE: static text */
} DwarfPlace;

/* A parameter or variable. Types are entries; 0 = none, or unknown. */
typedef struct DwarfVariable {
    bool param; /* of the function that has the code, not of one that was inlined */
    uint32_t type;
    DwarfPlace place;
} DwarfVariable;

/* The innermost variable of this name at an address. False if there is none, or the function is not
 * described. */
bool dwarf_variable(Dwarf *d, uint32_t address, Str name, DwarfVariable *out);

/* What a function takes and returns. */
typedef struct DwarfSignature {
    const DwarfVariable *params; /* in order, valid until the next query */
    const Str *names;
    uint32_t nparams;
    bool variadic; /* and more arguments */
    bool changed;  /* the compiler has changed the types of the function's parameters */
    uint32_t result;
} DwarfSignature;
bool dwarf_signature(Dwarf *d, uint32_t address, DwarfSignature *out);

/* Where the prologue of the function at an address ends: before, its frame is not complete. */
uint32_t dwarf_prologue_end(Dwarf *d, uint32_t address);

typedef enum DwarfTypeKind {
    DWARF_UNKNOWN,
    DWARF_SIGNED,
    DWARF_UNSIGNED,
    DWARF_BOOL,
    DWARF_FLOAT,
    DWARF_CHAR,    /* of one byte; is_signed */
    DWARF_POINTER, /* or reference */
    DWARF_STRUCT,  /* or union, class */
    DWARF_ARRAY
} DwarfTypeKind;

/* A type without names, qualifiers and enumerations of its own. */
typedef struct DwarfType {
    DwarfTypeKind kind;
    bool is_signed;
    uint64_t size;   /* in bytes; 0 = unknown */
    uint32_t entry;  /* of a struct */
    uint32_t target; /* of a pointer, an element of an array */
    uint64_t count;  /* of elements; 0 = unknown */
} DwarfType;
DwarfType dwarf_type(Dwarf *d, uint32_t entry);

/* A field of a struct, or of its base classes and unnamed members. Bit fields have `bits`. */
typedef struct DwarfField {
    uint64_t offset;
    uint32_t type;
    bool bits;
} DwarfField;
bool dwarf_field(Dwarf *d, uint32_t structure, Str name, DwarfField *out);
/* The only field of a struct that has one; false if there are more, or none. */
bool dwarf_only_field(Dwarf *d, uint32_t structure, DwarfField *out);

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
