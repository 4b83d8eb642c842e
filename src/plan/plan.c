/*
 * plan/plan.c - what a plan says of its variables, functions and actions.
 */
#include "plan/plan.h"

#include <assert.h>

uint32_t plan_var_id(const Plan *plan, const Variant *v, const Var *var) {
    const Variant *owner = var->storage == STORAGE_SCRIPT ? plan->scopes.at[v->script] : v;
    return owner->vars[var->index];
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
