/*
 * plan/plan.h - from checked scripts to a plan: which actions belong to which event, and their
 * requirements.
 *
 *   - Script: a parsed and checked source file
 *   - Probe: a rule with predicate and body, as written
 *   - Action: one event that a probe's rule expanded to; has the probe number of reports
 *   - Variant: a typed copy of a probe, shared by all its actions on whose events the used names
 *     have the same types
 *   - Shape: a variant with its static conditions decided; each shape is compiled once (gen/) into
 *     a template
 *   - Site: a location in the program where an action matches
 *
 * The static parts of a variant are cut out of the tree (cut.c): a maximal static condition becomes
 * an *atom* (its values choose the shape), a maximal static number or string a *constant* (a hole
 * in the template, filled at each site).
 */
#ifndef WHAMMC_PLAN_PLAN_H
#define WHAMMC_PLAN_PLAN_H

#include "event/fold.h"
#include "library/builtin.h"
#include "library/library.h"
#include "valid/frame.h"

/* An operand, result or local that a variant's code uses. */
typedef struct Operand {
    uint32_t n;
    const Type *type;
    bool any;  /* of any type: i32, i64 or a reference */
    bool used; /* else only its type matters */
    bool assigned;
    bool bound; /* a bound says the type */
    bool fixed; /* every match has it with this type, so the site need not be checked */
} Operand;
typedef Vec(Operand) Operands;

/* A variable that lives longer than one execution of a probe. */
typedef struct PlanVar {
    const Var *decl;
    uint32_t script;
    uint32_t probe; /* of an unshared or shared variable: index into Plan.probes */
    uint32_t id;    /* index into Plan.vars */
} PlanVar;

typedef struct Shape {
    struct Variant *variant;
    uint64_t atoms;  /* bit k = the value of atom k; SHAPE_ENTERING */
    bool never;      /* the predicate is false */
    uint32_t sites;  /* to which its code goes, where it does not only count; set by pass 1 */
    uint32_t index;  /* into Plan.shapes */
    void *template;  /* compiled by gen/ */
    void *predicate; /* alt with a dynamic predicate: code that leaves its value */
    void *init;      /* code that runs at start-up for each site; NULL = none */
    void *exit;      /* code that runs for each site before a report; NULL = none */
} Shape;

enum { MAX_ATOMS = 60 };

/* Beside the values of atoms: `back_edge` is false (ENTERING), true (BACK); else it is known when
 * the program runs. Shapes whose predicate it makes false are ENTERING. */
#define SHAPE_BACK     (UINT64_C(1) << 62)
#define SHAPE_ENTERING (UINT64_C(1) << 63)

/* Assumptions about a branch (event/branch.h); no shape has them. */
#define SHAPE_TAKEN     (UINT64_C(1) << 60)
#define SHAPE_NOT_TAKEN (UINT64_C(1) << 61)

/* On which ways through it an alt body supplies the results of the instruction. */
typedef enum Supply { SUPPLY_NEVER, SUPPLY_SOMETIMES, SUPPLY_ALWAYS } Supply;

/* A function that an alt body calls in place of the call. */
typedef struct AltCall {
    bool by_name;
    uint32_t id; /* index in the program as it was */
    Str name;    /* of a function that the program defines */
    Span span;
} AltCall;

/* A call of dup_at: the memory, static. */
typedef struct DupAt {
    const Expr *memory;
} DupAt;

/* A map of a script whose keys are known at every location: it becomes cells (cell.c). */
typedef struct CellMap {
    uint32_t var;    /* PlanVar.id */
    uint32_t leaves; /* of a value */
    bool tracked;    /* the presence of its entries matters */
    bool marked;     /* some writes set a mark for presence: a leaf after the others */
    bool *counts;    /* by leaf: not zero where the entry is in the map */
} CellMap;

/* A key with which a variant uses such a map. */
typedef struct CellKey {
    uint32_t map;        /* index into PlanCells.maps */
    const Expr **leaves; /* static numbers, bools and strings */
    uint32_t nleaves;
    uint32_t writes; /* while bodies are analysed: those on the current path */
    bool marks;      /* some write with it sets the mark */
} CellKey;

/* An element of a map that may become cells. */
typedef struct ElementUse {
    struct Variant *variant;
    Expr *element;
} ElementUse;

/* The body of an alt probe. */
typedef struct VariantAlt {
    bool is; /* the variant has such a body */
    Supply supply;
    bool gives;          /* one that supplies results with a call of a function: they go through
                            locals */
    bool drops;          /* one that drops the operands of a construct */
    bool guarded;        /* by a dynamic predicate: if it is false, the original instruction runs */
    const Type *returns; /* type of the value that the body supplies, NULL = none */
    bool returns_differ; /* some values that it returns have other types */
    const Type *wanted;  /* the type that these must have; NULL = it varies from site to site */
    Vec(struct Variant *) others; /* then: variants of the same probe for other types */
    const char *reason;           /* why one of these is impossible */
} VariantAlt;

/* What a variant depends on at its sites. */
typedef struct VariantAsks {
    bool types;     /* some operand is not fixed */
    bool addresses; /* ... and is an address, with 32 bits or 64 */
    bool reference; /* of br_on_*, saved as operand 0 */
    bool targets;   /* the depth of a br_table's target by index */
    bool back;      /* `back_edge` */
    bool entering;  /* ... which the predicate wants to be false, whatever the site */
    bool entry;     /* which function is in a table's entry */
    bool frame;     /* the function has a frame on the shadow stack (rewrite/frames.c) */
    bool callee;    /* ... or the callee has */
    bool leaves;    /* its body does nothing but `stack.leave()` */
    bool declares;  /* ... but `stack.frame()` or `stack.callee()` */
    bool cuts;      /* there is a `stack.cut()` in it */
} VariantAsks;

/* The elements of maps that are cells, with constant keys; Expr.slot - 1 is the index. */
typedef struct VariantKeys {
    Vec(CellKey) list;
    Map numbers; /* by identity of the key (cell.c) */
} VariantKeys;

/* The shapes of a variant that have been made. */
typedef struct VariantShapes {
    Shape *only;  /* if there are no atoms */
    Map by_atoms; /* by their bytes: index into Plan.shapes */
    Shape *last;  /* the last one found */
} VariantShapes;

/* How a variant uses its sites. */
typedef struct VariantOperands {
    Operands args, results, locals, globals;
} VariantOperands;

/* Values of the program that it names by members (access.h). */
typedef struct VariantAccess {
    bool base;                /* its sites have variants of their own */
    Vec(const Expr *) wanted; /* ... for these names */
    Map *values;              /* of such a variant: by text, const Access *; else NULL */
} VariantAccess;

/* Its calls that depend on the site. */
typedef struct VariantCalls {
    Vec(AltCall) alts;
    Vec(uint32_t) memory; /* indices into Plan.memory_calls */
    Vec(DupAt) dups;
} VariantCalls;

typedef struct Variant {
    Probe *probe;    /* the typed copy */
    uint32_t source; /* index into Plan.probes */
    uint32_t script;
    Event event;   /* a representative */
    bool branches; /* its events are branches, at which a condition means the same (event/branch.h)
                    */
    Vec(Expr *) atoms;
    Vec(Expr *) consts;
    VariantKeys keys;
    VariantOperands operands;
    VariantCalls calls;
    VariantAccess access;
    bool starts_dynamic; /* something runs at start-up for each site: an unshared variable's initial
                            value depends on script variables, or there is an '@init' call */
    bool exits;          /* there is an '@exit' call */
    bool exits_count;    /* ... and the number of calls with the same arguments matters */
    VariantAsks asks;
    Vec(Expr *) statics;  /* its '@static' calls */
    bool impossible;      /* a bound or the predicate cannot hold */
    bool off;             /* the predicate cannot, because of constants; nothing else is planned */
    bool may_lack_consts; /* there may be sites at which a constant has no value */
    uint32_t nelements;   /* elements of maps that are not cells */
    bool has_texts;       /* some constants are strings */
    VariantAlt alt;
    Vec(struct Variant *) wider; /* of the same probe, by Event.wide: for 64-bit addresses */
    uint32_t *vars; /* by Var.index: PlanVar id, UINT32_MAX for plain locals; of a scope: the
                       variables of its script */
    VariantShapes shapes;
} Variant;

typedef struct Action {
    Variant *variant;
    Event event;
    uint32_t number;    /* the probe number within its script */
    uint32_t sites;     /* how many matched */
    const Expr *unseen; /* the part of it that engines do not tell monitors, which are refused where
                           it would happen (monitor/make/engine_limits.h); NULL = none */
} Action;

/* A probe of a script. */
typedef struct PlanProbe {
    Probe *probe; /* unresolved, except where it is the probe of its only variant */
    uint32_t script;
    Events events; /* that its rule matches */
    uint32_t first_action, nactions;
    uint32_t first_var, nvars;  /* its unshared and shared variables in Plan.vars */
    uint32_t fits;              /* sites that an alt body fits (alt.h) */
    const Variant *shared_from; /* sets its shared variables at start-up; NULL = none needed */
    void *init;                 /* the code for that */
} PlanProbe;

/* Why an alt body cannot replace an instruction. */
typedef enum AltProblem {
    ALT_FITS,
    ALT_LEAVES_OPERANDS,
    ALT_SUPPLIES_NOTHING,
    ALT_SUPPLIES_SOMETIMES,
    ALT_RETURNS_TOO_MUCH,
    ALT_RETURNS_OTHERS,
    ALT_NO_SUCH_TYPE,
    ALT_TRAPS_AFTER, /* it can, but the program traps afterwards */
} AltProblem;

/* Sites at which an alt probe has such a problem: the first one. */
typedef struct Misfit {
    const Variant *variant;
    AltProblem problem;
    WasmOp op;
    uint32_t func, pc;
    uint32_t count;     /* of sites */
    const char *types;  /* the types concerned */
    const char *reason; /* more about it; may be NULL */
} Misfit;

/* A function of a script. */
typedef struct PlanFn {
    const Fn *fn;
    uint32_t script;
    void *template; /* compiled by gen/ */
} PlanFn;

/* A function of a library that a script calls. */
typedef struct LibraryFn {
    uint32_t script;          /* whose types these are */
    Library *library;         /* NULL = bundled */
    const BundledFn *bundled; /* a function of the runtime */
    uint32_t func;            /* handle in the library */
    Str name;                 /* as exported */
    Span called;              /* where it is called first */
    const Type **params;
    uint32_t nparams;
    const Type *result; /* NULL = none; a tuple if there are several */
    bool runs;          /* called at run time, so it must be linked */
    uint32_t handle;    /* in the program; set by link/ */
} LibraryFn;

typedef struct ActionList {
    uint32_t *at;
    uint32_t len;
} ActionList;

/* What some variant of the plan depends on. */
typedef struct PlanAsks {
    bool tables;   /* which function is in a table's entry */
    bool unwinds;  /* exceptions that leave calls: MODE_UNWIND */
    bool segments; /* how much of a segment is left */
    bool elements; /* of maps that are not cells */
    bool values;   /* strings or maps exist at run time, or rows of them or of tuples */
    const Expr
        *number; /* the engine's number of a location, which only monitors have; NULL = not */
    const Expr *thread; /* the number of the thread; NULL = not */
} PlanAsks;

/* Facts about the program; set before matching. */
typedef struct PlanProgram {
    Str host;           /* the value of HOST */
    uint32_t module_id; /* the value of module_id: 0 = no other module calls it */
    bool asyncify;      /* the value of asyncify */
    Str module_name;    /* the value of module_name */
    Str component_name; /* of component_name */
    Str part;           /* the name of the module in its component; empty = it has none */
    bool threads;       /* it has threads, so that atomic variables are shared by several */
    Locator *locator;   /* of its locations; NULL = there are none */
    bool nameless;      /* its name section, if any, names no function */
} PlanProgram;

/* Strings that code refers to by number (Expr.slot - 1 of EXPR_STR), and descriptions of map types
 * (of EXPR_INDEX). */
typedef struct PlanTexts {
    Vec(Str) list;
    Map ids;
} PlanTexts;

/* Maps whose elements have constant keys, and can be stored as variables are. */
typedef struct PlanCells {
    bool wanted;              /* maps may become cells */
    Vec(CellMap) maps;        /* Var.cells - 1 is the index */
    Vec(ElementUse) elements; /* that cells_plan has to cut */
} PlanCells;

/* A map with elements that may be counted in arrays (storage/tally.h). */
typedef struct MapTally {
    uint32_t text; /* 1 + the number of the description of its type; 0 = there are none */
    uint32_t keys; /* from 0 on, that an array has */
    bool targets;  /* and as many as a br_table has targets, with the default */
    bool marked;   /* amounts may be zero, so that a mark records the entry's presence */
    bool buckets;  /* keys are indices of the buckets of a histogram */
} MapTally;

/* Mistakes that show only at sites. */
typedef struct PlanFaults {
    Lack lack; /* the first static call that had no value at a site, where its probe may match */
    Vec(Misfit) misfits;
    Diags *diags; /* of plan_make */
} PlanFaults;

/* Parts that a program that is alone, not one of several modules, does not need (alone.c); NULL =
 * none. */
typedef struct PlanAlone {
    bool *vars;  /* by PlanVar.id */
    bool *texts; /* by the number in Plan.texts */
} PlanAlone;

/* '@exit' calls at script scope. */
typedef struct PlanExits {
    bool any;    /* there is one in some script, or in a probe */
    void **code; /* by index into scripts: compiled by gen/; NULL = none */
} PlanExits;

/* Sites of bases (access.h): by action, function and opidx, the index of the variant. */
typedef struct PlanAccesses {
    bool found;
    Map sites;
} PlanAccesses;

typedef struct Plan {
    Arena arena;
    Vec(Script *) scripts;
    Vec(PlanProbe) probes;
    Vec(Variant *) variants;
    Vec(Variant *) scopes; /* by script: its script scope and functions; without probe */
    Vec(Action) actions;
    Vec(PlanVar) vars;
    Vec(PlanFn) fns;
    Vec(uint32_t) first_fn;       /* by script: the index of its first in `fns` */
    Vec(LibraryFn) library_fns;   /* Bound.id of a call is the index */
    Vec(MemoryCall) memory_calls; /* Expr.slot - 1 of a call is the index */
    PlanFaults faults;
    Vec(Shape *) shapes;
    PlanExits at_exit;
    PlanAccesses accesses;
    const Libraries *libraries;
    PlanProgram program;
    PlanTexts texts;
    Map rule_probes; /* by the text of a rule that matches events: the first probe that has it */
    PlanCells cells;
    MapTally *tallies; /* by PlanVar.id; NULL = there are none */
    PlanAlone alone;
    uint32_t steps;                  /* that an execution of a probe may take (gen/steps.c) */
    bool empty_bodies;               /* bodies at sites only call a function that does nothing */
    struct Statics *statics;         /* statics.h; NULL = there is no '@static' call */
    ActionList by_op[WASM_OP_COUNT]; /* actions in script order */
    ActionList by_kind[EVENT_KIND_COUNT]; /* of events that are not instructions */
    PlanAsks asks;
} Plan;

/*
 * The shape of a variant at a site, made on first use; NULL if its predicate is false there or a
 * static value does not exist. `s->instr` must be set for instruction events.
 */
Shape *plan_shape(Plan *plan, Variant *v, const Site *s);

/* The same for a variant that `like` has matched at the site: the results of '@static' calls are
 * reused. */
Shape *plan_shape_retyped(Plan *plan, Variant *v, const Variant *like, const Site *s);

/* A variant of the same probe and event as alt variant v, whose body returns values of type
 * `wanted`: `impossible` if it cannot. */
Variant *plan_retyped(Plan *plan, const Variant *v, const Type *wanted);

/* The variant of the same probe and event for a site where these addresses have 64 bits
 * (Event.wide); v itself if none has. If the script does not fit them it is `impossible`, and the
 * plan's diagnostics say why. */
Variant *plan_widened(Plan *plan, Variant *v, const Site *s, uint8_t wide);

/* Adds an unchecked copy of a probe for an event. */
Variant *plan_add_variant(Plan *plan, uint32_t source, Event e);

/* Asserts the invariants of a plan that was made. In builds with assertions only. */
bool plan_check(const Plan *plan);

/* The shape of a variant with given values of its atoms, made on first use. */
Shape *plan_shape_for(Plan *plan, Variant *v, uint64_t atoms);

/* Shapes of the probes of events that happen once; each counts as a site. The arrays are the
 * plan's. */
typedef struct ShapeList {
    const Shape **at;
    uint32_t len;
} ShapeList;
typedef struct OnceShapes {
    ShapeList begin, end, report;
    ShapeList suspend, resume; /* of stacks: any number of times */
} OnceShapes;
OnceShapes plan_once(Plan *plan, const WasmModule *m);
/* Adds those of stacks, for a program whose stacks may be left and resumed. */
void plan_once_stacks(Plan *plan, const WasmModule *m, OnceShapes *once);

/* A site without a location: for static values at script scope, and in events that happen once. */
static inline Site plan_nowhere(const Plan *plan, const WasmModule *m) {
    return (Site){.m = m,
                  .host = plan->program.host,
                  .module_id = plan->program.module_id,
                  .asyncify = plan->program.asyncify,
                  .module_name = plan->program.module_name,
                  .component_name = plan->program.component_name,
                  .locator = plan->program.locator};
}

/* Whether constants or HOST turn a probe off, so that it is meant to match nothing. After sites
 * were looked for. */
bool plan_is_off(const Plan *plan, const PlanProbe *p);

/* Whether a condition is false if module_id is this, whatever else is known of the site. */
bool plan_excludes_module(const Plan *plan, const Expr *condition, uint32_t module_id);

/* Finds the variables that are only for programs of several modules, if the program is alone, which
 * `program` must tell: script variables that nothing else uses, and shared ones of probes that
 * match nothing else, which are not reported then. */
void plan_find_alone(Plan *plan);
static inline bool plan_is_for_modules(const Plan *plan, const PlanVar *v) {
    return plan->alone.vars && plan->alone.vars[v->id];
}

/* Whether the variant matches either all instructions of this kind or none, with one shape, as far
 * as static conditions go. */
bool plan_is_same_at(const Plan *plan, const Variant *v, WasmOp op);

/* Whether a static expression has one value at all instructions of a kind. */
bool plan_value_is_same_at(const Plan *plan, const Expr *e, WasmOp op);

/* Whether a variant's predicate is false at all instructions of this kind, wherever they are. */
bool plan_never_at(const Plan *plan, const Variant *v, WasmOp op);
/* The n of a predicate that begins with `opidx == n`, if that makes it false at other sites; else
 * UINT32_MAX. */
uint32_t plan_opidx(const Variant *v);

/* The PlanVar.id of a variable; in functions and at script scope `v` is of Plan.scopes. */
uint32_t plan_var_id(const Plan *plan, const Variant *v, const Var *var);

/* Whether some function of the runtime accepts maps by their numbers. */
bool plan_takes_numbers(const Plan *plan);
/* Whether a script that takes no samples of the shadow stack reads the clock. */
bool plan_measures_times(const Plan *plan);
/* Whether a script has a statement `print`. */
bool plan_prints(const Plan *plan);
/* Whether they do anything that is seen without a report: print, end or change the program. */
bool plan_acts(const Plan *plan);

/* Calls `on` for the code of each script: its script scope, its functions, then the predicates
 * (NULL = none) and bodies of all variants that were checked. */
typedef void OnBody(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx);
void plan_each_body(Plan *plan, OnBody *on, void *ctx);

/* The index into Plan.fns of a function that `v` calls. */
uint32_t plan_fn_id(const Plan *plan, const Variant *v, const Fn *fn);

/* Three-valued truth of a condition. */
typedef enum Tri { TRI_NO, TRI_YES, TRI_UNKNOWN } Tri;
static inline Tri tri_of(bool b) {
    return b ? TRI_YES : TRI_NO;
}
static inline Tri tri_not(Tri t) {
    return t == TRI_UNKNOWN ? t : tri_of(t == TRI_NO);
}
/* The value of one side that decides `&&` or `||`. */
static inline Tri tri_decisive(Op op) {
    return tri_of(op == OP_OR);
}

/* Evaluates a condition of a variant with the atoms in `known` set to the bits of `atoms`
 * (Shape.atoms, and assumptions). TRI_UNKNOWN if it depends on other atoms or is dynamic. */
Tri shape_decide(const Variant *v, uint64_t known, uint64_t atoms, const Expr *e);

/* Evaluating it may have effects: then `dynamic && false` is not just false. */
bool expr_has_effect(const Expr *e);

/* The initial value of an unshared or shared variable is computed at start-up, not folded. */
bool var_starts_dynamic(const Var *v);
/* There is an '@static' call in it that has not been made: it is made when a monitor is attached.
 */
bool expr_calls_at_match(const Expr *e);
/* A script variable whose initial value is a constant: its global starts with it. */
bool var_starts_constant(const Var *v);

/* The id of an action in reports: "3_wasm:opcode:call:before". */
void action_text(const Plan *plan, const Action *a, Buf *out);

/* ---- libraries (plan/plan_library.c) ---- */

/* Reports libraries that a script uses and that are not given; false if there are any. */
bool plan_uses(Plan *plan, uint32_t script, Diags *diags);

/* Resolves a call of a library: its index in Plan.library_fns, or -1 after a message. */
int64_t plan_library_call(Plan *plan, uint32_t script, const Expr *call, Diags *diags);

/* Whether a library that the script uses exports a function of this name. */
bool plan_exported(const Plan *plan, uint32_t script, Str name, Str *library);

/* ---- walking a program (plan/match.c) ---- */

typedef struct Match {
    Action *action;
    Shape *shape;
} Match;

/* The types at a site, for variants that look at them: operands and results, deepest first. */
typedef struct SiteTypes {
    WasmTypes operands, results;
    WasmTypes supplies; /* that an alt body must supply, if there is one */
    bool known;         /* filled; else every operand in use has its fixed type */
    bool dead;          /* the instruction cannot be reached */
    bool falls_through; /* the code after this diverging instruction is well typed without it
                         */
} SiteTypes;

/* An action that may match instructions of a kind. */
typedef struct ListedAction {
    uint32_t action;
    bool decided; /* the kind of the instruction decides whether it matches, and which shape it has
                   */
    Shape *shape; /* ... found at the first such instruction; NULL before */
    uint32_t opidx; /* the only one at which it matches; UINT32_MAX: any */
} ListedAction;

/* A walk over the functions of a program. A zeroed one with plan, m, at and ctx set is ready. */
struct Matcher;

/* Callbacks of a walk. */
typedef struct MatcherHooks {
    void *ctx;
    /*
     * Called in code order for each location at which something matches: the function's entry
     * (instr NULL), each instruction, and after the final `end` once more each for exit and unwind.
     * Matches are in script order and of one kind of event.
     */
    void (*at)(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
               uint32_t n);
    /* Optional. Handles a whole body at once when matching depends on opcodes alone
     * (MatcherIndex.same) and no instruction is watched; the site has the function. Returns false
     * to fall back to one call of `at` per instruction. */
    bool (*at_body)(void *ctx, const Site *site, const WasmDecoded *body);
    /* Optional. Decides alone whether an action matches at a location, instead of bounds and static
     * conditions. Basic blocks are followed. */
    bool (*accept)(void *ctx, const struct Matcher *w, const Action *a, const Site *site);
} MatcherHooks;

/* The actions by the instructions at which they may match. */
typedef struct MatcherIndex {
    bool looks[WASM_OP_COUNT];
    struct {
        uint32_t from, to; /* in `listed` */
        uint32_t last;     /* the last opidx at which one of them may match */
    } may_match[WASM_OP_COUNT];
    Vec(ListedAction) listed;
    struct SameMatches {
        bool decided, found; /* all listed actions are decided; the matches have been found */
        uint32_t first, n;
    } same[WASM_OP_COUNT]; /* in `decided` */
    Vec(Match) decided;
} MatcherIndex;

typedef struct Matcher {
    Plan *plan;
    const WasmModule *m;
    MatcherHooks hooks;
    int64_t watch_funcs[2]; /* instructions that name these functions are shown even if nothing
                               matches; -1 = none */
    bool watch_op[WASM_OP_COUNT]; /* so are these instructions */

    bool prepared, looks, uses_blocks, uses_flow, uses_constructs, has_alts;
    MatcherIndex index;
    Flow flow;
    Constructs constructs;  /* of the current function */
    uint32_t part;          /* how many of them the walk has met */
    Vec(uint32_t) open;     /* those around the current instruction, outermost first */
    WasmDecoded body;       /* the current function, if it is not very large */
    WasmTyper typer, ahead; /* ahead: to look where code that an alt probe revives leads */
    WasmSurvey survey;
    SiteTypes types;
    WasmTypes locals;
    Vec(Match) matches;
    const char *error; /* malformed or invalid code: the reason, and the offset in the body */
    uint32_t error_offset;
} Matcher;

/* Walks one input function (no import). False on malformed code: error and error_offset are set. */
bool match_func(Matcher *w, uint32_t func);

/* The function's locals, parameters first (valid in `at`, if some variant uses localN). */
void matcher_free(Matcher *w);

/* Whether `at` is called for instructions only, and these matter by themselves; known once a
 * function has been walked. */
bool matcher_sees_instrs_only(const Matcher *w);
/* ... and whether the matches at all instructions of this kind are known (`same`); instructions
 * that name functions may still be watched. */
bool matcher_knows(const Matcher *w, WasmOp op);

/* Event.wide at the current instruction, whose types are known. */
uint8_t matcher_wide(const Matcher *w, WasmOp op);

/* Whether `at` is called for an instruction even if nothing matches. */
bool matcher_watches(const Matcher *w, const WasmInstr *i);
/* Whether instructions that name this function are watched. */
static inline bool matcher_watches_func(const Matcher *w, uint32_t func) {
    return (int64_t)func == w->watch_funcs[0] || (int64_t)func == w->watch_funcs[1];
}
/* Whether it may be called because of the function that an instruction names. */
static inline bool matcher_watches_funcs(const Matcher *w) {
    return w->watch_funcs[0] >= 0 || w->watch_funcs[1] >= 0;
}

#endif
