/*
 * lang/type.c - the types of the language, and the table of a script's composite types.
 */
#include "lang/ast.h"

#include <assert.h>

enum { MAX_TYPE_DEPTH = 32, MAX_TYPE_TEXT = 4096 };

#define SCALAR(kind, name) [kind] = {kind, name, 0, NULL, NULL, NULL, 0}
const Type type_scalar[TYPE_FUNCREF + 1] = {
    SCALAR(TYPE_U8, "u8"),           SCALAR(TYPE_I8, "i8"),     SCALAR(TYPE_U16, "u16"),
    SCALAR(TYPE_I16, "i16"),         SCALAR(TYPE_U32, "u32"),   SCALAR(TYPE_I32, "i32"),
    SCALAR(TYPE_F32, "f32"),         SCALAR(TYPE_U64, "u64"),   SCALAR(TYPE_I64, "i64"),
    SCALAR(TYPE_F64, "f64"),         SCALAR(TYPE_BOOL, "bool"), SCALAR(TYPE_STR, "str"),
    SCALAR(TYPE_FUNCREF, "funcref"),
};
const Type type_unit = {TYPE_UNIT, "no value", 0, NULL, NULL, NULL, 0};
const Type type_error = {TYPE_ERROR, "?", 0, NULL, NULL, NULL, 0};
#undef SCALAR

bool type_is_integer(const Type *t) {
    switch (t->kind) {
    case TYPE_U8:
    case TYPE_I8:
    case TYPE_U16:
    case TYPE_I16:
    case TYPE_U32:
    case TYPE_I32:
    case TYPE_U64:
    case TYPE_I64: return true;
    default: return false;
    }
}

bool type_is_float(const Type *t) {
    return t->kind == TYPE_F32 || t->kind == TYPE_F64;
}

bool type_is_numeric(const Type *t) {
    return type_is_integer(t) || type_is_float(t);
}

bool type_is_signed(const Type *t) {
    switch (t->kind) {
    case TYPE_I8:
    case TYPE_I16:
    case TYPE_I32:
    case TYPE_I64:
    case TYPE_F32:
    case TYPE_F64: return true;
    default: return false;
    }
}

uint32_t type_bits(const Type *t) {
    switch (t->kind) {
    case TYPE_U8:
    case TYPE_I8:
    case TYPE_BOOL: return 8;
    case TYPE_U16:
    case TYPE_I16: return 16;
    case TYPE_U32:
    case TYPE_I32:
    case TYPE_F32: return 32;
    case TYPE_U64:
    case TYPE_I64:
    case TYPE_F64: return 64;
    default: return 0;
    }
}

char type_wasm_class(const Type *t) {
    switch (t->kind) {
    case TYPE_U64:
    case TYPE_I64: return 'l';
    case TYPE_F32: return 'f';
    case TYPE_F64: return 'd';
    case TYPE_FUNCREF: return 'r';
    case TYPE_STR:
    case TYPE_TUPLE:
    case TYPE_MAP:
    case TYPE_UNIT:
    case TYPE_ERROR: return 0;
    default: return 'i';
    }
}

const Type *type_by_name(Str name) {
    for (int i = 0; i <= TYPE_FUNCREF; i++)
        if (str_is(name, type_scalar[i].text))
            return &type_scalar[i];
    return NULL;
}

/* Composite types by their text, which says all about them. */
struct TypeTable {
    Map by_text;
};

static const Type *type_intern(Script *s, Buf *text, const Type *like) {
    if (!s->types)
        s->types = mem_zalloc(sizeof *s->types);
    const Type *result = &type_error;
    if (like->depth <= MAX_TYPE_DEPTH && text->len <= MAX_TYPE_TEXT) {
        Str key = buf_view(text);
        uint64_t *known = map_get(&s->types->by_text, key);
        if (known) {
            result = (const Type *)(uintptr_t)*known;
        } else {
            Type *t = arena_new(&s->arena, Type);
            *t = *like;
            t->text = arena_strndup(&s->arena, key.ptr, key.len);
            if (t->nfields) {
                t->fields = arena_array(&s->arena, const Type *, t->nfields);
                memcpy(t->fields, like->fields, sizeof *t->fields * t->nfields);
            }
            map_put(&s->types->by_text, key, (uint64_t)(uintptr_t)t, NULL);
            result = t;
        }
    }
    buf_free(text);
    return result;
}

static uint32_t max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

const Type *type_tuple(Script *s, const Type **fields, uint32_t n) {
    Type like = {.kind = TYPE_TUPLE, .nfields = n, .fields = fields, .depth = 1};
    Buf text = {0};
    buf_u8(&text, '(');
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i]->kind == TYPE_ERROR) {
            buf_free(&text);
            return &type_error;
        }
        like.depth = max_u32(like.depth, fields[i]->depth + 1);
        if (text.len <= MAX_TYPE_TEXT)
            buf_printf(&text, "%s%s", i ? "," : "", fields[i]->text);
    }
    buf_u8(&text, ')');
    return type_intern(s, &text, &like);
}

const Type *type_map(Script *s, const Type *key, const Type *value) {
    if (key->kind == TYPE_ERROR || value->kind == TYPE_ERROR)
        return &type_error;
    Type like = {.kind = TYPE_MAP,
                 .key = key,
                 .value = value,
                 .depth = max_u32(key->depth, value->depth) + 1};
    Buf text = {0};
    buf_printf(&text, "map<%s,%s>", key->text, value->text);
    return type_intern(s, &text, &like);
}

void type_table_free(Script *s) {
    if (s->types)
        map_free(&s->types->by_text);
    free(s->types);
    s->types = NULL;
}

/* ---- leaves ---- */

uint32_t type_leaves(const Type *t) {
    uint32_t n = t->kind != TYPE_TUPLE && t->kind != TYPE_UNIT;
    for (uint32_t i = 0; i < t->nfields; i++)
        n += type_leaves(t->fields[i]);
    return n;
}

const Type *type_leaf(const Type *t, uint32_t n) {
    assert(n < type_leaves(t) || t->kind != TYPE_TUPLE);
    for (uint32_t i = 0; i < t->nfields; i++) {
        uint32_t here = type_leaves(t->fields[i]);
        if (n < here)
            return type_leaf(t->fields[i], n);
        n -= here;
    }
    return t;
}

uint32_t type_path(const Type *t, const uint32_t *path, uint32_t npath, const Type **field) {
    assert(t->kind == TYPE_TUPLE || !npath);
    uint32_t first = 0;
    for (uint32_t k = 0; k < npath; k++) {
        for (uint32_t i = 0; i < path[k]; i++)
            first += type_leaves(t->fields[i]);
        t = t->fields[path[k]];
    }
    *field = t;
    return first;
}
