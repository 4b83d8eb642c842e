/*
 * monitor/make/unit.h - a plan as monitor modules need it: for each kind of location one list of
 * the actions there, split by static conditions.
 *
 * An engine is given rules, not sites, and two probes at one location are expensive. So all actions
 * that can meet at a location (by instruction; block events and func:exit happen at instructions,
 * too) become one *unit*: a list of *parts* in firing order. A condition that is known when an
 * engine attaches the monitor is an *atom* of the unit: a static condition of a predicate or body,
 * whether operands have their types, whether the location is reachable. With n atoms there are 2^n
 * assignments; each has a *residue*: the remaining parts, with their conditions decided.
 * Assignments with equal residues share one probe, whose static predicate is true for just these;
 * where nothing is left there is no probe. So a purely static predicate costs nothing at run time,
 * and a mixed one only its dynamic rest. (Whamm paper, section 4.1.)
 *
 * With more than UNIT_ATOMS atoms, or if all units together would have more than UNIT_RESIDUES
 * residues (a glob with many conditions), the conditions of a unit are evaluated at run time: its
 * probes receive them as bits of a value (of several if there are more than 64). Only the other
 * atoms are tabulated, because the values that a probe can request depend on them. The static
 * predicate then also says whether any part can happen: whether its predicate is not false whatever
 * its dynamic parts are, as shape_decide has it, with the atoms of the variant by UnitPart.bits.
 *
 * Parts that only count need no probe: the executions of a location are derived from other
 * locations' (PART_COUNT; analysis/segment.h).
 *
 * Engines also fire probes of `loop` and `end` for branches that arrive there; events that the
 * language has before these instructions do not happen then. So branches set a flag just before
 * they jump, and the probe at their target counts only if the flag is clear, then clears it. No
 * other code of the program runs in between.
 */
#ifndef WHAMMC_UNIT_UNIT_H
#define WHAMMC_UNIT_UNIT_H

#include "monitor/read/rule.h"
#include "plan/counter.h"

enum { UNIT_ATOMS = 8, UNIT_RESIDUES = 8192 };
#define UNIT_KNOWN UINT32_MAX /* no atom: known for the event */

/* Conditions that are decided when the monitor is attached. */
typedef enum UnitAtomKind {
    ATOM_CONDITION, /* UnitAtom.expr is true */
    ATOM_TYPES,     /* operands and locals are there with these types */
    ATOM_CONSTS,    /* static expressions have a value */
    ATOM_LIVE, /* the validator says that the location can be reached: operands may be requested */
    ATOM_WIDE, /* operand n, an address or size, is an i64 */
    ATOM_LAST, /* the function's last end */
    ATOM_BLOCK_FIRST,  /* the first instruction of a basic block */
    ATOM_BLOCK_LAST,   /* the last one */
    ATOM_ENDS_PROGRAM, /* a call of proc_exit */
    ATOM_TO_LOOP,      /* a branch (or try_table) one of whose targets is a loop */
    ATOM_IN_TRY,       /* inside the body of a try or try_table of the function */
    ATOM_TYPED_SELECT, /* in units for every instruction: it is a typed select; always the first
                          atom, the others are only asked where it holds */
} UnitAtomKind;

/* A type that an operand or local must have. */
typedef struct UnitType {
    bool local; /* else an operand */
    uint32_t n;
    WasmType type;
} UnitType;

/* An atom must have a value. */
typedef struct UnitGate {
    uint32_t atom; /* index into Unit.atoms */
    bool value;
} UnitGate;

typedef struct UnitAtom {
    UnitAtomKind kind;
    const Variant *variant; /* of CONDITION, TYPES and CONSTS */
    const Expr *expr;       /* CONDITION: with the event's known values (known.h) filled in */
    const Expr **exprs;     /* CONSTS: expressions that must have a value: immediates of a br_table,
                               quotients, floats as integers */
    const UnitType *types;  /* TYPES */
    uint32_t n;             /* number of exprs or types; WIDE: of the operand */
    bool at_end; /* CONDITION, CONSTS: evaluated at the function's last end, not at the location */
    uint32_t guard; /* CONDITION: the atom that tells whether it has a value, which is asked first;
                       if not, it is false. UNIT_KNOWN = it always has */
    /* CONDITION with '@static' calls, which are made once a site: its own action's, and whose;
     * asked only where all gates hold. With `once` for a function, at the first of its exits. */
    const Expr *source; /* the variant's atom; NULL = no such calls */
    UnitGate *gates;
    uint32_t ngates;
    bool once;
    Str text;         /* for people */
    uint32_t subject; /* CONDITION, if it is `subject == literal`: the subject's number; at most one
                         atom with it is true; 0 = none */
} UnitAtom;

typedef enum UnitPartKind {
    PART_ACTION, /* the action's body, with the rest of its predicate */
    PART_ROW, /* only its record (and '@init' and '@exit' for it): the location cannot be reached */
    PART_COUNT,      /* an action that only counts: no probe, it is counted by segments */
    PART_SET_BACK,   /* sets the flag as `back` says */
    PART_CLEAR_BACK, /* clears it */
    PART_PUSH_FRAME, /* a new set of frame variables, zero */
    PART_POP_FRAME,
    PART_REFUSE, /* the monitor cannot be attached to such a location: a message (`why`) and a trap
                    in the predicate */
} UnitPartKind;

/* The value to which PART_SET_BACK sets the flag. */
typedef enum UnitBack {
    BACK_ALWAYS,  /* 1 */
    BACK_IF_ARG,  /* arg0 != 0 */
    BACK_TO_LOOP, /* br_table: bit min(arg0, number of targets) of the result of site_loop_map */
} UnitBack;

/* A variant's atom k in a unit: an atom of the unit, perhaps negated, or a value. */
typedef struct UnitBit {
    uint32_t atom; /* index into Unit.atoms; UNIT_KNOWN = it is `value` */
    bool value;    /* with an atom: the value that stands for true */
} UnitBit;

/* One thing that may happen at a location. */
typedef struct UnitPart {
    UnitPartKind kind;
    Action *action; /* ACTION, ROW, COUNT; REFUSE: only if that can happen; NULL = in any case */
    const Shape *shape; /* in residues of split units: the variant with its atoms decided */
    bool entering;      /* a loop: only where no branch leads back to it (SHAPE_ENTERING) */
    bool if_taken;      /* only if arg0 != 0 (if:entry) */
    bool at_end;        /* names stand for those of the function's last end, and there is one record
                           for the function: func:exit */
    UnitBack back;      /* SET_BACK */
    const char *why;    /* REFUSE */
    UnitGate *gates;    /* all must hold; decided in residues of split units */
    uint32_t ngates;
    UnitBit *bits; /* by atom of the variant */
} UnitPart;

/* A product of atoms: those in `mask` have the values in `bits`. */
typedef struct UnitTerm {
    uint8_t mask, bits;
} UnitTerm;

/* The remaining parts for some assignments: one probe function. */
typedef struct Residue {
    UnitPart *parts;
    uint32_t nparts;
    uint64_t when[4]; /* bit a of 256: for assignment a (bit k of a = atom k, of `ntable`) */
    UnitTerm *terms;  /* the same as a short sum of products; one with mask 0 = always. Assignments
                         that cannot occur are not told apart */
    uint32_t nterms;
    uint32_t form; /* equal numbers in a list of units = the same code, but for the actions that
                      records and rows belong to */
    bool counts;   /* some parts are PART_COUNT */
    bool probes;   /* ... some are not: there is a probe */
    bool apart;    /* both have records: each part has its own, else they share one */
} Residue;

typedef struct Unit {
    MonitorEvent event; /* OPCODE; ANY: only for typed selects; FUNC_ENTRY; FUNC_EXIT: where nothing
                           else happens at returns and last ends */
    WasmOp op;          /* OPCODE, ANY */
    UnitAtom *atoms;
    uint32_t natoms;
    uint32_t ntable; /* the first ones are decided in residues: all, unless `dynamic` */
    UnitPart *parts; /* all that may happen, in order, with gates */
    uint32_t nparts;
    Residue *residues; /* not empty ones, in the order of their first assignment */
    uint32_t nresidues;
    bool dynamic; /* conditions are not decided: residues have no shapes */
} Unit;

typedef struct Units {
    Vec(Unit) list;
    bool uses_back;     /* the flag is needed */
    bool uses_frame;    /* there are frame variables: PUSH_FRAME and POP_FRAME parts */
    Counters *counters; /* NULL: nothing is counted by segments */
} Units;

/*
 * Makes the units of a plan; everything they point to lives in the plan's arena. Returns false with
 * messages (tag monitor-cannot) about limits of engines, each with its reason and the hint to
 * compile with `whammc instr`. `counters`: for counting by segments; NULL = nothing is counted so.
 * units_free is needed either way.
 */
bool units_make(Plan *plan, Counters *counters, Units *units, Diags *diags);
void units_free(Units *units);

/* Whether a part may have a record at its locations. */
static inline bool part_has_record(const UnitPart *p) {
    return p->kind == PART_ACTION || p->kind == PART_ROW || p->kind == PART_COUNT;
}

/*
 * A set of assignments of n <= 8 atoms as a short sum of products (Quine-McCluskey, then a greedy
 * cover); those in `any` may belong to it or not. Returns the number of terms, at most 128.
 */
uint32_t unit_terms(uint32_t n, const uint64_t when[4], const uint64_t any[4], UnitTerm out[128]);

/* Units, atoms, terms and residues, for people. */
void units_print(const Plan *plan, const Units *units, Buf *out);

#endif
