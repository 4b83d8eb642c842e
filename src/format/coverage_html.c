/*
 * format/coverage_html.c - coverage as a self-contained page: a table of the files, then
 * each file with line counts.
 */
#include "annotate/html.h"
#include "format/coverage_format.h"

#include <assert.h>
#include <inttypes.h>

static const char sheet[] =
    "meter{width:8em;vertical-align:middle}.hit{background:var(--good)}.miss{background:var(--bad)}"
    ".some{background:var(--part)}details{margin:.6em 0}summary{cursor:pointer;font-weight:600}"
    ".code td{padding:0 .7em}.code td.l{text-align:right;color:var(--faint);user-select:none}";

static void coverage_html_put_ratio(CoverageRatio r, Buf *out) {
    if (!r.all) {
        buf_str(out, STR("<td class=n>-</td><td></td>"));
        return;
    }
    buf_str(out, STR("<td class=n>"));
    format_coverage_percent(r, out);
    buf_printf(out, "%%</td><td class=n>%u/%u</td>", r.hit, r.all);
}

static void coverage_html_put_totals(const CoverageTotals *t, Buf *out) {
    if (t->lines.all)
        buf_printf(out,
                   "<td><meter min=0 max=1000 low=500 high=800 optimum=1000 value=%u></meter></td>",
                   coverage_tenths(t->lines));
    else
        buf_str(out, STR("<td></td>"));
    coverage_html_put_ratio(t->lines, out);
    coverage_html_put_ratio(t->functions, out);
    coverage_html_put_ratio(t->ways, out);
    buf_str(out, STR("</tr>\n"));
}

static void put_summary(const Coverage *c, Buf *out) {
    buf_str(out, STR("<table>\n<tr><th>File<th><th colspan=2>Lines<th colspan=2>Functions<th "
                     "colspan=2>Branches</tr>\n"));
    for (uint32_t i = 0; i < c->files.len; i++) {
        buf_printf(out, "<tr><td><a href=\"#f%u\">", i);
        html_text(out, c->files.at[i].path);
        buf_str(out, STR("</a></td>"));
        coverage_html_put_totals(&c->files.at[i].totals, out);
    }
    buf_str(out, STR("<tr><th>Total</th>"));
    coverage_html_put_totals(&c->totals, out);
    buf_str(out, STR("</table>\n"));
}

static void coverage_html_put_modules(const Coverage *c, Buf *out) {
    buf_str(out, STR("<table>\n<tr><th>Module<th><th colspan=2>Lines<th colspan=2>Functions<th "
                     "colspan=2>Branches</tr>\n"));
    for (uint32_t i = 0; i < c->modules.len; i++) {
        buf_str(out, STR("<tr><td>"));
        html_text(out, c->modules.at[i].title);
        buf_str(out, STR("</td>"));
        coverage_html_put_totals(&c->modules.at[i].totals, out);
    }
    buf_str(out, STR("</table>\n"));
}

/* ---- one file ---- */

/* Positions in a file's lists while it is written. */
typedef struct Shown {
    uint32_t line, way;
} Shown;

/* The ways of a line: "1/2", with the counts as tooltip. Returns the ratio. */
static CoverageRatio coverage_html_put_ways(const CoverageFile *f, uint32_t line, Shown *shown,
                                            Buf *out) {
    CoverageRatio r = {0};
    Buf counts = {0};
    for (; shown->way < f->ways.len && f->ways.at[shown->way].line <= line; shown->way++) {
        const CoverageWay *w = &f->ways.at[shown->way];
        if (w->line < line)
            continue;
        buf_str(&counts, !r.all ? STR("") : w->way ? STR(", ") : STR("; "));
        buf_printf(&counts, "%" PRIu64, w->count);
        r.all++;
        r.hit += w->count > 0;
    }
    if (r.all)
        buf_printf(out, "<td class=n title=\"%s\">%u/%u</td>", buf_cstr(&counts), r.hit, r.all);
    else
        buf_str(out, STR("<td></td>"));
    buf_free(&counts);
    return r;
}

static void coverage_html_put_row(const CoverageFile *f, uint32_t file, uint32_t line, Shown *shown,
                                  Buf *out) {
    const CoverageLine *l = NULL;
    while (shown->line < f->lines.len && f->lines.at[shown->line].line < line)
        shown->line++;
    if (shown->line < f->lines.len && f->lines.at[shown->line].line == line)
        l = &f->lines.at[shown->line];
    Buf row = {0};
    CoverageRatio ways = coverage_html_put_ways(f, line, shown, &row);
    const char *class = !l                                ? ""
                        : !l->count                       ? " class=miss"
                        : ways.all && ways.hit < ways.all ? " class=some"
                                                          : " class=hit";
    buf_printf(out, "<tr id=f%u-%u%s><td class=l>%u</td>", file, line, class, line);
    if (l)
        buf_printf(out, "<td class=n>%" PRIu64 "</td>", l->count);
    else
        buf_str(out, STR("<td></td>"));
    buf_bytes(out, row.data, row.len);
    html_element(out, "td class=t", f->text ? source_line(f->text, line) : (Str){0});
    buf_str(out, STR("</tr>\n"));
    buf_free(&row);
}

static void coverage_html_put_functions(const CoverageFile *f, uint32_t file, Buf *out) {
    if (!f->functions.len)
        return;
    buf_printf(out, "<details><summary>%u functions</summary>\n<table>\n", f->functions.len);
    for (uint32_t i = 0; i < f->functions.len; i++) {
        const CoverageFunction *function = &f->functions.at[i];
        buf_printf(out, "<tr class=%s><td class=n>%" PRIu64 "</td><td><a href=\"#f%u-%u\">",
                   function->count ? "hit" : "miss", function->count, file, function->line);
        html_text(out, function->name);
        buf_str(out, STR("</a></td></tr>\n"));
    }
    buf_str(out, STR("</table>\n</details>\n"));
}

static void coverage_html_put_file(const Coverage *c, uint32_t file, Buf *out) {
    const CoverageFile *f = &c->files.at[file];
    Shown shown = {0};
    buf_printf(out, "<h2 id=f%u>", file);
    html_text(out, f->path);
    buf_str(out, STR("</h2>\n"));
    coverage_html_put_functions(f, file, out);
    buf_str(out, STR("<table class=code>\n"));
    uint32_t last = f->text ? f->text->lines.len : 0;
    for (uint32_t line = 1; line <= last; line++)
        coverage_html_put_row(f, file, line, &shown, out);
    for (uint32_t i = 0; i < f->lines.len; i++) /* files without text */
        if (f->lines.at[i].line > last)
            coverage_html_put_row(f, file, f->lines.at[i].line, &shown, out);
    buf_str(out, STR("</table>\n"));
}

void format_coverage_html(const CoverageView *v, Buf *out) {
    assert(coverage_check(v->c));
    const Coverage *c = v->c;
    html_begin(out, v->title, (Str){sheet, sizeof sheet - 1});
    html_element(out, "h1", v->title);
    put_summary(c, out);
    if (c->modules.len)
        coverage_html_put_modules(c, out);
    for (uint32_t i = 0; i < c->files.len; i++)
        coverage_html_put_file(c, i, out);
    html_end(out);
}
