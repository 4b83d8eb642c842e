/*
 * gen/element.c - elements of maps that need no look-up: elements of maps that are cells, each a
 * variable that the splicer knows, and elements that are counted in arrays.
 */
#include "gen/expr.h"
#include "gen/template.h"

#include <assert.h>

static const CellMap *element_map_of(const Body *b, const Expr *e) {
    return &b->plan->cells.maps.at[e->var->cells - 1];
}

bool gen_is_cell(const Expr *e) {
    return e->kind == EXPR_INDEX && e->var && e->var->cells;
}

static uint32_t hole(const Expr *e, uint32_t leaf) {
    return (e->slot - 1) * HOLE_LEAVES + leaf;
}

static Ref element_address(Body *b, const Expr *e) {
    return hole_get(b, HOLE_ELEMENT_ADDR, e->slot - 1, WASM_I32);
}

static Ref element_get(Body *b, const Expr *e, uint32_t leaf) {
    const Type *t = type_leaf(e->var->type->value, leaf);
    if (b->options->cells_in_memory)
        return gen_load_leaf(b, t, element_address(b, e), leaf * LEAF);
    return hole_call(b, HOLE_ELEMENT, hole(e, leaf), NULL, NULL, gen_type(t));
}

/* `leaf`: HOLE_MARK or a leaf, which has that type. */
static Ref element_set(Body *b, const Expr *e, uint32_t leaf, const Type *t, Ref value) {
    if (b->options->cells_in_memory) {
        uint32_t place = leaf == HOLE_MARK ? element_map_of(b, e)->leaves : leaf;
        return gen_store_leaf(b, t, element_address(b, e), place * LEAF, value);
    }
    WasmType type = gen_type(t);
    Refs args = {0};
    vec_push(&args, value);
    Ref r = hole_call(b, HOLE_ELEMENT_SET, hole(e, leaf), &args, &type, WASM_NONE);
    vec_free(&args);
    return r;
}

/* ---- presence in the map ---- */

static Ref get_mark(Body *b, const Expr *e) {
    if (b->options->cells_in_memory)
        return gen_load_leaf(b, &type_scalar[TYPE_U32], element_address(b, e),
                             element_map_of(b, e)->leaves * LEAF);
    return hole_call(b, HOLE_ELEMENT, hole(e, HOLE_MARK), NULL, NULL, WASM_I32);
}

/* Whether the element exists, as a condition. */
static Ref is_there(Body *b, const Expr *e) {
    const CellMap *m = element_map_of(b, e);
    Ref any = m->marked ? get_mark(b, e) : NULL;
    for (uint32_t i = 0; i < m->leaves; i++) {
        if (!m->counts[i])
            continue;
        const Type *t = type_leaf(e->var->type->value, i);
        WasmOp differs = type_wasm(t) == WASM_I64 ? WASM_OP_I64_NE : WASM_OP_I32_NE;
        Ref counted = code_op2(b->module, differs, element_get(b, e, i), gen_zero(b, t));
        any = any ? code_op2(b->module, WASM_OP_I32_OR, any, counted) : counted;
    }
    return any ? any : const_i32(b, 0);
}

/* An element that is written is in the map from then on. */
static void put_mark(Body *b, const Expr *target, Refs *code) {
    if (!target->present && element_map_of(b, target)->tracked)
        vec_push(code, element_set(b, target, HOLE_MARK, &type_scalar[TYPE_U32], const_i32(b, 1)));
}

/* ---- */

void gen_cell_leaves(Body *b, const Expr *e, Refs *out) {
    assert(gen_is_cell(e));
    uint32_t n = type_leaves(e->type), first = gen_first_leaf(e);
    for (uint32_t i = 0; i < n; i++)
        vec_push(out, element_get(b, e, first + i));
    if (!n || e->present || e->inserts || e->var->type->value->kind != TYPE_TUPLE)
        return;
    /* a tuple that is not there cannot be read */
    Ref missing = code_op1(b->module, WASM_OP_I32_EQZ, is_there(b, e));
    Ref both[] = {code_if(b->module, missing, gen_missing(b), NULL), out->at[out->len - n]};
    out->at[out->len - n] = code_block(b->module, 0, both, 2);
}

void gen_cell_set(Body *b, const Expr *target, const Refs *leaves, Refs *code) {
    uint32_t first = gen_first_leaf(target);
    for (uint32_t i = 0; i < leaves->len; i++)
        vec_push(code,
                 element_set(b, target, first + i, type_leaf(target->type, i), leaves->at[i]));
    put_mark(b, target, code);
}

Ref gen_cell_step(Body *b, const Expr *target, Op op) {
    Refs code = {0};
    uint32_t leaf = gen_first_leaf(target);
    vec_push(&code, element_set(b, target, leaf, target->type,
                                gen_stepped(b, target->type, op, element_get(b, target, leaf))));
    put_mark(b, target, &code);
    return gen_block_of(b, &code);
}

/* ---- elements that are counted in arrays (storage/tally.h) ---- */

bool gen_has_tally(const Body *b, const Expr *target) {
    return target->tally && b->options->tallies &&
           b->options->tallies[plan_var_id(b->plan, b->variant, target->var)];
}

static const Type *const word = &type_scalar[TYPE_U64];

static bool is_long(const Type *t) {
    return type_wasm(t) == WASM_I64;
}

/* The address of the element's words, to a local. */
static Ref element_place(Body *b, const Expr *e, const MapTally *t, uint32_t var, uint32_t at) {
    CodeModule *m = b->module;
    const Expr *number = e->args[0];
    Ref key;
    if (e->var->type->aggregate == AGG_HIST || e->var->type->aggregate == AGG_LHIST) {
        bool bucket = number->kind == EXPR_UNARY && !(number->slot && number->is_static);
        number = bucket ? number->args[0] : number; /* the lower bound is in the bucket, too */
        key = gen_bucket_index(b, e->var->type, number->type, gen_expr(b, number));
    } else {
        key = gen_expr(b, number);
        if (is_long(number->type))
            key = code_op1(m, WASM_OP_I32_WRAP_I64, key);
    }
    Ref offset = code_op2(m, WASM_OP_I32_SHL, key, const_i32(b, t->marked ? 4 : 3));
    Ref address = code_op2(m, WASM_OP_I32_ADD, offset, hole_get(b, HOLE_TALLY, var, WASM_I32));
    return code_set(m, at, address);
}

/* Adds an i64, NULL = 1, or subtracts it. */
static Ref element_add(Body *b, const Expr *e, Op op, Ref amount) {
    CodeModule *m = b->module;
    WasmType i32 = WASM_I32;
    uint32_t var = plan_var_id(b->plan, b->variant, e->var), at = gen_temp(b, i32);
    const MapTally *t = &b->plan->tallies[var];
    Ref old = gen_load_leaf(b, word, code_get(m, at, i32), 0);
    WasmOp adds = op == OP_ADD ? WASM_OP_I64_ADD : WASM_OP_I64_SUB;
    Ref sum = amount ? code_op2(m, adds, old, amount) : gen_stepped(b, word, op, old);
    Refs code = {0};
    vec_push(&code, element_place(b, e, t, var, at));
    vec_push(&code, gen_store_leaf(b, word, code_get(m, at, i32), 0, sum));
    if (t->marked)
        vec_push(&code, gen_store_leaf(b, word, code_get(m, at, i32), LEAF, code_i64(m, 1)));
    return gen_block_of(b, &code);
}

Ref gen_tally_step(Body *b, const Expr *target, Op op) {
    assert(gen_has_tally(b, target) && (op == OP_ADD || op == OP_SUB));
    return element_add(b, target, op, NULL);
}

Ref gen_tally_add(Body *b, const Expr *target, Op op, const Expr *amount) {
    assert(gen_has_tally(b, target) && (op == OP_ADD || op == OP_SUB));
    Ref value = gen_expr(b, amount);
    if (!is_long(amount->type))
        value = code_op1(b->module, WASM_OP_I64_EXTEND_I32_U, value);
    return element_add(b, target, op, value);
}
