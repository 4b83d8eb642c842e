/*
 * gen/template.c - functions of a module become templates.
 */
#include "gen/template.h"

#include <assert.h>

void template_maker_free(TemplateMaker *t) {
    buf_free(&t->code);
    vec_free(&t->holes);
    vec_free(&t->temps);
    vec_free(&t->open);
}

bool template_takes_locals(const WasmModule *m, uint32_t func) {
    WasmTypes locals = {0};
    const char *error;
    bool takes = wasm_func_locals(m, func, &locals, &error) > 0;
    for (uint32_t i = 0; i < locals.len; i++) {
        WasmType t = locals.at[i];
        takes &= !WASM_IS_REF(t) || (t & WASM_NULL_BIT && t & WASM_ABSTRACT_BIT);
    }
    vec_free(&locals);
    return takes;
}

bool template_begin(TemplateMaker *t) {
    assert(t->func < t->m->funcs.len && !t->code.len && !t->temps.len);
    WasmTypes locals = {0};
    const char *error = NULL;
    t->first = wasm_func_locals(t->m, t->func, &locals, &error);
    t->nparams = wasm_func_type(t->m, t->func)->nparams;
    for (uint32_t i = t->nparams; i < locals.len; i++)
        template_add_temp(t, locals.at[i]);
    vec_push(&t->open, 0);
    vec_free(&locals);
    return t->first > 0;
}

uint32_t template_add_temp(TemplateMaker *t, WasmType type) {
    vec_push(&t->temps, ((TempUse){.type = type}));
    return t->temps.len - 1;
}

void template_add_hole(TemplateMaker *t, Hole h) {
    assert(!t->holes.len || vec_last(&t->holes).at <= t->code.len);
    h.at = (uint32_t)t->code.len;
    vec_push(&t->holes, h);
}

void template_use_temp(TemplateMaker *t, uint32_t n, HoleAccess access) {
    assert(n < t->temps.len);
    TempUse *use = &t->temps.at[n];
    template_add_hole(t, (Hole){0, HOLE_TEMP, (uint8_t)access, n, use->type});
    if (!use->seen) {
        use->seen = true;
        use->zero = access == HOLE_GET;
        use->owner = vec_last(&t->open);
        return;
    }
    bool inside = false;
    for (uint32_t i = 0; i < t->open.len; i++)
        inside |= t->open.at[i] == use->owner;
    use->zero |= !inside;
}

void template_add(TemplateMaker *t, const Template *inner) {
    uint32_t temps = t->temps.len, at = (uint32_t)t->code.len;
    for (uint32_t i = 0; i < inner->ntemps; i++)
        template_add_temp(t, inner->temps[i]);
    for (uint32_t i = 0; i < inner->nholes; i++) {
        Hole h = inner->holes[i];
        h.at += at;
        h.n += h.kind == HOLE_TEMP ? temps : 0;
        vec_push(&t->holes, h);
    }
    buf_bytes(&t->code, inner->code, inner->len);
}

/* Whether a branch goes to the function's own label. */
static bool template_leaves(const TemplateMaker *t, const WasmInstr *i) {
    uint32_t outermost = t->open.len - 1;
    if (!wasm_has_labels(i))
        return false;
    bool out = i->a >= outermost;
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; i->op == WASM_OP_BR_TABLE && k < i->count; k++)
        out |= wasm_vec_u32(&at) >= outermost;
    return out;
}

static bool template_put(TemplateMaker *t, const uint8_t *body, const WasmInstr *i) {
    if (t->put)
        return t->put(t->ctx, t, body + i->offset, i);
    buf_bytes(&t->code, body + i->offset, i->size);
    return true;
}

/* A local of the function, which is no parameter. */
static bool put_temp(TemplateMaker *t, const WasmInstr *i) {
    if (i->a - t->nparams >= t->temps.len)
        return false;
    template_use_temp(t, i->a - t->nparams, hole_access((WasmOp)i->op));
    return true;
}

static bool template_take(TemplateMaker *t, const uint8_t *body, const WasmInstr *i) {
    switch (i->op) {
    case WASM_OP_LOCAL_GET:
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE: return i->a < t->nparams ? template_put(t, body, i) : put_temp(t, i);
    case WASM_OP_RETURN:
        t->jumps = true;
        wasm_put_op(&t->code, WASM_OP_BR);
        buf_uleb(&t->code, t->open.len - 1);
        return true;
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF: vec_push(&t->open, ++t->next_construct); break;
    case WASM_OP_ELSE: vec_last(&t->open) = ++t->next_construct; break;
    case WASM_OP_END:
        t->open.len--;
        if (!t->open.len)
            return true;
        break;
    default: t->jumps |= template_leaves(t, i); break;
    }
    return template_put(t, body, i);
}

/* Leaves of a tuple that the template returns. */
static void list_gives(Template *t, Arena *arena) {
    for (uint32_t i = 0; i < t->nholes; i++)
        if (t->holes[i].kind == HOLE_GIVE && t->holes[i].n >= t->ngives)
            t->ngives = t->holes[i].n + 1;
    WasmType *gives = arena_array(arena, WasmType, t->ngives + 1);
    for (uint32_t i = 0; i < t->nholes; i++)
        if (t->holes[i].kind == HOLE_GIVE)
            gives[t->holes[i].n] = t->holes[i].type;
    t->gives = gives;
}

/* Puts the zeroing of temporaries and the block for jumps before it, and makes the template. */
const Template *template_close(TemplateMaker *d, WasmType result, Arena *arena) {
    Template *t = arena_new(arena, Template);
    Buf code = {0};
    Vec(Hole) holes = {0};
    t->accesses = d->accesses;
    WasmType *temps = arena_array(arena, WasmType, d->temps.len + 1);
    for (uint32_t i = 0; i < d->temps.len; i++) {
        temps[i] = d->temps.at[i].type;
        if (d->zeros ? !d->zeros[i] : !d->temps.at[i].zero)
            continue;
        wasm_put_zero(&code, temps[i]);
        vec_push(&holes, ((Hole){(uint32_t)code.len, HOLE_TEMP, HOLE_SET, i, temps[i]}));
    }
    if (d->jumps) {
        wasm_put_op(&code, WASM_OP_BLOCK);
        wasm_put_type(&code, result);
        wasm_put_op(&d->code, WASM_OP_END);
    }
    for (uint32_t i = 0; i < d->holes.len; i++) {
        Hole h = d->holes.at[i];
        h.at += (uint32_t)code.len;
        vec_push(&holes, h);
    }
    buf_bytes(&code, d->code.data, d->code.len);
    t->len = (uint32_t)code.len;
    t->code = (const uint8_t *)arena_strndup(arena, (const char *)code.data, code.len);
    t->nholes = holes.len;
    t->holes = memcpy(arena_array(arena, Hole, holes.len + 1), holes.at ? holes.at : (Hole[1]){{0}},
                      holes.len * sizeof(Hole));
    t->ntemps = d->temps.len;
    t->temps = temps;
    t->result = result;
    t->nparams = d->nparams;
    list_gives(t, arena);
    buf_free(&code);
    vec_free(&holes);
    return t;
}

/* Takes instructions up to the `end` of the function; NULL if one cannot be in a template. */
static const Template *take_all(TemplateMaker *t, WasmCode code, const uint8_t *body,
                                WasmType result, Arena *arena) {
    WasmInstr i;
    bool ok = true;
    while (ok && wasm_next(&code, &i))
        ok = t->open.len && template_take(t, body, &i);
    return ok && !code.error ? template_close(t, result, arena) : NULL;
}

const Template *template_make(TemplateMaker *t, Arena *arena) {
    assert(t->first && t->put); /* begun */
    const WasmTypeDef *type = wasm_func_type(t->m, t->func);
    const uint8_t *body = t->source ? t->source->data : wasm_func_body(t->m, t->func);
    WasmCode code = t->source ? wasm_code(body, t->source->len, 0)
                              : wasm_code(body, t->m->funcs.at[t->func].body_size, t->first);
    return take_all(t, code, body, type->nresults ? type->results[0] : WASM_NONE, arena);
}

const Template *template_of_code(TemplateMaker *t, const Buf *code, WasmType result, Arena *arena) {
    assert(t->put);
    vec_push(&t->open, 0);
    return take_all(t, wasm_code(code->data, (uint32_t)code->len, 0), code->data, result, arena);
}
