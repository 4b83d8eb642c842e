/*
 * profile/graph.c - a call graph with times.
 */
#include "profile/graph.h"

#include <assert.h>

/* ---- arcs by function ---- */

static uint32_t end_of(const ProfileArc *arc, bool callee) {
    return callee ? arc->callee : arc->caller;
}

/* Sorts the numbers of the arcs by one of their ends, in linear time. */
static void sort_arcs(const Profile *p, bool callee, uint32_t **arcs, uint32_t **start) {
    uint32_t n = p->funcs.len;
    *arcs = mem_zalloc((p->arcs.len + 1u) * sizeof **arcs);
    *start = mem_zalloc((n + 2u) * sizeof **start);
    for (uint32_t i = 0; i < p->arcs.len; i++)
        (*start)[end_of(&p->arcs.at[i], callee) + 2]++;
    for (uint32_t f = 2; f < n + 2; f++)
        (*start)[f] += (*start)[f - 1];
    for (uint32_t i = 0; i < p->arcs.len; i++)
        (*arcs)[(*start)[end_of(&p->arcs.at[i], callee) + 1]++] = i;
}

/* ---- cycles: strongly connected parts, after Tarjan, without recursion ---- */

typedef struct Visit {
    uint32_t number, low; /* 0 = not yet seen */
    uint32_t next;        /* of outgoing */
    uint32_t from;        /* the caller from which the search came */
    bool on_stack;
} Visit;

typedef struct Search {
    Graph *g;
    Visit *at;
    uint32_t *stack, depth, count;
} Search;

/* The functions on the stack down to f are one component. */
static void graph_take_part(Search *s, uint32_t f) {
    bool single = s->stack[s->depth - 1] == f;
    uint32_t cycle = single ? 0 : ++s->g->ncycles, taken;
    do {
        taken = s->stack[--s->depth];
        s->at[taken].on_stack = false;
        s->g->funcs[taken].cycle = cycle;
    } while (taken != f);
}

static void graph_enter(Search *s, uint32_t f, uint32_t from) {
    s->at[f] = (Visit){++s->count, s->count, s->g->out_start[f], from, true};
    s->at[f].low = s->at[f].number;
    s->stack[s->depth++] = f;
}

static void lower(Visit *v, uint32_t number) {
    v->low = number < v->low ? number : v->low;
}

/* Whether the arc can be part of a cycle: it has time. */
static bool graph_is_followed(const Profile *p, const ProfileArc *arc) {
    return !p->timed || arc->ns;
}

static void search_from(Search *s, uint32_t root) {
    const Graph *g = s->g;
    graph_enter(s, root, root);
    for (uint32_t f = root;;) {
        Visit *v = &s->at[f];
        if (v->next < g->out_start[f + 1]) {
            const ProfileArc *arc = &g->p->arcs.at[g->outgoing[v->next++]];
            uint32_t callee = arc->callee;
            if (!graph_is_followed(g->p, arc))
                continue;
            if (!s->at[callee].number) {
                graph_enter(s, callee, f);
                f = callee;
            } else if (s->at[callee].on_stack) {
                lower(v, s->at[callee].number);
            }
            continue;
        }
        if (v->low == v->number)
            graph_take_part(s, f);
        if (f == root)
            return;
        lower(&s->at[v->from], v->low);
        f = v->from;
    }
}

static void find_cycles(Graph *g) {
    uint32_t n = g->p->funcs.len;
    Search s = {.g = g};
    s.at = mem_zalloc((n + 1u) * sizeof *s.at);
    s.stack = mem_zalloc((n + 1u) * sizeof *s.stack);
    for (uint32_t f = 0; f < n; f++)
        if (!s.at[f].number)
            search_from(&s, f);
    free(s.at);
    free(s.stack);
}

bool graph_is_inner(const Graph *g, const ProfileArc *arc) {
    assert(arc->caller < g->p->funcs.len && arc->callee < g->p->funcs.len);
    uint32_t a = g->funcs[arc->caller].cycle, b = g->funcs[arc->callee].cycle;
    return arc->caller == arc->callee || (a && a == b);
}

/* ---- times ---- */

static void graph_compute(Graph *g) {
    const Profile *p = g->p;
    typedef struct Flow {
        int64_t in, out; /* from and to other functions */
        bool called;     /* by one of them */
    } Flow;
    Flow *flows = mem_zalloc((p->funcs.len + 1u) * sizeof *flows);
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *a = &p->arcs.at[i];
        GraphFunc *callee = &g->funcs[a->callee], *caller = &g->funcs[a->caller];
        bool inner = graph_is_inner(g, a);
        if (a->caller != a->callee) {
            Flow *to = &flows[a->callee], *from = &flows[a->caller];
            to->in = profile_add_ns(to->in, a->ns);
            from->out = profile_add_ns(from->out, a->ns);
            to->called = true;
        }
        g->calls = capped_add(g->calls, a->calls);
        uint64_t *calls = a->caller == a->callee ? &callee->self_calls : &callee->calls;
        *calls = capped_add(*calls, a->calls);
        if (!inner)
            caller->children = profile_add_ns(caller->children, a->ns);
        if (!callee->cycle)
            continue;
        GraphCycle *c = &g->cycles[callee->cycle - 1];
        calls = inner ? &c->inner_calls : &c->calls;
        *calls = capped_add(*calls, a->calls);
    }
    for (uint32_t f = 0; f < p->funcs.len; f++) {
        GraphFunc *func = &g->funcs[f];
        func->self = flows[f].called ? profile_sub_ns(flows[f].in, flows[f].out) : 0;
        if (func->self < 0 && p->calibrated) /* as in profile.c */
            func->self = 0;
        func->total = profile_add_ns(func->self, func->children);
        g->self = profile_add_ns(g->self, func->self);
        if (!func->cycle)
            continue;
        GraphCycle *c = &g->cycles[func->cycle - 1];
        c->self = profile_add_ns(c->self, func->self);
        c->children = profile_add_ns(c->children, func->children);
    }
    free(flows);
}

/* The sort key of functions. */
typedef struct Rank {
    int64_t total;
    uint64_t calls;
    uint32_t func, module, id;
} Rank;

static int compare_ranks(const void *pa, const void *pb) {
    const Rank *a = pa, *b = pb;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void put_in_order(Graph *g) {
    const Profile *p = g->p;
    Rank *ranks = mem_alloc((p->funcs.len + 1u) * sizeof *ranks);
    g->order = mem_alloc((p->funcs.len + 1u) * sizeof *g->order);
    for (uint32_t f = 0; f < p->funcs.len; f++) {
        const GraphFunc *func = &g->funcs[f];
        if (p->funcs.at[f].outside && g->in_start[f] == g->in_start[f + 1])
            continue;
        uint64_t calls = capped_add(func->calls, func->self_calls);
        ranks[g->norder++] =
            (Rank){func->total, calls, f, p->funcs.at[f].module, p->funcs.at[f].id};
    }
    qsort(ranks, g->norder, sizeof *ranks, compare_ranks);
    for (uint32_t i = 0; i < g->norder; i++) {
        g->order[i] = ranks[i].func;
        g->funcs[ranks[i].func].index = i + 1;
    }
    free(ranks);
}

void graph_make(Graph *g, const Profile *p) {
    assert(profile_check(p));
    memset(g, 0, sizeof *g);
    g->p = p;
    g->funcs = mem_zalloc((p->funcs.len + 1u) * sizeof *g->funcs);
    sort_arcs(p, false, &g->outgoing, &g->out_start);
    sort_arcs(p, true, &g->incoming, &g->in_start);
    find_cycles(g);
    g->cycles = mem_zalloc((g->ncycles + 1u) * sizeof *g->cycles);
    graph_compute(g);
    put_in_order(g);
}

void graph_free(Graph *g) {
    free(g->funcs);
    free(g->cycles);
    free(g->outgoing);
    free(g->out_start);
    free(g->incoming);
    free(g->in_start);
    free(g->order);
    memset(g, 0, sizeof *g);
}
