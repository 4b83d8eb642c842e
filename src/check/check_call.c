/*
 * check/check_call.c - calls: functions of the script, built-in functions, libraries, methods of
 * strings and maps.
 */
#include "check/check_parts.h"
#include "lang/list.h"

#include <stdio.h>

#define T(K) &type_scalar[TYPE_##K]

/* The called function, for messages and for checking the arguments. */
typedef struct Callee {
    Str name;
    const Type *const *params;
    uint32_t nparams;
    const Fn *fn; /* of the script, or NULL */
} Callee;

static void check_arg(Check *c, Expr *arg, const Callee *callee, uint32_t i) {
    const Type *want = callee->params[i];
    if (want->kind == TYPE_UNIT) {
        /* the name of a library */
        if (arg->kind != EXPR_NAME || !check_uses(c, arg->name))
            check_error(c, DIAG_UNKNOWN_LIBRARY, arg->span,
                        "expected the name of a library that is in use");
        arg->type = &type_unit;
        arg->is_static = true;
        return;
    }
    char what[96];
    snprintf(what, sizeof what, "argument %u of '%.*s'", i + 1,
             callee->name.len > 50 ? 50 : (int)callee->name.len, callee->name.ptr);
    Diag *g = check_expect(c, arg, want, what);
    if (g && callee->fn)
        diag_label(c->diags, g, callee->fn->params[i]->type_span, "'%.*s' takes %s here",
                   STR_ARG(callee->name), want->text);
    else if (g && arg->type->kind == TYPE_STR)
        hint_add(c->diags, g, HINT_ARGUMENT, callee->name);
}

/* "(i32, bool)" */
static void put_params(Buf *out, const Callee *callee) {
    buf_u8(out, '(');
    for (uint32_t i = 0; callee->params && i < callee->nparams; i++)
        buf_printf(out, "%s%s", i ? ", " : "",
                   callee->params[i]->kind == TYPE_UNIT ? "library" : callee->params[i]->text);
    buf_u8(out, ')');
}

static void report_count(Check *c, const Expr *e, uint32_t n, const Callee *callee) {
    Diag *g =
        check_error(c, DIAG_ARGUMENT_COUNT, e->span, "'%.*s' takes %u argument%s, found %u",
                    STR_ARG(callee->name), callee->nparams, callee->nparams == 1 ? "" : "s", n);
    Buf params = {0};
    put_params(&params, callee);
    if (callee->fn)
        diag_label(c->diags, g, callee->fn->span, "it is defined here, with the parameters %s",
                   buf_cstr(&params));
    else if (callee->params && callee->nparams)
        diag_hint(c->diags, g, "its parameters are %s", buf_cstr(&params));
    buf_free(&params);
}

/* Types the arguments; returns whether all are static. */
static bool check_args(Check *c, Expr *e, Expr **args, uint32_t n, const Callee *callee) {
    bool all_static = true;
    if (n != callee->nparams)
        report_count(c, e, n, callee);
    for (uint32_t i = 0; i < n; i++) {
        if (i < callee->nparams)
            check_arg(c, args[i], callee, i);
        else
            check_value(c, args[i], NULL);
        all_static &= args[i]->is_static;
    }
    return all_static;
}

/* The arguments of a call that is wrong anyway. */
static const Type *give_up(Check *c, Expr *e) {
    if (ast_is_removal(e)) /* the name means something only there */
        return &type_error;
    for (uint32_t i = 0; i < e->nargs; i++)
        check_value(c, e->args[i], NULL);
    return &type_error;
}

static const Type *check_fn_call(Check *c, Expr *e, Fn *fn) {
    e->fn = fn;
    check_note_fn(c, e->name_span, fn);
    if (c->place == PLACE_SCRIPT && c->early != ANN_EXIT) {
        Diag *g = check_error(c, DIAG_FN_AT_SCRIPT_SCOPE, e->span,
                              "'%.*s' cannot be called at script scope", STR_ARG(e->name));
        diag_label(c->diags, g, fn->span, "it is a function of the script");
        diag_hint(c->diags, g, "call it in a probe, such as wasm:begin");
    }
    if (fn->broken)
        return give_up(c, e);
    const Type **params = arena_array(&c->script->arena, const Type *, fn->nparams);
    for (uint32_t i = 0; i < fn->nparams; i++)
        params[i] = fn->params[i]->type;
    check_args(c, e, e->args, e->nargs, &(Callee){fn->name, params, fn->nparams, fn});
    return fn->result;
}

/* Before the program runs there is nothing in its memory that a site could mean. */
static void check_early_read(Check *c, const Expr *e) {
    const Var *v = c->init_of;
    if (!e->bound.reads || !v || v->storage == STORAGE_LOCAL || c->place != PLACE_PROBE)
        return;
    Diag *g = check_error(c, DIAG_EARLY_VALUE, e->span,
                          "'%.*s' reads the program's memory; the initialiser of '%.*s' runs once, "
                          "when the program starts",
                          STR_ARG(e->name), STR_ARG(v->name));
    diag_hint(c->diags, g, "call it in the probe's body and assign its result to '%.*s'",
              STR_ARG(v->name));
}

/* Functions that are operators to the compiler. */
static const struct {
    const char *name;
    Op op;
    uint32_t operands;
} operators[] = {
#define OPERATOR(id, name, text, operands, doc) {name, OP_##id, operands},
#include "lang/function.def"
};

static void note_function(Check *c, const Expr *e) {
    meaning_note(c->script->meanings, (Meaning){.span = e->name_span, .kind = MEANING_FUNCTION});
}

static const Type *check_operator(Check *c, Expr *e, size_t which, const Type *want) {
    note_function(c, e);
    uint32_t n = operators[which].operands;
    if (e->nargs != n) {
        report_count(c, e, e->nargs, &(Callee){.name = e->name, .nparams = n});
        return give_up(c, e);
    }
    e->op = operators[which].op;
    e->kind = n == 1 ? EXPR_UNARY : EXPR_BINARY;
    return n == 1 ? check_unary(c, e, want) : check_binary(c, e, want);
}

const Type *check_call(Check *c, Expr *e, const Type *want) {
    Fn *fn = check_find_fn(c, e->name);
    if (fn)
        return check_fn_call(c, e, fn);
    Callee callee = {.name = e->name};
    const Type *result = NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (str_is(e->name, operators[i].name))
            return check_operator(c, e, i, want);
    if (c->scope->function && c->scope->function(c->scope->ctx, e->name, &e->bound, &callee.params,
                                                 &callee.nparams, &result)) {
        e->is_bound = true;
        note_function(c, e);
        check_early_read(c, e);
        if (e->bound.of_code && c->within)
            check_error(c, DIAG_EARLY_VALUE, e->span,
                        "'%.*s' acts on the instruction of a site; this block runs %s",
                        STR_ARG(e->name), check_when(c->early));
        e->is_static = check_args(c, e, e->args, e->nargs, &callee) && e->bound.is_static;
        return result ? result : &type_unit;
    }
    e->bound = (Bound){0};
    Var *v = check_find_var(c, e->name);
    if (!v && !check_tell(c, e->name, e->name_span, true))
        return give_up(c, e);
    Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span,
                          v ? v->constant ? "'%.*s' is a constant, not a function%s%s"
                                          : "'%.*s' is a variable, not a function%s%s"
                            : "there is no function '%.*s'%s%s",
                          STR_ARG(e->name), !v && c->place == PLACE_PROBE ? " in " : "",
                          !v && c->place == PLACE_PROBE ? check_places(c) : "");
    if (v)
        diag_label(c->diags, g, v->span, "declared here");
    else if (!hint_add(c->diags, g, HINT_CALL, e->name))
        check_suggest(c, g, e->name, NEAR_FUNCTIONS);
    return give_up(c, e);
}

/* ---- string methods ---- */

static const struct {
    const char *name;
    StrMethod method;
    const Type *argument; /* NULL = none */
    TypeKind result;
} str_methods[] = {
#define METHOD(id, name, argument, result, reserved, doc) {name, STR_##id, argument, TYPE_##result},
#include "lang/function.def"
};

/* Makes the receiver the first argument, so that it is an expression like any other. */
static Expr *receiver(Check *c, Expr *e) {
    Expr *self = arena_new(&c->script->arena, Expr);
    self->kind = EXPR_NAME;
    self->name = e->recv;
    self->span = self->name_span = e->recv_span;
    Expr **args = arena_array(&c->script->arena, Expr *, e->nargs + 1);
    args[0] = self;
    for (uint32_t i = 0; i < e->nargs; i++)
        args[i + 1] = e->args[i];
    e->args = args;
    e->nargs++;
    return self;
}

/* Reads the list in a constant's value; reports mistakes in it. */
static void check_call_read_list(Check *c, const Expr *e, Var *v) {
    uint32_t wrong = 0;
    const Expr *value = v->init;
    NumberList *list = arena_new(&c->script->arena, NumberList);
    const char *expected = list_parse(&c->script->arena, value->text, list, &wrong);
    v->list = list;
    if (!expected)
        return;
    /* Where in the source, unless there are escapes in it. */
    Span span = value->span;
    uint32_t quotes = span.end - span.start - value->text.len;
    if (quotes == 0 || quotes == 2) {
        span.start += quotes / 2 + wrong;
        span.end = span.start + (wrong < value->text.len);
    }
    Diag *g = check_error(
        c, DIAG_BAD_LIST, span, "'%.*s' is not a list of numbers: expected %s, found %s%.*s%s",
        STR_ARG(v->name), expected, wrong < value->text.len ? "'" : "its end",
        wrong < value->text.len, value->text.ptr + wrong, wrong < value->text.len ? "'" : "");
    diag_label(c->diags, g, e->span, "its numbers are used here");
    diag_hint(c->diags, g, "a list is written as in \"3, 17, 20-24\"");
}

/* s.lists(n): the list is a constant, the number static. */
static const Type *check_lists(Check *c, Expr *e, const Expr *self) {
    static const Type *const number[] = {&type_scalar[TYPE_U32]};
    Expr *arg = e->nargs > 1 ? e->args[1] : NULL;
    bool known = self->var && self->var->constant;
    if (!known) {
        Diag *g = check_error(c, DIAG_BAD_LIST, self->span,
                              "a list must be a constant, but '%.*s' is not", STR_ARG(e->recv));
        check_explain(c, g, self);
        diag_hint(c->diags, g,
                  "a constant is declared at script scope: const list: str = \"3, 17\";");
    } else if (!self->var->list) {
        check_call_read_list(c, e, self->var);
    }
    if (e->nargs != 2) {
        report_count(c, e, e->nargs - 1, &(Callee){e->name, number, 1, NULL});
        for (uint32_t i = 1; i < e->nargs; i++)
            check_value(c, e->args[i], NULL);
        return &type_scalar[TYPE_BOOL];
    }
    const Type *t = check_value(c, arg, NULL);
    if (!type_is_integer(t) && t->kind != TYPE_ERROR) {
        Diag *g = check_error(c, DIAG_OPERAND_TYPE, arg->span,
                              "expected an integer for argument 1 of 'lists', found %s", t->text);
        check_explain(c, g, arg);
    } else if (!arg->is_static && t->kind != TYPE_ERROR) {
        Diag *g =
            check_error(c, DIAG_EARLY_VALUE, arg->span, "the argument of 'lists' must be static");
        diag_hint(c->diags, g, "it can use literals, constants and static names");
    }
    e->list = known ? self->var->list : NULL;
    e->is_static = known && arg->is_static;
    return &type_scalar[TYPE_BOOL];
}

/* a.fetch_add(n): adds to an atomic variable; its value is the one before. */
static const Type *check_atomic_method(Check *c, Expr *e, const Expr *self) {
    const Type *t = self->type;
    if (!str_is(e->name, "fetch_add")) {
        Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span,
                              "an atomic variable has no method '%.*s'", STR_ARG(e->name));
        diag_hint(c->diags, g, "the only one is fetch_add");
        for (uint32_t i = 1; i < e->nargs; i++)
            check_value(c, e->args[i], NULL);
        return &type_error;
    }
    e->method = ATOMIC_FETCH_ADD;
    check_args(c, e, e->args + 1, e->nargs - 1, &(Callee){e->name, &t, 1, NULL});
    return t;
}

static const struct {
    const char *name;
    bool takes_key;
    const Type *result;
} map_methods[] = {
#define MAP_METHOD(id, name, takes_key, result, changes, doc)                                      \
    {name, takes_key, TYPE_##result == TYPE_UNIT ? &type_unit : &type_scalar[TYPE_##result]},
#include "lang/function.def"
};

static const Type *unknown_method(Check *c, Expr *e, const char *of, HintPlace place,
                                  const char *methods) {
    Diag *g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->name_span, "%s has no method '%.*s'", of,
                          STR_ARG(e->name));
    hint_add(c->diags, g, place, e->name);
    diag_hint(c->diags, g, "the methods are %s", methods);
    for (uint32_t i = 1; i < e->nargs; i++)
        check_value(c, e->args[i], NULL);
    return &type_error;
}

/* a.len(), a number, and a.clear(). */
static const Type *check_array_method(Check *c, Expr *e, const Type *array) {
    const Type *const *none = &array->key;
    bool len = str_is(e->name, "len");
    if (e->received) {
        Diag *g =
            check_error(c, DIAG_UNKNOWN_FUNCTION, e->span, "an array always has all its elements");
        diag_hint(c->diags, g, "assign 0 to one");
        return &type_error;
    }
    if (!len && !str_is(e->name, "clear"))
        return unknown_method(c, e, "an array", HINT_ARRAY_METHOD, "len and clear");
    check_args(c, e, e->args + 1, e->nargs - 1, &(Callee){e->name, none, 0, NULL});
    e->method = MAP_CLEAR;
    if (len) {
        *e = (Expr){.kind = EXPR_INT, .span = e->span, .is_static = true};
        e->integer = array->length;
    }
    return len ? &type_scalar[TYPE_U32] : &type_unit;
}

/* m.len(), m.clear(); `k in m` and `delete m[k]`, of which the parser has made calls. */
static const Type *check_map_method(Check *c, Expr *e, const Type *map) {
    if (map->length)
        return check_array_method(c, e, map);
    for (size_t i = 0; i < sizeof map_methods / sizeof *map_methods; i++) {
        const Type *const *key = &map->key;
        if (!str_is(e->name, map_methods[i].name) || (map_methods[i].takes_key && !e->received))
            continue;
        e->method = (StrMethod)(MAP_HAS + i);
        if (!map_methods[i].takes_key) {
            check_args(c, e, e->args + 1, e->nargs - 1, &(Callee){e->name, key, 0, NULL});
            return map_methods[i].result;
        }
        char what[80];
        snprintf(what, sizeof what, "the key of '%.*s'", e->recv.len > 50 ? 50 : (int)e->recv.len,
                 e->recv.ptr);
        Diag *g = check_expect(c, e->args[1], *key, what);
        if (g)
            check_explain_name(c, g, e->args[0]);
        return map_methods[i].result;
    }
    return unknown_method(c, e, "a map", HINT_MAP_METHOD, "len and clear");
}

/* What stands before a method must be a str or a map; of `in` and `delete`, a map. */
static const Type *wrong_receiver(Check *c, Expr *e, const Expr *self) {
    const Type *t = self->type;
    bool map = e->received && self->kind != EXPR_INDEX;
    for (uint32_t i = 1; i < e->nargs; i++)
        check_value(c, e->args[i], NULL);
    if (t->kind == TYPE_ERROR)
        return t;
    Diag *g;
    if (str_is(e->name, "delete") && e->received)
        g = check_error(c, DIAG_NOT_A_MAP, self->span, "expected a map before '[', found %s",
                        t->text);
    else if (map || (e->received && str_is(e->name, "in")))
        g = check_error(c, DIAG_NOT_A_MAP, self->span, "expected a map after 'in', found %s",
                        t->text);
    else
        g = check_error(c, DIAG_UNKNOWN_FUNCTION, e->span,
                        "expected a str or a map before '.%.*s', found %s", STR_ARG(e->name),
                        t->text);
    check_explain(c, g, self);
    return &type_error;
}

static const Type *check_value_method(Check *c, Expr *e) {
    if (e->annotation != ANN_NONE) {
        check_error(c, DIAG_ANNOTATION, e->span,
                    "annotations apply only to library calls; '%.*s' is a variable",
                    STR_ARG(e->recv));
        return give_up(c, e);
    }
    Expr *self = e->received ? e->args[0] : receiver(c, e);
    const Type *t = check_receiver(c, self);
    meaning_note(c->script->meanings,
                 (Meaning){.span = e->name_span, .kind = MEANING_METHOD, .text = t->text});
    if (t->aggregate)
        return check_aggregate(c, e, t);
    if (self->var && self->var->atomic)
        return check_atomic_method(c, e, self);
    if (t->kind == TYPE_MAP)
        return check_map_method(c, e, t);
    if (t->kind != TYPE_STR || (e->received && str_is(e->name, "in")) ||
        (e->received && str_is(e->name, "delete")))
        return wrong_receiver(c, e, self);
    for (size_t i = 0; i < sizeof str_methods / sizeof *str_methods; i++) {
        if (!str_is(e->name, str_methods[i].name))
            continue;
        const Type *argument = str_methods[i].argument;
        Callee callee = {e->name, &argument, argument != NULL, NULL};
        e->method = str_methods[i].method;
        if (e->method == STR_LISTS)
            return check_lists(c, e, self);
        bool all_static = check_args(c, e, e->args + 1, e->nargs - 1, &callee);
        e->is_static = all_static && self->is_static && e->method != STR_ADDR;
        return &type_scalar[str_methods[i].result];
    }
    return unknown_method(c, e, "a str", HINT_STR_METHOD,
                          "len, addr, starts_with, ends_with, contains and lists");
}

/* ---- libraries ---- */

static void check_annotation(Check *c, const Expr *e, bool bare) {
    if ((e->annotation == ANN_INIT || e->annotation == ANN_EXIT) &&
        (!bare || c->place == PLACE_FN || c->within)) {
        const char *word = e->annotation == ANN_INIT ? "@init" : "@exit";
        check_error(c, DIAG_ANNOTATION, e->span,
                    !bare       ? "a call with '%s' is a statement of its own; it has no value here"
                    : c->within ? "'%s' is not allowed in an '@init' or '@exit' block"
                                : "'%s' is not allowed in a function",
                    word);
    }
}

/* "f(i32, i32) -> i64" */
static void put_signature(Buf *out, Str name, const Type *const *params, uint32_t n,
                          const Type *result) {
    buf_printf(out, "%.*s(", STR_ARG(name));
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", params[i]->text);
    buf_u8(out, ')');
    if (result)
        buf_printf(out, " -> %s", result->text);
}

/* The arguments of a library call are of other types or another number than the library's function
 * takes: both signatures in one message. */
static void wrong_arguments(Check *c, Expr *e, const Callee *callee, const Type *result) {
    const Type **types = arena_array(&c->script->arena, const Type *, e->nargs);
    for (uint32_t i = 0; i < e->nargs; i++)
        types[i] = e->args[i]->type;
    Buf call = {0}, export = {0};
    put_signature(&call, e->name, types, e->nargs, NULL);
    put_signature(&export, e->name, callee->params, callee->nparams, result);
    bool count = e->nargs != callee->nparams;
    Diag *g = check_error(c, count ? DIAG_ARGUMENT_COUNT : DIAG_TYPE_MISMATCH, e->span,
                          "the call is %s, but the library '%.*s' has %s", buf_cstr(&call),
                          STR_ARG(e->recv), buf_cstr(&export));
    buf_free(&call);
    buf_free(&export);
    for (uint32_t i = 0; i < e->nargs && !count; i++) {
        const Type *want = callee->params[i], *t = types[i];
        if (type_fits(t, want))
            continue;
        check_explain(c, g, e->args[i]);
        if (type_is_numeric(want) && (type_is_numeric(t) || t->kind == TYPE_BOOL))
            diag_hint(c->diags, g, "convert argument %u with 'as %s'", i + 1, want->text);
    }
}

/* What is known of a library at the place of its name. */
static void note_library(Check *c, Str name, Span span) {
    const Script *s = c->script;
    const uint64_t *use = map_get(&s->use_names, script_own_name(c->script, c->package, name));
    if (use)
        meaning_note(
            s->meanings,
            (Meaning){.span = span, .kind = MEANING_LIBRARY, .declaration = s->uses.at[*use].span});
}

static void note_library_fn(Check *c, const Expr *e, const Callee *callee, const Type *result) {
    if (!c->script->meanings || e->bundled)
        return;
    Buf text = {0};
    note_library(c, e->recv, e->recv_span);
    put_signature(&text, e->name, callee->params, callee->nparams, result);
    meaning_note(
        c->script->meanings,
        (Meaning){.span = e->name_span, .kind = MEANING_LIBRARY_FN, .text = buf_cstr(&text)});
    buf_free(&text);
}

/* Types the arguments, which must have exactly the types of the library's parameters; returns
 * whether all are static. */
static bool check_library_args(Check *c, Expr *e, const Callee *callee, const Type *result) {
    bool all_static = true, fits = e->nargs == callee->nparams;
    for (uint32_t i = 0; i < e->nargs; i++) {
        const Type *want = i < callee->nparams ? callee->params[i] : NULL;
        const Type *t = check_value(c, e->args[i], want);
        fits &= !want || type_fits(t, want);
        all_static &= e->args[i]->is_static;
    }
    if (!fits)
        wrong_arguments(c, e, callee, result);
    return all_static;
}

static const Type *check_library_call(Check *c, Expr *e, bool bare) {
    if (!e->bundled && !check_uses(c, e->recv)) {
        if (!check_tell(c, e->recv, e->recv_span, false))
            return give_up(c, e);
        Diag *g =
            check_error(c, DIAG_UNKNOWN_LIBRARY, e->recv_span,
                        "'%.*s' is neither a str variable nor a library in use", STR_ARG(e->recv));
        if (!hint_add(c->diags, g, HINT_LIBRARY, e->recv) &&
            !check_suggest(c, g, e->recv, NEAR_LIBRARIES))
            diag_hint(c->diags, g, "declare libraries before the first probe: use %.*s;",
                      STR_ARG(e->recv));
        return give_up(c, e);
    }
    check_annotation(c, e, bare);
    Callee callee = {.name = e->name};
    const Type *result = NULL;
    if (!c->scope->library) {
        check_error(c, DIAG_UNKNOWN_LIBRARY, e->recv_span, "the library '%.*s' is not available",
                    STR_ARG(e->recv));
        return give_up(c, e);
    }
    if (!c->scope->library(c->scope->ctx, e, &e->bound, &callee.params, &callee.nparams, &result)) {
        c->ok = false; /* reported by the scope */
        return give_up(c, e);
    }
    e->is_bound = true;
    note_library_fn(c, e, &callee, result);
    Annotation outer = c->early;
    if (e->annotation != ANN_NONE)
        c->early = e->annotation;
    bool all_static = check_library_args(c, e, &callee, result);
    c->early = outer;
    if (e->annotation == ANN_STATIC && !all_static && c->ok)
        check_error(c, DIAG_EARLY_VALUE, e->span,
                    "the arguments of an '@static' call must be known at compile time");
    e->is_static = e->annotation == ANN_STATIC;
    return result ? result : &type_unit;
}

const Type *check_method(Check *c, Expr *e, bool bare) {
    Bound bound;
    if (e->method >= MAP_KEYS) /* its loop has typed it */
        return e->type;
    if (e->bundled)
        return check_library_call(c, e, bare);
    Var *v = check_find_var(c, e->recv);
    if (v && v->element)
        return check_shadow_method(c, e, v);
    if (check_is_access_method(c, e))
        return check_access_method(c, e);
    if (e->received || v || check_bound_name(c, e->recv, &bound))
        return check_value_method(c, e);
    return check_library_call(c, e, bare);
}
