/*
 * format/coverage_cobertura.c - Cobertura's XML, which code hosting and build servers read:
 * https://cobertura.sourceforge.net/xml/coverage-04.dtd.
 */
#include "base/escape.h"
#include "format/coverage_format.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

/* A rate in the DTD's form: from 0 to 1; `none` tenths of a per cent if there are no items. */
static void put_rate(const char *name, CoverageRatio r, uint32_t none, Buf *out) {
    uint32_t tenths = r.all ? coverage_tenths(r) : none;
    buf_printf(out, " %s=\"%u.%03u\"", name, tenths / 1000, tenths % 1000);
}

/* Rates must be numbers: nothing is executed where there are no lines, as for --fail-under, and no
 * branch is missed where there are none. */
static void put_rates(const CoverageTotals *t, Buf *out) {
    put_rate("line-rate", t->lines, 0, out);
    put_rate("branch-rate", t->ways, 1000, out);
    buf_str(out, STR(" complexity=\"0\""));
}

static void coverage_cobertura_put_text(const char *name, Str text, Buf *out) {
    buf_printf(out, " %s=\"", name);
    escape_xml(out, text);
    buf_u8(out, '"');
}

/* ---- paths ---- */

/* The length of a path's folder, with the slash. */
static uint32_t folder(Str path) {
    uint32_t n = path.len;
    while (n && path.ptr[n - 1] != '/')
        n--;
    return n;
}

/* The length of the folder that all files are in. */
static uint32_t common_folder(const Coverage *c) {
    if (!c->files.len)
        return 0;
    Str first = c->files.at[0].path;
    uint32_t n = folder(first);
    for (uint32_t i = 1; i < c->files.len; i++) {
        Str path = c->files.at[i].path;
        uint32_t same = 0;
        while (same < n && same < path.len && path.ptr[same] == first.ptr[same])
            same++;
        n = folder((Str){first.ptr, same});
    }
    return n;
}

/* ---- lines ---- */

/* The ways of a line, from *at, and how many of them were taken. */
static CoverageRatio coverage_cobertura_ways_of(const CoverageFile *f, uint32_t line,
                                                uint32_t *at) {
    CoverageRatio r = {0};
    while (*at < f->ways.len && f->ways.at[*at].line < line)
        ++*at;
    for (; *at < f->ways.len && f->ways.at[*at].line == line; ++*at) {
        r.all++;
        r.hit += f->ways.at[*at].count > 0;
    }
    return r;
}

static void coverage_cobertura_put_line(const CoverageLine *l, CoverageRatio ways,
                                        const char *indent, Buf *out) {
    buf_printf(out, "%s<line number=\"%u\" hits=\"%" PRIu64 "\"", indent, l->line, l->count);
    if (!ways.all) {
        buf_str(out, STR(" branch=\"false\"/>\n"));
        return;
    }
    uint32_t percent = coverage_tenths(ways) / 10;
    buf_printf(out, " branch=\"true\" condition-coverage=\"%u%% (%u/%u)\">\n", percent, ways.hit,
               ways.all);
    buf_printf(out,
               "%s  <conditions><condition number=\"0\" type=\"jump\" "
               "coverage=\"%u%%\"/></conditions>\n%s</line>\n",
               indent, percent, indent);
}

static void put_methods(const CoverageFile *f, Buf *out) {
    buf_str(out, STR("          <methods>\n"));
    for (uint32_t i = 0; i < f->functions.len; i++) {
        const CoverageFunction *function = &f->functions.at[i];
        CoverageTotals t = {.lines = {1, function->count > 0}};
        buf_str(out, STR("            <method"));
        coverage_cobertura_put_text("name", function->name, out);
        buf_str(out, STR(" signature=\"\""));
        put_rates(&t, out);
        buf_printf(out,
                   "><lines><line number=\"%u\" hits=\"%" PRIu64
                   "\" branch=\"false\"/></lines></method>\n",
                   function->line, function->count);
    }
    buf_str(out, STR("          </methods>\n"));
}

static void put_class(const CoverageFile *f, uint32_t root, Buf *out) {
    uint32_t at = 0, base = folder(f->path);
    buf_str(out, STR("        <class"));
    coverage_cobertura_put_text("name", (Str){f->path.ptr + base, f->path.len - base}, out);
    coverage_cobertura_put_text("filename", (Str){f->path.ptr + root, f->path.len - root}, out);
    put_rates(&f->totals, out);
    buf_str(out, STR(">\n"));
    put_methods(f, out);
    buf_str(out, STR("          <lines>\n"));
    for (uint32_t i = 0; i < f->lines.len; i++)
        coverage_cobertura_put_line(&f->lines.at[i],
                                    coverage_cobertura_ways_of(f, f->lines.at[i].line, &at),
                                    "            ", out);
    buf_str(out, STR("          </lines>\n        </class>\n"));
}

/* ---- packages ---- */

static void format_cobertura_add(CoverageTotals *to, const CoverageTotals *t) {
    to->lines.all += t->lines.all;
    to->lines.hit += t->lines.hit;
    to->ways.all += t->ways.all;
    to->ways.hit += t->ways.hit;
}

static bool is_same_folder(Str a, Str b) {
    uint32_t n = folder(a);
    return folder(b) == n && memcmp(a.ptr, b.ptr, n) == 0;
}

/* The files [first, end) of one folder. */
static void put_package(const Coverage *c, uint32_t first, uint32_t end, uint32_t root, Buf *out) {
    Str path = c->files.at[first].path;
    uint32_t n = folder(path);
    CoverageTotals t = {0};
    for (uint32_t i = first; i < end; i++)
        format_cobertura_add(&t, &c->files.at[i].totals);
    buf_str(out, STR("    <package"));
    coverage_cobertura_put_text("name", n > root ? (Str){path.ptr + root, n - root - 1} : STR("."),
                                out);
    put_rates(&t, out);
    buf_str(out, STR(">\n      <classes>\n"));
    for (uint32_t i = first; i < end; i++)
        put_class(&c->files.at[i], root, out);
    buf_str(out, STR("      </classes>\n    </package>\n"));
}

static int by_folder(const void *pa, const void *pb) {
    const CoverageFile *a = pa, *b = pb;
    uint32_t na = folder(a->path), nb = folder(b->path), n = na < nb ? na : nb;
    int order = n ? memcmp(a->path.ptr, b->path.ptr, n) : 0;
    if (order || na != nb)
        return order ? order : na < nb ? -1 : 1;
    return strcmp(a->path.ptr + na, b->path.ptr + nb);
}

void format_cobertura(const CoverageView *v, Buf *out) {
    assert(coverage_check(v->c));
    const Coverage *c = v->c;
    uint32_t root = common_folder(c);
    const CoverageTotals *t = &c->totals;
    Coverage sorted = *c; /* a list of its own, in another order */
    sorted.files.at = mem_alloc((c->files.len + 1) * sizeof *c->files.at);
    if (c->files.len) {
        memcpy(sorted.files.at, c->files.at, c->files.len * sizeof *c->files.at);
        qsort(sorted.files.at, c->files.len, sizeof *c->files.at, by_folder);
    }
    buf_str(out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE coverage SYSTEM "
                     "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage"));
    put_rates(t, out);
    buf_printf(out,
               " lines-covered=\"%u\" lines-valid=\"%u\" branches-covered=\"%u\" "
               "branches-valid=\"%u\" version=\"whammc\" timestamp=\"%" PRIu64 "\">\n  <sources>\n",
               t->lines.hit, t->lines.all, t->ways.hit, t->ways.all, v->time);
    buf_str(out, STR("    <source>"));
    escape_xml(out, root > 1    ? (Str){c->files.at[0].path.ptr, root - 1}
                    : root == 1 ? STR("/")
                                : STR("."));
    buf_str(out, STR("</source>\n  </sources>\n  <packages>\n"));
    for (uint32_t first = 0, i = 0; i < sorted.files.len; first = i) {
        while (i < sorted.files.len &&
               is_same_folder(sorted.files.at[first].path, sorted.files.at[i].path))
            i++;
        put_package(&sorted, first, i, root, out);
    }
    buf_str(out, STR("  </packages>\n</coverage>\n"));
    free(sorted.files.at);
}
