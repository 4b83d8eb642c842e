/*
 * eval/store.h - shared by the files of the interpreter: the objects of the store, prepared code,
 * and the operations on memories and tables.
 *
 * A value is a 64-bit slot, as EvalValue.bits: i32 and f32 have zeros in the upper half, so that
 * addresses of 32 and 64 bits are handled alike.
 */
#ifndef WHAMMC_EVAL_STORE_H
#define WHAMMC_EVAL_STORE_H

#include "eval/eval.h"
#include "valid/frame.h"

enum { EVAL_BYTES_SHIFT = 6 }; /* bytes that cost one unit of fuel when they are moved together */

/* ---- objects ---- */

/* The instruction that a word of prepared code belongs to. */
typedef struct EvalSite {
    uint32_t word; /* its first word */
    uint32_t pc;   /* offset in the body */
} EvalSite;

/* A prepared function body (prepare.c). */
typedef struct EvalCode {
    Vec(uint32_t) words;
    Vec(EvalSite) sites;   /* by word */
    Vec(EvalCount) counts; /* by index in EVAL_OP_COUNT */
    uint32_t nlocals;      /* parameters included */
    uint32_t slots;        /* locals and the deepest operand stack */
} EvalCode;

struct EvalFunc {
    uint32_t type; /* the store's */
    uint32_t nparams, nresults;
    EvalInstance *instance; /* NULL: a host function */
    uint32_t index;         /* handle in the instance's module */
    EvalCode *code;         /* NULL until it is first called */
    EvalHost host;
    void *ctx;
    EvalFunc *older; /* of the store */
};

struct EvalMemory {
    uint8_t *data;
    uint64_t size, cap; /* bytes */
    uint64_t max;       /* pages */
    bool has_max, is64;
    uint8_t page_log2;
    EvalMemory *older;
};

struct EvalTable {
    uint64_t *items;
    uint64_t size, cap, max;
    bool has_max, is64;
    WasmType type; /* the store's */
    EvalTable *older;
};

struct EvalGlobal {
    uint64_t bits;
    WasmType type;
    bool mutable;
    bool opaque; /* the value is unknown; code that reads it cannot run */
    EvalGlobal *older;
};

/* An exception tag: there are no exceptions, but it can be exported and imported. */
struct EvalTag {
    uint32_t type; /* the store's */
    EvalTag *older;
};

/* A segment that was not dropped; a dropped one has no items. */
typedef struct EvalElems {
    uint64_t *items;
    uint32_t len;
} EvalElems;
typedef struct EvalBytes {
    const uint8_t *at;
    uint32_t len;
} EvalBytes;

struct EvalInstance {
    EvalStore *store;
    const WasmModule *module;
    /* By handle. */
    uint32_t *types; /* the store's */
    EvalFunc **funcs;
    EvalMemory **memories;
    EvalTable **tables;
    EvalGlobal **globals;
    EvalTag **tags;
    EvalElems *elems;
    EvalBytes *datas;
    EvalInstance *older;
};

/* A call that waits for another one to return. */
typedef struct EvalFrame {
    EvalFunc *func; /* NULL: called from outside */
    const uint32_t *pc;
    uint64_t *base; /* its locals */
} EvalFrame;

struct EvalStore {
    EvalLimits limits;
    uint64_t fuel;
    uint64_t memory_bytes, table_items; /* in use */
    WasmModule types;                   /* types only: those of all modules, equal ones once */
    Map groups;                         /* recursion groups in `types`, by content */
    EvalInstance *instances;
    EvalFunc *funcs;
    EvalMemory *memories;
    EvalTable *tables;
    EvalGlobal *globals;
    EvalTag *tags;
    uint64_t *stack, *top; /* slots; `top`: first one that no running code uses */
    Vec(EvalFrame) frames;
    uint32_t nesting; /* of eval_run */
    bool counting;    /* prepared code counts executions */
    WasmTyper typer;  /* for prepare.c */
};

enum {
    EVAL_MAX_NESTING = 50, /* of eval_run by way of host functions */
};

/* ---- store.c ---- */

/* New objects, which the store owns; `type` is an index into its types. */
EvalFunc *eval_new_func(EvalStore *s, uint32_t type);
EvalTag *eval_new_tag(EvalStore *s, uint32_t type);
/* Like eval_new_global, for a slot that fits. */
EvalGlobal *eval_put_global(EvalStore *s, WasmType type, bool mutable, uint64_t bits);
/* The store's index of each of a module's types, into ids. */
void eval_intern_types(EvalStore *s, const WasmModule *m, uint32_t *ids);
/* The slot of a value: the upper half of numbers of 32 bits is 0. */
static inline uint64_t eval_slot(EvalValue v) {
    return v.type == WASM_I32 || v.type == WASM_F32 ? (uint32_t)v.bits : v.bits;
}
/* Whether a value can be in a slot of the type; of a reference, its target's type counts. */
bool eval_value_fits(const EvalStore *s, EvalValue v, WasmType type);
/* The size in pages. */
static inline uint64_t eval_pages(const EvalMemory *m) {
    return m->size >> m->page_log2;
}

/* ---- bulk.c: operations on whole ranges; they return OK or a trap ---- */

/* False if the maximum or the limit of the store forbids n more items. */
bool eval_table_grow(EvalStore *s, EvalTable *t, uint64_t n, uint64_t init);
/* As the instructions. Ranges are checked before anything is written. */
EvalStatus eval_memory_init(EvalMemory *m, const EvalBytes *d, uint64_t to, uint64_t from,
                            uint64_t n);
EvalStatus eval_memory_copy(EvalMemory *to, uint64_t at, const EvalMemory *from, uint64_t from_at,
                            uint64_t n);
EvalStatus eval_memory_fill(EvalMemory *m, uint64_t at, uint8_t byte, uint64_t n);
EvalStatus eval_table_init(EvalTable *t, const EvalElems *e, uint64_t to, uint64_t from,
                           uint64_t n);
EvalStatus eval_table_copy(EvalTable *to, uint64_t at, const EvalTable *from, uint64_t from_at,
                           uint64_t n);
EvalStatus eval_table_fill(EvalTable *t, uint64_t at, uint64_t value, uint64_t n);

/* ---- prepare.c ---- */

/*
 * Internal instructions besides WasmOp, whose numbers they follow. An instruction is a word with
 * its number and words with immediates. A target is an index into the words; a height counts slots
 * from the first local.
 */
typedef enum EvalOp {
    EVAL_OP_CONST32 = WASM_OP_COUNT, /* value */
    EVAL_OP_CONST64,                 /* low half, high half */
    EVAL_OP_BR,                      /* target */
    EVAL_OP_BR_IF,                   /* target */
    EVAL_OP_BR_UNLESS,               /* target */
    EVAL_OP_BR_MOVE,                 /* target, height, count: moves values down to the height */
    EVAL_OP_BR_TABLE, /* values to move, labels, then target and height of each; last: default */
    EVAL_OP_BR_NULL,  /* target: if the reference on top is null it is dropped */
    EVAL_OP_BR_VALUE, /* target: if it is not null it stays, else it is dropped */
    EVAL_OP_RETURN,   /* values on top */
    EVAL_OP_TAIL,     /* the call that follows is a tail call */
    EVAL_OP_COUNT,    /* index of the count of the instruction that follows */
    EVAL_OP_OUTSIDE,  /* a memory access beyond 32 bits */
    EVAL_OP_UNKNOWN,  /* WasmOp that cannot run */
} EvalOp;

/* Whether an instruction can run (instance.c). */
bool eval_knows(const WasmInstr *i);

/* Prepares a function for running. False with *error if it cannot be. */
bool eval_prepare(EvalStore *s, EvalFunc *f, EvalError *error);
/* The site of a word. */
uint32_t eval_site(const EvalCode *code, uint32_t word);
void eval_code_free(EvalCode *code);

/* ---- execute.c ---- */

/* Calls f with its arguments on top of the stack from s->top; the results are then there, after
 * s->top. `caller` may be NULL. */
bool eval_run(EvalStore *s, EvalFunc *f, EvalError *error);

#endif
