/*
 * report/maps.c - tuples and maps that were read from JSON lines, for people.
 */
#include "report/maps.h"
#include "base/json.h"

enum { MAX_DEPTH = 40 }; /* types of scripts are not nested that deeply */

static bool show(Json *j, Buf *out, uint32_t depth, bool in_map, MapsEnds *ends);

/* After the '[': entries up to the ']'. */
static bool show_entries(Json *j, Buf *out, uint32_t depth, MapsEnds *ends) {
    do {
        if (!json_char(j, '{') || !json_member(j, "key") || !show(j, out, depth, true, NULL))
            return false;
        buf_str(out, STR("->"));
        if (!json_char(j, ',') || !json_member(j, "value") || !show(j, out, depth, true, NULL) ||
            !json_char(j, '}'))
            return false;
        if (ends)
            vec_push(ends, out->len);
        if (!json_char(j, ','))
            break;
        buf_u8(out, ';');
    } while (true);
    return json_char(j, ']');
}

/* After the '[': fields up to the ']'. */
static bool show_fields(Json *j, Buf *out, uint32_t depth, bool in_map) {
    buf_u8(out, '(');
    while (show(j, out, depth, in_map, NULL) && json_char(j, ','))
        buf_str(out, in_map ? STR(",") : STR("; "));
    buf_u8(out, ')');
    return json_char(j, ']');
}

static bool show(Json *j, Buf *out, uint32_t depth, bool in_map, MapsEnds *ends) {
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
    bool ok = show_entries(j, out, depth + 1, ends);
    if (in_map)
        buf_u8(out, '}');
    return ok;
}

bool maps_show(Str json, Buf *out, MapsEnds *ends) {
    Arena arena = {0};
    Json j = {&arena, json.ptr, json.ptr + json.len};
    bool ok = show(&j, out, 0, false, ends) && j.at == j.end;
    arena_free(&arena);
    return ok;
}

/* The V of "map<K,V>". */
static Str value_type(Str type) {
    uint32_t depth = 0;
    for (uint32_t i = 4; i < type.len; i++) {
        char c = type.ptr[i];
        depth += c == '(' || c == '<';
        depth -= (c == ')' || c == '>') && depth;
        if (c == ',' && depth == 0)
            return (Str){type.ptr + i + 1, type.len - i - 2};
    }
    return (Str){type.ptr, 0};
}

bool maps_is_table(const ReportRow *row) {
    return !row->unreadable && row->var->type.len > 5 &&
           memcmp(row->var->type.ptr, "map<", 4) == 0 && row->value.len > 2 &&
           memcmp(row->value.ptr, "[{", 2) == 0;
}

bool maps_read(const ReportRow *row, Report *entries) {
    ReportVar *var = arena_new(&entries->arena, ReportVar);
    *var = *row->var;
    var->type = value_type(row->var->type);
    Json j = {&entries->arena, row->value.ptr, row->value.ptr + row->value.len};
    Buf key = {0};
    bool ok = json_char(&j, '[');
    while (ok) {
        ReportRow entry = {.var = var, .id = row->id, .probe = row->probe};
        key.len = 0;
        ok = json_char(&j, '{') && json_member(&j, "key") && show(&j, &key, 0, true, NULL) &&
             json_char(&j, ',') && json_member(&j, "value") && json_value(&j, &entry.value) &&
             entry.value.ptr && json_char(&j, '}');
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
