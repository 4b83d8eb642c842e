/*
 * report/report_read.c - reads reports (CSV of both kinds or JSON lines) back into rows.
 *
 * Plain CSV: a report starts with the line of '=' signs and ends before the first line that is no
 * row; there is no quoting, and function names may contain ", ", so the place is found by its form:
 * ", fid, pc, n_probe, ". JSON: each line that is an object with the columns of a report is a row;
 * a report ends where the id of its first row comes again. Quoted CSV: a report starts with the
 * line of the columns' names and ends before the first record that is not a row; a record may have
 * several lines.
 *
 * Before a report in any of these forms a line {"whammc":1,...} can name its origin. All that
 * follows has this origin, up to the line {"whammc":"end"}. A line {"whammc":"run",...} is about
 * the run.
 */
#include "report/report_read.h"
#include "base/escape.h"
#include "base/json.h"
#include "check/check.h"
#include "report/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

typedef struct Parser {
    const ReportTaker *taker;
    Arena *arena;
    Buf *rest;
    Report report;    /* that is being read */
    bool begun;       /* there is one */
    RunOrigin origin; /* of the reports that follow */
    bool announced;   /* a line has told the origin, and the end has not come yet */
    bool torn;        /* the text ends where a report should begin */
    enum { IN_NOTHING, IN_CSV, IN_QUOTED } in; /* the origin of the lines before */
    Str first_id, first_id_type; /* of the report's first row, if that was JSON; else ptr is NULL */
    Str first_line;
    const ReportVar *last_var;
    const Str *last_module, *last_thread;
    Buf key;
    bool located;   /* it has columns with locations */
    bool by_module; /* ... and one with the module, after these */
    bool by_thread; /* ... and one with the thread, the last one */
    bool plain;     /* the report is plain CSV */
    bool empty;     /* the line before was empty and is not in the rest yet */
    Str end;        /* the line before which the last report in CSV has ended; no ptr = none has */
    bool quoted;    /* ... which was CSV with quotes */
    Str early;      /* the first line, before a report in JSON, that should have been a row of it */
} Parser;

/* ---- slices ---- */

static Str report_read_slice(Str s, uint32_t from, uint32_t to) {
    return (Str){s.ptr + from, to - from};
}

/* Takes the part of *s before ", ", and that too. */
static bool take_column(Str *s, Str *column) {
    for (uint32_t i = 0; i + 1 < s->len; i++) {
        if (s->ptr[i] == ',' && s->ptr[i + 1] == ' ') {
            *column = report_read_slice(*s, 0, i);
            *s = report_read_slice(*s, i + 2, s->len);
            return true;
        }
    }
    return false;
}

static bool take_u32(Str *s, uint32_t *value) {
    Str column;
    uint64_t v;
    if (!take_column(s, &column) || !str_decimal(column, UINT32_MAX, &v))
        return false;
    *value = (uint32_t)v;
    return true;
}

/* ---- values ---- */

/* As reports have it, or as printf writes it. */
static bool read_real(Str s, double *value) {
    char copy[64], *end;
    if (s.len == 0 || s.len >= sizeof copy)
        return false;
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    size_t sign = copy[0] == '+' || copy[0] == '-';
    bool named = strcasecmp(copy + sign, "inf") == 0 || strcasecmp(copy + sign, "nan") == 0;
    if (!named && strspn(copy, "0123456789.eE+-") != s.len)
        return false;
    *value = strtod(copy, &end);
    return *end == '\0';
}

static bool read_signed(Str s, int64_t *value) {
    uint64_t v;
    bool negative = s.len && s.ptr[0] == '-';
    if (!str_decimal(negative ? report_read_slice(s, 1, s.len) : s, (uint64_t)INT64_MAX + negative,
                     &v))
        return false;
    *value = (int64_t)(negative ? 0 - v : v);
    return true;
}

static bool is_one_of(Str s, const char *const *names) {
    for (; *names; names++)
        if (str_is(s, *names))
            return true;
    return false;
}

void report_classify(ReportRow *row) {
    static const char *const unsigneds[] = {"u8", "u16", "u32", "u64", NULL};
    static const char *const signeds[] = {"i8", "i16", "i32", "i64", NULL};
    static const char *const reals[] = {"f32", "f64", NULL};
    AggregateType aggregate;
    Str type = row->var->type, value = row->value;
    row->class = REPORT_CLASS_TEXT;
    if (aggregate_read(type, &aggregate) && aggregate_number(&aggregate).ptr)
        type = aggregate_number(&aggregate);
    if (is_one_of(type, unsigneds) && str_decimal(value, UINT64_MAX, &row->number.u))
        row->class = REPORT_CLASS_UNSIGNED;
    else if (is_one_of(type, signeds) && read_signed(value, &row->number.i))
        row->class = REPORT_CLASS_SIGNED;
    else if (is_one_of(type, reals) && read_real(value, &row->number.real))
        row->class = REPORT_CLASS_REAL;
    else if (str_is(type, "bool") && (str_is(value, "true") || str_is(value, "false"))) {
        row->class = REPORT_CLASS_BOOL;
        row->number.u = str_is(value, "true");
    }
    if (is_one_of(type, unsigneds) || is_one_of(type, signeds) || is_one_of(type, reals) ||
        str_is(type, "bool"))
        row->unreadable = row->class == REPORT_CLASS_TEXT;
}

/* ---- variables ---- */

static bool same_var(const ReportVar *a, const ReportVar *b) {
    return str_eq(a->name, b->name) && str_eq(a->id_type, b->id_type) && str_eq(a->type, b->type) &&
           str_eq(a->wasm_type, b->wasm_type) && str_eq(a->script, b->script) &&
           str_eq(a->formula, b->formula);
}

/* Takes the formula of a derived column from its type: "f64=hits all /". */
static void take_formula(ReportVar *var) {
    const char *equals = var->type.len ? memchr(var->type.ptr, '=', var->type.len) : NULL;
    uint32_t at = equals ? (uint32_t)(equals - var->type.ptr) : 0;
    Str type = {var->type.ptr, at};
    if (!str_is(type, "f64") && !str_is(type, "u64") && !str_is(type, "i64"))
        return;
    var->formula = report_read_slice(var->type, at + 1, var->type.len);
    var->type.len = at;
}

/* The one ReportVar that equals `var`. Rows of one variable stand together, so the last is tried
 * first. */
static const ReportVar *report_read_intern(Parser *p, ReportVar *var) {
    take_formula(var);
    if (p->last_var && same_var(p->last_var, var))
        return p->last_var;
    Str columns[] = {var->id_type, var->name, var->type, var->wasm_type, var->script, var->formula};
    p->key.len = 0;
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++)
        buf_name(&p->key, columns[i]);
    bool added;
    Str key = buf_view(&p->key);
    uint64_t *kept = map_put(p->taker->vars, key, 0, &added);
    if (added) {
        ReportVar *copy = arena_new(p->arena, ReportVar);
        *copy = *var;
        *kept = (uint64_t)(uintptr_t)copy;
    }
    p->last_var = (const ReportVar *)(uintptr_t)*kept;
    return p->last_var;
}

/* ---- locations ---- */

enum { LOCATION_FILE, LOCATION_LINE, LOCATION_COLUMN, LOCATION_FUNCTION, LOCATION_COLUMNS };

/* The columns of a location; rows of one place stand together. */
static const RowLocation *read_location(Parser *p, const Str columns[LOCATION_COLUMNS]) {
    uint64_t line = 0, column = 0;
    if (columns[LOCATION_LINE].len && !str_decimal(columns[LOCATION_LINE], UINT32_MAX, &line))
        return NULL;
    if (columns[LOCATION_COLUMN].len && !str_decimal(columns[LOCATION_COLUMN], UINT32_MAX, &column))
        return NULL;
    Str file = columns[LOCATION_FILE], function = columns[LOCATION_FUNCTION];
    if (!file.len && !function.len && !line)
        return NULL;
    RowLocation *location = arena_new(p->arena, RowLocation);
    *location = (RowLocation){file, function, (uint32_t)line, (uint32_t)column};
    return location;
}

/* The content of the column `module` or `thread`. Rows whose text equals *last follow each
 * other. */
static const Str *report_read_read_part(Parser *p, const Str **last, Str text) {
    if (*last && str_eq(**last, text))
        return *last;
    Str *kept = arena_new(p->arena, Str);
    *kept = text;
    *last = kept;
    return kept;
}

/* Takes the part of *s after its last ", ", and that too. */
static bool take_last_column(Str *s, Str *column) {
    for (uint32_t i = s->len; i-- > 1;) {
        if (s->ptr[i - 1] == ',' && s->ptr[i] == ' ') {
            *column = report_read_slice(*s, i + 1, s->len);
            *s = report_read_slice(*s, 0, i - 1);
            return true;
        }
    }
    return false;
}

/* In plain CSV the columns of the location, the module and the thread come after the value, which
 * may be any text, but have no ", " in them. */
static void split_value(Parser *p, ReportRow *row) {
    Str columns[LOCATION_COLUMNS], value = row->value, module, thread;
    if (p->by_thread && take_last_column(&value, &thread))
        row->thread = report_read_read_part(p, &p->last_thread, thread);
    if (p->by_module && take_last_column(&value, &module))
        row->module = report_read_read_part(p, &p->last_module, module);
    for (uint32_t i = p->report.located ? LOCATION_COLUMNS : 0; i-- > 0;)
        if (!take_last_column(&value, &columns[i]))
            return;
    row->value = value;
    if (p->report.located)
        row->location = read_location(p, columns);
    report_classify(row);
}

/* ---- CSV ---- */

/* Whether s starts with a probe id: digits, '_', a rule. */
static bool is_probe_id(Str s) {
    uint32_t i = 0;
    while (i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9')
        i++;
    return i && i < s.len && s.ptr[i] == '_';
}

/* "fname, fid, pc, probe, value" */
static bool csv_place(Str rest, ReportRow *row) {
    for (uint32_t i = 0; i + 1 < rest.len; i++) {
        if (rest.ptr[i] != ',' || rest.ptr[i + 1] != ' ')
            continue;
        Str tail = report_read_slice(rest, i + 2, rest.len);
        if (take_u32(&tail, &row->fid) && take_u32(&tail, &row->pc) && is_probe_id(tail) &&
            take_column(&tail, &row->probe)) {
            row->fname = report_read_slice(rest, 0, i);
            row->value = tail;
            row->has_place = true;
            return true;
        }
    }
    return false;
}

static bool report_read_csv_row(Parser *p, Str line, ReportRow *row) {
    memset(row, 0, sizeof *row);
    ReportVar var = {0};
    Str *columns[] = {&row->id, &var.id_type, &var.name, &var.type, &var.wasm_type, &var.script};
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!take_column(&line, columns[i]))
            return false;
    if (row->id.len == 0 || var.id_type.len == 0)
        return false;
    if (!str_begins(line, STR(", , , "))) {
        if (!csv_place(line, row))
            return false;
    } else {
        line = report_read_slice(line, 6, line.len);
        if (!take_column(&line, &row->probe))
            return false;
        if (row->probe.len == 0)
            row->probe.ptr = NULL;
        row->value = line;
    }
    row->var = report_read_intern(p, &var);
    report_classify(row);
    return true;
}

static bool is_csv_start(Str line) {
    return str_begins(line, STR("=====")) && line.len > 40 &&
           memmem(line.ptr, line.len, " REPORT CSV FLUSH ", 18) != NULL;
}

/* ---- quoted CSV ---- */

enum {
    QUOTED_FID = 7,
    QUOTED_PC,
    QUOTED_PROBE,
    QUOTED_VALUE,
    QUOTED_LOCATION,                                    /* these may be missing */
    QUOTED_MODULE = QUOTED_LOCATION + LOCATION_COLUMNS, /* and this */
    QUOTED_THREAD,                                      /* and this */
    QUOTED_COLUMNS
};

/* The optional columns of a report. */
typedef struct More {
    bool located, by_module, by_thread;
} More;

/* Takes the end of *s if it is this. */
static bool take_end(Str *s, Str end) {
    bool ok = str_ends(*s, end);
    s->len -= ok ? end.len : 0;
    return ok;
}

/* The names of the columns; *more: which of those there are that may be missing. */
static bool is_quoted_start(Str line, More *more) {
    more->by_thread = take_end(&line, STR(",thread"));
    more->by_module = take_end(&line, STR(",module"));
    more->located = take_end(&line, STR(",file,line,column,src_function"));
    return str_is(line,
                  "id,id_type,name,whamm_type,wasm_type,script_id,fname,fid,pc,probe_id,value(s)");
}

/* The contents of a quoted field, *at after the opening quote; false if it is not closed. */
static bool quoted_contents(Parser *p, Str text, uint32_t *at, Str *field) {
    uint32_t start = *at, i = start, doubled = 0;
    for (; i < text.len; i++) {
        if (text.ptr[i] != '"')
            continue;
        if (i + 1 == text.len || text.ptr[i + 1] != '"')
            break;
        doubled++;
        i++;
    }
    if (i >= text.len)
        return false;
    *at = i + 1;
    *field = report_read_slice(text, start, i);
    if (!doubled)
        return true;
    char *copy = arena_alloc(p->arena, field->len), *to = copy;
    for (uint32_t k = start; k < i; k++) {
        *to++ = text.ptr[k];
        k += text.ptr[k] == '"';
    }
    *field = (Str){copy, (uint32_t)(to - copy)};
    return true;
}

/* A field without the apostrophe that guards it. */
static Str unguarded(Str s) {
    Str rest = s.len && s.ptr[0] == '\'' ? report_read_slice(s, 1, s.len) : s;
    return escape_is_guarded(rest, 0) ? rest : s;
}

/*
 * Reads the record at *at, and its end of line if it has one; false if it is no row. *whole: it
 * ended in a line feed.
 */
static bool quoted_row(Parser *p, Str text, uint32_t *at, bool *whole, ReportRow *row) {
    Str f[QUOTED_COLUMNS];
    uint32_t i = *at, n = 0;
    uint32_t columns = (p->located ? QUOTED_MODULE : QUOTED_LOCATION) + p->by_module + p->by_thread;
    for (;; i++) {
        if (n == columns)
            return false;
        if (i < text.len && text.ptr[i] == '"') {
            i++;
            if (!quoted_contents(p, text, &i, &f[n++]))
                return false;
        } else {
            uint32_t start = i;
            while (i < text.len && text.ptr[i] != ',' && text.ptr[i] != '\n')
                i++;
            bool cr = i > start && i < text.len && text.ptr[i] == '\n' && text.ptr[i - 1] == '\r';
            f[n++] = report_read_slice(text, start, i - cr);
        }
        if (i < text.len && text.ptr[i] == '\r')
            i++;
        if (i == text.len || text.ptr[i] != ',')
            break;
    }
    if (n < columns || (i < text.len && text.ptr[i] != '\n') || !f[0].len || !f[1].len)
        return false;
    for (uint32_t k = 0; k < n; k++)
        f[k] = unguarded(f[k]);
    uint64_t fid = 0, pc = 0;
    bool has_place = f[6].len || f[QUOTED_FID].len || f[QUOTED_PC].len;
    if (has_place && (!str_decimal(f[QUOTED_FID], UINT32_MAX, &fid) ||
                      !str_decimal(f[QUOTED_PC], UINT32_MAX, &pc)))
        return false;
    *whole = i < text.len;
    *at = i + *whole;
    ReportVar var = {f[1], f[2], f[3], f[4], f[5], {0}};
    *row = (ReportRow){.id = f[0], .probe = f[QUOTED_PROBE], .value = f[QUOTED_VALUE]};
    row->has_place = has_place;
    if (has_place) {
        row->fname = f[6];
        row->fid = (uint32_t)fid;
        row->pc = (uint32_t)pc;
    }
    if (!row->probe.len)
        row->probe.ptr = NULL;
    if (p->located)
        row->location = read_location(p, &f[QUOTED_LOCATION]);
    if (p->by_thread)
        row->thread = report_read_read_part(p, &p->last_thread, f[--n]);
    if (p->by_module)
        row->module = report_read_read_part(p, &p->last_module, f[--n]);
    row->var = report_read_intern(p, &var);
    report_classify(row);
    return true;
}

/* ---- JSON ---- */

enum {
    JSON_FID = 8,
    JSON_PC,
    JSON_VALUE,
    JSON_LOCATION,                                  /* these may be missing */
    JSON_MODULE = JSON_LOCATION + LOCATION_COLUMNS, /* and this */
    JSON_THREAD,                                    /* and this */
    JSON_COLUMNS
};

static bool report_read_json_row(Parser *p, Str line, ReportRow *row) {
    static const char *const names[JSON_COLUMNS] = {
        "id", "id_type", "name", "type", "wasm_type", "script",       "fname",  "probe", "fid",
        "pc", "value",   "file", "line", "column",    "src_function", "module", "thread"};
    Str v[JSON_COLUMNS] = {0};
    Json j = {p->arena, line.ptr, line.ptr + line.len};
    if (!json_object(&j, names, JSON_COLUMNS, v) || !v[0].ptr || !v[1].ptr || !v[2].ptr ||
        !v[3].ptr || !v[JSON_VALUE].ptr)
        return false;
    uint64_t fid = 0, pc = 0;
    ReportVar var = {v[1], v[2], v[3], v[4], v[5], {0}};
    *row = (ReportRow){.id = v[0], .fname = v[6], .probe = v[7], .value = v[JSON_VALUE]};
    row->has_place = v[JSON_FID].ptr || v[JSON_PC].ptr;
    if (row->has_place &&
        (!str_decimal(v[JSON_FID], UINT32_MAX, &fid) || !str_decimal(v[JSON_PC], UINT32_MAX, &pc)))
        return false;
    row->fid = (uint32_t)fid;
    row->pc = (uint32_t)pc;
    row->location = read_location(p, &v[JSON_LOCATION]);
    p->located |= v[JSON_LOCATION].ptr || v[JSON_LOCATION + LOCATION_LINE].ptr;
    if (v[JSON_MODULE].ptr)
        row->module = report_read_read_part(p, &p->last_module, v[JSON_MODULE]);
    if (v[JSON_THREAD].ptr)
        row->thread = report_read_read_part(p, &p->last_thread, v[JSON_THREAD]);
    row->var = report_read_intern(p, &var);
    report_classify(row);
    return true;
}

/* ---- the reports of the text ---- */

static void report_read_take(Parser *p, Report *r) {
    const Str *module = r->rows.len ? r->rows.at[0].module : NULL;
    const Str *thread = r->rows.len ? r->rows.at[0].thread : NULL;
    RunOrigin origin = p->origin;
    if (module || thread) {
        origin = (RunOrigin){.told = true, .module.name = STR("")};
        if (module)
            origin.module.id = origin.module.name = *module;
        if (thread)
            origin.thread = *thread;
    }
    for (uint32_t i = 0; thread && i < r->rows.len; i++)
        r->rows.at[i].thread = NULL; /* the origin has it */
    p->taker->take(p->taker->ctx, &origin, r);
}

static bool same_part(const ReportRow *a, const ReportRow *b) {
    return a->module == b->module && a->thread == b->thread;
}

/* Hands over the rows of each module and thread separately. Problems of the report are reported
 * once. */
static void take_by_part(Parser *p) {
    Report *all = &p->report;
    for (uint32_t i = 0; i < all->rows.len;) {
        const ReportRow *first = &all->rows.at[i];
        Report r = {.json = all->json, .located = all->located};
        for (; i < all->rows.len && same_part(&all->rows.at[i], first); i++)
            vec_push(&r.rows, all->rows.at[i]);
        if (i == all->rows.len) {
            r.cut = all->cut;
            r.ends_early = all->ends_early;
            r.wrong = all->wrong;
        }
        report_read_take(p, &r);
    }
    report_free(all);
}

/* `cut`: without the end that was announced. */
static void end_report(Parser *p, bool cut) {
    Report *r = &p->report;
    if (!p->begun)
        return;
    p->begun = false;
    r->cut |= cut;
    bool more = r->located || p->by_module || p->by_thread;
    for (uint32_t i = 0; more && p->plain && i < r->rows.len; i++)
        split_value(p, &r->rows.at[i]);
    if (r->rows.len && !same_part(&vec_last(&r->rows), &r->rows.at[0]))
        take_by_part(p);
    else
        report_read_take(p, r);
    *r = (Report){0};
}

static void start_report(Parser *p, bool json, bool plain) {
    end_report(p, false); /* another flush follows, so this one was whole */
    p->begun = true;
    p->empty = false; /* it is the report's */
    p->first_id = p->end = (Str){NULL, 0};
    p->report = (Report){.json = json, .wrong = json ? p->early : (Str){NULL, 0}};
    p->early.ptr = NULL;
    p->plain = plain;
}

/* A line should have been a row of the current report. */
static void note_wrong(Parser *p, Str line, bool ends) {
    if (!p->begun || p->report.wrong.ptr)
        return;
    p->report.wrong = line;
    p->report.ends_early = ends;
}

/* Whether there is a row of CSV at `at`, after the end of the report: then a line before it ended
 * the report early. */
static bool is_late_row(Parser *p, Str text, uint32_t at, Str line) {
    ReportRow row;
    bool whole;
    return p->end.ptr && !p->in &&
           (p->quoted ? quoted_row(p, text, &at, &whole, &row)
                      : report_read_csv_row(p, line, &row));
}

static void report_read_add_row(Parser *p, const ReportRow *row, bool whole) {
    p->report.located |= p->located;
    if (whole)
        vec_push(&p->report.rows, *row);
    else
        p->report.cut = true;
}

/* The line is not the report's. */
static void add_rest(Parser *p, Str line, bool whole) {
    if (p->empty)
        buf_u8(p->rest, '\n');
    p->empty = whole && line.len == 0;
    if (p->empty)
        return;
    buf_str(p->rest, line);
    if (whole)
        buf_u8(p->rest, '\n');
}

/* ---- origins ---- */

/* An announced report has no end. */
static void leave_origin(Parser *p) {
    p->torn |= p->announced && !p->begun;
    end_report(p, p->announced);
    p->origin = (RunOrigin){0};
    p->announced = false;
    p->in = IN_NOTHING;
    p->first_id = p->end = (Str){NULL, 0};
}

/* A line that tells whose reports follow, ends them, or tells of the threads of the run. */
static bool read_run_line(Parser *p, Str line) {
    RunOrigin origin;
    RunThreads threads;
    RunLine what = run_read_line(line, p->arena, &origin, &threads);
    if (what == RUN_NO_LINE)
        return false;
    p->empty = false;
    if (what == RUN_END)
        p->announced = false; /* as it should */
    leave_origin(p);
    if (what == RUN_ORIGIN) {
        p->origin = origin;
        p->announced = true;
    } else if (what == RUN_THREADS) {
        p->taker->threads->began += threads.began;
        p->taker->threads->complete += threads.complete;
    } else if (what == RUN_WRONG && !p->early.ptr) {
        p->early = line;
    }
    return true;
}

/* ---- lines ---- */

/* A line that could be JSON. */
static void read_json(Parser *p, Str line, bool whole) {
    ReportRow row;
    bool located = p->located;
    p->located = false;
    if (!report_read_json_row(p, line, &row)) {
        p->located = located;
        bool begins = str_begins(line, STR("{\"id\":"));
        if (begins && p->first_id.ptr && !whole && p->begun) {
            if (str_begins(p->first_line, line)) /* it is the first row of another one */
                start_report(p, true, false);
            p->report.cut = true;
        } else
            add_rest(p, line, whole);
        begins = begins && memmem(line.ptr, line.len, "\"id_type\":", 10);
        if (begins && p->first_id.ptr && whole)
            note_wrong(p, line, false);
        else if (begins && !p->early.ptr)
            p->early = line;
        return;
    }
    bool again = p->first_id.ptr && str_eq(p->first_id, row.id) &&
                 str_eq(p->first_id_type, row.var->id_type);
    if (p->in || !p->first_id.ptr || again) {
        start_report(p, true, false);
        p->in = IN_NOTHING;
        p->first_id = row.id;
        p->first_id_type = row.var->id_type;
        p->first_line = line;
    }
    report_read_add_row(p, &row, whole);
}

/* The line with which a report in CSV starts. */
static void start_csv(Parser *p, bool quoted, More more, bool whole) {
    start_report(p, false, !quoted);
    p->in = quoted ? IN_QUOTED : IN_CSV;
    p->located = more.located;
    p->by_module = more.by_module;
    p->by_thread = more.by_thread;
    p->report.cut |= !whole;
}

/* Skips text that is no row of a report. */
static void read_other(Parser *p, Str line, bool whole) {
    bool digit = line.len && line.ptr[0] >= '0' && line.ptr[0] <= '9';
    bool head = line.len && str_begins(STR("id, id_type, "), line);
    bool cut = p->in && !whole && (digit || head);
    if (p->in) {
        p->end = line;
        p->quoted = p->in == IN_QUOTED;
    }
    p->in = IN_NOTHING;
    if (cut && p->begun)
        p->report.cut = true;
    else
        add_rest(p, line, whole);
}

/* `whole`: the line ends in a line feed. */
static void report_read_read_line(Parser *p, Str line, bool whole) {
    ReportRow row;
    More more = {0};
    if (line.len && line.ptr[0] == '=' && is_csv_start(line)) {
        start_csv(p, false, more, whole);
    } else if (is_quoted_start(line, &more)) {
        start_csv(p, true, more, whole);
    } else if (read_run_line(p, line)) {
    } else if (run_is_line(line) && !whole) {
        p->torn = true;
    } else if (line.len > 5 && line.ptr[0] == '{') {
        read_json(p, line, whole);
    } else if (p->in == IN_CSV && report_read_csv_row(p, line, &row)) {
        report_read_add_row(p, &row, whole);
    } else if (p->in && str_begins(line, STR("id, id_type, "))) {
        p->by_thread = take_end(&line, STR(", thread"));
        p->by_module = take_end(&line, STR(", module"));
        p->located = str_ends(line, STR(", file, line, column, src_function"));
        p->report.cut |= !whole;
    } else {
        read_other(p, line, whole);
    }
}

enum { VALUE_LINES = 100 }; /* how far a string may reach over lines */

/*
 * In plain CSV a string with line ends makes its row several lines long. The lines at `at` belong
 * to the row before if its type has a str in it and another row follows soon, before the next
 * report; *end is where that begins.
 */
static bool continues_value(Parser *p, Str text, uint32_t at, uint32_t *end) {
    const Report *r = &p->report;
    if (p->in != IN_CSV || !r->rows.len)
        return false;
    Str type = vec_last(&r->rows).var->type;
    if (!memmem(type.ptr, type.len, "str", 3))
        return false;
    for (uint32_t n = 0; n <= VALUE_LINES && at < text.len; n++) {
        const char *lf = memchr(text.ptr + at, '\n', text.len - at);
        uint32_t line_end = lf ? (uint32_t)(lf - text.ptr) : text.len;
        ReportRow row;
        Str line = report_read_slice(text, at, line_end);
        if (is_csv_start(line) || run_is_line(line))
            return false;
        if (report_read_csv_row(p, line, &row)) {
            *end = at;
            return n > 0;
        }
        at = line_end + 1;
    }
    return false;
}

/* Reads the item at `at`; returns the beginning of the next one. */
static uint32_t read_next(Parser *p, Str text, uint32_t at) {
    const char *start = text.ptr + at, *lf = memchr(start, '\n', text.len - at);
    uint32_t end = lf ? (uint32_t)(lf - text.ptr) : text.len, next;
    Str line = report_read_slice(text, at, end);
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    ReportRow row;
    More more;
    bool whole;
    if (p->in == IN_QUOTED && !is_quoted_start(line, &more) && !run_is_line(line) &&
        quoted_row(p, text, &at, &whole, &row)) {
        report_read_add_row(p, &row, whole);
        return at;
    }
    if (continues_value(p, text, at, &next)) {
        Str *value = &vec_last(&p->report.rows).value;
        value->len = (uint32_t)(text.ptr + next - 1 - value->ptr);
        return next;
    }
    if (is_late_row(p, text, at, line)) {
        note_wrong(p, p->end, true);
        p->end.ptr = NULL;
    }
    report_read_read_line(p, line, lf != NULL);
    return end + (lf != NULL);
}

bool report_read(Str text, const ReportTaker *taker, Buf *rest) {
    Parser p = {.taker = taker, .arena = taker->arena, .rest = rest};
    uint32_t at = str_begins(text, STR("\xef\xbb\xbf")) ? 3 : 0; /* by spreadsheets */
    while (at < text.len)
        at = read_next(&p, text, at);
    leave_origin(&p);
    if (p.empty)
        buf_u8(rest, '\n');
    buf_free(&p.key);
    return !p.torn;
}

bool report_same_row(const ReportRow *a, const ReportRow *b) {
    bool same_var = a->var == b->var ||
                    (str_eq(a->var->name, b->var->name) && str_eq(a->var->type, b->var->type) &&
                     str_eq(a->var->script, b->var->script));
    return same_var && a->has_place == b->has_place &&
           (!a->has_place || (a->fid == b->fid && a->pc == b->pc)) && str_eq(a->probe, b->probe) &&
           str_eq(a->fname, b->fname);
}

/* ---- warnings ---- */

/* Some of a text, without characters that terminals interpret. */
static const char *excerpt(Str s, Buf *out) {
    enum { MOST = 60 };
    uint32_t n = s.len;
    if (n > MOST)
        for (n = MOST; n && ((uint8_t)s.ptr[n] & 0xc0) == 0x80;)
            n--;
    out->len = 0;
    escape_shown(out, report_read_slice(s, 0, n));
    buf_str(out, n < s.len ? STR("...") : STR(""));
    return buf_cstr(out);
}

/* "line N", if s is a part of the text; else "the report". */
static const char *report_read_line_of(Str s, Str text, char buf[24]) {
    uint32_t line = 1;
    if (s.ptr < text.ptr || s.ptr > text.ptr + text.len)
        return "the report";
    for (const char *p = text.ptr; p < s.ptr && (p = memchr(p, '\n', (size_t)(s.ptr - p))); p++)
        line++;
    snprintf(buf, 24, "line %u", line);
    return buf;
}

static void warn_of_value(const Report *r, const char *name, Str text, Diags *diags) {
    const ReportRow *first = NULL;
    uint32_t n = 0;
    char line[24];
    Buf value = {0}, variable = {0}, type = {0};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        if (!r->rows.at[i].unreadable)
            continue;
        first = first ? first : &r->rows.at[i];
        n++;
    }
    if (first) {
        Diag *g = diag(diags, DIAG_BAD_VALUE, NO_SPAN,
                       "%s: %s: expected a value of type %s for '%s', found '%s'", name,
                       report_read_line_of(first->id, text, line), excerpt(first->var->type, &type),
                       excerpt(first->var->name, &variable), excerpt(first->value, &value));
        if (n > 1)
            diag_hint(diags, g, "%u more values are not of the types of their variables", n - 1);
    }
    buf_free(&value);
    buf_free(&variable);
    buf_free(&type);
}

bool report_is_stopped(const ReportRow *row) {
    return str_begins(row->var->name, STR(STOPPED));
}

static void warn_of_stopped(const Report *r, const char *name, Diags *diags) {
    Diag *last = NULL;
    Buf script = {0}, rule = {0};
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!report_is_stopped(row) || row->class != REPORT_CLASS_UNSIGNED || !row->number.u)
            continue;
        Str place = report_read_slice(row->var->name, sizeof STOPPED - 1, row->var->name.len);
        last = diag(diags, DIAG_STOPPED, NO_SPAN,
                    "%s: '%s' of %s took too many steps and was switched off", name,
                    excerpt(place, &rule), excerpt(row->var->script, &script));
    }
    if (last)
        diag_hint(diags, last,
                  "--steps gives an execution more iterations of loops and recursive calls");
    buf_free(&script);
    buf_free(&rule);
}

void report_warn(const Report *r, const char *name, Str text, Diags *diags) {
    char line[24];
    Buf found = {0};
    if (r->wrong.ptr) {
        Diag *g =
            diag(diags, DIAG_BAD_ROW, NO_SPAN, "%s: %s: expected a row of the report, found '%s'",
                 name, report_read_line_of(r->wrong, text, line), excerpt(r->wrong, &found));
        diag_hint(diags, g, r->ends_early ? "the rows after it are left out" : "it is left out");
    }
    warn_of_value(r, name, text, diags);
    warn_of_stopped(r, name, diags);
    if (r->cut)
        diag(diags, DIAG_CUT_REPORT, NO_SPAN, "%s: the report ends in the middle of a row", name);
    buf_free(&found);
}

void report_free(Report *r) {
    vec_free(&r->rows);
    arena_free(&r->arena);
    memset(r, 0, sizeof *r);
}
