/*
 * component/component_read_type.c - reading types of components, and core types inside of them.
 */
#include "component/component_read.h"

/* ---- value types ---- */

static bool is_primitive(uint8_t code) {
    switch (code) {
#define PRIMITIVE(id, code, name) case code:
#include "component/component.def"
        return true;
    default: return false;
    }
}

bool component_get_val(ComponentReader *r, ComponentVal *val) {
    *val = (ComponentVal){.primitive = component_peek(r)};
    if (is_primitive(val->primitive)) {
        r->r.c.at++;
        return true;
    }
    /* Numbers of types are signed, of 33 bits: a code of a type would be a negative one. */
    int64_t index;
    const uint8_t *at = r->r.c.at;
    if (!wasm_get_sleb(&r->r.c, 33, &index))
        return wasm_read_error(&r->r);
    if (index < 0)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "malformed value type 0x%02x", *at);
    r->r.c.at = at;
    val->primitive = 0;
    uint32_t uses = r->scope->component->uses.len;
    bool ok = component_get_index(r, COMPONENT_SPACE_TYPE, &val->type);
    if (r->scope->component->uses.len > uses)
        vec_last(&r->scope->component->uses).is_signed = true;
    return ok;
}

/* A value type that may be left out. */
static bool get_optional(ComponentReader *r, ComponentVal *val) {
    uint8_t there;
    *val = (ComponentVal){.none = true};
    if (!wasm_read_flag(&r->r, 2, "optional type", &there))
        return false;
    return !there || component_get_val(r, val);
}

bool component_get_result(ComponentReader *r, ComponentVal *val) {
    uint8_t none, zero = 0;
    *val = (ComponentVal){.none = true};
    if (!wasm_read_flag(&r->r, 2, "result list", &none))
        return false;
    if (!none)
        return component_get_val(r, val);
    return wasm_read_flag(&r->r, 1, "result list", &zero);
}

/* What the fields of a type have. */
typedef enum FieldForm { FIELD_NAMED, FIELD_CASE, FIELD_TYPE, FIELD_LABEL } FieldForm;

static bool get_field(ComponentReader *r, FieldForm form, ComponentField *field) {
    uint8_t zero;
    field->type.none = true;
    if (form != FIELD_TYPE && !wasm_read_name(&r->r, &field->name))
        return false;
    switch (form) {
    case FIELD_NAMED:
    case FIELD_TYPE: return component_get_val(r, &field->type);
    case FIELD_CASE:
        return get_optional(r, &field->type) && wasm_read_flag(&r->r, 1, "end of a case", &zero);
    default: return true;
    }
}

static bool get_fields(ComponentReader *r, FieldForm form, ComponentType *type) {
    if (!component_get_items(r, sizeof *type->fields, &type->fields, &type->nfields))
        return false;
    for (uint32_t i = 0; i < type->nfields; i++)
        if (!get_field(r, form, &type->fields[i]))
            return false;
    return true;
}

/* ---- types of components and instances ---- */

static bool get_declaration(ComponentReader *r, bool component, ComponentItem *item) {
    uint8_t kind;
    if (!wasm_get_u8(&r->r.c, &kind))
        return wasm_read_error(&r->r);
    switch (kind) {
    case 0: item->kind = COMPONENT_ITEM_CORE_TYPE; return component_get_core_type(r, item);
    case 1: item->kind = COMPONENT_ITEM_TYPE; return component_get_type(r, item);
    case 2: item->kind = COMPONENT_ITEM_ALIAS; return component_get_alias(r, item);
    case 3:
        item->kind = COMPONENT_ITEM_IMPORT;
        return component ? component_get_import(r, item) : component_bad_byte(r, "declaration");
    case 4: item->kind = COMPONENT_ITEM_EXPORT; return component_get_export(r, item);
    default: return component_bad_byte(r, "declaration");
    }
}

/* Calls `get` for each declaration of a type, in a scope of its own. */
static bool get_declarations(ComponentReader *r, ComponentDecls *decls,
                             bool (*get)(ComponentReader *, ComponentItem *)) {
    ComponentScope scope = {.up = r->scope, .component = r->scope->component, .of_type = true};
    if (++r->depth > COMPONENT_MAX_DEPTH)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, r->r.c.at, "types are nested too deeply");
    if (!component_get_items(r, sizeof *decls->at, &decls->at, &decls->len))
        return false;
    r->scope = &scope;
    bool ok = true;
    for (uint32_t i = 0; ok && i < decls->len; i++) {
        ComponentItem *item = &decls->at[i];
        item->from = (uint32_t)(r->r.c.at - r->r.m->bytes);
        ok = get(r, item);
        item->to = (uint32_t)(r->r.c.at - r->r.m->bytes);
    }
    r->scope = scope.up;
    r->depth--;
    return ok;
}

static bool get_component_decl(ComponentReader *r, ComponentItem *item) {
    return get_declaration(r, true, item);
}

static bool get_instance_decl(ComponentReader *r, ComponentItem *item) {
    return get_declaration(r, false, item);
}

/* ---- types ---- */

static bool get_func(ComponentReader *r, ComponentType *type) {
    return get_fields(r, FIELD_NAMED, type) && component_get_result(r, &type->element);
}

static bool get_resource(ComponentReader *r, ComponentType *type) {
    uint8_t has;
    if (!wasm_read_type(&r->r, &type->rep) ||
        !wasm_read_flag(&r->r, 2, "destructor of a resource", &has))
        return false;
    type->has_index = has;
    return !has || component_get_index(r, COMPONENT_SPACE_CORE_FUNC, &type->index);
}

/* What follows the code of a type. */
static bool get_compound(ComponentReader *r, ComponentType *type) {
    switch (type->code) {
    case COMPONENT_TYPE_RECORD: return get_fields(r, FIELD_NAMED, type);
    case COMPONENT_TYPE_VARIANT: return get_fields(r, FIELD_CASE, type);
    case COMPONENT_TYPE_TUPLE: return get_fields(r, FIELD_TYPE, type);
    case COMPONENT_TYPE_FLAGS:
    case COMPONENT_TYPE_ENUM: return get_fields(r, FIELD_LABEL, type);
    case COMPONENT_TYPE_LIST:
    case COMPONENT_TYPE_OPTION: return component_get_val(r, &type->element);
    case COMPONENT_TYPE_FIXED_LIST:
        return component_get_val(r, &type->element) && wasm_read_u32(&r->r, &type->index);
    case COMPONENT_TYPE_MAP:
        return component_get_val(r, &type->element) && component_get_val(r, &type->other);
    case COMPONENT_TYPE_RESULT:
        return get_optional(r, &type->element) && get_optional(r, &type->other);
    case COMPONENT_TYPE_STREAM:
    case COMPONENT_TYPE_FUTURE: return get_optional(r, &type->element);
    case COMPONENT_TYPE_OWN:
    case COMPONENT_TYPE_BORROW: return component_get_index(r, COMPONENT_SPACE_TYPE, &type->index);
    case COMPONENT_TYPE_FUNC:
    case COMPONENT_TYPE_ASYNC_FUNC: return get_func(r, type);
    case COMPONENT_TYPE_COMPONENT: return get_declarations(r, &type->decls, get_component_decl);
    case COMPONENT_TYPE_INSTANCE: return get_declarations(r, &type->decls, get_instance_decl);
    case COMPONENT_TYPE_RESOURCE: return get_resource(r, type);
    default: return is_primitive(type->code) || component_bad_byte(r, "type");
    }
}

bool component_get_type(ComponentReader *r, ComponentItem *item) {
    ComponentType *type = arena_new(r->arena, ComponentType);
    item->type = type;
    type->element.none = type->other.none = true;
    if (!wasm_get_u8(&r->r.c, &type->code))
        return wasm_read_error(&r->r);
    return get_compound(r, type);
}

/* ---- core types ---- */

enum { SUB = 0x50, MODULE = 0x50, EXACT_FUNC = 0x20 };

/* A recursion group, whose indices the validator looks at: only its end is of interest. */
static bool get_group(ComponentReader *r, ComponentCoreType *type) {
    const uint8_t *from = r->r.c.at;
    WasmModule *m = r->r.m;
    if (!wasm_read_group(&r->r, WASM_MAX_TYPE_INDEX / 2))
        return false;
    type->types = m->types.len;
    type->bytes = (Str){(const char *)from, (uint32_t)(r->r.c.at - from)};
    m->types.len = 0;
    arena_free(&m->arena);
    return true;
}

static bool skip_limits(ComponentReader *r) {
    uint8_t flags;
    uint64_t number;
    uint32_t log2;
    if (!wasm_read_flag(&r->r, 16, "limits flags", &flags))
        return false;
    if (!wasm_get_u64(&r->r.c, &number) || (flags & 1 && !wasm_get_u64(&r->r.c, &number)))
        return wasm_read_error(&r->r);
    return !(flags & 8) || wasm_read_u32(&r->r, &log2);
}

/* The type of what a core module imports or exports. */
static bool get_core_extern_type(ComponentReader *r, ComponentCoreExtern *e) {
    static const uint8_t spaces[] = {WASM_SPACE_FUNC, WASM_SPACE_TABLE, WASM_SPACE_MEMORY,
                                     WASM_SPACE_GLOBAL, WASM_SPACE_TAG};
    uint8_t kind, byte;
    uint32_t index;
    WasmType type;
    if (component_peek(r) == EXACT_FUNC)
        kind = *r->r.c.at++ - EXACT_FUNC;
    else if (!wasm_read_flag(&r->r, 5, "core extern kind", &kind))
        return false;
    const uint8_t *from = r->r.c.at;
    e->space = spaces[kind];
    bool ok = false;
    switch (e->space) {
    case WASM_SPACE_TAG:
        ok = wasm_read_flag(&r->r, 1, "tag attribute", &byte) && wasm_read_u32(&r->r, &index);
        break;
    case WASM_SPACE_FUNC: ok = wasm_read_u32(&r->r, &index); break;
    case WASM_SPACE_MEMORY: ok = skip_limits(r); break;
    default:
        if (!wasm_get_type(&r->r.c, false, &type))
            return wasm_read_error(&r->r);
        ok = e->space == WASM_SPACE_TABLE ? skip_limits(r)
                                          : wasm_read_flag(&r->r, 2, "mutability", &byte);
    }
    e->type = (Str){(const char *)from, (uint32_t)(r->r.c.at - from)};
    return ok;
}

/* `alias outer` of a core type. */
static bool get_core_outer(ComponentReader *r, ComponentItem *item) {
    enum { CORE_TYPE_SORT = 0x10, OUTER = 1 };
    const uint8_t *at = r->r.c.at;
    uint8_t sort, form;
    ComponentAlias *alias = arena_new(r->arena, ComponentAlias);
    item->alias = alias;
    *alias = (ComponentAlias){.kind = ALIAS_OUTER, .space = COMPONENT_SPACE_CORE_TYPE};
    if (!wasm_get_u8(&r->r.c, &sort) || !wasm_get_u8(&r->r.c, &form))
        return wasm_read_error(&r->r);
    if (sort != CORE_TYPE_SORT || form != OUTER)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "malformed alias 0x%02x 0x%02x", sort,
                              form);
    return wasm_read_u32(&r->r, &alias->up) &&
           component_get_outer(r, COMPONENT_SPACE_CORE_TYPE, alias->up, &alias->index);
}

static bool get_module_decl(ComponentReader *r, ComponentItem *item) {
    ComponentCoreExtern *e = arena_new(r->arena, ComponentCoreExtern);
    ComponentCoreType *type;
    uint8_t kind;
    if (!wasm_read_flag(&r->r, 4, "declaration of a core module", &kind))
        return false;
    switch (kind) {
    case 0:
        item->kind = COMPONENT_ITEM_IMPORT;
        item->core_extern = e;
        return wasm_read_name(&r->r, &e->module) && wasm_read_name(&r->r, &e->name) &&
               get_core_extern_type(r, e);
    case 1:
        item->kind = COMPONENT_ITEM_CORE_TYPE;
        item->core_type = type = arena_new(r->arena, ComponentCoreType);
        return get_group(r, type);
    case 2: item->kind = COMPONENT_ITEM_ALIAS; return get_core_outer(r, item);
    default:
        item->kind = COMPONENT_ITEM_EXPORT;
        item->core_extern = e;
        return wasm_read_name(&r->r, &e->name) && get_core_extern_type(r, e);
    }
}

bool component_get_core_type(ComponentReader *r, ComponentItem *item) {
    ComponentCoreType *type = arena_new(r->arena, ComponentCoreType);
    item->core_type = type;
    if (component_peek(r) == MODULE) {
        r->r.c.at++;
        type->module = true;
        return get_declarations(r, &type->decls, get_module_decl);
    }
    if (component_peek(r) == 0) { /* before a `sub` that is not final */
        r->r.c.at++;
        if (component_peek(r) != SUB)
            return wasm_read_fail(&r->r, DIAG_MALFORMED, r->r.c.at, "malformed core type");
    }
    return get_group(r, type);
}
