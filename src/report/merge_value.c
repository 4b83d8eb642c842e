/*
 * report/merge_value.c - reading, combining and writing values.
 */
#include "report/merge_value.h"

#include "base/capped.h"
#include "base/json.h"
#include "report/value.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

enum { DEPTH_MAX = 40 }; /* scripts cannot nest types that deeply */

/* ---- reading ---- */

static bool read_one(Json *j, Str type, uint32_t depth, MergeValue *v);

/* The source text of the value at j. */
static Str raw_of(Json *j, bool (*pass)(Json *j)) {
    json_blanks(j);
    const char *from = j->at;
    return pass(j) ? (Str){from, (uint32_t)(j->at - from)} : (Str){0};
}

/* Skips any value. */
static bool pass_value(Json *j) {
    uint32_t depth = 0;
    do {
        Str s;
        json_blanks(j);
        if (j->at == j->end)
            return false;
        if (*j->at == '[' || *j->at == '{') {
            depth++;
            j->at++;
        } else if (*j->at == ']' || *j->at == '}') {
            if (!depth--)
                return false;
            j->at++;
        } else if (*j->at == ',' || *j->at == ':') {
            j->at++;
            continue;
        } else if (!json_value(j, &s)) {
            return false;
        }
    } while (depth);
    return true;
}

static bool merge_value_read_parts(Json *j, Str types, uint32_t depth, MergeValue *v) {
    Vec(MergeValue) parts = {0};
    Str type;
    bool ok = json_char(j, '[');
    while (ok && value_next_type(&types, &type)) {
        MergeValue part = {0};
        ok = (!parts.len || json_char(j, ',')) && read_one(j, type, depth, &part);
        vec_push(&parts, part);
    }
    v->kind = MERGE_TUPLE;
    v->nparts = parts.len;
    v->of.parts = parts.at;
    return ok && json_char(j, ']');
}

static bool merge_value_read_entry(Json *j, Str value, uint32_t depth, MergeEntries *e) {
    if (!json_char(j, '{') || !json_member(j, "key"))
        return false;
    Str key = raw_of(j, pass_value);
    bool added = false;
    MergeValue v = {0};
    bool ok = key.ptr && json_char(j, ',') && json_member(j, "value") &&
              read_one(j, value, depth, &v) && json_char(j, '}');
    if (ok)
        map_put(&e->index, key, e->values.len, &added);
    if (added)
        vec_push(&e->values, v);
    else
        merge_value_free(&v);
    return added;
}

static bool merge_value_read_map(Json *j, Str value, uint32_t depth, MergeValue *v) {
    v->kind = MERGE_MAP;
    v->of.entries = mem_zalloc(sizeof *v->of.entries);
    if (!json_char(j, '['))
        return false;
    if (json_char(j, ']'))
        return true;
    do {
        if (!merge_value_read_entry(j, value, depth, v->of.entries))
            return false;
    } while (json_char(j, ','));
    return json_char(j, ']');
}

/* A number or boolean; everything else becomes a string, which rules do not change. */
static void merge_value_read_scalar(Str type, Str raw, MergeValue *v) {
    ReportVar var = {.type = type};
    bool quoted = raw.len >= 2 && raw.ptr[0] == '"';
    ReportRow row = {.var = &var, .value = quoted ? (Str){raw.ptr + 1, raw.len - 2} : raw};
    report_classify(&row);
    switch ((ReportClass)row.class) {
    case REPORT_CLASS_UNSIGNED:
        *v = (MergeValue){.kind = MERGE_UNSIGNED, .of = {.u = row.number.u}};
        break;
    case REPORT_CLASS_SIGNED:
        *v = (MergeValue){.kind = MERGE_SIGNED, .of = {.i = row.number.i}};
        break;
    case REPORT_CLASS_REAL:
        *v = (MergeValue){.kind = MERGE_REAL, .of = {.real = row.number.real}};
        break;
    case REPORT_CLASS_BOOL: *v = (MergeValue){.kind = MERGE_BOOL, .of = {.u = row.number.u}}; break;
    default: *v = (MergeValue){.kind = MERGE_TEXT, .of = {.text = raw}};
    }
}

static bool read_one(Json *j, Str type, uint32_t depth, MergeValue *v) {
    Str key, value;
    *v = (MergeValue){.kind = MERGE_TEXT};
    if (depth == DEPTH_MAX)
        return false;
    if (value_is_tuple(type)) {
        AggregateType t;
        bool ok = merge_value_read_parts(j, value_tuple_types(type), depth + 1, v);
        v->aggregate = aggregate_read(type, &t) ? t.kind : AGGREGATE_NONE;
        return ok;
    }
    if (value_map_types(type, &key, &value))
        return merge_value_read_map(j, value, depth + 1, v);
    Str raw = raw_of(j, pass_value);
    if (raw.ptr)
        merge_value_read_scalar(type, raw, v);
    return raw.ptr != NULL;
}

bool merge_value_read(Str type, Str json, MergeValue *v) {
    Arena arena = {0};
    Json j = {&arena, json.ptr, json.ptr + json.len};
    bool ok = read_one(&j, type, 0, v);
    json_blanks(&j);
    ok = ok && j.at == j.end;
    arena_free(&arena);
    return ok;
}

void merge_value_free(MergeValue *v) {
    if (v->kind == MERGE_TUPLE) {
        for (uint32_t i = 0; i < v->nparts; i++)
            merge_value_free(&v->of.parts[i]);
        free(v->of.parts);
    } else if (v->kind == MERGE_MAP && v->of.entries) {
        MergeEntries *e = v->of.entries;
        for (uint32_t i = 0; i < e->values.len; i++)
            merge_value_free(&e->values.at[i]);
        vec_free(&e->values);
        map_free(&e->index);
        free(e);
    }
    *v = (MergeValue){.kind = MERGE_TEXT};
}

/* ---- combining ---- */

MergeValue merge_value_copy(const MergeValue *v, Arena *arena) {
    MergeValue copy = *v;
    if (v->kind == MERGE_TEXT) {
        copy.of.text.ptr = arena_strndup(arena, v->of.text.ptr, v->of.text.len);
    } else if (v->kind == MERGE_TUPLE) {
        copy.of.parts = mem_zalloc((v->nparts + 1u) * sizeof *copy.of.parts);
        for (uint32_t i = 0; i < v->nparts; i++)
            copy.of.parts[i] = merge_value_copy(&v->of.parts[i], arena);
    } else if (v->kind == MERGE_MAP) {
        copy.of.entries = mem_zalloc(sizeof *copy.of.entries);
        merge_value_combine(&copy, v, MERGE_SUM, arena);
    }
    return copy;
}

/* Saturates at 0. */
static uint64_t combine_unsigned(uint64_t a, uint64_t b, MergeRule rule) {
    switch (rule) {
    case MERGE_SUM: return capped_add(a, b);
    case MERGE_LESS: return a > b ? a - b : 0;
    case MERGE_MAX: return a > b ? a : b;
    case MERGE_MIN: return a < b ? a : b;
    default: return a;
    }
}

static int64_t combine_signed(int64_t a, int64_t b, MergeRule rule) {
    int64_t sum;
    switch (rule) {
    case MERGE_SUM:
        return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
    case MERGE_LESS:
        return __builtin_sub_overflow(a, b, &sum) ? (b < 0 ? INT64_MAX : INT64_MIN) : sum;
    case MERGE_MAX: return a > b ? a : b;
    case MERGE_MIN: return a < b ? a : b;
    default: return a;
    }
}

static double combine_real(double a, double b, MergeRule rule) {
    switch (rule) {
    case MERGE_SUM: return a + b;
    case MERGE_LESS: return a - b;
    case MERGE_MAX: return fmax(a, b);
    case MERGE_MIN: return fmin(a, b);
    default: return a;
    }
}

static bool is_equal(const MergeValue *a, const MergeValue *b) {
    switch (a->kind) {
    case MERGE_UNSIGNED:
    case MERGE_BOOL: return a->of.u == b->of.u;
    case MERGE_SIGNED: return a->of.i == b->of.i;
    case MERGE_REAL: return memcmp(&a->of.real, &b->of.real, sizeof a->of.real) == 0;
    case MERGE_TEXT: return str_eq(a->of.text, b->of.text);
    default: return true; /* their parts are compared */
    }
}

static bool combine_maps(MergeValue *into, const MergeValue *from, MergeRule rule, Arena *arena) {
    MergeEntries *a = into->of.entries;
    const MergeEntries *b = from->of.entries;
    bool same = rule != MERGE_SAME || a->values.len == b->values.len;
    for (uint32_t i = 0; i < b->values.len && (rule != MERGE_FIRST || same); i++) {
        bool added;
        uint64_t at = *map_put(&a->index, b->index.entries[i].key, a->values.len, &added);
        if (!added) {
            same = merge_value_combine(&a->values.at[at], &b->values.at[i], rule, arena) && same;
            continue;
        }
        MergeValue v = merge_value_copy(&b->values.at[i], arena);
        if (rule == MERGE_LESS) { /* subtracted from 0 */
            merge_value_combine(&v, &b->values.at[i], rule, arena);
            merge_value_combine(&v, &b->values.at[i], rule, arena);
        }
        vec_push(&a->values, v);
        same &= rule != MERGE_SAME;
    }
    return same;
}

/* A mean and the sum of the squares of the distances from it, of two numbers of values: see
 * lang/type.def. Taking values away is the same with a negative number. */
static void combine_moments(MergeValue *mean, MergeValue *squares, const MergeValue *from_mean,
                            const MergeValue *from_squares, double n, double by) {
    double distance = from_mean->of.real - mean->of.real, all = n + by;
    if (by == 0)
        return;
    squares->of.real += (by < 0 ? -from_squares->of.real : from_squares->of.real) +
                        (all == 0 ? 0 : distance * distance * n * by / all);
    mean->of.real = all == 0 ? 0 : mean->of.real + distance * by / all;
}

/* The number of values is the first field. */
static void combine_aggregate(MergeValue *into, const MergeValue *from, MergeRule rule,
                              Arena *arena) {
    MergeValue *a = into->of.parts;
    const MergeValue *b = from->of.parts;
    uint64_t n = a->of.u, by = b->of.u;
    AggregateMerge merge;
    for (uint32_t i = 0; i < into->nparts && aggregate_field(into->aggregate, i, &merge); i++) {
        bool least = merge == AGGREGATE_LEAST;
        if (merge == AGGREGATE_ADD)
            merge_value_combine(&a[i], &b[i], rule, arena);
        else if (merge == AGGREGATE_MEAN)
            combine_moments(&a[i], &a[i + 1], &b[i], &b[i + 1], (double)n,
                            rule == MERGE_LESS ? -(double)by : (double)by);
        else if (merge != AGGREGATE_SQUARES && by && rule == MERGE_SUM)
            n ? (void)merge_value_combine(&a[i], &b[i], least ? MERGE_MIN : MERGE_MAX, arena)
              : (void)(a[i] = b[i]);
    }
}

bool merge_value_combine(MergeValue *into, const MergeValue *from, MergeRule rule, Arena *arena) {
    assert(into != from);
    bool same = true;
    if (into->kind != from->kind || into->nparts != from->nparts)
        return false; /* one of them is not a number */
    if (rule == MERGE_SAME && !is_equal(into, from))
        return false;
    switch (into->kind) {
    case MERGE_UNSIGNED: into->of.u = combine_unsigned(into->of.u, from->of.u, rule); break;
    case MERGE_SIGNED: into->of.i = combine_signed(into->of.i, from->of.i, rule); break;
    case MERGE_REAL: into->of.real = combine_real(into->of.real, from->of.real, rule); break;
    case MERGE_BOOL:
        if (rule == MERGE_SUM || rule == MERGE_MAX)
            into->of.u |= from->of.u;
        else if (rule == MERGE_MIN)
            into->of.u &= from->of.u;
        break;
    case MERGE_TEXT: break;
    case MERGE_TUPLE:
        if (into->aggregate && (rule == MERGE_SUM || rule == MERGE_LESS)) {
            combine_aggregate(into, from, rule, arena);
            break;
        }
        for (uint32_t i = 0; i < into->nparts; i++)
            same = merge_value_combine(&into->of.parts[i], &from->of.parts[i], rule, arena) && same;
        break;
    case MERGE_MAP: same = rule == MERGE_FIRST || combine_maps(into, from, rule, arena); break;
    }
    return same;
}

/* ---- writing ---- */

void merge_real_text(double real, Buf *out) {
    char text[40];
    if (isnan(real) || isinf(real)) {
        buf_str(out, isnan(real) ? STR("NaN") : real < 0 ? STR("-inf") : STR("+inf"));
        return;
    }
    for (int digits = 0; digits < DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
    char *e = strchr(text, 'e'); /* e+07, e-10, e+300 */
    buf_printf(out, "%.*s%ld", (int)(e + 1 - text), text, strtol(e + 1, NULL, 10));
}

static void put_real(double real, Buf *out) {
    Buf text = {0};
    merge_real_text(real, &text);
    value_number_to_json(buf_view(&text), out);
    buf_free(&text);
}

void merge_value_put(const MergeValue *v, Buf *out) {
    switch (v->kind) {
    case MERGE_UNSIGNED: buf_printf(out, "%llu", (unsigned long long)v->of.u); break;
    case MERGE_SIGNED: buf_printf(out, "%lld", (long long)v->of.i); break;
    case MERGE_REAL: put_real(v->of.real, out); break;
    case MERGE_BOOL: buf_str(out, v->of.u ? STR("true") : STR("false")); break;
    case MERGE_TEXT: buf_str(out, v->of.text); break;
    case MERGE_TUPLE:
        buf_u8(out, '[');
        for (uint32_t i = 0; i < v->nparts; i++) {
            buf_str(out, i ? STR(",") : STR(""));
            merge_value_put(&v->of.parts[i], out);
        }
        buf_u8(out, ']');
        break;
    case MERGE_MAP:
        buf_u8(out, '[');
        for (uint32_t i = 0; i < v->of.entries->values.len; i++) {
            buf_str(out, i ? STR(",{\"key\":") : STR("{\"key\":"));
            buf_str(out, v->of.entries->index.entries[i].key);
            buf_str(out, STR(",\"value\":"));
            merge_value_put(&v->of.entries->values.at[i], out);
            buf_u8(out, '}');
        }
        buf_u8(out, ']');
        break;
    }
}
