/*
 * report/maps.c - tuples and maps that were read from JSON lines, for people.
 */
#include "report/maps.h"
#include "base/json.h"
#include "report/value.h"

#include <assert.h>
#include <stdlib.h>

enum { MAX_DEPTH = 40 }; /* types of scripts are not nested that deeply */

/* An entry of the map that is shown. */
typedef struct Entry {
    size_t from, to; /* its text */
    double value;
    uint32_t at; /* its number */
} Entry;

typedef Vec(Entry) Entries;

static bool report_maps_show(Json *j, Buf *out, uint32_t depth, bool in_map, Entries *entries);

/* The value of an entry if it is a number; else 0. */
static double maps_number_at(const Json *j) {
    Json ahead = *j;
    Str text;
    char copy[32];
    if (!json_value(&ahead, &text) || !text.ptr || text.len >= sizeof copy)
        return 0;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    double value = strtod(copy, NULL);
    return value == value ? value : 0;
}

/* After the '[': entries up to the ']'. */
static bool show_entries(Json *j, Buf *out, uint32_t depth, Entries *entries) {
    do {
        Entry e = {.from = out->len, .at = entries ? entries->len : 0};
        if (!json_char(j, '{') || !json_member(j, "key") ||
            !report_maps_show(j, out, depth, true, NULL))
            return false;
        buf_str(out, STR("->"));
        if (!json_char(j, ',') || !json_member(j, "value"))
            return false;
        e.value = entries ? maps_number_at(j) : 0;
        if (!report_maps_show(j, out, depth, true, NULL) || !json_char(j, '}'))
            return false;
        e.to = out->len;
        if (entries)
            vec_push(entries, e);
        if (!json_char(j, ','))
            break;
        buf_u8(out, ';');
    } while (true);
    return json_char(j, ']');
}

/* The largest value first; else in the order of the map. */
static int compare_entries(const void *pa, const void *pb) {
    const Entry *a = pa, *b = pb;
    return a->value != b->value ? (a->value > b->value ? -1 : 1) : a->at < b->at ? -1 : 1;
}

/* Orders the entries of the text that begins at `from`. */
static void order_entries(Buf *out, size_t from, Entries *entries, MapsEnds *ends) {
    Buf text = {0};
    buf_bytes(&text, out->data + from, out->len - from);
    if (entries->len)
        qsort(entries->at, entries->len, sizeof *entries->at, compare_entries);
    out->len = from;
    for (uint32_t i = 0; i < entries->len; i++) {
        const Entry *e = &entries->at[i];
        buf_str(out, i ? STR(";") : STR(""));
        buf_bytes(out, text.data + (e->from - from), e->to - e->from);
        if (ends)
            vec_push(ends, out->len);
    }
    buf_free(&text);
}

/* After the '[': fields up to the ']'. */
static bool show_fields(Json *j, Buf *out, uint32_t depth, bool in_map) {
    buf_u8(out, '(');
    while (report_maps_show(j, out, depth, in_map, NULL) && json_char(j, ','))
        buf_str(out, in_map ? STR(",") : STR("; "));
    buf_u8(out, ')');
    return json_char(j, ']');
}

static bool report_maps_show(Json *j, Buf *out, uint32_t depth, bool in_map, Entries *entries) {
    if (depth == MAX_DEPTH)
        return false;
    if (!json_char(j, '[')) {
        Str text;
        bool ok = json_value(j, &text) && text.ptr;
        if (ok)
            buf_str(out, text);
        return ok;
    }
    json_blanks(j);
    char first = j->at < j->end ? *j->at : ']';
    if (first == ']') {
        buf_str(out, STR("()"));
        return json_char(j, ']');
    }
    if (first != '{')
        return show_fields(j, out, depth + 1, in_map);
    if (in_map)
        buf_u8(out, '{');
    bool ok = show_entries(j, out, depth + 1, entries);
    if (in_map)
        buf_u8(out, '}');
    return ok;
}

bool maps_show(Str json, Buf *out, MapsEnds *ends) {
    Arena arena = {0};
    Json j = {&arena, json.ptr, json.ptr + json.len};
    Entries entries = {0};
    size_t from = out->len;
    bool ok = report_maps_show(&j, out, 0, false, &entries) && j.at == j.end;
    if (ok && entries.len)
        order_entries(out, from, &entries, ends);
    vec_free(&entries);
    arena_free(&arena);
    return ok;
}

bool maps_is_table(const ReportRow *row) {
    return !row->unreadable && value_is_map(row->var->type) && row->value.len > 2 &&
           memcmp(row->value.ptr, "[{", 2) == 0;
}

bool maps_read(const ReportRow *row, Report *entries) {
    assert(maps_is_table(row));
    ReportVar *var = arena_new(&entries->arena, ReportVar);
    *var = *row->var;
    Str key_type;
    if (!value_map_types(row->var->type, &key_type, &var->type))
        return false;
    Json j = {&entries->arena, row->value.ptr, row->value.ptr + row->value.len};
    Buf key = {0};
    bool ok = json_char(&j, '[');
    while (ok) {
        ReportRow entry = {.var = var, .id = row->id, .probe = row->probe};
        key.len = 0;
        ok = json_char(&j, '{') && json_member(&j, "key") &&
             report_maps_show(&j, &key, 0, true, NULL) && json_char(&j, ',') &&
             json_member(&j, "value") && json_value(&j, &entry.value) && entry.value.ptr &&
             json_char(&j, '}');
        if (!ok)
            break;
        entry.fname = (Str){arena_strndup(&entries->arena, (const char *)key.data, key.len),
                            (uint32_t)key.len};
        report_classify(&entry);
        vec_push(&entries->rows, entry);
        if (!json_char(&j, ','))
            break;
    }
    buf_free(&key);
    return ok && json_char(&j, ']');
}
