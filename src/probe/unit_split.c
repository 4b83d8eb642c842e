/*
 * probe/unit_split.c - what is left of a unit for each assignment of its atoms.
 */
#include "probe/unit_split.h"

#include "probe/unit_text.h"

void splitter_free(Splitter *s) {
    map_free(&s->forms);
    map_free(&s->probes);
    map_free(&s->terms);
    vec_free(&s->texts);
}

/* The value of the first atom of a kind; `otherwise` if there is none. */
static bool value_of(const Unit *u, uint32_t assignment, UnitAtomKind kind, bool otherwise) {
    for (uint32_t k = 0; k < u->natoms; k++)
        if (u->atoms[k].kind == kind)
            return assignment >> k & 1;
    return otherwise;
}

/* These always end a block where one can be. */
static bool ends_blocks(WasmOp op) {
    switch (op) {
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE:
    case WASM_OP_IF:
    case WASM_OP_ELSE:
    case WASM_OP_LOOP:
    case WASM_OP_RETURN:
    case WASM_OP_UNREACHABLE: return true;
    default: return false;
    }
}

bool unit_possible(const Unit *u, uint32_t a) {
    for (uint32_t k = 0; k < u->natoms; k++)
        if (u->atoms[k].guard != UNIT_KNOWN && (a >> k & 1) && !(a >> u->atoms[k].guard & 1))
            return false;
    if (u->event != MONITOR_OPCODE)
        return true;
    bool first = value_of(u, a, ATOM_BLOCK_FIRST, false);
    bool last = value_of(u, a, ATOM_BLOCK_LAST, false);
    if ((first || last) && !value_of(u, a, ATOM_LIVE, true))
        return false;
    if (first && !value_of(u, a, ATOM_BLOCK_LAST, true) && ends_blocks(u->op))
        return false;
    if (u->op != WASM_OP_END)
        return true;
    bool ends = value_of(u, a, ATOM_BRANCHED, true) || value_of(u, a, ATOM_LAST, true);
    return !(last && !ends) &&
           !(first && !value_of(u, a, ATOM_BLOCK_LAST, true) &&
             (value_of(u, a, ATOM_BRANCHED, false) || value_of(u, a, ATOM_LAST, false)));
}

static bool gates_hold(const UnitPart *p, uint32_t assignment) {
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

/* The text of what is left of a variant's probe. */
static Str probe_text(Splitter *s, Variant *v, Event event, uint64_t atoms) {
    struct {
        const Variant *v;
        uint64_t atoms, event;
    } key = {v, atoms, (uint64_t)event.kind << 32 | event.op};
    bool added;
    uint64_t index = *map_put(&s->probes, (Str){(char *)&key, sizeof key}, s->texts.len, &added);
    if (!added)
        return s->texts.at[index];
    Buf text = {0};
    Decided d = {event, v, UINT64_MAX, atoms};
    unit_text_probe(&d, &text);
    vec_push(&s->texts, ((Str){arena_strndup(&s->plan->arena, (char *)text.data, text.len),
                               (uint32_t)text.len}));
    buf_free(&text);
    return vec_last(&s->texts);
}

/* Operands of a variant that come as i64. */
static uint32_t wide_operands(const Unit *u, const Variant *v, uint32_t assignment) {
    uint32_t wide = 0;
    for (uint32_t k = 0; k < u->natoms; k++) {
        if (u->atoms[k].kind != ATOM_WIDE || !(assignment >> k & 1))
            continue;
        for (uint32_t i = 0; i < v->args.len; i++)
            if (v->args.at[i].used && v->args.at[i].n == u->atoms[k].n)
                wide |= 1u << u->atoms[k].n;
    }
    return wide;
}

/* What is left of the unit: parts appended to `parts`; two texts that tell residues apart, with and
 * without the actions. */
typedef Vec(UnitPart) Parts;

static uint32_t decide(Splitter *s, const Unit *u, uint32_t assignment, Parts *parts, Buf *key,
                       Buf *form) {
    uint32_t wide = 0;
    bool jumped = value_of(u, assignment, ATOM_BRANCHED, true); /* control may come by a branch */
    parts->len = 0;
    key->len = form->len = 0;
    for (uint32_t i = 0; i < u->nparts; i++) {
        UnitPart p = u->parts[i];
        if (!gates_hold(&p, assignment))
            continue;
        Str text = {0};
        const void *variant = NULL;
        if (p.action) {
            Variant *v = p.action->variant;
            Shape *shape = plan_shape_for(s->plan, v, variant_atoms(&p, assignment));
            if (shape->never)
                continue;
            p.shape = shape;
            if (p.kind == PART_ACTION || v->starts_dynamic || v->exits)
                text = probe_text(s, v, p.action->event, shape->atoms);
            if (p.kind == PART_ACTION)
                wide |= wide_operands(u, v, assignment);
            variant = v;
        }
        p.gates = NULL;
        p.ngates = 0;
        p.unless_back &= jumped;
        vec_push(parts, p);
        uint8_t flags[] = {(uint8_t)p.kind, p.unless_back, p.if_taken, p.at_end, (uint8_t)p.back};
        buf_bytes(form, flags, sizeof flags);
        buf_bytes(form, &variant, sizeof variant);
        buf_name(form, text);
        buf_bytes(key, &p.action, sizeof p.action);
    }
    buf_u32le(form, wide);
    buf_bytes(key, form->data, form->len);
    return wide;
}

static void find_terms(Splitter *s, uint32_t natoms, const uint64_t any[4], Residue *r) {
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

/* More atoms than can be tabulated. */
static void leave_whole(Splitter *s, Unit *u) {
    static const char whole = 1;
    u->dynamic = true;
    u->residues = arena_new(&s->plan->arena, Residue);
    u->nresidues = 1;
    *u->residues = (Residue){.parts = u->parts, .nparts = u->nparts};
    Buf unique = {0};
    buf_printf(&unique, "%c%u", whole, s->forms.len);
    u->residues->form = (uint32_t)*map_put(
        &s->forms, (Str){(char *)unique.data, (uint32_t)unique.len}, s->forms.len, NULL);
    buf_free(&unique);
}

void unit_split(Splitter *s, Unit *u) {
    if (u->natoms > UNIT_ATOMS) {
        leave_whole(s, u);
        return;
    }
    Vec(Residue) residues = {0};
    Map keys = {0};
    Parts parts = {0};
    Buf key = {0}, form = {0};
    uint64_t any[4] = {0};
    for (uint32_t a = 0; a < 1u << u->natoms; a++) {
        if (!unit_possible(u, a)) {
            any[a >> 6] |= (uint64_t)1 << (a & 63);
            continue;
        }
        uint32_t wide = decide(s, u, a, &parts, &key, &form);
        if (!parts.len)
            continue;
        bool added;
        uint64_t at =
            *map_put(&keys, (Str){(char *)key.data, (uint32_t)key.len}, residues.len, &added);
        if (added)
            vec_push(&residues,
                     ((Residue){.parts = keep_parts(s, parts.at, parts.len),
                                .nparts = parts.len,
                                .wide = wide,
                                .form = (uint32_t)*map_put(
                                    &s->forms, (Str){(char *)form.data, (uint32_t)form.len},
                                    s->forms.len, NULL)}));
        residues.at[at].when[a >> 6] |= (uint64_t)1 << (a & 63);
    }
    u->nresidues = residues.len;
    u->residues = arena_array(&s->plan->arena, Residue, residues.len + 1);
    for (uint32_t i = 0; i < residues.len; i++) {
        u->residues[i] = residues.at[i];
        find_terms(s, u->natoms, any, &u->residues[i]);
    }
    vec_free(&residues);
    vec_free(&parts);
    map_free(&keys);
    buf_free(&key);
    buf_free(&form);
}
