/*
 * inject/trap_section.c - writes the custom section whammc.traps.
 */
#include "inject/trap_section.h"
#include "edit/edit.h"

enum { VERSION = 1 };

void trap_section_begin(Counts *c) {
    while (c->trap_moved.len < c->trap_points.len)
        vec_push(&c->trap_moved, 0);
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
    uint32_t offset, shift; /* of the point before, in the new body */
} Section;

static void put_point(Section *s, uint32_t point) {
    uint32_t moved = s->c->trap_moved.at[point], shift = moved - s->c->trap_points.at[point];
    uint32_t change = shift - s->shift;
    buf_uleb(&s->bytes, (uint64_t)(moved - s->offset) << 1 | (change != 0));
    if (change)
        buf_uleb(&s->bytes, change << 1 ^ (0 - (change >> 31)));
    s->offset = moved;
    s->shift = shift;
}

/* Copies n numbers; returns where the next ones are. */
static const uint8_t *put_amounts(Section *s, const uint8_t *from, uint32_t n) {
    const uint8_t *to = from;
    for (; n; to++)
        n -= *to < 0x80;
    buf_bytes(&s->bytes, from, (size_t)(to - from));
    return to;
}

static void put_segment(Section *s, const CountTraps *t) {
    const Counts *c = s->c;
    const uint8_t *amounts = t->nvars ? c->trap_amounts.data + t->amount : NULL;
    buf_uleb(&s->bytes, t->npoints);
    buf_uleb(&s->bytes, t->deficit);
    buf_uleb(&s->bytes, t->to);
    buf_uleb(&s->bytes, t->nvars);
    for (uint32_t i = 0; i < t->nvars; i++)
        buf_uleb(&s->bytes, c->trap_vars.at[t->var + i]);
    for (uint32_t p = 0; p < t->npoints; p++) {
        put_point(s, t->point + p);
        if (t->nvars)
            amounts = put_amounts(s, amounts, t->nvars);
    }
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
}
