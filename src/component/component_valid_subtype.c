/*
 * component/component_valid_subtype.c - which types fit where others are expected; replacing
 * resources in types.
 *
 * Types of values and functions have to be equal, as other implementations demand it. An instance
 * fits if it has all exports that are expected. A component fits if what it would be given
 * satisfies its imports, and what it then exports what is expected of it.
 */
#include "component/component_valid.h"

void component_substitution_free(Substitution *s) {
    map_free(&s->resources);
    map_free(&s->types);
}

/* ---- maps of addresses ---- */

static void *find_node(const Map *map, const void *address) {
    const uint64_t *found = map_get(map, component_key(&address));
    return found ? (void *)(uintptr_t)*found : NULL;
}

static void map_node(Map *map, const void *address, const void *value) {
    map_put(map, component_key(&address), (uintptr_t)value, NULL);
}

/* ---- replacing resources ---- */

/* What a new node or a list of so many items costs: they stay. */
enum { COST_OF_NODE = 16, COST_OF_ITEM = 4 };

static TypeNode *new_node(ComponentChecker *k, const TypeNode *from) {
    if (!component_spend(k, COST_OF_NODE + COST_OF_ITEM * (uint64_t)from->nfields))
        return NULL;
    TypeNode *node = arena_new(&k->arena, TypeNode);
    *node = *from;
    return node;
}

static const TypeNode *replace_type(ComponentChecker *k, Substitution *s, const TypeNode *type);

static const TypeNode *replace_resource(ComponentChecker *k, Substitution *s,
                                        const TypeNode *type) {
    Resource *resource = find_node(&s->resources, type->resource);
    if (!resource || resource == type->resource)
        return type;
    TypeNode *other = new_node(k, type);
    if (other)
        other->resource = resource;
    return other;
}

static const TypeNode *replace_handle(ComponentChecker *k, Substitution *s, const TypeNode *type) {
    const TypeNode *handle = replace_type(k, s, type->handle);
    if (!handle || handle == type->handle)
        return handle ? type : NULL;
    TypeNode *other = new_node(k, type);
    if (other)
        other->handle = handle;
    return other;
}

static const TypeNode *replace_fields(ComponentChecker *k, Substitution *s, const TypeNode *type) {
    TypeField *fields = NULL;
    for (uint32_t i = 0; i < type->nfields; i++) {
        const TypeNode *from = type->fields[i].type, *to = from ? replace_type(k, s, from) : NULL;
        if (from && !to)
            return NULL;
        if (from == to)
            continue;
        if (!fields) {
            fields = arena_array(&k->arena, TypeField, type->nfields);
            memcpy(fields, type->fields, type->nfields * sizeof *fields);
        }
        fields[i].type = to;
    }
    if (!fields)
        return type;
    TypeNode *other = new_node(k, type);
    if (other)
        other->fields = fields;
    return other;
}

static const TypeNode *replace_lists(ComponentChecker *k, Substitution *s, const TypeNode *type) {
    ExternList imports = type->imports, exports = type->exports;
    if (!component_substitute_list(k, s, &imports) || !component_substitute_list(k, s, &exports))
        return NULL;
    if (imports.at == type->imports.at && exports.at == type->exports.at)
        return type;
    TypeNode *other = new_node(k, type);
    if (other) {
        other->imports = imports;
        other->exports = exports;
    }
    return other;
}

/* The type with what `s` replaces; NULL with a message if it is too large. */
static const TypeNode *replace_type(ComponentChecker *k, Substitution *s, const TypeNode *type) {
    if (!type->handles && !s->renames)
        return type;
    const TypeNode *known = find_node(&s->types, type);
    if (known)
        return known;
    if (!component_spend(k, 1 + type->nfields))
        return NULL;
    switch (type->kind) {
    case COMPONENT_TYPE_RESOURCE: known = replace_resource(k, s, type); break;
    case COMPONENT_TYPE_OWN:
    case COMPONENT_TYPE_BORROW: known = replace_handle(k, s, type); break;
    case COMPONENT_TYPE_COMPONENT:
    case COMPONENT_TYPE_INSTANCE: known = replace_lists(k, s, type); break;
    default: known = replace_fields(k, s, type);
    }
    if (known)
        map_node(&s->types, type, known);
    return known;
}

bool component_substitute(ComponentChecker *k, Substitution *s, ExternType *is) {
    bool same = is->of == is->type;
    is->type = replace_type(k, s, is->type);
    if (is->of)
        is->of = same || !is->type ? is->type : replace_type(k, s, is->of);
    return is->type && (is->of || is->space != COMPONENT_SPACE_TYPE);
}

bool component_substitute_list(ComponentChecker *k, Substitution *s, ExternList *list) {
    ExternItem *items = NULL;
    if (!component_spend(k, list->len))
        return false;
    for (uint32_t i = 0; i < list->len; i++) {
        ExternType is = list->at[i].is;
        if (!component_substitute(k, s, &is))
            return false;
        if (is.type == list->at[i].is.type && is.of == list->at[i].is.of)
            continue;
        if (!items) {
            if (!component_spend(k, COST_OF_ITEM * (uint64_t)list->len))
                return false;
            items = arena_array(&k->arena, ExternItem, list->len);
            memcpy(items, list->at, list->len * sizeof *items);
        }
        items[i].is = is;
    }
    if (items)
        list->at = items;
    return true;
}

/* ---- resources in types ---- */

bool component_each_resource(ComponentChecker *k, const ExternList *exports, ResourceFn *found,
                             void *ctx) {
    if (!component_spend(k, exports->len))
        return false;
    for (uint32_t i = 0; i < exports->len; i++) {
        const ExternType *is = &exports->at[i].is;
        bool resource =
            is->space == COMPONENT_SPACE_TYPE && is->type->kind == COMPONENT_TYPE_RESOURCE;
        if (resource && !found(k, ctx, is->type->resource))
            return false;
        if (is->space == COMPONENT_SPACE_INSTANCE &&
            !component_each_resource(k, &is->type->exports, found, ctx))
            return false;
    }
    return true;
}

static bool walk_list(ComponentChecker *k, const ExternList *list, ResourceFn *found, void *ctx) {
    for (uint32_t i = 0; i < list->len; i++)
        if (!component_walk(k, list->at[i].is.type, found, ctx))
            return false;
    return true;
}

bool component_walk(ComponentChecker *k, const TypeNode *type, ResourceFn *found, void *ctx) {
    if (!type->handles)
        return true;
    if (!component_spend(k, 1 + type->nfields + type->imports.len + type->exports.len))
        return false;
    switch (type->kind) {
    case COMPONENT_TYPE_RESOURCE: return found(k, ctx, type->resource);
    case COMPONENT_TYPE_OWN:
    case COMPONENT_TYPE_BORROW: return found(k, ctx, type->handle->resource);
    case COMPONENT_TYPE_COMPONENT:
    case COMPONENT_TYPE_INSTANCE:
        return walk_list(k, &type->imports, found, ctx) && walk_list(k, &type->exports, found, ctx);
    default: break;
    }
    for (uint32_t i = 0; i < type->nfields; i++)
        if (type->fields[i].type && !component_walk(k, type->fields[i].type, found, ctx))
            return false;
    return true;
}

/* ---- new resources for those that a type binds ---- */

typedef struct Freshening {
    const Binder *binder;
    bool imported;
    Map *resources;
} Freshening;

static bool freshen_resource(ComponentChecker *k, void *ctx, Resource *resource) {
    const Freshening *f = ctx;
    if (resource->binder != f->binder || resource->imported || find_node(f->resources, resource))
        return true;
    map_node(f->resources, resource, component_new_resource(k, f->imported, 0)->resource);
    return component_spend(k, 1);
}

bool component_freshen_list(ComponentChecker *k, Substitution *s, ExternList *list,
                            const Binder *binder, bool imported) {
    Freshening f = {.binder = binder, .imported = imported, .resources = &s->resources};
    return component_each_resource(k, list, freshen_resource, &f) &&
           component_substitute_list(k, s, list);
}

bool component_freshen(ComponentChecker *k, const TypeNode **instance, bool imported) {
    if (!(*instance)->binder)
        return true;
    Substitution s = {0};
    TypeNode *type = arena_new(&k->arena, TypeNode);
    *type = **instance;
    type->binder = NULL;
    bool ok = component_freshen_list(k, &s, &type->exports, (*instance)->binder, imported);
    component_substitution_free(&s);
    *instance = type;
    return ok;
}

/* ---- subtypes ---- */

static bool fields_fit(ComponentChecker *k, const TypeNode *a, const TypeNode *b);

static bool refuse_kind(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    return component_refuse(k, "expected %s, found %s",
                            b ? component_kind_name(b->kind) : "no type",
                            a ? component_kind_name(a->kind) : "none");
}

bool component_val_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind)
        return refuse_kind(k, a, b);
    if (!component_spend(k, 1 + a->nfields))
        return false;
    if (a->kind == COMPONENT_TYPE_OWN || a->kind == COMPONENT_TYPE_BORROW)
        return a->handle->resource == b->handle->resource ||
               component_refuse(k, "expected the same resource, found another one");
    if (a->length != b->length)
        return component_refuse(k, "expected a list of %u elements, found one of %u", b->length,
                                a->length);
    return fields_fit(k, a, b);
}

static bool fields_fit(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    if (a->nfields != b->nfields)
        return component_refuse(k, "expected %u parts of a %s, found %u", b->nfields,
                                component_kind_name(b->kind), a->nfields);
    for (uint32_t i = 0; i < a->nfields; i++) {
        Str x = a->fields[i].name, y = b->fields[i].name;
        if (!component_same_label(x, y))
            return component_refuse(k, "expected the name \"%.*s\" in a %s, found \"%.*s\"",
                                    SHOWN(y), component_kind_name(b->kind), SHOWN(x));
        if (y.len)
            vec_push(&k->path, y);
        if (!component_val_fits(k, a->fields[i].type, b->fields[i].type))
            return false;
        k->path.len -= y.len > 0;
    }
    return true;
}

static bool instance_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    if (!component_spend(k, b->exports.len))
        return false;
    for (uint32_t i = 0; i < b->exports.len; i++) {
        const ExternItem *item = &b->exports.at[i],
                         *found = component_find(&a->exports, item->name);
        vec_push(&k->path, item->name);
        if (!found)
            return component_refuse(k, "expected an export of this name");
        if (!component_extern_fits(k, &found->is, &item->is))
            return false;
        k->path.len--;
    }
    return true;
}

static bool component_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    Substitution given = {0}, found = {0};
    ExternList exports = a->exports;
    bool ok = component_open(k, &b->imports, &a->imports, a->binder, true, &given) &&
              component_substitute_list(k, &given, &exports) &&
              component_open(k, &exports, &b->exports, b->binder, false, &found);
    component_substitution_free(&given);
    component_substitution_free(&found);
    return ok;
}

static bool node_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return refuse_kind(k, a, b);
    if (!component_spend(k, 1))
        return false;
    switch (a->kind) {
    case TYPE_CORE_MODULE: return component_module_fits(k, a, b);
    case COMPONENT_TYPE_COMPONENT: return component_fits(k, a, b);
    case COMPONENT_TYPE_INSTANCE: return instance_fits(k, a, b);
    case COMPONENT_TYPE_RESOURCE:
        return a->resource == b->resource ||
               component_refuse(k, "expected the same resource, found another one");
    case COMPONENT_TYPE_FUNC:
    case COMPONENT_TYPE_ASYNC_FUNC: return fields_fit(k, a, b);
    default: return component_val_fits(k, a, b);
    }
}

bool component_extern_fits(ComponentChecker *k, const ExternType *a, const ExternType *b) {
    if (a->space != b->space)
        return component_refuse(k, "expected a %s, found a %s", component_space_name(b->space),
                                component_space_name(a->space));
    bool types = a->space == COMPONENT_SPACE_TYPE;
    return node_fits(k, types ? a->of : a->type, types ? b->of : b->type);
}

/* ---- arguments ---- */

/* Finds for which resources of the arguments those stand that `binder` has. */
static bool match_resources(ComponentChecker *k, const ExternList *args, const ExternList *list,
                            const Freshening *of) {
    if (!component_spend(k, list->len))
        return false;
    for (uint32_t i = 0; i < list->len; i++) {
        const ExternType *is = &list->at[i].is;
        const ExternItem *arg = component_find(args, list->at[i].name);
        if (!arg || arg->is.space != is->space || arg->is.type->kind != is->type->kind)
            continue; /* it is refused later */
        if (is->space == COMPONENT_SPACE_INSTANCE &&
            !match_resources(k, &arg->is.type->exports, &is->type->exports, of))
            return false;
        if (is->space != COMPONENT_SPACE_TYPE || is->type->kind != COMPONENT_TYPE_RESOURCE)
            continue;
        const Resource *resource = is->type->resource;
        if (resource->binder == of->binder && resource->imported == of->imported)
            map_node(of->resources, resource, arg->is.type->resource);
    }
    return true;
}

/* Notes that types of `expected` are those of `actual`, which fits. */
static bool note_types(ComponentChecker *k, Map *types, const ExternType *actual,
                       const ExternType *expected) {
    if (expected->space == COMPONENT_SPACE_TYPE)
        map_node(types, expected->type, actual->type);
    if (expected->space != COMPONENT_SPACE_INSTANCE)
        return true;
    const ExternList *list = &expected->type->exports;
    if (!component_spend(k, list->len))
        return false;
    for (uint32_t i = 0; i < list->len; i++) {
        const ExternItem *found = component_find(&actual->type->exports, list->at[i].name);
        if (found && !note_types(k, types, &found->is, &list->at[i].is))
            return false;
    }
    return true;
}

static bool argument_fits(ComponentChecker *k, const ExternType *actual, ExternType expected,
                          const Map *resources) {
    Substitution s = {.resources = *resources};
    bool ok = component_substitute(k, &s, &expected) && component_extern_fits(k, actual, &expected);
    map_free(&s.types);
    return ok;
}

bool component_open(ComponentChecker *k, const ExternList *args, const ExternList *list,
                    const Binder *binder, bool imports, Substitution *s) {
    Freshening of = {.binder = binder, .imported = imports, .resources = &s->resources};
    Map types = {0};
    bool ok = match_resources(k, args, list, &of);
    for (uint32_t i = 0; ok && i < list->len; i++) {
        const ExternItem *item = &list->at[i], *arg = component_find(args, item->name);
        vec_push(&k->path, item->name);
        if (!arg)
            ok =
                component_refuse(k, "expected an %s of this name", imports ? "argument" : "export");
        ok = ok && argument_fits(k, &arg->is, item->is, &s->resources) &&
             note_types(k, &types, &arg->is, &item->is);
        if (ok)
            k->path.len--;
    }
    map_free(&s->types);
    s->types = types;
    s->renames = true;
    return ok;
}
