/*
 * edit/catch_all.h - code around a region that catches every exception in it and rethrows it.
 */
#ifndef WHAMMC_EDIT_CATCH_ALL_H
#define WHAMMC_EDIT_CATCH_ALL_H

#include "wasm/module.h"

/* Which instructions catch and rethrow. */
typedef enum WasmExceptions {
    WASM_EXCEPTIONS_LEGACY, /* try, catch_all, rethrow */
    WASM_EXCEPTIONS_REFS,   /* try_table, throw_ref */
} WasmExceptions;

/*
 * Around a region that catches every exception in it and rethrows it:
 *
 *     wasm_put_catch  ...region...  `end` of WASM_EXCEPTIONS_REFS, and a way around the handler;
 *     wasm_put_caught  ...handler...  wasm_put_rethrow  `end`
 *
 * `region` is the block type of the region; `caught`, for WASM_EXCEPTIONS_REFS, is the type of the
 * block around it: from the same parameters to an exception.
 */
void wasm_put_catch(Buf *out, WasmExceptions form, WasmType region, WasmType caught);
void wasm_put_caught(Buf *out, WasmExceptions form);
void wasm_put_rethrow(Buf *out, WasmExceptions form);

#endif
