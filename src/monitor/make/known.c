/*
 * monitor/make/known.c - values of static expressions when there is an event but no program.
 */
#include "monitor/make/known.h"

#include <assert.h>

/* A site with the properties that all sites of the event share. */
typedef struct Anywhere {
    Site site;
    WasmInstr instr;
} Anywhere;

static void anywhere(Anywhere *w, Event event) {
    static const uint8_t lanes[16];
    *w = (Anywhere){.instr.op = (uint16_t)event.op, .instr.vec = lanes};
    w->site.host = STR("wasi"); /* monitors have no other */
    w->site.instr = event.kind == EVENT_OPCODE ? &w->instr : NULL;
    w->site.at_func_end = event.kind == EVENT_FUNC_EXIT;
}

static bool name_is_known(Event event, const Expr *e) {
    switch (e->bound.id) {
    case NAME_OPNAME:
    case NAME_BYTECODE:
    case NAME_CATEGORY_ID:
    case NAME_CATEGORY_NAME:
    case NAME_DATA_SIZE:
    case NAME_IS_WRITE: return event.kind == EVENT_OPCODE;
    case NAME_AT_FUNC_END:
        return event.kind == EVENT_FUNC_ENTRY || event.kind == EVENT_FUNC_EXIT ||
               (event.kind == EVENT_OPCODE && event.op != WASM_OP_END);
    case NAME_PC:
    case NAME_OPIDX: return event.kind == EVENT_FUNC_ENTRY;
    case NAME_HOST:
    case NAME_MODULE_ID:
    case NAME_COMPONENT_NAME:
    case NAME_ASYNCIFY: return true;
    default: return false;
    }
}

/* Everything in it is the same at all sites. */
static bool all_known(Event event, const Expr *e) {
    if (e->kind == EXPR_CALL || (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC) ||
        (e->kind == EXPR_INDEX && e->is_bound))
        return false;
    if (e->kind == EXPR_NAME && !(e->is_bound && name_is_known(event, e)))
        return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!all_known(event, e->args[i]))
            return false;
    return true;
}

bool known_value(Event event, const Expr *e, Value *out) {
    assert(event.kind < EVENT_KIND_COUNT);
    Anywhere w;
    anywhere(&w, event);
    return e->is_static && e->type->kind <= TYPE_STR && all_known(event, e) &&
           fold(e, &w.site, out);
}

static Expr *known_literal(Arena *a, const Expr *e, Value v) {
    Expr *x = arena_new(a, Expr);
    *x = (Expr){.span = e->span, .type = e->type, .is_static = true};
    switch (v.kind) {
    case TYPE_BOOL:
        x->kind = EXPR_BOOL;
        x->boolean = v.bits != 0;
        break;
    case TYPE_STR:
        x->kind = EXPR_STR;
        x->text = v.text;
        break;
    case TYPE_F32:
    case TYPE_F64:
        x->kind = EXPR_FLOAT;
        x->real = v.real;
        break;
    default: x->kind = EXPR_INT; x->integer = v.bits;
    }
    return x;
}

static bool is_truth(const Expr *e, bool value) {
    return e->kind == EXPR_BOOL && e->boolean == value;
}

/* Folds `&&`, `||`, `!` and `?:` with a literal operand. Expressions that may lack a value stay. */
static Expr *shorten(Event event, Expr *e) {
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        bool decisive = e->op == OP_OR;
        for (uint32_t i = 0; i < 2; i++)
            if (is_truth(e->args[i], !decisive))
                return e->args[1 - i];
        if (is_truth(e->args[0], decisive) ||
            (is_truth(e->args[1], decisive) && known_exists(event, e->args[0]) == TRI_YES &&
             !expr_has_effect(e->args[0])))
            return e->args[is_truth(e->args[0], decisive) ? 0 : 1];
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT && e->args[0]->kind == EXPR_UNARY &&
        e->args[0]->op == OP_NOT)
        return e->args[0]->args[0];
    if (e->kind == EXPR_COND && e->args[0]->kind == EXPR_BOOL)
        return e->args[e->args[0]->boolean ? 1 : 2];
    return e;
}

Expr *known_simplify(Arena *a, Event event, const Expr *e) {
    Value v;
    if (known_value(event, e, &v))
        return known_literal(a, e, v);
    Expr *x = arena_new(a, Expr);
    *x = *e;
    x->slot = 0;
    x->args = arena_array(a, Expr *, e->nargs + 1);
    for (uint32_t i = 0; i < e->nargs; i++)
        x->args[i] = known_simplify(a, event, e->args[i]);
    return shorten(event, x);
}

static Tri known_both(Tri a, Tri b) {
    return a == TRI_NO || b == TRI_NO ? TRI_NO : a == TRI_YES ? b : a;
}

/* Of a division by something known, where the divisor exists. */
static Tri quotient_exists(Event event, const Expr *e) {
    Value v;
    if (e->type->kind == TYPE_F32 || e->type->kind == TYPE_F64)
        return TRI_YES;
    if (!known_value(event, e->args[1], &v))
        return TRI_UNKNOWN;
    if (v.bits == 0)
        return TRI_NO;
    return e->op == OP_DIV && type_is_signed(e->type) && v.bits == UINT64_MAX ? TRI_UNKNOWN
                                                                              : TRI_YES;
}

Tri known_exists(Event event, const Expr *e) {
    Anywhere w;
    Value v;
    anywhere(&w, event);
    if (e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_IMM) {
        if (event.op == WASM_OP_BR_TABLE && e->bound.n > 0)
            return TRI_UNKNOWN;
        Bound b = e->bound;
        b.type = e->type;
        return tri_of(site_value(&w.site, &b, &v));
    }
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        return TRI_YES;
    Tri exists = TRI_YES;
    for (uint32_t i = 0; i < e->nargs; i++) {
        Tri part = known_exists(event, e->args[i]);
        bool may_be_skipped =
            i > 0 && (e->kind == EXPR_COND ||
                      (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)));
        exists = known_both(exists, part == TRI_NO && may_be_skipped ? TRI_UNKNOWN : part);
    }
    if (e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM))
        exists = known_both(exists, quotient_exists(event, e));
    if (e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast) &&
        e->cast->kind != TYPE_BOOL)
        exists = known_both(exists, known_value(event, e, &v) ? TRI_YES : TRI_UNKNOWN);
    return exists;
}

bool known_has_place(const Expr *e) {
    if (e->kind == EXPR_NAME && e->is_bound && e->bound.id != NAME_FID &&
        e->bound.id != NAME_FNAME && e->bound.id != NAME_APP_MEMID && e->bound.id != NAME_HOST &&
        e->bound.id != NAME_MODULE_ID && e->bound.id != NAME_ASYNCIFY &&
        e->bound.id != NAME_MODULE_NAME && e->bound.id != NAME_COMPONENT_NAME)
        return true;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (known_has_place(e->args[i]))
            return true;
    return false;
}
