/*
 * testing/condition.c - reads and evaluates a condition, in one go.
 */
#include "testing/condition.h"

#include "base/json.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>

/* Precise enough for 64 bits on most machines. */
typedef long double Number;

enum { DEPTH_MAX = 200, REGEX_MAX = 1000 };

/* The source location of a row: file, line, column, src_function; NULL = unknown. */
typedef struct Located {
    const char *columns[4];
} Located;

typedef struct Reading {
    const char *text;
    uint32_t at, depth;
    uint32_t named;  /* where the last name with its filters ended */
    uint32_t values; /* the number of names that were evaluated */
    Arena arena;
    Vec(Located) places; /* of the rows, when a filter needs them */
    DiagFileId file;
    Diags *diags;
    bool failed;
    WhammcReport *report, *base;
    Buf *used;
} Reading;

static void condition_fail(Reading *x, uint32_t from, uint32_t to, const char *message) {
    if (!x->failed)
        diag(x->diags, DIAG_CONDITION, (Span){x->file, from, to > from ? to : from + 1}, "%s",
             message);
    x->failed = true;
}

static void condition_blanks(Reading *x) {
    while (isspace((unsigned char)x->text[x->at]))
        x->at++;
}

/* Skips an operator; false if it is not there. */
static bool condition_take(Reading *x, const char *op) {
    condition_blanks(x);
    size_t n = strlen(op);
    if (strncmp(x->text + x->at, op, n) != 0)
        return false;
    x->at += (uint32_t)n;
    return true;
}

/* ---- values ---- */

/* What a name stands for: values of the rows, or of the entries, that its filters select. */
typedef struct Selected {
    Number sum, min, max;
    size_t count;
    bool derived;      /* it is a derived column */
    const char *other; /* the text of a value that is no number; NULL = all are numbers */
    /* With a text to compare with: */
    const char *text;
    regex_t *regex; /* NULL: the text itself */
    size_t same;
    Arena *arena;
} Selected;

/* Appends a value as conditions compare it with texts. */
static void condition_put_value(const WhammcValue *v, Buf *out) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED: buf_printf(out, "%llu", (unsigned long long)v->as.u); break;
    case WHAMMC_VALUE_SIGNED: buf_printf(out, "%lld", (long long)v->as.i); break;
    case WHAMMC_VALUE_BOOL: buf_str(out, v->as.u ? STR("true") : STR("false")); break;
    case WHAMMC_VALUE_FLOAT: buf_printf(out, "%.17g", v->as.f); break;
    case WHAMMC_VALUE_STRING:
    case WHAMMC_VALUE_UNREADABLE: buf_bytes(out, v->as.text, v->size); break;
    case WHAMMC_VALUE_NONE: buf_str(out, STR("none")); break;
    default:
        buf_u8(out, '(');
        for (size_t i = 0; i < v->size; i++) {
            buf_str(out, i ? STR("; ") : STR(""));
            condition_put_value(&v->as.parts[i], out);
        }
        buf_u8(out, ')');
    }
}

static bool condition_number(const WhammcValue *v, Number *n) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED:
    case WHAMMC_VALUE_BOOL: *n = (Number)v->as.u; return true;
    case WHAMMC_VALUE_SIGNED: *n = (Number)v->as.i; return true;
    case WHAMMC_VALUE_FLOAT: *n = (Number)v->as.f; return true;
    default: return false;
    }
}

/* Adds a value that is not a map. */
static void condition_add(Selected *s, const WhammcValue *v) {
    Number n = 0;
    Buf text = {0};
    bool number = condition_number(v, &n);
    if (!number || s->text)
        condition_put_value(v, &text);
    if (number) {
        s->min = s->count && s->min < n ? s->min : n;
        s->max = s->count && s->max > n ? s->max : n;
        s->sum += n;
    } else if (!s->other) {
        s->other = arena_strndup(s->arena, (char *)text.data, text.len);
    }
    if (s->text && (s->regex ? regexec(s->regex, buf_cstr(&text), 0, NULL, 0) == 0
                             : strcmp(s->text, buf_cstr(&text)) == 0))
        s->same++;
    s->count++;
    buf_free(&text);
}

/* ---- filters ---- */

/* `fname = "f"`: a column, an operator and a value. */
typedef struct Filter {
    Str column;
    const char *op; /* of filter_ops */
    const char *text;
    bool number;
    Number value;
    regex_t regex; /* of ~ */
} Filter;
typedef Vec(Filter) Filters;

/* Longer ones first. */
static const char *const filter_ops[] = {"<=", ">=", "!=", "==", "!~", "=", "<", ">", "~"};
enum { NFILTER_OPS = sizeof filter_ops / sizeof *filter_ops };

static bool filter_admits(const Filter *f, const char *text) {
    if (!text)
        return false;
    if (*f->op == '~' || f->op[1] == '~')
        return (regexec(&f->regex, text, 0, NULL, 0) == 0) == (*f->op == '~');
    Number order = strcmp(text, f->text);
    char *end;
    Number value = strtold(text, &end);
    if (f->number && end > text && !*end)
        order = value < f->value ? -1 : value > f->value;
    switch (*f->op) {
    case '<': return f->op[1] ? order <= 0 : order < 0;
    case '>': return f->op[1] ? order >= 0 : order > 0;
    case '!': return order != 0;
    default: return order == 0;
    }
}

/* The columns of reports that filters can have: those of rows, source locations, and the keys of
 * maps. */
static const char *const condition_columns[] = {"fname",  "fid",    "pc",           "probe",
                                                "script", "module", "thread",       "file",
                                                "line",   "column", "src_function", "key"};
enum {
    FNAME,
    FID,
    PC,
    PROBE,
    SCRIPT,
    MODULE,
    THREAD,
    FILE_,
    LINE,
    COLUMN,
    SRC_FUNCTION,
    KEY,
    NCONDITION_COLUMNS
};

/* Sets *text to the contents of a column of a row; *text stays NULL if it has none. */
static void condition_column(Reading *x, WhammcReport *r, size_t row, int column, Buf *number,
                             const char **text) {
    size_t n, nvars;
    const WhammcRow *w = &whammc_report_rows(r, &n)[row];
    number->len = 0;
    switch (column) {
    case FNAME: *text = w->fname ? w->fname : w->shown_fname; break;
    case PROBE: *text = w->probe; break;
    case SCRIPT: *text = whammc_report_variables(r, &nvars)[w->variable].script; break;
    case MODULE: *text = w->module; break;
    case THREAD: *text = w->thread; break;
    case FID:
    case PC:
        if (w->has_place) {
            buf_printf(number, "%u", column == FID ? w->fid : w->pc);
            *text = buf_cstr(number);
        }
        break;
    default:
        if (row < x->places.len)
            *text = x->places.at[row].columns[column - FILE_];
    }
}

/* Finds the locations of all rows: they are columns of the report as JSON. */
static bool condition_locate(Reading *x, WhammcReport *r) {
    static const char *const names[] = {"file", "line", "column", "src_function", "id_type"};
    uint8_t *json;
    size_t size;
    if (x->places.len)
        return true;
    if (whammc_report_write(r, WHAMMC_REPORT_JSON, &(WhammcReportOptions){.lines = true}, &json,
                            &size) != WHAMMC_OK)
        return false;
    const char *at = (const char *)json, *end = at + size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        Json j = {&x->arena, at, line_end};
        Str values[5] = {0};
        if (line_end > at && json_object(&j, names, 5, values) && values[4].ptr) {
            Located *l = vec_add(&x->places);
            for (int i = 0; i < 4; i++)
                l->columns[i] =
                    values[i].ptr ? arena_strndup(&x->arena, values[i].ptr, values[i].len) : NULL;
        }
        at = line_end + 1;
    }
    whammc_release(json);
    return true;
}

static int column_number(Str name) {
    for (int i = 0; i < NCONDITION_COLUMNS; i++)
        if (str_is(name, condition_columns[i]))
            return i;
    return -1;
}

static bool admits_row(Reading *x, WhammcReport *r, size_t row, const Filters *filters) {
    Buf number = {0};
    bool ok = true;
    for (uint32_t i = 0; i < filters->len && ok; i++) {
        int column = column_number(filters->at[i].column);
        const char *text = NULL;
        if (column != KEY) {
            condition_column(x, r, row, column, &number, &text);
            ok = filter_admits(&filters->at[i], text);
        }
    }
    buf_free(&number);
    return ok;
}

/* Returns whether filters for keys admit a key; without one, any. */
static bool admits_key(const WhammcValue *key, const Filters *filters) {
    Buf text = {0};
    condition_put_value(key, &text);
    bool ok = true;
    for (uint32_t i = 0; i < filters->len && ok; i++)
        if (str_is(filters->at[i].column, "key"))
            ok = filter_admits(&filters->at[i], buf_cstr(&text));
    buf_free(&text);
    return ok;
}

static bool has_key(const Filters *filters) {
    for (uint32_t i = 0; i < filters->len; i++)
        if (str_is(filters->at[i].column, "key"))
            return true;
    return false;
}

/* Adds the value of a row: of a map, or buckets, those of its entries. Of a record, `key` is the
 * name of a part. */
static void condition_add_value(Selected *s, const WhammcValue *v, const Filters *filters) {
    size_t step = v->kind == WHAMMC_VALUE_BUCKETS ? 3 : 2;
    bool entries = v->kind == WHAMMC_VALUE_MAP || v->kind == WHAMMC_VALUE_BUCKETS ||
                   (v->kind == WHAMMC_VALUE_RECORD && has_key(filters));
    if (!entries && !has_key(filters))
        condition_add(s, v);
    for (size_t i = 0; entries && i + step <= v->size; i += step)
        if (admits_key(&v->as.parts[i], filters))
            condition_add(s, &v->as.parts[i + step - 1]);
}

/* Selects values of a variable; returns false if the report has no such variable. */
static bool condition_select(Reading *x, WhammcReport *r, Str name, const Filters *filters,
                             Selected *s) {
    size_t n, nvars;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *vars = whammc_report_variables(r, &nvars);
    bool found = false;
    s->arena = &x->arena;
    for (size_t i = 0; i < n; i++) {
        const WhammcVariable *var = &vars[rows[i].variable];
        /* A derived column is no sum of its values at sites. */
        if (!str_is(name, var->name) || (var->formula && rows[i].has_place && !filters->len))
            continue;
        found = true;
        s->derived |= var->formula != NULL;
        const WhammcValue *v = whammc_report_value(r, i);
        if (v && admits_row(x, r, i, filters))
            condition_add_value(s, v, filters);
    }
    return found;
}

/* ---- names ---- */

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static Str read_word(Reading *x) {
    condition_blanks(x);
    Str name = {x->text + x->at, 0};
    while (is_name(x->text[x->at]))
        x->at++, name.len++;
    return name;
}

/* Reads a text in quotes, with \" and \\ in it; NULL if there is none. */
static const char *read_text(Reading *x) {
    uint32_t from = x->at;
    if (!condition_take(x, "\""))
        return NULL;
    Buf text = {0};
    while (x->text[x->at] && x->text[x->at] != '"') {
        if (x->text[x->at] == '\\' && (x->text[x->at + 1] == '"' || x->text[x->at + 1] == '\\'))
            x->at++;
        buf_u8(&text, (uint8_t)x->text[x->at++]);
    }
    const char *copy = arena_strndup(&x->arena, (char *)text.data, text.len);
    buf_free(&text);
    if (!condition_take(x, "\""))
        condition_fail(x, from, x->at, "expected '\"' at the end of this text");
    return copy;
}

/* Compiles the regular expression of an operator ~ or !~. The effort is to be bounded by its
 * length: a{n} is not allowed. */
static bool condition_regex(Reading *x, uint32_t from, const char *text, regex_t *regex) {
    bool counts = false;
    for (const char *at = text; *at && !counts; at++) {
        counts = *at == '{';
        at += *at == '\\' && at[1];
    }
    if (!counts && strlen(text) <= REGEX_MAX && regcomp(regex, text, REG_EXTENDED | REG_NOSUB) == 0)
        return true;
    condition_fail(
        x, from, x->at,
        "expected a regular expression (POSIX, extended; without {n}, up to 1000 bytes)");
    return false;
}

static void read_filter(Reading *x, WhammcReport *r, Filters *filters) {
    uint32_t from = x->at;
    Filter f = {.column = read_word(x)};
    int column = column_number(f.column);
    if (column < 0) {
        condition_fail(x, from, x->at,
                       "expected fname, fid, pc, probe, script, module, thread, file, line, "
                       "column, src_function or key");
        return;
    }
    if (column >= FILE_ && column < KEY && (r == x->base || !condition_locate(x, r))) {
        condition_fail(x, from, x->at,
                       "expected a report with source locations, which this one lacks");
        return;
    }
    for (int i = 0; i < NFILTER_OPS && !f.op; i++)
        if (condition_take(x, filter_ops[i]))
            f.op = filter_ops[i];
    condition_blanks(x);
    from = x->at;
    f.text = f.op ? read_text(x) : NULL;
    if (f.op && !f.text) {
        while (is_name(x->text[x->at]) || strchr("-.+", x->text[x->at] ? x->text[x->at] : ' '))
            x->at++;
        f.text = arena_strndup(&x->arena, x->text + from, x->at - from);
    }
    char *end = NULL;
    f.value = f.text ? strtold(f.text, &end) : 0;
    f.number = f.text && *f.text && !*end;
    if (!f.op)
        condition_fail(x, from, from, "expected ==, !=, <, <=, >, >=, ~ or !~ and a value");
    else if (!*f.text && x->text[from] != '"')
        condition_fail(x, from, from, "expected a number, or a text in quotes");
    else if (strchr(f.op, '~') && !condition_regex(x, from, f.text, &f.regex))
        return;
    else
        vec_push(filters, f);
}

static void condition_free_filters(Filters *filters) {
    for (uint32_t i = 0; i < filters->len; i++)
        if (strchr(filters->at[i].op, '~'))
            regfree(&filters->at[i].regex);
    vec_free(filters);
}

/* Reads the filters after a name. */
static void read_filters(Reading *x, WhammcReport *r, Filters *filters) {
    if (!condition_take(x, "["))
        return;
    do
        read_filter(x, r, filters);
    while (!x->failed && condition_take(x, ","));
    if (!x->failed && !condition_take(x, "]"))
        condition_fail(x, x->at, x->at, "expected ',' or ']'");
    x->named = x->at;
}

/* Notes the value of a name for messages. */
static void condition_note(Reading *x, uint32_t from, const Selected *s, Number value) {
    buf_printf(x->used, "%s%.*s = ", x->used->len ? ", " : "", (int)(x->named - from),
               x->text + from);
    if (s->text && !s->count)
        buf_str(x->used, STR("nothing"));
    else if (s->other)
        buf_printf(x->used, "\"%s\"", s->other);
    else
        buf_printf(x->used, "%.17Lg", value);
    x->values++;
}

/* Reads an operator for texts, and the text, after a name: *same is whether the comparison holds.
 * Returns false if there is none. */
static bool read_match(Reading *x, WhammcReport *r, Str name, const Filters *filters, Selected *s,
                       bool *same) {
    uint32_t from = x->at;
    bool regex = false, negated = false;
    if (condition_take(x, "~") || condition_take(x, "!~"))
        regex = true, negated = x->text[x->at - 2] == '!';
    else if (condition_take(x, "!="))
        negated = true;
    else if (!condition_take(x, "=="))
        return false;
    uint32_t at = x->at;
    Selected t = {.text = read_text(x)};
    regex_t compiled;
    if (!t.text && regex) {
        condition_fail(x, at, at, "expected a text in quotes");
    } else if (!t.text) {
        x->at = from; /* a number */
        return false;
    } else if (!x->failed && (!regex || condition_regex(x, at, t.text, &compiled))) {
        t.regex = regex ? &compiled : NULL;
        condition_select(x, r, name, filters, &t);
        if (regex)
            regfree(&compiled);
        *same = negated ? t.same == 0 : t.count && t.same == t.count;
        *s = t;
    }
    return true;
}

static const char *const condition_functions[] = {"sum", "count", "min", "max"};
enum { SUM, COUNT, MIN, MAX };

/* Reads `sum(`, `count(`, `min(` or `max(`; -1 = none of them. */
static int read_function(Reading *x) {
    uint32_t from = x->at;
    Str word = read_word(x);
    for (int i = SUM; i <= MAX; i++)
        if (str_is(word, condition_functions[i]) && condition_take(x, "("))
            return i;
    x->at = from;
    return -1;
}

static Number read_name(Reading *x) {
    static const char of_base[] = "base.";
    uint32_t from = x->at;
    int function = read_function(x);
    condition_blanks(x);
    uint32_t at = x->at;
    bool base = strncmp(x->text + x->at, of_base, sizeof of_base - 1) == 0;
    if (base)
        x->at += sizeof of_base - 1;
    WhammcReport *r = base ? x->base : x->report;
    Str name = read_word(x);
    uint32_t end = x->named = x->at;
    if (!r) {
        condition_fail(x, at, x->at,
                       "expected --base=REPORT as well: there is no report to compare with");
        return 0;
    }
    Filters filters = {0};
    Selected s = {0};
    bool same = false, matched = false;
    read_filters(x, r, &filters);
    if (function >= 0 && !x->failed && !condition_take(x, ")"))
        condition_fail(x, x->at, x->at, "expected ')'");
    else if (function >= 0)
        x->named = x->at;
    bool found = !x->failed && condition_select(x, r, name, &filters, &s);
    if (!x->failed && function < 0)
        matched = read_match(x, r, name, &filters, &s, &same);
    if (!x->failed && !found && function != COUNT)
        condition_fail(x, at, end, "expected a variable of the report; it has none with this name");
    if (!x->failed && s.other && !matched && function != COUNT)
        condition_fail(x, at, end,
                       "expected a number, or a map of numbers, but this variable is "
                       "something else");
    if (!x->failed && s.derived && s.count > 1 && !matched && function <= SUM)
        condition_fail(x, at, end,
                       "expected one value, but this derived column has one for each module or "
                       "thread");
    if (!x->failed && !s.count && (function == MIN || function == MAX))
        condition_fail(x, from, x->at, "expected at least one value");
    condition_free_filters(&filters);
    if (function == COUNT)
        s.other = NULL;
    Number value = function == COUNT ? (Number)s.count
                   : function == MIN ? s.min
                   : function == MAX ? s.max
                                     : s.sum;
    if (!x->failed)
        condition_note(x, from, &s, value);
    return matched ? same : value;
}

/* ---- expressions ---- */

static Number read_or(Reading *x);

static Number read_primary(Reading *x) {
    condition_blanks(x);
    char c = x->text[x->at];
    uint32_t from = x->at;
    if (x->depth++ > DEPTH_MAX) {
        condition_fail(x, from, from, "the condition is nested too deeply");
    } else if (condition_take(x, "(")) {
        Number v = read_or(x);
        if (!x->failed && !condition_take(x, ")"))
            condition_fail(x, x->at, x->at, "expected ')'");
        x->depth--;
        return v;
    } else if (condition_take(x, "-")) {
        Number v = -read_primary(x);
        x->depth--;
        return v;
    } else if (isdigit((unsigned char)c)) {
        char *end;
        Number v = strtold(x->text + x->at, &end);
        x->at = (uint32_t)(end - x->text);
        if (is_name(*end))
            condition_fail(x, from, x->at + 1, "expected a number");
        x->depth--;
        return v;
    } else if (is_name(c)) {
        Number v = read_name(x);
        x->depth--;
        return v;
    } else {
        condition_fail(x, from, from, "expected a number, a variable or '('");
    }
    return 0;
}

static Number read_product(Reading *x) {
    Number v = read_primary(x);
    while (!x->failed)
        if (condition_take(x, "*"))
            v *= read_primary(x);
        else if (condition_take(x, "/"))
            v /= read_primary(x);
        else
            break;
    return v;
}

static Number read_sum(Reading *x) {
    Number v = read_product(x);
    while (!x->failed)
        if (condition_take(x, "+"))
            v += read_product(x);
        else if (condition_take(x, "-"))
            v -= read_product(x);
        else
            break;
    return v;
}

static Number read_comparison(Reading *x) {
    Number a = read_sum(x);
    if (x->failed)
        return 0;
    if (condition_take(x, "<="))
        return a <= read_sum(x);
    if (condition_take(x, ">="))
        return a >= read_sum(x);
    if (condition_take(x, "=="))
        return a == read_sum(x);
    if (condition_take(x, "!="))
        return a != read_sum(x);
    if (condition_take(x, "<"))
        return a < read_sum(x);
    if (condition_take(x, ">"))
        return a > read_sum(x);
    return a;
}

static Number read_and(Reading *x) {
    Number v = read_comparison(x);
    while (!x->failed && condition_take(x, "&&")) {
        Number next = read_comparison(x);
        v = v != 0 && next != 0;
    }
    return v;
}

static Number read_or(Reading *x) {
    Number v = read_and(x);
    while (!x->failed && condition_take(x, "||")) {
        Number next = read_and(x);
        v = v != 0 || next != 0;
    }
    return v;
}

bool condition_holds(const char *name, const char *text, WhammcReport *report, WhammcReport *base,
                     Buf *used, Diags *diags) {
    size_t len = strlen(text);
    Reading x = {.text = text,
                 .file = diag_file(diags, name, text, len, false),
                 .diags = diags,
                 .report = report,
                 .base = base,
                 .used = used};
    Number v = read_or(&x);
    condition_blanks(&x);
    if (!x.failed && x.text[x.at])
        condition_fail(&x, x.at, x.at, "expected an operator, or the end");
    vec_free(&x.places);
    arena_free(&x.arena);
    return !x.failed && v != 0;
}
