/*
 * probe/unit.h - a plan as monitor modules want it: for each kind of place one list of what happens
 * there, split by what is static.
 *
 * An engine is told rules, not sites, and two probes at one place are expensive. So all actions
 * that can meet at a place (by instruction; block events and func:exit happen at instructions too)
 * become one *unit*, in firing order. What is known when an engine attaches the monitor is an *atom*
 * of the unit: a static condition of a predicate or body, whether type bounds hold, whether the place
 * can be reached. With n atoms there are 2^n assignments; for each one what is left to do is the
 * *residue*: actions with their conditions decided. Assignments with equal residues share one probe,
 * whose static predicate is true for just these; where nothing is left there is no probe. So a purely
 * static predicate costs nothing at run time, and a mixed one only what is left of it.
 * (Whamm paper, section 4.1.)
 *
 * With more than UNIT_ATOMS atoms a unit is not split: one probe, whose predicate says whether any
 * action can happen, and which gets the atoms as bits of a value.
 */
#ifndef WHAMMC_PROBE_UNIT_H
#define WHAMMC_PROBE_UNIT_H

#include "monitor/rule.h"
#include "probe/plan.h"

enum { UNIT_ATOMS = 8 };

/* What is decided when the monitor is attached; numbers are what site.h of the runtime tells. */
typedef enum UnitAtomKind {
    ATOM_CONDITION,   /* atom `n` of the variant (Variant.atoms) */
    ATOM_TYPES,       /* the operands and locals that the variant uses are there with their types */
    ATOM_CONSTS,      /* the variant's static values exist */
    ATOM_LIVE,        /* the place can be reached */
    ATOM_LAST,        /* the function's last end */
    ATOM_BLOCK_FIRST, /* the first instruction of a basic block */
    ATOM_BLOCK_LAST,
    ATOM_ENDS_PROGRAM, /* a call of proc_exit */
    ATOM_TO_LOOP,      /* a branch one of whose targets is a loop */
    ATOM_TYPED_SELECT, /* in rules that match every instruction: it is this one */
} UnitAtomKind;

typedef struct UnitAtom {
    UnitAtomKind kind;
    const Variant *variant; /* of CONDITION, TYPES and CONSTS */
    uint32_t n;
} UnitAtom;

typedef enum UnitPartKind {
    PART_ACTION,   /* the action's body, with what is left of its predicate */
    PART_ROW,      /* only its record: the place cannot be reached */
    PART_SET_BACK, /* a branch: sets the flag if it will go to a loop's head */
    PART_CLEAR_BACK, /* a loop: clears the flag, behind the actions that ask for it */
} UnitPartKind;

/* One thing that happens at a place. */
typedef struct UnitPart {
    UnitPartKind kind;
    Action *action;
    const Shape *shape; /* the action's variant with its atoms decided (not if Unit.dynamic) */
    bool unless_back;   /* only if the flag is not set: `loop:before` does not happen on back edges */
} UnitPart;

/* What is left for some assignments: one probe function, one or more exports. */
typedef struct Residue {
    Vec(UnitPart) parts;
    uint64_t when[4]; /* bit a of 256: for assignment a (bit k of a = atom k) */
} Residue;

typedef struct Unit {
    MonitorEvent event;
    WasmOp op; /* MONITOR_OPCODE */
    Vec(UnitAtom) atoms;
    Vec(Residue) residues; /* in the order of their first assignment; if dynamic, one */
    bool dynamic;
} Unit;

typedef struct Units {
    Vec(Unit) list;
} Units;

/*
 * Makes the units of a plan; everything lives in the plan's arena. False with messages (tag
 * monitor-cannot) about what an engine cannot do, each with its reason and the hint to compile with
 * `whammc instr`.
 */
bool units_make(Plan *plan, Units *units, Diags *diags);

/* A product of atoms: those in `mask` have the values in `bits`. */
typedef struct UnitTerm {
    uint8_t mask, bits;
} UnitTerm;
typedef Vec(UnitTerm) UnitTerms;

/* The assignments of a residue as a short sum of products (Quine-McCluskey); assignments that
 * cannot occur need not be told apart. A term with mask 0 = always. */
void unit_terms(const Unit *unit, const Residue *residue, UnitTerms *out);

#endif
