/*
 * dwarf/dwarf_cursor.h - a cursor over the bytes of a section. Reading past the end returns zeros
 * and sets `failed`; the cursor is then at its end, so every loop over it ends.
 */
#ifndef WHAMMC_DWARF_DWARF_CURSOR_H
#define WHAMMC_DWARF_DWARF_CURSOR_H

#include "base/buf.h"

typedef struct DwarfCursor {
    const uint8_t *start, *at, *end;
    bool failed;
} DwarfCursor;

/* Over bytes [from, to) of a section, or nothing if they are not in it. */
static inline DwarfCursor dwarf_cursor(Str section, uint64_t from, uint64_t to) {
    const uint8_t *bytes = (const uint8_t *)section.ptr;
    if (!bytes || from > to || to > section.len)
        return (DwarfCursor){.failed = true};
    return (DwarfCursor){.start = bytes, .at = bytes + from, .end = bytes + to};
}

/* The offset in the section. */
static inline uint32_t dwarf_tell(const DwarfCursor *c) {
    return (uint32_t)(c->at - c->start);
}

/* Notes that bytes are missing; the cursor is at its end then. Returns 0. */
static inline uint64_t dwarf_fail_read(DwarfCursor *c) {
    c->failed = true;
    c->at = c->end;
    return 0;
}

/* An offset or address, or UINT32_MAX if it is larger than any. */
static inline uint32_t dwarf_clip(uint64_t offset) {
    return offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX;
}

/* Passes over n bytes. This and all that read fail if the bytes are not there. */
static inline void dwarf_skip(DwarfCursor *c, uint64_t n) {
    if (n > (uint64_t)(c->end - c->at))
        dwarf_fail_read(c);
    else
        c->at += n;
}

/* A number of `size` bytes, at most 8, little-endian. */
static inline uint64_t dwarf_number(DwarfCursor *c, uint32_t size) {
    uint64_t v = 0;
    if (size > (uint64_t)(c->end - c->at))
        return dwarf_fail_read(c);
    for (uint32_t i = 0; i < size; i++)
        v |= (uint64_t)c->at[i] << 8 * i;
    c->at += size;
    return v;
}

/* Numbers of a fixed size. */
static inline uint8_t dwarf_u8(DwarfCursor *c) {
    return c->at < c->end ? *c->at++ : (uint8_t)dwarf_fail_read(c);
}

static inline uint16_t dwarf_u16(DwarfCursor *c) {
    return (uint16_t)dwarf_number(c, 2);
}

static inline uint32_t dwarf_u32(DwarfCursor *c) {
    return (uint32_t)dwarf_number(c, 4);
}

/* LEB128; bits beyond 64 are dropped. */
uint64_t dwarf_uleb_slow(DwarfCursor *c);
static inline uint64_t dwarf_uleb(DwarfCursor *c) {
    if (c->at < c->end && *c->at < 0x80)
        return *c->at++;
    return dwarf_uleb_slow(c);
}
int64_t dwarf_sleb(DwarfCursor *c);

/* A string with its NUL, which is not counted. */
Str dwarf_string(DwarfCursor *c);

/* The length at the beginning of a unit: the cursor ends where the unit does. *offset_size is 4 or
 * 8; false if there is no such unit. */
bool dwarf_unit_length(DwarfCursor *c, uint8_t *offset_size);

#endif
