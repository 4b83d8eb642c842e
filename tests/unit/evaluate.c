/*
 * tests/unit/evaluate.c - runs modules in the interpreter as commands on standard input say, one a
 * line, and answers each with a line. Words are separated by one blank; - stands for no name.
 *
 *   module NAME FILE          makes an instance, which is then the current one
 *   register AS NAME          lets others import from an instance (-: the current one)
 *   call NAME FIELD ARG...    calls an export; values are TYPE:BITS, null references TYPE:null
 *   get NAME FIELD            a global
 *   exports NAME              functions that are exported, each as FIELD:PARAMETER,...:RESULT,...
 *   counts NAME               what was executed, if -c is given: "INSTRUCTIONS EXECUTED", then
 *                             CATEGORY=EXECUTED and FUNCTION:PC:EXECUTED for all that are not 0
 *   reset                     forgets all instances
 *
 * Names are in hexadecimal, two digits a byte (the empty one is ""); #K is the instance that was
 * made as the K-th, from 0. Answers: "ok VALUE...", or "error STATUS TEXT" with STATUS as a number
 * of EvalStatus. Fuel is given anew for each command. What can be imported from "spectest" is what
 * the official test suite wants there.
 *
 *     evaluate -c [FUEL]                counts; imported functions that nobody has are those of
 *                                       WASI, or give zeros
 *     evaluate -t FILE EXPORT ARG...    one call, with its time and speed
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "eval/eval.h"
#include "eval/wasi.h"
#include "file.h"
#include "valid/subtype.h"
#include "valid/valid.h"

typedef struct Module {
    Buf bytes;
    WasmModule m;
    Diags diags;
} Module;

typedef struct Script {
    EvalStore *store;
    Vec(Module *) modules;
    Vec(EvalInstance *) instances;
    Map names;      /* to instances */
    Map registered; /* the same */
    Map spectest;   /* to externs */
    Vec(EvalExtern) externs;
    EvalInstance *current;
    uint64_t fuel;
    bool counts;
    EvalWasi wasi;
    Arena arena;
} Script;

/* ---- imports ---- */

static bool print(void *ctx, EvalCall *call) {
    (void)ctx;
    (void)call;
    return true;
}

static void provide(Script *x, const char *name, EvalExtern e) {
    map_put(&x->spectest, str_of(name), x->externs.len, NULL);
    vec_push(&x->externs, e);
}

static void provide_func(Script *x, const char *name, const WasmType *params, uint32_t n) {
    EvalFunc *f = eval_host_func(x->store, params, n, NULL, 0, print, NULL);
    provide(x, name, (EvalExtern){.space = WASM_SPACE_FUNC, .func = f});
}

static void provide_global(Script *x, const char *name, EvalValue v) {
    EvalGlobal *g = eval_new_global(x->store, v.type, false, v);
    provide(x, name, (EvalExtern){.space = WASM_SPACE_GLOBAL, .global = g});
}

static void provide_table(Script *x, const char *name, bool is64) {
    WasmLimits limits = {.min = 10, .max = 20, .has_max = true, .is64 = is64};
    EvalTable *t = eval_new_table(x->store, WASM_FUNCREF, limits, eval_funcref(NULL));
    provide(x, name, (EvalExtern){.space = WASM_SPACE_TABLE, .table = t});
}

static void provide_spectest(Script *x) {
    static const WasmType i32[] = {WASM_I32}, i64[] = {WASM_I64}, f32[] = {WASM_F32},
                          f64[] = {WASM_F64, WASM_F64}, i32_f32[] = {WASM_I32, WASM_F32};
    provide_func(x, "print", NULL, 0);
    provide_func(x, "print_i32", i32, 1);
    provide_func(x, "print_i64", i64, 1);
    provide_func(x, "print_f32", f32, 1);
    provide_func(x, "print_f64", f64, 1);
    provide_func(x, "print_f64_f64", f64, 2);
    provide_func(x, "print_i32_f32", i32_f32, 2);
    provide_global(x, "global_i32", eval_i32(666));
    provide_global(x, "global_i64", eval_i64(666));
    provide_global(x, "global_f32", eval_f32(666.6f));
    provide_global(x, "global_f64", eval_f64(666.6));
    provide_table(x, "table", false);
    provide_table(x, "table64", true);
    WasmLimits limits = {.min = 1, .max = 2, .has_max = true, .page_log2 = 16};
    EvalMemory *m = eval_new_memory(x->store, limits);
    provide(x, "memory", (EvalExtern){.space = WASM_SPACE_MEMORY, .memory = m});
}

/* A function that nobody has: WASI's, or one that gives zeros. */
static bool stand_in(Script *x, const WasmImport *im, EvalExtern *what) {
    const WasmModule *m = &vec_last(&x->modules)->m;
    const WasmTypeDef *t = &m->types.at[m->funcs.at[im->handle].type];
    bool numbers = true; /* types of modules are not the store's */
    for (uint32_t k = 0; k < t->nparams + t->nresults; k++) {
        uint32_t index;
        numbers &=
            !wasm_heap_index(k < t->nparams ? t->params[k] : t->results[k - t->nparams], &index);
    }
    what->space = WASM_SPACE_FUNC;
    if (!numbers)
        return false;
    if (str_is(im->module, "wasi_snapshot_preview1"))
        what->func = eval_wasi_func(x->store, &x->arena, &x->wasi, im->name, t);
    else
        what->func =
            eval_host_func(x->store, t->params, t->nparams, t->results, t->nresults, print, NULL);
    return true;
}

static bool resolve(void *ctx, const WasmImport *im, EvalExtern *what) {
    Script *x = ctx;
    const uint64_t *found;
    if (str_is(im->module, "spectest")) {
        found = map_get(&x->spectest, im->name);
        if (found)
            *what = x->externs.at[*found];
        return found != NULL;
    }
    found = map_get(&x->registered, im->module);
    if (!found && x->counts && im->space == WASM_SPACE_FUNC)
        return stand_in(x, im, what);
    return found && eval_export(x->instances.at[*found], im->name, what);
}

/* ---- modules ---- */

static EvalInstance *instantiate(Script *x, const char *file, EvalError *error) {
    Module *module = mem_zalloc(sizeof *module);
    vec_push(&x->modules, module);
    if (!read_file(file, &module->bytes)) {
        eval_fail(error, EVAL_ARGUMENTS, "%s cannot be read", file);
        return NULL;
    }
    DiagFileId id = diag_file(&module->diags, file, module->bytes.data, module->bytes.len, true);
    if (!wasm_load(&module->m, module->bytes.data, module->bytes.len, id, &module->diags)) {
        eval_fail(error, EVAL_ARGUMENTS, "invalid: %s", module->diags.list.at[0]->message);
        return NULL;
    }
    return eval_instantiate(x->store, &module->m, resolve, x, error);
}

/* ---- commands ---- */

static bool answer(const EvalError *error) {
    printf("error %d %s", error->status, error->text);
    if (error->func != EVAL_NOWHERE)
        printf(" (function %u, pc %u)", error->func, error->pc);
    putchar('\n');
    return false;
}

static bool refuse(const char *text) {
    EvalError error;
    eval_fail(&error, EVAL_ARGUMENTS, "%s", text);
    return answer(&error);
}

/* The bytes of a word in hexadecimal, in place. */
static Str unhex(char *word) {
    size_t n = strcmp(word, "\"\"") ? strlen(word) / 2 : 0;
    for (size_t k = 0; k < n; k++) {
        char digits[3] = {word[2 * k], word[2 * k + 1], 0};
        word[k] = (char)strtoul(digits, NULL, 16);
    }
    return (Str){word, (uint32_t)n};
}

static EvalInstance *find(const Script *x, char *word) {
    if (!strcmp(word, "-"))
        return x->current;
    if (*word == '#') {
        unsigned long k = strtoul(word + 1, NULL, 10);
        return k < x->instances.len ? x->instances.at[k] : NULL;
    }
    const uint64_t *found = map_get(&x->names, unhex(word));
    return found ? x->instances.at[*found] : NULL;
}

static bool parse_value(const char *word, EvalValue *v) {
    static const struct {
        const char *name;
        WasmType type;
    } types[] = {{"i32", WASM_I32},
                 {"i64", WASM_I64},
                 {"f32", WASM_F32},
                 {"f64", WASM_F64},
                 {"externref", EVAL_EXTERNREF},
                 {"funcref", WASM_FUNCREF}};
    const char *colon = strchr(word, ':');
    for (size_t k = 0; colon && k < sizeof types / sizeof *types; k++) {
        if (!str_is((Str){word, (uint32_t)(colon - word)}, types[k].name))
            continue;
        v->type = types[k].type;
        bool ref = WASM_IS_REF(v->type);
        /* References count from 1, so that 0 is not null. */
        v->bits = strcmp(colon + 1, "null") ? strtoull(colon + 1, NULL, 10) + ref : 0;
        return !(ref && v->type == WASM_FUNCREF && v->bits);
    }
    return false;
}

static void print_value(EvalValue v) {
    char scratch[32], text[40];
    snprintf(text, sizeof text, "%s", wasm_type_text(v.type, scratch));
    for (char *p = strchr(text, ' '); p; p = strchr(p, ' '))
        *p = '_';
    if (!WASM_IS_REF(v.type))
        printf(" %s:%" PRIu64, text, v.bits);
    else if (!v.bits)
        printf(" %s:null", text);
    else if ((v.type | WASM_NULL_BIT) == EVAL_EXTERNREF)
        printf(" %s:%" PRIu64, text, v.bits - 1);
    else
        printf(" %s:function", text);
}

static bool do_module(Script *x, char *name, const char *file) {
    EvalError error = {0};
    x->current = instantiate(x, file, &error);
    Str id = strcmp(name, "-") ? unhex(name) : (Str){0};
    if (!x->current)
        return answer(&error);
    if (id.len)
        *map_put(&x->names, id, 0, NULL) = x->instances.len;
    vec_push(&x->instances, x->current);
    puts("ok");
    return true;
}

static bool do_register(Script *x, char *as, char *name) {
    EvalInstance *i = find(x, name);
    for (uint32_t k = 0; k < x->instances.len; k++)
        if (i && x->instances.at[k] == i) {
            *map_put(&x->registered, unhex(as), 0, NULL) = k;
            puts("ok");
            return true;
        }
    return refuse("no such instance");
}

static bool do_call(Script *x, char *name, char *field, char **args, uint32_t nargs) {
    EvalInstance *i = find(x, name);
    EvalValue values[64], results[64];
    EvalExtern e;
    EvalError error;
    if (!i || !eval_export(i, unhex(field), &e) || e.space != WASM_SPACE_FUNC)
        return refuse("no such function");
    for (uint32_t k = 0; k < nargs; k++)
        if (k == 64 || !parse_value(args[k], &values[k]))
            return refuse("unknown kind of argument");
    uint32_t nresults = eval_func_type(x->store, e.func)->nresults;
    if (nresults > 64)
        return refuse("too many results");
    if (!eval_call(x->store, e.func, values, nargs, results, nresults, &error))
        return answer(&error);
    printf("ok");
    for (uint32_t k = 0; k < nresults; k++)
        print_value(results[k]);
    putchar('\n');
    return true;
}

static bool do_get(Script *x, char *name, char *field) {
    EvalInstance *i = find(x, name);
    EvalExtern e;
    if (!i || !eval_export(i, unhex(field), &e) || e.space != WASM_SPACE_GLOBAL)
        return refuse("no such global");
    printf("ok");
    print_value(eval_global_get(e.global));
    putchar('\n');
    return true;
}

static void print_types(const WasmType *types, uint32_t n) {
    char scratch[32];
    for (uint32_t k = 0; k < n; k++) {
        printf(k ? "," : ":");
        for (const char *p = wasm_type_text(types[k], scratch); *p; p++)
            putchar(*p == ' ' ? '_' : *p);
    }
    if (!n)
        putchar(':');
}

static bool do_exports(const Script *x, char *name) {
    const EvalInstance *i = find(x, name);
    if (!i)
        return refuse("no such instance");
    const WasmModule *m = eval_module(i);
    printf("ok");
    for (uint32_t k = 0; k < m->exports.len; k++) {
        const WasmExport *e = &m->exports.at[k];
        if (e->space != WASM_SPACE_FUNC)
            continue;
        const WasmTypeDef *t = eval_func_type(x->store, eval_func(i, e->handle));
        putchar(' ');
        for (uint32_t c = 0; c < e->name.len; c++)
            printf("%02x", (unsigned char)e->name.ptr[c]);
        if (!e->name.len)
            printf("\"\"");
        print_types(t->params, t->nparams);
        print_types(t->results, t->nresults);
    }
    putchar('\n');
    return true;
}

/* ---- counts ---- */

typedef struct Totals {
    uint64_t instructions, executed, categories[WASM_CAT_COUNT];
} Totals;

static void add_up(const WasmModule *m, uint32_t func, const EvalFunc *f, Totals *totals) {
    uint32_t n, at = 0;
    const EvalCount *counts = eval_counts(f, &n);
    WasmCode code;
    WasmInstr i;
    if (!wasm_func_code(m, func, &code))
        return;
    while (wasm_next(&code, &i)) {
        totals->instructions++;
        if (at == n || counts[at].pc != i.offset)
            continue;
        totals->executed += counts[at].n;
        totals->categories[wasm_ops[i.op].category] += counts[at++].n;
    }
}

static bool do_counts(const Script *x, char *name) {
    const EvalInstance *i = find(x, name);
    if (!i)
        return refuse("no such instance");
    const WasmModule *m = eval_module(i);
    Totals totals = {0};
    for (uint32_t k = m->input_imports[WASM_SPACE_FUNC]; k < m->funcs.len; k++)
        add_up(m, k, eval_func(i, k), &totals);
    printf("ok %" PRIu64 " %" PRIu64, totals.instructions, totals.executed);
    for (uint32_t k = 0; k < WASM_CAT_COUNT; k++)
        if (totals.categories[k])
            printf(" %s=%" PRIu64, wasm_category_names[k], totals.categories[k]);
    for (uint32_t k = m->input_imports[WASM_SPACE_FUNC]; k < m->funcs.len; k++) {
        uint32_t n;
        const EvalCount *counts = eval_counts(eval_func(i, k), &n);
        for (uint32_t c = 0; c < n; c++)
            if (counts[c].n)
                printf(" %u:%u:%" PRIu64, k, counts[c].pc, counts[c].n);
    }
    putchar('\n');
    return true;
}

/* ---- scripts ---- */

static void begin(Script *x) {
    EvalLimits limits = {.memory_bytes = (uint64_t)5 << 30};
    if (x->counts)
        limits.call_depth = 2000; /* what every engine can */
    x->store = eval_store_new(&limits);
    if (x->counts)
        eval_count(x->store);
    provide_spectest(x);
}

/* As it was before `begin`. */
static void end(Script *x) {
    eval_store_free(x->store);
    for (uint32_t k = 0; k < x->modules.len; k++) {
        wasm_module_free(&x->modules.at[k]->m);
        diag_free(&x->modules.at[k]->diags);
        buf_free(&x->modules.at[k]->bytes);
        free(x->modules.at[k]);
    }
    vec_free(&x->modules);
    vec_free(&x->instances);
    vec_free(&x->externs);
    map_free(&x->names);
    map_free(&x->registered);
    map_free(&x->spectest);
    arena_free(&x->arena);
    *x = (Script){.fuel = x->fuel, .counts = x->counts};
}

static void do_line(Script *x, char *line) {
    char *words[70];
    uint32_t n = 0;
    for (char *save, *w = strtok_r(line, " \n", &save); w && n < 70;
         w = strtok_r(NULL, " \n", &save))
        words[n++] = w;
    eval_set_fuel(x->store, x->fuel);
    if (n == 3 && !strcmp(words[0], "module"))
        do_module(x, words[1], words[2]);
    else if (n == 3 && !strcmp(words[0], "register"))
        do_register(x, words[1], words[2]);
    else if (n >= 3 && !strcmp(words[0], "call"))
        do_call(x, words[1], words[2], words + 3, n - 3);
    else if (n == 3 && !strcmp(words[0], "get"))
        do_get(x, words[1], words[2]);
    else if (n == 2 && !strcmp(words[0], "exports"))
        do_exports(x, words[1]);
    else if (n == 2 && !strcmp(words[0], "counts"))
        do_counts(x, words[1]);
    else if (n == 1 && !strcmp(words[0], "reset")) {
        end(x);
        begin(x);
        puts("ok");
    } else
        refuse("unknown command");
}

/* ---- speed ---- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool timed(Script *x, int argc, char **argv) {
    EvalError error;
    char field[256] = "";
    eval_set_fuel(x->store, UINT64_MAX);
    x->current = instantiate(x, argv[0], &error);
    if (!x->current)
        return answer(&error);
    for (size_t k = 0; argv[1][k] && k < 127; k++)
        sprintf(field + 2 * k, "%02x", (unsigned char)argv[1][k]);
    eval_set_fuel(x->store, UINT64_MAX);
    double from = seconds();
    bool ok = do_call(x, (char[]){"-"}, field, argv + 2, (uint32_t)argc - 2);
    double took = seconds() - from, count = (double)(UINT64_MAX - eval_fuel(x->store));
    printf("# %.3f s, %.0f units of fuel, %.0f million a second\n", took, count,
           count / 1e6 / (took > 0 ? took : 1));
    return ok;
}

int main(int argc, char **argv) {
    Script x = {.fuel = 2000000000, .counts = argc > 1 && !strcmp(argv[1], "-c")};
    bool ok = true;
    if (x.counts && argc > 2)
        x.fuel = strtoull(argv[2], NULL, 10);
    begin(&x);
    if (argc > 3 && !strcmp(argv[1], "-t")) {
        ok = timed(&x, argc - 2, argv + 2);
    } else {
        char *line = NULL;
        size_t cap = 0;
        while (getline(&line, &cap, stdin) > 0)
            do_line(&x, line);
        free(line);
    }
    end(&x);
    return ok ? 0 : 1;
}
