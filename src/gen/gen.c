/*
 * gen/gen.c - shapes to templates: trees (code/), which are decoded (template.c).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "gen/gen.h"

#include "base/phase.h"
#include "code/code.h"
#include "gen/scratch.h"
#include "gen/template.h"
#include "valid/valid.h"

#include <assert.h>
#include <stdio.h>

/* ---- functions ---- */

Body scratch_body(Scratch *x, const Variant *v, uint64_t atoms) {
    return (Body){.module = &x->code,
                  .plan = x->plan,
                  .options = x->options,
                  .variant = v,
                  .atoms = atoms,
                  .npages = &x->npages,
                  .result = &type_unit,
                  .ops = x->ops,
                  .ctx = x->ctx};
}

void scratch_add(Scratch *x, Body *b, const char *name, const WasmType *params, WasmType result,
                 Ref body) {
    code_add(&x->code, name, params, b->nparams, result, b->locals.at, b->locals.len, body);
    body_free(b);
}

void scratch_finish(Scratch *x) {
    Phase before = phase_begin(PHASE_OPTIMISE);
    for (uint32_t i = 0; i < x->code.fns.len; i++) {
        CodeFn *f = &x->code.fns.at[i];
        if (x->options->optimise)
            code_optimise(&x->code, f);
        code_share_locals(&x->code, f);
        /* variables are fewer (check/check_name.c), and intermediate results share locals */
        assert(f->nparams + f->locals.len <= WASM_MAX_LOCALS);
    }
    phase_end(before);
}

/* The value that the body of a function or alt probe returns; `otherwise` where it ends without a
 * return. */
static Ref with_result(Body *b, Ref body, Ref otherwise) {
    if (gen_result(b->result) == WASM_NONE || b->leaves)
        return body;
    Ref both[] = {body, otherwise};
    return code_block(b->module, 0, both, 2);
}

void scratch_fn(Scratch *x, const PlanFn *f, const char *name) {
    const Fn *fn = f->fn;
    Body b = scratch_body(x, x->plan->scopes.at[f->script], 0);
    Vec(WasmType) params = {0};
    for (uint32_t i = 0; i < fn->nparams; i++)
        for (uint32_t k = 0; k < type_leaves(fn->params[i]->type); k++)
            vec_push(&params, gen_type(type_leaf(fn->params[i]->type, k)));
    b.nparams = params.len;
    b.fn = fn;
    b.result = fn->result;
    gen_declare_locals(&b, fn->vars, fn->nvars);
    Ref body = gen_body(&b, &fn->body, fn->vars, fn->nvars);
    if (gen_result(fn->result) != WASM_NONE)
        body = with_result(&b, body, gen_zero(&b, type_leaf(fn->result, 0)));
    scratch_add(x, &b, name, params.at, gen_result(fn->result), body);
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
        body = code_if(&x->code, gen_expr(&b, p->predicate), body, NULL);
    body = with_result(&b, body, code_trap(&x->code));
    scratch_add(x, &b, name, NULL, v->alt.gives ? WASM_NONE : gen_result(b.result), body);
}

/* The predicate of an alt probe, by itself. */
static void gen_build_predicate(Scratch *x, const Shape *s, const char *name) {
    const Variant *v = s->variant;
    Body b = scratch_body(x, v, s->atoms);
    gen_declare_locals(&b, v->probe->vars, v->probe->nvars);
    scratch_add(x, &b, name, NULL, WASM_I32, gen_expr(&b, v->probe->predicate));
}

/* Code that runs once for each site of a shape: at start-up, or before a report. */
static void build_site_code(Scratch *x, const Shape *s, bool at_exit, const char *name) {
    const Probe *p = s->variant->probe;
    Body b = scratch_body(x, s->variant, s->atoms);
    gen_declare_locals(&b, p->vars, p->nvars);
    Ref body = at_exit ? gen_exit_calls(&b, &p->body) : gen_site_start(&b, &p->body);
    if (!body) /* static conditions leave out all of them */
        body = code_nop(b.module);
    scratch_add(x, &b, name, NULL, WASM_NONE, body);
}

/* Initial values of a probe's shared variables that do not fold. */
void scratch_shared(Scratch *x, const Variant *v, const char *name) {
    assert(v->probe);
    Body b = scratch_body(x, v, 0);
    gen_declare_locals(&b, v->probe->vars, v->probe->nvars);
    Ref body = gen_shared_values(&b, v->probe->vars, v->probe->nvars);
    scratch_add(x, &b, name, NULL, WASM_NONE, body);
}

/* Whether statements at script scope generate code. */
static bool starts_with_code(const Script *s) {
    bool any = false;
    for (const Stmt *st = s->init.first; st; st = st->next)
        any |= st->kind == STMT_DECL ? !var_starts_constant(st->var)
               : st->kind == STMT_CALL
                   ? st->value->annotation <= ANN_INIT && st->value->annotation != ANN_STATIC
                   : st->annotation != ANN_EXIT;
    return any;
}

bool scratch_init(Scratch *x, uint32_t script, const char *name) {
    assert(script < x->plan->scripts.len);
    const Script *s = x->plan->scripts.at[script];
    if (!starts_with_code(s))
        return false;
    Body b = scratch_body(x, x->plan->scopes.at[script], 0);
    gen_declare_locals(&b, NULL, 0);
    Ref body = gen_body(&b, &s->init, NULL, 0);
    scratch_add(x, &b, name, NULL, WASM_NONE, body);
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
    assert(script < x->plan->scripts.len);
    Body b = scratch_body(x, x->plan->scopes.at[script], 0);
    Ref calls = gen_exit_calls(&b, &x->plan->scripts.at[script]->init);
    if (!calls)
        return false;
    gen_declare_locals(&b, NULL, 0);
    scratch_add(x, &b, name, NULL, WASM_NONE, calls);
    return true;
}

/* Whether to compile a shape: one whose counts are only counters has no code. */
static bool has_template(const Shape *s) {
    const Variant *v = s->variant;
    return !s->never && !s->template && (s->sites || v->starts_dynamic || v->exits);
}

/* ---- decoding ---- */

/* The state for decoding functions into templates. */
typedef struct Decoder {
    CodeModule *code;
    const GenOptions *options;
    Arena *arena;
    bool failed; /* a function was no template */
} Decoder;

/* Loads and stores go to the real memory. */
static void gen_put_access(const Decoder *d, Buf *code, const WasmInstr *i) {
    wasm_put_op(code, (WasmOp)i->op);
    bool other = d->options->memory_index != 0;
    buf_uleb(code, i->a | (other ? 0x40u : 0));
    if (other)
        buf_uleb(code, d->options->memory_index);
    buf_uleb(code, i->c);
}

/* Each name in the code is a hole. */
static bool gen_put_instr(void *ctx, TemplateMaker *t, const uint8_t *bytes, const WasmInstr *i) {
    const Decoder *d = ctx;
    Hole h = {0};
    if (i->op == WASM_OP_GLOBAL_GET || i->op == WASM_OP_GLOBAL_SET || i->op == WASM_OP_CALL) {
        if (!hole_parse(str_of(d->code->names.at[i->a].text), &h))
            return false;
        h.access = i->op == WASM_OP_GLOBAL_SET ? HOLE_SET : HOLE_GET;
        template_add_hole(t, h);
    } else if (wasm_ops[i->op].imm == WASM_IMM_MEMARG) {
        gen_put_access(d, &t->code, i);
        t->accesses = true;
    } else {
        buf_bytes(&t->code, bytes, i->size);
    }
    return true;
}

/* The template of a function; NULL if there is none. */
static void *gen_decode(Decoder *d, const char *name) {
    CodeFn *f = code_find(d->code, str_of(name));
    if (!f)
        return NULL;
    Buf bytes = {0};
    code_write(f, NULL, &bytes);
    TemplateMaker t = {.put = gen_put_instr, .ctx = d, .zeros = f->zeros, .nparams = f->nparams};
    for (uint32_t i = 0; i < f->locals.len; i++)
        template_add_temp(&t, f->locals.at[i]);
    const Template *template = template_of_code(&t, &bytes, f->result, d->arena);
    template_maker_free(&t);
    buf_free(&bytes);
    d->failed |= !template;
    return (void *)template;
}

/* ---- */

static bool gen_fault(Diags *diags, const char *what) {
    diag(diags, DIAG_INTERNAL, NO_SPAN, "internal error in code generation: %s", what);
    return false;
}

/* Makes the functions the plan's templates. */
static bool decode_all(Scratch *x, Plan *plan, const Template **init, Diags *diags) {
    char name[32];
    bool ok = true;
    Decoder d = {.code = &x->code, .options = x->options, .arena = &plan->arena};
    for (uint32_t i = 0; ok && i < plan->shapes.len; i++) {
        Shape *s = plan->shapes.at[i];
        snprintf(name, sizeof name, "s%u", i);
        if (!has_template(s))
            continue;
        s->template = gen_decode(&d, name);
        name[0] = 'q';
        if (s->variant->alt.guarded)
            s->predicate = gen_decode(&d, name);
        name[0] = 'd';
        if (s->variant->starts_dynamic)
            s->init = gen_decode(&d, name);
        name[0] = 'x';
        if (s->variant->exits)
            s->exit = gen_decode(&d, name);
        ok = s->template || gen_fault(diags, "a template cannot be decoded");
    }
    for (uint32_t i = 0; ok && i < plan->fns.len; i++) {
        hole_name(name, HOLE_FN, i, WASM_I32);
        plan->fns.at[i].template = gen_decode(&d, name);
        ok = plan->fns.at[i].template || gen_fault(diags, "a function cannot be decoded");
    }
    for (uint32_t i = 0; ok && i < plan->probes.len; i++) {
        snprintf(name, sizeof name, "o%u", i);
        if (plan->probes.at[i].shared_from)
            plan->probes.at[i].init = gen_decode(&d, name);
    }
    for (uint32_t i = 0; ok && i < plan->scripts.len; i++) {
        snprintf(name, sizeof name, "i%u", i);
        init[i] = gen_decode(&d, name);
        name[0] = 'e';
        plan->at_exit.code[i] = gen_decode(&d, name);
    }
    ok = ok && (!d.failed || gen_fault(diags, "a function is no template"));
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
            gen_build_predicate(x, s, name);
        name[0] = 'd';
        if (s->variant->starts_dynamic)
            build_site_code(x, s, false, name);
        name[0] = 'x';
        if (s->variant->exits)
            build_site_code(x, s, true, name);
    }
    for (uint32_t i = 0; i < plan->fns.len; i++) {
        hole_name(name, HOLE_FN, i, WASM_I32);
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
static bool gen_has_code(const Plan *plan) {
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
    assert(plan_check(plan));
    Scratch x = {.plan = plan, .options = options};
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        init[i] = NULL;
    if (!gen_has_code(plan))
        return true;
    Phase before = phase_begin(PHASE_COMPILE);
    build_all(&x);
    scratch_finish(&x);
    bool ok = decode_all(&x, plan, init, diags);
    code_free(&x.code);
    phase_end(before);
    return ok;
}
