/*
 * merge/modules.c - adds up the parts of each module, or of each thread of a module.
 */
#include "merge/modules.h"

#include "merge/fit.h"
#include "profile/profile.h"
#include "report/totals.h"
#include "report/value.h"

#include <assert.h>
#include <stdlib.h>

/* ---- which parts are of one module ---- */

enum { NEW = UINT32_MAX };

/* Adds a report of a module that is there, or else NEW. */
static ModuleReport *modules_add_module(Modules *m, const ModuleReport *new, uint32_t module) {
    run_index_add(&m->origins, &new->origin, m->all.len);
    vec_push(&m->all, *new);
    vec_last(&m->all).module = module == NEW ? m->all.len - 1 : module;
    if (m->by_thread) {
        vec_last(&m->all).thread = run_thread(&new->origin);
        if (module == NEW)
            run_index_add(&m->modules, &new->origin, m->all.len - 1);
    }
    return &vec_last(&m->all);
}

static ModuleReport *find_module(Modules *m, const RunOrigin *origin) {
    uint32_t at = run_index_find(&m->origins, origin);
    return at == RUN_NONE ? NULL : &m->all.at[at];
}

static ModuleReport *modules_module_of(Modules *m, const RunOrigin *origin) {
    ModuleReport *known = find_module(m, origin);
    if (known)
        return known;
    uint32_t module = run_index_find(&m->modules, origin);
    return modules_add_module(m, &(ModuleReport){.origin = *origin},
                              module == RUN_NONE ? NEW : m->all.at[module].module);
}

/* The record of a thread of a module. */
static ModuleReport *thread_of(const Modules *m, uint32_t module, Str thread) {
    for (uint32_t i = module; i < m->all.len; i++)
        if (m->all.at[i].module == module && str_eq(m->all.at[i].thread, thread))
            return &m->all.at[i];
    return NULL;
}

/* ---- their order ---- */

/* A report where it was before it is sorted. */
typedef struct Moved {
    ModuleReport report;
    uint32_t from;
} Moved;

/* By the numbers of the threads. */
static int compare_threads(const void *pa, const void *pb) {
    const Moved *a = pa, *b = pb;
    Str x = a->report.thread, y = b->report.thread;
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    int order = memcmp(x.ptr, y.ptr, x.len);
    return order ? order : a->from < b->from ? -1 : 1;
}

static void sort_threads(Modules *m) {
    uint32_t n = m->all.len;
    if (!m->by_thread)
        return;
    Moved *moved = mem_alloc((n + 1u) * sizeof *moved);
    uint32_t *first = mem_alloc((n + 1u) * sizeof *first);
    for (uint32_t i = 0; i < n; i++)
        moved[i] = (Moved){m->all.at[i], i};
    qsort(moved, n, sizeof *moved, compare_threads);
    for (uint32_t i = n; i-- > 0;)
        first[moved[i].report.module] = i;
    run_index_free(&m->origins);
    run_index_free(&m->modules);
    m->all.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t module = first[moved[i].report.module];
        modules_add_module(m, &moved[i].report, module == i ? NEW : module);
    }
    free(moved);
    free(first);
}

/* ---- sums ---- */

static bool merge_modules_open(ModuleReport *m, Buf *why) {
    if (!m->merge)
        m->merge = merge_begin(m->report, why);
    return m->merge;
}

static bool modules_combine(ModuleReport *to, const Report *from, bool less, Buf *why) {
    return merge_modules_open(to, why) && merge_add(to->merge, from, less, why);
}

bool modules_open(Modules *m, Buf *why) {
    assert(!why->len);
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->all.len; i++) {
        derived_reset(m->all.at[i].report);
        ok = merge_modules_open(&m->all.at[i], why);
    }
    return ok;
}

/* The reports of instances that have not been cut off. */
static void find_whole(const Modules *m, RunIndex *whole) {
    for (uint32_t i = 0; i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        if (!part->report.cut && !part->origin.less)
            run_index_add(whole, &part->origin, i);
    }
}

static bool modules_add_part(Modules *m, ReportPart *part, const RunIndex *whole, Buf *why) {
    bool has_whole = run_index_find(whole, &part->origin) != RUN_NONE;
    if ((part->origin.less && !has_whole) || (part->report.cut && has_whole && m->by_thread))
        return true;
    ModuleReport *to = modules_module_of(m, &part->origin);
    if (part->report.cut && (to->report || has_whole)) {
        to->left_out++;
        return true;
    }
    to->instances += !part->origin.less;
    if (to->report)
        return modules_combine(to, &part->report, part->origin.less, why);
    to->report = &part->report;
    return true;
}

static void modules_add_parts(Modules *m, Buf *why) {
    RunIndex whole = {0};
    find_whole(m, &whole);
    for (uint32_t i = 0; i < m->parts.all.len && !why->len; i++)
        modules_add_part(m, &m->parts.all.at[i], &whole, why);
    for (uint32_t i = 0; m->by_thread && i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        if (part->report.cut && run_index_find(&whole, &part->origin) != RUN_NONE)
            m->all.at[run_index_find(&m->modules, &part->origin)].left_out++;
    }
    run_index_free(&whole);
}

/* ---- names of functions ---- */

static bool has_names(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (profile_is_names(r->rows.at[i].var))
            return true;
    return false;
}

/* Adds the variables of the origin, as if the program had reported them. */
static void modules_add_names(ModuleReport *m) {
    static const ReportVar names = {{"map_id", 6}, {"names", 5},   {"map<u32,str>", 12},
                                    {"i32", 3},    {"script0", 7}, {0}};
    if (m->origin.module.names.ptr && !has_names(m->report))
        vec_push(&m->report->rows, ((ReportRow){.var = &names,
                                                .id = STR("4294967295"),
                                                .value = m->origin.module.names,
                                                .class = REPORT_CLASS_TEXT}));
}

/* ---- titles ---- */

static bool is_title(const Map *titles, Str title) {
    return map_get(titles, title) != NULL;
}

/* Its name, with a suffix if others before it have the same title. */
static Str modules_title_of(Modules *m, uint32_t i, const Map *titles) {
    enum { SHORT = 8 };
    const RunOrigin *o = &m->all.at[i].origin;
    if (!o->module.name.len)
        return str_of(arena_printf(&m->arena, "module %u", i + 1));
    if (!is_title(titles, o->module.name))
        return o->module.name;
    uint32_t some = o->module.id.len < SHORT ? o->module.id.len : SHORT;
    Str title = str_of(arena_printf(&m->arena, "%.*s %.*s", STR_ARG(o->module.name), (int)some,
                                    o->module.id.ptr ? o->module.id.ptr : ""));
    return is_title(titles, title)
               ? str_of(arena_printf(&m->arena, "%.*s #%u", STR_ARG(o->module.name), i + 1))
               : title;
}

static void set_titles(Modules *m) {
    Map titles = {0};
    m->several = false;
    for (uint32_t i = 0; i < m->all.len; i++) {
        ModuleReport *one = &m->all.at[i];
        if (one->module != i) {
            one->title = m->all.at[one->module].title;
            continue;
        }
        m->several |= i > 0;
        one->title = modules_title_of(m, i, &titles);
        map_put(&titles, one->title, i, NULL);
    }
    map_free(&titles);
}

/* ---- reading ---- */

bool modules_read(Modules *m, Str text, uint32_t which, Buf *why) {
    m->origins.by_thread = m->by_thread;
    bool found = parts_read(&m->parts, text, which);
    for (uint32_t i = 0; found && i < m->parts.all.len; i++) {
        value_unify(&m->parts.all.at[i].report);
        derived_reset(&m->parts.all.at[i].report);
    }
    if (found)
        modules_add_parts(m, why);
    for (uint32_t i = 0; found && i < m->all.len; i++)
        modules_add_names(&m->all.at[i]);
    sort_threads(m);
    set_titles(m);
    return found && m->all.len;
}

void modules_read_nothing(Modules *m) {
    assert(!m->all.len && !m->parts.all.len);
    vec_add(&m->all)->report = &vec_add(&m->parts.all)->report;
    m->parts.all.at[0].report.json = true;
    m->all.at[0].thread = run_thread(&m->all.at[0].origin);
    set_titles(m);
}

/* ---- adding another text ---- */

/* Modules by their rows. */
typedef struct ByForm {
    Forms forms;
    Vec(uint32_t) any;    /* node -> the first module with these rows, from 1; 0 = none */
    Vec(uint32_t) untold; /* the same for modules without identity */
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

/* The first module with the same rows that may be the same: one of both has no identity. */
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

/* The module of a report of another text, as far as its rows tell it, or NEW. */
static uint32_t module_by_form(Modules *m, const Modules *other, const ModuleReport *from,
                               ByForm *by_form) {
    if (!m->several && !other->several && !(m->all.at[0].origin.told && from->origin.told))
        return 0;
    if (!by_form->any.len)
        by_form_make(by_form, m);
    uint32_t number = by_form_find(by_form, from);
    return number ? m->all.at[number - 1].module : NEW;
}

/* Adds a report of another text to the same module and thread, or beside it if there is none. */
static void add_other(Modules *m, Modules *other, ModuleReport *from, bool less, ByForm *by_form,
                      Buf *why) {
    uint32_t module = NEW;
    ModuleReport *to = find_module(m, &from->origin);
    if (!to && (module = module_by_form(m, other, from, by_form)) != NEW)
        to = m->by_thread ? thread_of(m, module, from->thread) : &m->all.at[module];
    bool told = from->origin.told && m->all.at[0].origin.told;
    if (!to && !less && (told || module != NEW)) {
        uint32_t known = run_index_find(&m->modules, &from->origin);
        modules_add_module(m, from, known == RUN_NONE ? module : m->all.at[known].module);
        *from = (ModuleReport){.report = from->report}; /* its sum is ours now */
        return;
    }
    if (!to && module != NEW) {
        buf_printf(why, "thread %.*s has not reported before", STR_ARG(from->thread));
        return;
    }
    if (!to)
        to = &m->all.at[0]; /* which will name the difference */
    if (modules_combine(to, from->report, less, why))
        to->instances += from->instances;
}

bool modules_add(Modules *m, Modules *other, bool less, Buf *why) {
    ByForm by_form = {0};
    assert(m->by_thread == other->by_thread);
    for (uint32_t i = 0; i < other->all.len && !why->len; i++)
        add_other(m, other, &other->all.at[i], less, &by_form, why);
    if (!less) {
        m->parts.threads.began += other->parts.threads.began;
        m->parts.threads.complete += other->parts.threads.complete;
    }
    by_form_free(&by_form);
    sort_threads(m);
    set_titles(m);
    return !why->len;
}

/* ---- choosing ---- */

/* Those with the program's hash; returns whether there are any. */
static bool fit_by_hash(const Modules *m, const Places *places, bool *fits) {
    char hash[FIT_HASH];
    bool any = false;
    fit_hash(places->m->bytes, places->m->size, hash);
    for (uint32_t i = 0; i < m->all.len; i++)
        any |= fits[i] = str_is(m->all.at[i].origin.module.hash, hash);
    return any;
}

void modules_fit(const Modules *m, const Places *places, bool *fits, Buf *why) {
    if (fit_by_hash(m, places, fits))
        return;
    Fit *found = mem_zalloc((m->all.len + 1u) * sizeof *found), best = FIT_NOT;
    for (uint32_t i = 0; i < m->all.len; i++) {
        const ModuleReport *r = &m->all.at[i];
        Buf one = {0};
        found[i] = fit_program(r->report, places, &one);
        best = found[i] > best ? found[i] : best;
        buf_printf(why, "%s%.*s: %s", i ? "; " : "", STR_ARG(r->title), buf_cstr(&one));
        buf_free(&one);
    }
    for (uint32_t i = 0; i < m->all.len; i++)
        fits[i] = best && found[i] == best;
    why->len = best ? 0 : why->len;
    free(found);
}

ModuleReport *modules_of_program(const Modules *m, const Places *places, Buf *why) {
    assert(m->all.len);
    if (m->all.len == 1)
        return &m->all.at[0];
    bool *fits = mem_zalloc(m->all.len + 1u);
    uint32_t k = 0;
    modules_fit(m, places, fits, why);
    while (k < m->all.len && !fits[k])
        k++;
    free(fits);
    return k < m->all.len ? &m->all.at[k] : NULL;
}

ModuleReport *modules_named(const Modules *m, Str name) {
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < m->all.len; i++) {
            ModuleReport *r = &m->all.at[i];
            const RunOrigin *o = &r->origin;
            bool is[] = {
                str_eq(r->title, name), (o->module.name.ptr && str_eq(o->module.name, name)),
                name.len && (str_begins(o->module.id, name) || str_begins(o->module.hash, name) ||
                             str_begins(r->title, name))};
            if (is[pass])
                return r;
        }
    return NULL;
}

void modules_select(Modules *m, const ModuleReport *one) {
    assert(one >= m->all.at && one < m->all.at + m->all.len);
    uint32_t module = one->module, n = m->all.len;
    run_index_free(&m->origins);
    run_index_free(&m->modules);
    m->all.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        ModuleReport kept = m->all.at[i];
        if (kept.module == module)
            modules_add_module(m, &kept, m->all.len ? 0 : NEW);
        else
            merge_free(kept.merge);
    }
    m->several = false;
}

/* ---- warnings ---- */

/* The threads whose counts are missing. */
static void modules_warn_of_threads(const RunThreads *t, const char *name, Diags *diags) {
    if (t->complete < t->began)
        diag_hint(diags,
                  diag(diags, DIAG_NO_REPORT, NO_SPAN,
                       "%s: %llu of %llu threads that ran modules have not reported: what they did "
                       "is missing",
                       name, (unsigned long long)(t->began - t->complete),
                       (unsigned long long)t->began),
                  RUN_THREADS_HINT);
}

void modules_warn(const Modules *m, const char *name, Str text, Diags *diags) {
    for (uint32_t i = 0; i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        report_warn(&part->report, name, text, diags);
        Str of = part->origin.module.name.ptr ? part->origin.module.name : STR("");
        if (part->origin.format > RUN_FORMAT)
            diag_hint(
                diags,
                diag(diags, DIAG_NEWER_REPORT, NO_SPAN,
                     "%s: a report%s%.*s has format %u; expected %d", name, of.len ? " of " : "",
                     STR_ARG(of), part->origin.format, RUN_FORMAT),
                "a newer version of whammc wrote it: what this one does not know is left out");
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
    modules_warn_of_threads(&m->parts.threads, name, diags);
}

void modules_free(Modules *m) {
    for (uint32_t i = 0; i < m->all.len; i++)
        merge_free(m->all.at[i].merge);
    vec_free(&m->all);
    run_index_free(&m->origins);
    run_index_free(&m->modules);
    parts_free(&m->parts);
    arena_free(&m->arena);
}
