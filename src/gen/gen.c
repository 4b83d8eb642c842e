/*
 * gen/gen.c - shapes to templates: trees (code/), which are decoded (template.c); the module of
 * Binaryen that monitors are built in.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/phase.h"
#include "event/log2.h"
#include "gen/gen.h"

#include <assert.h>

#include "gen/scratch.h"
#include "code/code.h"
#include "gen/template.h"
#include "valid/valid.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t binaryen_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- building the scratch module ---- */

static void add_memory(BinaryenModuleRef module) {
    /* Loads and stores need one; the splicer writes the real index. */
#if BINARYEN_SET_MEMORY_ARGS == 13
    binaryen.SetMemory(module, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0, false, false, "0");
#elif BINARYEN_SET_MEMORY_ARGS == 12
    binaryen.SetMemory(module, 1, 1, NULL, NULL, NULL, NULL, NULL, 0, false, false, "0");
#elif BINARYEN_SET_MEMORY_ARGS == 11
    binaryen.SetMemory(module, 1, 1, NULL, NULL, NULL, NULL, NULL, 0, false, "0");
#else
    binaryen.SetMemory(module, 1, 1, NULL, NULL, NULL, NULL, NULL, 0, false);
#endif
}

bool scratch_begin(Scratch *x, Diags *diags) {
    pthread_mutex_lock(&binaryen_lock);
    if (!binaryen_load(diags)) {
        pthread_mutex_unlock(&binaryen_lock);
        return false;
    }
    x->module = binaryen.ModuleCreate();
    binaryen.ModuleSetFeatures(
        x->module, binaryen.FeatureMVP() | binaryen.FeatureMutableGlobals() |
                       binaryen.FeatureSignExt() | binaryen.FeatureReferenceTypes() |
                       (x->ops ? binaryen.FeatureBulkMemory() | binaryen.FeatureMultivalue() : 0));
    add_memory(x->module);
    return true;
}

bool scratch_finish(Scratch *x, Buf *out) {
    bool ok = x->crowded || binaryen.ModuleValidate(x->module);
    if (ok && !x->crowded) {
        if (x->options->optimise) {
            binaryen.SetOptimizeLevel(2);
            binaryen.SetShrinkLevel(1);
            Phase before = phase_begin(PHASE_OPTIMISE);
            x->optimise(x);
            phase_end(before);
        }
        BinaryenModuleAllocateAndWriteResult written =
            binaryen.ModuleAllocateAndWrite(x->module, NULL);
        buf_bytes(out, written.binary, written.binaryBytes);
        free(written.binary);
        free(written.sourceMap);
    }
    binaryen.ModuleDispose(x->module);
    pthread_mutex_unlock(&binaryen_lock);
    map_free(&x->imports);
    vec_free(&x->plain);
    vec_free(&x->huge);
    return ok;
}

/* ---- optimising it ---- */

/*
 * Some passes of Binaryen take time that grows with the square of the number of locals, statements
 * or branches of a function: sinking assignments, sharing of locals, merging of blocks. Bodies with
 * more statements and locals than this go without.
 */
enum { HUGE_BODY = 3000 };
static const char *const huge_passes[] = {"dce", "remove-unused-names", "optimize-instructions",
                                          "vacuum", "reorder-locals"};

#define RUN_PASSES(f, module, passes)                                                              \
    binaryen.FunctionRunPasses(f, module, (const char **)(passes),                                 \
                               sizeof(passes) / sizeof *(passes))

void scratch_optimise_each(Scratch *x) {
    for (uint32_t i = 0; i < x->plain.len; i++)
        binaryen.FunctionOptimize(x->plain.at[i], x->module);
    for (uint32_t i = 0; i < x->huge.len; i++)
        RUN_PASSES(x->huge.at[i], x->module, huge_passes);
}

/* ---- functions ---- */

Body scratch_body(Scratch *x, const Variant *v, uint64_t atoms) {
    x->at = v->probe ? v->probe->rule.span : NO_SPAN;
    return (Body){.module = x->module,
                  .plan = x->plan,
                  .options = x->options,
                  .variant = v,
                  .atoms = atoms,
                  .imports = &x->imports,
                  .npages = &x->npages,
                  .result = &type_unit,
                  .ops = x->ops,
                  .ctx = x->ctx};
}

/* Variables alone are fewer than engines allow (lang/check_name.c). */
bool scratch_fits(const Scratch *x, Diags *diags) {
    if (!x->crowded)
        return true;
    Diag *d = diag(
        diags, DIAG_NESTING, x->crowded_at,
        "a function compiled from this script would have %u locals, but engines allow at most %d",
        x->crowded, WASM_MAX_LOCALS);
    diag_hint(diags, d, "they hold variables and intermediate results: split the largest body");
    return false;
}

/* Adds a function to what becomes templates. */
static void add_code(Scratch *x, Body *b, const char *name, BinaryenType result, Ref body) {
    Vec(WasmType) locals = {0};
    for (uint32_t i = 0; i < b->locals.len; i++)
        vec_push(&locals, (WasmType)b->locals.at[i]);
    code_add(x->code, name, b->nparams, (WasmType)result, locals.at, locals.len, (CodeNode *)body);
    vec_free(&locals);
    body_free(b);
}

void scratch_add(Scratch *x, Body *b, const char *name, BinaryenType params, BinaryenType result,
                 Ref body) {
    if (b->nparams + b->locals.len > WASM_MAX_LOCALS && !x->crowded) {
        x->crowded = b->nparams + b->locals.len;
        x->crowded_at = x->at;
    }
    x->any = true;
    if (x->code) {
        add_code(x, b, name, result, body);
        return;
    }
    BinaryenFunctionRef f =
        binaryen.AddFunction(b->module, name, params, result, b->locals.at, b->locals.len, body);
    if (b->nsteps + b->locals.len > HUGE_BODY)
        vec_push(&x->huge, f);
    else
        vec_push(&x->plain, f);
    binaryen.AddFunctionExport(b->module, name, name);
    body_free(b);
}

/* What the body of a function or alt probe returns; `otherwise` where it ends without a return. */
static Ref with_result(Body *b, Ref body, Ref otherwise) {
    if (gen_result(b->result) == binaryen.TypeNone() || b->leaves)
        return body;
    Ref both[] = {body, otherwise};
    return binaryen.Block(b->module, NULL, both, 2, binaryen.TypeAuto());
}

/* A function of a script. Where it ends without a return it returns zero. */
/* of_one + the highest bit of the function's parameter, from the number of zeros above that. */
static Ref log2_code(Scratch *x, const Fn *fn, const Log2 *log2) {
    BinaryenModuleRef m = x->module;
    bool wide = type_bits(fn->params[0]->type) == 64;
    uint64_t zeros = wide ? 63 : 31; /* above the lowest bit */
    assert(fn->nparams == 1 && !type_is_signed(fn->params[0]->type));
    assert(log2->of_one >= log2->less_at_zero && log2->of_one <= UINT8_MAX);
    Ref n = binaryen.LocalGet(m, 0, wide ? binaryen.TypeInt64() : binaryen.TypeInt32());
    if (!log2->less_at_zero && wide)
        n = binaryen.Binary(m, binaryen.OrInt64(), n, binaryen.Const(m, binaryen.LiteralInt64(1)));
    else if (!log2->less_at_zero)
        n = binaryen.Binary(m, binaryen.OrInt32(), n, binaryen.Const(m, binaryen.LiteralInt32(1)));
    n = binaryen.Unary(m, wide ? binaryen.ClzInt64() : binaryen.ClzInt32(), n);
    if (wide)
        n = binaryen.Unary(m, binaryen.WrapInt64(), n);
    int32_t from = (int32_t)(log2->of_one + zeros);
    n = binaryen.Binary(m, binaryen.SubInt32(), binaryen.Const(m, binaryen.LiteralInt32(from)), n);
    return type_bits(fn->result) == 64 ? binaryen.Unary(m, binaryen.ExtendUInt32(), n) : n;
}

void scratch_fn(Scratch *x, const PlanFn *f, const char *name) {
    const Fn *fn = f->fn;
    Body b = scratch_body(x, x->plan->scopes.at[f->script], 0);
    Log2 log2;
    x->at = fn->span;
    Vec(BinaryenType) params = {0};
    for (uint32_t i = 0; i < fn->nparams; i++)
        for (uint32_t k = 0; k < type_leaves(fn->params[i]->type); k++)
            vec_push(&params, gen_type(type_leaf(fn->params[i]->type, k)));
    b.nparams = params.len;
    b.result = fn->result;
    gen_declare_locals(&b, fn->vars, fn->nvars);
    bool is_log2 = x->options->optimise && log2_of(fn, &log2);
    Ref body = is_log2 ? log2_code(x, fn, &log2) : gen_body(&b, &fn->body, fn->vars, fn->nvars);
    if (!is_log2 && gen_result(fn->result) != binaryen.TypeNone())
        body = with_result(&b, body, gen_zero(&b, type_leaf(fn->result, 0)));
    scratch_add(x, &b, name, binaryen.TypeCreate(params.at, params.len), gen_result(fn->result),
                body);
    vec_free(&params);
}

static void build_shape(Scratch *x, const Shape *s, const char *name) {
    const Variant *v = s->variant;
    const Probe *p = v->probe;
    Body b = scratch_body(x, v, s->atoms);
    if (v->alt.is && v->alt.returns)
        b.result = v->alt.returns;
    gen_declare_locals(&b, p->vars, p->nvars);
    Ref body = gen_body(&b, &p->body, p->vars, p->nvars);
    if (p->predicate && !v->alt.is)
        body = binaryen.If(x->module, gen_expr(&b, p->predicate), body, NULL);
    body = with_result(&b, body, binaryen.Unreachable(x->module));
    scratch_add(x, &b, name, binaryen.TypeNone(),
                v->alt.gives ? binaryen.TypeNone() : gen_result(b.result), body);
}

/* The predicate of an alt probe, by itself. */
static void build_predicate(Scratch *x, const Shape *s, const char *name) {
    const Variant *v = s->variant;
    Body b = scratch_body(x, v, s->atoms);
    gen_declare_locals(&b, v->probe->vars, v->probe->nvars);
    scratch_add(x, &b, name, binaryen.TypeNone(), binaryen.TypeInt32(),
                gen_expr(&b, v->probe->predicate));
}

/* What runs once for each site of a shape: at start-up, or before a report. */
static void build_site_code(Scratch *x, const Shape *s, bool at_exit, const char *name) {
    const Probe *p = s->variant->probe;
    Body b = scratch_body(x, s->variant, s->atoms);
    gen_declare_locals(&b, p->vars, p->nvars);
    Ref body = at_exit ? gen_exit_calls(&b, &p->body) : gen_site_start(&b, &p->body);
    if (!body) /* what is static leaves out all of them */
        body = binaryen.Nop(b.module);
    scratch_add(x, &b, name, binaryen.TypeNone(), binaryen.TypeNone(), body);
}

/* What a probe's shared variables start with that does not fold. */
void scratch_shared(Scratch *x, const Variant *v, const char *name) {
    Body b = scratch_body(x, v, 0);
    gen_declare_locals(&b, v->probe->vars, v->probe->nvars);
    Ref body = gen_shared_values(&b, v->probe->vars, v->probe->nvars);
    scratch_add(x, &b, name, binaryen.TypeNone(), binaryen.TypeNone(), body);
}

/* Whether statements at script scope generate code. */
static bool starts_with_code(const Script *s) {
    bool any = false;
    for (const Stmt *st = s->init.first; st; st = st->next)
        any |= st->kind == STMT_DECL ? !starts_constant(st->var)
               : st->kind == STMT_CALL
                   ? st->value->annotation <= ANN_INIT && st->value->annotation != ANN_STATIC
                   : true;
    return any;
}

bool scratch_init(Scratch *x, uint32_t script, const char *name) {
    const Script *s = x->plan->scripts.at[script];
    if (!starts_with_code(s))
        return false;
    Body b = scratch_body(x, x->plan->scopes.at[script], 0);
    gen_declare_locals(&b, NULL, 0);
    Ref body = gen_body(&b, &s->init, NULL, 0);
    scratch_add(x, &b, name, binaryen.TypeNone(), binaryen.TypeNone(), body);
    return true;
}

/* Whether there may be '@exit' calls at script scope; those in conditional statements are not
 * looked for. */
static bool ends_with_code(const Script *s) {
    for (const Stmt *st = s->init.first; st; st = st->next)
        if (st->narms || (st->kind == STMT_CALL && st->value->annotation == ANN_EXIT))
            return true;
    return false;
}

bool scratch_exit(Scratch *x, uint32_t script, const char *name) {
    Body b = scratch_body(x, x->plan->scopes.at[script], 0);
    Ref calls = gen_exit_calls(&b, &x->plan->scripts.at[script]->init);
    if (!calls)
        return false;
    gen_declare_locals(&b, NULL, 0);
    scratch_add(x, &b, name, binaryen.TypeNone(), binaryen.TypeNone(), calls);
    return true;
}

/* Whether a shape is to be compiled: one whose counts are only counters has no code. */
static bool has_template(const Shape *s) {
    const Variant *v = s->variant;
    return !s->never && !s->template && (s->sites || v->starts_dynamic || v->exits);
}

/* ---- decoding ---- */

/* What functions are decoded with. */
typedef struct Decoder {
    CodeModule *code;
    const GenOptions *options;
    Arena *arena;
    bool failed; /* a function was no template */
} Decoder;

/* Loads and stores go to the real memory. */
static void put_access(const Decoder *d, Buf *code, const WasmInstr *i) {
    wasm_put_op(code, (WasmOp)i->op);
    if (d->options->accesses)
        *d->options->accesses = true;
    bool other = d->options->memory_index != 0;
    buf_uleb(code, i->a | (other ? 0x40u : 0));
    if (other)
        buf_uleb(code, d->options->memory_index);
    buf_uleb(code, i->c);
}

/* What the code names is a hole. */
static bool put_instr(void *ctx, TemplateMaker *t, const uint8_t *bytes, const WasmInstr *i) {
    const Decoder *d = ctx;
    Hole h = {0};
    if (i->op == WASM_OP_GLOBAL_GET || i->op == WASM_OP_GLOBAL_SET || i->op == WASM_OP_CALL) {
        if (!hole_parse(str_of(d->code->names.at[i->a].text), &h))
            return false;
        h.access = i->op == WASM_OP_GLOBAL_SET ? HOLE_SET : HOLE_GET;
        template_add_hole(t, h);
    } else if (wasm_ops[i->op].imm == WASM_IMM_MEMARG) {
        put_access(d, &t->code, i);
    } else {
        buf_bytes(&t->code, bytes, i->size);
    }
    return true;
}

/* The template of a function; NULL if there is none. */
static void *decode(Decoder *d, const char *name) {
    CodeFn *f = code_find(d->code, str_of(name));
    if (!f)
        return NULL;
    if (d->options->optimise) {
        Phase before = phase_begin(PHASE_OPTIMISE);
        code_optimise(d->code, f);
        phase_end(before);
    }
    Buf bytes = {0};
    code_write(f, &bytes);
    TemplateMaker t = {.put = put_instr, .ctx = d, .zeros = f->zeros, .nparams = f->nparams};
    for (uint32_t i = 0; i < f->locals.len; i++)
        template_add_temp(&t, f->locals.at[i]);
    const Template *template = template_of_code(&t, &bytes, f->result, d->arena);
    template_maker_free(&t);
    buf_free(&bytes);
    d->failed |= !template;
    return (void *)template;
}

/* ---- */

static bool fault(Diags *diags, const char *what) {
    diag(diags, DIAG_INTERNAL, NO_SPAN, "internal error in code generation: %s", what);
    return false;
}

/* Makes the functions the plan's templates. */
static bool decode_all(Scratch *x, Plan *plan, const Template **init, Diags *diags) {
    char name[32];
    bool ok = true;
    Decoder d = {.code = x->code, .options = x->options, .arena = &plan->arena};
    for (uint32_t i = 0; ok && i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        snprintf(name, sizeof name, "s%u", i);
        if (!has_template(s))
            continue;
        s->template = decode(&d, name);
        name[0] = 'q';
        if (s->variant->alt.guarded)
            s->predicate = decode(&d, name);
        name[0] = 'd';
        if (s->variant->starts_dynamic)
            s->init = decode(&d, name);
        name[0] = 'x';
        if (s->variant->exits)
            s->exit = decode(&d, name);
        ok = s->template || fault(diags, "a template cannot be decoded");
    }
    for (uint32_t i = 0; ok && i < plan->fns.len; i++) {
        hole_name(name, HOLE_FN, i, binaryen.TypeInt32());
        plan->fns.at[i].template = decode(&d, name);
        ok = plan->fns.at[i].template || fault(diags, "a function cannot be decoded");
    }
    for (uint32_t i = 0; ok && i < plan->probes.len; i++) {
        snprintf(name, sizeof name, "o%u", i);
        if (plan->probes.at[i].shared_from)
            plan->probes.at[i].init = decode(&d, name);
    }
    for (uint32_t i = 0; ok && i < plan->scripts.len; i++) {
        snprintf(name, sizeof name, "i%u", i);
        init[i] = decode(&d, name);
        name[0] = 'e';
        plan->exits[i] = decode(&d, name);
    }
    ok = ok && (!d.failed || fault(diags, "a function is no template"));
    return ok;
}

static void build_all(Scratch *x) {
    const Plan *plan = x->plan;
    char name[32];
    for (uint32_t i = 0; i < plan->shapes.len; i++) {
        const Shape *s = plan->shapes.at[i];
        snprintf(name, sizeof name, "s%u", i);
        if (!has_template(s))
            continue;
        build_shape(x, s, name);
        name[0] = 'q';
        if (s->variant->alt.guarded)
            build_predicate(x, s, name);
        name[0] = 'd';
        if (s->variant->starts_dynamic)
            build_site_code(x, s, false, name);
        name[0] = 'x';
        if (s->variant->exits)
            build_site_code(x, s, true, name);
    }
    for (uint32_t i = 0; i < plan->fns.len; i++) {
        hole_name(name, HOLE_FN, i, binaryen.TypeInt32());
        scratch_fn(x, &plan->fns.at[i], name);
    }
    for (uint32_t i = 0; i < plan->probes.len; i++) {
        snprintf(name, sizeof name, "o%u", i);
        if (plan->probes.at[i].shared_from)
            scratch_shared(x, plan->probes.at[i].shared_from, name);
    }
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        snprintf(name, sizeof name, "i%u", i);
        scratch_init(x, i, name);
        name[0] = 'e';
        scratch_exit(x, i, name);
    }
}

/* Whether anything of a plan becomes code of its own: most scripts that count have nothing. */
static bool has_code(const Plan *plan) {
    for (uint32_t i = 0; i < plan->shapes.len; i++)
        if (has_template(plan->shapes.at[i]))
            return true;
    for (uint32_t i = 0; i < plan->probes.len; i++)
        if (plan->probes.at[i].shared_from)
            return true;
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        if (starts_with_code(plan->scripts.at[i]) || ends_with_code(plan->scripts.at[i]))
            return true;
    return plan->fns.len > 0;
}

bool gen_templates(Plan *plan, const GenOptions *options, const Template **init, Diags *diags) {
    CodeModule code = {0};
    Scratch x = {.plan = plan, .options = options, .code = &code};
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        init[i] = NULL;
    if (!has_code(plan))
        return true;
    Phase before = phase_begin(PHASE_COMPILE);
    pthread_mutex_lock(&binaryen_lock);
    x.module = binaryen_use_code(&code);
    build_all(&x);
    bool ok = scratch_fits(&x, diags) && decode_all(&x, plan, init, diags);
    pthread_mutex_unlock(&binaryen_lock);
    map_free(&x.imports);
    code_free(&code);
    phase_end(before);
    return ok;
}
