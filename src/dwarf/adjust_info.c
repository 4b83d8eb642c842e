/*
 * dwarf/adjust_info.c - the entries of .debug_info, changed in place: addresses, offsets in
 * sections whose parts move, and expressions.
 */
#include "dwarf/adjust_parts.h"

enum {
    DW_AT_STRING_LENGTH = 0x19,
    DW_AT_RETURN_ADDR = 0x2a,
    DW_AT_START_SCOPE = 0x2c,
    DW_AT_SEGMENT = 0x46,
    DW_AT_STATIC_LINK = 0x48,
    DW_AT_USE_LOCATION = 0x4a,
    DW_AT_VTABLE_ELEM_LOCATION = 0x4d,
    DW_AT_ENTRY_PC = 0x52,
    DW_AT_TRAMPOLINE = 0x56,
    DW_AT_CALL_RETURN_PC = 0x7d,
    DW_AT_CALL_VALUE = 0x7e,
    DW_AT_CALL_PC = 0x81,
    DW_AT_CALL_DATA_VALUE = 0x86,
    DW_AT_GNU_CALL_SITE_VALUE = 0x2111,
    DW_AT_GNU_DWO_ID = 0x2131,
};

/* The change that an attribute needs. */
typedef enum Task {
    TASK_NONE,
    TASK_ADDRESS,
    TASK_RETURN,
    TASK_LENGTH, /* an address, or a number that counts from low_pc */
    TASK_RANGES,
    TASK_PLACE, /* an expression or a list */
    TASK_EXPRESSION,
    TASK_LINES,
    TASK_RANGES_BASE,
    TASK_LOCATIONS_BASE,
    TASK_SPLIT,   /* the number of a separate file's unit */
    TASK_UNKNOWN, /* its form is in the entry */
} Task;

static Task task_of(const DwarfSpec *s) {
    if (s->form.encoding == ENCODED_INDIRECT)
        return TASK_UNKNOWN;
    switch (s->attribute) {
    case DW_AT_LOW_PC:
    case DW_AT_TRAMPOLINE:
    case DW_AT_CALL_PC: return TASK_ADDRESS;
    case DW_AT_CALL_RETURN_PC: return TASK_RETURN;
    case DW_AT_ENTRY_PC:
    case DW_AT_HIGH_PC: return TASK_LENGTH;
    case DW_AT_START_SCOPE:
    case DW_AT_RANGES: return TASK_RANGES;
    case DW_AT_LOCATION:
    case DW_AT_STRING_LENGTH:
    case DW_AT_RETURN_ADDR:
    case DW_AT_DATA_MEMBER_LOCATION:
    case DW_AT_FRAME_BASE:
    case DW_AT_SEGMENT:
    case DW_AT_STATIC_LINK:
    case DW_AT_USE_LOCATION:
    case DW_AT_VTABLE_ELEM_LOCATION:
    case DW_AT_CALL_VALUE:
    case DW_AT_CALL_DATA_VALUE:
    case DW_AT_GNU_CALL_SITE_VALUE: return TASK_PLACE;
    case DW_AT_STMT_LIST: return TASK_LINES;
    case DW_AT_RNGLISTS_BASE: return TASK_RANGES_BASE;
    case DW_AT_LOCLISTS_BASE: return TASK_LOCATIONS_BASE;
    case DW_AT_GNU_DWO_ID: return TASK_SPLIT;
    default: return s->form.class == CLASS_EXPRESSION ? TASK_EXPRESSION : TASK_NONE;
    }
}

/* An entry that is being changed. */
typedef struct Entry {
    Adjuster *r;
    Dwarf *d;
    const DwarfUnit *u;
    uint32_t unit;
    AdjustKind kind;
    Buf *out;
    DwarfValue low, high; /* of low_pc, and of a number that counts from it */
    uint32_t lengths;     /* how many of these there are */
    struct {
        DwarfValue value;
        DwarfFormInfo form;
        uint32_t at, end;
    } length[2];
} Entry;

/* Whether a value is an offset in another section: up to version 3 a number may be one. */
static bool is_offset(const DwarfUnit *u, DwarfFormInfo form) {
    if (form.class != CLASS_CONSTANT)
        return false;
    return form.encoding == ENCODED_OFFSET ||
           (u->version < 4 && (form.encoding == 4 || form.encoding == 8));
}

static uint8_t adjust_info_bytes_of(const DwarfUnit *u, DwarfFormInfo form) {
    if (form.encoding == ENCODED_ADDRESS)
        return u->address_size;
    return form.encoding == ENCODED_OFFSET ? u->offset_size : form.encoding;
}

static void change_address(Entry *e, DwarfValue v, DwarfFormInfo form, uint32_t at, bool returns) {
    if (v.class == CLASS_ADDRESS_INDEX)
        adjust_use_address(e->r, e->u, v.number, returns ? AS_RETURN : AS_CODE);
    else if (v.class == CLASS_ADDRESS)
        adjust_number(e->out, at, adjust_info_bytes_of(e->u, form),
                      returns ? dwarf_moved_return(e->r->moves, v.number)
                              : dwarf_moved(e->r->moves, v.number));
}

/* A number that counts from low_pc. False if its form has no room for the new one. */
static bool change_length(Entry *e, DwarfValue v, DwarfFormInfo form, uint32_t at, uint32_t end) {
    uint64_t low;
    if (v.class != CLASS_CONSTANT) {
        change_address(e, v, form, at, false);
        return true;
    }
    if (!dwarf_address(e->d, e->u, e->low, &low) || !low || dwarf_is_removed(e->u, low))
        return true;
    const DwarfMoves *m = e->r->moves;
    uint64_t new = dwarf_moved(m, low + v.number) - dwarf_moved(m, low);
    if (form.encoding == ENCODED_IMPLICIT || form.encoding == ENCODED_SLEB)
        return new == v.number;
    if (form.encoding != ENCODED_ULEB)
        return adjust_number(e->out, at, adjust_info_bytes_of(e->u, form), new);
    return adjust_uleb(e->out, at, end, new);
}

/* Notes a reference to a list. */
static void note_list(Entry *e, uint32_t refs, DwarfValue v, DwarfFormInfo form, uint32_t at) {
    const DwarfUnit *u = e->u;
    if (e->kind == ADJUST_TYPES) /* types have no code */
        return;
    bool new = u->version >= 5, index = v.class != CLASS_CONSTANT;
    uint64_t target = v.number;
    if (index) {
        uint64_t base = refs == REF_RANGES ? u->rnglists_base : u->loclists_base;
        Str section = adjust_content(e->r, refs == REF_RANGES ? ADJUST_RNGLISTS : ADJUST_LOCLISTS);
        if (base > section.len || v.number > section.len)
            return;
        uint64_t entry = base + v.number * u->offset_size;
        DwarfCursor c = dwarf_cursor(section, entry, entry + u->offset_size);
        target = base + dwarf_number(&c, u->offset_size);
        if (c.failed)
            return;
    } else if (!is_offset(u, form)) {
        return;
    }
    ListRef ref = {dwarf_clip(target), e->unit, at, index ? 0 : adjust_info_bytes_of(u, form)};
    vec_push(&e->r->lists[refs][new], ref);
}

static void adjust_info_change_expression(Entry *e, DwarfValue v) {
    uint32_t at = (uint32_t)(v.string.ptr - adjust_content(e->r, e->kind).ptr);
    if (v.string.len)
        adjust_expression(e->r, e->u, e->kind, e->out, at, v.string.len);
}

static void adjust_info_change_place(Entry *e, DwarfValue v, DwarfFormInfo form, uint32_t at) {
    if (v.class == CLASS_EXPRESSION || (v.class == CLASS_BLOCK && e->u->version < 4))
        adjust_info_change_expression(e, v);
    else if (v.class == CLASS_CONSTANT || v.class == CLASS_LOCATION_INDEX)
        note_list(e, REF_LOCATIONS, v, form, at);
}

/* Names no unit in a separate file any more. */
static void cut_off(Entry *e, uint32_t at) {
    for (uint32_t i = 0; i < 8; i++)
        e->out->data[at + i] ^= 0xff;
    e->r->done->split = true;
}

static bool change_attribute(Entry *e, const DwarfSpec *s, DwarfValue v, uint32_t at,
                             uint32_t end) {
    DwarfFormInfo form = s->form;
    switch (task_of(s)) {
    case TASK_ADDRESS:
        if (s->attribute == DW_AT_LOW_PC)
            e->low = v;
        change_address(e, v, form, at, false);
        return true;
    case TASK_RETURN: change_address(e, v, form, at, true); return true;
    case TASK_LENGTH:
        if (e->lengths == 2)
            return false;
        e->length[e->lengths].value = v;
        e->length[e->lengths].form = form;
        e->length[e->lengths].at = at;
        e->length[e->lengths++].end = end;
        return true;
    case TASK_RANGES:
        if (v.class == CLASS_CONSTANT || v.class == CLASS_RANGE_INDEX)
            note_list(e, REF_RANGES, v, form, at);
        return true;
    case TASK_PLACE: adjust_info_change_place(e, v, form, at); return true;
    case TASK_EXPRESSION: adjust_info_change_expression(e, v); return true;
    case TASK_LINES:
        if (is_offset(e->u, form)) {
            uint32_t lines = adjust_moved_part(&e->r->lines, dwarf_clip(v.number));
            return adjust_number(e->out, at, adjust_info_bytes_of(e->u, form), lines);
        }
        return true;
    case TASK_RANGES_BASE:
    case TASK_LOCATIONS_BASE:
        if (is_offset(e->u, form)) {
            OffsetRef ref = {at, dwarf_clip(v.number), adjust_info_bytes_of(e->u, form)};
            vec_push(&e->r->bases[task_of(s) == TASK_LOCATIONS_BASE], ref);
        }
        return true;
    case TASK_SPLIT:
        if (form.encoding == 8)
            cut_off(e, at);
        return true;
    case TASK_UNKNOWN: return false;
    case TASK_NONE: break;
    }
    return true;
}

/* An abbreviation's attributes that have to do with code. */
static bool has_tasks(Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *abbrev) {
    enum { UNKNOWN, NO, YES };
    DwarfAbbrevs *table = &d->abbrevs.at[u->abbrevs];
    DwarfAbbrev *a = &table->abbrevs.at[abbrev - table->abbrevs.at];
    if (a->tasks == UNKNOWN) {
        const DwarfSpec *specs = dwarf_specs(d, u, a);
        a->tasks = NO;
        for (uint32_t i = 0; i < a->count; i++)
            if (task_of(&specs[i]) != TASK_NONE)
                a->tasks = YES;
    }
    return a->tasks == YES;
}

/* Changes the entry whose values the cursor is at. */
static bool change_entry(Entry *e, const DwarfAbbrev *a, DwarfCursor *c) {
    const DwarfSpec *specs = dwarf_specs(e->d, e->u, a);
    bool ok = true;
    e->lengths = 0;
    e->low = (DwarfValue){0};
    for (uint32_t i = 0; i < a->count && ok; i++) {
        uint32_t at = dwarf_tell(c);
        DwarfValue v = dwarf_attribute(e->u, c, &specs[i]);
        ok = !c->failed && change_attribute(e, &specs[i], v, at, dwarf_tell(c));
    }
    for (uint32_t i = 0; i < e->lengths && ok; i++)
        ok = change_length(e, e->length[i].value, e->length[i].form, e->length[i].at,
                           e->length[i].end);
    return ok;
}

static bool change_unit(Entry *e) {
    const DwarfUnit *u = e->u;
    DwarfCursor c = dwarf_unit_cursor(e->d, u, u->first);
    while (c.at < c.end) {
        uint32_t at = dwarf_tell(&c);
        const DwarfAbbrev *a = dwarf_entry(e->d, u, &c);
        if (a && a->tag == DW_TAG_SKELETON_UNIT && at == u->first && u->version >= 5)
            cut_off(e, u->first - 8);
        if (a && !has_tasks(e->d, u, a))
            dwarf_skip_entry(e->d, u, a, &c);
        else if (a && !change_entry(e, a, &c))
            return adjust_problem(e->r, e->kind, at, "an entry cannot be changed");
    }
    return !c.failed || adjust_problem(e->r, e->kind, u->start, "the entries are malformed");
}

bool adjust_entries(Adjuster *r, Dwarf *d, AdjustKind kind) {
    DwarfSection *s = r->sections[kind];
    uint32_t end = d->units.len ? vec_last(&d->units).end : 0;
    if (end != s->content.len)
        return adjust_problem(r, kind, end, "the header of a unit cannot be read");
    buf_bytes(&s->changed, s->content.ptr, s->content.len);
    for (uint32_t i = 0; i < d->units.len; i++) {
        Entry e = {
            .r = r, .d = d, .u = &d->units.at[i], .unit = i, .kind = kind, .out = &s->changed};
        if (e.u->abbrevs == NONE)
            return adjust_problem(r, kind, e.u->start, "the abbreviations of a unit are malformed");
        if (!change_unit(&e))
            return false;
    }
    s->fate = DWARF_CHANGED;
    return true;
}
