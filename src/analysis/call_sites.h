/*
 * analysis/call_sites.h - the calls in a program's code that may be those from one function to
 * another.
 */
#ifndef WHAMMC_ANALYSIS_CALL_SITES_H
#define WHAMMC_ANALYSIS_CALL_SITES_H

#include "analysis/survey.h"
#include "lang/list.h"

enum { CALL_SITES_END = UINT32_MAX, CALL_SITES_ANY = UINT32_MAX };

/* An instruction that calls. */
typedef struct CallSite {
    uint32_t callee; /* CALL_SITES_ANY: which function that is cannot be told */
    uint32_t pc;
} CallSite;

/* Release with call_sites_free. */
typedef struct CallSites {
    const WasmModule *m;
    NumberList passed; /* functions whose calls count as their callers' */
    WasmSurvey survey;
    Map walked;        /* function -> index of its first one */
    Vec(CallSite) all; /* of the requested functions; CALL_SITES_END as pc ends each list */
    Arena arena;
} CallSites;

/* Prepares questions about a program, which must live as long. `passed`, "3,17-20", are functions
 * whose own calls count as calls by their callers. */
void call_sites_open(CallSites *c, const WasmModule *m, Str passed);

/*
 * Passes over the calls in one function that may be of another, in the order of the code: start
 * with *at = 0. Returns the code offset of the next one, or CALL_SITES_END after the last. There
 * are none if the program does not have the functions.
 */
uint32_t call_sites_next(CallSites *c, uint32_t caller, uint32_t callee, uint32_t *at);

/* Frees the lists. */
void call_sites_free(CallSites *c);

#endif
