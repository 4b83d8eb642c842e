/*
 * dwarf/dwarf_line.c - line programs: where their sequences are, and the rows of one.
 */
#include "dwarf/dwarf_parts.h"

static const char LINE[] = ".debug_line";

/* Instructions of line programs. */
enum {
    LNS_EXTENDED,
    LNS_COPY,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STMT,
    LNS_SET_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC,
    LNS_SET_PROLOGUE_END,
    LNS_SET_EPILOGUE_BEGIN,
    LNS_SET_ISA,
    LNS_COUNT
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

/* ---- headers ---- */

static bool read_header(Dwarf *d, DwarfLines *l, DwarfCursor *c) {
    l->version = dwarf_u16(c);
    if (l->version < 2 || l->version > 5)
        return dwarf_fail(d, LINE, l->start, "the version of lines is not 2, 3, 4 or 5");
    l->address_size = d->units.at[l->unit].address_size;
    if (l->version >= 5) {
        l->address_size = dwarf_u8(c);
        dwarf_u8(c); /* segment selectors */
    }
    uint64_t length = dwarf_number(c, l->offset_size), begin = dwarf_tell(c);
    l->min_length = dwarf_u8(c);
    if (l->version >= 4)
        dwarf_u8(c); /* operations of an instruction */
    dwarf_u8(c);     /* whether rows are statements */
    l->line_base = (int8_t)dwarf_u8(c);
    l->line_range = dwarf_u8(c);
    l->opcode_base = dwarf_u8(c);
    l->lengths = c->at - 1;
    dwarf_skip(c, l->opcode_base ? l->opcode_base - 1 : 0);
    if (c->failed || length > l->end - begin)
        return dwarf_fail(d, LINE, l->start, "the header of lines is cut off");
    if (!l->line_range || !l->opcode_base || (l->address_size != 4 && l->address_size != 8))
        return dwarf_fail(d, LINE, l->start, "the header of lines is malformed");
    l->tables = dwarf_tell(c);
    l->program = (uint32_t)(begin + length);
    return true;
}

/* ---- running ---- */

/* The state of a line program. */
typedef struct Machine {
    const DwarfLines *l;
    DwarfCursor c;
    uint64_t address, line, file, column;
    uint64_t first;  /* address of the sequence's first row; NO_ADDRESS = it has none */
    bool removed;    /* the sequence is of code that the linker has removed */
    bool ended;      /* by an end_sequence */
    DwarfRows *rows; /* NULL = they are not kept */
} Machine;
static const uint64_t NO_ADDRESS = UINT64_MAX;

static void start_sequence(Machine *m) {
    m->address = m->column = 0;
    m->line = m->file = 1;
    m->first = NO_ADDRESS;
    m->removed = m->ended = false;
}

static uint32_t clip(uint64_t v) {
    return v < UINT32_MAX ? (uint32_t)v : 0;
}

static void put_row(Machine *m) {
    if (m->first == NO_ADDRESS)
        m->first = m->address;
    if (m->rows && (m->removed || m->address < UINT32_MAX))
        vec_push(m->rows,
                 ((DwarfRow){(uint32_t)m->address, clip(m->line), clip(m->file), clip(m->column)}));
}

static void run_extended(Machine *m) {
    uint64_t length = dwarf_uleb(&m->c);
    if (!length || length > (uint64_t)(m->c.end - m->c.at)) {
        dwarf_fail_read(&m->c);
        return;
    }
    const uint8_t *after = m->c.at + length;
    uint8_t opcode = dwarf_u8(&m->c);
    if (opcode == LNE_END_SEQUENCE) {
        m->ended = true;
    } else if (opcode == LNE_SET_ADDRESS && length <= 9) {
        uint32_t size = (uint32_t)length - 1;
        m->address = dwarf_number(&m->c, size);
        uint64_t ones = size < 8 ? ((uint64_t)1 << 8 * size) - 1 : UINT64_MAX;
        m->removed |= m->address >= ones - 1 || m->address == 0;
    }
    m->c.at = after;
}

static void run_standard(Machine *m, uint8_t opcode) {
    const DwarfLines *l = m->l;
    switch (opcode) {
    case LNS_COPY: put_row(m); break;
    case LNS_ADVANCE_PC: m->address += dwarf_uleb(&m->c) * l->min_length; break;
    case LNS_ADVANCE_LINE: m->line += (uint64_t)dwarf_sleb(&m->c); break;
    case LNS_SET_FILE: m->file = dwarf_uleb(&m->c); break;
    case LNS_SET_COLUMN: m->column = dwarf_uleb(&m->c); break;
    case LNS_CONST_ADD_PC:
        m->address += (uint64_t)((255 - l->opcode_base) / l->line_range) * l->min_length;
        break;
    case LNS_FIXED_ADVANCE_PC: m->address += dwarf_u16(&m->c); break;
    case LNS_SET_ISA: dwarf_uleb(&m->c); break;
    default:
        if (opcode >= LNS_COUNT)
            for (uint8_t i = 0; i < l->lengths[opcode]; i++)
                dwarf_uleb(&m->c);
    }
}

/* Runs up to the end of a sequence; false at the end of the program, or where it is damaged. */
static bool run_sequence(Machine *m) {
    const DwarfLines *l = m->l;
    start_sequence(m);
    while (m->c.at < m->c.end && !m->ended) {
        uint8_t opcode = *m->c.at++;
        if (opcode >= l->opcode_base) {
            uint8_t adjusted = opcode - l->opcode_base;
            m->address += (uint64_t)(adjusted / l->line_range) * l->min_length;
            m->line += (uint64_t)(int64_t)(l->line_base + adjusted % l->line_range);
            put_row(m);
        } else if (opcode == LNS_EXTENDED) {
            run_extended(m);
        } else {
            run_standard(m, opcode);
        }
    }
    return m->ended;
}

/* ---- sequences ---- */

/* Sequences of removed code are left to dwarf_removed_lines; those that do not begin in a body are
 * dropped. One that fits ends where its body does; it may begin with the body or with the first
 * instruction. */
static void add_sequence(Dwarf *d, uint32_t lines, const Machine *m, uint32_t program) {
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
    Machine m = {.l = l, .c = dwarf_cursor(d->s.line, l->program, l->end)};
    for (uint32_t program = l->program; run_sequence(&m); program = dwarf_tell(&m.c))
        add_sequence(d, lines, &m, program);
    if (m.c.failed)
        dwarf_fail(d, LINE, l->program, "a line program is cut off");
}

uint32_t dwarf_read_lines(Dwarf *d, uint32_t unit, uint64_t offset) {
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
    if (!read_header(d, &l, &c))
        return NONE;
    if (d->line_budget < l.end - l.start) {
        dwarf_fail(d, LINE, offset, "line programs overlap");
        return NONE;
    }
    d->line_budget -= l.end - l.start;
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
        Machine m = {.l = l, .c = dwarf_cursor(d->s.line, l->program, l->end), .rows = &rows};
        for (; run_sequence(&m); rows.len = 0)
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
static void sort_rows(DwarfRows *rows) {
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
    const DwarfSequence *s = &d->sequences.at[sequence];
    const DwarfLines *l = &d->lines.at[s->lines];
    Machine m = {.l = l, .c = dwarf_cursor(d->s.line, s->program, l->end), .rows = rows};
    rows->len = 0;
    run_sequence(&m);
    sort_rows(rows);
}
