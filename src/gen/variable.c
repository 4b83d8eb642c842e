/*
 * gen/variable.c - variables, strings, tuples and maps.
 *
 * Strings and maps live in the memory of the runtime (stdlib/runtime/values.h): a str is the
 * address of its object, a map its number. A tuple exists only as its leaves.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "gen/expr.h"
#include "gen/template.h"
#include "lang/list.h"
#include "wasm/emit.h"

#include <assert.h>
#include <stdio.h>

Ref gen_block_of(Body *b, Refs *list) {
    Ref r = code_block(b->module, 0, list->at, list->len);
    vec_free(list);
    return r;
}

uint32_t gen_temps(Body *b, const WasmType *types, uint32_t n) {
    uint32_t first = b->nparams + b->locals.len;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&b->locals, types[i]);
    return first;
}

uint32_t gen_temp(Body *b, WasmType type) {
    return gen_temps(b, &type, 1);
}

uint32_t gen_leaf_temps(Body *b, const Type *t) {
    uint32_t first = b->nparams + b->locals.len;
    for (uint32_t i = 0; i < type_leaves(t); i++)
        vec_push(&b->locals, gen_type(type_leaf(t, i)));
    return first;
}

Ref gen_text(Body *b, uint32_t id) {
    assert(id < b->plan->texts.list.len);
    return hole_get(b, HOLE_TEXT, id, WASM_I32);
}

static Ref local_get(Body *b, uint32_t local, const Type *leaf) {
    return code_get(b->module, local, gen_type(leaf));
}

/* ---- memory ---- */

static bool variable_is_wide(const Type *leaf) {
    return type_wasm(leaf) == WASM_I64 || type_wasm(leaf) == WASM_F64;
}

static Ref plus(Body *b, Ref at, uint32_t offset) {
    return offset ? code_op2(b->module, WASM_OP_I32_ADD, at, const_i32(b, offset)) : at;
}

/* Memory of an imported module is read and written by calls. */
static Ref imported_get(Body *b, const Type *leaf, Ref at) {
    Ref x = helper_call(b, variable_is_wide(leaf) ? HELPER_LOAD64 : HELPER_LOAD32, &at);
    switch (leaf->kind) {
    case TYPE_F32: return code_op1(b->module, WASM_OP_F32_REINTERPRET_I32, x);
    case TYPE_F64: return code_op1(b->module, WASM_OP_F64_REINTERPRET_I64, x);
    default: return x;
    }
}

/* The bits of a float as an integer of the same size; anything else as it is. */
static Ref bits_of(Body *b, const Type *leaf, Ref x) {
    switch (leaf->kind) {
    case TYPE_F32: return code_op1(b->module, WASM_OP_I32_REINTERPRET_F32, x);
    case TYPE_F64: return code_op1(b->module, WASM_OP_I64_REINTERPRET_F64, x);
    default: return x;
    }
}

static Ref memory_get(Body *b, const Type *leaf, Ref at, uint32_t offset) {
    if (b->options->imported)
        return imported_get(b, leaf, plus(b, at, offset));
    return code_load(b->module, emit_load_op(gen_type(leaf)), at, offset);
}

static Ref memory_set(Body *b, const Type *leaf, Ref at, uint32_t offset, Ref value) {
    if (b->options->imported) {
        Ref args[] = {plus(b, at, offset), bits_of(b, leaf, value)};
        return helper_call(b, variable_is_wide(leaf) ? HELPER_STORE64 : HELPER_STORE32, args);
    }
    return code_store(b->module, emit_store_op(gen_type(leaf)), at, offset, value);
}

Ref gen_load_byte(Body *b, Ref at, uint32_t offset) {
    return code_load(b->module, WASM_OP_I32_LOAD8_U, at, offset);
}

Ref gen_memory_copy(Body *b, Ref to, Ref from, Ref bytes) {
    return code_memory(b->module, WASM_OP_MEMORY_COPY, to, from, bytes);
}

Ref gen_memory_fill(Body *b, Ref at, Ref byte, Ref bytes) {
    return code_memory(b->module, WASM_OP_MEMORY_FILL, at, byte, bytes);
}

Ref gen_load_leaf(Body *b, const Type *leaf, Ref at, uint32_t offset) {
    return memory_get(b, leaf, at, offset);
}

Ref gen_load_word(Body *b, Ref at, uint32_t offset) {
    return memory_get(b, &type_scalar[TYPE_U32], at, offset);
}

Ref gen_store_word(Body *b, Ref at, uint32_t offset, Ref value) {
    return memory_set(b, &type_scalar[TYPE_U32], at, offset, value);
}

Ref gen_store_leaf(Body *b, const Type *leaf, Ref at, uint32_t offset, Ref value) {
    return memory_set(b, leaf, at, offset, value);
}

/* ---- variables ---- */

/* The address of leaf 0 of a variable in memory is the returned value plus *offset. */
static Ref var_address(Body *b, uint32_t id, uint32_t *offset) {
    *offset = 0;
    return b->ops ? b->ops->address(b, id, offset) : hole_get(b, HOLE_VAR_ADDR, id, WASM_I32);
}

static Ref leaf_set(Body *b, const Var *v, uint32_t leaf, Ref value);
static Ref gen_map_method(Body *b, const Expr *e);

/* Whether a variable is shared by the threads of the program; where there are none it is like any
 * other. */
static bool is_of_threads(const Body *b, const Var *v) {
    return v->atomic && b->plan->program.threads;
}

static Ref atomic_call(Body *b, const Var *v, AtomicOp op, Ref operand) {
    uint32_t n = plan_var_id(b->plan, b->variant, v) * ATOMIC_OPS + op;
    WasmType type = gen_type(v->type);
    Refs args = {0};
    if (operand)
        vec_push(&args, operand);
    Ref call = hole_call(b, HOLE_ATOMIC, n, operand ? &args : NULL, &type,
                         op == ATOMIC_STORE ? WASM_NONE : type);
    vec_free(&args);
    return call;
}

static AtomicOp atomic_op(Op op) {
    switch (op) {
    case OP_SUB: return ATOMIC_SUB;
    case OP_BITAND: return ATOMIC_AND;
    case OP_BITOR: return ATOMIC_OR;
    case OP_BITXOR: return ATOMIC_XOR;
    default: return ATOMIC_ADD;
    }
}

/* Changes it, in one step. */
static Ref atomic_update(Body *b, const Var *v, Op op, Ref operand) {
    return code_drop(b->module, atomic_call(b, v, atomic_op(op), operand));
}

/* a.fetch_add(n) */
static Ref gen_fetch_add(Body *b, const Expr *e) {
    const Var *v = e->args[0]->var;
    Ref by = gen_expr(b, e->args[1]);
    if (is_of_threads(b, v))
        return atomic_call(b, v, ATOMIC_ADD, by);
    WasmType type = gen_type(v->type);
    uint32_t operand = gen_temp(b, type), old = gen_temp(b, type);
    Ref sum = code_op2(b->module, variable_is_wide(v->type) ? WASM_OP_I64_ADD : WASM_OP_I32_ADD,
                       code_get(b->module, old, type), code_get(b->module, operand, type));
    Refs code = {0};
    vec_push(&code, code_set(b->module, operand, by));
    vec_push(&code, code_set(b->module, old, gen_var_get(b, v, 0)));
    vec_push(&code, leaf_set(b, v, 0, sum));
    vec_push(&code, code_get(b->module, old, type));
    return gen_block_of(b, &code);
}

Ref gen_var_get(Body *b, const Var *v, uint32_t leaf) {
    assert(leaf < type_leaves(v->type));
    const Type *t = type_leaf(v->type, leaf);
    if (is_of_threads(b, v))
        return atomic_call(b, v, ATOMIC_LOAD, NULL);
    if (v->storage == STORAGE_LOCAL)
        return local_get(b, b->local_of[v->index] + leaf, t);
    uint32_t id = plan_var_id(b->plan, b->variant, v);
    if (b->options->in_memory[id]) {
        uint32_t offset;
        Ref at = var_address(b, id, &offset);
        return memory_get(b, t, at, offset + leaf * LEAF);
    }
    return hole_get(b, HOLE_VAR, id * HOLE_LEAVES + leaf, gen_type(t));
}

static Ref leaf_set(Body *b, const Var *v, uint32_t leaf, Ref value) {
    const Type *t = type_leaf(v->type, leaf);
    if (is_of_threads(b, v))
        return atomic_call(b, v, ATOMIC_STORE, value);
    if (v->storage == STORAGE_LOCAL)
        return code_set(b->module, b->local_of[v->index] + leaf, value);
    uint32_t id = plan_var_id(b->plan, b->variant, v);
    if (b->options->in_memory[id]) {
        uint32_t offset;
        Ref at = var_address(b, id, &offset);
        return memory_set(b, t, at, offset + leaf * LEAF, value);
    }
    return hole_set(b, HOLE_VAR, id * HOLE_LEAVES + leaf, gen_type(t), value);
}

/* Moves leaves of the type into new locals, whose values become the leaves, so that later code
 * cannot change them. Appends the code to `code`; returns the first local. */
static uint32_t variable_settle(Body *b, const Type *t, Refs *leaves, Refs *code) {
    uint32_t first = gen_leaf_temps(b, t);
    for (uint32_t i = 0; i < leaves->len; i++) {
        vec_push(code, code_set(b->module, first + i, leaves->at[i]));
        leaves->at[i] = local_get(b, first + i, type_leaf(t, i));
    }
    return first;
}

/* Leaves `first` and following of a variable become those of the list. */
static Ref set_part(Body *b, const Var *v, const Type *part, uint32_t first, const Refs *leaves) {
    Refs code = {0}, values = {0};
    for (uint32_t i = 0; i < leaves->len; i++)
        vec_push(&values, leaves->at[i]);
    if (values.len > 1)
        variable_settle(b, part, &values, &code); /* t = (t.1, t.0) */
    for (uint32_t i = 0; i < values.len; i++)
        vec_push(&code, leaf_set(b, v, first + i, values.at[i]));
    vec_free(&values);
    if (code.len == 1) {
        Ref only = code.at[0];
        vec_free(&code);
        return only;
    }
    return gen_block_of(b, &code);
}

Ref gen_var_set(Body *b, const Var *v, const Refs *leaves) {
    assert(leaves->len == type_leaves(v->type));
    return set_part(b, v, v->type, 0, leaves);
}

/* ---- strings ---- */

Ref gen_str_equal(Body *b, Ref x, Ref y) {
    return helper_call(b, HELPER_STR_EQ, (Ref[]){x, y});
}

/* Ranges of a list as bytes: from and to, eight each. */
static Ref list_bytes(Body *b, const NumberList *list) {
    Buf bytes = {0};
    for (uint32_t i = 0; i < list->n; i++) {
        buf_u64le(&bytes, list->ranges[i].from);
        buf_u64le(&bytes, list->ranges[i].to);
    }
    Ref text = b->ops->text(b, buf_view(&bytes));
    buf_free(&bytes);
    return plus(b, text, 4);
}

/* The state of a search in a list. */
typedef struct Search {
    uint32_t number;        /* a local: i64 */
    uint32_t low, high, at; /* locals: i32; the ranges not yet left out, the one in the middle */
    uint32_t next, found;   /* labels */
} Search;

static Ref search_get(Body *b, uint32_t local) {
    return code_get(b->module, local, WASM_I32);
}

/* The half in which the number must be: `side` compares it with a bound of the range in the middle,
 * at `offset`, and one of `low` and `high` moves there. */
static Ref variable_half(Body *b, const Search *s, WasmOp side, uint32_t offset, uint32_t moves) {
    static const Type *const u64 = &type_scalar[TYPE_U64];
    Ref bound = memory_get(b, u64, search_get(b, s->at), offset);
    Ref beyond = code_op2(b->module, side, code_get(b->module, s->number, WASM_I64), bound);
    Ref to = plus(b, search_get(b, s->at), offset ? 16 : 0);
    Ref move[] = {code_set(b->module, moves, to), code_branch(b->module, s->next, NULL)};
    return code_if(b->module, beyond, code_block(b->module, 0, move, 2), NULL);
}

/* Whether the number in a local, an i64, is in a list, by binary search. Leaves the answer in
 * `low`: 0 as an address means that it was found. */
static Ref in_list(Body *b, uint32_t number, const NumberList *list) {
    WasmType i32 = WASM_I32;
    Search s = {number,           gen_temp(b, i32),      gen_temp(b, i32),
                gen_temp(b, i32), code_label(b->module), code_label(b->module)};
    Ref low = code_tee(b->module, s.low, list_bytes(b, list));
    /* low + (high - low) / 32 * 16 */
    Ref count = code_op2(b->module, WASM_OP_I32_SUB, search_get(b, s.high), search_get(b, s.low));
    Ref middle =
        code_op2(b->module, WASM_OP_I32_SHL,
                 code_op2(b->module, WASM_OP_I32_SHR_U, count, const_i32(b, 5)), const_i32(b, 4));
    Ref at = code_op2(b->module, WASM_OP_I32_ADD, search_get(b, s.low), middle);
    Ref empty = code_op2(b->module, WASM_OP_I32_EQ, search_get(b, s.low), search_get(b, s.high));
    Ref body[] = {code_branch(b->module, s.found, empty), code_set(b->module, s.at, at),
                  variable_half(b, &s, WASM_OP_I64_LT_U, 0, s.high),
                  variable_half(b, &s, WASM_OP_I64_GT_U, 8, s.low),
                  code_set(b->module, s.low, const_i32(b, 0))};
    Ref loop = code_loop(b->module, s.next, code_block(b->module, 0, body, 5));
    Ref code[] = {code_set(b->module, s.high, plus(b, low, list->n * 16)),
                  code_block(b->module, s.found, &loop, 1),
                  code_op1(b->module, WASM_OP_I32_EQZ, search_get(b, s.low))};
    return code_block(b->module, 0, code, 3);
}

/* s.lists(n) of a number that is known only when the code runs, in a monitor (b->ops). */
static Ref gen_lists(Body *b, const Expr *e) {
    const Type *t = e->args[1]->type;
    Ref number = gen_expr(b, e->args[1]);
    if (!variable_is_wide(t))
        number = code_op1(b->module,
                          type_is_signed(t) ? WASM_OP_I64_EXTEND_I32_S : WASM_OP_I64_EXTEND_I32_U,
                          number);
    uint32_t x = gen_temp(b, WASM_I64);
    Refs code = {0};
    vec_push(&code, code_set(b->module, x, number));
    Ref found = e->list->n ? in_list(b, x, e->list) : const_i32(b, 0);
    if (type_is_signed(t)) {
        Ref negative = code_op2(b->module, WASM_OP_I64_LT_S, code_get(b->module, x, WASM_I64),
                                code_i64(b->module, 0));
        found = code_if(b->module, negative, const_i32(b, 0), found);
    }
    vec_push(&code, found);
    return gen_block_of(b, &code);
}

Ref gen_method(Body *b, const Expr *e) {
    assert(e->kind == EXPR_METHOD);
    if (ast_is_map_method(e))
        return gen_map_method(b, e);
    static const Type *const u32 = &type_scalar[TYPE_U32];
    if (e->method == ATOMIC_FETCH_ADD)
        return gen_fetch_add(b, e);
    if (e->method == STR_LISTS)
        return gen_lists(b, e);
    Ref self = gen_expr(b, e->args[0]);
    switch (e->method) {
    case STR_LEN: return memory_get(b, u32, self, 0);
    case STR_ADDR: return plus(b, self, 4);
    default: break;
    }
    Helper h = e->method == STR_STARTS_WITH ? HELPER_STR_STARTS
               : e->method == STR_ENDS_WITH ? HELPER_STR_ENDS
                                            : HELPER_STR_CONTAINS;
    return helper_call(b, h, (Ref[]){self, gen_expr(b, e->args[1])});
}

/* ---- maps ---- */

/* A leaf of a key as 64 bits. */
static Ref variable_key_word(Body *b, const Type *leaf, Ref x) {
    x = bits_of(b, leaf, x);
    return variable_is_wide(leaf) ? x : code_op1(b->module, WASM_OP_I64_EXTEND_I32_U, x);
}

static Ref variable_put_key(Body *b, uint32_t n, Ref word) {
    return helper_call(b, HELPER_KEY, (Ref[]){const_i32(b, n), word});
}

Ref gen_missing(Body *b) {
    Refs code = {0};
    if (!b->skip)
        return code_trap(b->module);
    gen_loop_exits(b, &code);
    vec_push(&code, code_branch(b->module, b->skip, NULL));
    return gen_block_of(b, &code);
}

/* Makes a key, whose leaves are in these locals, that of the next call. */
static void put_key_locals(Body *b, const Type *key, uint32_t first, Refs *code) {
    for (uint32_t i = 0; i < type_leaves(key); i++) {
        const Type *leaf = type_leaf(key, i);
        vec_push(code,
                 variable_put_key(b, i, variable_key_word(b, leaf, local_get(b, first + i, leaf))));
    }
}

/* The current key of a loop. */
static void gen_key_leaves(Body *b, const Expr *e, Refs *out) {
    uint32_t at = gen_temp(b, WASM_I32);
    Ref place = code_tee(b->module, at, gen_load_word(b, gen_expr(b, e->args[0]), 0));
    for (uint32_t i = 0; i < type_leaves(e->type); i++)
        vec_push(out, memory_get(b, type_leaf(e->type, i),
                                 i ? code_get(b->module, at, WASM_I32) : place, i * LEAF));
}

static Ref gen_map_method(Body *b, const Expr *e) {
    if (e->method == MAP_KEY) {
        Refs leaves = {0};
        gen_key_leaves(b, e, &leaves);
        return gen_block_of(b, &leaves);
    }
    if (e->method == MAP_NEXT)
        return helper_call(b, HELPER_KEYS_NEXT,
                           (Ref[]){gen_expr(b, e->args[0]), gen_expr(b, e->args[1])});
    if (e->method == MAP_KEYS)
        return helper_call(b, HELPER_MAP_KEYS, (Ref[]){gen_expr(b, e->args[0])});
    static const Helper helpers[] = {HELPER_MAP_HAS, HELPER_MAP_DELETE, HELPER_MAP_LEN,
                                     HELPER_MAP_CLEAR};
    Helper h = helpers[e->method - MAP_HAS];
    if (e->nargs == 1)
        return helper_call(b, h, (Ref[]){gen_expr(b, e->args[0])});
    const Type *key = e->args[0]->type->key;
    Refs code = {0}, leaves = {0};
    gen_leaves(b, e->args[1], &leaves);
    uint32_t first = variable_settle(b, key, &leaves, &code);
    vec_free(&leaves);
    uint32_t map = gen_temp(b, WASM_I32); /* looking it up may take a key, too */
    vec_push(&code, code_set(b->module, map, gen_expr(b, e->args[0])));
    put_key_locals(b, key, first, &code);
    vec_push(&code, helper_call(b, h, (Ref[]){code_get(b->module, map, WASM_I32)}));
    return gen_block_of(b, &code);
}

/* Looks whether the key whose leaves are in these locals exists before it is looked up. */
static void variable_put_test(Body *b, const Expr *e, uint32_t first, Refs *code) {
    put_key_locals(b, e->var->type->key, first, code);
    Ref map = gen_var_get(b, e->var, 0);
    Ref there = helper_call(b, HELPER_MAP_HAS, &map);
    vec_push(code,
             code_if(b->module, code_op1(b->module, WASM_OP_I32_EQZ, there), gen_missing(b), NULL));
}

/* The address of the leaves of m[k], where k is inserted if it is not there, or not. If *old is
 * set, that local then has the bits of the value. */
static Ref element(Body *b, const Expr *e, bool insert, uint32_t *old) {
    const Type *key = e->var->type->key;
    Refs leaves = {0}, code = {0};
    *old = UINT32_MAX;
    gen_leaves(b, e->args[0], &leaves);
    uint32_t n = leaves.len, first = 0;
    bool direct = n >= 1 && n <= 3;
    bool test = b->skip && !insert && e->var->type->value->kind > TYPE_BOOL;
    bool pages = gen_has_pages(b, e);
    if (!direct || test || pages)
        first = variable_settle(b, key, &leaves, &code);
    if (test)
        variable_put_test(b, e, first, &code);
    Ref args[5] = {gen_var_get(b, e->var, 0), gen_text(b, e->slot - 1)};
    for (uint32_t i = 0; i < n; i++) {
        Ref word = variable_key_word(b, type_leaf(key, i), leaves.at[i]);
        if (direct)
            args[2 + i] = word;
        else
            vec_push(&code, variable_put_key(b, i, word));
    }
    vec_free(&leaves);
    Helper h = (insert ? HELPER_MAP_AT1 : HELPER_MAP_FIND1) + (direct ? n - 1 : 3);
    Ref look_up = helper_call(b, h, args);
    vec_push(&code, pages ? gen_page_element(b, e, first, look_up, old) : look_up);
    return gen_block_of(b, &code);
}

uint32_t gen_first_leaf(const Expr *e) {
    assert(e->var->type->kind == TYPE_MAP);
    const Type *field;
    return type_path(e->var->type->value, e->path, e->npath, &field);
}

/* The map that is the value of an element, which is made if there is none. It is none of the
 * script's variables, of which the first has the number 0. */
static Ref inserted_map(Body *b, const Expr *e, uint32_t at) {
    CodeModule *m = b->module;
    uint32_t map = gen_temp(b, WASM_I32);
    Ref none = code_op1(m, WASM_OP_I32_EQZ,
                        code_tee(m, map, gen_load_word(b, code_get(m, at, WASM_I32), 0)));
    Ref make = code_tee(m, map, helper_call(b, HELPER_MAP_NEW, NULL));
    Ref store = gen_store_word(b, code_get(m, at, WASM_I32), 0, make);
    Ref code[] = {code_if(m, none, store, NULL), code_get(m, map, WASM_I32)};
    assert(e->inserts && !e->npath);
    return code_block(m, 0, code, 2);
}

static void index_leaves(Body *b, const Expr *e, Refs *out) {
    if (gen_is_cell(e)) {
        gen_cell_leaves(b, e, out);
        return;
    }
    uint32_t n = type_leaves(e->type), first = gen_first_leaf(e);
    uint32_t at = gen_temp(b, WASM_I32), old;
    Ref place = code_tee(b->module, at, element(b, e, e->inserts, &old));
    if (e->inserts && e->type->kind == TYPE_MAP) {
        Ref both[] = {code_drop(b->module, place), inserted_map(b, e, at)};
        vec_push(out, code_block(b->module, 0, both, 2));
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        Ref from = i ? code_get(b->module, at, WASM_I32) : place;
        vec_push(out, memory_get(b, type_leaf(e->type, i), from, (first + i) * LEAF));
    }
}

/* m[k] = value: inserting may move other elements, so the value comes first. Where a field is set,
 * the others stay, or are zero if the element is new. */
static Ref set_element(Body *b, const Expr *target, const Expr *value) {
    Refs code = {0}, leaves = {0};
    uint32_t first = gen_first_leaf(target);
    gen_leaves(b, value, &leaves);
    variable_settle(b, target->type, &leaves, &code);
    if (gen_is_cell(target)) {
        gen_cell_set(b, target, &leaves, &code);
        vec_free(&leaves);
        return gen_block_of(b, &code);
    }
    uint32_t at = gen_temp(b, WASM_I32), old;
    vec_push(&code, code_set(b->module, at, element(b, target, true, &old)));
    for (uint32_t i = 0; i < leaves.len; i++)
        vec_push(&code, memory_set(b, type_leaf(target->type, i), code_get(b->module, at, WASM_I32),
                                   (first + i) * LEAF, leaves.at[i]));
    vec_free(&leaves);
    return gen_block_of(b, &code);
}

/* m[k] op= by; NULL = 1. */
static Ref change_element(Body *b, const Expr *target, Op op, const Expr *by) {
    Refs code = {0};
    WasmType type = gen_type(target->type);
    uint32_t amount = by ? gen_temp(b, type) : 0;
    if (by)
        vec_push(&code, code_set(b->module, amount, gen_expr(b, by)));
    uint32_t at = gen_temp(b, WASM_I32);
    uint32_t offset = gen_first_leaf(target) * LEAF, bits;
    vec_push(&code, code_set(b->module, at, element(b, target, true, &bits)));
    bool known = bits != UINT32_MAX && !type_is_float(target->type);
    Ref old = known ? local_get(b, bits, target->type)
                    : memory_get(b, target->type, code_get(b->module, at, WASM_I32), offset);
    Ref changed = by ? gen_applied(b, target->type, op, old, code_get(b->module, amount, type))
                     : gen_stepped(b, target->type, op, old);
    vec_push(&code,
             memory_set(b, target->type, code_get(b->module, at, WASM_I32), offset, changed));
    return gen_block_of(b, &code);
}

static Ref step_element(Body *b, const Expr *target, Op op) {
    if (gen_is_cell(target))
        return gen_cell_step(b, target, op);
    if (gen_has_tally(b, target))
        return gen_tally_step(b, target, op);
    return change_element(b, target, op, NULL);
}

/* ---- leaves of expressions ---- */

/* c ? x : y of a tuple: the arm that is taken sets locals. */
static void choice_leaves(Body *b, const Expr *e, Refs *out) {
    Refs arms[2] = {{0}, {0}};
    uint32_t n = type_leaves(e->type), first = gen_leaf_temps(b, e->type);
    Ref blocks[2];
    for (uint32_t k = 0; k < 2; k++) {
        Refs code = {0};
        gen_leaves(b, e->args[1 + k], &arms[k]);
        for (uint32_t i = 0; i < n; i++)
            vec_push(&code, code_set(b->module, first + i, arms[k].at[i]));
        vec_free(&arms[k]);
        blocks[k] = gen_block_of(b, &code);
    }
    Ref choose = code_if(b->module, gen_expr(b, e->args[0]), blocks[0], blocks[1]);
    for (uint32_t i = 0; i < n; i++) {
        const Type *leaf = type_leaf(e->type, i);
        Ref both[] = {choose, local_get(b, first + i, leaf)};
        vec_push(out, i ? both[1] : code_block(b->module, 0, both, 2));
    }
}

/* The result of a call, if it is a tuple: read at once, before the next call. */
static void call_leaves(Body *b, const Expr *e, Ref call, Refs *out) {
    uint32_t n = type_leaves(e->type);
    for (uint32_t i = 0; i < n; i++) {
        WasmType type = gen_type(type_leaf(e->type, i));
        Ref both[] = {call, hole_get(b, HOLE_GOT, i, type)};
        vec_push(out, i ? both[1] : code_block(b->module, 0, both, 2));
    }
}

/* A function of a bundled library returns a str; its value is the address and length of the bytes.
 */
static void bytes_leaves(Body *b, const Expr *e, Refs *out) {
    uint32_t at = gen_temp(b, WASM_I32);
    vec_push(out, plus(b, code_tee(b->module, at, gen_expr(b, e)), 4));
    vec_push(out, memory_get(b, &type_scalar[TYPE_I32], code_get(b->module, at, WASM_I32), 0));
}

static bool is_bundled_call(const Body *b, const Expr *e) {
    return e->kind == EXPR_METHOD && !e->method &&
           b->plan->library_fns.at[e->bound.id].bundled != NULL;
}

void gen_leaves(Body *b, const Expr *e, Refs *out) {
    bool tuple = e->type->kind == TYPE_TUPLE;
    const Type *field;
    if (e->kind == EXPR_METHOD && e->method == MAP_KEY) {
        gen_key_leaves(b, e, out);
        return;
    }
    switch (e->kind) {
    case EXPR_TUPLE:
        for (uint32_t i = 0; i < e->nargs; i++)
            gen_leaves(b, e->args[i], out);
        return;
    case EXPR_FIELD: {
        uint32_t first = type_path(e->var->type, e->path, e->npath, &field);
        for (uint32_t i = 0; i < type_leaves(field); i++)
            vec_push(out, gen_var_get(b, e->var, first + i));
        return;
    }
    case EXPR_INDEX:
        if (e->is_bound)
            break; /* targets[i], a number */
        index_leaves(b, e, out);
        return;
    case EXPR_NAME:
        for (uint32_t i = 0; tuple && i < type_leaves(e->type); i++)
            vec_push(out, gen_var_get(b, e->var, i));
        break;
    case EXPR_COND:
        if (tuple)
            choice_leaves(b, e, out);
        break;
    case EXPR_CALL:
    case EXPR_METHOD:
        for (uint32_t i = 0; tuple && e->is_static && i < type_leaves(e->type); i++)
            vec_push(out,
                     hole_get(b, HOLE_CONST, e->slot - 1 + i, gen_type(type_leaf(e->type, i))));
        if (tuple && e->is_static)
            break;
        if (tuple && is_bundled_call(b, e))
            bytes_leaves(b, e, out);
        else if (tuple && type_leaves(e->type) > 1)
            call_leaves(b, e, gen_expr(b, e), out);
        else if (tuple && type_leaves(e->type) == 1)
            vec_push(out, gen_expr(b, e));
        break;
    default: break;
    }
    if (!tuple)
        vec_push(out, gen_expr(b, e));
}

/* ---- assignment ---- */

/* The first leaf of a variable, or of a field of one. `*part` is its type. */
static uint32_t first_leaf_of(const Expr *target, const Type **part) {
    *part = target->type;
    return target->kind == EXPR_FIELD
               ? type_path(target->var->type, target->path, target->npath, part)
               : 0;
}

Ref gen_assign(Body *b, const Expr *target, const Expr *value) {
    if (target->kind == EXPR_INDEX && !gen_is_cell(target) && value->nargs &&
        value->args[0]->inserts)
        return change_element(b, target, value->op, value->args[1]);
    if (target->kind == EXPR_INDEX)
        return set_element(b, target, value);
    if (!target->var)
        return gen_bound_set(b, target, gen_expr(b, value));
    Refs leaves = {0};
    const Type *part;
    uint32_t first = first_leaf_of(target, &part);
    gen_leaves(b, value, &leaves);
    Ref r = set_part(b, target->var, part, first, &leaves);
    vec_free(&leaves);
    return r;
}

Ref gen_assign_stmt(Body *b, const Stmt *s) {
    assert(s->kind == STMT_ASSIGN);
    const Var *v = s->target->var;
    const Expr *by = v && is_of_threads(b, v) ? atomic_operand(s) : NULL;
    return by ? atomic_update(b, v, s->value->op, gen_expr(b, by))
              : gen_assign(b, s->target, s->value);
}

Ref gen_step(Body *b, const Expr *target, Op op) {
    assert(op == OP_ADD || op == OP_SUB);
    if (target->kind == EXPR_INDEX)
        return step_element(b, target, op);
    if (!target->var)
        return gen_bound_set(b, target, gen_stepped(b, target->type, op, gen_bound_get(b, target)));
    const Type *part;
    uint32_t leaf = first_leaf_of(target, &part);
    if (is_of_threads(b, target->var))
        return atomic_update(b, target->var, op,
                             gen_number(b, part, (Value){.kind = part->kind, .bits = 1}));
    Ref old = gen_var_get(b, target->var, leaf);
    return leaf_set(b, target->var, leaf, gen_stepped(b, part, op, old));
}

Ref gen_add(Body *b, const Expr *target, Op op, Ref condition) {
    assert(op == OP_ADD || op == OP_SUB);
    const Type *part;
    uint32_t leaf = first_leaf_of(target, &part);
    Ref old = gen_var_get(b, target->var, leaf);
    return leaf_set(b, target->var, leaf, gen_added(b, part, op, old, condition));
}
