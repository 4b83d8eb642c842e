/*
 * dwarf/dwarf_moves.c - where code went.
 */
#include "dwarf/dwarf_moves.h"

#include "base/vec.h"
#include "dwarf/dwarf_cursor.h"

uint32_t dwarf_moved_body(const DwarfMoves *m, uint64_t address) {
    const DwarfBody *first = m->from;
    return m->nbodies ? vec_first_(&first->end, m->nbodies, sizeof *first, dwarf_clip(address)) : 0;
}

uint32_t dwarf_moved_run(const DwarfMoves *m, uint64_t address) {
    const DwarfRun *first = m->runs;
    return m->nruns ? vec_first_(&first->end, m->nruns, sizeof *first, dwarf_clip(address + 1)) : 0;
}

/* An address between two bodies, in the size of the second, or before all bodies. */
static uint64_t moved_before(const DwarfMoves *m, uint32_t body, uint64_t address) {
    uint64_t distance = m->from[body].start - address, start = m->to[body].start;
    uint64_t least = body ? m->to[body - 1].end : 1;
    return start > distance && start - distance > least ? start - distance : least;
}

/* An address after all code. */
static uint64_t moved_after(const DwarfMoves *m, uint64_t address) {
    uint32_t last = m->nbodies - 1;
    uint64_t grown = (uint64_t)m->to[last].end - m->from[last].end, most = UINT32_MAX - 2;
    if (m->to[last].end < m->from[last].end || address >= most)
        return address;
    return address + grown < most ? address + grown : most;
}

static uint64_t moved_in_run(const DwarfRun *r, uint64_t address) {
    uint64_t to = r->to + (address - r->at);
    return to < r->to_end ? to : r->to_end;
}

uint64_t dwarf_moved(const DwarfMoves *m, uint64_t address) {
    uint32_t body = dwarf_moved_body(m, address);
    if (!address || !m->nbodies)
        return address;
    if (body == m->nbodies)
        return moved_after(m, address);
    const DwarfBody *from = &m->from[body];
    if (address < from->start)
        return moved_before(m, body, address);
    uint32_t run = dwarf_moved_run(m, address);
    if (address == from->end || run == m->nruns || m->runs[run].at >= from->end)
        return m->to[body].end;
    const DwarfRun *r = &m->runs[run];
    return address <= r->at ? r->to : moved_in_run(r, address);
}

uint64_t dwarf_moved_return(const DwarfMoves *m, uint64_t address) {
    if (!address || !m->nbodies || dwarf_moved_body(m, address) == m->nbodies)
        return dwarf_moved(m, address);
    uint32_t run = dwarf_moved_run(m, address - 1);
    if (run == m->nruns || m->runs[run].at >= address)
        return dwarf_moved(m, address);
    const DwarfRun *r = &m->runs[run];
    return address == r->end ? r->to_end : moved_in_run(r, address);
}
