/*
 * dwarf/dwarf_moves.h - where code went: the addresses of a program and those of the program that
 * was made of it.
 */
#ifndef WHAMMC_DWARF_DWARF_MOVES_H
#define WHAMMC_DWARF_DWARF_MOVES_H

#include "dwarf/dwarf.h"

/* Instructions that are next to each other in both programs. A body's locals are such a run, too.
 * Only a run of one instruction may have changed its length. */
typedef struct DwarfRun {
    uint32_t at, end;    /* exclusive */
    uint32_t to, to_end; /* ... in the new code */
} DwarfRun;

/*
 * Bodies keep their order, runs are sorted and each is in one body, and the first run of a body is
 * its locals. What is in no run has been replaced with other code; between runs in the new code is
 * what was inserted.
 */
typedef struct DwarfMoves {
    const DwarfBody *from, *to;
    uint32_t nbodies;
    const DwarfRun *runs;
    uint32_t nruns;
    const uint32_t *globals; /* their new indices */
    uint32_t nglobals;
} DwarfMoves;

/* The first body that ends at the address or behind it; nbodies if there is none. */
uint32_t dwarf_moved_body(const DwarfMoves *m, uint64_t address);
/* The first run that ends behind the address; nruns if there is none. */
uint32_t dwarf_moved_run(const DwarfMoves *m, uint64_t address);

/*
 * Where an address is now. That of replaced code is that of the next instruction that is still
 * there. Addresses that are none (0, and those that stand for removed code) stay. Never decreases
 * as `address` grows.
 */
uint64_t dwarf_moved(const DwarfMoves *m, uint64_t address);
/* The same of the address where a call returns to: it stays just after the call. */
uint64_t dwarf_moved_return(const DwarfMoves *m, uint64_t address);

#endif
