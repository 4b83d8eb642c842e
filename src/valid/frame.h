/*
 * valid/frame.h - the typing state of a function body.
 */
#ifndef WHAMMC_VALID_FRAME_H
#define WHAMMC_VALID_FRAME_H

#include "valid/subtype.h"

/* One open construct. */
typedef struct WasmFrame {
    uint16_t op; /* WasmOp of its opener: BLOCK, LOOP, IF, ELSE, TRY, CATCH, CATCH_ALL, TRY_TABLE;
                    WASM_OP_COUNT = the body */
    bool unreachable;
    WasmType block_type; /* as in WasmInstr.type */
    uint32_t height;     /* operand stack height at its start */
    uint32_t inits;      /* for local initialisation */
    uint32_t offset;     /* of the opener */
} WasmFrame;

/* The typing state of one function body. Reusable from function to function; a zeroed one is valid.
 */
typedef struct WasmTyper {
    const WasmModule *m;
    uint32_t func;
    WasmTypes locals; /* parameters first */
    WasmTypes stack;
    Vec(WasmFrame) frames;
    Vec(uint32_t) inits; /* locals of non-defaultable type that were set */
    uint8_t *local_init; /* by local index, only if `tracks_inits`: it has a value */
    uint32_t local_init_cap;
    bool tracks_inits;         /* the body has locals of non-defaultable type */
    WasmTypes params, results; /* of the current instruction; scratch */
    char error[200];           /* "i32.add: expected i32 on top of the stack, found f64" */
    uint32_t error_offset;
} WasmTyper;

/* Notes an error at an instruction, NULL: at the beginning. False. */
bool wasm_typer_fail(WasmTyper *t, const WasmInstr *i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a construct; `height` operands are below its own. */
static inline void wasm_open_frame(WasmTyper *t, uint16_t op, WasmType type, uint32_t height,
                                   uint32_t offset) {
    vec_push(&t->frames, (WasmFrame){.op = op,
                                     .block_type = type,
                                     .height = height,
                                     .inits = t->inits.len,
                                     .offset = offset});
}

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

#endif
