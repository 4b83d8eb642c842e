/*
 * format/coverage_text.c - coverage as a table for people.
 */
#include "base/escape.h"
#include "format/coverage_format.h"

#include <assert.h>
#include <stdio.h>

void format_coverage_percent(CoverageRatio r, Buf *out) {
    uint32_t tenths = coverage_tenths(r);
    buf_printf(out, "%u.%u", tenths / 10, tenths % 10);
}

static void coverage_text_put_ratio(CoverageRatio r, Buf *out) {
    char counts[32];
    Buf percent = {0};
    if (!r.all) {
        buf_printf(out, "  %6s %11s", "-", "");
        return;
    }
    format_coverage_percent(r, &percent);
    snprintf(counts, sizeof counts, "%u/%u", r.hit, r.all);
    buf_printf(out, "  %5s%% %11s", buf_cstr(&percent), counts);
    buf_free(&percent);
}

static void coverage_text_put_path(Str path, uint32_t width, Buf *out) {
    uint32_t n = escape_shown(out, path);
    for (; n < width; n++)
        buf_u8(out, ' ');
}

/* "3-5, 9": ranges of lines that were not executed; lines without code do not interrupt a range. At
 * most `width` columns, 0 = unlimited. */
static void coverage_text_put_missing(const CoverageFile *f, uint32_t width, Buf *out) {
    size_t start = out->len;
    bool any = false;
    for (uint32_t i = 0; i < f->lines.len; i++) {
        uint32_t first = i;
        while (i < f->lines.len && f->lines.at[i].count == 0)
            i++;
        if (i == first)
            continue;
        char text[40];
        uint32_t from = f->lines.at[first].line, to = f->lines.at[i - 1].line;
        snprintf(text, sizeof text, from == to ? "%s%u" : "%s%u-%u", any ? ", " : "  ", from, to);
        if (width && out->len - start + strlen(text) + 5 > width) {
            buf_str(out, STR(", ..."));
            return;
        }
        buf_str(out, str_of(text));
        any = true;
    }
}

static uint32_t path_width(const Coverage *c) {
    uint32_t width = sizeof "total" - 1;
    Buf shown = {0};
    for (uint32_t i = 0; i < c->files.len; i++) {
        uint32_t n = escape_shown(&shown, c->files.at[i].path);
        shown.len = 0;
        width = n > width ? n : width;
    }
    buf_free(&shown);
    return width;
}

/* Ends a row, without blanks at its end. */
static void coverage_text_end_row(Buf *out) {
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_u8(out, '\n');
}

static void coverage_text_put_totals(const CoverageTotals *t, Buf *out) {
    coverage_text_put_ratio(t->lines, out);
    coverage_text_put_ratio(t->functions, out);
    coverage_text_put_ratio(t->ways, out);
}

static void coverage_text_put_modules(const Coverage *c, uint32_t width, Buf *out) {
    Buf shown = {0};
    for (uint32_t i = 0; i < c->modules.len; i++, shown.len = 0) {
        uint32_t n = escape_shown(&shown, c->modules.at[i].title);
        width = n > width ? n : width;
    }
    buf_free(&shown);
    buf_u8(out, '\n');
    coverage_text_put_path(STR("module"), width, out);
    buf_printf(out, "  %18s  %18s  %18s\n", "lines", "functions", "branches");
    for (uint32_t i = 0; i < c->modules.len; i++) {
        coverage_text_put_path(c->modules.at[i].title, width, out);
        coverage_text_put_totals(&c->modules.at[i].totals, out);
        coverage_text_end_row(out);
    }
}

enum { RATIO_WIDTH = 20, MISSING_MIN = 20 };

void format_coverage_text(const CoverageView *v, Buf *out) {
    assert(coverage_check(v->c));
    const Coverage *c = v->c;
    uint32_t path = path_width(c), used = path + 3 * RATIO_WIDTH;
    uint32_t width = v->width;
    uint32_t missing = !width ? 0 : width > used + MISSING_MIN ? width - used : MISSING_MIN;
    coverage_text_put_path(STR("file"), path, out);
    buf_printf(out, "  %18s  %18s  %18s  %s\n", "lines", "functions", "branches", "not executed");
    for (uint32_t i = 0; i < c->files.len; i++) {
        const CoverageFile *f = &c->files.at[i];
        coverage_text_put_path(f->path, path, out);
        coverage_text_put_totals(&f->totals, out);
        coverage_text_put_missing(f, missing, out);
        coverage_text_end_row(out);
    }
    coverage_text_put_path(STR("total"), path, out);
    coverage_text_put_totals(&c->totals, out);
    coverage_text_end_row(out);
    if (c->left_out.len)
        buf_printf(out, "and %u file%s without a readable source\n", c->left_out.len,
                   c->left_out.len == 1 ? "" : "s");
    if (c->modules.len)
        coverage_text_put_modules(c, path, out);
}
