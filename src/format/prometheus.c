/*
 * format/prometheus.c - the numbers of a report in the text format of Prometheus, version 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats/.
 *
 * A variable is a family of samples, or several: an aggregation that only grows is a counter, a
 * histogram is one, `avg` and `stats` are summaries with gauges beside them, and other numbers are
 * gauges. Labels say where a value comes from.
 */
#include "base/capped.h"
#include "base/escape.h"
#include "base/json.h"
#include "format/format.h"
#include "report/bucket.h"
#include "report/merge_value.h"
#include "report/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The samples of a variable that have one name. */
typedef struct Part {
    AggregateKind kind;
    const char *suffix, *type;
    uint32_t field; /* of gauges: which field of an aggregation it is */
} Part;

static const Part parts[] = {
    {AGGREGATE_NONE, "", "gauge", 0},
    {AGGREGATE_COUNT, "_total", "counter", 0},
    {AGGREGATE_SUM, "_total", "counter", 0},
    {AGGREGATE_TOP, "_total", "counter", 0},
    {AGGREGATE_MIN, "", "gauge", 1},
    {AGGREGATE_MAX, "", "gauge", 1},
    {AGGREGATE_AVG, "", "summary", 0},
    {AGGREGATE_STATS, "", "summary", 0},
    {AGGREGATE_STATS, "_min", "gauge", 2},
    {AGGREGATE_STATS, "_max", "gauge", 3},
    {AGGREGATE_STATS, "_deviation", "gauge", 5},
    {AGGREGATE_HIST, "", "histogram", 0},
    {AGGREGATE_LHIST, "", "histogram", 0},
};

/* A variable. */
typedef struct Variable {
    Str name, type;
    Vec(const ReportRow *) rows;
} Variable;

typedef struct Exposition {
    Buf *out;
    Map names;          /* of samples */
    Map series;         /* name and labels -> how often */
    bool several;       /* scripts */
    const Part *part;   /* that is written */
    AggregateType type; /* of the values, in `maps` maps; AGGREGATE_NONE: others */
    uint32_t maps;
    Buf name, labels, text;
} Exposition;

/* ---- names and labels ---- */

/* Names may have letters, digits, '_' and ':'. */
static void prometheus_put_name(Str name, Buf *out) {
    for (uint32_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf_u8(out, fits ? (uint8_t)c : '_');
    }
}

/* UTF-8, with escapes; bytes that are none become U+FFFD. */
static void prometheus_put_text(Str s, bool quoted, Buf *out) {
    for (uint32_t i = 0, n; i < s.len; i += n) {
        uint32_t code;
        n = escape_utf8(s.ptr + i, s.len - i, &code);
        if (!n) {
            buf_str(out, STR("\xef\xbf\xbd"));
            n = 1;
        } else if (code == '\n') {
            buf_str(out, STR("\\n"));
        } else {
            if (code == '\\' || (quoted && code == '"'))
                buf_u8(out, '\\');
            buf_bytes(out, s.ptr + i, n);
        }
    }
}

static void prometheus_put_label(Buf *labels, const char *name, Str value) {
    buf_printf(labels, "%s%s=\"", labels->len ? "," : "", name);
    prometheus_put_text(value, true, labels);
    buf_u8(labels, '"');
}

static void put_number_label(Buf *labels, const char *name, uint32_t value) {
    buf_printf(labels, "%s%s=\"%" PRIu32 "\"", labels->len ? "," : "", name, value);
}

static void put_row_labels(Exposition *e, const ReportRow *row) {
    Buf *l = &e->labels;
    l->len = 0;
    if (row->module)
        prometheus_put_label(l, "module", *row->module);
    if (row->thread)
        prometheus_put_label(l, "thread", *row->thread);
    if (e->several)
        prometheus_put_label(l, "script", row->var->script);
    if (row->probe.ptr)
        prometheus_put_label(l, "probe", row->probe);
    if (row->fname.ptr)
        prometheus_put_label(l, "function", row->fname);
    if (row->has_place) {
        put_number_label(l, "fid", row->fid);
        put_number_label(l, "pc", row->pc);
    }
    if (row->location && row->location->line) {
        prometheus_put_label(l, "file", row->location->file);
        put_number_label(l, "line", row->location->line);
    }
}

/* A label for each part of a key: "key", or "key_0" and "key_1" of a tuple. */
static void put_key_labels(Buf *labels, Json *j, const char *name) {
    Arena *arena = j->arena;
    Str text;
    if (!json_char(j, '[')) {
        if (json_value(j, &text))
            prometheus_put_label(labels, name, text.ptr ? text : STR(""));
        return;
    }
    for (uint32_t i = 0; j->at < j->end && *j->at != ']'; i++) {
        const char *before = j->at;
        put_key_labels(labels, j, arena_printf(arena, "%s_%u", name, i));
        if (!json_char(j, ',') && j->at == before)
            return;
    }
    json_char(j, ']');
}

/* ---- samples ---- */

/* `suffix` follows the name, `extra` the labels. */
static void prometheus_put_sample(Exposition *e, const char *suffix, Str extra, Str value) {
    Buf *series = &e->text, *out = e->out;
    bool added;
    series->len = 0;
    buf_bytes(series, e->name.data, e->name.len);
    buf_str(series, str_of(suffix));
    size_t name = series->len;
    buf_bytes(series, e->labels.data, e->labels.len);
    buf_str(series, extra.len && e->labels.len ? STR(",") : STR(""));
    buf_str(series, extra);
    uint64_t *times = map_put(&e->series, buf_view(series), 0, &added);
    if (++*times > 1) /* a report can have two rows that differ in nothing */
        buf_printf(series, "%scopy=\"%" PRIu64 "\"", series->len > name ? "," : "", *times);
    buf_bytes(out, series->data, name);
    if (series->len > name) {
        buf_u8(out, '{');
        buf_bytes(out, series->data + name, series->len - name);
        buf_u8(out, '}');
    }
    buf_u8(out, ' ');
    buf_str(out, value);
    buf_u8(out, '\n');
}

static void prometheus_put_real(double v, Buf *out) {
    if (isnan(v))
        buf_str(out, STR("NaN"));
    else if (isinf(v))
        buf_str(out, v < 0 ? STR("-Inf") : STR("+Inf"));
    else
        merge_real_text(v, out);
}

/* False if it is no number. */
static bool prometheus_put_number(const MergeValue *v, Buf *out) {
    switch (v->kind) {
    case MERGE_UNSIGNED:
    case MERGE_BOOL: buf_printf(out, "%" PRIu64, v->of.u); return true;
    case MERGE_SIGNED: buf_printf(out, "%" PRId64, v->of.i); return true;
    case MERGE_REAL: prometheus_put_real(v->of.real, out); return true;
    default: return false;
    }
}

static void put_number_sample(Exposition *e, const char *suffix, const MergeValue *v) {
    Buf value = {0};
    if (prometheus_put_number(v, &value))
        prometheus_put_sample(e, suffix, (Str){"", 0}, buf_view(&value));
    buf_free(&value);
}

/* ---- histograms ---- */

/* Numbers up to the one before `end`. */
static void put_below(Exposition *e, bool is_signed, uint64_t end, uint64_t count) {
    char le[40], value[24];
    int n = is_signed ? snprintf(le, sizeof le, "le=\"%" PRId64 "\"", (int64_t)end - 1)
                      : snprintf(le, sizeof le, "le=\"%" PRIu64 "\"", end - 1);
    int digits = snprintf(value, sizeof value, "%" PRIu64, count);
    prometheus_put_sample(e, "_bucket", (Str){le, (uint32_t)n}, (Str){value, (uint32_t)digits});
}

/* Empty buckets between filled ones are one bucket. */
static void put_histogram(Exposition *e, const MergeEntries *entries) {
    Vec(CountedBucket) all = {0};
    Buf value = {0};
    uint64_t count = 0;
    for (uint32_t i = 0; i < entries->values.len; i++) {
        CountedBucket c = {.count = entries->values.at[i].of.u};
        if (aggregate_bucket(&e->type, entries->index.entries[i].key, &c.bucket))
            vec_push(&all, c);
    }
    aggregate_sort_buckets(all.at, all.len);
    for (uint32_t i = 0; i < all.len; i++) {
        const AggregateBucket *b = &all.at[i].bucket, *last = i ? &all.at[i - 1].bucket : NULL;
        uint64_t least = b->is_signed ? (uint64_t)INT64_MIN : 0;
        if (b->has_low && b->low != least && !(last && last->has_high && last->high == b->low))
            put_below(e, b->is_signed, b->low, count);
        count = capped_add(count, all.at[i].count);
        if (b->has_high)
            put_below(e, b->is_signed, b->high, count);
    }
    buf_printf(&value, "%" PRIu64, count);
    prometheus_put_sample(e, "_bucket", STR("le=\"+Inf\""), buf_view(&value));
    prometheus_put_sample(e, "_count", (Str){"", 0}, buf_view(&value)); /* the sum is not known */
    buf_free(&value);
    vec_free(&all);
}

/* ---- values ---- */

/* What the part shows of an aggregation of several fields. */
static void prometheus_put_fields(Exposition *e, const MergeValue *v) {
    AggregateMerge merge;
    uint32_t field = e->part->field;
    double count = (double)v->of.parts[0].of.u;
    if (!field) {
        put_number_sample(e, "_sum", &v->of.parts[1]);
        put_number_sample(e, "_count", &v->of.parts[0]);
    } else if (count > 0 && aggregate_field(v->aggregate, field, &merge)) {
        MergeValue shown = v->of.parts[field];
        if (merge == AGGREGATE_SQUARES)
            shown.of.real = sqrt(shown.of.real / count);
        put_number_sample(e, "", &shown);
    }
}

static void prometheus_put_value(Exposition *e, const MergeValue *v, uint32_t depth, Str field);

static void prometheus_put_entries(Exposition *e, const MergeEntries *entries, uint32_t depth) {
    size_t before = e->labels.len;
    for (uint32_t i = 0; i < entries->values.len; i++) {
        Arena arena = {0};
        Str key = entries->index.entries[i].key;
        Json j = {&arena, key.ptr, key.ptr + key.len};
        e->labels.len = before;
        put_key_labels(&e->labels, &j, depth ? arena_printf(&arena, "key%u", depth + 1) : "key");
        prometheus_put_value(e, &entries->values.at[i], depth + 1, (Str){"", 0});
        arena_free(&arena);
    }
    e->labels.len = before;
}

/* The fields of a tuple have a label: "0", "1.0". */
static void put_tuple(Exposition *e, const MergeValue *v, uint32_t depth, Str field) {
    size_t before = e->labels.len;
    for (uint32_t i = 0; i < v->nparts; i++) {
        Buf path = {0};
        buf_printf(&path, "%.*s%s%u", STR_ARG(field), field.len ? "." : "", i);
        if (v->of.parts[i].kind != MERGE_TUPLE)
            prometheus_put_label(&e->labels, "field", buf_view(&path));
        prometheus_put_value(e, &v->of.parts[i], depth, buf_view(&path));
        e->labels.len = before;
        buf_free(&path);
    }
}

static void prometheus_put_value(Exposition *e, const MergeValue *v, uint32_t depth, Str field) {
    if (v->kind == MERGE_TUPLE && v->aggregate)
        prometheus_put_fields(e, v);
    else if (v->kind == MERGE_TUPLE)
        put_tuple(e, v, depth, field);
    else if (v->kind != MERGE_MAP)
        put_number_sample(e, "", v);
    else if (aggregate_is_histogram(&e->type) && depth == e->maps)
        put_histogram(e, v->of.entries);
    else
        prometheus_put_entries(e, v->of.entries, depth);
}

static void prometheus_put_row(Exposition *e, const ReportRow *row) {
    MergeValue v = {.kind = MERGE_TEXT};
    bool read = true;
    switch (row->class) {
    case REPORT_CLASS_UNSIGNED: v = (MergeValue){MERGE_UNSIGNED, .of = {.u = row->number.u}}; break;
    case REPORT_CLASS_BOOL: v = (MergeValue){MERGE_BOOL, .of = {.u = row->number.u}}; break;
    case REPORT_CLASS_SIGNED: v = (MergeValue){MERGE_SIGNED, .of = {.i = row->number.i}}; break;
    case REPORT_CLASS_REAL: v = (MergeValue){MERGE_REAL, .of = {.real = row->number.real}}; break;
    default:
        read = !row->unreadable && !str_is(row->var->type, "str") &&
               merge_value_read(row->var->type, row->value, &v);
    }
    put_row_labels(e, row);
    if (read)
        prometheus_put_value(e, &v, 0, (Str){"", 0});
    merge_value_free(&v);
}

/* ---- variables ---- */

/* Finds out which samples the values of a type have. */
static void read_type(Exposition *e, Str type) {
    Str key, value;
    e->maps = 0;
    e->type = (AggregateType){.kind = AGGREGATE_NONE};
    while (!aggregate_read(type, &e->type) && value_map_types(type, &key, &value)) {
        type = value;
        e->maps++;
    }
}

static bool has_part(const Exposition *e, const Part *p) {
    return p->kind == e->type.kind;
}

/* A sum that can become less is no counter. */
static Part part_of(const Exposition *e, const Part *p) {
    Part part = *p;
    if (part.kind == AGGREGATE_SUM && !str_is(e->type.added, "u64"))
        part = (Part){part.kind, "", "gauge", 0};
    return part;
}

/* Whether none of the names of a part's family and its samples is taken; or takes them. */
static bool each_name(const Part *p, Str base, Map *names, bool take) {
    static const char *const summary[] = {"", "_sum", "_count", NULL};
    static const char *const histogram[] = {"", "_bucket", "_count", NULL};
    static const char *const single[] = {"", NULL};
    Str type = str_of(p->type);
    const char *const *suffix = str_is(type, "summary")     ? summary
                                : str_is(type, "histogram") ? histogram
                                                            : single;
    bool is_free = true;
    for (; *suffix; suffix++) {
        Buf name = {0};
        buf_printf(&name, "%.*s%s%s", STR_ARG(base), p->suffix, *suffix);
        if (take)
            map_put(names, buf_view(&name), 0, NULL);
        else
            is_free &= !map_get(names, buf_view(&name));
        buf_free(&name);
    }
    return is_free;
}

/* Whether no other variable has the names of samples that the variable would have under this one,
 * or takes them. */
static bool all_names(Exposition *e, Str base, bool take) {
    bool is_free = true;
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Part part = part_of(e, &parts[i]);
        if (has_part(e, &part))
            is_free &= each_name(&part, base, &e->names, take);
    }
    return is_free;
}

/* A name that no other variable has. */
static void name_variable(Exposition *e, Str name, Buf *out) {
    uint32_t number = 1;
    do {
        out->len = 0;
        buf_str(out, STR("whamm_"));
        prometheus_put_name(name, out);
        if (number++ > 1)
            buf_printf(out, "_%u", number - 1);
    } while (!all_names(e, buf_view(out), false));
    all_names(e, buf_view(out), true);
}

static void prometheus_write_part(Exposition *e, const Variable *v, Str base, const Part *part) {
    size_t before = e->out->len;
    e->part = part;
    e->name.len = 0;
    buf_str(&e->name, base);
    buf_str(&e->name, str_of(part->suffix));
    buf_printf(e->out, "# HELP %s The report variable ", buf_cstr(&e->name));
    prometheus_put_text(v->name, false, e->out);
    buf_str(e->out, STR(": "));
    prometheus_put_text(v->type, false, e->out);
    buf_printf(e->out, ".\n# TYPE %s %s\n", buf_cstr(&e->name), part->type);
    size_t head = e->out->len;
    for (uint32_t i = 0; i < v->rows.len; i++)
        prometheus_put_row(e, v->rows.at[i]);
    if (e->out->len == head)
        e->out->len = before; /* texts have no samples, nor has the minimum of nothing */
}

static void write_variable(Exposition *e, const Variable *v) {
    Buf base = {0};
    read_type(e, v->type);
    name_variable(e, v->name, &base);
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Part part = part_of(e, &parts[i]);
        if (has_part(e, &part))
            prometheus_write_part(e, v, buf_view(&base), &part);
    }
    buf_free(&base);
}

void format_prometheus(const Report *r, Buf *out) {
    Exposition e = {.out = out};
    Vec(Variable) variables = {0};
    Map index = {0}; /* name and type -> variable */
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        bool added;
        e.text.len = 0;
        buf_name(&e.text, row->var->name);
        buf_str(&e.text, row->var->type);
        uint64_t n = *map_put(&index, buf_view(&e.text), variables.len, &added);
        if (added)
            *vec_add(&variables) = (Variable){.name = row->var->name, .type = row->var->type};
        vec_push(&variables.at[n].rows, row);
        e.several |= !str_eq(row->var->script, r->rows.at[0].var->script);
    }
    for (uint32_t i = 0; i < variables.len; i++) {
        write_variable(&e, &variables.at[i]);
        vec_free(&variables.at[i].rows);
    }
    vec_free(&variables);
    map_free(&index);
    map_free(&e.names);
    map_free(&e.series);
    buf_free(&e.name);
    buf_free(&e.labels);
    buf_free(&e.text);
}
