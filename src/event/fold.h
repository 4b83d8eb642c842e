/*
 * event/fold.h - match sites, and the evaluation of static expressions at them.
 */
#ifndef WHAMMC_EVENT_FOLD_H
#define WHAMMC_EVENT_FOLD_H

#include "analysis/flow.h"
#include "analysis/survey.h"
#include "event/event.h"
#include "locations/locator.h"

/* One place in a program where an event happens. */
typedef struct Site {
    const WasmModule *m;
    WasmSurvey *survey; /* of m; NULL: names that need it have no value */
    Locator *locator;   /* of m; NULL likewise */
    Str host;           /* the value of HOST */
    uint32_t module_id; /* of PlanProgram; likewise the next three */
    bool asyncify;
    Str module_name, component_name;
    uint32_t func; /* handle of the function */
    const WasmInstr
        *instr; /* the instruction; at func events the final `end` (exit) or NULL (entry) */
    uint32_t pc;
    uint32_t opidx;
    bool at_func_end;
    bool
        decided; /* the matches are the same at all instructions of this kind, in the same shapes */
    bool at_label; /* a `loop`, or an `end` that branches lead to, too: they execute it, so that
                      code before it goes after its bytes */
    const Construct
        *construct; /* where the part of a construct that the instruction opens ends; may be NULL */
    const Construct *constructs; /* of the function; NULL unless some probe needs them */
    const uint32_t
        *open; /* the parts around the instruction, outermost first: indices into constructs */
    uint32_t nopen;
    bool block_first, block_last; /* of a basic block, if the walk follows them */
    uint32_t instr_count;         /* block:end: instructions in the basic block */
    const Flow *flow;             /* block:start: the state after the instruction, and the code */
    WasmCode after;
    const WasmInstr *previous; /* the instruction before it, NULL = none */
} Site;

/* A constant. Integers: `bits` holds the value extended to 64 bits by the type's signedness; bool:
 * 0 or 1; floats: `real` (f32 values are exact in it); str: `text`. */
typedef struct Value {
    TypeKind kind;
    uint64_t bits;
    double real;
    Str text;
} Value;

/* The value of a static bound name at a site. False if it has none there (an immediate that does
 * not exist). */
bool site_value(const Site *s, const Bound *name, Value *out);

/* The state of Asyncify in which the event does not happen at a site, although control comes there:
 * functions are entered and calls made again to resume a stack, and left to leave it. 0 = there is
 * none. */
uint32_t site_silent_state(const Site *s, const Event *e);

/* The event does not happen at the function's first instruction, or at all of its ends, since it is
 * left in the middle: see analysis/go.h. */
bool site_is_apart(const Site *s, const Event *e);

/* Where control goes on after a branch to the label at `depth`: after the instruction at the given
 * offset. */
uint32_t site_target(const Site *s, uint32_t depth);

/* The label depth of a br_table's target; 0 beyond the last one. */
uint32_t br_table_depth(const WasmInstr *i, uint64_t index);

/* The parameters and results of a block type, *n of them; they may be at `block` itself. */
const WasmType *block_params(const WasmModule *m, const WasmType *block, uint32_t *n);
const WasmType *block_results(const WasmModule *m, const WasmType *block, uint32_t *n);

/* else, catch and catch_all: further arms of a construct. */
bool is_arm(WasmOp op);

/* The memory that an instruction accesses; n = 1: the source of memory.copy. */
uint32_t accessed_memory(const WasmInstr *i, uint32_t n);

/* The table that an instruction reads or writes; the destination of table.copy. */
uint32_t accessed_table(const WasmInstr *i);

/* The segment that an instruction reads or drops; true for data, false for elements. */
bool accessed_segment(const WasmInstr *i, uint32_t *segment);

/* Evaluates an expression whose leaves are literals, static bound names and '@static' calls; `s`
 * may be NULL if there are no such names. The calls have the values that they were last given
 * (plan/statics.h), or zero. False if it has no value: an immediate that does not exist, division
 * by zero, float out of range. */
bool fold(const Expr *e, const Site *s, Value *out);

/* The bits of a number or bool as the Wasm constant of its representation (i32, i64, f32 or f64
 * bits). */
uint64_t value_wasm_bits(Value v);

/* The Wasm type that represents a leaf (type_leaf): a str is the address of an object, a map its
 * number. */
WasmType type_wasm(const Type *t);

/* The first memory that a program defines, else 0. */
uint32_t app_memory(const WasmModule *m);

/* active_data_start, active_data_len and page_size of a memory; false if there is no such memory,
 * or if the address of its data is not known or no u32. */
bool memory_value(FnId fn, const WasmModule *m, uint32_t memory, uint64_t *out);

/* The number of the highest bit that is set, the logarithm rounded down; 0 of 0. */
static inline uint32_t log2_of(uint64_t n) {
    return n ? 63u - (uint32_t)__builtin_clzll(n) : 0;
}

#endif
