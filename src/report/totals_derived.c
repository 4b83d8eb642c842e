/*
 * report/totals_derived.c - derived columns.
 *
 * Values of variables are added up by place: a site or a total, and all of the report of a module
 * (or thread). A column that is named by another one is a variable, too, once it has been computed.
 * Reports may come from anywhere: what cannot be read has no value.
 */
#include "lang/ast.h"
#include "report/merge_value.h"
#include "report/totals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef enum Code {
    CODE_NUMBER,
    CODE_VARIABLE,
    CODE_CHOICE,
#define DERIVED(id, text, operands) CODE_##id,
#include "lang/derived.def"
} Code;

static const struct {
    const char *text;
    Code code;
    uint32_t takes;
} operators[] = {
#define DERIVED(id, text, operands) {text, CODE_##id, operands},
#include "lang/derived.def"
    {DERIVED_CHOICE, CODE_CHOICE, 3},
};

/* A word of a formula. */
typedef struct Word {
    Code code;
    uint32_t takes;
    Str number;        /* NUMBER */
    uint32_t variable; /* VARIABLE */
    Str field;
} Word;

/* A number in the type of the column. */
typedef struct Number {
    double real;
    uint64_t bits; /* of whole numbers */
} Number;

typedef struct Place {
    uint32_t row;   /* among those with places */
    uint32_t whole; /* the place of the whole report that it is in; that itself: its own number */
    uint32_t next;  /* the next one of that report, 0 = none */
    uint32_t last;  /* of a whole report: the last one */
} Place;

typedef struct Derived {
    TotalsBy by;
    Report *out; /* rows with places; gets those of columns */
    Map names;   /* script and name of variables that formulas name -> number in `variables` */
    Vec(bool) at_sites; /* by variable: it has rows with places */
    Map index;          /* module, thread and place -> number in `places` */
    Vec(Place) places;  /* the first one is none */
    Map known;          /* variable and place -> number in `values` */
    Vec(MergeValue) values;
    uint64_t left; /* values of columns that may be computed at places */
    Buf key;
} Derived;

static bool is_column(const ReportRow *row) {
    return row->var->formula.ptr && !row->has_place;
}

static bool has_columns(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].var->formula.ptr)
            return true;
    return false;
}

void derived_reset(Report *r) {
    uint32_t n = 0;
    if (!has_columns(r))
        return;
    for (uint32_t i = 0; i < r->rows.len; i++) {
        ReportRow *row = &r->rows.at[i];
        if (is_column(row)) {
            row->value = STR("0");
            report_classify(row);
        }
        if (is_column(row) || !row->var->formula.ptr)
            r->rows.at[n++] = *row;
    }
    r->rows.len = n;
}

/* ---- names ---- */

enum { DERIVED_NONE = UINT32_MAX };

/* The number of a variable that formulas name; `add`: this one does. */
static uint32_t named_variable(Derived *d, Str script, Str name, bool add) {
    d->key.len = 0;
    buf_name(&d->key, script);
    buf_name(&d->key, name);
    Str key = buf_view(&d->key);
    const uint64_t *known = map_get(&d->names, key);
    if (known || !add)
        return known ? (uint32_t)*known : DERIVED_NONE;
    map_put(&d->names, key, d->at_sites.len, NULL);
    vec_push(&d->at_sites, false);
    return d->at_sites.len - 1;
}

/* Takes the next word; false at the end of the formula, or if that is too long. */
static bool next_word(Derived *d, const ReportVar *column, Str *formula, Word *out) {
    uint32_t len = 0;
    if (!formula->len || column->formula.len > DERIVED_TEXT)
        return false;
    while (len < formula->len && formula->ptr[len] != ' ')
        len++;
    Str word = {formula->ptr, len};
    uint32_t end = len + (len < formula->len);
    *formula = (Str){formula->ptr + end, formula->len - end};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (str_is(word, operators[i].text)) {
            *out = (Word){.code = operators[i].code, .takes = operators[i].takes};
            return true;
        }
    bool negative = len > 1 && word.ptr[0] == '-';
    if (len > negative && word.ptr[negative] >= '0' && word.ptr[negative] <= '9') {
        *out = (Word){.code = CODE_NUMBER, .number = word};
        return true;
    }
    const char *colon = len ? memchr(word.ptr, ':', len) : NULL;
    uint32_t name = colon ? (uint32_t)(colon - word.ptr) : len;
    Str field = colon ? (Str){colon + 1, len - name - 1} : (Str){NULL, 0};
    *out = (Word){.code = CODE_VARIABLE,
                  .variable = named_variable(d, column->script, (Str){word.ptr, name}, true),
                  .field = field};
    return true;
}

/* ---- places ---- */

static void put_part(Derived *d, const ReportRow *row) {
    d->key.len = 0;
    buf_name(&d->key, row->module ? *row->module : STR(""));
    buf_name(&d->key, row->thread ? *row->thread : STR(""));
}

static uint32_t add_place(Derived *d, uint32_t row, uint32_t whole) {
    bool added;
    uint32_t at = (uint32_t)*map_put(&d->index, buf_view(&d->key), d->places.len, &added);
    if (!added)
        return at;
    vec_push(&d->places, ((Place){.row = row, .whole = whole ? whole : at, .last = at}));
    if (whole) {
        d->places.at[d->places.at[whole].last].next = at;
        d->places.at[whole].last = at;
    }
    return at;
}

/* All of the report that the row is in. */
static uint32_t whole_of(Derived *d, const ReportRow *row) {
    put_part(d, row);
    return add_place(d, 0, 0);
}

/* The place of a row of `out`. */
static uint32_t place_of(Derived *d, uint32_t number) {
    const ReportRow *row = &d->out->rows.at[number];
    uint32_t whole = whole_of(d, row);
    put_part(d, row);
    if (d->by == TOTALS_SITE || d->by == TOTALS_FUNCTION)
        buf_u32le(&d->key, row->fid);
    if (d->by == TOTALS_SITE)
        buf_u32le(&d->key, row->pc);
    else
        buf_name(&d->key, row->fname);
    return add_place(d, number, whole);
}

/* ---- values ---- */

static MergeValue *value_at(Derived *d, uint32_t variable, uint32_t place, bool *added) {
    uint32_t key[] = {variable, place};
    Str text = {(const char *)key, sizeof key};
    const uint64_t *known =
        added ? map_put(&d->known, text, d->values.len, added) : map_get(&d->known, text);
    if (added && *added)
        vec_push(&d->values, ((MergeValue){.kind = MERGE_TEXT}));
    return known ? &d->values.at[*known] : NULL;
}

/* Adds the value of a row to those of its variable at a place. */
static void derived_add(Derived *d, uint32_t variable, uint32_t place, const ReportRow *row) {
    MergeValue v = {.kind = MERGE_TEXT};
    AggregateType type;
    bool added;
    switch ((ReportClass)row->class) {
    case REPORT_CLASS_UNSIGNED: v = (MergeValue){MERGE_UNSIGNED, .of = {.u = row->number.u}}; break;
    case REPORT_CLASS_SIGNED: v = (MergeValue){MERGE_SIGNED, .of = {.i = row->number.i}}; break;
    case REPORT_CLASS_REAL: v = (MergeValue){MERGE_REAL, .of = {.real = row->number.real}}; break;
    case REPORT_CLASS_BOOL: return;
    case REPORT_CLASS_TEXT:
        if (aggregate_read(row->var->type, &type) && aggregate_fields(&type).ptr &&
            merge_value_read(row->var->type, row->value, &v))
            break;
        merge_value_free(&v);
        return;
    }
    MergeValue *known = value_at(d, variable, place, &added);
    if (known->kind == v.kind && known->nparts == v.nparts)
        merge_value_combine(known, &v, MERGE_SUM, &d->out->arena);
    if (added)
        *known = v;
    else
        merge_value_free(&v);
}

/* Adds up the rows that formulas name: `whole` in the whole report, else each at its place. */
static void add_rows(Derived *d, const Report *r, bool whole) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (row->var->formula.ptr || (!whole && !row->has_place && d->by == TOTALS_SITE))
            continue;
        uint32_t variable = named_variable(d, row->var->script, row->var->name, false);
        if (variable == DERIVED_NONE)
            continue;
        d->at_sites.at[variable] |= !whole;
        derived_add(d, variable, whole ? whole_of(d, row) : place_of(d, i), row);
    }
}

/* ---- computing ---- */

static bool to_number(const MergeValue *v, bool whole, Number *out) {
    switch (v->kind) {
    case MERGE_UNSIGNED: *out = (Number){(double)v->of.u, v->of.u}; return true;
    case MERGE_SIGNED: *out = (Number){(double)v->of.i, (uint64_t)v->of.i}; return true;
    case MERGE_REAL: *out = (Number){v->of.real, 0}; return !whole;
    default: return false;
    }
}

/* The field of an aggregation; what has no value if nothing was added: false. */
static bool field_number(const MergeValue *v, Str field, bool whole, Number *out) {
    Number first, sum;
    AggregateMerge merge = AGGREGATE_ADD;
    if (!field.ptr)
        return to_number(v, whole, out);
    if (v->kind != MERGE_TUPLE || v->nparts < 2 || !to_number(&v->of.parts[0], true, &first))
        return false;
    for (uint32_t i = 0; i < v->nparts; i++) {
        const char *name = aggregate_field(v->aggregate, i, &merge);
        if (name && str_is(field, name))
            return (merge == AGGREGATE_ADD || first.bits) && to_number(&v->of.parts[i], whole, out);
    }
    if (v->aggregate != AGGREGATE_AVG || !str_is(field, "mean") || whole || !first.bits ||
        !to_number(&v->of.parts[1], false, &sum))
        return false;
    *out = (Number){.real = sum.real / first.real};
    return true;
}

static Number truth_number(bool is) {
    return (Number){is, is};
}

static Number of_reals(Code code, double a, double b) {
    switch (code) {
    case CODE_ADD: return (Number){.real = a + b};
    case CODE_SUB: return (Number){.real = a - b};
    case CODE_MUL: return (Number){.real = a * b};
    case CODE_DIV: return (Number){.real = a / b};
    case CODE_REM: return (Number){.real = fmod(a, b)};
    case CODE_EQ: return truth_number(a == b);
    case CODE_NE: return truth_number(a != b);
    case CODE_GE: return truth_number(a >= b);
    case CODE_GT: return truth_number(a > b);
    case CODE_LE: return truth_number(a <= b);
    case CODE_LT: return truth_number(a < b);
    case CODE_MIN: return (Number){.real = a < b || isnan(a) ? a : b};
    case CODE_MAX: return (Number){.real = a > b || isnan(a) ? a : b};
    default: return (Number){.real = fabs(a)};
    }
}

/* The quotient or the remainder; false if there is none. */
static bool divide(Code code, bool is_signed, uint64_t a, uint64_t b, uint64_t *out) {
    int64_t x = (int64_t)a, y = (int64_t)b;
    if (!b)
        return false;
    if (is_signed && y == -1)
        *out = code == CODE_DIV ? 0 - a : 0; /* which wraps around */
    else if (is_signed)
        *out = (uint64_t)(code == CODE_DIV ? x / y : x % y);
    else
        *out = code == CODE_DIV ? a / b : a % b;
    return true;
}

static bool of_wholes(Code code, bool is_signed, uint64_t a, uint64_t b, Number *out) {
    const uint64_t sign = (uint64_t)(is_signed ? 1 : 0) << 63;
    bool less = (a ^ sign) < (b ^ sign);
    switch (code) {
    case CODE_ADD: out->bits = a + b; break;
    case CODE_SUB: out->bits = a - b; break;
    case CODE_MUL: out->bits = a * b; break;
    case CODE_DIV:
    case CODE_REM: return divide(code, is_signed, a, b, &out->bits);
    case CODE_EQ: *out = truth_number(a == b); break;
    case CODE_NE: *out = truth_number(a != b); break;
    case CODE_GE: *out = truth_number(!less); break;
    case CODE_GT: *out = truth_number(!less && a != b); break;
    case CODE_LE: *out = truth_number(less || a == b); break;
    case CODE_LT: *out = truth_number(less); break;
    case CODE_MIN: out->bits = less ? a : b; break;
    case CODE_MAX: out->bits = less ? b : a; break;
    default: out->bits = is_signed && a >> 63 ? 0 - a : a;
    }
    return true;
}

/* Applies an operator to its values; false if there is no result. */
static bool apply_code(Code code, char type, const Number *v, Number *out) {
    switch (code) {
    case CODE_CHOICE: *out = v[0].bits ? v[1] : v[2]; return true;
    case CODE_AND: *out = truth_number(v[0].bits && v[1].bits); return true;
    case CODE_OR: *out = truth_number(v[0].bits || v[1].bits); return true;
    case CODE_NOT: *out = truth_number(!v[0].bits); return true;
    default: break;
    }
    uint32_t second = code == CODE_ABS ? 0 : 1;
    if (type != 'f')
        return of_wholes(code, type == 'i', v[0].bits, v[second].bits, out);
    *out = of_reals(code, v[0].real, v[second].real);
    return true;
}

static bool read_number(Str word, char type, Number *out) {
    ReportVar var = {.type = type == 'f' ? STR("f64") : type == 'i' ? STR("i64") : STR("u64")};
    ReportRow row = {.var = &var, .value = word};
    report_classify(&row);
    *out = (Number){row.class == REPORT_CLASS_REAL ? row.number.real : 0, row.number.u};
    return !row.unreadable;
}

/* Whether all variables with rows at places have one here, and there is such a variable. */
static bool is_complete(Derived *d, const ReportVar *column, uint32_t place) {
    Str formula = column->formula;
    bool any = false;
    Word w;
    while (next_word(d, column, &formula, &w)) {
        if (w.code != CODE_VARIABLE || !d->at_sites.at[w.variable])
            continue;
        any = true;
        if (!value_at(d, w.variable, place, NULL))
            return false;
    }
    return any;
}

/* Computes a column at a place; false if it has no value there. */
static bool compute(Derived *d, const ReportVar *column, uint32_t place, Number *out) {
    Number values[DERIVED_DEPTH];
    uint32_t n = 0;
    char type = column->type.len ? column->type.ptr[0] : 0;
    Str formula = column->formula;
    Word w;
    while (next_word(d, column, &formula, &w)) {
        Number v = {0};
        bool ok = n >= w.takes && n - w.takes < DERIVED_DEPTH;
        if (ok && w.code == CODE_NUMBER) {
            ok = read_number(w.number, type, &v);
        } else if (ok && w.code == CODE_VARIABLE) {
            const MergeValue *at = value_at(d, w.variable, place, NULL);
            at = at ? at : value_at(d, w.variable, d->places.at[place].whole, NULL);
            ok = at && field_number(at, w.field, type != 'f', &v);
        } else if (ok) {
            ok = apply_code(w.code, type, &values[n - w.takes], &v);
        }
        if (!ok)
            return false;
        n -= w.takes;
        values[n++] = v;
    }
    if (n != 1)
        return false;
    *out = values[0];
    return !(type == 'f' && isnan(out->real));
}

/* Sets the value of a row of a column. */
static void set_value(Derived *d, ReportRow *row, Number v) {
    Buf text = {0};
    char type = row->var->type.len ? row->var->type.ptr[0] : 0;
    if (type == 'f')
        merge_real_text(v.real, &text);
    else if (type == 'i')
        buf_printf(&text, "%lld", (long long)v.bits);
    else
        buf_printf(&text, "%llu", (unsigned long long)v.bits);
    row->value =
        (Str){arena_strndup(&d->out->arena, (const char *)text.data, text.len), (uint32_t)text.len};
    report_classify(row);
    buf_free(&text);
}

/* Makes the row of a column at a place; `number` is the one of the column as a variable. */
static void add_at_place(Derived *d, const ReportRow *column, uint32_t number, uint32_t place) {
    Number v;
    if (!is_complete(d, column->var, place) || !compute(d, column->var, place, &v))
        return;
    ReportRow row = d->out->rows.at[d->places.at[place].row];
    row.var = column->var;
    row.id = column->id;
    set_value(d, &row, v);
    vec_push(&d->out->rows, row);
    if (number == DERIVED_NONE)
        return;
    d->at_sites.at[number] = true;
    derived_add(d, number, place, &row);
}

/* Computes a column: of the whole report, into its row, and at each place. */
static void compute_column(Derived *d, ReportRow *row, bool set) {
    Number v = {.real = NAN};
    ReportRow column = *row;
    uint32_t number = named_variable(d, row->var->script, row->var->name, false);
    uint32_t whole = whole_of(d, row);
    if (set) {
        compute(d, row->var, whole, &v);
        set_value(d, row, v);
        column = *row;
    }
    if (number != DERIVED_NONE)
        derived_add(d, number, whole, &column);
    for (uint32_t p = d->places.at[whole].next; p && d->left; p = d->places.at[p].next) {
        d->left--;
        add_at_place(d, &column, number, p);
    }
}

static void derived_free(Derived *d) {
    for (uint32_t i = 0; i < d->values.len; i++)
        merge_value_free(&d->values.at[i]);
    vec_free(&d->values);
    vec_free(&d->places);
    vec_free(&d->at_sites);
    map_free(&d->names);
    map_free(&d->index);
    map_free(&d->known);
    buf_free(&d->key);
}

/* Computes the columns in the rows of `all`; `set`: also their values there. */
static void compute_all(Report *all, TotalsBy by, bool set, Report *out) {
    Derived d = {.by = by, .out = out, .left = (uint64_t)DERIVED_MOST * out->rows.len};
    uint32_t n = all->rows.len;
    vec_push(&d.places, (Place){0});
    for (uint32_t i = 0; i < n; i++) {
        const ReportVar *column = all->rows.at[i].var;
        Str formula = column->formula;
        Word w;
        while (is_column(&all->rows.at[i]) && next_word(&d, column, &formula, &w)) {
        }
    }
    add_rows(&d, all, true);
    add_rows(&d, out, false);
    for (uint32_t i = 0; i < n; i++)
        if (is_column(&all->rows.at[i]))
            compute_column(&d, &all->rows.at[i], set);
    derived_free(&d);
}

void derived_compute(Report *r) {
    derived_reset(r);
    if (has_columns(r))
        compute_all(r, TOTALS_SITE, true, r);
}

void derived_of_totals(const Report *r, TotalsBy by, Report *totals) {
    Report all = *r; /* whose values stay */
    assert(by != TOTALS_SITE);
    if (has_columns(r))
        compute_all(&all, by, false, totals);
}
