/*
 * check/check_name.c - names: declarations, resolution, suggestions.
 */
#include "check/check_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* Limits of a tuple, so that it fits into the locals and results of a function. */
enum { MAX_LEAVES = 255 };

Diag *check_error(Check *c, DiagTag tag, Span span, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->ok = false;
    return diag(c->diags, tag, span, "%s", text);
}

/* ---- for editors ---- */

static void note_declared(Check *c, Span span, Meaning m) {
    m.span = span;
    m.declares = span.start == m.declaration.start && span.file == m.declaration.file;
    meaning_note(c->script->meanings, m);
}

void check_note_var(Check *c, Span span, const Var *v) {
    note_declared(c, span, (Meaning){.kind = MEANING_VAR, .declaration = v->span, .var = v});
}

void check_note_fn(Check *c, Span span, const Fn *fn) {
    note_declared(c, span, (Meaning){.kind = MEANING_FN, .declaration = fn->span, .fn = fn});
}

static void note_bound(Check *c, Span span, const Bound *bound, const Type *type) {
    meaning_note(c->script->meanings, (Meaning){.span = span,
                                                .kind = MEANING_BOUND,
                                                .number = bound->id,
                                                .is_static = bound->is_static,
                                                .assignable = bound->assignable,
                                                .text = type ? type->text : NULL});
}

/* ---- looking up ---- */

static void *look_up(const Map *m, Str name) {
    uint64_t *at = map_get(m, name);
    return at ? (void *)(uintptr_t)*at : NULL;
}

/* The name at script scope that a word means here. */
static Str own_name(const Check *c, Str name) {
    return script_own_name(c->script, c->package, name);
}

Var *check_find_var(const Check *c, Str name) {
    for (uint32_t i = c->loops.len; i-- > 0;)
        if (str_eq(c->loops.at[i]->name, name))
            return c->loops.at[i];
    Var *local = look_up(&c->local_names, name);
    return local ? local : look_up(&c->script->var_names, own_name(c, name));
}

Fn *check_find_fn(const Check *c, Str name) {
    return look_up(&c->script->fn_names, own_name(c, name));
}

bool check_uses(const Check *c, Str library) {
    return map_get(&c->script->use_names, own_name(c, library)) != NULL;
}

const TypeBound *check_type_bound(const Check *c, Str name) {
    if (c->place != PLACE_PROBE)
        return NULL;
    const Rule *r = &c->probe->rule;
    for (uint32_t i = 0; i < r->nbounds; i++)
        if (r->bounds[i].part < 3 && str_eq(r->bounds[i].name, name))
            return &r->bounds[i];
    return NULL;
}

bool check_bound_name(const Check *c, Str name, Bound *out) {
    *out = (Bound){0};
    return c->scope->name && c->scope->name(c->scope->ctx, name, out) && !out->only_bound;
}

static bool is_in_missing_package(const Script *s, Str name) {
    for (uint32_t i = 0; i < s->files.packages.len; i++) {
        Str package = s->files.packages.at[i].name;
        if (s->files.packages.at[i].missing && name.len > package.len &&
            name.ptr[package.len] == '.' && memcmp(name.ptr, package.ptr, package.len) == 0)
            return true;
    }
    return false;
}

bool check_tell(Check *c, Str name, Span span, bool function) {
    Script *s = c->script;
    c->ok = false;
    if (c->lenient || map_get(&s->lost_names, name) || (function && s->cut_off) ||
        is_in_missing_package(s, name))
        return false;
    /* The same place is met again in each group of a probe's events. */
    uint64_t *at = map_put(s->broken ? &s->told_names : &c->told, name, span.start, NULL);
    return *at == span.start;
}

/* A built-in function whose name scripts cannot use. */
static bool scope_has_function(const Check *c, Str name) {
    Bound bound = {0};
    const Type *const *params = NULL;
    const Type *result = NULL;
    uint32_t n = 0;
    return c->scope->function &&
           c->scope->function(c->scope->ctx, name, &bound, &params, &n, &result) && !bound.yields;
}

/* ---- did you mean ---- */

enum { MAX_NEAR = 3, NAME_SIZE = 64 };

/* The nearest names, all at the same distance. */
typedef struct Best {
    Str wanted;
    uint32_t distance, n;
    uint32_t len[MAX_NEAR];
    char name[MAX_NEAR][NAME_SIZE]; /* copies: the scope may make names up as it goes */
} Best;

static void check_name_consider(void *ctx, Str name) {
    Best *best = ctx;
    uint32_t d = str_distance(best->wanted, name, best->distance + 1);
    bool same = d == 0; /* the name exists, but not as the kind that is needed here */
    if (same || d > best->distance || name.len > NAME_SIZE)
        return;
    if (d < best->distance)
        best->n = 0;
    for (uint32_t i = 0; i < best->n; i++)
        if (str_eq(name, (Str){best->name[i], best->len[i]}))
            return;
    if (best->n == MAX_NEAR)
        return;
    best->distance = d;
    best->len[best->n] = name.len;
    memcpy(best->name[best->n++], name.ptr, name.len);
}

/* The part of a name after the package, of which the length is given. */
static Str after_package(Str name, uint32_t len) {
    return len ? (Str){name.ptr + len + 1, name.len - len - 1} : name;
}

static uint32_t package_length(Str name) {
    uint32_t n = name.len;
    while (n && name.ptr[n - 1] != '.')
        n--;
    return n ? n - 1 : 0;
}

/* Considers a name of script scope, if it is of the package of the wanted one. */
static void consider_own(Best *best, Str package, Str name) {
    if (package_length(name) == package.len && memcmp(name.ptr, package.ptr, package.len) == 0)
        check_name_consider(best, after_package(name, package.len));
}

bool check_suggest(Check *c, Diag *g, Str name, Near what) {
    if (g == &c->diags->spare)
        return true;
    Str package = own_name(c, name);
    package.len = package_length(package);
    bool elsewhere = package_length(name);
    name = after_package(name, package_length(name));
    Best best = {.wanted = name, .distance = (name.len + 1) / 3};
    bool functions = what == NEAR_FUNCTIONS;
    for (uint32_t i = 0; what == NEAR_LIBRARIES && i < c->script->uses.len; i++)
        check_name_consider(&best, c->script->uses.at[i].name);
    if (functions) {
        for (uint32_t i = 0; i < c->script->fns.len; i++)
            consider_own(&best, package, c->script->fns.at[i]->name);
    } else {
        for (uint32_t i = 0; i < c->locals.len && !elsewhere; i++)
            check_name_consider(&best, c->locals.at[i]->name);
        for (uint32_t i = 0; i < c->script->vars.len; i++)
            consider_own(&best, package, c->script->vars.at[i]->name);
        for (uint32_t i = 0; i < c->script->constants.len; i++)
            consider_own(&best, package, c->script->constants.at[i]->name);
    }
    if (c->scope->suggest && !elsewhere)
        c->scope->suggest(c->scope->ctx, functions, check_name_consider, &best);
    Buf text = {0};
    for (uint32_t i = 0; i < best.n; i++)
        buf_printf(&text, "%s'%.*s'",
                   i == 0            ? ""
                   : i + 1 == best.n ? " or "
                                     : ", ",
                   (int)best.len[i], best.name[i]);
    if (best.n)
        diag_hint(c->diags, g, "did you mean %s?", buf_cstr(&text));
    buf_free(&text);
    return best.n != 0;
}

/* ---- declaring ---- */

static bool is_reserved(Str name) {
    enum { EVERYWHERE = true, YIELDS = false, OPCODE = false, CALL_ALT = false, LISTED = false };
    static const struct {
        const char *name;
        bool reserved;
    } names[] = {
        {"APP_MEMID", true},
        {"SCRIPT_MEMID", true},
        {"HOST", true},
        {"whamm", true},
#define FUNCTION(id, name, text, params, result, is_static, memories, reads, where, monitor, doc)  \
    {name, where},
#define METHOD(id, name, argument, result, reserved, doc) {name, reserved},
#include "lang/function.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].reserved && str_is(name, names[i].name))
            return true;
    return false;
}

/* arg followed by a digit */
static bool is_argument_name(Str name) {
    return name.len > 3 && memcmp(name.ptr, "arg", 3) == 0 && name.ptr[3] >= '0' &&
           name.ptr[3] <= '9';
}

/* Whether the name is a part of an event that the rule matched ("wasm:opcode:call:before"). */
static bool is_part_of_event(const Check *c, Str name) {
    const char *p = c->scope->describe;
    if (c->place != PLACE_PROBE || !p)
        return false;
    for (;;) {
        size_t n = strcspn(p, ":");
        if (n == name.len && memcmp(p, name.ptr, n) == 0)
            return true;
        if (!p[n])
            return false;
        p += n + 1;
    }
}

static const char *check_name_describe(const Check *c) {
    return c->scope->describe ? c->scope->describe : "this place";
}

const char *check_places(const Check *c) {
    if (c->place == PLACE_FN)
        return c->fn->interval ? "wasm:interval" : "";
    return c->scope->describe_all ? c->scope->describe_all : check_name_describe(c);
}

static bool is_exported(const Check *c, Str name, Str *library) {
    return c->scope->exported && c->scope->exported(c->scope->ctx, name, library);
}

/* Reports a name that has a meaning already. */
static bool may_declare(Check *c, Str name, Span span) {
    Bound bound;
    Str library;
    const Fn *fn = check_find_fn(c, name);
    if (fn && (fn->span.start != span.start || fn->span.file != span.file)) {
        Diag *g =
            check_error(c, DIAG_DUPLICATE_NAME, span, "'%.*s' is already declared", STR_ARG(name));
        diag_label(c->diags, g, fn->span, "first declared here, as a function");
    } else if (is_reserved(name) || is_argument_name(name)) {
        check_error(c, DIAG_RESERVED_NAME, span, "'%.*s' cannot be declared: the name is built in",
                    STR_ARG(name));
    } else if (check_uses(c, name)) {
        check_error(c, DIAG_RESERVED_NAME, span,
                    "'%.*s' cannot be declared: it is the name of a library", STR_ARG(name));
    } else if (script_package_use(c->script, c->package, name)) {
        check_error(c, DIAG_RESERVED_NAME, span,
                    "'%.*s' cannot be declared: it is the name of a package", STR_ARG(name));
    } else if (c->place != PLACE_FN && check_bound_name(c, name, &bound) && !bound.yields) {
        check_error(c, DIAG_RESERVED_NAME, span,
                    "'%.*s' cannot be declared: it is a bound name in %s", STR_ARG(name),
                    check_name_describe(c));
    } else if (scope_has_function(c, name)) {
        check_error(c, DIAG_RESERVED_NAME, span,
                    "'%.*s' cannot be declared: it is a built-in function", STR_ARG(name));
    } else if (c->place == PLACE_PROBE && is_exported(c, name, &library)) {
        check_error(c, DIAG_RESERVED_NAME, span,
                    "'%.*s' cannot be declared: it is a function of the library '%.*s'",
                    STR_ARG(name), STR_ARG(library));
    } else if (is_part_of_event(c, name)) {
        check_error(c, DIAG_RESERVED_NAME, span, "'%.*s' cannot be declared: it is a part of %s",
                    STR_ARG(name), check_name_describe(c));
    } else {
        return true;
    }
    return false;
}

/* The values that a tuple is made of, nested ones included. */
static uint32_t count_leaves(const Type *t) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->nfields; i++)
        n += t->fields[i]->kind == TYPE_TUPLE ? count_leaves(t->fields[i]) : 1;
    return n;
}

void check_storable(Check *c, const Type *t, Span span) {
    if (t->kind == TYPE_TUPLE && count_leaves(t) > MAX_LEAVES) {
        check_error(c, DIAG_BAD_TYPE, span, "this tuple has %u values, but at most %d are allowed",
                    count_leaves(t), MAX_LEAVES);
        return;
    }
    if (t->kind == TYPE_MAP) {
        bool map = t->key->kind == TYPE_MAP && !t->key->aggregate;
        if (t->key->kind == TYPE_MAP || t->key->kind == TYPE_FUNCREF || t->key->aggregate)
            check_error(c, DIAG_BAD_TYPE, span, "%s: a %s cannot be the key of a map", t->text,
                        map ? "map" : t->key->text);
        else if (t->length && !type_is_numeric(t->value) && t->value->kind != TYPE_BOOL)
            check_error(c, DIAG_BAD_TYPE, span,
                        "the elements of an array are numbers or bool, not %s", t->value->text);
        else if (t->length && t->value->aggregate)
            check_error(c, DIAG_BAD_TYPE, span, "a %s cannot be in an array", t->value->text);
        else if (t->value->length)
            check_error(c, DIAG_BAD_TYPE, span, "%s: an array cannot be the value of a map",
                        t->text);
        else if (t->value->kind == TYPE_FUNCREF)
            check_error(c, DIAG_BAD_TYPE, span, "%s: a funcref cannot be the value of a map",
                        t->text);
        else {
            check_storable(c, t->key, span);
            check_storable(c, t->value, span);
        }
    }
    for (uint32_t i = 0; t->kind == TYPE_TUPLE && i < t->nfields; i++) {
        if (t->fields[i]->aggregate)
            check_error(c, DIAG_BAD_TYPE, span, "%s: a %s cannot be in a tuple", t->text,
                        t->fields[i]->text);
        else if (t->fields[i]->kind == TYPE_MAP)
            check_error(c, DIAG_BAD_TYPE, span, "%s: a map cannot be in a tuple", t->text);
        else if (t->fields[i]->kind == TYPE_FUNCREF)
            check_error(c, DIAG_BAD_TYPE, span, "%s: a funcref cannot be in a tuple", t->text);
        else
            check_storable(c, t->fields[i], span);
    }
}

/* Aggregations are kept: there is none in a tuple or a key, and no copy of one. */
static void check_aggregate_place(Check *c, const Var *v) {
    const Type *t = v->type;
    if (v->param && t->aggregate && t->kind != TYPE_MAP) {
        check_error(c, DIAG_BAD_TYPE, v->type_span,
                    "a %s cannot be a parameter: the function would add to a copy", t->text);
    } else if (v->storage == STORAGE_LOCAL && !v->param && t->kind == TYPE_MAP &&
               t->value->kind == TYPE_MAP && t->value->aggregate) {
        Diag *g = check_error(c, DIAG_BAD_TYPE, v->type_span,
                              "a map of %s cannot be made anew at each execution", t->value->text);
        diag_hint(c->diags, g, "declare it 'unshared', 'shared' or at script scope");
    }
}

static void check_atomic(Check *c, const Var *v, uint32_t kinds) {
    TypeKind t = v->type->kind;
    if (v->constant)
        return;
    if (c->place != PLACE_SCRIPT || kinds) {
        Diag *g = check_error(c, DIAG_DECORATOR, v->decorator_span,
                              "'atomic' is for variables of script scope, which all threads share");
        if (kinds && c->place == PLACE_SCRIPT)
            diag_hint(c->diags, g, "the only other word that it goes with is 'report'");
    } else if (t != TYPE_U32 && t != TYPE_I32 && t != TYPE_U64 && t != TYPE_I64 &&
               t != TYPE_ERROR) {
        check_error(c, DIAG_DECORATOR, v->type_span,
                    "an atomic variable is u32, i32, u64 or i64, not %s", v->type->text);
    }
}

/* Decorators to storage: reports the combinations that make no sense. */
static void decide_storage(Check *c, Var *v) {
    const char *none = c->place == PLACE_FN && c->fn->interval
                           ? "a variable of wasm:interval cannot have a decorator; declare it at "
                             "script scope"
                           : "a variable of a function cannot have a decorator";
    uint32_t d = v->decorators, kinds = d & (DECO_UNSHARED | DECO_SHARED | DECO_FRAME);
    v->report = d & DECO_REPORT && !v->element;
    v->atomic = d & DECO_ATOMIC && c->place == PLACE_SCRIPT && !v->constant;
    if (v->element || d & DECO_SHADOW)
        check_shadow_var(c, v);
    else if (d & DECO_ATOMIC)
        check_atomic(c, v, kinds);
    else if (c->place == PLACE_FN && d)
        check_error(c, DIAG_DECORATOR, v->decorator_span, "%s", none);
    else if (kinds & (kinds - 1))
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "expected one of 'unshared', 'shared' and 'frame', found more than one");
    else if (v->report && (d & DECO_FRAME))
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "a frame variable ends with its function, so it cannot be reported");
    else if (c->place == PLACE_SCRIPT && (d & DECO_FRAME))
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "'frame' has no meaning at script scope: no function is running there");
    /* wasm:begin, wasm:end and wasm:report happen nowhere: as if at one site */
    Bound bound;
    bool nowhere =
        c->place == PLACE_PROBE && !c->lenient && d && !check_bound_name(c, STR("fid"), &bound);
    if (nowhere && (d & DECO_FRAME))
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "'frame' has no meaning in %s: no function is running there",
                    check_name_describe(c));
    if (c->place == PLACE_SCRIPT)
        v->storage = STORAGE_SCRIPT;
    else if (d & DECO_SHARED)
        v->storage = STORAGE_SHARED;
    else if (d & DECO_FRAME)
        v->storage = STORAGE_FRAME;
    else if (d)
        v->storage = nowhere ? STORAGE_SHARED : STORAGE_UNSHARED;
    else
        v->storage = STORAGE_LOCAL;
}

/* A frame variable is the same in all probes of the script: the types must agree. */
static void check_frame_type(Check *c, const Var *v) {
    bool added;
    uint64_t *at = map_put(&c->script->frame_names, v->name, (uint64_t)(uintptr_t)v, &added);
    const Var *other = (const Var *)(uintptr_t)*at;
    if (other->type == v->type)
        return;
    Diag *g = check_error(c, DIAG_TYPE_MISMATCH, v->type_span,
                          "the frame variable '%.*s' is %s here and %s elsewhere", STR_ARG(v->name),
                          v->type->text, other->type->text);
    diag_label(c->diags, g, other->type_span, "the same variable is %s here", other->type->text);
}

/* Reports an earlier declaration of the name, or a meaning that it has. */
static void check_name_is_new(Check *c, const Var *v) {
    Var *first = check_find_var(c, v->name);
    if (first) {
        Diag *g = check_error(c, DIAG_DUPLICATE_NAME, v->span, "'%.*s' is already declared",
                              STR_ARG(v->name));
        diag_label(c->diags, g, first->span, "first declared here%s%s",
                   first->constant ? ", as a constant" : "",
                   first->storage == STORAGE_SCRIPT && !first->constant ? ", at script scope" : "");
        if (c->place != PLACE_SCRIPT && first->storage == STORAGE_SCRIPT)
            diag_hint(c->diags, g,
                      "names of script scope are visible in functions and probes and cannot be "
                      "declared there again: rename one");
    } else {
        may_declare(c, v->name, v->span);
    }
}

/* Enters the name of a variable or a constant. */
static void check_name_declare(Check *c, Var *v) {
    bool script = c->place == PLACE_SCRIPT;
    Str name = v->name;
    check_name_is_new(c, v);
    if (script || v->storage == STORAGE_FRAME) /* the same name is the same in all probes */
        v->name = own_name(c, name);
    map_put(script ? &c->script->var_names : &c->local_names, script ? v->name : name,
            (uint64_t)(uintptr_t)v, NULL);
}

/* Checks the value of a constant: a literal. */
static void check_constant(Check *c, Var *v) {
    bool simple = (type_is_numeric(v->type) && !v->type->aggregate) || v->type->kind == TYPE_BOOL ||
                  v->type->kind == TYPE_STR || v->type->kind == TYPE_ERROR;
    v->storage = STORAGE_SCRIPT;
    if (v->decorators & DECO_REPORT)
        check_error(c, DIAG_DECORATOR, v->decorator_span, "a constant cannot be reported");
    else if (v->decorators)
        check_error(c, DIAG_DECORATOR, v->decorator_span,
                    "a constant cannot have a decorator: it is the same everywhere");
    if (!simple)
        check_error(c, DIAG_BAD_TYPE, v->type_span,
                    "a constant must be a number, a bool or a str; %s is none of them",
                    v->type->text);
}

/* Engines take 50,000 locals in a function; intermediate results need some, too. */
enum { MAX_LOCALS = 40000 };

/* The variables of a body are locals of one function. Tells of the first that goes beyond. */
static void check_name_check_locals(Check *c, const Var *v) {
    if (v->storage != STORAGE_LOCAL || c->words > MAX_LOCALS)
        return;
    c->words += type_leaves(v->type);
    if (c->words <= MAX_LOCALS)
        return;
    Diag *g = check_error(c, DIAG_NESTING, v->span,
                          "no room for '%.*s': the variables of a body can have at most %d values "
                          "(each field of a tuple counts)",
                          STR_ARG(v->name), MAX_LOCALS);
    diag_hint(c->diags, g, "'shared' variables and those of script scope do not count");
}

static void enter_var(Check *c, Var *v) {
    if (v->name.ptr[0] != '(') /* hidden */
        check_note_var(c, v->span, v);
    bool script = c->place == PLACE_SCRIPT;
    check_name_check_locals(c, v);
    v->index = script ? c->script->vars.len : c->locals.len;
    if (script)
        vec_push(&c->script->vars, v);
    else
        vec_push(&c->locals, v);
}

void check_declare_var(Check *c, Var *v) {
    if (v->constant) {
        check_note_var(c, v->span, v);
        check_constant(c, v);
        check_name_declare(c, v);
        return;
    }
    if (v->derived) {
        check_note_var(c, v->span, v);
        v->storage = STORAGE_SCRIPT;
        check_name_declare(c, v);
        return;
    }
    decide_storage(c, v);
    check_storable(c, v->type, v->type_span);
    check_aggregate_place(c, v);
    if (v->report && v->type->kind == TYPE_FUNCREF)
        check_error(c, DIAG_BAD_TYPE, v->type_span, "a funcref cannot be reported");
    if (v->storage == STORAGE_FRAME && v->type->kind == TYPE_MAP) {
        Diag *g = check_error(c, DIAG_BAD_TYPE, v->type_span, "a frame variable cannot be a map");
        diag_hint(c->diags, g, "declare the map 'unshared', 'shared' or at script scope");
    }
    check_name_declare(c, v);
    if (v->storage == STORAGE_FRAME)
        check_frame_type(c, v);
    enter_var(c, v);
}

void check_declare_loop(Check *c, Var *v) {
    assert(v->loop);
    v->storage = c->place == PLACE_SCRIPT ? STORAGE_SCRIPT : STORAGE_LOCAL;
    v->within = c->within;
    if (v->name.ptr[0] != '(') /* hidden */
        check_name_is_new(c, v);
    enter_var(c, v);
    vec_push(&c->loops, v);
}

Var *check_hidden_var(Check *c, const Type *type, Span span) {
    bool script = c->place == PLACE_SCRIPT;
    uint32_t index = script ? c->script->vars.len : c->locals.len;
    Var *v = arena_new(&c->script->arena, Var);
    *v = (Var){.name = str_of(arena_printf(&c->script->arena, "$%u", index)),
               .span = span,
               .type_span = span,
               .type = type,
               .storage = script ? STORAGE_SCRIPT : STORAGE_LOCAL,
               .within = c->within,
               .index = index};
    check_name_check_locals(c, v);
    if (script)
        vec_push(&c->script->vars, v);
    else
        vec_push(&c->locals, v);
    return v;
}

static void declare_block(Check *c, Block b, bool nested, const Stmt *within) {
    for (Stmt *s = b.first; s; s = s->next) {
        if (c->place == PLACE_SCRIPT && s->span.file)
            c->package = script_package(c->script, s->span.file);
        if (s->kind == STMT_DECL && s->var->derived)
            check_error(c, DIAG_BAD_DERIVED, s->var->span,
                        "derived columns are declared at script scope, not in a block");
        else if (s->kind == STMT_DECL && !s->var->loop) { /* those of loops are entered there */
            s->var->within = within;
            check_declare_var(c, s->var);
            if (s->var->constant && (nested || c->place != PLACE_SCRIPT) && !c->lenient) {
                Diag *g = check_error(c, DIAG_BAD_CONSTANT, s->var->span,
                                      "constants are declared at script scope, not in a block");
                hint_add(c->diags, g, HINT_CONSTANT, STR("block"));
            }
        }
        for (uint32_t i = 0; i < s->narms; i++)
            declare_block(c, s->arms[i].body, true, s->kind == STMT_ANNOTATED ? s : within);
    }
}

void check_declare_block(Check *c, Block b) {
    declare_block(c, b, false, NULL);
}

void check_fn_name(Check *c, const Fn *fn) {
    may_declare(c, after_package(fn->name, package_length(fn->name)), fn->span);
}

/* ---- resolving ---- */

static bool is_glob(Str pattern) {
    for (uint32_t i = 0; i < pattern.len; i++)
        if (strchr("*?[|", pattern.ptr[i]))
            return true;
    return pattern.len == 0;
}

static bool check_name_is_inside(Span inner, Span outer) {
    return inner.file == outer.file && inner.start >= outer.start && inner.end <= outer.end;
}

const char *check_when(Annotation annotation) {
    static const char *const when[] = {"", "at compile time", "when the program starts",
                                       "when the report is written"};
    return when[annotation];
}

/* Code that runs once per site, at start-up or at the end, cannot use values of one execution. */
static void check_early_use(Check *c, const Expr *e, const Var *v, bool is_static) {
    const char *kind = v ? "variable of one execution" : "value of one execution";
    if (c->init_of && c->init_of->storage != STORAGE_LOCAL && c->place == PLACE_PROBE) {
        bool shared = c->init_of->storage == STORAGE_SHARED;
        if (v ? v->storage == STORAGE_SCRIPT || (v->storage == STORAGE_UNSHARED && !shared)
              : is_static && !shared)
            return;
        if (v && v->storage != STORAGE_LOCAL)
            kind = "variable of the probe";
        else if (is_static)
            kind = "constant of one site";
        Diag *g = check_error(c, DIAG_EARLY_VALUE, e->span,
                              "'%.*s' is a %s; the initialiser of '%.*s' runs once, %s",
                              STR_ARG(e->name), kind, STR_ARG(c->init_of->name),
                              shared ? "for all sites" : "when the program starts");
        diag_hint(c->diags, g, "it can use %sscript variables and literals",
                  shared ? "" : "static names, unshared and ");
    } else if (c->early) {
        bool kept = v && v->storage != STORAGE_LOCAL && v->storage != STORAGE_FRAME;
        bool own = v && v->within && v->within == c->within;
        if (is_static || ((kept || own) && c->early != ANN_STATIC))
            return;
        check_error(c, DIAG_EARLY_VALUE, e->span, "'%.*s' is a %s; this %s runs %s",
                    STR_ARG(e->name), v && v->storage == STORAGE_SCRIPT ? "variable" : kind,
                    c->within && c->early == c->within->annotation ? "block" : "call",
                    check_when(c->early));
    } else if (v && v->within && v->storage == STORAGE_LOCAL) {
        Diag *g = check_error(c, DIAG_EARLY_VALUE, e->span,
                              "'%.*s' is a variable of a block that runs %s", STR_ARG(e->name),
                              check_when(v->within->annotation));
        diag_label(c->diags, g, v->span, "declared here");
    }
}

void check_early_value(Check *c, const Expr *e) {
    check_early_use(c, e, NULL, false);
}

static const Type *resolve_var(Check *c, Expr *e, Var *v) {
    Bound bound;
    e->var = v;
    check_note_var(c, e->name_span, v);
    bool own = v->init && !v->loop && check_name_is_inside(e->name_span, v->init->span);
    if (script_precedes(c->script, e->name_span, v->span) || own) {
        Diag *g = check_error(c, DIAG_USE_BEFORE_DECLARATION, e->name_span, "'%.*s' is used %s",
                              STR_ARG(e->name),
                              own ? "in its own initialiser" : "before its declaration");
        diag_label(c->diags, g, v->span, "declared here");
        return &type_error;
    }
    if (v->derived) {
        Diag *g = check_error(c, DIAG_BAD_DERIVED, e->name_span,
                              "'%.*s' is computed when reports are read: the program has no value "
                              "of it",
                              STR_ARG(e->name));
        diag_label(c->diags, g, v->span, "declared here, as a derived column");
        return &type_error;
    }
    if (c->place == PLACE_PROBE && v->storage == STORAGE_SCRIPT &&
        check_bound_name(c, e->name, &bound) && !bound.yields) {
        const char *kind = v->constant ? "constant" : "variable";
        Diag *g = check_error(c, DIAG_DUPLICATE_NAME, e->name_span,
                              "'%.*s' is a %s and also a bound name in %s", STR_ARG(e->name),
                              v->constant ? "constant" : "script variable", check_name_describe(c));
        diag_label(c->diags, g, v->span, "the %s is declared here", kind);
        diag_hint(c->diags, g, "give the %s another name", kind);
        return &type_error;
    }
    if (v->element && e->kind != EXPR_INDEX)
        return check_shadow_whole(c, e);
    if (!v->constant)
        check_early_use(c, e, v, false);
    return v->type;
}

static const Type *open_type(Check *c, const Expr *e) {
    if (c->lenient) /* the rule is unreadable, and so are its bounds */
        return &type_error;
    Diag *g = check_error(c, DIAG_OPEN_TYPE, e->name_span,
                          "the type of '%.*s' varies in %s and must be given by a bound",
                          STR_ARG(e->name), check_name_describe(c));
    const Rule *r = &c->probe->rule;
    Str part = r->parts[r->nparts > 2 ? 2 : r->nparts - 1].pattern;
    if (!part.len)
        part = STR("*");
    diag_hint(c->diags, g, "add a bound to the rule: %.*s(%.*s: i32)", STR_ARG(part),
              STR_ARG(e->name));
    return &type_error;
}

static const Type *resolve_bound(Check *c, Expr *e, Bound bound) {
    const TypeBound *said = check_type_bound(c, e->name);
    e->is_bound = true;
    if (said && (!bound.is_static || !bound.type || bound.boundable)) {
        bound.type = said->type;
        bound.literal = bound.widens = false;
    }
    e->bound = bound;
    e->is_static = bound.is_static;
    note_bound(c, e->name_span, &bound, bound.type);
    if (!bound.type)
        return open_type(c, e);
    check_early_use(c, e, NULL, bound.is_static);
    return bound.type;
}

/* Hints for words of other languages. */
static bool hint_name(Check *c, Diag *g, Str name) {
    bool of_func =
        c->place == PLACE_PROBE && strncmp(check_name_describe(c), "wasm:func:", 10) == 0;
    return (of_func && hint_add(c->diags, g, HINT_FUNC_NAME, name)) ||
           hint_add(c->diags, g, HINT_NAME, name);
}

const Type *check_name(Check *c, Expr *e) {
    if (e->kind == EXPR_NAME && e->recv.len)
        return check_shadow_tag(c, e);
    Var *v = check_find_var(c, e->name);
    if (v)
        return resolve_var(c, e, v);
    Bound bound;
    if (check_bound_name(c, e->name, &bound))
        return resolve_bound(c, e, bound);
    if (check_find_fn(c, e->name) || scope_has_function(c, e->name)) {
        Diag *g = check_error(c, DIAG_UNDECLARED_NAME, e->name_span,
                              "'%.*s' is a function, not a variable", STR_ARG(e->name));
        diag_hint(c->diags, g, "call it: %.*s(...)", STR_ARG(e->name));
    } else if (check_uses(c, e->name) || script_package_use(c->script, c->package, e->name)) {
        check_error(c, DIAG_UNDECLARED_NAME, e->name_span, "'%.*s' is a %s, not a variable",
                    STR_ARG(e->name), check_uses(c, e->name) ? "library" : "package");
    } else if (check_tell(c, e->name, e->name_span, false)) {
        Diag *g = check_error(
            c, DIAG_UNDECLARED_NAME, e->name_span, "'%.*s' is not declared%s%s", STR_ARG(e->name),
            c->place == PLACE_SCRIPT || !*check_places(c) ? "" : " and no bound name in ",
            c->place == PLACE_SCRIPT ? "" : check_places(c));
        if (!hint_name(c, g, e->name))
            check_suggest(c, g, e->name, NEAR_NAMES);
    }
    return &type_error;
}

/* ---- type bounds ---- */

static void check_bound(Check *c, const TypeBound *b, uint32_t index) {
    const Rule *r = &c->probe->rule;
    Bound bound;
    if (check_bound_name(c, b->name, &bound))
        note_bound(c, b->span, &bound, b->type);
    for (uint32_t i = 0; i < index; i++) {
        if (str_eq(r->bounds[i].name, b->name) && r->bounds[i].part < 3) {
            Diag *g = check_error(c, DIAG_BAD_BOUND, b->span, "'%.*s' already has a bound",
                                  STR_ARG(b->name));
            diag_label(c->diags, g, r->bounds[i].span, "the first bound is here");
            return;
        }
    }
    if (b->part == 3) {
        check_error(c, DIAG_BAD_BOUND, b->span,
                    "a mode cannot have type bounds; write them after the event");
    } else if (!check_bound_name(c, b->name, &bound) && !bound.only_bound) {
        Diag *g = check_error(c, DIAG_BAD_BOUND, b->span, "'%.*s' is not a bound name in %s",
                              STR_ARG(b->name), check_name_describe(c));
        check_suggest(c, g, b->name, NEAR_NAMES);
    } else if (bound.type && bound.is_static && !bound.boundable) {
        check_error(c, DIAG_BAD_BOUND, b->span,
                    "'%.*s' is a constant of type %s in %s and cannot have a bound",
                    STR_ARG(b->name), bound.type->text, check_name_describe(c));
    } else if (!type_wasm_class(b->type)) {
        check_error(c, DIAG_BAD_BOUND, b->type_span,
                    "expected a type that a WebAssembly value can have, found %s", b->type->text);
    } else if (bound.type && (bound.is_static || !bound.boundable) &&
               type_wasm_class(bound.type) != type_wasm_class(b->type) && r->nparts > 2 &&
               !is_glob(r->parts[2].pattern)) {
        check_error(c, DIAG_BAD_BOUND, b->type_span,
                    "this bound never holds: '%.*s' is %s in %s, not %s", STR_ARG(b->name),
                    bound.type->text, check_name_describe(c), b->type->text);
    }
}

void check_bounds(Check *c) {
    if (c->lenient)
        return;
    for (uint32_t i = 0; i < c->probe->rule.nbounds; i++)
        check_bound(c, &c->probe->rule.bounds[i], i);
}
