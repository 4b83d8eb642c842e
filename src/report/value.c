/*
 * report/value.c - tuples and maps in reports, from the form of CSV to JSON and back, led by their
 * types.
 */
#include "report/value.h"
#include "base/escape.h"
#include "base/json.h"
#include "report/aggregate.h"

#include <assert.h>

enum { MAX_DEPTH = 40 }; /* types of scripts are not nested that deeply */

/* ---- types ---- */

static Str value_slice(Str s, uint32_t from, uint32_t to) {
    return (Str){s.ptr + from, to - from};
}

static bool is_plain_tuple(Str type) {
    return type.len > 1 && type.ptr[0] == '(' && type.ptr[type.len - 1] == ')';
}

bool value_is_tuple(Str type) {
    AggregateType t;
    return is_plain_tuple(type) || (aggregate_read(type, &t) && aggregate_fields(&t).ptr);
}

/* array<T,N> */
static bool is_array(Str type) {
    return type.len > 7 && memcmp(type.ptr, "array<", 6) == 0 && type.ptr[type.len - 1] == '>';
}

static bool is_plain_map(Str type) {
    return type.len > 5 && memcmp(type.ptr, "map<", 4) == 0 && type.ptr[type.len - 1] == '>';
}

bool value_is_map(Str type) {
    AggregateType t;
    return is_plain_map(type) || is_array(type) ||
           (aggregate_read(type, &t) && (t.kind == AGGREGATE_TOP || aggregate_is_histogram(&t)));
}

Str value_tuple_types(Str type) {
    assert(value_is_tuple(type));
    AggregateType t;
    if (is_plain_tuple(type))
        return value_slice(type, 1, type.len - 1);
    return aggregate_read(type, &t) ? aggregate_fields(&t) : (Str){0};
}

bool value_map_types(Str type, Str *key, Str *value) {
    AggregateType t;
    if (!value_is_map(type))
        return false;
    if (is_array(type)) {
        Str list = value_slice(type, 6, type.len - 1);
        *key = STR("u32");
        return value_next_type(&list, value);
    }
    if (!is_plain_map(type) && aggregate_read(type, &t)) {
        *key = t.added;
        *value = STR("u64");
        return true;
    }
    Str parts = value_slice(type, 4, type.len - 1);
    return value_next_type(&parts, key) && value_next_type(&parts, value) && !parts.len &&
           !memmem(key->ptr, key->len, "map<", 4); /* maps are no keys */
}

static bool value_is_real(Str type) {
    return str_is(type, "f32") || str_is(type, "f64");
}

/* ---- from CSV ---- */

/*
 * The tokens that may follow a value: `separator` and a value of type `next`, or `close` and the
 * tokens that may follow the enclosing value. Both may be NULL.
 */
typedef struct Follow {
    const char *separator, *close;
    Str next;
    const struct Follow *outer; /* NULL: nothing may follow */
} Follow;

typedef struct Reader {
    const char *at, *end;
    Buf *out;
} Reader;

static bool stands(const Reader *r, const char *at, const char *word) {
    size_t n = strlen(word);
    return (size_t)(r->end - at) >= n && memcmp(at, word, n) == 0;
}

static bool value_take(Reader *r, const char *word) {
    bool there = stands(r, r->at, word);
    r->at += there ? strlen(word) : 0;
    return there;
}

/* Whether a value of the type could begin here. */
static bool could_begin(const Reader *r, const char *at, Str type) {
    char c = at < r->end ? *at : '\0';
    if (str_is(type, "str"))
        return true;
    if (value_is_tuple(type))
        return c == '(';
    if (value_is_map(type))
        return c == '{';
    if (str_is(type, "bool"))
        return stands(r, at, "true") || stands(r, at, "false");
    bool digit = c >= '0' && c <= '9';
    if (value_is_real(type))
        return digit || c == '+' || c == '-' || stands(r, at, "NaN");
    return digit || c == '-';
}

static bool value_may_end(const Reader *r, const char *at, const Follow *f) {
    for (; f; f = f->outer) {
        if (f->separator && stands(r, at, f->separator) &&
            could_begin(r, at + strlen(f->separator), f->next))
            return true;
        if (!f->close || !stands(r, at, f->close))
            return false;
        at += strlen(f->close);
    }
    return at == r->end;
}

static bool value_read_value(Reader *r, Str type, bool in_map, uint32_t depth, const Follow *f);

static bool value_read_tuple(Reader *r, Str type, bool in_map, uint32_t depth, const Follow *f) {
    Str types = value_tuple_types(type), part;
    if (!value_take(r, "("))
        return false;
    buf_u8(r->out, '[');
    if (!types.len && !value_take(r, ")"))
        return false;
    while (value_next_type(&types, &part)) {
        Follow inner = {.outer = f};
        Str rest = types;
        if (value_next_type(&rest, &inner.next))
            inner.separator = in_map ? "," : "; ";
        else
            inner.close = ")";
        if (!value_read_value(r, part, in_map, depth, &inner))
            return false;
        if (types.len)
            buf_u8(r->out, ',');
        if (!value_take(r, types.len ? inner.separator : ")"))
            return false;
    }
    buf_u8(r->out, ']');
    return true;
}

static bool value_read_map(Reader *r, Str type, bool in_map, uint32_t depth, const Follow *f) {
    Str key, value;
    if (!value_map_types(type, &key, &value) || (in_map && !value_take(r, "{")))
        return false;
    Follow after_key = {.separator = "->", .next = value};
    Follow after_value = {.separator = ";", .next = key, .close = in_map ? "}" : "", .outer = f};
    buf_u8(r->out, '[');
    bool empty = in_map ? stands(r, r->at, "}") : value_take(r, "empty map");
    while (!empty) {
        buf_str(r->out, STR("{\"key\":"));
        if (!value_read_value(r, key, true, depth, &after_key) || !value_take(r, "->"))
            return false;
        buf_str(r->out, STR(",\"value\":"));
        if (!value_read_value(r, value, true, depth, &after_value))
            return false;
        buf_u8(r->out, '}');
        if (!value_take(r, ";"))
            break;
        buf_u8(r->out, ',');
    }
    buf_u8(r->out, ']');
    return !in_map || value_take(r, "}");
}

static size_t value_digits(Str s, size_t at) {
    size_t from = at;
    while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9')
        at++;
    return at - from;
}

/* Whether s is a number as JSON has it: "2.5e0", "1e-7". */
static bool is_json_number(Str s) {
    size_t at = s.len && s.ptr[0] == '-', n = value_digits(s, at);
    bool ok = n == 1 || (n && s.ptr[at] != '0');
    at += n;
    if (at < s.len && s.ptr[at] == '.') {
        n = value_digits(s, ++at);
        at += n;
        ok = ok && n;
    }
    if (at < s.len && (s.ptr[at] | 0x20) == 'e') {
        at++;
        at += at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-');
        n = value_digits(s, at);
        at += n;
        ok = ok && n;
    }
    return ok && at == s.len;
}

void value_number_to_json(Str text, Buf *out) {
    Str number = text.len && text.ptr[0] == '+' ? value_slice(text, 1, text.len) : text;
    if (is_json_number(number)) {
        buf_str(out, number);
        return;
    }
    buf_u8(out, '"');
    escape_json(out, text);
    buf_u8(out, '"');
}

/* Whether the text can be a value of this type without parts. */
static bool is_scalar(Str type, Str text) {
    if (!text.len)
        return false;
    if (str_is(type, "bool"))
        return str_is(text, "true") || str_is(text, "false");
    ReportVar var = {.type = type};
    ReportRow row = {.var = &var, .value = text};
    report_classify(&row);
    return row.class != REPORT_CLASS_TEXT;
}

static bool value_read_value(Reader *r, Str type, bool in_map, uint32_t depth, const Follow *f) {
    if (depth == MAX_DEPTH)
        return false;
    if (value_is_tuple(type))
        return value_read_tuple(r, type, in_map, depth + 1, f);
    if (value_is_map(type))
        return value_read_map(r, type, in_map, depth + 1, f);
    const char *start = r->at;
    while (r->at < r->end && !value_may_end(r, r->at, f))
        r->at++;
    Str text = {start, (uint32_t)(r->at - start)};
    if (str_is(type, "str")) {
        buf_u8(r->out, '"');
        escape_json(r->out, text);
        buf_u8(r->out, '"');
        return true;
    }
    if (!is_scalar(type, text))
        return false;
    if (str_is(type, "bool"))
        buf_str(r->out, text);
    else
        value_number_to_json(text, r->out);
    return true;
}

bool value_to_json(Str type, Str text, Buf *out) {
    Reader r = {text.ptr, text.ptr + text.len, out};
    return (value_is_tuple(type) || value_is_map(type)) &&
           value_read_value(&r, type, false, 0, NULL) && r.at == r.end;
}

/* ---- from JSON ---- */

typedef struct Writer {
    Json json;
    bool to_json, plain;
    Buf *out;
} Writer;

static bool write_value(Writer *w, Str type, bool in_map, uint32_t depth);

/* Copies a token of the output's syntax. */
static void value_put(Writer *w, const char *json, const char *csv) {
    buf_str(w->out, str_of(w->to_json ? json : csv));
}

static bool write_tuple(Writer *w, Str type, bool in_map, uint32_t depth) {
    Str types = value_tuple_types(type), part;
    if (!json_char(&w->json, '['))
        return false;
    value_put(w, "[", "(");
    while (value_next_type(&types, &part)) {
        if (!write_value(w, part, in_map, depth))
            return false;
        if (!types.len)
            break;
        if (!json_char(&w->json, ','))
            return false;
        value_put(w, ",", in_map ? "," : "; ");
    }
    value_put(w, "]", ")");
    return json_char(&w->json, ']');
}

static bool write_entry(Writer *w, Str key, Str value, uint32_t depth) {
    Json *j = &w->json;
    value_put(w, "{\"key\":", "");
    if (!json_char(j, '{') || !json_member(j, "key") || !write_value(w, key, true, depth))
        return false;
    value_put(w, ",\"value\":", "->");
    if (!json_char(j, ',') || !json_member(j, "value") || !write_value(w, value, true, depth))
        return false;
    value_put(w, "}", "");
    return json_char(j, '}');
}

static bool value_write_map(Writer *w, Str type, bool in_map, uint32_t depth) {
    Json *j = &w->json;
    Str key, value;
    if (!value_map_types(type, &key, &value) || !json_char(j, '['))
        return false;
    if (json_char(j, ']')) {
        value_put(w, "[]", in_map ? "{}" : "empty map");
        return true;
    }
    value_put(w, "[", in_map ? "{" : "");
    while (write_entry(w, key, value, depth)) {
        if (!json_char(j, ',')) {
            value_put(w, "]", in_map ? "}" : "");
            return json_char(j, ']');
        }
        value_put(w, ",", ";");
    }
    return false;
}

static bool write_scalar(Writer *w, Str type) {
    Json *j = &w->json;
    Str text;
    bool string = str_is(type, "str");
    json_blanks(j);
    bool nested = j->at < j->end && (*j->at == '[' || *j->at == '{');
    if (nested || !json_value(j, &text) || !text.ptr || (!string && !is_scalar(type, text)))
        return false;
    if (string && w->to_json)
        escape_json_string(w->out, text);
    else if (string && w->plain)
        escape_csv(w->out, text);
    else if (w->to_json && !str_is(type, "bool"))
        value_number_to_json(text, w->out);
    else if (!w->to_json && value_is_real(type) && text.ptr[0] >= '0' && text.ptr[0] <= '9')
        buf_printf(w->out, "+%.*s", STR_ARG(text));
    else
        buf_str(w->out, text);
    return true;
}

static bool write_value(Writer *w, Str type, bool in_map, uint32_t depth) {
    if (depth == MAX_DEPTH)
        return false;
    if (value_is_tuple(type))
        return write_tuple(w, type, in_map, depth + 1);
    if (value_is_map(type))
        return value_write_map(w, type, in_map, depth + 1);
    return write_scalar(w, type);
}

static bool write_from_json(Str type, Str json, bool to_json, bool plain, Buf *out) {
    Arena arena = {0};
    Writer w = {{&arena, json.ptr, json.ptr + json.len}, to_json, plain, out};
    bool ok = write_value(&w, type, false, 0) && w.json.at == w.json.end;
    arena_free(&arena);
    return ok;
}

bool value_to_csv(Str type, Str json, bool plain, Buf *out) {
    return write_from_json(type, json, false, plain, out);
}

/* ---- a whole report ---- */

void value_unify(Report *r) {
    Buf json = {0};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        ReportRow *row = &r->rows.at[i];
        Str type = row->var->type;
        if (!value_is_tuple(type) && !value_is_map(type))
            continue;
        json.len = 0;
        row->unreadable = r->json ? !write_from_json(type, row->value, true, false, &json)
                                  : !value_to_json(type, row->value, &json);
        if (!row->unreadable && !str_eq(row->value, buf_view(&json)))
            row->value = (Str){arena_strndup(&r->arena, (const char *)json.data, json.len),
                               (uint32_t)json.len};
    }
    r->json = true;
    buf_free(&json);
}
