/*
 * dwarf/dwarf.c - questions about addresses.
 */
#include "dwarf/dwarf_parts.h"

#include <assert.h>

/* So many functions are looked at to tell whether DWARF is stale. */
enum { STALE_SAMPLE = 200 };

bool dwarf_fail(Dwarf *d, const char *section, uint64_t offset, const char *what) {
    if (!d->problem.section)
        d->problem = (DwarfProblem){section, (uint32_t)offset, what};
    return false;
}

const DwarfProblem *dwarf_problem(const Dwarf *d) {
    return &d->problem;
}

uint32_t dwarf_body_at(const Dwarf *d, uint64_t address) {
    uint32_t low = 0, high = d->nbodies;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->bodies[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->nbodies && d->bodies[low].start <= address ? low : NONE;
}

bool dwarf_is_body(const Dwarf *d, uint64_t start, uint64_t end) {
    assert(start <= end);
    uint32_t body = dwarf_body_at(d, start);
    return body != NONE && d->bodies[body].start == start && d->bodies[body].end == end;
}

bool dwarf_is_removed(const DwarfUnit *u, uint64_t address) {
    uint64_t ones = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
    return address == ones || address == ones - 1;
}

/* Of spans that overlap the first unit's counts. */
static void settle_units(DwarfSpans *spans) {
    for (uint32_t i = 1; i < spans->len; i++)
        if (spans->at[i].start < spans->at[i - 1].end) {
            for (uint32_t low = 0, high = spans->len - 1; low < high; low++, high--) {
                DwarfSpan s = spans->at[low];
                spans->at[low] = spans->at[high];
                spans->at[high] = s;
            }
            dwarf_settle(spans);
            return;
        }
}

Dwarf *dwarf_open(const DwarfSections *sections, const DwarfBody *bodies, uint32_t nbodies) {
    Dwarf *d = mem_zalloc(sizeof *d);
    d->s = *sections;
    d->bodies = bodies;
    d->nbodies = nbodies;
    d->budget.abbrevs = 4 * (uint64_t)d->s.abbrev.len;
    d->budget.lines = 2 * (uint64_t)d->s.line.len;
    d->budget.entries = 64 * (uint64_t)d->s.info.len + (1u << 24);
    d->variables.unit = d->variables.body = NONE;
    d->budget.ranges = d->s.info.len + (uint64_t)d->s.ranges.len + d->s.rnglists.len;
    d->hint.body = d->rows_of = d->function.unit = d->function.body = d->last.body = NONE;
    dwarf_read_units(d);
    settle_units(&d->sequence_at);
    settle_units(&d->unit_at);
    return d;
}

void dwarf_free(Dwarf *d) {
    if (!d)
        return;
    dwarf_free_units(d);
    for (uint32_t i = 0; i < d->lines.len; i++) {
        vec_free(&d->lines.at[i].directories);
        vec_free(&d->lines.at[i].files);
    }
    vec_free(&d->lines);
    vec_free(&d->sequences);
    vec_free(&d->sequence_at);
    vec_free(&d->unit_at);
    vec_free(&d->rows);
    dwarf_free_variables(d);
    vec_free(&d->function.calls);
    vec_free(&d->function.ranges);
    vec_free(&d->function.call_at);
    vec_free(&d->frames);
    path_pool_free(&d->paths);
    vec_free(&d->changed);
    map_free(&d->line_index);
    free(d);
}

/* ---- stale sections ---- */

/* Looks at units from all over the list: every `step`-th, from `first`. */
static void sample_units(Dwarf *d, uint32_t first, uint32_t step, uint32_t *live,
                         uint32_t *fitting) {
    for (uint32_t i = first; i < d->units.len && *live < STALE_SAMPLE; i += step) {
        DwarfUnit *u = &d->units.at[i];
        dwarf_read_functions(d, u);
        *live += u->places;
        *fitting += u->functions.len;
    }
}

bool dwarf_is_stale(Dwarf *d) {
    uint32_t live = 0, fitting = 0, step = d->units.len / 16 + 1;
    for (uint32_t first = 0; first < step && live < STALE_SAMPLE; first++)
        sample_units(d, first, step, &live, &fitting);
    if (!live) { /* there are lines only */
        live = d->live_sequences;
        fitting = d->fitting_sequences;
    }
    return live ? fitting * 2 < live : d->nbodies > 0;
}

/* ---- answers ---- */

/* The last row at or before the address, or NULL. */
static const DwarfRow *row_at(Dwarf *d, uint32_t address) {
    const DwarfRow *rows = d->rows.at;
    uint32_t low = 0, high = d->rows.len, hint = d->hint.row;
    if (hint < high && rows[hint].address <= address &&
        (hint + 1 == high || address < rows[hint + 1].address))
        return &rows[hint];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    d->hint.row = low - 1;
    return low ? &rows[low - 1] : NULL;
}

const DwarfRow *dwarf_find_row(Dwarf *d, const DwarfBody *body, uint32_t address, uint32_t *lines) {
    const DwarfSpan *span = dwarf_span_at(&d->sequence_at, address, &d->hint.sequence);
    if (!span)
        return NULL;
    if (d->rows_of != span->value)
        dwarf_read_rows(d, d->rows_of = span->value, &d->rows);
    *lines = d->sequences.at[span->value].lines;
    const DwarfRow *row = row_at(d, address);
    return row && row->address >= body->start ? row : NULL;
}

/* Enters the function with the body in the unit of the line, or else in the unit whose ranges have
 * the address; *unit is NONE if there is neither. */
static bool dwarf_find_function(Dwarf *d, uint32_t address, uint32_t lines, uint32_t body,
                                uint32_t *unit) {
    uint32_t of_line = lines == NONE ? NONE : d->lines.at[lines].unit;
    *unit = of_line;
    if (of_line != NONE && dwarf_enter_function(d, of_line, body))
        return true;
    const DwarfSpan *span = dwarf_span_at(&d->unit_at, address, &d->hint.unit);
    *unit = span && span->value != of_line ? span->value : NONE;
    if (*unit != NONE && dwarf_enter_function(d, *unit, body))
        return true;
    *unit = NONE;
    return false;
}

/* Adds the frame of a function; its place is known already. */
static void add_frame(Dwarf *d, DwarfCall *call, DwarfFrame frame) {
    if (!call->named) {
        call->names = dwarf_names(d, call->entry);
        call->named = true;
    }
    dwarf_name_frame(&frame, &call->names);
    vec_push(&d->frames, frame);
}

/* The frames of the current function, from the innermost call; `frame` is the innermost place. */
static void add_chain(Dwarf *d, const DwarfUnit *u, uint32_t call, DwarfFrame frame) {
    for (uint32_t i = call; i != NONE; i = d->function.calls.at[i].parent) {
        DwarfCall *c = &d->function.calls.at[i];
        add_frame(d, c, frame);
        frame = (DwarfFrame){
            .path = dwarf_path(d, u->lines, c->file), .line = c->line, .column = c->column};
    }
    add_frame(d, &d->function.whole, frame);
}

/* Makes the frames of an answer, unless they are those of the last question. */
static void dwarf_answer(Dwarf *d, const DwarfAnswer *a) {
    const DwarfAnswer *last = &d->last;
    if (a->body == last->body && a->row == last->row && a->unit == last->unit &&
        a->call == last->call && a->rows_of == last->rows_of)
        return;
    DwarfFrame frame = {0};
    d->last = *a;
    d->frames.len = 0;
    if (a->row)
        frame = (DwarfFrame){.path = dwarf_path(d, a->lines, a->row->file),
                             .line = a->row->line,
                             .column = a->row->column};
    if (a->unit != NONE)
        add_chain(d, &d->units.at[a->unit], a->call, frame);
    else if (a->row)
        vec_push(&d->frames, frame);
}

bool dwarf_enter(Dwarf *d, uint32_t address, uint32_t *unit, uint32_t *body) {
    uint32_t lines = NONE;
    *body = dwarf_body_at(d, address);
    if (*body == NONE)
        return false;
    dwarf_find_row(d, &d->bodies[*body], address, &lines);
    return dwarf_find_function(d, address, lines, *body, unit);
}

uint32_t dwarf_at(Dwarf *d, uint32_t address, const DwarfFrame **frames) {
    DwarfAnswer a = {.lines = NONE, .call = NONE};
    if (d->hint.body == NONE || address < d->bodies[d->hint.body].start ||
        address >= d->bodies[d->hint.body].end)
        d->hint.body = dwarf_body_at(d, address);
    if (d->hint.body == NONE)
        return 0;
    a.body = d->hint.body;
    a.row = dwarf_find_row(d, &d->bodies[d->hint.body], address, &a.lines);
    a.rows_of = d->rows_of;
    if (dwarf_find_function(d, address, a.lines, d->hint.body, &a.unit)) {
        const DwarfSpan *span = dwarf_span_at(&d->function.call_at, address, &d->function.hint);
        a.call = span ? span->value : NONE;
    }
    dwarf_answer(d, &a);
    *frames = d->frames.at;
    return d->frames.len;
}
