/*
 * inject/trap_section.c - writes the custom section whammc.traps.
 */
#include "inject/trap_section.h"
#include "edit/edit.h"

enum { VERSION = 2 };

void trap_section_begin(Counts *c) {
    uint32_t n = c->trap_points.len;
    vec_reserve(&c->trap_moved, n);
    if (n)
        memset(c->trap_moved.at, 0, n * sizeof *c->trap_moved.at);
    c->trap_moved.len = n;
}

void trap_section_mark(const Counts *c, uint32_t func, WasmBodyEdit *edit) {
    uint32_t at = vec_first(&c->traps, func, func),
             first = at < c->traps.len ? c->traps.at[at].point : 0, n = 0;
    for (; at < c->traps.len && c->traps.at[at].func == func; at++)
        n += c->traps.at[at].npoints;
    edit->marks = c->trap_points.at + first;
    edit->moved = c->trap_moved.at + first;
    edit->nmarks = n;
}

void trap_section_find(const Counts *c, uint32_t func, const Moves *moves) {
    for (uint32_t at = vec_first(&c->traps, func, func);
         at < c->traps.len && c->traps.at[at].func == func; at++)
        for (uint32_t p = 0; p < c->traps.at[at].npoints; p++) {
            uint32_t point = c->traps.at[at].point + p;
            c->trap_moved.at[point] = moves_find(moves, func, c->trap_points.at[point]);
        }
}

typedef struct Section {
    const Counts *c;
    Buf bytes;
    Buf runs;               /* of the current segment */
    uint32_t offset, shift; /* of the instruction before, in the new body */
} Section;

/* Points [from, to) of a segment that are one run, and their amounts. */
typedef struct Run {
    uint32_t from, to;
    size_t amounts, size; /* in Counts.trap_amounts */
} Run;

static uint32_t shift_of(const Counts *c, uint32_t point) {
    return c->trap_moved.at[point] - c->trap_points.at[point];
}

/* The size of n numbers. */
static size_t size_of_amounts(const Counts *c, size_t from, uint32_t n) {
    size_t to = from;
    for (; n; to++)
        n -= c->trap_amounts.data[to] < 0x80;
    return to - from;
}

/* Whether a point that has these amounts continues a run. */
static bool continues(const Counts *c, const Run *run, uint32_t point, size_t amounts,
                      size_t size) {
    const uint8_t *bytes = c->trap_amounts.data;
    return run->to > run->from && shift_of(c, point) == shift_of(c, run->from) &&
           size == run->size && (!size || !memcmp(bytes + amounts, bytes + run->amounts, size));
}

static void put_run(Section *s, const Run *run) {
    uint32_t first = s->c->trap_moved.at[run->from], last = s->c->trap_moved.at[run->to - 1];
    uint32_t shift = shift_of(s->c, run->from), change = shift - s->shift;
    buf_uleb(&s->runs,
             (uint64_t)(first - s->offset) << 2 | (last > first ? 2u : 0u) | (change != 0));
    if (change)
        buf_uleb(&s->runs, change << 1 ^ (0 - (change >> 31)));
    if (last > first)
        buf_uleb(&s->runs, last - first);
    if (run->size)
        buf_bytes(&s->runs, s->c->trap_amounts.data + run->amounts, run->size);
    s->offset = last;
    s->shift = shift;
}

static void put_segment(Section *s, const CountTraps *t) {
    const Counts *c = s->c;
    uint32_t end = t->point + t->npoints;
    size_t amounts = t->amount;
    uint64_t runs = 0;
    Run run = {0};
    s->runs.len = 0;
    for (uint32_t p = t->point; p < end; p++) {
        size_t size = size_of_amounts(c, amounts, t->nvars);
        if (!continues(c, &run, p, amounts, size)) {
            if (runs++)
                put_run(s, &run);
            run = (Run){p, p, amounts, size};
        }
        run.to = p + 1;
        amounts += size;
    }
    put_run(s, &run);
    buf_uleb(&s->bytes, runs << 2 | (t->nvars ? 2u : 0u) | (t->deficit ? 1u : 0u));
    if (t->deficit)
        buf_uleb(&s->bytes, t->deficit);
    if (t->nvars)
        buf_uleb(&s->bytes, t->nvars);
    for (uint32_t i = 0; i < t->nvars; i++)
        buf_uleb(&s->bytes, c->trap_vars.at[t->var + i]);
    buf_bytes(&s->bytes, s->runs.data, s->runs.len);
    buf_uleb(&s->bytes, t->to == UINT32_MAX ? 0 : t->to - 2 * c->trap_points.at[end - 1]);
}

void trap_section_put(const Counts *c, const WasmModule *m, const WasmModule *written, Buf *out) {
    Section s = {.c = c};
    uint32_t body = 0, func = 0;
    buf_name(&s.bytes, STR("whammc.traps"));
    buf_u8(&s.bytes, VERSION);
    for (uint32_t i = 0, to; i < c->traps.len; i = to) {
        uint32_t fid = c->traps.at[i].func;
        uint32_t at = written->funcs.at[wasm_final(m, WASM_SPACE_FUNC, fid)].body;
        for (to = i; to < c->traps.len && c->traps.at[to].func == fid;)
            to++;
        buf_uleb(&s.bytes, at - body);
        buf_uleb(&s.bytes, fid - func);
        buf_uleb(&s.bytes, to - i);
        body = at;
        func = fid;
        s.offset = s.shift = 0;
        for (uint32_t k = i; k < to; k++)
            put_segment(&s, &c->traps.at[k]);
    }
    buf_u8(out, WASM_SEC_CUSTOM);
    buf_vec(out, &s.bytes);
    buf_free(&s.bytes);
    buf_free(&s.runs);
}
