/*
 * dwarf/adjust.h - adjusts DWARF 2 to 5 to moved code.
 *
 * Sections keep their sizes where that is possible: .debug_info, .debug_addr, .debug_ranges,
 * .debug_loc and .debug_aranges are changed in place, so that references to entries stay valid.
 * Line programs and the lists of version 5 are rewritten. Inserted code has line 0; instructions
 * keep their locations. Nothing stale is left: if something cannot be adjusted, a list becomes
 * empty, an expression has no effect, a section is dropped, or all of them are.
 *
 * Like the reader, it accepts untrusted data, and takes time and memory linear in the size of the
 * data and of the moves.
 */
#ifndef WHAMMC_DWARF_ADJUST_H
#define WHAMMC_DWARF_ADJUST_H

#include "dwarf/dwarf_moves.h"

typedef enum DwarfFate {
    DWARF_DROPPED, /* it cannot be adjusted */
    DWARF_KEPT,    /* it has nothing to adjust */
    DWARF_CHANGED, /* to `changed` */
} DwarfFate;

/* A custom section whose name begins with ".debug_". */
typedef struct DwarfSection {
    Str name, content;
    DwarfFate fate;
    Buf changed; /* the caller frees it */
} DwarfSection;

/* Further results. */
typedef struct DwarfAdjusted {
    DwarfProblem problem; /* the first thing that could not be adjusted, if there is one */
    bool split;           /* a part was in separate files, which units do not name any more */
} DwarfAdjusted;

/* Sets the fate of each section. False if all are dropped; `problem` says why. */
bool dwarf_adjust(DwarfSection *sections, uint32_t n, const DwarfMoves *moves, DwarfAdjusted *done);

#endif
