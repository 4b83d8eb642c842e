/*
 * edit/new_param.h - a local of an edited body becomes a parameter of its function.
 */
#ifndef WHAMMC_EDIT_NEW_PARAM_H
#define WHAMMC_EDIT_NEW_PARAM_H

#include "wasm/module.h"

typedef struct WasmNewParam {
    uint32_t nparams; /* that the function has */
    uint32_t local;   /* the last parameter from now on */
    uint32_t
        *moved; /* where marked instructions are in the body, ascending; UINT32_MAX = nowhere */
    uint32_t nmoved;
    uint32_t *rare; /* where other instructions are, ascending */
    uint32_t nrare;
    WasmHint *hints, *hints_end; /* of the function */
} WasmNewParam;

/* Changes the body (local declarations and code) that begins at `base` and ends with `out`.
 * Adjusts the offsets of instructions in `moved`, `rare` and the hints. */
void wasm_new_param(const WasmNewParam *p, size_t base, Buf *out);

#endif
