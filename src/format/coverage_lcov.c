/*
 * format/coverage_lcov.c - tracefiles of lcov: see geninfo(1), "FILES".
 */
#include "format/coverage_format.h"

#include <assert.h>
#include <inttypes.h>

/* Records are lines: line breaks become '?'. */
static void coverage_lcov_put_name(Str name, Buf *out) {
    for (uint32_t i = 0; i < name.len; i++)
        buf_u8(out, (uint8_t)name.ptr[i] < ' ' ? '?' : (uint8_t)name.ptr[i]);
    buf_u8(out, '\n');
}

/* Readers identify functions by name: equal names, such as those of closures, get their line
 * appended. */
static void coverage_lcov_put_function(const CoverageFunction *f, const Map *seen, Buf *out) {
    Buf name = {0};
    buf_str(&name, f->name);
    if (*map_get(seen, f->name) > 1)
        buf_printf(&name, " (line %u)", f->line);
    coverage_lcov_put_name(buf_view(&name), out);
    buf_free(&name);
}

static void coverage_lcov_put_functions(const CoverageFile *f, Buf *out) {
    Map seen = {0}; /* how often each name comes */
    for (uint32_t i = 0; i < f->functions.len; i++)
        ++*map_put(&seen, f->functions.at[i].name, 0, NULL);
    for (uint32_t i = 0; i < f->functions.len; i++) {
        buf_printf(out, "FN:%u,", f->functions.at[i].line);
        coverage_lcov_put_function(&f->functions.at[i], &seen, out);
    }
    for (uint32_t i = 0; i < f->functions.len; i++) {
        buf_printf(out, "FNDA:%" PRIu64 ",", f->functions.at[i].count);
        coverage_lcov_put_function(&f->functions.at[i], &seen, out);
    }
    map_free(&seen);
    buf_printf(out, "FNF:%u\nFNH:%u\n", f->totals.functions.all, f->totals.functions.hit);
}

/* Branches of a line are numbered as its blocks. */
static void coverage_lcov_put_ways(const CoverageFile *f, Buf *out) {
    uint32_t block = 0;
    for (uint32_t i = 0; i < f->ways.len; i++) {
        const CoverageWay *w = &f->ways.at[i], *last = i ? w - 1 : NULL;
        if (!last || last->line != w->line)
            block = 0;
        else if (last->column != w->column || last->branch != w->branch)
            block++;
        buf_printf(out, "BRDA:%u,%u,%u,", w->line, block, w->way);
        if (w->reached)
            buf_printf(out, "%" PRIu64 "\n", w->count);
        else
            buf_str(out, STR("-\n"));
    }
    if (f->ways.len)
        buf_printf(out, "BRF:%u\nBRH:%u\n", f->totals.ways.all, f->totals.ways.hit);
}

void format_lcov(const CoverageView *v, Buf *out) {
    assert(coverage_check(v->c));
    const Coverage *c = v->c;
    for (uint32_t i = 0; i < c->files.len; i++) {
        const CoverageFile *f = &c->files.at[i];
        buf_str(out, STR("TN:"));
        coverage_lcov_put_name(v->test, out);
        buf_str(out, STR("SF:"));
        coverage_lcov_put_name(f->path, out);
        coverage_lcov_put_functions(f, out);
        coverage_lcov_put_ways(f, out);
        for (uint32_t k = 0; k < f->lines.len; k++)
            buf_printf(out, "DA:%u,%" PRIu64 "\n", f->lines.at[k].line, f->lines.at[k].count);
        buf_printf(out, "LF:%u\nLH:%u\nend_of_record\n", f->totals.lines.all, f->totals.lines.hit);
    }
}
