/*
 * dwarf/adjust_parts.h - shared by the files that adjust DWARF.
 *
 * adjust.c drives the others and collects the results, adjust_info.c changes entries, adjust_line.c
 * writes line programs, adjust_pairs.c the lists of versions up to 4 and other tables of addresses,
 * adjust_list.c the lists of version 5, adjust_expression.c expressions.
 */
#ifndef WHAMMC_DWARF_ADJUST_PARTS_H
#define WHAMMC_DWARF_ADJUST_PARTS_H

#include "dwarf/adjust.h"
#include "dwarf/dwarf_parts.h"

/* The sections that change. */
typedef enum AdjustKind {
    ADJUST_INFO,
    ADJUST_TYPES,
    ADJUST_LINE,
    ADJUST_ADDR,
    ADJUST_RANGES,
    ADJUST_LOC,
    ADJUST_RNGLISTS,
    ADJUST_LOCLISTS,
    ADJUST_ARANGES,
    ADJUST_MACRO,
    ADJUST_COUNT,
} AdjustKind;

/* An entry refers to a list. */
typedef struct ListRef {
    uint32_t target; /* the list's offset in its section */
    uint32_t unit;
    uint32_t at;  /* the offset of the reference in .debug_info */
    uint8_t size; /* its bytes there; 0 = it is an index into the unit's table, which stays */
} ListRef;
typedef Vec(ListRef) ListRefs;

/* Something that was at `from` in a section is now at `to`. */
typedef struct Moved {
    uint32_t from, to;
} Moved;
typedef Vec(Moved) MovedParts; /* sorted by `from` */

/* A number in .debug_info or .debug_macro that is an offset in another section. */
typedef struct OffsetRef {
    uint32_t at, target;
    uint8_t size;
} OffsetRef;

typedef struct Adjuster {
    Dwarf *d; /* for .debug_info; its lines are not read */
    const DwarfMoves *moves;
    DwarfAdjusted *done;
    DwarfSection *sections[ADJUST_COUNT]; /* NULL = there is none */

    MovedParts lines;            /* headers in .debug_line */
    ListRefs lists[2][2];        /* [REF_...][the unit has version 5] */
    MovedParts contributions[2]; /* of version 5: begins of parts; by REF_... */
    Vec(OffsetRef) bases[2];     /* of tables of offsets; by REF_... */
    uint8_t *addresses;          /* by byte of .debug_addr: AS_... for an address */
    uint64_t line_budget, list_budget;
    DwarfRows rows;
} Adjuster;

enum { REF_RANGES, REF_LOCATIONS };
/* The uses of an address in .debug_addr. */
enum { AS_CODE = 1, AS_RETURN = 2, AS_WIDE = 4 /* 8 bytes */ };

/* adjust.c */

/* The content of a section of the input; empty if there is none. */
static inline Str adjust_content(const Adjuster *r, AdjustKind kind) {
    return r->sections[kind] ? r->sections[kind]->content : (Str){0};
}
/* Records a problem, if it is the first. Returns false. */
bool adjust_problem(Adjuster *r, AdjustKind kind, uint64_t offset, const char *what);
/* Changes a number of `size` bytes; false if the value needs more. */
bool adjust_number(Buf *out, uint32_t at, uint8_t size, uint64_t value);
/* Changes an unsigned LEB128 number from `at` up to `end`; false if the value needs more. */
bool adjust_uleb(Buf *out, uint32_t at, uint32_t end, uint64_t value);
/* The new offset of a part, or UINT32_MAX if there is no such part. */
uint32_t adjust_moved_part(const MovedParts *parts, uint32_t from);
/* Marks an address in .debug_addr of a unit. */
void adjust_use_address(Adjuster *r, const DwarfUnit *u, uint64_t index, uint8_t use);
/* Sorts references by their lists. */
void adjust_sort_refs(ListRefs *refs);
/* The end of the references to the same list as number i, and whether their units count addresses
 * from the same base. */
uint32_t adjust_same_list(const Adjuster *r, const ListRefs *refs, uint32_t i, bool *same_base);

/* adjust_info.c */

/* Changes the entries of a section. False with a problem if they are damaged. */
bool adjust_entries(Adjuster *r, Dwarf *d, AdjustKind kind);

/* adjust_line.c */

/* Writes all line programs anew. */
void adjust_lines(Adjuster *r);

/* adjust_pairs.c */

/* Changes the lists (REF_RANGES, REF_LOCATIONS) of versions up to 4 in a section in place. */
void adjust_pairs(Adjuster *r, uint32_t refs, AdjustKind kind);
/* The same for .debug_addr, .debug_aranges, and the offsets of line programs in .debug_macro. */
void adjust_addresses(Adjuster *r);
void adjust_aranges(Adjuster *r);
void adjust_macros(Adjuster *r);

/* adjust_list.c */

/* Writes the lists of version 5 in a section anew. */
void adjust_lists(Adjuster *r, uint32_t refs, AdjustKind kind);

/* adjust_expression.c */

/* Changes the expression at an offset in `out` in place. An expression that cannot be parsed is
 * replaced by one without effect, with a problem. */
void adjust_expression(Adjuster *r, const DwarfUnit *u, AdjustKind kind, Buf *out, uint32_t at,
                       uint32_t length);

#endif
