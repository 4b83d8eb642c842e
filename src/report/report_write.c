/*
 * report/report_write.c - writes rows as a report.
 *
 * Reports in CSV and JSON differ in more than punctuation: script variables that take several
 * globals have several ids in CSV, floats have a sign.
 */
#include "report/report_write.h"
#include "base/escape.h"
#include "report/value.h"

#include <stdio.h>

/* ---- ids ---- */

/* The part before the first ';' or the end, without parentheses: the first of "(4; 5)". */
static Str first_of(Str s) {
    if (s.len < 2 || s.ptr[0] != '(')
        return s;
    uint32_t end = 1;
    while (end < s.len && s.ptr[end] != ';' && s.ptr[end] != ')')
        end++;
    return (Str){s.ptr + 1, end - 1};
}

#define MAX_ID UINT64_C(999999999999999999)

static uint32_t count_parts(Str wasm_type) {
    uint32_t n = wasm_type.len > 2;
    for (uint32_t i = 0; i < wasm_type.len; i++)
        n += wasm_type.ptr[i] == ';';
    return n;
}

/* The ids and their types in CSV, of a row that was read from JSON, too. */
static void csv_ids(const ReportRow *row, Buf *ids, Buf *types) {
    uint64_t id;
    Str wasm_type = row->var->wasm_type;
    bool several = str_is(row->var->id_type, "global_id") && wasm_type.len &&
                   wasm_type.ptr[0] == '(' && str_decimal(row->id, MAX_ID, &id);
    ids->len = types->len = 0;
    if (!several) {
        buf_str(ids, row->id);
        buf_str(types, row->var->id_type);
        return;
    }
    buf_u8(ids, '(');
    buf_u8(types, '(');
    for (uint32_t i = 0, n = count_parts(wasm_type); i < n; i++) {
        buf_printf(ids, "%s%llu", i ? "; " : "", (unsigned long long)(id + i));
        buf_printf(types, "%sglobal_id", i ? "; " : "");
    }
    buf_u8(ids, ')');
    buf_u8(types, ')');
}

/* The column with the type: of a derived column, with its formula. */
static Str type_column(const ReportVar *v, Buf *text) {
    if (!v->formula.ptr)
        return v->type;
    text->len = 0;
    buf_printf(text, "%.*s=%.*s", STR_ARG(v->type), STR_ARG(v->formula));
    return buf_view(text);
}

/* ---- CSV ---- */

static bool has_parts(const ReportRow *row) {
    return value_is_tuple(row->var->type) || value_is_map(row->var->type);
}

static void csv_value(const ReportRow *row, bool plain, Buf *out) {
    size_t before = out->len;
    if (row->class == REPORT_CLASS_TEXT && !has_parts(row)) {
        buf_str(out, row->value);
    } else if (row->class == REPORT_CLASS_REAL) {
        if (row->value.ptr[0] >= '0' && row->value.ptr[0] <= '9')
            buf_u8(out, '+');
        buf_str(out, row->value);
    } else if (row->class != REPORT_CLASS_TEXT) {
        buf_str(out, row->value);
    } else if (!value_to_csv(row->var->type, row->value, plain, out)) {
        out->len = before;
        buf_str(out, row->value);
    }
}

/* The value of a tuple or map; one that begins with text is guarded as text is. */
static void report_write_put_parts(Buf *out, Str type, Str s) {
    Str key, value;
    bool text = value_map_types(type, &key, &value) && str_is(key, "str");
    buf_str(out, text && escape_is_guarded(s, 0) ? STR("\"'") : STR("\""));
    escape_in_quotes(out, s);
    buf_u8(out, '"');
}

typedef struct Csv {
    bool plain, lines, modules, threads;
    Buf ids, types, value, type;
} Csv;

/* Text in a column after the value, where plain CSV is split at each ", ". */
static void put_unsplit(Buf *out, Str s) {
    Buf text = {0};
    escape_csv(&text, s);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != ' ' || out->data[out->len - 1] != ',')
            buf_u8(out, text.data[i]);
    buf_free(&text);
}

static void csv_text(const Csv *c, Str s, Buf *out) {
    buf_str(out, c->plain ? STR(", ") : STR(","));
    if (c->plain)
        put_unsplit(out, s);
    else
        escape_quoted_name(out, s);
}

static void csv_count(const Csv *c, uint32_t n, Buf *out) {
    buf_str(out, c->plain ? STR(", ") : STR(","));
    if (n)
        buf_printf(out, "%u", n);
}

static void csv_location(const Csv *c, const RowLocation *location, Buf *out) {
    static const RowLocation unknown = {0};
    const RowLocation *l = location ? location : &unknown;
    csv_text(c, l->file, out);
    csv_count(c, l->line, out);
    csv_count(c, l->line ? l->column : 0, out);
    csv_text(c, l->function, out);
}

static void report_write_csv_row(Csv *c, const ReportRow *row, Buf *out) {
    csv_ids(row, &c->ids, &c->types);
    c->value.len = 0;
    csv_value(row, c->plain, &c->value);
    char fid[16] = "", pc[16] = "";
    if (row->has_place) {
        snprintf(fid, sizeof fid, "%u", row->fid);
        snprintf(pc, sizeof pc, "%u", row->pc);
    }
    Str none = {"", 0};
    Str columns[] = {buf_view(&c->ids),
                     buf_view(&c->types),
                     row->var->name,
                     type_column(row->var, &c->type),
                     row->var->wasm_type,
                     row->var->script,
                     row->fname.ptr ? row->fname : none,
                     str_of(fid),
                     str_of(pc),
                     row->probe.ptr ? row->probe : none};
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (c->plain)
            escape_csv(out, columns[i]);
        else
            escape_quoted_name(out, columns[i]);
        buf_str(out, c->plain ? STR(", ") : STR(","));
    }
    if (c->plain)
        buf_str(out, buf_view(&c->value));
    else if (has_parts(row))
        report_write_put_parts(out, row->var->type, buf_view(&c->value));
    else if (row->class == REPORT_CLASS_TEXT)
        escape_quoted(out, buf_view(&c->value));
    else
        buf_str(out, buf_view(&c->value));
    if (c->lines)
        csv_location(c, row->location, out);
    if (c->modules)
        csv_text(c, row->module ? *row->module : none, out);
    if (c->threads)
        csv_text(c, row->thread ? *row->thread : none, out);
    buf_str(out, c->plain ? STR("\n") : STR("\r\n"));
}

/* Whether the rows are of several modules. */
static bool has_modules(const Report *r) {
    return r->rows.len && r->rows.at[0].module;
}

/* Whether each row is of one thread. */
static bool has_threads(const Report *r) {
    return r->rows.len && r->rows.at[0].thread;
}

static void report_write_write_csv(const Report *r, bool plain, bool lines, Buf *out) {
    Csv c = {.plain = plain, .lines = lines, .modules = has_modules(r), .threads = has_threads(r)};
    if (plain)
        buf_str(out, STR("\n================================= REPORT CSV FLUSH "
                         "====================================\n"
                         "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, "
                         "probe_id, value(s)"));
    else
        buf_str(out, STR("id,id_type,name,whamm_type,wasm_type,script_id,fname,fid,pc,probe_id,"
                         "value(s)"));
    if (lines)
        buf_str(out, plain ? STR(", file, line, column, src_function")
                           : STR(",file,line,column,src_function"));
    if (c.modules)
        buf_str(out, plain ? STR(", module") : STR(",module"));
    if (c.threads)
        buf_str(out, plain ? STR(", thread") : STR(",thread"));
    buf_str(out, plain ? STR("\n") : STR("\r\n"));
    for (uint32_t i = 0; i < r->rows.len; i++)
        report_write_csv_row(&c, &r->rows.at[i], out);
    buf_free(&c.ids);
    buf_free(&c.types);
    buf_free(&c.value);
    buf_free(&c.type);
}

/* ---- JSON ---- */

static void report_write_put_string(Buf *out, const char *name, Str s) {
    buf_str(out, str_of(name));
    if (!s.ptr) {
        buf_str(out, STR("null"));
        return;
    }
    escape_json_string(out, s);
}

static void json_count(Buf *out, const char *name, uint32_t n) {
    if (n)
        buf_printf(out, "%s%u", name, n);
    else
        buf_printf(out, "%snull", name);
}

static void json_location(const RowLocation *location, Buf *out) {
    static const RowLocation unknown = {0};
    const RowLocation *l = location ? location : &unknown;
    Str none = {NULL, 0};
    report_write_put_string(out, ",\"file\":", l->file.len ? l->file : none);
    json_count(out, ",\"line\":", l->line);
    json_count(out, ",\"column\":", l->line ? l->column : 0);
    report_write_put_string(out, ",\"src_function\":", l->function.len ? l->function : none);
}

static void report_write_json_row(const ReportRow *row, bool lines, Buf *out) {
    Buf type = {0};
    uint64_t n;
    Str id = first_of(row->id), id_type = first_of(row->var->id_type);
    if (!id.len && !id_type.len) { /* an empty tuple's, "()" */
        id = STR("0");
        id_type = STR("global_id");
    }
    if (str_decimal(id, MAX_ID, &n))
        buf_printf(out, "{\"id\":%.*s", STR_ARG(id));
    else
        report_write_put_string(out, "{\"id\":", id);
    report_write_put_string(out, ",\"id_type\":", id_type);
    report_write_put_string(out, ",\"name\":", row->var->name);
    report_write_put_string(out, ",\"type\":", type_column(row->var, &type));
    buf_free(&type);
    report_write_put_string(out, ",\"wasm_type\":", row->var->wasm_type);
    report_write_put_string(out, ",\"script\":", row->var->script);
    report_write_put_string(out, ",\"fname\":", row->fname);
    if (row->has_place)
        buf_printf(out, ",\"fid\":%u,\"pc\":%u", row->fid, row->pc);
    else
        buf_str(out, STR(",\"fid\":null,\"pc\":null"));
    report_write_put_string(out, ",\"probe\":", row->probe);
    if (row->class == REPORT_CLASS_TEXT && (!has_parts(row) || row->unreadable)) {
        report_write_put_string(out, ",\"value\":", row->value.ptr ? row->value : (Str){"", 0});
    } else {
        buf_str(out, STR(",\"value\":"));
        if (row->class == REPORT_CLASS_TEXT || row->class == REPORT_CLASS_BOOL)
            buf_str(out, row->value);
        else
            value_number_to_json(row->value, out);
    }
    if (lines)
        json_location(row->location, out);
    if (row->module)
        report_write_put_string(out, ",\"module\":", *row->module);
    if (row->thread)
        report_write_put_string(out, ",\"thread\":", *row->thread);
    buf_str(out, STR("}\n"));
}

static void report_write_write_json(const Report *r, bool lines, Buf *out) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        report_write_json_row(&r->rows.at[i], lines, out);
}

void write_report(const Report *r, WriteForm form, bool lines, Buf *out) {
    if (form == WRITE_JSON)
        report_write_write_json(r, lines, out);
    else
        report_write_write_csv(r, form == WRITE_CSV, lines, out);
}
