/*
 * analysis/survey.h - facts about the whole program: which functions can be entered other than by
 * `call`, whether there are tail calls, which have calls and loops, and which functions exceptions
 * can leave.
 *
 * Exceptions come from `throw` and the like, and from functions that are imported from anywhere but
 * WASI, or in a component from other core modules; they may come from wherever a stack can be left,
 * since it may be resumed with one. They can leave a function if it throws, or if it calls,
 * directly or indirectly, a function that they can leave. An indirect call may reach any function
 * that escapes.
 */
#ifndef WHAMMC_ANALYSIS_SURVEY_H
#define WHAMMC_ANALYSIS_SURVEY_H

#include "analysis/asyncify.h"
#include "analysis/go.h"
#include "edit/catch_all.h"
#include "wasm/module.h"

/* A call: the caller, and the callee that it names (the number of functions: an indirect call). */
typedef struct WasmCallEdge {
    uint32_t from, to;
    bool tail; /* the caller is gone when the other one begins */
} WasmCallEdge;

/* A loop. */
typedef struct WasmSurveyLoop {
    uint32_t at;
    uint32_t outer : 31; /* the number of the loop around it + 1; 0 = there is none */
    uint32_t calls : 1;  /* it has some */
} WasmSurveyLoop;

/* A zeroed one is valid; it is computed at the first question, from the input as it was read. */
typedef struct WasmSurvey {
    bool any_call;     /* set by the caller: a call may reach another function than it names */
    bool in_component; /* set by the caller: the program is part of a component */
    bool in_quiet;     /* ... in which nothing is thrown */
    uint16_t *funcs; /* bits by input function, and one more for the targets of indirect calls; NULL
                        = not made yet */
    Vec(WasmCallEdge) calls;   /* by caller */
    Vec(WasmSurveyLoop) loops; /* by function, ... */
    uint32_t *first_loop;      /* of input function f: [f], up to [f + 1] */
    bool tail_calls;
    bool go, looked_for_go;
    WasmExceptions exceptions;
    WasmAsyncify asyncify; /* only if the caller has looked for it */
} WasmSurvey;

/* The function can be entered other than by `call`: it is exported, the start function, in an
 * element segment, named by ref.func or the target of a return_call. */
bool wasm_survey_escapes(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* Code names it other than by `call`: by ref.func, or return_call. */
bool wasm_survey_referred(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* Some `call` names it. */
bool wasm_survey_called(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The program has return_call, return_call_indirect or return_call_ref. */
bool wasm_survey_tail_calls(WasmSurvey *s, const WasmModule *m);
/* The function has one of them. */
bool wasm_survey_has_tail_calls(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The function has calls; loops. */
bool wasm_survey_calls(WasmSurvey *s, const WasmModule *m, uint32_t func);
bool wasm_survey_loops(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The loop at this offset has calls; is in another loop, which has none. */
bool wasm_survey_loop_calls(WasmSurvey *s, const WasmModule *m, uint32_t func, uint32_t at);
bool wasm_survey_loop_nested(WasmSurvey *s, const WasmModule *m, uint32_t func, uint32_t at);
/* A function compiled by Go's compiler that is suspended in the middle when a goroutine waits (its
 * result is 1 then), and entered again later (its parameter is not 0 then). */
bool wasm_survey_resumable(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The same, at no cost for other programs. */
bool wasm_survey_leaves(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* A function that resumes these: it is none of them, and calls indirectly. */
bool wasm_survey_resumes(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* An exception may come out of the call (call, call_indirect, call_ref) in an input function. */
bool wasm_survey_call_throws(WasmSurvey *s, const WasmModule *m, const WasmInstr *call);
/* An exception may leave a function by way of a call, or of a `throw` in a handler that may catch
 * it or not. */
bool wasm_survey_unwinds(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* There is a throw, throw_ref or rethrow in the function. */
bool wasm_survey_throws(WasmSurvey *s, const WasmModule *m, uint32_t func);
/* The kind of exception instructions that the program uses; if it uses neither, the kind that
 * browsers and Node of all versions know, in components that of WebAssembly 3.0. */
WasmExceptions wasm_survey_exceptions(WasmSurvey *s, const WasmModule *m);
/* The calls of the function, those of one kind in a row only once; valid until the survey is
 * released. */
const WasmCallEdge *wasm_survey_edges(WasmSurvey *s, const WasmModule *m, uint32_t func,
                                      uint32_t *n);
/* By input function: a number greater than those of the functions that it calls by `call`, except
 * where a call closes a cycle of calls. The caller frees it. */
uint32_t *wasm_survey_order(WasmSurvey *s, const WasmModule *m);
void wasm_survey_free(WasmSurvey *s);

#endif
