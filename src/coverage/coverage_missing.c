/*
 * coverage/coverage_missing.c - functions of object files that the program does not have: they are
 * added with the count 0, and so are their lines.
 *
 * A function that the program has, be it inlined, may have other code there: nothing of it is
 * added, nor of code inlined into it. Functions are the same whose files, lines and names are.
 */
#include "coverage/coverage_parts.h"

typedef struct Missing {
    CoverageMaker *maker;
    Sources *sources;
    Map had;    /* functions of the program, by key_of */
    Map looked; /* Identity of a function of the object -> whether it is missing */
    Map shown;  /* path of a location -> index into `paths` */
    Vec(Str) paths;
    Buf key; /* the last one */
} Missing;

/* A function of an object as its debug information names it: equal names have equal addresses. */
typedef struct Identity {
    uint64_t function, linkage, file;
    uint32_t line, zero; /* without padding: its bytes are a key */
} Identity;

/* The path to show. Those of other objects may come from elsewhere, but be the same. */
static Str shown_path(Missing *w, Str path) {
    bool added;
    uint64_t *index = map_put(&w->shown, path, w->paths.len, &added);
    if (added) {
        Str shown = source_shown_path(w->sources, path, &w->maker->c->arena);
        if (shown.ptr == path.ptr)
            shown.ptr = arena_strndup(&w->maker->c->arena, path.ptr, path.len);
        vec_push(&w->paths, shown);
    }
    return w->paths.at[*index];
}

/* Valid until the next one. */
static Str coverage_missing_key_of(Missing *w, Str path, uint32_t line, Str name) {
    w->key.len = 0;
    buf_printf(&w->key, "%u:", line);
    buf_str(&w->key, path);
    buf_u8(&w->key, '\0');
    buf_str(&w->key, name);
    return buf_view(&w->key);
}

/* A function is known by its line and, for objects that were compiled without declarations, by its
 * file alone. */
static void note_place(Missing *w, Str path, uint32_t line, Str name) {
    Str shown = shown_path(w, path);
    map_put(&w->had, coverage_missing_key_of(w, shown, line, name), 0, NULL);
    map_put(&w->had, coverage_missing_key_of(w, shown, 0, name), 0, NULL);
}

static void coverage_missing_note(void *ctx, const LocationFrame *f) {
    Missing *w = ctx;
    CoveragePlace p = coverage_place(w->maker, f);
    if (p.path.len)
        note_place(w, p.path, p.line, p.name);
}

/* Notes the functions that are counted already, and those inlined where nothing of them is left. */
static void coverage_missing_note_all(Missing *w) {
    Coverage *c = w->maker->c;
    for (uint32_t i = 0; i < c->files.len; i++)
        for (uint32_t k = 0; k < c->files.at[i].functions.len; k++) {
            const CoverageFunction *f = &c->files.at[i].functions.at[k];
            note_place(w, c->files.at[i].path, f->line, f->name);
        }
    locations_inlined(w->maker->l, coverage_missing_note, w);
}

/* ---- an object ---- */

static void coverage_missing_add_line(Missing *w, Str path, uint32_t line) {
    if (path.len && line)
        coverage_idle_line(w->maker, shown_path(w, path), line);
}

static void coverage_missing_add_function(Missing *w, const LocationFrame *f) {
    LocationFrame shown = *f;
    if (f->file.len)
        shown.file = shown_path(w, f->file);
    if (f->declared_file.len)
        shown.declared_file = shown_path(w, f->declared_file);
    coverage_missing_add_line(w, f->declared_file, f->declared);
    coverage_function(w->maker, &shown, 0);
}

/* Whether the program lacks the function of a frame, which is then added. */
static bool is_missing(Missing *w, const LocationFrame *f) {
    bool added, declared = f->declared && f->declared_file.len;
    Str file = declared ? f->declared_file : f->file;
    Identity id = {(uint64_t)(uintptr_t)f->function.ptr, (uint64_t)(uintptr_t)f->linkage.ptr,
                   (uint64_t)(uintptr_t)file.ptr, f->declared, 0};
    uint64_t *missing = map_put(&w->looked, (Str){(const char *)&id, sizeof id}, 0, &added);
    if (!added)
        return *missing;
    CoveragePlace p = coverage_place(w->maker, f);
    if (!p.path.len || map_get(&w->had, coverage_missing_key_of(w, shown_path(w, p.path),
                                                                declared ? p.line : 0, p.name)))
        return false;
    coverage_missing_add_function(w, f);
    *missing = true;
    return true;
}

/* Whether the program lacks a function and all that it is inlined into. */
static bool are_missing(Missing *w, const LocationFrame *frames, uint32_t n) {
    while (n && is_missing(w, &frames[n - 1]))
        n--;
    return !n;
}

static void add_lines(Missing *w, const WasmModule *m, Locations *l, uint32_t func) {
    const LocationFrame *frames;
    WasmCode code;
    WasmInstr i;
    uint32_t n = locations_at(l, func, 0, &frames);
    if (!n || !is_missing(w, &frames[n - 1]) || !wasm_func_code(m, func, &code))
        return;
    coverage_missing_add_line(w, frames[n - 1].file, frames[n - 1].line);
    while (wasm_next(&code, &i)) {
        if (wasm_flow_is_structure(wasm_flow(i.op))) /* has no count in a program, either */
            continue;
        n = locations_at(l, func, i.offset, &frames);
        if (n && are_missing(w, frames, n))
            coverage_missing_add_line(w, frames[0].file, frames[0].line);
    }
}

static void coverage_missing_add_object(Missing *w, const CoverageObject *o) {
    const CoverageObjects *all = w->maker->options->objects;
    LocationOptions options = {.program = str_of(o->title), .maps = all->maps, .nmaps = all->nmaps};
    Locations *l = locations_open(&o->m, &options, all->diags), *program = w->sources->embedded;
    w->sources->embedded = l;
    for (uint32_t f = 0; locations_any(l) && f < o->m.funcs.len; f++)
        if (o->m.funcs.at[f].import < 0)
            add_lines(w, &o->m, l, f);
    w->sources->embedded = program;
    map_free(&w->looked);
    locations_close(l, all->diags);
}

void coverage_missing(CoverageMaker *maker, Sources *sources) {
    Missing w = {.maker = maker, .sources = sources};
    const CoverageObjects *objects = maker->options->objects;
    coverage_missing_note_all(&w);
    for (uint32_t i = 0; i < objects->all.len; i++)
        coverage_missing_add_object(&w, &objects->all.at[i]);
    map_free(&w.had);
    map_free(&w.shown);
    vec_free(&w.paths);
    buf_free(&w.key);
}
