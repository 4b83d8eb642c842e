/*
 * api/api_report_modules.c - the modules of a report, and the programs that they are.
 */
#include "api/api_report.h"

#include "api/api.h"
#include "merge/fit.h"
#include "profile/profile_homes.h"
#include "report/totals.h"
#include "valid/valid.h"

#include <assert.h>

/* ---- programs ---- */

static void api_report_modules_free_program(ReportProgram *p) {
    places_free(&p->places);
    wasm_module_free(&p->module);
    buf_free(&p->unfit);
    free(p->bytes);
    free(p->name);
    free(p->file);
    free(p);
}

void api_forget_programs(WhammcReport *r) {
    api_forget_joined(r);
    for (uint32_t i = 0; i < r->programs.len; i++)
        api_report_modules_free_program(r->programs.at[i]);
    r->programs.len = 0;
}

static bool add_core_module(WhammcReport *r, const CorePart *part, uint32_t given) {
    ReportProgram *p = mem_zalloc(sizeof *p);
    p->bytes = (uint8_t *)api_copy(part->bytes, part->size);
    p->name = api_copy(part->title, strlen(part->title));
    p->file = api_copy(part->file, strlen(part->file));
    p->given = given;
    p->debug = r->debug;
    DiagFileId file = diag_file(&r->diags, p->name, p->bytes, part->size, true);
    bool ok = wasm_load(&p->module, p->bytes, part->size, file, &r->diags);
    if (ok) {
        places_open(&p->places, &p->module);
        vec_push(&r->programs, p);
    } else {
        api_report_modules_free_program(p);
    }
    return ok;
}

bool api_add_program(WhammcReport *r, const char *name, const void *bytes, size_t size) {
    uint32_t before = r->programs.len;
    CoreProgram p = {.name = name, .bytes = bytes, .size = size, .unvalidated = true};
    bool ok = core_program_open(&p, &r->diags);
    for (uint32_t i = 0; ok && i < p.parts.len; i++)
        ok = add_core_module(r, &p.parts.at[i], p.is_component ? before + 1 : 0);
    while (!ok && r->programs.len > before)
        api_report_modules_free_program(r->programs.at[--r->programs.len]);
    core_program_close(&p);
    api_forget_joined(r);
    return ok;
}

bool api_given_together(const ReportProgram *a, const ReportProgram *b) {
    return a == b || (a->given && a->given == b->given);
}

ModuleReport *api_module_of_part(WhammcReport *r, const ReportProgram *part) {
    for (uint32_t i = 0; i < r->of.len; i++)
        if (r->of.at[i] == part)
            return &r->modules.all.at[i];
    return NULL;
}

void api_locate_program(WhammcReport *r, ReportProgram *p, ApiLocator *l) {
    p->module.file = diag_file(&r->diags, p->name, p->bytes, p->module.size, true); /* once more */
    api_locator_begin(l, p->debug, p->file, &r->diags);
    if (p->given)
        l->part = p->name + strlen(p->file) + 1;
}

void whammc_program_hash(const void *bytes, size_t size, char hash[WHAMMC_HASH]) {
    static_assert((int)WHAMMC_HASH == FIT_HASH, "they have the same length");
    fit_hash(bytes, size, hash);
}

/* Gives a program to the modules that it fits: to those that have none yet, or else it has none. */
static void give_program(WhammcReport *r, ReportProgram *p, bool first) {
    bool *fits = mem_zalloc(r->modules.all.len + 1u), given = false;
    p->unfit.len = 0;
    modules_fit(&r->modules, &p->places, fits, &p->unfit);
    for (uint32_t i = 0; i < r->modules.all.len && !(first && given); i++)
        if (fits[i] && !r->of.at[i] && r->modules.all.at[i].module == i) {
            r->of.at[i] = p;
            given = true;
        }
    free(fits);
}

/* Each program gets one module first, so that equal programs share the modules. */
static void match_programs(WhammcReport *r) {
    uint32_t n = r->modules.all.len;
    r->of.len = 0;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&r->of, NULL);
    bool one = n && !r->modules.several && r->programs.len == 1;
    if (one)
        r->of.at[0] = r->programs.at[0]; /* even if it does not fit, which is said elsewhere */
    for (uint32_t pass = 0; pass < 2 && !one; pass++)
        for (uint32_t i = 0; i < r->programs.len; i++)
            give_program(r, r->programs.at[i], pass == 0);
    for (uint32_t i = 0; i < n; i++)
        r->of.at[i] = r->of.at[r->modules.all.at[i].module];
}

/* The number by which other modules know this one; 0 = unknown. */
static uint32_t id_of(const WhammcReport *r, uint32_t module) {
    const ReportProgram *p = r->of.at[module];
    Str known = r->modules.all.at[module].origin.module.hash;
    char hash[FIT_HASH];
    if (known.len || !p)
        return homes_module_id(known);
    fit_hash(p->bytes, p->module.size, hash);
    return homes_module_id(str_of(hash));
}

static void find_homes(WhammcReport *r) {
    Map first = {0}; /* by the id of a module: its number */
    r->homes.all.len = 0;
    for (uint32_t i = 0; i < r->modules.all.len; i++) {
        const ModuleReport *m = &r->modules.all.at[i];
        uint32_t id = r->modules.all.len > 1 ? id_of(r, i) : 0; /* one alone is nobody's home */
        Str key = {(const char *)&id, sizeof id};
        if (*map_put(&first, key, m->module, NULL) != m->module)
            id = 0; /* of the same program, instrumented twice, the first is */
        vec_push(&r->homes.all,
                 ((ProfileModule){id, m->title, m->report, api_places(r, i), m->thread}));
    }
    map_free(&first);
}

const Places *api_places(const WhammcReport *r, uint32_t module) {
    static const Places nothing;
    return module < r->of.len && r->of.at[module] ? &r->of.at[module]->places : &nothing;
}

/* Whether nothing in the report is of a program; of a component only the first module is asked. */
static bool is_unfit(const WhammcReport *r, uint32_t program) {
    const ReportProgram *p = r->programs.at[program];
    bool unfit = p->unfit.len && (!program || !api_given_together(r->programs.at[program - 1], p));
    for (uint32_t i = program; i < r->programs.len; i++)
        if (api_given_together(r->programs.at[i], p))
            unfit = unfit && r->programs.at[i]->unfit.len;
    return unfit;
}

void api_check_programs(WhammcReport *r) {
    for (uint32_t i = 0; i < r->programs.len; i++) {
        ReportProgram *p = r->programs.at[i];
        if (is_unfit(r, i))
            diag(&r->diags, DIAG_OTHER_PROGRAM, NO_SPAN,
                 "%s: expected the program of a module of %s, found another one: %s", p->file,
                 r->name, buf_cstr(&p->unfit));
    }
    for (uint32_t i = 0; i < r->of.len; i++) {
        const ReportProgram *p = r->of.at[i];
        const ReportRow *row = p ? places_foreign(&p->places, r->modules.all.at[i].report) : NULL;
        if (row)
            diag(&r->diags, DIAG_OTHER_PROGRAM, NO_SPAN,
                 "%s: it has a value at offset %u of function %u, where %s has no instruction; is "
                 "it the report of another program?",
                 r->name, row->pc, row->fid, p->name);
    }
}

void api_note_nameless(WhammcReport *r, uint32_t module, const Profile *p) {
    assert(module < r->of.len);
    uint32_t first = PROFILE_NONE, n = 0;
    for (uint32_t i = 0; i < p->funcs.len && !r->of.at[module]; i++) {
        const ProfileFunc *f = &p->funcs.at[i];
        bool nameless = !f->outside && !f->inlined && f->name.len && f->name.ptr[0] == '#';
        first = nameless && !n++ ? i : first;
    }
    if (!n)
        return;
    uint32_t id = p->funcs.at[first].id;
    Diag *g = n == 1 ? diag(&r->diags, DIAG_NO_NAMES, NO_SPAN,
                            "%s: the report has no name of function %u", r->name, id)
                     : diag(&r->diags, DIAG_NO_NAMES, NO_SPAN,
                            "%s: the report has no names of %u functions, such as function %u",
                            r->name, n, id);
    diag_hint(&r->diags, g, "--module=APP, the program before it was instrumented, supplies names");
}

/* ---- all rows ---- */

const Str *api_title(const WhammcReport *r, uint32_t module) {
    assert(module < r->modules.all.len);
    return r->modules.several ? &r->modules.all.at[module].title : NULL;
}

const Str *api_thread(const WhammcReport *r, uint32_t module) {
    assert(module < r->modules.all.len);
    return r->modules.by_thread ? &r->modules.all.at[module].thread : NULL;
}

void api_forget_joined(WhammcReport *r) {
    api_forget_contents(r);
    api_forget_profile(r);
    report_free(&r->joined);
    r->report = NULL;
    r->of.len = 0;
}

static void api_report_modules_join(WhammcReport *r) {
    Report *all = &r->joined;
    all->json = true;
    for (uint32_t i = 0; i < r->modules.all.len; i++) {
        const Report *one = r->modules.all.at[i].report;
        all->cut |= one->cut;
        all->located |= one->located;
        vec_reserve(&all->rows, one->rows.len);
        for (uint32_t k = 0; k < one->rows.len; k++) {
            vec_push(&all->rows, one->rows.at[k]);
            vec_last(&all->rows).module = api_title(r, i);
            vec_last(&all->rows).thread = api_thread(r, i);
        }
    }
}

void api_prepare(WhammcReport *r) {
    if (r->report)
        return;
    for (uint32_t i = 0; i < r->modules.all.len; i++)
        derived_compute(r->modules.all.at[i].report);
    match_programs(r);
    find_homes(r);
    bool plain = r->modules.all.len == 1 && !r->modules.by_thread;
    r->report = plain ? r->modules.all.at[0].report : &r->joined;
    if (!plain)
        api_report_modules_join(r);
}

/* The rows of a module among all; `from` gets the memory of `all`, which gets it back by give. */
static Report borrow(Report *all, uint32_t first, uint32_t n) {
    Report part = {.arena = all->arena, .json = all->json};
    part.rows.at = n ? all->rows.at + first : NULL;
    part.rows.len = part.rows.cap = n;
    return part;
}

void api_copy_report(const WhammcReport *r, bool mangled, Report *copy) {
    assert(r->report);
    *copy = (Report){.json = r->report->json, .cut = r->report->cut};
    vec_reserve(&copy->rows, r->report->rows.len);
    for (uint32_t i = 0; i < r->report->rows.len; i++)
        vec_push(&copy->rows, r->report->rows.at[i]);
    for (uint32_t i = 0, first = 0; i < r->modules.all.len; i++) {
        uint32_t n = r->modules.all.at[i].report->rows.len;
        Report part = borrow(copy, first, n);
        places_name_rows(api_places(r, i), &part);
        copy->arena = part.arena;
        first += n;
    }
    if (!mangled)
        places_demangle(copy);
}

const Str *api_instructions(const WhammcReport *r, Report *copy) {
    assert(copy->rows.len == r->report->rows.len);
    Str *all = arena_array(&copy->arena, Str, copy->rows.len + 1u);
    bool any = false;
    for (uint32_t i = 0, first = 0; i < r->modules.all.len; i++) {
        uint32_t n = r->modules.all.at[i].report->rows.len;
        const Places *places = api_places(r, i);
        if (places->m && n) {
            Report part = borrow(copy, first, n);
            memcpy(all + first, places_instructions(places, &part), n * sizeof *all);
            copy->arena = part.arena;
            any = true;
        }
        first += n;
    }
    return any ? all : NULL;
}
