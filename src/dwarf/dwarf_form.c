/*
 * dwarf/dwarf_form.c - the values of attributes.
 */
#include "dwarf/dwarf_parts.h"

DwarfFormInfo dwarf_form_info(uint32_t form) {
    static const struct {
        uint32_t code;
        DwarfFormInfo info;
    } forms[] = {
#define FORM(code, name, class, encoding) {code, {CLASS_##class, encoding}},
#include "dwarf/dwarf_form.def"
    };
    enum { NFORMS = sizeof forms / sizeof *forms };
    for (uint32_t i = 0; i < NFORMS; i++)
        if (forms[i].code == form)
            return forms[i].info;
    return (DwarfFormInfo){0};
}

static Str dwarf_form_block(DwarfCursor *c, uint64_t length) {
    const uint8_t *at = c->at;
    dwarf_skip(c, length);
    return c->failed ? (Str){0} : (Str){(const char *)at, (uint32_t)length};
}

DwarfValue dwarf_value(DwarfCursor *c, DwarfFormInfo form, int64_t implicit, uint8_t address_size,
                       uint8_t offset_size) {
    if (form.encoding == ENCODED_INDIRECT)
        form = dwarf_form_info((uint32_t)dwarf_uleb(c));
    DwarfValue v = {.class = form.class};
    switch (form.encoding) {
    case ENCODED_ADDRESS: v.number = dwarf_number(c, address_size); break;
    case ENCODED_OFFSET: v.number = dwarf_number(c, offset_size); break;
    case ENCODED_ULEB: v.number = dwarf_uleb(c); break;
    case ENCODED_SLEB: v.number = (uint64_t)dwarf_sleb(c); break;
    case ENCODED_STRING: v.string = dwarf_string(c); break;
    case ENCODED_BLOCK: v.string = dwarf_form_block(c, dwarf_uleb(c)); break;
    case ENCODED_BLOCK1: v.string = dwarf_form_block(c, dwarf_u8(c)); break;
    case ENCODED_BLOCK2: v.string = dwarf_form_block(c, dwarf_u16(c)); break;
    case ENCODED_BLOCK4: v.string = dwarf_form_block(c, dwarf_u32(c)); break;
    case ENCODED_DATA16: dwarf_skip(c, 16); break;
    case ENCODED_IMPLICIT: v.number = (uint64_t)implicit; break;
    case ENCODED_INDIRECT: dwarf_fail_read(c); break; /* indirect twice */
    default: v.number = dwarf_number(c, form.encoding); break;
    }
    if (form.class == CLASS_NONE)
        dwarf_fail_read(c);
    return v;
}

static Str string_at(Str section, uint64_t offset) {
    DwarfCursor c = dwarf_cursor(section, offset, section.len);
    return dwarf_string(&c);
}

/* The number of `size` bytes with an index in a table that begins at `base`. */
static bool dwarf_form_table_number(Str section, uint64_t base, uint64_t index, uint8_t size,
                                    uint64_t *out) {
    if (index > section.len || base > section.len)
        return false;
    uint64_t at = base + index * size;
    DwarfCursor c = dwarf_cursor(section, at, at + size);
    *out = dwarf_number(&c, size);
    return !c.failed;
}

Str dwarf_text(const Dwarf *d, const DwarfUnit *u, DwarfValue v) {
    uint64_t offset;
    switch (v.class) {
    case CLASS_STRING: return v.string;
    case CLASS_STR_OFFSET: return string_at(d->s.str, v.number);
    case CLASS_LINE_STR: return string_at(d->s.line_str, v.number);
    case CLASS_STR_INDEX:
        if (!dwarf_form_table_number(d->s.str_offsets, u->str_offsets_base, v.number,
                                     u->offset_size, &offset))
            return (Str){0};
        return string_at(d->s.str, offset);
    default: return (Str){0};
    }
}

bool dwarf_address(const Dwarf *d, const DwarfUnit *u, DwarfValue v, uint64_t *address) {
    *address = v.number;
    if (v.class == CLASS_ADDRESS_INDEX)
        return dwarf_form_table_number(d->s.addr, u->addr_base, v.number, u->address_size, address);
    return v.class == CLASS_ADDRESS;
}

uint64_t dwarf_indexed_address(const Dwarf *d, const DwarfUnit *u, uint64_t index) {
    uint64_t address;
    DwarfValue v = {.class = CLASS_ADDRESS_INDEX, .number = index};
    return dwarf_address(d, u, v, &address) ? address : UINT64_MAX;
}

bool dwarf_list_offset(const Dwarf *d, const DwarfUnit *u, DwarfValue v, DwarfClass index,
                       uint64_t *offset) {
    bool ranges = index == CLASS_RANGE_INDEX;
    uint64_t base = ranges ? u->rnglists_base : u->loclists_base;
    Str section = ranges ? d->s.rnglists : d->s.loclists;
    *offset = v.number;
    if (v.class == CLASS_CONSTANT)
        return true;
    if (v.class != index ||
        !dwarf_form_table_number(section, base, v.number, u->offset_size, offset))
        return false;
    *offset += base;
    return true;
}

bool dwarf_reference(const DwarfUnit *u, DwarfValue v, uint64_t *entry) {
    *entry = v.class == CLASS_UNIT_OFFSET ? u->start + v.number : v.number;
    if (v.class == CLASS_UNIT_OFFSET)
        return v.number < u->end - u->start;
    return v.class == CLASS_INFO_OFFSET;
}
