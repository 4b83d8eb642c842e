/*
 * dwarf/dwarf_location.c - where values are: expressions and lists of locations in .debug_loc (up
 * to version 4) and .debug_loclists.
 *
 * Only expressions of one place are understood, as compilers write them for WebAssembly: a local or
 * the frame base, and an offset. For all others the place is unknown.
 */
#include "dwarf/dwarf_parts.h"

/* Operations. */
enum {
    OP_ADDR = 0x03,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_PLUS_UCONST = 0x23,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_FBREG = 0x91,
    OP_STACK_VALUE = 0x9f,
    OP_WASM_LOCATION = 0xed,
};

/* Kinds of entries in .debug_loclists. */
enum {
    LLE_END_OF_LIST,
    LLE_BASE_ADDRESSX,
    LLE_STARTX_ENDX,
    LLE_STARTX_LENGTH,
    LLE_OFFSET_PAIR,
    LLE_DEFAULT_LOCATION,
    LLE_BASE_ADDRESS,
    LLE_START_END,
    LLE_START_LENGTH,
};

static DwarfPlace nowhere(const char *why) {
    return (DwarfPlace){.where = DWARF_NOWHERE, .why = why};
}

/* The operation that an expression begins with. */
static DwarfPlace dwarf_location_start(DwarfCursor *c, const DwarfUnit *u,
                                       const DwarfPlace *frame) {
    uint8_t op = dwarf_u8(c);
    DwarfPlace p = {.where = DWARF_NUMBER};
    switch (op) {
    case OP_ADDR:
        p.where = DWARF_IN_MEMORY;
        p.offset = (int64_t)dwarf_number(c, u->address_size);
        return p;
    case OP_CONSTU: p.offset = (int64_t)dwarf_uleb(c); return p;
    case OP_CONSTS: p.offset = dwarf_sleb(c); return p;
    case OP_FBREG: {
        int64_t offset = dwarf_sleb(c);
        if (!frame || frame->where != DWARF_IN_LOCAL)
            return nowhere("its function has no frame in a local");
        return (DwarfPlace){
            .where = DWARF_IN_FRAME, .local = frame->local, .offset = frame->offset + offset};
    }
    case OP_WASM_LOCATION: {
        uint8_t kind = dwarf_u8(c);
        uint64_t n = dwarf_uleb(c);
        if (kind != 0 || n >= UINT32_MAX)
            return nowhere(kind == 2 ? "it is on the operand stack there"
                                     : "it is in a global there");
        return (DwarfPlace){.where = DWARF_AT_LOCAL, .local = (uint32_t)n};
    }
    }
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        p.offset = op - OP_LIT0;
        return p;
    }
    return nowhere("the compiler computes it there from other values");
}

static DwarfPlace read_expression(Str bytes, const DwarfUnit *u, const DwarfPlace *frame) {
    DwarfCursor c = dwarf_cursor(bytes, 0, bytes.len);
    if (!bytes.len)
        return nowhere("the compiler has removed it there");
    DwarfPlace p = dwarf_location_start(&c, u, frame);
    bool value = false;
    while (p.where != DWARF_NOWHERE && c.at < c.end) {
        uint8_t op = dwarf_u8(&c);
        if (op == OP_PLUS_UCONST && !value)
            p.offset += (int64_t)dwarf_uleb(&c);
        else if (op == OP_STACK_VALUE && !value)
            value = true;
        else
            return nowhere("it is in several parts there");
    }
    if (c.failed)
        return nowhere("its location is damaged");
    if (p.offset < INT32_MIN || p.offset > UINT32_MAX) {
        if (p.where != DWARF_NUMBER)
            return nowhere("its location is damaged");
    }
    if (p.where == DWARF_AT_LOCAL && value)
        p.where = DWARF_IN_LOCAL;
    else if (p.where == DWARF_NUMBER && !value)
        return nowhere("the compiler computes it there from other values");
    else if (value && p.where != DWARF_NUMBER)
        return nowhere("it is an address that is in no variable");
    return p;
}

/* A list of locations. */
typedef struct LocationList {
    Dwarf *d;
    const DwarfUnit *u;
    uint32_t address;
    uint64_t base, start, end;
    Str found; /* the expression of the address */
    bool has;
} LocationList;

/* Takes the expression of an entry with [start, end). */
static void take_entry(LocationList *l, uint64_t start, uint64_t end, Str bytes) {
    if (l->has || dwarf_is_removed(l->u, start) || start > l->address || end <= l->address)
        return;
    l->has = true;
    l->start = start;
    l->end = end;
    l->found = bytes;
}

static Str dwarf_location_block(DwarfCursor *c, uint64_t length) {
    const uint8_t *at = c->at;
    dwarf_skip(c, length);
    return c->failed ? (Str){0} : (Str){(const char *)at, (uint32_t)length};
}

/* .debug_loc: pairs of offsets from the base, each with an expression. */
static void dwarf_location_pairs(LocationList *l, DwarfCursor *c) {
    uint8_t size = l->u->address_size;
    uint64_t ones = size == 8 ? UINT64_MAX : UINT32_MAX;
    while (!l->has && !c->failed && l->d->budget.entries) {
        l->d->budget.entries--;
        uint64_t start = dwarf_number(c, size), end = dwarf_number(c, size);
        if (c->failed || (!start && !end))
            return;
        if (start == ones) {
            l->base = end;
            continue;
        }
        Str bytes = dwarf_location_block(c, dwarf_u16(c));
        if (!c->failed && !dwarf_is_removed(l->u, l->base))
            take_entry(l, l->base + start, l->base + end, bytes);
    }
}

static uint64_t indexed(const LocationList *l, DwarfCursor *c) {
    return dwarf_indexed_address(l->d, l->u, dwarf_uleb(c));
}

/* One entry of .debug_loclists; false at the end of the list. */
static bool read_entry(LocationList *l, DwarfCursor *c) {
    uint8_t size = l->u->address_size, kind = dwarf_u8(c);
    uint64_t start = 0, end = 0;
    switch (c->failed ? LLE_END_OF_LIST : kind) {
    case LLE_BASE_ADDRESSX: l->base = indexed(l, c); return !c->failed;
    case LLE_BASE_ADDRESS: l->base = dwarf_number(c, size); return !c->failed;
    case LLE_STARTX_ENDX: start = indexed(l, c), end = indexed(l, c); break;
    case LLE_STARTX_LENGTH: start = indexed(l, c), end = start + dwarf_uleb(c); break;
    case LLE_START_END: start = dwarf_number(c, size), end = dwarf_number(c, size); break;
    case LLE_START_LENGTH: start = dwarf_number(c, size), end = start + dwarf_uleb(c); break;
    case LLE_DEFAULT_LOCATION: end = UINT32_MAX; break;
    case LLE_OFFSET_PAIR:
        start = l->base + dwarf_uleb(c), end = l->base + dwarf_uleb(c);
        if (dwarf_is_removed(l->u, l->base))
            end = 0;
        break;
    default: return false;
    }
    Str bytes = dwarf_location_block(c, dwarf_uleb(c));
    if (!c->failed)
        take_entry(l, start, end, bytes);
    return !c->failed;
}

static void read_list(LocationList *l, DwarfValue v) {
    uint64_t offset;
    Str section = l->u->version < 5 ? l->d->s.loc : l->d->s.loclists;
    if (!dwarf_list_offset(l->d, l->u, v, CLASS_LOCATION_INDEX, &offset))
        return;
    DwarfCursor c = dwarf_cursor(section, offset, section.len);
    if (c.failed)
        return;
    if (l->u->version < 5) {
        dwarf_location_pairs(l, &c);
        return;
    }
    while (!l->has && l->d->budget.entries && read_entry(l, &c))
        l->d->budget.entries--;
}

DwarfPlace dwarf_place(Dwarf *d, const DwarfUnit *u, DwarfValue v, const DwarfPlace *frame,
                       uint32_t address) {
    LocationList l = {d, u, address, u->low_pc, 0, UINT32_MAX, {0}, false};
    switch (v.class) {
    case CLASS_NONE: return nowhere("the compiler has removed it");
    case CLASS_BLOCK:
    case CLASS_EXPRESSION: l.found = v.string; break;
    default:
        read_list(&l, v);
        if (!l.has)
            return nowhere("the compiler has removed it there");
    }
    DwarfPlace p = read_expression(l.found, u, frame);
    p.start = dwarf_clip(l.start);
    p.end = dwarf_clip(l.end);
    return p;
}
