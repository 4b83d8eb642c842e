/*
 * probe/counter.h - which probes only count.
 *
 * A variable is a *sum* if, while the program runs, all that happens to it is that something is
 * added to it or subtracted from it: nobody reads it, nothing else is assigned. Then it does not
 * matter when an addition is made, as long as the report has all of them. A shape is a *counter* if
 * its body does nothing but add what is known at each site to sums: how often each site was
 * executed says everything.
 */
#ifndef WHAMMC_PROBE_COUNTER_H
#define WHAMMC_PROBE_COUNTER_H

#include "probe/plan.h"

/* Why something is no counter; with the place, if there is one. */
typedef enum WhyNot {
    WHY_NOTHING,   /* it is one */
    WHY_READ,      /* the variable is read */
    WHY_ASSIGNED,  /* something else than a sum is assigned to it */
    WHY_TYPE,      /* it is no integer of 32 or 64 bits */
    WHY_STARTS,    /* each site's starts at a value of its own */
    WHY_PREDICATE, /* the predicate is decided when the program runs */
    WHY_AMOUNT,    /* what is added is known only then */
    WHY_STATEMENT, /* the body does something else */
    WHY_CONDITION, /* a condition in it is decided when the program runs */
    WHY_EVENT,     /* what happens there is not counted by segments */
} WhyNot;

typedef struct Addition {
    uint32_t var;   /* PlanVar.id */
    const Expr *by; /* static; NULL = 1 */
    bool minus;
} Addition;

typedef struct Counting {
    WhyNot why_not;
    Span span;         /* of the reason */
    uint32_t first, n; /* of Counters.additions */
} Counting;

/* A zeroed one with counters_init is ready; counters_free. The plan must outlive it. */
typedef struct Counters {
    const Plan *plan;
    WhyNot *vars;         /* by PlanVar.id */
    Span *spans;          /* ... of the reasons */
    bool *tells;          /* by index into Plan.variants: when it runs a report may be due */
    bool fns_tell;        /* ... in some function of a script */
    Vec(Counting) shapes; /* by Shape.index, as far as asked for */
    Vec(bool) known;
    Vec(Addition) additions;
} Counters;

void counters_init(Counters *c, const Plan *plan);
void counters_free(Counters *c);

/* What a shape is; valid until the next call. */
const Counting *counters_shape(Counters *c, const Shape *s);

/* The words of a reason: "it is read here". */
const char *why_not_text(WhyNot why);

/* What an addition adds at a site, modulo 2^64. */
uint64_t addition_amount(const Addition *a, const Site *s);

#endif
