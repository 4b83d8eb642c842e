/*
 * wasm/read_types.c - reading the type section; equality of types.
 *
 * Types are equal if their recursion groups are (iso-recursive equality). Each group is turned into
 * a key in which references into the group are relative and references to earlier types canonical,
 * so equal groups have equal keys: one map look-up a group.
 */
#include "wasm/read.h"

static void read_types_key_index(WasmTypeGroups *k, const WasmModule *m, uint32_t index,
                                 uint32_t group) {
    bool inside = index >= group;
    buf_u8(&k->key, inside);
    buf_u32le(&k->key, inside ? index - group : m->types.at[index].canonical);
}

static void read_types_key_type(WasmTypeGroups *k, const WasmModule *m, WasmType t,
                                uint32_t group) {
    if (!WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT)) {
        buf_u8(&k->key, 2);
        buf_u32le(&k->key, t);
        return;
    }
    buf_u8(&k->key, (t & WASM_NULL_BIT ? 3 : 4) | (t & WASM_EXACT_BIT ? 8 : 0));
    read_types_key_index(k, m, WASM_HEAP_OF(t), group);
}

static void key_types(WasmTypeGroups *k, const WasmModule *m, const WasmType *t, uint32_t n,
                      uint32_t group) {
    buf_u32le(&k->key, n);
    for (uint32_t i = 0; i < n; i++)
        read_types_key_type(k, m, t[i], group);
}

static void read_types_key_def(WasmTypeGroups *k, const WasmModule *m, const WasmTypeDef *d,
                               uint32_t group) {
    buf_u8(&k->key, d->kind);
    buf_u8(&k->key, d->final);
    buf_u8(&k->key, d->has_super);
    if (d->has_super)
        read_types_key_index(k, m, d->super, group);
    buf_u8(&k->key, (uint8_t)(d->has_descriptor | d->is_descriptor << 1));
    if (d->has_descriptor)
        read_types_key_index(k, m, d->descriptor, group);
    if (d->is_descriptor)
        read_types_key_index(k, m, d->describes, group);
    if (d->kind == WASM_TYPE_FUNC) {
        key_types(k, m, d->params, d->nparams, group);
        key_types(k, m, d->results, d->nresults, group);
        return;
    }
    buf_u32le(&k->key, d->nfields);
    for (uint32_t i = 0; i < d->nfields; i++) {
        buf_u8(&k->key, d->fields[i].mutable);
        read_types_key_type(k, m, d->fields[i].type, group);
    }
}

void wasm_close_group(WasmTypeGroups *k, WasmModule *m, uint32_t first) {
    k->key.len = 0;
    for (uint32_t i = first; i < m->types.len; i++)
        read_types_key_def(k, m, &m->types.at[i], first);
    Str key = buf_view(&k->key);
    uint32_t same = (uint32_t)*map_put(&k->known, key, first, NULL);
    for (uint32_t i = first; i < m->types.len; i++) {
        m->types.at[i].canonical = same + (i - first);
        m->types.at[i].group = first;
        m->types.at[i].group_len = m->types.len - first;
    }
}

/* An index below `limit` (the end of the recursion group). */
static bool read_types_check_index(WasmReader *r, WasmType t, uint32_t limit, const uint8_t *at) {
    if (WASM_IS_REF(t) && !(t & WASM_ABSTRACT_BIT) && WASM_HEAP_OF(t) >= limit)
        return wasm_read_fail(r, DIAG_INVALID, at, "unknown type %u", WASM_HEAP_OF(t));
    return true;
}

static bool read_types(WasmReader *r, uint32_t limit, uint32_t *n, const WasmType **types) {
    if (!wasm_read_count(r, n))
        return false;
    WasmType *t = arena_array(&r->m->arena, WasmType, *n);
    *types = t;
    for (uint32_t i = 0; i < *n; i++) {
        const uint8_t *at = r->c.at;
        if (!wasm_get_type(&r->c, false, &t[i]))
            return wasm_read_error(r);
        if (!read_types_check_index(r, t[i], limit, at))
            return false;
    }
    return true;
}

static bool read_fields(WasmReader *r, uint32_t limit, WasmTypeDef *d) {
    if (d->kind == WASM_TYPE_ARRAY)
        d->nfields = 1;
    else if (!wasm_read_count(r, &d->nfields))
        return false;
    WasmField *f = arena_array(&r->m->arena, WasmField, d->nfields);
    d->fields = f;
    for (uint32_t i = 0; i < d->nfields; i++) {
        const uint8_t *at = r->c.at;
        uint8_t mutable;
        if (!wasm_get_type(&r->c, true, &f[i].type))
            return wasm_read_error(r);
        if (!read_types_check_index(r, f[i].type, limit, at) ||
            !wasm_read_flag(r, 2, "mutability", &mutable))
            return false;
        f[i].mutable = mutable;
    }
    return true;
}

/* The function's type of a continuation, as a field. */
static bool read_cont(WasmReader *r, uint32_t limit, WasmTypeDef *d) {
    const uint8_t *at = r->c.at;
    WasmField *f = arena_array(&r->m->arena, WasmField, 1);
    *f = (WasmField){0};
    d->fields = f;
    d->nfields = 1;
    return (wasm_get_heap(&r->c, &f->type) || wasm_read_error(r)) &&
           read_types_check_index(r, f->type, limit, at);
}

static bool read_super(WasmReader *r, uint32_t own, WasmTypeDef *d) {
    uint32_t n;
    const uint8_t *at = r->c.at;
    if (!wasm_read_u32(r, &n))
        return false;
    if (n > 1)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "a type has at most one supertype, not %u", n);
    if (n == 0)
        return true;
    at = r->c.at;
    if (!wasm_read_u32(r, &d->super))
        return false;
    d->has_super = true;
    if (d->super >= own)
        return wasm_read_fail(r, DIAG_INVALID, at, "unknown type %u", d->super);
    return true;
}

/* After the byte `clause`, if that is next: an index. *form becomes the byte after it. */
static bool read_clause(WasmReader *r, uint8_t clause, uint32_t limit, uint8_t *form, bool *has,
                        uint32_t *index) {
    if (*form != clause)
        return true;
    const uint8_t *at = r->c.at;
    *has = r->m->exact = true;
    if (!wasm_read_u32(r, index))
        return false;
    if (*index >= limit)
        return wasm_read_fail(r, DIAG_INVALID, at, "unknown type %u", *index);
    return wasm_get_u8(&r->c, form) || wasm_read_error(r);
}

/* The type definition `own`; indices must be below `limit`. */
static bool read_def(WasmReader *r, uint32_t own, uint32_t limit) {
    WasmTypeDef d = {.final = true};
    const uint8_t *at = r->c.at;
    uint8_t form;
    if (!wasm_get_u8(&r->c, &form))
        return wasm_read_error(r);
    if (form == 0x50 || form == 0x4f) {
        d.final = form == 0x4f;
        if (!read_super(r, own, &d))
            return false;
        at = r->c.at;
        if (!wasm_get_u8(&r->c, &form))
            return wasm_read_error(r);
    }
    enum { DESCRIBES = 0x4c, DESCRIPTOR = 0x4d };
    if (!read_clause(r, DESCRIBES, limit, &form, &d.is_descriptor, &d.describes) ||
        !read_clause(r, DESCRIPTOR, limit, &form, &d.has_descriptor, &d.descriptor))
        return false;
    at = r->c.at - 1;
    bool ok;
    switch (form) {
    case 0x60:
        d.kind = WASM_TYPE_FUNC;
        ok = read_types(r, limit, &d.nparams, &d.params) &&
             read_types(r, limit, &d.nresults, &d.results);
        break;
    case 0x5f:
    case 0x5e:
        d.kind = form == 0x5f ? WASM_TYPE_STRUCT : WASM_TYPE_ARRAY;
        ok = read_fields(r, limit, &d);
        break;
    case 0x5d:
        d.kind = WASM_TYPE_CONT;
        ok = read_cont(r, limit, &d);
        break;
    default:
        return wasm_read_fail(r, DIAG_MALFORMED, at, "unknown type form 0x%02x%s", form,
                              wasm_proposal("type form", 0, form));
    }
    if (ok)
        vec_push(&r->m->types, d);
    return ok;
}

bool wasm_read_group(WasmReader *r, uint32_t first) {
    uint32_t n = 1;
    if (r->c.at < r->c.end && *r->c.at == 0x4e) {
        r->c.at++;
        if (!wasm_read_count(r, &n))
            return false;
    }
    const uint8_t *at = r->c.at;
    if (n > WASM_MAX_TYPE_INDEX - first)
        return wasm_read_fail(r, DIAG_MALFORMED, at, "too many types");
    for (uint32_t i = 0; i < n; i++)
        if (!read_def(r, first + i, first + n))
            return false;
    return true;
}

void wasm_groups_free(WasmTypeGroups *k) {
    map_free(&k->known);
    buf_free(&k->key);
}

bool wasm_read_type_section(WasmReader *r) {
    uint32_t n;
    if (!wasm_read_count(r, &n))
        return false;
    WasmTypeGroups k = {0};
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++) {
        const uint8_t *from = r->c.at;
        uint32_t first = r->m->types.len;
        ok = wasm_read_group(r, first);
        if (ok)
            wasm_close_group(&k, r->m, first);
        wasm_read_note(r, WASM_SEC_TYPE, from);
    }
    wasm_groups_free(&k);
    return ok;
}
