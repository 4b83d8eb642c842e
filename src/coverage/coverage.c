/*
 * coverage/coverage.c - how often the lines, functions and branches of the source were executed.
 */
#include "base/demangle.h"
#include "coverage/coverage_parts.h"

#include <assert.h>
#include <fnmatch.h>

/* ---- collecting ---- */

uint32_t coverage_file(CoverageMaker *maker, Str path) {
    if (path.ptr == maker->last_path.ptr && path.len == maker->last_path.len)
        return maker->last_file;
    Coverage *c = maker->c;
    bool added;
    uint64_t *index = map_put(&maker->files, path, c->files.len, &added);
    if (added) {
        const char *copy = arena_strndup(&c->arena, path.ptr, path.len);
        vec_push(&c->files, ((CoverageFile){.path = {copy, path.len}}));
    }
    maker->last_path = path;
    maker->last_file = (uint32_t)*index;
    return maker->last_file;
}

/* The file with this path. Valid until the next one is added. */
static CoverageFile *coverage_file_of(CoverageMaker *maker, Str path) {
    uint32_t index = coverage_file(maker, path); /* `files` may move */
    return &maker->c->files.at[index];
}

/* The name to show: the demangled linkage name has scopes and parameters, which the source name
 * lacks. */
static Str shown_name(CoverageMaker *maker, const LocationFrame *f) {
    Buf text = {0};
    bool mangled = maker->options->mangled;
    if (mangled || !demangle(f->linkage, &text))
        buf_str(&text, !f->function.len || (mangled && f->linkage.len) ? f->linkage : f->function);
    Str name = {arena_strndup(&maker->c->arena, (const char *)text.data, text.len),
                (uint32_t)text.len};
    buf_free(&text);
    return name;
}

CoveragePlace coverage_place(CoverageMaker *maker, const LocationFrame *f) {
    bool declared = f->declared && f->declared_file.len;
    CoveragePlace p = {.path = declared ? f->declared_file : f->file,
                       .line = declared ? f->declared : f->line,
                       .name = shown_name(maker, f)};
    if (!p.line || !p.name.len)
        p.path = (Str){0};
    return p;
}

void coverage_function(CoverageMaker *maker, const LocationFrame *f, uint64_t count) {
    CoveragePlace p = coverage_place(maker, f);
    if (!p.path.len)
        return;
    CoverageFile *file = coverage_file_of(maker, p.path);
    vec_push(&file->functions, ((CoverageFunction){p.line, p.name, count}));
}

void coverage_idle_line(CoverageMaker *maker, Str path, uint32_t line) {
    assert(path.len);
    CoverageFile *file = coverage_file_of(maker, path);
    /* Lines come in the order of the code: often the same one again. */
    if (!file->lines.len || vec_last(&file->lines).line != line ||
        vec_last(&file->lines).count != 0)
        vec_push(&file->lines, ((CoverageLine){line, 0}));
}

static void add_removed_line(void *ctx, const LocationFrame *f) {
    coverage_idle_line(ctx, f->file, f->line);
}

static void add_removed_function(void *ctx, const LocationFrame *f) {
    if (f->declared && f->declared_file.len)
        coverage_idle_line(ctx, f->declared_file, f->declared);
    coverage_function(ctx, f, 0);
}

/* ---- sorting ---- */

static int coverage_by_line(const void *pa, const void *pb) {
    const CoverageLine *a = pa, *b = pb;
    return a->line < b->line ? -1 : a->line > b->line;
}

static int by_way(const void *pa, const void *pb) {
    const CoverageWay *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    if (a->branch != b->branch)
        return a->branch < b->branch ? -1 : 1;
    return a->way < b->way ? -1 : a->way > b->way;
}

static int by_function(const void *pa, const void *pb) {
    const CoverageFunction *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    uint32_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = n ? memcmp(a->name.ptr, b->name.ptr, n) : 0;
    return order ? order : a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

/* Sorts a list and adds up the items of one location. */
#define SETTLE(list, order)                                                                        \
    do {                                                                                           \
        uint32_t n = 0;                                                                            \
        if ((list)->len)                                                                           \
            qsort((list)->at, (list)->len, sizeof *(list)->at, order);                             \
        for (uint32_t i = 0; i < (list)->len; i++)                                                 \
            if (n && order(&(list)->at[n - 1], &(list)->at[i]) == 0)                               \
                (list)->at[n - 1].count =                                                          \
                    capped_add((list)->at[n - 1].count, (list)->at[i].count);                      \
            else                                                                                   \
                (list)->at[n++] = (list)->at[i];                                                   \
        (list)->len = n;                                                                           \
    } while (0)

static bool is_one_branch(const CoverageWay *a, const CoverageWay *b) {
    return a->line == b->line && a->column == b->column && a->branch == b->branch;
}

/* A branch was reached if any of its ways was taken. */
static void settle_ways(CoverageFile *f) {
    SETTLE(&f->ways, by_way);
    for (uint32_t first = 0, i = 0; i < f->ways.len; first = i) {
        bool reached = false;
        for (; i < f->ways.len && is_one_branch(&f->ways.at[first], &f->ways.at[i]); i++)
            reached |= f->ways.at[i].count > 0;
        for (uint32_t k = first; k < i; k++)
            f->ways.at[k].reached = reached;
    }
}

static bool matches(const char *const *patterns, const char *path) {
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, path, 0) == 0)
            return true;
    return false;
}

/* Whether a file passes the filters; its path ends with a NUL. */
static bool coverage_is_wanted(const CoverageOptions *o, const CoverageFile *f) {
    bool any = o->include && *o->include;
    return (!any || matches(o->include, f->path.ptr)) && !matches(o->exclude, f->path.ptr);
}

static void free_file(CoverageFile *f) {
    vec_free(&f->lines);
    vec_free(&f->ways);
    vec_free(&f->functions);
}

static int by_path(const void *pa, const void *pb) {
    const CoverageFile *a = pa, *b = pb;
    return strcmp(a->path.ptr, b->path.ptr);
}

#define RATIO(list)                                                                                \
    do {                                                                                           \
        for (uint32_t i = 0; i < (list)->len; i++)                                                 \
            r.hit += (list)->at[i].count > 0;                                                      \
        r.all = (list)->len;                                                                       \
    } while (0)

static void add_ratio(CoverageRatio *to, CoverageRatio r) {
    to->all += r.all;
    to->hit += r.hit;
}

void coverage_count_file(CoverageFile *f, CoverageTotals *totals) {
    assert(f->path.ptr);
    CoverageRatio r = {0};
    RATIO(&f->lines);
    f->totals.lines = r;
    r = (CoverageRatio){0};
    RATIO(&f->functions);
    f->totals.functions = r;
    r = (CoverageRatio){0};
    RATIO(&f->ways);
    f->totals.ways = r;
    add_ratio(&totals->lines, f->totals.lines);
    add_ratio(&totals->functions, f->totals.functions);
    add_ratio(&totals->ways, f->totals.ways);
}

void coverage_settle_lists(CoverageFile *f) {
    SETTLE(&f->lines, coverage_by_line);
    settle_ways(f);
    SETTLE(&f->functions, by_function);
}

void coverage_sort_files(Coverage *c) {
    if (c->files.len)
        qsort(c->files.at, c->files.len, sizeof *c->files.at, by_path);
}

/* Path maps may have given several files the same path, or one file paths with "..". */
static void join_files(Coverage *c, Sources *sources) {
    Map known = {0}; /* path -> index */
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->files.len; i++) {
        CoverageFile f = c->files.at[i];
        bool added;
        f.path = source_shown_path(sources, f.path, &c->arena);
        uint64_t at = *map_put(&known, f.path, n, &added);
        if (added) {
            c->files.at[n++] = f;
            continue;
        }
        CoverageFile *to = &c->files.at[at];
        coverage_append_file(to, &f);
        free_file(&f);
    }
    c->files.len = n;
    map_free(&known);
}

/* Removes filtered files and sorts the rest. */
static void coverage_settle(CoverageMaker *maker, Sources *sources) {
    Coverage *c = maker->c;
    const CoverageOptions *o = maker->options;
    uint32_t n = 0;
    join_files(c, sources);
    for (uint32_t i = 0; i < c->files.len; i++) {
        CoverageFile *f = &c->files.at[i];
        bool wanted = coverage_is_wanted(o, f);
        f->text = wanted ? source_text(sources, f->path) : NULL;
        if (!wanted || (!f->text && !o->without_text)) {
            if (wanted)
                vec_push(&c->left_out, f->path);
            else
                c->unwanted = f->path;
            free_file(f);
            continue;
        }
        coverage_settle_lists(f);
        if (f->text && !o->no_markers)
            coverage_exclude(f);
        coverage_count_file(f, &c->totals);
        if (f->lines.len)
            source_check_length(&c->shortened, f->path, f->text, vec_last(&f->lines).line);
        c->files.at[n++] = *f;
    }
    c->files.len = n;
    coverage_sort_files(c);
}

void coverage_make(Coverage *c, const WasmModule *m, const Places *places, Locations *l,
                   const CoverageMarks *marks, Sources *sources, const CoverageOptions *options) {
    assert(!c->files.len && m == places->m);
    CoverageMaker maker = {
        .c = c, .m = m, .places = places, .l = l, .marks = marks, .options = options};
    sources->embedded = l;
    coverage_walk(&maker);
    locations_removed(l, add_removed_line, add_removed_function, &maker);
    if (options->objects && locations_dwarf(l, &(Str){0}))
        coverage_missing(&maker, sources);
    coverage_settle(&maker, sources);
    map_free(&maker.files);
}

void coverage_free(Coverage *c) {
    for (uint32_t i = 0; i < c->files.len; i++)
        free_file(&c->files.at[i]);
    for (uint32_t i = 0; i < c->modules.len; i++)
        vec_free(&c->modules.at[i].files);
    for (uint32_t i = 0; i < c->code.len; i++)
        vec_free(&c->code.at[i].blocks);
    vec_free(&c->files);
    vec_free(&c->modules);
    vec_free(&c->code);
    vec_free(&c->left_out);
    map_free(&c->paths);
    arena_free(&c->arena);
    *c = (Coverage){0};
}

#ifndef NDEBUG
static bool check_ratio(CoverageRatio r, uint32_t n) {
    return r.all == n && r.hit <= n;
}

bool coverage_check(const Coverage *c) {
    for (uint32_t i = 0; i < c->files.len; i++) {
        const CoverageFile *f = &c->files.at[i];
        assert(!i || strcmp(f[-1].path.ptr, f->path.ptr) <= 0);
        for (uint32_t k = 1; k < f->lines.len; k++)
            assert(f->lines.at[k - 1].line < f->lines.at[k].line);
        for (uint32_t k = 1; k < f->ways.len; k++)
            assert(f->ways.at[k - 1].line <= f->ways.at[k].line);
        for (uint32_t k = 1; k < f->functions.len; k++)
            assert(f->functions.at[k - 1].line <= f->functions.at[k].line);
        assert(check_ratio(f->totals.lines, f->lines.len));
        assert(check_ratio(f->totals.ways, f->ways.len));
        assert(check_ratio(f->totals.functions, f->functions.len));
    }
    return true;
}
#endif
