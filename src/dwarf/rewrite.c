/*
 * dwarf/rewrite.c - sets out the sections, has each changed in the order in which they depend
 * on each other, and gathers what became of them.
 */
#include "dwarf/rewrite_parts.h"

static const struct {
    const char *name;
    int kind; /* RewriteKind, or -1: it refers to entries and texts alone, which stay */
} known[] = {
    {".debug_info", REWRITE_INFO},
    {".debug_types", REWRITE_TYPES},
    {".debug_line", REWRITE_LINE},
    {".debug_addr", REWRITE_ADDR},
    {".debug_ranges", REWRITE_RANGES},
    {".debug_loc", REWRITE_LOC},
    {".debug_rnglists", REWRITE_RNGLISTS},
    {".debug_loclists", REWRITE_LOCLISTS},
    {".debug_aranges", REWRITE_ARANGES},
    {".debug_macro", REWRITE_MACRO},
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

static const char *name_of(RewriteKind kind) {
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == (int)kind)
            return known[i].name;
    return ".debug_info";
}

/* ---- what the parts share ---- */

bool rewrite_problem(Rewriter *r, RewriteKind kind, uint64_t offset, const char *what) {
    if (!r->done->problem.section)
        r->done->problem = (DwarfProblem){name_of(kind), (uint32_t)offset, what};
    return false;
}

bool rewrite_number(Buf *out, uint32_t at, uint8_t size, uint64_t value) {
    if (at > out->len || size > out->len - at || (size < 8 && value >> 8 * size))
        return false;
    for (uint32_t i = 0; i < size; i++)
        out->data[at + i] = (uint8_t)(value >> 8 * i);
    return true;
}

uint32_t rewrite_moved_part(const MovedParts *parts, uint32_t from) {
    uint32_t low = 0, high = parts->len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (parts->at[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < parts->len && parts->at[low].from == from ? parts->at[low].to : UINT32_MAX;
}

void rewrite_use_address(Rewriter *r, const DwarfUnit *u, uint64_t index, uint8_t use) {
    Str section = rewrite_content(r, REWRITE_ADDR);
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

void rewrite_sort_refs(ListRefs *refs) {
    for (uint32_t i = 1; i < refs->len; i++)
        if (by_target(&refs->at[i - 1], &refs->at[i]) > 0) {
            qsort(refs->at, refs->len, sizeof *refs->at, by_target);
            return;
        }
}

uint32_t rewrite_same_list(const Rewriter *r, const ListRefs *refs, uint32_t i, bool *same_base) {
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
static DwarfSections find_sections(Rewriter *r, DwarfSection *sections, uint32_t n) {
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
    s.info = rewrite_content(r, REWRITE_INFO);
    s.addr = rewrite_content(r, REWRITE_ADDR);
    s.rnglists = rewrite_content(r, REWRITE_RNGLISTS);
    s.ranges = rewrite_content(r, REWRITE_RANGES);
    return s;
}

static bool rewrite_types(Rewriter *r, DwarfSections s) {
    if (!r->sections[REWRITE_TYPES])
        return true;
    s.info = rewrite_content(r, REWRITE_TYPES);
    s.of_types = true;
    Dwarf *d = dwarf_open(&s, r->moves->from, r->moves->nbodies);
    bool ok = rewrite_entries(r, d, REWRITE_TYPES);
    dwarf_free(d);
    return ok;
}

/* Lines first, since entries refer to them; then what entries refer to; .debug_addr at last, when
 * it is known what its addresses are. */
static bool rewrite(Rewriter *r, DwarfSections s) {
    if (!r->sections[REWRITE_INFO])
        return rewrite_problem(r, REWRITE_INFO, 0, "there are no entries");
    r->d = dwarf_open(&s, r->moves->from, r->moves->nbodies);
    r->d->s.line = rewrite_content(r, REWRITE_LINE); /* opened without: nobody asks for rows */
    r->addresses = mem_zalloc(s.addr.len + 1u);
    rewrite_lines(r);
    if (!rewrite_entries(r, r->d, REWRITE_INFO) || !rewrite_types(r, s))
        return false;
    rewrite_pairs(r, REF_RANGES, REWRITE_RANGES);
    rewrite_pairs(r, REF_LOCATIONS, REWRITE_LOC);
    rewrite_lists(r, REF_RANGES, REWRITE_RNGLISTS);
    rewrite_lists(r, REF_LOCATIONS, REWRITE_LOCLISTS);
    rewrite_addresses(r);
    rewrite_aranges(r);
    rewrite_macros(r);
    return true;
}

bool dwarf_rewrite(DwarfSection *sections, uint32_t n, const DwarfMoves *moves,
                   DwarfRewritten *done) {
    Rewriter r = {.moves = moves, .done = done};
    *done = (DwarfRewritten){0};
    for (uint32_t i = 0; i < n; i++)
        sections[i].fate = DWARF_DROPPED;
    bool ok = rewrite(&r, find_sections(&r, sections, n));
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
