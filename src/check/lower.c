/*
 * check/lower.c - what is added to aggregations, and changes of arrays, as plainer statements.
 *
 * After checking, `s.add(x);` is a list of assignments to the fields of s, or an element that is
 * counted, with variables of the body that scripts cannot name. Later layers know no aggregations
 * but their representations: numbers, tuples and maps. An array is a map from u32, whose elements
 * are written only if their index is below its length; so one beyond reads as 0.
 */
#include "check/check_parts.h"

#include <assert.h>

#define T(K) (&type_scalar[TYPE_##K])

/* ---- checking ---- */

static bool is_counted_by_key(const Type *t) {
    return t->kind == TYPE_MAP;
}

/* Whether a number of type t becomes one of the type `added` without loss. */
static bool can_add(const Type *t, const Type *added) {
    switch (added->kind) {
    case TYPE_F64: return type_is_numeric(t);
    case TYPE_U64: return type_is_integer(t) && !type_is_signed(t);
    default: return type_is_integer(t) && t->kind != TYPE_U64;
    }
}

static void check_added_number(Check *c, Expr *arg, const Type *aggregate) {
    const Type *added = aggregate->added;
    const Type *t = check_value(c, arg, check_is_flexible(c, arg) ? added : NULL);
    if (t->kind == TYPE_ERROR || can_add(t, added))
        return;
    const char *name = aggregate_name(aggregate->aggregate);
    Diag *g = check_error(c, DIAG_TYPE_MISMATCH, arg->span, "%s adds numbers of type %s, found %s",
                          aggregate->text, added->text, t->text);
    check_explain(c, g, arg);
    if (!type_is_numeric(t))
        return;
    bool as_declared = aggregate->aggregate != AGG_LHIST &&
                       (!type_is_float(t) || aggregate->aggregate != AGG_HIST);
    if (as_declared)
        diag_hint(c->diags, g, "convert it with 'as %s', or declare %s(%s)", added->text, name,
                  type_is_float(t)    ? "f64"
                  : type_is_signed(t) ? "i64"
                                      : "u64");
    else
        diag_hint(c->diags, g, "convert it with 'as %s'", added->text);
}

/* The amount in top.add(key, amount). */
static void check_amount(Check *c, Expr *arg) {
    const Type *t = check_value(c, arg, check_is_flexible(c, arg) ? T(U64) : NULL);
    if (t->kind == TYPE_ERROR || can_add(t, T(U64)))
        return;
    Diag *g = check_error(c, DIAG_TYPE_MISMATCH, arg->span,
                          "an amount is an unsigned integer, found %s", t->text);
    check_explain(c, g, arg);
    if (type_is_numeric(t))
        diag_hint(c->diags, g, "convert it with 'as u64'");
}

static const Type *wrong_count(Check *c, const Expr *e, const Type *t, const char *expected) {
    check_error(c, DIAG_ARGUMENT_COUNT, e->span, "add() of %s takes %s, found %u argument%s",
                t->text, expected, e->nargs - 1, e->nargs == 2 ? "" : "s");
    return &type_error;
}

static const Type *check_add(Check *c, Expr *e, const Type *t) {
    uint32_t n = e->nargs - 1;
    e->method = METHOD_ADD;
    if (t->aggregate == AGG_COUNT)
        return n ? wrong_count(c, e, t, "no arguments") : &type_unit;
    if (n < 1 || n > 1u + (t->aggregate == AGG_TOP)) {
        for (uint32_t i = 1; i <= n; i++)
            check_value(c, e->args[i], NULL);
        return wrong_count(c, e, t,
                           t->aggregate == AGG_TOP ? "a key and perhaps an amount" : "one number");
    }
    bool before = c->ok;
    c->ok = true;
    if (t->aggregate == AGG_TOP)
        check_expect(c, e->args[1], t->added, "the key that is added");
    else
        check_added_number(c, e->args[1], t);
    if (n == 2)
        check_amount(c, e->args[2]);
    bool ok = c->ok;
    c->ok = before && ok;
    return ok ? &type_unit : &type_error;
}

/* The field of this name: its number; -1 = there is none. */
static int find_field(const Type *t, Str name) {
    static const struct {
        AggregateId id;
        const char *name;
    } fields[] = {
#define FIELD(id, field, type, merge) {AGG_##id, field},
#include "lang/type.def"
    };
    int n = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].id != t->aggregate)
            continue;
        if (str_is(name, fields[i].name))
            return n;
        n++;
    }
    return -1;
}

/* s.count() and the like: the field of a variable. */
static const Type *check_read(Check *c, Expr *e, const Type *t) {
    Expr *self = e->args[0];
    int field = find_field(t, e->name);
    if (field < 0) {
        Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span, "%s has no method '%.*s'",
                              t->text, STR_ARG(e->name));
        diag_hint(c->diags, g,
                  "the methods of aggregations are add and clear, and, of variables, their fields");
        return &type_error;
    }
    if (self->kind != EXPR_NAME || e->nargs != 1) {
        Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->span,
                              "'%.*s' is read of a variable, without arguments", STR_ARG(e->name));
        diag_hint(c->diags, g, "elements of maps can only be added to: m[k].add(x)");
        return &type_error;
    }
    Var *v = self->var;
    uint32_t *path = arena_array(&c->script->arena, uint32_t, 1);
    *path = (uint32_t)field;
    *e = (Expr){.kind = t->kind == TYPE_TUPLE ? EXPR_FIELD : EXPR_NAME,
                .span = e->span,
                .name = self->name,
                .name_span = self->name_span,
                .var = v,
                .npath = t->kind == TYPE_TUPLE,
                .path = path};
    return t->kind == TYPE_TUPLE ? t->fields[field] : &type_scalar[t->kind];
}

static const Type *check_clear(Check *c, Expr *e, const Type *t) {
    e->method = METHOD_CLEAR;
    if (e->nargs == 1)
        return &type_unit;
    check_error(c, DIAG_ARGUMENT_COUNT, e->span, "clear() of %s takes no arguments, found %u",
                t->text, e->nargs - 1);
    return &type_error;
}

const Type *check_aggregate(Check *c, Expr *e, const Type *t) {
    assert(t->aggregate && e->nargs);
    bool adds = str_is(e->name, "add");
    if (!adds && !str_is(e->name, "clear"))
        return check_read(c, e, t);
    return adds ? check_add(c, e, t) : check_clear(c, e, t);
}

/* ---- trees ---- */

typedef struct Lower {
    Check *c;
    Span span;  /* of the call */
    Stmt *into; /* the statement that becomes the first one; NULL = it has */
    Stmt *last;
} Lower;

static void lower_put(Lower *l, Stmt stmt) {
    Stmt *s = l->into;
    if (s) {
        stmt.next = s->next;
        l->into = NULL;
    } else {
        s = arena_new(&l->c->script->arena, Stmt);
        stmt.next = l->last->next;
        l->last->next = s;
    }
    stmt.span = l->span;
    *s = stmt;
    l->last = s;
}

static Expr *lower_op(Lower *l, Op op, const Type *type, Expr *a, Expr *b) {
    return check_node_op(l->c, op, type, a, b);
}

static Expr *lower_name(Lower *l, Var *v) {
    return check_node_name(l->c, v, l->span);
}

/* A field of a variable. */
static Expr *lower_field(Lower *l, Var *v, uint32_t n) {
    Expr *e = lower_name(l, v);
    e->kind = EXPR_FIELD;
    e->type = v->type->fields[n];
    e->npath = 1;
    e->path = arena_array(&l->c->script->arena, uint32_t, 1);
    e->path[0] = n;
    return e;
}

static Expr *lower_element(Lower *l, Var *map, Expr *key) {
    Expr *e = lower_name(l, map);
    e->kind = EXPR_INDEX;
    e->type = map->type->value;
    return check_node_args(l->c, e, &key, 1);
}

static Expr *lower_zero(Lower *l, const Type *type) {
    return check_new_node(l->c, type_is_float(type) ? EXPR_FLOAT : EXPR_INT, type, l->span);
}

static void lower_assign(Lower *l, Expr *target, Expr *value) {
    lower_put(l, (Stmt){.kind = STMT_ASSIGN, .target = target, .value = value});
}

static void lower_add(Lower *l, Expr *target, Expr *same, Expr *by) {
    lower_assign(l, target, lower_op(l, OP_ADD, target->type, same, by));
}

static void lower_step(Lower *l, Expr *target) {
    lower_put(l, (Stmt){.kind = STMT_INC, .target = target});
}

/* A variable that scripts cannot name. */
static Var *lower_temp(Lower *l, const Type *type, Expr *init) {
    Var *v = check_hidden_var(l->c, type, l->span);
    v->init = init;
    lower_put(l, (Stmt){.kind = STMT_DECL, .var = v});
    return v;
}

/* Of the body, or one that scripts cannot name (check_hidden_var). */
static bool is_own(const Var *v) {
    return v->storage == STORAGE_LOCAL || v->name.ptr[0] == '$';
}

/* Whether it can be computed again and gives the same: literals, variables of the body, and what is
 * known at each site (maps may be cells by that), but for calls. */
static bool can_repeat(const Expr *e) {
    bool plain =
        e->kind <= EXPR_STR || e->is_static || (e->kind == EXPR_NAME && e->var && is_own(e->var));
    plain &= e->kind != EXPR_CALL && e->kind != EXPR_METHOD;
    for (uint32_t i = 0; i < e->nargs && plain; i++)
        plain = can_repeat(e->args[i]);
    return plain;
}

static Expr *lower_again(Lower *l, const Expr *e) {
    assert(can_repeat(e));
    return ast_clone_expr(l->c->script, e);
}

/* The value as an expression that can be repeated. */
static Expr *lower_once(Lower *l, Expr *e) {
    return can_repeat(e) ? e : lower_name(l, lower_temp(l, e->type, e));
}

/* ---- numbers and tuples ---- */

/* if (s.0 == 0 || x < s.n) { s.n = x; } */
static void lower_extreme(Lower *l, Var *s, uint32_t n, Op op, const Expr *x) {
    Expr *first = lower_op(l, OP_EQ, T(BOOL), lower_field(l, s, 0), lower_zero(l, T(U64)));
    Expr *beyond = lower_op(l, op, T(BOOL), lower_again(l, x), lower_field(l, s, n));
    Stmt *set = arena_new(&l->c->script->arena, Stmt);
    *set = (Stmt){.kind = STMT_ASSIGN,
                  .span = l->span,
                  .target = lower_field(l, s, n),
                  .value = lower_again(l, x)};
    IfArm *arm = arena_new(&l->c->script->arena, IfArm);
    *arm = (IfArm){.cond = lower_op(l, OP_OR, T(BOOL), first, beyond), .body = {.first = set}};
    lower_put(l, (Stmt){.kind = STMT_IF, .narms = 1, .arms = arm});
}

static void lower_add_field(Lower *l, Var *s, uint32_t n, Expr *by) {
    lower_add(l, lower_field(l, s, n), lower_field(l, s, n), by);
}

static Expr *distance_from_mean(Lower *l, Var *s, const Expr *x) {
    return lower_op(l, OP_SUB, T(F64), check_node_cast(l->c, lower_again(l, x), T(F64)),
                    lower_field(l, s, 4));
}

/* Welford, "Note on a method for calculating corrected sums of squares and products" (1962). */
static void lower_moments(Lower *l, Var *s, const Expr *x) {
    Var *d = lower_temp(l, T(F64), distance_from_mean(l, s, x));
    Expr *n = check_node_cast(l->c, lower_field(l, s, 0), T(F64));
    lower_add_field(l, s, 4, lower_op(l, OP_DIV, T(F64), lower_name(l, d), n));
    lower_add_field(l, s, 5,
                    lower_op(l, OP_MUL, T(F64), lower_name(l, d), distance_from_mean(l, s, x)));
}

/* The field numbers are those of lang/type.def. */
static void lower_fields(Lower *l, Var *s, const Expr *x) {
    AggregateId id = s->type->aggregate;
    if (id == AGG_MIN || id == AGG_STATS)
        lower_extreme(l, s, id == AGG_MIN ? 1 : 2, OP_LT, x);
    if (id == AGG_MAX || id == AGG_STATS)
        lower_extreme(l, s, id == AGG_MAX ? 1 : 3, OP_GT, x);
    lower_step(l, lower_field(l, s, 0));
    if (id == AGG_AVG || id == AGG_STATS)
        lower_add_field(l, s, 1, lower_again(l, x));
    if (id == AGG_STATS)
        lower_moments(l, s, x);
}

/* Of an element, a copy of its fields is changed and stored. */
static void lower_tuple(Lower *l, Expr *self, Expr *arg) {
    Expr *key = self->nargs ? lower_once(l, self->args[0]) : NULL;
    Expr *x = lower_once(l, check_node_cast(l->c, arg, self->type->added));
    Var *s = self->var;
    if (key) {
        Expr *old = lower_element(l, self->var, key);
        old->inserts = true;
        s = lower_temp(l, self->type, old);
    }
    lower_fields(l, s, x);
    if (key)
        lower_assign(l, lower_element(l, self->var, lower_again(l, key)), lower_name(l, s));
}

/* ---- maps ---- */

/* The map whose elements are counted: that of the element of a map is made with it. */
static Var *lower_map(Lower *l, Expr *self) {
    if (!self->nargs)
        return self->var;
    Expr *inner = lower_element(l, self->var, self->args[0]);
    inner->inserts = true;
    return lower_temp(l, self->type, inner);
}

static void lower_counted(Lower *l, Expr *self, Expr *call) {
    const Type *t = self->type;
    Expr *amount = call->nargs > 2 ? check_node_cast(l->c, call->args[2], T(U64)) : NULL;
    Expr *key = call->args[1];
    if (t->aggregate == AGG_HIST || t->aggregate == AGG_LHIST) {
        key = lower_op(l, OP_BUCKET, t->key, key, NULL);
        key->cast = t;
    } else if (amount) {
        key = lower_once(l, key);
    }
    Var *map = lower_map(l, self);
    if (!amount) {
        lower_step(l, lower_element(l, map, key));
        return;
    }
    lower_add(l, lower_element(l, map, key), lower_element(l, map, lower_again(l, key)), amount);
}

/* ---- clear() ---- */

static void lower_clear(Lower *l, Expr *self, Expr *call) {
    const Type *t = self->type;
    if (is_counted_by_key(t)) {
        call->method = MAP_CLEAR;
        call->args[0] = lower_name(l, lower_map(l, self));
        call->type = &type_unit;
        lower_put(l, (Stmt){.kind = STMT_CALL, .value = call});
    } else if (t->kind != TYPE_TUPLE) {
        self->type = &type_scalar[t->kind];
        lower_assign(l, self, lower_zero(l, self->type));
    } else {
        Expr **zeros = arena_array(&l->c->script->arena, Expr *, t->nfields);
        for (uint32_t i = 0; i < t->nfields; i++)
            zeros[i] = lower_zero(l, t->fields[i]);
        Expr *tuple = check_new_node(l->c, EXPR_TUPLE, t, l->span);
        lower_assign(l, self, check_node_args(l->c, tuple, zeros, t->nfields));
    }
}

/* ---- arrays ---- */

/* At script scope, where there are no variables of a body: an index that can be written twice. */
static bool has_plain_index(Check *c, const Expr *index) {
    if (c->place != PLACE_SCRIPT || index->kind == EXPR_NAME)
        return true;
    Diag *g = check_error(c, DIAG_FN_AT_SCRIPT_SCOPE, index->span,
                          "at script scope an index is a number or a variable");
    diag_hint(c->diags, g, "assign it to a variable first, or write the statement in wasm:begin");
    return false;
}

void lower_array(Check *c, Stmt *s) {
    Stmt change = *s;
    Expr *element = s->target;
    Lower l = {.c = c, .span = s->span, .into = s, .last = s};
    if (element->args[0]->kind == EXPR_INT || !has_plain_index(c, element->args[0]))
        return;
    bool twice = c->place == PLACE_SCRIPT;
    if (change.kind == STMT_ASSIGN && !twice)
        change.value = lower_once(&l, change.value);
    Expr *index = twice ? element->args[0] : lower_once(&l, element->args[0]);
    Expr *length = lower_zero(&l, T(U32));
    length->integer = element->var->type->length;
    change.target = lower_element(&l, element->var, ast_clone_expr(c->script, index));
    change.next = NULL;
    Stmt *changes = arena_new(&c->script->arena, Stmt);
    *changes = change;
    IfArm *arm = arena_new(&c->script->arena, IfArm);
    *arm = (IfArm){.cond = lower_op(&l, OP_LT, T(BOOL), index, length), .body = {.first = changes}};
    lower_put(&l, (Stmt){.kind = STMT_IF, .narms = 1, .arms = arm});
}

/* ---- all ---- */

void lower_aggregate(Check *c, Stmt *s) {
    Expr *call = s->value, *self = call->args[0];
    const Type *t = self->type;
    Lower l = {.c = c, .span = s->span, .into = s, .last = s};
    if (call->method == METHOD_CLEAR) {
        lower_clear(&l, self, call);
        return;
    }
    if (is_counted_by_key(t)) {
        lower_counted(&l, self, call);
        return;
    }
    if (t->kind == TYPE_TUPLE) {
        lower_tuple(&l, self, call->args[1]);
        return;
    }
    self->type = &type_scalar[t->kind];
    if (t->aggregate == AGG_COUNT) {
        lower_step(&l, self);
        return;
    }
    Expr *x = check_node_cast(l.c, call->args[1], self->type);
    if (self->nargs)
        self->args[0] = lower_once(&l, self->args[0]);
    Expr *same = self->nargs ? lower_element(&l, self->var, lower_again(&l, self->args[0]))
                             : lower_name(&l, self->var);
    same->type = self->type;
    same->inserts = self->nargs != 0; /* one look-up */
    lower_add(&l, self, same, x);
}
