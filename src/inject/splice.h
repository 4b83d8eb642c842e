/*
 * inject/splice.h - turns templates into code: fills holes, saves and restores operands and
 * results.
 */
#ifndef WHAMMC_INJECT_SPLICE_H
#define WHAMMC_INJECT_SPLICE_H

#include "edit/catch_all.h"
#include "edit/edit.h"
#include "gen/template.h"

/* Locals added to the function being edited; the next site can reuse those of a site. */
typedef struct LocalPool {
    uint32_t first; /* index of the first added local */
    WasmTypes types;
    Vec(uint8_t) state;  /* free, taken or kept */
    Vec(uint32_t) taken; /* the locals that may be taken */
    uint32_t lowest;     /* none is free below it */
} LocalPool;

/* Empties the pool, for a function in which added locals begin at `first`. */
void pool_reset(LocalPool *p, uint32_t first);
/* Returns a free local of the type, or a new one. */
uint32_t pool_take(LocalPool *p, WasmType type);
/* Frees a local that pool_take has returned. */
void pool_free_local(LocalPool *p, uint32_t local);
void pool_release(LocalPool *p); /* frees all but those of pool_keep */
/* Returns a new local, which stays until pool_reset. */
uint32_t pool_keep(LocalPool *p, WasmType type);
void pool_free(LocalPool *p);

/* Whether one region should catch the exceptions that leave a function's calls: there are many
 * calls, a region for each would overload some compilers, and exceptions of calls leave the
 * function. */
bool splice_wants_one_region(const WasmModule *m, uint32_t func);

/* Where a leaf of a tuple is while it is passed to or from a template. */
typedef struct LeafLocal {
    uint32_t n;
    WasmType type;
    uint32_t local;
} LeafLocal;
typedef Vec(LeafLocal) LeafLocals;

/* Operands or results that were moved into locals. */
typedef struct Saved {
    Vec(uint32_t) local;
    Vec(WasmType) type; /* on the stack */
} Saved;

/* A construct that runs only if the predicate of its alt probe is false: another construct
 * surrounds it. Offsets of its opener and its end. */
typedef struct Wrapped {
    uint32_t start, end;
} Wrapped;

/* Where code that replaces an instruction leaves the function, or ends the program. */
typedef struct Leave {
    size_t at; /* offset in Splicer.out */
    bool ends;
} Leave;

struct Splicer;

/* Fills the holes of templates that only a target knows. `ctx` is Splicer.ctx. */
typedef struct SpliceBackend {
    /* Returns the words of the next match, *n of them (Splicer.words). Called for all sites that
     * pass 1 counted, in order. */
    const uint64_t *(*words)(void *ctx, const Site *site, const Match *match, uint32_t *n);
    /* Appends the code of a hole that the splicer does not know itself. */
    void (*fill)(void *ctx, struct Splicer *s, const Hole *h, const Variant *v, const Site *site);
    /* Pushes the address of a string that is a constant at a site. */
    void (*text)(void *ctx, Str text, Buf *out);
    /* A function begins; may be NULL. */
    void (*begin)(void *ctx);
    /* Appends the back end's replacement of an instruction; false: it has none. May be NULL. */
    bool (*instead)(void *ctx, const Site *site, Buf *out);
} SpliceBackend;

/* Functions that are called where a program with continuations leaves a stack and comes back (final
 * indices): rewrite/continuations.c. */
typedef struct StackCalls {
    bool followed;
    uint32_t leave, back, ended;
} StackCalls;

/* The current instruction. */
typedef struct SpliceSite {
    const SiteTypes *types;
    Saved args, results;     /* operands and results that were saved, by number */
    const uint64_t *words;   /* of the current match: slots of its unshared variables, by Var.index,
                                or its recorded data */
    Vec(uint64_t) all_words; /* of all matches */
    Vec(uint32_t) words_at;  /* where each match's begin */
    LeafLocals got, gives;   /* of the current template */
    bool ends;               /* it calls Splicer.proc_exit, unless its alt probe replaces it */
    Vec(Leave) leaves;       /* of the code that replaces it */
    Vec(uint32_t) ends_after; /* where that ends the program: after pieces of these ranks */
    uint32_t landing;         /* its number, if it has at_target probes; else 0 */
    uint32_t before_loop; /* number of matches (in mode before) that run before the loop, not in its
                             head */
} SpliceSite;

/* The current function. Locals are UINT32_MAX if they do not exist yet. */
typedef struct SpliceFunc {
    Vec(Wrapped) wrapped;
    Vec(uint32_t) nullable; /* its locals that are made nullable, ascending */
    bool one_region;        /* one handler for all its calls catches the exceptions; */
    uint32_t active_call;   /* then: a local with the number of the active call */
    uint32_t nways;         /* numbers of calls so far */
    uint32_t nlandings;     /* number of sites with at_target probes so far */
    uint32_t landing_flag;  /* a local: the number of the branch that control comes from */
    uint32_t back;          /* a local that is 1 where a branch may have led to a loop */
    uint32_t left; /* a local: the result of StackCalls.leave for the stack that was left, 0 = it is
                      current */
} SpliceFunc;

/* The state of splicing templates into functions. */
typedef struct Splicer {
    const WasmModule *m; /* laid out */
    const Plan *plan;
    const SpliceBackend *backend;
    void *ctx;                 /* the back end's */
    WasmExceptions exceptions; /* form of the regions around calls with unwind probes */
    LocalPool pool;
    Buf *out; /* code with final indices */
    Vec(uint32_t) temps;
    WasmOffsets rare;  /* where in `out` an `if` follows that is rarely executed */
    int64_t proc_exit; /* the import that ends the program: a handle; -1 = none */
    StackCalls stacks;
    uint32_t state; /* the global with the state of Asyncify; UINT32_MAX = none */
    SpliceFunc func;
    SpliceSite site;
} Splicer;

/* Whether code at the instruction of the site keeps track of stacks. */
static inline bool splice_leaves_stack(const Splicer *s, const Site *site) {
    return s->stacks.followed && wasm_leaves_stack(site->instr->op);
}

/* Prepares a splicer; `backend` fills the holes that the splicer does not know, and gets ctx. */
void splicer_init(Splicer *s, const WasmModule *m, const Plan *plan, const SpliceBackend *backend,
                  void *ctx);
void splicer_free(Splicer *s);
/* Begins a function that has `locals` parameters and locals of its own. */
void splicer_begin(Splicer *s, uint32_t locals);

/* Reads the words of a site's matches, in order; called for every site that pass 1 counted. */
void splice_words(Splicer *s, const Site *site, const Match *matches, uint32_t n);

/* At the exits of a function, if some match uses its results: the code that pops them into locals,
 * or sets these to 0 where the function ends without results, and the code that pushes them back.
 * Returns whether there is any. */
bool splice_results_take(Splicer *s, const Site *site, const Match *matches, uint32_t n);
void splice_results_clear(Splicer *s);
void splice_results_give(Splicer *s);

/* Appends the code of the site's nth match (n counts as in splice_words). */
void splice_match(Splicer *s, const Site *site, const Match *matches, uint32_t n);

/* Appends a template that has no site and no words (start-up, flush); v may be NULL. */
void splice_template(Splicer *s, const Template *t, const Variant *v, const Site *site);

/* Returns the block type of code with the results of a replaced instruction; adds the type if
 * needed, so call it before the module is written. */
WasmType splice_result_type(WasmModule *m, const WasmTypes *results);

/* Adds the types for the region around a call that has unwind probes; before the module is laid
 * out.
 */
void splice_unwind_types(WasmModule *m, WasmExceptions form, const WasmInstr *call,
                         const Match *matches, uint32_t n);

/* Returns the handle of the function that an alt call names; -1 = none. */
int64_t alt_call_target(const WasmModule *m, const AltCall *call);

/* The order of pieces at one location. */
typedef enum PieceRank {
    RANK_ARRIVES, /* a stack is the current one again */
    RANK_PROBE,   /* probes of the instruction itself */
    RANK_BLOCK,   /* block:start, block:end */
    RANK_AFTER,   /* `after` code of instructions whose other probes are also inserted after them */
    RANK_CONSTRUCT, /* code that belongs to a construct, or to a branch */
    RANK_END,       /* of the program */
    /* From here on, even: pieces that replace an instruction up to where they leave the function
     * or end the program; code that runs there follows one of them. */
    RANK_LEAVES = 16,
    RANK_REPLACED = INT32_MAX, /* the last of them */
} PieceRank;

/*
 * Splices all matches of a site at an instruction (consuming their words): appends code to s->out
 * and reports the pieces through `piece` (where, from, to: offsets in s->out).
 */
typedef void SplicePiece(void *ctx, WasmWhere where, uint32_t at, PieceRank rank, size_t from,
                         size_t to);
/* The same for a piece of a construct: WASM_REPLACE replaces everything from `at` up to, but not
 * including, `until`; WASM_WRAP leaves a construct open that ends after `until`. */
typedef void SpliceRegion(void *ctx, WasmWhere where, uint32_t at, uint32_t until, size_t from,
                          size_t to);
void splice_site(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                 uint32_t n, SplicePiece *piece, SpliceRegion *region, void *ctx);

#endif
