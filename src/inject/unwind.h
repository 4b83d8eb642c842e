/*
 * inject/unwind.h - the region around a call that catches the exceptions that leave it.
 */
#ifndef WHAMMC_INJECT_UNWIND_H
#define WHAMMC_INJECT_UNWIND_H

#include "edit/catch_all.h"
#include "wasm/module.h"

/* A call of the program (call, call_indirect, call_ref, or an instruction that leaves the stack)
 * and the region around it. */
typedef struct UnwindCall {
    const WasmModule *m;
    const WasmInstr *instr;
    WasmExceptions form;
    bool popped; /* its operands are not on the stack when the region begins */
} UnwindCall;

/* Adds the types that the region needs to u->m, which is `m`; before it is laid out. */
void unwind_add_types(const UnwindCall *u, WasmModule *m);

/* Returns the number of constructs that are open in the region. */
uint32_t unwind_blocks(const UnwindCall *u);

/* The region is the code appended between open and caught, the handler the code appended after
 * that, up to close. */
void unwind_open(const UnwindCall *u, Buf *out);
void unwind_caught(const UnwindCall *u, Buf *out);
void unwind_close(const UnwindCall *u, Buf *out);

#endif
