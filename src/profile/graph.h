/*
 * profile/graph.h - a call graph with times: self time, time in callees, recursion.
 *
 * How it is computed. An arc has the time from its calls to their returns, each activation counted,
 * inner ones of recursive functions too. So a function's self time is the time of the arcs to it
 * minus the time of the arcs from it: exact, whether it is recursive or not. It is negative only if
 * the report does not add up. Functions that call each other in a circle are a cycle (a strongly
 * connected component of the graph). `children` is the time of arcs from a function to functions
 * outside its cycle, which no activation of the cycle counts twice; `total` = self + children. For
 * a function without incoming arcs only `children` is known. In a profile with times, arcs without
 * time make no cycles: they count nothing twice.
 */
#ifndef WHAMMC_PROFILE_GRAPH_H
#define WHAMMC_PROFILE_GRAPH_H

#include "profile/profile.h"

/* Without times (Profile.timed) all times are 0. */
typedef struct GraphFunc {
    int64_t self, children, total; /* nanoseconds */
    uint64_t calls;                /* of other functions */
    uint64_t self_calls;           /* by itself */
    uint32_t cycle;                /* from 1; 0 = in none. Recursion of one function is none */
    uint32_t index;                /* from 1, in the order of graph_order; 0 = outside */
} GraphFunc;

/* All functions of a cycle together. */
typedef struct GraphCycle {
    int64_t self, children;
    uint64_t calls, inner_calls; /* from outside; of members by members */
} GraphCycle;

typedef struct Graph {
    const Profile *p;
    GraphFunc *funcs;   /* by function of the profile */
    GraphCycle *cycles; /* by number - 1 */
    uint32_t ncycles;
    int64_t self;       /* of all functions: the whole time */
    uint64_t calls;     /* of all arcs */
    uint32_t *outgoing; /* arcs by caller: outgoing[out_start[f] .. out_start[f + 1]) */
    uint32_t *out_start;
    uint32_t *incoming; /* arcs by callee, in the same way */
    uint32_t *in_start;
    uint32_t *order; /* functions, the largest total first (calls, without times); `norder` */
    uint32_t norder; /* all but those outside */
} Graph;

/* Makes the call graph of a profile. Release with graph_free. */
void graph_make(Graph *g, const Profile *p);
void graph_free(Graph *g);

/* Whether caller and callee are in one cycle, or the same function. */
bool graph_is_inner(const Graph *g, const ProfileArc *arc);

#endif
