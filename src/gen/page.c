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
    /* locals: where the address of the page is kept, that address, the number of the slot */
    uint32_t kept, page, slot;
} Search;

static uint32_t bits_of_leaf(const Type *key, uint32_t i) {
    return values_word_bits((uint8_t)type_leaf(key, i)->kind, type_leaves(key));
}

bool gen_has_pages(const Body *b, const Expr *e) {
    const Type *key = e->var->type->key;
    uint32_t bits = 0, n = type_leaves(key);
    for (uint32_t i = 0; i < n; i++)
        bits += bits_of_leaf(key, i);
    return !b->options->imported && e->var->storage != STORAGE_LOCAL && n > 0 && n <= 3 &&
           bits <= 64 && e->var->type->value->kind <= TYPE_BOOL;
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
    if (n == 1)
        return get_leaf(b, s, 0);
    bool flagged = bits_of_leaf(s->key, n - 1) == 1 && bits_of_leaf(s->key, n - 2) > 1;
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

/* The number of the slot that the key has if it is in the page. */
static Ref slot_number(Body *b, const Search *s) {
    BinaryenModuleRef m = b->module;
    const Type *t = &type_scalar[s->wide ? TYPE_U64 : TYPE_U32];
    Ref base = gen_load_leaf(b, t, get_i32(b, s->page), VALUES_PAGE_BASE);
    Ref shift = gen_load_byte(b, get_i32(b, s->page), VALUES_PAGE_SHIFT);
    if (!s->wide)
        return BinaryenBinary(m, BinaryenRotRInt32(),
                              BinaryenBinary(m, BinaryenSubInt32(), word(b, s), base), shift);
    return BinaryenBinary(m, BinaryenRotRInt64(),
                          BinaryenBinary(m, BinaryenSubInt64(), word(b, s), base),
                          BinaryenUnary(m, BinaryenExtendUInt32(), shift));
}

static Ref slot_get(Body *b, const Search *s) {
    return BinaryenLocalGet(b->module, s->slot,
                            s->wide ? BinaryenTypeInt64() : BinaryenTypeInt32());
}

/* Whether the page is one of another map, or has no slot for the key. */
static Ref is_other_page(Body *b, const Search *s, uint32_t map) {
    BinaryenModuleRef m = b->module;
    Ref slots = gen_load_word(b, get_i32(b, s->page), VALUES_PAGE_SLOTS);
    Ref beyond =
        s->wide ? BinaryenBinary(m, BinaryenGeUInt64(), slot_get(b, s),
                                 BinaryenUnary(m, BinaryenExtendUInt32(), slots))
                : BinaryenBinary(m, BinaryenGeUInt32(), slot_get(b, s), slots);
    Ref other = BinaryenBinary(m, BinaryenNeInt32(), get_i32(b, map),
                               gen_load_word(b, get_i32(b, s->page), VALUES_PAGE_MAP));
    return BinaryenBinary(m, BinaryenOrInt32(), beyond, other);
}

/* The address of the slot. */
static Ref slot_address(Body *b, const Search *s, bool wide_value) {
    BinaryenModuleRef m = b->module;
    Ref n = slot_get(b, s);
    if (s->wide)
        n = BinaryenUnary(m, BinaryenWrapInt64(), n);
    return BinaryenBinary(
        m, BinaryenAddInt32(), gen_load_word(b, get_i32(b, s->page), VALUES_PAGE_VALUES),
        BinaryenBinary(m, BinaryenShlInt32(), n, const_i32(b, wide_value ? 3 : 2)));
}

Ref gen_page_element(Body *b, const Expr *e, uint32_t first, uint32_t map, Ref look_up) {
    BinaryenModuleRef m = b->module;
    BinaryenType i32 = BinaryenTypeInt32();
    const Type *value = e->var->type->value;
    bool wide_value = type_wasm(value) == WASM_I64 || type_wasm(value) == WASM_F64;
    uint32_t number = b->npages++, at = gen_temp(b, i32);
    Search s = {.key = e->var->type->key, .first = first};
    s.wide = type_leaves(s.key) > 1 || bits_of_leaf(s.key, 0) > 32;
    s.kept = gen_temp(b, i32);
    s.page = gen_temp(b, i32);
    s.slot = gen_temp(b, s.wide ? BinaryenTypeInt64() : i32);
    char done[16], miss[16];
    snprintf(done, sizeof done, "done%u", b->nlabels);
    snprintf(miss, sizeof miss, "miss%u", b->nlabels++);
    Ref kept = BinaryenLocalTee(m, s.kept, hole_get(b, HOLE_PAGE, number, i32), i32);
    Ref slot = gen_load_leaf(b, &type_scalar[wide_value ? TYPE_U64 : TYPE_U32], get_i32(b, at), 0);
    Ref is_used = wide_value ? BinaryenBinary(m, BinaryenNeInt64(), slot, const_i64(b, 0)) : slot;
    Ref in_page[] = {
        BinaryenLocalSet(m, s.page, gen_load_word(b, kept, 0)),
        BinaryenLocalSet(m, s.slot, slot_number(b, &s)),
        BinaryenBreak(m, miss, is_other_page(b, &s, map), NULL),
        BinaryenLocalSet(m, at, slot_address(b, &s, wide_value)),
        BinaryenBreak(m, done, is_used, NULL),
    };
    Ref code[] = {
        BinaryenBlock(m, miss, in_page, 5, BinaryenTypeNone()),
        BinaryenLocalSet(m, at, look_up),
        gen_store_word(b, get_i32(b, s.kept), 0, gen_load_word(b, const_i32(b, VALUES_PAGE), 0)),
    };
    Ref both[] = {BinaryenBlock(m, done, code, 3, BinaryenTypeNone()), get_i32(b, at)};
    return BinaryenBlock(m, NULL, both, 2, i32);
}
