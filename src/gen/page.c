/*
 * gen/page.c - elements of maps from numbers to numbers: code that looks for the key in the page of
 * the map that it used last (stdlib/runtime/word_map.c).
 */
#include "gen/expr.h"
#include "gen/template.h"

#include <assert.h>
#include <stdio.h>

#include "../../stdlib/runtime/values.h" /* the layout of pages */

/* One element whose page is looked for. */
typedef struct Search {
    const Type *key;
    uint32_t first; /* local of the key's first leaf */
    bool wide;      /* words have more than 32 bits */
    /* locals: the location of the page's address, that address, the first word of the page and its
     * upper half, the number of the slot */
    uint32_t kept, page, head, shape, slot;
} Search;

enum { SHIFT_BITS = 5 };

static uint32_t bits_of_leaf(const Type *key, uint32_t i) {
    return values_word_bits((uint8_t)type_leaf(key, i)->kind, type_leaves(key));
}

/* The last leaf is a bool, and above the number before it. */
static bool is_flagged(const Type *key) {
    uint32_t n = type_leaves(key);
    return n > 1 && bits_of_leaf(key, n - 1) == 1 && bits_of_leaf(key, n - 2) > 1;
}

bool gen_has_pages(const Body *b, const Expr *e) {
    const Type *key = e->var->type->key;
    uint32_t bits = 0, n = type_leaves(key);
    for (uint32_t i = 0; i < n; i++)
        bits += bits_of_leaf(key, i);
    return b->options->pages && e->var->storage != STORAGE_LOCAL && n > 0 && n <= 3 && bits <= 64 &&
           e->var->type->value->kind <= TYPE_BOOL;
}

static Ref get_i32(Body *b, uint32_t local) {
    return code_get(b->module, local, WASM_I32);
}

static Ref get_leaf(Body *b, const Search *s, uint32_t i) {
    return code_get(b->module, s->first + i, gen_type(type_leaf(s->key, i)));
}

/* A leaf as 64 bits, without the bits that the word lacks. */
static Ref leaf_bits(Body *b, const Search *s, uint32_t i) {
    uint32_t bits = bits_of_leaf(s->key, i);
    Ref leaf = get_leaf(b, s, i);
    if (bits == 64)
        return leaf;
    if (type_is_signed(type_leaf(s->key, i)) && bits < 32)
        leaf = code_op2(b->module, WASM_OP_I32_AND, leaf, const_i32(b, (1u << bits) - 1));
    return code_op1(b->module, WASM_OP_I64_EXTEND_I32_U, leaf);
}

static Ref page_const_i64(Body *b, uint64_t v) {
    return code_i64(b->module, v);
}

/* The word of the key: the last leaf lowest, but a bool above the number before it. */
static Ref gen_page_word(Body *b, const Search *s) {
    uint32_t n = type_leaves(s->key), below = 0;
    bool flagged = is_flagged(s->key);
    Ref all = NULL;
    for (uint32_t k = n; k-- > 0;) {
        uint32_t i = flagged && k + 2 >= n ? 2 * n - 3 - k : k;
        Ref leaf = leaf_bits(b, s, i);
        if (below)
            leaf = code_op2(b->module, WASM_OP_I64_SHL, leaf, page_const_i64(b, below));
        all = all ? code_op2(b->module, WASM_OP_I64_OR, all, leaf) : leaf;
        below += bits_of_leaf(s->key, i);
    }
    return all;
}

/* The leaf that is lowest in the word. */
static uint32_t lowest(const Type *key) {
    return type_leaves(key) - 1 - is_flagged(key);
}

/* The lower or the upper 32 bits of the word. Those of all words of a page have the same upper
 * ones. */
static Ref page_half(Body *b, const Search *s, bool upper) {
    CodeModule *m = b->module;
    uint32_t n = type_leaves(s->key), low = lowest(s->key);
    if (n <= 2 && bits_of_leaf(s->key, low) == 32)
        return upper ? code_op1(m, WASM_OP_I32_WRAP_I64, leaf_bits(b, s, 1 - low))
                     : get_leaf(b, s, low);
    Ref all = gen_page_word(b, s);
    if (upper)
        all = code_op2(m, WASM_OP_I64_SHR_U, all, page_const_i64(b, 32));
    return code_op1(m, WASM_OP_I32_WRAP_I64, all);
}

static Ref page_word(Body *b, const Search *s, uint32_t field) {
    return gen_load_word(b, get_i32(b, s->page), field);
}

/* Half of the first word of the page's header. */
static Ref head_half(Body *b, const Search *s, bool upper) {
    Ref head = code_get(b->module, s->head, WASM_I64);
    if (upper)
        head = code_op2(b->module, WASM_OP_I64_SHR_U, head, page_const_i64(b, 32));
    return code_op1(b->module, WASM_OP_I32_WRAP_I64, head);
}

/* The slot of the key, if it is in the page. The lower five bits of a rotation's amount count; they
 * are the shift. */
static Ref slot_number(Body *b, const Search *s) {
    Ref distance =
        code_op2(b->module, WASM_OP_I32_SUB, page_half(b, s, false), head_half(b, s, false));
    return code_op2(b->module, WASM_OP_I32_ROTR, distance, get_i32(b, s->shape));
}

/* The code sees pages of one map only: it has its place for itself, headers of pages stay with
 * their maps, and the variable is this map. */
static bool has_one_map(const Body *b, const Var *v) {
    return !b->ops && !v->escapes && (v->storage == STORAGE_SCRIPT || v->storage == STORAGE_SHARED);
}

static Ref differs(Body *b, Ref x, const Search *s, uint32_t field) {
    return code_op2(b->module, WASM_OP_I32_XOR, x, page_word(b, s, field));
}

/* Whether the page is one of another map, or has no slot for the key. */
static Ref is_other_page(Body *b, const Search *s, const Var *v) {
    CodeModule *m = b->module;
    Ref slots = code_op2(m, WASM_OP_I32_SHR_U, get_i32(b, s->shape), const_i32(b, SHIFT_BITS));
    Ref other = code_op2(m, WASM_OP_I32_GE_U, get_i32(b, s->slot), slots);
    if (!has_one_map(b, v))
        other = code_op2(m, WASM_OP_I32_OR, other,
                         differs(b, gen_var_get(b, v, 0), s, VALUES_PAGE_MAP));
    if (s->wide)
        other = code_op2(m, WASM_OP_I32_OR, other,
                         differs(b, page_half(b, s, true), s, VALUES_PAGE_HIGH));
    return other;
}

/* The address of the slot. */
static Ref slot_address(Body *b, const Search *s, bool wide_value) {
    CodeModule *m = b->module;
    return code_op2(
        m, WASM_OP_I32_ADD, page_word(b, s, VALUES_PAGE_VALUES),
        code_op2(m, WASM_OP_I32_SHL, get_i32(b, s->slot), const_i32(b, wide_value ? 3 : 2)));
}

Ref gen_page_element(Body *b, const Expr *e, uint32_t first, Ref look_up, uint32_t *old) {
    assert(gen_has_pages(b, e));
    CodeModule *m = b->module;
    WasmType i32 = WASM_I32, i64 = WASM_I64;
    const Type *value = e->var->type->value;
    bool wide_value = type_wasm(value) == WASM_I64 || type_wasm(value) == WASM_F64;
    const Type *bits = &type_scalar[wide_value ? TYPE_U64 : TYPE_U32];
    uint32_t number = (*b->npages)++, at = gen_temp(b, i32);
    Search s = {.key = e->var->type->key, .first = first};
    s.wide = type_leaves(s.key) > 1 || bits_of_leaf(s.key, 0) > 32;
    s.kept = gen_temp(b, i32);
    s.page = gen_temp(b, i32);
    s.head = gen_temp(b, i64);
    s.shape = gen_temp(b, i32);
    s.slot = gen_temp(b, i32);
    *old = gen_temp(b, gen_type(bits));
    uint32_t done = code_label(m), miss = code_label(m);
    Ref kept = code_tee(m, s.kept, hole_get(b, HOLE_PAGE, number, i32));
    Ref page = code_tee(m, s.page, gen_load_word(b, kept, 0));
    Ref slot = code_tee(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0));
    Ref in_page[] = {
        code_set(m, s.head, gen_load_leaf(b, &type_scalar[TYPE_U64], page, VALUES_PAGE_LOW)),
        code_set(m, s.shape, head_half(b, &s, true)),
        code_set(m, s.slot, slot_number(b, &s)),
        code_branch(m, miss, is_other_page(b, &s, e->var)),
        code_set(m, at, slot_address(b, &s, wide_value)),
        code_branch(m, done,
                    wide_value ? code_op2(m, WASM_OP_I64_NE, slot, page_const_i64(b, 0)) : slot),
    };
    Ref code[] = {
        code_block(m, miss, in_page, 6),
        code_set(m, at, look_up),
        gen_store_word(b, get_i32(b, s.kept), 0, gen_load_word(b, const_i32(b, VALUES_PAGE), 0)),
        code_set(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0)),
    };
    Ref both[] = {code_block(m, done, code, 4), get_i32(b, at)};
    return code_block(m, 0, both, 2);
}
