/*
 * rewrite/outline.c - code that is the same at many sites but for a few numbers becomes a function,
 * which the sites call with these.
 *
 * Only code that calls something anyway, such as a clock: there one more call hardly matters.
 * Elements of maps must be in memory, so that an address tells one from another.
 */
#include "rewrite/pass.h"
#include "wasm/emit.h"

enum {
    MAX_PARAMS = 8,
    MANY_SITES = 16,     /* for which elements of maps are put into memory */
    HOLE_BYTES = 4,      /* approximate size of a filled hole: an index, an address */
    FUNCTION_BYTES = 16, /* of a function beside its code: type, index, name, locals */
};

/* ---- whether elements of maps go into memory ---- */

static void outline_note_call(void *ctx, Expr *e) {
    *(bool *)ctx |= e->kind == EXPR_CALL && e->fn;
}

static bool wants_memory(const Plan *plan) {
    uint64_t sites = 0;
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        const Shape *s = plan->shapes.at[i];
        bool calls = false;
        if (s->sites && s->variant->keys.list.len)
            ast_walk_probe(s->variant->probe, outline_note_call, &calls);
        sites += calls ? s->sites : 0;
    }
    return sites >= MANY_SITES;
}

/* ---- functions ---- */

typedef struct Outline {
    Plan *plan;
    Hole params[MAX_PARAMS]; /* pushed by sites */
    uint32_t nparams;
} Outline;

/* Finds the parameter that stands for a hole. False if there would be too many. */
static bool find_param(Outline *o, const Hole *h, uint32_t *param) {
    uint32_t i = 0;
    while (i < o->nparams && (o->params[i].kind != h->kind || o->params[i].n != h->n))
        i++;
    if (i == MAX_PARAMS)
        return false;
    if (i == o->nparams) {
        o->params[o->nparams++] = *h;
        o->params[i].at = 0;
    }
    *param = i;
    return true;
}

static bool is_param(const Hole *h) {
    return h->kind == HOLE_ELEMENT_ADDR || h->kind == HOLE_CONST;
}

static bool is_kept_once(const Plan *plan, uint32_t var) {
    Storage storage = plan->vars.at[var].decl->storage;
    return storage == STORAGE_SCRIPT || storage == STORAGE_SHARED;
}

/* Whether a hole is filled in the same way wherever it is. */
static bool outline_is_same_everywhere(const Outline *o, const Hole *h) {
    switch ((HoleKind)h->kind) {
    case HOLE_VAR: return is_kept_once(o->plan, h->n / HOLE_LEAVES);
    case HOLE_VAR_ADDR:
    case HOLE_TALLY: return is_kept_once(o->plan, h->n);
    case HOLE_TEMP:
    case HOLE_HELPER:
    case HOLE_FN:
    case HOLE_LIBRARY:
    case HOLE_TEXT:
    case HOLE_GOT:
    case HOLE_GLOBAL: return true;
    default: return false;
    }
}

static bool is_call(const Hole *h) {
    return h->kind == HOLE_FN || h->kind == HOLE_LIBRARY || h->kind == HOLE_HELPER;
}

/* Whether the code always calls something. A call under a condition may be rare, such as that of a
 * countdown. */
static bool always_calls(const Template *t) {
    WasmCode code = wasm_code(t->code, t->len, 0);
    WasmInstr i;
    uint32_t open = 0, hole = 0;
    while (wasm_next(&code, &i)) {
        for (; hole < t->nholes && t->holes[hole].at <= i.offset; hole++)
            if (!open && is_call(&t->holes[hole]))
                return true;
        open += wasm_flow_opens(wasm_flow(i.op));
        open -= wasm_flow(i.op) == WASM_FLOW_END;
    }
    for (; hole < t->nholes; hole++)
        if (is_call(&t->holes[hole]))
            return true;
    return false;
}

/* Finds the parameters. False if the template cannot be the code of a function. */
static bool look_at_holes(Outline *o, const Template *t) {
    uint32_t param;
    if (t->result != WASM_NONE || t->ngives)
        return false;
    for (uint32_t i = 0; i < t->nholes; i++) {
        const Hole *h = &t->holes[i];
        if (is_param(h) ? !find_param(o, h, &param) : !outline_is_same_everywhere(o, h))
            return false;
    }
    return always_calls(t);
}

static bool is_shorter(const Outline *o, const Shape *s, const Template *t) {
    uint64_t bytes = t->len + (uint64_t)HOLE_BYTES * t->nholes;
    uint64_t call = (uint64_t)HOLE_BYTES * (o->nparams + 1);
    return bytes * s->sites > call * s->sites + bytes + FUNCTION_BYTES;
}

/* Returns the function's code: that of the template, with parameters. */
static Template *outline_make_body(Outline *o, const Template *t) {
    Arena *arena = &o->plan->arena;
    Template *body = arena_new(arena, Template);
    Hole *holes = arena_array(arena, Hole, t->nholes + 1);
    Buf code = {0};
    *body = *t;
    body->nholes = 0;
    body->nparams = o->nparams;
    for (uint32_t i = 0, at = 0; i <= t->nholes; i++) {
        uint32_t end = i < t->nholes ? t->holes[i].at : t->len, param;
        buf_bytes(&code, t->code + at, end - at);
        at = end;
        if (i == t->nholes)
            break;
        if (is_param(&t->holes[i]) && find_param(o, &t->holes[i], &param)) {
            put_index(&code, WASM_OP_LOCAL_GET, param);
        } else {
            holes[body->nholes] = t->holes[i];
            holes[body->nholes++].at = (uint32_t)code.len;
        }
    }
    body->code = (const uint8_t *)arena_strndup(arena, (const char *)code.data, code.len);
    body->len = (uint32_t)code.len;
    body->holes = holes;
    buf_free(&code);
    return body;
}

/* Returns the code that remains at the sites: the parameters and the call. */
static Template *make_call(const Outline *o, uint32_t fn) {
    Template *call = arena_new(&o->plan->arena, Template);
    Hole *holes = arena_array(&o->plan->arena, Hole, o->nparams + 1);
    memcpy(holes, o->params, o->nparams * sizeof *holes);
    holes[o->nparams] = (Hole){.kind = HOLE_FN, .n = fn};
    *call = (Template){
        .code = (const uint8_t *)"", .holes = holes, .nholes = o->nparams + 1, .result = WASM_NONE};
    return call;
}

static const Type *param_type(WasmType type) {
    switch (type) {
    case WASM_I64: return &type_scalar[TYPE_U64];
    case WASM_F32: return &type_scalar[TYPE_F32];
    case WASM_F64: return &type_scalar[TYPE_F64];
    default: return &type_scalar[TYPE_U32];
    }
}

static const Fn *outline_declare(Outline *o) {
    Arena *arena = &o->plan->arena;
    Fn *fn = arena_new(arena, Fn);
    *fn = (Fn){.name = STR("whammc.probe"), .nparams = o->nparams, .result = &type_unit};
    fn->params = arena_array(arena, Var *, o->nparams + 1);
    for (uint32_t i = 0; i < o->nparams; i++) {
        fn->params[i] = arena_new(arena, Var);
        *fn->params[i] = (Var){.type = param_type(o->params[i].type)};
    }
    return fn;
}

static void outline(Plan *plan, Shape *s) {
    Outline o = {.plan = plan};
    const Template *t = s->template;
    if (!t || s->predicate || s->variant->alt.is || !look_at_holes(&o, t) || !is_shorter(&o, s, t))
        return;
    s->template = make_call(&o, plan->fns.len);
    vec_push(&plan->fns,
             ((PlanFn){outline_declare(&o), s->variant->script, outline_make_body(&o, t)}));
}

/* ---- the pass ---- */

static bool outline_begin(Rewrite *r, void *self) {
    (void)self;
    return !r->options->no_optimise;
}

static void outline_decide(Rewrite *r, void *self) {
    (void)self;
    r->store.cells.outlined = wants_memory(r->p.plan);
}

static void outline_shape(Rewrite *r, void *self) {
    (void)self;
    for (uint32_t i = 0; i < r->p.plan->shapes.len; i++)
        outline(r->p.plan, r->p.plan->shapes.at[i]);
}

const RewritePass outline_pass = {
    .name = "outline",
    .begin = outline_begin,
    .decide = outline_decide,
    .shape = outline_shape,
};
