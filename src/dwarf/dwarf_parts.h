/*
 * dwarf/dwarf_parts.h - shared by the files of the DWARF reader.
 *
 * dwarf.c answers questions; dwarf_unit.c reads units and entries (DIEs), dwarf_form.c attributes,
 * dwarf_range.c lists of ranges, dwarf_machine.c runs line programs, dwarf_line.c finds their
 * sequences and rows, dwarf_file.c paths, dwarf_function.c functions and code inlined into them,
 * dwarf_span.c sorts intervals, dwarf_variable.c finds variables, dwarf_location.c says where they
 * are, dwarf_type.c what they are.
 *
 * Limits: parts of a section can be referred to many times, so reading them each time could take
 * time quadratic in the input. Shared parts are read once (abbreviations, line programs) or counted
 * against a budget that real files do not approach (DwarfBudgets).
 */
#ifndef WHAMMC_DWARF_DWARF_PARTS_H
#define WHAMMC_DWARF_DWARF_PARTS_H

#include "base/path_pool.h"
#include "dwarf/dwarf.h"
#include "dwarf/dwarf_cursor.h"

enum { NONE = UINT32_MAX };

/* ---- the numbers of the standard that are needed ---- */

enum {
    DW_TAG_ARRAY_TYPE = 0x01,
    DW_TAG_CLASS_TYPE = 0x02,
    DW_TAG_ENUMERATION_TYPE = 0x04,
    DW_TAG_FORMAL_PARAMETER = 0x05,
    DW_TAG_MEMBER = 0x0d,
    DW_TAG_POINTER_TYPE = 0x0f,
    DW_TAG_REFERENCE_TYPE = 0x10,
    DW_TAG_STRUCTURE_TYPE = 0x13,
    DW_TAG_TYPEDEF = 0x16,
    DW_TAG_UNION_TYPE = 0x17,
    DW_TAG_UNSPECIFIED_PARAMETERS = 0x18,
    DW_TAG_INHERITANCE = 0x1c,
    DW_TAG_SUBRANGE_TYPE = 0x21,
    DW_TAG_BASE_TYPE = 0x24,
    DW_TAG_CONST_TYPE = 0x26,
    DW_TAG_VARIABLE = 0x34,
    DW_TAG_VOLATILE_TYPE = 0x35,
    DW_TAG_RESTRICT_TYPE = 0x37,
    DW_TAG_RVALUE_REFERENCE_TYPE = 0x42,
    DW_TAG_ATOMIC_TYPE = 0x47,
    DW_TAG_CATCH_BLOCK = 0x25,
    DW_TAG_COMPILE_UNIT = 0x11,
    DW_TAG_INLINED_SUBROUTINE = 0x1d,
    DW_TAG_LEXICAL_BLOCK = 0x0b,
    DW_TAG_PARTIAL_UNIT = 0x3c,
    DW_TAG_SKELETON_UNIT = 0x4a,
    DW_TAG_SUBPROGRAM = 0x2e,
    DW_TAG_TRY_BLOCK = 0x32,
};

enum {
    DW_AT_LOCATION = 0x02,
    DW_AT_NAME = 0x03,
    DW_AT_BYTE_SIZE = 0x0b,
    DW_AT_BIT_SIZE = 0x0d,
    DW_AT_CONST_VALUE = 0x1c,
    DW_AT_UPPER_BOUND = 0x2f,
    DW_AT_CALLING_CONVENTION = 0x36,
    DW_AT_COUNT = 0x37,
    DW_AT_DATA_MEMBER_LOCATION = 0x38,
    DW_AT_DECLARATION = 0x3c,
    DW_AT_ENCODING = 0x3e,
    DW_AT_EXTERNAL = 0x3f,
    DW_AT_FRAME_BASE = 0x40,
    DW_AT_TYPE = 0x49,
    DW_AT_DATA_BIT_OFFSET = 0x6b,
    DW_AT_STMT_LIST = 0x10,
    DW_AT_LOW_PC = 0x11,
    DW_AT_HIGH_PC = 0x12,
    DW_AT_COMP_DIR = 0x1b,
    DW_AT_INLINE = 0x20,
    DW_AT_ABSTRACT_ORIGIN = 0x31,
    DW_AT_DECL_FILE = 0x3a,
    DW_AT_DECL_LINE = 0x3b,
    DW_AT_SPECIFICATION = 0x47,
    DW_AT_RANGES = 0x55,
    DW_AT_CALL_COLUMN = 0x57,
    DW_AT_CALL_FILE = 0x58,
    DW_AT_CALL_LINE = 0x59,
    DW_AT_LINKAGE_NAME = 0x6e,
    DW_AT_STR_OFFSETS_BASE = 0x72,
    DW_AT_ADDR_BASE = 0x73,
    DW_AT_RNGLISTS_BASE = 0x74,
    DW_AT_LOCLISTS_BASE = 0x8c,
    DW_AT_MIPS_LINKAGE_NAME = 0x2007,
    DW_AT_GNU_ADDR_BASE = 0x2133,
};

/* The class of a value; it is in DwarfValue.number, except for STRING, BLOCK and EXPRESSION. */
typedef enum DwarfClass {
    CLASS_NONE,
    CLASS_ADDRESS,
    CLASS_ADDRESS_INDEX, /* into .debug_addr */
    CLASS_BLOCK,
    CLASS_EXPRESSION,  /* a block */
    CLASS_CONSTANT,    /* offsets in .debug_line, .debug_ranges and so on as well */
    CLASS_INFO_OFFSET, /* of an entry, in .debug_info */
    CLASS_UNIT_OFFSET, /* ... in the unit */
    CLASS_STRING,
    CLASS_STR_OFFSET,     /* in .debug_str */
    CLASS_STR_INDEX,      /* into .debug_str_offsets */
    CLASS_LINE_STR,       /* in .debug_line_str */
    CLASS_RANGE_INDEX,    /* into the unit's table in .debug_rnglists */
    CLASS_LOCATION_INDEX, /* ... in .debug_loclists */
    CLASS_OTHER,
} DwarfClass;

/* How it is written. */
typedef enum DwarfEncoding {
    ENCODED_ADDRESS = 9,
    ENCODED_OFFSET,
    ENCODED_ULEB,
    ENCODED_SLEB,
    ENCODED_STRING,
    ENCODED_BLOCK,
    ENCODED_BLOCK1,
    ENCODED_BLOCK2,
    ENCODED_BLOCK4,
    ENCODED_DATA16,
    ENCODED_IMPLICIT,
    ENCODED_INDIRECT,
} DwarfEncoding;

typedef struct DwarfFormInfo {
    uint8_t class;    /* CLASS_NONE = there is no such form */
    uint8_t encoding; /* bytes, or DwarfEncoding */
} DwarfFormInfo;

/* ---- entries ---- */

typedef struct DwarfSpec {
    uint16_t attribute;
    DwarfFormInfo form;
    int64_t implicit; /* the value of DW_FORM_implicit_const */
} DwarfSpec;

typedef struct DwarfAbbrev {
    uint64_t code; /* 0 = there is none */
    uint32_t tag;
    bool children;
    bool fixed; /* all values have fixed sizes: `bytes` and these many addresses and offsets */
    uint32_t bytes, addresses, offsets;
    uint8_t tasks;         /* of adjust_info.c: how attributes refer to code */
    uint32_t first, count; /* DwarfAbbrevs.specs */
} DwarfAbbrev;

/* A table of abbreviations. */
typedef struct DwarfAbbrevs {
    Vec(DwarfAbbrev) abbrevs; /* sorted by code */
    Vec(DwarfSpec) specs;
    bool dense; /* the codes are 1, 2, 3 ... */
} DwarfAbbrevs;

typedef struct DwarfValue {
    uint8_t class; /* DwarfClass */
    uint64_t number;
    Str string; /* or the contents of a block */
} DwarfValue;

/* A function of a unit that has code. */
typedef struct DwarfFunction {
    uint32_t start; /* of its body */
    uint32_t entry; /* in .debug_info */
} DwarfFunction;

typedef struct DwarfUnit {
    uint32_t start, end; /* in .debug_info */
    uint32_t first;      /* the unit's own entry */
    uint32_t abbrevs;    /* Dwarf.abbrevs, NONE = damaged */
    uint32_t lines;      /* Dwarf.lines, NONE = there are none */
    uint16_t version;
    uint8_t address_size, offset_size;
    bool functions_read;
    uint64_t str_offsets_base, addr_base, rnglists_base, loclists_base;
    uint64_t low_pc;              /* the base of ranges */
    Str directory;                /* the compilation directory */
    Vec(DwarfFunction) functions; /* sorted by start; functions that are a body */
    uint32_t places; /* the number of functions with code, according to their entries */
} DwarfUnit;

/* ---- lines ---- */

typedef struct DwarfFileEntry {
    Str name;
    uint32_t directory;
    Str path; /* valid after a query */
    bool known;
} DwarfFileEntry;

/* The line program of a unit. */
typedef struct DwarfLines {
    uint32_t unit;
    uint32_t start, end; /* in .debug_line */
    uint32_t program;    /* the first instruction */
    uint32_t tables;     /* directories and files */
    uint16_t version;
    uint8_t address_size, offset_size;
    uint8_t min_length, line_range, opcode_base;
    int8_t line_base;
    bool statements;        /* rows are, until the program says otherwise */
    const uint8_t *lengths; /* operands of standard opcodes, from 1 */
    bool tables_read;
    Vec(Str) directories;
    Vec(DwarfFileEntry) files;
} DwarfLines;

/* Further columns of a row. */
enum { ROW_STATEMENT = 1, ROW_BASIC_BLOCK = 2, ROW_PROLOGUE_END = 4, ROW_EPILOGUE_BEGIN = 8 };

typedef struct DwarfRow {
    uint32_t address, line, file, column, discriminator;
    uint8_t flags; /* ROW_... */
} DwarfRow;
typedef Vec(DwarfRow) DwarfRows;

/* The rows from an address up to an end_sequence. */
typedef struct DwarfSequence {
    uint32_t lines;   /* Dwarf.lines */
    uint32_t program; /* where it begins */
} DwarfSequence;

/* ---- intervals ---- */

typedef struct DwarfSpan {
    uint32_t start, end; /* end exclusive */
    uint32_t value;
} DwarfSpan;
typedef Vec(DwarfSpan) DwarfSpans;

/* Sorts intervals and makes them disjoint: where they overlap, the later one in the list wins.
 * Linear if they are sorted and disjoint. */
void dwarf_settle(DwarfSpans *spans);
/* The span with this address of settled spans, or NULL. *hint is where it is expected, and set. */
const DwarfSpan *dwarf_span_at(const DwarfSpans *spans, uint32_t address, uint32_t *hint);

/* ---- the whole ---- */

/* Attributes of a function, from its entry or one that it refers to. */
typedef struct DwarfNames {
    Str name, linkage;
    Str path; /* of its declaration */
    uint32_t line;
} DwarfNames;

/* A call that was inlined. */
typedef struct DwarfCall {
    uint32_t parent; /* DwarfInlining.calls; NONE = the function itself */
    uint32_t depth;
    uint32_t entry;              /* in .debug_info */
    uint32_t file, line, column; /* of the call */
    uint32_t first, count;       /* its ranges: DwarfInlining.ranges, sorted */
    bool incomplete;             /* some ranges are unknown */
    bool named;
    DwarfNames names;
} DwarfCall;

/* The key of a cached answer. */
typedef struct DwarfAnswer {
    uint32_t body, lines, rows_of; /* rows_of: the sequence of the row */
    uint32_t unit, call;           /* NONE = the function is not known; no inlined call */
    const DwarfRow *row;           /* NULL = no line is known */
} DwarfAnswer;

/* How much may still be read of each kind; see the head of this file. */
typedef struct DwarfBudgets {
    uint64_t abbrevs, lines, ranges;
    uint64_t entries; /* that questions about variables and types look at */
} DwarfBudgets;

/* The function that the last question was about, with the calls inlined into it. */
typedef struct DwarfInlining {
    uint32_t unit, body; /* NONE = there was no question yet */
    DwarfCall whole;     /* the function itself */
    Vec(DwarfCall) calls;
    DwarfSpans ranges, call_at; /* call_at: values are calls */
    uint32_t hint;
} DwarfInlining;

/* Where the last answers were found; the next ones are looked for from there. */
typedef struct DwarfHints {
    uint32_t body, sequence, unit, row;
} DwarfHints;

/* A variable, or parameter, of the current function. */
typedef struct DwarfNamed {
    uint32_t next;  /* the one before it with the same name, NONE */
    uint32_t scope; /* DwarfVariables.scopes */
    DwarfVariable known;
    DwarfValue location;
    Str name;
} DwarfNamed;

/* A block or an inlined call. */
typedef struct DwarfScope {
    uint32_t parent;       /* NONE: it is the whole function */
    uint32_t first, count; /* DwarfVariables.ranges */
} DwarfScope;

/* The variables of the function that the last question about them was about. */
typedef struct DwarfVariables {
    uint32_t unit, body; /* NONE = there was no question yet */
    Vec(DwarfNamed) list;
    Vec(DwarfScope) scopes;
    DwarfSpans ranges;
    Map names; /* the last one with the name */
    Vec(DwarfVariable) params;
    Vec(Str) param_names;
    bool variadic, changed;
    uint32_t result;
    DwarfPlace frame;
    uint32_t prologue_end; /* 0 = not known yet */
} DwarfVariables;

struct Dwarf {
    DwarfSections s;
    const DwarfBody *bodies;
    uint32_t nbodies;
    DwarfProblem problem;
    PathPool paths;
    Vec(DwarfPath) changed; /* by ".." */

    Vec(DwarfUnit) units; /* in the order of .debug_info */
    Vec(DwarfAbbrevs) abbrevs;
    Map abbrev_index, line_index; /* from an offset, as bytes */
    Vec(DwarfLines) lines;
    Vec(DwarfSequence) sequences;
    uint32_t live_sequences, fitting_sequences; /* of live code; units of this code */
    DwarfSpans sequence_at;                     /* values: sequences */
    DwarfSpans unit_at;                         /* values: units, as they say themselves */

    DwarfBudgets budget;

    /* The state of the last query. */
    DwarfHints hint;
    uint32_t rows_of; /* a sequence */
    DwarfRows rows;
    DwarfInlining function;
    DwarfVariables variables;
    DwarfAnswer last; /* the function of `frames` */
    Vec(DwarfFrame) frames;
};

/* Notes a problem; the first is kept. Returns false. */
bool dwarf_fail(Dwarf *d, const char *section, uint64_t offset, const char *what);
/* The index of the body with this address, or NONE. */
uint32_t dwarf_body_at(const Dwarf *d, uint64_t address);
/* Whether a body is exactly this. */
bool dwarf_is_body(const Dwarf *d, uint64_t start, uint64_t end);
/* The address stands for code that the linker has removed (others write 0 for that, which can be a
 * base of ranges as well). */
bool dwarf_is_removed(const DwarfUnit *u, uint64_t address);

/* dwarf_unit.c */

/* Reads the headers of all units and their own entries. */
void dwarf_read_units(Dwarf *d);
void dwarf_free_units(Dwarf *d);
/* The unit with this offset in .debug_info, or NULL. */
DwarfUnit *dwarf_unit_of(Dwarf *d, uint64_t offset);
/* The abbreviation of the entry at the cursor, which is then at the first value. NULL: the end of a
 * list of children, or damage; then the cursor has failed. */
const DwarfAbbrev *dwarf_entry(Dwarf *d, const DwarfUnit *u, DwarfCursor *c);
/* A cursor at an offset in the unit. */
DwarfCursor dwarf_unit_cursor(const Dwarf *d, const DwarfUnit *u, uint32_t offset);
/* Passes over the values of an entry. */
void dwarf_skip_entry(Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *a, DwarfCursor *c);
/* The attributes of entries with an abbreviation; NULL if they have none. */
static inline const DwarfSpec *dwarf_specs(const Dwarf *d, const DwarfUnit *u,
                                           const DwarfAbbrev *a) {
    return a->count ? d->abbrevs.at[u->abbrevs].specs.at + a->first : NULL;
}
/* The names of the function that an entry is, or refers to, and where it is declared. */
DwarfNames dwarf_names(Dwarf *d, uint32_t entry);
/* Copies them to a frame. */
static inline void dwarf_name_frame(DwarfFrame *frame, const DwarfNames *names) {
    frame->name = names->name;
    frame->linkage = names->linkage;
    frame->declared_path = names->path;
    frame->declared = names->line;
}

/* dwarf_form.c */

/* A form's properties; class CLASS_NONE if there is no such form. */
DwarfFormInfo dwarf_form_info(uint32_t form);
/* Reads a value. */
DwarfValue dwarf_value(DwarfCursor *c, DwarfFormInfo form, int64_t implicit, uint8_t address_size,
                       uint8_t offset_size);
/* Reads the value of an attribute. */
static inline DwarfValue dwarf_attribute(const DwarfUnit *u, DwarfCursor *c, const DwarfSpec *s) {
    return dwarf_value(c, s->form, s->implicit, u->address_size, u->offset_size);
}
/* The referenced object in the unit: a string, an address, an offset in .debug_info. Empty, or
 * false if there is none. */
Str dwarf_text(const Dwarf *d, const DwarfUnit *u, DwarfValue v);
bool dwarf_address(const Dwarf *d, const DwarfUnit *u, DwarfValue v, uint64_t *address);
bool dwarf_reference(const DwarfUnit *u, DwarfValue v, uint64_t *entry);
/* The address with an index in the unit's table; UINT64_MAX if there is none. */
uint64_t dwarf_indexed_address(const Dwarf *d, const DwarfUnit *u, uint64_t index);
/* The offset of a list in .debug_rnglists (`index` is CLASS_RANGE_INDEX) or .debug_loclists
 * (CLASS_LOCATION_INDEX): v is the offset itself, or an index into the unit's table of offsets. */
bool dwarf_list_offset(const Dwarf *d, const DwarfUnit *u, DwarfValue v, DwarfClass index,
                       uint64_t *offset);
/* A constant that fits 32 bits; 0 for any other value. */
static inline uint32_t dwarf_small(DwarfValue v) {
    return v.class == CLASS_CONSTANT && v.number < UINT32_MAX ? (uint32_t)v.number : 0;
}

/* dwarf_range.c */

/* The attributes of an entry that say where its code is. */
typedef struct DwarfExtent {
    DwarfValue low, high, ranges;
} DwarfExtent;
/* Takes an attribute if it is one of them. */
bool dwarf_extent_attribute(DwarfExtent *x, uint32_t attribute, DwarfValue v);
/* Appends the ranges, with `value`, that are neither empty nor removed nor beyond the code. Reads
 * at most *budget entries of lists, and lowers it. Returns whether all were consistent: Binaryen
 * writes zeros for addresses that it has lost. */
bool dwarf_ranges(Dwarf *d, const DwarfUnit *u, const DwarfExtent *x, uint32_t value,
                  uint64_t *budget, DwarfSpans *out);

/* dwarf_machine.c */

/* Instructions of line programs. */
enum {
    LNS_EXTENDED,
    LNS_COPY,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STATEMENT,
    LNS_SET_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC,
    LNS_SET_PROLOGUE_END,
    LNS_SET_EPILOGUE_BEGIN,
    LNS_SET_ISA,
    LNS_COUNT
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS, LNE_DEFINE_FILE, LNE_SET_DISCRIMINATOR };

/* The state of a line program. */
typedef struct DwarfMachine {
    const DwarfLines *l;
    DwarfCursor c;
    uint64_t address, line, file, column, discriminator;
    uint8_t flags;        /* of the next row */
    uint64_t first;       /* address of the sequence's first row; DWARF_NO_ADDRESS = it has none */
    uint8_t address_size; /* of the sequence's set_address, 0 = it has none */
    bool removed;         /* the sequence is of code that the linker has removed */
    bool ended;           /* by an end_sequence */
    bool defines;         /* the program has added files to the table */
    DwarfRows *rows;      /* NULL = they are not kept */
} DwarfMachine;
static const uint64_t DWARF_NO_ADDRESS = UINT64_MAX;

/* Reads the header of lines whose start, offset_size and (for versions up to 4) address_size are
 * known, and whose length the cursor has passed. */
bool dwarf_line_header(Dwarf *d, DwarfLines *l, DwarfCursor *c);
/* The machine at an offset in .debug_line, where a sequence begins. */
DwarfMachine dwarf_machine(const Dwarf *d, const DwarfLines *l, uint32_t program, DwarfRows *rows);
/* Runs up to the end of a sequence; false at the end of the program, or where it is damaged. */
bool dwarf_run_sequence(DwarfMachine *m);

/* dwarf_line.c */

/* The lines at an offset in .debug_line, whose sequences are noted; NONE if they are damaged. */
uint32_t dwarf_read_lines(Dwarf *d, uint32_t unit, uint64_t offset);
/* Reads the rows of a sequence. */
void dwarf_read_rows(Dwarf *d, uint32_t sequence, DwarfRows *rows);

/* dwarf.c */

/* The row of an address, whose lines are *lines; NULL if there is none in this body. The rows of
 * its sequence are then in Dwarf.rows. */
const DwarfRow *dwarf_find_row(Dwarf *d, const DwarfBody *body, uint32_t address, uint32_t *lines);

/* Enters the function with the body of an address; *unit is the unit. */
bool dwarf_enter(Dwarf *d, uint32_t address, uint32_t *unit, uint32_t *body);

/* dwarf_location.c */

/* Where the value of an attribute says that something is, at an address. */
DwarfPlace dwarf_place(Dwarf *d, const DwarfUnit *u, DwarfValue v, const DwarfPlace *frame,
                       uint32_t address);

/* dwarf_variable.c */

void dwarf_free_variables(Dwarf *d);

/* dwarf_file.c */

/* The path of a file. */
Str dwarf_path(Dwarf *d, uint32_t lines, uint32_t file);

/* dwarf_function.c */

/* Reads the functions of a unit. */
void dwarf_read_functions(Dwarf *d, DwarfUnit *u);
/* Makes the unit's function with this body the current one; false if there is none. */
bool dwarf_enter_function(Dwarf *d, uint32_t unit, uint32_t body);

#endif
