/*
 * lang/type.c - the types of the language, and the table of a script's composite types.
 */
#include "lang/ast.h"

#include <assert.h>

enum { MAX_TYPE_DEPTH = 32, MAX_TYPE_TEXT = 4096 };

#define SCALAR(scalar, name) [scalar] = {.kind = scalar, .text = name}
const Type type_scalar[TYPE_FUNCREF + 1] = {
    SCALAR(TYPE_U8, "u8"),           SCALAR(TYPE_I8, "i8"),     SCALAR(TYPE_U16, "u16"),
    SCALAR(TYPE_I16, "i16"),         SCALAR(TYPE_U32, "u32"),   SCALAR(TYPE_I32, "i32"),
    SCALAR(TYPE_F32, "f32"),         SCALAR(TYPE_U64, "u64"),   SCALAR(TYPE_I64, "i64"),
    SCALAR(TYPE_F64, "f64"),         SCALAR(TYPE_BOOL, "bool"), SCALAR(TYPE_STR, "str"),
    SCALAR(TYPE_FUNCREF, "funcref"),
};
const Type type_unit = {.kind = TYPE_UNIT, .text = "no value"};
const Type type_error = {.kind = TYPE_ERROR, .text = "?"};
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

const Type *type_array(Script *s, const Type *value, uint32_t length) {
    if (value->kind == TYPE_ERROR)
        return &type_error;
    Type like = {.kind = TYPE_MAP,
                 .key = &type_scalar[TYPE_U32],
                 .value = value,
                 .length = length,
                 .depth = value->depth + 1};
    Buf text = {0};
    buf_printf(&text, "array<%s,%u>", value->text, length);
    return type_intern(s, &text, &like);
}

/* ---- aggregations ---- */

static const struct {
    AggregateId id;
    const char *name;
} aggregates[] = {
#define AGGREGATE(id, name, text, doc) {AGG_##id, name},
#include "lang/type.def"
};

/* What fields have as their type. */
typedef enum FieldType { FIELD_T, FIELD_U64, FIELD_F64 } FieldType;

static const struct {
    AggregateId id;
    FieldType type;
} fields[] = {
#define FIELD(id, field, type, merge) {AGG_##id, FIELD_##type},
#include "lang/type.def"
};

AggregateId aggregate_by_name(Str name) {
    for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++)
        if (str_is(name, aggregates[i].name))
            return aggregates[i].id;
    return AGG_NONE;
}

const char *aggregate_name(AggregateId id) {
    assert(id > AGG_NONE && (size_t)id <= sizeof aggregates / sizeof *aggregates);
    return aggregates[id - 1].name;
}

uint32_t type_buckets(const Type *t) {
    assert(t->aggregate == AGG_HIST || t->aggregate == AGG_LHIST);
    if (t->aggregate == AGG_HIST) /* bits of a number, of negative ones too, and 0 */
        return type_is_signed(t->added) ? 128 : 65;
    uint64_t width = (uint64_t)t->steps[1] - (uint64_t)t->steps[0];
    return (uint32_t)((width - 1) / (uint64_t)t->steps[2] + 3);
}

/* The highest bit of a number. */
static uint64_t highest_bit(uint64_t n) {
    return n ? UINT64_C(1) << (63 - __builtin_clzll(n)) : 0;
}

uint64_t type_bucket(const Type *t, uint64_t number) {
    assert(t->aggregate == AGG_HIST || t->aggregate == AGG_LHIST);
    bool negative = (int64_t)number < 0;
    if (t->aggregate == AGG_HIST)
        return negative && type_is_signed(t->added) ? 0 - highest_bit(0 - number)
                                                    : highest_bit(number);
    if ((int64_t)number < t->steps[0])
        return (uint64_t)INT64_MIN;
    if ((int64_t)number >= t->steps[1])
        return (uint64_t)t->steps[1];
    return number - (number - (uint64_t)t->steps[0]) % (uint64_t)t->steps[2];
}

/* "stats(u64)", "lhist(0,100,10)", "top(10,str)" */
static void put_aggregate(AggregateId id, const Type *added, const int64_t *steps, Buf *text) {
    buf_str(text, str_of(aggregate_name(id)));
    if (id == AGG_LHIST)
        buf_printf(text, "(%lld,%lld,%lld)", (long long)steps[0], (long long)steps[1],
                   (long long)steps[2]);
    else if (id == AGG_TOP)
        buf_printf(text, "(%lld,%s)", (long long)steps[0], added->text);
    else if (added && added->kind != TYPE_I64)
        buf_printf(text, "(%s)", added->text);
}

/* Makes it what its fields are. */
static void set_fields(Type *like, const Type **all) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].id == like->aggregate)
            all[like->nfields++] = fields[i].type == FIELD_T     ? like->added
                                   : fields[i].type == FIELD_U64 ? &type_scalar[TYPE_U64]
                                                                 : &type_scalar[TYPE_F64];
    like->kind = TYPE_TUPLE;
    like->fields = all;
    like->depth = 1;
    if (like->nfields == 1) {
        like->kind = all[0]->kind;
        like->nfields = like->depth = 0;
    }
}

const Type *type_aggregate(Script *s, AggregateId id, const Type *added, const int64_t *steps) {
    assert((added != NULL) == (id != AGG_COUNT));
    assert((steps != NULL) == (id == AGG_LHIST || id == AGG_TOP));
    const Type *all[8];
    Type like = {.kind = TYPE_MAP, .aggregate = id, .added = added};
    Buf text = {0};
    if (added && added->kind == TYPE_ERROR)
        return &type_error;
    if (steps)
        memcpy(like.steps, steps, sizeof like.steps);
    if (id == AGG_HIST || id == AGG_LHIST || id == AGG_TOP) {
        like.key = added;
        like.value = &type_scalar[TYPE_U64];
        like.depth = added->depth + 1;
    } else {
        set_fields(&like, all);
    }
    put_aggregate(id, added, steps, &text);
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
