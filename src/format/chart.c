/*
 * format/chart.c - histograms as bar charts in one SVG file: one for each, below each other.
 *
 * Labels are text, which can be selected and searched. Colours follow the browser's theme.
 */
#include "base/capped.h"
#include "base/escape.h"
#include "format/format.h"
#include "report/bucket.h"
#include "report/maps.h"
#include "report/value.h"

#include <stdlib.h>

enum {
    CHART_WIDTH = 900,
    CHART_MARGIN = 16,
    CHART_LINE = 18,   /* the height of a bar and the gap below it */
    CHART_LABEL = 170, /* where labels end */
    CHART_BAR = 520,   /* the longest bar */
    CHART_GAP = 14,    /* between charts */
};

/* A histogram. */
typedef struct Chart {
    const ReportRow *row;
    bool entry; /* of a map */
    uint32_t variable, order;
    uint64_t count, largest; /* of all buckets, of one of them */
    Report buckets;
} Chart;

typedef struct Charts {
    Vec(Chart) all;
    Vec(Report *) maps; /* whose entries they are */
    Map variables;      /* address of a ReportVar -> its number */
} Charts;

/* ---- finding them ---- */

static void add_chart(Charts *c, const ReportRow *row, bool entry, uint32_t variable) {
    Chart chart = {.row = row, .entry = entry, .variable = variable, .order = c->all.len};
    if (!aggregate_read_buckets(row, &chart.buckets))
        return;
    for (uint32_t i = 0; i < chart.buckets.rows.len; i++) {
        uint64_t n = chart.buckets.rows.at[i].number.u;
        chart.count = capped_add(chart.count, n);
        chart.largest = n > chart.largest ? n : chart.largest;
    }
    vec_push(&c->all, chart);
}

static void add_charts_of_map(Charts *c, const ReportRow *row, uint32_t variable) {
    Report *entries = mem_zalloc(sizeof *entries);
    maps_read(row, entries);
    for (uint32_t i = 0; i < entries->rows.len; i++) {
        entries->rows.at[i].module = row->module;
        entries->rows.at[i].thread = row->thread;
        add_chart(c, &entries->rows.at[i], true, variable);
    }
    vec_push(&c->maps, entries);
}

static bool is_chosen(Str name, const char *const *names) {
    bool all = !names || !*names, chosen = false;
    for (; !all && !chosen && *names; names++)
        chosen = str_is(name, *names);
    return all || chosen;
}

/* A histogram, or a map of some. */
static bool has_histograms(Str type) {
    Str key, value;
    return aggregate_histogram_type(type) ||
           (value_map_types(type, &key, &value) && aggregate_histogram_type(value));
}

/* Variables in the order of the report, of each the histograms with the most numbers first. */
static int compare_charts(const void *pa, const void *pb) {
    const Chart *a = pa, *b = pb;
    if (a->variable != b->variable)
        return a->variable < b->variable ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void find_charts(Charts *c, const ChartView *v) {
    for (uint32_t i = 0; i < v->report->rows.len; i++) {
        const ReportRow *row = &v->report->rows.at[i];
        Str key = {(const char *)&row->var, sizeof row->var};
        if (!has_histograms(row->var->type) || !is_chosen(row->var->name, v->variables) ||
            !maps_is_table(row))
            continue;
        uint32_t variable = (uint32_t)*map_put(&c->variables, key, c->variables.len, NULL);
        if (aggregate_histogram_type(row->var->type))
            add_chart(c, row, false, variable);
        else
            add_charts_of_map(c, row, variable);
    }
    if (c->all.len)
        qsort(c->all.at, c->all.len, sizeof *c->all.at, compare_charts);
}

static void charts_free(Charts *c) {
    for (uint32_t i = 0; i < c->all.len; i++)
        report_free(&c->all.at[i].buckets);
    for (uint32_t i = 0; i < c->maps.len; i++) {
        report_free(c->maps.at[i]);
        free(c->maps.at[i]);
    }
    vec_free(&c->all);
    vec_free(&c->maps);
    map_free(&c->variables);
}

/* ---- drawing ---- */

static void chart_put_heading(const Chart *c, uint32_t y, Buf *out) {
    Buf name = {0};
    aggregate_put_name(c->row, c->entry, &name);
    buf_printf(out, "<svg x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"><title>", CHART_MARGIN, y,
               CHART_WIDTH - 2 * CHART_MARGIN, CHART_LINE);
    escape_xml(out, buf_view(&name));
    buf_str(out, STR("</title><text y=\"13\"><tspan class=\"name\">"));
    escape_xml(out, buf_view(&name));
    buf_str(out, STR("</tspan><tspan class=\"dim\">: "));
    buf_grouped(out, c->count);
    buf_str(out, c->count == 1 ? STR(" value") : STR(" values"));
    if (c->row->module) {
        buf_str(out, STR(" in "));
        escape_xml(out, *c->row->module);
    }
    if (c->row->thread) {
        buf_str(out, c->row->module ? STR(", thread ") : STR(" in thread "));
        escape_xml(out, *c->row->thread);
    }
    buf_str(out, STR("</tspan></text></svg>\n"));
    buf_free(&name);
}

static void chart_put_bar(const Chart *c, const ReportRow *bucket, uint32_t y, Buf *out) {
    double part = c->largest ? (double)bucket->number.u / (double)c->largest : 0;
    double share = c->count ? 100 * (double)bucket->number.u / (double)c->count : 0;
    double end = CHART_LABEL + 8 + part * CHART_BAR;
    buf_printf(out, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">", CHART_LABEL, y + 13);
    escape_xml(out, bucket->fname);
    buf_printf(out,
               "</text><rect class=\"bar\" x=\"%u\" y=\"%u\" width=\"%.2f\" height=\"%u\"/>"
               "<text class=\"dim\" x=\"%.2f\" y=\"%u\">",
               CHART_LABEL + 8, y + 2, part * CHART_BAR, CHART_LINE - 4, end + 6, y + 13);
    buf_grouped(out, bucket->number.u);
    if (bucket->number.u)
        buf_printf(out, " (%.1f%%)", share);
    buf_str(out, STR("</text>\n"));
}

static uint32_t chart_height(const Chart *c) {
    return (1 + c->buckets.rows.len) * CHART_LINE + CHART_GAP;
}

static void chart_put_all(const Chart *c, uint32_t y, Buf *out) {
    chart_put_heading(c, y, out);
    for (uint32_t i = 0; i < c->buckets.rows.len; i++)
        chart_put_bar(c, &c->buckets.rows.at[i], y + (1 + i) * CHART_LINE, out);
}

static void chart_put_head(Str title, uint32_t height, Buf *out) {
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
               "height=\"%u\" font-family=\"monospace\" font-size=\"12\">\n"
               "<style>#back{fill:#fffdf5}text{fill:#222}.dim{fill:#666}.name{font-weight:bold}"
               ".bar{fill:#e4853a}@media(prefers-color-scheme:dark){#back{fill:#1c1b19}"
               "text{fill:#eee}.dim{fill:#aaa}}</style>\n"
               "<rect id=\"back\" width=\"100%%\" height=\"100%%\"/>\n"
               "<text x=\"50%%\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">",
               CHART_WIDTH, height);
    escape_xml(out, title);
    buf_str(out, STR("</text>\n"));
}

static void chart_put_rest(const Chart *c, uint32_t n, uint32_t y, Buf *out) {
    buf_printf(out, "<text class=\"dim\" x=\"%u\" y=\"%u\">and %u more of ", CHART_MARGIN, y + 13,
               n);
    escape_xml(out, c->row->var->name);
    buf_str(out, STR("</text>\n"));
}

/* Draws the first `top` of each variable, or only finds out how high that is. */
static uint32_t charts_draw(const Charts *c, uint32_t top, bool draw, Buf *out) {
    uint32_t y = 3 * CHART_LINE, nth = 0;
    for (uint32_t i = 0; i < c->all.len; i++) {
        const Chart *chart = &c->all.at[i];
        nth = i && c->all.at[i - 1].variable == chart->variable ? nth + 1 : 0;
        bool last = i + 1 == c->all.len || c->all.at[i + 1].variable != chart->variable;
        if (!top || nth < top) {
            if (draw)
                chart_put_all(chart, y, out);
            y += chart_height(chart);
        } else if (last) {
            if (draw)
                chart_put_rest(chart, nth + 1 - top, y, out);
            y += CHART_LINE + CHART_GAP;
        }
    }
    return y;
}

bool format_charts(const ChartView *v, Buf *out) {
    Charts c = {0};
    find_charts(&c, v);
    bool any = c.all.len;
    if (any) {
        chart_put_head(v->title, charts_draw(&c, v->top, false, out), out);
        charts_draw(&c, v->top, true, out);
        buf_str(out, STR("</svg>\n"));
    }
    charts_free(&c);
    return any;
}
