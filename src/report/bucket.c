/*
 * report/bucket.c - aggregations for people.
 */
#include "report/bucket.h"

#include "base/json.h"
#include "report/maps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- values ---- */

static void put_number(Str type, Str text, Buf *out) {
    ReportVar var = {.type = type};
    ReportRow row = {.var = &var, .value = text};
    report_classify(&row);
    if (row.class == REPORT_CLASS_UNSIGNED)
        buf_grouped(out, row.number.u);
    else if (row.class == REPORT_CLASS_SIGNED) {
        buf_str(out, row.number.i < 0 ? STR("-") : STR(""));
        buf_grouped(out, row.number.i < 0 ? 0 - (uint64_t)row.number.i : (uint64_t)row.number.i);
    } else if (row.class == REPORT_CLASS_REAL)
        buf_printf(out, "%.6g", row.number.real);
    else
        buf_str(out, text);
}

static double number_of(Str text) {
    char copy[40];
    if (text.len >= sizeof copy)
        return 0;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return strtod(copy, NULL);
}

bool aggregate_show(const AggregateType *t, Str json, Buf *out) {
    Arena arena = {0};
    Json j = {&arena, json.ptr, json.ptr + json.len};
    Str types = aggregate_fields(t), type, text;
    double count = 0, sum = 0;
    AggregateMerge merge;
    const char *name;
    bool ok = json_char(&j, '[');
    for (uint32_t i = 0; ok && value_next_type(&types, &type); i++) {
        ok = (!i || json_char(&j, ',')) && json_value(&j, &text) && text.ptr;
        if (!ok)
            break;
        double v = number_of(text);
        name = aggregate_field(t->kind, i, &merge);
        count = i == 0 ? v : count;
        sum = i == 1 ? v : sum;
        if (i && count == 0)
            continue; /* there is none */
        buf_str(out, i ? STR(", ") : STR(""));
        if (merge == AGGREGATE_SQUARES) {
            buf_printf(out, "deviation %.6g", sqrt(v / count));
            continue;
        }
        buf_printf(out, "%s ", name);
        put_number(type, text, out);
    }
    if (ok && t->kind == AGGREGATE_AVG && count > 0)
        buf_printf(out, ", mean %.6g", sum / count);
    ok = ok && json_char(&j, ']') && j.at == j.end;
    arena_free(&arena);
    return ok;
}

/* ---- buckets ---- */

/* A bound as a number of 64 bits; false if it is none. */
static bool read_bound(const AggregateType *t, Str text, int64_t *out) {
    ReportVar var = {.type = t->added};
    ReportRow row = {.var = &var, .value = text};
    report_classify(&row);
    *out = row.number.i; /* of unsigned ones the same bits */
    return row.class == REPORT_CLASS_UNSIGNED || row.class == REPORT_CLASS_SIGNED;
}

/* The end of the lhist bucket that begins with n. */
static int64_t step_end(const AggregateType *t, int64_t n) {
    if (n < t->least)
        return t->least;
    bool last = (uint64_t)t->most - (uint64_t)n <= (uint64_t)t->step;
    return last ? t->most : (int64_t)((uint64_t)n + (uint64_t)t->step);
}

/* The bucket of the numbers with the highest bit of `bound`: negative ones end with it. */
static void power_bucket(uint64_t bound, AggregateBucket *b) {
    bool negative = b->is_signed && bound >> 63;
    uint64_t size = negative ? 0 - bound : bound;
    if (negative) {
        b->has_low = b->has_high = true;
        b->low = size >> 63 ? bound : 1 - 2 * size; /* no number is below -2^63 */
        b->high = bound + 1;
        return;
    }
    b->has_low = true;
    b->low = bound;
    b->high = size ? 2 * size : 1;
    b->has_high = b->is_signed ? size < (uint64_t)1 << 62 : !(size >> 63);
}

void aggregate_bucket_at(const AggregateType *t, uint64_t bound, AggregateBucket *out) {
    int64_t n = (int64_t)bound;
    *out = (AggregateBucket){.is_signed = !str_is(t->added, "u64")};
    if (t->kind == AGGREGATE_HIST) {
        power_bucket(bound, out);
        return;
    }
    out->has_low = n >= t->least;
    out->has_high = n < t->most;
    out->low = out->has_low ? (uint64_t)n : 0;
    out->high = out->has_high ? (uint64_t)step_end(t, n) : 0;
}

bool aggregate_bucket(const AggregateType *t, Str bound, AggregateBucket *out) {
    int64_t n;
    if (!read_bound(t, bound, &n))
        return false;
    aggregate_bucket_at(t, (uint64_t)n, out);
    return true;
}

static int compare_buckets(const void *pa, const void *pb) {
    const AggregateBucket *a = &((const CountedBucket *)pa)->bucket;
    const AggregateBucket *b = &((const CountedBucket *)pb)->bucket;
    if (!a->has_low || !b->has_low)
        return a->has_low - b->has_low;
    if (a->is_signed)
        return ((int64_t)a->low > (int64_t)b->low) - ((int64_t)a->low < (int64_t)b->low);
    return (a->low > b->low) - (a->low < b->low);
}

void aggregate_sort_buckets(CountedBucket *buckets, size_t n) {
    if (n)
        qsort(buckets, n, sizeof *buckets, compare_buckets);
}

/* "4K" of a power of two, or of a number near to one. */
static void put_power(uint64_t n, Buf *out) {
    static const char units[] = "KMGTPE";
    uint32_t unit = 0;
    while (n && n % 1024 == 0 && unit < sizeof units - 1) {
        n /= 1024;
        unit++;
    }
    buf_printf(out, "%" PRIu64, n);
    if (unit)
        buf_u8(out, (uint8_t)units[unit - 1]);
}

/* [2^k, 2^(k+1)), or (-2^(k+1), -2^k] */
static void put_power_bucket(uint64_t bound, bool negative, Buf *out) {
    uint64_t size = negative ? 0 - bound : bound;
    if (size <= 1) {
        buf_printf(out, "%s%" PRIu64, negative ? "-" : "", size);
        return;
    }
    buf_str(out, negative ? STR("(-") : STR("["));
    if (!negative) {
        put_power(size, out);
        buf_str(out, STR(", "));
    }
    if (size >> 63)
        buf_str(out, STR("16E"));
    else
        put_power(2 * size, out);
    if (negative) {
        buf_str(out, STR(", -"));
        put_power(size, out);
    }
    buf_str(out, negative ? STR("]") : STR(")"));
}

void aggregate_put_bucket(const AggregateType *t, Str bound, Buf *out) {
    int64_t n;
    if (!read_bound(t, bound, &n)) {
        buf_str(out, bound);
    } else if (t->kind == AGGREGATE_HIST) {
        put_power_bucket((uint64_t)n, n < 0 && !str_is(t->added, "u64"), out);
    } else if (n < t->least) {
        buf_printf(out, "< %" PRId64, t->least);
    } else if (n >= t->most) {
        buf_printf(out, ">= %" PRId64, t->most);
    } else {
        buf_printf(out, "[%" PRId64 ", %" PRId64 ")", n, step_end(t, n));
    }
}

bool aggregate_next_bucket(const AggregateType *t, Str bound, Buf *next) {
    int64_t n;
    if (!read_bound(t, bound, &n))
        return false;
    if (t->kind == AGGREGATE_LHIST) {
        if (n >= t->most)
            return false;
        buf_printf(next, "%" PRId64, step_end(t, n));
        return true;
    }
    if (str_is(t->added, "u64")) {
        uint64_t u = (uint64_t)n;
        if (u >> 63)
            return false;
        buf_printf(next, "%" PRIu64, u ? 2 * u : 1);
        return true;
    }
    if (n >= INT64_MAX / 2 + 1)
        return false;
    buf_printf(next, "%" PRId64, n > 0 ? 2 * n : n == 0 ? 1 : n == -1 ? 0 : n / 2);
    return true;
}

/* ---- all buckets ---- */

/* Buckets between two filled ones are shown, too, up to this many. */
enum { MAX_GAP = 100 };

/* Whole numbers, as texts without leading zeros: a double does not hold all of them. */
static int compare_bounds(const void *pa, const void *pb) {
    Str a = ((const ReportRow *)pa)->fname, b = ((const ReportRow *)pb)->fname;
    bool negative = str_begins(a, STR("-"));
    if (negative != str_begins(b, STR("-")))
        return negative ? -1 : 1;
    int order = a.len != b.len ? (a.len < b.len ? -1 : 1) : memcmp(a.ptr, b.ptr, a.len);
    return negative ? -order : order;
}

/* Appends the buckets from one that is filled to the next, `until` (NULL = none). */
static void fill_gap(const AggregateType *type, const ReportRow *from, const ReportRow *until,
                     Report *out) {
    Str bound = from->fname;
    ReportRow zero = *from;
    uint32_t first = out->rows.len;
    zero.number.u = 0;
    zero.value = STR("0");
    for (uint32_t n = 0; until; n++) {
        Buf next = {0};
        bool more = aggregate_next_bucket(type, bound, &next);
        if (!more || n > MAX_GAP || str_eq(buf_view(&next), until->fname)) {
            if (n > MAX_GAP || !more)
                out->rows.len = first;
            buf_free(&next);
            return;
        }
        bound = (Str){arena_strndup(&out->arena, (const char *)next.data, next.len),
                      (uint32_t)next.len};
        zero.fname = bound;
        vec_push(&out->rows, zero);
        buf_free(&next);
    }
}

bool aggregate_histogram_type(Str type) {
    AggregateType t;
    return aggregate_read(type, &t) && aggregate_is_histogram(&t);
}

bool aggregate_read_buckets(const ReportRow *row, Report *out) {
    AggregateType of, *type = &of;
    Report filled = {0};
    if (!aggregate_histogram_type(row->var->type) || !maps_is_table(row))
        return false;
    aggregate_read(row->var->type, &of);
    maps_read(row, &filled);
    if (filled.rows.len)
        qsort(filled.rows.at, filled.rows.len, sizeof *filled.rows.at, compare_bounds);
    for (uint32_t i = 0; i < filled.rows.len; i++) {
        vec_push(&out->rows, filled.rows.at[i]);
        fill_gap(type, &filled.rows.at[i], i + 1 < filled.rows.len ? &filled.rows.at[i + 1] : NULL,
                 out);
    }
    for (uint32_t i = 0; i < out->rows.len; i++) {
        Buf label = {0};
        aggregate_put_bucket(type, out->rows.at[i].fname, &label);
        out->rows.at[i].fname = (Str){
            arena_strndup(&out->arena, (const char *)label.data, label.len), (uint32_t)label.len};
        buf_free(&label);
    }
    for (uint32_t i = 0; i < out->rows.len; i++) { /* theirs are gone */
        out->rows.at[i].value = STR("");
        out->rows.at[i].var = row->var;
    }
    report_free(&filled);
    return out->rows.len;
}

void aggregate_put_name(const ReportRow *row, bool entry, Buf *out) {
    buf_str(out, row->var->name);
    if (entry)
        buf_printf(out, "[%.*s]", STR_ARG(row->fname));
    else if (row->fname.ptr)
        buf_printf(out, ", %.*s", STR_ARG(row->fname));
    if (row->has_place)
        buf_printf(out, " pc %u", row->pc);
}
