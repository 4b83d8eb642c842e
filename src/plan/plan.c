/*
 * plan/plan.c - queries on variables, functions and actions of a plan; its invariants.
 */
#include "plan/plan.h"

#include <assert.h>

uint32_t plan_var_id(const Plan *plan, const Variant *v, const Var *var) {
    assert(v->vars && v->script < plan->scopes.len);
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

static bool prints_any(const Plan *plan, const char *const *names) {
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        if (runs_any(plan, i, ".print", names))
            return true;
    return false;
}

bool plan_prints(const Plan *plan) {
    static const char *const ends[] = {"end", NULL};
    return prints_any(plan, ends);
}

/* Whether it assigns to a value of the program. */
static bool changes_values(const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->target && s->target->kind == EXPR_NAME && !s->target->var)
            return true;
        for (uint32_t i = 0; i < s->narms; i++)
            if (changes_values(&s->arms[i].body))
                return true;
    }
    return false;
}

bool plan_acts(const Plan *plan) {
    static const char *const ends[] = {"end", "exit", NULL};
    if (prints_any(plan, ends))
        return true;
    for (uint32_t i = 0; i < plan->variants.len; i++) {
        const Variant *v = plan->variants.at[i];
        if (v->vars && (v->alt.is || changes_values(&v->probe->body)))
            return true;
    }
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

#ifndef NDEBUG
static void plan_check_variant(const Plan *plan, const Variant *v) {
    assert(v->source < plan->probes.len && v->script == plan->probes.at[v->source].script);
    assert(v->probe && (!v->off || v->impossible));
    assert(v->atoms.len <= MAX_ATOMS);
    for (uint32_t i = 0; i < v->atoms.len; i++)
        assert(v->atoms.at[i]->slot == i + 1 && v->atoms.at[i]->type->kind == TYPE_BOOL);
    for (uint32_t i = 0; v->vars && i < v->probe->nvars; i++)
        assert(v->vars[i] == UINT32_MAX || v->vars[i] < plan->vars.len);
    for (uint32_t i = 0; i < v->keys.list.len; i++)
        assert(v->keys.list.at[i].map < plan->cells.maps.len);
}

static void plan_check_probe(const Plan *plan, uint32_t index) {
    const PlanProbe *p = &plan->probes.at[index];
    assert(p->script < plan->scripts.len && p->nvars <= plan->vars.len);
    assert(p->first_action + p->nactions <= plan->actions.len);
    for (uint32_t i = 0; i < p->nactions; i++)
        assert(plan->actions.at[p->first_action + i].variant->source == index);
    for (uint32_t i = 0; i < p->nvars; i++)
        assert(plan->vars.at[p->first_var + i].probe == index);
}

/* Each action is in the list of its event, in the order of the script. Returns their number. */
static uint32_t check_list(const Plan *plan, const ActionList *list, EventKind kind, int op) {
    for (uint32_t i = 0; i < list->len; i++) {
        assert(list->at[i] < plan->actions.len && (!i || list->at[i - 1] < list->at[i]));
        const Event *e = &plan->actions.at[list->at[i]].event;
        assert(e->kind == kind && (op < 0 || e->op == (WasmOp)op));
    }
    return list->len;
}

static void plan_check_vars(const Plan *plan) {
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const PlanVar *v = &plan->vars.at[i];
        assert(v->id == i && v->script < plan->scripts.len);
        assert((v->probe == UINT32_MAX) == (v->decl->storage == STORAGE_SCRIPT));
    }
    for (uint32_t i = 0; i < plan->cells.maps.len; i++) {
        const CellMap *m = &plan->cells.maps.at[i];
        assert(m->var < plan->vars.len && plan->vars.at[m->var].decl->type->kind == TYPE_MAP);
    }
}

bool plan_check(const Plan *plan) {
    uint32_t listed = 0, nops = WASM_OP_COUNT;
    assert(plan->scopes.len == plan->scripts.len && plan->first_fn.len == plan->scripts.len);
    plan_check_vars(plan);
    for (uint32_t i = 0; i < plan->probes.len; i++)
        plan_check_probe(plan, i);
    for (uint32_t i = 0; i < plan->variants.len; i++)
        plan_check_variant(plan, plan->variants.at[i]);
    for (uint32_t i = 0; i < plan->shapes.len; i++)
        assert(plan->shapes.at[i]->index == i && plan->shapes.at[i]->variant->probe);
    for (uint32_t i = 0; i < plan->fns.len; i++)
        assert(i == plan->first_fn.at[plan->fns.at[i].script] + plan->fns.at[i].fn->index);
    for (uint32_t i = 0; i < plan->library_fns.len; i++)
        assert(!plan->library_fns.at[i].library != !plan->library_fns.at[i].bundled);
    for (uint32_t k = 0; k < EVENT_KIND_COUNT; k++)
        listed += check_list(plan, &plan->by_kind[k], (EventKind)k, -1);
    for (uint32_t op = 0; op < nops; op++)
        listed += check_list(plan, &plan->by_op[op], EVENT_OPCODE, (int)op);
    assert(listed == plan->actions.len);
    return true;
}
#endif
