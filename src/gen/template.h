/*
 * gen/template.h - functions of a module become templates: code to be spliced into other functions,
 * with holes.
 */
#ifndef WHAMMC_GEN_TEMPLATE_H
#define WHAMMC_GEN_TEMPLATE_H

#include "plan/plan.h"

typedef enum HoleKind {
    HOLE_CONST,     /* push constant n of the variant (Variant.consts) */
    HOLE_ARG,       /* read or write the saved operand n */
    HOLE_RESULT,    /* ... the saved result n */
    HOLE_LOCAL,     /* ... the program's local n */
    HOLE_VAR,       /* ... plan variable n, kept in a global or local */
    HOLE_VAR_ADDR,  /* push the address of plan variable n, kept in memory */
    HOLE_TEMP,      /* read, write or tee temporary n of the template */
    HOLE_PAGES,     /* push the size in pages of memory n of the instruction, as i64 */
    HOLE_ELEMS,     /* push the size of table n of the instruction, as i64 */
    HOLE_HELPER,    /* call helper n (Helper) */
    HOLE_FN,        /* call function n of the plan (Plan.fns) */
    HOLE_WIDE,      /* push operand n, an i32 or i64, as i64 without sign */
    HOLE_NULL,      /* push whether operand n is a null reference */
    HOLE_ALT_CALL,  /* push the operands and call alt call n of the variant */
    HOLE_CONDITION, /* push whether RefCondition n holds for operand 0 */
    HOLE_LIBRARY,   /* call library function n of the plan (Plan.library_fns) */
    HOLE_LENGTH,    /* push the length of the array that is operand n, as i64; 0 if it is null */
    HOLE_SEGMENT,   /* push how much of the instruction's segment is left, as i64 */
    HOLE_ENTRY_FID, /* push the index of the function in the table entry that operand 0 names */
    HOLE_BACK,      /* push whether a branch led to the loop */
    HOLE_TEXT,      /* push the address of string n of the plan (PlanTexts.list) */
    HOLE_GOT,       /* push leaf n of the tuple that the last call gave */
    HOLE_GIVE,      /* leaf n of the tuple that the template returns is set */
    HOLE_ENTRY,     /* push the table entry that operand 0 names, null where there is none */
    HOLE_RESOLVE,   /* index of a table's entry -> index of its function */
    HOLE_DEPTH,     /* index of a br_table's target -> its label depth */
    HOLE_DUP,       /* repeat the instruction, dup_at n of the variant, at the given address */
    HOLE_MEMORY,  /* call the function of call n of memories (Plan.memory_calls); memid: push it */
    HOLE_WORD,    /* push the value at word n of the site's record (a vector: two words) */
    HOLE_CELL,    /* read or write cell n of a monitor (monitor/attach/promote.c) */
    HOLE_FLUSH,   /* call the function for a report that is due; n: of the function in
                     Plan.library_fns */
    HOLE_ELEMENT, /* push a leaf of a map's element: n = key * HOLE_LEAVES + leaf (Variant.keys); a
                     call, since different keys may mean the same element */
    HOLE_ELEMENT_SET,  /* ... set it */
    HOLE_ELEMENT_ADDR, /* push the address of the element with key n of the variant, in memory */
    HOLE_PAGE,   /* push the address where the code of element n keeps the page that it used last */
    HOLE_TALLY,  /* push the address of the array of plan variable n (storage/tally.h) */
    HOLE_GLOBAL, /* read the program's global n */
    HOLE_STACK,  /* operation n (StackOp) on the shadow stack */
    HOLE_NUMBER, /* of monitors: push the engine's number of the location */
    HOLE_THREAD, /* push the number of the thread */
    HOLE_ATOMIC, /* call AtomicOp n % ATOMIC_OPS on plan variable n / ATOMIC_OPS */
    HOLE_TAG,    /* read or write the tag of a value: n = index * TAGGED_KINDS + Tagged */
    HOLE_KINDS,
    /* added to templates: */
    HOLE_RARE =
        HOLE_KINDS, /* no code: the `if` that follows is rarely executed (rewrite/branch_hints.c) */
    HOLE_KEEP, /* call function n of the plan, or one that calls it and returns floats of the loop,
                  which are pushed before (rewrite/preserve_floats.c) */
    HOLE_KEPT, /* set these floats */
} HoleKind;

/* Values that have tags, with an index: operands and results as they are counted by scripts. */
typedef enum Tagged { TAGGED_ARG, TAGGED_RESULT, TAGGED_LOCAL, TAGGED_KINDS } Tagged;

/* Operations on the shadow stack (runtime/stack.h). */
typedef enum StackOp {
    STACK_LEAVE,        /* the function ends, and the host may have called it */
    STACK_OUTERMOST,    /* -> whether no function was active when this one was called */
    STACK_CUT,          /* removes frames that calls have left above the function's */
    STACK_SET_INTERVAL, /* 0, nanoseconds as i64 -> */
    STACK_SAMPLE,       /* samples, ns -> ; adds the stack to the calling-context tree */
    STACK_TELL,         /* tells the host that a sample has been taken */
    STACK_COLLECT,      /* takes over the samples of the host's sampler */
    STACK_SUSPEND,      /* number of a stack -> ; sets its frames aside, so that there are none */
    STACK_RESUME,       /* number of a stack -> whether functions are active, now that its frames
                           are back */
} StackOp;

/* Atomic operations on a variable that all threads share. */
typedef enum AtomicOp {
    ATOMIC_LOAD,  /* -> its value */
    ATOMIC_STORE, /* value -> */
    ATOMIC_ADD,   /* the following: operand -> the value before */
    ATOMIC_SUB,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_OPS
} AtomicOp;

/* Functions of the runtime that templates call. */
typedef enum Helper {
#define HELPER(id, name, params, result) HELPER_##id,
#include "gen/helper.def"
    HELPER_COUNT
} Helper;

typedef struct HelperInfo {
    const char *name, *params, *result; /* as in helper.def */
} HelperInfo;
extern const HelperInfo helper_infos[HELPER_COUNT];

/* HOLE_VAR names a leaf of a variable: n = id * HOLE_LEAVES + leaf. */
enum { HOLE_LEAVES = 256, HOLE_MARK = HOLE_LEAVES - 1 }; /* HOLE_MARK: of an element, not a leaf */

typedef enum HoleAccess { HOLE_GET, HOLE_SET, HOLE_TEE } HoleAccess;
/* How an instruction uses the local that it names. */
static inline HoleAccess hole_access(WasmOp op) {
    return op == WASM_OP_LOCAL_GET ? HOLE_GET : op == WASM_OP_LOCAL_SET ? HOLE_SET : HOLE_TEE;
}

typedef struct Hole {
    uint32_t at; /* bytes of code before it */
    uint8_t kind, access;
    uint32_t n;
    WasmType type;
} Hole;

/* Code that is stack-neutral except for its results. Lives in the plan's arena. */
typedef struct Template {
    const uint8_t *code;
    uint32_t len;
    const Hole *holes;
    uint32_t nholes;
    const WasmType *temps; /* types of its temporaries; it zeroes temporaries that it reads first */
    uint32_t ntemps;
    WasmType result;       /* of an alt body or a function, WASM_NONE = none or a tuple */
    const WasmType *gives; /* the leaves of the tuple that it returns, in holes HOLE_GIVE */
    uint32_t ngives;
    uint32_t nparams; /* of a function: its first locals, not temporaries */
    bool accesses;    /* it loads or stores */
} Template;

/* Where a temporary is first touched, to tell whether it must be zeroed. */
typedef struct TempUse {
    WasmType type;
    bool seen, zero;
    uint32_t owner; /* the construct of its first write */
} TempUse;

/* A function that is being made a template. Begin with m, func, put and ctx, the rest zeros. */
typedef struct TemplateMaker {
    const WasmModule *m;
    uint32_t func; /* handle, of the input */
    /*
     * Appends an instruction, or holes for it. Not called for instructions that are handled alike
     * in all functions: `return` becomes a branch to the end, the function's own `end` goes, locals
     * after the parameters become temporaries. Labels stay as they are. NULL = bytes are copied.
     * False if there is no template of this function.
     */
    bool (*put)(void *ctx, struct TemplateMaker *t, const uint8_t *bytes, const WasmInstr *i);
    void *ctx;
    const bool *zeros; /* by local: it must be zero at the beginning; NULL = that is found out */
    const Buf *source; /* code to take instead of the function's own; NULL = that */

    Buf code;
    Vec(Hole) holes;
    Vec(TempUse) temps;
    uint32_t nparams, first; /* of the function: parameters; offset of the first instruction */
    Vec(uint32_t) open;      /* ids of the constructs around the current instruction */
    uint32_t next_construct;
    bool jumps;    /* there are branches to the end of the template */
    bool accesses; /* an instruction loads or stores; whoever supplies `put` sets it */
} TemplateMaker;

/* Whether a function's locals can be temporaries: they have a value to begin with, and types that
 * are no indices. */
bool template_takes_locals(const WasmModule *m, uint32_t func);

/* Looks at the function's locals. False if they are malformed. Then code and temporaries can be
 * added that come before them. */
bool template_begin(TemplateMaker *t);

/* Adds a temporary local; its number. */
uint32_t template_add_temp(TemplateMaker *t, WasmType type);
/* Reads or writes a temporary. */
void template_use_temp(TemplateMaker *t, uint32_t n, HoleAccess access);
/* Adds a hole after the code so far. */
void template_add_hole(TemplateMaker *t, Hole h);

/* Adds a template after the code so far, with temporaries of its own. */
void template_add(TemplateMaker *t, const Template *inner);

/* The template, in the arena; NULL if the function cannot be one. */
const Template *template_make(TemplateMaker *t, Arena *arena);

/* The template of code up to its `end`. Begin with put, ctx and nparams, and add the locals. */
const Template *template_of_code(TemplateMaker *t, const Buf *code, WasmType result, Arena *arena);

/* Begins a template without a function, from a zeroed TemplateMaker. */
const Template *template_close(TemplateMaker *t, WasmType result, Arena *arena);

/* Frees the maker's working memory, but no template. */
void template_maker_free(TemplateMaker *t);

#endif
