/*
 * monitor/attach/engine_side.c - the engine's side of a monitor that is being attached.
 */
#include "monitor/attach/engine_side.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "eval/wasi.h"
#include "monitor/attach/reflect.h"

/* A module as it runs. */
typedef struct Running {
    const BindModule *module;
    EvalInstance *instance; /* NULL: not yet */
} Running;

struct BindHost {
    BindHostOptions options;
    EvalStore *store;
    EvalWasi wasi;
    Reflect reflect;
    Arena arena;
    Vec(Running) modules;
};

/* ---- memory ---- */

int64_t bind_host_memory(const WasmModule *m) {
    for (uint32_t k = 0; k < m->exports.len; k++)
        if (m->exports.at[k].space == WASM_SPACE_MEMORY)
            return m->exports.at[k].handle;
    return -1;
}

/* The memory that the caller shows; NULL with the error of the call. */
static EvalMemory *engine_side_memory_of(EvalCall *call) {
    const WasmModule *m = call->caller ? eval_module(call->caller) : NULL;
    if (m && !eval_burn(call, m->exports.len * sizeof *m->exports.at))
        return NULL;
    int64_t index = m ? bind_host_memory(m) : -1;
    if (index < 0)
        eval_fail(call->error, EVAL_HOST, "the calling module exports no memory");
    return index < 0 ? NULL : eval_memory(call->caller, (uint32_t)index);
}

/* The bytes at (address, length), two arguments from `first` on; there may be none. False with the
 * error of the call. */
static bool engine_side_range(EvalCall *call, uint32_t first, uint8_t **bytes, uint32_t *len) {
    EvalMemory *memory = engine_side_memory_of(call);
    uint32_t at = (uint32_t)call->args[first].bits;
    if (!memory)
        return false;
    uint64_t size = eval_memory_size(memory);
    *len = (uint32_t)call->args[first + 1].bits;
    if ((uint64_t)at + *len > size)
        return eval_fail(
            call->error, EVAL_HOST,
            "%u bytes at address %u exceed the memory that the module exports, which has %llu",
            *len, at, (unsigned long long)size);
    *bytes = size ? eval_memory_data(memory) + at : NULL;
    return true;
}

/* ---- wizeng ---- */

enum { STANDARD_OUTPUT = 1 };

static bool engine_side_print(const BindHost *h, EvalCall *call, const void *bytes, size_t n) {
    if (!eval_burn(call, EVAL_WRITE_COST + n))
        return false;
    if (n && h->options.write)
        h->options.write(h->options.ctx, STANDARD_OUTPUT, bytes, n);
    return true;
}

static bool wizeng_puti(void *ctx, EvalCall *call) {
    char text[16];
    int n = snprintf(text, sizeof text, "%d", (int32_t)(uint32_t)call->args[0].bits);
    return engine_side_print(ctx, call, text, (size_t)n);
}

static bool wizeng_putc(void *ctx, EvalCall *call) {
    uint8_t c = (uint8_t)call->args[0].bits;
    return engine_side_print(ctx, call, &c, 1);
}

static bool wizeng_puts(void *ctx, EvalCall *call) {
    uint32_t len;
    uint8_t *at;
    return engine_side_range(call, 0, &at, &len) && engine_side_print(ctx, call, at, len);
}

static bool wizeng_error(void *ctx, EvalCall *call) {
    (void)ctx;
    uint32_t len;
    uint8_t *at;
    return engine_side_range(call, 0, &at, &len) &&
           eval_fail(call->error, EVAL_HOST, "it calls wizeng.error: %.*s",
                     len > 120 ? 120 : (int)len, len ? (const char *)at : "");
}

static bool wizeng_crash(void *ctx, EvalCall *call) {
    (void)ctx;
    return eval_fail(call->error, EVAL_HOST, "it calls wizeng.crash");
}

static bool wizeng_force_gc(void *ctx, EvalCall *call) {
    (void)ctx, (void)call;
    return true;
}

static bool wizeng_rdtsc(void *ctx, EvalCall *call) {
    struct timespec t = {0};
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    call->results[0].bits = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return true;
}

/* ---- whamm:dyninstr ---- */

static bool remove_probe(void *ctx, EvalCall *call) {
    const BindHost *h = ctx;
    if (h->options.remove_probe)
        h->options.remove_probe(h->options.ctx, (uint32_t)call->args[0].bits);
    return true;
}

static bool insert_new_probe(void *ctx, EvalCall *call) {
    (void)ctx;
    return eval_fail(call->error, EVAL_HOST,
                     "it calls insert_new_probe, which is not possible ahead of time");
}

/* ---- whamm:reflect ---- */

/* A function with its host. */
typedef struct ReflectCall {
    BindHost *host;
    const ReflectFn *fn;
} ReflectCall;

static bool get_import_index(const BindHost *h, EvalCall *call) {
    uint32_t section = (uint32_t)call->args[0].bits, index = (uint32_t)call->args[1].bits;
    int32_t import;
    if (!reflect_import(&h->reflect, section, index, &import))
        return eval_fail(call->error, EVAL_HOST,
                         "get_import_index: the program has no item %u in section %u", index,
                         section);
    call->results[0].bits = (uint32_t)import;
    return true;
}

static bool reflect(void *ctx, EvalCall *call) {
    const ReflectCall *r = ctx;
    const Reflect *answers = &r->host->reflect;
    uint32_t index = (uint32_t)call->args[0].bits, len, first = 0;
    switch (r->fn->kind) {
    case REFLECT_NUMBER: call->results[0].bits = reflect_number(answers, r->fn); return true;
    case REFLECT_IMPORT: return get_import_index(r->host, call);
    case REFLECT_WHOLE: break;
    case REFLECT_ITEM:
        if (index >= reflect_count(answers, r->fn))
            return eval_fail(call->error, EVAL_HOST, "%s: there is no item %u in the program",
                             r->fn->name, index);
        first = 1;
        break;
    case REFLECT_SECTION: first = 1; break;
    }
    Str bytes = reflect_bytes(answers, r->fn, index);
    uint8_t *to;
    if (!engine_side_range(call, first, &to, &len))
        return false;
    len = bytes.len < len ? bytes.len : len;
    if (!eval_burn(call, len))
        return false;
    if (len)
        memcpy(to, bytes.ptr, len);
    call->results[0].bits = bytes.len;
    return true;
}

/* ---- imports ---- */

/* Functions with a fixed type: i = i32, l = i64, f = funcref; after the colon the result. */
static const struct {
    const char *module, *name, *type;
    EvalHost host;
} functions[] = {
    {"wizeng", "puti", "i:", wizeng_puti},
    {"wizeng", "putc", "i:", wizeng_putc},
    {"wizeng", "puts", "ii:", wizeng_puts},
    {"wizeng", "error", "ii:", wizeng_error},
    {"wizeng", "crash", ":", wizeng_crash},
    {"wizeng", "force_gc", ":", wizeng_force_gc},
    {"wizeng", "rdtsc", ":l", wizeng_rdtsc},
    {"whamm:dyninstr", "remove_probe", "i:", remove_probe},
    {"whamm:dyninstr", "insert_new_probe", "iif:i", insert_new_probe},
};

static EvalFunc *new_function(BindHost *h, const char *type, EvalHost host) {
    WasmType types[4];
    uint32_t n = 0, params = 0;
    for (; *type; type++) {
        if (*type == ':')
            params = n;
        else
            types[n++] = *type == 'l' ? WASM_I64 : *type == 'f' ? WASM_FUNCREF : WASM_I32;
    }
    return eval_host_func(h->store, types, params, types + params, n - params, host, h);
}

static EvalFunc *new_reflect(BindHost *h, Str name) {
    static const WasmType i32[] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32};
    const ReflectFn *fn = reflect_find(name);
    ReflectCall *r = arena_new(&h->arena, ReflectCall);
    if (!fn)
        return NULL;
    *r = (ReflectCall){h, fn};
    return eval_host_func(h->store, i32, reflect_nparams(fn), i32, 1, reflect, r);
}

/* For one instantiation. */
typedef struct Link {
    BindHost *h;
    const WasmModule *m;      /* the module that imports */
    const WasmImport *import; /* the last one requested */
} Link;

/* The function of the engine, or NULL. */
static EvalFunc *engine_function(const Link *l, const WasmImport *im) {
    BindHost *h = l->h;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (str_is(im->module, functions[k].module) && str_is(im->name, functions[k].name))
            return new_function(h, functions[k].type, functions[k].host);
    if (str_is(im->module, REFLECT_MODULE))
        return new_reflect(h, im->name);
    if (wasm_is_wasi(im->module))
        return eval_wasi_func(h->store, &h->arena, &h->wasi, im->name,
                              wasm_func_type(l->m, im->handle));
    return NULL;
}

static bool engine_side_resolve(void *ctx, const WasmImport *im, EvalExtern *what) {
    Link *l = ctx;
    l->import = im;
    if (im->space == WASM_SPACE_FUNC) {
        what->space = WASM_SPACE_FUNC;
        what->func = engine_function(l, im);
        if (what->func)
            return true;
    }
    for (uint32_t k = 0; k < l->h->modules.len; k++) {
        const Running *r = &l->h->modules.at[k];
        if (r->instance && r->module->name.len && str_eq(r->module->name, im->module))
            return eval_export(r->instance, im->name, what);
    }
    return false;
}

/* ---- the host ---- */

#define CALLS "all calls of the monitor together" /* the purpose of the fuel, for messages */

static const char *engine_side_kind_of(const BindHost *h, const Running *r, Arena *a) {
    if (r == &h->modules.at[h->modules.len - 1])
        return "the monitor";
    return arena_printf(a, "the library '%.*s'", STR_ARG(r->module->name));
}

/* Where the import is that could not be bound. */
static Span import_span(const Link *l) {
    Str name = l->import->name;
    uint32_t at = (uint32_t)((const uint8_t *)name.ptr - l->m->bytes);
    return (Span){l->m->file, at, at + name.len};
}

static bool is_engine(Str module) {
    bool known = str_is(module, REFLECT_MODULE) || wasm_is_wasi(module);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        known |= str_is(module, functions[k].module);
    return known;
}

/* Where an unknown import could come from. */
static void engine_side_hint_at(const Link *l, Diags *diags, Diag *d) {
    Str module = l->import->module;
    if (is_engine(module))
        return;
    for (uint32_t k = 0; k < l->h->modules.len; k++) {
        const Running *r = &l->h->modules.at[k];
        if (!r->module->name.len || !str_eq(r->module->name, module))
            continue;
        if (r->instance)
            diag_hint(diags, d, "the library '%.*s' does not export that", STR_ARG(module));
        else
            diag_hint(diags, d, "give the library '%.*s' before those that import it",
                      STR_ARG(module));
        return;
    }
    diag_hint(diags, d, "give the library '%.*s' after the monitor: MONITOR.wasm+%.*s.wasm",
              STR_ARG(module), STR_ARG(module));
}

static bool engine_side_instantiate(BindHost *h, Running *r, Diags *diags) {
    EvalError error = {.func = EVAL_NOWHERE};
    Link l = {h, r->module->module, NULL};
    EvalInstance *i = eval_link(h->store, r->module->module, engine_side_resolve, &l, &error);
    if (!i) {
        Diag *d = eval_report(&error, diags, DIAG_CANNOT_BIND,
                              arena_printf(&h->arena, "%s cannot be instantiated",
                                           engine_side_kind_of(h, r, &h->arena)));
        if (error.status == EVAL_UNKNOWN_IMPORT || error.status == EVAL_IMPORT_TYPE)
            d->span = import_span(&l);
        if (error.status == EVAL_UNKNOWN_IMPORT)
            engine_side_hint_at(&l, diags, d);
        return false;
    }
    r->instance = i;
    if (eval_start(i, &error))
        return true;
    bool endless = error.status == EVAL_FUEL;
    if (endless)
        eval_say_budget(&error, h->options.fuel, CALLS);
    eval_report(&error, diags, endless ? DIAG_CANNOT_BIND : DIAG_MONITOR_START,
                arena_printf(&h->arena, "the start function of %s fails",
                             engine_side_kind_of(h, r, &h->arena)));
    return !endless;
}

uint64_t bind_fuel(const WasmModule *app) {
    return eval_is_fuzzed() ? 1000000 + 100 * (uint64_t)app->size
                            : 1000000000 + 5000 * (uint64_t)app->size;
}

/* Whether some module asks about the program. */
static bool engine_side_asks(const BindModule *modules, uint32_t nmodules) {
    for (uint32_t k = 0; k < nmodules; k++)
        for (uint32_t i = 0; i < modules[k].module->imports.len; i++)
            if (str_is(modules[k].module->imports.at[i].module, REFLECT_MODULE))
                return true;
    return false;
}

BindHost *bind_host_new(const BindHostOptions *options, const BindModule *modules,
                        uint32_t nmodules, Diags *diags) {
    assert(nmodules);
    BindHost *h = mem_zalloc(sizeof *h);
    h->options = *options;
    h->options.fuel = options->fuel ? options->fuel : bind_fuel(options->app);
    h->wasi = (EvalWasi){.write = options->write, .ctx = options->ctx, .first_memory = true};
    h->store = eval_store_new(NULL);
    eval_set_fuel(h->store, h->options.fuel);
    if (engine_side_asks(modules, nmodules))
        reflect_init(&h->reflect, options->app, options->app_path);
    for (uint32_t k = 0; k < nmodules; k++)
        vec_push(&h->modules, (Running){&modules[k], NULL});
    bool ok = true;
    for (uint32_t k = 0; ok && k < nmodules; k++)
        ok = engine_side_instantiate(h, &h->modules.at[k], diags);
    if (ok)
        return h;
    bind_host_free(h);
    return NULL;
}

void bind_host_free(BindHost *h) {
    if (!h)
        return;
    eval_store_free(h->store);
    reflect_free(&h->reflect);
    arena_free(&h->arena);
    vec_free(&h->modules);
    free(h);
}

bool bind_host_call(BindHost *h, uint32_t func, const EvalValue *args, uint32_t nargs,
                    EvalValue *results, uint32_t nresults, EvalError *error) {
    EvalFunc *f = eval_func(bind_host_monitor(h), func);
    if (eval_call(h->store, f, args, nargs, results, nresults, error))
        return true;
    if (error->status == EVAL_FUEL)
        eval_say_budget(error, h->options.fuel, CALLS);
    return false;
}

void bind_host_spend(BindHost *h, size_t bytes) {
    enum { BYTES = 64 }; /* for an instruction */
    uint64_t left = eval_fuel(h->store), cost = bytes / BYTES;
    eval_set_fuel(h->store, left > cost ? left - cost : 0);
}

uint32_t bind_host_count(const BindHost *h) {
    return h->modules.len;
}

const BindModule *bind_host_module(const BindHost *h, uint32_t n) {
    assert(n < h->modules.len);
    return h->modules.at[n].module;
}

EvalInstance *bind_host_instance(const BindHost *h, uint32_t n) {
    assert(n < h->modules.len);
    return h->modules.at[n].instance;
}

EvalInstance *bind_host_monitor(const BindHost *h) {
    assert(h->modules.len);
    return vec_last(&h->modules).instance;
}

const Reflect *bind_host_reflect(const BindHost *h) {
    return &h->reflect;
}

Str bind_library_name(Str path) {
    uint32_t from = path.len, end = path.len;
    while (from && path.ptr[from - 1] != '/')
        from--;
    for (uint32_t k = path.len; k > from && end == path.len; k--)
        if (path.ptr[k - 1] == '.')
            end = k - 1;
    return (Str){path.ptr + from, end - from};
}
