/*
 * rewrite/rare.c - conditions of probes that rarely hold.
 */
#include "rewrite/rare.h"

#include "gen/template.h"

typedef Vec(uint32_t) Places;

/* Whether something else is executed between two offsets of a template. */
static bool has_hole(const Template *t, uint32_t after, uint32_t to) {
    for (uint32_t i = 0; i < t->nholes; i++)
        if (t->holes[i].at > after && t->holes[i].at <= to)
            return true;
    return false;
}

/* The offsets of `i32.const 0 i32.lt_s if`, at the `if`. */
static void find_rare(const Template *t, Places *places) {
    WasmCode code = wasm_code(t->code, t->len, 0);
    WasmInstr i;
    uint32_t zero = UINT32_MAX; /* the offset of the constant, while it may be one of these */
    bool below = false;
    while (wasm_next(&code, &i)) {
        if (below && i.op == WASM_OP_IF && !has_hole(t, zero, i.offset))
            vec_push(places, i.offset);
        below = i.op == WASM_OP_I32_LT_S && zero != UINT32_MAX;
        if (!below)
            zero = i.op == WASM_OP_I32_CONST && i.c == 0 ? i.offset : UINT32_MAX;
    }
}

/* The template with marks. */
static const Template *mark(const Template *t, const Places *places, Arena *arena) {
    Template *marked = arena_new(arena, Template);
    Hole *holes = arena_array(arena, Hole, t->nholes + places->len);
    uint32_t n = 0, next = 0;
    for (uint32_t k = 0; k <= places->len; k++) {
        uint32_t to = k < places->len ? places->at[k] : UINT32_MAX;
        while (next < t->nholes && t->holes[next].at <= to)
            holes[n++] = t->holes[next++];
        if (k < places->len)
            holes[n++] = (Hole){.at = to, .kind = HOLE_RARE};
    }
    *marked = *t;
    marked->holes = holes;
    marked->nholes = n;
    return marked;
}

static bool has_hints(const WasmModule *m) {
    for (uint32_t k = 0; k < m->sections.len; k++)
        if (m->sections.at[k].id == WASM_SEC_CUSTOM &&
            str_is(m->sections.at[k].name, WASM_BRANCH_HINTS))
            return true;
    return false;
}

void rare_mark(Plan *plan, WasmModule *m) {
    if (has_hints(m))
        return;
    Places places = {0};
    for (uint32_t k = 0; k < plan->shapes.len; k++) {
        Shape *s = plan->shapes.at[k];
        places.len = 0;
        if (s->template)
            find_rare(s->template, &places);
        if (!places.len)
            continue;
        s->template = (void *)(uintptr_t)mark(s->template, &places, &plan->arena);
        m->hints_rare = true;
    }
    vec_free(&places);
}
