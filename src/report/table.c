/*
 * report/table.c - a report as tables for people.
 *
 * Rows of one variable make one table, and so do the entries of a script's or probe's map. Columns:
 * value, share of the total, a bar, the module and the thread if there are several, the function,
 * pc, the instruction there if it is known, and the probe, which goes into the heading instead if
 * it is the same in all rows.
 */
#include "report/table.h"
#include "base/escape.h"
#include "report/aggregate.h"
#include "report/bucket.h"
#include "report/maps.h"
#include "report/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    BAR_WIDTH = 12,
    BAR_FROM = 76,
    FUNCTION_MIN = 12,
    TEXT_MIN = 24,
    INSTRUCTION_MIN = 11, /* the heading */
    LOCATION_MIN = 8,     /* the heading */
    WIDTH_DEFAULT = 100,
    WIDTH_MIN = 40
};

typedef struct Table {
    const TableOptions *options;
    const Report *report;
    Buf *out;
    uint32_t width;
    TotalsBy by; /* the report is one of totals */
} Table;

/* ---- text ---- */

typedef enum Style { STYLE_NONE, STYLE_HEAD, STYLE_DIM, STYLE_BAR } Style;

static void table_style(Table *t, Style s) {
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[36m"};
    if (t->options->colour)
        buf_str(t->out, str_of(codes[s]));
}

static void repeat(Table *t, const char *s, uint32_t n) {
    for (; n; n--)
        buf_str(t->out, str_of(s));
}

/* Where character number n of clean text begins. */
static size_t character(const Buf *b, uint32_t n) {
    size_t at = 0;
    for (; at < b->len; at++)
        if ((b->data[at] & 0xc0) != 0x80 && n-- == 0)
            break;
    return at;
}

/* Where long texts are cut. */
typedef enum Cut { CUT_MIDDLE, CUT_FRONT } Cut;

/* s in exactly `width` characters: cut or padded (left: in front). */
static void fit(Table *t, Str s, uint32_t width, bool left, Cut cut) {
    Buf text = {0};
    uint32_t count = escape_shown(&text, s);
    if (left && count < width)
        repeat(t, " ", width - count);
    if (count <= width) {
        buf_bytes(t->out, text.data, text.len);
    } else {
        const char *mark = t->options->ascii ? "..." : "…";
        uint32_t keep = width - (t->options->ascii ? 3 : 1);
        uint32_t front = cut == CUT_FRONT ? 0 : (keep + 1) / 2;
        size_t tail = character(&text, count - (keep - front));
        buf_bytes(t->out, text.data, character(&text, front));
        buf_str(t->out, str_of(mark));
        buf_bytes(t->out, text.data + tail, text.len - tail);
    }
    if (!left && count < width)
        repeat(t, " ", width - count);
    buf_free(&text);
}

static void table_field(Table *t, Str s, uint32_t width, bool left) {
    fit(t, s, width, left, CUT_MIDDLE);
}

/* A path; if it is cut, its end remains. */
static void path_field(Table *t, Str s, uint32_t width) {
    fit(t, s, width, false, CUT_FRONT);
}

static uint32_t text_width(Str s) {
    Buf text = {0};
    uint32_t count = escape_shown(&text, s);
    buf_free(&text);
    return count;
}

/* Ends a line: no blanks at its end. */
static void table_end_line(Table *t) {
    while (t->out->len && t->out->data[t->out->len - 1] == ' ')
        t->out->len--;
    buf_u8(t->out, '\n');
}

/* ---- values ---- */

/* The total of whole numbers, 128 bits in two's complement: 2^64 values of 64 bits do not leave it.
 */
typedef struct Total {
    uint64_t high, low;
} Total;

static void total_add(Total *total, uint64_t v, bool negative) {
    total->low += v;
    total->high += (total->low < v) - (uint64_t)negative;
}

static void total_text(Total total, Buf *out) {
    if (total.high >> 63) {
        buf_u8(out, '-');
        total.low = 0 - total.low;
        total.high = ~total.high + (total.low == 0);
    }
    uint32_t limbs[] = {(uint32_t)(total.high >> 32), (uint32_t)total.high,
                        (uint32_t)(total.low >> 32), (uint32_t)total.low};
    uint32_t groups[14] = {0}, n = 0; /* of three digits, the last one first; 2^127 has 39 */
    for (bool more = true; more; n++) {
        uint64_t rest = 0;
        more = false;
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t v = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(v / 1000);
            rest = v % 1000;
            more |= limbs[i] != 0;
        }
        groups[n] = (uint32_t)rest;
    }
    buf_printf(out, "%" PRIu32, groups[--n]);
    while (n)
        buf_printf(out, ",%03" PRIu32, groups[--n]);
}

/* Tuples and maps in the form of CSV, whatever the report's form was; and strings. */
static void nested_text(const ReportRow *row, Buf *out, MapsEnds *ends) {
    Str type = row->var->type, value = row->value;
    bool map = value_is_map(type), tuple = !map && value_is_tuple(type);
    size_t before = out->len;
    AggregateType aggregate;
    if (map && str_is(value, "[]")) {
        buf_str(out, STR("empty map"));
        return;
    }
    if (!row->unreadable && tuple && aggregate_read(type, &aggregate) &&
        aggregate_show(&aggregate, value, out))
        return;
    out->len = before;
    if (!row->unreadable && (map || tuple) && value.len && value.ptr[0] == '[' &&
        maps_show(value, out, ends))
        return;
    out->len = before;
    buf_str(out, value);
}

static void whole_number(const Table *t, uint64_t v, Buf *out) {
    if (t->options->hex)
        buf_printf(out, "0x%" PRIx64, v);
    else
        buf_grouped(out, v);
}

/* How the table shows the row's value; appended to *out. `ends` as for maps_show. */
static void whole_text(const Table *t, const ReportRow *row, Buf *out, MapsEnds *ends) {
    switch (row->class) {
    case REPORT_CLASS_UNSIGNED: whole_number(t, row->number.u, out); break;
    case REPORT_CLASS_SIGNED:
        if (row->number.i < 0)
            buf_u8(out, '-');
        whole_number(t, row->number.i < 0 ? 0 - (uint64_t)row->number.i : (uint64_t)row->number.i,
                     out);
        break;
    case REPORT_CLASS_REAL: buf_printf(out, "%.6g", row->number.real); break;
    default: nested_text(row, out, ends);
    }
}

static void value_text(const Table *t, const ReportRow *row, Buf *out) {
    whole_text(t, row, out, NULL);
}

/* The same in at most `width` characters if that can be had by leaving out last entries of a map.
 */
static void short_text(const Table *t, const ReportRow *row, uint32_t width, Buf *out) {
    MapsEnds ends = {0};
    Buf rest = {0};
    whole_text(t, row, out, &ends);
    bool fits = text_width(buf_view(out)) <= width;
    for (uint32_t n = ends.len; !fits && n-- > 1;) {
        if (ends.at[n - 1] > 4 * (size_t)width)
            continue; /* no character has more bytes */
        rest.len = 0;
        buf_printf(&rest, " %s and %u more", t->options->ascii ? "..." : "…", ends.len - n);
        uint32_t kept = text_width((Str){(char *)out->data, (uint32_t)ends.at[n - 1]});
        fits = kept + text_width(buf_view(&rest)) <= width;
        if (!fits)
            continue;
        out->len = ends.at[n - 1];
        buf_bytes(out, rest.data, rest.len);
    }
    buf_free(&rest);
    vec_free(&ends);
}

static double magnitude(const ReportRow *row) {
    switch (row->class) {
    case REPORT_CLASS_UNSIGNED:
    case REPORT_CLASS_BOOL: return (double)row->number.u;
    case REPORT_CLASS_SIGNED: return (double)row->number.i;
    case REPORT_CLASS_REAL: return row->number.real;
    default: return 0;
    }
}

/* A number that is 0. `false` is not: coverage needs it. */
static bool table_is_zero(const ReportRow *row) {
    return row->class != REPORT_CLASS_BOOL && row->class != REPORT_CLASS_TEXT &&
           magnitude(row) == 0;
}

/* <0 if a comes before b: numbers before text, larger values first, then NaN, then 0 (also after
 * negative values), then report order. */
static int table_compare_rows(const void *pa, const void *pb) {
    const ReportRow *a = *(const ReportRow *const *)pa, *b = *(const ReportRow *const *)pb;
    bool text_a = a->class == REPORT_CLASS_TEXT, text_b = b->class == REPORT_CLASS_TEXT;
    double x = magnitude(a), y = magnitude(b);
    if (text_a != text_b)
        return text_a ? 1 : -1;
    if (table_is_zero(a) != table_is_zero(b))
        return table_is_zero(a) ? 1 : -1;
    if (isnan(x) || isnan(y)) {
        if (isnan(x) != isnan(y))
            return isnan(x) ? 1 : -1;
    } else if (x != y) {
        return x > y ? -1 : 1;
    } else if (a->class == b->class && a->class == REPORT_CLASS_UNSIGNED &&
               a->number.u != b->number.u) {
        return a->number.u > b->number.u ? -1 : 1;
    } else if (a->class == b->class && a->class == REPORT_CLASS_SIGNED &&
               a->number.i != b->number.i) {
        return a->number.i > b->number.i ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

/* ---- variables ---- */

typedef struct Group {
    Vec(const ReportRow *) rows;
    bool one_probe, numeric,
        countable;     /* numeric: a total makes sense; countable: and shares of it */
    bool exact;        /* all values are whole, `whole` is the total */
    bool entries;      /* the rows are the entries of a map, their functions are the keys */
    bool buckets;      /* ... of a histogram: all are shown, in their order */
    uint32_t top;      /* the most rows that the type shows; 0 = any number */
    TotalsBy by;       /* the rows are totals */
    const Str *module; /* of all entries; NULL = there is only one */
    const Str *thread; /* of all entries; NULL = of all threads */
    Total whole;
    double total;
    uint32_t blanks; /* rows of 0, of empty texts, and of `false` if that is left out: the last ones
                      */
    double largest;
} Group;

static bool table_is_site(const ReportRow *row) {
    return row->fname.ptr != NULL;
}

/* The values that were added to an aggregation of several fields, of which it is the first; 1 of
 * other texts. */
static uint64_t table_added(const ReportRow *row) {
    AggregateType t;
    uint64_t n = 0;
    if (row->unreadable || !aggregate_read(row->var->type, &t) || !aggregate_fields(&t).ptr ||
        row->value.len < 2)
        return 1;
    for (uint32_t i = 1; i < row->value.len && row->value.ptr[i] >= '0' && row->value.ptr[i] <= '9';
         i++)
        n = 10 * n + (uint64_t)(row->value.ptr[i] - '0');
    return n;
}

/* Nothing was put into it: an empty string or map, an aggregation of nothing. */
static bool table_is_empty(const ReportRow *row) {
    return row->class == REPORT_CLASS_TEXT &&
           (row->value.len == 0 || !table_added(row) ||
            (value_is_map(row->var->type) &&
             (str_is(row->value, "[]") || str_is(row->value, "empty map"))));
}

/* Texts that are not empty come first, with the most values first, else in report order. */
static int table_compare_texts(const void *pa, const void *pb) {
    const ReportRow *a = *(const ReportRow *const *)pa, *b = *(const ReportRow *const *)pb;
    uint64_t x = table_added(a), y = table_added(b);
    if (table_is_empty(a) != table_is_empty(b))
        return table_is_empty(a) ? 1 : -1;
    return x != y ? (x > y ? -1 : 1) : a < b ? -1 : a > b;
}

/* Whether the row is one of the list of variables. */
static bool is_single(const ReportRow *row) {
    return !table_is_site(row) && !maps_is_table(row);
}

static void group_sum_up(const Table *t, Group *g) {
    uint32_t zeros = 0, empties = 0;
    g->one_probe = g->numeric = g->countable = g->exact = true;
    for (uint32_t i = 0; i < g->rows.len; i++) {
        const ReportRow *row = g->rows.at[i];
        double v = magnitude(row);
        g->one_probe = g->one_probe && str_eq(row->probe, g->rows.at[0]->probe);
        g->numeric = g->numeric && row->class != REPORT_CLASS_TEXT;
        g->countable = g->countable && row->class != REPORT_CLASS_BOOL && !row->var->formula.ptr &&
                       v >= 0 && isfinite(v);
        bool is_signed = row->class == REPORT_CLASS_SIGNED;
        if (row->class == REPORT_CLASS_REAL || row->class == REPORT_CLASS_TEXT)
            g->exact = false;
        else
            total_add(&g->whole, row->number.u, is_signed && row->number.i < 0);
        g->total += v;
        zeros += table_is_zero(row) ||
                 (t->options->nonzero && row->class == REPORT_CLASS_BOOL && !row->number.u);
        empties += table_is_empty(row);
        g->largest = v > g->largest ? v : g->largest;
    }
    g->blanks = g->numeric ? zeros : empties;
    g->countable = g->countable && g->numeric && g->total > 0 && isfinite(g->total);
}

static uint32_t table_wider(uint32_t width, uint32_t other) {
    return width > other ? width : other;
}

/* ---- script and shared variables ---- */

static const char of_thread[] = "thread ";

/* A single value that is of interest: that a probe was never stopped is not. */
static bool is_shown(const ReportRow *row) {
    return is_single(row) && !(report_is_stopped(row) && !row->number.u);
}

static void print_singles(Table *t, const Report *r) {
    uint32_t names = 0, types = 0, count = 0, values = 0, modules = 0, threads = 0;
    Buf text = {0};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!is_shown(row))
            continue;
        text.len = 0;
        value_text(t, row, &text);
        uint32_t n = text_width(row->var->name), y = text_width(row->var->type);
        uint32_t v = text_width(buf_view(&text));
        names = n > names ? n : names;
        types = y > types ? y : types;
        values = row->class != REPORT_CLASS_TEXT && v > values ? v : values;
        modules = row->module ? table_wider(modules, text_width(*row->module)) : 0;
        threads = row->thread ? table_wider(threads, text_width(*row->thread)) : 0;
        count++;
    }
    if (count) {
        table_style(t, STYLE_HEAD);
        buf_str(t->out, STR("Variables\n"));
        table_style(t, STYLE_NONE);
        names = names > t->width / 2 ? t->width / 2 : names;
        modules = modules > t->width / 4 ? table_wider(t->width / 4, 6) : modules;
    }
    for (uint32_t i = 0; i < r->rows.len && count; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!is_shown(row))
            continue;
        text.len = 0;
        value_text(t, row, &text);
        Str value = buf_view(&text);
        buf_str(t->out, STR("  "));
        if (row->module) {
            table_field(t, *row->module, modules, false);
            buf_str(t->out, STR("  "));
        }
        if (row->thread) {
            buf_str(t->out, STR(of_thread));
            table_field(t, *row->thread, threads, true);
            buf_str(t->out, STR("  "));
        }
        table_field(t, row->var->name, names, false);
        buf_str(t->out, STR("  "));
        table_style(t, STYLE_DIM);
        table_field(t, row->var->type, types, false);
        table_style(t, STYLE_NONE);
        buf_str(t->out, STR("  "));
        uint32_t used = names + types + 6 + (modules ? modules + 2 : 0) +
                        (threads ? threads + (uint32_t)sizeof of_thread + 1 : 0),
                 rest = t->width > used ? t->width - used : 0;
        uint32_t all = row->class == REPORT_CLASS_TEXT ? text_width(value) : values;
        table_field(t, value, all > rest && all > TEXT_MIN ? table_wider(rest, TEXT_MIN) : all,
                    true);
        if (row->probe.ptr) {
            buf_str(t->out, STR("  "));
            table_style(t, STYLE_DIM);
            table_field(t, row->probe, text_width(row->probe), false);
            table_style(t, STYLE_NONE);
        }
        table_end_line(t);
    }
    if (count)
        buf_u8(t->out, '\n');
    buf_free(&text);
}

/* ---- per-site variables ---- */

/* The noun for the rows: one of them, several, more of them. */
static const struct {
    const char *one, *shown, *many, *more, *more_many;
} nouns[] = {
    [TOTALS_SITE] = {"function", "site", "sites", "more site", "more sites"},
    [TOTALS_LINE] = {"line", "line", "lines", "more line", "more lines"},
    [TOTALS_FUNCTION] = {"function", "function", "functions", "more function", "more functions"},
    [TOTALS_FILE] = {"file", "file", "files", "more file", "more files"}};

typedef struct Columns {
    uint32_t value, module, thread, function, pc, instruction, location, probe;
    bool share, bar;
} Columns;

/* The row's code offset; of totals the number of sites. */
static void place_text(const Table *t, const Group *g, const ReportRow *row, Buf *out) {
    buf_printf(out, t->options->hex && !g->by ? "0x%" PRIx32 : "%" PRIu32, row->pc);
}

/* Where in the source the row is, as far as that is known and to be shown; of lines the function.
 */
static void location_text(const Table *t, const Group *g, const ReportRow *row, Buf *out) {
    const RowLocation *l = row->location;
    if (!l || g->entries)
        return;
    if (g->by == TOTALS_LINE && l->line)
        escape_shown(out, l->function);
    if (g->by || !t->options->lines || !l->line)
        return;
    escape_shown(out, l->file);
    buf_printf(out, ":%" PRIu32, l->line);
    if (l->column)
        buf_printf(out, ":%" PRIu32, l->column);
}

/* The text of the row's place; rows of maps have none. */
static Str instruction(const Table *t, const Group *g, const ReportRow *row) {
    const Str *texts = g->entries ? NULL : t->options->instructions;
    return texts && texts[row - t->report->rows.at].ptr ? texts[row - t->report->rows.at]
                                                        : (Str){"", 0};
}

static Columns table_lay_out(const Table *t, const Group *g, uint32_t shown) {
    Columns c = {.value = 5,
                 .function = text_width(str_of(nouns[g->by].one)),
                 .pc = g->by ? 5 : 2,
                 .probe = 0};
    Buf text = {0};
    for (uint32_t i = 0; i < shown; i++) {
        const ReportRow *row = g->rows.at[i];
        text.len = 0;
        value_text(t, row, &text);
        c.value = table_wider(c.value, text_width(buf_view(&text)));
        text.len = 0;
        place_text(t, g, row, &text);
        c.pc = table_wider(c.pc, (uint32_t)text.len);
        c.function = table_wider(c.function, text_width(row->fname));
        if (row->module)
            c.module = table_wider(c.module, table_wider(6, text_width(*row->module)));
        if (row->thread)
            c.thread = table_wider(c.thread, table_wider(6, text_width(*row->thread)));
        uint32_t width = text_width(instruction(t, g, row));
        if (width)
            c.instruction = table_wider(c.instruction, table_wider(INSTRUCTION_MIN, width));
        text.len = 0;
        location_text(t, g, row, &text);
        if (text.len)
            c.location =
                table_wider(table_wider(c.location, LOCATION_MIN), text_width(buf_view(&text)));
        if (!g->one_probe && !g->by)
            c.probe = table_wider(c.probe, table_wider(5, text_width(row->probe)));
    }
    buf_free(&text);
    AggregateType aggregate;
    bool wide = shown && aggregate_read(g->rows.at[0]->var->type, &aggregate);
    uint32_t value_max = wide ? 3 * t->width / 4 : t->width / 2;
    c.value = c.value > value_max ? value_max : c.value;
    c.share = g->countable;
    c.bar = g->countable && t->width >= BAR_FROM;
    c.pc = g->entries ? 0 : c.pc;
    c.module = c.module > t->width / 4 ? table_wider(t->width / 4, 6) : c.module;
    if (c.instruction > t->width / 3)
        c.instruction = table_wider(t->width / 3, INSTRUCTION_MIN);
    uint32_t location_max = g->by ? t->width / 4 : t->width / 3; /* of lines it is the function */
    if (c.location > location_max)
        c.location = table_wider(location_max, LOCATION_MIN);
    uint32_t place = 2 + (c.module ? 2 + c.module : 0) + (c.thread ? 2 + c.thread : 0) +
                     (c.pc ? 2 + c.pc : 0) + (c.instruction ? 2 + c.instruction : 0) +
                     (c.location ? 2 + c.location : 0);
    uint32_t used = 2 + c.value + (c.share ? 8 : 0) + (c.bar ? 2 + BAR_WIDTH : 0) + place;
    uint32_t rest = t->width > used ? t->width - used : 0;
    uint32_t probe_max = rest > FUNCTION_MIN + 2 ? rest - FUNCTION_MIN - 2 : 0;
    if (c.probe && c.function + 2 + c.probe > rest)
        c.probe = c.probe > probe_max ? table_wider(probe_max, FUNCTION_MIN) : c.probe;
    uint32_t left = c.probe ? (rest > c.probe + 2 ? rest - c.probe - 2 : 0) : rest;
    if (c.function > left)
        c.function = table_wider(left, FUNCTION_MIN);
    return c;
}

/* A bar of eighths of a character. */
static void print_bar(Table *t, double part) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    uint32_t units = (uint32_t)(part * BAR_WIDTH * 8 + 0.5), full = units / 8, rest = units % 8;
    table_style(t, STYLE_BAR);
    if (t->options->ascii) {
        full = (units + 4) / 8;
        rest = 0;
        repeat(t, "#", full);
    } else {
        repeat(t, "█", full);
        buf_str(t->out, str_of(eighths[rest]));
    }
    table_style(t, STYLE_NONE);
    repeat(t, " ", BAR_WIDTH - full - (rest != 0));
}

static void print_row(Table *t, const Group *g, const Columns *c, const ReportRow *row) {
    Buf text = {0};
    short_text(t, row, c->value, &text);
    buf_str(t->out, STR("  "));
    table_field(t, buf_view(&text), c->value, row->class != REPORT_CLASS_TEXT);
    if (c->share)
        buf_printf(t->out, "  %5.1f%%", 100 * magnitude(row) / g->total);
    if (c->bar) {
        buf_str(t->out, STR("  "));
        print_bar(t, g->largest > 0 ? magnitude(row) / g->largest : 0);
    }
    buf_str(t->out, STR("  "));
    if (c->module) {
        table_field(t, *row->module, c->module, false);
        buf_str(t->out, STR("  "));
    }
    if (c->thread) {
        table_field(t, *row->thread, c->thread, true);
        buf_str(t->out, STR("  "));
    }
    if (g->by == TOTALS_LINE || g->by == TOTALS_FILE)
        path_field(t, row->fname, c->function);
    else
        table_field(t, row->fname, c->function, false);
    if (c->pc) {
        text.len = 0;
        place_text(t, g, row, &text);
        buf_str(t->out, STR("  "));
        table_field(t, buf_view(&text), c->pc, true);
    }
    if (c->instruction) {
        buf_str(t->out, STR("  "));
        table_field(t, instruction(t, g, row), c->instruction, false);
    }
    if (c->location) {
        text.len = 0;
        location_text(t, g, row, &text);
        buf_str(t->out, STR("  "));
        if (g->by)
            table_field(t, buf_view(&text), c->location, false);
        else
            path_field(t, buf_view(&text), c->location);
    }
    if (c->probe) {
        buf_str(t->out, STR("  "));
        table_style(t, STYLE_DIM);
        table_field(t, row->probe, c->probe, false);
        table_style(t, STYLE_NONE);
    }
    table_end_line(t);
    buf_free(&text);
}

static void print_columns(Table *t, const Group *g, const Columns *c) {
    table_style(t, STYLE_DIM);
    buf_str(t->out, STR("  "));
    table_field(t, STR("value"), c->value, true);
    if (c->share)
        buf_str(t->out, STR("   share"));
    if (c->bar)
        repeat(t, " ", 2 + BAR_WIDTH);
    buf_str(t->out, STR("  "));
    if (c->module) {
        table_field(t, STR("module"), c->module, false);
        buf_str(t->out, STR("  "));
    }
    if (c->thread) {
        table_field(t, STR("thread"), c->thread, true);
        buf_str(t->out, STR("  "));
    }
    table_field(t,
                g->buckets   ? STR("bucket")
                : g->entries ? STR("key")
                             : str_of(nouns[g->by].one),
                c->function, false);
    if (c->pc) {
        buf_str(t->out, STR("  "));
        table_field(t, g->by ? STR("sites") : STR("pc"), c->pc, true);
    }
    if (c->instruction) {
        buf_str(t->out, STR("  "));
        table_field(t, STR("instruction"), c->instruction, false);
    }
    if (c->location) {
        buf_str(t->out, STR("  "));
        table_field(t, g->by ? STR("function") : STR("location"), c->location, false);
    }
    if (c->probe)
        buf_str(t->out, STR("  probe"));
    table_style(t, STYLE_NONE);
    table_end_line(t);
}

static void report_table_number(Table *t, uint64_t v, const char *what, const char *many) {
    buf_grouped(t->out, v);
    buf_printf(t->out, " %s", v == 1 ? what : many);
}

static void print_total(Table *t, const Group *g) {
    bool all_bool = g->rows.at[0]->class == REPORT_CLASS_BOOL;
    if (!g->numeric || g->rows.at[0]->var->formula.ptr)
        return;
    buf_str(t->out, all_bool ? STR(", true at ") : STR(", total "));
    if (g->exact)
        total_text(g->whole, t->out);
    else
        buf_printf(t->out, "%.6g", g->total);
}

/* `var` is of the type that is shown. */
static void print_heading(Table *t, const Group *g, const ReportVar *var) {
    const ReportRow *first = g->rows.at[0];
    table_style(t, STYLE_HEAD);
    escape_shown(t->out, var->name);
    table_style(t, STYLE_NONE);
    buf_str(t->out, STR(": "));
    escape_shown(t->out, var->type);
    if (g->one_probe && first->probe.ptr) {
        buf_str(t->out, STR(" at "));
        escape_shown(t->out, first->probe);
    }
    if (g->module) {
        buf_str(t->out, STR(" in "));
        escape_shown(t->out, *g->module);
    }
    if (g->thread) {
        buf_str(t->out, g->module ? STR(", ") : STR(" in "));
        buf_str(t->out, STR(of_thread));
        escape_shown(t->out, *g->thread);
    }
    buf_str(t->out, STR(", "));
    if (g->buckets)
        report_table_number(t, g->whole.low, "value", "values");
    else
        report_table_number(t, g->rows.len, g->entries ? "entry" : nouns[g->by].shown,
                            g->entries ? "entries" : nouns[g->by].many);
    if (!g->buckets)
        print_total(t, g);
    buf_u8(t->out, '\n');
}

/* The number of rows to print: all if they fit, else as many as requested, without rows of 0 if
 * there are others, or if they are to be left out. */
static uint32_t rows_shown(const Table *t, const Group *g) {
    uint32_t top = t->options->top, all = g->rows.len;
    if (g->buckets)
        return all;
    if (g->top && (!top || g->top < top))
        top = g->top;
    uint32_t filled = g->blanks < all ? all - g->blanks : all;
    if (t->options->nonzero)
        all = filled = all - g->blanks;
    return !top || all <= top ? all : top < filled ? top : filled;
}

/* The closing line, for rows that are not shown. */
static void print_hidden(Table *t, const Group *g, uint32_t hidden) {
    uint32_t blanks = g->blanks < hidden ? g->blanks : hidden;
    table_style(t, STYLE_DIM);
    buf_str(t->out, STR("  and "));
    report_table_number(t, hidden, g->entries ? "more entry" : nouns[g->by].more,
                        g->entries ? "more entries" : nouns[g->by].more_many);
    if (blanks && blanks < hidden) {
        buf_str(t->out, STR(", "));
        buf_grouped(t->out, blanks);
        buf_str(t->out, STR(" of them"));
    }
    if (blanks)
        buf_str(t->out, !g->numeric                                 ? STR(" that are empty")
                        : g->rows.at[0]->class == REPORT_CLASS_BOOL ? STR(" with false")
                                                                    : STR(" with 0"));
    table_style(t, STYLE_NONE);
    buf_u8(t->out, '\n');
}

static int compare_order(const void *pa, const void *pb) {
    const ReportRow *a = *(const ReportRow *const *)pa, *b = *(const ReportRow *const *)pb;
    return a < b ? -1 : a > b;
}

static int compare_names(const void *pa, const void *pb) {
    Str a = (*(const ReportRow *const *)pa)->fname, b = (*(const ReportRow *const *)pb)->fname;
    uint32_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : a.len != b.len ? (a.len < b.len ? -1 : 1) : compare_order(pa, pb);
}

/* Moves the rows that are shown to the front, in the requested order; returns their number. */
static uint32_t table_sort_rows(const Table *t, Group *g) {
    static int (*const orders[])(const void *, const void *) = {
        [TABLE_BY_PLACE] = compare_order, [TABLE_BY_NAME] = compare_names};
    if (g->buckets)
        return g->rows.len;
    qsort(g->rows.at, g->rows.len, sizeof *g->rows.at,
          g->numeric ? table_compare_rows : table_compare_texts);
    uint32_t shown = rows_shown(t, g);
    if (t->options->sort != TABLE_BY_VALUE)
        qsort(g->rows.at, shown, sizeof *g->rows.at, orders[t->options->sort]);
    return shown;
}

static void print_group(Table *t, Group *g, const ReportVar *var) {
    group_sum_up(t, g);
    uint32_t shown = table_sort_rows(t, g);
    if (!shown && t->options->nonzero)
        return;
    Columns c = table_lay_out(t, g, shown);
    print_heading(t, g, var);
    if (shown)
        print_columns(t, g, &c);
    for (uint32_t i = 0; i < shown; i++)
        print_row(t, g, &c, g->rows.at[i]);
    if (shown < g->rows.len)
        print_hidden(t, g, g->rows.len - shown);
    buf_u8(t->out, '\n');
}

/* ---- histograms ---- */

/* A histogram under a name. */
static void print_histogram(Table *t, const ReportRow *row, Str name) {
    Report buckets = {0};
    ReportVar var = *row->var;
    Group g = {.entries = true, .buckets = true, .module = row->module, .thread = row->thread};
    var.name = name;
    if (!aggregate_read_buckets(row, &buckets))
        return;
    for (uint32_t i = 0; i < buckets.rows.len; i++) {
        buckets.rows.at[i].var = &var;
        buckets.rows.at[i].probe = row->probe;
        vec_push(&g.rows, &buckets.rows.at[i]);
    }
    if (g.rows.len)
        print_group(t, &g, &var);
    vec_free(&g.rows);
    report_free(&buckets);
}

/* The histograms of several places or keys, each under the name of the variable and its own. */
static void print_histograms(Table *t, const Group *g) {
    uint32_t top = t->options->top, hidden = 0;
    for (uint32_t i = 0; i < g->rows.len; i++) {
        const ReportRow *row = g->rows.at[i];
        Buf name = {0};
        if (!maps_is_table(row))
            continue;
        if (top && i >= top) {
            hidden++;
            continue;
        }
        aggregate_put_name(row, g->entries, &name);
        print_histogram(t, row, buf_view(&name));
        buf_free(&name);
    }
    if (hidden) {
        print_hidden(t, g, hidden);
        buf_u8(t->out, '\n');
    }
}

/* Puts the site rows into groups, in the order in which the variables come. */
static void print_groups(Table *t, const Report *r) {
    Vec(Group) groups = {0};
    Map index = {0}; /* address of the ReportVar -> index in groups */
    const ReportVar *last = NULL;
    uint64_t g = 0;
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!table_is_site(row))
            continue;
        if (row->var != last) {
            bool added;
            last = row->var;
            g = *map_put(&index, (Str){(const char *)&last, sizeof last}, groups.len, &added);
            if (added)
                vec_add(&groups)->by = t->by;
        }
        vec_push(&groups.at[g].rows, row);
    }
    for (uint32_t i = 0; i < groups.len; i++) {
        const ReportVar *var = groups.at[i].rows.at[0]->var;
        if (aggregate_histogram_type(var->type))
            print_histograms(t, &groups.at[i]);
        else
            print_group(t, &groups.at[i], var);
        vec_free(&groups.at[i].rows);
    }
    vec_free(&groups);
    map_free(&index);
}

/* A table for each map of a script or probe. */
static void print_maps(Table *t, const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (table_is_site(row) || is_single(row))
            continue;
        Report entries = {0};
        Group g = {.entries = true, .module = row->module, .thread = row->thread};
        AggregateType type;
        if (aggregate_histogram_type(row->var->type)) {
            print_histogram(t, row, row->var->name);
            continue;
        }
        g.top = aggregate_read(row->var->type, &type) ? type.shown : 0;
        maps_read(row, &entries);
        for (uint32_t k = 0; k < entries.rows.len; k++)
            vec_push(&g.rows, &entries.rows.at[k]);
        if (g.rows.len && aggregate_histogram_type(g.rows.at[0]->var->type))
            print_histograms(t, &g);
        else if (g.rows.len)
            print_group(t, &g, row->var);
        vec_free(&g.rows);
        report_free(&entries);
    }
}

static void print_totals(const Table *t, const Report *r) {
    Report totals = {0};
    TableOptions options = *t->options;
    Table of_totals = {&options, &totals, t->out, t->width, options.by};
    options.instructions = NULL;
    totals_make(r, options.by, &totals);
    print_groups(&of_totals, &totals);
    report_free(&totals);
}

void table_print(const Report *r, const TableOptions *options, Buf *out) {
    uint32_t width = options->width ? options->width : WIDTH_DEFAULT;
    Table t = {options, r, out, width < WIDTH_MIN ? WIDTH_MIN : width, TOTALS_SITE};
    size_t before = out->len;
    print_singles(&t, r);
    print_maps(&t, r);
    if (options->by)
        print_totals(&t, r);
    else
        print_groups(&t, r);
    if (r->cut)
        buf_str(out, STR("The report is cut off: its last row is incomplete.\n"));
    else if (out->len > before)
        out->len--; /* the empty line after the last table */
}
