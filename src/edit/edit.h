/*
 * edit/edit.h - inserts pieces of code into function bodies.
 */
#ifndef WHAMMC_EDIT_EDIT_H
#define WHAMMC_EDIT_EDIT_H

#include "edit/catch_all.h"

/* Where a piece of code is inserted, relative to the instruction at `at`. */
typedef enum WasmWhere {
    WASM_HEAD,    /* before all else; `at` is ignored */
    WASM_ENTRY,   /* at function entry; `at` is ignored */
    WASM_BEFORE,  /* before the instruction */
    WASM_WRAP,    /* the same, and the piece leaves a construct open that ends after the instruction
                     at `until`: the wrapped construct's `end`, with its AFTER pieces */
    WASM_OPERAND, /* directly before the instruction, which consumes the values that the piece
                     pushes */
    WASM_REPLACE, /* instead of it; an empty piece removes it */
    WASM_AFTER,   /* after its bytes (after a block's opcode = inside it, at the top) */
    WASM_EXIT,    /* at every exit of the function; `at` is ignored */
    WASM_UNWIND,  /* where an exception has left the body and continues after the piece; the same */
} WasmWhere;

/* Exits that a WASM_EXIT piece covers besides the end of the body (fall-through and branches to the
 * function's label) and `return`. */
enum {
    WASM_EXIT_TAIL_CALL = 1,   /* before return_call* */
    WASM_EXIT_THROW = 2,       /* before throw, throw_ref, rethrow surely not caught here */
    WASM_EXIT_UNREACHABLE = 4, /* before unreachable */
    WASM_EXIT_ALL = 7,
    WASM_EXIT_ONLY = 8, /* not at the end of the body and before `return` */
};

/* A piece of code: bytes [code, code+len) of WasmBodyEdit.code, stack-neutral except for REPLACE.
 * The EXIT pieces at one exit together are: those where the function returns find its results on
 * the stack. */
typedef struct WasmPatch {
    uint32_t at; /* offset of the instruction in the body */
    uint8_t where;
    uint8_t
        exits; /* WASM_EXIT: which exits. WASM_REPLACE: 0 = at its end the piece leaves the function
                  if the instruction does, so EXIT pieces run there. Otherwise ignored */
    uint32_t rank; /* for the caller's sorting; not used here */
    uint32_t code, len;
    uint32_t until; /* WASM_REPLACE: the piece replaces all instructions before this offset,
                       0 = for one. Pieces inside are left out. WASM_WRAP: see there */
} WasmPatch;

enum { WASM_NOWHERE = UINT32_MAX };

typedef Vec(uint32_t) WasmOffsets;

typedef struct WasmBodyEdit {
    const WasmPatch *patches; /* sorted by `at`, equal ones in the order of execution; ENTRY, EXIT
                                 and UNWIND pieces first */
    uint32_t npatches;
    const uint8_t *code;    /* final indices; added locals follow the parameters and locals */
    const WasmType *locals; /* added locals */
    uint32_t nlocals;
    const uint32_t *nullable; /* locals of non-nullable types that must be nullable, since a piece
                                 may leave them unset; reads trap then. Ascending */
    uint32_t nnullable;
    WasmExceptions exceptions; /* of UNWIND pieces */
    const uint32_t *marks;     /* offsets of instructions, ascending; wasm_edit_body says where they
                                  are in the new body */
    uint32_t *moved;           /* ... here; WASM_NOWHERE = it was replaced with others */
    uint32_t nmarks;
    const uint32_t *rare; /* offsets in `code` of `if`s that are rarely executed, ascending */
    uint32_t nrare;
    WasmOffsets *rare_at; /* wasm_edit_body appends where they are in the new body; may be NULL if
                             nrare is 0 */
    bool calls_wrapped;   /* the body names functions that are wrapped (wasm_wrap_func) */
    uint32_t param; /* a local + 1, of type i32, that becomes the last parameter; 0 = none. Its
                       type is WasmFunc.new_type */
} WasmBodyEdit;

/* Whether the instruction reads a local that the edit makes nullable (or NULL = none). */
bool wasm_reads_nullable(const WasmBodyEdit *edit, const WasmInstr *i);

/*
 * Appends the edited body of input function `func` to out: its size, locals and code, indices
 * final. With `edit` NULL the body is copied (and its indices follow the layout). For functions
 * with a WASM_EXIT or WASM_UNWIND piece the caller has added the block type with
 * wasm_exit_block_type before. The module must be laid out. False and *error, *error_offset if the
 * body is malformed. Thread-safe for different functions and `out`.
 *
 * Order at one instruction: BEFORE pieces, EXIT pieces if it is an exit, OPERAND pieces, the
 * instruction or its REPLACE pieces, AFTER pieces. WRAP pieces come just before the instruction,
 * which opens the construct that they wrap; labels of branches out of it are renumbered. At the
 * first instruction BEFORE pieces come before ENTRY pieces. AFTER pieces of the body's last `end`
 * run on falling through and on branches to the function's label, before the EXIT pieces; they need
 * wasm_exit_block_type as well.
 */
bool wasm_edit_body(const WasmModule *m, uint32_t func, const WasmBodyEdit *edit, Buf *out,
                    const char **error, uint32_t *error_offset);

/* The block type [] -> results of func, for the block that WASM_EXIT wraps around the body; adds a
 * type if needed. */
WasmType wasm_exit_block_type(WasmModule *m, uint32_t func);

#endif
