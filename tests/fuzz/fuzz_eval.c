/*
 * tests/fuzz/fuzz_eval.c - libFuzzer target for the interpreter: a valid module is instantiated,
 * every function that it exports is called with a few arguments, and what is left can be read.
 * Its imports are made to fit; functions among them call back.
 */
#include "eval/eval.h"
#include "valid/valid.h"

typedef struct Run {
    EvalStore *store;
    EvalInstance *in;
    uint32_t calls;
} Run;

/* A number that is mostly near some limit. */
static EvalValue value(WasmType type, uint32_t n) {
    static const uint64_t bits[] = {
        0,          1,          7,          UINT64_MAX, 0x80000000,
        0x7fc00000, 0x4f000000, 0xfff8,     UINT32_MAX, 0x7ff8000000000000,
        65535,      0x7fffffff, 1ull << 63, 3};
    if (!WASM_IS_REF(type))
        return (EvalValue){type, bits[n % (sizeof bits / sizeof *bits)]};
    return (EvalValue){type, 0};
}

static bool call_export(Run *r, uint32_t index, uint32_t seed) {
    EvalValue args[8], results[8];
    EvalError error;
    EvalFunc *f = eval_func(r->in, index);
    const WasmTypeDef *type = eval_func_type(r->store, f);
    uint32_t nresults = type->nresults;
    if (type->nparams > 8 || nresults > 8)
        return true;
    for (uint32_t k = 0; k < type->nparams; k++)
        args[k] = value(type->params[k], seed + 3 * k);
    bool ok = eval_call(r->store, f, args, type->nparams, results, nresults, &error);
    if (!ok) {
        eval_error_span(&error);
        if (error.status == EVAL_OK)
            abort();
    }
    return ok;
}

static bool host(void *ctx, EvalCall *call) {
    Run *r = ctx;
    if (++r->calls % 5 == 0)
        return eval_fail(call->error, EVAL_HOST, NULL);
    if (r->calls % 3 == 0 && r->in && r->in == call->caller)
        for (uint32_t k = 0; k < eval_module(r->in)->exports.len; k++)
            if (eval_module(r->in)->exports.at[k].space == WASM_SPACE_FUNC)
                return call_export(r, eval_module(r->in)->exports.at[k].handle, r->calls);
    return true;
}

typedef struct Imports {
    Run *run;
    const WasmModule *m;
} Imports;

/* Types with indices would need the store's numbers, which nobody knows yet. */
static bool simple(WasmType t) {
    return !WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT);
}

static bool resolve(void *ctx, const WasmImport *im, EvalExtern *what) {
    Imports *x = ctx;
    EvalStore *s = x->run->store;
    what->space = im->space;
    switch (im->space) {
    case WASM_SPACE_FUNC: {
        const WasmTypeDef *d = wasm_func_type(x->m, im->handle);
        for (uint32_t k = 0; k < d->nparams + d->nresults; k++)
            if (!simple(k < d->nparams ? d->params[k] : d->results[k - d->nparams]))
                return false;
        what->func =
            eval_host_func(s, d->params, d->nparams, d->results, d->nresults, host, x->run);
        return true;
    }
    case WASM_SPACE_GLOBAL: {
        const WasmGlobal *g = &x->m->globals.at[im->handle];
        what->global = eval_new_global(s, g->type, g->mutable, value(g->type, im->handle));
        return simple(g->type);
    }
    case WASM_SPACE_MEMORY:
        what->memory = eval_new_memory(s, x->m->memories.at[im->handle].limits);
        return what->memory != NULL;
    case WASM_SPACE_TABLE: {
        const WasmTable *t = &x->m->tables.at[im->handle];
        what->table =
            simple(t->type) ? eval_new_table(s, t->type, t->limits, value(t->type, 0)) : NULL;
        return what->table != NULL;
    }
    default: return false;
    }
}

/* Everything that a user could look at after a call; the sum keeps the reads from being left out.
 */
static volatile uint64_t sum;
static void look(const Run *r) {
    const WasmModule *m = eval_module(r->in);
    sum = 0;
    for (uint32_t k = 0; k < m->memories.len; k++) {
        EvalMemory *mem = eval_memory(r->in, k);
        for (uint64_t at = 0; at < eval_memory_size(mem); at += 4095)
            sum += eval_memory_data(mem)[at];
    }
    for (uint32_t k = 0; k < m->globals.len; k++)
        sum += eval_global_get(eval_global(r->in, k)).bits;
    for (uint32_t k = 0; k < m->tables.len; k++) {
        EvalValue v = {0};
        eval_table_get(eval_table(r->in, k), sum % 16, &v);
        sum += v.bits != 0;
    }
}

static void run(const WasmModule *m) {
    EvalLimits limits = {
        .memory_bytes = 4 << 20, .table_items = 10000, .call_depth = 200, .stack_slots = 20000};
    Run r = {.store = eval_store_new(&limits)};
    Imports x = {&r, m};
    EvalError error;
    eval_set_fuel(r.store, 20000);
    r.in = eval_instantiate(r.store, m, resolve, &x, &error);
    for (uint32_t k = 0; r.in && k < m->exports.len && k < 100; k++)
        for (uint32_t seed = 0; seed < 3 && m->exports.at[k].space == WASM_SPACE_FUNC; seed++) {
            eval_set_fuel(r.store, 20000);
            call_export(&r, m->exports.at[k].handle, seed * 5 + k);
        }
    if (r.in)
        look(&r);
    eval_store_free(r.store);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diags diags = {0};
    WasmModule m;
    if (wasm_load(&m, bytes, size, 0, &diags))
        run(&m);
    wasm_module_free(&m);
    diag_free(&diags);
    return 0;
}
