/*
 * dwarf/dwarf_variable.c - the parameters and variables of a function, by name.
 */
#include "dwarf/dwarf_parts.h"

enum { HOPS_MAX = 16, SCOPES_MAX = 1 << 20, NOCALL = 3 };
static const uint32_t SKIPPED = NONE - 1;

/* The attributes of a function, a block, a parameter or a variable. */
typedef struct Entry {
    uint32_t tag;
    bool children;
    uint64_t type, origin; /* 0 = there is none */
    DwarfValue location, frame;
    DwarfExtent extent;
    uint32_t convention;
} Entry;

static void take_value(const DwarfUnit *u, Entry *e, uint32_t attribute, DwarfValue v) {
    uint64_t entry;
    if (dwarf_extent_attribute(&e->extent, attribute, v))
        return;
    switch (attribute) {
    case DW_AT_TYPE: e->type = dwarf_reference(u, v, &entry) ? entry : 0; break;
    case DW_AT_ABSTRACT_ORIGIN:
    case DW_AT_SPECIFICATION: e->origin = dwarf_reference(u, v, &entry) ? entry : 0; break;
    case DW_AT_LOCATION: e->location = v; break;
    case DW_AT_FRAME_BASE: e->frame = v; break;
    case DW_AT_CALLING_CONVENTION: e->convention = dwarf_small(v); break;
    }
}

/* Reads the entry at a cursor; false at the end of a list of children. */
static bool read_attributes(Dwarf *d, const DwarfUnit *u, DwarfCursor *c, Entry *e) {
    const DwarfAbbrev *a = dwarf_entry(d, u, c);
    if (!a)
        return false;
    *e = (Entry){.tag = a->tag, .children = a->children};
    const DwarfSpec *specs = dwarf_specs(d, u, a);
    for (uint32_t i = 0; i < a->count; i++)
        take_value(u, e, specs[i].attribute, dwarf_attribute(u, c, &specs[i]));
    return true;
}

/* The type of an entry, or of one that it refers to. */
static uint32_t dwarf_variable_type(Dwarf *d, Entry e) {
    for (uint32_t i = 0; !e.type && e.origin && i < HOPS_MAX && d->budget.entries; i++) {
        const DwarfUnit *u = dwarf_unit_of(d, e.origin);
        if (!u)
            return 0;
        d->budget.entries--;
        DwarfCursor c = dwarf_unit_cursor(d, u, (uint32_t)e.origin);
        if (!read_attributes(d, u, &c, &e))
            return 0;
    }
    return e.type < UINT32_MAX ? (uint32_t)e.type : 0;
}

/* ---- reading a function ---- */

static void dwarf_variable_add(Dwarf *d, uint32_t entry, const Entry *e, uint32_t scope) {
    DwarfVariables *all = &d->variables;
    DwarfNamed v = {.scope = scope, .next = NONE, .location = e->location};
    bool added;
    v.name = dwarf_names(d, entry).name;
    v.known.type = dwarf_variable_type(d, *e);
    v.known.param = e->tag == DW_TAG_FORMAL_PARAMETER && scope == 0;
    if (v.known.param) {
        vec_push(&all->params, v.known);
        vec_push(&all->param_names, v.name);
    }
    if (!v.name.len)
        return;
    uint64_t *last = map_put(&all->names, v.name, NONE, &added);
    v.next = (uint32_t)*last;
    *last = all->list.len;
    vec_push(&all->list, v);
}

/* A block or an inlined call in a scope. */
static uint32_t add_scope(Dwarf *d, const DwarfUnit *u, const Entry *e, uint32_t parent) {
    DwarfVariables *all = &d->variables;
    if (all->scopes.len == SCOPES_MAX)
        return SKIPPED;
    DwarfScope s = {.parent = parent, .first = all->ranges.len};
    dwarf_ranges(d, u, &e->extent, all->scopes.len, &d->budget.ranges, &all->ranges);
    s.count = all->ranges.len - s.first;
    vec_push(&all->scopes, s);
    return all->scopes.len - 1;
}

static bool is_scope(uint32_t tag) {
    return tag == DW_TAG_LEXICAL_BLOCK || tag == DW_TAG_TRY_BLOCK || tag == DW_TAG_CATCH_BLOCK ||
           tag == DW_TAG_INLINED_SUBROUTINE;
}

static void read_children(Dwarf *d, const DwarfUnit *u, DwarfCursor *c) {
    Vec(uint32_t) open = {0};
    vec_push(&open, 0);
    while (open.len && c->at < c->end && d->budget.entries) {
        uint32_t entry = dwarf_tell(c), scope = vec_last(&open), in = SKIPPED;
        Entry e;
        d->budget.entries--;
        if (!read_attributes(d, u, c, &e)) {
            open.len--;
            continue;
        }
        bool variable = e.tag == DW_TAG_FORMAL_PARAMETER || e.tag == DW_TAG_VARIABLE;
        if (scope != SKIPPED && variable)
            dwarf_variable_add(d, entry, &e, scope);
        else if (scope != SKIPPED && is_scope(e.tag))
            in = add_scope(d, u, &e, scope);
        else if (scope == 0 && e.tag == DW_TAG_UNSPECIFIED_PARAMETERS)
            d->variables.variadic = true;
        if (e.children)
            vec_push(&open, in);
    }
    vec_free(&open);
}

static void dwarf_variable_forget(DwarfVariables *all) {
    all->list.len = all->scopes.len = all->ranges.len = 0;
    all->params.len = all->param_names.len = 0;
    map_free(&all->names);
    all->names = (Map){0};
    all->variadic = all->changed = false;
    all->result = all->prologue_end = 0;
    all->frame = (DwarfPlace){0};
}

/* Reads the function with the body of an address, unless it was the last one. */
static bool enter(Dwarf *d, uint32_t address) {
    DwarfVariables *all = &d->variables;
    uint32_t unit, body;
    if (all->body != NONE && d->bodies[all->body].start <= address &&
        address < d->bodies[all->body].end)
        return all->unit != NONE;
    if (!dwarf_enter(d, address, &unit, &body))
        return false;
    dwarf_variable_forget(all);
    all->unit = unit;
    all->body = body;
    const DwarfUnit *u = &d->units.at[unit];
    DwarfCursor c = dwarf_unit_cursor(d, u, d->function.whole.entry);
    Entry e;
    if (!read_attributes(d, u, &c, &e)) {
        all->unit = NONE;
        return false;
    }
    all->frame = dwarf_place(d, u, e.frame, NULL, address);
    if (all->frame.where == DWARF_AT_LOCAL) /* older compilers mean the value, too */
        all->frame.where = DWARF_IN_LOCAL;
    all->changed = e.convention == NOCALL;
    all->result = dwarf_variable_type(d, e);
    vec_push(&all->scopes, ((DwarfScope){.parent = NONE}));
    if (e.children)
        read_children(d, u, &c);
    return true;
}

void dwarf_free_variables(Dwarf *d) {
    vec_free(&d->variables.list);
    vec_free(&d->variables.scopes);
    vec_free(&d->variables.ranges);
    vec_free(&d->variables.params);
    vec_free(&d->variables.param_names);
    map_free(&d->variables.names);
}

/* ---- answers ---- */

/* How deep a scope is, if it has the address; 0 = it does not. */
static uint32_t depth_at(Dwarf *d, uint32_t scope, uint32_t address) {
    uint32_t depth = 1;
    for (; scope; scope = d->variables.scopes.at[scope].parent, depth++) {
        const DwarfScope *s = &d->variables.scopes.at[scope];
        bool has = false;
        for (uint32_t i = 0; i < s->count && !has && d->budget.entries; i++) {
            const DwarfSpan *r = &d->variables.ranges.at[s->first + i];
            has = r->start <= address && address < r->end;
            d->budget.entries--;
        }
        if (!has)
            return 0;
    }
    return depth;
}

bool dwarf_variable(Dwarf *d, uint32_t address, Str name, DwarfVariable *out) {
    if (!enter(d, address))
        return false;
    const uint64_t *last = map_get(&d->variables.names, name);
    const DwarfNamed *found = NULL;
    uint32_t deepest = 0;
    for (uint32_t i = last ? (uint32_t)*last : NONE; i != NONE && d->budget.entries;
         i = d->variables.list.at[i].next) {
        uint32_t depth = depth_at(d, d->variables.list.at[i].scope, address);
        d->budget.entries--;
        if (depth > deepest) {
            deepest = depth;
            found = &d->variables.list.at[i];
        }
    }
    if (!found)
        return false;
    *out = found->known;
    out->place = dwarf_place(d, &d->units.at[d->variables.unit], found->location,
                             &d->variables.frame, address);
    return true;
}

bool dwarf_signature(Dwarf *d, uint32_t address, DwarfSignature *out) {
    if (!enter(d, address))
        return false;
    const DwarfVariables *all = &d->variables;
    *out = (DwarfSignature){.params = all->params.at,
                            .names = all->param_names.at,
                            .nparams = all->params.len,
                            .variadic = all->variadic,
                            .changed = all->changed,
                            .result = all->result};
    return true;
}

uint32_t dwarf_prologue_end(Dwarf *d, uint32_t address) {
    DwarfVariables *all = &d->variables;
    uint32_t lines;
    if (!enter(d, address))
        return address;
    const DwarfBody *body = &d->bodies[all->body];
    if (all->prologue_end)
        return all->prologue_end;
    all->prologue_end = body->start;
    dwarf_find_row(d, body, address, &lines);
    for (uint32_t i = 0; i < d->rows.len; i++) {
        const DwarfRow *r = &d->rows.at[i];
        if (r->address < body->start || r->address >= body->end || !(r->flags & ROW_PROLOGUE_END))
            continue;
        all->prologue_end = r->address;
        break;
    }
    return all->prologue_end;
}
