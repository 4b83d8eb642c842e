/*
 * plan/shape.c - shapes: a variant with its static conditions decided.
 */
#include "plan/plan.h"

#include "event/branch.h"
#include "library/builtin.h"
#include "plan/static_part.h"
#include "plan/statics.h"

#include <assert.h>

/* What reads a shadow memory is a call for all layers after the checker. */
static bool reads_shadow(const Expr *e) {
    static const char *const reads[] = {"get8", "get16", "get32", "get64", "unit", "any", "lost"};
    bool found = false;
    for (size_t i = 0; str_is(e->recv, ".shadow") && i < sizeof reads / sizeof *reads; i++)
        found |= str_is(e->name, reads[i]);
    return found;
}

bool expr_has_effect(const Expr *e) {
    bool method =
        e->kind == EXPR_METHOD && (e->method ? e->method == ATOMIC_FETCH_ADD : !reads_shadow(e));
    if (e->kind == EXPR_CALL || (method && !e->is_static) || ast_changes_map(e))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (expr_has_effect(e->args[i]))
            return true;
    return false;
}

static bool is_back_edge(const Expr *e) {
    return e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_BACK_EDGE;
}

Tri shape_decide(const Variant *v, uint64_t known, uint64_t atoms, const Expr *e) {
    Value value;
    if (is_back_edge(e) && atoms & (SHAPE_BACK | SHAPE_ENTERING))
        return tri_of(atoms & SHAPE_BACK);
    if (atoms & (SHAPE_TAKEN | SHAPE_NOT_TAKEN)) {
        unsigned way = branch_way(v->event, e);
        if (way)
            return tri_of(way == (atoms & SHAPE_TAKEN ? WAY_TAKEN : WAY_NOT_TAKEN));
    }
    if (e->slot && e->type->kind == TYPE_BOOL && e->slot <= v->atoms.len &&
        v->atoms.at[e->slot - 1] == e)
        return known >> (e->slot - 1) & 1 ? tri_of(atoms >> (e->slot - 1) & 1) : TRI_UNKNOWN;
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri decisive = tri_decisive(e->op);
        Tri a = shape_decide(v, known, atoms, e->args[0]);
        if (a == decisive)
            return a;
        Tri b = shape_decide(v, known, atoms, e->args[1]);
        if (a == TRI_UNKNOWN)
            return b == decisive && !expr_has_effect(e->args[0]) ? b : a;
        return b;
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return tri_not(shape_decide(v, known, atoms, e->args[0]));
    if (e->is_static && !e->slot && fold(e, NULL, &value))
        return tri_of(value.bits);
    return TRI_UNKNOWN;
}

static Shape *make_shape(Plan *plan, Variant *v, uint64_t atoms) {
    Shape *s = arena_new(&plan->arena, Shape);
    s->variant = v;
    s->atoms = atoms;
    s->index = plan->shapes.len;
    const Expr *predicate = v->probe->predicate;
    if (v->asks.back && predicate &&
        shape_decide(v, UINT64_MAX, atoms | SHAPE_BACK, predicate) == TRI_NO)
        s->atoms |= SHAPE_ENTERING;
    s->never = predicate && shape_decide(v, UINT64_MAX, s->atoms, predicate) == TRI_NO;
    vec_push(&plan->shapes, s);
    return s;
}

Shape *plan_shape_for(Plan *plan, Variant *v, uint64_t atoms) {
    assert(!(atoms >> v->atoms.len));
    if (!v->atoms.len) {
        if (!v->shapes.only)
            v->shapes.only = make_shape(plan, v, 0);
        return v->shapes.only;
    }
    if (v->shapes.last && (v->shapes.last->atoms & ~SHAPE_ENTERING) == atoms)
        return v->shapes.last;
    Str key = {(char *)&atoms, sizeof atoms};
    uint64_t *index = map_get(&v->shapes.by_atoms, key);
    v->shapes.last = index ? plan->shapes.at[*index] : make_shape(plan, v, atoms);
    if (!index)
        map_put(&v->shapes.by_atoms, key, v->shapes.last->index, NULL);
    return v->shapes.last;
}

/* An expression has no value at a site, so nothing matches there. Records the first call that lacks
 * a memory. */
static Shape *lacks(Plan *plan, const Expr *e, const Site *s) {
    if (!plan->faults.lack.call && !builtin_lacks(e, s, &plan->faults.lack))
        plan->faults.lack.call = NULL;
    return NULL;
}

/* The shape at a site where the values of '@static' calls are known. */
static Shape *shape_at(Plan *plan, Variant *v, const Site *s) {
    for (uint32_t i = 0; v->may_lack_consts && i < v->consts.len; i++) {
        Value value;
        if (!fold(v->consts.at[i], s, &value))
            return lacks(plan, v->consts.at[i], s);
    }
    if (v->shapes.only)
        return v->shapes.only->never ? NULL : v->shapes.only;
    uint64_t atoms = 0;
    for (uint32_t i = 0; i < v->atoms.len; i++) {
        Value value;
        if (!fold(v->atoms.at[i], s, &value))
            return lacks(plan, v->atoms.at[i], s);
        atoms |= (value.bits & 1) << i;
    }
    Shape *shape = plan_shape_for(plan, v, atoms);
    return shape->never ? NULL : shape;
}

Shape *plan_shape(Plan *plan, Variant *v, const Site *s) {
    if (v->impossible || (v->statics.len && !statics_site(plan, v, s)))
        return NULL;
    return shape_at(plan, v, s);
}

Shape *plan_shape_retyped(Plan *plan, Variant *v, const Variant *like, const Site *s) {
    assert(v->statics.len == like->statics.len); /* both are copies of one probe */
    for (uint32_t i = 0; i < v->statics.len; i++)
        statics_copy(plan, v->statics.at[i], like->statics.at[i]);
    return shape_at(plan, v, s);
}

static bool is_of_op(int name) {
    return name == NAME_OPNAME || name == NAME_BYTECODE || name == NAME_CATEGORY_ID ||
           name == NAME_CATEGORY_NAME;
}

static bool is_of_program(int name) {
    return name == NAME_HOST || name == NAME_MODULE_ID || name == NAME_MODULE_NAME ||
           name == NAME_COMPONENT_NAME || name == NAME_ASYNCIFY;
}

/* The value depends on nothing but the program and which instruction the site has, if it has one.
 */
static bool asks_no_place(const Expr *e, const Site *s) {
    if (e->kind == EXPR_CALL || (e->kind == EXPR_INDEX && e->is_bound) ||
        (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC) ||
        (e->kind == EXPR_NAME &&
         !(e->is_bound && (is_of_program(e->bound.id) || (s->instr && is_of_op(e->bound.id))))))
        return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!asks_no_place(e->args[i], s))
            return false;
    return e->is_static;
}

/* A condition where nothing is known of the site but that. */
static Tri decide_early(const Expr *e, const Site *s) {
    Value value;
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri a = decide_early(e->args[0], s), b = decide_early(e->args[1], s);
        Tri decisive = tri_decisive(e->op);
        if (a == decisive || (b == decisive && !expr_has_effect(e->args[0])))
            return decisive;
        return a == b ? a : TRI_UNKNOWN;
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return tri_not(decide_early(e->args[0], s));
    return asks_no_place(e, s) && fold(e, s, &value) ? tri_of(value.bits) : TRI_UNKNOWN;
}

bool plan_is_same_at(const Plan *plan, const Variant *v, WasmOp op) {
    WasmInstr i = {.op = op};
    Site s = plan_nowhere(plan, NULL);
    s.instr = &i;
    bool same = !v->impossible && !v->statics.len && !v->may_lack_consts;
    for (uint32_t k = 0; k < v->atoms.len; k++)
        same = same && asks_no_place(v->atoms.at[k], &s);
    return same;
}

bool plan_value_is_same_at(const Plan *plan, const Expr *e, WasmOp op) {
    assert(e->is_static);
    WasmInstr i = {.op = op};
    Site s = plan_nowhere(plan, NULL);
    s.instr = &i;
    return asks_no_place(e, &s);
}

bool plan_never_at(const Plan *plan, const Variant *v, WasmOp op) {
    WasmInstr i = {.op = op};
    Site s = plan_nowhere(plan, NULL);
    s.instr = &i;
    return v->probe->predicate && !v->statics.len &&
           decide_early(v->probe->predicate, &s) == TRI_NO;
}

uint32_t plan_opidx(const Variant *v) {
    const Expr *e = v->probe->predicate;
    bool lacks = v->may_lack_consts || v->statics.len; /* there may be more to say of a site */
    for (uint32_t i = 0; i < v->atoms.len; i++)
        lacks |= static_may_lack(v->atoms.at[i]);
    while (e && e->kind == EXPR_BINARY && e->op == OP_AND)
        e = e->args[0];
    if (lacks || !e || e->kind != EXPR_BINARY || e->op != OP_EQ)
        return UINT32_MAX;
    const Expr *name = e->args[0], *number = e->args[1];
    bool asks = name->kind == EXPR_NAME && name->is_bound && name->bound.id == NAME_OPIDX;
    return asks && number->kind == EXPR_INT && number->integer < UINT32_MAX
               ? (uint32_t)number->integer
               : UINT32_MAX;
}

bool plan_is_off(const Plan *plan, const PlanProbe *p) {
    Site nowhere = plan_nowhere(plan, NULL);
    for (uint32_t i = 0; i < p->nactions; i++) {
        const Variant *v = plan->actions.at[p->first_action + i].variant;
        const Expr *predicate = v->impossible ? NULL : v->probe->predicate;
        if (!v->off && !(predicate && decide_early(predicate, &nowhere) == TRI_NO))
            return false;
    }
    return true;
}

bool plan_excludes_module(const Plan *plan, const Expr *condition, uint32_t module_id) {
    Site nowhere = plan_nowhere(plan, NULL);
    nowhere.module_id = module_id;
    return condition && decide_early(condition, &nowhere) == TRI_NO;
}

static ShapeList once_shapes(Plan *plan, const WasmModule *m, EventKind kind) {
    const ActionList *list = &plan->by_kind[kind];
    ShapeList shapes = {arena_array(&plan->arena, const Shape *, list->len + 1), 0};
    Site nowhere = plan_nowhere(plan, m);
    for (uint32_t i = 0; i < list->len; i++) {
        Action *a = &plan->actions.at[list->at[i]];
        const Shape *s = plan_shape(plan, a->variant, &nowhere);
        if (!s)
            continue;
        shapes.at[shapes.len++] = s;
        a->sites++;
    }
    return shapes;
}

OnceShapes plan_once(Plan *plan, const WasmModule *m) {
    ShapeList begin = once_shapes(plan, m, EVENT_BEGIN), end = once_shapes(plan, m, EVENT_END);
    return (OnceShapes){begin, end, once_shapes(plan, m, EVENT_REPORT), {0}, {0}};
}

void plan_once_stacks(Plan *plan, const WasmModule *m, OnceShapes *once) {
    assert(!once->suspend.at && !once->resume.at);
    once->suspend = once_shapes(plan, m, EVENT_STACK_SUSPEND);
    once->resume = once_shapes(plan, m, EVENT_STACK_RESUME);
}
