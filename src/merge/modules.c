/*
 * merge/modules.c - adds up the parts of each module.
 */
#include "merge/modules.h"

#include "merge/fit.h"
#include "report/value.h"

#include <stdlib.h>

/* ---- which parts are of one module ---- */

static bool is_same_text(Str a, Str b) {
    return a.ptr && b.ptr && str_eq(a, b);
}

/* Whether both say that they are of the same module. */
static bool is_same_module(const ReportOrigin *a, const ReportOrigin *b) {
    if (!a->told || !b->told)
        return false;
    return a->module.len && b->module.len ? str_eq(a->module, b->module)
                                          : is_same_text(a->name, b->name);
}

static ModuleReport *module_of(Modules *m, const ReportOrigin *origin) {
    for (uint32_t i = 0; i < m->all.len; i++)
        if (is_same_module(&m->all.at[i].origin, origin))
            return &m->all.at[i];
    ModuleReport *new = vec_add(&m->all);
    new->origin = *origin;
    return new;
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

/* Whether there is another report of the module, of an instance that has not been cut off. */
static bool has_whole(Modules *m, const ReportOrigin *origin) {
    for (uint32_t i = 0; i < m->parts.all.len; i++) {
        const ReportPart *part = &m->parts.all.at[i];
        if (!part->report.cut && !part->origin.less && is_same_module(&part->origin, origin))
            return true;
    }
    return false;
}

static bool add_part(Modules *m, ReportPart *part, Buf *why) {
    if (part->origin.less && !has_whole(m, &part->origin))
        return true;
    ModuleReport *to = module_of(m, &part->origin);
    if (part->report.cut && (to->report || has_whole(m, &part->origin))) {
        to->left_out++;
        return true;
    }
    to->instances += !part->origin.less;
    if (to->report)
        return combine(to, &part->report, part->origin.less, why);
    to->report = &part->report;
    return true;
}

/* ---- names of functions ---- */

static bool has_names(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (str_is(r->rows.at[i].var->type, "map<u32,str>"))
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

static bool is_title(const Modules *m, uint32_t before, Str title) {
    for (uint32_t i = 0; i < before; i++)
        if (str_eq(m->all.at[i].title, title))
            return true;
    return false;
}

/* Its name, with what tells it apart if others have the same one. */
static Str title_of(Modules *m, uint32_t i) {
    enum { SHORT = 8 };
    const ReportOrigin *o = &m->all.at[i].origin;
    if (!o->name.len)
        return str_of(arena_printf(&m->arena, "module %u", i + 1));
    if (!is_title(m, i, o->name))
        return o->name;
    uint32_t some = o->module.len < SHORT ? o->module.len : SHORT;
    Str title = str_of(arena_printf(&m->arena, "%.*s %.*s", STR_ARG(o->name), (int)some,
                                    o->module.ptr ? o->module.ptr : ""));
    return is_title(m, i, title)
               ? str_of(arena_printf(&m->arena, "%.*s #%u", STR_ARG(o->name), i + 1))
               : title;
}

static void set_titles(Modules *m) {
    for (uint32_t i = 0; i < m->all.len; i++)
        m->all.at[i].title = title_of(m, i);
}

/* ---- reading ---- */

bool modules_read(Modules *m, Str text, uint32_t which, Buf *why) {
    bool found = parts_read(&m->parts, text, which);
    for (uint32_t i = 0; found && i < m->parts.all.len; i++)
        value_unify(&m->parts.all.at[i].report);
    for (uint32_t i = 0; found && i < m->parts.all.len && !why->len; i++)
        add_part(m, &m->parts.all.at[i], why);
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

/* The module to which a report of another text is added. */
static ModuleReport *partner_of(Modules *m, const Modules *other, const ModuleReport *from) {
    if (m->all.len == 1 && other->all.len == 1 && !(m->all.at[0].origin.told && from->origin.told))
        return &m->all.at[0];
    for (uint32_t i = 0; i < m->all.len; i++)
        if (is_same_module(&m->all.at[i].origin, &from->origin))
            return &m->all.at[i];
    for (uint32_t i = 0; i < m->all.len; i++) {
        const Report *a = m->all.at[i].report, *b = from->report;
        uint32_t n = 0;
        bool told = m->all.at[i].origin.told && from->origin.told;
        while (!told && n < a->rows.len && n < b->rows.len &&
               report_same_row(&a->rows.at[n], &b->rows.at[n]))
            n++;
        if (!told && n == a->rows.len && n == b->rows.len)
            return &m->all.at[i];
    }
    return NULL;
}

bool modules_add(Modules *m, Modules *other, bool less, Buf *why) {
    for (uint32_t i = 0; i < other->all.len && !why->len; i++) {
        ModuleReport *from = &other->all.at[i];
        ModuleReport *to = partner_of(m, other, from);
        if (!to && !less && from->origin.told && m->all.at[0].origin.told) {
            vec_push(&m->all, *from);
            *from = (ModuleReport){.report = from->report}; /* its sum is ours now */
            continue;
        }
        if (!to)
            to = &m->all.at[0]; /* which will say what is different */
        if (combine(to, from->report, less, why))
            to->instances += from->instances;
    }
    set_titles(m);
    return !why->len;
}

/* ---- choosing ---- */

static bool has_hash(const ModuleReport *r, const Places *places) {
    char hash[FIT_HASH];
    if (!r->origin.hash.len)
        return false;
    fit_hash(places->m->bytes, places->m->size, hash);
    return str_is(r->origin.hash, hash);
}

ModuleReport *modules_of_program(const Modules *m, const Places *places, Buf *why) {
    for (uint32_t i = 0; i < m->all.len; i++)
        if (m->all.len == 1 || has_hash(&m->all.at[i], places))
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
            bool is[] = {str_eq(r->title, name), is_same_text(o->name, name),
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
}

/* ---- warnings ---- */

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
}

void modules_free(Modules *m) {
    for (uint32_t i = 0; i < m->all.len; i++)
        merge_free(m->all.at[i].merge);
    vec_free(&m->all);
    parts_free(&m->parts);
    arena_free(&m->arena);
}
