/*
 * plan/plan_library.c - resolves names of libraries and of their functions.
 */
#include "plan/plan.h"
#include "plan/removal.h"

#include <assert.h>

typedef struct Nearest {
    Str wanted, name;
    uint32_t distance;
} Nearest;

static void plan_library_consider(void *ctx, Str name) {
    Nearest *best = ctx;
    uint32_t d = str_distance(best->wanted, name, best->distance);
    if (d < best->distance) {
        best->distance = d;
        best->name = name;
    }
}

/* Only the bundled library knows the script's maps and reports. */
static void report_replaced(const Use *use, Diags *diags) {
    Diag *g =
        diag(diags, DIAG_REPLACED_LIBRARY, use->span,
             "the module given with --lib replaces the bundled library '%.*s'", STR_ARG(use->name));
    diag_hint(diags, g,
              "if it was made for another implementation of Whamm it does not know this one's maps "
              "and reports: leave --lib out");
}

/* Two scripts would move the same current node. False after a message if an earlier one uses the
 * tree, too. */
static bool has_tree_alone(const Plan *plan, uint32_t script, const Use *use, Diags *diags) {
    for (uint32_t i = 0; str_is(use->name, "calltree") && i < script; i++)
        for (uint32_t k = 0; k < plan->scripts.at[i]->uses.len; k++) {
            const Use *other = &plan->scripts.at[i]->uses.at[k];
            if (!str_is(other->name, "calltree"))
                continue;
            Diag *g = diag(diags, DIAG_ONE_TREE, use->span,
                           "two scripts use the library 'calltree', of which a program has one "
                           "tree");
            diag_label(diags, g, other->span, "the other one");
            diag_hint(diags, g, "run the program once for each script");
            return false;
        }
    return true;
}

bool plan_uses(Plan *plan, uint32_t script, Diags *diags) {
    const Script *s = plan->scripts.at[script];
    bool ok = true;
    for (uint32_t i = 0; i < s->uses.len; i++) {
        const Use *use = &s->uses.at[i];
        const Library *lib = library_find(plan->libraries, use->name);
        if (!lib && bundled_library(use->name)) {
            ok &= has_tree_alone(plan, script, use, diags);
            continue;
        }
        ok &= lib && lib->usable;
        if (lib && lib->usable && bundled_library(use->name))
            report_replaced(use, diags);
        if (lib)
            continue; /* a library that is not usable was reported */
        Diag *g = diag(diags, DIAG_UNKNOWN_LIBRARY, use->span, "the library '%.*s' is not given",
                       STR_ARG(use->name));
        Nearest best = {.wanted = use->name, .distance = (use->name.len + 4) / 3};
        for (uint32_t k = 0; k < plan->libraries->list.len; k++)
            plan_library_consider(&best, plan->libraries->list.at[k]->name);
        bundled_libraries(plan_library_consider, &best);
        if (best.name.len)
            diag_hint(diags, g, "did you mean '%.*s'?", STR_ARG(best.name));
        diag_hint(diags, g, "name its module with --lib %.*s=FILE", STR_ARG(use->name));
    }
    return ok;
}

/* ---- functions ---- */

/* `lib` NULL: the library is bundled. */
static int64_t plan_library_no_function(const Library *lib, const Expr *call, Diags *diags) {
    Nearest best = {.wanted = call->name, .distance = (call->name.len + 4) / 3};
    Diag *g = diag(diags, DIAG_UNKNOWN_FUNCTION, call->name_span,
                   "the library '%.*s' exports no function '%.*s'", STR_ARG(call->recv),
                   STR_ARG(call->name));
    if (lib)
        library_each(lib, plan_library_consider, &best);
    else
        bundled_each(call->recv, plan_library_consider, &best);
    if (best.name.len)
        diag_hint(diags, g, "did you mean '%.*s'?", STR_ARG(best.name));
    return -1;
}

/* The language's types for those of a function; false if there is none for some. */
static bool types_of(Plan *plan, LibraryFn *f, const WasmTypeDef *t) {
    const Type **results = arena_array(&plan->arena, const Type *, t->nresults + 1);
    f->nparams = t->nparams;
    f->params = arena_array(&plan->arena, const Type *, t->nparams + 1);
    bool ok = true;
    for (uint32_t i = 0; i < t->nparams; i++)
        ok &= (f->params[i] = library_type(t->params[i])) != NULL;
    for (uint32_t i = 0; i < t->nresults; i++)
        ok &= (results[i] = library_type(t->results[i])) != NULL;
    if (ok && t->nresults > 1)
        f->result = type_tuple(plan->scripts.at[f->script], results, t->nresults);
    else
        f->result = results[0];
    return ok;
}

static int64_t no_type(const LibraryFn *f, const Expr *call, const WasmTypeDef *t, Diags *diags) {
    Buf text = {0};
    char name[32];
    for (uint32_t i = 0; i < t->nparams; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", wasm_type_text(t->params[i], name));
    buf_str(&text, STR(")"));
    for (uint32_t i = 0; i < t->nresults; i++)
        buf_printf(&text, "%s%s", i ? ", " : " -> ", wasm_type_text(t->results[i], name));
    Diag *g = diag(diags, DIAG_LIBRARY_TYPE, call->name_span,
                   "'%.*s' of the library '%.*s' cannot be called: it is %.*s(%s", STR_ARG(f->name),
                   STR_ARG(f->library->name), STR_ARG(f->name), buf_cstr(&text));
    diag_hint(diags, g, "parameters and results must be i32, i64, f32 or f64");
    buf_free(&text);
    return -1;
}

/* The function's index in Plan.library_fns if it was called before, or -1. */
static int64_t known_function(Plan *plan, uint32_t script, const Library *lib,
                              const BundledFn *bundled, const Expr *call) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        const LibraryFn *f = &plan->library_fns.at[i];
        if (f->library == lib && f->bundled == bundled && f->script == script &&
            str_eq(f->name, call->name))
            return i;
    }
    return -1;
}

/* map<u32, (u32, u32, u64, u64)> */
static const Type *tree_type(Script *s) {
    const Type *narrow = &type_scalar[TYPE_U32], *wide = &type_scalar[TYPE_U64];
    return type_map(s, narrow, type_tuple(s, (const Type *[]){narrow, narrow, wide, wide}, 4));
}

static const Type *bundled_param(Script *s, char letter) {
    const Type *number = &type_scalar[TYPE_U32];
    return letter == 't'   ? tree_type(s)
           : letter == 's' ? type_map(s, number, number)
           : letter == 'n' ? type_map(s, number, &type_scalar[TYPE_STR])
           : letter == 'B' ? &type_scalar[TYPE_BOOL]
                           : bundled_type(letter);
}

/* Those calls that can be are statements of probes by now (removal.h). */
static int64_t no_removal(const Expr *call, Diags *diags) {
    Diag *g = diag(diags, DIAG_REMOVAL, call->span,
                   "expected 'dyninstr.remove_probe(probe_id);' in the body of a probe at an "
                   "instruction, a block or a function: a probe removes only itself");
    if (ast_is_removal(call) && call->args[0]->var)
        diag_hint(diags, g, "'probe_id' is a variable here: rename it");
    else
        diag_hint(diags, g, "to disable another probe, test a variable in its predicate");
    return -1;
}

static int64_t bundled_call(Plan *plan, uint32_t script, const Expr *call, Diags *diags) {
    const BundledFn *b = bundled_function(call->recv, call->name);
    if (!b)
        return plan_library_no_function(NULL, call, diags);
    if (bundled_kind(b) == BUNDLED_REMOVE)
        return no_removal(call, diags);
    if (call->annotation == ANN_STATIC) {
        diag(diags, DIAG_ANNOTATION, call->span,
             "functions of '%s' run in the program; they cannot be called at compile time",
             b->library);
        return -1;
    }
    int64_t known = known_function(plan, script, NULL, b, call);
    if (known >= 0)
        return known;
    LibraryFn f = {.script = script, .bundled = b, .name = str_of(b->name)};
    f.called = call->span;
    f.nparams = (uint32_t)strlen(b->params);
    f.params = arena_array(&plan->arena, const Type *, f.nparams + 1);
    for (uint32_t i = 0; i < f.nparams; i++)
        f.params[i] = bundled_param(plan->scripts.at[script], b->params[i]);
    f.result = bundled_type(b->result[0]);
    if (strlen(b->result) == 2)
        f.result = type_tuple(plan->scripts.at[script], (const Type *[]){f.result, f.result}, 2);
    vec_push(&plan->library_fns, f);
    return plan->library_fns.len - 1;
}

int64_t plan_library_call(Plan *plan, uint32_t script, const Expr *call, Diags *diags) {
    assert(call->kind == EXPR_METHOD);
    Library *lib = library_find(plan->libraries, call->recv);
    if (removal_is_engine(plan->libraries, call->recv) || (!lib && bundled_library(call->recv)))
        return bundled_call(plan, script, call, diags);
    if (!lib || !lib->usable)
        return -1; /* reported at `use` */
    int64_t func = library_function(lib, call->name);
    if (func < 0)
        return plan_library_no_function(lib, call, diags);
    int64_t known = known_function(plan, script, lib, NULL, call);
    if (known >= 0)
        return known;
    LibraryFn f = {.script = script, .library = lib, .func = (uint32_t)func};
    f.name = wasm_find_export(&lib->module, WASM_SPACE_FUNC, call->name)->name;
    const WasmTypeDef *t = wasm_func_type(&lib->module, f.func);
    if (!types_of(plan, &f, t))
        return no_type(&f, call, t, diags);
    vec_push(&plan->library_fns, f);
    return plan->library_fns.len - 1;
}

bool plan_exported(const Plan *plan, uint32_t script, Str name, Str *library) {
    const Script *s = plan->scripts.at[script];
    for (uint32_t i = 0; i < s->uses.len; i++) {
        *library = s->uses.at[i].name;
        const Library *lib = library_find(plan->libraries, *library);
        if (lib ? library_function(lib, name) >= 0 : bundled_function(*library, name) != NULL)
            return true;
    }
    return false;
}
