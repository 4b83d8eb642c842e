/*
 * format/coverage_json.c - coverage as one JSON object.
 */
#include "base/escape.h"
#include "format/coverage_format.h"

#include <assert.h>
#include <inttypes.h>

static void coverage_json_put_ratio(const char *name, CoverageRatio r, Buf *out) {
    buf_printf(out, "\"%s\":{\"count\":%u,\"covered\":%u,\"percent\":", name, r.all, r.hit);
    if (r.all)
        format_coverage_percent(r, out);
    else
        buf_str(out, STR("null"));
    buf_u8(out, '}');
}

static void coverage_json_put_totals(const CoverageTotals *t, Buf *out) {
    buf_u8(out, '{');
    coverage_json_put_ratio("lines", t->lines, out);
    buf_u8(out, ',');
    coverage_json_put_ratio("functions", t->functions, out);
    buf_u8(out, ',');
    coverage_json_put_ratio("branches", t->ways, out);
    buf_u8(out, '}');
}

static void coverage_json_put_text(const char *name, Str s, Buf *out) {
    buf_printf(out, "\"%s\":\"", name);
    escape_json(out, s);
    buf_u8(out, '"');
}

static void put_comma(uint32_t i, Buf *out) {
    if (i)
        buf_u8(out, ',');
}

static void coverage_json_put_file(const CoverageFile *f, Buf *out) {
    buf_u8(out, '{');
    coverage_json_put_text("file", f->path, out);
    buf_str(out, STR(",\"totals\":"));
    coverage_json_put_totals(&f->totals, out);
    buf_str(out, STR(",\n \"lines\":["));
    for (uint32_t i = 0; i < f->lines.len; i++) {
        const CoverageLine *l = &f->lines.at[i];
        put_comma(i, out);
        buf_printf(out, "{\"line\":%u,\"count\":%" PRIu64 "}", l->line, l->count);
    }
    buf_str(out, STR("],\n \"functions\":["));
    for (uint32_t i = 0; i < f->functions.len; i++) {
        const CoverageFunction *function = &f->functions.at[i];
        put_comma(i, out);
        buf_u8(out, '{');
        coverage_json_put_text("name", function->name, out);
        buf_printf(out, ",\"line\":%u,\"count\":%" PRIu64 "}", function->line, function->count);
    }
    buf_str(out, STR("],\n \"branches\":["));
    for (uint32_t i = 0; i < f->ways.len; i++) {
        const CoverageWay *w = &f->ways.at[i];
        put_comma(i, out);
        buf_printf(out, "{\"line\":%u,\"column\":%u,\"branch\":%u,\"way\":%u,\"count\":", w->line,
                   w->column, w->branch, w->way);
        if (w->reached)
            buf_printf(out, "%" PRIu64 "}", w->count);
        else
            buf_str(out, STR("null}"));
    }
    buf_str(out, STR("]}"));
}

static void coverage_json_put_module(const CoverageModule *m, Buf *out) {
    buf_u8(out, '{');
    coverage_json_put_text("module", m->title, out);
    buf_str(out, STR(",\"totals\":"));
    coverage_json_put_totals(&m->totals, out);
    buf_str(out, STR(",\n \"files\":["));
    for (uint32_t i = 0; i < m->files.len; i++) {
        put_comma(i, out);
        escape_json_string(out, m->files.at[i]);
    }
    buf_str(out, STR("]}"));
}

static void coverage_json_put_modules(const Coverage *c, Buf *out) {
    buf_str(out, STR(",\n\"modules\":["));
    for (uint32_t i = 0; i < c->modules.len; i++) {
        put_comma(i, out);
        buf_u8(out, '\n');
        coverage_json_put_module(&c->modules.at[i], out);
    }
    buf_u8(out, ']');
}

void format_coverage_json(const CoverageView *v, Buf *out) {
    assert(coverage_check(v->c));
    const Coverage *c = v->c;
    buf_str(out, STR("{\"totals\":"));
    coverage_json_put_totals(&c->totals, out);
    if (c->modules.len)
        coverage_json_put_modules(c, out);
    buf_str(out, STR(",\n\"files\":["));
    for (uint32_t i = 0; i < c->files.len; i++) {
        put_comma(i, out);
        buf_u8(out, '\n');
        coverage_json_put_file(&c->files.at[i], out);
    }
    buf_str(out, STR("]}\n"));
}
