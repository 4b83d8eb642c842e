/*
 * annotate/annotate_html.c - annotated sources and instructions as a page.
 */
#include "annotate/annotate.h"

#include "annotate/html.h"
#include "report/table.h"

typedef struct Page {
    const AnnotateOptions *options;
    const Annotation *a;
    Buf *out;
    uint32_t first;   /* the number of the first file or function, in anchors */
    uint32_t section; /* this one's */
} Page;

static const char sheet[] = ".code td{padding:0 .7em}.zero{background:var(--bad)}"
                            ".code a{color:inherit;text-decoration:none}";

static void cell(const Page *p, uint64_t v) {
    buf_str(p->out, STR("<td class=n>"));
    buf_grouped(p->out, v);
    buf_str(p->out, STR("</td>"));
}

static double annotate_html_share(const Page *p, uint64_t part) {
    return p->a->total ? (double)part / (double)p->a->total : 0;
}

static void share_cell(const Page *p, uint64_t part) {
    if (part && p->a->total)
        buf_printf(p->out, "<td class=n>%.1f%%</td>", 100 * annotate_html_share(p, part));
    else
        buf_str(p->out, STR("<td></td>"));
}

/* Begins a row. The hotter, the darker; the square root makes small shares visible. */
static void begin_row(const Page *p, uint64_t part) {
    double s = annotate_html_share(p, part), low = 0, high = 1;
    for (int i = 0; i < 20; i++) {
        double middle = (low + high) / 2;
        if (middle * middle < s)
            low = middle;
        else
            high = middle;
    }
    buf_printf(p->out, "<tr");
    if (s >= 0.001)
        buf_printf(p->out, " style=\"background:rgba(var(--heat),%.2f)\"", 0.8 * low);
}

/* ---- contents ---- */

static void begin_list(const Page *p, const char *what) {
    buf_printf(p->out,
               "<table>\n<tr><th class=n>total</th><th class=n>share</th><th>%s</th></tr>\n", what);
}

static void list_entry(const Page *p, uint32_t section, Str name, uint64_t total, bool shown) {
    buf_str(p->out, STR("<tr>"));
    cell(p, total);
    share_cell(p, total);
    if (shown)
        buf_printf(p->out, "<td><a href=\"#s%u\">", p->first + section);
    else
        buf_str(p->out, STR("<td class=faint>"));
    html_text(p->out, name);
    buf_str(p->out, shown ? STR("</a></td></tr>\n") : STR(" (no source text)</td></tr>\n"));
}

static void heading(const Page *p, Str name, uint64_t total) {
    buf_printf(p->out, "<h2 id=\"s%u\">", p->section);
    html_text(p->out, name);
    buf_str(p->out, STR(" <span class=faint>"));
    annotate_share(total, p->a->total, p->out);
    buf_str(p->out, STR("</span></h2>\n<table class=code>\n"));
}

/* ---- sources ---- */

static void annotate_html_put_line(void *ctx, uint32_t number, Str text,
                                   const AnnotatedLine *line) {
    const Page *p = ctx;
    begin_row(p, line ? line->total : 0);
    buf_printf(p->out, " id=\"s%uL%u\">", p->section, number);
    if (line && line->timed) {
        buf_str(p->out, line->times ? STR("<td class=n>") : STR("<td class=\"n zero\">"));
        buf_grouped(p->out, line->times);
        buf_str(p->out, STR("</td>"));
    } else {
        buf_str(p->out, STR("<td></td>"));
    }
    if (line)
        cell(p, line->total);
    else
        buf_str(p->out, STR("<td></td>"));
    share_cell(p, line ? line->total : 0);
    buf_printf(p->out, "<td class=\"n faint\"><a href=\"#s%uL%u\">%u</a></td>", p->section, number,
               number);
    html_element(p->out, "td class=t", text);
    buf_str(p->out, STR("</tr>\n"));
}

/* Whether a file is shown as a whole. */
static bool annotate_html_is_shown(const Page *p, const AnnotatedFile *f) {
    bool named = p->options->files && p->options->files[0];
    return annotate_wants(p->options, f->path) &&
           (named || source_text(p->options->sources, f->path));
}

/* Returns how many numbers anchors have taken. */
static uint32_t annotate_html_put_files(Page *p) {
    const Annotation *a = p->a;
    begin_list(p, "file");
    for (uint32_t i = 0; i < a->files.len; i++)
        if (annotate_wants(p->options, a->files.at[i].path) &&
            (a->files.at[i].total || annotate_html_is_shown(p, &a->files.at[i])))
            list_entry(p, i, a->files.at[i].path, a->files.at[i].total,
                       annotate_html_is_shown(p, &a->files.at[i]));
    if (a->unknown) {
        buf_str(p->out, STR("<tr>"));
        cell(p, a->unknown);
        share_cell(p, a->unknown);
        buf_str(p->out, STR("<td class=faint>places whose line is not known</td></tr>\n"));
    }
    buf_str(p->out, STR("</table>\n"));
    for (uint32_t i = 0; i < a->files.len; i++) {
        const AnnotatedFile *f = &a->files.at[i];
        if (!annotate_html_is_shown(p, f))
            continue;
        p->section = p->first + i;
        heading(p, f->path, f->total);
        buf_str(p->out, STR("<tr><th class=n>times</th><th class=n>total</th><th class=n>share</th>"
                            "<th class=n>line</th><th></th></tr>\n"));
        annotate_each_line(f, source_text(p->options->sources, f->path), annotate_html_put_line, p);
        buf_str(p->out, STR("</table>\n"));
    }
    return a->files.len;
}

/* ---- instructions ---- */

static void annotate_html_put_instruction(void *ctx, uint32_t pc, uint32_t depth, Str text,
                                          const AnnotatedPlace *place) {
    const Page *p = ctx;
    begin_row(p, place ? place->total : 0);
    buf_str(p->out, place && !place->total ? STR("><td class=\"n zero\">") : STR("><td class=n>"));
    if (place)
        buf_grouped(p->out, place->total);
    buf_str(p->out, STR("</td>"));
    share_cell(p, place ? place->total : 0);
    buf_printf(p->out, "<td class=\"n faint\">%u</td><td class=t>%*s", pc,
               (int)(2 * (depth < 40 ? depth : 40)), "");
    html_text(p->out, text);
    buf_str(p->out, STR("</td></tr>\n"));
}

static void annotate_html_put_function(Page *p, const AnnotatedFunction *f, Str name) {
    heading(p, name, f->total);
    buf_str(p->out, STR("<tr><th class=n>count</th><th class=n>share</th><th class=n>pc</th>"
                        "<th>instruction</th></tr>\n"));
    annotate_each_instruction(p->a, p->options->places, f->fid, annotate_html_put_instruction, p);
    buf_str(p->out, STR("</table>\n"));
}

/* Returns how many numbers anchors have taken. */
static uint32_t annotate_html_put_functions(Page *p) {
    AnnotatedFunctions functions = annotate_functions(p->a);
    Buf name = {0};
    begin_list(p, "function");
    for (int whole = 0; whole < 2; whole++) {
        for (uint32_t i = 0; i < functions.len; i++) {
            const AnnotatedFunction *f = &functions.at[i];
            name.len = 0;
            annotate_name(p->options, f->fid, &name);
            Str s = buf_view(&name);
            p->section = p->first + i;
            if (!f->total || !annotate_wants(p->options, s))
                continue;
            if (whole)
                annotate_html_put_function(p, f, s);
            else
                list_entry(p, i, s, f->total, true);
        }
        if (!whole)
            buf_str(p->out, STR("</table>\n"));
    }
    buf_free(&name);
    uint32_t n = functions.len;
    vec_free(&functions);
    return n;
}

void annotate_html_begin(Str title, Buf *out) {
    html_begin(out, title, str_of(sheet));
    html_element(out, "h1", title);
}

void annotate_html_end(Buf *out) {
    html_end(out);
}

uint32_t annotate_html(const Annotation *a, const AnnotateOptions *options, uint32_t first,
                       Buf *out) {
    Page p = {.options = options, .a = a, .out = out, .first = first};
    buf_str(out, STR("<p>"));
    html_text(out, options->variable);
    buf_str(out, STR(": total "));
    buf_grouped(out, a->total);
    buf_str(out, STR("</p>\n"));
    return first +
           (options->instructions ? annotate_html_put_functions(&p) : annotate_html_put_files(&p));
}
