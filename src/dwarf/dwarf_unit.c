/*
 * dwarf/dwarf_unit.c - units of .debug_info, their abbreviations, and walking over their entries.
 */
#include "dwarf/dwarf_parts.h"

#include <assert.h>

static const char INFO[] = ".debug_info", ABBREV[] = ".debug_abbrev";

/* Kinds of units, version 5. */
enum { UT_TYPE = 2, UT_SKELETON = 4, UT_SPLIT_COMPILE = 5, UT_SPLIT_TYPE = 6 };

/* The most references from one entry of a function to another, and attributes of such an entry:
 * other entries can refer to it as often as they like. */
enum { HOPS_MAX = 16, SPECS_MAX = 256 };

/* ---- abbreviations ---- */

/* Counts the bytes that a value takes, if their number is known. */
static void add_size(DwarfAbbrev *a, uint8_t encoding) {
    if (encoding == ENCODED_ADDRESS)
        a->addresses++;
    else if (encoding == ENCODED_OFFSET)
        a->offsets++;
    else if (encoding == ENCODED_DATA16)
        a->bytes += 16;
    else if (encoding < ENCODED_ADDRESS)
        a->bytes += encoding;
    else if (encoding != ENCODED_IMPLICIT)
        a->fixed = false;
}

static bool read_specs(DwarfCursor *c, DwarfAbbrevs *t, DwarfAbbrev *a) {
    for (;;) {
        uint64_t attribute = dwarf_uleb(c), form = dwarf_uleb(c);
        if (c->failed || (!attribute && !form))
            return !c->failed;
        DwarfFormInfo info = dwarf_form_info(form < UINT16_MAX ? (uint32_t)form : 0);
        if (info.class == CLASS_NONE)
            return false;
        DwarfSpec s = {attribute < UINT16_MAX ? (uint16_t)attribute : 0, info, 0};
        if (info.encoding == ENCODED_IMPLICIT)
            s.implicit = dwarf_sleb(c);
        add_size(a, info.encoding);
        vec_push(&t->specs, s);
        a->count++;
    }
}

static int by_code(const void *pa, const void *pb) {
    const DwarfAbbrev *a = pa, *b = pb;
    return a->code < b->code ? -1 : a->code > b->code;
}

static bool read_abbrevs(DwarfCursor *c, DwarfAbbrevs *t) {
    t->dense = true;
    for (uint64_t code; (code = dwarf_uleb(c)) != 0;) {
        DwarfAbbrev a = {.code = code, .fixed = true, .first = t->specs.len};
        uint64_t tag = dwarf_uleb(c);
        a.tag = tag < UINT32_MAX ? (uint32_t)tag : 0;
        a.children = dwarf_u8(c) != 0;
        if (!read_specs(c, t, &a))
            return false;
        t->dense &= code == t->abbrevs.len + 1;
        vec_push(&t->abbrevs, a);
    }
    if (!t->dense && t->abbrevs.len)
        qsort(t->abbrevs.at, t->abbrevs.len, sizeof *t->abbrevs.at, by_code);
    return !c->failed;
}

/* The index of the abbreviations at an offset, or NONE. */
static uint32_t abbrevs_at(Dwarf *d, uint64_t offset) {
    bool added;
    Str key = {(const char *)&offset, sizeof offset};
    uint64_t *index = map_put(&d->abbrev_index, key, NONE, &added);
    if (!added)
        return (uint32_t)*index;
    DwarfCursor c = dwarf_cursor(d->s.abbrev, offset, d->s.abbrev.len);
    if (c.failed || !d->budget.abbrevs) {
        dwarf_fail(d, ABBREV, offset, "there are no abbreviations");
        return NONE;
    }
    DwarfAbbrevs table = {0};
    bool ok = read_abbrevs(&c, &table);
    uint64_t used = (uint64_t)(dwarf_tell(&c) - offset) + 1;
    d->budget.abbrevs -= used < d->budget.abbrevs ? used : d->budget.abbrevs;
    if (!ok) {
        vec_free(&table.abbrevs);
        vec_free(&table.specs);
        dwarf_fail(d, ABBREV, dwarf_tell(&c), "the abbreviations are malformed");
        return NONE;
    }
    *index = d->abbrevs.len;
    vec_push(&d->abbrevs, table);
    return d->abbrevs.len - 1;
}

static const DwarfAbbrev *find_abbrev(const DwarfAbbrevs *t, uint64_t code) {
    if (t->dense)
        return code <= t->abbrevs.len ? &t->abbrevs.at[code - 1] : NULL;
    DwarfAbbrev key = {.code = code};
    return t->abbrevs.len
               ? bsearch(&key, t->abbrevs.at, t->abbrevs.len, sizeof *t->abbrevs.at, by_code)
               : NULL;
}

/* ---- entries ---- */

DwarfCursor dwarf_unit_cursor(const Dwarf *d, const DwarfUnit *u, uint32_t offset) {
    assert(offset <= u->end);
    DwarfCursor c = dwarf_cursor(d->s.info, offset, u->end);
    if (offset < u->first)
        dwarf_fail_read(&c);
    return c;
}

const DwarfAbbrev *dwarf_entry(Dwarf *d, const DwarfUnit *u, DwarfCursor *c) {
    uint32_t at = dwarf_tell(c);
    uint64_t code = dwarf_uleb(c);
    if (c->failed || !code)
        return NULL;
    const DwarfAbbrev *a = find_abbrev(&d->abbrevs.at[u->abbrevs], code);
    if (!a) {
        dwarf_fail(d, INFO, at, "an entry has no abbreviation");
        dwarf_fail_read(c);
    }
    return a;
}

void dwarf_skip_entry(Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *a, DwarfCursor *c) {
    if (a->fixed) {
        dwarf_skip(c, a->bytes + (uint64_t)a->addresses * u->address_size +
                          (uint64_t)a->offsets * u->offset_size);
        return;
    }
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    for (uint32_t i = 0; i < a->count; i++)
        dwarf_attribute(u, c, &specs[i]);
}

/* ---- units ---- */

static uint64_t dwarf_unit_base_of(DwarfValue v) {
    return v.class == CLASS_CONSTANT ? v.number : 0;
}

/* The attributes of a unit's own entry, some of which need the rest to be understood. */
typedef struct UnitValues {
    DwarfValue directory, lines;
    DwarfExtent extent;
} UnitValues;

static void take_unit_value(DwarfUnit *u, UnitValues *of, uint32_t attribute, DwarfValue v) {
    if (dwarf_extent_attribute(&of->extent, attribute, v))
        return;
    switch (attribute) {
    case DW_AT_COMP_DIR: of->directory = v; break;
    case DW_AT_STMT_LIST: of->lines = v; break;
    case DW_AT_STR_OFFSETS_BASE: u->str_offsets_base = dwarf_unit_base_of(v); break;
    case DW_AT_GNU_ADDR_BASE:
    case DW_AT_ADDR_BASE: u->addr_base = dwarf_unit_base_of(v); break;
    case DW_AT_RNGLISTS_BASE: u->rnglists_base = dwarf_unit_base_of(v); break;
    case DW_AT_LOCLISTS_BASE: u->loclists_base = dwarf_unit_base_of(v); break;
    }
}

static bool dwarf_unit_has_code(uint32_t tag) {
    return tag == DW_TAG_COMPILE_UNIT || tag == DW_TAG_PARTIAL_UNIT || tag == DW_TAG_SKELETON_UNIT;
}

/* Reads the entry of a unit and the places of its line sequences. */
static void read_unit_entry(Dwarf *d, uint32_t index) {
    DwarfUnit *u = &d->units.at[index];
    UnitValues of = {0};
    DwarfCursor c = dwarf_unit_cursor(d, u, u->first);
    const DwarfAbbrev *a = dwarf_entry(d, u, &c);
    if (!a || !dwarf_unit_has_code(a->tag))
        return;
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    for (uint32_t i = 0; i < a->count; i++)
        take_unit_value(u, &of, specs[i].attribute, dwarf_attribute(u, &c, &specs[i]));
    if (c.failed) {
        dwarf_fail(d, INFO, u->first, "the entry of a unit is cut off");
        return;
    }
    u->directory = dwarf_text(d, u, of.directory);
    if (!dwarf_address(d, u, of.extent.low, &u->low_pc))
        u->low_pc = 0;
    dwarf_ranges(d, u, &of.extent, index, &d->budget.ranges, &d->unit_at);
    if (of.lines.class == CLASS_CONSTANT)
        u->lines = dwarf_read_lines(d, index, of.lines.number);
}

/* The bytes after version and kind: sizes, abbreviations and the fields of single kinds. */
static bool dwarf_unit_read_header(Dwarf *d, DwarfCursor *c, DwarfUnit *u, uint64_t *abbrevs) {
    u->version = dwarf_u16(c);
    if (u->version < 2 || u->version > 5)
        return dwarf_fail(d, INFO, u->start, "the version of a unit is not 2, 3, 4 or 5");
    uint8_t kind = 0;
    if (u->version >= 5) {
        kind = dwarf_u8(c);
        u->address_size = dwarf_u8(c);
    }
    *abbrevs = dwarf_number(c, u->offset_size);
    if (u->version < 5)
        u->address_size = dwarf_u8(c);
    if (kind == UT_SKELETON || kind == UT_SPLIT_COMPILE)
        dwarf_skip(c, 8);
    else if (kind == UT_TYPE || kind == UT_SPLIT_TYPE || (u->version < 5 && d->s.of_types))
        dwarf_skip(c, 8 + u->offset_size);
    if (c->failed)
        return dwarf_fail(d, INFO, u->start, "the header of a unit is cut off");
    if (u->address_size != 4 && u->address_size != 8)
        return dwarf_fail(d, INFO, u->start, "addresses have neither 4 nor 8 bytes");
    u->first = dwarf_tell(c);
    return true;
}

/* Where the tables of a unit begin that does not say it: after their headers. */
static void default_bases(DwarfUnit *u) {
    uint64_t header = u->version < 5 ? 0 : u->offset_size == 8 ? 16 : 8;
    u->str_offsets_base = u->addr_base = header;
    u->rnglists_base = u->loclists_base = u->offset_size == 8 ? 20 : 12;
}

static bool read_unit(Dwarf *d, DwarfCursor *c, uint32_t start) {
    DwarfUnit u = {.start = start, .abbrevs = NONE, .lines = NONE};
    uint64_t abbrevs = 0;
    if (!dwarf_unit_length(c, &u.offset_size))
        return dwarf_fail(d, INFO, start, "a unit is longer than the section");
    u.end = (uint32_t)(c->end - c->start);
    if (!dwarf_unit_read_header(d, c, &u, &abbrevs))
        return false;
    default_bases(&u);
    u.abbrevs = abbrevs_at(d, abbrevs);
    vec_push(&d->units, u);
    if (u.abbrevs != NONE)
        read_unit_entry(d, d->units.len - 1);
    return true;
}

void dwarf_read_units(Dwarf *d) {
    for (uint32_t at = 0; at < d->s.info.len;) {
        DwarfCursor c = dwarf_cursor(d->s.info, at, d->s.info.len);
        read_unit(d, &c, at);
        if (c.end == c.start + at || c.end == c.start + d->s.info.len)
            break;
        at = (uint32_t)(c.end - c.start);
    }
}

void dwarf_free_units(Dwarf *d) {
    for (uint32_t i = 0; i < d->units.len; i++)
        vec_free(&d->units.at[i].functions);
    for (uint32_t i = 0; i < d->abbrevs.len; i++) {
        vec_free(&d->abbrevs.at[i].abbrevs);
        vec_free(&d->abbrevs.at[i].specs);
    }
    vec_free(&d->units);
    vec_free(&d->abbrevs);
    map_free(&d->abbrev_index);
}

DwarfUnit *dwarf_unit_of(Dwarf *d, uint64_t offset) {
    uint32_t low = 0, high = d->units.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->units.at[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    DwarfUnit *u = low < d->units.len ? &d->units.at[low] : NULL;
    return u && u->abbrevs != NONE && u->first <= offset ? u : NULL;
}

/* ---- names of functions ---- */

/* Takes the attributes of an entry, where none were found before. Returns whether it refers to
 * another entry. */
static bool dwarf_unit_take_names(Dwarf *d, uint64_t *entry, DwarfNames *names) {
    const DwarfUnit *u = dwarf_unit_of(d, *entry);
    if (!u)
        return false;
    DwarfCursor c = dwarf_unit_cursor(d, u, (uint32_t)*entry);
    const DwarfAbbrev *a = dwarf_entry(d, u, &c);
    DwarfValue next = {0};
    const DwarfSpec *specs = a ? dwarf_specs(d, u, a) : NULL;
    for (uint32_t i = 0; a && a->count <= SPECS_MAX && i < a->count; i++) {
        DwarfValue v = dwarf_attribute(u, &c, &specs[i]);
        switch (specs[i].attribute) {
        case DW_AT_NAME:
            if (!names->name.len)
                names->name = dwarf_text(d, u, v);
            break;
        case DW_AT_LINKAGE_NAME:
        case DW_AT_MIPS_LINKAGE_NAME:
            if (!names->linkage.len)
                names->linkage = dwarf_text(d, u, v);
            break;
        case DW_AT_DECL_FILE:
            if (!names->path.len)
                names->path = dwarf_path(d, u->lines, dwarf_small(v));
            break;
        case DW_AT_DECL_LINE:
            if (!names->line)
                names->line = dwarf_small(v);
            break;
        case DW_AT_ABSTRACT_ORIGIN:
        case DW_AT_SPECIFICATION: next = v; break;
        }
    }
    return !c.failed && dwarf_reference(u, next, entry);
}

DwarfNames dwarf_names(Dwarf *d, uint32_t entry) {
    DwarfNames names = {0};
    uint64_t at = entry;
    for (uint32_t i = 0; i < HOPS_MAX && (!names.name.len || !names.linkage.len || !names.line);
         i++)
        if (!dwarf_unit_take_names(d, &at, &names))
            break;
    return names;
}
