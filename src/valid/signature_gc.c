/*
 * valid/signature_gc.c - operand and result types of the instructions on references, structures and
 * arrays.
 */
#include "valid/signature.h"
#include "valid/subtype.h"

#define EQREF WASM_REF(1, WASM_HEAP(WASM_HEAP_EQ))

static bool one_to_one(WasmSig *s, WasmType param, WasmType result) {
    wasm_sig_param(s, param);
    wasm_sig_result(s, result);
    return true;
}

/* ---- references ---- */

/* The reference on top of the stack, whatever its type: WASM_BOT_REF if unknown; WASM_NONE =
 * failed. */
static WasmType top_reference(WasmSig *s) {
    WasmType t = wasm_sig_operand(s, 0);
    char text[32];
    if (t == WASM_BOT)
        t = WASM_BOT_REF;
    if (WASM_IS_REF(t))
        return t;
    wasm_sig_fail(s, "expected a reference on top of the stack, found %s",
                  wasm_type_words(t, text));
    return WASM_NONE;
}

static bool ref_func(WasmSig *s) {
    const WasmModule *m = s->t->m;
    uint32_t func = s->i->a;
    if (!wasm_sig_exists(s, "function", func, m->funcs.len) || !wasm_sig_declared(s, func))
        return false;
    const WasmFunc *f = &m->funcs.at[func];
    wasm_sig_result(s, wasm_is_exact_func(f) ? wasm_exactly(m, f->type) : WASM_REF(0, f->type));
    return true;
}

/* br_on_null: [t* (ref null ht)] -> [t* (ref ht)], label [t*] */
static bool br_on_null(WasmSig *s) {
    WasmTypeList label;
    if (!wasm_sig_label(s, s->i->a, &label))
        return false;
    WasmType ref = top_reference(s);
    if (ref == WASM_NONE)
        return false;
    wasm_sig_put(s->params, label.at, label.len);
    wasm_sig_param(s, ref);
    wasm_sig_put(s->results, label.at, label.len);
    wasm_sig_result(s, ref & ~WASM_NULL_BIT);
    return true;
}

/* The label's types; its last is a reference and not counted in *n. */
static bool label_with_reference(WasmSig *s, WasmTypeList *label, WasmType *last) {
    if (!wasm_sig_label(s, s->i->a, label))
        return false;
    if (label->len == 0 || !WASM_IS_REF(label->at[label->len - 1]))
        return wasm_sig_fail(s, "label %u does not expect a reference last", s->i->a);
    *last = label->at[--label->len];
    return true;
}

/* br_on_non_null: [t* (ref null ht)] -> [t*], label [t* (ref ht)] */
static bool br_on_non_null(WasmSig *s) {
    WasmTypeList label;
    WasmType last;
    if (!label_with_reference(s, &label, &last))
        return false;
    wasm_sig_put(s->params, label.at, label.len);
    wasm_sig_param(s, last | WASM_NULL_BIT);
    wasm_sig_put(s->results, label.at, label.len);
    return true;
}

/* Whether a continuation is one cannot be asked at run time. */
static bool castable(WasmSig *s, WasmType to) {
    char text[32];
    return !wasm_subtype(s->t->m, to, WASM_REF(1, WASM_HEAP(WASM_HEAP_CONT))) ||
           wasm_sig_fail(s, "expected a type other than that of continuations, found %s",
                         wasm_type_words(to, text));
}

/* The type of the descriptors of a type, as a nullable reference, exact if that is; else WASM_NONE
 * with a message. */
static WasmType descriptor(WasmSig *s, WasmType of) {
    char text[32];
    uint32_t index;
    if (wasm_heap_index(of, &index)) {
        if (!wasm_sig_exists(s, "type", index, s->t->m->types.len))
            return WASM_NONE;
        const WasmTypeDef *d = &s->t->m->types.at[index];
        if (d->has_descriptor)
            return wasm_with_index(of, d->descriptor) | WASM_NULL_BIT;
    }
    wasm_sig_fail(s, "expected a type with a descriptor, found %s", wasm_type_words(of, text));
    return WASM_NONE;
}

/* ref.get_desc: exact if the operand is. */
static bool ref_get_desc(WasmSig *s) {
    WasmType type = WASM_REF(1, s->i->a), to = descriptor(s, type);
    if (to == WASM_NONE)
        return false;
    uint32_t exact = 0;
    if (wasm_subtype(s->t->m, wasm_sig_operand(s, 0), type | WASM_EXACT_BIT))
        exact = WASM_EXACT_BIT;
    return one_to_one(s, type | exact, (to & ~WASM_NULL_BIT) | exact);
}

/* The descriptor that a cast is given, if it compares descriptors. */
static bool cast_descriptor(WasmSig *s, WasmType to) {
    WasmType type = wasm_compares_descriptors(s->i->op) ? descriptor(s, to) : WASM_BOT;
    if (type != WASM_BOT && type != WASM_NONE)
        wasm_sig_param(s, type);
    return type != WASM_NONE;
}

/* br_on_cast, br_on_cast_fail and those that compare descriptors: the label receives one of the two
 * types, the other stays. */
static bool br_on_cast(WasmSig *s) {
    const WasmModule *m = s->t->m;
    WasmType from = s->i->type, to = s->i->type2, last;
    WasmTypeList label;
    char a[32], b[32];
    if (!wasm_sig_type_exists(s, from) || !wasm_sig_type_exists(s, to) || !castable(s, to) ||
        !label_with_reference(s, &label, &last))
        return false;
    if (wasm_top_type(m, to) != wasm_top_type(m, from))
        return wasm_sig_fail(s, "no reference is of the types %s and %s", wasm_type_words(to, a),
                             wasm_type_words(from, b));
    WasmType rest = to & WASM_NULL_BIT ? from & ~WASM_NULL_BIT : from;
    bool fails = s->i->op == WASM_OP_BR_ON_CAST_FAIL || s->i->op == WASM_OP_BR_ON_CAST_DESC_EQ_FAIL;
    WasmType taken = fails ? rest : to;
    if (!wasm_subtype(m, taken, last))
        return wasm_sig_fail(s, "label %u expects %s last, the branch passes %s", s->i->a,
                             wasm_type_words(last, a), wasm_type_words(taken, b));
    wasm_sig_put(s->params, label.at, label.len);
    wasm_sig_param(s, from);
    wasm_sig_put(s->results, label.at, label.len);
    wasm_sig_result(s, fails ? to : rest);
    return cast_descriptor(s, to);
}

static bool ref_cast(WasmSig *s) {
    WasmType type = s->i->type;
    if (!wasm_sig_type_exists(s, type) || !castable(s, type))
        return false;
    wasm_sig_param(s, wasm_top_type(s->t->m, type));
    switch (s->i->op) {
    case WASM_OP_REF_TEST:
    case WASM_OP_REF_TEST_NULL: wasm_sig_result(s, WASM_I32); return true;
    case WASM_OP_REF_CAST:
    case WASM_OP_REF_CAST_DESC_EQ: type &= ~WASM_NULL_BIT; break;
    default: break;
    }
    wasm_sig_result(s, type);
    return cast_descriptor(s, type);
}

/* any.convert_extern, extern.convert_any: nullable if the operand is. */
static bool signature_gc_convert(WasmSig *s, uint32_t from, uint32_t to) {
    WasmType t = wasm_sig_operand(s, 0);
    bool nullable = !WASM_IS_REF(t) ? t != WASM_BOT : (t & WASM_NULL_BIT) != 0;
    return one_to_one(s, WASM_REF(nullable, WASM_HEAP(from)), WASM_REF(nullable, WASM_HEAP(to)));
}

/* ---- structures ---- */

static bool struct_new(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_STRUCT);
    bool described = s->i->op >= WASM_OP_STRUCT_NEW_DESC;
    bool fields = s->i->op == WASM_OP_STRUCT_NEW || s->i->op == WASM_OP_STRUCT_NEW_DESC;
    if (!d)
        return false;
    if (d->has_descriptor != described)
        return wasm_sig_fail(
            s, described ? "type %u has no descriptor" : "type %u has a descriptor", s->i->a);
    for (uint32_t k = 0; k < d->nfields; k++) {
        WasmType t = d->fields[k].type;
        if (fields)
            wasm_sig_param(s, wasm_unpacked(t));
        else if (!wasm_defaultable(t))
            return wasm_sig_fail(s, "field %u of type %u has no default value", k, s->i->a);
    }
    if (described)
        wasm_sig_param(s, wasm_exactly(s->t->m, d->descriptor) | WASM_NULL_BIT);
    wasm_sig_result(s, wasm_exactly(s->t->m, s->i->a));
    return true;
}

/* The _s and _u forms are for packed types, the plain one for the others. */
static bool check_packed(WasmSig *s, WasmType t, bool wants_packed) {
    if (wasm_is_packed(t) == wants_packed)
        return true;
    return wasm_sig_fail(s, wants_packed ? "the type read is not packed"
                                         : "the type read is packed, which needs a sign");
}

static bool struct_field(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_STRUCT);
    if (!d || !wasm_sig_exists(s, "field", s->i->b, d->nfields))
        return false;
    const WasmField *f = &d->fields[s->i->b];
    wasm_sig_param(s, WASM_REF(1, s->i->a));
    if (s->i->op == WASM_OP_STRUCT_SET) {
        wasm_sig_param(s, wasm_unpacked(f->type));
        return f->mutable ||
               wasm_sig_fail(s, "field %u of type %u cannot be changed", s->i->b, s->i->a);
    }
    wasm_sig_result(s, wasm_unpacked(f->type));
    return check_packed(s, f->type, s->i->op != WASM_OP_STRUCT_GET);
}

/* ---- arrays ---- */

static bool array_mutable(WasmSig *s, const WasmTypeDef *d, uint32_t index) {
    return d->fields[0].mutable || wasm_sig_fail(s, "elements of type %u cannot be changed", index);
}

/* array.new_data, array.init_data */
static bool array_data(WasmSig *s, WasmType element) {
    char text[32];
    if (WASM_IS_REF(element))
        return wasm_sig_fail(s, "expected an array of numbers or vectors, found one of %s",
                             wasm_type_words(element, text));
    return wasm_sig_data_exists(s, s->i->b);
}

static bool array_new(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_ARRAY);
    if (!d)
        return false;
    WasmType element = d->fields[0].type;
    uint32_t n = s->i->op == WASM_OP_ARRAY_NEW         ? 1
                 : s->i->op == WASM_OP_ARRAY_NEW_FIXED ? s->i->b
                                                       : 0;
    if (n > WASM_MAX_FIXED_ARRAY)
        return wasm_sig_fail(s, "%u elements, more than the %d that engines allow", n,
                             WASM_MAX_FIXED_ARRAY);
    for (uint32_t k = 0; k < n; k++)
        wasm_sig_param(s, wasm_unpacked(element));
    wasm_sig_result(s, wasm_exactly(s->t->m, s->i->a));
    switch (s->i->op) {
    case WASM_OP_ARRAY_NEW: wasm_sig_param(s, WASM_I32); return true;
    case WASM_OP_ARRAY_NEW_FIXED: return true;
    case WASM_OP_ARRAY_NEW_DEFAULT:
        wasm_sig_param(s, WASM_I32);
        return wasm_defaultable(element) ||
               wasm_sig_fail(s, "elements of type %u have no default value", s->i->a);
    case WASM_OP_ARRAY_NEW_DATA:
        wasm_sig_param(s, WASM_I32);
        wasm_sig_param(s, WASM_I32);
        return array_data(s, element);
    default:
        wasm_sig_param(s, WASM_I32);
        wasm_sig_param(s, WASM_I32);
        return wasm_sig_segment_fits(s, s->i->b, element);
    }
}

static bool array_copy(WasmSig *s, const WasmTypeDef *to) {
    const WasmTypeDef *from = wasm_sig_def(s, s->i->b, WASM_TYPE_ARRAY);
    char a[32], b[32];
    if (!from || !array_mutable(s, to, s->i->a))
        return false;
    wasm_sig_param(s, WASM_REF(1, s->i->b));
    wasm_sig_param(s, WASM_I32);
    wasm_sig_param(s, WASM_I32);
    return wasm_subtype(s->t->m, from->fields[0].type, to->fields[0].type) ||
           wasm_sig_fail(s, "expected elements of type %s, found %s",
                         wasm_type_words(to->fields[0].type, a),
                         wasm_type_words(from->fields[0].type, b));
}

/* Instructions that take an array and an index. */
static bool array_access(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_ARRAY);
    if (!d)
        return false;
    WasmType element = d->fields[0].type;
    wasm_sig_param(s, WASM_REF(1, s->i->a));
    wasm_sig_param(s, WASM_I32);
    switch (s->i->op) {
    case WASM_OP_ARRAY_SET:
        wasm_sig_param(s, wasm_unpacked(element));
        return array_mutable(s, d, s->i->a);
    case WASM_OP_ARRAY_FILL:
        wasm_sig_param(s, wasm_unpacked(element));
        wasm_sig_param(s, WASM_I32);
        return array_mutable(s, d, s->i->a);
    case WASM_OP_ARRAY_COPY: return array_copy(s, d);
    case WASM_OP_ARRAY_INIT_DATA:
    case WASM_OP_ARRAY_INIT_ELEM:
        wasm_sig_param(s, WASM_I32);
        wasm_sig_param(s, WASM_I32);
        return array_mutable(s, d, s->i->a) &&
               (s->i->op == WASM_OP_ARRAY_INIT_DATA ? array_data(s, element)
                                                    : wasm_sig_segment_fits(s, s->i->b, element));
    default: /* array.get, _s, _u */
        wasm_sig_result(s, wasm_unpacked(element));
        return check_packed(s, element, s->i->op != WASM_OP_ARRAY_GET);
    }
}

/* ---- all ---- */

bool wasm_sig_gc(WasmSig *s) {
    WasmType ref;
    switch (s->i->op) {
    case WASM_OP_REF_NULL:
        wasm_sig_result(s, s->i->type | WASM_NULL_BIT);
        return wasm_sig_type_exists(s, s->i->type);
    case WASM_OP_REF_IS_NULL:
        ref = top_reference(s);
        return ref != WASM_NONE && one_to_one(s, ref, WASM_I32);
    case WASM_OP_REF_AS_NON_NULL:
        ref = top_reference(s);
        return ref != WASM_NONE && one_to_one(s, ref, ref & ~WASM_NULL_BIT);
    case WASM_OP_REF_FUNC: return ref_func(s);
    case WASM_OP_REF_EQ: wasm_sig_param(s, EQREF); return one_to_one(s, EQREF, WASM_I32);
    case WASM_OP_BR_ON_NULL: return br_on_null(s);
    case WASM_OP_BR_ON_NON_NULL: return br_on_non_null(s);
    case WASM_OP_REF_GET_DESC: return ref_get_desc(s);
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL:
    case WASM_OP_BR_ON_CAST_DESC_EQ:
    case WASM_OP_BR_ON_CAST_DESC_EQ_FAIL: return br_on_cast(s);
    case WASM_OP_REF_TEST:
    case WASM_OP_REF_TEST_NULL:
    case WASM_OP_REF_CAST:
    case WASM_OP_REF_CAST_NULL:
    case WASM_OP_REF_CAST_DESC_EQ:
    case WASM_OP_REF_CAST_DESC_EQ_NULL: return ref_cast(s);
    case WASM_OP_ANY_CONVERT_EXTERN:
        return signature_gc_convert(s, WASM_HEAP_EXTERN, WASM_HEAP_ANY);
    case WASM_OP_EXTERN_CONVERT_ANY:
        return signature_gc_convert(s, WASM_HEAP_ANY, WASM_HEAP_EXTERN);
    case WASM_OP_REF_I31: return one_to_one(s, WASM_I32, WASM_REF(0, WASM_HEAP(WASM_HEAP_I31)));
    case WASM_OP_I31_GET_S:
    case WASM_OP_I31_GET_U: return one_to_one(s, WASM_REF(1, WASM_HEAP(WASM_HEAP_I31)), WASM_I32);
    case WASM_OP_STRUCT_NEW:
    case WASM_OP_STRUCT_NEW_DEFAULT:
    case WASM_OP_STRUCT_NEW_DESC:
    case WASM_OP_STRUCT_NEW_DEFAULT_DESC: return struct_new(s);
    case WASM_OP_STRUCT_GET:
    case WASM_OP_STRUCT_GET_S:
    case WASM_OP_STRUCT_GET_U:
    case WASM_OP_STRUCT_SET: return struct_field(s);
    case WASM_OP_ARRAY_LEN: return one_to_one(s, WASM_REF(1, WASM_HEAP(WASM_HEAP_ARRAY)), WASM_I32);
    case WASM_OP_ARRAY_NEW:
    case WASM_OP_ARRAY_NEW_DEFAULT:
    case WASM_OP_ARRAY_NEW_FIXED:
    case WASM_OP_ARRAY_NEW_DATA:
    case WASM_OP_ARRAY_NEW_ELEM: return array_new(s);
    default: return array_access(s);
    }
}
