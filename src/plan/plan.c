/*
 * plan/plan.c - what a plan says of its variables, functions and actions.
 */
#include "plan/plan.h"

#include <assert.h>

uint32_t plan_var_id(const Plan *plan, const Variant *v, const Var *var) {
    const Variant *owner = var->storage == STORAGE_SCRIPT ? plan->scopes.at[v->script] : v;
    return owner->vars[var->index];
}

bool plan_takes_numbers(const Plan *plan) {
    static const char *const names[] = {"print_map", "create_", "insert_", "get_"};
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        const BundledFn *f = plan->library_fns.at[i].bundled;
        for (uint32_t k = 0; f && strcmp(f->library, "whamm_core") == 0 && k < 4; k++)
            if (strncmp(f->name, names[k], strlen(names[k])) == 0)
                return true;
    }
    return false;
}

/* Whether a script calls one of these functions of a bundled library at run time. */
static bool runs_any(const Plan *plan, uint32_t script, const char *library,
                     const char *const *names) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        const LibraryFn *f = &plan->library_fns.at[i];
        bool there = f->script == script && f->runs && f->bundled &&
                     strcmp(f->bundled->library, library) == 0;
        for (const char *const *name = names; there && *name; name++)
            if (str_is(f->name, *name))
                return true;
    }
    return false;
}

bool plan_measures_times(const Plan *plan) {
    static const char *const clocks[] = {"now_ns", "now_ms", NULL};
    static const char *const samplers[] = {"sample", "every", NULL};
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        if (runs_any(plan, i, "time", clocks) && !runs_any(plan, i, "stack", samplers))
            return true;
    return false;
}

void plan_each_body(Plan *plan, OnBody *on, void *ctx) {
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        Script *s = plan->scripts.at[i];
        on(plan, plan->scopes.at[i], NULL, &s->init, ctx);
        for (uint32_t k = 0; k < s->fns.len; k++)
            on(plan, plan->scopes.at[i], NULL, &s->fns.at[k]->body, ctx);
    }
    for (uint32_t i = 0; i < plan->variants.len; i++) {
        Variant *v = plan->variants.at[i];
        if (v->vars) /* it was checked */
            on(plan, v, v->probe->predicate, &v->probe->body, ctx);
    }
}

uint32_t plan_fn_id(const Plan *plan, const Variant *v, const Fn *fn) {
    uint32_t id = plan->first_fn.at[v->script] + fn->index;
    assert(plan->fns.at[id].fn == fn);
    return id;
}

void action_text(const Plan *plan, const Action *a, Buf *out) {
    Event e = a->event;
    if (e.kind == EVENT_OPCODE && e.op == WASM_OP_TYPED_SELECT &&
        rule_means_select(&plan->probes.at[a->variant->source].probe->rule, e.op))
        e.op = WASM_OP_SELECT;
    buf_printf(out, "%u_", a->number);
    event_text(out, e, true);
}
