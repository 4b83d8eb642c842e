/*
 * coverage/coverage_code.c - walks over the code of a program, counting lines, functions and
 * branches, or finding the basic blocks that were executed.
 */
#include "analysis/flow.h"
#include "coverage/coverage_parts.h"

/* A copy: the code of a function that comes from one inlined call, or its own code. */
enum { OWN_CODE = 0 };

/* A line of one copy of some code. */
typedef struct CopiedLine {
    uint32_t file, line, copy;
    uint64_t count;
} CopiedLine;

/* A function of the program. */
typedef struct Walk {
    CoverageMaker *maker;
    uint32_t func;
    const CoverageMark *mark, *end;
    bool known;     /* the following code is executed `count` times */
    uint64_t count; /* count of the block, or of its rest after a call */
    Map copies;     /* the call it is from, CopyKey -> number */
    Map branches;   /* how many branches were at a place, BranchKey -> number */
    Vec(CopiedLine) lines;
} Walk;

/* ---- copies ---- */

/* An inlined call; without padding, so that its bytes can be a key. */
typedef struct CopyKey {
    uint64_t function, file; /* addresses: equal names of one function, and equal paths, have equal
                                ones */
    uint32_t line, column;   /* of the call */
    uint32_t caller;         /* the copy that calls */
    uint32_t zero;
} CopyKey;

static CopyKey coverage_code_key_of(const LocationFrame *callee, const LocationFrame *caller,
                                    uint32_t copy) {
    return (CopyKey){(uint64_t)(uintptr_t)callee->function.ptr,
                     (uint64_t)(uintptr_t)caller->file.ptr,
                     caller->line,
                     caller->column,
                     copy,
                     0};
}

static void coverage_code_add_line(Walk *w, const LocationFrame *f, uint32_t copy, uint64_t count) {
    if (f->line && f->file.len)
        vec_push(&w->lines, ((CopiedLine){coverage_file(w->maker, f->file), f->line, copy, count}));
}

/* The name of the function itself, or its number. */
static Str name_in_module(const Walk *w) {
    Str name = places_name(w->maker->places, w->func);
    return name.len ? name : str_of(arena_printf(&w->maker->c->arena, "#%u", w->func));
}

/* Counts an entry of a function and the line of its declaration. Source maps have no names. */
static void coverage_code_add_function(Walk *w, const LocationFrame *f, uint32_t copy,
                                       uint64_t count) {
    LocationFrame frame = *f;
    if (!f->linkage.len && !f->function.len)
        frame.linkage = name_in_module(w);
    coverage_function(w->maker, &frame, count);
    frame.file = f->declared_file;
    frame.line = f->declared;
    coverage_code_add_line(w, &frame, copy, count);
}

/* Returns the copy of the innermost frame. A new copy gets the count of its first instruction,
 * which is also the count of its function's entry and of the line that calls it. */
static uint32_t find_copy(Walk *w, const LocationFrame *frames, uint32_t n, uint64_t count) {
    uint32_t copy = OWN_CODE;
    for (uint32_t i = n - 1; i-- > 0;) {
        bool added;
        CopyKey key = coverage_code_key_of(&frames[i], &frames[i + 1], copy);
        uint64_t *number =
            map_put(&w->copies, (Str){(const char *)&key, sizeof key}, w->copies.len + 1, &added);
        if (added) {
            coverage_code_add_line(w, &frames[i + 1], copy, count);
            coverage_code_add_function(w, &frames[i], (uint32_t)*number, count);
        }
        copy = (uint32_t)*number;
    }
    return copy;
}

/* ---- branches ---- */

typedef struct BranchKey {
    uint32_t file, line, column, copy;
} BranchKey;

/* Maps each target of a br_table to its way: targets with the same label are one way. */
typedef struct TableWays {
    Vec(uint32_t) ways;
    uint32_t n;
} TableWays;

static TableWays coverage_code_ways_of(const WasmInstr *i) {
    TableWays t = {0};
    Map labels = {0};
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k <= i->count; k++) {
        uint32_t label = k < i->count ? wasm_vec_u32(&at) : i->a;
        Str key = {(const char *)&label, sizeof label};
        vec_push(&t.ways, (uint32_t)*map_put(&labels, key, labels.len, NULL));
    }
    t.n = labels.len;
    map_free(&labels);
    return t;
}

/* The number of earlier branches at this location in this copy. */
static uint32_t branch_number(Walk *w, BranchKey key) {
    uint64_t *n = map_put(&w->branches, (Str){(const char *)&key, sizeof key}, 0, NULL);
    return (uint32_t)(*n)++;
}

/* The branch has the marks [first, w->mark). */
static void coverage_code_add_branch(Walk *w, const WasmInstr *i, const LocationFrame *f,
                                     uint32_t copy, const CoverageMark *first) {
    bool table = i->op == WASM_OP_BR_TABLE;
    TableWays t = {.n = 2};
    if (!f->line || !f->file.len)
        return;
    if (table)
        t = coverage_code_ways_of(i);
    uint32_t file = coverage_file(w->maker, f->file);
    CoverageWay way = {.line = f->line, .column = f->column};
    way.branch = branch_number(w, (BranchKey){file, f->line, f->column, copy});
    uint64_t *counts = mem_zalloc(t.n * sizeof *counts);
    for (const CoverageMark *m = first; m < w->mark; m++) {
        uint32_t to = !table || m->way > i->count ? m->way : t.ways.at[m->way];
        if (m->kind == MARK_WAY && to < t.n)
            counts[to] = capped_add(counts[to], m->count);
    }
    for (way.way = 0; t.n > 1 && way.way < t.n; way.way++) {
        way.count = counts[way.way];
        vec_push(&w->maker->c->files.at[file].ways, way);
    }
    free(counts);
    vec_free(&t.ways);
}

/* ---- instructions ---- */

/* Consumes the marks of an instruction and sets *count to its executions and *branches to whether
 * it has marks of a branch. False if its count is not known. */
static bool take_marks(Walk *w, const WasmInstr *i, uint64_t *count, bool *branches) {
    bool own = false, returns = false;
    uint64_t returned = 0;
    *branches = false;
    for (; w->mark < w->end && w->mark->pc <= i->offset; w->mark++) {
        const CoverageMark *m = w->mark;
        if (m->pc < i->offset) {
            w->maker->c->misplaced |= m->kind != MARK_ENTERED;
            continue;
        }
        switch (m->kind) {
        case MARK_BLOCK: w->known = true, w->count = m->count; break;
        case MARK_INSTRUCTION: own = true, *count = m->count; break;
        case MARK_WAY: *branches = true; break;
        case MARK_RETURNED: returns = true, returned = m->count; break;
        }
    }
    if (!own)
        *count = w->count;
    bool known = own || w->known;
    if (returns)
        w->count = returned;
    if (flow_ends_block(i->op))
        w->known = false;
    return known;
}

static void coverage_code_visit(Walk *w, const WasmInstr *i) {
    const LocationFrame *frames;
    const CoverageMark *first = w->mark;
    uint64_t count;
    bool branches;
    bool known = take_marks(w, i, &count, &branches);
    if (!known || (wasm_flow_is_structure(wasm_flow(i->op)) && !branches))
        return;
    uint32_t n = locations_at(w->maker->l, w->func, i->offset, &frames);
    if (!n)
        return;
    uint32_t copy = find_copy(w, frames, n, count);
    coverage_code_add_line(w, &frames[0], copy, count);
    if (branches)
        coverage_code_add_branch(w, i, &frames[0], copy, first);
}

/* ---- functions ---- */

static int coverage_code_by_line(const void *pa, const void *pb) {
    const CopiedLine *a = pa, *b = pb;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->copy < b->copy ? -1 : a->copy > b->copy;
}

/* Computes line counts: the maximum in each copy, summed over all copies. */
static void flush_lines(Walk *w) {
    if (w->lines.len)
        qsort(w->lines.at, w->lines.len, sizeof *w->lines.at, coverage_code_by_line);
    for (uint32_t i = 0; i < w->lines.len;) {
        CopiedLine line = w->lines.at[i];
        for (; i < w->lines.len && coverage_code_by_line(&line, &w->lines.at[i]) == 0; i++)
            if (line.count < w->lines.at[i].count)
                line.count = w->lines.at[i].count;
        vec_push(&w->maker->c->files.at[line.file].lines, ((CoverageLine){line.line, line.count}));
    }
}

/* Sets *frames to those of the first instruction that has a location, if the beginning of the
 * function has none, as in source maps of AssemblyScript. Returns how many there are. */
static uint32_t first_location(const Walk *w, WasmCode code, const LocationFrame **frames) {
    uint32_t n = 0;
    WasmInstr i;
    while (!n && wasm_next(&code, &i))
        n = locations_at(w->maker->l, w->func, i.offset, frames);
    return n;
}

/* The line of the declaration is executed when the function is entered; one that is inside may be
 * executed less often. */
static void coverage_code_enter(Walk *w, WasmCode code) {
    const LocationFrame *frames;
    uint64_t count = 0;
    for (const CoverageMark *m = w->mark; m < w->end; m++)
        if (m->kind == MARK_ENTERED)
            count = capped_add(count, m->count);
    uint32_t n = locations_at(w->maker->l, w->func, 0, &frames);
    if (n)
        coverage_code_add_line(w, &frames[n - 1], OWN_CODE, count);
    else
        n = first_location(w, code, &frames);
    if (!n)
        return;
    coverage_code_add_function(w, &frames[n - 1], OWN_CODE, count);
}

static void count_function(Walk *w, WasmCode code) {
    WasmInstr i;
    coverage_code_enter(w, code);
    while (wasm_next(&code, &i))
        coverage_code_visit(w, &i);
    flush_lines(w);
    map_free(&w->copies);
    map_free(&w->branches);
    vec_free(&w->lines);
}

/* Adds the executed blocks of a function. */
static void find_blocks(Walk *w, WasmCode code) {
    CoverageCode *to = &vec_last(&w->maker->c->code);
    uint32_t body = w->maker->m->funcs.at[w->func].body;
    bool within = false; /* the last block continues */
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        const CoverageMark *first = w->mark;
        uint64_t count;
        bool branches;
        bool executed = take_marks(w, &i, &count, &branches) && count;
        for (; first < w->mark; first++)
            within &= first->kind != MARK_BLOCK;
        if (executed && within)
            vec_last(&to->blocks).size += i.size;
        else if (executed)
            vec_push(&to->blocks, ((CoverageBlock){body + i.offset, i.size}));
        within = executed && w->known;
    }
}

/* Marks [mark, end) are those of the function. */
static void walk_function(CoverageMaker *maker, uint32_t func, const CoverageMark *mark,
                          const CoverageMark *end) {
    Walk w = {.maker = maker, .func = func, .mark = mark, .end = end};
    WasmCode code;
    if (func >= maker->m->funcs.len || maker->m->funcs.at[func].import >= 0 ||
        !wasm_func_code(maker->m, func, &code)) {
        maker->c->misplaced = true;
        return;
    }
    if (maker->l)
        count_function(&w, code);
    else
        find_blocks(&w, code);
    maker->c->misplaced |= w.mark < w.end;
}

void coverage_add_code(Coverage *c, Str path, const WasmModule *m, const CoverageMarks *marks) {
    CoverageMaker maker = {.c = c, .m = m, .marks = marks};
    vec_push(&c->code, ((CoverageCode){.path = path, .size = (uint32_t)m->size}));
    coverage_walk(&maker);
}

void coverage_walk(CoverageMaker *maker) {
    if (!maker->marks->all.len)
        return;
    const CoverageMark *mark = maker->marks->all.at, *end = mark + maker->marks->all.len;
    while (mark < end) {
        const CoverageMark *first = mark;
        while (mark < end && mark->fid == first->fid)
            mark++;
        walk_function(maker, first->fid, first, mark);
    }
}
