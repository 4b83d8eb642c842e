/*
 * dwarf/adjust_list.c - .debug_rnglists and .debug_loclists, rewritten: each list that an entry
 * refers to, in the order and the kinds of entries that there were.
 */
#include "dwarf/adjust_parts.h"

/* Kinds of entries; those of .debug_rnglists, to which .debug_loclists adds a default before
 * base_address. */
enum {
    LIST_END,
    LIST_BASE_ADDRESSX,
    LIST_STARTX_ENDX,
    LIST_STARTX_LENGTH,
    LIST_OFFSET_PAIR,
    LIST_BASE_ADDRESS,
    LIST_START_END,
    LIST_START_LENGTH,
    LIST_DEFAULT,
    LIST_VIEWS,
    LIST_UNKNOWN,
};

/* A list that is being written. */
typedef struct List {
    Adjuster *r;
    const DwarfUnit *u;
    AdjustKind kind;
    uint64_t base; /* the base of offsets, the old address */
    DwarfCursor c;
    Buf *out;
} List;

static uint8_t adjust_list_kind_of(const List *l, uint8_t code) {
    static const uint8_t of_locations[] = {
        LIST_END,     LIST_BASE_ADDRESSX, LIST_STARTX_ENDX, LIST_STARTX_LENGTH, LIST_OFFSET_PAIR,
        LIST_DEFAULT, LIST_BASE_ADDRESS,  LIST_START_END,   LIST_START_LENGTH,  LIST_VIEWS,
    };
    if (l->kind == ADJUST_RNGLISTS)
        return code <= LIST_START_LENGTH ? code : LIST_UNKNOWN;
    return code < sizeof of_locations ? of_locations[code] : LIST_UNKNOWN;
}

static uint64_t adjust_list_moved(const List *l, uint64_t address) {
    return dwarf_moved(l->r->moves, address);
}

/* The range of an address with a length, with its new length. */
static uint64_t moved_length(const List *l, uint64_t start, uint64_t length) {
    if (!start || dwarf_is_removed(l->u, start))
        return length;
    return adjust_list_moved(l, start + length) - adjust_list_moved(l, start);
}

/* Copies an index into .debug_addr; returns the address there. */
static uint64_t copy_index(List *l) {
    uint64_t index = dwarf_uleb(&l->c);
    buf_uleb(l->out, index);
    adjust_use_address(l->r, l->u, index, AS_CODE);
    return dwarf_indexed_address(l->r->d, l->u, index);
}

static void adjust_list_put_address(List *l, uint64_t address) {
    uint64_t new = adjust_list_moved(l, address);
    for (uint32_t i = 0; i < l->u->address_size; i++)
        buf_u8(l->out, (uint8_t)(new >> 8 * i));
}

static void adjust_list_put_pair(List *l, uint64_t start, uint64_t end) {
    bool removed = !l->base ? false : dwarf_is_removed(l->u, l->base);
    uint64_t base = removed ? 0 : adjust_list_moved(l, l->base);
    buf_uleb(l->out, removed ? start : adjust_list_moved(l, l->base + start) - base);
    buf_uleb(l->out, removed ? end : adjust_list_moved(l, l->base + end) - base);
}

static void copy_expression(List *l) {
    uint64_t length = dwarf_uleb(&l->c);
    const uint8_t *from = l->c.at;
    dwarf_skip(&l->c, length);
    if (l->c.failed)
        return;
    buf_uleb(l->out, length);
    uint32_t at = (uint32_t)l->out->len;
    buf_bytes(l->out, from, length);
    adjust_expression(l->r, l->u, l->kind, l->out, at, (uint32_t)length);
}

/* One entry; false at the end of the list, which is not written, and at damage. */
static bool adjust_list_put_entry(List *l) {
    uint8_t size = l->u->address_size, code = dwarf_u8(&l->c), kind = adjust_list_kind_of(l, code);
    uint64_t start, end;
    if (l->c.failed || kind == LIST_END)
        return false;
    buf_u8(l->out, code);
    switch (kind) {
    case LIST_BASE_ADDRESSX: l->base = copy_index(l); return !l->c.failed;
    case LIST_BASE_ADDRESS:
        l->base = dwarf_number(&l->c, size);
        adjust_list_put_address(l, l->base);
        return !l->c.failed;
    case LIST_STARTX_ENDX:
        copy_index(l);
        copy_index(l);
        break;
    case LIST_STARTX_LENGTH:
        start = copy_index(l);
        buf_uleb(l->out, moved_length(l, start, dwarf_uleb(&l->c)));
        break;
    case LIST_START_END:
        adjust_list_put_address(l, dwarf_number(&l->c, size));
        adjust_list_put_address(l, dwarf_number(&l->c, size));
        break;
    case LIST_START_LENGTH:
        start = dwarf_number(&l->c, size);
        adjust_list_put_address(l, start);
        buf_uleb(l->out, moved_length(l, start, dwarf_uleb(&l->c)));
        break;
    case LIST_OFFSET_PAIR:
        start = dwarf_uleb(&l->c);
        end = dwarf_uleb(&l->c);
        adjust_list_put_pair(l, start, end);
        break;
    case LIST_VIEWS:
        buf_uleb(l->out, dwarf_uleb(&l->c));
        buf_uleb(l->out, dwarf_uleb(&l->c));
        return !l->c.failed;
    case LIST_DEFAULT: break;
    default: dwarf_fail_read(&l->c); return false;
    }
    if (l->kind == ADJUST_LOCLISTS)
        copy_expression(l);
    return !l->c.failed;
}

/* Appends a list up to its end; an empty one if it cannot be read. */
static void adjust_list_put_list(Adjuster *r, const ListRef *ref, AdjustKind kind, Buf *out) {
    const DwarfUnit *u = &r->d->units.at[ref->unit];
    Str content = adjust_content(r, kind);
    List l = {r, u, kind, u->low_pc, dwarf_cursor(content, ref->target, content.len), out};
    size_t begin = out->len;
    bool fits = true;
    for (uint32_t before = ref->target; fits && adjust_list_put_entry(&l);
         before = dwarf_tell(&l.c)) {
        uint32_t used = dwarf_tell(&l.c) - before;
        fits = used <= r->list_budget;
        r->list_budget -= fits ? used : 0;
    }
    if (l.c.failed || !fits) {
        out->len = begin;
        adjust_problem(r, kind, ref->target, fits ? "a list cannot be read" : "lists overlap");
    }
    buf_u8(out, LIST_END);
}

/* ---- parts of the section ---- */

/* A part: a header, a table of offsets, and the lists. */
typedef struct Part {
    uint32_t start, end, table; /* in the old section */
    uint32_t count;             /* of offsets */
    uint8_t offset_size;
    uint32_t at; /* where it begins now */
} Part;

static bool adjust_list_read_part(Adjuster *r, AdjustKind kind, uint32_t start, Part *p) {
    Str content = adjust_content(r, kind);
    DwarfCursor c = dwarf_cursor(content, start, content.len);
    if (!dwarf_unit_length(&c, &p->offset_size))
        return adjust_problem(r, kind, start, "lists are longer than the section");
    p->start = start;
    p->end = (uint32_t)(c.end - c.start);
    uint16_t version = dwarf_u16(&c);
    uint8_t size = dwarf_u8(&c), selectors = dwarf_u8(&c);
    p->count = dwarf_u32(&c);
    p->table = dwarf_tell(&c);
    if (c.failed || version != 5 || (size != 4 && size != 8) || selectors ||
        p->count > (p->end - p->table) / p->offset_size)
        return adjust_problem(r, kind, start, "the header of lists is malformed");
    return true;
}

/* The lists of the part, whose new places are added to `moved`. */
static uint32_t put_lists(Adjuster *r, const Part *p, uint32_t refs, AdjustKind kind, uint32_t i,
                          MovedParts *moved) {
    const ListRefs *lists = &r->lists[refs][true];
    Buf *out = &r->sections[kind]->changed;
    while (i < lists->len && lists->at[i].target < p->end) {
        bool same_base;
        uint32_t next = adjust_same_list(r, lists, i, &same_base);
        vec_push(moved, ((Moved){lists->at[i].target, (uint32_t)out->len}));
        if (same_base)
            adjust_list_put_list(r, &lists->at[i], kind, out);
        else
            buf_u8(out, LIST_END);
        if (!same_base)
            adjust_problem(r, kind, lists->at[i].target, "units share a list");
        i = next;
    }
    return i;
}

/* The table of offsets; lists without references become an empty one. */
static void adjust_list_put_table(const Part *p, Str content, const MovedParts *moved, Buf *out) {
    uint32_t none = UINT32_MAX, table = p->at + (p->table - p->start);
    DwarfCursor c = dwarf_cursor(content, p->table, p->end);
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t target = p->table + dwarf_number(&c, p->offset_size);
        uint32_t to = adjust_moved_part(moved, dwarf_clip(target));
        if (to == UINT32_MAX && none == UINT32_MAX) {
            none = (uint32_t)out->len;
            buf_u8(out, LIST_END);
        }
        adjust_number(out, table + i * p->offset_size, p->offset_size,
                      (to == UINT32_MAX ? none : to) - table);
    }
}

static uint32_t adjust_list_put_part(Adjuster *r, Part *p, uint32_t refs, AdjustKind kind,
                                     uint32_t i, MovedParts *moved) {
    Str content = adjust_content(r, kind);
    Buf *out = &r->sections[kind]->changed;
    p->at = (uint32_t)out->len;
    vec_push(&r->contributions[refs], ((Moved){p->start, p->at}));
    buf_bytes(out, content.ptr + p->start,
              p->table - p->start + p->count * (uint32_t)p->offset_size);
    i = put_lists(r, p, refs, kind, i, moved);
    adjust_list_put_table(p, content, moved, out);
    uint32_t field = p->offset_size == 8 ? 4 : 0, after = field + p->offset_size;
    adjust_number(out, p->at + field, p->offset_size, out->len - p->at - after);
    return i;
}

/* ---- references to lists ---- */

/* The new offset of a table: its distance from the beginning of its part is unchanged. */
static uint64_t moved_table(const MovedParts *parts, uint32_t from, uint32_t end) {
    uint32_t low = from < UINT32_MAX ? vec_first(parts, from, from + 1) : 0;
    if (!low || from - parts->at[low - 1].from > 20) /* the longest header */
        return end;
    return (uint64_t)parts->at[low - 1].to + (from - parts->at[low - 1].from);
}

/* Entries refer to the lists where they are now; to none if there is no such list. */
static void fix_entries(Adjuster *r, uint32_t refs, AdjustKind kind, const MovedParts *moved) {
    Buf *info = &r->sections[ADJUST_INFO]->changed;
    uint32_t end = (uint32_t)r->sections[kind]->changed.len;
    for (uint32_t i = 0; i < r->lists[refs][true].len; i++) {
        const ListRef *ref = &r->lists[refs][true].at[i];
        uint32_t to = adjust_moved_part(moved, ref->target);
        if (ref->size)
            adjust_number(info, ref->at, ref->size, to == UINT32_MAX ? end : to);
    }
    for (uint32_t i = 0; i < r->bases[refs].len; i++) {
        const OffsetRef *base = &r->bases[refs].at[i];
        adjust_number(info, base->at, base->size,
                      moved_table(&r->contributions[refs], base->target, end));
    }
}

void adjust_lists(Adjuster *r, uint32_t refs, AdjustKind kind) {
    DwarfSection *s = r->sections[kind];
    MovedParts moved = {0};
    Part p;
    if (!s)
        return;
    r->list_budget = 2 * (uint64_t)s->content.len;
    adjust_sort_refs(&r->lists[refs][true]);
    for (uint32_t at = 0, i = 0; at < s->content.len && adjust_list_read_part(r, kind, at, &p);
         at = p.end)
        i = adjust_list_put_part(r, &p, refs, kind, i, &moved);
    fix_entries(r, refs, kind, &moved);
    s->fate = DWARF_CHANGED;
    vec_free(&moved);
}
