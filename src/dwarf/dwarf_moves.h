/*
 * dwarf/dwarf_moves.h - maps addresses of a program to addresses of its instrumented version.
 */
#ifndef WHAMMC_DWARF_DWARF_MOVES_H
#define WHAMMC_DWARF_DWARF_MOVES_H

#include "dwarf/dwarf.h"

/* A run: instructions that are adjacent in both programs. A body's locals are a run, too. Only a
 * run of one instruction may change its length. */
typedef struct DwarfRun {
    uint32_t at, end;    /* exclusive */
    uint32_t to, to_end; /* ... in the new code */
} DwarfRun;

/*
 * Bodies keep their order. Runs are sorted, each is in one body, and the first run of a body is its
 * locals. Code outside of runs has been replaced; new code between runs has been inserted.
 */
typedef struct DwarfMoves {
    const DwarfBody *from, *to;
    uint32_t nbodies;
    const DwarfRun *runs;
    uint32_t nruns;
    const uint32_t *globals; /* their new indices */
    uint32_t nglobals;
} DwarfMoves;

/* The first body that ends at or after the address; nbodies if there is none. */
uint32_t dwarf_moved_body(const DwarfMoves *m, uint64_t address);
/* The first run that ends after the address; nruns if there is none. */
uint32_t dwarf_moved_run(const DwarfMoves *m, uint64_t address);

/*
 * Maps an address; replaced code maps to the next remaining instruction. Tombstones (0, and those
 * that mark removed code) stay. The mapping is monotonic.
 */
uint64_t dwarf_moved(const DwarfMoves *m, uint64_t address);
/* The same for the return address of a call: it stays directly after the call. */
uint64_t dwarf_moved_return(const DwarfMoves *m, uint64_t address);

#endif
