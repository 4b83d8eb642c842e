/*
 * rewrite/continuations.h - which stack is the current one in a program with continuations (the
 * stack-switching proposal), for `wasm:stack:suspend` and `wasm:stack:resume`.
 *
 * A global has the number of the current stack; 0 is that of the host's calls. An instruction that
 * leaves its stack puts NO_STACK there. Whoever finds that has become current: a function that
 * begins has a new stack, and gets a number; the instruction that had left its stack has kept the
 * number in a local. What the instructions need is in inject/splice.h (StackCalls).
 */
#ifndef WHAMMC_REWRITE_CONTINUATIONS_H
#define WHAMMC_REWRITE_CONTINUATIONS_H

#include "flush/flush.h"
#include "inject/program.h"

typedef struct Continuations {
    bool followed;    /* scripts ask for events, and the program has continuations */
    uint8_t *begins;  /* by function: a stack may begin with it */
    uint32_t current; /* final index of the global */
    uint32_t begin;   /* final index of the function that gives the stack a number */
    StackCalls calls;
} Continuations;

/* Whether the program has instructions that leave stacks. */
bool continuations_in(const WasmModule *m);
/* Before pass 1, which shows these instructions then. */
void continuations_init(Continuations *c, const WasmModule *m, const Plan *plan, Matcher *matcher);
/* Pass 1, at such an instruction: marks what is to be changed, and adds types. */
void continuations_note(const Continuations *c, WasmModule *m, const Site *site,
                        const Match *matches, uint32_t n, uint8_t *touched);
/* After pass 1: finds the functions with which stacks may begin. */
void continuations_touch(Continuations *c, const WasmModule *m, WasmSurvey *survey,
                         uint8_t *touched);
/* Once the functions are there that run what scripts do: adds the others, which sites call. */
void continuations_add(Continuations *c, WasmModule *m, const FlushHandles *at);
/* Pass 2, before the sites of a function. */
void continuations_enter(const Continuations *c, uint32_t func, Pieces *pieces);
void continuations_free(Continuations *c);

#endif
