/*
 * profile/stacks.c - converts a report to weighted stacks.
 */
#include "profile/stacks.h"

#include "locations/section.h"
#include "profile/stacks_builder.h"

#include <assert.h>

/* The report being read, and its functions. */
typedef struct Reading {
    Builder *b;
    Stacks *s;
    const StacksSource *from;
    const StacksPart *part;
    Profile tree, arcs;
    Profile sites; /* only its functions are used */
    StacksProblem *why;
    bool any;   /* there is something to show */
    bool first; /* no module before it has a tree or calls */
} Reading;

static int64_t capped(uint64_t n) {
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* ---- numbers ---- */

/* Adds a value to a node. The values of a node are adjacent: most nodes get them at once; if a node
 * gets more later, they are moved to the end. */
static void add_number(Stacks *s, uint32_t node, uint32_t value, int64_t n) {
    StacksNode *to = &s->nodes.at[node];
    for (uint32_t i = to->first; i < to->first + to->count; i++)
        if (s->numbers.at[i].value == value) {
            s->numbers.at[i].n = profile_add_ns(s->numbers.at[i].n, n);
            return;
        }
    if (to->first + to->count != s->numbers.len) {
        vec_reserve(&s->numbers, to->count + 1);
        memcpy(s->numbers.at + s->numbers.len, s->numbers.at + to->first,
               to->count * sizeof *s->numbers.at);
        to->first = s->numbers.len;
        s->numbers.len += to->count;
    }
    vec_push(&s->numbers, ((StacksNumber){value, n}));
    to->count++;
}

/* A child of a node; nodes that would be too deep are merged into the parent. */
static uint32_t node_below(Reading *x, uint32_t parent, uint32_t place) {
    if (parent != STACKS_NONE && x->s->nodes.at[parent].depth == STACKS_DEPTH - 1)
        return parent;
    const StacksSource *from = x->from;
    return builder_node(x->b, parent, place, from->labels, from->nlabels);
}

/* ---- call trees ---- */

/* The stacks of a tree: for each node, the node where it is a leaf, and the location of its call.
 * */
static void stacks_add_tree(Reading *x) {
    const Profile *p = &x->tree;
    Stacks *s = x->s;
    uint32_t *calls = mem_alloc((p->nodes.len + 1u) * sizeof *calls); /* where each was called */
    uint32_t *columns = mem_alloc((p->values.len + 1u) * sizeof *columns);
    for (uint32_t i = 0; i < p->values.len; i++)
        columns[i] = builder_value(x->b, p->values.at[i].name, p->values.at[i].unit);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        calls[i] = STACKS_NONE;
        if (n->parent != PROFILE_NONE) {
            uint32_t caller = p->nodes.at[n->parent].func;
            uint32_t place = n->pc == PROFILE_NONE ? builder_call_place(x->b, caller, n->func)
                                                   : builder_place(x->b, caller, n->pc);
            calls[i] = node_below(x, calls[n->parent], place);
        }
        uint32_t leaf = node_below(x, calls[i], builder_place(x->b, n->func, PROFILE_NONE));
        for (uint32_t k = 0; k < p->values.len; k++) {
            int64_t v = p->numbers.at[n->first + k];
            add_number(s, leaf, columns[k], p->values.at[k].is_unsigned ? capped((uint64_t)v) : v);
        }
    }
    if (p->values.len && x->first)
        s->shown = columns[p->values.len - 1];
    if (p->timed && capped(p->total) > s->duration)
        s->duration = capped(p->total);
    free(calls);
    free(columns);
}

/* ---- calls ---- */

/* Times of a function, while they are divided among its callers. */
typedef struct Times {
    int64_t self; /* self time not yet attributed to callers */
    int64_t in;   /* time of the arcs from other functions that have not got their share */
} Times;

/* Subtracts the calls from functions of this module into another one, which has counted them. */
static void subtract_crossings(const Profile *p, const ProfileModule *own,
                               const ProfileModule *other, Times *times) {
    Profile theirs = {0};
    bool ok = profile_fits(other->report, false, NULL) &&
              profile_read_arcs(&theirs, other->report, (ProfileVariables){0});
    Map known = {0};
    for (uint32_t i = 0; i < p->funcs.len; i++)
        map_put(&known, (Str){(const char *)&p->funcs.at[i].id, sizeof(uint32_t)}, i, NULL);
    for (uint32_t i = 0; ok && i < theirs.arcs.len; i++) {
        const ProfileHome *home = &theirs.funcs.at[theirs.arcs.at[i].caller].home;
        if (home->module_id != own->module_id)
            continue;
        const uint64_t *at = map_get(&known, (Str){(const char *)&home->func, sizeof(uint32_t)});
        if (at)
            times[*at].self = profile_sub_ns(times[*at].self, theirs.arcs.at[i].ns);
    }
    map_free(&known);
    profile_free(&theirs);
}

/* The same for all other modules, in the same thread. */
static void subtract_all(const Reading *x, Times *times) {
    const ProfileHomes *homes = x->from->homes;
    const ProfileModule *own = NULL;
    for (uint32_t i = 0; homes && i < homes->all.len; i++)
        if (homes->all.at[i].report == x->part->report)
            own = &homes->all.at[i];
    for (uint32_t i = 0; own && own->module_id && i < homes->all.len; i++) {
        const ProfileModule *other = &homes->all.at[i];
        if (other->module_id && other->module_id != own->module_id &&
            str_eq(other->thread, own->thread))
            subtract_crossings(&x->arcs, own, other, times);
    }
}

static Times *times_of(const Reading *x) {
    const Profile *p = &x->arcs;
    Times *times = mem_zalloc((p->funcs.len + 1u) * sizeof *times);
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *a = &p->arcs.at[i];
        Times *callee = &times[a->callee];
        callee->self = profile_add_ns(callee->self, a->ns);
        if (!p->funcs.at[a->caller].outside)
            times[a->caller].self = profile_sub_ns(times[a->caller].self, a->ns);
        if (a->caller != a->callee && a->ns > 0)
            callee->in = profile_add_ns(callee->in, a->ns);
    }
    if (p->timed)
        subtract_all(x, times);
    for (uint32_t i = 0; i < p->funcs.len; i++)
        if (p->calibrated && times[i].self < 0) /* as in profile/graph.c */
            times[i].self = 0;
    return times;
}

/* The share of the callee's self time that belongs to an arc, in proportion to the arc's time. The
 * last arc gets the remainder, so that nothing is lost. */
static int64_t stacks_take_part(Times *t, const ProfileArc *a) {
    if (a->caller == a->callee || a->ns <= 0 || t->in <= 0)
        return 0;
    double share = (double)a->ns / (double)t->in;
    int64_t part = a->ns >= t->in ? t->self : (int64_t)((double)t->self * share);
    t->self = profile_sub_ns(t->self, part);
    t->in = profile_sub_ns(t->in, a->ns);
    return part;
}

static void stacks_add_arc(Reading *x, const ProfileArc *a, Times *times,
                           const uint32_t columns[3]) {
    const Profile *p = &x->arcs;
    Stacks *s = x->s;
    bool outside = p->funcs.at[a->caller].outside;
    uint32_t caller = STACKS_NONE;
    if (!outside)
        caller = node_below(x, STACKS_NONE, builder_call_place(x->b, a->caller, a->callee));
    uint32_t callee = node_below(x, caller, builder_place(x->b, a->callee, PROFILE_NONE));
    add_number(s, callee, columns[0], capped(a->calls));
    if (!p->timed)
        return;
    add_number(s, callee, columns[1], stacks_take_part(&times[a->callee], a));
    add_number(s, callee, columns[2], a->ns);
    if (outside)
        s->duration = profile_add_ns(s->duration, a->ns);
}

static void add_arcs(Reading *x) {
    const Profile *p = &x->arcs;
    Times *times = times_of(x);
    uint32_t columns[3] = {builder_value(x->b, STR("calls"), STR("count"))};
    if (p->timed) {
        columns[1] = builder_value(x->b, STR("time"), STR("nanoseconds"));
        columns[2] = builder_value(x->b, STR("total"), STR("nanoseconds"));
        x->s->values.at[columns[2]].inclusive = true;
    }
    for (uint32_t i = 0; i < p->arcs.len; i++)
        stacks_add_arc(x, &p->arcs.at[i], times, columns);
    if (!x->tree.values.len && x->first)
        x->s->shown = columns[p->timed];
    free(times);
}

/* ---- counters at sites ---- */

static bool has_number(const ReportRow *row) {
    return row->class != REPORT_CLASS_TEXT;
}

static int64_t stacks_number_of(const ReportRow *row) {
    static const double most = 9223372036854775808.0;
    switch ((ReportClass)row->class) {
    case REPORT_CLASS_SIGNED: return row->number.i;
    case REPORT_CLASS_REAL: {
        double real = row->number.real;
        if (real != real)
            return 0;
        return real >= most    ? INT64_MAX
               : real <= -most ? INT64_MIN
                               : (int64_t)(real < 0 ? real - 0.5 : real + 0.5);
    }
    default: return capped(row->number.u);
    }
}

static bool stacks_is_wanted(const StacksSource *from, Str name) {
    for (uint32_t i = 0; i < from->variables.count; i++)
        if (str_is(name, from->variables.names[i]))
            return true;
    return !from->variables.count;
}

static bool stacks_is_site(const StacksSource *from, const ReportRow *row) {
    return row->has_place && has_number(row) && !row->var->formula.ptr &&
           stacks_is_wanted(from, row->var->name);
}

/* The functions that have sites. */
static void find_sites(Reading *x) {
    const Report *r = x->part->report;
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (stacks_is_site(x->from, &r->rows.at[i])) {
            profile_func(&x->sites, r->rows.at[i].fid);
            x->any = true;
        }
}

static void stacks_add_site(Reading *x, const ReportRow *row) {
    enum { OWN = 2 };
    const StacksSource *from = x->from;
    uint32_t value = builder_value(x->b, row->var->name, profile_unit(row->var->name));
    if (!stacks_number_of(row)) /* as most sites have, in many programs */
        return;
    StacksLabel *labels = mem_alloc((from->nlabels + OWN) * sizeof *labels);
    uint32_t n = 0;
    labels[n++] = (StacksLabel){STR("script"), row->var->script};
    if (row->probe.len)
        labels[n++] = (StacksLabel){STR("probe"), row->probe};
    for (uint32_t i = 0; i < from->nlabels; i++)
        labels[n++] = from->labels[i];
    uint32_t func = profile_func(&x->sites, row->fid);
    uint32_t node = builder_node(x->b, STACKS_NONE, builder_row_place(x->b, func, row), labels, n);
    add_number(x->s, node, value, stacks_number_of(row));
    free(labels);
}

static void add_sites(Reading *x) {
    const Report *r = x->part->report;
    for (uint32_t i = 0; i < r->rows.len && x->s->values.len <= STACKS_VALUES; i++)
        if (stacks_is_site(x->from, &r->rows.at[i]))
            stacks_add_site(x, &r->rows.at[i]);
}

/* ---- the rest of the report ---- */

/* Whether a comment would say nothing: 0, false, an empty text; names of values are no news. */
static bool is_trivial(const ReportRow *row) {
    Str name = row->var->name;
    bool values = name.len > 7 && memcmp(name.ptr + name.len - 7, "_values", 7) == 0;
    return !row->value.len || values || str_is(name, "merge") ||
           (has_number(row) && row->class != REPORT_CLASS_REAL && !row->number.u) ||
           (row->class == REPORT_CLASS_REAL && row->number.real == 0);
}

static bool stacks_is_called(const ReportRow *row, const char *name) {
    return !row->has_place && str_is(row->var->name, name) && has_number(row);
}

/* Variables of scripts are comments: "script0: lost = 12"; `period` becomes the profile's. */
static void add_comments(Reading *x) {
    enum { LONGEST = 200 };
    const Report *r = x->part->report;
    Stacks *s = x->s;
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (stacks_is_called(row, "period"))
            s->period = stacks_number_of(row);
        bool text = str_is(row->var->type, "str");
        if (row->has_place || (!has_number(row) && !text) || is_trivial(row) ||
            row->value.len > LONGEST)
            continue;
        Str module = x->from->module ? *x->from->module : STR("");
        Str thread = x->part->thread ? *x->part->thread : STR("");
        vec_push(
            &s->comments,
            str_of(arena_printf(&s->arena, "%.*s%s%s%.*s%s%.*s: %.*s = %.*s", STR_ARG(module),
                                module.len ? ": " : "", thread.len ? "thread " : "",
                                STR_ARG(thread), thread.len ? ": " : "", STR_ARG(row->var->script),
                                STR_ARG(row->var->name), STR_ARG(row->value))));
    }
}

/* The build id that the linker has put into the program. */
static Str build_of(Stacks *s, const WasmModule *m) {
    Str id = section_find((Str){(const char *)m->bytes, (uint32_t)m->size}, "build_id");
    Buf hex = {0};
    for (uint32_t i = 1; i < id.len; i++) /* after its length */
        buf_printf(&hex, "%02x", (uint8_t)id.ptr[i]);
    Str build = {arena_strndup(&s->arena, buf_cstr(&hex), hex.len), (uint32_t)hex.len};
    buf_free(&hex);
    return build;
}

static void stacks_add_module(Stacks *s, const StacksSource *from) {
    const WasmModule *m = from->places->m;
    Str title = from->module ? *from->module : s->program;
    StacksModule *module = vec_add(&s->modules);
    module->program =
        (Str){arena_strndup(&s->arena, title.ptr ? title.ptr : "", title.len), title.len};
    if (m) {
        module->size = (uint32_t)m->size;
        module->build = build_of(s, m);
    }
}

bool stacks_have_addresses(const Stacks *s) {
    for (uint32_t i = 0; i < s->modules.len; i++)
        if (s->modules.at[i].size)
            return true;
    return false;
}

/* ---- reading ---- */

/* The names of variables that are trees, or calls; all of them if none is requested. */
static ProfileVariables stacks_pick(const Reading *x, bool tree, const char **names) {
    const StacksSource *from = x->from;
    ProfileVariables v = {.names = names};
    for (uint32_t i = 0; i < from->variables.count; i++)
        if (profile_fits(x->part->report, tree, from->variables.names[i]))
            names[v.count++] = from->variables.names[i];
    return v;
}

/* Reports a requested variable that cannot be shown. */
static const char *stacks_unfit(const Reading *x) {
    const StacksSource *from = x->from;
    const Report *r = x->part->report;
    for (uint32_t i = 0; i < from->variables.count; i++) {
        const char *name = from->variables.names[i];
        bool fits = profile_fits(r, true, name) || profile_fits(r, false, name);
        for (uint32_t k = 0; !fits && k < r->rows.len; k++)
            fits = stacks_is_site(from, &r->rows.at[k]) && str_is(r->rows.at[k].var->name, name);
        if (!fits)
            return name;
    }
    return NULL;
}

/* The tree and the calls of the report. */
static bool stacks_read_calls(Reading *x) {
    const StacksSource *from = x->from;
    const char **names = mem_alloc((from->variables.count + 1u) * sizeof *names);
    ProfileVariables trees = stacks_pick(x, true, names);
    bool all = !from->variables.count, ok = trees.count <= 1;
    if (!ok)
        x->why->text = "expected one variable with a call tree, found two";
    bool tree = ok && (all ? profile_fits(x->part->report, true, NULL) : trees.count > 0);
    if (tree)
        ok = profile_read_tree(&x->tree, x->part->report, trees);
    ProfileVariables arcs = stacks_pick(x, false, names);
    bool calls = ok && (all ? !tree && profile_fits(x->part->report, false, NULL) : arcs.count > 0);
    if (calls)
        ok = profile_read_arcs(&x->arcs, x->part->report, arcs);
    if (!ok && !x->why->text)
        x->why->text = x->tree.problem ? x->tree.problem : x->arcs.problem;
    x->any = tree || calls;
    free(names);
    return ok;
}

static void stacks_name(Reading *x, Profile *p) {
    profile_name(p, x->part->report, x->from->places, x->from->homes, x->from->demangled);
}

static void stacks_build(Reading *x) {
    Profile *const parts[] = {&x->tree, &x->arcs, &x->sites};
    static void (*const add[])(Reading *) = {stacks_add_tree, add_arcs, add_sites};
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i]->funcs.len && !parts[i]->values.len)
            continue;
        stacks_name(x, parts[i]);
        builder_use(x->b, parts[i]);
        add[i](x);
    }
    add_comments(x);
    x->s->located |= x->from->locator != NULL;
}

/* Adds the report of a module, in a thread; opens the builder if there is something. */
static bool stacks_read_part(Reading *x, bool *open) {
    const char *variable = stacks_unfit(x);
    bool ok = !variable && stacks_read_calls(x);
    if (variable)
        x->why->variable = variable;
    if (ok)
        find_sites(x);
    ok = ok && x->any;
    if (ok && !*open) {
        stacks_add_module(x->s, x->from);
        builder_open(x->b, x->s, x->from);
        *open = true;
    }
    if (ok) {
        builder_thread(x->b, x->part->thread);
        stacks_build(x);
    }
    profile_free(&x->tree);
    profile_free(&x->arcs);
    profile_free(&x->sites);
    return ok;
}

bool stacks_read(Stacks *s, const StacksSource *from, StacksProblem *why) {
    assert(from->nparts);
    Builder b = {0};
    bool open = false;
    for (uint32_t i = 0; i < from->nparts; i++) {
        Reading x = {.b = &b,
                     .s = s,
                     .from = from,
                     .part = &from->parts[i],
                     .why = why,
                     .first = !s->values.len};
        stacks_read_part(&x, &open);
    }
    if (open)
        builder_free(&b);
    if (open && s->values.len > STACKS_VALUES) {
        why->text = "it has numbers of more than 1,000 variables at sites; choose some by name";
        return false;
    }
    assert(stacks_check(s));
    return open;
}

void stacks_free(Stacks *s) {
    vec_free(&s->values);
    vec_free(&s->funcs);
    vec_free(&s->lines);
    vec_free(&s->places);
    vec_free(&s->nodes);
    vec_free(&s->numbers);
    vec_free(&s->labels);
    vec_free(&s->comments);
    vec_free(&s->modules);
    vec_free(&s->threads);
    arena_free(&s->arena);
    *s = (Stacks){0};
}

#ifndef NDEBUG
static void check_stacks_node(const Stacks *s, uint32_t i) {
    const StacksNode *n = &s->nodes.at[i];
    assert(n->place < s->places.len && (!s->threads.len || n->thread < s->threads.len));
    assert(n->first + n->count <= s->numbers.len && n->count <= s->values.len);
    assert(n->first_label + n->nlabels <= s->labels.len);
    assert(n->parent == STACKS_NONE
               ? !n->depth
               : n->parent < i && n->depth == s->nodes.at[n->parent].depth + 1);
}

bool stacks_check(const Stacks *s) {
    for (uint32_t i = 0; i < s->funcs.len; i++)
        assert(s->funcs.at[i].module < s->modules.len && s->funcs.at[i].name.len);
    for (uint32_t i = 0; i < s->lines.len; i++)
        assert(s->lines.at[i].func < s->funcs.len);
    for (uint32_t i = 0; i < s->places.len; i++) {
        const StacksPlace *p = &s->places.at[i];
        assert(p->module < s->modules.len && p->count && p->first + p->count <= s->lines.len);
    }
    for (uint32_t i = 0; i < s->numbers.len; i++)
        assert(s->numbers.at[i].value < s->values.len);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        check_stacks_node(s, i);
    return true;
}
#endif
