/*
 * annotate/annotate_text.c - annotated sources and instructions for terminals.
 */
#include "annotate/annotate.h"

#include "base/escape.h"
#include "report/table.h"

enum { TAB = 8, SHARE = 6 };

typedef struct Margin {
    const AnnotateOptions *options;
    const Annotation *a;
    Buf *out;
    uint32_t times, total, number; /* widths */
} Margin;

/* ---- text ---- */

static void annotate_text_style(const Margin *m, const char *code) {
    if (m->options->colour)
        buf_printf(m->out, "\033[%sm", code);
}

static uint32_t annotate_text_digits(uint64_t v) {
    Buf text = {0};
    buf_grouped(&text, v);
    uint32_t n = (uint32_t)text.len;
    buf_free(&text);
    return n;
}

static uint32_t annotate_text_wider(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void annotate_text_blanks(const Margin *m, uint32_t n) {
    while (n--)
        buf_u8(m->out, ' ');
}

static void annotate_text_put_number(const Margin *m, uint64_t v, uint32_t width) {
    annotate_text_blanks(m, 2 + width - annotate_text_digits(v));
    buf_grouped(m->out, v);
}

/* A line of a source without control characters. */
static void annotate_text_put_source(const Margin *m, Str s) {
    uint32_t column = 0, start = 0;
    for (uint32_t i = 0; i <= s.len; i++) {
        if (i < s.len && s.ptr[i] != '\t')
            continue;
        column += escape_shown(m->out, (Str){s.ptr + start, i - start});
        start = i + 1;
        uint32_t rest = i < s.len ? TAB - column % TAB : 0;
        annotate_text_blanks(m, rest);
        column += rest;
    }
}

static void annotate_text_end_line(const Margin *m) {
    while (m->out->data[m->out->len - 1] == ' ')
        m->out->len--;
    buf_u8(m->out, '\n');
}

/* The colour of a line by its share of everything that was counted. */
static const char *heat(const Margin *m, uint64_t total) {
    double share = m->a->total ? (double)total / (double)m->a->total : 0;
    return share >= 0.1 ? "1;31" : share >= 0.01 ? "33" : "0";
}

static void annotate_text_put_share(const Margin *m, uint64_t total) {
    if (total && m->a->total)
        buf_printf(m->out, "  %5.1f%%", 100 * (double)total / (double)m->a->total);
    else
        annotate_text_blanks(m, 2 + SHARE);
}

static void annotate_text_put_heading(const Margin *m, Str name, uint64_t total) {
    annotate_text_style(m, "1");
    escape_shown(m->out, name);
    annotate_text_style(m, "0");
    buf_str(m->out, STR(": "));
    annotate_share(total, m->a->total, m->out);
}

/* ---- sources ---- */

static void annotate_text_put_line(void *ctx, uint32_t number, Str text,
                                   const AnnotatedLine *line) {
    const Margin *m = ctx;
    const char *code = !line ? "0" : line->timed && !line->times ? "35" : heat(m, line->total);
    bool coloured = strcmp(code, "0") != 0;
    if (coloured)
        annotate_text_style(m, code);
    if (line && line->timed)
        annotate_text_put_number(m, line->times, m->times);
    else
        annotate_text_blanks(m, 2 + m->times);
    if (line)
        annotate_text_put_number(m, line->total, m->total);
    else
        annotate_text_blanks(m, 2 + m->total);
    annotate_text_put_share(m, line ? line->total : 0);
    if (coloured)
        annotate_text_style(m, "0");
    buf_printf(m->out, "  %*u  ", (int)m->number, number);
    annotate_text_put_source(m, text);
    annotate_text_end_line(m);
}

static void annotate_text_measure(Margin *m, const AnnotatedFile *f, const SourceText *text) {
    uint32_t last = f->lines.len ? vec_last(&f->lines).line : 0;
    m->times = m->total = 5;
    for (uint32_t i = 0; i < f->lines.len; i++) {
        m->times = annotate_text_wider(m->times, annotate_text_digits(f->lines.at[i].times));
        m->total = annotate_text_wider(m->total, annotate_text_digits(f->lines.at[i].total));
    }
    m->number = 4;
    for (uint32_t n = annotate_text_wider(last, text ? text->lines.len : 0); n >= 10000; n /= 10)
        m->number++;
}

static void annotate_text_put_file(Margin *m, const AnnotatedFile *f) {
    const SourceText *text = source_text(m->options->sources, f->path);
    bool named = m->options->files && m->options->files[0];
    if (!text && !named && !f->total)
        return;
    annotate_text_put_heading(m, f->path, f->total);
    if (!text)
        buf_str(m->out, STR(", no source text"));
    buf_u8(m->out, '\n');
    if (!text && !named)
        return;
    annotate_text_measure(m, f, text);
    annotate_text_style(m, "2");
    annotate_text_blanks(m, 2 + m->times - 5);
    buf_str(m->out, STR("times"));
    annotate_text_blanks(m, 2 + m->total - 5);
    buf_printf(m->out, "total   share  %*s", (int)m->number, "line");
    annotate_text_style(m, "0");
    buf_u8(m->out, '\n');
    annotate_each_line(f, text, annotate_text_put_line, m);
    buf_u8(m->out, '\n');
}

static void annotate_text_put_files(Margin *m) {
    for (uint32_t i = 0; i < m->a->files.len; i++) {
        const AnnotatedFile *f = &m->a->files.at[i];
        if (annotate_wants(m->options, f->path))
            annotate_text_put_file(m, f);
    }
    if (m->a->unknown) {
        buf_str(m->out, STR("at places whose line is not known: "));
        annotate_share(m->a->unknown, m->a->total, m->out);
        buf_u8(m->out, '\n');
    }
}

/* ---- instructions ---- */

static void annotate_text_put_instruction(void *ctx, uint32_t pc, uint32_t depth, Str text,
                                          const AnnotatedPlace *place) {
    const Margin *m = ctx;
    const char *code = !place ? "0" : place->total ? heat(m, place->total) : "35";
    bool coloured = strcmp(code, "0") != 0;
    if (coloured)
        annotate_text_style(m, code);
    if (place)
        annotate_text_put_number(m, place->total, m->total);
    else
        annotate_text_blanks(m, 2 + m->total);
    annotate_text_put_share(m, place ? place->total : 0);
    if (coloured)
        annotate_text_style(m, "0");
    buf_printf(m->out, "  %5u  ", pc);
    annotate_text_blanks(m, 2 * (depth < 40 ? depth : 40));
    escape_shown(m->out, text);
    annotate_text_end_line(m);
}

static void annotate_text_put_function(Margin *m, const AnnotatedFunction *f, Str name) {
    annotate_text_put_heading(m, name, f->total);
    m->total = annotate_text_wider(5, annotate_text_digits(f->most));
    buf_u8(m->out, '\n');
    annotate_text_style(m, "2");
    annotate_text_blanks(m, 2 + m->total - 5);
    buf_str(m->out, STR("count   share     pc  instruction"));
    annotate_text_style(m, "0");
    buf_u8(m->out, '\n');
    annotate_each_instruction(m->a, m->options->places, f->fid, annotate_text_put_instruction, m);
    buf_u8(m->out, '\n');
}

static void annotate_text_put_functions(Margin *m) {
    AnnotatedFunctions functions = annotate_functions(m->a);
    Buf name = {0};
    for (uint32_t i = 0; i < functions.len; i++) {
        name.len = 0;
        annotate_name(m->options, functions.at[i].fid, &name);
        Str s = buf_view(&name);
        if (functions.at[i].total && annotate_wants(m->options, s))
            annotate_text_put_function(m, &functions.at[i], s);
    }
    buf_free(&name);
    vec_free(&functions);
}

void annotate_text(const Annotation *a, const AnnotateOptions *options, Buf *out) {
    Margin m = {.options = options, .a = a, .out = out};
    annotate_text_style(&m, "1");
    escape_shown(out, options->variable);
    annotate_text_style(&m, "0");
    buf_str(out, STR(": total "));
    buf_grouped(out, a->total);
    buf_str(out, STR("\n\n"));
    if (options->instructions)
        annotate_text_put_functions(&m);
    else
        annotate_text_put_files(&m);
    if (out->len > 1 && out->data[out->len - 2] == '\n')
        out->len--; /* the empty line after the last table */
}
