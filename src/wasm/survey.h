/*
 * wasm/survey.h - what can be told of a program only by looking at all of it: which functions can
 * be entered other than by `call`, and whether there are tail calls.
 */
#ifndef WHAMMC_WASM_SURVEY_H
#define WHAMMC_WASM_SURVEY_H

#include "wasm/module.h"

/* A zeroed one is valid; it is made when first asked, of the input as it was read. */
typedef struct WasmSurvey {
    uint8_t *funcs; /* by input function: bits; NULL = not made yet */
    bool tail_calls;
} WasmSurvey;

/* The function can be entered other than by `call`: it is exported, the start function, in an
 * element segment, named by ref.func or the target of a return_call. */
bool wasm_survey_escapes(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The program has return_call, return_call_indirect or return_call_ref. */
bool wasm_survey_tail_calls(WasmSurvey *s, const WasmModule *m);
void wasm_survey_free(WasmSurvey *s);

#endif
