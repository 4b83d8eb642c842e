/*
 * rewrite/pass.h - the passes of rewriting: each adds one thing to a program, in its own file, and
 * can be understood by itself. rewrite.c has the list, and calls their hooks phase by phase.
 */
#ifndef WHAMMC_REWRITE_PASS_H
#define WHAMMC_REWRITE_PASS_H

#include "flush/flush.h"
#include "inject/program.h"
#include "storage/count_ahead.h"

enum { REWRITE_MAX_PASSES = 20 };

struct Frames;

/* The passes, by their places in rewrite_passes. */
typedef struct RewriteRun {
    bool runs[REWRITE_MAX_PASSES]; /* results of `begin` */
    void *state[REWRITE_MAX_PASSES];
    uint32_t noting[REWRITE_MAX_PASSES], nnoting; /* passes with a hook `note` */
} RewriteRun;

/* A program that is rewritten: state shared by several passes. */
typedef struct Rewrite {
    Program p;
    const RewriteOptions *given;   /* the options as given */
    const RewriteOptions *options; /* `decided` */
    RewriteOptions decided;        /* without LINK_AUTO */
    HostChoice host;               /* without HOST_AUTO */
    bool saves_frames;             /* while functions are left and called again (Asyncify) */
    bool sets_aside;               /* frames of the shadow stack, while the host leaves a stack */
    OnceShapes once;
    CountAhead ahead;

    Store store; /* where variables live */
    Coalesce coalesce;
    KindCounts kinds;
    Shadow shadow;
    BrTables br_tables;
    MemoryOps memories;
    StackPlaces stack;
    struct Frames *frames; /* the state of frames_pass */

    Flush flush;
    Fill fill;                      /* pass 2 */
    StackCalls stacks;              /* of continuations_pass */
    Vec(Match) coded;               /* the matches of a site that have code there */
    uint32_t region_func;           /* the function of Splicer.one_region */
    uint32_t helpers[HELPER_COUNT]; /* handles of the runtime's functions */
    uint32_t *fns;                  /* ... of the script's */

    RewriteRun passes;
} Rewrite;

/* Hooks may be NULL. `self` is the pass's state. */
typedef struct RewritePass {
    const char *name;
    size_t size; /* of its state, which is zeroed at first */

    /* The program has been read: sets up the pass's state. Returns false if the scripts and the
     * program do not need the pass; then `free` is the only other hook that is called. */
    bool (*begin)(Rewrite *r, void *self);

    /* Pass 1, at a site or a watched instruction. `code`: the matches have code there, as their
     * effects are not all counted by segments. */
    void (*note)(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                 const Match *matches, uint32_t n, bool code);
    bool notes_kinds; /* `note` is called for kinds that are counted, too (storage/kind_count.h) */
    /* After pass 1: marks the functions that the pass changes in Program.touched. */
    void (*decide)(Rewrite *r, void *self);

    /* The templates of shapes exist: changes them. */
    void (*shape)(Rewrite *r, void *self);
    /* Marks the functions that the pass's code calls. */
    void (*reach)(Rewrite *r, void *self, Reach *reach);
    /* Adds types, functions, globals, memories. */
    void (*add)(Rewrite *r, void *self, const Reach *reach);
    /* The module is laid out: writes the code of added functions. */
    void (*fill)(Rewrite *r, void *self);
    /* The start and the flush function exist. */
    void (*finish)(Rewrite *r, void *self, const Reach *reach);

    /* Pass 2: a function that gets code, before its sites; may be called by several threads if it
     * gets only counters. */
    void (*enter)(Rewrite *r, void *self, uint32_t func, Pieces *pieces);
    /* An instruction with matches, or a watched one, before their code is made. */
    void (*before)(Rewrite *r, void *self, const Site *site, const Match *matches, uint32_t n);
    /* Appends the code that replaces such an instruction, unless an alt probe does; false if there
     * is none. */
    bool (*replace)(Rewrite *r, void *self, const Site *site, Buf *out);
    /* The function, after its sites. */
    void (*leave)(Rewrite *r, void *self, uint32_t func, Pieces *pieces);

    /* Appends custom sections to the output, read again as `written`. */
    void (*append)(Rewrite *r, void *self, const WasmModule *written, Buf *out);
    /* Releases the contents of the state. */
    void (*free)(Rewrite *r, void *self);
} RewritePass;

/* All passes, in the order in which the hooks of each phase are called (rewrite.c); ends with
 * NULL. */
extern const RewritePass *const rewrite_passes[];

/* A loop over the passes that run and have the hook: `k` is the pass. */
#define REWRITE_EACH(r, k, hook)                                                                   \
    for (uint32_t k = 0; rewrite_passes[k]; k++)                                                   \
        if ((r)->passes.runs[k] && rewrite_passes[k]->hook)

extern const RewritePass alts_pass, continuations_pass, polls_pass, frames_pass, stack_pass;
extern const RewritePass memories_pass, functions_pass, tags_pass, shadow_pass, br_tables_pass,
    counting_pass;
extern const RewritePass saved_frames_pass, stacks_pass, engine_frames_pass, print_order_pass;
extern const RewritePass leaf_pass, outline_pass, branch_hints_pass, preserve_floats_pass;

#endif
