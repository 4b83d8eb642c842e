/*
 * monitor/attach/attach_plan.c - the probes of monitors as a plan, so that they are matched and
 * spliced like those of scripts.
 *
 * Each probe is one action with one variant and shape, listed for all instructions at which it may
 * fire; bind_accept decides for each location. The order in the lists is the order of engines,
 * monitor by monitor: at function entry func:entry, then block:start; at instructions block:start,
 * block:end, then the others by export, where func:exit is a rule for `return`; at the last end
 * func:exit comes last.
 */
#include "monitor/attach/attach_code.h"

#include <assert.h>

bool bind_removes(const BindState *s) {
    for (uint32_t k = 0; k < s->modules.len; k++)
        if (wasm_find_import(s->modules.at[k].module, STR("whamm:dyninstr"), STR("remove_probe")) >=
            0)
            return true;
    return false;
}

static bool asks_id(const MonitorParam *params, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (params[i].kind == PARAM_PROBE_ID ||
            (params[i].kind == PARAM_CALL &&
             asks_id(params[i].call->params, params[i].call->nparams)))
            return true;
    return false;
}

static bool is_static(ParamKind kind) {
    return kind != PARAM_ARG && kind != PARAM_LOCAL && kind != PARAM_FRAME;
}

/* The function's parameters, and how many of them are recorded. */
static void add_formals(Bind *b, BindRule *r) {
    const MonitorRule *rule = &r->probe->rule;
    const BindState *s = &b->states[r->monitor];
    const WasmTypeDef *type = wasm_func_type(&s->monitor.m, r->probe->func);
    r->formals = arena_array(&b->plan.arena, BindFormal, rule->nparams + 1);
    if (type->nparams != rule->nparams) {
        r->fault = arena_printf(&b->plan.arena, "the function has %u %s, but its name asks for %u",
                                type->nparams, type->nparams == 1 ? "parameter" : "parameters",
                                rule->nparams);
        return;
    }
    for (uint32_t i = 0; i < rule->nparams; i++) {
        const MonitorParam *p = &rule->params[i];
        bool constant = is_static(p->kind);
        r->formals[i] = (BindFormal){p->kind, p->n, type->params[i], constant, r->nwords, 0};
        if (constant)
            r->nwords += type->params[i] == WASM_V128 ? 2 : 1;
    }
    r->id_word = UINT32_MAX;
    bool asks = asks_id(rule->params, rule->nparams) ||
                (rule->predicate && asks_id(rule->predicate->params, rule->predicate->nparams));
    if (asks && bind_removes(s))
        r->id_word = r->nwords++;
}

/* The splicer saves operands that variants name. The exact types are those of the holes. */
static Variant *attach_plan_make_variant(Bind *b, const BindRule *r) {
    Variant *v = arena_new(&b->plan.arena, Variant);
    v->event = (Event){.kind = EVENT_OPCODE, .op = WASM_OP_NOP, .mode = MODE_BEFORE};
    v->shapes.only = arena_new(&b->plan.arena, Shape);
    v->shapes.only->variant = v;
    v->shapes.only->index = b->plan.shapes.len;
    for (uint32_t i = 0; i < r->probe->rule.nparams; i++) {
        const MonitorParam *p = &r->probe->rule.params[i];
        if (p->kind == PARAM_ARG)
            vec_push(
                &v->operands.args,
                ((Operand){.n = p->n, .type = &type_scalar[TYPE_I64], .any = true, .used = true}));
    }
    v->asks.types = v->operands.args.len > 0;
    vec_push(&b->plan.shapes, v->shapes.only);
    vec_push(&b->plan.variants, v);
    return v;
}

static void add_rules(Bind *b, uint32_t monitor) {
    BindState *s = &b->states[monitor];
    s->first_rule = b->rules.len;
    s->nrules = s->monitor.probes.len;
    for (uint32_t i = 0; i < s->nrules; i++) {
        BindRule r = {.probe = &s->monitor.probes.at[i], .monitor = monitor};
        add_formals(b, &r);
        Variant *v = attach_plan_make_variant(b, &r);
        vec_push(&b->rules, r);
        vec_push(&b->plan.actions, ((Action){.variant = v, .event = v->event, .number = i}));
    }
}

/* ---- lists ---- */

typedef Vec(uint32_t) Indices;

/* Adds a monitor's rules of an event other than an instruction, in the order of exports. */
static void attach_plan_add(const Bind *b, const BindState *s, Indices *list, MonitorEvent event) {
    for (uint32_t i = 0; i < s->nrules; i++)
        if (b->rules.at[s->first_rule + i].probe->rule.event == event)
            vec_push(list, s->first_rule + i);
}

static void add_instr_rules(const Bind *b, const BindState *s, Indices *list, WasmOp op) {
    for (uint32_t i = 0; i < s->nrules; i++) {
        const MonitorRule *rule = &b->rules.at[s->first_rule + i].probe->rule;
        if ((rule->event == MONITOR_OPCODE && rule->op == op) || rule->event == MONITOR_ANY ||
            (rule->event == MONITOR_FUNC_EXIT && op == WASM_OP_RETURN))
            vec_push(list, s->first_rule + i);
    }
}

static ActionList close_list(Arena *arena, Indices *list) {
    ActionList out = {arena_array(arena, uint32_t, list->len + 1), list->len};
    if (list->len)
        memcpy(out.at, list->at, list->len * sizeof *out.at);
    list->len = 0;
    return out;
}

void bind_plan(Bind *b) {
    assert(!b->rules.len);
    Indices list = {0};
    for (uint32_t k = 0; k < b->nstates; k++)
        add_rules(b, k);
    for (uint32_t k = 0; k < b->nstates; k++) {
        attach_plan_add(b, &b->states[k], &list, MONITOR_FUNC_ENTRY);
        attach_plan_add(b, &b->states[k], &list, MONITOR_BLOCK_START);
    }
    b->plan.by_kind[EVENT_FUNC_ENTRY] = close_list(&b->plan.arena, &list);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        for (uint32_t k = 0; k < b->nstates; k++) {
            const BindState *s = &b->states[k];
            attach_plan_add(b, s, &list, MONITOR_BLOCK_START);
            attach_plan_add(b, s, &list, MONITOR_BLOCK_END);
            add_instr_rules(b, s, &list, (WasmOp)op);
            if (op == WASM_OP_END)
                attach_plan_add(b, s, &list, MONITOR_FUNC_EXIT);
        }
        b->plan.by_op[op] = close_list(&b->plan.arena, &list);
    }
    vec_free(&list);
}
