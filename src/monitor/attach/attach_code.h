/*
 * monitor/attach/attach_code.h - state shared by the files that match and splice. Only they include
 * this.
 */
#ifndef WHAMMC_ATTACH_ATTACH_CODE_H
#define WHAMMC_ATTACH_ATTACH_CODE_H

#include "inject/counts.h"
#include "inject/program.h"
#include "monitor/attach/attach.h"
#include "monitor/attach/shim.h"
#include "monitor/read/imm.h"
#include "monitor/read/monitor.h"

/* A value that a probe gets. */
typedef struct BindFormal {
    ParamKind kind;
    uint32_t n; /* of argN, localN */
    WasmType type;
    bool is_static;
    uint32_t word; /* static: index of its word in the record of a location, */
    uint64_t max;  /* and its largest value at any location */
} BindFormal;

/* How an instruction of a probe changes whose counters are in globals. */
typedef enum BindRoleKind { CELL_NONE, CELL_ADDRESS, CELL_LOAD, CELL_STORE } BindRoleKind;
typedef struct BindRole {
    BindRoleKind kind;
    uint32_t cell; /* index into Bind.cells */
} BindRole;

/* A number in memory that a probe changes. */
typedef struct BindCell {
    uint32_t monitor;
    uint32_t memory; /* the monitor's */
    WasmType type;
    uint32_t word; /* recorded word that is added to the address, UINT32_MAX = none */
    uint64_t base;
} BindCell;

/* The code of a probe function to inline, after its local declarations. */
typedef struct BindSource {
    Buf code;
    uint32_t *temp;    /* by parameter: its temporary; UINT32_MAX = it is not changed */
    BindRole *role;    /* by offset in the code; NULL = not looked for */
    bool only_changes; /* then: it does nothing with memory but change cells */
    uint32_t first_cell, ncells;
} BindSource;

/* A number in a memory or a global, of the program: handles. No padding: it is a key. */
typedef struct BindPlace {
    uint32_t space, size_log2, handle, at;
} BindPlace;

/* A number that probes only add to, or (`set`) set to one value. */
typedef struct BindSum {
    BindPlace place;
    uint32_t monitor;
    uint32_t hits; /* that do so */
    uint32_t var;  /* of Bind.counts; UINT32_MAX = none */
    bool set;
    bool spoilt; /* something else happens to it */
    uint64_t to; /* set: to that */
} BindSum;

/* A probe's action at a location. */
typedef struct BindAddition {
    uint32_t sum; /* index into Bind.sums */
    uint8_t ways; /* of a branch, on which it happens: WAY_... */
    uint64_t amount;
} BindAddition;

/* Numbers of one segment, each `step` bytes after the one before, all with the same value. */
typedef struct BindRun {
    BindPlace place; /* of the first */
    uint32_t n, step;
    uint32_t value; /* index into Counts.values */
    bool set;
    uint64_t to;
    bool traps;         /* something in the segment can trap */
    uint32_t func, key; /* then: of the first, index into Bind.keys (counts_key) */
} BindRun;

/* A probe of a monitor; its action in the plan has the same index. */
typedef struct BindRule {
    const MonitorProbe *probe;
    uint32_t monitor;
    BindFormal *formals; /* by index into the rule's params */
    uint32_t nwords;     /* recorded for each location */
    uint32_t id_word;    /* the location's number, if it can be removed; else UINT32_MAX */
    BindSource *source;  /* NULL: the function is called */
    uint32_t empty;      /* the function that is called in its place; UINT32_MAX = none */
    bool coded;          /* some site has code for it */
    const char *fault;   /* why it can be at no location, NULL = it can */
} BindRule;

/* A location at which a probe is attached, in the order of the walk. */
typedef struct BindHit {
    uint32_t func, pc, rule;
    uint32_t words; /* index into BindState.words */
    uint32_t first_addition, nadditions;
    bool gone;    /* removed while the monitor was attached */
    bool counted; /* by segments: its effects are in Bind.additions */
} BindHit;

/* Whether code goes to the location. */
static inline bool bind_has_code(const BindHit *h) {
    return !h->gone && !h->counted;
}

/* Where strings for callbacks go. */
typedef struct BindStrings {
    bool found, older;    /* `older`: as engines of 2025 do it */
    EvalMemory *memory;   /* NULL = the monitor does not have it */
    uint64_t start, size; /* bytes */
    uint64_t used;        /* at the current place */
} BindStrings;

/* Where counters are, and how they are added up. */
typedef struct BindTotal {
    uint32_t first_counter; /* handle of the first counter, a global; UINT32_MAX = in memory, */
    uint32_t memory;        /* at its beginning: handle */
    int64_t func;           /* handle of the function to call before wasm:exit, -1 = none */
} BindTotal;

/* One monitor. */
/* The numbers of locations (probe_id). */
typedef struct BindIds {
    uint32_t func, pc;    /* the location that has the last number, */
    uint32_t n;           /* which is n - 1 */
    Vec(uint32_t) hits;   /* by number: the first hit at the location that has it */
    int64_t flags;        /* handle of a memory: by number, not 0 = removed; -1 = none */
    int64_t remove_probe; /* handle of the function that sets them, -1 = none */
} BindIds;

typedef struct BindState {
    const struct Bind *bind;
    const BindMonitor *given;
    const BindOptions *options;
    Monitor monitor;
    Vec(WasmModule *) libraries;
    Vec(BindModule) modules; /* libraries, then the monitor */
    BindHost *host;
    bool spent; /* the budget of instructions for attaching is used up */
    BindPart *part;
    uint32_t first_rule, nrules;
    Vec(BindHit) hits;
    Vec(uint64_t) words;
    uint32_t accepted, spliced; /* pass 2: after the current hit, whose code was made */
    bool in_globals;            /* the cells that probes change are in globals: */
    Map cells;                  /* their handles */
    Vec(uint32_t) dumps;        /* handles of functions that store them into memory */
    uint32_t last_run;          /* index into Bind.runs, UINT32_MAX = none */
    BindStrings strings;
    Buf said;                      /* the beginning of the running function's output, on one line */
    uint32_t place_func, place_pc; /* of the last attempt */
    BindIds ids;
} BindState;

/* Something that makes an engine abort, at one or more locations; so do we if it is fatal. */
typedef struct BindFault {
    uint32_t rule, func, pc, places;
    bool fatal;
    const char *text;
} BindFault;

typedef struct Bind {
    Program p;
    Plan plan;
    const BindOptions *options;
    const BindFile *app;
    BindState *states;
    uint32_t nstates;
    Vec(BindRule) rules;
    uint32_t current; /* pass 1: the monitor that is being attached; = nstates in pass 2 */
    Vec(uint64_t) scratch;
    Vec(BindCell) cells;
    Vec(BindSum) sums;
    Map sum_at; /* by BindPlace */
    Vec(BindAddition) additions;
    Counts counts;
    Vec(BindRun) runs; /* of numbers that one location adds to or sets */
    Vec(uint32_t) keys;
    Vec(uint32_t) vars; /* the other sums, by variable: indices */
    BindTotal total;
    Vec(BindFault) faults;
    uint32_t more_faults; /* not in the list */
    bool failed;          /* a fault was fatal */
    BindShim shim;
    bool shimmed; /* `shim` is in use */
} Bind;

/* ---- attach_plan.c ---- */

/* The plan for the monitors' rules, and b->rules. */
void bind_plan(Bind *b);
/* Whether functions of this monitor can remove probes. */
bool bind_removes(const BindState *s);

/* ---- attach_match.c ---- */

/* Matcher.accept: in pass 1 does what an engine does at a location for a rule, in pass 2 finds the
 * record of it. */
bool bind_accept(void *self, const Matcher *w, const Action *a, const Site *site);
/* remove_probe while the monitor is attached: removes the probes that are at the location so far
 * and have requested its number. */
void bind_remove(BindState *s, const BindRule *rules, uint32_t id);
/* The next hit in order that has code, from *at on, which moves past it; NULL = none. */
const BindHit *bind_next(const BindState *s, uint32_t *at);
/* Reports the errors; returns false if there were any. */
bool bind_faults(Bind *b);

/* ---- if_convert.c ---- */

/* Tells whether an access (with the instruction that pushes its address) of so many bytes is inside
 * its memory, whatever happens. */
typedef struct BindAddress {
    bool (*holds)(void *ctx, const WasmInstr *address, const WasmInstr *access, uint32_t size);
    void *ctx;
} BindAddress;

/* The code of a straight-line function of the monitor, with branches where it counts under a
 * condition, after its local declarations. False if it has no such counts. */
bool bind_counts(const WasmModule *m, uint32_t func, const BindAddress *in_bounds, Buf *out);

/* ---- promote.c ---- */

/* Moves the numbers in memory that the probes of a monitor change to globals, if the probes use
 * memory for nothing else; *current is set to the rule that in_bounds is called for. */
void bind_cells(Bind *b, BindState *s, const BindAddress *in_bounds, BindRule **current);
/* The handle of the global that is a cell (index into Bind.cells) at a location with these words.
 */
uint32_t bind_cell(const Bind *b, const uint64_t *words, uint32_t n);

/* Whether all that a rule's code, which has a source, does with memory is to change cells; finds
 * them. */
bool bind_changes(Bind *b, BindState *s, BindRule *r, const BindAddress *in_bounds);
/* The address of a cell in memory, at a location with these words. */
BindPlace bind_place(const Bind *b, const uint64_t *words, uint32_t n);

/* ---- effects.c ---- */

/* Finds the probes that are counted by segments; all parts are linked. *current as for bind_cells.
 */
void bind_sums(Bind *b, const BindAddress *in_bounds, BindRule **current);

/* ---- sums.c ---- */

/* Adds the counters and the function that makes the sums. False with a message if that cannot be.
 */
bool bind_total(Bind *b);
/* Pass 2, before the sites of a function: its counters. */
void bind_put_counters(Bind *b, uint32_t func);

/* ---- attach_template.c ---- */

/* Decides which probe functions are inlined, and where their counters live; when all parts are
 * linked. */
void bind_inline(Bind *b);
/* Makes the templates of all rules that have sites; the module is laid out. False with messages. */
bool bind_templates(Bind *b);

#endif
