/*
 * valid/typer.h - what the files of the typer and the validator share.
 */
#ifndef WHAMMC_VALID_TYPER_H
#define WHAMMC_VALID_TYPER_H

#include "valid/valid.h"

/* The type of a reference about which nothing is known but that it is one (unreachable code): a
 * reference to a heap type below all others. It exists on the typer's stack only. */
#define WASM_BOT_REF WASM_REF(0, WASM_HEAP(0))

/* Limits that the engines agree on (WebAssembly JavaScript API, implementation-defined limits). */
enum {
    WASM_MAX_ARITY = 1000, /* parameters, results */
    WASM_MAX_FIELDS = 10000,
    WASM_MAX_FIXED_ARRAY = 10000,
    WASM_MAX_SUBTYPE_DEPTH = 63,
    WASM_MAX_STACK = 1 << 24, /* operands at one time */
};

/* Types that somebody else owns. */
typedef struct WasmTypeList {
    const WasmType *at;
    uint32_t len;
} WasmTypeList;

/* ---- type.c ---- */

/* The type of what is read from a field: i32 for the packed types. */
static inline WasmType wasm_unpacked(WasmType t) {
    return t == WASM_I8 || t == WASM_I16 ? WASM_I32 : t;
}
static inline bool wasm_is_packed(WasmType t) {
    return t == WASM_I8 || t == WASM_I16;
}
/* A concrete heap type's index; false if it is abstract. */
static inline bool wasm_heap_index(WasmType t, uint32_t *index) {
    *index = WASM_HEAP_OF(t);
    return WASM_IS_REF(t) && (t & WASM_ABSTRACT_BIT) == 0;
}
/* False if the type names a type index of `limit` or above. */
static inline bool wasm_type_exists(WasmType t, uint32_t limit) {
    uint32_t index;
    return !wasm_heap_index(t, &index) || index < limit;
}
/* The nullable reference to the top of the hierarchy that a reference type is in. */
WasmType wasm_top_type(const WasmModule *m, WasmType t);
/* Types a and b pairwise a <: b; the lengths must be equal. */
bool wasm_subtypes(const WasmModule *m, WasmTypeList a, WasmTypeList b);
/* wasm_type_text, with words for the types that only the typer has. */
const char *wasm_type_words(WasmType t, char buf[32]);

/* ---- signature.c ---- */

/* The operands and results of one instruction, while they are worked out. */
typedef struct WasmSig {
    const WasmTyper *t;
    const WasmInstr *i;
    WasmTypes *params, *results;
    char *error; /* sizeof WasmTyper.error bytes, or NULL */
} WasmSig;

/*
 * Checks the immediates of s->i and that what it names exists, and appends its types to s->params
 * and s->results. False with s->error set if something is wrong. Does not look at the operands, but
 * for instructions whose type follows from them.
 */
bool wasm_sig(WasmSig *s);

/* Writes "MNEMONIC: text" to s->error; false. */
bool wasm_sig_fail(WasmSig *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How the operands of an instruction are found. */
typedef enum WasmSimple {
    WASM_SIG_OTHER,  /* by wasm_sig's switch */
    WASM_SIG_SIMPLE, /* fixed types, nothing to check */
    WASM_SIG_MEMORY, /* fixed types but for the address, memory argument */
    WASM_SIG_LANE,   /* fixed types, lanes or memory argument */
} WasmSimple;

/* One line per instruction: its types as bytes, made from opcode.def by the preprocessor. */
typedef struct WasmSimpleSig {
    uint8_t kind; /* WasmSimple */
    uint8_t nparams, nresults;
    uint8_t params[3]; /* bytes of the types; 0 = the memory's address type */
    uint8_t result;
    uint8_t align; /* log2 of the access size */
} WasmSimpleSig;
extern const WasmSimpleSig wasm_simple_sigs[WASM_OP_COUNT];

/* Checks the memory argument and lanes of an instruction that is not WASM_SIG_OTHER. */
bool wasm_sig_check_simple(WasmSig *s);

/* Parameters and results of an open construct, and of the label that it makes. */
WasmTypeList wasm_frame_params(const WasmModule *m, const WasmFrame *f);
WasmTypeList wasm_frame_results(const WasmModule *m, const WasmFrame *f);
static inline WasmTypeList wasm_frame_label(const WasmModule *m, const WasmFrame *f) {
    return f->op == WASM_OP_LOOP ? wasm_frame_params(m, f) : wasm_frame_results(m, f);
}
/* The construct that label `depth` names; depth must be below frames.len. */
static inline const WasmFrame *wasm_label(const WasmTyper *t, uint32_t depth) {
    return &t->frames.at[t->frames.len - 1 - depth];
}
static inline WasmType wasm_memory_address(const WasmModule *m, uint32_t memory) {
    return m->memories.at[memory].limits.is64 ? WASM_I64 : WASM_I32;
}
static inline WasmType wasm_table_address(const WasmModule *m, uint32_t table) {
    return m->tables.at[table].limits.is64 ? WASM_I64 : WASM_I32;
}

#endif
