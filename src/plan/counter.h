/*
 * plan/counter.h - which probes only count.
 *
 * A variable is a *sum* if, while the program runs, code only adds to it or subtracts from it:
 * nothing reads it, nothing else is assigned. The time of each addition then does not matter, as
 * long as the report has all of them. It is a *flag* if it is only ever assigned one constant: it
 * has that value or its initial one. The same holds for the leaves of maps that are cells (cell.h),
 * and for their marks. Code that runs before the program's first instruction, or while a report is
 * made, is not restricted: sums and flags are brought up to date first (Sum.late).
 *
 * A shape is a *counter* if its body does nothing but add static amounts to sums, and set flags:
 * then the number of executions of each site determines its effect. Before a branch, parts of the
 * body may depend on which way it goes (event/branch.h).
 */
#ifndef WHAMMC_PLAN_COUNTER_H
#define WHAMMC_PLAN_COUNTER_H

#include "event/branch.h"
#include "plan/plan.h"

/* Why something is no counter; with the location, if there is one. */
typedef enum WhyNot {
    WHY_NOTHING,   /* it is one */
    WHY_READ,      /* the variable is read */
    WHY_ASSIGNED,  /* something is assigned to it that is neither a sum nor always the same */
    WHY_TYPE,      /* it is neither an integer nor a bool */
    WHY_FLOAT,     /* it is a float */
    WHY_MAP,       /* it is a map that exists at run time */
    WHY_STARTS,    /* each site has its own initial value */
    WHY_PREDICATE, /* the predicate is decided at run time */
    WHY_AMOUNT,    /* the amount is known only at run time */
    WHY_STATEMENT, /* the body does something else */
    WHY_CONDITION, /* a condition in it is decided at run time */
    WHY_WAYS,      /* the variable of a site depends on which way a branch goes, and more */
    WHY_EVENT,     /* the event cannot be counted by segments */
    WHY_ATOMIC,    /* other threads have the variable, too */
} WhyNot;

/* Capabilities of a target. */
enum {
    COUNTERS_CELLS = 1,  /* sums and flags in cells */
    COUNTERS_FLAGS = 2,  /* flags */
    COUNTERS_LATE = 4,   /* bring sums up to date before code looks at them */
    COUNTERS_SMALL = 8,  /* integers of 8 and 16 bits */
    COUNTERS_EXITS = 16, /* count func:exit */
    COUNTERS_WAYS = 32,  /* count which way branches go */
    COUNTERS_ALL = 63,
    COUNTERS_MONITOR = COUNTERS_FLAGS | COUNTERS_LATE, /* in monitor modules */
};

/* A variable, or a leaf or the mark of all cells of a map. */
typedef struct Sum {
    WhyNot why_not;
    Span span; /* of the reason */
    const Var *var;
    const Type *type;
    bool flag;     /* assigned, not added to */
    bool adds;     /* something is added */
    bool late;     /* code that runs when a report is due reads or changes it */
    uint64_t to;   /* the value assigned to a flag that is not of sites */
    bool of_sites; /* an unshared variable */
} Sum;

typedef struct Addition {
    uint32_t sum;   /* index into Counters.sums: PlanVar.id, if it is a variable */
    uint32_t key;   /* of cells: index into VariantKeys.list, else ADDITION_NO_KEY */
    uint32_t leaf;  /* ... of the value; the number of leaves = the mark */
    const Expr *by; /* static; NULL = 1. For a flag: the value assigned */
    bool minus;
    bool again;    /* the shape has an addition to this sum before */
    uint8_t ways;  /* of a branch on which it happens: WAY_... */
    uint32_t next; /* the index of its next one; 0 = this is the last */
} Addition;
enum { ADDITION_NO_KEY = UINT32_MAX };

typedef struct Counting {
    WhyNot why_not;
    const Var *var;    /* that the reason is about, or NULL */
    Span span;         /* of the reason */
    uint32_t first, n; /* of Counters.additions */
} Counting;

/* A zeroed one with counters_init is ready; counters_free. The plan must outlive it. */
typedef struct Counters {
    const Plan *plan;
    unsigned can;         /* COUNTERS_... */
    Vec(Sum) sums;        /* variables by PlanVar.id, then those of maps */
    uint32_t *map_sums;   /* by index into PlanCells.maps: the first leaf's; the mark's is last */
    bool changes;         /* a probe changes which way branches go */
    bool asks_ways;       /* some condition is which way a branch goes, */
    bool splits_tables;   /* ... whether a br_table takes its default */
    bool *tells;          /* by index into Plan.variants: when it runs a report may be due */
    bool fns_tell;        /* ... in some function of a script */
    Vec(Counting) shapes; /* by Shape.index; filled on demand */
    Vec(bool) known;
    Vec(Addition) additions;
    Map first_additions; /* by shape and sum: the index of the first */
} Counters;

/* `can`: the COUNTERS_... that qualify as counters. */
void counters_init(Counters *c, const Plan *plan, unsigned can);
void counters_free(Counters *c);

/* Classifies a shape. The result is valid until the next call. */
const Counting *counters_shape(Counters *c, const Shape *s);

/* The first addition of a shape to a sum, NULL if there is none. Call counters_shape for the shape
 * before. */
const Addition *counters_first(const Counters *c, const Shape *s, uint32_t sum);
/* The one after it to the same sum; NULL = there is none. */
static inline const Addition *counters_next(const Counters *c, const Addition *a) {
    return a->next ? &c->additions.at[a->next] : NULL;
}

/* Appends why something is no counter: "'n' is read here while the program runs". */
void counting_put_reason(const Counting *c, Buf *out);

/* The amount that an addition adds at a site, modulo 2^64; for an unshared flag, the value that it
 * sets; for other flags 1, since their executions are counted. */
uint64_t addition_amount(const Counters *c, const Addition *a, const Site *s);

#endif
