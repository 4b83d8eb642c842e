/*
 * rewrite/preserve_floats.c - calls that are rarely executed in loops hand back the loop's floats.
 *
 * A call destroys the registers of floats, so compilers keep live floats in memory around it, and
 * some (Cranelift) do so at each iteration. So where the code under a rare condition
 * (branch_hints.c) at the head of a loop without other calls is the call of a function without
 * parameters,
 *
 *     if  call f  local.set v  end
 *
 * the floats that the loop uses become arguments and results of another function, which calls f:
 *
 *     if  local.get x  local.get y  call keep  local.set v  local.set y  local.set x  end
 */
#include "rewrite/pass.h"
#include "wasm/emit.h"

enum { MAX_KEPT = 16 }; /* floats of a loop */

/* A loop without calls that uses floats. */
typedef struct KeepLoop {
    uint32_t func, at;
    uint32_t first; /* its floats: the first in Keep.locals, f32 before f64 */
    uint32_t nf32, nf64;
} KeepLoop;

/* A function that calls `fn` (index into Plan.fns, as its own) and returns its arguments. */
typedef struct Keeper {
    uint32_t fn, nf32, nf64, own;
} Keeper;

typedef struct Keep {
    Vec(KeepLoop) loops;  /* by function, then by offset */
    Vec(uint32_t) locals; /* of all loops */
    Vec(uint32_t) fns;    /* functions called so */
    Vec(Keeper) keepers;
} Keep;

/* ---- templates ---- */

/* Whether hole i and the following ones, before the `end` at this offset, call a function and set
 * variables to its results. */
static bool is_simple_call(const Plan *plan, const Template *t, uint32_t i, uint32_t end) {
    if (i >= t->nholes || t->holes[i].kind != HOLE_FN || t->holes[i].at != end)
        return false;
    const Fn *fn = plan->fns.at[t->holes[i].n].fn;
    if (fn->nparams || type_leaves(fn->result) > 1 || fn->result->kind == TYPE_TUPLE)
        return false;
    for (i++; i < t->nholes && t->holes[i].at == end; i++)
        if (t->holes[i].kind != HOLE_VAR || t->holes[i].access != HOLE_SET)
            return false;
    return true;
}

/* Returns the hole of such a call under a rare condition; UINT32_MAX = none. */
static uint32_t find_call(const Plan *plan, const Template *t) {
    WasmCode code = wasm_code(t->code, t->len, 0);
    WasmInstr i;
    uint32_t opened = UINT32_MAX, hole = 0; /* where the code after a rare `if` begins */
    while (wasm_next(&code, &i)) {
        bool rare = false;
        uint32_t first = hole;
        for (; hole < t->nholes && t->holes[hole].at <= i.offset; hole++)
            rare = t->holes[hole].kind == HOLE_RARE;
        if (i.op == WASM_OP_END && i.offset == opened && is_simple_call(plan, t, first, i.offset))
            return first;
        opened = i.op == WASM_OP_IF && rare ? i.offset + i.size : UINT32_MAX;
    }
    return UINT32_MAX;
}

/* Returns the template with the call as HOLE_KEEP, and HOLE_KEPT before the `end` that follows. */
static const Template *preserve_floats_mark(const Template *t, uint32_t call, Arena *arena) {
    Template *marked = arena_new(arena, Template);
    Hole *holes = arena_array(arena, Hole, t->nholes + 1);
    uint32_t end = call;
    while (end < t->nholes && t->holes[end].at == t->holes[call].at)
        end++;
    memcpy(holes, t->holes, end * sizeof *holes);
    holes[call].kind = HOLE_KEEP;
    holes[end] = (Hole){.at = t->holes[call].at, .kind = HOLE_KEPT, .n = t->holes[call].n};
    memcpy(holes + end + 1, t->holes + end, (t->nholes - end) * sizeof *holes);
    *marked = *t;
    marked->holes = holes;
    marked->nholes = t->nholes + 1;
    return marked;
}

static void note_fn(Keep *k, uint32_t fn) {
    for (uint32_t i = 0; i < k->fns.len; i++)
        if (k->fns.at[i] == fn)
            return;
    vec_push(&k->fns, fn);
}

/* ---- loops ---- */

/* A construct that is open while the loops of a function are found. */
typedef struct OpenLoop {
    uint32_t loop; /* its number + 1; 0 = it is no loop, or has calls */
    uint32_t n, locals[MAX_KEPT];
} OpenLoop;
typedef Vec(OpenLoop) OpenLoops;

static void use_local(OpenLoop *o, uint32_t local) {
    for (uint32_t k = 0; k < o->n; k++)
        if (o->locals[k] == local)
            return;
    if (o->n < MAX_KEPT)
        o->locals[o->n++] = local;
}

/* Notes the floats of the loop that ends; they belong to the loop around it, too. */
static void preserve_floats_close_construct(Keep *k, OpenLoops *open, const WasmTypes *types) {
    OpenLoop o = vec_last(open);
    open->len--;
    for (uint32_t i = 0; open->len && i < o.n; i++)
        use_local(&vec_last(open), o.locals[i]);
    if (!o.loop)
        return;
    KeepLoop *loop = &k->loops.at[o.loop - 1];
    loop->first = k->locals.len;
    for (uint32_t i = 0; i < o.n; i++)
        if (types->at[o.locals[i]] == WASM_F32)
            vec_push(&k->locals, o.locals[i]);
    loop->nf32 = k->locals.len - loop->first;
    for (uint32_t i = 0; i < o.n; i++)
        if (types->at[o.locals[i]] == WASM_F64)
            vec_push(&k->locals, o.locals[i]);
    loop->nf64 = o.n - loop->nf32;
}

static bool has_floats(const WasmTypes *types) {
    for (uint32_t i = 0; i < types->len; i++)
        if (types->at[i] == WASM_F32 || types->at[i] == WASM_F64)
            return true;
    return false;
}

static bool is_float(const WasmTypes *types, const WasmInstr *i) {
    bool local =
        i->op == WASM_OP_LOCAL_GET || i->op == WASM_OP_LOCAL_SET || i->op == WASM_OP_LOCAL_TEE;
    return local && (types->at[i->a] == WASM_F32 || types->at[i->a] == WASM_F64);
}

static void find_loops(Keep *k, const WasmModule *m, WasmSurvey *survey, uint32_t func) {
    OpenLoops open = {0};
    WasmTypes types = {0};
    const char *error;
    WasmCode code;
    WasmInstr i;
    wasm_func_locals(m, func, &types, &error);
    wasm_func_code(m, func, &code); /* the module is valid */
    while (has_floats(&types) && wasm_next(&code, &i)) {
        bool loop = i.op == WASM_OP_LOOP && !wasm_survey_loop_calls(survey, m, func, i.offset);
        if (loop)
            vec_push(&k->loops, ((KeepLoop){.func = func, .at = i.offset}));
        if (wasm_flow_opens(wasm_flow(i.op)))
            vec_push(&open, ((OpenLoop){.loop = loop ? k->loops.len : 0}));
        if (open.len && is_float(&types, &i))
            use_local(&vec_last(&open), i.a);
        if ((i.op == WASM_OP_END || i.op == WASM_OP_DELEGATE) && open.len)
            preserve_floats_close_construct(k, &open, &types);
    }
    vec_free(&open);
    vec_free(&types);
}

/* Returns the loop, if floats are kept there, else NULL. */
static const KeepLoop *preserve_floats_loop_at(const Keep *k, uint32_t func, uint32_t at) {
    uint32_t low = 0, high = k->loops.len;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const KeepLoop *l = &k->loops.at[mid];
        if (l->func < func || (l->func == func && l->at < at))
            low = mid + 1;
        else
            high = mid;
    }
    const KeepLoop *l = low < k->loops.len ? &k->loops.at[low] : NULL;
    return l && l->func == func && l->at == at && l->nf32 + l->nf64 ? l : NULL;
}

/* ---- functions ---- */

static const Keeper *keeper_of(const Keep *k, uint32_t fn, const KeepLoop *l) {
    for (uint32_t i = 0; i < k->keepers.len; i++)
        if (k->keepers.at[i].fn == fn && k->keepers.at[i].nf32 == l->nf32 &&
            k->keepers.at[i].nf64 == l->nf64)
            return &k->keepers.at[i];
    return NULL;
}

/* Declares a function whose parameters are the floats, and whose results are the same and those of
 * the called function. */
static const Fn *preserve_floats_declare(Plan *plan, const Fn *called, const KeepLoop *l) {
    Arena *arena = &plan->arena;
    uint32_t n = l->nf32 + l->nf64;
    Fn *fn = arena_new(arena, Fn);
    Type *result = arena_new(arena, Type);
    *fn = (Fn){.name = STR("whammc.keep"), .nparams = n, .result = result};
    fn->params = arena_array(arena, Var *, n + 1);
    *result = (Type){.kind = TYPE_TUPLE, .text = "", .nfields = n, .depth = 1};
    result->fields = arena_array(arena, const Type *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const Type *type = &type_scalar[i < l->nf32 ? TYPE_F32 : TYPE_F64];
        fn->params[i] = arena_new(arena, Var);
        *fn->params[i] = (Var){.type = type};
        result->fields[i] = type;
    }
    if (type_leaves(called->result))
        result->fields[result->nfields++] = called->result;
    return fn;
}

static const Template *preserve_floats_make_body(Plan *plan, uint32_t fn, uint32_t n) {
    Template *body = arena_new(&plan->arena, Template);
    Hole *hole = arena_new(&plan->arena, Hole);
    Buf code = {0};
    for (uint32_t i = 0; i < n; i++)
        put_index(&code, WASM_OP_LOCAL_GET, i);
    *hole = (Hole){.at = (uint32_t)code.len, .kind = HOLE_FN, .n = fn};
    *body = (Template){.len = (uint32_t)code.len, .holes = hole, .nholes = 1, .nparams = n};
    body->result = WASM_NONE;
    body->code = (const uint8_t *)arena_strndup(&plan->arena, (const char *)code.data, code.len);
    buf_free(&code);
    return body;
}

static void add_keepers(Keep *k, Plan *plan, uint32_t fn) {
    for (uint32_t i = 0; i < k->loops.len; i++) {
        const KeepLoop *l = &k->loops.at[i];
        uint32_t n = l->nf32 + l->nf64;
        if (!n || keeper_of(k, fn, l))
            continue;
        const PlanFn *called = &plan->fns.at[fn];
        PlanFn own = {preserve_floats_declare(plan, called->fn, l), called->script,
                      (void *)(uintptr_t)preserve_floats_make_body(plan, fn, n)};
        vec_push(&k->keepers, ((Keeper){fn, l->nf32, l->nf64, plan->fns.len}));
        vec_push(&plan->fns, own);
    }
}

/* ---- the pass ---- */

static bool preserve_floats_begin(Rewrite *r, void *self) {
    (void)self;
    return !r->options->no_optimise;
}

/* After branch_hints_pass: marks such calls in templates, finds the loops of functions that have
 * code, and adds the functions to Plan.fns. */
static void preserve_floats_shape(Rewrite *r, void *self) {
    Keep *k = self;
    Plan *plan = r->p.plan;
    const WasmModule *m = &r->p.m;
    WasmSurvey *survey = &r->p.matcher.survey;
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        const Template *t = s->template;
        uint32_t call = t ? find_call(plan, t) : UINT32_MAX;
        if (call == UINT32_MAX)
            continue;
        note_fn(k, t->holes[call].n);
        s->template = (void *)(uintptr_t)preserve_floats_mark(t, call, &plan->arena);
    }
    for (uint32_t f = 0; k->fns.len && f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (r->p.touched[f] & TOUCHED_CODE && m->funcs.at[f].import < 0 &&
            wasm_survey_loops(survey, m, f))
            find_loops(k, m, survey, f);
    for (uint32_t i = 0; i < k->fns.len; i++)
        add_keepers(k, plan, k->fns.at[i]);
}

static void preserve_floats_reach(Rewrite *r, void *self, Reach *reach) {
    (void)r;
    const Keep *k = self;
    for (uint32_t i = 0; i < k->keepers.len; i++)
        reach->fns[k->keepers.at[i].own] = true;
}

/* Sets the floats that the code at a site keeps. */
static void preserve_floats_before(Rewrite *r, void *self, const Site *site, const Match *matches,
                                   uint32_t n) {
    const Keep *k = self;
    FillFloats *floats = &r->fill.floats;
    if (!k->keepers.len || !site->instr || site->instr->op != WASM_OP_LOOP)
        return;
    const KeepLoop *l = preserve_floats_loop_at(k, site->func, site->pc);
    for (uint32_t i = 0; l && i < n && !floats->n; i++) {
        const Template *t = matches[i].shape->template;
        for (uint32_t h = 0; t && h < t->nholes; h++)
            if (t->holes[h].kind == HOLE_KEEP)
                *floats = (FillFloats){t->holes[h].n, keeper_of(k, t->holes[h].n, l)->own,
                                       k->locals.at + l->first, l->nf32 + l->nf64};
    }
}

static void preserve_floats_free(Rewrite *r, void *self) {
    (void)r;
    Keep *k = self;
    vec_free(&k->loops);
    vec_free(&k->locals);
    vec_free(&k->fns);
    vec_free(&k->keepers);
}

const RewritePass preserve_floats_pass = {
    .name = "preserve_floats",
    .size = sizeof(Keep),
    .begin = preserve_floats_begin,
    .shape = preserve_floats_shape,
    .reach = preserve_floats_reach,
    .before = preserve_floats_before,
    .free = preserve_floats_free,
};
