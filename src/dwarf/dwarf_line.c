/*
 * dwarf/dwarf_line.c - lines: where their sequences are, and the rows of one.
 */
#include "dwarf/dwarf_parts.h"

#include <assert.h>

static const char LINE[] = ".debug_line";

/* ---- sequences ---- */

/* Sequences of removed code are left to dwarf_removed_lines; sequences that do not begin in a body
 * are dropped. One that fits ends where its body does; it may begin with the body or with the first
 * instruction. */
static void add_sequence(Dwarf *d, uint32_t lines, const DwarfMachine *m, uint32_t program) {
    uint32_t code_end = d->nbodies ? d->bodies[d->nbodies - 1].end : 0;
    if (m->removed || m->address <= m->first || m->address > code_end)
        return;
    uint32_t body = dwarf_body_at(d, m->first);
    d->live_sequences++;
    if (body == NONE)
        return;
    d->fitting_sequences += m->address == d->bodies[body].end;
    DwarfSpan span = {(uint32_t)m->first, (uint32_t)m->address, d->sequences.len};
    vec_push(&d->sequence_at, span);
    vec_push(&d->sequences, ((DwarfSequence){lines, program}));
}

static void find_sequences(Dwarf *d, uint32_t lines) {
    const DwarfLines *l = &d->lines.at[lines];
    DwarfMachine m = dwarf_machine(d, l, l->program, NULL);
    for (uint32_t program = l->program; dwarf_run_sequence(&m); program = dwarf_tell(&m.c))
        add_sequence(d, lines, &m, program);
    if (m.c.failed)
        dwarf_fail(d, LINE, l->program, "a line program is cut off");
}

uint32_t dwarf_read_lines(Dwarf *d, uint32_t unit, uint64_t offset) {
    assert(unit < d->units.len);
    bool added;
    Str key = {(const char *)&offset, sizeof offset};
    uint64_t *index = map_put(&d->line_index, key, NONE, &added);
    if (!added)
        return (uint32_t)*index;
    DwarfLines l = {.unit = unit};
    DwarfCursor c = dwarf_cursor(d->s.line, offset, d->s.line.len);
    if (c.failed || !dwarf_unit_length(&c, &l.offset_size)) {
        dwarf_fail(d, LINE, offset, "there are no lines");
        return NONE;
    }
    l.start = (uint32_t)offset;
    l.end = (uint32_t)(c.end - c.start);
    l.address_size = d->units.at[unit].address_size;
    if (!dwarf_line_header(d, &l, &c))
        return NONE;
    if (d->budget.lines < l.end - l.start) {
        dwarf_fail(d, LINE, offset, "line programs overlap");
        return NONE;
    }
    d->budget.lines -= l.end - l.start;
    uint32_t lines = d->lines.len;
    *index = lines;
    vec_push(&d->lines, l);
    find_sequences(d, lines);
    return lines;
}

void dwarf_removed_lines(Dwarf *d, DwarfFound *found, void *ctx) {
    DwarfRows rows = {0};
    for (uint32_t i = 0; i < d->lines.len; i++) {
        const DwarfLines *l = &d->lines.at[i];
        DwarfMachine m = dwarf_machine(d, l, l->program, &rows);
        for (; dwarf_run_sequence(&m); rows.len = 0)
            for (uint32_t k = 0; m.removed && k < rows.len; k++) {
                DwarfFrame f = {.path = dwarf_path(d, i, rows.at[k].file), .line = rows.at[k].line};
                if (f.path.len && f.line)
                    found(ctx, &f);
            }
        rows.len = 0;
    }
    vec_free(&rows);
}

/* ---- rows ---- */

/* Rows whose addresses go back are dropped; of several at one address the last counts. */
static void dwarf_line_sort_rows(DwarfRows *rows) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->len; i++) {
        if (n && rows->at[i].address < rows->at[n - 1].address)
            continue;
        if (n && rows->at[i].address == rows->at[n - 1].address)
            n--;
        rows->at[n++] = rows->at[i];
    }
    rows->len = n;
}

void dwarf_read_rows(Dwarf *d, uint32_t sequence, DwarfRows *rows) {
    assert(sequence < d->sequences.len);
    const DwarfSequence *s = &d->sequences.at[sequence];
    const DwarfLines *l = &d->lines.at[s->lines];
    DwarfMachine m = dwarf_machine(d, l, s->program, rows);
    rows->len = 0;
    dwarf_run_sequence(&m);
    dwarf_line_sort_rows(rows);
}
