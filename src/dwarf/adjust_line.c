/*
 * dwarf/adjust_line.c - line programs for moved code.
 *
 * Rows move with their instructions. Inserted code gets a row with line 0; after it, a row restores
 * the line without is_stmt, so that debuggers do not take it for the beginning of the line. A
 * function's first row is at its locals; if code was inserted after these, the first instruction
 * has is_stmt.
 */
#include <assert.h>

#include "dwarf/adjust_parts.h"

/* Opcodes up to this one must be the standard's. */
enum { OPCODES_MIN = LNS_FIXED_ADVANCE_PC + 1 };

/* ---- instructions ---- */

/* Writes the rows of a sequence: the state of a reader. */
typedef struct LineWriter {
    const DwarfLines *l;
    Buf *out;
    uint64_t address;
    uint32_t line, file, column;
    bool statement, started;
} LineWriter;

static void put_extended(LineWriter *w, uint8_t opcode, uint64_t value, uint8_t size) {
    buf_u8(w->out, LNS_EXTENDED);
    buf_u8(w->out, (uint8_t)(size + 1));
    buf_u8(w->out, opcode);
    for (uint8_t i = 0; i < size; i++)
        buf_u8(w->out, (uint8_t)(value >> 8 * i));
}

static void put_discriminator(LineWriter *w, uint32_t value) {
    buf_u8(w->out, LNS_EXTENDED);
    buf_u8(w->out, (uint8_t)(1 + uleb_size(value)));
    buf_u8(w->out, LNE_SET_DISCRIMINATOR);
    buf_uleb(w->out, value);
}

/* The special opcode for these advances, or 0. */
static uint8_t special(const DwarfLines *l, uint64_t advance, int64_t lines) {
    if (lines < l->line_base || lines >= l->line_base + l->line_range ||
        advance > 255u / l->line_range)
        return 0;
    uint64_t opcode = (uint64_t)(lines - l->line_base) + l->line_range * advance + l->opcode_base;
    return opcode <= 255 ? (uint8_t)opcode : 0;
}

/* Appends the row, and advances to it. */
static void put_advance(LineWriter *w, uint64_t advance, int64_t lines) {
    const DwarfLines *l = w->l;
    uint64_t constant = (255u - l->opcode_base) / l->line_range;
    if (lines < l->line_base || lines >= l->line_base + l->line_range) {
        buf_u8(w->out, LNS_ADVANCE_LINE);
        buf_sleb(w->out, lines);
        lines = 0;
    }
    uint8_t opcode = special(l, advance, lines);
    if (!opcode && advance >= constant && special(l, advance - constant, lines)) {
        buf_u8(w->out, LNS_CONST_ADD_PC);
        opcode = special(l, advance - constant, lines);
    } else if (!opcode) {
        buf_u8(w->out, LNS_ADVANCE_PC);
        buf_uleb(w->out, advance);
        opcode = special(l, 0, lines);
    }
    if (opcode) {
        buf_u8(w->out, opcode);
        return;
    }
    if (lines) {
        buf_u8(w->out, LNS_ADVANCE_LINE);
        buf_sleb(w->out, lines);
    }
    buf_u8(w->out, LNS_COPY);
}

/* A row, whose address is the new one. */
static void adjust_line_put_row(LineWriter *w, uint64_t address, const DwarfRow *row) {
    assert(address >= w->address);
    bool statement = row->flags & ROW_STATEMENT;
    if (row->file != w->file) {
        buf_u8(w->out, LNS_SET_FILE);
        buf_uleb(w->out, row->file);
    }
    if (row->column != w->column) {
        buf_u8(w->out, LNS_SET_COLUMN);
        buf_uleb(w->out, row->column);
    }
    if (statement != w->statement)
        buf_u8(w->out, LNS_NEGATE_STATEMENT);
    if (row->discriminator)
        put_discriminator(w, row->discriminator);
    if (row->flags & ROW_BASIC_BLOCK)
        buf_u8(w->out, LNS_SET_BASIC_BLOCK);
    if (row->flags & ROW_PROLOGUE_END && w->l->opcode_base > LNS_SET_PROLOGUE_END)
        buf_u8(w->out, LNS_SET_PROLOGUE_END);
    if (row->flags & ROW_EPILOGUE_BEGIN && w->l->opcode_base > LNS_SET_EPILOGUE_BEGIN)
        buf_u8(w->out, LNS_SET_EPILOGUE_BEGIN);
    put_advance(w, address - w->address, (int64_t)row->line - w->line);
    w->address = address;
    w->line = row->line;
    w->file = row->file;
    w->column = row->column;
    w->statement = statement;
    w->started = true;
}

/* Code that was inserted begins here. */
static void put_inserted(LineWriter *w, uint64_t address) {
    DwarfRow row = {.file = w->file, .column = w->column};
    if (w->started && w->line)
        adjust_line_put_row(w, address, &row);
}

/* ---- sequences ---- */

/* A sequence that is being written: its rows, in the order of their addresses, which are old. */
typedef struct Sequence {
    const DwarfMoves *m;
    LineWriter w;
    const DwarfRows *rows;
    uint32_t next; /* of the rows */
    DwarfRow last; /* the one before that */
} Sequence;

/* Rows of replaced code would be at the next instruction, which has its own. */
static bool is_hidden(const Sequence *s, uint32_t i) {
    const DwarfRow *rows = s->rows->at;
    return i + 1 < s->rows->len && rows[i + 1].address != rows[i].address &&
           dwarf_moved(s->m, rows[i + 1].address) == dwarf_moved(s->m, rows[i].address);
}

/* The rows before an old address. Returns whether the first is at `start`, a new one. */
static bool adjust_line_put_rows(Sequence *s, uint32_t end, uint64_t start) {
    bool first = false;
    for (; s->next < s->rows->len && s->rows->at[s->next].address < end; s->next++) {
        s->last = s->rows->at[s->next];
        if (is_hidden(s, s->next))
            continue;
        uint64_t address = dwarf_moved(s->m, s->last.address);
        first |= address == start;
        adjust_line_put_row(&s->w, address, &s->last);
    }
    return first;
}

/* The row of a function's locals, before a gap, if the first instruction has no row: that
 * instruction gets the row's location, too. */
static void adjust_line_put_locals(Sequence *s, const DwarfRun *locals) {
    const DwarfRow *rows = s->rows->at;
    uint32_t i = s->next, next = i + 1;
    bool has_row = next < s->rows->len && rows[next].address <= locals->end;
    if (i == s->rows->len || rows[i].address != locals->at || has_row)
        return;
    DwarfRow row = s->last = rows[i];
    row.flags = 0;
    adjust_line_put_row(&s->w, locals->to, &row);
    s->next++;
}

/* From the end of a run to the next one in the same body, if code was inserted there. */
static void put_gap(Sequence *s, const DwarfRun *before, const DwarfRun *r, bool of_locals) {
    put_inserted(&s->w, before->to_end);
    if (s->next < s->rows->len && dwarf_moved(s->m, s->rows->at[s->next].address) <= r->to)
        return; /* the instruction has its own row */
    DwarfRow row = s->last;
    if (!of_locals)
        row.flags = 0, row.discriminator = 0;
    if (s->w.started && row.line)
        adjust_line_put_row(&s->w, r->to, &row);
}

/* All runs from the first row on, up to the end of the sequence. */
static void adjust_line_put_runs(Sequence *s, uint32_t run, uint32_t to, uint32_t end) {
    const DwarfMoves *m = s->m;
    uint32_t body = dwarf_moved_body(m, m->runs[run].end);
    bool locals = false;
    for (uint32_t i = run; i < to; i++) {
        const DwarfRun *r = &m->runs[i];
        bool same = i > run && r->at < m->from[body].end, handed_on = locals;
        while (r->at >= m->from[body].end)
            body++;
        if (same && r[-1].to_end < r->to)
            put_gap(s, r - 1, r, handed_on);
        bool gap = i + 1 < to && r[1].at < m->from[body].end && r->to_end < r[1].to;
        uint32_t before = s->next;
        if (gap && r->at == m->from[body].start)
            adjust_line_put_locals(s, r);
        locals = s->next > before;
        adjust_line_put_rows(s, r->end < end ? r->end : end, r->to);
    }
    if (m->runs[to - 1].to_end < dwarf_moved(m, end))
        put_inserted(&s->w, m->runs[to - 1].to_end);
}

/* Addresses that go back are an error, and dropped. */
static void adjust_line_sort_rows(DwarfRows *rows, uint64_t end) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->len; i++)
        if ((!n || rows->at[i].address >= rows->at[n - 1].address) && rows->at[i].address <= end)
            rows->at[n++] = rows->at[i];
    rows->len = n;
}

/* Writes the sequence that the machine has run. */
static void put_sequence(Adjuster *r, const DwarfMachine *machine, uint32_t program, Buf *out) {
    const DwarfMoves *m = r->moves;
    const DwarfLines *l = machine->l;
    uint32_t code_end = m->nbodies ? m->from[m->nbodies - 1].end : 0;
    if (machine->removed) { /* stays */
        buf_bytes(out, r->d->s.line.ptr + program, dwarf_tell(&machine->c) - program);
        return;
    }
    adjust_line_sort_rows(&r->rows, machine->address);
    if (!r->rows.len || machine->address > code_end || machine->address <= r->rows.at[0].address)
        return;
    uint32_t start = r->rows.at[0].address, end = (uint32_t)machine->address;
    uint32_t run = dwarf_moved_run(m, start), to = dwarf_moved_run(m, end - 1);
    to += to < m->nruns && m->runs[to].at < end;
    Sequence s = {.m = m, .rows = &r->rows};
    s.w = (LineWriter){.l = l, .out = out, .line = 1, .file = 1, .statement = l->statements};
    uint8_t size = machine->address_size == 8 ? 8 : 4;
    s.w.address = dwarf_moved(m, start);
    put_extended(&s.w, LNE_SET_ADDRESS, s.w.address, size);
    if (run < to && to - run <= r->line_budget) {
        r->line_budget -= to - run;
        adjust_line_put_runs(&s, run, to, end);
    }
    adjust_line_put_rows(&s, UINT32_MAX, 0);
    buf_u8(out, LNS_ADVANCE_PC);
    buf_uleb(out, dwarf_moved(m, end) - s.w.address);
    put_extended(&s.w, LNE_END_SEQUENCE, 0, 0);
}

/* ---- programs ---- */

/* The sequences of a program; none if it has operations that sequences cannot express. */
static void adjust_line_put_program(Adjuster *r, const DwarfLines *l, Buf *out) {
    DwarfMachine m = dwarf_machine(r->d, l, l->program, &r->rows);
    size_t begin = out->len;
    r->rows.len = 0;
    if (l->opcode_base < OPCODES_MIN) {
        adjust_problem(r, ADJUST_LINE, l->start, "a line program lacks standard instructions");
        return;
    }
    for (uint32_t program = l->program; dwarf_run_sequence(&m) && !m.defines;
         program = dwarf_tell(&m.c), r->rows.len = 0)
        put_sequence(r, &m, program, out);
    if (m.defines) {
        adjust_problem(r, ADJUST_LINE, l->program, "a line program adds files to its table");
        out->len = begin;
    } else if (m.c.failed) {
        adjust_problem(r, ADJUST_LINE, l->program, "a line program is cut off");
    }
}

/* One header and its program; false if the rest of the section cannot be read. */
static bool adjust_line_put_lines(Adjuster *r, DwarfCursor *c, Buf *out) {
    Dwarf *d = r->d;
    uint32_t start = dwarf_tell(c), at = (uint32_t)out->len;
    DwarfLines l = {.start = start, .unit = NONE};
    if (!dwarf_unit_length(c, &l.offset_size))
        return adjust_problem(r, ADJUST_LINE, start, "lines are longer than the section");
    l.end = (uint32_t)(c->end - c->start);
    l.address_size = d->units.len ? d->units.at[0].address_size : 4;
    DwarfCursor header = *c;
    if (!dwarf_line_header(d, &l, &header) || l.program < l.tables) {
        adjust_problem(r, ADJUST_LINE, start, "the header of lines is malformed");
        return true;
    }
    vec_push(&r->lines, ((Moved){start, at}));
    buf_bytes(out, d->s.line.ptr + start, l.program - start);
    uint32_t min_length = at + (uint32_t)(l.lengths - (const uint8_t *)d->s.line.ptr) - start -
                          (l.version >= 4 ? 5 : 4);
    out->data[min_length] = 1;
    adjust_line_put_program(r, &l, out);
    uint32_t field = l.offset_size == 8 ? 4 : 0, after = l.offset_size == 8 ? 12 : 4;
    adjust_number(out, at + field, l.offset_size, out->len - at - after);
    return true;
}

void adjust_lines(Adjuster *r) {
    DwarfSection *s = r->sections[ADJUST_LINE];
    if (!s)
        return;
    r->line_budget = 4 * (uint64_t)r->moves->nruns + s->content.len;
    for (uint32_t at = 0; at < s->content.len;) {
        DwarfCursor c = dwarf_cursor(s->content, at, s->content.len);
        if (!adjust_line_put_lines(r, &c, &s->changed))
            break;
        at = (uint32_t)(c.end - c.start);
    }
    s->fate = DWARF_CHANGED;
}
