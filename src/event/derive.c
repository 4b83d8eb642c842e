/*
 * event/derive.c - derived names as expressions over operands, results and constants of the
 * instruction.
 */
#include "event/derive.h"
#include "event/fold.h"

#include <assert.h>

/* Builds typed expressions with the span of the name that they replace. */
typedef struct Build {
    Arena *arena;
    Span span;
} Build;

#define T(KIND) (&type_scalar[TYPE_##KIND])

static Expr *node(Build *b, ExprKind kind, const Type *type) {
    Expr *e = arena_new(b->arena, Expr);
    e->kind = kind;
    e->span = b->span;
    e->type = type;
    return e;
}

static Expr *derive_integer(Build *b, const Type *type, uint64_t bits) {
    Expr *e = node(b, EXPR_INT, type);
    e->integer = bits;
    e->is_static = true;
    return e;
}

static Expr *real(Build *b, const Type *type, double value) {
    Expr *e = node(b, EXPR_FLOAT, type);
    e->real = value;
    e->is_static = true;
    return e;
}

static Expr *truth(Build *b, bool value) {
    Expr *e = node(b, EXPR_BOOL, T(BOOL));
    e->boolean = value;
    e->is_static = true;
    return e;
}

static Expr *derive_name(Build *b, int id, uint32_t n, const Type *type, bool is_static) {
    Expr *e = node(b, EXPR_NAME, type);
    e->is_bound = true;
    e->bound = (Bound){.id = id, .n = n, .is_static = is_static, .type = type};
    e->is_static = is_static;
    return e;
}

static Expr *derive_arg(Build *b, uint32_t n, const Type *type) {
    return derive_name(b, NAME_ARG, n, type, false);
}

static Expr *binary(Build *b, Op op, Expr *x, Expr *y) {
    bool condition = op == OP_AND || op == OP_OR || (op >= OP_EQ && op <= OP_LT);
    Expr *e = node(b, EXPR_BINARY, condition ? T(BOOL) : x->type);
    e->op = op;
    e->nargs = 2;
    e->args = arena_array(b->arena, Expr *, 2);
    e->args[0] = x;
    e->args[1] = y;
    e->is_static = x->is_static && y->is_static;
    return e;
}

static Expr *negate(Build *b, Expr *x) {
    Expr *e = node(b, EXPR_UNARY, T(BOOL));
    e->op = OP_NOT;
    e->nargs = 1;
    e->args = arena_array(b->arena, Expr *, 1);
    e->args[0] = x;
    e->is_static = x->is_static;
    return e;
}

static Expr *derive_cast(Build *b, Expr *x, const Type *to) {
    Expr *e = node(b, EXPR_CAST, to);
    e->cast = to;
    e->nargs = 1;
    e->args = arena_array(b->arena, Expr *, 1);
    e->args[0] = x;
    e->is_static = x->is_static;
    return e;
}

static Expr *derive_choose(Build *b, Expr *c, Expr *x, Expr *y) {
    Expr *e = node(b, EXPR_COND, x->type);
    e->nargs = 3;
    e->args = arena_array(b->arena, Expr *, 3);
    e->args[0] = c;
    e->args[1] = x;
    e->args[2] = y;
    return e;
}

/* ---- when an instruction is going to trap ---- */

/* Bytes of memory n of the instruction. */
static Expr *memory_bytes(Build *b, uint32_t n) {
    return binary(b, OP_MUL, derive_name(b, NAME_PAGES, n, T(U64), false),
                  derive_name(b, NAME_PAGE_SIZE, n, T(U64), true));
}

/* start + len > limit in u64, where the sum may wrap. */
static Expr *out_of_bounds(Build *b, Expr *start, Expr *len, Expr *len_again, Expr *limit,
                           Expr *limit_again) {
    return binary(b, OP_OR, binary(b, OP_GT, len, limit),
                  binary(b, OP_GT, start, binary(b, OP_SUB, limit_again, len_again)));
}

/* Operands are wide: 64-bit memories and tables have 64-bit addresses and lengths. */
static Expr *wide_arg(Build *b, uint32_t n) {
    return derive_name(b, NAME_WIDE_ARG, n, T(U64), false);
}

static Expr *table_elems(Build *b, uint32_t n) {
    return derive_name(b, NAME_TABLE_ELEMS, n, T(U64), false);
}

static Expr *is_null(Build *b, uint32_t n) {
    return derive_name(b, NAME_ARG_IS_NULL, n, T(BOOL), false);
}

/* Operands `start` and `len` against memory (or table) n. */
static Expr *range_traps(Build *b, uint32_t start, uint32_t len, bool table, uint32_t n) {
    Expr *(*limit)(Build *, uint32_t) = table ? table_elems : memory_bytes;
    return out_of_bounds(b, wide_arg(b, start), wide_arg(b, len), wide_arg(b, len), limit(b, n),
                         limit(b, n));
}

static Expr *segment_size(Build *b) {
    return derive_name(b, NAME_SEGMENT_SIZE, 0, T(U64), false);
}

/* Items from a segment: operand 1 is the first's place, operand 0 their number. */
static Expr *segment_traps(Build *b) {
    return out_of_bounds(b, wide_arg(b, 1), wide_arg(b, 0), wide_arg(b, 0), segment_size(b),
                         segment_size(b));
}

/* The same where the items of an array are made of bytes. */
static Expr *item_bytes(Build *b) {
    return binary(b, OP_MUL, wide_arg(b, 0), derive_name(b, NAME_ITEM_SIZE, 0, T(U64), true));
}

static Expr *data_traps(Build *b) {
    return out_of_bounds(b, wide_arg(b, 1), item_bytes(b), item_bytes(b), segment_size(b),
                         segment_size(b));
}

static Expr *array_len(Build *b, uint32_t n) {
    return derive_name(b, NAME_ARRAY_LEN, n, T(U64), false);
}

/* One item of an array: the length of null is 0. */
static Expr *item_traps(Build *b, uint32_t array, uint32_t index) {
    return binary(b, OP_GE, wide_arg(b, index), array_len(b, array));
}

/* Operand 0 items of an array. Null traps even if there are none. */
static Expr *items_trap(Build *b, uint32_t array, uint32_t start) {
    Expr *range = out_of_bounds(b, wide_arg(b, start), wide_arg(b, 0), wide_arg(b, 0),
                                array_len(b, array), array_len(b, array));
    return binary(b, OP_OR, is_null(b, array), range);
}

static Expr *condition(Build *b, RefCondition which) {
    return derive_name(b, NAME_REF_CONDITION, which, T(BOOL), false);
}

static Expr *division_traps(Build *b, const Type *type, bool overflow) {
    Expr *zero = binary(b, OP_EQ, derive_arg(b, 0, type), derive_integer(b, type, 0));
    if (!overflow)
        return zero;
    uint64_t min = type->kind == TYPE_I64 ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)INT32_MIN;
    Expr *minus_one =
        binary(b, OP_EQ, derive_arg(b, 0, type), derive_integer(b, type, (uint64_t)-1));
    Expr *lowest = binary(b, OP_EQ, derive_arg(b, 1, type), derive_integer(b, type, min));
    return binary(b, OP_OR, zero, binary(b, OP_AND, minus_one, lowest));
}

/* Float to integer traps unless low < x < high (then truncation is in range); NaN fails both
 * comparisons. Where low itself is not representable below the range (f32, i64), low <= x is the
 * exact bound. */
static Expr *truncation_traps(Build *b, const Type *from, double low, bool low_in, double high) {
    Expr *above = binary(b, low_in ? OP_GE : OP_GT, derive_arg(b, 0, from), real(b, from, low));
    Expr *below = binary(b, OP_LT, derive_arg(b, 0, from), real(b, from, high));
    return negate(b, binary(b, OP_AND, above, below));
}

static Expr *offset(Build *b) {
    return derive_name(b, NAME_OFFSET, 0, T(U64), true);
}

/* Offset + size, or the largest number where that is none of 64 bits: memories with 64-bit
 * addresses have any offset. */
static Expr *access_end(Build *b, uint32_t size) {
    assert(size > 0 && size <= 16);
    Expr *sum = binary(b, OP_ADD, offset(b), derive_integer(b, T(U64), size));
    Expr *wraps = binary(b, OP_GT, offset(b), derive_integer(b, T(U64), UINT64_MAX - size));
    return binary(b, OP_BITOR, sum,
                  binary(b, OP_SUB, derive_integer(b, T(U64), 0), derive_cast(b, wraps, T(U64))));
}

/* Out of bounds; atomic ones also where the address is not a multiple of the size. */
static Expr *access_traps(Build *b, WasmOp op) {
    uint32_t addr;
    bool writes;
    uint32_t size = op_access(op, &addr, &writes);
    if (!size) /* memory.atomic.* */
        size = op == WASM_OP_MEMORY_ATOMIC_WAIT64 ? 8 : 4;
    Expr *bounds = out_of_bounds(b, wide_arg(b, addr), access_end(b, size), access_end(b, size),
                                 memory_bytes(b, 0), memory_bytes(b, 0));
    if (wasm_ops[op].category != WASM_CAT_ATOMIC || size == 1)
        return bounds;
    Expr *at = binary(b, OP_ADD, wide_arg(b, addr), offset(b));
    Expr *low = binary(b, OP_BITAND, at, derive_integer(b, T(U64), size - 1));
    Expr *fails = binary(b, OP_OR, binary(b, OP_NE, low, derive_integer(b, T(U64), 0)), bounds);
    if (op != WASM_OP_MEMORY_ATOMIC_WAIT32 && op != WASM_OP_MEMORY_ATOMIC_WAIT64)
        return fails;
    return binary(b, OP_OR, negate(b, derive_name(b, NAME_MEMORY_SHARED, 0, T(BOOL), true)), fails);
}

static Expr *either(Build *b, Expr *x, Expr *y) {
    return binary(b, OP_OR, x, y);
}

#define TRAP(op, when)                                                                             \
    case WASM_OP_##op: return when;

static Expr *traps(Build *b, WasmOp op) {
    uint8_t imm = wasm_ops[op].imm;
    if (imm == WASM_IMM_MEMARG || imm == WASM_IMM_MEMARG_LANE)
        return access_traps(b, op);
    switch (op) {
#include "wasm/trap.def"
    default: return truth(b, false); /* nobody asks */
    }
}

/* ---- */

static Expr *taken(Build *b, WasmOp op) {
    switch (op) {
    case WASM_OP_BR: return truth(b, true);
    case WASM_OP_BR_IF:
    case WASM_OP_IF:
        return binary(b, OP_NE, derive_arg(b, 0, T(U32)), derive_integer(b, T(U32), 0));
    default: return condition(b, REF_BRANCHES);
    }
}

static Expr *derive_address(Build *b, Event e) {
    uint32_t n;
    bool writes;
    op_access(e.op, &n, &writes);
    return derive_arg(b, n, event_is_wide(e, false, n) ? T(U64) : T(U32));
}

static Expr *effective_address(Build *b, Event e) {
    Expr *at = derive_address(b, e), *more = offset(b);
    return binary(b, OP_ADD, at, at->type == more->type ? more : derive_cast(b, more, at->type));
}

/* A size that is -1. */
static Expr *failed(Build *b, const Type *size) {
    return binary(b, OP_EQ, derive_name(b, NAME_RES, 0, size, false),
                  derive_integer(b, size, (uint64_t)-1));
}

bool derived_is_condition(int id) {
    return id == NAME_TAKEN || id == NAME_TRAP || id == NAME_BACK_EDGE;
}

/* The event has the name of a condition, which other events of its rule have. */
static bool has_condition(const Expr *e, Event event) {
    Bound b;
    return event_name_lookup(event, str_of(name_infos[e->bound.id].text), &b);
}

/* Beyond the last target a br_table takes its default. */
static Expr *derive_target(Build *b) {
    Expr *count = derive_name(b, NAME_NUM_TARGETS, 0, T(U32), true);
    Expr *count_again = derive_name(b, NAME_NUM_TARGETS, 0, T(U32), true);
    return derive_choose(b, binary(b, OP_LT, derive_arg(b, 0, T(U32)), count),
                         derive_arg(b, 0, T(U32)), count_again);
}

bool derived_depends_on_op(int id) {
    return id == NAME_ADDR || id == NAME_EFFECTIVE_ADDR || id == NAME_TAKEN || id == NAME_TRAP ||
           id == NAME_TARGET || id == NAME_RESOLVED_FID;
}

Expr *derive_expr(Arena *a, Expr *e, Event event) {
    if (e->kind != EXPR_NAME || !e->is_bound || event.kind != EVENT_OPCODE)
        return e;
    Build b = {a, e->span};
    if (derived_is_condition(e->bound.id) && !has_condition(e, event))
        return truth(&b, false);
    switch (e->bound.id) {
    case NAME_ADDR: return derive_address(&b, event);
    case NAME_EFFECTIVE_ADDR: return effective_address(&b, event);
    case NAME_FAILED: return failed(&b, event_is_wide(event, true, 0) ? T(I64) : T(I32));
    case NAME_TABLE_ENTRY_IDX:
        return derive_arg(&b, 0, event_is_wide(event, false, 0) ? T(I64) : T(I32));
    case NAME_TARGET: return derive_target(&b);
    case NAME_TAKEN: return taken(&b, event.op);
    case NAME_TRAP: return traps(&b, event.op);
    default: return e;
    }
}
