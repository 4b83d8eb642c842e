/*
 * gen/page.c - elements of maps from numbers to numbers: code that looks for the key in the page of
 * the map that it used last (stdlib/runtime/word_map.c).
 */
#include "gen/expr.h"
#include "gen/template.h"

#include <stdio.h>

#include "../../stdlib/runtime/values.h" /* what pages are */

/* One element whose page is looked for. */
typedef struct Search {
    const Type *key;
    uint32_t first; /* local of the key's first leaf */
    bool wide;      /* words have more than 32 bits */
    /* locals: where the address of the page is kept, that address, what the page begins with and
     * the upper half of that, the number of the slot */
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
    return BinaryenLocalGet(b->module, local, BinaryenTypeInt32());
}

static Ref get_leaf(Body *b, const Search *s, uint32_t i) {
    return BinaryenLocalGet(b->module, s->first + i, gen_type(type_leaf(s->key, i)));
}

/* A leaf as 64 bits without what is not in the word. */
static Ref leaf_bits(Body *b, const Search *s, uint32_t i) {
    uint32_t bits = bits_of_leaf(s->key, i);
    Ref leaf = get_leaf(b, s, i);
    if (bits == 64)
        return leaf;
    if (type_is_signed(type_leaf(s->key, i)) && bits < 32)
        leaf = BinaryenBinary(b->module, BinaryenAndInt32(), leaf, const_i32(b, (1u << bits) - 1));
    return BinaryenUnary(b->module, BinaryenExtendUInt32(), leaf);
}

static Ref const_i64(Body *b, uint64_t v) {
    return BinaryenConst(b->module, BinaryenLiteralInt64((int64_t)v));
}

/* The word of the key: the last leaf lowest, but a bool above the number before it. */
static Ref word(Body *b, const Search *s) {
    uint32_t n = type_leaves(s->key), below = 0;
    bool flagged = is_flagged(s->key);
    Ref all = NULL;
    for (uint32_t k = n; k-- > 0;) {
        uint32_t i = flagged && k + 2 >= n ? 2 * n - 3 - k : k;
        Ref leaf = leaf_bits(b, s, i);
        if (below)
            leaf = BinaryenBinary(b->module, BinaryenShlInt64(), leaf, const_i64(b, below));
        all = all ? BinaryenBinary(b->module, BinaryenOrInt64(), all, leaf) : leaf;
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
static Ref half(Body *b, const Search *s, bool upper) {
    BinaryenModuleRef m = b->module;
    uint32_t n = type_leaves(s->key), low = lowest(s->key);
    if (n <= 2 && bits_of_leaf(s->key, low) == 32)
        return upper ? BinaryenUnary(m, BinaryenWrapInt64(), leaf_bits(b, s, 1 - low))
                     : get_leaf(b, s, low);
    Ref all = word(b, s);
    if (upper)
        all = BinaryenBinary(m, BinaryenShrUInt64(), all, const_i64(b, 32));
    return BinaryenUnary(m, BinaryenWrapInt64(), all);
}

static Ref page_word(Body *b, const Search *s, uint32_t field) {
    return gen_load_word(b, get_i32(b, s->page), field);
}

/* Half of what the page's header begins with. */
static Ref head_half(Body *b, const Search *s, bool upper) {
    Ref head = BinaryenLocalGet(b->module, s->head, BinaryenTypeInt64());
    if (upper)
        head = BinaryenBinary(b->module, BinaryenShrUInt64(), head, const_i64(b, 32));
    return BinaryenUnary(b->module, BinaryenWrapInt64(), head);
}

/* The number of the slot that the key has if it is in the page. Of what is rotated by, the lower
 * five bits count, which are the shift. */
static Ref slot_number(Body *b, const Search *s) {
    Ref distance =
        BinaryenBinary(b->module, BinaryenSubInt32(), half(b, s, false), head_half(b, s, false));
    return BinaryenBinary(b->module, BinaryenRotRInt32(), distance, get_i32(b, s->shape));
}

/* The code sees pages of one map only: it has its place for itself, headers of pages stay with
 * their maps, and the variable is this map. */
static bool has_one_map(const Body *b, const Var *v) {
    return !b->ops && !v->escapes && (v->storage == STORAGE_SCRIPT || v->storage == STORAGE_SHARED);
}

static Ref differs(Body *b, Ref x, const Search *s, uint32_t field) {
    return BinaryenBinary(b->module, BinaryenXorInt32(), x, page_word(b, s, field));
}

/* Whether the page is one of another map, or has no slot for the key. */
static Ref is_other_page(Body *b, const Search *s, const Var *v) {
    BinaryenModuleRef m = b->module;
    Ref slots =
        BinaryenBinary(m, BinaryenShrUInt32(), get_i32(b, s->shape), const_i32(b, SHIFT_BITS));
    Ref other = BinaryenBinary(m, BinaryenGeUInt32(), get_i32(b, s->slot), slots);
    if (!has_one_map(b, v))
        other = BinaryenBinary(m, BinaryenOrInt32(), other,
                               differs(b, gen_var_get(b, v, 0), s, VALUES_PAGE_MAP));
    if (s->wide)
        other = BinaryenBinary(m, BinaryenOrInt32(), other,
                               differs(b, half(b, s, true), s, VALUES_PAGE_HIGH));
    return other;
}

/* The address of the slot. */
static Ref slot_address(Body *b, const Search *s, bool wide_value) {
    BinaryenModuleRef m = b->module;
    return BinaryenBinary(m, BinaryenAddInt32(), page_word(b, s, VALUES_PAGE_VALUES),
                          BinaryenBinary(m, BinaryenShlInt32(), get_i32(b, s->slot),
                                         const_i32(b, wide_value ? 3 : 2)));
}

Ref gen_page_element(Body *b, const Expr *e, uint32_t first, Ref look_up, uint32_t *old) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = BinaryenTypeInt32(), i64 = BinaryenTypeInt64();
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
    char done[16], miss[16];
    snprintf(done, sizeof done, "done%u", b->nlabels);
    snprintf(miss, sizeof miss, "miss%u", b->nlabels++);
    Ref kept = BinaryenLocalTee(m, s.kept, hole_get(b, HOLE_PAGE, number, i32), i32);
    Ref page = BinaryenLocalTee(m, s.page, gen_load_word(b, kept, 0), i32);
    Ref slot = BinaryenLocalTee(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0), gen_type(bits));
    Ref in_page[] = {
        BinaryenLocalSet(m, s.head,
                         gen_load_leaf(b, &type_scalar[TYPE_U64], page, VALUES_PAGE_LOW)),
        BinaryenLocalSet(m, s.shape, head_half(b, &s, true)),
        BinaryenLocalSet(m, s.slot, slot_number(b, &s)),
        BinaryenBreak(m, miss, is_other_page(b, &s, e->var), NULL),
        BinaryenLocalSet(m, at, slot_address(b, &s, wide_value)),
        BinaryenBreak(
            m, done,
            wide_value ? BinaryenBinary(m, BinaryenNeInt64(), slot, const_i64(b, 0)) : slot, NULL),
    };
    Ref code[] = {
        BinaryenBlock(m, miss, in_page, 6, BinaryenTypeNone()),
        BinaryenLocalSet(m, at, look_up),
        gen_store_word(b, get_i32(b, s.kept), 0, gen_load_word(b, const_i32(b, VALUES_PAGE), 0)),
        BinaryenLocalSet(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0)),
    };
    Ref both[] = {BinaryenBlock(m, done, code, 4, BinaryenTypeNone()), get_i32(b, at)};
    return BinaryenBlock(m, NULL, both, 2, i32);
}
