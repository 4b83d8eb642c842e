/*
 * flush/flush_code.h - shared by the flush*.c files, which alone include it.
 */
#ifndef WHAMMC_FLUSH_FLUSH_CODE_H
#define WHAMMC_FLUSH_FLUSH_CODE_H

#include "flush/flush.h"
#include "wasm/emit.h"

/* A constant, for names. */
static inline Str text(const char *s) {
    return str_of(s);
}

/* ---- instructions; the index of a handle is final ---- */

static inline uint32_t func_index(const Flush *f, uint32_t handle) {
    return wasm_final(f->m, WASM_SPACE_FUNC, handle);
}

static inline uint32_t global_index(const Flush *f, uint32_t handle) {
    return wasm_final(f->m, WASM_SPACE_GLOBAL, handle);
}

/* ---- functions ---- */

/* Sets the body of a function that was added without code. */
void flush_fill(Flush *f, Splicer *s, uint32_t func, const Buf *body);

/* Adds a function of `body` with the splicer's locals and the `end`; returns its handle. */
uint32_t flush_add_code(Flush *f, Splicer *s, uint32_t type, const char *name, const Buf *body);

/*
 * Splits a long sequence of small items (a variable, a word), each a few instructions, into
 * functions of at most 1000 items, so that no function is too large for an engine's compiler. The
 * functions must be called in order. Initialise the members up to `params`; the others are zero.
 */
typedef struct Chunks {
    Flush *f;
    Splicer *s;
    const char *name;
    WasmType params[2]; /* of the functions */
    uint32_t nparams;
    Buf body; /* items are appended here, each followed by chunks_item */
    uint32_t count;
    bool wide;           /* items use a local after the parameters, an i64 */
    Vec(uint32_t) funcs; /* handles */
} Chunks;

/* Ends an item; begins a new function if this one has enough. */
void chunks_item(Chunks *c);
/* The last item was added. */
void chunks_end(Chunks *c);
/* The same, then appends calls of the functions with these arguments, code that pushes them; c is
 * freed. */
void chunks_call(Chunks *c, const char *arguments, Buf *out);
/* Frees the body and the list of functions. */
void chunks_free(Chunks *c);

/* Whether the per-site variables fit into globals; if not, a message, which recommends the option
 * `instead`. */
bool flush_fits_globals(const Flush *f, const char *instead);

/* Makes the bytes of an image with the report's options, and image_len. False with a message on
 * failure. */
bool flush_make_image(Flush *f, const Image *image, Buf *bytes);

/* Where a value of the report comes from. */
typedef struct FlushSource {
    EmitNumber place; /* the stored value */
    const Sum *sum;   /* how the counted part is added to it; NULL = none */
    uint32_t tabled;  /* 1 + the offset of the counted part in FlushSums.table, or 0: */
    CounterSum counted;
} FlushSource;

/* Appends code that pushes it. */
void flush_push(const Flush *f, const FlushSource *source, Buf *out);

/* A leaf of a shared or script variable; leaf n of a cell, or its mark. */
FlushSource flush_variable(const Flush *f, const PlanVar *v, uint32_t leaf);
FlushSource flush_cell(const Flush *f, const MapCell *cell, uint32_t n);

/* ---- sums (flush_sum.c) ---- */

/* Decides which sums the runtime adds up, and makes their table; the storage of cells is decided.
 * These are the long sums, if the program contains a runtime; except settled ones if memory may be
 * lacking, since code must still read their values then. */
void flush_plan_sums(Flush *f);

/* Adds the functions that compute sums of segment counts, and the functions that settle sums. */
void flush_add_sums(Flush *f, Splicer *s);

/* Appends calls of the latter, which bring the variables up to date. */
void flush_settle(const Flush *f, Buf *out);

/* Whether they settle variable n of Counts with this sum. */
bool flush_settles(const Flush *f, uint32_t n, const Sum *sum, bool cell);

/* Sets the counted part of a source, variable n of Counts; nothing if it is settled. */
void flush_counted(const Flush *f, uint32_t n, const Sum *sum, bool cell, FlushSource *source);

/* Appends code that combines the stored value of a variable, on the stack, with its counted part;
 * the code `counted` pushes that as i64. */
void flush_combine(const Sum *sum, const Buf *counted, Buf *out);
/* Appends code that does so and stores the result; the code `amount` pushes the counted part. */
void flush_combine_number(EmitNumber place, const Sum *sum, const char *amount, Buf *out);

/* Appends code that pushes the counted part of a source, as i64. */
void flush_push_sum(const Flush *f, const FlushSource *source, Buf *out);

/* Calls `value` for all reported variables that must be copied to the value area, and for records
 * of traps, by ascending offset there; counters follow. */
typedef void FlushValue(void *ctx, WasmType type, const FlushSource *source, uint64_t offset);
void flush_each_value(const Flush *f, FlushValue *value, void *ctx);

/* ---- threads (flush_threads.c) ---- */

/* Imports the memory of atomic variables, if any. It precedes our own memory, whose index is
 * already in code. False after a message if they are impossible. */
bool flush_plan_atomics(Flush *f);
/* Adds the functions for the operations used on them; before the layout. */
void flush_link_atomics(Flush *f, const AtomicUse *use);
/* Appends code that adds the unreported amounts of the reported ones to their own places. */
void flush_put_atomics(const Flush *f, Buf *out);

/* Adds the source of the thread's number, if it is not always 0; before the layout. False after a
 * message if the host cannot tell it. */
bool flush_link_thread(Flush *f);
/* Fills the functions for it; after the layout. */
void flush_add_thread(Flush *f);

/* ---- the runtime's part of memory (flush_memory.c) ---- */

/* Returns the number of pages that `bytes` bytes take. */
static inline uint64_t flush_pages(uint64_t bytes) {
    return (bytes + 65535) / 65536;
}

/* Returns the number of pages by which the program's memory is grown. */
uint64_t flush_grown_pages(const Flush *f);
/* Adds the functions that replace the program's memory.size and memory.grow and hide these pages,
 * which stay the last ones. The limits are still the program's. */
void flush_hide_grown(Flush *f);
/* Returns code that pushes the address at an offset in the runtime's part. */
const char *flush_address(const Flush *f, uint64_t offset);
/* Offsets of the value area, of the image and of the table of sums in it. */
uint64_t flush_values_at(const Flush *f);
uint64_t flush_image_at(const Flush *f);
/* Appends code that makes it ready: grows the program's memory if there is no such part yet, then
 * copies there the counters needed for the report or for sums. If there is no room, the
 * instructions `leave` leave the code: they find on the stack whether to do so. */
void flush_put_ready(Flush *f, Buf *b, const char *leave);
/* Adds a function with that code, if sums may be needed without a report. */
void flush_add_ready(Flush *f);

/* ---- traps in segments (flush_trap.c) ---- */

/* Adds the globals of trap records. */
void flush_trap_plan(Flush *f);
/* Appends the code of shapes, in order: their bodies, or their start-up or exit code. */
typedef enum TemplateKind { TEMPLATE_BODY, TEMPLATE_INIT, TEMPLATE_EXIT } TemplateKind;
void flush_splice_shapes(Splicer *s, const ShapeList *list, TemplateKind kind);

/* Adds the functions FlushHandles.suspend and resume, if scripts ask for these events. */
void flush_add_stacks(Flush *f, Splicer *s, const OnceShapes *once);

/* Adds the exports whammc:trapped and whammc:correct. */
void flush_add_traps(Flush *f, Splicer *s);
/* Calls `value` for the trap records among the report's values. */
void flush_each_trap(const Flush *f, FlushValue *value, void *ctx);

/* ---- --link=merge (flush_merge.c) ---- */

/* Copies the needed parts of the runtime into the program: the report functions, and the used
 * helpers (by Helper); sets their handles. */
bool flush_merge(Flush *f, const bool *used);

/* ---- --host=prof (flush_prof.c) ---- */

/* Imports the functions of the host. Removes helpers that it implements itself from `used` (by
 * Helper) and sets their handles. False with a message if a script needs something that this host
 * lacks. */
bool flush_prof_link(Flush *f, bool *used);

/* ---- --link=import (flush_import.c) ---- */

/* Decides storage. */
bool flush_import_plan(Flush *f);
/* Imports the functions of the runtime module that are needed; sets handles of used helpers. */
bool flush_import_link(Flush *f, const bool *used);
/* Appends code that creates the program's strings in the runtime's memory. */
bool flush_import_start(Flush *f, Splicer *s, Buf *body);

/* Appends code that passes the report to the runtime module. */
bool flush_import_put(Flush *f, Splicer *s, Buf *body);

/*
 * Makes the functions that run each site's start-up code (or, `at_exit`, its code before a report),
 * and appends calls of them to `out`. Call it before the splicer's slots are used for anything
 * else. False on malformed code, which pass 1 would have found.
 */
bool flush_sites(Flush *f, Splicer *s, bool at_exit, Buf *out);

#endif
