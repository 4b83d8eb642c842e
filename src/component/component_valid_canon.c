/*
 * component/component_valid_canon.c - canonical definitions: options, the core types that functions
 * are lifted from and lowered to (CanonicalABI.md, "Flattening"), built-in functions.
 */
#include "component/component_valid.h"

#include <assert.h>

enum {
    MAX_FLAT_PARAMS = 16,
    MAX_FLAT_ASYNC_PARAMS = 4,
    MAX_FLAT_RESULTS = 1,
    MAX_CONTEXT_SLOT = 1
};

static const char *canon_name(uint8_t code) {
    static const char *const names[] = {
#define CANON(id, code, name, items) [code] = name,
#include "component/component.def"
    };
    return names[code];
}

static const char *canon_option_name(uint8_t code) {
    static const char *const names[] = {
#define OPTION(id, code, name, item) [code] = name,
#include "component/component.def"
    };
    return names[code];
}

/* ---- options ---- */

typedef struct CanonOptions {
    const ComponentOption *given[CANON_OPTION_COUNT];
    WasmType address; /* of the memory */
    CoreExtern core;  /* `core-type`; of what is lifted the type of the core function */
} CanonOptions;

/* A core type that has to be that of a function. */
static bool core_func_type(ComponentChecker *k, uint32_t index, CoreExtern *func) {
    if (index >= k->scope->core_types.len)
        return component_at(k, COMPONENT_SPACE_CORE_TYPE, index) != NULL;
    *func = (CoreExtern){.space = WASM_SPACE_FUNC, .type = k->scope->core_types.at[index]};
    return (func->type != UINT32_MAX && k->core.types.at[func->type].kind == WASM_TYPE_FUNC) ||
           component_refuse(k, "core type %u: expected the type of a function", index);
}

static bool check_memory(ComponentChecker *k, uint32_t index, WasmType *address) {
    const CoreExtern *memory = component_at(k, COMPONENT_SPACE_CORE_MEMORY, index);
    if (!memory)
        return false;
    *address = memory->limits.is64 ? WASM_I64 : WASM_I32;
    return !memory->limits.shared ||
           component_refuse(k, "core memory %u: expected a memory that is not shared", index);
}

static bool refuse_func(ComponentChecker *k, const char *what, uint32_t index,
                        const CoreExtern *found, WasmTypeList params, WasmTypeList results) {
    const CoreExtern *wanted = component_core_func(k, params, results);
    const char *expected =
        wanted ? arena_printf(&k->arena, "%s", component_core_words(k, wanted)) : "";
    return component_refuse(k, "%score function %u: expected a function of type %s, found %s", what,
                            index, expected, component_core_words(k, found));
}

/* Whether the core function of an option is of this type, with a message if not. */
static bool option_func_fits(ComponentChecker *k, const ComponentOption *option,
                             WasmTypeList params, WasmTypeList results) {
    const CoreExtern *func = component_at(k, COMPONENT_SPACE_CORE_FUNC, option->index);
    if (!func || component_core_matches(k, func, params, results))
        return func != NULL;
    const char *what = arena_printf(&k->arena, "option `%s`: ", canon_option_name(option->code));
    return refuse_func(k, what, option->index, func, params, results);
}

/* Notes which options there are. */
static bool note_canon_options(ComponentChecker *k, const ComponentCanon *canon, CanonOptions *o) {
    for (uint32_t i = 0; i < canon->noptions; i++) {
        const ComponentOption *option = &canon->options[i];
        k->at = option->at;
        if (o->given[option->code])
            return component_refuse(k, "option `%s` is specified more than once",
                                    canon_option_name(option->code));
        o->given[option->code] = option;
        for (uint8_t other = CANON_OPTION_UTF8; other <= CANON_OPTION_COMPACT; other++)
            if (option->code <= CANON_OPTION_COMPACT && other != option->code && o->given[other])
                return component_refuse(k, "option `%s` conflicts with `%s`",
                                        canon_option_name(option->code), canon_option_name(other));
    }
    return true;
}

static bool needs(ComponentChecker *k, const CanonOptions *o, uint8_t option, uint8_t other) {
    return !o->given[option] || o->given[other] ||
           component_refuse(k, "option `%s` needs `%s`", canon_option_name(option),
                            canon_option_name(other));
}

static bool check_core_type_option(ComponentChecker *k, CanonOptions *o) {
    const ComponentOption *option = o->given[CANON_OPTION_CORE_TYPE];
    return !option || core_func_type(k, option->index, &o->core);
}

static bool check_canon_options(ComponentChecker *k, const ComponentCanon *canon, CanonOptions *o) {
    *o = (CanonOptions){.address = WASM_I32};
    if (!note_canon_options(k, canon, o))
        return false;
    const ComponentOption *memory = o->given[CANON_OPTION_MEMORY];
    if (memory && !check_memory(k, memory->index, &o->address))
        return false;
    if (!needs(k, o, CANON_OPTION_CALLBACK, CANON_OPTION_ASYNC) ||
        !needs(k, o, CANON_OPTION_REALLOC, CANON_OPTION_MEMORY) ||
        !needs(k, o, CANON_OPTION_CORE_TYPE, CANON_OPTION_GC))
        return false;
    if (o->given[CANON_OPTION_ASYNC] && o->given[CANON_OPTION_POST_RETURN])
        return component_refuse(k, "options `async` and `post-return` exclude each other");
    if (!check_core_type_option(k, o))
        return false;
    const WasmType a[] = {o->address, o->address, o->address, o->address};
    const ComponentOption *realloc = o->given[CANON_OPTION_REALLOC];
    return !realloc || option_func_fits(k, realloc, (WasmTypeList){a, 4}, (WasmTypeList){a, 1});
}

static bool excludes(ComponentChecker *k, const ComponentCanon *canon, const CanonOptions *o,
                     uint8_t option) {
    return !o->given[option] ||
           component_refuse(k, "option `%s` cannot be specified for `%s`",
                            canon_option_name(option), canon_name(canon->code));
}

/* What calls out of the component cannot have, and what they need. */
static bool check_outward(ComponentChecker *k, const ComponentCanon *canon, const CanonOptions *o) {
    return excludes(k, canon, o, CANON_OPTION_POST_RETURN) &&
           excludes(k, canon, o, CANON_OPTION_CALLBACK) &&
           needs(k, o, CANON_OPTION_GC, CANON_OPTION_CORE_TYPE);
}

static bool require(ComponentChecker *k, const CanonOptions *o, uint8_t option) {
    return o->given[option] ||
           component_refuse(k, "option `%s` is required", canon_option_name(option));
}

/* A memory, and for what is received a `realloc`. */
static bool require_memory(ComponentChecker *k, const CanonOptions *o, bool received) {
    return require(k, o, CANON_OPTION_MEMORY) && (!received || require(k, o, CANON_OPTION_REALLOC));
}

/* ---- flattening ---- */

typedef struct Flat {
    WasmType at[MAX_FLAT_PARAMS + 1];
    uint32_t len, max;
} Flat;

static bool put_flat_type(Flat *flat, WasmType type) {
    if (flat->len == flat->max)
        return false;
    flat->at[flat->len++] = type;
    return true;
}

static bool flatten(const TypeNode *type, WasmType address, Flat *flat);

static WasmType join_flat(WasmType a, WasmType b) {
    if (a == b)
        return a;
    bool narrow = (a == WASM_I32 || a == WASM_F32) && (b == WASM_I32 || b == WASM_F32);
    return narrow ? WASM_I32 : WASM_I64;
}

/* A discriminant, then for each place a type that has room for that of each case. */
static bool flatten_choice(const TypeNode *type, WasmType address, Flat *flat) {
    if (!put_flat_type(flat, WASM_I32))
        return false;
    uint32_t from = flat->len;
    for (uint32_t i = 0; i < type->nfields; i++) {
        Flat one = {.max = flat->max};
        if (type->fields[i].type && !flatten(type->fields[i].type, address, &one))
            return false;
        for (uint32_t j = 0; j < one.len; j++) {
            if (from + j < flat->len)
                flat->at[from + j] = join_flat(flat->at[from + j], one.at[j]);
            else if (!put_flat_type(flat, one.at[j]))
                return false;
        }
    }
    return true;
}

static bool flatten_sequence(const TypeNode *type, WasmType address, Flat *flat) {
    for (uint32_t i = 0; i < type->nfields; i++)
        if (!flatten(type->fields[i].type, address, flat))
            return false;
    return true;
}

/* Appends the core types of a value. False: there is no room for them. */
static bool flatten(const TypeNode *type, WasmType address, Flat *flat) {
    switch (type->kind) {
    case COMPONENT_S64:
    case COMPONENT_U64: return put_flat_type(flat, WASM_I64);
    case COMPONENT_F32: return put_flat_type(flat, WASM_F32);
    case COMPONENT_F64: return put_flat_type(flat, WASM_F64);
    case COMPONENT_STRING:
    case COMPONENT_TYPE_LIST:
    case COMPONENT_TYPE_MAP: return put_flat_type(flat, address) && put_flat_type(flat, address);
    case COMPONENT_TYPE_FIXED_LIST:
        for (uint32_t i = 0; i < type->length; i++)
            if (!flatten(type->fields[0].type, address, flat))
                return false;
        return true;
    case COMPONENT_TYPE_RECORD:
    case COMPONENT_TYPE_TUPLE: return flatten_sequence(type, address, flat);
    case COMPONENT_TYPE_VARIANT:
    case COMPONENT_TYPE_OPTION:
    case COMPONENT_TYPE_RESULT: return flatten_choice(type, address, flat);
    default: return put_flat_type(flat, WASM_I32);
    }
}

typedef struct Signature {
    Flat params, results;
} Signature;

static bool flatten_params(ComponentChecker *k, const TypeNode *func, const CanonOptions *o,
                           bool lift, Signature *s) {
    Flat *flat = &s->params;
    uint32_t n = func->nfields - 1;
    flat->max = !lift && o->given[CANON_OPTION_ASYNC] ? MAX_FLAT_ASYNC_PARAMS : MAX_FLAT_PARAMS;
    for (uint32_t i = 0; i < n; i++) {
        const TypeNode *type = func->fields[i].type;
        if (type->pointers && !require_memory(k, o, lift))
            return false;
        if (flatten(type, o->address, flat))
            continue;
        flat->len = 1; /* all are in memory */
        flat->at[0] = o->address;
        return require_memory(k, o, lift);
    }
    return true;
}

static bool flatten_result(ComponentChecker *k, const TypeNode *result, const CanonOptions *o,
                           bool lift, Signature *s) {
    s->results.max = MAX_FLAT_RESULTS;
    if (flatten(result, o->address, &s->results))
        return true;
    s->results.len = 0; /* it is in memory */
    s->params.max = MAX_FLAT_PARAMS + 1;
    put_flat_type(lift ? &s->results : &s->params, o->address);
    return require(k, o, CANON_OPTION_MEMORY);
}

static bool flatten_async(ComponentChecker *k, const TypeNode *result, const CanonOptions *o,
                          bool lift, Signature *s) {
    s->results.max = MAX_FLAT_RESULTS;
    if (!lift || o->given[CANON_OPTION_CALLBACK])
        put_flat_type(&s->results, WASM_I32);
    if (!result)
        return true;
    if (!lift) {
        s->params.max = MAX_FLAT_PARAMS + 1;
        put_flat_type(&s->params, o->address);
        return require(k, o, CANON_OPTION_MEMORY);
    }
    Flat returned = {.max = MAX_FLAT_PARAMS}; /* by task.return */
    return (flatten(result, o->address, &returned) && !result->pointers) ||
           require(k, o, CANON_OPTION_MEMORY);
}

/* The core type of a function. */
static bool flatten_func(ComponentChecker *k, const TypeNode *func, const CanonOptions *o,
                         bool lift, Signature *s) {
    const TypeNode *result = func->fields[func->nfields - 1].type;
    *s = (Signature){0};
    if (!component_spend(k, func->size) || !flatten_params(k, func, o, lift, s))
        return false;
    if (result && result->pointers && !lift && !require_memory(k, o, true))
        return false;
    if (o->given[CANON_OPTION_ASYNC])
        return flatten_async(k, result, o, lift, s);
    return !result || flatten_result(k, result, o, lift, s);
}

/* ---- values of garbage-collected types ---- */

static bool refuse_gc(ComponentChecker *k, const TypeNode *type, const char *expected,
                      WasmType found) {
    char text[32];
    return component_refuse(k, "option `gc`: expected %s for a %s, found %s", expected,
                            component_kind_name(type->kind), wasm_type_text(found, text));
}

/* The definition that a reference names; NULL if it is of another kind. */
static const WasmTypeDef *referenced(ComponentChecker *k, WasmType type, WasmTypeKind kind) {
    uint32_t index;
    if (!wasm_heap_index(type, &index) || k->core.types.at[index].kind != kind)
        return NULL;
    return &k->core.types.at[index];
}

static bool gc_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *type, WasmType core,
                    bool field);

static bool gc_list_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *type,
                         WasmType core) {
    const WasmTypeDef *array = referenced(k, core, WASM_TYPE_ARRAY);
    return array ? gc_fits(k, o, type->fields[0].type, array->fields[0].type, true)
                 : refuse_gc(k, type, "a reference to an array", core);
}

static bool gc_string_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *type,
                           WasmType core) {
    bool wide = o->given[CANON_OPTION_UTF16];
    const WasmTypeDef *array = referenced(k, core, WASM_TYPE_ARRAY);
    return (array && array->fields[0].type == (wide ? WASM_I16 : WASM_I8)) ||
           refuse_gc(k, type,
                     wide ? "a reference to an array of i16" : "a reference to an array of i8",
                     core);
}

static bool gc_record_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *type,
                           WasmType core) {
    const WasmTypeDef *def = referenced(k, core, WASM_TYPE_STRUCT);
    if (!def || def->nfields != type->nfields)
        return refuse_gc(k, type, "a reference to a struct with as many fields", core);
    for (uint32_t i = 0; i < def->nfields; i++)
        if (!gc_fits(k, o, type->fields[i].type, def->fields[i].type, true))
            return false;
    return true;
}

static bool gc_number_fits(ComponentChecker *k, const TypeNode *type, WasmType core,
                           WasmType wanted) {
    char text[32];
    return core == wanted || refuse_gc(k, type, wasm_type_text(wanted, text), core);
}

/* Whether a core type, perhaps of a field, can have the values of the type. */
static bool gc_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *type, WasmType core,
                    bool field) {
    const WasmTypeDef *def;
    if (!component_spend(k, 1))
        return false;
    switch (type->kind) {
    case COMPONENT_BOOL:
    case COMPONENT_S8:
    case COMPONENT_U8: return gc_number_fits(k, type, core, field ? WASM_I8 : WASM_I32);
    case COMPONENT_S16:
    case COMPONENT_U16: return gc_number_fits(k, type, core, field ? WASM_I16 : WASM_I32);
    case COMPONENT_S32:
    case COMPONENT_U32:
    case COMPONENT_CHAR:
    case COMPONENT_TYPE_FLAGS:
    case COMPONENT_TYPE_ENUM: return gc_number_fits(k, type, core, WASM_I32);
    case COMPONENT_S64:
    case COMPONENT_U64: return gc_number_fits(k, type, core, WASM_I64);
    case COMPONENT_F32: return gc_number_fits(k, type, core, WASM_F32);
    case COMPONENT_F64: return gc_number_fits(k, type, core, WASM_F64);
    case COMPONENT_STRING: return gc_string_fits(k, o, type, core);
    case COMPONENT_TYPE_LIST:
    case COMPONENT_TYPE_FIXED_LIST: return gc_list_fits(k, o, type, core);
    case COMPONENT_TYPE_RECORD:
    case COMPONENT_TYPE_TUPLE: return gc_record_fits(k, o, type, core);
    case COMPONENT_TYPE_VARIANT:
    case COMPONENT_TYPE_OPTION:
    case COMPONENT_TYPE_RESULT:
        def = referenced(k, core, WASM_TYPE_STRUCT);
        return (def && def->nfields == 0) ||
               refuse_gc(k, type, "a reference to a struct without fields", core);
    case COMPONENT_TYPE_MAP:
        return refuse_gc(k, type, "nothing, as the proposal has nothing", core);
    default:
        return (WASM_IS_REF(core) && WASM_HEAP_OF(core) == WASM_HEAP(WASM_HEAP_EXTERN)) ||
               refuse_gc(k, type, "a reference to extern", core);
    }
}

/* Whether a core function's type is one that the function can be lifted from or lowered to. */
static bool gc_func_fits(ComponentChecker *k, const CanonOptions *o, const TypeNode *func) {
    const WasmTypeDef *def = &k->core.types.at[o->core.type];
    uint32_t n = func->nfields - 1;
    const TypeNode *result = func->fields[n].type;
    if (def->nparams != n || def->nresults != (result ? 1 : 0))
        return component_refuse(k,
                                "option `gc`: expected a core type with %u parameters and %u "
                                "results, found %s",
                                n, result ? 1 : 0, component_core_words(k, &o->core));
    for (uint32_t i = 0; i < n; i++)
        if (!gc_fits(k, o, func->fields[i].type, def->params[i], false))
            return false;
    return !result || gc_fits(k, o, result, def->results[0], false);
}

/* ---- lift, lower, task.return ---- */

static bool push_func(ComponentChecker *k, WasmTypeList params, WasmTypeList results) {
    const CoreExtern *func = component_core_func(k, params, results);
    if (func)
        component_push(k, COMPONENT_SPACE_CORE_FUNC, func);
    return func != NULL;
}

static WasmTypeList flat_list(const Flat *flat) {
    return (WasmTypeList){flat->at, flat->len};
}

static bool check_async(ComponentChecker *k, const CanonOptions *o, const TypeNode *func) {
    return !o->given[CANON_OPTION_ASYNC] || func->kind == COMPONENT_TYPE_ASYNC_FUNC ||
           component_refuse(k, "option `async` requires the type of an async function");
}

static bool lifts(ComponentChecker *k, const ComponentCanon *canon, const TypeNode *func,
                  const CanonOptions *o) {
    Signature s;
    if (o->given[CANON_OPTION_GC])
        return gc_func_fits(k, o, func);
    if (!flatten_func(k, func, o, true, &s))
        return false;
    WasmTypeList params = flat_list(&s.params), results = flat_list(&s.results);
    return component_core_matches(k, &o->core, params, results) ||
           refuse_func(k, "", canon->func, &o->core, params, results);
}

static bool check_lift(ComponentChecker *k, const ComponentCanon *canon) {
    static const WasmType event[] = {WASM_I32, WASM_I32, WASM_I32};
    CanonOptions o;
    const TypeNode *func = component_type_at(k, canon->type, COMPONENT_TYPE_FUNC);
    const CoreExtern *core = func ? component_at(k, COMPONENT_SPACE_CORE_FUNC, canon->func) : NULL;
    if (!core || !check_canon_options(k, canon, &o) || !check_async(k, &o, func) ||
        !excludes(k, canon, &o, CANON_OPTION_CORE_TYPE))
        return false;
    o.core = *core;
    const WasmTypeDef *def = &k->core.types.at[core->type];
    const ComponentOption *post = o.given[CANON_OPTION_POST_RETURN],
                          *callback = o.given[CANON_OPTION_CALLBACK];
    WasmTypeList none = {0}, results = {def->results, def->nresults};
    WasmTypeList three = {event, 3}, one = {event, 1};
    if ((post && !option_func_fits(k, post, results, none)) ||
        (callback && !option_func_fits(k, callback, three, one)) || !lifts(k, canon, func, &o))
        return false;
    component_push(k, COMPONENT_SPACE_FUNC, func);
    return true;
}

/* Adds the core function that a function is lowered to. */
static bool push_lowered(ComponentChecker *k, const TypeNode *func, const CanonOptions *o) {
    Signature s;
    if (!o->given[CANON_OPTION_GC])
        return flatten_func(k, func, o, false, &s) &&
               push_func(k, flat_list(&s.params), flat_list(&s.results));
    if (!gc_func_fits(k, o, func))
        return false;
    CoreExtern *core = arena_new(&k->arena, CoreExtern);
    *core = o->core;
    component_push(k, COMPONENT_SPACE_CORE_FUNC, core);
    return true;
}

static bool check_lower(ComponentChecker *k, const ComponentCanon *canon) {
    CanonOptions o;
    const TypeNode *func = component_at(k, COMPONENT_SPACE_FUNC, canon->func);
    return func && check_canon_options(k, canon, &o) && check_outward(k, canon, &o) &&
           check_async(k, &o, func) && push_lowered(k, func, &o);
}

/* It is lowered as a function whose parameter is the result. */
static bool check_task_return(ComponentChecker *k, const ComponentCanon *canon) {
    CanonOptions o;
    TypeField fields[2] = {0};
    TypeNode func = {.fields = fields, .size = 1};
    if (!component_val(k, &canon->result, &fields[0].type))
        return false;
    if (fields[0].type)
        func.size += fields[0].type->size;
    func.nfields = fields[0].type ? 2 : 1;
    return check_canon_options(k, canon, &o) && excludes(k, canon, &o, CANON_OPTION_REALLOC) &&
           excludes(k, canon, &o, CANON_OPTION_ASYNC) && check_outward(k, canon, &o) &&
           push_lowered(k, &func, &o);
}

/* ---- other built-in functions ---- */

static bool push_builtin(ComponentChecker *k, uint8_t code) {
    static const char *const types[][2] = {
#define BUILTIN(id, params, results) [CANON_##id] = {params, results},
#include "component/component.def"
    };
    WasmType lists[2][MAX_FLAT_ASYNC_PARAMS];
    uint32_t n[2];
    assert(code < sizeof types / sizeof *types && types[code][0]);
    for (uint32_t i = 0; i < 2; i++) {
        n[i] = (uint32_t)strlen(types[code][i]);
        for (uint32_t j = 0; j < n[i]; j++)
            lists[i][j] = types[code][i][j] == 'l' ? WASM_I64 : WASM_I32;
    }
    return push_func(k, (WasmTypeList){lists[0], n[0]}, (WasmTypeList){lists[1], n[1]});
}

static bool check_resource_use(ComponentChecker *k, const ComponentCanon *canon) {
    const WasmType i32 = WASM_I32;
    const TypeNode *type = component_type_at(k, canon->type, COMPONENT_TYPE_RESOURCE);
    if (!type)
        return false;
    if (canon->code == CANON_RESOURCE_DROP)
        return push_builtin(k, canon->code);
    const Resource *resource = type->resource;
    if (resource->binder != k->scope->binder || !resource->rep)
        return component_refuse(k,
                                "type %u is not a local resource: `%s` is only for the component "
                                "that defines it",
                                canon->type, canon_name(canon->code));
    WasmTypeList handle = {&i32, 1}, rep = {&resource->rep, 1};
    return canon->code == CANON_RESOURCE_NEW ? push_func(k, rep, handle)
                                             : push_func(k, handle, rep);
}

static bool check_stream_use(ComponentChecker *k, const ComponentCanon *canon) {
    bool stream = canon->code <= CANON_STREAM_DROP_WRITABLE;
    bool read = canon->code == CANON_STREAM_READ || canon->code == CANON_FUTURE_READ;
    bool write = canon->code == CANON_STREAM_WRITE || canon->code == CANON_FUTURE_WRITE;
    const TypeNode *type =
        component_type_at(k, canon->type, stream ? COMPONENT_TYPE_STREAM : COMPONENT_TYPE_FUTURE);
    if (!type)
        return false;
    CanonOptions o;
    const TypeNode *element = type->fields[0].type;
    if ((read || write) && (!check_canon_options(k, canon, &o) || !check_outward(k, canon, &o)))
        return false;
    if ((read || write) && element && !require_memory(k, &o, read && element->pointers))
        return false;
    return push_builtin(k, canon->code);
}

static bool check_error_context(ComponentChecker *k, const ComponentCanon *canon) {
    CanonOptions o;
    return check_canon_options(k, canon, &o) && excludes(k, canon, &o, CANON_OPTION_ASYNC) &&
           check_outward(k, canon, &o) &&
           require_memory(k, &o, canon->code == CANON_ERROR_CONTEXT_DEBUG_MESSAGE) &&
           push_builtin(k, canon->code);
}

static bool check_waiting(ComponentChecker *k, const ComponentCanon *canon) {
    WasmType params[] = {WASM_I32, WASM_I32};
    return check_memory(k, canon->memory, &params[1]) &&
           push_func(k, (WasmTypeList){params, 2}, (WasmTypeList){params, 1});
}

static bool check_context(ComponentChecker *k, const ComponentCanon *canon) {
    char a[32], b[32];
    WasmType *known = &k->scope->context;
    if (canon->value != WASM_I32 && canon->value != WASM_I64)
        return component_refuse(k, "`%s` is only for i32 and i64, not for %s",
                                canon_name(canon->code), wasm_type_text(canon->value, a));
    if (canon->slot > MAX_CONTEXT_SLOT)
        return component_refuse(k, "`%s`: the slot must be 0 or 1, not %u", canon_name(canon->code),
                                canon->slot);
    if (*known && *known != canon->value)
        return component_refuse(k, "`%s`: expected the type %s as before, found %s",
                                canon_name(canon->code), wasm_type_text(*known, a),
                                wasm_type_text(canon->value, b));
    *known = canon->value;
    WasmTypeList none = {0}, value = {known, 1};
    return canon->code == CANON_CONTEXT_GET ? push_func(k, none, value) : push_func(k, value, none);
}

/* Threads run functions from i32 to nothing, of a table of functions. */
static bool check_thread_start(ComponentChecker *k, const ComponentCanon *canon) {
    const WasmType start = WASM_I32;
    CoreExtern func;
    if (!core_func_type(k, canon->type, &func))
        return false;
    if (!component_core_matches(k, &func, (WasmTypeList){&start, 1}, (WasmTypeList){0}))
        return component_refuse(k, "core type %u: expected (i32) -> (), found %s", canon->type,
                                component_core_words(k, &func));
    const CoreExtern *table = component_at(k, COMPONENT_SPACE_CORE_TABLE, canon->table);
    if (!table)
        return false;
    if (table->value != WASM_FUNCREF || table->limits.is64)
        return component_refuse(k, "core table %u: expected a 32-bit table of funcref, found %s",
                                canon->table, component_core_words(k, table));
    return push_builtin(k, canon->code);
}

bool component_check_canon(ComponentChecker *k, const ComponentCanon *canon) {
    switch ((ComponentCanonCode)canon->code) {
    case CANON_LIFT: return check_lift(k, canon);
    case CANON_LOWER: return check_lower(k, canon);
    case CANON_TASK_RETURN: return check_task_return(k, canon);
    case CANON_RESOURCE_NEW:
    case CANON_RESOURCE_DROP:
    case CANON_RESOURCE_REP: return check_resource_use(k, canon);
    case CANON_CONTEXT_GET:
    case CANON_CONTEXT_SET: return check_context(k, canon);
    case CANON_ERROR_CONTEXT_NEW:
    case CANON_ERROR_CONTEXT_DEBUG_MESSAGE: return check_error_context(k, canon);
    case CANON_WAITABLE_SET_WAIT:
    case CANON_WAITABLE_SET_POLL: return check_waiting(k, canon);
    case CANON_THREAD_NEW_INDIRECT: return check_thread_start(k, canon);
    case CANON_THREAD_SPAWN_REF:
    case CANON_THREAD_SPAWN_INDIRECT:
    case CANON_THREAD_PARALLELISM:
        return component_refuse(k,
                                "`%s` needs shared functions (proposal shared-everything "
                                "threads), which are not supported",
                                canon_name(canon->code));
    default:
        return canon->code >= CANON_STREAM_NEW && canon->code <= CANON_FUTURE_DROP_WRITABLE
                   ? check_stream_use(k, canon)
                   : push_builtin(k, canon->code);
    }
}
