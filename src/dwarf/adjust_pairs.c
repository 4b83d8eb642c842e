/*
 * dwarf/adjust_pairs.c - tables of addresses that are changed in place: .debug_ranges and
 * .debug_loc (up to version 4), .debug_addr, .debug_aranges; and the offsets in .debug_macro.
 */
#include "dwarf/adjust_parts.h"

/* ---- lists ---- */

/* A list that is being changed. */
typedef struct PairList {
    Adjuster *r;
    const DwarfUnit *u;
    AdjustKind kind;
    uint64_t base, new_base; /* the base of its addresses */
    DwarfCursor c;
    Buf *out;
} PairList;

static uint64_t ones_of(const PairList *l) {
    return l->u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
}

static void adjust_pairs_put_pair(PairList *l, uint32_t at, uint64_t start, uint64_t end) {
    uint8_t size = l->u->address_size;
    if (!start && !end) /* would end the list; an empty range as well */
        start = end = 1;
    adjust_number(l->out, at, size, start);
    adjust_number(l->out, at + size, size, end);
}

/* Copies the expression after a pair, and changes it. */
static void adjust_pairs_change_expression(PairList *l) {
    uint32_t length = dwarf_u16(&l->c), at = dwarf_tell(&l->c);
    const uint8_t *from = l->c.at;
    dwarf_skip(&l->c, length);
    if (l->c.failed)
        return;
    memcpy(l->out->data + at, from, length);
    adjust_expression(l->r, l->u, l->kind, l->out, at, length);
}

/* One entry; false at the end of the list. */
static bool change_pair(PairList *l) {
    uint8_t size = l->u->address_size;
    uint64_t ones = ones_of(l);
    uint32_t at = dwarf_tell(&l->c);
    uint64_t start = dwarf_number(&l->c, size), end = dwarf_number(&l->c, size);
    if (l->c.failed || (!start && !end))
        return false;
    if (start == ones) {
        l->base = end;
        l->new_base = dwarf_moved(l->r->moves, end);
        adjust_number(l->out, at + size, size, l->new_base);
        return true;
    }
    if (start != ones - 1 && !dwarf_is_removed(l->u, l->base)) {
        const DwarfMoves *m = l->r->moves;
        adjust_pairs_put_pair(l, at, dwarf_moved(m, (l->base + start) & ones) - l->new_base,
                              dwarf_moved(m, (l->base + end) & ones) - l->new_base);
    }
    if (l->kind == ADJUST_LOC)
        adjust_pairs_change_expression(l);
    return true;
}

/* Changes the list up to its end, as far as the budget goes. */
static bool change_list(Adjuster *r, const ListRef *ref, AdjustKind kind, Buf *out) {
    const DwarfUnit *u = &r->d->units.at[ref->unit];
    Str content = adjust_content(r, kind);
    PairList l = {r,
                  u,
                  kind,
                  u->low_pc,
                  dwarf_moved(r->moves, u->low_pc),
                  dwarf_cursor(content, ref->target, content.len),
                  out};
    for (uint32_t before = ref->target; change_pair(&l); before = dwarf_tell(&l.c)) {
        uint32_t used = dwarf_tell(&l.c) - before;
        if (used > r->list_budget)
            return adjust_problem(r, kind, ref->target, "lists overlap");
        r->list_budget -= used;
    }
    return !l.c.failed || adjust_problem(r, kind, ref->target, "a list is cut off");
}

/* Ends a list at its beginning. */
static void empty_list(const Adjuster *r, const ListRef *ref, Buf *out) {
    uint32_t bytes = 2u * r->d->units.at[ref->unit].address_size;
    if (ref->target <= out->len && out->len - ref->target >= bytes)
        memset(out->data + ref->target, 0, bytes);
}

void adjust_pairs(Adjuster *r, uint32_t refs, AdjustKind kind) {
    ListRefs *lists = &r->lists[refs][false];
    DwarfSection *s = r->sections[kind];
    if (!s)
        return;
    buf_bytes(&s->changed, s->content.ptr, s->content.len);
    s->fate = DWARF_CHANGED;
    r->list_budget = 2 * (uint64_t)s->content.len;
    adjust_sort_refs(lists);
    for (uint32_t i = 0; i < lists->len;) {
        bool same_base;
        uint32_t next = adjust_same_list(r, lists, i, &same_base);
        if (!same_base)
            adjust_problem(r, kind, lists->at[i].target, "units share a list");
        if (!same_base || !change_list(r, &lists->at[i], kind, &s->changed))
            empty_list(r, &lists->at[i], &s->changed);
        i = next;
    }
}

/* ---- .debug_addr ---- */

void adjust_addresses(Adjuster *r) {
    DwarfSection *s = r->sections[ADJUST_ADDR];
    if (!s)
        return;
    buf_bytes(&s->changed, s->content.ptr, s->content.len);
    s->fate = DWARF_CHANGED;
    for (uint32_t at = 0; at < s->content.len; at++) {
        uint8_t use = r->addresses[at], size = use & AS_WIDE ? 8 : 4;
        if (!use)
            continue;
        DwarfCursor c = dwarf_cursor(s->content, at, s->content.len);
        uint64_t address = dwarf_number(&c, size);
        if (!c.failed)
            adjust_number(&s->changed, at, size,
                          use & AS_CODE ? dwarf_moved(r->moves, address)
                                        : dwarf_moved_return(r->moves, address));
    }
}

/* ---- .debug_aranges ---- */

/* One table of a unit's ranges. */
static bool change_aranges(Adjuster *r, DwarfCursor *c, Buf *out) {
    uint32_t start = dwarf_tell(c);
    uint8_t offset_size;
    if (!dwarf_unit_length(c, &offset_size))
        return adjust_problem(r, ADJUST_ARANGES, start, "a table is longer than the section");
    uint16_t version = dwarf_u16(c);
    dwarf_skip(c, offset_size);
    uint8_t size = dwarf_u8(c), selectors = dwarf_u8(c);
    if (c->failed || version != 2 || (size != 4 && size != 8) || selectors)
        return adjust_problem(r, ADJUST_ARANGES, start, "the header of a table is malformed");
    uint32_t used = dwarf_tell(c) - start, step = 2u * size;
    dwarf_skip(c, (step - used % step) % step); /* addresses are aligned */
    while (c->at < c->end) {
        uint32_t at = dwarf_tell(c);
        uint64_t low = dwarf_number(c, size), length = dwarf_number(c, size);
        if (c->failed || (!low && !length))
            break;
        uint64_t ones = size == 8 ? UINT64_MAX : UINT32_MAX;
        if (!low || low >= ones - 1)
            continue;
        uint64_t new = dwarf_moved(r->moves, low);
        adjust_number(out, at, size, new);
        adjust_number(out, at + size, size, dwarf_moved(r->moves, (low + length) & ones) - new);
    }
    return true;
}

void adjust_aranges(Adjuster *r) {
    DwarfSection *s = r->sections[ADJUST_ARANGES];
    if (!s)
        return;
    buf_bytes(&s->changed, s->content.ptr, s->content.len);
    for (uint32_t at = 0; at < s->content.len;) {
        DwarfCursor c = dwarf_cursor(s->content, at, s->content.len);
        if (!change_aranges(r, &c, &s->changed))
            return; /* and drop it: units say the same */
        at = (uint32_t)(c.end - c.start);
    }
    s->fate = DWARF_CHANGED;
}

/* ---- .debug_macro ---- */

enum { MACRO_WIDE = 1, MACRO_LINES = 2, MACRO_OPCODES = 4, MACRO_START_FILE = 3 };

/* Skips the operands of an entry; false: there is no such entry. */
static bool skip_macro(DwarfCursor *c, uint8_t kind, uint8_t offset_size) {
    switch (kind) {
    case 1: /* a definition, or its end: a line and a string */
    case 2:
        dwarf_uleb(c);
        dwarf_string(c);
        return true;
    case MACRO_START_FILE: dwarf_uleb(c), dwarf_uleb(c); return true;
    case 4: return true;
    case 5: /* with the offset of a string */
    case 6:
    case 8:
    case 9:
        dwarf_uleb(c);
        dwarf_skip(c, offset_size);
        return true;
    case 7: /* an import */
    case 10: dwarf_skip(c, offset_size); return true;
    case 11: /* with the index of a string */
    case 12: dwarf_uleb(c), dwarf_uleb(c); return true;
    default: return false;
    }
}

/* The macros of a unit: its header may say where the lines are. */
static bool change_macros(Adjuster *r, DwarfCursor *c, Buf *out) {
    uint32_t start = dwarf_tell(c);
    uint16_t version = dwarf_u16(c);
    uint8_t flags = dwarf_u8(c), offset_size = flags & MACRO_WIDE ? 8 : 4, kind;
    if (c->failed || version < 4 || version > 5 || flags & MACRO_OPCODES)
        return adjust_problem(r, ADJUST_MACRO, start, "the header of macros is malformed");
    if (flags & MACRO_LINES) {
        uint32_t at = dwarf_tell(c);
        uint64_t lines = dwarf_number(c, offset_size);
        if (!c->failed)
            adjust_number(out, at, offset_size, adjust_moved_part(&r->lines, dwarf_clip(lines)));
    }
    while ((kind = dwarf_u8(c)) != 0)
        if (!skip_macro(c, kind, offset_size))
            return adjust_problem(r, ADJUST_MACRO, start, "an entry of macros is not known");
    return !c->failed || adjust_problem(r, ADJUST_MACRO, start, "macros are cut off");
}

void adjust_macros(Adjuster *r) {
    DwarfSection *s = r->sections[ADJUST_MACRO];
    if (!s)
        return;
    buf_bytes(&s->changed, s->content.ptr, s->content.len);
    DwarfCursor c = dwarf_cursor(s->content, 0, s->content.len);
    while (c.at < c.end)
        if (!change_macros(r, &c, &s->changed))
            return;
    s->fate = DWARF_CHANGED;
}
