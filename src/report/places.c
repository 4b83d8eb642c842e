/*
 * report/places.c - details of the places in a report, from the program.
 */
#include "report/places.h"
#include "base/demangle.h"
#include "wasm/op_text.h"

/* ---- names ---- */

void places_open(Places *p, const WasmModule *m) {
    memset(p, 0, sizeof *p);
    p->m = m;
    for (uint32_t f = 0; f < m->funcs.len; f++)
        vec_push(&p->names, wasm_known_name(m, f));
}

Str places_name(const Places *p, uint32_t fid) {
    return fid < p->names.len ? p->names.at[fid] : (Str){NULL, 0};
}

void places_free(Places *p) {
    vec_free(&p->names);
    arena_free(&p->arena);
    p->m = NULL;
}

void places_name_rows(const Places *p, Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        ReportRow *row = &r->rows.at[i];
        Str name = places_name(p, row->fid);
        if (row->has_place && row->fname.len && row->fname.ptr[0] == '#' && name.ptr)
            row->fname = (Str){arena_strndup(&r->arena, name.ptr, name.len), name.len};
    }
}

/* ---- in the order of the code ---- */

static int places_compare_places(const void *pa, const void *pb) {
    const ReportRow *a = *(const ReportRow *const *)pa, *b = *(const ReportRow *const *)pb;
    if (a->fid != b->fid)
        return a->fid < b->fid ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

typedef Vec(ReportRow *) Rows;

/* The rows with places, in the order of the code. */
static Rows rows_by_place(Report *r) {
    Rows rows = {0};
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].has_place)
            vec_push(&rows, &r->rows.at[i]);
    if (rows.len)
        qsort(rows.at, rows.len, sizeof *rows.at, places_compare_places);
    return rows;
}

/* ---- locations ---- */

/* A copy that the report owns; equal texts are one. `known`: text -> Str. */
static Str keep_text(Report *r, Map *known, Str s) {
    bool added;
    if (!s.len)
        return (Str){"", 0};
    uint64_t *kept = map_put(known, s, 0, &added);
    if (added) {
        Str *copy = arena_new(&r->arena, Str);
        *copy = (Str){arena_strndup(&r->arena, s.ptr, s.len), s.len};
        *kept = (uint64_t)(uintptr_t)copy;
    }
    return *(const Str *)(uintptr_t)*kept;
}

void places_locate(const Places *p, Locator *l, Report *r) {
    Rows rows = rows_by_place(r);
    Map known = {0};
    for (uint32_t i = 0; i < rows.len; i++) {
        ReportRow *row = rows.at[i];
        bool again = i && !places_compare_places(&rows.at[i - 1], &rows.at[i]);
        row->location = again ? rows.at[i - 1]->location : NULL;
        if (again || row->fid >= p->m->funcs.len || p->m->funcs.at[row->fid].import >= 0 ||
            row->pc >= p->m->funcs.at[row->fid].body_size)
            continue;
        const LocatorPlace *place = locator_place(l, p->m, row->fid, row->pc);
        RowLocation *location = arena_new(&r->arena, RowLocation);
        *location =
            (RowLocation){keep_text(r, &known, place->file), keep_text(r, &known, place->function),
                          place->line, place->column};
        row->location = location;
    }
    map_free(&known);
    vec_free(&rows);
}

/* ---- instructions ---- */

/* A cursor over the instructions of a function. */
typedef struct Cursor {
    const Places *p;
    bool open; /* it stands in function fid */
    uint32_t fid;
    WasmCode code;
    WasmInstr at;
    WasmTypes locals; /* room */
} Cursor;

static bool cursor_open(Cursor *c, uint32_t fid) {
    const WasmModule *m = c->p->m;
    const char *error = NULL;
    c->open = true;
    c->fid = fid;
    c->code = (WasmCode){0};
    c->at.offset = 0;
    if (fid >= m->funcs.len || m->funcs.at[fid].import >= 0)
        return false;
    c->locals.len = 0;
    uint32_t first = wasm_func_locals(m, fid, &c->locals, &error);
    if (!error)
        c->code = wasm_code(wasm_func_body(m, fid), m->funcs.at[fid].body_size, first);
    return !error;
}

/* Whether an instruction begins at the row's place; c->at is it. Rows come by function and place.
 */
static bool cursor_find(Cursor *c, const ReportRow *row) {
    if ((!c->open || c->fid != row->fid) && !cursor_open(c, row->fid))
        return false;
    while (c->at.offset < row->pc)
        if (!wasm_next(&c->code, &c->at))
            return false;
    return c->at.offset == row->pc && row->pc;
}

void places_instruction(const Places *p, const WasmInstr *i, Buf *out) {
    wasm_instr_text(out, i);
    if (wasm_ops[i->op].imm != WASM_IMM_FUNC)
        return;
    Str name = places_name(p, i->a);
    if (name.ptr)
        buf_printf(out, " (%.*s)", STR_ARG(name));
}

const Str *places_instructions(const Places *p, Report *r) {
    Str *texts = arena_array(&r->arena, Str, r->rows.len + 1u);
    Rows rows = rows_by_place(r);
    Cursor c = {.p = p};
    Map known = {0}; /* text -> Str */
    Buf text = {0};
    for (uint32_t i = 0; i < rows.len; i++) {
        if (!cursor_find(&c, rows.at[i]))
            continue;
        text.len = 0;
        places_instruction(p, &c.at, &text);
        texts[rows.at[i] - r->rows.at] = keep_text(r, &known, buf_view(&text));
    }
    buf_free(&text);
    map_free(&known);
    vec_free(&c.locals);
    vec_free(&rows);
    return texts;
}

const ReportRow *places_foreign(const Places *p, const Report *r) {
    enum { MOST = 1 << 16 }; /* rows that are looked at: another program differs early */
    const ReportRow *foreign = NULL;
    Cursor c = {.p = p};
    for (uint32_t i = 0; !foreign && i < r->rows.len && i < MOST; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (!row->has_place)
            continue;
        if (c.open && c.fid == row->fid && row->pc < c.at.offset)
            c.open = false; /* another variable's: back to the beginning */
        bool found = cursor_find(&c, row);
        if (!found && (row->pc || !c.code.at))
            foreign = row;
    }
    vec_free(&c.locals);
    return foreign;
}

void places_demangle(Report *r) {
    Map known = {0}; /* symbol -> Str */
    Buf text = {0};
    for (uint32_t i = 0; i < r->rows.len && demangle_is_there(); i++) {
        Str *fname = &r->rows.at[i].fname;
        if (fname->len < 3 || fname->ptr[0] != '_')
            continue;
        bool added;
        uint64_t *kept = map_put(&known, *fname, 0, &added);
        if (added) {
            Str *name = arena_new(&r->arena, Str);
            text.len = 0;
            *name = *fname;
            if (demangle(*fname, &text))
                *name = (Str){arena_strndup(&r->arena, (const char *)text.data, text.len),
                              (uint32_t)text.len};
            *kept = (uint64_t)(uintptr_t)name;
        }
        *fname = *(const Str *)(uintptr_t)*kept;
    }
    buf_free(&text);
    map_free(&known);
}
