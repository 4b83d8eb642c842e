/*
 * dwarf/dwarf_range.c - where the code of an entry is: DW_AT_low_pc and DW_AT_high_pc, and lists in
 * .debug_ranges (up to version 4) and .debug_rnglists.
 */
#include "dwarf/dwarf_parts.h"

/* Kinds of entries in .debug_rnglists. */
enum {
    RLE_END_OF_LIST,
    RLE_BASE_ADDRESSX,
    RLE_STARTX_ENDX,
    RLE_STARTX_LENGTH,
    RLE_OFFSET_PAIR,
    RLE_BASE_ADDRESS,
    RLE_START_END,
    RLE_START_LENGTH,
};

/* A list that is being read. */
typedef struct RangeList {
    Dwarf *d;
    const DwarfUnit *u;
    uint64_t base; /* the base of offsets */
    uint32_t value;
    DwarfSpans *out;
    bool complete; /* no range was senseless */
} RangeList;

bool dwarf_extent_attribute(DwarfExtent *x, uint32_t attribute, DwarfValue v) {
    switch (attribute) {
    case DW_AT_LOW_PC: x->low = v; return true;
    case DW_AT_HIGH_PC: x->high = v; return true;
    case DW_AT_RANGES: x->ranges = v; return true;
    default: return false;
    }
}

static void dwarf_range_add(RangeList *l, uint64_t start, uint64_t end) {
    const Dwarf *d = l->d;
    uint32_t code_end = d->nbodies ? d->bodies[d->nbodies - 1].end : 0;
    if (!start || start > end || end > code_end)
        l->complete = false;
    else if (start < end)
        vec_push(l->out, ((DwarfSpan){(uint32_t)start, (uint32_t)end, l->value}));
}

/* .debug_ranges: pairs of addresses; the base is selected by a pair that begins with -1, removed
 * code is -2. */
static void read_pairs(RangeList *l, DwarfCursor *c, uint64_t *budget) {
    uint8_t size = l->u->address_size;
    uint64_t ones = size == 8 ? UINT64_MAX : UINT32_MAX;
    for (; *budget; (*budget)--) {
        uint64_t start = dwarf_number(c, size), end = dwarf_number(c, size);
        if (c->failed || (!start && !end))
            return;
        if (start == ones)
            l->base = end;
        else if (start != ones - 1 && !dwarf_is_removed(l->u, l->base))
            dwarf_range_add(l, l->base + start, l->base + end);
    }
}

static uint64_t dwarf_range_indexed(const RangeList *l, DwarfCursor *c) {
    return dwarf_indexed_address(l->d, l->u, dwarf_uleb(c));
}

static void add_live(RangeList *l, uint64_t start, uint64_t end) {
    if (!dwarf_is_removed(l->u, start))
        dwarf_range_add(l, start, end);
}

/* One entry of .debug_rnglists; false at the end of the list. */
static bool dwarf_range_read_entry(RangeList *l, DwarfCursor *c) {
    uint8_t size = l->u->address_size, kind = dwarf_u8(c);
    uint64_t start = 0, end = 0;
    switch (c->failed ? RLE_END_OF_LIST : kind) {
    case RLE_BASE_ADDRESSX: l->base = dwarf_range_indexed(l, c); break;
    case RLE_BASE_ADDRESS: l->base = dwarf_number(c, size); break;
    case RLE_STARTX_ENDX: start = dwarf_range_indexed(l, c), end = dwarf_range_indexed(l, c); break;
    case RLE_STARTX_LENGTH: start = dwarf_range_indexed(l, c), end = start + dwarf_uleb(c); break;
    case RLE_START_END: start = dwarf_number(c, size), end = dwarf_number(c, size); break;
    case RLE_START_LENGTH: start = dwarf_number(c, size), end = start + dwarf_uleb(c); break;
    case RLE_OFFSET_PAIR:
        start = dwarf_uleb(c), end = dwarf_uleb(c);
        if (dwarf_is_removed(l->u, l->base))
            return true;
        start += l->base, end += l->base;
        break;
    default: return false;
    }
    if (!c->failed)
        add_live(l, start, end);
    return !c->failed;
}

static void dwarf_range_read_list(RangeList *l, DwarfValue v, uint64_t *budget) {
    uint64_t offset;
    if (l->u->version < 5) {
        DwarfCursor c = dwarf_cursor(l->d->s.ranges, v.number, l->d->s.ranges.len);
        if (v.class == CLASS_CONSTANT && !c.failed)
            read_pairs(l, &c, budget);
        else
            dwarf_fail(l->d, ".debug_ranges", v.number, "there is no such list of ranges");
        return;
    }
    if (!dwarf_list_offset(l->d, l->u, v, CLASS_RANGE_INDEX, &offset) ||
        offset >= l->d->s.rnglists.len) {
        dwarf_fail(l->d, ".debug_rnglists", v.number, "there is no such list of ranges");
        return;
    }
    DwarfCursor c = dwarf_cursor(l->d->s.rnglists, offset, l->d->s.rnglists.len);
    while (*budget && dwarf_range_read_entry(l, &c))
        --*budget;
}

bool dwarf_ranges(Dwarf *d, const DwarfUnit *u, const DwarfExtent *x, uint32_t value,
                  uint64_t *budget, DwarfSpans *out) {
    RangeList l = {d, u, u->low_pc, value, out, true};
    uint64_t low, high;
    if (x->ranges.class != CLASS_NONE) {
        dwarf_range_read_list(&l, x->ranges, budget);
    } else if (dwarf_address(d, u, x->low, &low) && !dwarf_is_removed(u, low)) {
        if (x->high.class == CLASS_CONSTANT)
            dwarf_range_add(&l, low, low + x->high.number);
        else if (dwarf_address(d, u, x->high, &high))
            dwarf_range_add(&l, low, high);
    }
    return l.complete;
}
