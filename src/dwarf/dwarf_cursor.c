/*
 * dwarf/dwarf_cursor.c - numbers and strings of variable length.
 */
#include "dwarf/dwarf_cursor.h"

/* Longer strings are not names: searching for their ends repeatedly would take too long. */
enum { STRING_MAX = 1 << 14 };

uint64_t dwarf_uleb_slow(DwarfCursor *c) {
    uint64_t v = 0;
    for (uint32_t shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    return dwarf_fail_read(c);
}

int64_t dwarf_sleb(DwarfCursor *c) {
    uint64_t v = 0;
    for (uint32_t shift = 0; c->at < c->end;) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80)
            continue;
        if (byte & 0x40 && shift < 64)
            v |= UINT64_MAX << shift;
        return (int64_t)v;
    }
    return (int64_t)dwarf_fail_read(c);
}

Str dwarf_string(DwarfCursor *c) {
    size_t left = (size_t)(c->end - c->at), most = left < STRING_MAX ? left : STRING_MAX;
    const uint8_t *nul = most ? memchr(c->at, 0, most) : NULL;
    if (!nul) {
        dwarf_fail_read(c);
        return (Str){0};
    }
    Str s = {(const char *)c->at, (uint32_t)(nul - c->at)};
    c->at = nul + 1;
    return s;
}

bool dwarf_unit_length(DwarfCursor *c, uint8_t *offset_size) {
    uint64_t length = dwarf_u32(c);
    *offset_size = 4;
    if (length == UINT32_MAX) {
        length = dwarf_number(c, 8);
        *offset_size = 8;
    }
    if (c->failed || length > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        return false;
    }
    c->end = c->at + length;
    return true;
}
