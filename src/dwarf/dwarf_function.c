/*
 * dwarf/dwarf_function.c - the functions of a unit, and the calls that were inlined into one.
 */
#include <assert.h>

#include "dwarf/dwarf_parts.h"

/* Deeper calls are left out. */
enum { DEPTH_MAX = 256 };

static bool is_place(uint32_t attribute) {
    return attribute == DW_AT_LOW_PC || attribute == DW_AT_HIGH_PC || attribute == DW_AT_RANGES;
}

/* ---- functions ---- */

/* Reads an entry as far as it says where its code is. */
static DwarfExtent read_extent(Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *a, DwarfCursor *c) {
    DwarfExtent x = {0};
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    for (uint32_t i = 0; i < a->count; i++)
        dwarf_extent_attribute(&x, specs[i].attribute, dwarf_attribute(u, c, &specs[i]));
    return x;
}

static bool has_place(const Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *a) {
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    for (uint32_t i = 0; i < a->count; i++)
        if (is_place(specs[i].attribute))
            return true;
    return false;
}

/* The next subprogram of a unit that has code, and its index; false: there are no more. */
static bool next_subprogram(Dwarf *d, const DwarfUnit *u, DwarfCursor *c, uint32_t *entry,
                            DwarfExtent *x) {
    while (c->at < c->end) {
        *entry = dwarf_tell(c);
        const DwarfAbbrev *a = dwarf_entry(d, u, c);
        if (a && a->tag == DW_TAG_SUBPROGRAM && has_place(d, u, a)) {
            *x = read_extent(d, u, a, c);
            return true;
        }
        if (a)
            dwarf_skip_entry(d, u, a, c);
    }
    return false;
}

/* The places of all subprograms of a unit, in the order of their entries; values are entries. */
static void find_places(Dwarf *d, const DwarfUnit *u, DwarfSpans *places) {
    DwarfCursor c = dwarf_unit_cursor(d, u, u->first);
    DwarfExtent x;
    uint32_t entry;
    while (next_subprogram(d, u, &c, &entry, &x))
        dwarf_ranges(d, u, &x, entry, &d->budget.ranges, places);
    if (c.failed)
        dwarf_fail(d, ".debug_info", u->start, "the entries of a unit are malformed");
}

/* Whether the linker has removed the code that an entry had. */
static bool is_removed(const Dwarf *d, const DwarfUnit *u, const DwarfExtent *x) {
    uint64_t low;
    return dwarf_address(d, u, x->low, &low) && (dwarf_is_removed(u, low) || low == 0);
}

/* Passes on the names of the function that an entry is. */
static void dwarf_function_tell(Dwarf *d, uint32_t entry, DwarfFound *found, void *ctx) {
    DwarfFrame frame = {0};
    DwarfNames names = dwarf_names(d, entry);
    dwarf_name_frame(&frame, &names);
    found(ctx, &frame);
}

static void find_removed(Dwarf *d, const DwarfUnit *u, DwarfFound *found, void *ctx) {
    DwarfCursor c = dwarf_unit_cursor(d, u, u->first);
    DwarfExtent x;
    uint32_t entry;
    while (next_subprogram(d, u, &c, &entry, &x))
        if (is_removed(d, u, &x))
            dwarf_function_tell(d, entry, found, ctx);
}

void dwarf_removed_functions(Dwarf *d, DwarfFound *found, void *ctx) {
    for (uint32_t i = 0; i < d->units.len; i++)
        if (d->units.at[i].abbrevs != NONE)
            find_removed(d, &d->units.at[i], found, ctx);
}

/* Reads an entry as far as it says whether the function was inlined. */
static bool read_inlined(Dwarf *d, const DwarfUnit *u, const DwarfAbbrev *a, DwarfCursor *c) {
    enum { INL_INLINED = 1, INL_DECLARED_INLINED = 3 };
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    uint32_t inlined = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        DwarfValue v = dwarf_attribute(u, c, &specs[i]);
        if (specs[i].attribute == DW_AT_INLINE)
            inlined = dwarf_small(v);
    }
    return inlined == INL_INLINED || inlined == INL_DECLARED_INLINED;
}

static void find_inlined(Dwarf *d, const DwarfUnit *u, DwarfFound *found, void *ctx) {
    DwarfCursor c = dwarf_unit_cursor(d, u, u->first);
    while (c.at < c.end) {
        uint32_t entry = dwarf_tell(&c);
        const DwarfAbbrev *a = dwarf_entry(d, u, &c);
        if (a && a->tag == DW_TAG_SUBPROGRAM && read_inlined(d, u, a, &c))
            dwarf_function_tell(d, entry, found, ctx);
        else if (a && a->tag != DW_TAG_SUBPROGRAM)
            dwarf_skip_entry(d, u, a, &c);
    }
}

void dwarf_inlined_functions(Dwarf *d, DwarfFound *found, void *ctx) {
    for (uint32_t i = 0; i < d->units.len; i++)
        if (d->units.at[i].abbrevs != NONE)
            find_inlined(d, &d->units.at[i], found, ctx);
}

static int by_body(const void *pa, const void *pb) {
    const DwarfFunction *a = pa, *b = pb;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

void dwarf_read_functions(Dwarf *d, DwarfUnit *u) {
    DwarfSpans places = {0};
    if (u->functions_read || u->abbrevs == NONE)
        return;
    u->functions_read = true;
    find_places(d, u, &places);
    for (uint32_t i = 0; i < places.len; i++)
        if (dwarf_is_body(d, places.at[i].start, places.at[i].end))
            vec_push(&u->functions, ((DwarfFunction){places.at[i].start, places.at[i].value}));
    u->places = places.len;
    if (u->functions.len)
        qsort(u->functions.at, u->functions.len, sizeof *u->functions.at, by_body);
    vec_free(&places);
}

/* The index of the function of a unit with a body, or NONE. */
static uint32_t dwarf_function_find_function(const DwarfUnit *u, uint32_t start) {
    uint32_t low = vec_first(&u->functions, start, start);
    return low < u->functions.len && u->functions.at[low].start == start ? low : NONE;
}

/* ---- inlined calls ---- */

/* A walk over the entries in a function. */
typedef struct Walk {
    Dwarf *d;
    const DwarfUnit *u;
    DwarfCursor c;
    Vec(uint32_t) open; /* for each entry around: the call it is in, NONE = none, SKIPPED */
    uint64_t budget;    /* entries of range lists */
    const DwarfBody *body;
} Walk;
static const uint32_t SKIPPED = NONE - 1;

static void take_call_value(DwarfCall *call, DwarfExtent *x, const DwarfUnit *u, uint32_t attribute,
                            DwarfValue v) {
    uint64_t origin;
    if (dwarf_extent_attribute(x, attribute, v))
        return;
    switch (attribute) {
    case DW_AT_CALL_FILE: call->file = dwarf_small(v); break;
    case DW_AT_CALL_LINE: call->line = dwarf_small(v); break;
    case DW_AT_CALL_COLUMN: call->column = dwarf_small(v); break;
    case DW_AT_ABSTRACT_ORIGIN:
        if (dwarf_reference(u, v, &origin))
            call->entry = (uint32_t)origin;
    }
}

/* Whether the code around an inlined call has this range: the caller's, or the whole body. Callers
 * whose own ranges are not all known are passed over. */
static bool dwarf_function_is_inside(const Walk *w, uint32_t parent, const DwarfSpan *range) {
    while (parent != NONE && w->d->function.calls.at[parent].incomplete)
        parent = w->d->function.calls.at[parent].parent;
    if (parent == NONE)
        return w->body->start <= range->start && range->end <= w->body->end;
    const DwarfCall *caller = &w->d->function.calls.at[parent];
    uint32_t low = 0, high = caller->count;
    const DwarfSpan *ranges = w->d->function.ranges.at + caller->first;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= range->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < caller->count && ranges[low].start <= range->start &&
           range->end <= ranges[low].end;
}

static int by_address(const void *pa, const void *pb) {
    const DwarfSpan *a = pa, *b = pb;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Sorts the ranges from `first`, joins adjacent ones, drops ranges outside of the caller. */
static uint32_t tidy_ranges(Walk *w, uint32_t parent, uint32_t first) {
    DwarfSpans *ranges = &w->d->function.ranges;
    uint32_t n = first;
    if (ranges->len - first > 1)
        qsort(ranges->at + first, ranges->len - first, sizeof *ranges->at, by_address);
    for (uint32_t i = first; i < ranges->len; i++) {
        DwarfSpan r = ranges->at[i];
        if (!dwarf_function_is_inside(w, parent, &r))
            continue;
        if (n > first && r.start <= ranges->at[n - 1].end) {
            if (ranges->at[n - 1].end < r.end)
                ranges->at[n - 1].end = r.end;
        } else {
            ranges->at[n++] = r;
        }
    }
    ranges->len = n;
    return n - first;
}

/* Reads an inlined call; returns its index, or SKIPPED. */
static uint32_t read_call(Walk *w, const DwarfAbbrev *a, uint32_t entry, uint32_t parent) {
    Dwarf *d = w->d;
    DwarfExtent x = {0};
    uint32_t index = d->function.calls.len;
    DwarfCall call = {.parent = parent, .entry = entry, .first = d->function.ranges.len};
    const DwarfSpec *specs = dwarf_specs(d, w->u, a);
    for (uint32_t i = 0; i < a->count; i++)
        take_call_value(&call, &x, w->u, specs[i].attribute,
                        dwarf_attribute(w->u, &w->c, &specs[i]));
    if (parent == SKIPPED)
        return SKIPPED;
    call.depth = parent == NONE ? 1 : d->function.calls.at[parent].depth + 1;
    if (call.depth > DEPTH_MAX)
        return SKIPPED;
    call.incomplete = !dwarf_ranges(d, w->u, &x, index, &w->budget, &d->function.ranges);
    call.count = tidy_ranges(w, parent, call.first);
    vec_push(&d->function.calls, call);
    return index;
}

/* The parent of an entry's children: only blocks are looked into. */
static uint32_t inside(uint32_t tag, uint32_t parent) {
    bool block =
        tag == DW_TAG_LEXICAL_BLOCK || tag == DW_TAG_TRY_BLOCK || tag == DW_TAG_CATCH_BLOCK;
    return block ? parent : SKIPPED;
}

static void dwarf_function_read_calls(Walk *w) {
    while (w->open.len && w->c.at < w->c.end) {
        uint32_t entry = dwarf_tell(&w->c), parent = vec_last(&w->open), in;
        const DwarfAbbrev *a = dwarf_entry(w->d, w->u, &w->c);
        if (!a) {
            w->open.len--;
            continue;
        }
        if (a->tag == DW_TAG_INLINED_SUBROUTINE) {
            in = read_call(w, a, entry, parent);
        } else {
            dwarf_skip_entry(w->d, w->u, a, &w->c);
            in = inside(a->tag, parent);
        }
        if (a->children)
            vec_push(&w->open, in);
    }
}

/* Makes the intervals of all calls disjoint: callees come after their callers, and win. */
static void settle_calls(Dwarf *d) {
    d->function.call_at.len = 0;
    for (uint32_t i = 0; i < d->function.calls.len; i++)
        for (uint32_t k = 0; k < d->function.calls.at[i].count; k++) {
            DwarfSpan span = d->function.ranges.at[d->function.calls.at[i].first + k];
            span.value = i;
            vec_push(&d->function.call_at, span);
        }
    dwarf_settle(&d->function.call_at);
}

bool dwarf_enter_function(Dwarf *d, uint32_t unit, uint32_t body) {
    assert(unit < d->units.len && body < d->nbodies);
    DwarfUnit *u = &d->units.at[unit];
    if (d->function.unit == unit && d->function.body == body)
        return true;
    dwarf_read_functions(d, u);
    uint32_t function = dwarf_function_find_function(u, d->bodies[body].start);
    if (function == NONE)
        return false;
    d->function.unit = unit;
    d->function.body = body;
    d->last.body = NONE; /* calls have other numbers */
    d->function.calls.len = d->function.ranges.len = 0;
    const DwarfFunction *f = &u->functions.at[function];
    d->function.whole = (DwarfCall){.parent = NONE, .entry = f->entry};
    Walk w = {d, u, dwarf_unit_cursor(d, u, f->entry), {0}, 0, &d->bodies[body]};
    w.budget = 64 + 16 * (uint64_t)(w.body->end - w.body->start);
    const DwarfAbbrev *a = dwarf_entry(d, u, &w.c);
    if (a && a->children) {
        dwarf_skip_entry(d, u, a, &w.c);
        vec_push(&w.open, NONE);
        dwarf_function_read_calls(&w);
    }
    vec_free(&w.open);
    settle_calls(d);
    return true;
}
