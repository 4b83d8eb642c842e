/*
 * plan/cell.c - maps that need no map at run time.
 *
 * An entry is in the map from the first write on. Where that has to be known (for the report, and
 * to trap when a tuple is read that is not there) writes set a *mark*, a further leaf of the cell.
 * They do not where the entry must be there already, since the same body has written it before, nor
 * where they count up a leaf that is never written otherwise: that says the same as a mark. (A leaf
 * of 64 bits: smaller ones come round to zero.)
 */
#include "plan/cell.h"

#include "plan/static_part.h"

#include <assert.h>

/* ---- which maps ---- */

static bool plain_leaves(const Type *t, TypeKind last) {
    uint32_t n = type_leaves(t);
    for (uint32_t i = 0; i < n; i++)
        if (type_leaf(t, i)->kind > last)
            return false;
    return n > 0;
}

bool cells_possible(const Plan *plan, const Var *v) {
    return plan->cells.wanted && v->storage == STORAGE_SCRIPT && v->type->kind == TYPE_MAP &&
           !v->init && plain_leaves(v->type->key, TYPE_STR) &&
           plain_leaves(v->type->value, TYPE_BOOL);
}

/* The key is known at each site. */
static bool known_key(const Expr *e) {
    Value v;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        return true;
    if (e->type->kind != TYPE_TUPLE)
        return e->is_static && (static_has_names(e) || fold(e, NULL, &v));
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!known_key(e->args[i]))
            return false;
    return e->kind == EXPR_TUPLE;
}

bool cells_defer(Plan *plan, Variant *v, Expr *e) {
    assert(e->kind == EXPR_INDEX && e->nargs == 1 && !e->slot);
    if (!cells_possible(plan, e->var))
        return false;
    if (!known_key(e->args[0])) {
        e->var->computed = true;
        return false;
    }
    vec_push(&plan->cells.elements, ((ElementUse){v, e}));
    return true;
}

void cells_choose(Plan *plan) {
    assert(!plan->cells.maps.len);
    bool numbers = plan_takes_numbers(plan);
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const PlanVar *v = &plan->vars.at[i];
        if (v->decl->storage != STORAGE_SCRIPT || v->decl->type->kind != TYPE_MAP)
            continue;
        Var *decl = plan->scripts.at[v->script]->vars.at[v->decl->index];
        if (numbers || decl->escapes || decl->computed || !cells_possible(plan, decl)) {
            plan->asks.values = true;
            continue;
        }
        CellMap *m = vec_add(&plan->cells.maps);
        m->var = v->id;
        m->tracked = decl->report || decl->type->value->kind == TYPE_TUPLE;
        m->leaves = type_leaves(decl->type->value);
        m->counts = arena_array(&plan->arena, bool, m->leaves);
        decl->cells = plan->cells.maps.len;
    }
}

static CellMap *cell_map_of(Plan *plan, const Expr *e) {
    bool element = e && e->kind == EXPR_INDEX && e->var && e->var->cells;
    return element ? &plan->cells.maps.at[e->var->cells - 1] : NULL;
}

/* ---- leaves that only count ---- */

/* How leaves of maps are written: by map, then leaf. */
typedef struct LeafWrites {
    bool counted, other;
} LeafWrites;

static void note_write(Plan *plan, const Stmt *s, LeafWrites **writes) {
    const CellMap *m = cell_map_of(plan, s->target);
    if (!m)
        return;
    const Type *field;
    const Expr *e = s->target;
    uint32_t first = type_path(e->var->type->value, e->path, e->npath, &field);
    for (uint32_t i = 0; i < type_leaves(field); i++) {
        LeafWrites *w = &writes[e->var->cells - 1][first + i];
        if (s->kind == STMT_INC && type_is_integer(field) && type_bits(field) == 64)
            w->counted = true;
        else
            w->other = true;
    }
}

static void note_writes(Plan *plan, const Block *b, LeafWrites **writes) {
    for (const Stmt *s = b->first; s; s = s->next) {
        note_write(plan, s, writes);
        for (uint32_t i = 0; i < s->narms; i++)
            note_writes(plan, &s->arms[i].body, writes);
    }
}

/* ---- bodies ---- */

/* A body, or a predicate and a body. */
typedef struct Walk {
    Plan *plan;
    Variant *v;
    bool apart; /* the analysed code runs at another time than the statements around it */
    Vec(uint32_t) written; /* keys (VariantKeys.list) that were written on the way to this point */
} Walk;

static void put_pointer(Buf *out, const void *p) {
    buf_u64le(out, (uintptr_t)p);
}

/* Writes a key's identity: keys with equal bytes have equal values at each site. */
static void put_identity(const Expr *e, Buf *out) {
    Value v;
    buf_u8(out, (uint8_t)e->kind);
    put_pointer(out, e->type);
    if (e->annotation != ANN_NONE) { /* each call for itself */
        put_pointer(out, e);
    } else if (e->kind <= EXPR_STR && fold(e, NULL, &v)) {
        buf_u64le(out, v.kind == TYPE_STR ? v.text.len : value_wasm_bits(v));
        if (v.kind == TYPE_STR)
            buf_str(out, v.text);
    } else {
        buf_u8(out, (uint8_t)e->op);
        put_pointer(out, e->cast);
        buf_u8(out, (uint8_t)e->method);
        put_pointer(out, e->var);
        put_pointer(out, e->fn);
        buf_u32le(out, e->is_bound ? (uint32_t)e->bound.id : UINT32_MAX);
        buf_u32le(out, e->is_bound ? e->bound.n : 0);
        buf_u32le(out, e->nargs);
        for (uint32_t i = 0; i < e->nargs; i++)
            put_identity(e->args[i], out);
    }
}

static void key_leaves(Plan *plan, Variant *v, Expr *e, CellKey *key) {
    if (e->type->kind != TYPE_TUPLE) {
        key->leaves[key->nleaves++] = e;
        static_note_lack(v, e);
    } else if (e->kind == EXPR_TUPLE) {
        for (uint32_t i = 0; i < e->nargs; i++)
            key_leaves(plan, v, e->args[i], key);
    } else { /* an '@static' call */
        for (uint32_t i = 0; i < type_leaves(e->type); i++)
            key->leaves[key->nleaves++] = static_call_part(plan, e, i);
    }
}

/* The number of the element's key in its variant. */
static uint32_t cell_key_of(Walk *w, Expr *e) {
    Variant *v = w->v;
    bool added;
    Buf identity = {0};
    buf_u32le(&identity, e->var->cells - 1);
    put_identity(e->args[0], &identity);
    uint32_t number =
        (uint32_t)*map_put(&v->keys.numbers, buf_view(&identity), v->keys.list.len, &added);
    buf_free(&identity);
    if (!added)
        return number;
    CellKey key = {.map = e->var->cells - 1};
    key.leaves = arena_array(&w->plan->arena, const Expr *, type_leaves(e->args[0]->type) + 1);
    key_leaves(w->plan, v, e->args[0], &key);
    vec_push(&v->keys.list, key);
    return number;
}

/* Whether the key's entry is in its map at this point, whatever was there before the body. */
static bool is_present(const Walk *w, uint32_t key) {
    return !w->apart && w->v->keys.list.at[key].writes;
}

static void forget_writes(Walk *w, uint32_t from) {
    while (w->written.len > from)
        w->v->keys.list.at[w->written.at[--w->written.len]].writes--;
}

static void cell_walk_expr(Walk *w, Expr *e);

static void walk_apart(Walk *w, Expr *e) {
    bool apart = w->apart;
    w->apart = true;
    cell_walk_expr(w, e);
    w->apart = apart;
}

static void cell_walk_expr(Walk *w, Expr *e) {
    for (uint32_t i = 0; i < e->nargs; i++) {
        if (e->annotation == ANN_INIT || e->annotation == ANN_EXIT)
            walk_apart(w, e->args[i]);
        else
            cell_walk_expr(w, e->args[i]);
    }
    if (!cell_map_of(w->plan, e))
        return;
    uint32_t key = cell_key_of(w, e);
    e->slot = key + 1;
    e->present = is_present(w, key);
}

static void walk_write(Walk *w, const Stmt *s) {
    Expr *e = s->target;
    CellMap *m = cell_map_of(w->plan, e);
    for (uint32_t i = 0; e && i < e->nargs; i++)
        cell_walk_expr(w,
                       e->args[i]); /* there may be cells in the key of an element of another map */
    if (!m)
        return;
    const Type *field;
    uint32_t key = cell_key_of(w, e),
             leaf = type_path(e->var->type->value, e->path, e->npath, &field);
    e->slot = key + 1;
    e->present = is_present(w, key) || (s->kind == STMT_INC && m->counts[leaf]);
    if (!e->present && m->tracked)
        m->marked = w->v->keys.list.at[key].marks = true;
    w->v->keys.list.at[key].writes++;
    vec_push(&w->written, key);
}

static void cell_walk_block(Walk *w, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_DECL && s->var->init) {
            bool now = s->var->storage == STORAGE_LOCAL || s->var->storage == STORAGE_SCRIPT;
            (now ? cell_walk_expr : walk_apart)(w, s->var->init);
        }
        if (s->value)
            cell_walk_expr(w, s->value);
        walk_write(w, s);
        for (uint32_t i = 0; i < s->narms; i++) {
            uint32_t before = w->written.len;
            bool apart = w->apart;
            w->apart |= s->kind == STMT_ANNOTATED;
            if (s->arms[i].cond)
                cell_walk_expr(w, s->arms[i].cond);
            cell_walk_block(w, &s->arms[i].body);
            forget_writes(w, before);
            w->apart = apart;
        }
    }
}

static void walk_body(Plan *plan, Variant *v, Expr *predicate, const Block *body) {
    Walk w = {.plan = plan, .v = v};
    if (predicate)
        cell_walk_expr(&w, predicate);
    cell_walk_block(&w, body);
    forget_writes(&w, 0);
    vec_free(&w.written);
}

/* ---- all ---- */

static void on_writes(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    (void)v;
    (void)predicate;
    note_writes(plan, body, ctx);
}

static void on_walk(Plan *plan, Variant *v, Expr *predicate, const Block *body, void *ctx) {
    (void)ctx;
    walk_body(plan, v, predicate, body);
}

void cells_variant(Plan *plan, Variant *v) {
    walk_body(plan, v, v->probe->predicate, &v->probe->body);
}

void cells_finish(Plan *plan) {
    LeafWrites **writes = arena_array(&plan->arena, LeafWrites *, plan->cells.maps.len + 1);
    for (uint32_t i = 0; i < plan->cells.maps.len; i++)
        writes[i] = arena_array(&plan->arena, LeafWrites, plan->cells.maps.at[i].leaves);
    plan_each_body(plan, on_writes, writes);
    for (uint32_t i = 0; i < plan->cells.maps.len; i++) {
        CellMap *m = &plan->cells.maps.at[i];
        for (uint32_t k = 0; k < m->leaves; k++)
            m->counts[k] = writes[i][k].counted && !writes[i][k].other;
    }
    plan_each_body(plan, on_walk, NULL);
}
