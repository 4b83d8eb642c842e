/*
 * gen/expr.c - typed trees to Binaryen IR.
 *
 * Integers of 8 and 16 bits live in an i32, always extended by their signedness; operations that
 * can leave the range are followed by normalise().
 */
#include "gen/expr.h"

#include <stdio.h>

typedef BinaryenExpressionRef Ref;

BinaryenType gen_type(const Type *t) {
    switch (type_wasm(t)) {
    case WASM_I64: return BinaryenTypeInt64();
    case WASM_F32: return BinaryenTypeFloat32();
    case WASM_F64: return BinaryenTypeFloat64();
    default: return BinaryenTypeInt32();
    }
}

/* ---- holes ---- */

static const char hole_letters[] = "karlvmtpehfwnxzcbgsi"; /* in the order of HoleKind */
_Static_assert(sizeof hole_letters == HOLE_KINDS + 1, "a letter for each kind of hole");

void hole_name(char name[32], HoleKind kind, uint32_t n, BinaryenType type) {
    char letter = type == BinaryenTypeInt64()     ? 'l'
                  : type == BinaryenTypeFloat32() ? 'f'
                  : type == BinaryenTypeFloat64() ? 'd'
                                                  : 'i';
    snprintf(name, 32, "%c%u%c", hole_letters[kind], n, letter);
}

bool hole_parse(Str name, Hole *out) {
    char kind = 0, type = 0;
    unsigned n = 0;
    char text[32];
    snprintf(text, sizeof text, "%.*s", STR_ARG(name));
    if (sscanf(text, "%c%u%c", &kind, &n, &type) != 3 || !strchr(hole_letters, kind))
        return false;
    *out = (Hole){.kind = (uint8_t)(strchr(hole_letters, kind) - hole_letters), .n = n};
    out->type = type == 'l' ? WASM_I64 : type == 'f' ? WASM_F32 : type == 'd' ? WASM_F64 : WASM_I32;
    return true;
}

/* Declares the hole's import on first use. Every import is mutable but those that can only be read.
 */
static void declare(Body *b, const char *name, HoleKind kind, BinaryenType type) {
    bool added;
    map_put(b->imports, str_of(name), 0, &added);
    bool mutable = kind == HOLE_ARG || kind == HOLE_RESULT || kind == HOLE_LOCAL ||
                   kind == HOLE_VAR || kind >= HOLE_PAGES;
    if (added)
        BinaryenAddGlobalImport(b->module, name, "hole", name, type, mutable);
}

static Ref hole_get(Body *b, HoleKind kind, uint32_t n, BinaryenType type) {
    char name[32];
    hole_name(name, kind, n, type);
    declare(b, name, kind, type);
    return BinaryenGlobalGet(b->module, name, type);
}

static Ref hole_set(Body *b, HoleKind kind, uint32_t n, BinaryenType type, Ref value) {
    char name[32];
    hole_name(name, kind, n, type);
    declare(b, name, kind, type);
    return BinaryenGlobalSet(b->module, name, value);
}

/* ---- small pieces ---- */

static Ref const_i32(Body *b, uint32_t v) {
    return BinaryenConst(b->module, BinaryenLiteralInt32((int32_t)v));
}

static Ref unary(Body *b, BinaryenOp op, Ref x) {
    return BinaryenUnary(b->module, op, x);
}

static Ref binary(Body *b, BinaryenOp op, Ref x, Ref y) {
    return BinaryenBinary(b->module, op, x, y);
}

static Ref number(Body *b, const Type *t, Value v) {
    uint64_t bits = value_wasm_bits(v);
    switch (type_wasm(t)) {
    case WASM_I64: return BinaryenConst(b->module, BinaryenLiteralInt64((int64_t)bits));
    case WASM_F32: return BinaryenConst(b->module, BinaryenLiteralFloat32Bits((int32_t)bits));
    case WASM_F64: return BinaryenConst(b->module, BinaryenLiteralFloat64Bits((int64_t)bits));
    default: return const_i32(b, (uint32_t)bits);
    }
}

Ref gen_zero(Body *b, const Type *t) {
    return number(b, t, (Value){.kind = t->kind});
}

/* Brings an i32 back into the range of an 8- or 16-bit type. */
static Ref normalise(Body *b, const Type *t, Ref x) {
    switch (t->kind) {
    case TYPE_U8: return binary(b, BinaryenAndInt32(), x, const_i32(b, 0xff));
    case TYPE_U16: return binary(b, BinaryenAndInt32(), x, const_i32(b, 0xffff));
    case TYPE_I8: return unary(b, BinaryenExtendS8Int32(), x);
    case TYPE_I16: return unary(b, BinaryenExtendS16Int32(), x);
    default: return x;
    }
}

/* ---- variables ---- */

static uint32_t var_id(const Body *b, const Var *v) {
    if (v->storage != STORAGE_SCRIPT)
        return b->variant->vars[v->index];
    for (uint32_t i = 0; i < b->plan->vars.len; i++)
        if (b->plan->vars.at[i].decl == v)
            return i;
    return UINT32_MAX; /* not reached: every script variable is in the plan */
}

static uint32_t access_bytes(const Type *t) {
    return type_wasm(t) == WASM_I64 || type_wasm(t) == WASM_F64 ? 8 : 4;
}

static Ref memory_load(Body *b, const Type *t, Ref at) {
    uint32_t n = access_bytes(t);
#ifdef HAVE_BINARYEN_MEMORY_NAME
    return BinaryenLoad(b->module, n, false, 0, n, gen_type(t), at, "0");
#else
    return BinaryenLoad(b->module, n, false, 0, n, gen_type(t), at);
#endif
}

static Ref memory_store(Body *b, const Type *t, Ref at, Ref value) {
    uint32_t n = access_bytes(t);
#ifdef HAVE_BINARYEN_MEMORY_NAME
    return BinaryenStore(b->module, n, 0, n, at, value, gen_type(t), "0");
#else
    return BinaryenStore(b->module, n, 0, n, at, value, gen_type(t));
#endif
}

static Ref var_get(Body *b, const Var *v) {
    if (v->storage == STORAGE_LOCAL)
        return BinaryenLocalGet(b->module, b->local_of[v->index], gen_type(v->type));
    uint32_t id = var_id(b, v);
    if (b->options->in_memory[id])
        return memory_load(b, v->type, hole_get(b, HOLE_VAR_ADDR, id, BinaryenTypeInt32()));
    return hole_get(b, HOLE_VAR, id, gen_type(v->type));
}

static Ref var_set(Body *b, const Var *v, Ref value) {
    if (v->storage == STORAGE_LOCAL)
        return BinaryenLocalSet(b->module, b->local_of[v->index], value);
    uint32_t id = var_id(b, v);
    if (b->options->in_memory[id])
        return memory_store(b, v->type, hole_get(b, HOLE_VAR_ADDR, id, BinaryenTypeInt32()), value);
    return hole_set(b, HOLE_VAR, id, gen_type(v->type), value);
}

static HoleKind bound_hole(int id) {
    switch (id) {
    case NAME_ARG: return HOLE_ARG;
    case NAME_RES: return HOLE_RESULT;
    case NAME_LOCAL: return HOLE_LOCAL;
    case NAME_PAGES: return HOLE_PAGES;
    case NAME_TABLE_ELEMS: return HOLE_ELEMS;
    case NAME_WIDE_ARG: return HOLE_WIDE;
    case NAME_ARG_IS_NULL: return HOLE_NULL;
    case NAME_ARRAY_LEN: return HOLE_LENGTH;
    case NAME_SEGMENT_SIZE: return HOLE_SEGMENT;
    case NAME_RESOLVED_FID: return HOLE_ENTRY_FID;
    default: return HOLE_CONDITION;
    }
}

static Ref name_get(Body *b, const Expr *e) {
    if (e->var)
        return var_get(b, e->var);
    /* a bound of 8 or 16 bits reads the low bits of the program's i32 */
    return normalise(b, e->type,
                     hole_get(b, bound_hole(e->bound.id), e->bound.n, gen_type(e->type)));
}

static Ref name_set(Body *b, const Expr *target, Ref value) {
    if (target->var)
        return var_set(b, target->var, value);
    return hole_set(b, bound_hole(target->bound.id), target->bound.n, gen_type(target->type),
                    value);
}

/* ---- operators ---- */

typedef BinaryenOp (*OpFn)(void);

/* Wasm operator by language operator and class: i32 signed, unsigned, i64 signed, unsigned, f32,
 * f64. */
static BinaryenOp wasm_operator(Op op, const Type *t) {
#define ROW(s32, u32, s64, u64, f32, f64)                                                          \
    { s32, u32, s64, u64, f32, f64 }
#define SAME(N)                                                                                    \
    ROW(Binaryen##N##Int32, Binaryen##N##Int32, Binaryen##N##Int64, Binaryen##N##Int64, NULL, NULL)
#define BOTH(N)                                                                                    \
    ROW(Binaryen##N##Int32, Binaryen##N##Int32, Binaryen##N##Int64, Binaryen##N##Int64,            \
        Binaryen##N##Float32, Binaryen##N##Float64)
#define SIGNED(N)                                                                                  \
    ROW(Binaryen##N##SInt32, Binaryen##N##UInt32, Binaryen##N##SInt64, Binaryen##N##UInt64, NULL,  \
        NULL)
#define ORDER(N)                                                                                   \
    ROW(Binaryen##N##SInt32, Binaryen##N##UInt32, Binaryen##N##SInt64, Binaryen##N##UInt64,        \
        Binaryen##N##Float32, Binaryen##N##Float64)
    static const OpFn table[][6] = {
        [OP_BITOR] = SAME(Or),
        [OP_BITXOR] = SAME(Xor),
        [OP_BITAND] = SAME(And),
        [OP_EQ] = BOTH(Eq),
        [OP_NE] = BOTH(Ne),
        [OP_GE] = ORDER(Ge),
        [OP_GT] = ORDER(Gt),
        [OP_LE] = ORDER(Le),
        [OP_LT] = ORDER(Lt),
        [OP_SHL] = SAME(Shl),
        [OP_SHR] = SIGNED(Shr),
        [OP_ADD] = BOTH(Add),
        [OP_SUB] = BOTH(Sub),
        [OP_MUL] = BOTH(Mul),
        [OP_REM] = SIGNED(Rem),
        [OP_DIV] = ROW(BinaryenDivSInt32, BinaryenDivUInt32, BinaryenDivSInt64, BinaryenDivUInt64,
                       BinaryenDivFloat32, BinaryenDivFloat64),
    };
    WasmType w = type_wasm(t);
    uint32_t column = w == WASM_F32   ? 4
                      : w == WASM_F64 ? 5
                                      : (w == WASM_I64 ? 2u : 0u) + !type_is_signed(t);
    return table[op][column]();
}

/* Floats have no remainder instruction. */
static Ref gen_fmod(Body *b, const Type *t, Ref x, Ref y) {
    BinaryenType f64 = BinaryenTypeFloat64(), both[] = {f64, f64};
    bool single = t->kind == TYPE_F32, added;
    char name[32];
    hole_name(name, HOLE_HELPER, HELPER_FMOD, f64);
    map_put(b->imports, str_of(name), 0, &added);
    if (added)
        BinaryenAddFunctionImport(b->module, name, "hole", name, BinaryenTypeCreate(both, 2), f64);
    Ref args[] = {single ? unary(b, BinaryenPromoteFloat32(), x) : x,
                  single ? unary(b, BinaryenPromoteFloat32(), y) : y};
    Ref r = BinaryenCall(b->module, name, args, 2, f64);
    return single ? unary(b, BinaryenDemoteFloat64(), r) : r;
}

static bool leaves_range(Op op) {
    return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_REM ||
           op == OP_SHL;
}

static Ref gen_binary(Body *b, const Expr *e) {
    Ref x = gen_expr(b, e->args[0]), y = gen_expr(b, e->args[1]);
    if (e->op == OP_AND)
        return BinaryenIf(b->module, x, y, const_i32(b, 0));
    if (e->op == OP_OR)
        return BinaryenIf(b->module, x, const_i32(b, 1), y);
    if (e->op == OP_REM && type_is_float(e->type))
        return gen_fmod(b, e->type, x, y);
    Ref r = binary(b, wasm_operator(e->op, e->args[0]->type), x, y);
    return leaves_range(e->op) ? normalise(b, e->type, r) : r;
}

static Ref gen_unary(Body *b, const Expr *e) {
    Ref x = gen_expr(b, e->args[0]);
    if (e->op == OP_NOT)
        return unary(b, BinaryenEqZInt32(), x);
    if (type_wasm(e->type) == WASM_I64)
        return binary(b, BinaryenXorInt64(), x, BinaryenConst(b->module, BinaryenLiteralInt64(-1)));
    return normalise(b, e->type, binary(b, BinaryenXorInt32(), x, const_i32(b, UINT32_MAX)));
}

static Ref cast_from_float(Body *b, const Type *from, const Type *to, Ref x) {
    bool single = from->kind == TYPE_F32, s = type_is_signed(to);
    switch (to->kind) {
    case TYPE_F32: return single ? x : unary(b, BinaryenDemoteFloat64(), x);
    case TYPE_F64: return single ? unary(b, BinaryenPromoteFloat32(), x) : x;
    case TYPE_BOOL:
        return binary(b, single ? BinaryenNeFloat32() : BinaryenNeFloat64(), x, gen_zero(b, from));
    case TYPE_I64:
    case TYPE_U64:
        if (single)
            return unary(b, s ? BinaryenTruncSFloat32ToInt64() : BinaryenTruncUFloat32ToInt64(), x);
        return unary(b, s ? BinaryenTruncSFloat64ToInt64() : BinaryenTruncUFloat64ToInt64(), x);
    default:
        if (single)
            x = unary(b, s ? BinaryenTruncSFloat32ToInt32() : BinaryenTruncUFloat32ToInt32(), x);
        else
            x = unary(b, s ? BinaryenTruncSFloat64ToInt32() : BinaryenTruncUFloat64ToInt32(), x);
        return normalise(b, to, x);
    }
}

static Ref cast_to_float(Body *b, const Type *from, const Type *to, Ref x) {
    bool single = to->kind == TYPE_F32, s = from->kind != TYPE_BOOL && type_is_signed(from);
    if (type_wasm(from) == WASM_I64) {
        if (single)
            return unary(b, s ? BinaryenConvertSInt64ToFloat32() : BinaryenConvertUInt64ToFloat32(),
                         x);
        return unary(b, s ? BinaryenConvertSInt64ToFloat64() : BinaryenConvertUInt64ToFloat64(), x);
    }
    if (single)
        return unary(b, s ? BinaryenConvertSInt32ToFloat32() : BinaryenConvertUInt32ToFloat32(), x);
    return unary(b, s ? BinaryenConvertSInt32ToFloat64() : BinaryenConvertUInt32ToFloat64(), x);
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
        return wide ? binary(b, BinaryenNeInt64(), x, gen_zero(b, from))
                    : binary(b, BinaryenNeInt32(), x, const_i32(b, 0));
    if (type_wasm(to) == WASM_I64) {
        if (wide)
            return x;
        bool s = from->kind != TYPE_BOOL && type_is_signed(from);
        return unary(b, s ? BinaryenExtendSInt32() : BinaryenExtendUInt32(), x);
    }
    return normalise(b, to, wide ? unary(b, BinaryenWrapInt64(), x) : x);
}

BinaryenType gen_result_type(const Fn *fn) {
    return fn->result->kind == TYPE_UNIT ? BinaryenTypeNone() : gen_type(fn->result);
}

/* What happens on the program's stack is not Binaryen's business: it sees a call of an import. */
static Ref gen_bound_call(Body *b, const Expr *e) {
    char name[32];
    bool added;
    HoleKind kind = e->bound.id == FN_DROP_ARGS ? HOLE_DROP : HOLE_ALT_CALL;
    hole_name(name, kind, e->slot ? e->slot - 1 : 0, BinaryenTypeInt32());
    map_put(b->imports, str_of(name), 0, &added);
    if (added)
        BinaryenAddFunctionImport(b->module, name, "hole", name, BinaryenTypeNone(),
                                  BinaryenTypeNone());
    return BinaryenCall(b->module, name, NULL, 0, BinaryenTypeNone());
}

static Ref gen_call(Body *b, const Expr *e) {
    if (e->is_bound)
        return gen_bound_call(b, e);
    char name[32];
    uint32_t id = 0;
    while (b->plan->fns.at[id].fn != e->fn)
        id++;
    hole_name(name, HOLE_FN, id, BinaryenTypeInt32());
    Vec(Ref) args = {0};
    for (uint32_t i = 0; i < e->nargs; i++)
        vec_push(&args, gen_expr(b, e->args[i]));
    Ref call = BinaryenCall(b->module, name, args.at, args.len, gen_result_type(e->fn));
    vec_free(&args);
    return call;
}

static Ref gen_library_call(Body *b, const Expr *e) {
    const LibraryFn *f = &b->plan->library_fns.at[e->bound.id];
    BinaryenType result = f->result ? gen_type(f->result) : BinaryenTypeNone();
    char name[32];
    bool added;
    hole_name(name, HOLE_LIBRARY, (uint32_t)e->bound.id, BinaryenTypeInt32());
    Vec(Ref) args = {0};
    Vec(BinaryenType) params = {0};
    for (uint32_t i = 0; i < e->nargs; i++) {
        vec_push(&params, gen_type(f->params[i]));
        vec_push(&args, gen_expr(b, e->args[i]));
    }
    map_put(b->imports, str_of(name), 0, &added);
    if (added)
        BinaryenAddFunctionImport(b->module, name, "hole", name,
                                  BinaryenTypeCreate(params.at, params.len), result);
    Ref call = BinaryenCall(b->module, name, args.at, args.len, result);
    vec_free(&args);
    vec_free(&params);
    return call;
}

Ref gen_expr(Body *b, const Expr *e) {
    Value v;
    if (e->slot && e->is_static) {
        if (e->type->kind == TYPE_BOOL && e->slot <= b->variant->atoms.len &&
            b->variant->atoms.at[e->slot - 1] == e)
            return const_i32(b, b->atoms >> (e->slot - 1) & 1);
        return hole_get(b, HOLE_CONST, e->slot - 1, gen_type(e->type));
    }
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL: fold(e, NULL, &v); return number(b, e->type, v);
    case EXPR_NAME: return name_get(b, e);
    case EXPR_UNARY: return gen_unary(b, e);
    case EXPR_BINARY: return gen_binary(b, e);
    case EXPR_CAST: return gen_cast(b, e);
    case EXPR_COND:
        return BinaryenIf(b->module, gen_expr(b, e->args[0]), gen_expr(b, e->args[1]),
                          gen_expr(b, e->args[2]));
    case EXPR_CALL: return gen_call(b, e);
    case EXPR_METHOD:
        if (e->annotation != ANN_STATIC)
            return gen_library_call(b, e);
        fold(e, NULL, &v);
        return number(b, e->type, v);
    default: return BinaryenUnreachable(b->module); /* the plan lets none of the others through */
    }
}

/* ---- statements ---- */

static Ref gen_if(Body *b, const Stmt *s, uint32_t arm) {
    if (arm == s->narms)
        return NULL;
    Ref body = gen_block(b, &s->arms[arm].body);
    if (!s->arms[arm].cond)
        return body;
    return BinaryenIf(b->module, gen_expr(b, s->arms[arm].cond), body, gen_if(b, s, arm + 1));
}

static Ref gen_step(Body *b, const Expr *target, Op op) {
    const Type *t = target->type;
    Value one = {.kind = t->kind, .bits = 1, .real = 1};
    Ref r = binary(b, wasm_operator(op, t), name_get(b, target), number(b, t, one));
    return name_set(b, target, normalise(b, t, r));
}

bool starts_constant(const Var *v) {
    Value value;
    return !v->init || fold(v->init, NULL, &value);
}

static Ref gen_decl(Body *b, const Var *v) {
    if (v->storage == STORAGE_LOCAL)
        return var_set(b, v, v->init ? gen_expr(b, v->init) : gen_zero(b, v->type));
    if (v->storage == STORAGE_SCRIPT && !starts_constant(v))
        return var_set(b, v, gen_expr(b, v->init));
    return NULL; /* the initial value of its global */
}

/* A call whose result is not wanted. */
static Ref gen_dropped(Body *b, const Expr *call) {
    Ref r = gen_expr(b, call);
    bool has_value = call->type->kind != TYPE_UNIT;
    return has_value && !(call->kind == EXPR_CALL && call->is_bound) ? BinaryenDrop(b->module, r)
                                                                     : r;
}

/* Annotated calls have their own time, but at script scope that of '@init' is start-up. */
static bool runs_here(const Body *b, const Expr *call) {
    return call->annotation == ANN_NONE || (call->annotation == ANN_INIT && !b->variant);
}

static Ref gen_stmt(Body *b, const Stmt *s) {
    switch (s->kind) {
    case STMT_DECL: return gen_decl(b, s->var);
    case STMT_ASSIGN: return name_set(b, s->target, gen_expr(b, s->value));
    case STMT_INC: return gen_step(b, s->target, OP_ADD);
    case STMT_DEC: return gen_step(b, s->target, OP_SUB);
    case STMT_RETURN: return BinaryenReturn(b->module, s->value ? gen_expr(b, s->value) : NULL);
    case STMT_IF: return gen_if(b, s, 0);
    case STMT_CALL: return runs_here(b, s->value) ? gen_dropped(b, s->value) : NULL;
    }
    return NULL;
}

Ref gen_block(Body *b, const Block *block) {
    Vec(Ref) list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        Ref r = gen_stmt(b, s);
        if (r)
            vec_push(&list, r);
    }
    Ref r = BinaryenBlock(b->module, NULL, list.at, list.len, BinaryenTypeAuto());
    vec_free(&list);
    return r;
}

Ref gen_site_start(Body *b, const Block *block) {
    Vec(Ref) list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        const Var *v = s->kind == STMT_DECL ? s->var : NULL;
        if (v && v->storage == STORAGE_UNSHARED && v->init && !v->init->is_static)
            vec_push(&list, var_set(b, v, gen_expr(b, v->init)));
        if (s->kind == STMT_CALL && s->value->annotation == ANN_INIT)
            vec_push(&list, gen_dropped(b, s->value));
        for (uint32_t i = 0; i < s->narms; i++)
            vec_push(&list, gen_site_start(b, &s->arms[i].body));
    }
    Ref r = BinaryenBlock(b->module, NULL, list.at, list.len, BinaryenTypeAuto());
    vec_free(&list);
    return r;
}

Ref gen_exit_calls(Body *b, const Block *block) {
    Vec(Ref) list = {0};
    for (const Stmt *s = block->first; s; s = s->next) {
        if (s->kind == STMT_CALL && s->value->annotation == ANN_EXIT)
            vec_push(&list, gen_dropped(b, s->value));
        for (uint32_t i = 0; i < s->narms; i++) {
            Ref inner = gen_exit_calls(b, &s->arms[i].body);
            if (inner)
                vec_push(&list, inner);
        }
    }
    Ref r = NULL;
    if (list.len)
        r = BinaryenBlock(b->module, NULL, list.at, list.len, BinaryenTypeAuto());
    vec_free(&list);
    return r;
}
