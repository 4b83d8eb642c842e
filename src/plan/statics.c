/*
 * plan/statics.c - '@static' calls: library functions that run at compile time.
 */
#include "plan/statics.h"

#include <assert.h>
#include <stdio.h>

/* Limits of all calls together: instructions (a second's work, and more for each byte of the
 * program that is walked), and bytes of memories. */
typedef struct StaticLimits {
    uint64_t fuel, fuel_of_byte, memory;
} StaticLimits;

static const StaticLimits *statics_limits(void) {
    static const StaticLimits usual = {1000000000, 5000, 256 << 20};
    static const StaticLimits fuzzed = {100000, 100, 16 << 20};
    return eval_is_fuzzed() ? &fuzzed : &usual;
}

typedef struct Instance {
    const Library *library;
    EvalInstance *instance; /* NULL = it could not be made */
} Instance;

typedef struct Statics {
    Arena arena;
    EvalStore *store;
    const EvalWasi *wasi;
    Diags *diags;
    Vec(Instance) instances;
    uint64_t budget; /* instructions that all calls until now could take */
    bool failed;
    Vec(uint64_t)
        record;    /* the values of all calls, as Wasm bits, in the order of the first walk */
    Map functions; /* by the bytes of a program's function index: where its values begin */
    bool replays;  /* the current function was walked before */
    uint64_t next; /* the next value, if so */
} Statics;

/* Returns the calls that are to come more instructions. */
static void add_fuel(Statics *s, uint64_t fuel) {
    s->budget += fuel;
    eval_set_fuel(s->store, eval_fuel(s->store) + fuel);
}

/* The evaluation of '@static' calls at one location. */
typedef struct Walk {
    Plan *plan;
    Statics *statics;
    const Site *site; /* NULL = script scope or a function of the script */
    bool somewhere;   /* the site is a location in a function */
    bool lacks;       /* an argument has no value: nothing matches */
} Walk;

/* ---- messages ---- */

static void statics_put_place(Buf *out, const Site *s) {
    Str name = wasm_known_name(s->m, s->func);
    if (s->instr)
        buf_printf(out, " at offset %u of function %u", s->pc, s->func);
    else
        buf_printf(out, " at the entry of function %u", s->func);
    if (name.len)
        buf_printf(out, " (%.*s)", name.len > 80 ? 80 : (int)name.len, name.ptr);
}

static void statics_report(Walk *w, const Expr *e, const char *what, EvalError *error) {
    Buf place = {0};
    if (error->status == EVAL_FUEL)
        eval_say_budget(error, w->statics->budget, "all static calls together");
    if (w->somewhere)
        statics_put_place(&place, w->site);
    Diag *g = diag(w->statics->diags, DIAG_STATIC_CALL, e->span, "%s%s: %s", what, buf_cstr(&place),
                   error->text);
    buf_free(&place);
    if (error->func != EVAL_NOWHERE && error->module) {
        Str name = wasm_func_name(error->module, error->func);
        diag_label(w->statics->diags, g, eval_error_span(error), "in function %u%s%.*s%s",
                   error->func, name.len ? " (" : "", name.len > 80 ? 80 : (int)name.len, name.ptr,
                   name.len ? ")" : "");
    }
    w->statics->failed = true;
}

/* ---- instances ---- */

/* Imports of a library other than WASI may be declared, but not called. */
static bool call_missing(void *ctx, EvalCall *call) {
    const WasmImport *import = ctx;
    return eval_fail(call->error, EVAL_HOST, "it calls '%.*s' of '%.*s', which does not exist yet",
                     STR_ARG(import->name), STR_ARG(import->module));
}

typedef struct Resolve {
    Statics *statics;
    const Library *library;
} Resolve;

static bool statics_resolve(void *ctx, const WasmImport *import, EvalExtern *what) {
    const Resolve *r = ctx;
    if (import->space != WASM_SPACE_FUNC)
        return false;
    const WasmTypeDef *t = wasm_func_type(&r->library->module, import->handle);
    what->space = WASM_SPACE_FUNC;
    if (wasm_is_wasi(import->module))
        what->func = eval_wasi_func(r->statics->store, &r->statics->arena, r->statics->wasi,
                                    import->name, t);
    else
        what->func = eval_host_func(r->statics->store, t->params, t->nparams, t->results,
                                    t->nresults, call_missing, (void *)import);
    return true;
}

/* Makes an instance and lets it initialise itself. */
static EvalInstance *statics_instantiate(Statics *s, const Library *library, EvalError *error) {
    Resolve r = {s, library};
    EvalExtern init;
    EvalInstance *i = eval_instantiate(s->store, &library->module, statics_resolve, &r, error);
    bool has_init = i && eval_export(i, STR("_initialize"), &init) &&
                    init.space == WASM_SPACE_FUNC &&
                    eval_func_type(s->store, init.func)->nparams == 0 &&
                    eval_func_type(s->store, init.func)->nresults == 0;
    if (has_init && !eval_call(s->store, init.func, NULL, 0, NULL, 0, error))
        return NULL;
    return i;
}

static EvalInstance *instance_of(Walk *w, const Expr *e, const Library *library) {
    Statics *s = w->statics;
    for (uint32_t i = 0; i < s->instances.len; i++)
        if (s->instances.at[i].library == library)
            return s->instances.at[i].instance;
    EvalError error = {0};
    EvalInstance *made = statics_instantiate(s, library, &error);
    if (!made) {
        char what[128];
        snprintf(what, sizeof what, "the library '%.*s' cannot be started",
                 library->name.len > 60 ? 60 : (int)library->name.len, library->name.ptr);
        statics_report(w, e, what, &error);
    }
    vec_push(&s->instances, ((Instance){library, made}));
    return made;
}

/* ---- calls ---- */

typedef Vec(EvalValue) EvalValues;

/* The arguments of a call, as they are known at the location. */
static void fold_args(Walk *w, const Expr *e, const WasmTypeDef *t, EvalValues *out) {
    for (uint32_t k = 0; k < e->nargs; k++) {
        Value v = {.kind = e->args[k]->type->kind};
        w->lacks |= !fold(e->args[k], w->site, &v);
        uint64_t bits = value_wasm_bits(v);
        bool wide = t->params[k] == WASM_I64 || t->params[k] == WASM_F64;
        vec_push(out, ((EvalValue){t->params[k], wide ? bits : (uint32_t)bits}));
    }
}

/* Calls the function and records the bits of its results, `count` of them. 0 after an error, which
 * was reported. */
static void statics_call(Walk *w, const Expr *e, const LibraryFn *f, const EvalValues *args,
                         uint32_t count) {
    Statics *s = w->statics;
    EvalInstance *i = s->failed ? NULL : instance_of(w, e, f->library);
    const WasmTypeDef *t = wasm_func_type(&f->library->module, f->func);
    EvalValue *results = mem_zalloc(sizeof *results * (t->nresults + 1u));
    EvalError error = {0};
    bool ok = i && eval_call(s->store, eval_func(i, f->func), args->at, args->len, results,
                             t->nresults, &error);
    if (i && !ok)
        statics_report(w, e, "this call fails", &error);
    for (uint32_t k = 0; k < count; k++)
        vec_push(&s->record, ok ? results[k].bits : 0);
    free(results);
}

static Value statics_value_of(const Type *t, uint64_t bits) {
    Value v = {.kind = t->kind, .bits = bits};
    if (t->kind == TYPE_I32)
        v.bits = (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    if (t->kind == TYPE_F32)
        v.real = (double)eval_as_f32((EvalValue){WASM_F32, bits});
    if (t->kind == TYPE_F64)
        v.real = eval_as_f64((EvalValue){WASM_F64, bits});
    return v;
}

/* Makes the call, or gets its results from the record. */
static void evaluate(Walk *w, Expr *e) {
    Statics *s = w->statics;
    const LibraryFn *f = &w->plan->library_fns.at[e->bound.id];
    EvalValues args = {0};
    uint32_t n = type_leaves(e->type), from = s->next;
    fold_args(w, e, wasm_func_type(&f->library->module, f->func), &args);
    if (!w->lacks && s->replays) {
        s->next += n;
    } else if (!w->lacks) { /* else nothing matches here */
        from = s->record.len;
        statics_call(w, e, f, &args, n);
    }
    vec_free(&args);
    if (!e->known)
        e->known = arena_array(&s->arena, Value, n + 1);
    for (uint32_t i = 0; i < n; i++)
        e->known[i] =
            statics_value_of(type_leaf(e->type, i),
                             !w->lacks && from + i < s->record.len ? s->record.at[from + i] : 0);
}

/* ---- evaluation ---- */

static Tri statics_truth(const Walk *w, const Expr *e) {
    Value v;
    if (!e->is_static || !fold(e, w->site, &v))
        return TRI_UNKNOWN;
    return tri_of(v.bits);
}

static void statics_walk_expr(Walk *w, Expr *e);

/* A condition: makes its calls and tells its value if it is static. */
static Tri walk_condition(Walk *w, Expr *e) {
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri decisive = tri_decisive(e->op);
        Tri a = walk_condition(w, e->args[0]);
        if (a == decisive)
            return a;
        Tri b = walk_condition(w, e->args[1]);
        return a == TRI_UNKNOWN ? a : b;
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return tri_not(walk_condition(w, e->args[0]));
    statics_walk_expr(w, e);
    return statics_truth(w, e);
}

static void statics_walk_expr(Walk *w, Expr *e) {
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        walk_condition(w, e);
        return;
    }
    if (e->kind == EXPR_COND) {
        Tri c = walk_condition(w, e->args[0]);
        for (uint32_t i = 1; i < 3; i++)
            if (c != (i == 1 ? TRI_NO : TRI_YES))
                statics_walk_expr(w, e->args[i]);
        return;
    }
    for (uint32_t i = 0; i < e->nargs; i++)
        statics_walk_expr(w, e->args[i]);
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        evaluate(w, e);
}

static void statics_walk_block(Walk *w, const Block *b);

static void statics_walk_if(Walk *w, const Stmt *s) {
    for (uint32_t i = 0; i < s->narms; i++) {
        Tri c = s->arms[i].cond ? walk_condition(w, s->arms[i].cond) : TRI_YES;
        if (c != TRI_NO)
            statics_walk_block(w, &s->arms[i].body);
        if (c == TRI_YES)
            return;
    }
}

static void statics_walk_loop(Walk *w, const Stmt *s) {
    statics_walk_block(w, &s->arms[LOOP_INIT].body);
    if (walk_condition(w, s->arms[LOOP_BODY].cond) == TRI_NO)
        return;
    statics_walk_block(w, &s->arms[LOOP_BODY].body);
    statics_walk_block(w, &s->arms[LOOP_STEP].body);
}

static void statics_walk_block(Walk *w, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        bool shared = s->kind == STMT_DECL && s->var->storage == STORAGE_SHARED;
        if (s->kind == STMT_DECL && s->var->init && !shared)
            statics_walk_expr(w, s->var->init);
        if (s->target)
            statics_walk_expr(w, s->target);
        if (s->value)
            statics_walk_expr(w, s->value);
        if (s->kind == STMT_IF || s->kind == STMT_ANNOTATED)
            statics_walk_if(w, s);
        if (s->kind == STMT_LOOP)
            statics_walk_loop(w, s);
    }
}

/* ---- from outside ---- */

static void find_static(void *ctx, Expr *e) {
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        *(bool *)ctx = true;
}

/* Some script has such a call. */
static bool any_calls(const Plan *plan) {
    bool any = false;
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        const Script *s = plan->scripts.at[i];
        ast_walk_probe(&(Probe){.body = s->init}, find_static, &any);
        for (uint32_t k = 0; k < s->fns.len; k++)
            ast_walk_probe(&(Probe){.body = s->fns.at[k]->body}, find_static, &any);
    }
    for (uint32_t i = 0; i < plan->variants.len && !any; i++)
        ast_walk_probe(plan->variants.at[i]->probe, find_static, &any);
    return any;
}

bool statics_start(Plan *plan, const EvalWasi *wasi, Diags *diags) {
    assert(!plan->statics);
    if (!any_calls(plan))
        return true;
    Statics *s = mem_zalloc(sizeof *s);
    plan->statics = s;
    s->store = eval_store_new(&(EvalLimits){.memory_bytes = statics_limits()->memory});
    s->wasi = wasi;
    s->diags = diags;
    add_fuel(s, statics_limits()->fuel);
    Walk w = {.plan = plan, .statics = s};
    for (uint32_t i = 0; i < plan->scripts.len; i++)
        statics_walk_block(&w, &plan->scripts.at[i]->init);
    for (uint32_t i = 0; i < plan->fns.len; i++)
        statics_walk_block(&w, &plan->fns.at[i].fn->body);
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const Var *v = plan->vars.at[i].decl;
        if (v->storage == STORAGE_SHARED && v->init)
            statics_walk_expr(&w, v->init);
    }
    return !s->failed;
}

void statics_free(Plan *plan) {
    Statics *s = plan->statics;
    if (!s)
        return;
    eval_store_free(s->store);
    vec_free(&s->instances);
    vec_free(&s->record);
    map_free(&s->functions);
    arena_free(&s->arena);
    free(s);
    plan->statics = NULL;
}

void statics_function(Plan *plan, const WasmModule *m, uint32_t func) {
    Statics *s = plan->statics;
    if (!s)
        return;
    bool added;
    Str key = {(const char *)&func, sizeof func};
    s->next = *map_put(&s->functions, key, s->record.len, &added);
    s->replays = !added;
    if (added)
        add_fuel(s, statics_limits()->fuel_of_byte * m->funcs.at[func].body_size);
}

void statics_copy(Plan *plan, Expr *to, const Expr *from) {
    assert(to->annotation == ANN_STATIC && from->annotation == ANN_STATIC);
    uint32_t n = from->known ? type_leaves(from->type) : 0;
    if (n && !to->known)
        to->known = arena_array(&plan->statics->arena, Value, n + 1);
    for (uint32_t i = 0; i < n; i++)
        to->known[i] = from->known[i];
}

bool statics_site(Plan *plan, Variant *v, const Site *site) {
    Statics *s = plan->statics;
    if (!s || !v->statics.len)
        return true;
    for (uint32_t i = 0; i < v->statics.len; i++) {
        const Expr *e = v->statics.at[i];
        for (uint32_t k = 0; e->known && k < type_leaves(e->type); k++)
            e->known[k] = statics_value_of(type_leaf(e->type, k), 0);
    }
    EventKind kind = v->event.kind;
    Walk w = {.plan = plan, .statics = s, .site = site};
    w.somewhere = !event_is_nowhere(kind);
    if (v->probe->predicate && walk_condition(&w, v->probe->predicate) == TRI_NO)
        return false;
    statics_walk_block(&w, &v->probe->body);
    return !w.lacks;
}
