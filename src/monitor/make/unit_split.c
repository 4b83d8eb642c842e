/*
 * monitor/make/unit_split.c - the residues of a unit, for each assignment of its atoms.
 */
#include "monitor/make/unit_split.h"

#include "analysis/flow.h"
#include "monitor/make/unit_text.h"

void splitter_free(Splitter *s) {
    map_free(&s->forms);
    map_free(&s->probes);
    map_free(&s->terms);
    map_free(&s->texts);
}

/* The value of the first atom of a kind; `otherwise` if there is none. */
static bool unit_split_value_of(const Unit *u, uint32_t assignment, UnitAtomKind kind,
                                bool otherwise) {
    for (uint32_t k = 0; k < u->ntable; k++)
        if (u->atoms[k].kind == kind)
            return assignment >> k & 1;
    return otherwise;
}

/* Both want the same operand or local, with different types. */
static bool types_clash(const UnitAtom *a, const UnitAtom *b, bool live) {
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++) {
            const UnitType *x = &a->types[i], *y = &b->types[k];
            if (x->local == y->local && x->n == y->n && x->type != y->type && (x->local || live))
                return true;
        }
    return false;
}

/* The same thing is equal to one number at most, and has one type, unless it comes from the stack
 * of code that cannot be reached. */
static bool clash(const UnitAtom *a, const UnitAtom *b, bool live) {
    if (a->kind == ATOM_TYPES && b->kind == ATOM_TYPES)
        return types_clash(a, b, live);
    return a->subject && a->subject == b->subject && !str_eq(a->text, b->text);
}

/* Whether the atoms can have these values together, as far as their kinds tell. */
static bool possible(const Unit *u, uint32_t a) {
    bool live = unit_split_value_of(u, a, ATOM_LIVE, false);
    for (uint32_t k = 0; k < u->ntable; k++) {
        if (!(a >> k & 1))
            continue;
        if (u->atoms[k].guard != UNIT_KNOWN && !(a >> u->atoms[k].guard & 1))
            return false;
        for (uint32_t i = 0; i < k; i++)
            if ((a >> i & 1) && clash(&u->atoms[i], &u->atoms[k], live))
                return false;
    }
    if (u->event != MONITOR_OPCODE)
        return true;
    bool first = unit_split_value_of(u, a, ATOM_BLOCK_FIRST, false);
    bool last = unit_split_value_of(u, a, ATOM_BLOCK_LAST, false);
    bool not_last = !unit_split_value_of(u, a, ATOM_BLOCK_LAST, true);
    if (u->op == WASM_OP_END) /* branches may lead to one after which nothing could be reached */
        return !(first && not_last && unit_split_value_of(u, a, ATOM_LAST, false));
    if ((first || last) && !unit_split_value_of(u, a, ATOM_LIVE, true))
        return false;
    return !(first && not_last && flow_ends_block(u->op));
}

static bool unit_split_gates_hold(const UnitPart *p, uint32_t assignment) {
    for (uint32_t i = 0; i < p->ngates; i++)
        if ((assignment >> p->gates[i].atom & 1) != p->gates[i].value)
            return false;
    return true;
}

static uint64_t variant_atoms(const UnitPart *p, uint32_t assignment) {
    uint64_t atoms = 0;
    for (uint32_t k = 0; k < p->action->variant->atoms.len; k++) {
        const UnitBit *b = &p->bits[k];
        bool value = b->atom == UNIT_KNOWN ? b->value : (assignment >> b->atom & 1) == b->value;
        atoms |= (uint64_t)value << k;
    }
    return atoms;
}

/* The rest of a variant's probe: equal numbers are equal texts. */
static uint32_t probe_text(Splitter *s, Variant *v, Event event, uint64_t atoms) {
    struct {
        uint64_t variant, atoms, event; /* without padding: all bytes count */
    } key = {(uintptr_t)v, atoms, (uint64_t)event.kind << 32 | event.op};
    bool added;
    uint64_t *number = map_put(&s->probes, (Str){(char *)&key, sizeof key}, 0, &added);
    if (!added)
        return (uint32_t)*number;
    Buf text = {0};
    Decided d = {event, v, UINT64_MAX, atoms};
    unit_text_probe(&d, &text);
    *number = *map_put(&s->texts, buf_view(&text), s->texts.len + 1, NULL);
    buf_free(&text);
    return (uint32_t)*number;
}

/* Whether monitors can make an addition at the end: records have only reported variables. */
static bool unit_split_is_kept(const Splitter *s, const Addition *a) {
    const Sum *sum = &s->counters->sums.at[a->sum];
    return !sum->of_sites || !sum->late || sum->var->report;
}

/* Whether all that is left of a part is to count how often control comes to the location. */
static bool only_counts(const Splitter *s, const UnitPart *p) {
    if (!s->counters || !p->shape || p->at_end || p->if_taken || p->kind > PART_ROW)
        return false;
    Event e = p->action->event;
    bool after = e.mode == MODE_AFTER && p->kind == PART_ACTION; /* of an `end` */
    if (e.kind == EVENT_OPCODE && e.mode != MODE_BEFORE && !after)
        return false;
    Counting k = *counters_shape(s->counters, p->shape);
    bool only = k.why_not == WHY_NOTHING && k.n;
    for (uint32_t i = k.first; only && i < k.first + k.n; i++)
        only = unit_split_is_kept(s, &s->counters->additions.at[i]);
    return only;
}

typedef Vec(UnitPart) Parts;

/* The residue of the unit: its parts, and two texts that identify residues, with and without the
 * actions. */
static void unit_split_decide(Splitter *s, const Unit *u, uint32_t assignment, Parts *parts,
                              Buf *key, Buf *form) {
    parts->len = 0;
    key->len = form->len = 0;
    for (uint32_t i = 0; i < u->nparts; i++) {
        UnitPart p = u->parts[i];
        if (!unit_split_gates_hold(&p, assignment))
            continue;
        uint32_t text = 0;
        const void *variant = NULL;
        if (p.action) {
            Variant *v = p.action->variant;
            Shape *shape =
                u->dynamic ? NULL : plan_shape_for(s->plan, v, variant_atoms(&p, assignment));
            if (shape && shape->never)
                continue;
            p.shape = shape;
            if (only_counts(s, &p))
                p.kind = PART_COUNT;
            if (shape && (p.kind != PART_ROW || v->starts_dynamic || v->exits))
                text = probe_text(s, v, p.action->event, shape->atoms);
            p.entering = p.kind == PART_ACTION && shape && shape->atoms & SHAPE_ENTERING;
            variant = v;
        }
        p.gates = NULL;
        p.ngates = 0;
        vec_push(parts, p);
        uint8_t flags[] = {(uint8_t)p.kind, p.entering, p.if_taken, p.at_end, (uint8_t)p.back};
        buf_bytes(form, flags, sizeof flags);
        buf_bytes(form, &p.why, sizeof p.why);
        buf_bytes(form, &variant, sizeof variant);
        buf_u32le(form, text);
        buf_bytes(key, &p.action, sizeof p.action);
    }
    buf_bytes(key, form->data, form->len);
}

static void unit_split_find_terms(Splitter *s, uint32_t natoms, const uint64_t any[4], Residue *r) {
    uint64_t key[9] = {natoms};
    memcpy(key + 1, r->when, sizeof r->when);
    memcpy(key + 5, any, sizeof r->when);
    bool added;
    uint64_t *known = map_put(&s->terms, (Str){(char *)key, sizeof key}, 0, &added);
    if (added) {
        UnitTerm terms[128];
        uint32_t n = unit_terms(natoms, r->when, any, terms);
        UnitTerm *copy = arena_array(&s->plan->arena, UnitTerm, n + 1);
        memcpy(copy + 1, terms, n * sizeof *copy);
        r->terms = copy + 1;
        r->nterms = n;
        copy[0].mask = (uint8_t)n;
        *known = (uint64_t)(uintptr_t)copy;
        return;
    }
    UnitTerm *copy = (UnitTerm *)(uintptr_t)*known;
    r->terms = copy + 1;
    r->nterms = copy[0].mask;
}

static UnitPart *keep_parts(Splitter *s, const UnitPart *parts, uint32_t n) {
    UnitPart *copy = arena_array(&s->plan->arena, UnitPart, n + 1);
    if (n)
        memcpy(copy, parts, n * sizeof *copy);
    return copy;
}

/* ---- units with too many atoms ---- */

static UnitGate *renumbered_gates(Splitter *s, const UnitPart *p, const uint32_t *to) {
    UnitGate *gates = arena_array(&s->plan->arena, UnitGate, p->ngates + 1);
    for (uint32_t i = 0; i < p->ngates; i++)
        gates[i] = (UnitGate){to[p->gates[i].atom], p->gates[i].value};
    return gates;
}

static void renumber_bits(UnitPart *p, const uint32_t *to) {
    uint32_t n = p->action ? p->action->variant->atoms.len : 0;
    for (uint32_t k = 0; k < n; k++)
        if (p->bits[k].atom != UNIT_KNOWN)
            p->bits[k].atom = to[p->bits[k].atom];
}

/* Conditions after all other atoms; they stay, as bits. */
static void leave_conditions(Splitter *s, Unit *u) {
    UnitAtom *atoms = arena_array(&s->plan->arena, UnitAtom, u->natoms);
    uint32_t *to = mem_alloc(sizeof *to * u->natoms), n = 0;
    for (uint32_t conditions = 0; conditions < 2; conditions++) {
        for (uint32_t k = 0; k < u->natoms; k++) {
            if ((u->atoms[k].kind == ATOM_CONDITION) != conditions)
                continue;
            to[k] = n;
            atoms[n++] = u->atoms[k];
        }
        u->ntable = conditions ? u->ntable : n;
    }
    for (uint32_t k = 0; k < n; k++)
        if (atoms[k].guard != UNIT_KNOWN)
            atoms[k].guard = to[atoms[k].guard];
    const UnitBit *last = NULL; /* the row of an action shares them */
    for (uint32_t i = 0; i < u->nparts; i++) {
        UnitPart *p = &u->parts[i];
        p->gates = renumbered_gates(s, p, to);
        if (p->bits != last)
            renumber_bits(p, to);
        last = p->bits ? p->bits : last;
    }
    free(to);
    u->atoms = atoms;
    u->dynamic = true;
}

/* ---- tabulating ---- */

typedef Vec(Residue) Residues;

static Residue *residue_for(Splitter *s, Residues *residues, Map *keys, const Buf *key,
                            const Parts *parts) {
    bool added;
    uint64_t at = *map_put(keys, buf_view(key), residues->len, &added);
    if (!added)
        return &residues->at[at];
    Residue r = {.parts = keep_parts(s, parts->at, parts->len), .nparts = parts->len};
    for (uint32_t i = 0; i < r.nparts; i++) {
        const UnitPart *p = &r.parts[i];
        r.counts |= p->kind == PART_COUNT;
        r.probes |= p->kind != PART_COUNT;
        r.apart |= p->kind != PART_COUNT && part_has_record(p) && !p->at_end;
    }
    r.apart &= r.counts;
    vec_push(residues, r);
    return &vec_last(residues);
}

static uint32_t form_number(Splitter *s, const Unit *u, Buf *form) {
    if (u->dynamic) { /* its bits are those of this unit */
        form->len = 0;
        buf_printf(form, "whole %u", s->forms.len);
    }
    return (uint32_t)*map_put(&s->forms, buf_view(form), s->forms.len, NULL);
}

/* False if there are too many. */
static bool tabulate(Splitter *s, const Unit *u, Residues *residues, uint64_t any[4]) {
    Map keys = {0};
    Parts parts = {0};
    Buf key = {0}, form = {0};
    bool ok = true;
    for (uint32_t a = 0; a < 1u << u->ntable && ok; a++) {
        uint64_t bit = (uint64_t)1 << (a & 63);
        if (!possible(u, a)) {
            any[a >> 6] |= bit;
            continue;
        }
        unit_split_decide(s, u, a, &parts, &key, &form);
        if (!parts.len)
            continue;
        Residue *r = residue_for(s, residues, &keys, &key, &parts);
        if (!(r->when[0] | r->when[1] | r->when[2] | r->when[3]))
            r->form = form_number(s, u, &form);
        r->when[a >> 6] |= bit;
        ok = u->dynamic || residues->len <= 1 || s->nresidues + residues->len <= UNIT_RESIDUES;
    }
    vec_free(&parts);
    map_free(&keys);
    buf_free(&key);
    buf_free(&form);
    return ok;
}

bool unit_split(Splitter *s, Unit *u) {
    Residues residues = {0};
    uint64_t any[4] = {0};
    u->ntable = u->natoms;
    bool whole = u->natoms > UNIT_ATOMS || !tabulate(s, u, &residues, any);
    if (whole) {
        residues.len = 0;
        memset(any, 0, sizeof any);
        leave_conditions(s, u);
        if (u->ntable > UNIT_ATOMS)
            return false;
        tabulate(s, u, &residues, any);
    }
    u->nresidues = residues.len;
    u->residues = arena_array(&s->plan->arena, Residue, residues.len + 1);
    s->nresidues += residues.len;
    for (uint32_t i = 0; i < residues.len; i++) {
        u->residues[i] = residues.at[i];
        unit_split_find_terms(s, u->ntable, any, &u->residues[i]);
    }
    vec_free(&residues);
    return true;
}
