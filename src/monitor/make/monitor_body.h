/*
 * monitor/make/monitor_body.h - code of monitors: access to values that are known when a monitor
 * is attached. Private to monitor/make/.
 *
 *   monitor_code.c  probe functions, start and end, exports
 *   monitor_body.c  holes and static names: parameters of probes, calls of the runtime
 *   callback.c      callbacks, static predicates
 *   count.c         counting by segments
 */
#ifndef WHAMMC_GEN_MONITOR_BODY_H
#define WHAMMC_GEN_MONITOR_BODY_H

#include "gen/scratch.h"
#include "monitor/make/monitor_input.h"

/* Lists of records that callbacks keep. */
typedef struct End {
    const MonitorRecord *record;
    const Unit *unit;
    const Residue *residue;
    uint32_t number;
    const UnitPart *only; /* the part that the record belongs to; NULL = shared by several */
} End;

typedef struct Gen {
    Scratch x;
    const MonitorInput *in;
    MonitorCode *out;
    Diags *diags;
    Arena *arena;
    uint32_t named[128]; /* callbacks, by the letter of their kind */
    bool *updates;       /* by unit: its atoms have a function */
    Map callbacks;       /* by computed value: index into out->callbacks */
    Map statics; /* '@static' calls in functions of scripts, by address: number of a global */
    uint32_t nstatics;
    Map onces; /* values computed once per function, by address: number of its globals */
    Vec(End) ends;
    Vec(uint32_t) sums; /* PlanVar.id of the variables that are counted by segments */
    Map sum_numbers;    /* ... their indices */
    bool counts;        /* something is counted by segments */
    bool text;          /* some code writes text */
    bool clash;         /* a probe requests a value as two types */
    const char *failed; /* a construct that cannot be compiled */
} Gen;

/* The parameters of a probe function. */
typedef struct Ask {
    MonitorParam param;
    const void *what; /* of a callback: its answer, whatever the location */
    WasmType type;
} Ask;
typedef Vec(Ask) Asks;

/* A function that is being made. */
typedef struct Code {
    Body b; /* first: HoleOps get a Body */
    Gen *g;
    Asks *asks;    /* of a probe: its parameters so far */
    bool at_match; /* a callback or predicate: its parameters are fid and pc */
    Event event;   /* the meaning of names; of a part or atom */
    bool at_end;   /* ... those of the function's last end */
    /* Of a probe, or a callback that sets initial values. */
    const Unit *unit;
    const Residue *residue;
    uint32_t number; /* running number of the residue */
    const UnitPart *part;
    int64_t record; /* local with the address of the record, -1 = a parameter */
} Code;

extern const HoleOps attach_ops;

/* Short forms: a binary operation, an i64, whether an i32 is 0. */
static inline Ref monitor_binary(Code *c, WasmOp op, Ref x, Ref y) {
    return code_op2(c->b.module, op, x, y);
}
static inline Ref const_i64(Code *c, uint64_t v) {
    return code_i64(c->b.module, v);
}
static inline Ref is_zero(Code *c, Ref x) {
    return code_op1(c->b.module, WASM_OP_I32_EQZ, x);
}
/* Two conditions, each 0 or 1 or NULL = it holds. */
static inline Ref both(Code *c, Ref x, Ref y) {
    return !x ? y : !y ? x : monitor_binary(c, WASM_OP_I32_AND, x, y);
}

/* Starts a function; `v` NULL: without a variant. */
void code_begin(Code *c, Gen *g, const Variant *v);
/* Starts a part: declares the locals of its variables; the body is one of several in the function.
 */
void code_part(Code *c, const UnitPart *part);

/* A call of a function of the runtime; types as in gen/helper.def. */
Ref runtime_call(Code *c, const char *name, const char *params, const char *result,
                 const Ref *args);
/* The name of the global of the flag that branches to loops set. */
extern const char monitor_back[];
/* Gets, sets a global of the module, of that name, which is zero at start. */
Ref own_get(Code *c, const char *name, WasmType type);
Ref own_set(Code *c, const char *name, Ref value);

/* Makes an '@static' call of a function of a script, once. */
Ref set_static(Code *c, const Expr *e);

/* The parameter of a probe for which it asks. */
Ref ask(Code *c, ParamKind kind, uint32_t n, WasmType type);
/* Calls the engine's remove_probe for the probe that runs. */
Ref engine_remove(Code *c);
/* `what`: equal in probes that may share a function only for equal meanings */
Ref ask_callback(Code *c, Str name, const void *what, WasmType type);
/* The call of a callback in a rule. */
MonitorCall *callback_call(Gen *g, Str name);
/* The address of the record of the current part. */
Ref ask_record(Code *c, const MonitorRecord *record);

/* fid and pc of the location in a callback. */
Ref place_fid(Code *c);
Ref place_pc(Code *c);

/* The record that the variables of the current part are in; NULL = it has none. */
const MonitorRecord *code_record(const Code *c);
/* Whether an atom of a unit that is not split is `value`: 0 or 1. */
Ref atom_bit(Code *c, uint32_t atom, bool value);
/* Whether all gates of a part hold, in a unit that is not split; NULL = it has none. */
Ref gates_hold(Code *c, const UnitPart *part);

/* ---- functions of locations (callback.c) ---- */

/* Starts a function of fid and pc, about the unit and residue that `from` is about. */
void callback_begin(Code *c, const Code *from);
/* Returns a call of the function that sets the unit's atoms to those of the location. */
Ref atoms_update(const Code *from);
/* Whether the unit's atoms are as the residue has them; NULL = always. */
Ref atoms_hold(Code *c);

/* ---- counting by segments (count.c) ---- */

/* The rules of counters, if there is something to count. */
void count_build(Gen *g);
/* Appends the code that computes the values of counters when the program has ended. */
void count_finish(Code *c, Refs *code);

/* ---- callbacks; each function returns the name of the export ---- */

/* The value of a static expression. */
Str callback_value(Code *c, const Expr *e);
/* The runtime's answer that PART_SET_BACK of a br_table uses. */
Str callback_to_loop(Code *c);
/* The list of a br_table's targets (runtime/site/site.h). */
Str callback_targets(Code *c);
/* The address of the record of the current residue or part. */
Str callback_record(Code *c, const MonitorRecord *record);
/* Of a unit that is not split: its atoms as bits, 64 from `first` on. */
Str callback_bits(Code *c, uint32_t first);
/* Registers that records of this kind are listed; returns their number. */
uint32_t ends_add(Code *c, const MonitorRecord *record);
/* Appends the code that runs at the end for each record in the list ('@exit' calls). */
void ends_put(Gen *g, Code *c, Refs *code);
/* The predicate of a probe; empty if it is always attached. */
Str callback_predicate(const Code *from);

#endif
