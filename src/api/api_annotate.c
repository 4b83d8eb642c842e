/*
 * api/api_annotate.c - the public interface to annotated sources (include/whammc/report.h).
 */
#include "annotate/annotate.h"
#include "annotate/html.h"
#include "api/api_report.h"

/* What is made. */
typedef struct Annotating {
    WhammcReport *r;
    const WhammcAnnotateOptions *options;
    Buf *out;
    bool several;            /* programs were given */
    uint32_t parts, anchors; /* there are already */
    Vec(bool) fits;          /* by options->files: something in these programs has this name */
    bool functions;          /* these are names of functions, at least in some programs */
} Annotating;

/* ---- what does not fit ---- */

/* Reports problems with the counts; false if there are none at all. */
static bool check_counts(Annotating *w, const char *program, const Annotation *a,
                         const ReportVar *var) {
    const char *report = w->r->name, *wanted = w->options->variable;
    Diags *d = &w->r->diags;
    if (!var && wanted)
        diag(d, DIAG_NO_COUNTS, NO_SPAN, "%s: the variable '%s' has no numbers at sites", report,
             wanted);
    else if (!var)
        diag_hint(d,
                  diag(d, DIAG_NO_COUNTS, NO_SPAN, "%s: no variable has numbers at sites", report),
                  "`whammc run -s hotness -o REPORT APP` counts how often each instruction is "
                  "executed");
    else if (!a->counted)
        diag(d, DIAG_NO_COUNTS, NO_SPAN,
             "%s: expected a report of %s, found counts at none of its instructions", report,
             program);
    else if (a->foreign)
        diag(d, DIAG_OTHER_PROGRAM, NO_SPAN,
             "%s: %u of %u sites are not in %s; is it the report of another program?", report,
             a->foreign, a->foreign + a->counted, program);
    return var && a->counted;
}

/* Whether one of options->files matches something that has counts. */
static bool fits_any(const Annotation *a, const AnnotateOptions *look, const char *wanted) {
    bool fits = false;
    AnnotatedFunctions functions = annotate_functions(a);
    Buf name = {0};
    for (uint32_t i = 0; look->instructions && i < functions.len && !fits; i++) {
        name.len = 0;
        annotate_name(look, functions.at[i].fid, &name);
        fits = annotate_fits(wanted, buf_view(&name));
    }
    for (uint32_t i = 0; !look->instructions && i < a->files.len && !fits; i++)
        fits = annotate_fits(wanted, a->files.at[i].path);
    buf_free(&name);
    vec_free(&functions);
    return fits;
}

static void note_files(Annotating *w, const Annotation *a, const AnnotateOptions *look) {
    w->functions |= look->instructions;
    for (uint32_t i = 0; look->files && look->files[i]; i++) {
        if (i == w->fits.len)
            vec_push(&w->fits, false);
        w->fits.at[i] = w->fits.at[i] || fits_any(a, look, look->files[i]);
    }
}

/* Warns of names that fit nothing. */
static void check_files(const Annotating *w) {
    for (uint32_t i = 0; i < w->fits.len; i++)
        if (!w->fits.at[i])
            diag(&w->r->diags, DIAG_NO_SUCH_SOURCE, NO_SPAN, "%s: no %s with counts has this name",
                 w->options->files[i], w->functions ? "function" : "source");
}

/* Warns of texts that are too short for the program. */
static void check_lengths(Annotating *w, const char *program, const Annotation *a,
                          const AnnotateOptions *look) {
    ShortSource s = {0};
    for (uint32_t i = 0; i < a->files.len; i++) {
        const AnnotatedFile *f = &a->files.at[i];
        if (f->lines.len && annotate_wants(look, f->path))
            source_check_length(&s, f->path, source_text(look->sources, f->path),
                                vec_last(&f->lines).line);
    }
    source_warn_short(&s, program, &w->r->diags);
}

/* ---- a program ---- */

static void api_annotate_put_part(Annotating *w, const Annotation *a, const AnnotateOptions *look) {
    const WhammcAnnotateOptions *o = w->options;
    const char *all = o->title ? o->title : w->r->name;
    if (o->html && !w->parts)
        annotate_html_begin(w->several ? str_of(all) : look->title, w->out);
    if (w->several && o->html)
        html_element(w->out, "h1", look->title);
    else if (w->several)
        buf_printf(w->out, "%smodule: %.*s\n\n", w->parts ? "\n" : "", STR_ARG(look->title));
    if (o->html)
        w->anchors = annotate_html(a, look, w->anchors, w->out);
    else
        annotate_text(a, look, w->out);
    w->parts++;
}

/* Appends what is shown of a program, whose counts are in `report`. */
static void api_annotate_put_program(Annotating *w, ReportProgram *p, const Report *report) {
    const WhammcAnnotateOptions *o = w->options;
    const ReportVar *var = annotate_variable(report, o->variable);
    const char *slash = strrchr(p->file, '/');
    Annotation a = {0};
    ApiLocator l;
    api_locate_program(w->r, p, &l);
    Locator *locator = o->instructions ? NULL : &l.locator;
    if (var)
        annotate_make(&a, &p->places, locator, report, var);
    bool left_out = w->several && !a.counted; /* others may have counts */
    bool ok = !left_out && check_counts(w, p->name, &a, var);
    const ApiTexts texts = {o->source, o->ctx};
    Sources sources = api_sources(&texts, p->file);
    sources.embedded = ok && locator ? locator_open(locator, &p->module) : NULL;
    AnnotateOptions look = {.places = &p->places,
                            .sources = &sources,
                            .title = str_of(p->name + (slash ? slash + 1 - p->file : 0)),
                            .variable = var ? var->name : (Str){"", 0},
                            .files = o->files,
                            .instructions = o->instructions || !a.files.len,
                            .colour = o->colour,
                            .mangled = o->mangled};
    if (ok) {
        annotate_join(&a, &sources);
        note_files(w, &a, &look);
        if (!w->several)
            check_files(w);
        api_annotate_put_part(w, &a, &look);
        if (!look.instructions)
            check_lengths(w, p->name, &a, &look);
    }
    sources_free(&sources);
    api_locator_end(&l);
    annotate_free(&a);
}

/* ---- all of them ---- */

static void put_programs(Annotating *w) {
    WhammcReport *r = w->r;
    if (!r->programs.len)
        diag(&r->diags, DIAG_NO_PROGRAM, NO_SPAN,
             "%s: no program was given whose sources could be shown", r->name);
    for (uint32_t i = 0; i < r->programs.len; i++) {
        ReportProgram *p = r->programs.at[i];
        bool first = !i || !api_given_together(r->programs.at[i - 1], p);
        const ModuleReport *one = first ? api_module_of(r, p) : NULL;
        if (p->given) /* the first of a component may have that of another one */
            one = api_module_of_part(r, p);
        if (one)
            api_annotate_put_program(w, p, one->report);
    }
    if (w->several)
        check_files(w);
    if (w->several && !w->parts && !r->diags.errors)
        diag_hint(&r->diags,
                  diag(&r->diags, DIAG_NO_COUNTS, NO_SPAN,
                       "no variable has numbers at sites of any module"),
                  "the script `hotness` counts at each instruction");
    if (w->parts && w->options->html)
        annotate_html_end(w->out);
}

whammc_status whammc_report_annotate(WhammcReport *r, const WhammcAnnotateOptions *options,
                                     uint8_t **out, size_t *size) {
    static const WhammcAnnotateOptions defaults;
    Buf text = {0};
    Annotating w = {.r = r,
                    .options = options ? options : &defaults,
                    .out = &text,
                    .several = r->programs.len > 1};
    *out = NULL;
    *size = 0;
    api_forget_messages(r);
    locale_t before = api_enter(r);
    put_programs(&w);
    api_leave(before);
    if (w.parts) {
        *out = text.data;
        *size = text.len;
    } else {
        buf_free(&text);
    }
    vec_free(&w.fits);
    return r->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}
