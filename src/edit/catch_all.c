/*
 * edit/catch_all.c - code around a region that catches every exception in it, and rethrows it.
 */
#include "edit/catch_all.h"
#include "wasm/module.h"

enum { CATCH_ALL_REF = 3 };

void wasm_put_catch(Buf *out, WasmExceptions form, WasmType region, WasmType caught) {
    if (form == WASM_EXCEPTIONS_LEGACY) {
        wasm_put_op(out, WASM_OP_TRY);
        wasm_put_type(out, region);
        return;
    }
    wasm_put_op(out, WASM_OP_BLOCK);
    wasm_put_type(out, caught);
    wasm_put_op(out, WASM_OP_TRY_TABLE);
    wasm_put_type(out, region);
    buf_uleb(out, 1);
    buf_u8(out, CATCH_ALL_REF);
    buf_uleb(out, 0); /* the block */
}

void wasm_put_caught(Buf *out, WasmExceptions form) {
    wasm_put_op(out, form == WASM_EXCEPTIONS_LEGACY ? WASM_OP_CATCH_ALL : WASM_OP_END);
}

void wasm_put_rethrow(Buf *out, WasmExceptions form) {
    if (form == WASM_EXCEPTIONS_REFS) {
        wasm_put_op(out, WASM_OP_THROW_REF);
        return;
    }
    wasm_put_op(out, WASM_OP_RETHROW);
    buf_uleb(out, 0);
}
