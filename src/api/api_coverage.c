/*
 * api/api_coverage.c - the public interface to coverage (include/whammc/coverage.h).
 */
#include "whammc/coverage.h"

#include "api/api.h"
#include "api/api_locate.h"
#include "coverage/format.h"
#include "merge/modules.h"
#include "valid/valid.h"

#include <assert.h>

static_assert((int)WHAMMC_COVERAGE_TEXT == COVERAGE_TEXT &&
                  (int)WHAMMC_COVERAGE_LCOV == COVERAGE_LCOV &&
                  (int)WHAMMC_COVERAGE_COBERTURA == COVERAGE_COBERTURA &&
                  (int)WHAMMC_COVERAGE_HTML == COVERAGE_HTML &&
                  (int)WHAMMC_COVERAGE_JSON == COVERAGE_JSON,
              "WhammcCoverageFormat is CoverageFormat");

struct WhammcCoverage {
    char *module_name; /* NULL = there is no program */
    uint8_t *module_bytes;
    WasmModule module;
    Places places;
    const whammc_debug_info *debug;
    CoverageMarks marks;
    CoverageObjects objects;
    Vec(uint8_t *) object_bytes;
    CoverageTotals totals;
    Diags diags;
    Buf rendered;
};

WhammcCoverage *whammc_coverage_new(void) {
    return mem_zalloc(sizeof(WhammcCoverage));
}

static void forget_messages(WhammcCoverage *c) {
    diag_free(&c->diags);
    c->diags = (Diags){0};
}

static void forget_module(WhammcCoverage *c) {
    places_free(&c->places);
    wasm_module_free(&c->module);
    c->module = (WasmModule){0};
    free(c->module_bytes);
    free(c->module_name);
    c->module_bytes = NULL;
    c->module_name = NULL;
}

void whammc_coverage_free(WhammcCoverage *c) {
    if (!c)
        return;
    forget_module(c);
    forget_messages(c);
    marks_free(&c->marks);
    objects_free(&c->objects);
    for (uint32_t i = 0; i < c->object_bytes.len; i++)
        free(c->object_bytes.at[i]);
    vec_free(&c->object_bytes);
    buf_free(&c->rendered);
    free(c);
}

static whammc_status status_of(const WhammcCoverage *c) {
    return c->diags.errors ? WHAMMC_ERROR : WHAMMC_OK;
}

const char *whammc_coverage_messages(WhammcCoverage *c, unsigned flags) {
    return api_messages(&c->diags, &c->rendered, flags);
}

/* ---- what it is made of ---- */

whammc_status whammc_coverage_set_module(WhammcCoverage *c, const char *name, const void *bytes,
                                         size_t size) {
    forget_messages(c);
    forget_module(c);
    c->module_bytes = (uint8_t *)api_copy(bytes, size);
    DiagFileId file = diag_file(&c->diags, name, c->module_bytes, size, true);
    if (wasm_load(&c->module, c->module_bytes, size, file, &c->diags)) {
        c->module_name = api_copy(name, strlen(name));
        places_open(&c->places, &c->module);
    }
    return status_of(c);
}

void whammc_coverage_locate(WhammcCoverage *c, const whammc_debug_info *info) {
    c->debug = info;
}

whammc_status whammc_coverage_include_objects(WhammcCoverage *c, const char *name,
                                              const void *bytes, size_t size) {
    forget_messages(c);
    if (size > UINT32_MAX) {
        diag(&c->diags, DIAG_NOT_WASM, NO_SPAN, "%s: it has 4 GiB or more", name);
        return status_of(c);
    }
    uint8_t *copy = (uint8_t *)api_copy(bytes, size);
    vec_push(&c->object_bytes, copy);
    objects_add(&c->objects, name, (Str){(const char *)copy, (uint32_t)size}, &c->diags);
    return status_of(c);
}

/* The report of the program; NULL if there is none, as `why` says. */
static const Report *report_of(const WhammcCoverage *c, const Modules *m, Buf *why) {
    if (!c->module_name && m->all.len > 1) {
        buf_str(why, STR("it has reports of several modules: set the program first"));
        return NULL;
    }
    const ModuleReport *one = modules_of_program(m, &c->places, why);
    return one ? one->report : NULL;
}

/* `why` describes the error in a report; if there is none, warnings were given. */
static void add(WhammcCoverage *c, const char *name, Str text, DiagTag *tag, Buf *why) {
    Modules m = {0};
    *tag = DIAG_NOT_A_REPORT;
    if (!modules_read(&m, text, 0, why)) {
        buf_str(why, STR("there is no report in it"));
    } else if (!why->len) {
        const Report *r = report_of(c, &m, why);
        *tag = r ? DIAG_NO_COUNTS : DIAG_OTHER_REPORT;
        if (r && !marks_add(&c->marks, r))
            buf_str(why, STR("the report does not say how often code was executed"));
        else if (r)
            modules_warn(&m, name, text, &c->diags);
    }
    modules_free(&m);
}

whammc_status whammc_coverage_add(WhammcCoverage *c, const char *name, const void *bytes,
                                  size_t size) {
    DiagTag tag = DIAG_NOT_A_REPORT;
    Buf why = {0};
    forget_messages(c);
    if (size > UINT32_MAX)
        buf_str(&why, STR("it has 4 GiB or more"));
    else
        add(c, name, (Str){bytes, (uint32_t)size}, &tag, &why);
    if (why.len) {
        Diag *g = diag(&c->diags, tag, NO_SPAN, "%s: %s", name, buf_cstr(&why));
        if (tag != DIAG_OTHER_REPORT)
            diag_hint(&c->diags, g, "the script `coverage` makes such reports");
    }
    buf_free(&why);
    marks_settle(&c->marks);
    return status_of(c);
}

/* ---- writing ---- */

/* A SourceReader; ctx: the options. */
static bool read_source(void *ctx, const char *path, size_t limit, Buf *out) {
    const WhammcCoverageOptions *options = ctx;
    size_t size = 0;
    const void *text = options->source(options->ctx, path, &size);
    if (text && size <= limit)
        buf_bytes(out, text, size);
    return text && size <= limit;
}

/* The folder of a file, with the slash; empty = the current one. */
static Str folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return (Str){path, slash ? (uint32_t)(slash + 1 - path) : 0};
}

static void put(const WhammcCoverage *c, const Coverage *made, CoverageFormat format,
                const WhammcCoverageOptions *options, Buf *out) {
    const char *title = options->title ? options->title : c->module_name;
    switch (format) {
    case COVERAGE_TEXT: coverage_text(made, options->width, out); break;
    case COVERAGE_LCOV: coverage_lcov(made, str_of(options->title), out); break;
    case COVERAGE_COBERTURA: coverage_cobertura(made, options->time, out); break;
    case COVERAGE_HTML: coverage_html(made, str_of(title), out); break;
    case COVERAGE_JSON: coverage_json(made, out); break;
    }
}

/* Warns about what is missing in the result. */
static void warn(WhammcCoverage *c, const Coverage *made) {
    source_warn_short(&made->shortened, c->module_name, &c->diags);
    if (made->misplaced) {
        diag(
            &c->diags, DIAG_NOT_A_REPORT, NO_SPAN,
            "%s: the report is of another program: it has counts where this one has no instruction",
            c->module_name);
    } else if (made->left_out && !made->files.len) {
        Diag *g = diag(&c->diags, DIAG_NO_SOURCES, NO_SPAN,
                       made->left_out == 1 ? "%s: its source file %s cannot be read"
                                           : "%s: its source files, such as %s, cannot be read",
                       c->module_name, made->unread.ptr);
        diag_hint(&c->diags, g,
                  "if the sources have moved, --path-map=FROM=TO says where to; `whammc "
                  "coverage --all-files` shows counts without sources");
    } else if (made->unwanted.len && !made->files.len) {
        diag(&c->diags, DIAG_NO_SOURCES, NO_SPAN,
             "%s: the patterns of --include and --exclude leave out all its source files, such as "
             "%s",
             c->module_name, made->unwanted.ptr);
    }
}

/* Only DWARF tells which functions are inlined. */
static void warn_of_map(WhammcCoverage *c, const Locations *l) {
    Str dwarf;
    if (c->objects.all.len && locations_any(l) && !locations_dwarf(l, &dwarf))
        diag(&c->diags, DIAG_NO_DEBUG, (Span){c->module.file, 0, 0},
             "the program has a source map, but no DWARF sections: it cannot be told which "
             "functions of the object files it has, so none are added");
}

static void make(WhammcCoverage *c, Coverage *made, const WhammcCoverageOptions *options,
                 Sources *sources) {
    CoverageOptions o = {.objects = &c->objects,
                         .mangled = options->mangled,
                         .without_text = options->all_files || !options->source,
                         .no_markers = options->no_markers,
                         .include = options->include,
                         .exclude = options->exclude};
    WhammcCoverageOptions copy = *options;
    *sources = (Sources){.folder = folder_of(c->module_name)};
    if (options->source) {
        sources->read = read_source;
        sources->ctx = &copy;
    }
    ApiLocator l;
    api_locator_begin(&l, c->debug, c->module_name, &c->diags);
    Locations *locations = locator_open(&l.locator, &c->module);
    warn_of_map(c, locations);
    objects_register(&c->objects, l.maps.at, l.maps.len, &c->diags);
    coverage_make(made, &c->module, &c->places, locations, &c->marks, sources, &o);
    api_locator_end(&l);
    warn(c, made);
}

whammc_status whammc_coverage_write(WhammcCoverage *c, WhammcCoverageFormat format,
                                    const WhammcCoverageOptions *options, uint8_t **out,
                                    size_t *size) {
    static const WhammcCoverageOptions defaults;
    Coverage made = {0};
    Sources sources = {0};
    Buf text = {0};
    *out = NULL;
    *size = 0;
    forget_messages(c);
    if (!options)
        options = &defaults;
    if (c->module_name) {
        c->module.file =
            diag_file(&c->diags, c->module_name, c->module_bytes, c->module.size, true);
        make(c, &made, options, &sources);
    } else
        diag(&c->diags, DIAG_NOT_WASM, NO_SPAN, "there is no program: set one first");
    whammc_status status = status_of(c);
    if (status == WHAMMC_OK) {
        put(c, &made, (CoverageFormat)format, options, &text);
        c->totals = made.totals;
        buf_cstr(&text); /* not NULL, even if it is empty */
        *out = text.data;
        *size = text.len;
    }
    coverage_free(&made);
    sources_free(&sources);
    return status;
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
