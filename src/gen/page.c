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
    return binaryen.LocalGet(b->module, local, binaryen.TypeInt32());
}

static Ref get_leaf(Body *b, const Search *s, uint32_t i) {
    return binaryen.LocalGet(b->module, s->first + i, gen_type(type_leaf(s->key, i)));
}

/* A leaf as 64 bits without what is not in the word. */
static Ref leaf_bits(Body *b, const Search *s, uint32_t i) {
    uint32_t bits = bits_of_leaf(s->key, i);
    Ref leaf = get_leaf(b, s, i);
    if (bits == 64)
        return leaf;
    if (type_is_signed(type_leaf(s->key, i)) && bits < 32)
        leaf =
            binaryen.Binary(b->module, binaryen.AndInt32(), leaf, const_i32(b, (1u << bits) - 1));
    return binaryen.Unary(b->module, binaryen.ExtendUInt32(), leaf);
}

static Ref const_i64(Body *b, uint64_t v) {
    return binaryen.Const(b->module, binaryen.LiteralInt64((int64_t)v));
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
            leaf = binaryen.Binary(b->module, binaryen.ShlInt64(), leaf, const_i64(b, below));
        all = all ? binaryen.Binary(b->module, binaryen.OrInt64(), all, leaf) : leaf;
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
        return upper ? binaryen.Unary(m, binaryen.WrapInt64(), leaf_bits(b, s, 1 - low))
                     : get_leaf(b, s, low);
    Ref all = word(b, s);
    if (upper)
        all = binaryen.Binary(m, binaryen.ShrUInt64(), all, const_i64(b, 32));
    return binaryen.Unary(m, binaryen.WrapInt64(), all);
}

static Ref page_word(Body *b, const Search *s, uint32_t field) {
    return gen_load_word(b, get_i32(b, s->page), field);
}

/* Half of what the page's header begins with. */
static Ref head_half(Body *b, const Search *s, bool upper) {
    Ref head = binaryen.LocalGet(b->module, s->head, binaryen.TypeInt64());
    if (upper)
        head = binaryen.Binary(b->module, binaryen.ShrUInt64(), head, const_i64(b, 32));
    return binaryen.Unary(b->module, binaryen.WrapInt64(), head);
}

/* The number of the slot that the key has if it is in the page. Of what is rotated by, the lower
 * five bits count, which are the shift. */
static Ref slot_number(Body *b, const Search *s) {
    Ref distance =
        binaryen.Binary(b->module, binaryen.SubInt32(), half(b, s, false), head_half(b, s, false));
    return binaryen.Binary(b->module, binaryen.RotRInt32(), distance, get_i32(b, s->shape));
}

/* The code sees pages of one map only: it has its place for itself, headers of pages stay with
 * their maps, and the variable is this map. */
static bool has_one_map(const Body *b, const Var *v) {
    return !b->ops && !v->escapes && (v->storage == STORAGE_SCRIPT || v->storage == STORAGE_SHARED);
}

static Ref differs(Body *b, Ref x, const Search *s, uint32_t field) {
    return binaryen.Binary(b->module, binaryen.XorInt32(), x, page_word(b, s, field));
}

/* Whether the page is one of another map, or has no slot for the key. */
static Ref is_other_page(Body *b, const Search *s, const Var *v) {
    BinaryenModuleRef m = b->module;
    Ref slots =
        binaryen.Binary(m, binaryen.ShrUInt32(), get_i32(b, s->shape), const_i32(b, SHIFT_BITS));
    Ref other = binaryen.Binary(m, binaryen.GeUInt32(), get_i32(b, s->slot), slots);
    if (!has_one_map(b, v))
        other = binaryen.Binary(m, binaryen.OrInt32(), other,
                                differs(b, gen_var_get(b, v, 0), s, VALUES_PAGE_MAP));
    if (s->wide)
        other = binaryen.Binary(m, binaryen.OrInt32(), other,
                                differs(b, half(b, s, true), s, VALUES_PAGE_HIGH));
    return other;
}

/* The address of the slot. */
static Ref slot_address(Body *b, const Search *s, bool wide_value) {
    BinaryenModuleRef m = b->module;
    return binaryen.Binary(m, binaryen.AddInt32(), page_word(b, s, VALUES_PAGE_VALUES),
                           binaryen.Binary(m, binaryen.ShlInt32(), get_i32(b, s->slot),
                                           const_i32(b, wide_value ? 3 : 2)));
}

Ref gen_page_element(Body *b, const Expr *e, uint32_t first, Ref look_up, uint32_t *old) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = binaryen.TypeInt32(), i64 = binaryen.TypeInt64();
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
    Ref kept = binaryen.LocalTee(m, s.kept, hole_get(b, HOLE_PAGE, number, i32), i32);
    Ref page = binaryen.LocalTee(m, s.page, gen_load_word(b, kept, 0), i32);
    Ref slot =
        binaryen.LocalTee(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0), gen_type(bits));
    Ref in_page[] = {
        binaryen.LocalSet(m, s.head,
                          gen_load_leaf(b, &type_scalar[TYPE_U64], page, VALUES_PAGE_LOW)),
        binaryen.LocalSet(m, s.shape, head_half(b, &s, true)),
        binaryen.LocalSet(m, s.slot, slot_number(b, &s)),
        binaryen.Break(m, miss, is_other_page(b, &s, e->var), NULL),
        binaryen.LocalSet(m, at, slot_address(b, &s, wide_value)),
        binaryen.Break(m, done,
                       wide_value ? binaryen.Binary(m, binaryen.NeInt64(), slot, const_i64(b, 0))
                                  : slot,
                       NULL),
    };
    Ref code[] = {
        binaryen.Block(m, miss, in_page, 6, binaryen.TypeNone()),
        binaryen.LocalSet(m, at, look_up),
        gen_store_word(b, get_i32(b, s.kept), 0, gen_load_word(b, const_i32(b, VALUES_PAGE), 0)),
        binaryen.LocalSet(m, *old, gen_load_leaf(b, bits, get_i32(b, at), 0)),
    };
    Ref both[] = {binaryen.Block(m, done, code, 4, binaryen.TypeNone()), get_i32(b, at)};
    return binaryen.Block(m, NULL, both, 2, i32);
}
