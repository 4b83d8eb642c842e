/*
 * inject/trap_section.c - writes the custom section whammc.traps.
 */
#include "inject/trap_section.h"
#include "edit/edit.h"

enum { VERSION = 2 };

void trap_section_begin(Counts *c) {
    c->trap_moved = mem_zalloc(c->trap_points.len * sizeof *c->trap_moved + 1);
}

void trap_section_mark(const Counts *c, uint32_t func, WasmBodyEdit *edit) {
    const CountFunc *f = counts_func(c, func);
    if (!f)
        return;
    edit->marks = c->trap_points.at + f->trap;
    edit->moved = c->trap_moved + f->trap;
    edit->nmarks = f->ntraps;
}

void trap_section_find(const Counts *c, uint32_t func, const Moves *moves) {
    const CountFunc *f = counts_func(c, func);
    for (uint32_t i = f ? f->trap : 0; f && i < f->trap + f->ntraps; i++)
        c->trap_moved[i] = moves_find(moves, func, c->trap_points.at[i]);
}

typedef struct Section {
    const Counts *c;
    Buf *out;
    Buf runs;               /* of the current segment */
    const uint8_t *traps;   /* next in Counts.traps */
    uint32_t trap;          /* next in Counts.trap_points */
    uint32_t offset, shift; /* of the instruction before, in the new body */
} Section;

/* Instructions of a segment, [from, to), that are one run. */
typedef struct Run {
    uint32_t from, to;
    Str amounts; /* at each of them */
} Run;

static uint32_t shift_of(const Counts *c, uint32_t trap) {
    return c->trap_moved[trap] - c->trap_points.at[trap];
}

static void put_run(Section *s, const Run *run) {
    const Counts *c = s->c;
    uint32_t first = c->trap_moved[run->from], last = c->trap_moved[run->to - 1];
    uint32_t shift = shift_of(c, run->from), change = shift - s->shift;
    buf_uleb(&s->runs,
             (uint64_t)(first - s->offset) << 2 | (last > first ? 2u : 0u) | (change != 0));
    if (change)
        buf_uleb(&s->runs, change << 1 ^ (0 - (change >> 31)));
    if (last > first)
        buf_uleb(&s->runs, last - first);
    buf_str(&s->runs, run->amounts);
    s->offset = last;
    s->shift = shift;
}

/* The runs of n instructions; how many they are. */
static uint32_t put_runs(Section *s, uint32_t n, bool corrects) {
    Run run = {s->trap, s->trap, {0}};
    uint32_t runs = 1;
    for (uint32_t end = s->trap + n; s->trap < end; run.to = ++s->trap) {
        uint32_t size = corrects ? (uint32_t)wasm_uleb(&s->traps) : 0;
        if (run.to > run.from && (size || shift_of(s->c, s->trap) != shift_of(s->c, run.from))) {
            put_run(s, &run);
            run.from = s->trap;
            runs++;
        }
        if (size)
            run.amounts = (Str){(const char *)s->traps, size};
        s->traps += size;
    }
    put_run(s, &run);
    return runs;
}

static void put_segment(Section *s, const CountFunc *f) {
    const uint8_t **at = &s->traps;
    uint32_t head = (uint32_t)wasm_uleb(at), n = head >> 2;
    bool deficit = head & 1, corrects = head & 2;
    uint64_t number = deficit ? f->deficit + wasm_uleb(at) : 0;
    uint64_t nvars = corrects ? wasm_uleb(at) : 0;
    const uint8_t *vars = *at;
    for (uint64_t i = 0; i < nvars; i++)
        wasm_uleb(at);
    size_t size = (size_t)(*at - vars);
    uint64_t to = wasm_uleb(at);
    s->runs.len = 0;
    uint64_t runs = put_runs(s, n, corrects);
    buf_uleb(s->out, runs << 2 | (head & 3));
    if (deficit)
        buf_uleb(s->out, number);
    if (corrects)
        buf_uleb(s->out, nvars);
    buf_bytes(s->out, vars, size);
    buf_bytes(s->out, s->runs.data, s->runs.len);
    buf_uleb(s->out, to);
}

/* Appends the contents of the section. */
static void put_contents(Section *s, const WasmModule *m, const WasmModule *written) {
    const Counts *c = s->c;
    uint32_t body = 0, func = 0;
    buf_name(s->out, STR("whammc.traps"));
    buf_u8(s->out, VERSION);
    for (uint32_t i = 0; i < c->funcs.len; i++) {
        const CountFunc *f = &c->funcs.at[i];
        if (!f->nsegments)
            continue;
        uint32_t at = written->funcs.at[wasm_final(m, WASM_SPACE_FUNC, f->func)].body;
        buf_uleb(s->out, at - body);
        buf_uleb(s->out, f->func - func);
        buf_uleb(s->out, f->nsegments);
        body = at;
        func = f->func;
        s->offset = s->shift = 0;
        s->trap = f->trap;
        s->traps = c->traps.data + f->segments;
        for (uint32_t k = 0; k < f->nsegments; k++)
            put_segment(s, f);
    }
}

void trap_section_put(const Counts *c, const WasmModule *m, const WasmModule *written, Buf *out) {
    enum { WIDTH = 5 }; /* of a size, at most */
    Section s = {.c = c, .out = out};
    buf_u8(out, WASM_SEC_CUSTOM);
    size_t at = out->len;
    buf_uleb_padded(out, 0, WIDTH);
    put_contents(&s, m, written);
    size_t size = out->len - at - WIDTH;
    memmove(out->data + at + uleb_size(size), out->data + at + WIDTH, size);
    out->len = at;
    buf_uleb(out, size);
    out->len += size;
    buf_free(&s.runs);
}
