/*
 * dwarf/adjust.c - finds the sections, has each changed in the order of their dependence, and
 * gathers the results.
 */
#include "dwarf/adjust_parts.h"

static const struct {
    const char *name;
    int kind; /* AdjustKind, or -1: it refers to entries and texts alone, which stay */
} known[] = {
    {".debug_info", ADJUST_INFO},
    {".debug_types", ADJUST_TYPES},
    {".debug_line", ADJUST_LINE},
    {".debug_addr", ADJUST_ADDR},
    {".debug_ranges", ADJUST_RANGES},
    {".debug_loc", ADJUST_LOC},
    {".debug_rnglists", ADJUST_RNGLISTS},
    {".debug_loclists", ADJUST_LOCLISTS},
    {".debug_aranges", ADJUST_ARANGES},
    {".debug_macro", ADJUST_MACRO},
    {".debug_abbrev", -1},
    {".debug_str", -1},
    {".debug_str_offsets", -1},
    {".debug_line_str", -1},
    {".debug_macinfo", -1},
    {".debug_names", -1},
    {".debug_pubnames", -1},
    {".debug_pubtypes", -1},
    {".debug_gnu_pubnames", -1},
    {".debug_gnu_pubtypes", -1},
    {".debug_gdb_scripts", -1},
};

static const char *adjust_name_of(AdjustKind kind) {
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == (int)kind)
            return known[i].name;
    return ".debug_info";
}

/* ---- shared state ---- */

bool adjust_problem(Adjuster *r, AdjustKind kind, uint64_t offset, const char *what) {
    if (!r->done->problem.section)
        r->done->problem = (DwarfProblem){adjust_name_of(kind), (uint32_t)offset, what};
    return false;
}

bool adjust_number(Buf *out, uint32_t at, uint8_t size, uint64_t value) {
    if (at > out->len || size > out->len - at || (size < 8 && value >> 8 * size))
        return false;
    for (uint32_t i = 0; i < size; i++)
        out->data[at + i] = (uint8_t)(value >> 8 * i);
    return true;
}

bool adjust_uleb(Buf *out, uint32_t at, uint32_t end, uint64_t value) {
    if (uleb_size(value) > end - at)
        return false;
    for (; at < end; at++, value >>= 7)
        out->data[at] = (uint8_t)((value & 0x7f) | (at + 1 < end ? 0x80 : 0));
    return true;
}

uint32_t adjust_moved_part(const MovedParts *parts, uint32_t from) {
    uint32_t low = vec_first(parts, from, from);
    return low < parts->len && parts->at[low].from == from ? parts->at[low].to : UINT32_MAX;
}

void adjust_use_address(Adjuster *r, const DwarfUnit *u, uint64_t index, uint8_t use) {
    Str section = adjust_content(r, ADJUST_ADDR);
    if (u->addr_base > section.len || index > section.len)
        return;
    uint64_t at = u->addr_base + index * u->address_size;
    if (at < section.len)
        r->addresses[at] |= use | (u->address_size == 8 ? AS_WIDE : 0);
}

static int by_target(const void *pa, const void *pb) {
    const ListRef *a = pa, *b = pb;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

void adjust_sort_refs(ListRefs *refs) {
    for (uint32_t i = 1; i < refs->len; i++)
        if (by_target(&refs->at[i - 1], &refs->at[i]) > 0) {
            qsort(refs->at, refs->len, sizeof *refs->at, by_target);
            return;
        }
}

uint32_t adjust_same_list(const Adjuster *r, const ListRefs *refs, uint32_t i, bool *same_base) {
    const DwarfUnit *first = &r->d->units.at[refs->at[i].unit];
    uint32_t target = refs->at[i].target;
    *same_base = true;
    for (; i < refs->len && refs->at[i].target == target; i++) {
        const DwarfUnit *u = &r->d->units.at[refs->at[i].unit];
        *same_base &= u->low_pc == first->low_pc && u->addr_base == first->addr_base &&
                      u->address_size == first->address_size;
    }
    return i;
}

/* ---- setting out ---- */

/* Finds the sections that are known; of several with one name the first. */
static DwarfSections find_sections(Adjuster *r, DwarfSection *sections, uint32_t n) {
    bool seen[sizeof known / sizeof *known] = {0};
    DwarfSections s = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (seen[k] || !str_is(sections[i].name, known[k].name))
                continue;
            seen[k] = true;
            if (known[k].kind >= 0)
                r->sections[known[k].kind] = &sections[i];
            else
                sections[i].fate = DWARF_KEPT;
            if (str_is(sections[i].name, ".debug_abbrev"))
                s.abbrev = sections[i].content;
        }
    s.info = adjust_content(r, ADJUST_INFO);
    s.addr = adjust_content(r, ADJUST_ADDR);
    s.rnglists = adjust_content(r, ADJUST_RNGLISTS);
    s.ranges = adjust_content(r, ADJUST_RANGES);
    return s;
}

static bool adjust_types(Adjuster *r, DwarfSections s) {
    if (!r->sections[ADJUST_TYPES])
        return true;
    s.info = adjust_content(r, ADJUST_TYPES);
    s.of_types = true;
    Dwarf *d = dwarf_open(&s, r->moves->from, r->moves->nbodies);
    bool ok = adjust_entries(r, d, ADJUST_TYPES);
    dwarf_free(d);
    return ok;
}

/* Lines first, since entries refer to them; then sections that entries refer to; .debug_addr at
 * last, when the kinds of its addresses are known. */
static bool adjust(Adjuster *r, DwarfSections s) {
    if (!r->sections[ADJUST_INFO])
        return adjust_problem(r, ADJUST_INFO, 0, "there are no entries");
    r->d = dwarf_open(&s, r->moves->from, r->moves->nbodies);
    r->d->s.line = adjust_content(r, ADJUST_LINE); /* opened without it: rows are not needed */
    r->addresses = mem_zalloc(s.addr.len + 1u);
    adjust_lines(r);
    if (!adjust_entries(r, r->d, ADJUST_INFO) || !adjust_types(r, s))
        return false;
    adjust_pairs(r, REF_RANGES, ADJUST_RANGES);
    adjust_pairs(r, REF_LOCATIONS, ADJUST_LOC);
    adjust_lists(r, REF_RANGES, ADJUST_RNGLISTS);
    adjust_lists(r, REF_LOCATIONS, ADJUST_LOCLISTS);
    adjust_addresses(r);
    adjust_aranges(r);
    adjust_macros(r);
    return true;
}

bool dwarf_adjust(DwarfSection *sections, uint32_t n, const DwarfMoves *moves,
                  DwarfAdjusted *done) {
    Adjuster r = {.moves = moves, .done = done};
    *done = (DwarfAdjusted){0};
    for (uint32_t i = 0; i < n; i++)
        sections[i].fate = DWARF_DROPPED;
    bool ok = adjust(&r, find_sections(&r, sections, n));
    for (uint32_t i = 0; i < n && !ok; i++)
        sections[i].fate = DWARF_DROPPED;
    for (uint32_t i = 0; i < 2; i++) {
        vec_free(&r.lists[i][0]);
        vec_free(&r.lists[i][1]);
        vec_free(&r.contributions[i]);
        vec_free(&r.bases[i]);
    }
    vec_free(&r.lines);
    vec_free(&r.rows);
    free(r.addresses);
    dwarf_free(r.d);
    return ok;
}
