/*
 * dwarf/adjust.h - DWARF of versions 2 to 5 for a program whose code was moved.
 *
 * Sections keep their sizes where that is possible: .debug_info, .debug_addr, .debug_ranges,
 * .debug_loc and .debug_aranges are changed in place, so that what refers to entries stays true.
 * Line programs and the lists of version 5 are written anew. Code that was inserted has line 0; an
 * instruction has what it had. What cannot be adjusted is never left as it is: a list becomes
 * empty, an expression does nothing, a section is dropped, or all of them are.
 *
 * Like the reader, it takes data that nobody has checked, and ends in time and memory that are
 * linear in its size and that of the moves.
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

/* What became of them besides. */
typedef struct DwarfAdjusted {
    DwarfProblem problem; /* the first thing that could not be adjusted, if there is one */
    bool split;           /* a part was in separate files, which units do not name any more */
} DwarfAdjusted;

/* Sets fates. False if nothing is left, and `problem` says why. */
bool dwarf_adjust(DwarfSection *sections, uint32_t n, const DwarfMoves *moves, DwarfAdjusted *done);

#endif
