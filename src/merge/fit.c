/*
 * merge/fit.c - compares a report with a program.
 */
#include "merge/fit.h"

#include "base/escape.h"
#include "profile/profile.h"
#include "report/merge_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void fit_hash(const void *module, size_t size, char hash[FIT_HASH]) {
    snprintf(hash, FIT_HASH, "%016" PRIx64, hash_more(HASH_START, module, size));
}

/* Names that the report and the program have for the same functions. */
typedef struct Names {
    uint32_t same, different;
    uint32_t fid; /* the first that is different */
    Str found;    /* its name in the report, as JSON */
} Names;

/* `name`: in JSON. */
static void compare_name(Names *n, const Places *places, uint64_t fid, Str name) {
    Str known = fid <= UINT32_MAX ? places_name(places, (uint32_t)fid) : (Str){NULL, 0};
    if (!known.ptr || name.len < 2 || name.ptr[1] == '#')
        return;
    Buf text = {0};
    escape_json_string(&text, known);
    bool same = str_eq(buf_view(&text), name);
    buf_free(&text);
    n->same += same;
    if (!same && !n->different++) {
        n->fid = (uint32_t)fid;
        n->found = name;
    }
}

/* A map of function -> name. */
static void compare_map(Names *n, const Places *places, const ReportRow *row) {
    MergeValue v;
    if (merge_value_read(row->var->type, row->value, &v))
        for (uint32_t i = 0; v.kind == MERGE_MAP && i < v.of.entries->values.len; i++) {
            const MergeValue *name = &v.of.entries->values.at[i];
            Str key = v.of.entries->index.entries[i].key;
            uint64_t fid = 0;
            for (uint32_t k = 0; k < key.len; k++)
                fid = 10 * fid + (uint64_t)(key.ptr[k] - '0');
            if (name->kind == MERGE_TEXT)
                compare_name(n, places, fid, name->of.text);
        }
    merge_value_free(&v);
}

/* The names of functions of rows: each function once, as its rows stand together. */
static void fit_compare_rows(Names *n, const Places *places, const Report *r) {
    enum { MOST = 1 << 16 };
    Buf text = {0};
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < r->rows.len && i < MOST; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!row->has_place || row->fid == last)
            continue;
        last = row->fid;
        text.len = 0;
        escape_json_string(&text, row->fname);
        compare_name(n, places, row->fid, buf_view(&text));
    }
    buf_free(&text);
}

static Fit fit_names(const Report *r, const Places *places, Buf *why) {
    Names n = {0};
    fit_compare_rows(&n, places, r);
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (profile_is_names(r->rows.at[i].var))
            compare_map(&n, places, &r->rows.at[i]);
    if (n.different <= n.same)
        return n.different || !n.same ? FIT_PERHAPS : FIT_NAMES;
    buf_printf(why, "function %u is %.*s in the report, '%.*s' in the program", n.fid,
               STR_ARG(n.found), STR_ARG(places_name(places, n.fid)));
    return FIT_NOT;
}

/* Whether the program has all functions that were called. */
static bool fit_calls(const Report *r, const Places *places, Buf *why) {
    Profile p = {0};
    uint32_t most = 0;
    profile_read_arcs(&p, r, (ProfileVariables){0});
    for (uint32_t i = 0; i < p.funcs.len; i++)
        if (!p.funcs.at[i].outside && p.funcs.at[i].id != PROFILE_NOBODY && p.funcs.at[i].id > most)
            most = p.funcs.at[i].id;
    profile_free(&p);
    bool ok = !most || most < places->m->funcs.len;
    if (!ok)
        buf_printf(why, "the report has calls of function %u, but the program has only %u", most,
                   places->m->funcs.len);
    return ok;
}

Fit fit_program(const Report *r, const Places *places, Buf *why) {
    assert(!why->len);
    const ReportRow *foreign = places_foreign(places, r);
    if (foreign)
        buf_printf(why,
                   "the report has a value at offset %u of function %u, where the program has no "
                   "instruction",
                   foreign->pc, foreign->fid);
    return foreign || !fit_calls(r, places, why) ? FIT_NOT : fit_names(r, places, why);
}
