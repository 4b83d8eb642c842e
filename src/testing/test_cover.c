/*
 * testing/test_cover.c - which parts of scripts the tests have run: probes, predicates, statements.
 *
 * Each case runs once more with `whammc run --count-statements`, whose report has a number for each
 * part, named by its place (lang/count_statements.c). The numbers of all cases are added up.
 */
#include "base/json.h"
#include "testing/testing.h"

#include <stdio.h>
#include <unistd.h>

enum { STATEMENT, FUNCTION, PROBE, EVENT, SITELESS, NCOVER_KINDS };
static const char *const cover_kinds[NCOVER_KINDS] = {"statement", "function", "probe", "event",
                                                      "siteless"};

/* Appends a line "KIND FILE:LINE:COLUMN NUMBER", if the place is in a file of people's. */
static void put_cover_line(const TestCase *c, Str kind, Str file, unsigned long line, Str column,
                           uint64_t n, Buf *out) {
    const Section *s = test_script(c, file);
    if (!s && !str_begins(file, STR("/")))
        return;
    buf_printf(out, "%.*s ", STR_ARG(kind));
    if (s && s->text.len)
        buf_printf(out, "%s:%lu", s->file, s->line + line);
    else
        buf_printf(out, "%.*s:%lu", STR_ARG(file), line);
    buf_printf(out, ":%.*s %llu\n", STR_ARG(column), (unsigned long long)n);
}

/* Splits FILE:LINE:COLUMN. */
static bool split_place(Str place, Str *file, unsigned long *line, Str *column) {
    uint32_t at = place.len;
    for (int i = 0; i < 2; i++) {
        uint32_t end = at;
        while (at && place.ptr[at - 1] != ':')
            at--;
        if (!at)
            return false;
        Str part = {place.ptr + at, end - at};
        uint64_t n;
        if (!str_decimal(part, UINT32_MAX, &n))
            return false;
        at--;
        if (i == 0)
            *column = part;
        else
            *line = (unsigned long)n;
    }
    *file = (Str){place.ptr, at};
    return true;
}

static void cover_variable(const TestCase *c, const char *name, uint64_t n, Buf *out) {
    Str place = {0}, file, column;
    unsigned long line;
    for (int i = 0; i < SITELESS; i++) {
        size_t len = strlen(cover_kinds[i]);
        if (*name == '(' && strncmp(name + 1, cover_kinds[i], len) == 0 && name[len + 1] == ' ') {
            place = str_of(name + len + 2);
            place.len -= str_ends(place, STR(")"));
            if (split_place(place, &file, &line, &column))
                put_cover_line(c, str_of(cover_kinds[i]), file, line, column, n, out);
        }
    }
}

/* Adds the places of probes without sites, which messages name. */
static void cover_messages(const TestCase *c, const Buf *messages, Buf *out) {
    static const char *const names[] = {"tag", "file", "line", "column"};
    Arena arena = {0};
    for (size_t at = 0; at < messages->len;) {
        const uint8_t *from = messages->data + at;
        const uint8_t *end = memchr(from, '\n', messages->len - at);
        size_t n = end ? (size_t)(end - from) : messages->len - at;
        Json j = {&arena, (const char *)from, (const char *)from + n};
        Str m[4] = {0};
        uint64_t line;
        if (json_object(&j, names, 4, m) && str_is(m[0], "no-sites") && m[1].ptr &&
            str_decimal(m[2], UINT32_MAX, &line))
            put_cover_line(c, str_of(cover_kinds[SITELESS]), m[1], (unsigned long)line, m[3], 1,
                           out);
        at += n + 1;
    }
    arena_free(&arena);
}

void cover_add(const TestCase *c, const TestResult *found, Buf *counted) {
    WhammcReport *r = whammc_report_new();
    size_t n, nvars;
    whammc_report_read(r, "report", found->report.data, found->report.len, 0);
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *vars = whammc_report_variables(r, &nvars);
    for (size_t i = 0; i < n; i++) {
        const WhammcValue *v = whammc_report_value(r, i);
        if (v && v->kind == WHAMMC_VALUE_UNSIGNED)
            cover_variable(c, vars[rows[i].variable].name, v->as.u, counted);
    }
    cover_messages(c, &found->messages, counted);
    whammc_report_free(r);
}

/* ---- showing ---- */

typedef struct Covered {
    Str file;
    unsigned long line, column;
    bool is[NCOVER_KINDS];
    uint64_t counts[NCOVER_KINDS];
    uint32_t runs; /* in which the place was counted as a probe */
} Covered;
typedef Vec(Covered) CoveredList;

static int by_cover_place(const void *a, const void *b) {
    const Covered *x = a, *y = b;
    uint32_t n = x->file.len < y->file.len ? x->file.len : y->file.len;
    int order = memcmp(x->file.ptr, y->file.ptr, n);
    if (order || x->file.len != y->file.len)
        return order ? order : x->file.len < y->file.len ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Adds a line of cover_add. */
static void cover_read(CoveredList *all, Map *places, Str line) {
    uint32_t from = 0, to = line.len;
    while (from < line.len && line.ptr[from] != ' ')
        from++;
    while (to > from && line.ptr[to - 1] != ' ')
        to--;
    if (to < from + 2)
        return;
    Str place = {line.ptr + from + 1, to - from - 2}, column;
    bool added;
    uint32_t i = (uint32_t)*map_put(places, place, all->len, &added);
    uint64_t n = 0;
    if (added) {
        Covered *c = vec_add(all);
        if (split_place(place, &c->file, &c->line, &column))
            c->column = strtoul(column.ptr, NULL, 10);
    }
    Covered *c = &all->at[i];
    str_decimal((Str){line.ptr + to, line.len - to}, UINT64_MAX, &n);
    for (int k = 0; k < NCOVER_KINDS; k++)
        if (str_is((Str){line.ptr, from}, cover_kinds[k])) {
            c->is[k] = true;
            c->counts[k] += n;
            c->runs += k == PROBE;
        }
}

/* Returns what is to be said of a place; NULL = nothing. `probe` is the probe that it is in. */
static const char *cover_verdict(const Covered *c, const Covered *probe) {
    if (c->is[PROBE]) {
        if (c->counts[PROBE])
            return NULL;
        if (c->counts[EVENT])
            return "the predicate of this probe never held";
        if (c->counts[SITELESS] >= c->runs)
            return "this probe has no sites in the programs";
        return "this probe never ran";
    }
    if (c->counts[STATEMENT] || c->counts[FUNCTION])
        return NULL;
    bool in_idle = c->is[STATEMENT] && probe && !probe->counts[PROBE];
    return in_idle ? NULL : "this statement never ran";
}

/* Shows the part of the list that is of one file. */
static void cover_show_file(const Covered *list, uint32_t n, const char *mark, Buf *out) {
    uint32_t probes = 0, statements = 0, ran = 0, executed = 0;
    for (uint32_t i = 0; i < n; i++) {
        probes += list[i].is[PROBE];
        ran += list[i].is[PROBE] && list[i].counts[PROBE];
        statements += list[i].is[STATEMENT] || list[i].is[FUNCTION];
        executed += list[i].counts[STATEMENT] || list[i].counts[FUNCTION];
    }
    Buf name = {0};
    char *here = getcwd(NULL, 0);
    size_t skip = here ? strlen(here) : 0;
    Str file = list->file;
    if (skip && str_begins(file, str_of(here)) && file.len > skip && file.ptr[skip] == '/')
        file = (Str){file.ptr + skip + 1, file.len - (uint32_t)skip - 1};
    message_clean(&name, file);
    buf_printf(out, "%s%s: %u of %u probes and %u of %u statements ran\n", mark, buf_cstr(&name),
               ran, probes, executed, statements);
    const Covered *probe = NULL;
    for (uint32_t i = 0; i < n; i++) {
        probe = list[i].is[PROBE] ? &list[i] : probe;
        const char *verdict = cover_verdict(&list[i], probe);
        if (verdict)
            buf_printf(out, "%s  %s:%lu:%lu: %s\n", mark, buf_cstr(&name), list[i].line,
                       list[i].column, verdict);
    }
    buf_free(&name);
    free(here);
}

void cover_show(const Buf *counted, const char *mark, Buf *out) {
    CoveredList all = {0};
    Map places = {0};
    for (size_t at = 0; at < counted->len;) {
        const uint8_t *from = counted->data + at;
        const uint8_t *end = memchr(from, '\n', counted->len - at);
        size_t n = end ? (size_t)(end - from) : counted->len - at;
        cover_read(&all, &places, (Str){(const char *)from, (uint32_t)n});
        at += n + 1;
    }
    if (all.len)
        qsort(all.at, all.len, sizeof *all.at, by_cover_place);
    for (uint32_t i = 0, end; i < all.len; i = end) {
        end = i;
        while (end < all.len && str_eq(all.at[end].file, all.at[i].file))
            end++;
        cover_show_file(&all.at[i], end - i, mark, out);
    }
    if (!all.len)
        buf_printf(out, "%sno script was counted\n", mark);
    map_free(&places);
    vec_free(&all);
}
