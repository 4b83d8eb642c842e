/*
 * api/api_compare.c - tables of differences.
 */
#include "api/api_compare.h"

#include "base/escape.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>

/* Has 64 bits of precision on most machines. */
typedef long double Number;

typedef struct Row {
    Str name;
    Number value[2]; /* old, new */
} Row;

/* The subject of a table. A variable may have any name, even that of a table of profiles. */
typedef enum SectionKind {
    SECTION_TIME,      /* of profiles, in nanoseconds */
    SECTION_CALLS,     /* of profiles */
    SECTION_SITES,     /* of a variable at sites, by function */
    SECTION_VARIABLES, /* of the others: each is a row, so there is no sum */
} SectionKind;

typedef struct Section {
    SectionKind kind;
    Str title;
    Vec(Row) rows;
} Section;

typedef struct Compare {
    Vec(Section) sections;
    Map index;  /* kind, title, name, and which of that name -> the row in its section */
    Map titles; /* kind, title -> the section */
    Arena arena;
    Buf key;
} Compare;

/* ---- contents ---- */

static Section *section_of(Compare *c, SectionKind kind, const char *title) {
    bool added;
    c->key.len = 0;
    buf_u8(&c->key, (uint8_t)kind);
    buf_name(&c->key, str_of(title));
    Str key = buf_view(&c->key);
    uint64_t at = *map_put(&c->titles, key, c->sections.len, &added);
    if (added)
        vec_push(&c->sections,
                 ((Section){.kind = kind,
                            .title = str_of(arena_strndup(&c->arena, title, strlen(title)))}));
    return &c->sections.at[at];
}

static void api_compare_add(Compare *c, SectionKind kind, const char *title, const char *name,
                            uint32_t which, uint32_t side, Number value) {
    Section *s = section_of(c, kind, title); /* and c->key */
    bool added;
    buf_name(&c->key, str_of(name));
    buf_uleb(&c->key, which);
    Str key = buf_view(&c->key);
    uint64_t at = *map_put(&c->index, key, s->rows.len, &added);
    if (added)
        vec_push(&s->rows, ((Row){.name = str_of(arena_strndup(&c->arena, name, strlen(name)))}));
    s->rows.at[at].value[side] += value;
}

static void add_profile(Compare *c, WhammcReport *r, const WhammcReportOptions *options,
                        uint32_t side) {
    const WhammcProfile *p;
    Map seen = {0}; /* of functions with the same name the n-th ones are the same */
    if (whammc_report_profile(r, WHAMMC_PROFILE_CALLS, options, &p) != WHAMMC_OK)
        return;
    for (size_t i = 0; i < p->nfunctions; i++) {
        const WhammcProfileFunction *f = &p->functions[i];
        uint32_t which = (uint32_t)(*map_put(&seen, str_of(f->name), 0, NULL))++;
        if (p->timed)
            api_compare_add(c, SECTION_TIME, "time in itself", f->name, which, side,
                            (Number)f->self);
        api_compare_add(c, SECTION_CALLS, "calls", f->name, which, side,
                        (Number)f->calls + (Number)f->recursive_calls);
    }
    map_free(&seen);
}

static bool api_compare_number_of(const WhammcValue *v, Number *n) {
    switch (v ? v->kind : WHAMMC_VALUE_UNREADABLE) {
    case WHAMMC_VALUE_UNSIGNED:
    case WHAMMC_VALUE_BOOL: *n = (Number)v->as.u; return true;
    case WHAMMC_VALUE_SIGNED: *n = (Number)v->as.i; return true;
    case WHAMMC_VALUE_FLOAT: *n = (Number)v->as.f; return true;
    default: return false;
    }
}

static void api_compare_add_rows(Compare *c, WhammcReport *r, const WhammcReportOptions *options,
                                 uint32_t side) {
    size_t n, nvars;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *vars = whammc_report_variables(r, &nvars);
    for (size_t i = 0; i < n; i++) {
        Number value;
        if (rows[i].has_place && vars[rows[i].variable].formula)
            continue; /* values that have no sum */
        if (!api_compare_number_of(whammc_report_value(r, i), &value))
            continue;
        const char *name = vars[rows[i].variable].name, *function = rows[i].fname;
        if (rows[i].shown_fname && !options->mangled)
            function = rows[i].shown_fname;
        if (rows[i].has_place)
            api_compare_add(c, SECTION_SITES, name, function ? function : "?", 0, side, value);
        else
            api_compare_add(c, SECTION_VARIABLES, "variables", name, 0, side, value);
    }
}

/* ---- the tables ---- */

static Number api_compare_change_of(const Row *r) {
    return r->value[1] - r->value[0];
}

static bool is_changed(const Row *r) {
    bool number[] = {!isnan(r->value[0]), !isnan(r->value[1])};
    return number[0] != number[1] || (number[0] && r->value[0] != r->value[1]);
}

/* The largest changes first; before them those to or from something that is not a number. */
static Number order_of(const Row *r) {
    Number change = is_changed(r) ? fabsl(api_compare_change_of(r)) : 0;
    return isnan(change) ? HUGE_VALL : change;
}

static int api_compare_compare_rows(const void *a, const void *b) {
    Number x = order_of(a), y = order_of(b);
    if (x != y)
        return x < y ? 1 : -1;
    const Row *p = a, *q = b;
    uint32_t n = p->name.len < q->name.len ? p->name.len : q->name.len;
    int order = memcmp(p->name.ptr, q->name.ptr, n);
    return order ? order : (p->name.len > q->name.len) - (p->name.len < q->name.len);
}

/* A number in a column, exact up to 64 bits; `sign`: also if it is positive. */
static void api_compare_put_number(Number v, bool time, bool sign, Buf *out) {
    enum { DIGITS = 6 };
    char text[64];
    if (isnan(v)) {
        buf_printf(out, "%16s", "NaN"); /* printf shows its sign, which has no meaning */
        return;
    }
    bool whole = !time && v == floorl(v), large = fabsl(v) >= 0x1p64L;
    snprintf(text, sizeof text, large ? "%s%.*Lg%s" : "%s%.*Lf%s", sign && v > 0 ? "+" : "",
             large   ? DIGITS
             : whole ? 0
                     : 2,
             time ? v / 1e6L : v, time ? " ms" : "");
    buf_printf(out, "%16s", text);
}

static void api_compare_put_row(const Row *r, bool time, Str name, Buf *out) {
    enum { LARGE = 1000000 }; /* per cent */
    char share[32] = "new";
    Number percent = 100 * api_compare_change_of(r) / fabsl(r->value[0]);
    if (!isfinite(percent) && r->value[0] != 0)
        share[0] = '\0';
    else if (r->value[0] != 0)
        snprintf(share, sizeof share, fabsl(percent) < LARGE ? "%+.1Lf%%" : "%+.3Lg%%", percent);
    api_compare_put_number(r->value[0], time, false, out);
    api_compare_put_number(r->value[1], time, false, out);
    api_compare_put_number(api_compare_change_of(r), time, true, out);
    buf_printf(out, "%10s  ", r->value[1] == 0 && r->value[0] != 0 ? "gone" : share);
    escape_shown(out, name);
    buf_u8(out, '\n');
}

static void api_compare_put_section(Section *s, uint32_t top, bool first, Buf *out) {
    Row total = {0};
    uint32_t changed = 0, shown = 0;
    if (!s->rows.len)
        return;
    qsort(s->rows.at, s->rows.len, sizeof *s->rows.at, api_compare_compare_rows);
    for (uint32_t i = 0; i < s->rows.len; i++) {
        total.value[0] += s->rows.at[i].value[0];
        total.value[1] += s->rows.at[i].value[1];
        changed += is_changed(&s->rows.at[i]);
    }
    bool time = s->kind == SECTION_TIME;
    buf_str(out, first ? STR("") : STR("\n"));
    escape_shown(out, s->title);
    buf_printf(out, "\n%16s%16s%16s\n", "old", "new", "change");
    if (s->kind != SECTION_VARIABLES)
        api_compare_put_row(&total, time, STR("(all)"), out);
    for (; shown < changed && (!top || shown < top); shown++)
        api_compare_put_row(&s->rows.at[shown], time, s->rows.at[shown].name, out);
    if (changed > shown)
        buf_printf(out, "  and %u more that have changed\n", changed - shown);
    if (s->rows.len > changed)
        buf_printf(out, "  %u %s the same\n", s->rows.len - changed,
                   s->rows.len - changed == 1 ? "is" : "are");
}

void compare_reports(WhammcReport *old, WhammcReport *new, const WhammcReportOptions *options,
                     Buf *out) {
    Compare c = {0};
    WhammcReport *both[] = {old, new};
    for (uint32_t side = 0; side < 2; side++) {
        add_profile(&c, both[side], options, side);
        api_compare_add_rows(&c, both[side], options, side);
    }
    for (uint32_t i = 0; i < c.sections.len; i++)
        api_compare_put_section(&c.sections.at[i], options->top, i == 0, out);
    for (uint32_t i = 0; i < c.sections.len; i++)
        vec_free(&c.sections.at[i].rows);
    vec_free(&c.sections);
    map_free(&c.index);
    map_free(&c.titles);
    buf_free(&c.key);
    arena_free(&c.arena);
}
