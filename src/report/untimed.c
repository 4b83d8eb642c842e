/*
 * report/untimed.c - functions whose calls were counted, but not timed.
 */
#include "report/untimed.h"
#include "lang/list.h"

/* Untimed functions that call each other pass on what they have until nothing is left; in circles
 * it becomes less each time. */
enum { ROUNDS_MAX = 64 };

static Str find_list(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (str_is(row->var->name, "not_timed") && str_is(row->var->type, "str"))
            return row->value;
    }
    return (Str){NULL, 0};
}

static void mark(Profile *p, Str text) {
    Arena arena = {0};
    NumberList list = {0};
    uint32_t wrong;
    if (!list_parse(&arena, text, &list, &wrong))
        for (uint32_t i = 0; i < p->funcs.len; i++)
            p->funcs.at[i].untimed = list_has(&list, p->funcs.at[i].id);
    arena_free(&arena);
}

/* What a function was called and the time in and out of it. */
typedef struct Flow {
    uint64_t calls, in, out;
} Flow;

/* The time in calls to and from each function; calls of itself do not count. */
static void measure(const Profile *p, Flow *flows) {
    memset(flows, 0, p->funcs.len * sizeof *flows);
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *a = &p->arcs.at[i];
        if (a->caller == a->callee)
            continue;
        Flow *to = &flows[a->callee], *from = &flows[a->caller];
        to->calls = profile_add(to->calls, a->calls);
        to->in = profile_add(to->in, a->ns);
        from->out = profile_add(from->out, a->ns);
    }
}

/* Gives each arc to an untimed function its part of what this has called; false if there is nothing
 * to give. */
static bool pass_on(Profile *p, const Flow *flows) {
    bool any = false;
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        ProfileArc *a = &p->arcs.at[i];
        const Flow *f = &flows[a->callee];
        if (!p->funcs.at[a->callee].untimed || a->caller == a->callee || f->out <= f->in ||
            !f->calls)
            continue;
        double part = (double)(f->out - f->in) * (double)a->calls / (double)f->calls;
        a->ns = profile_add(a->ns, (uint64_t)(part + 0.5));
        any |= part >= 1;
    }
    return any;
}

void untimed_settle(Profile *p, const Report *r) {
    p->untimed = find_list(r);
    mark(p, p->untimed);
    Flow *flows = mem_zalloc((p->funcs.len + 1u) * sizeof *flows);
    bool more = p->untimed.len > 0;
    for (uint32_t i = 0; more && i < ROUNDS_MAX; i++) {
        measure(p, flows);
        more = pass_on(p, flows);
    }
    free(flows);
}
