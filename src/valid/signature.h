/*
 * valid/signature.h - operand and result types of single instructions.
 */
#ifndef WHAMMC_VALID_SIGNATURE_H
#define WHAMMC_VALID_SIGNATURE_H

#include "valid/frame.h"
#include "valid/subtype.h"

/* The operands and results of one instruction, while they are worked out. */
typedef struct WasmSig {
    const WasmTyper *t;
    const WasmInstr *i;
    WasmTypes *params, *results;
    char *error; /* sizeof WasmTyper.error bytes, or NULL */
} WasmSig;

/*
 * Checks the immediates of s->i and the existence of the named entities, and appends its types to
 * s->params and s->results. False with s->error set if something is wrong. Does not look at the
 * operands, but for instructions whose type follows from them.
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

/* One line per instruction: its types as bytes, made from wasm/opcode.def by the preprocessor. */
typedef struct WasmSimpleSig {
    uint8_t kind; /* WasmSimple */
    uint8_t nparams, nresults;
    uint8_t params[4]; /* bytes of the types; 0 = the memory's address type */
    uint8_t results[2];
    uint8_t align; /* log2 of the access size */
} WasmSimpleSig;
extern const WasmSimpleSig wasm_simple_sigs[WASM_OP_COUNT];
static inline const WasmSimpleSig *wasm_simple_sig(uint16_t op) {
    return &wasm_simple_sigs[op];
}

/* ---- what the files signature*.c share ---- */

/* wasm_sig for references and GC (signature_gc.c). */
bool wasm_sig_gc(WasmSig *s);
/* wasm_sig for continuations (signature_cont.c). */
bool wasm_sig_cont(WasmSig *s);

/* The types of a label, counted from inside. */
bool wasm_sig_label(WasmSig *s, uint32_t depth, WasmTypeList *types);
/* Fails if a reference type names a type that does not exist. */
bool wasm_sig_type_exists(WasmSig *s, WasmType t);
/* The type of tag `index`, else NULL with a message. */
const WasmTypeDef *wasm_sig_tag(WasmSig *s, uint32_t index);
/* As wasm_typer_operand, but may give WASM_BOT_REF. */
WasmType wasm_sig_operand(const WasmSig *s, uint32_t n);
/* Append types. */
static inline void wasm_sig_param(WasmSig *s, WasmType t) {
    vec_push(s->params, t);
}
static inline void wasm_sig_result(WasmSig *s, WasmType t) {
    vec_push(s->results, t);
}
void wasm_sig_put(WasmTypes *to, const WasmType *types, uint32_t n);

/* ---- what is there (signature_check.c) ---- */

/* Checks the memory argument and lanes of an instruction that is not WASM_SIG_OTHER. */
bool wasm_sig_check_simple(WasmSig *s);
/* Fails with a message if index is not below count. */
bool wasm_sig_exists(WasmSig *s, const char *what, uint32_t index, uint32_t count);
bool wasm_sig_elem_exists(WasmSig *s, uint32_t elem);
/* Fails also without a data count section. */
bool wasm_sig_data_exists(WasmSig *s, uint32_t data);
/* Fails unless function `func` may be named by ref.func. */
bool wasm_sig_declared(WasmSig *s, uint32_t func);
/* Elements of type `from`, or of an element segment, must fit what they are put into. */
bool wasm_sig_elements_fit(WasmSig *s, WasmType from, WasmType to);
bool wasm_sig_segment_fits(WasmSig *s, uint32_t elem, WasmType to);
/* The definition of type `index` if it is of this kind, else NULL with a message. */
const WasmTypeDef *wasm_sig_def(WasmSig *s, uint32_t index, WasmTypeKind kind);

#endif
