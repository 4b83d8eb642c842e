/*
 * storage/storage.h - where the variables of a plan live in a rewritten program, and which rows the
 * report has.
 *
 *   script, shared   mutable globals, one per leaf, or words in a memory of our own
 *   unshared         a slot per site, mutable globals (default) or words in a memory of our own.
 *                    Slots are grouped by type; slots of reported variables are in the order of the
 *                    report's rows
 *   frame            locals of each function that uses them
 *   maps that are cells   a variable for each key (plan/cell.h), stored like unshared ones
 *   maps that are tallies   also arrays (tally.h)
 *
 * Strings have numbers here: first the plan's (PlanTexts.list), then the strings needed at sites.
 */
#ifndef WHAMMC_STORAGE_STORAGE_H
#define WHAMMC_STORAGE_STORAGE_H

#include "gen/template.h"
#include "link/options.h"
#include "plan/plan.h"
#include "report/image.h"
#include "storage/coalesce.h"
#include "storage/map_cell.h"
#include "storage/tally.h"
#include "wasm/emit.h"

/* Engines accept at most a million globals; the program and other variables need some of them. */
enum { STORAGE_MAX_GLOBALS = 950000 };

/* A slot (with one leaf) that does not start at zero. */
typedef struct SlotInit {
    uint32_t group, slot;
    uint64_t bits;
} SlotInit;

/* The slots of all reported, or all hidden, unshared variables of a kind (tuples: of a type). */
typedef struct SlotGroup {
    const Type *type;
    bool hidden;    /* not reported */
    uint32_t rows;  /* of the report: image_group */
    uint32_t count; /* slots */
    uint32_t last;  /* the last row's index into Counts.values; COUNT_NONE = not counted */
    uint32_t leaves;
    bool in_memory;        /* references never are */
    uint32_t step;         /* from one slot to the next: globals, or bytes */
    uint64_t base;         /* of slot 0: index of a global (once laid out), or an address */
    uint32_t first_global; /* its handle */
} SlotGroup;

/* Strings that exist at run time. */
typedef struct StoreTexts {
    Vec(Str) list;
    Map ids;          /* their numbers */
    Vec(uint64_t) at; /* their addresses in our memory, or handles of globals */
    bool in_globals;  /* `at` has handles */
} StoreTexts;

/* The rows of the report. */
typedef struct StoreRows {
    Image *image;
    uint32_t *of_var;   /* by PlanVar.id */
    uint32_t *of_probe; /* by action, twice: 1 + id, 0 = not made yet */
    bool reported;      /* there is a reported variable */
    bool reports;       /* and its value is written: the program flushes */
    uint32_t last_func; /* the last function named in the image */
} StoreRows;

/* Where segments and loops are counted. */
typedef struct StoreCounters {
    uint32_t global;     /* handle of the first counter, if they are globals */
    uint32_t loops;      /* handle of the first of two globals for each of Counts.loops, */
    uint64_t loops_at;   /* or the address of such two words */
    uint64_t at;         /* address of the first counter, if they are in memory, */
    uint64_t settled_at; /* and of the first settled sum's kept value (store_counter) */
    uint32_t add;        /* handle of a function that increments one; UINT32_MAX = none */
    uint32_t nsettled;   /* sums that are updated in their places at a flush */
    bool added_up;       /* the runtime adds them up, so they are in the value area */
} StoreCounters;

/* Maps that exist at run time. */
typedef struct StoreMaps {
    uint32_t *of_var;  /* by PlanVar.id: the number of a script or shared map */
    uint32_t count;    /* including maps of unshared variables, in the order of the sites */
    uint64_t elements; /* elements (not cells) in the code of all sites and elsewhere */
} StoreMaps;

typedef struct Store {
    const Plan *plan;
    Coalesce *coalesce;   /* NULL: nothing is counted by segments */
    const Counts *counts; /* NULL or its counts */
    StoreRows rows;
    Vec(SlotGroup) groups;
    uint32_t *group_of; /* by PlanVar.id, of unshared variables */
    Vec(SlotInit) inits;
    bool knows_sites; /* there is a program: actions without sites (Action.sites) do not happen */
    uint64_t sites;
    uint64_t slots; /* leaves of slots and cells */
    StoreCounters counters;
    MapCells cells;
    Tallies tallies;
    Vec(uint32_t) tail; /* PlanVar.id of the shared and script rows, in order */

    bool in_memory;      /* unshared variables and counters are in memory, and cells, too */
    bool all_in_memory;  /* and all else needed for a report: our memory alone suffices */
    bool *var_in_memory; /* by PlanVar.id */
    uint32_t *frame_of;  /* by PlanVar.id: the first frame variable of that name in the script */
    uint32_t *global;    /* by PlanVar.id: handle of a script or shared variable's first global, */
    uint64_t *address;   /* or its address in our memory (var_in_memory) */
    uint32_t memory;     /* handle of our memory, UINT32_MAX = none */
    uint64_t values_at;  /* address of the value area in it */

    StoreTexts texts;
    StoreMaps maps;
} Store;

/* Describes the variables of a plan; there are no sites at first. Release with store_free. */
void store_init(Store *s, const Plan *plan);
void store_free(Store *s);

/* Pass 1: gives each unshared variable of the match a slot, or a value that is counted by segments,
 * and a row. In the order of the sites. Returns whether the match is counted by segments. */
bool store_count(Store *s, const Site *site, const Match *match);

/* A row of an unshared variable that is counted by segments. */
typedef struct CountedRow {
    uint32_t var; /* PlanVar.id */
    uint32_t probe, segment;
    CountedAmount k;
} CountedRow;
/* Appends a row. */
void store_count_row(Store *s, const Site *site, const CountedRow *row);
/* Appends a row with a known value, an index into Counts.values. */
void store_join_row(Store *s, const WasmModule *m, uint32_t func, uint32_t pc,
                    const CountedRow *row, uint32_t value);
/* Appends encoded rows of a group, after a row of it: values[i] + first are the values of rows that
 * differ from the row before. */
void store_join_rows(Store *s, uint32_t group, const ImageRows *rows, const uint32_t *values,
                     uint32_t nvalues, uint32_t first);
/* Records that a function has rows. */
void store_join_func(Store *s, const WasmModule *m, uint32_t func);

/* Records the strings and cells that a match's code needs at a site, and its number of elements. */
void store_note_constants(Store *s, const Site *site, const Variant *v);

/* The same for events that happen once. */
void store_count_once(Store *s, const ShapeList *shapes, const WasmModule *m);

/* Returns the id of an action in the image, for its rows on these ways of a branch: WAY_... */
uint32_t store_action_row(Store *s, const Action *a, unsigned ways);

/* Adds the rows of shared and script variables, and the strings of script scope. */
void store_close(Store *s, const WasmModule *m);

/* Returns the number of a string, which is added if new. */
uint32_t store_text(Store *s, Str text);
/* Appends the runtime's objects of all strings, to be put at address `at`: sets StoreTexts.at. */
void store_put_texts(Store *s, uint64_t at, Buf *out);
/* Append code that pushes the address of a string, given by its number or content. */
void store_push_text(const Store *s, const WasmModule *m, uint32_t id, Buf *out);
void store_push_str(const Store *s, const WasmModule *m, Str text, Buf *out);

/* Return the counted part of a variable (one leaf), or of leaf n of a cell (n = number of leaves:
 * its mark); NULL = nothing is counted by segments. */
const Sum *store_sum(const Store *s, uint32_t var);
const Sum *store_cell_sum(const Store *s, const MapCell *cell, uint32_t n);
/* Whether the counted part of such a sum is added to its place at each flush, since code reads the
 * place or it is in the value area. */
bool store_settles(const Store *s, const Sum *sum, bool cell);

/* Returns the number of globals (or words of our memory) that per-site variables need. */
uint64_t store_words(const Store *s);

/* Returns the bytes of the value area: the image's values, with the counters, then hidden slots and
 * the kept values of settled sums. */
uint64_t store_values_size(const Store *s);

/* After the choice of in_memory and counters.added_up: determines the values derived from counters
 * and the number of settled sums; then all sizes are known. */
void store_chosen(Store *s);

/* Adds the globals (or fixes the addresses), after the choice was made (in_memory, memory,
 * values_at). */
void store_add(Store *s, WasmModule *m);
/* Sets the bases and steps of slot groups; the module is laid out. */
void store_laid_out(Store *s, const WasmModule *m);

/* Pass 2 asks for slots in the same order as pass 1 gave them. A zeroed cursor stands before the
 * first. */
typedef struct SlotCursor {
    Vec(uint32_t) next; /* by group */
    uint32_t tally;
} SlotCursor;
/* Returns the index of the global, or the address, of the slot's first leaf. */
uint64_t store_slot(const Store *s, SlotCursor *c, const PlanVar *v);

/* Counter n (i64). The counters are followed by one slot per settled sum, holding the value at its
 * last settlement. */
EmitNumber store_counter(const Store *s, const WasmModule *m, uint32_t n);
/* Appends code that increments a counter. With very many counters this is a call at `cool` places:
 * inline code at each site would be a third of the program. */
void store_put_count(const Store *s, const WasmModule *m, uint32_t n, bool cool, Buf *out);
/* A leaf of a script or shared variable. */
EmitNumber store_variable(const Store *s, const WasmModule *m, const PlanVar *v, uint32_t leaf);
/* A number of 4 or 8 bytes at an address of our memory. */
EmitNumber store_number(const Store *s, const WasmModule *m, WasmType type, uint64_t at);

/* ---- atomic variables of programs with threads (storage_atomics.c) ---- */

enum { ATOMICS_PAGES = 64, ATOMICS_BLOCK = 4096, ATOMICS_MAX = ATOMICS_BLOCK / 16 - 1 };

/* The operations used, by AtomicOp and by whether the variable has 64 bits. */
typedef struct AtomicUse {
    bool ops[ATOMIC_OPS][2];
} AtomicUse;

/* Handles. A zeroed one is valid: there are none. */
typedef struct Atomics {
    bool any;
    uint32_t memory;
    uint32_t ops[ATOMIC_OPS][2]; /* functions: (operand, place) -> value */
    uint32_t unreported[2];      /* (place) -> amount not reported yet; marks it as reported */
} Atomics;

/* Notes a HOLE_ATOMIC. */
void atomics_note(AtomicUse *use, const Plan *plan, uint32_t hole);

/* Imports the memory. */
void atomics_import(Atomics *a, WasmModule *m);
/* Adds the functions; `number` is the program's, not 0. Before the layout. */
void atomics_add(Atomics *a, const AtomicUse *use, WasmModule *m, const Plan *plan,
                 uint64_t number);

/* Appends the code of a HOLE_ATOMIC, whose operand is on the stack. */
void atomics_put(const Atomics *a, const WasmModule *m, const Plan *plan, uint32_t hole, Buf *out);

/* Appends code that pushes a variable's value. */
void atomics_put_load(const Atomics *a, const WasmModule *m, const Plan *plan, uint32_t var,
                      Buf *out);

/* Appends code that adds the unreported amount to the variable's own place. */
void atomics_put_report(const Atomics *a, const Store *s, const WasmModule *m, const PlanVar *v,
                        Buf *out);

/* Appends the custom section with the addresses of the amounts reported by an instance, for reports
 * made from another instance's memory; nothing if they are in no memory. */
void atomics_put_section(const Atomics *a, const Store *s, Buf *out);

#endif
