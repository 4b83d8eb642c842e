/*
 * api/api_coverage.c - the public interface to coverage (include/whammc/coverage.h).
 */
#include "whammc/coverage.h"

#include "api/api.h"
#include "api/api_locate.h"
#include "format/coverage_format.h"
#include "merge/modules.h"
#include "valid/valid.h"

#include <assert.h>

#define COVERAGE(NAME, name, write, ending)                                                        \
    static_assert((int)WHAMMC_COVERAGE_##NAME == COVERAGE_##NAME,                                  \
                  "WhammcCoverageFormat is CoverageFormat");
#include "format/formats.def"

/* A program, as it was before it was instrumented. */
typedef struct CoverageProgram {
    char *name; /* for messages and titles: "app.wasm", of a component's module "app.wasm:main" */
    char *file; /* as it was given */
    uint32_t given; /* a number that core modules of one component share; 0 = it is a module */
    uint8_t *bytes;
    WasmModule module;
    Places places;
    const whammc_debug_info *debug;
} CoverageProgram;

struct WhammcCoverage {
    Vec(CoverageProgram *) programs;
    Vec(CoverageMarks) marks; /* of the programs; those of the first one may be there before it */
    const whammc_debug_info *debug;
    CoverageObjects objects;
    Vec(uint8_t *) object_bytes;
    CoverageTotals totals;
    Diags diags;
    Buf rendered;
};

WhammcCoverage *whammc_coverage_new(void) {
    WhammcCoverage *c = mem_zalloc(sizeof(WhammcCoverage));
    vec_push(&c->marks, (CoverageMarks){0});
    return c;
}

static void forget_messages(WhammcCoverage *c) {
    diag_free(&c->diags);
    c->diags = (Diags){0};
}

static void api_coverage_free_program(CoverageProgram *p) {
    places_free(&p->places);
    wasm_module_free(&p->module);
    free(p->bytes);
    free(p->name);
    free(p->file);
    free(p);
}

/* The marks of the first one stay: they may be of the program that comes. */
static void forget_programs(WhammcCoverage *c) {
    for (uint32_t i = 0; i < c->programs.len; i++)
        api_coverage_free_program(c->programs.at[i]);
    c->programs.len = 0;
    while (c->marks.len > 1)
        marks_free(&c->marks.at[--c->marks.len]);
}

void whammc_coverage_free(WhammcCoverage *c) {
    if (!c)
        return;
    forget_programs(c);
    forget_messages(c);
    marks_free(&c->marks.at[0]);
    vec_free(&c->marks);
    vec_free(&c->programs);
    objects_free(&c->objects);
    for (uint32_t i = 0; i < c->object_bytes.len; i++)
        free(c->object_bytes.at[i]);
    vec_free(&c->object_bytes);
    buf_free(&c->rendered);
    free(c);
}

static whammc_status api_coverage_status_of(const WhammcCoverage *c) {
    return c->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}

const char *whammc_coverage_messages(WhammcCoverage *c, unsigned flags) {
    return api_messages(&c->diags, &c->rendered, flags);
}

/* ---- input ---- */

static bool cover_core_module(WhammcCoverage *c, const CorePart *part, uint32_t given) {
    CoverageProgram *p = mem_zalloc(sizeof *p);
    p->bytes = (uint8_t *)api_copy(part->bytes, part->size);
    p->name = api_copy(part->title, strlen(part->title));
    p->file = api_copy(part->file, strlen(part->file));
    p->given = given;
    p->debug = c->debug;
    DiagFileId file = diag_file(&c->diags, p->name, p->bytes, part->size, true);
    if (!wasm_load(&p->module, p->bytes, part->size, file, &c->diags)) {
        api_coverage_free_program(p);
        return false;
    }
    places_open(&p->places, &p->module);
    if (c->programs.len)
        vec_push(&c->marks, (CoverageMarks){0});
    vec_push(&c->programs, p);
    return true;
}

whammc_status whammc_coverage_add_module(WhammcCoverage *c, const char *name, const void *bytes,
                                         size_t size) {
    forget_messages(c);
    uint32_t before = c->programs.len;
    CoreProgram p = {.name = name, .bytes = bytes, .size = size, .unvalidated = true};
    bool ok = core_program_open(&p, &c->diags);
    for (uint32_t i = 0; ok && i < p.parts.len; i++)
        ok = cover_core_module(c, &p.parts.at[i], p.is_component ? before + 1 : 0);
    while (!ok && c->programs.len > before) {
        if (c->programs.len > 1)
            marks_free(&c->marks.at[--c->marks.len]);
        api_coverage_free_program(c->programs.at[--c->programs.len]);
    }
    core_program_close(&p);
    return api_coverage_status_of(c);
}

whammc_status whammc_coverage_set_module(WhammcCoverage *c, const char *name, const void *bytes,
                                         size_t size) {
    forget_programs(c);
    return whammc_coverage_add_module(c, name, bytes, size);
}

/* Whether two programs are core modules of one component, or the same. */
static bool covered_together(const CoverageProgram *a, const CoverageProgram *b) {
    return a == b || (a->given && a->given == b->given);
}

void whammc_coverage_locate(WhammcCoverage *c, const whammc_debug_info *info) {
    c->debug = info;
    for (uint32_t i = 0; i < c->programs.len; i++)
        if (covered_together(c->programs.at[i], vec_last(&c->programs)))
            c->programs.at[i]->debug = info;
}

whammc_status whammc_coverage_include_objects(WhammcCoverage *c, const char *name,
                                              const void *bytes, size_t size) {
    forget_messages(c);
    if (size > UINT32_MAX) {
        diag(&c->diags, DIAG_NOT_WASM, NO_SPAN, "%s: it has 4 GiB or more", name);
        return api_coverage_status_of(c);
    }
    uint8_t *copy = (uint8_t *)api_copy(bytes, size);
    vec_push(&c->object_bytes, copy);
    objects_add(&c->objects, name, (Str){(const char *)copy, (uint32_t)size}, &c->diags);
    return api_coverage_status_of(c);
}

/* ---- reports ---- */

/* A text whose reports are added. */
typedef struct CoverageText {
    WhammcCoverage *c;
    Modules modules;
    Vec(bool) taken; /* by module: a program has it */
    bool any;        /* of them */
    bool counted;    /* one has counts */
    Buf unfit;       /* why the first program fits none */
} CoverageText;

/* Adds the report of a module to the counts of a program. */
static void api_coverage_take_report(CoverageText *t, uint32_t program, uint32_t module) {
    t->any = true;
    t->counted |= marks_add(&t->c->marks.at[program], t->modules.all.at[module].report);
}

/* The reports of the only program, or of one that will be set. */
static void take_of_one(CoverageText *t, Buf *why) {
    static const Places nothing;
    const WhammcCoverage *c = t->c;
    if (!c->programs.len && t->modules.all.len > 1) {
        buf_str(why, STR("it has reports of several modules: set the program first"));
        return;
    }
    const ModuleReport *one = modules_of_program(
        &t->modules, c->programs.len ? &c->programs.at[0]->places : &nothing, why);
    if (one)
        api_coverage_take_report(t, 0, (uint32_t)(one - t->modules.all.at));
}

/* Gives a program the reports that it fits: the first one, or all that no other program has. */
static void take_of_several(CoverageText *t, uint32_t program, bool first) {
    bool *fits = mem_zalloc(t->modules.all.len + 1u), given = false;
    Buf why = {0};
    modules_fit(&t->modules, &t->c->programs.at[program]->places, fits, &why);
    for (uint32_t i = 0; i < t->modules.all.len && !(first && given); i++)
        if (fits[i] && !t->taken.at[i]) {
            t->taken.at[i] = given = true;
            api_coverage_take_report(t, program, i);
        }
    if (first && !program)
        buf_str(&t->unfit, buf_view(&why));
    buf_free(&why);
    free(fits);
}

/* Modules that are none of the programs are not shown. `why` has a message if all are like that. */
static void api_coverage_take_reports(CoverageText *t, Buf *why) {
    if (t->c->programs.len <= 1) {
        take_of_one(t, why);
        return;
    }
    for (uint32_t i = 0; i < t->modules.all.len; i++)
        vec_push(&t->taken, false);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < t->c->programs.len; i++)
            take_of_several(t, i, pass == 0);
    if (!t->any)
        buf_printf(why, "it is the report of none of the %u programs; of %s: %s",
                   t->c->programs.len, t->c->programs.at[0]->name, buf_cstr(&t->unfit));
}

/* `why` describes the error in a report; if there is none, warnings were given. */
static void api_coverage_add(WhammcCoverage *c, const char *name, Str text, DiagTag *tag,
                             Buf *why) {
    CoverageText t = {.c = c};
    *tag = DIAG_NOT_A_REPORT;
    if (!modules_read(&t.modules, text, 0, why)) {
        buf_str(why, STR("there is no report in it"));
    } else if (!why->len) {
        api_coverage_take_reports(&t, why);
        *tag = t.any ? DIAG_NO_COUNTS : DIAG_OTHER_REPORT;
        if (t.any && !t.counted)
            buf_str(why, STR("the report does not say how often code was executed"));
        else if (t.any)
            modules_warn(&t.modules, name, text, &c->diags);
    }
    modules_free(&t.modules);
    vec_free(&t.taken);
    buf_free(&t.unfit);
}

whammc_status whammc_coverage_add(WhammcCoverage *c, const char *name, const void *bytes,
                                  size_t size) {
    DiagTag tag = DIAG_NOT_A_REPORT;
    Buf why = {0};
    forget_messages(c);
    if (size > UINT32_MAX)
        buf_str(&why, STR("it has 4 GiB or more"));
    else
        api_coverage_add(c, name, (Str){bytes, (uint32_t)size}, &tag, &why);
    if (why.len) {
        Diag *g = diag(&c->diags, tag, NO_SPAN, "%s: %s", name, buf_cstr(&why));
        if (tag != DIAG_OTHER_REPORT)
            diag_hint(&c->diags, g, "the script `coverage` makes such reports");
    }
    buf_free(&why);
    for (uint32_t i = 0; i < c->marks.len; i++)
        marks_settle(&c->marks.at[i]);
    return api_coverage_status_of(c);
}

/* ---- writing ---- */

/* The data made from a program, and the texts that it names. */
typedef struct MadeCoverage {
    Coverage coverage;
    Sources sources;
    ApiTexts texts; /* which the sources refer to */
} MadeCoverage;

/* By format. A row without a function does not compile: neither NULL nor nothing has an address. */
static void (*const writers[])(const CoverageView *v, Buf *out) = {
#define COVERAGE(NAME, name, write, ending) [COVERAGE_##NAME] = &write,
#include "format/formats.def"
};

static void api_coverage_put(const WhammcCoverage *c, const Coverage *made, CoverageFormat format,
                             const WhammcCoverageOptions *options, Buf *out) {
    const char *title = options->title ? options->title : c->programs.at[0]->file;
    const CoverageView view = {.c = made,
                               .title = str_of(title),
                               .test = str_of(options->title),
                               .width = options->width,
                               .time = options->time};
    assert(format < sizeof writers / sizeof *writers);
    writers[format](&view, out);
}

/* Warns about missing parts of a program. */
static void warn_of_program(WhammcCoverage *c, const CoverageProgram *p, const Coverage *made) {
    source_warn_short(&made->shortened, p->name, &c->diags);
    if (made->misplaced)
        diag(
            &c->diags, DIAG_NOT_A_REPORT, NO_SPAN,
            "%s: the report is of another program: it has counts where this one has no instruction",
            p->name);
}

/* Warns if no file is shown. */
static void warn_of_nothing(WhammcCoverage *c, const Coverage *made) {
    const char *name = c->programs.at[0]->file;
    bool several = c->programs.len > 1;
    if (made->files.len || made->code.len || c->diags.errors)
        return;
    if (made->left_out.len) {
        Diag *g =
            diag(&c->diags, DIAG_NO_SOURCES, NO_SPAN,
                 several                   ? "%s and others: source files such as %s cannot be read"
                 : made->left_out.len == 1 ? "%s: its source file %s cannot be read"
                                           : "%s: its source files, such as %s, cannot be read",
                 name, vec_last(&made->left_out).ptr);
        diag_hint(&c->diags, g,
                  "if the sources have moved, --path-map=FROM=TO says where to; `whammc "
                  "coverage --all-files` shows counts without sources");
    } else if (made->unwanted.len) {
        diag(
            &c->diags, DIAG_NO_SOURCES, NO_SPAN,
            "%s%s: the patterns of --include and --exclude leave out all its source files, such as "
            "%s",
            name, several ? " and others" : "", made->unwanted.ptr);
    }
}

/* Only DWARF tells which functions are inlined. */
static void warn_of_map(WhammcCoverage *c, const CoverageProgram *p, const Locations *l) {
    Str dwarf;
    if (c->objects.all.len && locations_any(l) && !locations_dwarf(l, &dwarf))
        diag(&c->diags, DIAG_NO_DEBUG, (Span){p->module.file, 0, 0},
             "the program has a source map, but no DWARF sections: it cannot be told which "
             "functions of the object files it has, so none are added");
}

static void make_of_program(WhammcCoverage *c, uint32_t number,
                            const WhammcCoverageOptions *options, MadeCoverage *made) {
    CoverageProgram *p = c->programs.at[number];
    CoverageOptions o = {.objects = &c->objects,
                         .mangled = options->mangled,
                         .without_text = options->all_files || !options->source,
                         .no_markers = options->no_markers,
                         .include = options->include,
                         .exclude = options->exclude};
    made->texts = (ApiTexts){options->source, options->ctx};
    made->sources = api_sources(&made->texts, p->file);
    ApiLocator l;
    p->module.file = diag_file(&c->diags, p->name, p->bytes, p->module.size, true);
    api_locator_begin(&l, p->debug, p->file, &c->diags);
    if (p->given)
        l.part = p->name + strlen(p->file) + 1;
    Locations *locations = locator_open(&l.locator, &p->module);
    warn_of_map(c, p, locations);
    objects_register(&c->objects, l.maps.at, l.maps.len, &c->diags);
    coverage_make(&made->coverage, &p->module, &p->places, locations, &c->marks.at[number],
                  &made->sources, &o);
    made->sources.embedded = NULL;
    api_locator_end(&l);
    warn_of_program(c, p, &made->coverage);
}

/* ---- several programs ---- */

/* The name of a program among others. */
static Str api_coverage_title_of(const CoverageProgram *p) {
    const char *slash = strrchr(p->file, '/');
    return str_of(p->name + (slash ? slash + 1 - p->file : 0));
}

/* The same, with its number if another one before it is called so. In the arena of `all`. */
static Str title_among(const WhammcCoverage *c, uint32_t number, Coverage *all) {
    Str title = api_coverage_title_of(c->programs.at[number]);
    bool known = false;
    for (uint32_t i = 0; i < number; i++)
        known |= str_eq(api_coverage_title_of(c->programs.at[i]), title);
    const char *shown = known ? arena_printf(&all->arena, "%.*s #%u", STR_ARG(title), number + 1)
                              : arena_strndup(&all->arena, title.ptr, title.len);
    return str_of(shown);
}

/* Whether something may tell its source locations. */
static bool is_located(const CoverageProgram *p) {
    return (p->debug && p->debug->file) ||
           locations_mentioned((Str){(const char *)p->bytes, (uint32_t)p->module.size});
}

/* Whether a program has no counts, and is no core module of a component in which another has: it
 * may not have been instrumented. */
static bool is_silent(const WhammcCoverage *c, uint32_t number) {
    bool silent = true;
    for (uint32_t i = 0; i < c->programs.len; i++)
        if (covered_together(c->programs.at[i], c->programs.at[number]))
            silent = silent && !c->marks.at[i].all.len;
    return silent;
}

/* Programs without anything to show. */
typedef struct Unshown {
    uint32_t count;
    Buf names;
} Unshown;

static void note_unshown(Unshown *u, Str name) {
    enum { NAMED = 3 };
    if (u->count < NAMED)
        buf_printf(&u->names, "%s%.*s", u->count ? ", " : "", STR_ARG(name));
    else if (u->count == NAMED)
        buf_str(&u->names, STR(", ..."));
    u->count++;
}

static void warn_of_unshown(WhammcCoverage *c, Unshown *bare, Unshown *silent) {
    if (bare->count)
        diag_hint(&c->diags,
                  diag(&c->diags, DIAG_NO_DEBUG, NO_SPAN,
                       "%u of %u programs %s neither DWARF sections nor a source map: %s",
                       bare->count, c->programs.len, bare->count == 1 ? "has" : "have",
                       buf_cstr(&bare->names)),
                  "compile and link with -g what should be shown");
    if (silent->count)
        diag(&c->diags, DIAG_OTHER_PROGRAM, NO_SPAN, "there are no counts of %u of %u programs: %s",
             silent->count, c->programs.len, buf_cstr(&silent->names));
}

static void make_of_several(WhammcCoverage *c, const WhammcCoverageOptions *options,
                            MadeCoverage *made, Coverage *all) {
    Unshown bare = {0}, silent = {0};
    for (uint32_t i = 0; i < c->programs.len; i++) {
        Str title = title_among(c, i, all);
        if (is_silent(c, i))
            note_unshown(&silent, title);
        else if (!c->marks.at[i].all.len)
            continue;
        else if (!is_located(c->programs.at[i]))
            note_unshown(&bare, title);
        else
            make_of_program(c, i, options, &made[i]);
        coverage_join(all, &made[i].coverage, title);
    }
    coverage_join_end(all);
    warn_of_unshown(c, &bare, &silent);
    buf_free(&bare.names);
    buf_free(&silent.names);
}

/* ---- all of it ---- */

/* Finds what all programs have executed, without sources. */
static void find_code(WhammcCoverage *c, Coverage *all) {
    for (uint32_t i = 0; i < c->programs.len; i++) {
        const CoverageProgram *p = c->programs.at[i];
        all->misplaced = false;
        coverage_add_code(all, str_of(p->name), &p->module, &c->marks.at[i]);
        warn_of_program(c, p, all);
    }
}

static void write_made(WhammcCoverage *c, CoverageFormat format,
                       const WhammcCoverageOptions *options, const Coverage *made, uint8_t **out,
                       size_t *size) {
    Buf text = {0};
    warn_of_nothing(c, made);
    if (c->diags.errors)
        return;
    api_coverage_put(c, made, format, options, &text);
    c->totals = made->totals;
    buf_cstr(&text); /* not NULL, even if it is empty */
    *out = text.data;
    *size = text.len;
}

whammc_status whammc_coverage_write(WhammcCoverage *c, WhammcCoverageFormat format,
                                    const WhammcCoverageOptions *options, uint8_t **out,
                                    size_t *size) {
    static const WhammcCoverageOptions defaults;
    uint32_t n = c->programs.len;
    *out = NULL;
    *size = 0;
    forget_messages(c);
    if (!options)
        options = &defaults;
    if (!n) {
        diag(&c->diags, DIAG_NOT_WASM, NO_SPAN, "there is no program: set one first");
        return api_coverage_status_of(c);
    }
    MadeCoverage *made = mem_zalloc(n * sizeof *made);
    Coverage all = {0};
    bool code = format == WHAMMC_COVERAGE_DRCOV;
    if (code)
        find_code(c, &all);
    else if (n == 1)
        make_of_program(c, 0, options, &made[0]);
    else
        make_of_several(c, options, made, &all);
    write_made(c, (CoverageFormat)format, options, n == 1 && !code ? &made[0].coverage : &all, out,
               size);
    coverage_free(&all);
    for (uint32_t i = 0; i < n; i++) {
        coverage_free(&made[i].coverage);
        sources_free(&made[i].sources);
    }
    free(made);
    return api_coverage_status_of(c);
}

WhammcCoverageTotals whammc_coverage_totals(const WhammcCoverage *c) {
    const CoverageTotals *t = &c->totals;
    return (WhammcCoverageTotals){.lines = t->lines.all,
                                  .lines_executed = t->lines.hit,
                                  .functions = t->functions.all,
                                  .functions_executed = t->functions.hit,
                                  .branches = t->ways.all,
                                  .branches_executed = t->ways.hit};
}
