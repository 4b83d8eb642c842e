/*
 * inject/pieces.h - pieces of code with their offsets in the function that is being edited, until
 * they are sorted for wasm_edit_body.
 */
#ifndef WHAMMC_INJECT_PIECES_H
#define WHAMMC_INJECT_PIECES_H

#include "edit/edit.h"
#include "inject/splice.h"

/* A call that ends the program. */
typedef struct ProgramEnd {
    uint32_t at;     /* its offset */
    WasmWhere where; /* BEFORE it, or in the middle of its replacement */
    uint32_t rank;
} ProgramEnd;

/* A zeroed one is valid; pieces_begin for each function. */
typedef struct Pieces {
    Buf code; /* of all pieces: final indices */
    Vec(WasmPatch) at;
    Vec(WasmPatch) around; /* entry and exit pieces */
    Vec(ProgramEnd) ends;
    size_t exit_from, exit_to; /* the exit code, in `code` */
    uint32_t left;    /* a local set to 1 before the function is left by an exit that may throw,
                         UINT32_MAX = none */
    uint32_t param;   /* a local that becomes a parameter, UINT32_MAX = none */
    bool unsorted;    /* `at` is not sorted */
    bool only_counts; /* all are from pieces_add_count */
} Pieces;

/* Empties the lists, for the next function. */
void pieces_begin(Pieces *p);
void pieces_free(Pieces *p);

/* Adds code[from..to) at an instruction: a SplicePiece and a SpliceRegion; ctx is the Pieces. */
void pieces_add(void *ctx, WasmWhere where, uint32_t at, PieceRank rank, size_t from, size_t to);
void pieces_add_region(void *ctx, WasmWhere where, uint32_t at, uint32_t until, size_t from,
                       size_t to);

/* Does the same for a counter: code that takes no operands, leaves no results, and is valid
 * wherever an instruction may be. */
void pieces_add_count(Pieces *p, WasmWhere where, uint32_t at, size_t from, size_t to);

/* Adds the code from `from` on at the function's entry (WASM_ENTRY), before all else (WASM_HEAD),
 * or at its exits (WASM_EXIT). */
void pieces_add_around(Pieces *p, WasmWhere where, size_t from);

/* Only exits where the function returns its results, or only the others. */
typedef enum PieceExits { PIECE_RETURNS, PIECE_OTHERS } PieceExits;
void pieces_add_exit(Pieces *p, size_t from, PieceExits exits);

/* Makes `local` Pieces.left; it is set before all other code at these exits. */
void pieces_note_left(Pieces *p, uint32_t local);

/* Adds a call (final index) where the function throws uncaught exceptions, after the existing
 * code. */
void pieces_call_at_throws(Pieces *p, uint32_t func);

/* Inserts the exit code at each of `ends`, after all other pieces. */
void pieces_end_program(Pieces *p);

/* Gives the edit all pieces in their order; owned by the Pieces. */
void pieces_finish(Pieces *p, WasmBodyEdit *edit);

#endif
