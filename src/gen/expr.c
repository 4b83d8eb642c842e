/*
 * gen/expr.c - operators, casts, bound names and calls that the splicer fills in.
 *
 * Integers of 8 and 16 bits live in an i32, always extended by their signedness; operations that
 * can leave the range are followed by expr_normalise().
 */
#include "gen/expr.h"
#include "gen/template.h"

#include <assert.h>
#include <stdio.h>

const HelperInfo helper_infos[HELPER_COUNT] = {
#define HELPER(id, name, params, result) {name, params, result},
#include "gen/helper.def"
#include "library/builtin.h"
};

WasmType gen_type(const Type *t) {
    switch (type_wasm(t)) {
    case WASM_FUNCREF: return WASM_FUNCREF;
    case WASM_I64: return WASM_I64;
    case WASM_F32: return WASM_F32;
    case WASM_F64: return WASM_F64;
    default: return WASM_I32;
    }
}

/* ---- holes ---- */

static const char hole_letters[] =
    "karlvmtpehfwnzcbgsi8uoyqjd012345679BxACDEF"; /* in the order of HoleKind */
_Static_assert(sizeof hole_letters == HOLE_KINDS + 1, "a letter for each kind of hole");

char gen_type_letter(WasmType type) {
    return type == WASM_I64       ? 'l'
           : type == WASM_F32     ? 'f'
           : type == WASM_F64     ? 'd'
           : type == WASM_FUNCREF ? 'r'
                                  : 'i';
}

WasmType gen_letter_type(char letter) {
    switch (letter) {
    case 0: return WASM_NONE;
    case 'l': return WASM_I64;
    case 'f': return WASM_F32;
    case 'd': return WASM_F64;
    default: return WASM_I32;
    }
}

void hole_name(char name[32], HoleKind kind, uint32_t n, WasmType type) {
    assert((unsigned)kind < HOLE_KINDS);
    snprintf(name, 32, "%c%u%c", hole_letters[kind], n, gen_type_letter(type));
}

bool hole_parse(Str name, Hole *out) {
    char kind = 0, type = 0;
    unsigned n = 0;
    char text[32];
    snprintf(text, sizeof text, "%.*s", STR_ARG(name));
    if (sscanf(text, "%c%u%c", &kind, &n, &type) != 3 || !strchr(hole_letters, kind))
        return false;
    *out = (Hole){.kind = (uint8_t)(strchr(hole_letters, kind) - hole_letters), .n = n};
    out->type = type == 'l'   ? WASM_I64
                : type == 'f' ? WASM_F32
                : type == 'd' ? WASM_F64
                : type == 'r' ? WASM_FUNCREF
                              : WASM_I32;
    return true;
}

/* Whether calls may change its value. */
static bool is_mutable(HoleKind kind) {
    return kind == HOLE_ARG || kind == HOLE_RESULT || kind == HOLE_LOCAL || kind == HOLE_VAR ||
           (kind >= HOLE_PAGES && kind != HOLE_TEXT && kind != HOLE_ELEMENT_ADDR &&
            kind != HOLE_PAGE && kind != HOLE_TALLY);
}

Ref hole_get(Body *b, HoleKind kind, uint32_t n, WasmType type) {
    if (b->ops)
        return b->ops->get(b, kind, n, type);
    char name[32];
    hole_name(name, kind, n, type);
    code_name(b->module, name, type, is_mutable(kind));
    return code_global(b->module, name, type);
}

Ref hole_set(Body *b, HoleKind kind, uint32_t n, WasmType type, Ref value) {
    if (b->ops)
        return b->ops->set(b, kind, n, type, value);
    char name[32];
    hole_name(name, kind, n, type);
    code_name(b->module, name, type, is_mutable(kind));
    return code_set_global(b->module, name, value);
}

Ref hole_call(Body *b, HoleKind kind, uint32_t n, const Refs *args, const WasmType *params,
              WasmType result) {
    if (b->ops)
        return b->ops->call(b, kind, n, args, params, result);
    char name[32];
    uint32_t nargs = args ? args->len : 0;
    hole_name(name, kind, n, result != WASM_NONE || !nargs ? result : params[0]);
    return code_call(b->module, name, args ? args->at : NULL, nargs, result);
}

enum { HELPER_MAX_PARAMS = 8 };

Ref helper_call(Body *b, Helper h, const Ref *args) {
    assert((unsigned)h < HELPER_COUNT);
    const HelperInfo *info = &helper_infos[h];
    WasmType params[HELPER_MAX_PARAMS];
    Refs list = {0};
    for (uint32_t i = 0; info->params[i]; i++) {
        params[i] = gen_letter_type(info->params[i]);
        vec_push(&list, args[i]);
    }
    Ref call = hole_call(b, HOLE_HELPER, h, &list, params, gen_letter_type(info->result[0]));
    vec_free(&list);
    return call;
}

/* ---- small pieces ---- */

Ref const_i32(Body *b, uint32_t v) {
    return code_i32(b->module, v);
}

static Ref expr_unary(Body *b, WasmOp op, Ref x) {
    return code_op1(b->module, op, x);
}

static Ref expr_binary(Body *b, WasmOp op, Ref x, Ref y) {
    return code_op2(b->module, op, x, y);
}

Ref gen_number(Body *b, const Type *t, Value v) {
    assert(type_leaves(t) == 1);
    return code_const(b->module, gen_type(t), value_wasm_bits(v));
}

Ref gen_zero(Body *b, const Type *t) {
    assert(type_leaves(t) == 1);
    if (t->kind == TYPE_FUNCREF)
        return code_null(b->module);
    return gen_number(b, t, (Value){.kind = t->kind});
}

/* Brings an i32 back into the range of an 8- or 16-bit type. Not of a bool: only values of the
 * program are others than 0 and 1. */
static Ref expr_normalise(Body *b, const Type *t, Ref x) {
    switch (t->kind) {
    case TYPE_U8: return expr_binary(b, WASM_OP_I32_AND, x, const_i32(b, 0xff));
    case TYPE_U16: return expr_binary(b, WASM_OP_I32_AND, x, const_i32(b, 0xffff));
    case TYPE_I8: return expr_unary(b, WASM_OP_I32_EXTEND8_S, x);
    case TYPE_I16: return expr_unary(b, WASM_OP_I32_EXTEND16_S, x);
    default: return x;
    }
}

/* ---- bound names ---- */

static HoleKind bound_hole(int id) {
    switch (id) {
    case NAME_ARG: return HOLE_ARG;
    case NAME_RES: return HOLE_RESULT;
    case NAME_LOCAL:
    case NAME_STACK_ID: return HOLE_LOCAL; /* of flush_add_stacks, the first parameter */
    case NAME_GLOBAL: return HOLE_GLOBAL;
    case NAME_PAGES: return HOLE_PAGES;
    case NAME_TABLE_ELEMS: return HOLE_ELEMS;
    case NAME_WIDE_ARG: return HOLE_WIDE;
    case NAME_ARG_IS_NULL: return HOLE_NULL;
    case NAME_ARRAY_LEN: return HOLE_LENGTH;
    case NAME_SEGMENT_SIZE: return HOLE_SEGMENT;
    case NAME_RESOLVED_FID: return HOLE_ENTRY_FID;
    case NAME_TARGET_FUNCREF: return HOLE_ENTRY;
    case NAME_BACK_EDGE: return HOLE_BACK;
    case NAME_PROBE_ID: return HOLE_NUMBER;
    case NAME_THREAD: return HOLE_THREAD;
    case NAME_ARG_TAG:
    case NAME_RES_TAG:
    case NAME_LOCAL_TAG: return HOLE_TAG;
    default: return HOLE_CONDITION;
    }
}

static uint32_t bound_index(const Bound *b) {
    return b->id == NAME_ARG_TAG     ? b->n * TAGGED_KINDS + TAGGED_ARG
           : b->id == NAME_RES_TAG   ? b->n * TAGGED_KINDS + TAGGED_RESULT
           : b->id == NAME_LOCAL_TAG ? b->n * TAGGED_KINDS + TAGGED_LOCAL
                                     : b->n;
}

static bool is_program_value(HoleKind kind) {
    return kind == HOLE_ARG || kind == HOLE_RESULT || kind == HOLE_LOCAL || kind == HOLE_GLOBAL;
}

Ref gen_bound_get(Body *b, const Expr *e) {
    assert(e->is_bound);
    if (e->bound.id == NAME_BACK_EDGE && b->atoms & SHAPE_ENTERING)
        return const_i32(b, 0);
    HoleKind kind = bound_hole(e->bound.id);
    Ref x = hole_get(b, kind, bound_index(&e->bound), gen_type(e->type));
    if (e->type->kind == TYPE_BOOL && is_program_value(kind))
        return expr_binary(b, WASM_OP_I32_NE, x, const_i32(b, 0));
    /* a bound of 8 or 16 bits reads the low bits of the program's i32 */
    return expr_normalise(b, e->type, x);
}

Ref gen_bound_set(Body *b, const Expr *target, Ref value) {
    assert(target->is_bound);
    return hole_set(b, bound_hole(target->bound.id), bound_index(&target->bound),
                    gen_type(target->type), value);
}

/* ---- operators ---- */

/* Wasm operator by language operator and class: i32 signed, unsigned, i64 signed, unsigned, f32,
 * f64. */
static WasmOp wasm_operator(Op op, const Type *t) {
#define I(N)  WASM_OP_I32_##N, WASM_OP_I32_##N, WASM_OP_I64_##N, WASM_OP_I64_##N
#define SU(N) WASM_OP_I32_##N##_S, WASM_OP_I32_##N##_U, WASM_OP_I64_##N##_S, WASM_OP_I64_##N##_U
#define F(N)  WASM_OP_F32_##N, WASM_OP_F64_##N
    static const WasmOp table[][6] = {
        [OP_BITOR] = {I(OR)},
        [OP_BITXOR] = {I(XOR)},
        [OP_BITAND] = {I(AND)},
        [OP_EQ] = {I(EQ), F(EQ)},
        [OP_NE] = {I(NE), F(NE)},
        [OP_GE] = {SU(GE), F(GE)},
        [OP_GT] = {SU(GT), F(GT)},
        [OP_LE] = {SU(LE), F(LE)},
        [OP_LT] = {SU(LT), F(LT)},
        [OP_SHL] = {I(SHL)},
        [OP_SHR] = {SU(SHR)},
        [OP_ADD] = {I(ADD), F(ADD)},
        [OP_SUB] = {I(SUB), F(SUB)},
        [OP_MUL] = {I(MUL), F(MUL)},
        [OP_REM] = {SU(REM)},
        [OP_DIV] = {SU(DIV), F(DIV)},
        [OP_MIN] = {0, 0, 0, 0, F(MIN)},
        [OP_MAX] = {0, 0, 0, 0, F(MAX)},
    };
    WasmType w = type_wasm(t);
    uint32_t column = w == WASM_F32   ? 4
                      : w == WASM_F64 ? 5
                                      : (w == WASM_I64 ? 2u : 0u) + !type_is_signed(t);
    assert(table[op][column]);
    return table[op][column];
}

/* Floats have no remainder instruction. */
static Ref gen_fmod(Body *b, const Type *t, Ref x, Ref y) {
    bool single = t->kind == TYPE_F32;
    Ref args[] = {single ? expr_unary(b, WASM_OP_F64_PROMOTE_F32, x) : x,
                  single ? expr_unary(b, WASM_OP_F64_PROMOTE_F32, y) : y};
    Ref r = helper_call(b, HELPER_FMOD, args);
    return single ? expr_unary(b, WASM_OP_F32_DEMOTE_F64, r) : r;
}

/* The smaller or the larger one of two integers. */
static Ref gen_extreme(Body *b, const Type *t, Op op, Ref x, Ref y) {
    WasmType type = gen_type(t);
    uint32_t first = gen_temp(b, type), second = gen_temp(b, type);
    Ref before = expr_binary(b, wasm_operator(op == OP_MIN ? OP_LT : OP_GT, t),
                             code_get(b->module, first, type), code_get(b->module, second, type));
    Ref code[] = {code_set(b->module, first, x), code_set(b->module, second, y),
                  code_if(b->module, before, code_get(b->module, first, type),
                          code_get(b->module, second, type))};
    return code_block(b->module, 0, code, 3);
}

static bool leaves_range(Op op) {
    return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_REM ||
           op == OP_SHL;
}

Ref gen_applied(Body *b, const Type *t, Op op, Ref x, Ref y) {
    if (op == OP_REM && type_is_float(t))
        return gen_fmod(b, t, x, y);
    if ((op == OP_MIN || op == OP_MAX) && type_is_integer(t))
        return gen_extreme(b, t, op, x, y);
    Ref r = expr_binary(b, wasm_operator(op, t), x, y);
    return leaves_range(op) ? expr_normalise(b, t, r) : r;
}

Ref gen_truth(Body *b, const Expr *e) {
    Ref x = gen_expr(b, e);
    bool is_truth = (e->kind == EXPR_BINARY && e->op >= OP_EQ && e->op <= OP_LT) ||
                    e->kind == EXPR_UNARY || e->kind == EXPR_BOOL || (e->slot && e->is_static);
    return is_truth ? x : expr_binary(b, WASM_OP_I32_NE, x, const_i32(b, 0));
}

/* A condition of a function or at script scope. */
static Tri decided_nowhere(const Body *b, const Expr *e) {
    Value v;
    bool known = b->ops ? b->ops->decided(e, &v) : e->is_static && fold(e, b->options->nowhere, &v);
    return known ? tri_of(v.bits) : TRI_UNKNOWN;
}

Tri gen_decided(const Body *b, const Expr *e) {
    if (!b->variant || e->type->kind != TYPE_BOOL)
        return TRI_UNKNOWN;
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri first = gen_decided(b, e->args[0]);
        if (first == TRI_UNKNOWN)
            return first;
        if (first == tri_decisive(e->op))
            return b->ops && expr_calls_at_match(e->args[1]) ? TRI_UNKNOWN : first;
        return gen_decided(b, e->args[1]);
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return tri_not(gen_decided(b, e->args[0]));
    if (b->ops && expr_calls_at_match(e))
        return TRI_UNKNOWN;
    if (!b->variant->probe)
        return decided_nowhere(b, e);
    return shape_decide(b->variant, b->undecided ? 0 : UINT64_MAX, b->atoms, e);
}

/* `a && b` where one side is decided; NULL = neither is. */
static Ref gen_decided_side(Body *b, const Expr *e) {
    Tri decisive = tri_decisive(e->op);
    Tri first = gen_decided(b, e->args[0]), second = gen_decided(b, e->args[1]);
    if (first != TRI_UNKNOWN)
        return first == decisive ? const_i32(b, first == TRI_YES) : gen_expr(b, e->args[1]);
    return second != TRI_UNKNOWN && second != decisive ? gen_expr(b, e->args[0]) : NULL;
}

static Ref gen_binary(Body *b, const Expr *e) {
    bool logic = e->op == OP_AND || e->op == OP_OR;
    Ref rest = logic ? gen_decided_side(b, e) : NULL;
    if (rest)
        return rest;
    if (logic && b->ops && gen_is_plain(e->args[1]))
        return expr_binary(b, e->op == OP_AND ? WASM_OP_I32_AND : WASM_OP_I32_OR,
                           gen_truth(b, e->args[0]), gen_truth(b, e->args[1]));
    Ref x = gen_expr(b, e->args[0]), y = gen_expr(b, e->args[1]);
    if (e->op == OP_AND)
        return code_if(b->module, x, y, const_i32(b, 0));
    if (e->op == OP_OR)
        return code_if(b->module, x, const_i32(b, 1), y);
    if (e->args[0]->type->kind == TYPE_STR) {
        Ref equal = gen_str_equal(b, x, y);
        return e->op == OP_EQ ? equal : expr_unary(b, WASM_OP_I32_EQZ, equal);
    }
    return gen_applied(b, e->args[0]->type, e->op, x, y);
}

Ref gen_stepped(Body *b, const Type *t, Op op, Ref x) {
    assert(op == OP_ADD || op == OP_SUB);
    Value one = {.kind = t->kind, .bits = 1, .real = 1};
    return gen_applied(b, t, op, x, gen_number(b, t, one));
}

Ref gen_added(Body *b, const Type *t, Op op, Ref x, Ref condition) {
    assert(op == OP_ADD || op == OP_SUB);
    if (type_wasm(t) == WASM_I64)
        condition = expr_unary(b, WASM_OP_I64_EXTEND_I32_U, condition);
    return gen_applied(b, t, op, x, condition);
}

/* The number of the highest bit, from the number of zeros above it; as if bit 0 was always set. */
static Ref gen_log2(Body *b, const Type *t, Ref x) {
    if (type_wasm(t) != WASM_I64)
        return expr_binary(
            b, WASM_OP_I32_SUB, const_i32(b, 31),
            expr_unary(b, WASM_OP_I32_CLZ, expr_binary(b, WASM_OP_I32_OR, x, const_i32(b, 1))));
    Ref zeros =
        expr_unary(b, WASM_OP_I64_CLZ, expr_binary(b, WASM_OP_I64_OR, x, code_i64(b->module, 1)));
    return expr_binary(b, WASM_OP_I32_SUB, const_i32(b, 63),
                       expr_unary(b, WASM_OP_I32_WRAP_I64, zeros));
}

/* ---- buckets of histograms ---- */

/* A number of 64 bits in a local, and code for its bucket. */
typedef struct Bucket {
    Body *b;
    const Type *histogram;
    uint32_t number; /* a local */
} Bucket;

static Ref bucket_number(const Bucket *k) {
    return code_get(k->b->module, k->number, WASM_I64);
}

static Ref bucket_op(const Bucket *k, WasmOp op, Ref x, uint64_t y) {
    return expr_binary(k->b, op, x, code_i64(k->b->module, y));
}

/* `begin`, which sets the local, before a value. */
static Ref bucket_after(const Bucket *k, Ref begin, Ref value) {
    Ref both[] = {begin, value};
    return code_block(k->b->module, 0, both, 2);
}

static Bucket bucket_begin(Body *b, const Type *histogram, const Type *t, Ref x, Ref *begin) {
    if (type_wasm(t) != WASM_I64)
        x = expr_unary(b, type_is_signed(t) ? WASM_OP_I64_EXTEND_I32_S : WASM_OP_I64_EXTEND_I32_U,
                       x);
    Bucket k = {b, histogram, gen_temp(b, WASM_I64)};
    *begin = code_set(b->module, k.number, x);
    return k;
}

/* `in` for numbers within the bounds of an lhist. */
static Ref bucket_within(const Bucket *k, Ref below, Ref above, Ref in) {
    CodeModule *m = k->b->module;
    const int64_t *steps = k->histogram->steps;
    Ref is_below = bucket_op(k, WASM_OP_I64_LT_S, bucket_number(k), (uint64_t)steps[0]);
    Ref is_above = bucket_op(k, WASM_OP_I64_GE_S, bucket_number(k), (uint64_t)steps[1]);
    return code_if(m, is_below, below, code_if(m, is_above, above, in));
}

/* The distance from the least number of an lhist. */
static Ref bucket_distance(const Bucket *k) {
    return bucket_op(k, WASM_OP_I64_SUB, bucket_number(k), (uint64_t)k->histogram->steps[0]);
}

/* The highest bit of a number in a local. */
static Ref bucket_bit(const Bucket *k) {
    CodeModule *m = k->b->module;
    Ref bit = expr_binary(k->b, WASM_OP_I64_SHR_U, code_i64(m, UINT64_C(1) << 63),
                          expr_unary(k->b, WASM_OP_I64_CLZ, bucket_number(k)));
    return expr_binary(k->b, WASM_OP_I64_AND, bit, bucket_number(k)); /* 0 has none */
}

/* Sets the local to its distance from 0. */
static Ref bucket_absolute(const Bucket *k) {
    return code_set(
        k->b->module, k->number,
        expr_binary(k->b, WASM_OP_I64_SUB, code_i64(k->b->module, 0), bucket_number(k)));
}

Ref gen_bucket(Body *b, const Type *histogram, const Type *t, Ref x) {
    Ref begin;
    Bucket k = bucket_begin(b, histogram, t, x, &begin);
    CodeModule *m = b->module;
    if (histogram->aggregate == AGG_LHIST) {
        const int64_t *steps = histogram->steps;
        Ref rest = bucket_op(&k, WASM_OP_I64_REM_U, bucket_distance(&k), (uint64_t)steps[2]);
        Ref in = expr_binary(b, WASM_OP_I64_SUB, bucket_number(&k), rest);
        return bucket_after(&k, begin,
                            bucket_within(&k, code_i64(m, (uint64_t)INT64_MIN),
                                          code_i64(m, (uint64_t)steps[1]), in));
    }
    if (!type_is_signed(t))
        return bucket_after(&k, begin, bucket_bit(&k));
    Ref negated = expr_binary(b, WASM_OP_I64_SUB, code_i64(m, 0), bucket_bit(&k));
    return bucket_after(&k, begin,
                        code_if(m, bucket_op(&k, WASM_OP_I64_LT_S, bucket_number(&k), 0),
                                bucket_after(&k, bucket_absolute(&k), negated), bucket_bit(&k)));
}

Ref gen_bucket_index(Body *b, const Type *histogram, const Type *t, Ref x) {
    Ref begin;
    Bucket k = bucket_begin(b, histogram, t, x, &begin);
    CodeModule *m = b->module;
    if (histogram->aggregate == AGG_LHIST) {
        Ref steps = bucket_distance(&k);
        if (histogram->steps[2] > 1)
            steps = bucket_op(&k, WASM_OP_I64_DIV_U, steps, (uint64_t)histogram->steps[2]);
        Ref in = expr_binary(b, WASM_OP_I32_ADD, expr_unary(b, WASM_OP_I32_WRAP_I64, steps),
                             const_i32(b, 1));
        return bucket_after(
            &k, begin,
            bucket_within(&k, const_i32(b, 0), const_i32(b, type_buckets(histogram) - 1), in));
    }
    Ref zeros =
        expr_unary(b, WASM_OP_I32_WRAP_I64, expr_unary(b, WASM_OP_I64_CLZ, bucket_number(&k)));
    uint32_t last = type_is_signed(histogram->added) ? 128 : 64; /* that of numbers without zeros */
    Ref index = expr_binary(b, WASM_OP_I32_SUB, const_i32(b, last), zeros);
    if (!type_is_signed(t))
        return bucket_after(&k, begin, index);
    Ref negated =
        expr_unary(b, WASM_OP_I32_WRAP_I64, expr_unary(b, WASM_OP_I64_CLZ, bucket_number(&k)));
    return bucket_after(&k, begin,
                        code_if(m, bucket_op(&k, WASM_OP_I64_LT_S, bucket_number(&k), 0),
                                bucket_after(&k, bucket_absolute(&k), negated), index));
}

static Ref gen_abs(Body *b, const Type *t, Ref x) {
    if (type_is_float(t))
        return expr_unary(b, t->kind == TYPE_F32 ? WASM_OP_F32_ABS : WASM_OP_F64_ABS, x);
    WasmType type = gen_type(t);
    uint32_t n = gen_temp(b, type);
    Ref negative =
        expr_binary(b, wasm_operator(OP_LT, t), code_get(b->module, n, type), gen_zero(b, t));
    Ref negated = gen_applied(b, t, OP_SUB, gen_zero(b, t), code_get(b->module, n, type));
    Ref code[] = {code_set(b->module, n, x),
                  code_if(b->module, negative, negated, code_get(b->module, n, type))};
    return code_block(b->module, 0, code, 2);
}

/* clz, ctz and popcnt in the width of the type: small ones are in an i32, with the bits of the
 * sign above them. */
static Ref gen_bits(Body *b, Op op, const Type *t, Ref x) {
    bool wide = type_wasm(t) == WASM_I64;
    uint32_t bits = type_bits(t);
    if (bits < 32 && op == OP_CTZ)
        x = expr_binary(b, WASM_OP_I32_OR, x, const_i32(b, 1u << bits));
    else if (bits < 32 && type_is_signed(t))
        x = expr_binary(b, WASM_OP_I32_AND, x, const_i32(b, (1u << bits) - 1));
    switch (op) {
    case OP_CTZ: return expr_unary(b, wide ? WASM_OP_I64_CTZ : WASM_OP_I32_CTZ, x);
    case OP_POPCNT: return expr_unary(b, wide ? WASM_OP_I64_POPCNT : WASM_OP_I32_POPCNT, x);
    default: x = expr_unary(b, wide ? WASM_OP_I64_CLZ : WASM_OP_I32_CLZ, x);
    }
    return bits < 32 ? expr_binary(b, WASM_OP_I32_SUB, x, const_i32(b, 32 - bits)) : x;
}

static Ref gen_unary(Body *b, const Expr *e) {
    Ref x = gen_expr(b, e->args[0]);
    if (e->op == OP_ABS)
        return gen_abs(b, e->type, x);
    if (e->op == OP_CLZ || e->op == OP_CTZ || e->op == OP_POPCNT)
        return gen_bits(b, e->op, e->type, x);
    if (e->op == OP_LOG2)
        return gen_log2(b, e->args[0]->type, x);
    if (e->op == OP_BUCKET)
        return gen_bucket(b, e->cast, e->args[0]->type, x);
    if (e->op == OP_NOT)
        return expr_unary(b, WASM_OP_I32_EQZ, x);
    if (type_wasm(e->type) == WASM_I64)
        return expr_binary(b, WASM_OP_I64_XOR, x, code_i64(b->module, -1));
    return expr_normalise(b, e->type, expr_binary(b, WASM_OP_I32_XOR, x, const_i32(b, UINT32_MAX)));
}

static Ref cast_from_float(Body *b, const Type *from, const Type *to, Ref x) {
    bool single = from->kind == TYPE_F32, s = type_is_signed(to);
    switch (to->kind) {
    case TYPE_F32: return single ? x : expr_unary(b, WASM_OP_F32_DEMOTE_F64, x);
    case TYPE_F64: return single ? expr_unary(b, WASM_OP_F64_PROMOTE_F32, x) : x;
    case TYPE_BOOL:
        return expr_binary(b, single ? WASM_OP_F32_NE : WASM_OP_F64_NE, x, gen_zero(b, from));
    case TYPE_I64:
    case TYPE_U64:
        if (single)
            return expr_unary(b, s ? WASM_OP_I64_TRUNC_F32_S : WASM_OP_I64_TRUNC_F32_U, x);
        return expr_unary(b, s ? WASM_OP_I64_TRUNC_F64_S : WASM_OP_I64_TRUNC_F64_U, x);
    default:
        if (single)
            x = expr_unary(b, s ? WASM_OP_I32_TRUNC_F32_S : WASM_OP_I32_TRUNC_F32_U, x);
        else
            x = expr_unary(b, s ? WASM_OP_I32_TRUNC_F64_S : WASM_OP_I32_TRUNC_F64_U, x);
        return expr_normalise(b, to, x);
    }
}

static Ref cast_to_float(Body *b, const Type *from, const Type *to, Ref x) {
    bool single = to->kind == TYPE_F32, s = from->kind != TYPE_BOOL && type_is_signed(from);
    if (type_wasm(from) == WASM_I64) {
        if (single)
            return expr_unary(b, s ? WASM_OP_F32_CONVERT_I64_S : WASM_OP_F32_CONVERT_I64_U, x);
        return expr_unary(b, s ? WASM_OP_F64_CONVERT_I64_S : WASM_OP_F64_CONVERT_I64_U, x);
    }
    if (single)
        return expr_unary(b, s ? WASM_OP_F32_CONVERT_I32_S : WASM_OP_F32_CONVERT_I32_U, x);
    return expr_unary(b, s ? WASM_OP_F64_CONVERT_I32_S : WASM_OP_F64_CONVERT_I32_U, x);
}

static Ref gen_cast(Body *b, const Expr *e) {
    const Type *from = e->args[0]->type, *to = e->cast;
    Ref x = gen_expr(b, e->args[0]);
    if (type_is_float(from))
        return cast_from_float(b, from, to, x);
    if (type_is_float(to))
        return cast_to_float(b, from, to, x);
    bool wide = type_wasm(from) == WASM_I64;
    if (to->kind == TYPE_BOOL)
        return wide ? expr_binary(b, WASM_OP_I64_NE, x, gen_zero(b, from))
                    : expr_binary(b, WASM_OP_I32_NE, x, const_i32(b, 0));
    if (type_wasm(to) == WASM_I64) {
        if (wide)
            return x;
        bool s = from->kind != TYPE_BOOL && type_is_signed(from);
        return expr_unary(b, s ? WASM_OP_I64_EXTEND_I32_S : WASM_OP_I64_EXTEND_I32_U, x);
    }
    return expr_normalise(b, to, wide ? expr_unary(b, WASM_OP_I32_WRAP_I64, x) : x);
}

/* Instructions that act on the program's stack: the optimiser sees a call of an import. */
/* A call of an import that takes an i32. */
static Ref number_call(Body *b, HoleKind kind, uint32_t n, const Expr *arg, WasmType result) {
    WasmType i32 = WASM_I32;
    Refs args = {0};
    vec_push(&args, gen_expr(b, arg));
    Ref call = hole_call(b, kind, n, &args, &i32, result);
    vec_free(&args);
    return call;
}

static Ref gen_bound_call(Body *b, const Expr *e) {
    if (e->bound.id == FN_DUP_AT)
        return number_call(b, HOLE_DUP, e->slot - 1, e->args[1], WASM_NONE);
    if (e->bound.id == FN_RESOLVE_FUNCREF) {
        Ref both[] = {code_drop(b->module, gen_expr(b, e->args[0])),
                      number_call(b, HOLE_RESOLVE, 0, e->args[1], WASM_I32)};
        return code_block(b->module, 0, both, 2);
    }
    if (e->bound.id == FN_DROP_ARGS)
        return code_nop(b->module); /* they are dropped before the body (Variant.drops) */
    return hole_call(b, HOLE_ALT_CALL, e->slot - 1, NULL, NULL, WASM_NONE);
}

/* A function of a bundled library is one of the runtime. */
static Ref gen_bundled_call(Body *b, const Expr *e, const BundledFn *f) {
    Ref args[HELPER_MAX_PARAMS];
    uint32_t h = 0;
    while (h + 1 < HELPER_COUNT && strcmp(helper_infos[h].name, f->helper) != 0)
        h++;
    for (uint32_t i = 0; i < e->nargs && i < HELPER_MAX_PARAMS; i++)
        args[i] = gen_expr(b, e->args[i]);
    Ref call = helper_call(b, (Helper)h, args);
    if (f->result[0] != 'd' || helper_infos[h].result[0] != 'l')
        return call;
    Ref million = code_f64(b->module, 1e6);
    return expr_binary(b, WASM_OP_F64_DIV, expr_unary(b, WASM_OP_F64_CONVERT_I64_U, call), million);
}

/* An operation on the shadow stack, which becomes a few instructions. */
static Ref stack_operation(Body *b, StackOp op, Ref *args, const WasmType *params, uint32_t n,
                           WasmType result) {
    Refs list = {.at = args, .len = n, .cap = n};
    return hole_call(b, HOLE_STACK, op, n ? &list : NULL, params, result);
}

/* Adds the stack as it is to the calling-context tree. */
static Ref gen_sample(Body *b, const Expr *e) {
    WasmType i64 = WASM_I64, both[] = {i64, i64};
    Ref args[] = {gen_expr(b, e->args[0]), gen_expr(b, e->args[1])};
    if (b->options->stack_calls)
        return helper_call(b, HELPER_STACK_SAMPLE, args);
    return stack_operation(b, STACK_SAMPLE, args, both, 2, WASM_NONE);
}

static Ref gen_set_interval(Body *b, const Expr *ns) {
    WasmType store[] = {WASM_I32, WASM_I64};
    Ref args[] = {const_i32(b, 0), gen_expr(b, ns)};
    return stack_operation(b, STACK_SET_INTERVAL, args, store, 2, WASM_NONE);
}

/* Another stack becomes the current one. */
static Ref gen_switch(Body *b, StackOp op, const Expr *e, WasmType result) {
    WasmType i32 = WASM_I32;
    Ref id = gen_expr(b, e->args[0]);
    return stack_operation(b, op, &id, &i32, 1, result);
}

/* A call of the bundled library `stack`. */
static Ref gen_stack_call(Body *b, const Expr *e, const BundledFn *f) {
    bool runtime = b->options->stack_calls; /* the imported one keeps the stack */
    if (strcmp(f->name, "leave") == 0)
        return stack_operation(b, STACK_LEAVE, NULL, NULL, 0, WASM_NONE);
    if (strcmp(f->name, "outermost") == 0)
        return stack_operation(b, STACK_OUTERMOST, NULL, NULL, 0, WASM_I32);
    if (strcmp(f->name, "cut") == 0)
        return stack_operation(b, STACK_CUT, NULL, NULL, 0, WASM_NONE);
    if (strcmp(f->name, "sample") == 0)
        return gen_sample(b, e);
    if (strcmp(f->name, "tell") == 0 && !runtime)
        return stack_operation(b, STACK_TELL, NULL, NULL, 0, WASM_NONE);
    if (strcmp(f->name, "collect") == 0 && !runtime)
        return stack_operation(b, STACK_COLLECT, NULL, NULL, 0, WASM_NONE);
    if (strcmp(f->name, "suspend") == 0)
        return gen_switch(b, STACK_SUSPEND, e, WASM_NONE);
    if (strcmp(f->name, "resume") == 0)
        return gen_switch(b, STACK_RESUME, e, WASM_I32);
    if (strcmp(f->name, "every") == 0)
        return runtime ? code_drop(b->module, gen_expr(b, e->args[0]))
                       : gen_set_interval(b, e->args[0]);
    return code_nop(b->module); /* frame, callee: rewrite/frames.c; share: storage/stack.h */
}

Ref gen_library_call(Body *b, const Expr *e) {
    assert((uint32_t)e->bound.id < b->plan->library_fns.len);
    const LibraryFn *f = &b->plan->library_fns.at[e->bound.id];
    if (f->bundled && bundled_kind(f->bundled) == BUNDLED_FLUSH)
        return hole_call(b, HOLE_FLUSH, (uint32_t)e->bound.id, NULL, NULL, WASM_NONE);
    if (f->bundled && bundled_kind(f->bundled) == BUNDLED_STACK)
        return gen_stack_call(b, e, f->bundled);
    if (f->bundled && bundled_kind(f->bundled) == BUNDLED_HELPER)
        return gen_bundled_call(b, e, f->bundled);
    Refs args = {0};
    Vec(WasmType) params = {0};
    for (uint32_t i = 0; i < e->nargs; i++) {
        vec_push(&params, gen_type(f->params[i]));
        vec_push(&args, gen_expr(b, e->args[i]));
    }
    WasmType result = f->result ? gen_result(f->result) : WASM_NONE;
    Ref call = hole_call(b, HOLE_LIBRARY, (uint32_t)e->bound.id, &args, params.at, result);
    vec_free(&args);
    vec_free(&params);
    return call;
}

/* A built-in function on memories. Memories that are known at the site are no arguments. */
static Ref gen_memory_call(Body *b, const Expr *e) {
    const MemoryCall *call = &b->plan->memory_calls.at[e->slot - 1];
    WasmType params[HELPER_MAX_PARAMS];
    Refs args = {0};
    if (call->fn == FN_MEMID)
        return hole_get(b, HOLE_MEMORY, e->slot - 1, WASM_I32);
    for (uint32_t i = 0; i < e->nargs; i++)
        if (call->by_number || !function_takes_memory(call->fn, i))
            gen_leaves(b, e->args[i], &args);
    for (uint32_t i = 0; i < args.len; i++)
        params[i] = WASM_I32; /* at most five */
    Ref r = hole_call(b, HOLE_MEMORY, e->slot - 1, &args, params, gen_result(e->type));
    vec_free(&args);
    return r;
}

/* The only leaf of an expression whose leaves come as a list. */
static Ref only_leaf(Body *b, const Expr *e) {
    Refs list = {0};
    gen_leaves(b, e, &list);
    Ref r = list.len ? list.at[0] : code_nop(b->module);
    vec_free(&list);
    return r;
}

Ref gen_known(Body *b, const Expr *e) {
    assert(e->is_static);
    Expr bare = *e;
    bare.slot = 0;
    return gen_expr(b, &bare);
}

bool gen_is_plain(const Expr *e) {
    bool divides = e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM);
    bool truncates =
        e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast);
    if (e->slot && e->is_static)
        return true;
    if (e->kind == EXPR_CALL || e->kind == EXPR_METHOD || e->kind == EXPR_INDEX || divides ||
        truncates || (e->nargs && e->args[0]->type->kind == TYPE_STR) || e->depth > 8)
        return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!gen_is_plain(e->args[i]))
            return false;
    return true;
}

/* The code for an expression that is static. */
static Ref gen_cut(Body *b, const Expr *e) {
    uint32_t n = e->slot - 1;
    bool atom =
        e->type->kind == TYPE_BOOL && n < b->variant->atoms.len && b->variant->atoms.at[n] == e;
    if (!atom)
        return hole_get(b, HOLE_CONST, n, gen_type(e->type));
    return b->ops ? b->ops->atom(b, n) : const_i32(b, b->atoms >> n & 1);
}

/* A leaf of a value that is known at each site, by computing it there (HoleOps). */
static bool expr_is_known(const Expr *e) {
    bool bound = e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_CALL;
    return e->is_static && e->is_bound && bound;
}

Ref gen_expr(Body *b, const Expr *e) {
    Value v;
    if (e->kind == EXPR_STR)
        return e->slot || !b->ops ? gen_text(b, e->slot - 1) : b->ops->text(b, e->text);
    if (e->slot && e->is_static)
        return gen_cut(b, e);
    if (b->ops && expr_is_known(e))
        return b->ops->known(b, e);
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL: fold(e, NULL, &v); return gen_number(b, e->type, v);
    case EXPR_NAME: return e->var ? gen_var_get(b, e->var, 0) : gen_bound_get(b, e);
    case EXPR_UNARY: return gen_unary(b, e);
    case EXPR_BINARY: return gen_binary(b, e);
    case EXPR_CAST: return gen_cast(b, e);
    case EXPR_COND:
        if (gen_decided(b, e->args[0]) != TRI_UNKNOWN)
            return gen_expr(b, e->args[gen_decided(b, e->args[0]) == TRI_YES ? 1 : 2]);
        return code_if(b->module, gen_expr(b, e->args[0]), gen_expr(b, e->args[1]),
                       gen_expr(b, e->args[2]));
    case EXPR_CALL:
        if (!e->is_bound)
            return gen_fn_call(b, e);
        return function_is_everywhere((FnId)e->bound.id) ? gen_memory_call(b, e)
                                                         : gen_bound_call(b, e);
    case EXPR_METHOD:
        if (e->method)
            return gen_method(b, e);
        if (e->annotation != ANN_STATIC)
            return gen_library_call(b, e);
        if (b->ops) {
            Ref called = b->ops->called(b, e);
            return called ? called : gen_library_call(b, e);
        }
        fold(e, NULL, &v);
        return gen_number(b, e->type, v);
    case EXPR_INDEX:
        if (e->is_bound)
            return number_call(b, HOLE_DEPTH, 0, e->args[0], WASM_I32);
        return only_leaf(b, e);
    case EXPR_FIELD:
    case EXPR_TUPLE: return only_leaf(b, e);
    default: return code_trap(b->module); /* the plan lets none of the others through */
    }
}
