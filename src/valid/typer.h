/*
 * valid/typer.h - operand types at each instruction.
 */
#ifndef WHAMMC_VALID_TYPER_H
#define WHAMMC_VALID_TYPER_H

#include "valid/frame.h"

/*
 * Starts at the first instruction of func. `m` is an input module (or one being built in memory).
 * Returns the cursor for wasm_next. False with t->error set if the local declarations are bad.
 */
bool wasm_typer_begin(WasmTyper *t, const WasmModule *m, uint32_t func, WasmCode *code);

/* Starts at an expression without locals that leaves one value of `type` (an initial value, an
 * offset). */
void wasm_typer_begin_expr(WasmTyper *t, const WasmModule *m, WasmType type);

/* Checks `i` and applies it to the stack. False with t->error, t->error_offset set if it is not
 * valid; the state is then of no further use. */
bool wasm_typer_step(WasmTyper *t, const WasmInstr *i);

/* Facts about the instructions of a body, collected while they are checked. */
typedef struct WasmNotes {
    uint8_t seen[WASM_OP_SET_SIZE]; /* by WasmOp: 1 = there is one */
    Buf *refs; /* WasmModule.func_refs: the distances between instructions that name functions */
    uint32_t last; /* the offset of the last one of these, 0 at first */
} WasmNotes;
static inline void wasm_note_ref(WasmNotes *n, uint32_t offset) {
    buf_uleb(n->refs, offset - n->last);
    n->last = offset;
}

/* Checks and applies the instructions from the cursor on, and steps over them, as long as they are
 * valid and of common forms; the next one is for wasm_next and wasm_typer_step. Adds the facts
 * about these. */
void wasm_typer_run(WasmTyper *t, WasmCode *code, WasmNotes *notes);

/* After the last instruction: true if the body is complete. */
bool wasm_typer_end(WasmTyper *t);

/* Puts `to`, which may have been used before, where `from` is. */
void wasm_typer_copy(WasmTyper *to, const WasmTyper *from);

/* Frees the typer's memory; it is then zeroed and can be used again. */
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

/* Appends the operands and results of an instruction from which control comes back after a call:
 * they do not follow from the stack. */
void wasm_call_types(const WasmModule *m, const WasmInstr *i, WasmTypes *params,
                     WasmTypes *results);

#endif
