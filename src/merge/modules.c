/*
 * merge/modules.c - adds up the parts of each module.
 */
#include "merge/modules.h"

#include "merge/fit.h"
#include "report/value.h"
#include "view/profile.h"

#include <stdlib.h>

/* ---- which parts are of one module ---- */

static ModuleReport *add_module(Modules *m, const ModuleReport *new) {
    origins_add(&m->origins, &new->origin, m->all.len);
    vec_push(&m->all, *new);
    return &vec_last(&m->all);
}

static ModuleReport *find_module(Modules *m, const ReportOrigin *origin) {
    uint32_t at = origins_find(&m->origins, origin);
    return at == ORIGINS_NONE ? NULL : &m->all.at[at];
}

static ModuleReport *module_of(Modules *m, const ReportOrigin *origin) {
    ModuleReport *known = find_module(m, origin);
    return known ? known : add_module(m, &(ModuleReport){.origin = *origin});
}

/* ---- sums ---- */

static bool open(ModuleReport *m, Buf *why) {
    if (!m->merge)
        m->merge = merge_begin(m->report, why);
    return m->merge;
}

static bool combine(ModuleReport *to, const Report *from, bool less, Buf *why) {
    return open(to, why) && merge_add(to->merge, from, less, why);
}

bool modules_open(Modules *m, Buf *why) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->all.len; i++)
        ok = open(&m->all.at[i], why);
    return ok;
}

/* The reports of instances that have not been cut off. */
static void find_whole(const Modules *m, Origins *whole) {
    for (uint32_t i = 0; i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        if (!part->report.cut && !part->origin.less)
            origins_add(whole, &part->origin, i);
    }
}

static bool add_part(Modules *m, ReportPart *part, const Origins *whole, Buf *why) {
    bool has_whole = origins_find(whole, &part->origin) != ORIGINS_NONE;
    if (part->origin.less && !has_whole)
        return true;
    ModuleReport *to = module_of(m, &part->origin);
    if (part->report.cut && (to->report || has_whole)) {
        to->left_out++;
        return true;
    }
    to->instances += !part->origin.less;
    if (to->report)
        return combine(to, &part->report, part->origin.less, why);
    to->report = &part->report;
    return true;
}

static void add_parts(Modules *m, Buf *why) {
    Origins whole = {0};
    find_whole(m, &whole);
    for (uint32_t i = 0; i < m->parts.all.len && !why->len; i++)
        add_part(m, &m->parts.all.at[i], &whole, why);
    origins_free(&whole);
}

/* ---- names of functions ---- */

static bool has_names(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (profile_is_names(r->rows.at[i].var))
            return true;
    return false;
}

/* Those that the origin tells, as if the program had reported them. */
static void add_names(ModuleReport *m) {
    static const ReportVar names = {
        {"map_id", 6}, {"names", 5}, {"map<u32,str>", 12}, {"i32", 3}, {"script0", 7}};
    if (m->origin.names.ptr && !has_names(m->report))
        vec_push(&m->report->rows, ((ReportRow){.var = &names,
                                                .id = STR("4294967295"),
                                                .value = m->origin.names,
                                                .class = REPORT_CLASS_TEXT}));
}

/* ---- titles ---- */

static bool is_title(const Map *titles, Str title) {
    return map_get(titles, title) != NULL;
}

/* Its name, with what tells it apart if others before it have the same title. */
static Str title_of(Modules *m, uint32_t i, const Map *titles) {
    enum { SHORT = 8 };
    const ReportOrigin *o = &m->all.at[i].origin;
    if (!o->name.len)
        return str_of(arena_printf(&m->arena, "module %u", i + 1));
    if (!is_title(titles, o->name))
        return o->name;
    uint32_t some = o->module.len < SHORT ? o->module.len : SHORT;
    Str title = str_of(arena_printf(&m->arena, "%.*s %.*s", STR_ARG(o->name), (int)some,
                                    o->module.ptr ? o->module.ptr : ""));
    return is_title(titles, title)
               ? str_of(arena_printf(&m->arena, "%.*s #%u", STR_ARG(o->name), i + 1))
               : title;
}

static void set_titles(Modules *m) {
    Map titles = {0};
    for (uint32_t i = 0; i < m->all.len; i++) {
        Str title = title_of(m, i, &titles);
        map_put(&titles, title, i, NULL);
        m->all.at[i].title = title;
    }
    map_free(&titles);
}

/* ---- reading ---- */

bool modules_read(Modules *m, Str text, uint32_t which, Buf *why) {
    bool found = parts_read(&m->parts, text, which);
    for (uint32_t i = 0; found && i < m->parts.all.len; i++)
        value_unify(&m->parts.all.at[i].report);
    if (found)
        add_parts(m, why);
    for (uint32_t i = 0; found && i < m->all.len; i++)
        add_names(&m->all.at[i]);
    set_titles(m);
    return found && m->all.len;
}

void modules_read_nothing(Modules *m) {
    vec_add(&m->all)->report = &vec_add(&m->parts.all)->report;
    m->parts.all.at[0].report.json = true;
    set_titles(m);
}

/* ---- adding another text ---- */

/* Modules by their rows. */
typedef struct ByForm {
    Forms forms;
    Vec(uint32_t) any;    /* node -> the first module with these rows, from 1; 0 = none */
    Vec(uint32_t) untold; /* the same of modules that do not tell what they are */
} ByForm;

static void note_first(ByForm *f, uint32_t node, uint32_t number, bool told) {
    while (f->any.len <= node) {
        vec_push(&f->any, 0);
        vec_push(&f->untold, 0);
    }
    if (!f->any.at[node])
        f->any.at[node] = number;
    if (!told && !f->untold.at[node])
        f->untold.at[node] = number;
}

static void by_form_make(ByForm *f, const Modules *m) {
    for (uint32_t i = 0; i < m->all.len; i++) {
        const Report *r = m->all.at[i].report;
        uint32_t node = FORMS_ROOT;
        for (uint32_t k = 0; k < r->rows.len; k++)
            node = forms_add(&f->forms, node, &r->rows.at[k]);
        note_first(f, node, i + 1, m->all.at[i].origin.told);
    }
}

/* The first module with the same rows that may be the same: one of both does not tell what it is.
 */
static uint32_t by_form_find(const ByForm *f, const ModuleReport *from) {
    uint32_t node = FORMS_ROOT;
    for (uint32_t k = 0; node != FORMS_NONE && k < from->report->rows.len; k++)
        node = forms_find(&f->forms, node, &from->report->rows.at[k]);
    if (node >= f->any.len)
        return 0;
    return from->origin.told ? f->untold.at[node] : f->any.at[node];
}

static void by_form_free(ByForm *f) {
    forms_free(&f->forms);
    vec_free(&f->any);
    vec_free(&f->untold);
}

/* The module to which a report of another text is added. */
static ModuleReport *partner_of(Modules *m, const Modules *other, const ModuleReport *from,
                                ByForm *by_form) {
    if (m->all.len == 1 && other->all.len == 1 && !(m->all.at[0].origin.told && from->origin.told))
        return &m->all.at[0];
    ModuleReport *same = find_module(m, &from->origin);
    if (same)
        return same;
    if (!by_form->any.len)
        by_form_make(by_form, m);
    uint32_t number = by_form_find(by_form, from);
    return number ? &m->all.at[number - 1] : NULL;
}

bool modules_add(Modules *m, Modules *other, bool less, Buf *why) {
    ByForm by_form = {0};
    for (uint32_t i = 0; i < other->all.len && !why->len; i++) {
        ModuleReport *from = &other->all.at[i];
        ModuleReport *to = partner_of(m, other, from, &by_form);
        if (!to && !less && from->origin.told && m->all.at[0].origin.told) {
            add_module(m, from);
            *from = (ModuleReport){.report = from->report}; /* its sum is ours now */
            continue;
        }
        if (!to)
            to = &m->all.at[0]; /* which will say what is different */
        if (combine(to, from->report, less, why))
            to->instances += from->instances;
    }
    if (!less) {
        m->parts.threads.began += other->parts.threads.began;
        m->parts.threads.complete += other->parts.threads.complete;
    }
    by_form_free(&by_form);
    set_titles(m);
    return !why->len;
}

/* ---- choosing ---- */

ModuleReport *modules_of_program(const Modules *m, const Places *places, Buf *why) {
    char hash[FIT_HASH];
    if (m->all.len == 1)
        return &m->all.at[0];
    fit_hash(places->m->bytes, places->m->size, hash);
    for (uint32_t i = 0; i < m->all.len; i++)
        if (str_is(m->all.at[i].origin.hash, hash))
            return &m->all.at[i];
    for (uint32_t i = 0; i < m->all.len; i++) {
        Buf one = {0};
        ModuleReport *r = &m->all.at[i];
        if (fit_program(r->report, places, &one)) {
            buf_free(&one);
            why->len = 0;
            return r;
        }
        buf_printf(why, "%s%.*s: %s", i ? "; " : "", STR_ARG(r->title), buf_cstr(&one));
        buf_free(&one);
    }
    return NULL;
}

ModuleReport *modules_named(const Modules *m, Str name) {
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < m->all.len; i++) {
            ModuleReport *r = &m->all.at[i];
            const ReportOrigin *o = &r->origin;
            bool is[] = {str_eq(r->title, name), (o->name.ptr && str_eq(o->name, name)),
                         name.len && (str_begins(o->module, name) || str_begins(o->hash, name) ||
                                      str_begins(r->title, name))};
            if (is[pass])
                return r;
        }
    return NULL;
}

void modules_select(Modules *m, ModuleReport *one) {
    ModuleReport kept = *one;
    for (uint32_t i = 0; i < m->all.len; i++)
        if (&m->all.at[i] != one)
            merge_free(m->all.at[i].merge);
    m->all.at[0] = kept;
    m->all.len = 1;
    origins_free(&m->origins);
    origins_add(&m->origins, &kept.origin, 0);
}

/* ---- warnings ---- */

/* The threads whose counts are missing. */
static void warn_of_threads(const ReportThreads *t, const char *name, Diags *diags) {
    if (t->complete < t->began)
        diag_hint(diags,
                  diag(diags, DIAG_NO_REPORT, NO_SPAN,
                       "%s: %llu of %llu threads that ran modules have not reported: what they did "
                       "is missing",
                       name, (unsigned long long)(t->began - t->complete),
                       (unsigned long long)t->began),
                  REPORT_THREADS_HINT);
}

void modules_warn(const Modules *m, const char *name, Str text, Diags *diags) {
    for (uint32_t i = 0; i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        report_warn(&part->report, name, text, diags);
        Str of = part->origin.name.ptr ? part->origin.name : STR("");
        if (part->lost)
            diag_hint(diags,
                      diag(diags, DIAG_CUT_REPORT, NO_SPAN, "%s: the last report%s%.*s is cut off",
                           name, of.len ? " of " : "", STR_ARG(of)),
                      "the one before it is used");
    }
    for (uint32_t i = 0; i < m->all.len; i++)
        if (m->all.at[i].left_out)
            diag(diags, DIAG_CUT_REPORT, NO_SPAN,
                 "%s: %u report%s of %.*s %s cut off, and %s left out of the sum", name,
                 m->all.at[i].left_out, m->all.at[i].left_out == 1 ? "" : "s",
                 STR_ARG(m->all.at[i].title), m->all.at[i].left_out == 1 ? "is" : "are",
                 m->all.at[i].left_out == 1 ? "is" : "are");
    if (m->parts.torn)
        diag(diags, DIAG_CUT_REPORT, NO_SPAN, "%s: it ends where a report should begin", name);
    warn_of_threads(&m->parts.threads, name, diags);
}

void modules_free(Modules *m) {
    for (uint32_t i = 0; i < m->all.len; i++)
        merge_free(m->all.at[i].merge);
    vec_free(&m->all);
    origins_free(&m->origins);
    parts_free(&m->parts);
    arena_free(&m->arena);
}
