/*
 * component/component_valid_type.c - the types that a component defines: values, functions,
 * resources, types of components and instances. Questions about types.
 */
#include "component/component_valid.h"

#include <assert.h>

enum {
    MAX_TYPE_SIZE = 1000000, /* nodes, if nothing were shared; as in other implementations */
    MAX_FLAGS = 32,
    MAX_VALUE_BYTES = (1 << 28) - 1 /* in a memory64 */
};

bool component_is_value(uint8_t kind) {
    switch (kind) {
#define PRIMITIVE(id, code, name) case COMPONENT_##id:
#include "component/component.def"
        return true;
    case COMPONENT_TYPE_FUNC:
    case COMPONENT_TYPE_ASYNC_FUNC:
    case COMPONENT_TYPE_COMPONENT:
    case COMPONENT_TYPE_INSTANCE:
    case COMPONENT_TYPE_RESOURCE:
    case TYPE_CORE_MODULE: return false;
    default: return true;
    }
}

const char *component_kind_name(uint8_t kind) {
    static const char *const names[] = {
        [TYPE_CORE_MODULE] = "core module",
#define PRIMITIVE(id, code, name) [code] = name,
#define COMPOUND(id, code, name)  [code] = name,
#include "component/component.def"
    };
    return names[kind];
}

/* ---- size, depth, bytes ---- */

bool component_combine(ComponentChecker *k, TypeNode *sum, const TypeNode *part) {
    sum->borrows |= part->borrows;
    sum->handles |= part->handles;
    sum->size += part->size;
    if (part->depth >= sum->depth)
        sum->depth = (uint8_t)(part->depth + 1);
    if (sum->depth > COMPONENT_MAX_DEPTH)
        return component_refuse(k, "types are nested too deeply (%d levels are the limit)",
                                COMPONENT_MAX_DEPTH);
    return sum->size < MAX_TYPE_SIZE ||
           component_refuse(k, "the effective size of the types is over the limit of %d",
                            MAX_TYPE_SIZE);
}

static uint64_t align_to(uint64_t n, uint8_t log2) {
    uint64_t mask = ((uint64_t)1 << log2) - 1;
    return (n + mask) & ~mask;
}

/* The number of bytes of a discriminant, or of flags, as a logarithm. */
static uint8_t discriminant(uint32_t cases) {
    return cases <= 1 << 8 ? 0 : cases <= 1 << 16 ? 1 : 2;
}

static uint64_t sequence_bytes(const TypeNode *type, uint8_t *align) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < type->nfields; i++) {
        const TypeNode *part = type->fields[i].type;
        bytes = align_to(bytes, part->align) + part->bytes;
        *align = part->align > *align ? part->align : *align;
    }
    return align_to(bytes, *align);
}

static uint64_t choice_bytes(const TypeNode *type, uint32_t cases, uint8_t *align) {
    uint64_t most = 0;
    *align = discriminant(cases);
    uint64_t bytes = (uint64_t)1 << *align;
    for (uint32_t i = 0; i < type->nfields; i++) {
        const TypeNode *part = type->fields[i].type;
        if (!part)
            continue;
        *align = part->align > *align ? part->align : *align;
        most = part->bytes > most ? part->bytes : most;
    }
    return align_to(align_to(bytes, *align) + most, *align);
}

/* How many bytes a value of the type takes, and the logarithm of their alignment. */
static uint64_t count_bytes(const TypeNode *type, uint8_t *align) {
    *align = 0;
    switch (type->kind) {
    case COMPONENT_BOOL:
    case COMPONENT_S8:
    case COMPONENT_U8: return 1;
    case COMPONENT_S16:
    case COMPONENT_U16: *align = 1; return 2;
    case COMPONENT_S64:
    case COMPONENT_U64:
    case COMPONENT_F64: *align = 3; return 8;
    case COMPONENT_STRING:
    case COMPONENT_TYPE_LIST:
    case COMPONENT_TYPE_MAP: *align = 3; return 16;
    case COMPONENT_TYPE_FIXED_LIST:
        *align = type->fields[0].type->align;
        return (uint64_t)type->length * type->fields[0].type->bytes;
    case COMPONENT_TYPE_RECORD:
    case COMPONENT_TYPE_TUPLE: return sequence_bytes(type, align);
    case COMPONENT_TYPE_VARIANT: return choice_bytes(type, type->nfields, align);
    case COMPONENT_TYPE_OPTION:
    case COMPONENT_TYPE_RESULT: return choice_bytes(type, 2, align);
    case COMPONENT_TYPE_ENUM: *align = discriminant(type->nfields); return 1u << *align;
    case COMPONENT_TYPE_FLAGS:
        *align = type->nfields <= 8 ? 0 : type->nfields <= 16 ? 1 : 2;
        return 1u << *align;
    default: *align = 2; return 4;
    }
}

static bool set_bytes(ComponentChecker *k, TypeNode *type) {
    uint64_t bytes = count_bytes(type, &type->align);
    if (bytes > MAX_VALUE_BYTES)
        return component_refuse(k,
                                "a value of this %s has %llu bytes, which exceeds the maximum "
                                "byte size of %d",
                                component_kind_name(type->kind), (unsigned long long)bytes,
                                MAX_VALUE_BYTES);
    type->bytes = (uint32_t)bytes;
    return true;
}

/* ---- types of values ---- */

void component_begin_types(ComponentChecker *k) {
#define PRIMITIVE(id, code, name) k->primitives[code].kind = (code);
#include "component/component.def"
    for (uint32_t code = COMPONENT_ERROR_CONTEXT; code <= COMPONENT_BOOL; code++) {
        TypeNode *type = &k->primitives[code];
        type->size = type->depth = 1;
        type->pointers = code == COMPONENT_STRING;
        type->bytes = (uint32_t)count_bytes(type, &type->align);
    }
}

const TypeNode *component_type_at(ComponentChecker *k, uint32_t index, uint8_t code) {
    const TypeNode *type = component_at(k, COMPONENT_SPACE_TYPE, index);
    bool async = type && code == COMPONENT_TYPE_FUNC && type->kind == COMPONENT_TYPE_ASYNC_FUNC;
    if (!type || type->kind == code || async)
        return type;
    component_refuse(k, "type %u: expected the type of a %s, found that of a %s", index,
                     component_kind_name(code), component_kind_name(type->kind));
    return NULL;
}

bool component_val(ComponentChecker *k, const ComponentVal *val, const TypeNode **node) {
    *node = NULL;
    if (val->none)
        return true;
    if (val->primitive) {
        *node = &k->primitives[val->primitive];
        return true;
    }
    *node = component_at(k, COMPONENT_SPACE_TYPE, val->type);
    if (*node && !component_is_value((*node)->kind))
        return component_refuse(k, "type %u: expected a type of values, found that of a %s",
                                val->type, component_kind_name((*node)->kind));
    return *node != NULL;
}

static bool add_type_part(ComponentChecker *k, TypeNode *type, TypeField *field, Str name,
                          const ComponentVal *val) {
    field->name = name;
    if (!component_val(k, val, &field->type))
        return false;
    if (!field->type)
        return true;
    bool apart = type->kind == COMPONENT_TYPE_STREAM || type->kind == COMPONENT_TYPE_FUTURE;
    type->pointers |= field->type->pointers && !apart;
    return component_combine(k, type, field->type);
}

/* The names of fields, cases, parameters ... are labels that differ in more than case. */
static bool check_labels(ComponentChecker *k, const ComponentType *from, const char *what) {
    Map known = {0};
    Buf key = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < from->nfields; i++) {
        Str name = from->fields[i].name;
        bool added;
        key.len = 0;
        component_label_key(name, &key);
        map_put(&known, buf_view(&key), i, &added);
        if (!component_is_label(name))
            ok = component_refuse(k, "the name \"%.*s\" of a %s is not in kebab case", SHOWN(name),
                                  what);
        else if (!added)
            ok = component_refuse(k, "the name \"%.*s\" of a %s conflicts with a previous one",
                                  SHOWN(name), what);
    }
    map_free(&known);
    buf_free(&key);
    return ok;
}

static bool check_fields(ComponentChecker *k, const ComponentType *from, TypeNode *type,
                         const char *what) {
    if (from->nfields == 0)
        return component_refuse(k, "a %s must have at least one %s",
                                component_kind_name(from->code), what);
    if (from->code == COMPONENT_TYPE_FLAGS && from->nfields > MAX_FLAGS)
        return component_refuse(k, "found %u flags, cannot have more than %d", from->nfields,
                                MAX_FLAGS);
    if (from->code != COMPONENT_TYPE_TUPLE && !check_labels(k, from, what))
        return false;
    type->fields = arena_array(&k->arena, TypeField, from->nfields);
    type->nfields = from->nfields;
    for (uint32_t i = 0; i < from->nfields; i++)
        if (!add_type_part(k, type, &type->fields[i], from->fields[i].name, &from->fields[i].type))
            return false;
    return component_spend(k, from->nfields);
}

/* A type with one part or two. */
static bool check_elements(ComponentChecker *k, const ComponentType *from, TypeNode *type,
                           uint32_t n) {
    type->fields = arena_array(&k->arena, TypeField, n);
    type->nfields = n;
    return add_type_part(k, type, &type->fields[0], (Str){0}, &from->element) &&
           (n == 1 || add_type_part(k, type, &type->fields[1], (Str){0}, &from->other));
}

static bool check_handle(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    type->handle = component_type_at(k, from->index, COMPONENT_TYPE_RESOURCE);
    type->handles = true;
    type->borrows = type->kind == COMPONENT_TYPE_BORROW;
    return type->handle != NULL;
}

static bool check_stream(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    if (!check_elements(k, from, type, 1))
        return false;
    const TypeNode *element = type->fields[0].type;
    if (type->borrows)
        return component_refuse(k, "a %s cannot contain a `borrow`",
                                component_kind_name(type->kind));
    return type->kind != COMPONENT_TYPE_STREAM || !element || element->kind != COMPONENT_CHAR ||
           component_refuse(k, "a stream of char is not valid: use a stream of u8 and an encoding");
}

static bool is_key(const TypeNode *type) {
    return type->kind >= COMPONENT_STRING && type->kind <= COMPONENT_BOOL &&
           type->kind != COMPONENT_F32 && type->kind != COMPONENT_F64;
}

static bool check_map(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    type->pointers = true;
    if (!check_elements(k, from, type, 2))
        return false;
    return is_key(type->fields[0].type) ||
           component_refuse(k,
                            "the key of a map must be bool, a number without fraction, char or "
                            "string, not %s",
                            component_kind_name(type->fields[0].type->kind));
}

static bool check_fixed_list(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    type->length = from->index;
    if (type->length == 0)
        return component_refuse(k, "a list of a fixed length must have more than zero elements");
    return check_elements(k, from, type, 1);
}

static bool check_value_type(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    switch (from->code) {
    case COMPONENT_TYPE_RECORD: return check_fields(k, from, type, "field");
    case COMPONENT_TYPE_VARIANT: return check_fields(k, from, type, "case");
    case COMPONENT_TYPE_TUPLE: return check_fields(k, from, type, "element");
    case COMPONENT_TYPE_FLAGS: return check_fields(k, from, type, "flag");
    case COMPONENT_TYPE_ENUM: return check_fields(k, from, type, "case");
    case COMPONENT_TYPE_LIST: type->pointers = true; return check_elements(k, from, type, 1);
    case COMPONENT_TYPE_OPTION: return check_elements(k, from, type, 1);
    case COMPONENT_TYPE_FIXED_LIST: return check_fixed_list(k, from, type);
    case COMPONENT_TYPE_RESULT: return check_elements(k, from, type, 2);
    case COMPONENT_TYPE_MAP: return check_map(k, from, type);
    case COMPONENT_TYPE_STREAM:
    case COMPONENT_TYPE_FUTURE: return check_stream(k, from, type);
    case COMPONENT_TYPE_OWN:
    case COMPONENT_TYPE_BORROW: return check_handle(k, from, type);
    default: *type = k->primitives[from->code]; return true;
    }
}

/* ---- functions and resources ---- */

static bool check_func(ComponentChecker *k, const ComponentType *from, TypeNode *type) {
    uint32_t n = from->nfields;
    if (!check_labels(k, from, "parameter"))
        return false;
    type->fields = arena_array(&k->arena, TypeField, n + 1);
    type->nfields = n + 1;
    for (uint32_t i = 0; i < n; i++)
        if (!add_type_part(k, type, &type->fields[i], from->fields[i].name, &from->fields[i].type))
            return false;
    if (!add_type_part(k, type, &type->fields[n], (Str){0}, &from->element))
        return false;
    const TypeNode *result = type->fields[n].type;
    if (result && result->borrows)
        return component_refuse(k, "the result of a function cannot contain a `borrow`");
    return component_spend(k, n);
}

TypeNode *component_new_resource(ComponentChecker *k, bool imported, WasmType rep) {
    TypeNode *type = arena_new(&k->arena, TypeNode);
    Resource *resource = arena_new(&k->arena, Resource);
    k->scope->defined += !imported;
    *resource = (Resource){.binder = k->scope->binder, .imported = imported, .rep = rep};
    *type = (TypeNode){.kind = COMPONENT_TYPE_RESOURCE,
                       .size = 1,
                       .depth = 1,
                       .handles = true,
                       .resource = resource};
    return type;
}

static bool check_resource(ComponentChecker *k, const ComponentType *from) {
    char text[32];
    if (k->scope->kind != SCOPE_COMPONENT)
        return component_refuse(k, "resources can only be defined in a component, not in a type");
    if (from->rep != WASM_I32 && from->rep != WASM_I64)
        return component_refuse(k, "resources can only be represented by i32 or i64, not %s",
                                wasm_type_text(from->rep, text));
    if (from->has_index) {
        const CoreExtern *func = component_at(k, COMPONENT_SPACE_CORE_FUNC, from->index);
        if (!func)
            return false;
        if (!component_core_matches(k, func, (WasmTypeList){&from->rep, 1}, (WasmTypeList){0}))
            return component_refuse(
                k, "the destructor, core function %u, must have the type (%s) -> ()", from->index,
                wasm_type_text(from->rep, text));
    }
    component_push(k, COMPONENT_SPACE_TYPE, component_new_resource(k, false, from->rep));
    return true;
}

/* ---- types of components and instances ---- */

static bool check_declaration(ComponentChecker *k, const ComponentItem *item) {
    ExternType is;
    k->at = item->from;
    k->end = item->to;
    switch (item->kind) {
    case COMPONENT_ITEM_CORE_TYPE: return component_check_core_type(k, item->core_type);
    case COMPONENT_ITEM_TYPE: return component_check_type(k, item->type);
    case COMPONENT_ITEM_ALIAS: return component_check_alias(k, item->alias);
    case COMPONENT_ITEM_IMPORT:
        return component_declared(k, &item->import->type, &is) &&
               component_add_extern(k, true, &item->import->name, is);
    default:
        return component_declared(k, &item->export->type, &is) &&
               component_add_extern(k, false, &item->export->name, is);
    }
}

static bool check_declarations(ComponentChecker *k, const ComponentType *from) {
    bool component = from->code == COMPONENT_TYPE_COMPONENT, ok = true;
    component_open_scope(k, component ? SCOPE_COMPONENT_TYPE : SCOPE_INSTANCE_TYPE);
    for (uint32_t i = 0; ok && i < from->decls.len; i++)
        ok = check_declaration(k, &from->decls.at[i]);
    TypeNode *type = ok ? component_close_scope(k) : NULL;
    component_free_scope(k);
    if (type)
        component_push(k, COMPONENT_SPACE_TYPE, type);
    return type != NULL;
}

bool component_check_type(ComponentChecker *k, const ComponentType *from) {
    TypeNode *type;
    if (from->code == COMPONENT_TYPE_RESOURCE)
        return check_resource(k, from);
    if (from->code == COMPONENT_TYPE_COMPONENT || from->code == COMPONENT_TYPE_INSTANCE)
        return check_declarations(k, from);
    type = arena_new(&k->arena, TypeNode);
    *type = (TypeNode){.kind = from->code, .size = 1, .depth = 1};
    bool func = from->code == COMPONENT_TYPE_FUNC || from->code == COMPONENT_TYPE_ASYNC_FUNC;
    if (func ? !check_func(k, from, type) : !check_value_type(k, from, type) || !set_bytes(k, type))
        return false;
    component_push(k, COMPONENT_SPACE_TYPE, type);
    return true;
}

/* ---- names of types, lists ---- */

const TypeNode *component_rename(ComponentChecker *k, const TypeNode *type) {
    TypeNode *other = arena_new(&k->arena, TypeNode);
    *other = *type;
    return other;
}

static int compare_externs(const void *a, const void *b) {
    return str_order(((const NameIndex *)a)->name, ((const NameIndex *)b)->name);
}

void component_sort(ComponentChecker *k, ExternList *list) {
    NameIndex *sorted = arena_array(&k->arena, NameIndex, list->len);
    for (uint32_t i = 0; i < list->len; i++)
        sorted[i] = (NameIndex){list->at[i].name, i};
    if (list->len)
        qsort(sorted, list->len, sizeof *sorted, compare_externs);
    list->sorted = sorted;
}

const ExternItem *component_find(const ExternList *list, Str name) {
    NameIndex key = {.name = name};
    const NameIndex *found =
        list->len ? bsearch(&key, list->sorted, list->len, sizeof key, compare_externs) : NULL;
    return found ? &list->at[found->index] : NULL;
}

/* ---- named types ---- */

static bool is_in(const Map *set, const TypeNode *type) {
    const void *address = type;
    return map_get(set, component_key(&address)) != NULL;
}

static bool parts_named(ComponentChecker *k, const Map *named, const TypeNode *type, bool *result);

/* Whether a type of values can be a part of an import or export: records and the like need a name,
 * others are named if their parts are. */
static bool value_named(ComponentChecker *k, const Map *named, const TypeNode *type, bool *result) {
    switch (type->kind) {
    case COMPONENT_TYPE_RECORD:
    case COMPONENT_TYPE_VARIANT:
    case COMPONENT_TYPE_FLAGS:
    case COMPONENT_TYPE_ENUM: *result &= is_in(named, type); return true;
    default: return parts_named(k, named, type, result);
    }
}

static bool parts_named(ComponentChecker *k, const Map *named, const TypeNode *type, bool *result) {
    if (type->kind == COMPONENT_TYPE_OWN || type->kind == COMPONENT_TYPE_BORROW) {
        *result &= is_in(named, type->handle);
        return true;
    }
    if (!component_spend(k, 1))
        return false;
    for (uint32_t i = 0; *result && i < type->nfields; i++)
        if (type->fields[i].type && !value_named(k, named, type->fields[i].type, result))
            return false;
    return true;
}

bool component_is_named(ComponentChecker *k, const Map *named, const ExternType *is, bool *result) {
    const TypeNode *type = is->space == COMPONENT_SPACE_TYPE ? is->of : is->type;
    if (is->space == COMPONENT_SPACE_VALUE)
        return value_named(k, named, type, result);
    if (type->kind != COMPONENT_TYPE_INSTANCE)
        return parts_named(k, named, type, result);
    for (uint32_t i = 0; *result && i < type->exports.len; i++) {
        ExternType inner = type->exports.at[i].is;
        inner.of = inner.type;
        if (!component_spend(k, 1) || !component_is_named(k, named, &inner, result))
            return false;
    }
    return true;
}
