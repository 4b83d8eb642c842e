/*
 * rewrite/branch_hints.c - conditions of probes that rarely hold: engines that read branch hints
 * keep the code under them away from the rest, so that it needs no registers there.
 */
#include "rewrite/pass.h"

typedef Vec(uint32_t) Places;

/* Returns the first hole after an offset of a template. */
static uint32_t hole_after(const Template *t, uint32_t at) {
    uint32_t low = 0, high = t->nholes;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->holes[mid].at > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Whether something else is executed between two offsets of a template. */
static bool has_hole(const Template *t, uint32_t after, uint32_t to) {
    uint32_t i = hole_after(t, after);
    return i < t->nholes && t->holes[i].at <= to;
}

/* Whether a variable, and nothing else, is set and read between two offsets of a template. */
static bool sets_variable(const Template *t, uint32_t after, uint32_t to) {
    uint32_t first = hole_after(t, after), n = 0;
    const Hole *at = t->holes + first;
    while (n <= 2 && first + n < t->nholes && at[n].at <= to)
        n++;
    if (!n || n > 2 || at[0].kind != HOLE_VAR)
        return false;
    if (n == 1)
        return at[0].access == HOLE_TEE;
    return at[0].access == HOLE_SET && at[1].kind == HOLE_VAR && at[1].access == HOLE_GET &&
           at[1].n == at[0].n;
}

/* Whether the condition of the `if` is whether the host has called the function. */
static bool is_outermost(const Template *t, uint32_t at) {
    uint32_t i = hole_after(t, at);
    const Hole *last = i ? &t->holes[i - 1] : NULL;
    return last && last->at == at && last->kind == HOLE_STACK && last->n == STACK_OUTERMOST;
}

/*
 * Finds the offset of each `if` after one of
 *
 *   i32.const 0  i32.lt_s
 *   i32.sub  local.tee N  i32.eqz    (or: local.set N  local.get N; or a global)
 *   stack.outermost()
 */
static void find_rare(const Template *t, Places *places) {
    WasmCode code = wasm_code(t->code, t->len, 0);
    WasmInstr last[2] = {{.op = WASM_OP_NOP}, {.op = WASM_OP_NOP}}, i;
    for (; wasm_next(&code, &i); last[0] = last[1], last[1] = i) {
        uint32_t from = last[0].offset;
        if (i.op == WASM_OP_IF && is_outermost(t, i.offset))
            vec_push(places, i.offset);
        if (i.op != WASM_OP_IF || has_hole(t, last[1].offset, i.offset))
            continue;
        bool below = last[1].op == WASM_OP_I32_LT_S && last[0].op == WASM_OP_I32_CONST &&
                     last[0].c == 0 && !has_hole(t, from, i.offset);
        bool zero = last[1].op == WASM_OP_I32_EQZ && last[0].op == WASM_OP_I32_SUB &&
                    sets_variable(t, from, last[1].offset);
        if (below || zero)
            vec_push(places, i.offset);
    }
}

/* Returns the template with marks. */
static const Template *branch_hints_mark(const Template *t, const Places *places, Arena *arena) {
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

static bool branch_hints_begin(Rewrite *r, void *self) {
    (void)self;
    return !r->options->no_optimise && !has_hints(&r->p.m);
}

/* Marks each `if` of templates that asks whether a 32-bit integer is below 0, or whether a variable
 * that has just been decreased is 0, as a countdown does (`left--; if (left < 0) { ... }`, `left--;
 * if (left == 0) { ... }`), or whether the host has called the function (`if (stack.outermost() !=
 * 0) { ... }`), and makes the module get hints. */
static void branch_hints_shape(Rewrite *r, void *self) {
    (void)self;
    Plan *plan = r->p.plan;
    Places places = {0};
    for (uint32_t k = 0; k < plan->shapes.len; k++) {
        Shape *s = plan->shapes.at[k];
        places.len = 0;
        if (s->template)
            find_rare(s->template, &places);
        if (!places.len)
            continue;
        s->template = (void *)(uintptr_t)branch_hints_mark(s->template, &places, &plan->arena);
        r->p.m.hints_rare = true;
    }
    vec_free(&places);
}

/* A program that has hints of its own gets none. */
const RewritePass branch_hints_pass = {
    .name = "branch_hints",
    .begin = branch_hints_begin,
    .shape = branch_hints_shape,
};
