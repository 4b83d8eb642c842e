/*
 * probe/shape.c - shapes: a variant with its static conditions decided.
 */
#include "probe/plan.h"

#include "probe/statics.h"

bool expr_has_effect(const Expr *e) {
    if (e->kind == EXPR_CALL || (e->kind == EXPR_METHOD && !e->method && !e->is_static))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (expr_has_effect(e->args[i]))
            return true;
    return false;
}

Tri shape_decide(const Variant *v, uint64_t known, uint64_t atoms, const Expr *e) {
    Value value;
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
    s->never =
        v->probe->predicate && shape_decide(v, UINT64_MAX, atoms, v->probe->predicate) == TRI_NO;
    vec_push(&plan->shapes, s);
    return s;
}

Shape *plan_shape_for(Plan *plan, Variant *v, uint64_t atoms) {
    if (!v->atoms.len) {
        if (!v->only)
            v->only = make_shape(plan, v, 0);
        return v->only;
    }
    Str key = {(char *)&atoms, sizeof atoms};
    uint64_t *index = map_get(&v->shapes, key);
    if (index)
        return plan->shapes.at[*index];
    Shape *shape = make_shape(plan, v, atoms);
    map_put(&v->shapes, key, shape->index, NULL);
    return shape;
}

/* An expression has no value at a site: nothing happens there. A call that asks for a memory should
 * have one. */
static Shape *lacks(Plan *plan, const Expr *e, const Site *s) {
    if (!plan->lack.call && !builtin_lacks(e, s, &plan->lack))
        plan->lack.call = NULL;
    return NULL;
}

Shape *plan_shape(Plan *plan, Variant *v, const Site *s) {
    if (v->impossible || (v->statics.len && !statics_site(plan, v, s)))
        return NULL;
    for (uint32_t i = 0; v->may_lack_consts && i < v->consts.len; i++) {
        Value value;
        if (!fold(v->consts.at[i], s, &value))
            return lacks(plan, v->consts.at[i], s);
    }
    if (v->only)
        return v->only->never ? NULL : v->only;
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

/* The value does not depend on anything but HOST. */
static bool asks_host_alone(const Expr *e) {
    if (e->kind == EXPR_CALL || (e->kind == EXPR_INDEX && e->is_bound) ||
        (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC) ||
        (e->kind == EXPR_NAME && !(e->is_bound && e->bound.id == NAME_HOST)))
        return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!asks_host_alone(e->args[i]))
            return false;
    return e->is_static;
}

static Tri decide_host(const Expr *e, const Site *nowhere) {
    Value value;
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri a = decide_host(e->args[0], nowhere), b = decide_host(e->args[1], nowhere);
        if (a == tri_decisive(e->op) || b == tri_decisive(e->op))
            return tri_decisive(e->op);
        return a == b ? a : TRI_UNKNOWN;
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return tri_not(decide_host(e->args[0], nowhere));
    return asks_host_alone(e) && fold(e, nowhere, &value) ? tri_of(value.bits) : TRI_UNKNOWN;
}

bool plan_is_off(const Plan *plan, const PlanProbe *p) {
    Site nowhere = plan_nowhere(plan, NULL);
    for (uint32_t i = 0; i < p->nactions; i++) {
        const Variant *v = plan->actions.at[p->first_action + i].variant;
        const Expr *predicate = v->probe->predicate;
        if (!v->off && !(predicate && decide_host(predicate, &nowhere) == TRI_NO))
            return false;
    }
    return true;
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
    return (OnceShapes){begin, end, once_shapes(plan, m, EVENT_REPORT)};
}
