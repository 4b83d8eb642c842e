/*
 * format/dot.c - a call graph for Graphviz: the larger the share of the time (or of the calls), the
 * wider and redder.
 */
#include "base/escape.h"
#include "format/format.h"
#include "profile/graph.h"

#include <inttypes.h>

static double dot_share(double part, double whole) {
    double s = whole > 0 && part > 0 ? part / whole : 0;
    return s > 1 ? 1 : s;
}

/* Text in a string of the language dot; a line feed is "\n" there. */
static void dot_put_text(Str s, Buf *out) {
    Buf text = {0};
    escape_xml(&text, s);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\')
            buf_u8(out, '\\');
        buf_u8(out, text.data[i]);
    }
    buf_free(&text);
}

/* From pale yellow to red. */
static void dot_put_colour(double part, Buf *out) {
    buf_printf(out, "\"%.3f %.3f 1.000\"", 0.167 * (1 - part), 0.1 + 0.7 * part);
}

static double weight_of(const Graph *g, uint32_t f) {
    const GraphFunc *func = &g->funcs[f];
    return g->p->timed ? (double)func->total : (double)capped_add(func->calls, func->self_calls);
}

static void dot_put_func(const Graph *g, uint32_t f, double whole, Buf *out) {
    const GraphFunc *func = &g->funcs[f];
    double part = dot_share(weight_of(g, f), whole);
    buf_printf(out, "  f%u [label=\"", f);
    dot_put_text(g->p->funcs.at[f].name, out);
    if (g->p->timed)
        buf_printf(out, "\\n%.1f%% (self %.1f%%)", 100 * part,
                   100 * dot_share((double)func->self, whole));
    uint64_t calls = capped_add(func->calls, func->self_calls);
    buf_printf(out, "\\n%" PRIu64 " %s%s\", fontsize=%.1f, fillcolor=", calls,
               g->p->sampled ? "sample" : "call", calls == 1 ? "" : "s", 10 + 10 * part);
    dot_put_colour(part, out);
    buf_str(out, STR("];\n"));
}

static void dot_put_arc(const Graph *g, const ProfileArc *arc, double whole, Buf *out) {
    double part = dot_share(g->p->timed ? (double)arc->ns : (double)arc->calls, whole);
    buf_printf(out, "  f%u -> f%u [label=\"", arc->caller, arc->callee);
    if (g->p->timed)
        buf_printf(out, "%.1f%%\\n", 100 * part);
    buf_printf(out, "%" PRIu64 "\", penwidth=%.2f, weight=%u];\n", arc->calls, 0.5 + 5 * part,
               1 + (uint32_t)(99 * part));
}

/* Whether a function is among the first `top`; callers outside the program are shown with their
 * callees. */
static bool dot_is_shown(const Graph *g, uint32_t f, uint32_t top) {
    return !top || g->funcs[f].index <= top;
}

void format_dot(const ProfileView *v, Buf *out) {
    const Profile *p = v->p;
    uint32_t top = v->top;
    Graph g;
    graph_make(&g, p);
    double whole = p->timed ? (double)g.self : (double)g.calls;
    buf_str(out, STR("digraph calls {\n"
                     "  node [shape=box, style=filled, fontname=\"Helvetica\"];\n"
                     "  edge [fontname=\"Helvetica\", fontsize=9];\n"));
    for (uint32_t i = 0; i < g.norder && dot_is_shown(&g, g.order[i], top); i++)
        dot_put_func(&g, g.order[i], whole, out);
    for (uint32_t f = 0; f < p->funcs.len; f++) {
        if (g.funcs[f].index)
            continue;
        buf_printf(out, "  f%u [label=\"", f);
        dot_put_text(p->funcs.at[f].name, out);
        buf_str(out, STR("\", shape=plaintext, style=\"\"];\n"));
    }
    for (uint32_t i = 0; i < p->arcs.len; i++)
        if (dot_is_shown(&g, p->arcs.at[i].caller, top) &&
            dot_is_shown(&g, p->arcs.at[i].callee, top))
            dot_put_arc(&g, &p->arcs.at[i], whole, out);
    buf_str(out, STR("}\n"));
    graph_free(&g);
}
