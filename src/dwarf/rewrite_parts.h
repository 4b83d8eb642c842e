/*
 * dwarf/rewrite_parts.h - what the files share that write DWARF for moved code.
 *
 * rewrite.c sets out and gathers, rewrite_info.c changes entries, rewrite_line.c writes line
 * programs, rewrite_pairs.c the lists of versions up to 4 and other tables of addresses,
 * rewrite_list.c the lists of version 5, rewrite_expression.c expressions.
 */
#ifndef WHAMMC_DWARF_REWRITE_PARTS_H
#define WHAMMC_DWARF_REWRITE_PARTS_H

#include "dwarf/dwarf_parts.h"
#include "dwarf/rewrite.h"

/* The sections that change. */
typedef enum RewriteKind {
    REWRITE_INFO,
    REWRITE_TYPES,
    REWRITE_LINE,
    REWRITE_ADDR,
    REWRITE_RANGES,
    REWRITE_LOC,
    REWRITE_RNGLISTS,
    REWRITE_LOCLISTS,
    REWRITE_ARANGES,
    REWRITE_MACRO,
    REWRITE_COUNT,
} RewriteKind;

/* An entry refers to a list. */
typedef struct ListRef {
    uint32_t target; /* the list's offset in its section */
    uint32_t unit;
    uint32_t at;  /* where .debug_info has it */
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

typedef struct Rewriter {
    Dwarf *d; /* for .debug_info; its lines are not read */
    const DwarfMoves *moves;
    DwarfRewritten *done;
    DwarfSection *sections[REWRITE_COUNT]; /* NULL = there is none */

    MovedParts lines;            /* headers in .debug_line */
    ListRefs lists[2][2];        /* [REF_...][the unit has version 5] */
    MovedParts contributions[2]; /* of version 5: begins of parts; by REF_... */
    Vec(OffsetRef) bases[2];     /* of tables of offsets; by REF_... */
    uint8_t *addresses;          /* by byte of .debug_addr: AS_... for an address */
    uint64_t line_budget, list_budget;
    DwarfRows rows;
} Rewriter;

enum { REF_RANGES, REF_LOCATIONS };
/* What an address in .debug_addr is used as. */
enum { AS_CODE = 1, AS_RETURN = 2, AS_WIDE = 4 /* 8 bytes */ };

/* rewrite.c */

static inline Str rewrite_content(const Rewriter *r, RewriteKind kind) {
    return r->sections[kind] ? r->sections[kind]->content : (Str){0};
}
/* Notes what could not be adjusted; the first is kept. Returns false. */
bool rewrite_problem(Rewriter *r, RewriteKind kind, uint64_t offset, const char *what);
/* Changes a number of `size` bytes; false if the value needs more. */
bool rewrite_number(Buf *out, uint32_t at, uint8_t size, uint64_t value);
/* The new offset of a part, or UINT32_MAX if it is none. */
uint32_t rewrite_moved_part(const MovedParts *parts, uint32_t from);
/* Marks an address in .debug_addr of a unit. */
void rewrite_use_address(Rewriter *r, const DwarfUnit *u, uint64_t index, uint8_t use);
/* Sorts references by their lists. */
void rewrite_sort_refs(ListRefs *refs);
/* The end of the references to the same list as number i, and whether their units count addresses
 * from the same base. */
uint32_t rewrite_same_list(const Rewriter *r, const ListRefs *refs, uint32_t i, bool *same_base);

/* rewrite_info.c */

/* Changes the entries of a section. False with a problem if they are damaged. */
bool rewrite_entries(Rewriter *r, Dwarf *d, RewriteKind kind);

/* rewrite_line.c */
void rewrite_lines(Rewriter *r);

/* rewrite_pairs.c */
void rewrite_pairs(Rewriter *r, uint32_t refs, RewriteKind kind);
void rewrite_addresses(Rewriter *r);
void rewrite_aranges(Rewriter *r);
void rewrite_macros(Rewriter *r);

/* rewrite_list.c */
void rewrite_lists(Rewriter *r, uint32_t refs, RewriteKind kind);

/* rewrite_expression.c */

/* Changes an expression at an offset in `out`, where its bytes are already. One that cannot be read
 * becomes one that does nothing, with a problem. */
void rewrite_expression(Rewriter *r, const DwarfUnit *u, RewriteKind kind, Buf *out, uint32_t at,
                        uint32_t length);

#endif
