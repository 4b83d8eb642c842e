/*
 * base/diag.c - collects diagnostics and renders them: text with carets for people, JSON lines for
 * tools.
 */
#include "base/diag.h"

#include "../../stdlib/runtime/format.h" /* format_shown */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    DEFAULT_MAX_ERRORS = 20,
    MAX_WARNINGS = 200,
    MAX_QUOTE = 1 << 16, /* bytes of text in a binary file */
    TAB_STOP = 4,
    VIEW_WIDTH =
        100, /* columns of a source line that are shown; longer lines are cut around the span */
};

static const struct {
    DiagSeverity severity;
    const char *name, *summary;
} tags[] = {
#define DIAG(id, severity, tag, summary) {DIAG_##severity, tag, summary},
#include "base/diag.def"
};

static const char *const severity_names[] = {"note", "warning", "error"};
static const char *const severity_colours[] = {"\33[1;36m", "\33[1;35m", "\33[1;31m"};

const char *diag_tag_name(DiagTag tag) {
    assert((size_t)tag < sizeof tags / sizeof *tags);
    return tags[tag].name;
}

const char *diag_tag_summary(DiagTag tag) {
    assert((size_t)tag < sizeof tags / sizeof *tags);
    return tags[tag].summary;
}

Span span_join(Span a, Span b) {
    assert(a.start <= a.end && b.start <= b.end);
    if (a.file != b.file)
        return a;
    return (Span){a.file, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}

/* ---- collecting ---- */

DiagFileId diag_file(Diags *d, const char *name, const void *text, size_t len, bool binary) {
    for (uint32_t i = 0; text && i < d->files.len; i++)
        if (d->files.at[i].text == text && d->files.at[i].len == len &&
            strcmp(d->files.at[i].name, name) == 0)
            return i + 1;
    DiagFile *f = vec_add(&d->files);
    f->name = arena_strndup(&d->arena, name, strlen(name));
    f->text = text ? text : ""; /* an empty Buf has none */
    f->len = len;
    f->binary = binary;
    return d->files.len;
}

/* The file of an id, or NULL. */
static DiagFile *diag_file_of(const Diags *d, DiagFileId id) {
    return id && id <= d->files.len ? &d->files.at[id - 1] : NULL;
}

void diag_included(Diags *d, DiagFileId file, Span where) {
    assert(where.file < file); /* so that the way outwards ends */
    diag_file_of(d, file)->included = where;
}

const char *diag_file_name(const Diags *d, DiagFileId file) {
    assert(file <= d->files.len);
    return file ? d->files.at[file - 1].name : "";
}

static const char *format_message(Arena *a, const char *format, va_list args) {
    if (!format) /* a label may have no text */
        return "";
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_alloc(a, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, args);
    return text;
}

static bool diag_is_known(const Diags *d, DiagTag tag, Span span) {
    if (!span.file)
        return false;
    for (uint32_t i = 0; i < d->list.len; i++) {
        const Diag *g = d->list.at[i];
        if (g->tag == tag && g->span.file == span.file && g->span.start == span.start &&
            g->span.end == span.end)
            return true;
    }
    return false;
}

/* Counts a message; returns whether to keep it. */
static bool admit(Diags *d, DiagSeverity severity) {
    uint32_t max = d->max_errors ? d->max_errors : DEFAULT_MAX_ERRORS;
    switch (severity) {
    case DIAG_ERROR: return ++d->errors <= max;
    case DIAG_WARNING: return ++d->warnings <= MAX_WARNINGS;
    default: return d->list.len < max + 2 * MAX_WARNINGS;
    }
}

Diag *diag(Diags *d, DiagTag tag, Span span, const char *format, ...) {
    DiagSeverity severity = tags[tag].severity;
    if (diag_is_known(d, tag, span) || !admit(d, severity))
        return &d->spare;
    Diag *g = arena_new(&d->arena, Diag);
    g->tag = tag;
    g->severity = severity;
    g->span = span;
    va_list args;
    va_start(args, format);
    g->message = format_message(&d->arena, format, args);
    va_end(args);
    vec_push(&d->list, g);
    for (const DiagFile *f = diag_file_of(d, span.file); f && f->included.file;
         f = diag_file_of(d, f->included.file))
        diag_label(d, g, f->included, "%s is included here", f->name);
    return g;
}

void diag_label(Diags *d, Diag *g, Span span, const char *format, ...) {
    if (g == &d->spare)
        return;
    va_list args;
    va_start(args, format);
    DiagLabel label = {span, format_message(&d->arena, format, args)};
    va_end(args);
    for (uint32_t i = 0; i < g->labels.len; i++)
        if (g->labels.at[i].span.file == span.file && g->labels.at[i].span.start == span.start &&
            strcmp(g->labels.at[i].text, label.text) == 0)
            return;
    vec_push(&g->labels, label);
}

void diag_hint(Diags *d, Diag *g, const char *format, ...) {
    if (g == &d->spare)
        return;
    va_list args;
    va_start(args, format);
    vec_push(&g->hints, format_message(&d->arena, format, args));
    va_end(args);
}

void diag_quote(Diags *d, Diag *g, uint32_t start, Str text) {
    if (g == &d->spare || text.len > MAX_QUOTE)
        return;
    g->quote = (Str){arena_strndup(&d->arena, text.ptr, text.len), text.len};
    g->quote_start = start;
}

void diag_free(Diags *d) {
    for (uint32_t i = 0; i < d->list.len; i++) {
        vec_free(&d->list.at[i]->labels);
        vec_free(&d->list.at[i]->hints);
    }
    for (uint32_t i = 0; i < d->files.len; i++)
        vec_free(&d->files.at[i].lines);
    vec_free(&d->list);
    vec_free(&d->files);
    arena_free(&d->arena);
    *d = (Diags){0};
}

/* ---- locations ---- */

static void find_lines(DiagFile *f) {
    if (f->lines.len)
        return;
    vec_push(&f->lines, 0);
    for (size_t i = 0; i < f->len; i++)
        if (f->text[i] == '\n')
            vec_push(&f->lines, (uint32_t)i + 1);
}

/* The 0-based line of an offset that is inside the file or at its end. */
static uint32_t diag_line_of(DiagFile *f, uint32_t offset) {
    find_lines(f);
    uint32_t low = 0, high = f->lines.len;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (f->lines.at[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

void diag_position(Diags *d, DiagFileId file, uint32_t offset, uint32_t *line, uint32_t *column) {
    DiagFile *f = diag_file_of(d, file);
    *line = *column = 1;
    if (!f)
        return;
    if (offset > f->len)
        offset = (uint32_t)f->len;
    uint32_t l = diag_line_of(f, offset);
    if (f->at < f->lines.at[l] || f->at > offset) {
        f->at = f->lines.at[l];
        f->column = 0;
    }
    for (; f->at < offset; f->at++)
        f->column += !is_continuation(f->text[f->at]);
    *line = l + 1;
    *column = f->column + 1;
}

/* Decodes one code point of p..end; bytes that are not UTF-8 count as U+FFFD, one byte each. */
static uint32_t decode_utf8(const char *p, const char *end, uint32_t *size) {
    unsigned char lead = (unsigned char)*p;
    uint32_t n = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    *size = 1;
    if (n == 1)
        return lead;
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - p) < n)
        return 0xfffd;
    uint32_t c = lead & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++) {
        if (!is_continuation(p[i]))
            return 0xfffd;
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    }
    bool overlong = (n == 3 && c < 0x800) || (n == 4 && c < 0x10000);
    if (overlong || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0xfffd;
    *size = n;
    return c;
}

/* The columns that a code point takes on a terminal, roughly as wcwidth() says, without a locale.
 */
static uint32_t display_width(uint32_t c) {
    static const struct {
        uint32_t first, last, width;
    } ranges[] = {
        {0x300, 0x36f, 0},     {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0xfe00, 0xfe0f, 0},
        {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
        {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

/* ---- text ---- */

typedef struct TextOut {
    Diags *d;
    Buf *out;
    bool colour;
} TextOut;

static void put_cstr(Buf *out, const char *s) {
    buf_bytes(out, s, strlen(s));
}

static void diag_style(const TextOut *t, const char *escape) {
    if (t->colour)
        put_cstr(t->out, escape);
}

static void put_spaces(Buf *out, uint32_t n, char c) {
    while (n--)
        buf_u8(out, (uint8_t)c);
}

/* One code point made safe for a terminal: tabs become blanks, other control characters and bad
 * bytes U+FFFD. */
static void put_visible(Buf *out, uint32_t c, const char *bytes, uint32_t size, uint32_t width) {
    if (c == '\t')
        put_spaces(out, width, ' ');
    else if (!format_shown(c) || c == 0xfffd)
        put_cstr(out, "\xef\xbf\xbd");
    else
        buf_bytes(out, bytes, size);
}

/* A line of text as it is shown: the columns where the span starts and ends. */
typedef struct Columns {
    uint32_t from, to, total;
} Columns;

/* Walks over line..end; writes the columns first..last of it if `out` is not NULL. */
static Columns walk_line(Buf *out, const char *line, const char *end, const char *from,
                         const char *to, uint32_t first, uint32_t last) {
    Columns col = {0};
    bool has_from = false, has_to = false;
    for (const char *p = line; p < end;) {
        uint32_t size, c = decode_utf8(p, end, &size);
        uint32_t width = c == '\t' ? TAB_STOP - col.total % TAB_STOP : display_width(c);
        if (!has_from && p + size > from)
            col.from = col.total, has_from = true;
        if (!has_to && p >= to)
            col.to = col.total, has_to = true;
        if (out && col.total >= first && col.total + width <= last)
            put_visible(out, c, p, size, width);
        col.total += width;
        p += size;
    }
    if (!has_from)
        col.from = col.total;
    if (!has_to)
        col.to = col.total;
    return col;
}

/* The source line of a span with carets below. `numbered`: with its number. */
static void diag_put_source(const TextOut *t, DiagFile *f, Span span, const char *colour,
                            bool numbered) {
    uint32_t start = span.start < f->len ? span.start : (uint32_t)f->len;
    uint32_t l = diag_line_of(f, start);
    const char *line = f->text + f->lines.at[l];
    const char *end = l + 1 < f->lines.len ? f->text + f->lines.at[l + 1] - 1 : f->text + f->len;
    if (end > line && end[-1] == '\r')
        end--;
    const char *from = f->text + start, *to = f->text + (span.end < f->len ? span.end : f->len);
    if (from > end)
        from = end;
    if (to > end)
        to = end;

    Columns col = walk_line(NULL, line, end, from, to, 0, 0);
    uint32_t first = 0, last = col.total;
    if (col.total > VIEW_WIDTH) {
        first = col.from > VIEW_WIDTH / 2 ? col.from - VIEW_WIDTH / 2 : 0;
        last = first + VIEW_WIDTH < col.total ? first + VIEW_WIDTH : col.total;
    }
    char gutter[24];
    int gutter_width = numbered ? snprintf(gutter, sizeof gutter, "%5u", l + 1)
                                : snprintf(gutter, sizeof gutter, "%5s", "");
    diag_style(t, "\33[34m");
    buf_printf(t->out, "%s | ", gutter);
    diag_style(t, "\33[0m");
    if (first)
        put_cstr(t->out, "...");
    walk_line(t->out, line, end, from, to, first, last);
    if (last < col.total)
        put_cstr(t->out, "...");
    buf_u8(t->out, '\n');

    if (col.to > last)
        col.to = last;
    diag_style(t, "\33[34m");
    put_spaces(t->out, (uint32_t)gutter_width, ' ');
    put_cstr(t->out, " | ");
    diag_style(t, "\33[0m");
    put_spaces(t->out, col.from - first + (first ? 3 : 0), ' ');
    diag_style(t, colour);
    buf_u8(t->out, '^');
    if (col.to > col.from + 1)
        put_spaces(t->out, col.to - col.from - 1, '~');
    diag_style(t, "\33[0m");
    buf_u8(t->out, '\n');
}

/* "file:line:column: severity: " */
static void diag_put_heading(const TextOut *t, Span span, DiagSeverity severity) {
    DiagFile *f = diag_file_of(t->d, span.file);
    diag_style(t, "\33[1m");
    if (!f) {
        put_cstr(t->out, "whammc: ");
    } else if (f->binary) {
        buf_printf(t->out, span.end ? "%s:0x%x: " : "%s: ", f->name, span.start);
    } else {
        uint32_t line, column;
        diag_position(t->d, span.file, span.start, &line, &column);
        buf_printf(t->out, "%s:%u:%u: ", f->name, line, column);
    }
    diag_style(t, severity_colours[severity]);
    buf_printf(t->out, "%s: ", severity_names[severity]);
    diag_style(t, "\33[0m");
}

/* Text in a binary file. */
static void put_quote(const TextOut *t, const Diag *g) {
    DiagFile text = {.text = g->quote.ptr, .len = g->quote.len};
    Span span = {0, g->span.start - g->quote_start, g->span.end - g->quote_start};
    diag_put_source(t, &text, span, severity_colours[g->severity], false);
    vec_free(&text.lines);
}

static void put_diag(const TextOut *t, const Diag *g) {
    diag_put_heading(t, g->span, g->severity);
    diag_style(t, "\33[1m");
    put_cstr(t->out, g->message);
    diag_style(t, "\33[0m");
    buf_printf(t->out, " [%s]\n", tags[g->tag].name);
    DiagFile *f = diag_file_of(t->d, g->span.file);
    if (f && !f->binary)
        diag_put_source(t, f, g->span, severity_colours[g->severity], true);
    else if (g->quote.len)
        put_quote(t, g);
    for (uint32_t i = 0; i < g->labels.len; i++) {
        const DiagLabel *label = &g->labels.at[i];
        diag_put_heading(t, label->span, DIAG_NOTE);
        buf_printf(t->out, "%s\n", label->text);
        f = diag_file_of(t->d, label->span.file);
        if (f && !f->binary)
            diag_put_source(t, f, label->span, severity_colours[DIAG_NOTE], true);
    }
    for (uint32_t i = 0; i < g->hints.len; i++) {
        put_cstr(t->out, "      ");
        diag_style(t, "\33[1;32m");
        put_cstr(t->out, "hint: ");
        diag_style(t, "\33[0m");
        buf_printf(t->out, "%s\n", g->hints.at[i]);
    }
}

/* By file, then by place, then in the order of reporting (arena addresses say nothing, so the index
 * is carried). */
typedef struct Ordered {
    Diag *g;
    uint32_t index;
} Ordered;

static int diag_by_place(const void *pa, const void *pb) {
    const Ordered *a = pa, *b = pb;
    if (a->g->span.file != b->g->span.file)
        return a->g->span.file < b->g->span.file ? -1 : 1;
    if (a->g->span.start != b->g->span.start)
        return a->g->span.start < b->g->span.start ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void sort_diags(Diags *d) {
    if (d->list.len < 2)
        return;
    Ordered *o = mem_alloc(sizeof *o * d->list.len);
    for (uint32_t i = 0; i < d->list.len; i++)
        o[i] = (Ordered){d->list.at[i], i};
    qsort(o, d->list.len, sizeof *o, diag_by_place);
    for (uint32_t i = 0; i < d->list.len; i++)
        d->list.at[i] = o[i].g;
    free(o);
}

/* The number of errors that were counted but not kept. */
static uint32_t hidden_errors(const Diags *d) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->list.len; i++)
        kept += d->list.at[i]->severity == DIAG_ERROR;
    return d->errors - kept;
}

void diag_render_text(Diags *d, Buf *out, bool colour) {
    TextOut t = {d, out, colour};
    sort_diags(d);
    for (uint32_t i = 0; i < d->list.len; i++)
        put_diag(&t, d->list.at[i]);
    uint32_t hidden = hidden_errors(d);
    if (hidden)
        buf_printf(out, "whammc: %u errors; the last %u are not shown\n", d->errors, hidden);
}

/* ---- JSON ---- */

static void diag_json_string(Buf *out, const char *s) {
    const char *end = s + strlen(s);
    buf_u8(out, '"');
    while (s < end) {
        uint32_t size, c = decode_utf8(s, end, &size);
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (char)c);
        else if (c == '\n')
            put_cstr(out, "\\n");
        else if (!format_shown(c))
            buf_printf(out, "\\u%04x", c);
        else if (c == 0xfffd)
            put_cstr(out, "\\ufffd");
        else
            buf_bytes(out, s, size);
        s += size;
    }
    buf_u8(out, '"');
}

static void json_place(Diags *d, Buf *out, Span span) {
    const DiagFile *f = diag_file_of(d, span.file);
    if (!f)
        return;
    put_cstr(out, ",\"file\":");
    diag_json_string(out, f->name);
    buf_printf(out, ",\"offset\":%u,\"end_offset\":%u", span.start, span.end);
    if (f->binary)
        return;
    uint32_t line, column;
    diag_position(d, span.file, span.start, &line, &column);
    buf_printf(out, ",\"line\":%u,\"column\":%u", line, column);
    diag_position(d, span.file, span.end, &line, &column);
    buf_printf(out, ",\"end_line\":%u,\"end_column\":%u", line, column);
}

static void json_diag(Diags *d, Buf *out, const Diag *g) {
    buf_printf(out, "{\"severity\":\"%s\",\"tag\":\"%s\",\"message\":", severity_names[g->severity],
               tags[g->tag].name);
    diag_json_string(out, g->message);
    json_place(d, out, g->span);
    put_cstr(out, ",\"labels\":[");
    for (uint32_t i = 0; i < g->labels.len; i++) {
        put_cstr(out, i ? ",{\"message\":" : "{\"message\":");
        diag_json_string(out, g->labels.at[i].text);
        json_place(d, out, g->labels.at[i].span);
        buf_u8(out, '}');
    }
    put_cstr(out, "],\"hints\":[");
    for (uint32_t i = 0; i < g->hints.len; i++) {
        if (i)
            buf_u8(out, ',');
        diag_json_string(out, g->hints.at[i]);
    }
    put_cstr(out, "]}\n");
}

void diag_render_json(Diags *d, Buf *out) {
    sort_diags(d);
    for (uint32_t i = 0; i < d->list.len; i++)
        json_diag(d, out, d->list.at[i]);
    uint32_t hidden = hidden_errors(d);
    if (hidden)
        buf_printf(out,
                   "{\"severity\":\"note\",\"tag\":\"%s\",\"message\":\"%u errors; the last %u are "
                   "not shown\","
                   "\"labels\":[],\"hints\":[]}\n",
                   tags[DIAG_TOO_MANY_ERRORS].name, d->errors, hidden);
}
