/*
 * dwarf/dwarf_machine.c - line programs: their headers, and running them.
 */
#include "dwarf/dwarf_parts.h"

#include <assert.h>

static const char LINE[] = ".debug_line";

/* ---- headers ---- */

bool dwarf_line_header(Dwarf *d, DwarfLines *l, DwarfCursor *c) {
    l->version = dwarf_u16(c);
    if (l->version < 2 || l->version > 5)
        return dwarf_fail(d, LINE, l->start, "the version of lines is not 2, 3, 4 or 5");
    if (l->version >= 5) {
        l->address_size = dwarf_u8(c);
        dwarf_u8(c); /* segment selectors */
    }
    uint64_t length = dwarf_number(c, l->offset_size), begin = dwarf_tell(c);
    l->min_length = dwarf_u8(c);
    if (l->version >= 4)
        dwarf_u8(c); /* operations of an instruction */
    l->statements = dwarf_u8(c) != 0;
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

static void start_sequence(DwarfMachine *m) {
    m->address = m->column = m->discriminator = 0;
    m->line = m->file = 1;
    m->flags = m->l->statements ? ROW_STATEMENT : 0;
    m->first = DWARF_NO_ADDRESS;
    m->address_size = 0;
    m->removed = m->ended = false;
}

static uint32_t clip(uint64_t v) {
    return v < UINT32_MAX ? (uint32_t)v : 0;
}

static void dwarf_machine_put_row(DwarfMachine *m) {
    if (m->first == DWARF_NO_ADDRESS)
        m->first = m->address;
    if (m->rows && (m->removed || m->address < UINT32_MAX))
        vec_push(m->rows, ((DwarfRow){(uint32_t)m->address, clip(m->line), clip(m->file),
                                      clip(m->column), clip(m->discriminator), m->flags}));
    m->flags &= ROW_STATEMENT;
    m->discriminator = 0;
}

static void run_extended(DwarfMachine *m) {
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
        m->address_size = (uint8_t)size;
    } else if (opcode == LNE_SET_DISCRIMINATOR) {
        m->discriminator = dwarf_uleb(&m->c);
    } else if (opcode == LNE_DEFINE_FILE) {
        m->defines = true;
    }
    m->c.at = after;
}

static void run_standard(DwarfMachine *m, uint8_t opcode) {
    const DwarfLines *l = m->l;
    switch (opcode) {
    case LNS_COPY: dwarf_machine_put_row(m); break;
    case LNS_ADVANCE_PC: m->address += dwarf_uleb(&m->c) * l->min_length; break;
    case LNS_ADVANCE_LINE: m->line += (uint64_t)dwarf_sleb(&m->c); break;
    case LNS_SET_FILE: m->file = dwarf_uleb(&m->c); break;
    case LNS_SET_COLUMN: m->column = dwarf_uleb(&m->c); break;
    case LNS_NEGATE_STATEMENT: m->flags ^= ROW_STATEMENT; break;
    case LNS_SET_BASIC_BLOCK: m->flags |= ROW_BASIC_BLOCK; break;
    case LNS_SET_PROLOGUE_END: m->flags |= ROW_PROLOGUE_END; break;
    case LNS_SET_EPILOGUE_BEGIN: m->flags |= ROW_EPILOGUE_BEGIN; break;
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

DwarfMachine dwarf_machine(const Dwarf *d, const DwarfLines *l, uint32_t program, DwarfRows *rows) {
    assert(program <= l->end);
    return (DwarfMachine){.l = l, .c = dwarf_cursor(d->s.line, program, l->end), .rows = rows};
}

bool dwarf_run_sequence(DwarfMachine *m) {
    const DwarfLines *l = m->l;
    start_sequence(m);
    while (m->c.at < m->c.end && !m->ended) {
        uint8_t opcode = *m->c.at++;
        if (opcode >= l->opcode_base) {
            uint8_t adjusted = opcode - l->opcode_base;
            m->address += (uint64_t)(adjusted / l->line_range) * l->min_length;
            m->line += (uint64_t)(int64_t)(l->line_base + adjusted % l->line_range);
            dwarf_machine_put_row(m);
        } else if (opcode == LNS_EXTENDED) {
            run_extended(m);
        } else {
            run_standard(m, opcode);
        }
    }
    return m->ended;
}
