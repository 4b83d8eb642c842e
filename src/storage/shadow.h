/*
 * storage/shadow.h - the state of its own tables and segments that an instrumented program tracks,
 * because no instruction queries it:
 *
 *   the function in an entry of a table (resolved_fid): a second table, of functions without
 *   parameters that return the index of the function; null = unknown
 *   whether a segment was dropped (trap of memory.init and the like): a global
 *
 * Instructions that change a table or drop a segment are replaced by code that executes them and
 * then updates the shadow, which stays unchanged if they trap. Entries written without a ref.func
 * right before, and entries beyond the known part of an imported table, read as unknown. Writes to
 * a table by the host are not seen.
 */
#ifndef WHAMMC_STORAGE_SHADOW_H
#define WHAMMC_STORAGE_SHADOW_H

#include "plan/plan.h"

typedef struct ShadowTable {
    bool asked; /* it is tracked: a probe needs its entries, or they are copied to such a table */
    uint32_t handle; /* of the second table; UINT32_MAX = none */
    uint32_t lookup; /* handles of functions; see shadow.c */
    uint32_t sync, clear, set, fill;
} ShadowTable;

/* A copy of entries by table.copy, or from a segment by table.init. */
typedef struct ShadowMove {
    bool init;
    uint32_t to, from; /* tables, or a table and a segment */
    uint32_t func;     /* handle of the function that replaces the instruction */
} ShadowMove;

/* An active segment of the program that the start function puts into the shadow. */
typedef struct ShadowLate {
    uint32_t table, segment; /* the program's */
    uint32_t place;          /* handle of the function that does it */
} ShadowLate;

typedef struct Shadow {
    WasmModule *m;
    bool tables, segments; /* are tracked */
    bool trusted;          /* no probe changes a reference between ref.func and table.set */
    ShadowTable *table;    /* by handle */
    uint32_t *known;       /* by function: handle of the function that returns its index */
    Vec(uint32_t) named;   /* functions that table.set puts into a table */
    Vec(ShadowMove) moves;
    Vec(ShadowLate) late;
    uint32_t *segment[2]; /* of elements, of data: 1 = dropped somewhere; then the handle of the
                             global; 0 = never */
    uint32_t unknown;     /* handle of a function that returns -1 */
    uint32_t fid_type;    /* [] -> i32 */
} Shadow;

/* The module has been read. Marks in `watch_op` the instructions that passes 1 and 2 must show. */
void shadow_init(Shadow *s, WasmModule *m, const Plan *plan, bool *watch_op);
void shadow_free(Shadow *s);

/* Pass 1: notes the use of tables and segments by an instruction that is watched or matched. */
void shadow_note(Shadow *s, const Site *site, const Match *matches, uint32_t n);

/* Adds tables, globals and functions; pass 1 is over, the module not laid out. */
void shadow_add(Shadow *s);

/* ---- the module is laid out; code gets final indices ---- */

/* Appends code that the start function executes first: entries whose offset is only known then. */
void shadow_put_start(const Shadow *s, Buf *out);

/* Appends the code that replaces the instruction. False if there is none. */
bool shadow_put_instr(const Shadow *s, const Site *site, Buf *out);

/* Replaces the index of an entry on the stack by that of the function in it, an i32. */
void shadow_put_lookup(const Shadow *s, const WasmInstr *i, Buf *out);

/* Pushes the current size of the instruction's segment, in bytes or items, as i64. */
void shadow_put_segment(const Shadow *s, const WasmInstr *i, Buf *out);

#endif
