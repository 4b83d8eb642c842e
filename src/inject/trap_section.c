/*
 * inject/trap_section.c - writes the custom section whammc.traps.
 */
#include "inject/trap_section.h"

#include "base/workers.h"
#include "edit/edit.h"

enum { VERSION = 2 };

void trap_section_begin(Counts *c) {
    c->corrections.moved = mem_zalloc(c->corrections.points.len * sizeof *c->corrections.moved + 1);
}

void trap_section_mark(const Counts *c, uint32_t func, WasmBodyEdit *edit) {
    const CountFunc *f = counts_func(c, func);
    if (!f)
        return;
    edit->marks = c->corrections.points.at + f->trap;
    edit->moved = c->corrections.moved + f->trap;
    edit->nmarks = f->ntraps;
}

void trap_section_find(const Counts *c, uint32_t func, const Moves *moves) {
    const CountFunc *f = counts_func(c, func);
    for (uint32_t i = f ? f->trap : 0; f && i < f->trap + f->ntraps; i++)
        c->corrections.moved[i] = moves_find(moves, func, c->corrections.points.at[i]);
}

typedef struct Section {
    const Counts *c;
    Buf *out;
    Buf runs;               /* of the current segment */
    const uint8_t *traps;   /* next in Counts.corrections.table */
    uint32_t trap;          /* next in Counts.corrections.points */
    uint32_t offset, shift; /* of the instruction before, in the new body */
} Section;

/* Instructions of a segment, [from, to), that are one run. */
typedef struct Run {
    uint32_t from, to;
    Str amounts; /* at each of these instructions */
} Run;

static uint32_t shift_of(const Counts *c, uint32_t trap) {
    return c->corrections.moved[trap] - c->corrections.points.at[trap];
}

static inline void trap_section_put_run(Section *s, const Run *run) {
    enum { LONGEST = 3 * 10 };
    const Counts *c = s->c;
    uint32_t first = c->corrections.moved[run->from], last = c->corrections.moved[run->to - 1];
    uint32_t shift = shift_of(c, run->from), change = shift - s->shift;
    buf_reserve(&s->runs, LONGEST);
    uint8_t *to = s->runs.data + s->runs.len;
    to =
        uleb_put(to, (uint64_t)(first - s->offset) << 2 | (last > first ? 2u : 0u) | (change != 0));
    if (change)
        to = uleb_put(to, change << 1 ^ (0 - (change >> 31)));
    if (last > first)
        to = uleb_put(to, last - first);
    s->runs.len = (size_t)(to - s->runs.data);
    buf_short(&s->runs, (const uint8_t *)run->amounts.ptr, run->amounts.len);
    s->offset = last;
    s->shift = shift;
}

/* Appends the runs of n instructions and returns their number. */
static uint32_t trap_section_put_runs(Section *s, uint32_t n, bool corrects) {
    Run run = {s->trap, s->trap, {0}};
    uint32_t runs = 1;
    for (uint32_t end = s->trap + n; s->trap < end; run.to = ++s->trap) {
        uint32_t size = corrects ? (uint32_t)wasm_uleb(&s->traps) : 0;
        if (run.to > run.from && (size || shift_of(s->c, s->trap) != shift_of(s->c, run.from))) {
            trap_section_put_run(s, &run);
            run.from = s->trap;
            runs++;
        }
        if (size)
            run.amounts = (Str){(const char *)s->traps, size};
        s->traps += size;
    }
    trap_section_put_run(s, &run);
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
    uint64_t runs = trap_section_put_runs(s, n, corrects);
    buf_uleb(s->out, runs << 2 | (head & 3));
    if (deficit)
        buf_uleb(s->out, number);
    if (corrects)
        buf_uleb(s->out, nvars);
    buf_bytes(s->out, vars, size);
    buf_bytes(s->out, s->runs.data, s->runs.len);
    buf_uleb(s->out, to);
}

/* Functions [from, to) of Counts.funcs, which one thread writes. */
typedef struct Part {
    uint32_t from, to;
    Buf out;
    uint8_t *place; /* of `out` in the output */
} Part;

typedef struct Parts {
    const Counts *c;
    const WasmModule *m, *written;
    Vec(Part) at;
} Parts;

/* Returns the offset of a function's new body. */
static uint32_t trap_section_body_of(const Parts *p, const CountFunc *f) {
    return p->written->funcs.at[wasm_final(p->m, WASM_SPACE_FUNC, f->func)].body;
}

/* Returns the last function of the section before the one with a number, or NULL. */
static const CountFunc *func_before(const Counts *c, uint32_t i) {
    while (i && !c->funcs.at[i - 1].nsegments)
        i--;
    return i ? &c->funcs.at[i - 1] : NULL;
}

static void trap_section_put_func(Section *s, const Parts *p, const CountFunc *f,
                                  const CountFunc *before) {
    buf_uleb(s->out, trap_section_body_of(p, f) - (before ? trap_section_body_of(p, before) : 0));
    buf_uleb(s->out, f->func - (before ? before->func : 0));
    buf_uleb(s->out, f->nsegments);
    s->offset = s->shift = 0;
    s->trap = f->trap;
    s->traps = s->c->corrections.table.data + f->segments;
    for (uint32_t k = 0; k < f->nsegments; k++)
        put_segment(s, f);
}

static void trap_section_put_part(const Parts *p, const Part *part, Buf *out) {
    Section s = {.c = p->c, .out = out};
    const CountFunc *before = func_before(p->c, part->from);
    for (uint32_t i = part->from; i < part->to; i++) {
        const CountFunc *f = &p->c->funcs.at[i];
        if (!f->nsegments)
            continue;
        trap_section_put_func(&s, p, f, before);
        before = f;
    }
    buf_free(&s.runs);
}

static void trap_section_make_part(void *ctx, uint32_t worker, uint32_t item) {
    const Parts *p = ctx;
    (void)worker;
    trap_section_put_part(p, &p->at.at[item], &p->at.at[item].out);
}

static void trap_section_divide(Parts *p) {
#ifdef NDEBUG
    enum { PART = 32 << 10 }; /* bytes of Counts.corrections.table */
#else
    enum { PART = 256 };
#endif
    const Counts *c = p->c;
    for (uint32_t i = 0; i < c->funcs.len; i++) {
        if (!p->at.len ||
            c->funcs.at[i].segments - c->funcs.at[vec_last(&p->at).from].segments >= PART)
            vec_push(&p->at, ((Part){.from = i}));
        vec_last(&p->at).to = i + 1;
    }
}

static void place_part(void *ctx, uint32_t worker, uint32_t item) {
    Parts *p = ctx;
    Part *part = &p->at.at[item];
    (void)worker;
    if (part->out.len)
        memcpy(part->place, part->out.data, part->out.len);
    buf_free(&part->out);
}

/* Appends the size and contents of the section, which threads write. */
static void trap_section_put_parts(Parts *p, uint32_t threads, const Buf *head, Buf *out) {
    size_t size = head->len;
    trap_section_divide(p);
    workers_run(threads, p->at.len, trap_section_make_part, p);
    for (uint32_t i = 0; i < p->at.len; i++)
        size += p->at.at[i].out.len;
    buf_uleb(out, size);
    buf_reserve(out, size);
    buf_bytes(out, head->data, head->len);
    for (uint32_t i = 0; i < p->at.len; i++) {
        p->at.at[i].place = out->data + out->len;
        out->len += p->at.at[i].out.len;
    }
    workers_run(threads, p->at.len, place_part, p);
    vec_free(&p->at);
}

/* Does the same on one thread, with the contents in their place before their size is known. */
static void put_whole(const Parts *p, const Buf *head, Buf *out) {
    enum { WIDTH = 5 }; /* of a size, at most */
    size_t at = out->len;
    buf_uleb_padded(out, 0, WIDTH);
    buf_bytes(out, head->data, head->len);
    trap_section_put_part(p, &(Part){.to = p->c->funcs.len}, out);
    size_t size = out->len - at - WIDTH;
    memmove(out->data + at + uleb_size(size), out->data + at + WIDTH, size);
    out->len = at;
    buf_uleb(out, size);
    out->len += size;
}

void trap_section_put(const Counts *c, const WasmModule *m, const WasmModule *written,
                      uint32_t threads, Buf *out) {
    Parts parts = {.c = c, .m = m, .written = written};
    Buf head = {0};
    buf_name(&head, STR("whammc.traps"));
    buf_u8(&head, VERSION);
    buf_u8(out, WASM_SEC_CUSTOM);
    if (threads > 1)
        trap_section_put_parts(&parts, threads, &head, out);
    else
        put_whole(&parts, &head, out);
    buf_free(&head);
}
