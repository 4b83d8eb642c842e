/*
 * annotate/annotate.c - adds up counts by line and by location.
 */
#include "annotate/annotate.h"

#include "base/capped.h"
#include "base/demangle.h"
#include "report/table.h"

#include <assert.h>
#include <fnmatch.h>

static void annotate_add(uint64_t *sum, uint64_t v) {
    *sum = capped_add(*sum, v);
}

/* ---- which variable ---- */

static bool has_count(const ReportRow *row) {
    return row->has_place && row->class != REPORT_CLASS_TEXT && row->class != REPORT_CLASS_REAL &&
           !row->var->formula.ptr;
}

const ReportVar *annotate_variable(const Report *r, const char *name) {
    const ReportVar *best = NULL;
    uint64_t most = 0;
    Map rows = {0}; /* of each variable: how many */
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportVar *var = r->rows.at[i].var;
        if (!has_count(&r->rows.at[i]) || (name && !str_is(var->name, name)))
            continue;
        Str key = {(const char *)&var, sizeof var};
        uint64_t n = ++*map_put(&rows, key, 0, NULL);
        if (n > most) {
            most = n;
            best = var;
        }
    }
    map_free(&rows);
    return best;
}

static uint64_t annotate_count_of(const ReportRow *row) {
    return row->class == REPORT_CLASS_SIGNED && row->number.i < 0 ? 0 : row->number.u;
}

/* ---- adding up ---- */

/* A line in one function, and in one copy of it if it was inlined: its counts are of the same
 * executions. */
typedef struct Copy {
    uint32_t file, line;
    uint64_t most;
} Copy;

typedef struct Maker {
    Annotation *a;
    const Places *p;
    Locator *l;
    Map files;  /* path -> index into Annotation.files */
    Map copies; /* function, chain, line -> index into the following */
    Vec(Copy) each;
    Map lines; /* file, line -> index into the file's lines */
    Buf key;
    /* The function that is walked through: */
    bool open;
    uint32_t fid;
    WasmCode code;
    WasmInstr at;
} Maker;

static Str annotate_key_of(const Maker *m) {
    return buf_view(&m->key);
}

static uint32_t file_number(Maker *m, Str path) {
    bool added;
    uint32_t n = (uint32_t)*map_put(&m->files, path, m->a->files.len, &added);
    if (added)
        vec_add(&m->a->files)->path =
            (Str){arena_strndup(&m->a->arena, path.ptr, path.len), path.len};
    return n;
}

static AnnotatedLine *annotate_line_of(Maker *m, uint32_t file, uint32_t line) {
    bool added;
    AnnotatedFile *f = &m->a->files.at[file];
    m->key.len = 0;
    buf_u32le(&m->key, file);
    buf_u32le(&m->key, line);
    uint64_t n = *map_put(&m->lines, annotate_key_of(m), f->lines.len, &added);
    if (added)
        vec_add(&f->lines)->line = line;
    return &f->lines.at[n];
}

static Copy *annotate_copy_of(Maker *m, uint32_t fid, uint32_t file, const LocationFrame *frames,
                              uint32_t n) {
    bool added;
    m->key.len = 0;
    buf_u32le(&m->key, fid);
    buf_u32le(&m->key, file);
    buf_u32le(&m->key, frames->line);
    for (uint32_t i = 1; i < n; i++) { /* equal paths have equal pointers */
        buf_u64le(&m->key, (uint64_t)(uintptr_t)frames[i].file.ptr);
        buf_u32le(&m->key, frames[i].line);
        buf_u32le(&m->key, frames[i].column);
    }
    uint64_t index = *map_put(&m->copies, annotate_key_of(m), m->each.len, &added);
    if (added)
        vec_push(&m->each, ((Copy){file, frames->line, 0}));
    return &m->each.at[index];
}

static void add_to_line(Maker *m, const ReportRow *row, bool structure) {
    const LocationFrame *frames;
    uint64_t count = annotate_count_of(row);
    uint32_t n = m->l ? locator_at(m->l, m->p->m, row->fid, row->pc, &frames) : 0;
    if (!n || !frames->line || !frames->file.len) {
        annotate_add(&m->a->unknown, count);
        return;
    }
    uint32_t file = file_number(m, frames->file);
    annotate_add(&annotate_line_of(m, file, frames->line)->total, count);
    annotate_add(&m->a->files.at[file].total, count);
    if (structure)
        return;
    Copy *copy = annotate_copy_of(m, row->fid, file, frames, n);
    copy->most = copy->most > count ? copy->most : count;
}

static void add_to_place(Annotation *a, const ReportRow *row) {
    AnnotatedPlace *last = a->places.len ? &vec_last(&a->places) : NULL;
    if (!last || last->fid != row->fid || last->pc != row->pc) {
        vec_push(&a->places, ((AnnotatedPlace){row->fid, row->pc, 0}));
        last = &vec_last(&a->places);
    }
    annotate_add(&last->total, annotate_count_of(row));
}

/* Whether the program has the row's location; m->at is the instruction unless it is function
 * entry. Rows come in the order of the code. */
static bool annotate_find(Maker *m, const ReportRow *row) {
    const WasmModule *module = m->p->m;
    if (!m->open || m->fid != row->fid) {
        m->open = row->fid < module->funcs.len && module->funcs.at[row->fid].import < 0 &&
                  wasm_func_code(module, row->fid, &m->code);
        m->fid = row->fid;
        m->at = (WasmInstr){.offset = 0};
    }
    while (m->open && m->at.offset < row->pc)
        if (!wasm_next(&m->code, &m->at))
            return false;
    return m->open && m->at.offset == row->pc;
}

static int annotate_compare_places(const void *pa, const void *pb) {
    const ReportRow *a = *(const ReportRow *const *)pa, *b = *(const ReportRow *const *)pb;
    if (a->fid != b->fid)
        return a->fid < b->fid ? -1 : 1;
    return a->pc != b->pc ? (a->pc < b->pc ? -1 : 1) : (a > b) - (a < b);
}

static int annotate_compare_lines(const void *pa, const void *pb) {
    const AnnotatedLine *a = pa, *b = pb;
    return a->line < b->line ? -1 : a->line > b->line;
}

static int compare_files(const void *pa, const void *pb) {
    const AnnotatedFile *a = pa, *b = pb;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    int order =
        memcmp(a->path.ptr, b->path.ptr, a->path.len < b->path.len ? a->path.len : b->path.len);
    return order ? order : (a->path.len > b->path.len) - (a->path.len < b->path.len);
}

static void sort_lines(AnnotatedFile *f) {
    if (f->lines.len)
        qsort(f->lines.at, f->lines.len, sizeof *f->lines.at, annotate_compare_lines);
}

static void sort_files(Annotation *a) {
    for (uint32_t i = 0; i < a->files.len; i++)
        sort_lines(&a->files.at[i]);
    if (a->files.len)
        qsort(a->files.at, a->files.len, sizeof *a->files.at, compare_files);
}

static void annotate_finish(Maker *m) {
    Annotation *a = m->a;
    for (uint32_t i = 0; i < m->each.len; i++) {
        AnnotatedLine *line = annotate_line_of(m, m->each.at[i].file, m->each.at[i].line);
        line->timed = true;
        annotate_add(&line->times, m->each.at[i].most);
    }
    sort_files(a);
    map_free(&m->files);
    map_free(&m->copies);
    map_free(&m->lines);
    vec_free(&m->each);
    buf_free(&m->key);
}

void annotate_make(Annotation *a, const Places *p, Locator *l, const Report *r,
                   const ReportVar *var) {
    assert(p->m && !a->files.len && !a->places.len);
    Maker m = {.a = a, .p = p, .l = l};
    Vec(const ReportRow *) rows = {0};
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].var == var && has_count(&r->rows.at[i]))
            vec_push(&rows, &r->rows.at[i]);
    if (rows.len)
        qsort(rows.at, rows.len, sizeof *rows.at, annotate_compare_places);
    for (uint32_t i = 0; i < rows.len; i++) {
        const ReportRow *row = rows.at[i];
        if (!annotate_find(&m, row)) {
            a->foreign++;
            continue;
        }
        a->counted++;
        annotate_add(&a->total, annotate_count_of(row));
        add_to_place(a, row);
        add_to_line(&m, row, row->pc && wasm_flow_is_structure(wasm_flow(m.at.op)));
    }
    vec_free(&rows);
    annotate_finish(&m);
}

/* Adds the lines of a file to those of another one; both are sorted. */
static void join_lines(AnnotatedFile *to, const AnnotatedFile *from) {
    uint32_t n = to->lines.len, k = 0;
    for (uint32_t i = 0; i < from->lines.len; i++) {
        const AnnotatedLine *line = &from->lines.at[i];
        while (k < n && to->lines.at[k].line < line->line)
            k++;
        if (k == n || to->lines.at[k].line != line->line) {
            vec_push(&to->lines, *line);
            continue;
        }
        annotate_add(&to->lines.at[k].total, line->total);
        annotate_add(&to->lines.at[k].times, line->times);
        to->lines.at[k].timed |= line->timed;
    }
    annotate_add(&to->total, from->total);
}

void annotate_join(Annotation *a, Sources *sources) {
    Map known = {0}; /* path -> index */
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->files.len; i++) {
        AnnotatedFile f = a->files.at[i];
        bool added;
        f.path = source_shown_path(sources, f.path, &a->arena);
        uint64_t at = *map_put(&known, f.path, n, &added);
        if (added) {
            a->files.at[n++] = f;
            continue;
        }
        join_lines(&a->files.at[at], &f);
        sort_lines(&a->files.at[at]);
        vec_free(&f.lines);
    }
    a->files.len = n;
    map_free(&known);
    sort_files(a);
}

void annotate_free(Annotation *a) {
    for (uint32_t i = 0; i < a->files.len; i++)
        vec_free(&a->files.at[i].lines);
    vec_free(&a->files);
    vec_free(&a->places);
    arena_free(&a->arena);
    *a = (Annotation){0};
}

/* ---- output ---- */

bool annotate_fits(const char *wanted, Str path) {
    Buf copy = {0};
    while (strncmp(wanted, "../", 3) == 0) /* paths are shown without */
        wanted += 3;
    buf_str(&copy, path);
    const char *whole = buf_cstr(&copy);
    bool fits = fnmatch(wanted, whole, 0) == 0;
    for (const char *p = strchr(whole, '/'); p && !fits; p = strchr(p + 1, '/'))
        fits = fnmatch(wanted, p + 1, 0) == 0;
    buf_free(&copy);
    return fits;
}

bool annotate_wants(const AnnotateOptions *options, Str path) {
    bool wanted = !options->files || !options->files[0];
    for (uint32_t i = 0; !wanted && options->files[i]; i++)
        wanted = annotate_fits(options->files[i], path);
    return wanted;
}

void annotate_each_line(const AnnotatedFile *f, const SourceText *text, AnnotatePutLine *put,
                        void *ctx) {
    uint32_t shown = text ? text->lines.len : 0, k = 0;
    for (uint32_t n = 1; n <= shown; n++) {
        bool has_code = k < f->lines.len && f->lines.at[k].line == n;
        put(ctx, n, source_line(text, n), has_code ? &f->lines.at[k] : NULL);
        k += has_code;
    }
    for (; k < f->lines.len; k++) /* the file has no text, or fewer lines */
        put(ctx, f->lines.at[k].line, (Str){"", 0}, &f->lines.at[k]);
}

static int compare_functions(const void *pa, const void *pb) {
    const AnnotatedFunction *a = pa, *b = pb;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->fid < b->fid ? -1 : a->fid > b->fid;
}

AnnotatedFunctions annotate_functions(const Annotation *a) {
    AnnotatedFunctions functions = {0};
    for (uint32_t i = 0; i < a->places.len; i++) {
        const AnnotatedPlace *p = &a->places.at[i];
        if (!functions.len || vec_last(&functions).fid != p->fid)
            vec_push(&functions, ((AnnotatedFunction){p->fid, 0, 0}));
        AnnotatedFunction *f = &vec_last(&functions);
        annotate_add(&f->total, p->total);
        f->most = f->most > p->total ? f->most : p->total;
    }
    if (functions.len)
        qsort(functions.at, functions.len, sizeof *functions.at, compare_functions);
    return functions;
}

/* The index of the first location of a function. */
static uint32_t first_place(const Annotation *a, uint32_t fid) {
    return vec_first(&a->places, fid, fid);
}

void annotate_each_instruction(const Annotation *a, const Places *p, uint32_t fid,
                               AnnotatePutInstruction *put, void *ctx) {
    assert(fid < p->m->funcs.len);
    uint32_t k = first_place(a, fid), depth = 0;
    WasmCode code;
    WasmInstr i;
    Buf text = {0};
    if (!wasm_func_code(p->m, fid, &code))
        return;
    if (k < a->places.len && a->places.at[k].fid == fid && !a->places.at[k].pc)
        put(ctx, 0, 0, STR("(entry)"), &a->places.at[k++]);
    while (wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        depth -= depth && (flow == WASM_FLOW_ARM || flow == WASM_FLOW_END);
        bool counted =
            k < a->places.len && a->places.at[k].fid == fid && a->places.at[k].pc == i.offset;
        text.len = 0;
        places_instruction(p, &i, &text);
        put(ctx, i.offset, depth, buf_view(&text), counted ? &a->places.at[k] : NULL);
        k += counted;
        depth += wasm_flow_opens(flow) || flow == WASM_FLOW_ARM;
    }
    buf_free(&text);
}

void annotate_name(const AnnotateOptions *options, uint32_t fid, Buf *out) {
    Str name = places_name(options->places, fid);
    if (!name.ptr)
        buf_printf(out, "#%u", fid);
    else if (options->mangled || !demangle(name, out))
        buf_str(out, name);
}

void annotate_share(uint64_t part, uint64_t all, Buf *out) {
    assert(part <= all || !all);
    buf_grouped(out, part);
    if (all)
        buf_printf(out, " (%.1f %%)", 100 * (double)part / (double)all);
}
