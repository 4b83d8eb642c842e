/*
 * monitor/make/unit_print.c - units for people.
 *
 *     loop
 *       (fid == 3)
 *         [unless back] probe 0 { count++; }
 *         back = 0
 *       !(fid == 3)
 *         back = 0
 */
#include "monitor/make/unit.h"

#include "monitor/make/unit_text.h"

static void put_unit_name(const Unit *u, Buf *out) {
    switch (u->event) {
    case MONITOR_FUNC_ENTRY: buf_printf(out, "func:entry"); break;
    case MONITOR_FUNC_EXIT: buf_printf(out, "func:exit"); break;
    default: buf_printf(out, "%s", wasm_ops[u->op].mnemonic);
    }
}

static void put_literal(const Unit *u, uint32_t atom, bool value, Buf *out) {
    const UnitAtom *a = &u->atoms[atom];
    if (!value)
        buf_u8(out, '!');
    buf_printf(out, a->kind == ATOM_TYPES ? "types(" : a->kind == ATOM_CONSTS ? "exist(" : "(");
    buf_printf(out, "%.*s)%s", STR_ARG(a->text), a->at_end ? " at end" : "");
}

static void put_terms(const Unit *u, const Residue *r, Buf *out) {
    for (uint32_t i = 0; i < r->nterms; i++) {
        UnitTerm t = r->terms[i];
        const char *between = "";
        buf_printf(out, i ? " || " : "");
        if (!t.mask)
            buf_printf(out, "always");
        for (uint32_t k = 0; k < u->ntable; k++) {
            if (!(t.mask >> k & 1))
                continue;
            buf_printf(out, "%s", between);
            put_literal(u, k, t.bits >> k & 1, out);
            between = " && ";
        }
    }
}

static void put_gates(const Unit *u, const UnitPart *p, Buf *out) {
    for (uint32_t i = 0; i < p->ngates; i++) {
        buf_printf(out, i ? " && " : "");
        put_literal(u, p->gates[i].atom, p->gates[i].value, out);
    }
    if (p->ngates)
        buf_printf(out, ": ");
}

static void unit_print_put_action(const Plan *plan, const UnitPart *p, Buf *out) {
    buf_printf(out, "probe %u", plan->probes.at[p->action->variant->source].probe->index);
    if (plan->scripts.len > 1)
        buf_printf(out, " of script %u", p->action->variant->script);
    if (p->kind == PART_ROW) {
        buf_printf(out, " row");
        return;
    }
    if (p->kind == PART_COUNT)
        buf_printf(out, " by segments");
    bool decided = p->shape != NULL;
    buf_u8(out, ' ');
    unit_text_probe(&(Decided){p->action->event, p->action->variant, decided ? UINT64_MAX : 0,
                               decided ? p->shape->atoms : 0},
                    out);
}

static void unit_print_put_part(const Plan *plan, const Unit *u, const UnitPart *p, Buf *out) {
    static const char *const backs[] = {
        [BACK_ALWAYS] = "1", [BACK_IF_ARG] = "arg0 != 0", [BACK_TO_LOOP] = "target is a loop"};
    put_gates(u, p, out);
    buf_printf(out, "%s%s", p->entering ? "[entering] " : "", p->if_taken ? "[if taken] " : "");
    switch (p->kind) {
    case PART_ACTION:
    case PART_ROW:
    case PART_COUNT: unit_print_put_action(plan, p, out); break;
    case PART_SET_BACK: buf_printf(out, "back = %s", backs[p->back]); break;
    case PART_CLEAR_BACK: buf_printf(out, "back = 0"); break;
    case PART_PUSH_FRAME: buf_printf(out, "push frame"); break;
    case PART_POP_FRAME: buf_printf(out, "pop frame"); break;
    case PART_REFUSE: buf_printf(out, "refuse: %s", p->why); break;
    }
}

static void unit_print_put_residue(const Plan *plan, const Unit *u, const Residue *r, Buf *out) {
    buf_printf(out, "  ");
    put_terms(u, r, out);
    if (u->dynamic)
        buf_printf(out, ", %u conditions at run time", u->natoms - u->ntable);
    buf_printf(out, "\n");
    for (uint32_t i = 0; i < r->nparts; i++) {
        buf_printf(out, "    ");
        unit_print_put_part(plan, u, &r->parts[i], out);
        buf_printf(out, "\n");
    }
}

/* Instructions with the same residues. */
typedef struct Group {
    Str text;
    Vec(uint32_t) units;
} Group;

enum { SHOWN = 6 };

static void put_group(const Units *units, const Group *g, Buf *out) {
    for (uint32_t i = 0; i < g->units.len && i < SHOWN; i++) {
        buf_printf(out, i ? ", " : "");
        put_unit_name(&units->list.at[g->units.at[i]], out);
    }
    if (g->units.len > SHOWN)
        buf_printf(out, " and %u more", g->units.len - SHOWN);
    buf_printf(out, "\n%.*s", STR_ARG(g->text));
}

void units_print(const Plan *plan, const Units *units, Buf *out) {
    Vec(Group) groups = {0};
    Map ids = {0};
    Arena texts = {0};
    Buf text = {0};
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        text.len = 0;
        for (uint32_t k = 0; k < u->nresidues; k++)
            unit_print_put_residue(plan, u, &u->residues[k], &text);
        bool added;
        uint64_t id = *map_put(&ids, buf_view(&text), groups.len, &added);
        if (added)
            vec_push(&groups, ((Group){.text = {arena_strndup(&texts, (char *)text.data, text.len),
                                                (uint32_t)text.len}}));
        vec_push(&groups.at[id].units, i);
    }
    for (uint32_t i = 0; i < groups.len; i++) {
        put_group(units, &groups.at[i], out);
        vec_free(&groups.at[i].units);
    }
    vec_free(&groups);
    map_free(&ids);
    arena_free(&texts);
    buf_free(&text);
}
