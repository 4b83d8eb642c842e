/*
 * report/aggregate.c - aggregations in reports.
 */
#include "report/aggregate.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static const struct {
    AggregateKind kind;
    const char *name;
} kinds[] = {
#define AGGREGATE(id, name, text, doc) {AGGREGATE_##id, name},
#include "lang/type.def"
};

static const struct {
    AggregateKind kind;
    const char *name;
    AggregateMerge merge;
} fields[] = {
#define FIELD(id, field, type, merge) {AGGREGATE_##id, field, AGGREGATE_##merge},
#include "lang/type.def"
};

/* The types of the fields, for each T. */
static const struct {
    AggregateKind kind;
    const char *added, *types;
} tuples[] = {
#define OF(kind, T, types)                                                                         \
    { AGGREGATE_##kind, T, types }
#define OF_PAIR(kind)                                                                              \
    OF(kind, "i64", "u64,i64"), OF(kind, "u64", "u64,u64"), OF(kind, "f64", "u64,f64")
    OF_PAIR(MIN),
    OF_PAIR(MAX),
    OF_PAIR(AVG),
    OF(STATS, "i64", "u64,i64,i64,i64,f64,f64"),
    OF(STATS, "u64", "u64,u64,u64,u64,f64,f64"),
    OF(STATS, "f64", "u64,f64,f64,f64,f64,f64"),
#undef OF_PAIR
#undef OF
};

static Str aggregate_slice(Str s, uint32_t from, uint32_t to) {
    return (Str){s.ptr + from, to - from};
}

bool value_next_type(Str *list, Str *type) {
    uint32_t depth = 0, i = 0;
    for (; i < list->len; i++) {
        char c = list->ptr[i];
        if (c == ',' && depth == 0)
            break;
        depth += c == '(' || c == '<';
        depth -= (c == ')' || c == '>') && depth;
    }
    if (!list->len)
        return false;
    *type = aggregate_slice(*list, 0, i);
    *list = aggregate_slice(*list, i < list->len ? i + 1 : i, list->len);
    while (list->len && list->ptr[0] == ' ')
        *list = aggregate_slice(*list, 1, list->len);
    return true;
}

static bool take_bound(Str *list, int64_t *out) {
    Str text;
    char copy[24], *end;
    if (!value_next_type(list, &text) || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *out = strtoll(copy, &end, 10);
    return text.len && *end == '\0';
}

static bool read_arguments(Str list, AggregateType *t) {
    int64_t shown;
    switch (t->kind) {
    case AGGREGATE_COUNT: return !list.ptr;
    case AGGREGATE_LHIST:
        return take_bound(&list, &t->least) && take_bound(&list, &t->most) &&
               take_bound(&list, &t->step) && !list.len && t->step > 0 && t->least < t->most;
    case AGGREGATE_TOP:
        if (!take_bound(&list, &shown) || shown < 1 || !value_next_type(&list, &t->added))
            return false;
        t->shown = shown > UINT32_MAX ? UINT32_MAX : (uint32_t)shown;
        return !list.len;
    default:
        if (!list.ptr)
            return true;
        t->added = list;
        return str_is(list, "i64") || str_is(list, "u64") || str_is(list, "f64");
    }
}

bool aggregate_read(Str type, AggregateType *out) {
    uint32_t len = 0;
    while (len < type.len && type.ptr[len] >= 'a' && type.ptr[len] <= 'z')
        len++;
    Str name = {type.ptr, len}, list = {NULL, 0};
    if (len < type.len) {
        if (type.ptr[len] != '(' || type.ptr[type.len - 1] != ')' || len + 2 > type.len)
            return false;
        list = (Str){type.ptr + len + 1, type.len - len - 2};
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!str_is(name, kinds[i].name))
            continue;
        *out = (AggregateType){.kind = kinds[i].kind, .added = STR("i64")};
        return read_arguments(list, out);
    }
    return false;
}

bool aggregate_is_histogram(const AggregateType *t) {
    return t->kind == AGGREGATE_HIST || t->kind == AGGREGATE_LHIST;
}

Str aggregate_number(const AggregateType *t) {
    return t->kind == AGGREGATE_COUNT ? STR("u64") : t->kind == AGGREGATE_SUM ? t->added : (Str){0};
}

Str aggregate_fields(const AggregateType *t) {
    for (size_t i = 0; i < sizeof tuples / sizeof *tuples; i++)
        if (tuples[i].kind == t->kind && str_is(t->added, tuples[i].added))
            return str_of(tuples[i].types);
    return (Str){0};
}

const char *aggregate_field(AggregateKind kind, uint32_t n, AggregateMerge *merge) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].kind == kind && n-- == 0) {
            *merge = fields[i].merge;
            return fields[i].name;
        }
    return NULL;
}
