/*
 * inject/moves.c - where the instructions of a program went, and its source map (ECMA-426; for
 * modules columns are offsets in the whole file, in one line).
 */
#include "inject/moves.h"

#include "base/escape.h"
#include "locations/url.h"

#include <assert.h>

/* ---- moves ---- */

void moves_begin(Moves *v, const WasmModule *m) {
    v->m = m;
    v->funcs = mem_zalloc((m->input_count[WASM_SPACE_FUNC] + (size_t)1) * sizeof *v->funcs);
}

void moves_mark(const Moves *v, uint32_t func, WasmBodyEdit *edit) {
    Vec(uint32_t) offsets = {0};
    WasmCode code;
    WasmInstr i;
    if (!wasm_func_code(v->m, func, &code))
        return;
    while (wasm_next(&code, &i))
        vec_push(&offsets, i.offset);
    MovedFunc *f = &v->funcs[func];
    *f = (MovedFunc){offsets.at, mem_alloc((offsets.len + (size_t)1) * sizeof *f->to), offsets.len};
    for (uint32_t k = 0; k < f->n; k++)
        f->to[k] = f->at[k]; /* a body that is copied */
    edit->marks = f->at;
    edit->moved = f->to;
    edit->nmarks = f->n;
}

/* Returns the index of the first of n offsets that is at least `key`. */
static uint32_t first_from(const uint32_t *offsets, uint32_t n, uint32_t key) {
    return n ? vec_first_(offsets, n, sizeof *offsets, key) : 0;
}

uint32_t moves_find(const Moves *v, uint32_t func, uint32_t at) {
    assert(func < v->m->input_count[WASM_SPACE_FUNC]);
    const MovedFunc *f = &v->funcs[func];
    uint32_t k = first_from(f->at, f->n, at);
    return k < f->n && f->at[k] == at ? f->to[k] : (uint32_t)WASM_NOWHERE;
}

void moves_free(Moves *v) {
    if (!v->funcs)
        return;
    for (uint32_t f = 0; f < v->m->input_count[WASM_SPACE_FUNC]; f++) {
        free(v->funcs[f].at);
        free(v->funcs[f].to);
    }
    free(v->funcs);
}

/* ---- all code ---- */

/* Returns the offset of the code section's contents. */
static uint32_t code_start(const WasmModule *m) {
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CODE)
            return m->sections.at[i].payload;
    return 0;
}

/* Appends a run, or extends the last one. */
static void moves_add_run(MovedCode *c, DwarfRun run) {
    DwarfRun *last = c->runs.len ? &vec_last(&c->runs) : NULL;
    if (last && last->end == run.at && last->to_end == run.to &&
        last->end - last->at == last->to_end - last->to &&
        run.end - run.at == run.to_end - run.to) {
        last->end = run.end;
        last->to_end = run.to_end;
    } else {
        vec_push(&c->runs, run);
    }
}

/* Adds the runs of a function whose bodies are `from` and `to`. */
static void add_runs(MovedCode *c, const MovedFunc *moved, DwarfBody from, DwarfBody to,
                     WasmCode *written) {
    uint32_t k = 0, after = to.end - to.start;
    WasmInstr i;
    bool more = wasm_next(written, &i);
    uint32_t locals = more ? i.offset : after;
    moves_add_run(c, (DwarfRun){from.start, from.start + (moved->n ? moved->at[0] : 0), to.start,
                                to.start + locals});
    for (uint32_t at = locals; more; at = i.offset) {
        more = wasm_next(written, &i);
        while (k < moved->n && (moved->to[k] == WASM_NOWHERE || moved->to[k] < at))
            k++;
        if (k == moved->n)
            return;
        uint32_t end = k + 1 < moved->n ? moved->at[k + 1] : from.end - from.start;
        if (moved->to[k] == at)
            moves_add_run(c, (DwarfRun){from.start + moved->at[k], from.start + end, to.start + at,
                                        to.start + (more ? i.offset : after)});
    }
}

static DwarfBody moves_body_of(const WasmFunc *f, uint32_t code) {
    return (DwarfBody){f->body - code, f->body - code + f->body_size};
}

void moves_code(const Moves *v, const WasmModule *written, MovedCode *c) {
    const WasmModule *m = v->m;
    uint32_t first = m->input_imports[WASM_SPACE_FUNC], n = m->input_count[WASM_SPACE_FUNC] - first;
    uint32_t old = code_start(m), new = code_start(written);
    uint32_t nglobals = m->input_count[WASM_SPACE_GLOBAL];
    *c = (MovedCode){0};
    c->from = mem_alloc((n + (size_t)1) * sizeof *c->from);
    c->to = mem_alloc((n + (size_t)1) * sizeof *c->to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t final = wasm_final(m, WASM_SPACE_FUNC, first + i);
        WasmCode code;
        c->from[i] = moves_body_of(&m->funcs.at[first + i], old);
        c->to[i] = moves_body_of(&written->funcs.at[final], new);
        if (wasm_func_code(written, final, &code))
            add_runs(c, &v->funcs[first + i], c->from[i], c->to[i], &code);
    }
    c->globals = mem_alloc((nglobals + (size_t)1) * sizeof *c->globals);
    for (uint32_t g = 0; g < nglobals; g++)
        c->globals[g] = wasm_final(m, WASM_SPACE_GLOBAL, g);
    c->moves = (DwarfMoves){c->from, c->to, n, c->runs.at, c->runs.len, c->globals, nglobals};
}

void moved_code_free(MovedCode *c) {
    free(c->from);
    free(c->to);
    free(c->globals);
    vec_free(&c->runs);
}

/* ---- source maps ---- */

typedef struct MapWriter {
    Locations *l;
    Buf mappings;
    Map sources;                                  /* path -> number */
    Vec(Str) paths;                               /* by number */
    bool mapped;                                  /* the last segment has a location */
    uint32_t column, source, line, source_column; /* of the last one; lines from 0 */
} MapWriter;

static void put_vlq(Buf *out, int64_t v) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits = v < 0 ? (uint64_t)-v << 1 | 1 : (uint64_t)v << 1;
    do {
        uint32_t digit = bits & 31;
        bits >>= 5;
        buf_u8(out, (uint8_t)digits[bits ? digit | 32 : digit]);
    } while (bits);
}

static void moves_put_column(MapWriter *w, uint32_t column) {
    if (w->mappings.len)
        buf_u8(&w->mappings, ',');
    put_vlq(&w->mappings, (int64_t)column - w->column);
    w->column = column;
}

/* Marks the code from this column on as having no location. */
static void put_unknown(MapWriter *w, uint32_t column) {
    if (w->mapped)
        moves_put_column(w, column);
    w->mapped = false;
}

static void put_location(MapWriter *w, uint32_t column, const LocationFrame *f) {
    bool added;
    uint32_t source = (uint32_t)*map_put(&w->sources, f->file, w->paths.len, &added),
             line = f->line - 1, source_column = f->column ? f->column - 1 : 0;
    if (added)
        vec_push(&w->paths, f->file);
    if (w->mapped && source == w->source && line == w->line && source_column == w->source_column)
        return;
    moves_put_column(w, column);
    put_vlq(&w->mappings, (int64_t)source - w->source);
    put_vlq(&w->mappings, (int64_t)line - w->line);
    put_vlq(&w->mappings, (int64_t)source_column - w->source_column);
    w->source = source;
    w->line = line;
    w->source_column = source_column;
    w->mapped = true;
}

static void moves_put_place(MapWriter *w, uint32_t func, uint32_t pc, uint32_t column) {
    const LocationFrame *f;
    if (locations_at(w->l, func, pc, &f) && f->file.len && f->line)
        put_location(w, column, f);
    else
        put_unknown(w, column);
}

/* Maps the instructions of a written function: original ones keep their location. */
static void moves_put_func(MapWriter *w, const MovedFunc *moved, uint32_t func,
                           const WasmModule *written, uint32_t final) {
    uint32_t body = written->funcs.at[final].body, k = 0;
    WasmCode code;
    WasmInstr i;
    moves_put_place(w, func, 0, body); /* the locals */
    if (!wasm_func_code(written, final, &code))
        return;
    while (wasm_next(&code, &i)) {
        while (k < moved->n && (moved->to[k] == WASM_NOWHERE || moved->to[k] < i.offset))
            k++;
        if (k < moved->n && moved->to[k] == i.offset)
            moves_put_place(w, func, moved->at[k], body + i.offset);
        else
            put_unknown(w, body + i.offset);
    }
}

static void moves_put_path(Str root, Str path, Buf *json) {
    Buf whole = {0};
    if (root.len && path.len && !url_is_absolute(path))
        url_resolve(root, path, &whole);
    else
        buf_str(&whole, path);
    escape_json(json, buf_view(&whole));
    buf_free(&whole);
}

static void moves_put_sources(const MapWriter *w, Str root, Buf *json) {
    buf_str(json, STR("\"sources\":["));
    for (uint32_t i = 0; i < w->paths.len; i++) {
        buf_str(json, i ? STR(",\"") : STR("\""));
        moves_put_path(root, w->paths.at[i], json);
        buf_u8(json, '"');
    }
    buf_str(json, STR("],\"sourcesContent\":["));
    for (uint32_t i = 0; i < w->paths.len; i++) {
        Str text;
        bool known = locations_text(w->l, w->paths.at[i], &text);
        buf_str(json, i ? STR(",") : STR(""));
        buf_str(json, known ? STR("\"") : STR("null"));
        if (known) {
            escape_json(json, text);
            buf_u8(json, '"');
        }
    }
    buf_str(json, STR("]"));
}

void moves_source_map(const Moves *v, const WasmModule *written, Locations *l, Str root,
                      Buf *json) {
    MapWriter w = {.l = l};
    for (uint32_t f = v->m->input_imports[WASM_SPACE_FUNC]; f < v->m->input_count[WASM_SPACE_FUNC];
         f++)
        moves_put_func(&w, &v->funcs[f], f, written, wasm_final(v->m, WASM_SPACE_FUNC, f));
    if (v->m->input_count[WASM_SPACE_FUNC]) { /* additions come after the program's own */
        uint32_t last = wasm_final(v->m, WASM_SPACE_FUNC, v->m->input_count[WASM_SPACE_FUNC] - 1);
        put_unknown(&w, written->funcs.at[last].body + written->funcs.at[last].body_size);
    }
    buf_str(json, STR("{\"version\":3,"));
    moves_put_sources(&w, root, json);
    buf_str(json, STR(",\"names\":[],\"mappings\":\""));
    buf_bytes(json, w.mappings.data, w.mappings.len);
    buf_str(json, STR("\"}\n"));
    buf_free(&w.mappings);
    map_free(&w.sources);
    vec_free(&w.paths);
}

void moves_put_url(Str url, Buf *module) {
    Buf content = {0};
    buf_name(&content, STR("sourceMappingURL"));
    buf_name(&content, url);
    buf_u8(module, 0); /* a custom section */
    buf_vec(module, &content);
    buf_free(&content);
}
