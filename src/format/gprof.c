/*
 * format/gprof.c - a flat profile and a call graph, as gprof prints them. profile/graph.h defines
 * the numbers.
 */
#include "base/escape.h"
#include "format/format.h"
#include "profile/graph.h"

#include <inttypes.h>
#include <stdio.h>

static double ms(int64_t ns) {
    return (double)ns / 1e6;
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

/* The function's name and its number in the graph. */
static void gprof_put_name(const Graph *g, uint32_t f, Buf *out) {
    escape_shown(out, g->p->funcs.at[f].name);
    if (g->funcs[f].cycle)
        buf_printf(out, " <cycle %u>", g->funcs[f].cycle);
    if (g->funcs[f].index)
        buf_printf(out, " [%u]", g->funcs[f].index);
    buf_u8(out, '\n');
}

static uint32_t gprof_shown(const Graph *g, uint32_t top) {
    return top && top < g->norder ? top : g->norder;
}

static void gprof_put_rest(const Graph *g, uint32_t top, Buf *out) {
    uint32_t rest = g->norder - gprof_shown(g, top);
    if (rest)
        buf_printf(out, "and %u more function%s\n", rest, rest == 1 ? "" : "s");
}

/* ---- the flat profile ---- */

typedef struct Flat {
    int64_t self;
    uint64_t calls;
    uint32_t func, index;
} Flat;

static int compare_flat(const void *pa, const void *pb) {
    const Flat *a = pa, *b = pb;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void flat_row(const Graph *g, const Flat *row, int64_t sum, Buf *out) {
    const GraphFunc *f = &g->funcs[row->func];
    if (!g->p->timed) {
        buf_printf(out, "%6.2f %12" PRIu64 "  ", percent((double)row->calls, (double)g->calls),
                   row->calls);
    } else {
        buf_printf(out, "%6.2f %12.2f %12.2f %12.2f %12" PRIu64,
                   percent((double)f->self, (double)g->self), ms(sum), ms(f->self), ms(f->total),
                   row->calls);
        if (row->calls)
            buf_printf(out, " %11.4f", ms(f->self) / (double)row->calls);
        else
            buf_printf(out, " %11s", "");
        /* The time of a recursive function's inner calls is part of the outer calls' time. */
        if (f->calls)
            buf_printf(out, " %11.4f  ", ms(f->total) / (double)f->calls);
        else
            buf_printf(out, " %11s  ", "");
    }
    gprof_put_name(g, row->func, out);
}

/* Which functions were only counted. */
static void put_untimed(const Graph *g, Buf *out) {
    bool any = false;
    for (uint32_t i = 0; i < g->norder; i++) {
        const ProfileFunc *f = &g->p->funcs.at[g->order[i]];
        if (!f->untimed)
            continue;
        buf_str(out, any ? STR(", ") : STR("\nnot timed, in self of their callers: "));
        escape_shown(out, f->name);
        any = true;
    }
    if (any)
        buf_u8(out, '\n');
}

/* A function with less time than its callees: the report has wrong times, or lacks some. */
static void gprof_put_missing(const Graph *g, Buf *out) {
    uint32_t n = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->norder; i++) {
        int64_t self = g->funcs[g->order[i]].self;
        n += self < 0;
        sum = profile_add_ns(sum, self < 0 ? self : 0);
    }
    if (n)
        buf_printf(out,
                   "\nThe times do not add up: %u function%s less time than what %s called, "
                   "%.2f ms in all\n",
                   n, n == 1 ? " has" : "s have", n == 1 ? "it" : "they", ms(sum));
}

/* Says that measuring time was subtracted. */
static void put_calibrated(const Graph *g, Buf *out) {
    if (g->p->calibrated)
        buf_printf(out,
                   "\ncalibrated: %.2f ms of measuring overhead were subtracted from these times\n",
                   (double)g->p->calibrated / 1e6);
}

/* The columns of a profile of samples: time is estimated, calls may have been counted. */
static void sampled_row(const Graph *g, const Flat *row, int64_t sum, Buf *out) {
    const GraphFunc *f = &g->funcs[row->func];
    uint64_t called = g->p->funcs.at[row->func].called;
    buf_printf(out, "%6.2f %12.2f %12.2f %12.2f %12" PRIu64,
               percent((double)f->self, (double)g->self), ms(sum), ms(f->self), ms(f->total),
               row->calls);
    if (g->p->counted && called)
        buf_printf(out, " %12" PRIu64, called);
    else if (g->p->counted) /* an imported function */
        buf_printf(out, " %12s", "");
    buf_str(out, STR("  "));
    gprof_put_name(g, row->func, out);
}

enum { FEW_SAMPLES = 50 }; /* with which a share may be wrong by 7 % of the whole, and more */

static void sampled_head(const Graph *g, Buf *out) {
    buf_printf(out, "Sampled profile: %.2f ms in all, %" PRIu64 " samples\n\n", ms(g->self),
               g->calls);
    if (g->calls < FEW_SAMPLES)
        buf_str(out, STR("There are few samples, so the shares are rough: sample more often "
                         "(--interval=100us), or\n"
                         "measure each call (--style=tree).\n\n"));
    buf_printf(out,
               "     %%   cumulative         self        total\n"
               "  time           ms           ms           ms      samples%s  name\n",
               g->p->counted ? "       called" : "");
}

static void flat_profile(const Graph *g, uint32_t top, Buf *out) {
    Flat *rows = mem_alloc((g->norder + 1u) * sizeof *rows);
    for (uint32_t i = 0; i < g->norder; i++) {
        const GraphFunc *f = &g->funcs[g->order[i]];
        rows[i] = (Flat){f->self, capped_add(f->calls, f->self_calls), g->order[i], i};
    }
    qsort(rows, g->norder, sizeof *rows, compare_flat);
    if (g->p->sampled)
        sampled_head(g, out);
    else if (g->p->timed)
        buf_printf(out,
                   "Flat profile: %.2f ms in all\n\n"
                   "     %%   cumulative         self        total                    self"
                   "       total\n"
                   "  time           ms           ms           ms       called     ms/call"
                   "     ms/call  name\n",
                   ms(g->self));
    else
        buf_printf(out,
                   "Flat profile: %" PRIu64 " calls in all; the report has no times\n\n"
                   "     %%       called  name\n",
                   g->calls);
    int64_t sum = 0;
    for (uint32_t i = 0; i < gprof_shown(g, top); i++) {
        sum = profile_add_ns(sum, rows[i].self);
        (g->p->sampled ? sampled_row : flat_row)(g, &rows[i], sum, out);
    }
    gprof_put_rest(g, top, out);
    gprof_put_missing(g, out);
    put_calibrated(g, out);
    put_untimed(g, out);
    free(rows);
}

/* ---- the call graph ---- */

/* The columns before the name of a caller or callee. */
static void gprof_put_arc(const Graph *g, const ProfileArc *arc, bool is_caller, Buf *out) {
    const GraphFunc *callee = &g->funcs[arc->callee];
    bool inner = graph_is_inner(g, arc);
    char called[48];
    uint64_t all = callee->cycle ? g->cycles[callee->cycle - 1].calls : callee->calls;
    if (inner)
        snprintf(called, sizeof called, "%" PRIu64, arc->calls);
    else
        snprintf(called, sizeof called, "%" PRIu64 "/%" PRIu64, arc->calls, all);
    if (g->p->timed && !inner) {
        /* The time of this arc: its share by the calls of the callee or its cycle. */
        const GraphCycle *c = callee->cycle ? &g->cycles[callee->cycle - 1] : NULL;
        double part = (double)(c ? c->self : callee->self);
        double total = part + (double)(c ? c->children : callee->children);
        double self = part > 0 && part < total ? part / total : part > 0;
        /* + 0.0: no "-0.00". */
        buf_printf(out, "%13s %12.2f %12.2f", "", ms(arc->ns) * self + 0.0,
                   ms(arc->ns) * (1 - self) + 0.0);
    } else if (g->p->timed) {
        buf_printf(out, "%13s %12s %12s", "", "", "");
    } else {
        buf_printf(out, "%13s", "");
    }
    buf_printf(out, " %20s      ", called);
    gprof_put_name(g, is_caller ? arc->caller : arc->callee, out);
}

static int compare_arcs(const void *pa, const void *pb) {
    const ProfileArc *a = *(const ProfileArc *const *)pa, *b = *(const ProfileArc *const *)pb;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Arcs other than to itself: before the function the largest last, after it the largest first. */
static void put_arcs(const Graph *g, const uint32_t *arcs, uint32_t n, bool callers, Buf *out) {
    Vec(const ProfileArc *) sorted = {0};
    for (uint32_t i = 0; i < n; i++) {
        const ProfileArc *arc = &g->p->arcs.at[arcs[i]];
        if (arc->caller != arc->callee)
            vec_push(&sorted, arc);
    }
    if (sorted.len)
        qsort(sorted.at, sorted.len, sizeof *sorted.at, compare_arcs);
    for (uint32_t i = 0; i < sorted.len; i++)
        gprof_put_arc(g, sorted.at[callers ? sorted.len - 1 - i : i], callers, out);
    if (callers && !sorted.len)
        buf_printf(out, "%*s<spontaneous>\n", g->p->timed ? 66 : 40, "");
    vec_free(&sorted);
}

static void put_primary(const Graph *g, uint32_t f, Buf *out) {
    const GraphFunc *func = &g->funcs[f];
    char index[16], called[48];
    snprintf(index, sizeof index, "[%u]", func->index);
    int n = snprintf(called, sizeof called, "%" PRIu64, func->calls);
    if (func->self_calls)
        snprintf(called + n, sizeof called - (size_t)n, "+%" PRIu64, func->self_calls);
    if (g->p->timed)
        buf_printf(out, "%-6s %6.1f %12.2f %12.2f %20s  ", index,
                   percent((double)func->total, (double)g->self), ms(func->self),
                   ms(func->children), called);
    else
        buf_printf(out, "%-13s %20s  ", index, called);
    gprof_put_name(g, f, out);
}

static void gprof_put_line(const Graph *g, Buf *out) {
    uint32_t n = g->p->timed ? 80 : 54;
    while (n--)
        buf_u8(out, '-');
    buf_u8(out, '\n');
}

static void put_cycle(const Graph *g, uint32_t number, Buf *out) {
    const GraphCycle *c = &g->cycles[number - 1];
    char called[48];
    snprintf(called, sizeof called, "%" PRIu64 "+%" PRIu64, c->calls, c->inner_calls);
    if (g->p->timed)
        buf_printf(out, "%-6s %6.1f %12.2f %12.2f %20s  ", "",
                   percent((double)profile_add_ns(c->self, c->children), (double)g->self),
                   ms(c->self), ms(c->children), called);
    else
        buf_printf(out, "%-13s %20s  ", "", called);
    buf_printf(out, "<cycle %u as a whole>\n", number);
}

/* The members of all cycles, by cycle. */
static void put_cycles(const Graph *g, Buf *out) {
    Vec(uint32_t) members = {0};
    uint32_t *start = mem_zalloc((g->ncycles + 2u) * sizeof *start);
    for (uint32_t i = 0; i < g->norder; i++)
        start[g->funcs[g->order[i]].cycle + 1]++;
    for (uint32_t c = 1; c < g->ncycles + 2; c++)
        start[c] += start[c - 1];
    vec_reserve(&members, g->norder + 1);
    members.len = g->norder;
    for (uint32_t i = 0; i < g->norder; i++)
        members.at[start[g->funcs[g->order[i]].cycle]++] = g->order[i];
    for (uint32_t c = 1; c <= g->ncycles; c++) {
        put_cycle(g, c, out);
        for (uint32_t i = start[c - 1]; i < start[c]; i++) {
            buf_printf(out, "%*s", g->p->timed ? 66 : 40, "");
            gprof_put_name(g, members.at[i], out);
        }
        gprof_put_line(g, out);
    }
    vec_free(&members);
    free(start);
}

static void call_graph(const Graph *g, uint32_t top, Buf *out) {
    buf_str(out, STR("\nCall graph\n\n"));
    if (g->p->timed)
        buf_printf(out, "index  %% time      self ms  children ms %20s  name\n",
                   g->p->sampled ? "samples" : "called");
    else
        buf_str(out, STR("index                       called  name\n"));
    gprof_put_line(g, out);
    for (uint32_t i = 0; i < gprof_shown(g, top); i++) {
        uint32_t f = g->order[i];
        put_arcs(g, g->incoming + g->in_start[f], g->in_start[f + 1] - g->in_start[f], true, out);
        put_primary(g, f, out);
        put_arcs(g, g->outgoing + g->out_start[f], g->out_start[f + 1] - g->out_start[f], false,
                 out);
        gprof_put_line(g, out);
    }
    put_cycles(g, out);
    gprof_put_rest(g, top, out);
}

void format_flat(const ProfileView *v, Buf *out) {
    Graph g;
    graph_make(&g, v->p);
    flat_profile(&g, v->top, out);
    graph_free(&g);
}

void format_gprof(const ProfileView *v, Buf *out) {
    Graph g;
    graph_make(&g, v->p);
    flat_profile(&g, v->top, out);
    call_graph(&g, v->top, out);
    graph_free(&g);
}
