/*
 * valid/valid.h - operand types at each instruction, and validation (WebAssembly 3.0, appendix
 * "validation algorithm", with legacy exceptions besides).
 */
#ifndef WHAMMC_VALID_VALID_H
#define WHAMMC_VALID_VALID_H

#include "wasm/module.h"

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
    WasmTypes params, results; /* of the instruction at hand; scratch */
    char error[200];           /* "i32.add: expected i32 on top of the stack, found f64" */
    uint32_t error_offset;
} WasmTyper;

/*
 * Starts at the first instruction of func. `m` is an input module (or one being built in memory).
 * Gives the cursor for wasm_next. False with t->error set if the local declarations are bad.
 */
bool wasm_typer_begin(WasmTyper *t, const WasmModule *m, uint32_t func, WasmCode *code);

/* Starts at an expression without locals that gives one value of `type` (an initial value, an
 * offset). */
void wasm_typer_begin_expr(WasmTyper *t, const WasmModule *m, WasmType type);

/* Checks `i` and applies it to the stack. False with t->error, t->error_offset set if it is not
 * valid; the state is then of no further use. */
bool wasm_typer_step(WasmTyper *t, const WasmInstr *i);

/* After the last instruction: true if the body is complete. */
bool wasm_typer_end(WasmTyper *t);

/* Frees what the typer holds; it is then zeroed and can be used again. */
void wasm_typer_free(WasmTyper *t);

/*
 * Before a step: the type of operand n counted from the top of the stack; WASM_BOT if unknown
 * (unreachable code); WASM_NONE if the current construct has fewer.
 */
WasmType wasm_typer_operand(const WasmTyper *t, uint32_t n);
/* True if the current instruction cannot be reached. */
static inline bool wasm_typer_dead(const WasmTyper *t) {
    return t->frames.len && vec_last(&t->frames).unreachable;
}

/*
 * The operand and result types of `i` where the typer stands (before the step), deepest first,
 * appended to params and results. Where code is unreachable the types that the instruction
 * requires, or WASM_BOT. For branches: the operands that they pop; for block-like instructions: the
 * block's parameters (and the condition), as results the parameters; for `return` the function's
 * results; for `catch` the tag's parameters as results; for `end`, `else`: nothing. If `i` is not
 * valid here the lists may be incomplete.
 */
void wasm_instr_types(const WasmTyper *t, const WasmInstr *i, WasmTypes *params,
                      WasmTypes *results);

/* a <: b. WASM_BOT is a subtype of every type; packed types only of themselves. */
bool wasm_subtype(const WasmModule *m, WasmType a, WasmType b);

#endif
