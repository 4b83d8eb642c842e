/*
 * flush/reach.c - finds the functions that the compiled code of a plan calls.
 */
#include "flush/reach.h"
#include "gen/template.h"

typedef struct Walk {
    const Plan *plan;
    Reach *reach;
    bool *libraries;    /* by index into Plan.library_fns */
    Vec(uint32_t) open; /* reached functions of scripts that were not visited */
} Walk;

static void reach_visit(Walk *w, const Template *t) {
    w->reach->values |= t && t->accesses;
    for (uint32_t i = 0; t && i < t->nholes; i++) {
        uint32_t n = t->holes[i].n;
        switch ((HoleKind)t->holes[i].kind) {
        case HOLE_HELPER:
            w->reach->helpers[n] = true;
            w->reach->values |= n != HELPER_FMOD && n != HELPER_NOW_NS;
            break;
        case HOLE_MEMORY: w->reach->values = true; break;
        case HOLE_STACK: w->reach->values |= n == STACK_SAMPLE || n == STACK_COLLECT; break;
        case HOLE_LIBRARY: w->libraries[n] = true; break;
        case HOLE_FLUSH: w->reach->flushes = true; break;
        case HOLE_THREAD: w->reach->thread = true; break;
        case HOLE_ATOMIC: atomics_note(&w->reach->atomics, w->plan, n); break;
        case HOLE_FN:
        case HOLE_KEEP:
            if (!w->reach->fns[n])
                vec_push(&w->open, n);
            w->reach->fns[n] = true;
            break;
        default: break;
        }
    }
}

/* Text goes out at the latest when the program ends. */
static void flush_text(bool *helpers) {
    for (uint32_t h = HELPER_PUTC; h < HELPER_FLUSH; h++)
        helpers[HELPER_FLUSH] |= helpers[h];
    helpers[HELPER_PRINT_FLUSH] |= helpers[HELPER_PRINT_END] || helpers[HELPER_PRINT_EXIT];
}

Reach reach_find(Plan *plan, const Template *const *init) {
    Reach reach = {.fns = arena_array(&plan->arena, bool, plan->fns.len + 1)};
    Walk w = {plan, &reach, arena_array(&plan->arena, bool, plan->library_fns.len + 1), {0}};
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        const Shape *s = plan->shapes.at[i];
        reach_visit(&w, s->template);
        reach_visit(&w, s->predicate);
        reach_visit(&w, s->init);
        reach_visit(&w, s->exit);
        reach.exits |= s->exit != NULL;
    }
    for (uint32_t i = 0; i < plan->probes.len; i++)
        reach_visit(&w, plan->probes.at[i].init);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        reach_visit(&w, init[i]);
        reach_visit(&w, plan->at_exit.code[i]);
        reach.exits |= plan->at_exit.code[i] != NULL;
    }
    while (w.open.len)
        reach_visit(&w, plan->fns.at[w.open.at[--w.open.len]].template);
    for (uint32_t i = 0; i < plan->library_fns.len; i++)
        if (!plan->library_fns.at[i].bundled ||
            bundled_kind(plan->library_fns.at[i].bundled) == BUNDLED_IMPORT)
            plan->library_fns.at[i].runs &= w.libraries[i];
    vec_free(&w.open);
    flush_text(reach.helpers);
    return reach;
}
