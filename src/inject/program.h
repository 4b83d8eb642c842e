/*
 * inject/program.h - a program under instrumentation: the code shared by the targets that change
 * a program.
 *
 *   1. read the program
 *   2. pass 1 (Target.match): find the sites
 *   3. Target.link: add the definitions that code at the sites needs, lay the module out
 *   4. pass 2: find the sites again; Target.splice makes pieces of code; write the module
 *   5. read back the output and validate it
 */
#ifndef WHAMMC_INJECT_PROGRAM_H
#define WHAMMC_INJECT_PROGRAM_H

#include "base/sink.h"
#include "edit/catch_all.h"
#include "inject/counts.h"
#include "inject/moves.h"
#include "inject/parallel_bodies.h"
#include "inject/pieces.h"

/* A location at which something matches, or that is watched; as Matcher.at. */
typedef void SiteHook(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n);

/* The steps that differ between targets. `self` is Program.self. */
typedef struct Target {
    /* Pass 1: counts the matches in the actions' `sites`. Called as soon as the program is read;
     * may set up the matcher. False with messages. */
    bool (*match)(void *self);
    /* Pass 1: counts a function as a whole, which is then not walked; false if it cannot. May be
     * NULL. */
    bool (*count)(void *self, uint32_t func);
    /* Adds to the module and lays it out (then program_wrap_ends), makes templates, sets up
     * Program.splicer and flush. False with messages. */
    bool (*link)(void *self);
    /* Pass 2: begins a function into which code is inserted, before its sites; may be NULL. */
    void (*enter)(void *self, uint32_t func, Pieces *pieces);
    /* Pass 2: ends such a function, after its sites; may be NULL. */
    void (*leave)(void *self, uint32_t func, Pieces *pieces);
    bool enters_apart; /* `enter` may be called on several threads */
    SiteHook *splice;
    /* Appends custom sections to the output, read again as `written`; may be NULL. */
    void (*append)(void *self, const WasmModule *written, Buf *out);
    /* Everything is written: frees data needed only for that, before the output is read or, on
     * another thread, meanwhile; may be NULL. */
    void (*written)(void *self);
    /* Labels for the message that says that the output would be invalid. */
    void (*blame)(void *self, Diag *d);
} Target;

/* Findings of pass 1 in a function. */
enum {
    TOUCHED = 1,
    TOUCHED_END = 2,     /* code before the body's `end`, which branches reach */
    TOUCHED_SITE = 4,    /* a site needs code; else all is counted by segments */
    TOUCHED_ENDS = 8,    /* it names a function that is wrapped, as the program ends there */
    TOUCHED_CODE = 16,   /* probes have code in it */
    TOUCHED_LOCALS = 32, /* its counting code needs locals */
};

/* A local whose type has no null, and which a probe may leave unset: it is made nullable. */
typedef struct UnsetLocal {
    uint32_t func, local;
} UnsetLocal;

/* Where the program ends. */
typedef struct ProgramEnds {
    int64_t main;                        /* function at whose exits it does, -1 = none */
    int64_t proc_exit;                   /* the import that ends it, -1 = none */
    int64_t flush;                       /* handle of the function to call then, -1 = none */
    uint32_t main_wrapper, exit_wrapper; /* handles of functions called instead of these two */
} ProgramEnds;

/* Options of the output. */
typedef struct ProgramOutput {
    bool keep_debug;  /* keep DWARF, adjusted to the new code */
    Str map_root;     /* prefix of relative paths in the source map */
    Str map_url;      /* URL of the output's source map; empty = it gets none */
    Buf *map;         /* receives the source map */
    const Sink *sink; /* gets the output as it is made, before it is validated; may be NULL */
} ProgramOutput;

typedef struct Program {
    const Target *target;
    void *self; /* the target's */
    Plan *plan;
    DiagFileId file;
    Diags *diags;
    ProgramOutput output;
    uint32_t threads;

    WasmModule m;
    Matcher matcher;
    uint8_t *touched;      /* by function: TOUCHED ... */
    bool matched;          /* pass 1: something is done at some site */
    Vec(UnsetLocal) unset; /* by function, then by local */
    uint32_t next_unset;   /* pass 2: the first that belongs to no earlier function */
    Splicer splicer;
    ProgramEnds ends;
    WasmExceptions exceptions; /* of regions with unwind probes */

    Moves *moves;         /* where instructions moved; NULL: not needed */
    Counts *counts;       /* for the section whammc.traps of the program, or NULL */
    uint32_t *added;      /* by function: locals that pass 2 added */
    bool *kept;           /* by body: needs no validation once it is written (WasmKept) */
    Pieces pieces;        /* of the current function */
    WasmOffsets rare_at;  /* in its new body: WasmModule.rare */
    ParallelBodies apart; /* bodies into which only counters go, with several threads */
} Program;

/*
 * Instruments `bytes`. Of `p`, target, self, plan, file, diags and output are set, the rest is
 * zero (threads: at least 1); program_free is needed afterwards. The output is validated. False
 * with messages, then `out` is empty.
 */
bool program_instrument(Program *p, const uint8_t *bytes, size_t size, Buf *out);
void program_free(Program *p);

/* Walks all functions with p->matcher. False with a message if one is malformed. */
bool program_walk(Program *p);

/* Pass 1: records an event at a site; `code`: pass 2 must visit the site, as the event is not only
 * counted by segments. */
void program_touch(Program *p, const Site *site, bool code);

/* Pass 1: an alt probe may replace the instruction of a site, which may set a local. */
void program_note_replaced(Program *p, const Site *site);

/* Splices the matches of a site other than an instruction, one after the other. */
void program_splice_all(Program *p, const Site *site, const Match *matches, uint32_t n);

/* Splices the matches of a site that is an instruction. If the program ends there, its final code
 * goes before the call that ends it: the instruction, or a call that an alt probe makes. */
void program_splice_site(Program *p, const Site *site, const SiteTypes *types, const Match *matches,
                         uint32_t n);

/* Return where a program ends: its import proc_exit, or -1, and the function `_start` or `main`,
 * else the start function if nothing else can be called, or -1. */
int64_t program_proc_exit(const WasmModule *m);
int64_t program_main(const WasmModule *m);

/* Sets main and proc_exit of Program.ends, and wraps both: ends.flush is called when the first
 * returns and before the second is called, by any caller. The wrappers get their code later. The
 * program's own functions are not extended: engines compile their loops worse with one more call.
 * Called after the layout, and after pass 1, which notes the callers of the two. */
void program_wrap_ends(Program *p, int64_t main, int64_t proc_exit);

/* Reports a decoding error; returns false. */
bool walk_failed(const Matcher *w, uint32_t func, DiagFileId file, Diags *diags);

#endif
