/*
 * report/totals.c - sums of the values at sites, by line, function or file.
 */
#include "report/totals.h"
#include "base/capped.h"
#include "report/merge_value.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Total {
    ReportRow row;
    uint32_t variable; /* in the order of the report */
    MergeValue value;  /* of an aggregation that is no number; its text is made at the end */
} Total;

typedef struct Totals {
    TotalsBy by;
    Report *out;
    Vec(Total) sums;
    Map index;     /* variable and group -> the number of its total */
    Map variables; /* address of the ReportVar -> its number */
    Buf key;
} Totals;

/* ---- adding ---- */

static void add_unsigned(uint64_t *sum, uint64_t v) {
    *sum = capped_add(*sum, v);
}

static void add_signed(int64_t *sum, int64_t v) {
    if (v > 0 && *sum > INT64_MAX - v)
        *sum = INT64_MAX;
    else if (v < 0 && *sum < INT64_MIN - v)
        *sum = INT64_MIN;
    else
        *sum += v;
}

static void totals_add(ReportRow *sum, const ReportRow *row) {
    switch (row->class) {
    case REPORT_CLASS_SIGNED: add_signed(&sum->number.i, row->number.i); break;
    case REPORT_CLASS_REAL: sum->number.real += row->number.real; break;
    default: add_unsigned(&sum->number.u, row->number.u); break;
    }
}

/* ---- groups ---- */

static const RowLocation *location_of(const ReportRow *row) {
    static const RowLocation unknown = {{"", 0}, {"", 0}, 0, 0};
    return row->location ? row->location : &unknown;
}

/* Properties that rows with the same total share. */
static void totals_put_key(Totals *t, const ReportRow *row) {
    const RowLocation *l = location_of(row);
    buf_bytes(&t->key, &row->var, sizeof row->var);
    buf_u8(&t->key, row->class);
    if (row->module)
        buf_name(&t->key, *row->module);
    if (row->thread)
        buf_name(&t->key, *row->thread);
    switch (t->by) {
    case TOTALS_LINE:
        buf_name(&t->key, l->line ? l->file : STR(""));
        buf_u32le(&t->key, l->line);
        break;
    case TOTALS_FILE: buf_name(&t->key, l->file); break;
    default:
        buf_name(&t->key, row->fname); /* a report of several programs */
        buf_u32le(&t->key, row->fid);
        break;
    }
}

static Str totals_name_of(Totals *t, const ReportRow *row) {
    const RowLocation *l = location_of(row);
    if (t->by == TOTALS_FUNCTION)
        return row->fname;
    if (t->by == TOTALS_FILE)
        return l->file.len ? l->file : STR("(no file known)");
    if (!l->line)
        return STR("(no line known)");
    const char *text = arena_printf(&t->out->arena, "%.*s:%u", STR_ARG(l->file), l->line);
    return str_of(text);
}

static uint32_t totals_number_of(Totals *t, const ReportVar *var) {
    Str key = {(const char *)&var, sizeof var};
    return (uint32_t)*map_put(&t->variables, key, t->variables.len, NULL);
}

static Total *total_of(Totals *t, const ReportRow *row) {
    bool added;
    t->key.len = 0;
    totals_put_key(t, row);
    Str key = buf_view(&t->key);
    uint64_t n = *map_put(&t->index, key, t->sums.len, &added);
    if (added) {
        bool known_line = t->by != TOTALS_LINE || location_of(row)->line;
        bool counts = row->class == REPORT_CLASS_BOOL;
        Total *total = vec_add(&t->sums);
        total->variable = totals_number_of(t, row->var);
        total->value.kind = MERGE_TEXT;
        total->row = (ReportRow){.var = row->var,
                                 .fname = totals_name_of(t, row),
                                 .probe = row->probe,
                                 .module = row->module,
                                 .thread = row->thread,
                                 .class = counts ? REPORT_CLASS_UNSIGNED : row->class,
                                 .fid = row->fid,
                                 .location = known_line ? row->location : NULL};
    }
    return &t->sums.at[n];
}

/* ---- aggregations ---- */

/* Whether it is an aggregation that is no number, and its value can be read. */
static bool read_aggregate(const ReportRow *row, MergeValue *v) {
    AggregateType type;
    *v = (MergeValue){.kind = MERGE_TEXT};
    if (row->class != REPORT_CLASS_TEXT || !aggregate_read(row->var->type, &type) ||
        aggregate_number(&type).ptr)
        return false;
    if (merge_value_read(row->var->type, row->value, v))
        return true;
    merge_value_free(v);
    return false;
}

static void add_aggregate(Totals *t, Total *total, MergeValue *v) {
    if (total->value.kind == MERGE_TEXT) {
        total->value = *v;
        return;
    }
    merge_value_combine(&total->value, v, MERGE_SUM, &t->out->arena);
    merge_value_free(v);
}

static void write_aggregate(Totals *t, Total *total) {
    if (total->value.kind == MERGE_TEXT)
        return;
    t->key.len = 0;
    merge_value_put(&total->value, &t->key);
    total->row.value = (Str){arena_strndup(&t->out->arena, (const char *)t->key.data, t->key.len),
                             (uint32_t)t->key.len};
    merge_value_free(&total->value);
}

/* ---- order ---- */

/* By variable, file and line; rows without these come last. */
static int compare_totals(const void *pa, const void *pb) {
    const Total *x = pa, *y = pb;
    const RowLocation *a = location_of(&x->row), *b = location_of(&y->row);
    if (x->variable != y->variable)
        return x->variable < y->variable ? -1 : 1;
    if (!a->file.len != !b->file.len)
        return a->file.len ? -1 : 1;
    int order = a->file.len ? str_order(a->file, b->file) : 0;
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

void totals_make(const Report *r, TotalsBy by, Report *out) {
    assert(by != TOTALS_SITE && !out->rows.len);
    Totals t = {.by = by, .out = out};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        MergeValue v;
        bool aggregate = row->has_place && read_aggregate(row, &v);
        if (!row->has_place || row->var->formula.ptr ||
            (row->class == REPORT_CLASS_TEXT && !aggregate))
            continue;
        Total *total = total_of(&t, row);
        ReportRow *sum = &total->row;
        if (aggregate)
            add_aggregate(&t, total, &v);
        else
            totals_add(sum, row);
        sum->pc++;
        if (!str_eq(sum->probe, row->probe))
            sum->probe = (Str){NULL, 0};
    }
    if (by != TOTALS_FUNCTION && t.sums.len)
        qsort(t.sums.at, t.sums.len, sizeof *t.sums.at, compare_totals);
    for (uint32_t i = 0; i < t.sums.len; i++) {
        write_aggregate(&t, &t.sums.at[i]);
        vec_push(&out->rows, t.sums.at[i].row);
    }
    derived_of_totals(r, by, out);
    vec_free(&t.sums);
    map_free(&t.index);
    map_free(&t.variables);
    buf_free(&t.key);
}
