/*
 * storage/stack.h - the shadow stack of the bundled library `stack`: the active functions of the
 * program, for samplers to read while it runs.
 *
 * It has its own memory, exported as STACK_EXPORT, whose layout is in runtime/stack.h.
 */
#ifndef WHAMMC_STORAGE_STACK_H
#define WHAMMC_STORAGE_STACK_H

#include "gen/template.h"
#include "plan/plan.h"
#include "wasm/module.h"

#define STACK_EXPORT "whammc:stack"
/* The export that empties the stack, for hosts that continue after a trap. */
#define STACK_RESET_EXPORT "whammc:stack_reset"
/* (param i32) (result i32) of module whammc: stores the next node of the host's tree at STACK_NODE
 * and returns 1, or returns 0 if there are no more. The parameter is the handle of the previous
 * node, by which its children refer to it. */
#define STACK_IMPORT "next_sample"
/* With `stack.engine()` the stack is the engine's, and its profiler takes the samples. These
 * imports from module whammc start that, given nanoseconds between samples (param i64), and store
 * the samples by calling the export for each node, parents first: (param i32 i32 i64 i64) (result
 * i32): handle of the parent (0 = none), function, samples, nanoseconds -> handle of the node. */
#define STACK_EVERY_IMPORT   "sample_every"
#define STACK_SAMPLES_IMPORT "collect_samples"
#define STACK_ADD_EXPORT     "whammc:add_samples"
/* Without parameters and results: a sample has been taken. */
#define STACK_TELL_IMPORT "sampled"

/* Handles; UINT32_MAX = there is none. */
typedef struct StackPlaces {
    uint32_t memory;
    uint32_t top; /* a global: the place of the next function that is not passed one */
    uint32_t sample, tell, collect, every; /* functions */
    uint32_t suspend, resume;              /* if the host leaves stacks (`switches`) */
    const uint32_t *helpers;               /* handles of the runtime's functions */
    bool runtime;                          /* the imported runtime keeps the stack */
    bool engine;                           /* there is none but the engine's */
    bool switches;
    /* Of the function to which code is added: a local with its place, UINT32_MAX = it has none;
     * the bytes of its frame; whether its calls may leave something above that; whether the host
     * can call it; and whether it is the one to put the place back then. */
    uint32_t place, step;
    bool left;
    bool may_begin;
    bool host;
} StackPlaces;

/* Whether the engine's own stack takes its place. */
bool stack_is_engines(const Plan *plan);
/* Whether the host reads it, so that it must be in the program. */
bool stack_is_read(const Plan *plan);
/* Whether it is used and in the program, not in an imported runtime, where each operation is a
 * call. */
bool stack_is_in_program(const Plan *plan, bool imported);
/* Whether scripts set frames aside where stacks are left. */
bool stack_switches(const Plan *plan);
/* Marks the helpers that its functions, and the code of frames, call. `switches`: frames are set
 * aside where the host says that a stack is left; no host says so to an imported runtime. */
void stack_helpers(const Plan *plan, bool imported, bool switches, bool *used);
/* Adds it to the program, when the helpers are linked and the module is not laid out. */
void stack_add(StackPlaces *at, const Plan *plan, WasmModule *m, bool switches,
               const uint32_t *helpers);
/* The same if the imported runtime keeps it. */
void stack_import(StackPlaces *at, const uint32_t *helpers);

/* Appends code; the module is laid out. Pushes the address that callers have stored at the top. */
void stack_put_top(const StackPlaces *at, const WasmModule *m, Buf *out);
/* Stores the address in a local, plus `step`, at the top. */
void stack_put_set_top(const StackPlaces *at, const WasmModule *m, uint32_t local, uint32_t step,
                       Buf *out);
/* Stores a frame there, above which there is none; 0 = there is none at that address, either. */
void stack_put_frame(const StackPlaces *at, const WasmModule *m, uint32_t local, uint32_t step,
                     uint32_t frame, Buf *out);
/* Removes the frame at the address in a local, and stores the address at the top for the host's
 * next call. */
void stack_put_leave(const StackPlaces *at, const WasmModule *m, uint32_t local, Buf *out);
/* An operation. */
void stack_put(const StackPlaces *at, const WasmModule *m, StackOp op, Buf *out);

#endif
