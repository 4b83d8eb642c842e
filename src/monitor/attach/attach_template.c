/*
 * monitor/attach/attach_template.c - probe functions of monitors as templates.
 *
 * A small function is inlined at each of its sites: static parameters become constants, operands
 * and locals are read directly, and parameters that the function changes become temporaries. A
 * larger one is called. Results of a probe function are dropped.
 */
#include "monitor/attach/attach_code.h"

#include "edit/merge.h"
#include "gen/template.h"
#include "wasm/emit.h"

#include <assert.h>

enum {
    MAX_INLINE = 64, /* bytes of a body that is inlined */
};

typedef struct Inliner {
    const Bind *b;
    const BindState *s;
    BindRule *r;
    WasmRemap map;
} Inliner;

/* ---- inlining ---- */

/* Instructions that would mean something else inside another function, or need more than a
 * temporary. */
static bool is_foreign(const WasmInstr *i) {
    return wasm_flow(i->op) == WASM_FLOW_TAIL_CALL || i->op == WASM_OP_TRY ||
           i->op == WASM_OP_TRY_TABLE || wasm_has_handlers(i->op);
}

/* Fills temp with 0 for parameters that are changed. Returns false if the function must be
 * called. */
static bool can_inline(const Inliner *x, uint32_t *temp) {
    const WasmModule *m = &x->s->monitor.m;
    uint32_t func = x->r->probe->func;
    const WasmFunc *f = &m->funcs.at[func];
    if (f->import >= 0 || f->body_size > MAX_INLINE || wasm_func_type(m, func)->nresults ||
        !template_takes_locals(m, func) || x->b->options->no_optimise ||
        x->b->options->empty_bodies)
        return false;
    WasmCode code;
    WasmInstr i;
    wasm_func_code(m, func, &code);
    while (wasm_next(&code, &i)) {
        if (is_foreign(&i))
            return false;
        bool changes = i.op == WASM_OP_LOCAL_SET || i.op == WASM_OP_LOCAL_TEE;
        if (changes && i.a < x->r->probe->rule.nparams)
            temp[i.a] = 0;
    }
    return true;
}

/* ---- code ---- */

/* Pushes the argument for a parameter. */
static void put_formal(TemplateMaker *t, const BindFormal *f) {
    switch (f->kind) {
    case PARAM_ARG: template_add_hole(t, (Hole){0, HOLE_ARG, HOLE_GET, f->n, f->type}); break;
    case PARAM_LOCAL: template_add_hole(t, (Hole){0, HOLE_LOCAL, HOLE_GET, f->n, f->type}); break;
    case PARAM_FRAME: wasm_put_zero(&t->code, f->type); break;
    default: template_add_hole(t, (Hole){0, HOLE_WORD, HOLE_GET, f->word, f->type}); break;
    }
}

/* Whether the instruction is part of a change of a cell that is in a global. */
static bool attach_template_put_cell(const Inliner *x, TemplateMaker *t, const WasmInstr *i) {
    BindRole role = x->r->source->role[i->offset];
    if (role.kind == CELL_NONE)
        return false;
    uint8_t access = role.kind == CELL_LOAD ? HOLE_GET : HOLE_SET;
    WasmType type = x->b->cells.at[role.cell].type;
    if (role.kind != CELL_ADDRESS)
        template_add_hole(t, (Hole){0, HOLE_CELL, access, role.cell, type});
    return true;
}

static bool attach_template_put_instr(void *ctx, TemplateMaker *t, const uint8_t *bytes,
                                      const WasmInstr *i) {
    const Inliner *x = ctx;
    const uint32_t *temp = x->r->source->temp;
    if (x->s->in_globals && attach_template_put_cell(x, t, i))
        return true;
    bool param = wasm_ops[i->op].category == WASM_CAT_LOCAL; /* others are temporaries already */
    if (param && temp[i->a] != UINT32_MAX)
        template_use_temp(t, temp[i->a], hole_access((WasmOp)i->op));
    else if (param)
        put_formal(t, &x->r->formals[i->a]);
    else
        wasm_copy_instr(bytes, i, &x->map, &t->code);
    return true;
}

/* BindAddress.holds: the address is a constant, or constant at each location; memories do not
 * shrink.
 */
static bool attach_template_is_inside(void *ctx, const WasmInstr *address, const WasmInstr *access,
                                      uint32_t size) {
    const Inliner *x = ctx;
    const WasmMerge *g = &x->b->states[x->r->monitor].part->monitor->merge;
    const WasmLimits *l = &g->to->memories.at[g->handles[WASM_SPACE_MEMORY][access->b]].limits;
    uint64_t end = access->c + size, bytes = l->min << l->page_log2;
    if (l->is64 || end > bytes)
        return false;
    if (address->op == WASM_OP_I32_CONST)
        return (uint32_t)address->c <= bytes - end;
    if (address->a >= x->r->probe->rule.nparams || x->r->source->temp[address->a] != UINT32_MAX)
        return false;
    const BindFormal *f = &x->r->formals[address->a];
    return f->is_static && f->max <= bytes - end;
}

static const Template *attach_template_inlined(Inliner *x, Arena *arena) {
    const BindRule *r = x->r;
    uint32_t *temp = r->source->temp;
    TemplateMaker t = {.m = &x->s->monitor.m,
                       .func = r->probe->func,
                       .put = attach_template_put_instr,
                       .ctx = x,
                       .source = &r->source->code};
    bool ok = template_begin(&t);
    for (uint32_t i = 0; i < r->probe->rule.nparams; i++) {
        if (temp[i] == UINT32_MAX)
            continue;
        temp[i] = template_add_temp(&t, r->formals[i].type);
        put_formal(&t, &r->formals[i]);
        template_use_temp(&t, temp[i], HOLE_SET);
    }
    const Template *template = ok ? template_make(&t, arena) : NULL;
    template_maker_free(&t);
    return template;
}

static const Template *called(const Inliner *x, Arena *arena) {
    const BindRule *r = x->r;
    const WasmModule *to = &x->b->p.m;
    bool empty = r->empty != UINT32_MAX;
    uint32_t handle = empty ? r->empty : bind_part_func(x->s->part, r->probe->func);
    uint32_t nresults = empty ? 0 : wasm_func_type(&x->s->monitor.m, r->probe->func)->nresults;
    uint32_t func = wasm_final(to, WASM_SPACE_FUNC, handle);
    TemplateMaker t = {0};
    for (uint32_t i = 0; i < r->probe->rule.nparams; i++)
        put_formal(&t, &r->formals[i]);
    emit(&t.code, "call %u", func);
    for (uint32_t k = nresults; k > 0; k--)
        emit(&t.code, "drop");
    const Template *template = template_close(&t, WASM_NONE, arena);
    template_maker_free(&t);
    return template;
}

/* Only if the location's flag does not say that the probe was removed. */
static const Template *guarded(const Inliner *x, const Template *inner, Arena *arena) {
    uint32_t memory = wasm_final(&x->b->p.m, WASM_SPACE_MEMORY, (uint32_t)x->s->ids.flags);
    TemplateMaker t = {0};
    template_add_hole(&t, (Hole){0, HOLE_WORD, HOLE_GET, x->r->id_word, WASM_I32});
    emit(&t.code, "i32.load8_u %u 0 i32.eqz if", memory);
    template_add(&t, inner);
    emit(&t.code, "end");
    const Template *template = template_close(&t, WASM_NONE, arena);
    template_maker_free(&t);
    return template;
}

/* ---- */

/* From the monitor's indices to final ones. */
static WasmRemap final_map(const BindPart *part, const WasmModule *to, Arena *arena) {
    const WasmMerge *g = &part->monitor->merge;
    WasmRemap map = {0};
    for (uint32_t space = 0; space < WASM_SPACE_LOCAL; space++) {
        uint32_t n = g->handles[space] ? wasm_space_count(g->from, (WasmSpace)space) : 0;
        uint32_t *final = arena_array(arena, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t handle = g->handles[space][i];
            final[i] = handle == UINT32_MAX ? handle : wasm_final(to, (WasmSpace)space, handle);
        }
        map.map[space] = final;
        map.count[space] = n;
    }
    return map;
}

/* The largest value of each static parameter at any location. */
static void find_largest(const Bind *b, const BindState *s) {
    for (uint32_t i = 0; i < s->hits.len; i++) {
        const BindHit *h = &s->hits.at[i];
        const BindRule *r = &b->rules.at[h->rule];
        for (uint32_t k = 0; k < r->probe->rule.nparams; k++) {
            BindFormal *f = &r->formals[k];
            uint64_t v = f->is_static ? s->words.at[h->words + f->word] : 0;
            f->max = v > f->max ? v : f->max;
        }
    }
}

static void attach_template_prepare(Inliner *x, Arena *arena) {
    const WasmModule *m = &x->s->monitor.m;
    const WasmFunc *f = &m->funcs.at[x->r->probe->func];
    uint32_t n = x->r->probe->rule.nparams;
    uint32_t *temp = arena_array(arena, uint32_t, n + 1);
    memset(temp, 0xff, sizeof *temp * (n + 1u));
    if (!can_inline(x, temp))
        return;
    x->r->source = arena_new(arena, BindSource);
    x->r->source->temp = temp;
    const BindAddress in_bounds = {attach_template_is_inside, x};
    Buf *code = &x->r->source->code;
    if (bind_counts(m, x->r->probe->func, &in_bounds, code))
        return;
    WasmTypes locals = {0};
    const char *error;
    uint32_t first = wasm_func_locals(m, x->r->probe->func, &locals, &error);
    vec_free(&locals);
    code->len = 0;
    buf_bytes(code, m->bytes + f->body + first, f->body_size - first);
}

void bind_inline(Bind *b) {
    assert(b->rules.len == b->plan.actions.len);
    Inliner x = {.b = b};
    const BindAddress in_bounds = {attach_template_is_inside, &x};
    for (uint32_t k = 0; k < b->nstates; k++) {
        const BindState *s = x.s = &b->states[k];
        find_largest(b, s);
        for (uint32_t i = 0; i < s->nrules; i++) {
            x.r = &b->rules.at[s->first_rule + i];
            if (b->plan.actions.at[s->first_rule + i].sites)
                attach_template_prepare(&x, &b->plan.arena);
        }
    }
    if (b->options->coalesce && !b->options->no_optimise && !b->options->empty_bodies)
        bind_sums(b, &in_bounds, &x.r);
    for (uint32_t k = 0; k < b->nstates; k++) {
        BindState *s = &b->states[k];
        for (uint32_t i = 0; i < s->hits.len; i++)
            b->rules.at[s->hits.at[i].rule].coded |= bind_has_code(&s->hits.at[i]);
        bind_cells(b, s, &in_bounds, &x.r);
    }
}

bool bind_templates(Bind *b) {
    Arena *arena = &b->plan.arena;
    for (uint32_t k = 0; k < b->nstates; k++) {
        const BindState *s = &b->states[k];
        Inliner x = {.b = b, .s = s};
        x.map = final_map(s->part, &b->p.m, arena);
        for (uint32_t i = 0; i < s->nrules; i++) {
            const Action *a = &b->plan.actions.at[s->first_rule + i];
            x.r = &b->rules.at[s->first_rule + i];
            if (!x.r->coded)
                continue;
            const Template *t =
                x.r->source ? attach_template_inlined(&x, arena) : called(&x, arena);
            if (t && x.r->id_word != UINT32_MAX && s->ids.flags >= 0)
                t = guarded(&x, t, arena);
            if (!t) {
                diag(b->p.diags, DIAG_INTERNAL, NO_SPAN,
                     "internal error: a probe function cannot be decoded");
                return false;
            }
            a->variant->shapes.only->template = (void *)t;
        }
    }
    return true;
}
