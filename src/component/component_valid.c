/*
 * component/component_valid.c - validation of components: scopes with their index spaces, imports
 * and exports, aliases, instances. component_valid.h describes types and resources.
 *
 * Items are checked in the order of the file. The first fault ends the validation.
 */
#include "component/component_valid.h"
#include "valid/valid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- messages, bounds ---- */

bool component_refuse(ComponentChecker *k, const char *format, ...) {
    char text[320];
    Buf at = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (uint32_t i = 0; i < k->path.len; i++)
        buf_printf(&at, "%s\"%.*s\"", i ? ", " : "", SHOWN(k->path.at[i]));
    diag(k->diags, DIAG_INVALID, (Span){k->root->file, k->at, k->end}, "%s%s%s", buf_cstr(&at),
         at.len ? ": " : "", text);
    buf_free(&at);
    return false;
}

bool component_spend(ComponentChecker *k, uint64_t units) {
    if (units <= k->budget) {
        k->budget -= units;
        return true;
    }
    k->budget = 0;
    return component_refuse(k, "the types of the component are too complex");
}

/* ---- scopes ---- */

void component_open_scope(ComponentChecker *k, ScopeKind kind) {
    Scope *scope = mem_alloc(sizeof *scope);
    *scope = (Scope){.up = k->scope,
                     .kind = kind,
                     .binder = arena_new(&k->arena, Binder),
                     .imports.what = "import",
                     .exports.what = "export",
                     .sum = {.size = 1, .depth = 1}};
    scope->binder->open = true;
    k->scope = scope;
}

static void free_side(ScopeSide *side) {
    vec_free(&side->items);
    map_free(&side->names);
    map_free(&side->types);
    map_free(&side->resources);
    map_free(&side->resource_names);
}

void component_free_scope(ComponentChecker *k) {
    Scope *scope = k->scope;
    for (uint32_t i = 0; i < COMPONENT_SPACE_COUNT; i++)
        vec_free(&scope->space[i]);
    vec_free(&scope->core_types);
    free_side(&scope->imports);
    free_side(&scope->exports);
    scope->binder->open = false;
    k->scope = scope->up;
    free(scope);
}

static ExternList extern_list(ComponentChecker *k, const ScopeSide *side) {
    ExternList list = {.at = arena_array(&k->arena, ExternItem, side->items.len),
                       .len = side->items.len};
    if (list.len)
        memcpy(list.at, side->items.at, list.len * sizeof *list.at);
    component_sort(k, &list);
    return list;
}

static bool is_not_local(ComponentChecker *k, void *ctx, Resource *resource) {
    (void)ctx;
    return resource->binder != k->scope->binder || resource->imported ||
           component_refuse(k, "an import uses a resource that the component defines");
}

static bool note_exported(ComponentChecker *k, void *ctx, Resource *resource) {
    (void)ctx;
    resource->exported = k->scope->binder;
    return true;
}

static bool is_named_by_export(ComponentChecker *k, void *ctx, Resource *resource) {
    (void)ctx;
    return resource->binder != k->scope->binder || resource->imported ||
           resource->exported == k->scope->binder ||
           component_refuse(k, "an export uses a resource that the component defines but does not "
                               "export");
}

static bool values_are_used(ComponentChecker *k) {
    for (uint32_t i = 0; i < k->scope->space[COMPONENT_SPACE_VALUE].len; i++) {
        const ScopeValue *value = k->scope->space[COMPONENT_SPACE_VALUE].at[i];
        if (!value->used && k->scope->kind == SCOPE_COMPONENT)
            return component_refuse(k, "value %u is never used: expected one use", i);
    }
    return true;
}

TypeNode *component_close_scope(ComponentChecker *k) {
    Scope *scope = k->scope;
    TypeNode *type = arena_new(&k->arena, TypeNode);
    *type = scope->sum;
    type->kind =
        scope->kind == SCOPE_INSTANCE_TYPE ? COMPONENT_TYPE_INSTANCE : COMPONENT_TYPE_COMPONENT;
    type->imports = extern_list(k, &scope->imports);
    type->exports = extern_list(k, &scope->exports);
    if (scope->kind == SCOPE_INSTANCE_TYPE) {
        type->binder = scope->defined ? scope->binder : NULL;
        return type;
    }
    type->binder = scope->binder;
    for (uint32_t i = 0; i < type->imports.len; i++)
        if (!component_walk(k, type->imports.at[i].is.type, is_not_local, NULL))
            return NULL;
    if (!component_each_resource(k, &type->exports, note_exported, NULL))
        return NULL;
    for (uint32_t i = 0; i < type->exports.len; i++)
        if (!component_walk(k, type->exports.at[i].is.type, is_named_by_export, NULL))
            return NULL;
    return values_are_used(k) ? type : NULL;
}

const void *component_at(ComponentChecker *k, ComponentSpace space, uint32_t index) {
    if (index < k->scope->space[space].len)
        return k->scope->space[space].at[index];
    component_refuse(k, "unknown %s %u, there are %u so far", component_space_name(space), index,
                     k->scope->space[space].len);
    return NULL;
}

void component_push(ComponentChecker *k, ComponentSpace space, const void *item) {
    vec_push(&k->scope->space[space], item);
}

Scope *component_outer(ComponentChecker *k, uint32_t up) {
    Scope *scope = k->scope;
    for (uint32_t i = 0; scope && i < up; i++)
        scope = scope->up;
    if (!scope)
        component_refuse(k, "there are no %u enclosing scopes", up);
    return scope;
}

/* Takes a value out of the index space: it can be used once. */
static const TypeNode *use_value(ComponentChecker *k, uint32_t index) {
    ScopeValue *value = (ScopeValue *)component_at(k, COMPONENT_SPACE_VALUE, index);
    if (value && value->used) {
        component_refuse(k, "value %u cannot be used more than once", index);
        return NULL;
    }
    if (!value)
        return NULL;
    value->used = true;
    return value->type;
}

static void push_value(ComponentChecker *k, const TypeNode *type, bool used) {
    ScopeValue *value = arena_new(&k->arena, ScopeValue);
    *value = (ScopeValue){type, used};
    component_push(k, COMPONENT_SPACE_VALUE, value);
}

static void push_extern(ComponentChecker *k, const ExternType *is, bool used) {
    if (is->space == COMPONENT_SPACE_VALUE)
        push_value(k, is->type, used);
    else
        component_push(k, is->space, is->type);
}

bool component_extern_at(ComponentChecker *k, ComponentRef ref, ExternType *is) {
    *is = (ExternType){.space = ref.space};
    switch (ref.space) {
    case COMPONENT_SPACE_CORE_MODULE:
    case COMPONENT_SPACE_FUNC:
    case COMPONENT_SPACE_TYPE:
    case COMPONENT_SPACE_COMPONENT:
    case COMPONENT_SPACE_INSTANCE: is->type = component_at(k, ref.space, ref.index); break;
    case COMPONENT_SPACE_VALUE: is->type = use_value(k, ref.index); break;
    default:
        return component_refuse(k, "a %s cannot be an argument or export",
                                component_space_name(ref.space));
    }
    is->of = ref.space == COMPONENT_SPACE_TYPE ? is->type : NULL;
    return is->type != NULL;
}

/* ---- what imports and exports are declared to be ---- */

static const TypeNode *module_type_at(ComponentChecker *k, uint32_t index) {
    if (index < k->scope->core_types.len && k->scope->core_types.at[index] != UINT32_MAX)
        component_refuse(k, "core type %u: expected the type of a core module", index);
    else
        return component_at(k, COMPONENT_SPACE_CORE_TYPE, index);
    return NULL;
}

/* The type of a value that is declared; a declaration does not use a value that it equals. */
static const TypeNode *declared_value(ComponentChecker *k, const ComponentExtern *e) {
    const TypeNode *type;
    if (e->fresh)
        return component_val(k, &e->value, &type) ? type : NULL;
    const ScopeValue *value = component_at(k, COMPONENT_SPACE_VALUE, e->index);
    return value ? value->type : NULL;
}

bool component_declared(ComponentChecker *k, const ComponentExtern *e, ExternType *is) {
    *is = (ExternType){.space = e->space};
    switch (e->space) {
    case COMPONENT_SPACE_CORE_MODULE: is->type = module_type_at(k, e->index); break;
    case COMPONENT_SPACE_FUNC:
        is->type = component_type_at(k, e->index, COMPONENT_TYPE_FUNC);
        break;
    case COMPONENT_SPACE_COMPONENT:
        is->type = component_type_at(k, e->index, COMPONENT_TYPE_COMPONENT);
        break;
    case COMPONENT_SPACE_INSTANCE:
        is->type = component_type_at(k, e->index, COMPONENT_TYPE_INSTANCE);
        break;
    case COMPONENT_SPACE_VALUE: is->type = declared_value(k, e); break;
    default:
        assert(e->space == COMPONENT_SPACE_TYPE);
        is->of = e->fresh ? component_new_resource(k, true, 0)
                          : component_at(k, COMPONENT_SPACE_TYPE, e->index);
        is->type = e->fresh || !is->of ? is->of : component_rename(k, is->of);
    }
    return is->type != NULL;
}

/* ---- names ---- */

static bool valid_resource_name(ComponentChecker *k, const ScopeSide *side, const TypeNode *handle,
                                Str name) {
    const void *address = handle;
    const uint64_t *index = map_get(&side->resources, component_key(&address));
    if (!index)
        return component_refuse(k,
                                "the resource that the function is for has no name among the "
                                "%ss before it",
                                side->what);
    Str expected = side->items.at[*index].name;
    return str_eq(expected, name) ||
           component_refuse(k, "expected the name of the resource, \"%.*s\", found \"%.*s\"",
                            SHOWN(expected), SHOWN(name));
}

/* A constructor has the result (own R) or (result (own R) E). */
static bool valid_constructor(ComponentChecker *k, const ScopeSide *side, const TypeNode *func,
                              Str name) {
    const TypeNode *result = func->fields[func->nfields - 1].type;
    if (func->kind == COMPONENT_TYPE_ASYNC_FUNC)
        return component_refuse(k, "a constructor cannot be async");
    if (result && result->kind == COMPONENT_TYPE_RESULT)
        result = result->fields[0].type;
    if (!result || result->kind != COMPONENT_TYPE_OWN)
        return component_refuse(k, "a constructor must return (own $R) or (result (own $R))");
    return valid_resource_name(k, side, result->handle, name);
}

static bool valid_method(ComponentChecker *k, const ScopeSide *side, const TypeNode *func,
                         Str name) {
    const TypeField *self = func->fields;
    if (func->nfields < 2 || !str_is(self->name, "self") ||
        self->type->kind != COMPONENT_TYPE_BORROW)
        return component_refuse(k,
                                "the first parameter of a method must be \"self\", a (borrow $R)");
    return valid_resource_name(k, side, self->type->handle, name);
}

/* Whether the name fits what has it. */
static bool valid_use(ComponentChecker *k, const ScopeSide *side, const ExternName *name,
                      const ExternType *is) {
    if (name->form != NAME_CONSTRUCTOR && name->form != NAME_METHOD && name->form != NAME_STATIC)
        return true;
    if (is->space != COMPONENT_SPACE_FUNC)
        return component_refuse(k, "expected a function by its name, found a %s",
                                component_space_name(is->space));
    switch (name->form) {
    case NAME_CONSTRUCTOR: return valid_constructor(k, side, is->type, name->resource);
    case NAME_METHOD: return valid_method(k, side, is->type, name->resource);
    default:
        return map_get(&side->resource_names, name->resource) ||
               component_refuse(k, "\"%.*s\" is not a resource among the %ss before it",
                                SHOWN(name->resource), side->what);
    }
}

static bool valid_version(ComponentChecker *k, const ExternName *name, const ComponentName *from,
                          const ExternType *is) {
    bool suffix = from->version_suffix.ptr != NULL;
    if (suffix && is->space != COMPONENT_SPACE_INSTANCE)
        return component_refuse(k, "only an instance can have a version suffix");
    if (suffix && !name->version.ptr)
        return component_refuse(k,
                                "a version suffix needs the name of an interface with a version");
    if (!name->version.ptr)
        return true;
    if (suffix && !component_is_canonical_version(name->version))
        return component_refuse(k,
                                "the version \"%.*s\" before a suffix must end with its first "
                                "number that is not zero",
                                SHOWN(name->version));
    char *version = arena_printf(&k->arena, "%.*s%.*s", (int)name->version.len, name->version.ptr,
                                 (int)from->version_suffix.len, from->version_suffix.ptr);
    return component_is_version(str_of(version)) ||
           component_refuse(k,
                            "invalid interface version \"%.100s\", expected "
                            "MAJOR.MINOR.PATCH",
                            version);
}

static bool valid_implements(ComponentChecker *k, const ExternName *name, Str interface,
                             const ExternType *is) {
    ExternName other;
    const char *why;
    if (name->form != NAME_LABEL || is->space != COMPONENT_SPACE_INSTANCE)
        return component_refuse(k, "only an instance with a plain name can implement an interface");
    if (!component_read_name(interface, &other, &why))
        return component_refuse(k, "\"%.*s\", the interface, is not a valid name: %s",
                                SHOWN(interface), why);
    return other.form == NAME_INTERFACE ||
           component_refuse(k, "expected the name of an interface, found \"%.*s\"",
                            SHOWN(interface));
}

/* The name of an import or export, which is not yet in `side`. */
static bool valid_name(ComponentChecker *k, ScopeSide *side, const ComponentName *from,
                       const ExternType *is) {
    ExternName name;
    const char *why;
    bool added;
    if (!component_read_name(from->name, &name, &why))
        return component_refuse(k, "not a valid name of an %s: %s", side->what, why);
    if (from->implements.ptr && !valid_implements(k, &name, from->implements, is))
        return false;
    if (!valid_version(k, &name, from, is) || !valid_use(k, side, &name, is))
        return false;
    k->text.len = 0;
    component_name_key(&name, from->name, &k->text);
    uint32_t before = (uint32_t)*map_put(&side->names, buf_view(&k->text), side->items.len, &added);
    return added || component_refuse(k,
                                     "the name of the %s conflicts with the previous name "
                                     "\"%.*s\"",
                                     side->what, SHOWN(side->items.at[before].name));
}

/* ---- imports and exports ---- */

static void add_named_type(Map *named, const TypeNode *type) {
    const void *address = type;
    map_put(named, component_key(&address), 1, NULL);
}

/* Checks that all that the type consists of is named, and adds the types that it names. */
static bool name_types(ComponentChecker *k, ScopeSide *side, const ExternType *is) {
    bool named = true, import = side == &k->scope->imports;
    if (is->space == COMPONENT_SPACE_INSTANCE) {
        const ExternList *list = &is->type->exports;
        for (uint32_t i = 0; i < list->len; i++)
            if (!component_spend(k, 1) || !name_types(k, side, &list->at[i].is))
                return false;
        return true;
    }
    if (is->space == COMPONENT_SPACE_CORE_MODULE || is->space == COMPONENT_SPACE_COMPONENT)
        return true;
    if (!component_is_named(k, &side->types, is, &named))
        return false;
    if (!named)
        return component_refuse(k, "its type uses types that are not %sed themselves before it",
                                side->what);
    if (is->space == COMPONENT_SPACE_TYPE) {
        add_named_type(&side->types, is->type);
        if (import)
            add_named_type(&k->scope->exports.types, is->type);
    }
    return true;
}

static void note_resource(ScopeSide *side, const ExternType *is, Str name, bool fresh) {
    const void *address = is->type;
    map_put(&side->resources, component_key(&address), side->items.len, NULL);
    map_put(&side->resource_names, name, 1, NULL);
    if (fresh)
        is->type->resource->imported = *side->what == 'i';
}

static bool add_extern(ComponentChecker *k, ScopeSide *side, const ComponentName *name,
                       ExternType is) {
    Scope *scope = k->scope;
    bool import = side == &scope->imports;
    bool resource = is.space == COMPONENT_SPACE_TYPE && is.type->kind == COMPONENT_TYPE_RESOURCE;
    if (is.space == COMPONENT_SPACE_INSTANCE && !component_freshen(k, &is.type, import))
        return false;
    push_extern(k, &is, !import);
    if (resource) {
        note_resource(side, &is, name->name, is.of == is.type);
        scope->defined += is.of == is.type && !import;
    }
    if (scope->kind != SCOPE_INSTANCE_TYPE && !name_types(k, side, &is))
        return false;
    if (!valid_name(k, side, name, &is))
        return false;
    vec_push(&side->items, (ExternItem){name->name, is});
    return component_combine(k, &scope->sum, is.type);
}

bool component_add_extern(ComponentChecker *k, bool import, const ComponentName *name,
                          ExternType is) {
    vec_push(&k->path, name->name);
    bool ok = add_extern(k, import ? &k->scope->imports : &k->scope->exports, name, is);
    if (ok)
        k->path.len--;
    return ok;
}

static bool valid_import(ComponentChecker *k, const ComponentImport *import) {
    ExternType is;
    return component_declared(k, &import->type, &is) &&
           component_add_extern(k, true, &import->name, is);
}

static bool valid_export(ComponentChecker *k, const ComponentExport *export) {
    ExternType is, declared;
    if (!component_extern_at(k, export->ref, &is))
        return false;
    if (is.of)
        is.type = component_rename(k, is.of);
    if (export->typed) {
        if (!component_declared(k, &export->type, &declared))
            return false;
        vec_push(&k->path, export->name.name);
        if (!component_extern_fits(k, &is, &declared))
            return false;
        k->path.len--;
        is = declared;
    }
    return component_add_extern(k, false, &export->name, is);
}

/* ---- aliases ---- */

static bool alias_export(ComponentChecker *k, const ComponentAlias *alias) {
    const TypeNode *instance = component_at(k, COMPONENT_SPACE_INSTANCE, alias->instance);
    if (!instance)
        return false;
    const ExternItem *item = component_find(&instance->exports, alias->name);
    if (!item)
        return component_refuse(k, "instance %u has no export \"%.*s\"", alias->instance,
                                SHOWN(alias->name));
    if (item->is.space != alias->space)
        return component_refuse(k, "export \"%.*s\" of instance %u: expected a %s, found a %s",
                                SHOWN(alias->name), alias->instance,
                                component_space_name(alias->space),
                                component_space_name(item->is.space));
    push_extern(k, &item->is, false);
    return true;
}

static bool alias_core_export(ComponentChecker *k, const ComponentAlias *alias) {
    const CoreList *instance = component_at(k, COMPONENT_SPACE_CORE_INSTANCE, alias->instance);
    if (!instance)
        return false;
    const CoreExtern *is = component_core_export(instance, alias->name);
    if (!is)
        return component_refuse(k, "core instance %u has no export \"%.*s\"", alias->instance,
                                SHOWN(alias->name));
    if (is->space != component_core_space(alias->space))
        return component_refuse(k, "export \"%.*s\" of core instance %u: expected a %s, found a %s",
                                SHOWN(alias->name), alias->instance,
                                component_space_name(alias->space), wasm_space_name(is->space));
    component_push(k, alias->space, is);
    return true;
}

static bool is_bound(ComponentChecker *k, void *ctx, Resource *resource) {
    (void)ctx;
    return !resource->binder->open ||
           component_refuse(k, "an alias to a type outside of the component cannot be for one that "
                               "transitively refers to resources");
}

static bool alias_outer(ComponentChecker *k, const ComponentAlias *alias) {
    const Scope *scope = component_outer(k, alias->up);
    if (!scope)
        return false;
    if (alias->space != COMPONENT_SPACE_CORE_MODULE && alias->space != COMPONENT_SPACE_CORE_TYPE &&
        alias->space != COMPONENT_SPACE_TYPE && alias->space != COMPONENT_SPACE_COMPONENT)
        return component_refuse(k, "an outer alias cannot be for a %s",
                                component_space_name(alias->space));
    if (alias->index >= scope->space[alias->space].len)
        return component_refuse(k, "unknown %s %u, there are %u so far in that scope",
                                component_space_name(alias->space), alias->index,
                                scope->space[alias->space].len);
    const void *item = scope->space[alias->space].at[alias->index];
    if (alias->space == COMPONENT_SPACE_CORE_TYPE)
        vec_push(&k->scope->core_types, scope->core_types.at[alias->index]);
    bool leaves = alias->up && component_outer(k, alias->up - 1)->kind == SCOPE_COMPONENT;
    if (alias->space == COMPONENT_SPACE_TYPE && leaves && !component_walk(k, item, is_bound, NULL))
        return false;
    component_push(k, alias->space, item);
    return true;
}

bool component_check_alias(ComponentChecker *k, const ComponentAlias *alias) {
    bool type = alias->space == COMPONENT_SPACE_TYPE;
    bool fits = alias->kind == ALIAS_EXPORT  ? type || alias->space == COMPONENT_SPACE_INSTANCE
                : alias->kind == ALIAS_OUTER ? type || alias->space == COMPONENT_SPACE_CORE_TYPE
                                             : false;
    if (k->scope->kind != SCOPE_COMPONENT && !fits)
        return component_refuse(k,
                                "aliases in the type of a component or instance can only be for "
                                "types and instances, not for a %s",
                                component_space_name(alias->space));
    switch (alias->kind) {
    case ALIAS_EXPORT: return alias_export(k, alias);
    case ALIAS_CORE_EXPORT: return alias_core_export(k, alias);
    default: return alias_outer(k, alias);
    }
}

/* ---- instances ---- */

/* Adds an instance with these exports. */
static bool push_instance(ComponentChecker *k, ExternList exports) {
    TypeNode *type = arena_new(&k->arena, TypeNode);
    *type = (TypeNode){.kind = COMPONENT_TYPE_INSTANCE, .size = 1, .depth = 1, .exports = exports};
    for (uint32_t i = 0; i < exports.len; i++)
        if (!component_combine(k, type, exports.at[i].is.type))
            return false;
    component_push(k, COMPONENT_SPACE_INSTANCE, type);
    return component_spend(k, exports.len);
}

static bool add_arg_export(ComponentChecker *k, ScopeSide *side, const ComponentArg *arg) {
    ExternType is;
    vec_push(&k->path, arg->name.name);
    if (!component_extern_at(k, arg->ref, &is) || !valid_name(k, side, &arg->name, &is))
        return false;
    k->path.len--;
    vec_push(&side->items, (ExternItem){arg->name.name, is});
    return true;
}

static bool instance_from_exports(ComponentChecker *k, const ComponentInstance *instance) {
    ScopeSide side = {.what = "export"};
    bool ok = true;
    for (uint32_t i = 0; ok && i < instance->nargs; i++)
        ok = add_arg_export(k, &side, &instance->args[i]);
    ok = ok && push_instance(k, extern_list(k, &side));
    free_side(&side);
    return ok;
}

static bool arguments(ComponentChecker *k, const ComponentInstance *instance, ExternList *args) {
    *args = (ExternList){.at = arena_array(&k->arena, ExternItem, instance->nargs),
                         .len = instance->nargs};
    for (uint32_t i = 0; i < args->len; i++) {
        args->at[i].name = instance->args[i].name.name;
        if (!component_extern_at(k, instance->args[i].ref, &args->at[i].is))
            return false;
    }
    component_sort(k, args);
    for (uint32_t i = 1; i < args->len; i++)
        if (str_eq(args->sorted[i - 1].name, args->sorted[i].name))
            return component_refuse(k, "two arguments have the name \"%.*s\"",
                                    SHOWN(args->sorted[i].name));
    return component_spend(k, args->len);
}

static bool valid_instance(ComponentChecker *k, const ComponentInstance *instance) {
    ExternList args;
    if (!instance->instantiates)
        return instance_from_exports(k, instance);
    const TypeNode *component = component_at(k, COMPONENT_SPACE_COMPONENT, instance->of);
    if (!component || !arguments(k, instance, &args))
        return false;
    Substitution s = {0};
    ExternList exports = component->exports;
    bool ok = component_open(k, &args, &component->imports, component->binder, true, &s) &&
              component_freshen_list(k, &s, &exports, component->binder, false) &&
              push_instance(k, exports);
    component_substitution_free(&s);
    return ok;
}

/* ---- start, values ---- */

static bool valid_start(ComponentChecker *k, const ComponentStart *start) {
    const TypeNode *func = component_at(k, COMPONENT_SPACE_FUNC, start->func);
    if (!func)
        return false;
    if (k->scope->has_start)
        return component_refuse(k, "a component cannot have more than one start function");
    k->scope->has_start = true;
    uint32_t params = func->nfields - 1;
    const TypeNode *result = func->fields[params].type;
    if (start->nargs != params || start->results != (result ? 1 : 0))
        return component_refuse(k,
                                "the start function has %u parameters and %u results, found %u "
                                "and %u",
                                params, result ? 1 : 0, start->nargs, start->results);
    for (uint32_t i = 0; i < params; i++) {
        const TypeNode *value = use_value(k, start->args[i]);
        if (!value || !component_val_fits(k, value, func->fields[i].type))
            return false;
    }
    if (result)
        push_value(k, result, false);
    return true;
}

static bool valid_value(ComponentChecker *k, const ComponentVal *val) {
    const TypeNode *type;
    if (!component_val(k, val, &type))
        return false;
    push_value(k, type, false);
    return true;
}

/* ---- components ---- */

static TypeNode *valid_component(ComponentChecker *k, const Component *c);

static bool valid_item(ComponentChecker *k, const ComponentItem *item) {
    TypeNode *component;
    k->at = item->from;
    k->end = item->to;
    switch ((ComponentItemKind)item->kind) {
    case COMPONENT_ITEM_CORE_MODULE: return component_check_module(k, item);
    case COMPONENT_ITEM_CORE_INSTANCE: return component_check_core_instance(k, item->instance);
    case COMPONENT_ITEM_CORE_TYPE: return component_check_core_type(k, item->core_type);
    case COMPONENT_ITEM_COMPONENT:
        component = valid_component(k, item->component);
        if (component)
            component_push(k, COMPONENT_SPACE_COMPONENT, component);
        return component != NULL;
    case COMPONENT_ITEM_INSTANCE: return valid_instance(k, item->instance);
    case COMPONENT_ITEM_ALIAS: return component_check_alias(k, item->alias);
    case COMPONENT_ITEM_TYPE: return component_check_type(k, item->type);
    case COMPONENT_ITEM_CANON: return component_check_canon(k, item->canon);
    case COMPONENT_ITEM_START: return valid_start(k, item->start);
    case COMPONENT_ITEM_IMPORT: return valid_import(k, item->import);
    case COMPONENT_ITEM_EXPORT: return valid_export(k, item->export);
    case COMPONENT_ITEM_VALUE: return valid_value(k, &item->value);
    default: assert(item->kind == COMPONENT_ITEM_CUSTOM); return true;
    }
}

/* The type of a component; NULL with a message if it is invalid. */
static TypeNode *valid_component(ComponentChecker *k, const Component *c) {
    bool ok = true;
    component_open_scope(k, SCOPE_COMPONENT);
    for (uint32_t i = 0; ok && i < c->items.len; i++)
        ok = valid_item(k, &c->items.at[i]);
    k->at = c->from;
    k->end = c->to;
    TypeNode *type = ok ? component_close_scope(k) : NULL;
    component_free_scope(k);
    return type;
}

static void free_checker(ComponentChecker *k) {
    arena_free(&k->arena);
    wasm_module_free(&k->core);
    wasm_groups_free(&k->groups);
    vec_free(&k->path);
    buf_free(&k->text);
}

static bool load_component(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                           uint32_t threads, Diags *diags) {
    enum { BASE = 1 << 24, PER_BYTE = 4 };
    if (!component_read(c, bytes, size, file, diags))
        return false;
    ComponentChecker *k = mem_zalloc(sizeof *k);
    k->root = c;
    k->diags = diags;
    k->threads = threads; /* 0: modules are valid */
    k->budget = BASE + PER_BYTE * (uint64_t)size;
    component_begin_core(k, &k->core);
    component_begin_types(k);
    bool ok = valid_component(k, c) != NULL;
    free_checker(k);
    free(k);
    return ok;
}

bool component_load(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                    uint32_t threads, Diags *diags) {
    return load_component(c, bytes, size, file, threads ? threads : 1, diags);
}

bool component_load_output(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                           Diags *diags) {
#ifdef NDEBUG
    return load_component(c, bytes, size, file, 0, diags);
#else
    return load_component(c, bytes, size, file, 1, diags);
#endif
}
