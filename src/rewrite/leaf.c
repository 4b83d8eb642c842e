/*
 * rewrite/leaf.c - calls of small functions become the functions' code.
 *
 * Around a call, engines keep values in memory that are otherwise in registers. So a function that
 * probes call is inlined if it is a *leaf*: small, without calls and loops. Functions of scripts,
 * of libraries and of the runtime can be that.
 */
#include "rewrite/pass.h"

enum {
    MAX_LEAF = 128,       /* bytes of a function's code, with HOLE_BYTES for each hole */
    HOLE_BYTES = 4,       /* approximate size of a filled hole */
    MIN_GROWTH = 1 << 16, /* bytes that any program may grow by */
    GROWTH_SHARE = 8,     /* ... or this part of its size */
};

typedef struct Leaves {
    Plan *plan;
    const WasmModule *m;
    const uint32_t *helpers; /* NULL = the module is not laid out */
    WasmRemap map;           /* handles to final indices */
    const Template **of;     /* by handle: a function's leaf, or &no_leaf; NULL = not examined */
    uint64_t *growth;        /* bytes by which sites may still grow */
} Leaves;

static const Template no_leaf;

/* ---- finding leaves ---- */

static bool may_be_in_leaf(WasmOp op) {
    switch (wasm_flow(op)) {
    case WASM_FLOW_LOOP:
    case WASM_FLOW_CALL:
    case WASM_FLOW_TAIL_CALL:
    case WASM_FLOW_THROW: return false;
    default: return op != WASM_OP_TRY && op != WASM_OP_TRY_TABLE;
    }
}

static uint64_t leaf_size_of(const Template *t) {
    return t->len + (uint64_t)HOLE_BYTES * t->nholes;
}

/* Copies an instruction of a function of the module; TemplateMaker.put. */
static bool leaf_put_instr(void *ctx, TemplateMaker *t, const uint8_t *bytes, const WasmInstr *i) {
    const Leaves *x = ctx;
    if (!may_be_in_leaf(i->op))
        return false;
    if (t->m->funcs.at[t->func].code_final)
        buf_bytes(&t->code, bytes, i->size);
    else
        wasm_copy_instr(bytes, i, &x->map, &t->code);
    return true;
}

/* Whether there is at most one result, whose type is no index. */
static bool has_plain_result(const WasmTypeDef *type) {
    return !type->nresults || (type->nresults == 1 && !WASM_IS_REF(type->results[0]));
}

static const Template *make_leaf(const Leaves *x, uint32_t func) {
    const WasmModule *m = x->m;
    const WasmFunc *f = &m->funcs.at[func];
    if (!f->added || f->import >= 0 || !f->code.len || f->code.len > 2 * MAX_LEAF ||
        !has_plain_result(wasm_func_type(m, func)) || !template_takes_locals(m, func))
        return &no_leaf;
    Buf code = {0};
    TemplateMaker t = {
        .m = m, .func = func, .put = leaf_put_instr, .ctx = (void *)x, .source = &code};
    const Template *leaf = NULL;
    if (template_begin(&t)) {
        buf_bytes(&code, f->code.data + t.first, f->code.len - t.first);
        leaf = template_make(&t, &x->plan->arena);
    }
    template_maker_free(&t);
    buf_free(&code);
    return leaf && leaf_size_of(leaf) <= MAX_LEAF ? leaf : &no_leaf;
}

/* Returns the leaf of a function that was added to the module; NULL = it is none. */
static const Template *leaf_of_func(const Leaves *x, uint32_t func) {
    const Template **of = &x->of[func];
    if (!*of)
        *of = make_leaf(x, func);
    return *of == &no_leaf ? NULL : *of;
}

/* Whether a hole is filled in the same way in a function and where that is inlined, and not with a
 * call. */
static bool is_same_inlined(HoleKind kind) {
    return kind == HOLE_TEMP || kind == HOLE_VAR || kind == HOLE_VAR_ADDR || kind == HOLE_TALLY ||
           kind == HOLE_TEXT || kind == HOLE_GLOBAL;
}

/* Returns the leaf of a script's function; NULL = it is none. */
static const Template *leaf_of_fn(const Template *t) {
    bool is = t && leaf_size_of(t) <= MAX_LEAF && !t->ngives;
    for (uint32_t i = 0; is && i < t->nholes; i++)
        is = is_same_inlined((HoleKind)t->holes[i].kind);
    WasmCode code = wasm_code(t->code, is ? t->len : 0, 0);
    WasmInstr i;
    while (is && wasm_next(&code, &i))
        is = may_be_in_leaf(i.op);
    return is ? t : NULL;
}

static void list_params(const Fn *fn, WasmTypes *params) {
    for (uint32_t i = 0; i < fn->nparams; i++)
        for (uint32_t k = 0; k < type_leaves(fn->params[i]->type); k++)
            vec_push(params, type_wasm(type_leaf(fn->params[i]->type, k)));
}

/* Returns the leaf that a hole calls, or NULL; lists the types of the callee's parameters. */
static const Template *find_leaf(const Leaves *x, const Hole *h, WasmTypes *params) {
    const Plan *plan = x->plan;
    params->len = 0;
    if (h->kind == HOLE_FN) {
        list_params(plan->fns.at[h->n].fn, params);
        return leaf_of_fn(plan->fns.at[h->n].template);
    }
    if (!x->helpers || (h->kind != HOLE_HELPER && h->kind != HOLE_LIBRARY))
        return NULL;
    uint32_t func = h->kind == HOLE_HELPER ? x->helpers[h->n] : plan->library_fns.at[h->n].handle;
    const WasmTypeDef *type = wasm_func_type(x->m, func);
    for (uint32_t i = 0; i < type->nparams; i++)
        vec_push(params, type->params[i]);
    return leaf_of_func(x, func);
}

/* ---- inlining ---- */

/* A call that becomes code: the leaf's parameters and temporaries become temporaries of `to`. */
typedef struct Inlined {
    TemplateMaker *to;
    const Template *leaf;
    uint32_t params, temps; /* the number of the first of each in `to` */
    uint32_t hole;          /* the leaf's next one */
} Inlined;

static void put_param(const Inlined *x, uint32_t param, HoleAccess access) {
    WasmType type = x->to->temps.at[x->params + param].type;
    template_add_hole(x->to, (Hole){0, HOLE_TEMP, (uint8_t)access, x->params + param, type});
}

/* Adds the leaf's holes up to an offset of its code. */
static void put_holes(Inlined *x, uint32_t at) {
    for (; x->hole < x->leaf->nholes && x->leaf->holes[x->hole].at <= at; x->hole++) {
        Hole h = x->leaf->holes[x->hole];
        h.n += h.kind == HOLE_TEMP ? x->temps : 0;
        template_add_hole(x->to, h);
    }
}

/* How a leaf's code names its parameters. */
typedef struct ParamUse {
    uint32_t pushed; /* number of instructions at the beginning that push them in order */
    uint32_t named;  /* number of instructions that name one */
} ParamUse;

static ParamUse find_use(const Template *leaf) {
    ParamUse use = {0};
    WasmCode code = wasm_code(leaf->code, leaf->len, 0);
    uint32_t n = 0;
    for (WasmInstr i; wasm_next(&code, &i); n++) {
        if (wasm_ops[i.op].category != WASM_CAT_LOCAL)
            continue;
        bool hole = leaf->nholes && leaf->holes[0].at <= i.offset;
        use.pushed += use.pushed == n && !hole && i.op == WASM_OP_LOCAL_GET && i.a == n;
        use.named++;
    }
    return use;
}

/* Adds the code that runs in place of the call, with the arguments on the stack. */
static void leaf_put_leaf(TemplateMaker *to, const Template *leaf, const WasmTypes *params) {
    uint32_t n = params->len;
    Inlined x = {to, leaf, to->temps.len, to->temps.len + n, 0};
    for (uint32_t i = 0; i < n; i++)
        template_add_temp(to, params->at[i]);
    for (uint32_t i = 0; i < leaf->ntemps; i++)
        template_add_temp(to, leaf->temps[i]);
    ParamUse use = find_use(leaf);
    bool there = use.pushed == n && use.named == n; /* arguments are where the code wants them */
    uint32_t skip = there ? n : use.pushed > 0;     /* these instructions are not needed */
    for (uint32_t i = n; !there && i > 0; i--)
        put_param(&x, i - 1, skip && i == 1 ? HOLE_TEE : HOLE_SET);
    WasmCode code = wasm_code(leaf->code, leaf->len, 0);
    for (WasmInstr i; wasm_next(&code, &i);) {
        if (skip) {
            skip--;
            continue;
        }
        put_holes(&x, i.offset);
        if (wasm_ops[i.op].category == WASM_CAT_LOCAL)
            put_param(&x, i.a, hole_access((WasmOp)i.op));
        else
            buf_bytes(&to->code, leaf->code + i.offset, i.size);
    }
    put_holes(&x, leaf->len);
}

/* Returns the number of bytes by which a template grows. */
static uint64_t growth_of(const Leaves *x, const Template *t, WasmTypes *params) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; t && i < t->nholes; i++) {
        const Template *leaf = find_leaf(x, &t->holes[i], params);
        bytes += leaf ? leaf_size_of(leaf) + 2 * (uint64_t)params->len : 0;
    }
    return bytes;
}

/* Returns the template with the code of leaves in place of calls. */
static const Template *leaf_inlined(const Leaves *x, const Template *t, WasmTypes *params) {
    TemplateMaker to = {.nparams = t->nparams};
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->ntemps; i++)
        template_add_temp(&to, t->temps[i]);
    for (uint32_t i = 0; i < t->nholes; i++) {
        const Hole *h = &t->holes[i];
        buf_bytes(&to.code, t->code + at, h->at - at);
        at = h->at;
        const Template *leaf = find_leaf(x, h, params);
        if (leaf)
            leaf_put_leaf(&to, leaf, params);
        else
            template_add_hole(&to, *h);
    }
    buf_bytes(&to.code, t->code + at, t->len - at);
    const Template *result = template_close(&to, t->result, &x->plan->arena);
    template_maker_free(&to);
    return result;
}

/* Inlines leaves in a template that will be at `sites` places. */
static void inline_in(Leaves *x, void **template, uint32_t sites, WasmTypes *params) {
    uint64_t growth = growth_of(x, *template, params) * sites;
    if (!growth || growth > *x->growth)
        return;
    *x->growth -= growth;
    *template = (void *)(uintptr_t)leaf_inlined(x, *template, params);
}

/* ---- the pass ---- */

/* Inlines calls in the templates of shapes and of Plan.fns. A template whose sites would take more
 * than *growth bytes stays as it is. */
static void inline_all(Plan *plan, const WasmModule *m, const uint32_t *helpers, uint64_t *growth) {
    if (plan->empty_bodies) /* to measure the cost of calls */
        return;
    Leaves x = {.plan = plan, .m = m, .helpers = helpers, .growth = growth};
    if (helpers)
        x.map = wasm_layout_remap(m);
    x.of = mem_zalloc(sizeof *x.of * (m->funcs.len + 1u));
    WasmTypes params = {0};
    for (uint32_t i = 0; i < plan->fns.len; i++)
        inline_in(&x, &plan->fns.at[i].template, 1, &params);
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        inline_in(&x, &s->template, s->sites, &params);
        inline_in(&x, &s->predicate, s->sites, &params);
    }
    vec_free(&params);
    free(x.of);
}

static bool leaf_begin(Rewrite *r, void *self) {
    uint64_t *growth = self, share = r->p.m.size / GROWTH_SHARE;
    *growth = share > MIN_GROWTH ? share : MIN_GROWTH;
    return !r->options->no_optimise;
}

/* Inlines only functions of scripts: functions without remaining calls need not be added to the
 * module. */
static void leaf_shape(Rewrite *r, void *self) {
    inline_all(r->p.plan, &r->p.m, NULL, self);
}

/* Inlines functions of the runtime and of libraries, which are there now. */
static void leaf_fill(Rewrite *r, void *self) {
    inline_all(r->p.plan, &r->p.m, r->helpers, self);
}

const RewritePass leaf_pass = {
    .name = "leaf",
    .size = sizeof(uint64_t),
    .begin = leaf_begin,
    .shape = leaf_shape,
    .fill = leaf_fill,
};
