/*
 * plan/counter.c - which variables are sums and flags, and which shapes do nothing but count.
 */
#include "plan/counter.h"

#include <assert.h>

/* The rest of the reason after the variable's name, or all of it. */
static const char *const reasons[] = {
    [WHY_READ] = "is read here while the program runs",
    [WHY_ASSIGNED] = "is assigned something that is neither a sum nor always the same",
    [WHY_TYPE] = "is neither an integer nor a bool",
    [WHY_FLOAT] = "is a float: the order of additions matters",
    [WHY_MAP] = "is a map at run time: not all of its keys are static",
    [WHY_STARTS] = "has an initial value per site",
    [WHY_PREDICATE] = "the predicate is decided at run time",
    [WHY_AMOUNT] = "the amount that is added is known only at run time",
    [WHY_STATEMENT] = "this does more than count",
    [WHY_CONDITION] = "this condition is decided at run time",
    [WHY_WAYS] = "changes differently on the two ways of the branch",
    [WHY_ATOMIC] = "is changed by other threads, too",
    [WHY_EVENT] = "this event cannot be counted by segments",
};

void counting_put_reason(const Counting *c, Buf *out) {
    assert(c->why_not);
    if (c->var)
        buf_printf(out, "'%.*s' ", STR_ARG(c->var->name));
    buf_str(out, str_of(reasons[c->why_not]));
}

/* ---- variables and cells ---- */

static bool counter_is_kept(const Var *v) {
    return v->storage == STORAGE_UNSHARED || v->storage == STORAGE_SHARED ||
           v->storage == STORAGE_SCRIPT;
}

static bool is_variable(const Expr *e) {
    return e->kind == EXPR_NAME && e->var && counter_is_kept(e->var);
}

static bool is_cell(const Expr *e) {
    return e->kind == EXPR_INDEX && e->var && e->var->cells;
}

/* The leaves of a cell that an element, or a field of one, is: the first, and how many. */
static uint32_t cell_leaves(const Expr *e, uint32_t *n) {
    const Type *field;
    uint32_t first = type_path(e->var->type->value, e->path, e->npath, &field);
    *n = type_leaves(field);
    return first;
}

/* Reading it needs the entry to be there. */
static bool reads_entry(const Expr *e) {
    return e->var->type->value->kind == TYPE_TUPLE && !e->present && !e->inserts;
}

static bool same_path(const Expr *a, const Expr *b) {
    if (a->npath != b->npath)
        return false;
    for (uint32_t i = 0; i < a->npath; i++)
        if (a->path[i] != b->path[i])
            return false;
    return true;
}

/* The current value of the assigned place. */
static bool is_value_of(const Expr *e, const Expr *place) {
    if (e->kind != place->kind || e->var != place->var)
        return false;
    return e->kind == EXPR_NAME ||
           (e->slot == place->slot && same_path(e, place) && !reads_entry(e));
}

/* ---- statements ---- */

/* The amount added: x = x + a - b has two terms. */
typedef struct Term {
    const Expr *by; /* NULL = 1 */
    bool minus;
} Term;
typedef Vec(Term) Terms;

/* The terms of a sum except the assigned place itself, which occurs so often. */
static uint32_t counter_find_terms(const Expr *e, const Expr *place, bool minus, Terms *out) {
    if (e->kind == EXPR_BINARY && (e->op == OP_ADD || e->op == OP_SUB)) {
        uint32_t n = counter_find_terms(e->args[0], place, minus, out);
        return n + counter_find_terms(e->args[1], place, minus != (e->op == OP_SUB), out);
    }
    if (!minus && is_value_of(e, place))
        return 1;
    vec_push(out, ((Term){e, minus}));
    return 0;
}

/* Finds the amount added by x++, x--, or x = a sum in which x occurs once. `out` is empty
 * before. */
static bool is_addition(const Stmt *s, Terms *out) {
    if (s->kind != STMT_ASSIGN && s->kind != STMT_INC && s->kind != STMT_DEC)
        return false;
    if (!is_variable(s->target) && !is_cell(s->target))
        return false;
    if (s->kind != STMT_ASSIGN) {
        vec_push(out, ((Term){NULL, s->kind == STMT_DEC}));
        return true;
    }
    if (s->value->kind == EXPR_BINARY && counter_find_terms(s->value, s->target, false, out) == 1)
        return true;
    out->len = 0;
    return false;
}

/* When code runs. Code that runs before the program does not matter. */
typedef enum When { WHEN_START = 0, WHEN_RUNS = 1, WHEN_REPORT = 2 } When;

/* Looking at all that scripts do. */
typedef struct Look {
    Counters *c;
    const Variant *v; /* of Plan.scopes: a function, script scope */
    When when;
    bool tells;        /* the code may make a report due */
    uint8_t *fn_when;  /* by index into Plan.fns: When that it is called in, all or'ed */
    Vec(uint32_t) fns; /* ... to be looked at: index << 2 | When */
} Look;

/* The sum of a variable or of the first leaf of a cell; UINT32_MAX: there is none. */
static uint32_t counter_sum_of(const Counters *c, const Variant *v, const Expr *e) {
    uint32_t n;
    if (is_cell(e))
        return c->map_sums[e->var->cells - 1] + cell_leaves(e, &n);
    return e->var && counter_is_kept(e->var) ? plan_var_id(c->plan, v, e->var) : UINT32_MAX;
}

static void rule_out(Counters *c, uint32_t sum, WhyNot why, Span span) {
    Sum *s = &c->sums.at[sum];
    if (s->why_not)
        return;
    s->why_not = why;
    s->span = span;
}

/* Something that no sum or flag bears while the program runs happens to it. */
static void touch(Look *l, uint32_t sum, WhyNot why, Span span) {
    Sum *s = &l->c->sums.at[sum];
    if (l->when == WHEN_RUNS || s->of_sites)
        rule_out(l->c, sum, why, span);
    else if (l->when == WHEN_REPORT && l->c->can & COUNTERS_LATE)
        s->late = true;
    else if (!(l->c->can & COUNTERS_LATE))
        rule_out(l->c, sum, why, span);
}

static void touch_place(Look *l, const Expr *e, WhyNot why, Span span) {
    uint32_t sum = counter_sum_of(l->c, l->v, e), n = 1;
    if (sum == UINT32_MAX)
        return;
    if (is_cell(e))
        cell_leaves(e, &n);
    for (uint32_t i = 0; i < n; i++)
        touch(l, sum + i, why, span);
}

static void counter_read_place(Look *l, const Expr *e) {
    touch_place(l, e, WHY_READ, e->span);
    if (!is_cell(e) || !reads_entry(e))
        return;
    const CellMap *m = &l->c->plan->cells.maps.at[e->var->cells - 1];
    uint32_t first = l->c->map_sums[e->var->cells - 1];
    for (uint32_t i = 0; i <= m->leaves; i++)
        if (i == m->leaves || m->counts[i])
            touch(l, first + i, WHY_READ, e->span);
}

/* Calls in which a report is due, or the program may end. */
static bool is_telling(const Counters *c, const Expr *e) {
    if (e->kind == EXPR_CALL && e->fn)
        return c->fns_tell;
    if (e->kind != EXPR_METHOD || e->method || e->annotation)
        return false;
    const BundledFn *bundled = c->plan->library_fns.at[e->bound.id].bundled;
    return !bundled || bundled_kind(bundled) == BUNDLED_FLUSH;
}

static void look_at_call(Look *l, const Fn *fn) {
    uint32_t index = plan_fn_id(l->c->plan, l->v, fn);
    if (l->when == WHEN_START || l->fn_when[index] & l->when)
        return;
    l->fn_when[index] |= (uint8_t)l->when;
    vec_push(&l->fns, index << 2 | l->when);
}

/* When code with this annotation runs, in code that runs at l->when. */
static When annotated_when(const Look *l, Annotation a) {
    return a == ANN_INIT ? WHEN_START : a == ANN_EXIT ? WHEN_REPORT : l->when;
}

static void look_at_expr(Look *l, const Expr *e) {
    When when = l->when;
    l->when = annotated_when(l, e->annotation);
    l->tells |= is_telling(l->c, e);
    if (l->v->branches && branch_way(l->v->event, e)) {
        l->c->asks_ways = true;
        l->c->splits_tables |= l->v->event.op == WASM_OP_BR_TABLE;
    }
    if (e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_FIELD)
        counter_read_place(l, e);
    if (e->kind == EXPR_CALL && e->fn)
        look_at_call(l, e->fn);
    for (uint32_t i = 0; i < e->nargs; i++)
        look_at_expr(l, e->args[i]);
    l->when = when;
}

/* One constant that is assigned to a variable which lives once, or to an element. */
static bool is_set_to(const Stmt *s, uint64_t *bits) {
    Value v;
    if (!s->value || !s->value->is_static || s->value->type->kind > TYPE_BOOL ||
        !fold(s->value, NULL, &v))
        return false;
    *bits = value_wasm_bits(v);
    return true;
}

/* An assignment that is no sum, while the program runs. */
static void look_at_assignment(Look *l, const Stmt *s) {
    uint32_t sum = counter_sum_of(l->c, l->v, s->target);
    Sum *to = sum == UINT32_MAX ? NULL : &l->c->sums.at[sum];
    uint64_t bits = 0;
    bool may = to && l->when == WHEN_RUNS && l->c->can & COUNTERS_FLAGS && s->kind == STMT_ASSIGN &&
               (is_variable(s->target) || is_cell(s->target)) &&
               s->value->type->kind <= TYPE_BOOL && !type_is_float(s->value->type);
    if (may && to->of_sites && s->value->is_static)
        to->flag = true;
    else if (may && !to->of_sites && is_set_to(s, &bits) && (!to->flag || to->to == bits))
        to->flag = true, to->to = bits;
    else
        touch_place(l, s->target, WHY_ASSIGNED, s->span);
    if (to && to->flag && to->adds)
        rule_out(l->c, sum, WHY_ASSIGNED, s->span);
}

static void look_at_addition(Look *l, const Stmt *s, const Terms *terms) {
    uint32_t sum = counter_sum_of(l->c, l->v, s->target);
    Sum *to = &l->c->sums.at[sum];
    if (l->when == WHEN_RUNS && to->flag)
        rule_out(l->c, sum, WHY_ASSIGNED, s->span);
    to->adds |= l->when == WHEN_RUNS;
    if (l->when == WHEN_REPORT && l->c->can & (COUNTERS_FLAGS | COUNTERS_LATE))
        touch(l, sum, WHY_ASSIGNED, s->span); /* it may be a flag */
    for (uint32_t i = 0; i < terms->len; i++)
        if (terms->at[i].by)
            look_at_expr(l, terms->at[i].by);
}

static void look_at_block(Look *l, const Block *b);

static void look_at_change(Look *l, const Stmt *s) {
    Terms terms = {0};
    if (is_addition(s, &terms)) {
        look_at_addition(l, s, &terms);
    } else {
        look_at_assignment(l, s);
        for (uint32_t i = 0; i < s->target->nargs; i++)
            look_at_expr(l, s->target->args[i]);
        if (s->value)
            look_at_expr(l, s->value);
    }
    vec_free(&terms);
}

static void look_at_stmt(Look *l, const Stmt *s) {
    When when = l->when;
    switch (s->kind) {
    case STMT_DECL:
        if (s->var->storage == STORAGE_UNSHARED || s->var->storage == STORAGE_SHARED)
            l->when = WHEN_START;
        if (s->var->init)
            look_at_expr(l, s->var->init);
        l->when = when;
        break;
    case STMT_ASSIGN:
    case STMT_INC:
    case STMT_DEC: look_at_change(l, s); break;
    case STMT_RETURN:
    case STMT_CALL:
        if (s->value)
            look_at_expr(l, s->value);
        break;
    case STMT_ANNOTATED:
        l->when = annotated_when(l, s->annotation);
        look_at_block(l, &s->arms[0].body);
        l->when = when;
        break;
    case STMT_BREAK:
    case STMT_CONTINUE: break;
    case STMT_IF:
    case STMT_LOOP:
        for (uint32_t i = 0; i < s->narms; i++) {
            if (s->arms[i].cond)
                look_at_expr(l, s->arms[i].cond);
            look_at_block(l, &s->arms[i].body);
        }
        break;
    }
}

static void look_at_block(Look *l, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next)
        look_at_stmt(l, s);
}

/* ---- all ---- */

static void add_sum(Counters *c, const Var *var, const Type *type) {
    WhyNot why = WHY_NOTHING;
    if (type_is_float(type))
        why = WHY_FLOAT;
    else if (type->kind == TYPE_MAP)
        why = WHY_MAP;
    else if (type->kind > TYPE_BOOL ||
             (!(c->can & COUNTERS_SMALL) && type->kind != TYPE_BOOL && type_bits(type) < 32))
        why = WHY_TYPE;
    vec_push(&c->sums, ((Sum){.why_not = why, .var = var, .span = var->span, .type = type}));
}

static void add_sums(Counters *c) {
    const Plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const Var *var = plan->vars.at[i].decl;
        add_sum(c, var, var->type);
        Sum *s = &vec_last(&c->sums);
        s->of_sites = var->storage == STORAGE_UNSHARED;
        if (var->atomic && plan->program.threads)
            s->why_not = WHY_ATOMIC;
        if (s->of_sites && var->init && !s->why_not)
            s->why_not = WHY_STARTS;
    }
    c->map_sums = mem_zalloc(sizeof *c->map_sums * (plan->cells.maps.len + 1u));
    for (uint32_t i = 0; i < plan->cells.maps.len; i++) {
        const CellMap *m = &plan->cells.maps.at[i];
        const Var *var = plan->vars.at[m->var].decl;
        c->map_sums[i] = c->sums.len;
        for (uint32_t k = 0; k < m->leaves; k++)
            add_sum(c, var, type_leaf(var->type->value, k));
        add_sum(c, var, &type_scalar[TYPE_BOOL]);
        vec_last(&c->sums).flag = true;
        vec_last(&c->sums).to = 1;
        for (uint32_t k = c->map_sums[i]; k < c->sums.len && !(c->can & COUNTERS_CELLS); k++)
            c->sums.at[k].why_not = WHY_MAP;
    }
}

/* Whether a probe assigns to the operand that decides where a branch leads. */
static bool changes_way(const Variant *v) {
    for (uint32_t i = 0; i < v->operands.args.len; i++)
        if (v->operands.args.at[i].assigned && v->operands.args.at[i].n == 0)
            return true;
    return false;
}

static void find_changes(Counters *c) {
    for (uint32_t i = 0; i < c->plan->actions.len; i++) {
        const Action *a = &c->plan->actions.at[i];
        c->changes |= branch_has_ways(a->event) && changes_way(a->variant);
    }
}

static void look_at_variant(Look *l, const Variant *v) {
    l->v = v;
    l->when = v->event.kind == EVENT_BEGIN                                  ? WHEN_START
              : v->event.kind == EVENT_END || v->event.kind == EVENT_REPORT ? WHEN_REPORT
                                                                            : WHEN_RUNS;
    l->tells = false;
    if (v->probe->predicate)
        look_at_expr(l, v->probe->predicate);
    look_at_block(l, &v->probe->body);
}

/* Functions, at the times at which they are called. */
static void look_at_functions(Look *l) {
    while (l->fns.len) {
        uint32_t next = l->fns.at[--l->fns.len];
        const PlanFn *fn = &l->c->plan->fns.at[next >> 2];
        l->v = l->c->plan->scopes.at[fn->script];
        l->when = (When)(next & 3);
        look_at_block(l, &fn->fn->body);
    }
}

/* Whether a report may be due in a function. */
static bool functions_tell(Look *l) {
    l->when = WHEN_START;
    for (uint32_t i = 0; i < l->c->plan->fns.len; i++) {
        l->v = l->c->plan->scopes.at[l->c->plan->fns.at[i].script];
        look_at_block(l, &l->c->plan->fns.at[i].fn->body);
    }
    return l->tells;
}

void counters_init(Counters *c, const Plan *plan, unsigned can) {
    assert(!(can & ~(unsigned)COUNTERS_ALL));
    *c = (Counters){.plan = plan, .can = can};
    add_sums(c);
    find_changes(c);
    Look l = {.c = c};
    l.fn_when = mem_zalloc(plan->fns.len + 1u);
    c->fns_tell = functions_tell(&l);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        l.v = plan->scopes.at[i];
        l.when = WHEN_START;
        look_at_block(&l, &plan->scripts.at[i]->init);
    }
    c->tells = mem_zalloc(plan->variants.len + 1u);
    for (uint32_t i = 0; i < plan->variants.len; i++) {
        const Variant *v = plan->variants.at[i];
        if (v->impossible || !v->vars)
            continue;
        look_at_variant(&l, v);
        c->tells[i] = l.tells;
    }
    look_at_functions(&l);
    free(l.fn_when);
    vec_free(&l.fns);
}

void counters_free(Counters *c) {
    vec_free(&c->sums);
    free(c->map_sums);
    free(c->tells);
    vec_free(&c->shapes);
    vec_free(&c->known);
    vec_free(&c->additions);
    map_free(&c->first_additions);
}

/* ---- counters ---- */

/* The events that a segment's count tells of: before an instruction, or after it if control
 * gets there. */
static bool is_countable(const Counters *c, Event e) {
    switch (e.kind) {
    case EVENT_FUNC_EXIT: return c->can & COUNTERS_EXITS;
    case EVENT_FUNC_ENTRY:
    case EVENT_BLOCK_START:
    case EVENT_BLOCK_END: return true;
    case EVENT_OPCODE: return e.mode == MODE_BEFORE || e.mode == MODE_AFTER || e.mode == MODE_ENTRY;
    case EVENT_FUNC_UNWIND:
    case EVENT_BEGIN:
    case EVENT_END:
    case EVENT_REPORT:
    case EVENT_STACK_SUSPEND:
    case EVENT_STACK_RESUME:
    case EVENT_KIND_COUNT: break;
    }
    return false;
}

/* The body of a shape, from the statement that is executed first. */
typedef struct Reading {
    Counters *c;
    const Shape *shape;
    Counting out;
    unsigned ways; /* on which the statement is executed: WAY_...; 0 = on none any more */
    Map last;      /* by sum: the index of the last addition to it */
} Reading;

/* `var`: the reason is about it; NULL if not. */
static bool counter_refuse(Reading *r, WhyNot why, const Var *var, Span span) {
    r->out.why_not = why;
    r->out.var = var;
    r->out.span = span;
    return false;
}

static bool read_block(Reading *r, const Block *b);

/* On which of these ways a condition is true; false: it depends on more than that. */
static bool decide_ways(const Reading *r, const Expr *cond, unsigned ways, unsigned *out) {
    const Variant *v = r->shape->variant;
    uint64_t atoms = r->shape->atoms;
    bool may = r->c->can & COUNTERS_WAYS && v->branches && !r->c->changes;
    Tri is = shape_decide(v, UINT64_MAX, atoms, cond);
    Tri taken = is, not_taken = is;
    if (is == TRI_UNKNOWN && may) {
        taken = shape_decide(v, UINT64_MAX, atoms | SHAPE_TAKEN, cond);
        not_taken = shape_decide(v, UINT64_MAX, atoms | SHAPE_NOT_TAKEN, cond);
    }
    *out = ways & ((taken == TRI_YES ? WAY_TAKEN : 0) | (not_taken == TRI_YES ? WAY_NOT_TAKEN : 0));
    return !(ways & WAY_TAKEN && taken == TRI_UNKNOWN) &&
           !(ways & WAY_NOT_TAKEN && not_taken == TRI_UNKNOWN);
}

static bool read_if(Reading *r, const Stmt *s) {
    unsigned rest = r->ways, after = 0;
    for (uint32_t i = 0; i < s->narms && rest; i++) {
        const Expr *cond = s->arms[i].cond;
        r->ways = rest;
        if (cond && !decide_ways(r, cond, rest, &r->ways))
            return counter_refuse(r, WHY_CONDITION, NULL, cond->span);
        rest &= ~r->ways;
        if (!read_block(r, &s->arms[i].body))
            return false;
        after |= r->ways;
    }
    r->ways = rest | after;
    return true;
}

static bool check_sum(Reading *r, uint32_t sum) {
    const Sum *s = &r->c->sums.at[sum];
    return !s->why_not || counter_refuse(r, s->why_not, s->var, s->span);
}

/* The key of Counters.first_additions. */
typedef struct ShapeSum {
    uint32_t shape, sum;
} ShapeSum;

static void put_addition(Reading *r, Addition a) {
    ShapeSum key = {r->shape->index, a.sum};
    uint32_t index = r->c->additions.len;
    Str place = {(const char *)&key, sizeof key};
    bool first;
    uint64_t *last = map_put(&r->last, place, index, &first);
    a.again = !first;
    a.ways = (uint8_t)r->ways;
    if (first)
        map_put(&r->c->first_additions, place, index, NULL);
    else
        r->c->additions.at[*last].next = index;
    *last = index;
    vec_push(&r->c->additions, a);
    r->out.n++;
}

/* Adds, or sets a flag; of cells the mark, too, where it is not set yet. */
static bool read_change(Reading *r, const Stmt *s, const Terms *terms) {
    const Expr *e = s->target;
    uint32_t n, sum = counter_sum_of(r->c, r->shape->variant, e);
    Addition a = {.sum = sum, .key = ADDITION_NO_KEY};
    if (!check_sum(r, sum))
        return false;
    if (is_cell(e)) {
        const CellMap *m = &r->c->plan->cells.maps.at[e->var->cells - 1];
        Addition mark = {.sum = r->c->map_sums[e->var->cells - 1] + m->leaves,
                         .key = e->slot - 1,
                         .leaf = m->leaves};
        a.key = mark.key;
        a.leaf = cell_leaves(e, &n);
        if (!e->present && m->tracked) {
            if (!check_sum(r, mark.sum))
                return false;
            put_addition(r, mark);
        }
    }
    for (uint32_t i = 0; i < terms->len; i++) {
        a.by = terms->at[i].by;
        a.minus = terms->at[i].minus;
        if (a.by && !a.by->is_static)
            return counter_refuse(r, WHY_AMOUNT, NULL, a.by->span);
        put_addition(r, a);
    }
    return true;
}

/* The value that a statement assigns to a flag, as one term. */
static bool is_setting(const Reading *r, const Stmt *s, Terms *out) {
    if (s->kind != STMT_ASSIGN || !(is_variable(s->target) || is_cell(s->target)) ||
        s->value->type->kind > TYPE_BOOL)
        return false;
    vec_push(out, ((Term){s->value, false}));
    return r->c->sums.at[counter_sum_of(r->c, r->shape->variant, s->target)].flag;
}

/* Why a statement that changes something does not count. */
static bool refuse_change(Reading *r, const Stmt *s) {
    const Expr *e = s->target;
    bool map = e && e->kind == EXPR_INDEX && e->var && e->var->type->kind == TYPE_MAP;
    if (map && !is_cell(e))
        return counter_refuse(r, WHY_MAP, e->var, e->span);
    uint32_t sum = e ? counter_sum_of(r->c, r->shape->variant, e) : UINT32_MAX;
    if (sum != UINT32_MAX && !check_sum(r, sum))
        return false;
    return counter_refuse(r, WHY_STATEMENT, NULL, s->span);
}

static bool read_stmt(Reading *r, const Stmt *s) {
    Terms terms = {0};
    bool elsewhere = s->kind == STMT_ANNOTATED ||
                     (s->kind == STMT_CALL &&
                      (s->value->annotation == ANN_INIT || s->value->annotation == ANN_EXIT));
    bool ok = true;
    if (elsewhere || (s->kind == STMT_DECL && counter_is_kept(s->var)))
        return true; /* runs at start-up, or before the report */
    if (s->kind == STMT_IF)
        return read_if(r, s);
    if (s->kind == STMT_RETURN && !s->value)
        r->ways = 0;
    else if (is_addition(s, &terms) || is_setting(r, s, &terms))
        ok = read_change(r, s, &terms);
    else
        ok = refuse_change(r, s);
    vec_free(&terms);
    return ok;
}

static bool read_block(Reading *r, const Block *b) {
    for (const Stmt *s = b->first; s && r->ways; s = s->next)
        if (!read_stmt(r, s))
            return false;
    return true;
}

/* Variables of the sites that are no sums have values of their own. */
static bool counter_check_vars(Reading *r) {
    const Variant *v = r->shape->variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        uint32_t id = var->storage == STORAGE_UNSHARED ? v->vars[var->index] : UINT32_MAX;
        if (id != UINT32_MAX && !check_sum(r, id))
            return false;
    }
    return true;
}

/* A row is a multiple of how often one thing happened. */
static bool check_ways(Reading *r) {
    for (uint32_t i = r->out.first; i < r->c->additions.len; i++) {
        const Addition *a = &r->c->additions.at[i];
        const Sum *s = &r->c->sums.at[a->sum];
        if (s->of_sites && a->next && r->c->additions.at[a->next].ways != a->ways)
            return counter_refuse(r, WHY_WAYS, s->var, s->span);
    }
    return true;
}

static Counting read_shape(Counters *c, const Shape *shape) {
    const Variant *v = shape->variant;
    Reading r = {.c = c, .shape = shape, .out.first = c->additions.len, .ways = WAY_BOTH};
    const Expr *predicate = v->probe->predicate;
    if (!is_countable(c, v->event))
        counter_refuse(&r, WHY_EVENT, NULL, v->probe->rule.span);
    else if (predicate && (!decide_ways(&r, predicate, WAY_BOTH, &r.ways) ||
                           (shape->atoms & SHAPE_ENTERING && !v->asks.entering)))
        counter_refuse(&r, WHY_PREDICATE, NULL, predicate->span);
    else if (counter_check_vars(&r) && read_block(&r, &v->probe->body))
        check_ways(&r);
    map_free(&r.last);
    return r.out;
}

const Counting *counters_shape(Counters *c, const Shape *s) {
    assert(s->index < c->plan->shapes.len && c->plan->shapes.at[s->index] == s);
    while (c->shapes.len <= s->index) {
        vec_add(&c->shapes);
        vec_push(&c->known, false);
    }
    if (!c->known.at[s->index]) {
        c->known.at[s->index] = true;
        c->shapes.at[s->index] = read_shape(c, s);
    }
    return &c->shapes.at[s->index];
}

const Addition *counters_first(const Counters *c, const Shape *s, uint32_t sum) {
    assert(s->index < c->known.len && c->known.at[s->index] && sum < c->sums.len);
    const Counting *k = &c->shapes.at[s->index];
    if (k->n && c->additions.at[k->first].sum == sum)
        return &c->additions.at[k->first];
    ShapeSum key = {s->index, sum};
    const uint64_t *i = map_get(&c->first_additions, (Str){(const char *)&key, sizeof key});
    return i ? &c->additions.at[*i] : NULL;
}

/* ---- values ---- */

uint64_t addition_amount(const Counters *c, const Addition *a, const Site *s) {
    assert(a->sum < c->sums.len);
    const Sum *sum = &c->sums.at[a->sum];
    Value v = {.bits = 1};
    if (sum->flag && !sum->of_sites)
        return 1;
    if (a->by)
        fold(a->by, s, &v); /* a site at which it has no value has no match */
    return a->minus ? 0 - v.bits : v.bits;
}
