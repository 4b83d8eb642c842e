/*
 * plan/access.c - variants for the values that a site has.
 */
#include "plan/access_parts.h"

#include "plan/prune.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define T(K) (&type_scalar[TYPE_##K])

/* ---- names ---- */

bool access_at(EventKind kind, Str root) {
    return !event_is_nowhere(kind) &&
           (str_is(root, "args") || str_is(root, "locals") || str_is(root, "this"));
}

/* ---- bases ---- */

/* Names whose value is set only when the program is instrumented, and '@static' calls, which are
 * made then. */
static bool is_known_early(const Expr *e) {
    static const int later[] = {NAME_HOST, NAME_MODULE_ID, NAME_ASYNCIFY, NAME_MODULE_NAME,
                                NAME_COMPONENT_NAME};
    if (e->type->kind == TYPE_ERROR || e->annotation != ANN_NONE)
        return false;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (e->kind == EXPR_NAME && e->is_bound && e->bound.id == later[i])
            return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!is_known_early(e->args[i]))
            return false;
    return true;
}

/* The conditions that are known early, of those that must all be true; NULL = none. */
static Expr *early_part(Expr *e) {
    if (!e || is_known_early(e))
        return e;
    if (e->kind != EXPR_BINARY || e->op != OP_AND)
        return NULL;
    Expr *a = early_part(e->args[0]), *b = early_part(e->args[1]);
    if (!a || !b)
        return a ? a : b;
    e->args[0] = a;
    e->args[1] = b;
    e->type = T(BOOL);
    return e;
}

bool access_make_base(Plan *plan, Variant *v) {
    v->access.base = true;
    v->probe->predicate = early_part(v->probe->predicate);
    v->probe->body = (Block){0};
    v->probe->nvars = 0;
    v->vars = arena_array(&plan->arena, uint32_t, 1);
    v->asks.types = v->event.kind == EVENT_OPCODE;
    return prune_probe(plan->scripts.at[v->script], v->probe);
}

/* ---- the values at a site ---- */

bool access_fail(Finder *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(f->problem, sizeof f->problem, format, args);
    va_end(args);
    return false;
}

const Type *access_type(WasmType t) {
    switch (t) {
    case WASM_I32: return T(I32);
    case WASM_I64: return T(I64);
    case WASM_F32: return T(F32);
    case WASM_F64: return T(F64);
    default: return NULL;
    }
}

const WasmType *access_args(const Finder *f, const Event *e, uint32_t *n) {
    if (e->kind == EVENT_OPCODE) {
        *n = f->types->operands.len;
        return f->types->operands.at;
    }
    const WasmTypeDef *t = wasm_func_type(f->m, f->site->func);
    *n = t->nparams;
    return t->params;
}

/* args[n] */
static bool find_item(Finder *f, const Event *e, uint64_t n, Access *out) {
    uint32_t count;
    bool operand = e->kind == EVENT_OPCODE;
    const WasmType *types = access_args(f, e, &count);
    if (n >= count)
        return access_fail(f, "%s has %u argument%s", operand ? "the instruction" : "the function",
                           count, count == 1 ? "" : "s");
    const Type *t = access_type(types[n]);
    if (!t)
        return access_fail(f, "that argument is no number");
    uint32_t number = operand ? count - 1 - (uint32_t)n : (uint32_t)n;
    int id = operand ? NAME_ARG : NAME_LOCAL;
    *out = (Access){.start = {.id = id, .n = number, .type = t},
                    .type = t,
                    .of_text = t->kind == TYPE_I32 || t->kind == TYPE_I64};
    return true;
}

/* The value that an expression of members has at the site. */
static bool find_value(Finder *f, const Event *e, const Expr *access, Access *out) {
    if (access->kind == EXPR_INDEX)
        return find_item(f, e, access->args[0]->integer, out);
    if (str_is(access->name, "len()")) {
        uint32_t n;
        access_args(f, e, &n);
        *out = (Access){.constant = true, .start = {.value = n, .type = T(U32)}, .type = T(U32)};
        return true;
    }
    return access_member(f, e, access, out);
}

/* ---- variants ---- */

static void access_put_key(Buf *key, const Access *a) {
    buf_u8(key, a->constant);
    buf_u64le(key, a->start.value);
    buf_u32le(key, (uint32_t)a->start.id);
    buf_u32le(key, a->start.n);
    buf_u64le(key, (uintptr_t)a->start.type);
    buf_u64le(key, (uintptr_t)a->type);
    buf_u64le(key, (uintptr_t)a->what);
    buf_u8(key, a->of_text);
    buf_u32le(key, a->nsteps);
    for (uint32_t i = 0; i < a->nsteps; i++) {
        buf_u32le(key, a->steps[i].offset);
        buf_u64le(key, (uintptr_t)a->steps[i].read);
    }
}

/* Names the start: "local3". */
static const char *start_name(Finder *f, const Bound *b) {
    const char *pattern = name_infos[b->id].text; /* localN */
    return arena_printf(&f->plan->arena, "%.*s%u", (int)strlen(pattern) - 1, pattern, b->n);
}

/* Finds the values of all names; adds what they are to the key. */
static bool access_find_values(Finder *f, const Variant *base, const Event *e, Map *values,
                               Buf *key) {
    Buf text = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < base->access.wanted.len; i++) {
        bool added;
        text.len = 0;
        access_text(base->access.wanted.at[i], &text);
        uint64_t *at = map_put(values, buf_view(&text), 0, &added);
        if (!added)
            continue;
        Access *a = arena_new(&f->plan->arena, Access);
        ok = find_value(f, e, base->access.wanted.at[i], a);
        if (!ok) {
            f->unknown = base->access.wanted.at[i];
            break;
        }
        if (!a->constant)
            a->name = start_name(f, &a->start);
        *at = (uint64_t)(uintptr_t)a;
        access_put_key(key, a);
    }
    buf_free(&text);
    return ok;
}

static uint32_t variant_of_values(Finder *f, const Variant *base, Event e, Map *values,
                                  const Buf *key) {
    bool added;
    uint64_t *at = map_put(&f->variants, buf_view(key), f->plan->variants.len, &added);
    if (!added)
        return (uint32_t)*at;
    Variant *v = plan_add_variant(f->plan, base->source, e);
    v->branches = base->branches;
    v->access.values = arena_new(&f->plan->arena, Map);
    *v->access.values = *values;
    *values = (Map){0};
    f->failed |= !f->make(f->plan, v, f->diags);
    return (uint32_t)*at;
}

static Str site_key(uint32_t out[3], uint32_t action, const Site *s) {
    out[0] = action;
    out[1] = s->func;
    out[2] = s->opidx;
    return (Str){(const char *)out, 3 * sizeof *out};
}

static void note_unknown(Finder *f, const Variant *base, const Site *s) {
    AccessFault *fault = NULL;
    for (uint32_t i = 0; i < f->faults.len && !fault; i++)
        if (f->faults.at[i].source == base->source)
            fault = &f->faults.at[i];
    if (!fault) {
        fault = vec_add(&f->faults);
        *fault = (AccessFault){.source = base->source,
                               .access = f->unknown,
                               .func = s->func,
                               .pc = s->pc,
                               .why = arena_printf(&f->plan->arena, "%s", f->problem)};
    }
    fault->count++;
}

/* Makes the variant for a match of a base. */
static void at_base(Finder *f, const Match *match, const Site *s) {
    const Variant *base = match->shape->variant;
    Event e = match->action->event;
    if (s->instr && e.kind == EVENT_OPCODE)
        e.wide = matcher_wide(&f->w, e.op);
    Map values = {0};
    Buf key = {0};
    buf_u64le(&key, (uintptr_t)base);
    buf_u8(&key, e.wide);
    if (access_find_values(f, base, &e, &values, &key)) {
        uint32_t numbers[3];
        uint32_t action = (uint32_t)(match->action - f->plan->actions.at);
        uint32_t v = variant_of_values(f, base, e, &values, &key);
        map_put(&f->plan->accesses.sites, site_key(numbers, action, s), v, NULL);
    } else {
        note_unknown(f, base, s);
    }
    map_free(&values);
    buf_free(&key);
}

static void access_at_site(void *ctx, const Site *s, const SiteTypes *types, const Match *matches,
                           uint32_t n) {
    Finder *f = ctx;
    f->site = s;
    f->types = types;
    for (uint32_t i = 0; i < n && !f->failed; i++)
        at_base(f, &matches[i], s);
}

/* ---- the walk ---- */

/* Leaves only actions of bases in a list. */
static void keep_bases(const Plan *plan, Arena *arena, ActionList *list) {
    uint32_t *at = arena_array(arena, uint32_t, list->len + 1), n = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (plan->actions.at[list->at[i]].variant->access.base)
            at[n++] = list->at[i];
    *list = (ActionList){at, n};
}

/* Forgets the shapes of bases, which are no code. */
static void forget_shapes(Plan *plan, uint32_t n) {
    for (uint32_t i = n; i < plan->shapes.len; i++) {
        VariantShapes *shapes = &plan->shapes.at[i]->variant->shapes;
        map_free(&shapes->by_atoms);
        *shapes = (VariantShapes){0};
    }
    plan->shapes.len = n;
}

static void walk_bases(Finder *f) {
    Plan *plan = f->plan;
    Arena scratch = {0};
    struct {
        ActionList by_op[WASM_OP_COUNT], by_kind[EVENT_KIND_COUNT];
    } *all = mem_zalloc(sizeof *all);
    memcpy(all->by_op, plan->by_op, sizeof all->by_op);
    memcpy(all->by_kind, plan->by_kind, sizeof all->by_kind);
    for (uint32_t i = 0; i < WASM_OP_COUNT; i++)
        keep_bases(plan, &scratch, &plan->by_op[i]);
    for (uint32_t i = 0; i < EVENT_KIND_COUNT; i++)
        keep_bases(plan, &scratch, &plan->by_kind[i]);
    Locator *own = plan->program.locator;
    plan->program.locator = f->locator;
    f->w = (Matcher){.plan = plan, .m = f->m, .hooks = {.ctx = f, .at = access_at_site}};
    uint32_t shapes = plan->shapes.len;
    for (uint32_t i = f->m->input_imports[WASM_SPACE_FUNC];
         i < f->m->input_count[WASM_SPACE_FUNC] && !f->failed; i++)
        if (!match_func(&f->w, i))
            break; /* reported when the program is instrumented */
    matcher_free(&f->w);
    forget_shapes(plan, shapes);
    plan->program.locator = own;
    memcpy(plan->by_op, all->by_op, sizeof all->by_op);
    memcpy(plan->by_kind, all->by_kind, sizeof all->by_kind);
    arena_free(&scratch);
    free(all);
}

/* Reports a probe at some of whose sites, or all, a value is not known. */
static void report_fault(const Finder *f, const AccessFault *fault) {
    uint32_t sites = 0;
    for (uint32_t i = 0; i < f->plan->accesses.sites.len; i++)
        sites +=
            f->plan->variants.at[f->plan->accesses.sites.entries[i].value]->source == fault->source;
    Buf text = {0};
    access_text(fault->access, &text);
    Str name = wasm_known_name(f->m, fault->func);
    char of[100] = "";
    if (name.len)
        snprintf(of, sizeof of, " (%.*s)", name.len > 80 ? 80 : (int)name.len, name.ptr);
    Diag *d =
        diag(f->diags, sites ? DIAG_VALUE_SITE : DIAG_NO_SUCH_VALUE, fault->access->span,
             "'%s' has no value at %u of %u sites, where the probe does not run; at offset %u "
             "of function %u%s: %s",
             buf_cstr(&text), fault->count, fault->count + sites, fault->pc, fault->func, of,
             fault->why);
    diag_hint(f->diags, d, "a predicate can leave these sites out");
    buf_free(&text);
}

bool access_find_sites(Plan *plan, const AccessProgram *program, AccessMake *make, Diags *diags) {
    Finder f = {.plan = plan, .make = make, .diags = diags, .sets_of = UINT32_MAX};
    bool any = false;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        any |= plan->variants.at[i]->access.base;
    if (!any || !program->open || !program->open(program->ctx, &f.m, &f.locator))
        return true;
    walk_bases(&f);
    for (uint32_t i = 0; i < f.faults.len; i++)
        report_fault(&f, &f.faults.at[i]);
    plan->accesses.found = true;
    vec_free(&f.sets);
    vec_free(&f.faults);
    map_free(&f.variants);
    return !f.failed && !diags->errors;
}

Variant *access_variant(const Plan *plan, const Action *a, const Site *s) {
    uint32_t numbers[3];
    Str key = site_key(numbers, (uint32_t)(a - plan->actions.at), s);
    const uint64_t *v = map_get(&plan->accesses.sites, key);
    return v ? plan->variants.at[*v] : NULL;
}
