/*
 * tests/unit/bind_module.c - attaches a module to a program without matching anything:
 *
 *     bind_module [--host=js|none|wasi] PROGRAM OUT MONITOR[+LIBRARY...] [CALL...]
 *
 * A call is the name of an exported function of the monitor and numbers as arguments, "add 1 2",
 * made while the module is attached; its results are printed. Then the module becomes part of the
 * program as it is, its exported functions (but for those that a call with a minus sign names:
 * "-add") exported under their names, unless the program has such exports. The flush function is
 * called at the end of those whose names begin with "exit". The result is instantiated, and what
 * has become part of it is compared with what was attached.
 */
#include <stdio.h>
#include <stdlib.h>

#include "edit/write.h"
#include "file.h"
#include "monitor/attach/shim.h"
#include "valid/valid.h"
#include "wasm/emit.h"

typedef struct File {
    Buf bytes;
    WasmModule m;
} File;

enum { MAX_MODULES = 8 };

typedef struct Work {
    Diags diags;
    File app, modules[MAX_MODULES];
    BindModule list[MAX_MODULES];
    uint32_t nmodules;
    HostChoice host;
    Arena arena;
} Work;

static bool load(Work *w, File *f, const char *name) {
    if (!read_file(name, &f->bytes))
        return false;
    DiagFileId file = diag_file(&w->diags, name, f->bytes.data, f->bytes.len, true);
    return wasm_load(&f->m, f->bytes.data, f->bytes.len, file, &w->diags);
}

/* MONITOR+LIBRARY...: the monitor becomes the last. */
static bool load_modules(Work *w, const char *list) {
    char *names[MAX_MODULES], *copy = arena_printf(&w->arena, "%s", list);
    for (char *at = copy; at && w->nmodules < MAX_MODULES; w->nmodules++) {
        names[w->nmodules] = at;
        at = strchr(at, '+');
        if (at)
            *at++ = '\0';
    }
    for (uint32_t k = 0; k < w->nmodules; k++) {
        uint32_t place = k ? k - 1 : w->nmodules - 1;
        if (!load(w, &w->modules[place], names[k]))
            return false;
        w->list[place] =
            (BindModule){k ? bind_library_name(str_of(names[k])) : (Str){0}, &w->modules[place].m};
    }
    return true;
}

static void print(void *ctx, int stream, const void *bytes, size_t n) {
    (void)ctx;
    fwrite(bytes, 1, n, stream == 2 ? stderr : stdout);
}

static void removed(void *ctx, uint32_t id) {
    (void)ctx;
    printf("remove_probe %u\n", id);
}

static EvalValue number(WasmType type, const char *text) {
    switch (type) {
    case WASM_F32: return eval_f32(strtof(text, NULL));
    case WASM_F64: return eval_f64(strtod(text, NULL));
    case WASM_I64: return eval_i64((uint64_t)strtoll(text, NULL, 0));
    default: return eval_i32((uint32_t)strtoll(text, NULL, 0));
    }
}

static void show(EvalValue v) {
    switch (v.type) {
    case WASM_F32: printf(" %g", (double)eval_as_f32(v)); break;
    case WASM_F64: printf(" %g", eval_as_f64(v)); break;
    case WASM_I64: printf(" %lld", (long long)v.bits); break;
    case WASM_I32: printf(" %d", (int32_t)(uint32_t)v.bits); break;
    default: printf(v.bits ? " reference" : " null");
    }
}

static bool call(Work *w, BindHost *h, const char *text) {
    enum { MAX = 8 };
    EvalValue args[MAX], results[MAX];
    EvalError error;
    char *name = strtok(arena_printf(&w->arena, "%s", text), " ");
    const WasmModule *m = eval_module(bind_host_monitor(h));
    const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, str_of(name));
    if (!e)
        return false;
    const WasmTypeDef *t = wasm_func_type(m, e->handle);
    for (uint32_t k = 0; k < t->nparams && k < MAX; k++) {
        const char *word = strtok(NULL, " ");
        args[k] = number(t->params[k], word ? word : "0");
    }
    if (!bind_host_call(h, e->handle, args, t->nparams, results, t->nresults, &error)) {
        eval_report(&error, &w->diags, DIAG_CANNOT_BIND, text);
        return false;
    }
    printf("%s:", name);
    for (uint32_t k = 0; k < t->nresults; k++)
        show(results[k]);
    puts("");
    return true;
}

static bool left_out(Str name, char **calls, int ncalls) {
    for (int i = 0; i < ncalls; i++)
        if (calls[i][0] == '-' && str_is(name, calls[i] + 1))
            return true;
    return false;
}

static bool wanted(const WasmModule *to, const WasmExport *e, char **calls, int ncalls) {
    for (uint32_t i = 0; i < to->exports.len; i++)
        if (str_eq(to->exports.at[i].name, e->name))
            return false;
    return e->space == WASM_SPACE_FUNC && !left_out(e->name, calls, ncalls);
}

/* A function that calls `func` and then `flush`. */
static uint32_t add_last(WasmModule *to, uint32_t func, uint32_t flush) {
    Buf code = {0};
    buf_u8(&code, 0);
    for (uint32_t k = 0; k < wasm_func_type(to, func)->nparams; k++)
        put_index(&code, WASM_OP_LOCAL_GET, k);
    put_index(&code, WASM_OP_CALL, func);
    put_index(&code, WASM_OP_CALL, flush);
    wasm_put_op(&code, WASM_OP_END);
    return wasm_add_func(to, to->funcs.at[func].type, (Str){0}, &code, false);
}

/* ---- comparing ---- */

typedef struct Compare {
    const WasmModule *to;
    const Freeze *freeze;
    EvalStore *store;
    const WasmModule *module; /* what was written */
    EvalInstance *instance;
} Compare;

static bool refuse(void *ctx, EvalCall *c) {
    (void)ctx;
    return eval_fail(c->error, EVAL_HOST, "imports are not called");
}

static bool resolve(void *ctx, const WasmImport *im, EvalExtern *what) {
    const Compare *c = ctx;
    if (im->space != WASM_SPACE_FUNC)
        return false;
    const WasmTypeDef *t = wasm_func_type(c->module, im->handle);
    what->space = WASM_SPACE_FUNC;
    what->func =
        eval_host_func(c->store, t->params, t->nparams, t->results, t->nresults, refuse, NULL);
    return true;
}

/* Whether a reference is to the copy of the function that the old one is to. */
static bool same_reference(const Compare *c, EvalValue before, EvalValue after) {
    uint32_t index, copy;
    if (!before.bits || !after.bits)
        return before.bits == after.bits;
    const EvalInstance *in = eval_func_instance(eval_as_func(before), &index);
    if (!in)
        return true; /* a function of the host */
    if (eval_func_instance(eval_as_func(after), &copy) != c->instance)
        return false;
    for (uint32_t k = 0; k < c->freeze->modules.len; k++) {
        const Frozen *x = c->freeze->modules.at[k];
        if (x->instance == in)
            return copy ==
                   wasm_final(c->to, WASM_SPACE_FUNC, x->merge.handles[WASM_SPACE_FUNC][index]);
    }
    return false;
}

static bool same_table(const Compare *c, const EvalTable *before, const EvalTable *after) {
    EvalValue a, b;
    bool same = eval_table_size(before) == eval_table_size(after);
    for (uint64_t k = 0; same && eval_table_get(before, k, &a); k++)
        same = eval_table_get(after, k, &b) && same_reference(c, a, b);
    return same;
}

static bool same_global(const Compare *c, const EvalGlobal *before, const EvalGlobal *after) {
    EvalValue a = eval_global_get(before), b = eval_global_get(after);
    if (WASM_IS_REF(a.type) && !eval_global_opaque(before))
        return same_reference(c, a, b);
    return a.bits == b.bits && eval_global_opaque(before) == eval_global_opaque(after);
}

static bool same_memory(EvalMemory *before, EvalMemory *after) {
    uint64_t size = eval_memory_size(before);
    return eval_memory_size(after) == size &&
           (!size || memcmp(eval_memory_data(before), eval_memory_data(after), size) == 0);
}

static bool same_thing(const Compare *c, const Frozen *x, WasmSpace space, uint32_t k) {
    uint32_t handle = x->merge.handles[space][k];
    if (handle == UINT32_MAX)
        return true;
    uint32_t copy = wasm_final(c->to, space, handle);
    bool same = true;
    switch (space) {
    case WASM_SPACE_MEMORY:
        same = same_memory(eval_memory(x->instance, k), eval_memory(c->instance, copy));
        break;
    case WASM_SPACE_TABLE:
        same = same_table(c, eval_table(x->instance, k), eval_table(c->instance, copy));
        break;
    default: same = same_global(c, eval_global(x->instance, k), eval_global(c->instance, copy));
    }
    if (!same)
        printf("%s %u of a module is not what it was\n", wasm_space_name(space), k);
    return same;
}

static bool compare_all(const Compare *c) {
    static const uint8_t spaces[] = {WASM_SPACE_MEMORY, WASM_SPACE_TABLE, WASM_SPACE_GLOBAL};
    bool same = true;
    for (uint32_t m = 0; m < c->freeze->modules.len; m++) {
        const Frozen *x = c->freeze->modules.at[m];
        for (uint32_t s = 0; s < sizeof spaces; s++)
            for (uint32_t k = 0;
                 x->merge.handles[spaces[s]] && k < x->merge.from->input_count[spaces[s]]; k++)
                same &= same_thing(c, x, spaces[s], k);
    }
    return same;
}

/* Instantiates what was written, without its start function. */
static bool compare(Work *w, const WasmModule *to, const Freeze *f, const Buf *out) {
    WasmModule m;
    EvalError error;
    bool ok = wasm_load(&m, out->data, out->len, 0, &w->diags);
    Compare c = {to, f, eval_store_new(NULL), &m, NULL};
    if (ok)
        c.instance = eval_link(c.store, &m, resolve, &c, &error);
    if (ok && !c.instance && error.status != EVAL_UNKNOWN_IMPORT) /* of a memory, table ... */
        printf("cannot be compared: %s\n", error.text);
    ok = ok && (!c.instance || compare_all(&c));
    eval_store_free(c.store);
    wasm_module_free(&m);
    return ok;
}

/* ---- */

static bool freeze(Work *w, BindHost *h, char **calls, int ncalls, Buf *out) {
    WasmModule *to = &w->app.m;
    const WasmModule *from = eval_module(bind_host_monitor(h));
    BindShimOptions options = {.host = w->host};
    BindShim shim;
    Vec(uint32_t) roots = {0};
    for (uint32_t i = 0; i < from->exports.len; i++)
        if (wanted(to, &from->exports.at[i], calls, ncalls))
            vec_push(&roots, from->exports.at[i].handle);
    bind_shim_init(&shim, to, &options, &w->diags);
    BindPart *part = bind_part_new(&shim, h, STR("mon."));
    bool ok = bind_part_merge(part, roots.at, roots.len) && bind_shim_finish(&shim);
    for (uint32_t i = 0; ok && i < from->exports.len; i++) {
        const WasmExport *e = &from->exports.at[i];
        if (!wanted(to, e, calls, ncalls))
            continue;
        uint32_t func = bind_part_func(part, e->handle);
        int64_t flush = bind_shim_flush(&shim);
        if (flush >= 0 && e->name.len >= 4 && memcmp(e->name.ptr, "exit", 4) == 0)
            func = add_last(to, func, (uint32_t)flush);
        wasm_add_export(to, e->name, WASM_SPACE_FUNC, func);
    }
    ok = ok && wasm_write(to, NULL, out) && compare(w, to, &part->freeze, out);
    bind_shim_free(&shim);
    vec_free(&roots);
    return ok;
}

static bool run(Work *w, char **argv, int argc) {
    if (!load(w, &w->app, argv[0]) || !load_modules(w, argv[2]))
        return false;
    BindHostOptions options = {.app = &w->app.m,
                               .app_path = str_of(argv[0]),
                               .write = print,
                               .remove_probe = removed,
                               .fuel = 10000000};
    BindHost *h = bind_host_new(&options, w->list, w->nmodules, &w->diags);
    bool ok = h;
    for (int i = 3; ok && i < argc; i++)
        ok = argv[i][0] == '-' || call(w, h, argv[i]);
    Buf out = {0};
    ok = ok && freeze(w, h, argv + 3, argc - 3, &out) && write_file(argv[1], &out);
    buf_free(&out);
    bind_host_free(h);
    return ok;
}

int main(int argc, char **argv) {
    Work w = {0};
    if (argc > 1 && strncmp(argv[1], "--host=", 7) == 0) {
        w.host = argv[1][7] == 'j' ? HOST_JS : argv[1][7] == 'n' ? HOST_NONE : HOST_WASI;
        argv++;
        argc--;
    }
    if (argc < 4) {
        puts("ok 1 - bind_module # SKIP it needs the names of modules");
        return 0;
    }
    bool ok = run(&w, argv + 1, argc - 1);
    Buf messages = {0};
    diag_render_text(&w.diags, &messages, false);
    fflush(stdout);
    if (messages.len)
        fwrite(messages.data, 1, messages.len, stderr);
    wasm_module_free(&w.app.m);
    buf_free(&w.app.bytes);
    for (uint32_t k = 0; k < w.nmodules; k++) {
        wasm_module_free(&w.modules[k].m);
        buf_free(&w.modules[k].bytes);
    }
    buf_free(&messages);
    diag_free(&w.diags);
    arena_free(&w.arena);
    return ok ? 0 : 1;
}
