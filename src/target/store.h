/*
 * target/store.h - where the variables of a plan live in a rewritten program, and which rows the
 * report has.
 *
 *   script, shared   one mutable global each
 *   unshared         one slot per site: a mutable global (default), or a word of a memory of our
 * own. Slots of reported variables are in the order of the report's rows frame            a local
 * of each function that uses it
 */
#ifndef WHAMMC_TARGET_STORE_H
#define WHAMMC_TARGET_STORE_H

#include "probe/plan.h"
#include "report/image.h"

typedef enum StorageChoice { STORAGE_AUTO, STORAGE_GLOBALS, STORAGE_MEMORY } StorageChoice;

enum { STORAGE_KINDS = TYPE_BOOL + 1 };

/* Engines accept at most a million globals; the program and the other variables need some of them.
 */
enum { STORAGE_MAX_GLOBALS = 950000 };

/* A slot whose variable does not start at zero. */
typedef struct SlotInit {
    uint8_t hidden, kind;
    uint32_t slot;
    uint64_t bits;
} SlotInit;

typedef struct Store {
    const Plan *plan;
    Image *image;                   /* rows of the report */
    uint32_t *image_var;            /* by PlanVar.id */
    uint32_t *image_probe;          /* by action; 1 + id, 0 = not made yet */
    bool reports;                   /* there is a reported variable: the program flushes */
    uint32_t last_func;             /* whose name the image has */
    uint32_t hidden[STORAGE_KINDS]; /* slots of unshared variables that are not reported */
    Vec(SlotInit) inits;
    uint64_t sites, slots;
    Vec(uint32_t) tail; /* PlanVar.id of the shared and script rows, in order */

    bool in_memory;      /* unshared variables are in memory */
    bool *var_in_memory; /* by PlanVar.id */
    uint32_t *frame_of;  /* by PlanVar.id: the first frame variable of that name in the script */
    uint32_t *global;    /* by PlanVar.id: handle of a script or shared variable's global */
    uint32_t memory;     /* handle of our memory, UINT32_MAX = none */
    uint64_t values_at;  /* address of the value area in it */
    /* [0] reported, [1] hidden: first final global index, or address, of a kind's slots. */
    uint64_t base[2][STORAGE_KINDS];
    uint32_t step[STORAGE_KINDS]; /* from one slot to the next: globals, or bytes */
    uint32_t first_global;        /* handle of the first slot's global */
} Store;

void store_init(Store *s, const Plan *plan);
void store_free(Store *s);

/* Pass 1: gives each unshared variable of the match a slot and a row. In the order of the sites. */
void store_count(Store *s, const Site *site, const Match *match);

/* Rows of shared and script variables; then the size of everything is known. */
void store_close(Store *s);

/* Bytes of the value area: reported slots, shared and script rows, then hidden slots. */
uint64_t store_values_size(const Store *s);

/* Adds the globals (or fixes the addresses), after the choice was made (in_memory, memory,
 * values_at). */
void store_add(Store *s, WasmModule *m);
/* Final indices of what was added; the module is laid out. */
void store_laid_out(Store *s, const WasmModule *m);

/* Pass 2 asks for slots in the same order as pass 1 gave them. */
typedef struct SlotCursor {
    uint32_t next[2][STORAGE_KINDS];
} SlotCursor;
uint64_t store_slot(const Store *s, SlotCursor *c, const PlanVar *v);

#endif
