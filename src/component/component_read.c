/*
 * component/component_read.c - reading components: the items of their sections, with the file
 * offsets that the writer needs to copy the bytes and to patch indices in them.
 *
 * Postcondition: the bytes are well-formed. Whether indices name something, and of the right type,
 * is the validator's.
 */
#include "component/component_read.h"

#include "component/component_names.h"

#include <assert.h>

bool component_is(const uint8_t *bytes, size_t size) {
    return size >= 8 && memcmp(bytes, "\0asm", 4) == 0 && bytes[6] == 1 && bytes[7] == 0;
}

const char *component_space_name(ComponentSpace space) {
    static const char *const names[] = {
#define SPACE(id, core, code, name) name,
#include "component/component.def"
    };
    assert(space < COMPONENT_SPACE_COUNT);
    return names[space];
}

static const char *section_name(uint8_t id) {
    static const char *const names[] = {
#define SECTION(id, code, name) [code] = name,
#include "component/component.def"
    };
    return names[id];
}

uint32_t component_adds(const ComponentItem *item, ComponentSpace *space) {
    static const uint8_t spaces[COMPONENT_ITEM_COUNT] = {
        [COMPONENT_ITEM_CUSTOM] = COMPONENT_SPACE_COUNT,
        [COMPONENT_ITEM_CORE_MODULE] = COMPONENT_SPACE_CORE_MODULE,
        [COMPONENT_ITEM_CORE_INSTANCE] = COMPONENT_SPACE_CORE_INSTANCE,
        [COMPONENT_ITEM_CORE_TYPE] = COMPONENT_SPACE_CORE_TYPE,
        [COMPONENT_ITEM_COMPONENT] = COMPONENT_SPACE_COMPONENT,
        [COMPONENT_ITEM_INSTANCE] = COMPONENT_SPACE_INSTANCE,
        [COMPONENT_ITEM_TYPE] = COMPONENT_SPACE_TYPE,
        [COMPONENT_ITEM_START] = COMPONENT_SPACE_VALUE,
        [COMPONENT_ITEM_VALUE] = COMPONENT_SPACE_VALUE,
    };
    switch (item->kind) {
    case COMPONENT_ITEM_ALIAS: *space = item->alias->space; return 1;
    case COMPONENT_ITEM_IMPORT: *space = item->import->type.space; return 1;
    case COMPONENT_ITEM_EXPORT: *space = item->export->ref.space; return 1;
    case COMPONENT_ITEM_CANON:
        *space = item->canon->code == CANON_LIFT ? COMPONENT_SPACE_FUNC : COMPONENT_SPACE_CORE_FUNC;
        return 1;
    case COMPONENT_ITEM_CORE_TYPE:
        *space = COMPONENT_SPACE_CORE_TYPE;
        return item->core_type->module ? 1 : item->core_type->types;
    case COMPONENT_ITEM_START: *space = COMPONENT_SPACE_VALUE; return item->start->results;
    default: *space = spaces[item->kind]; return *space != COMPONENT_SPACE_COUNT;
    }
}

const ComponentItem *component_item(const Component *c, ComponentRef ref) {
    if (ref.index >= c->defined[ref.space].len)
        return NULL;
    return &c->items.at[c->defined[ref.space].at[ref.index]];
}

const ComponentItem *component_resolve(const Component *c, ComponentRef ref, const Component **in) {
    for (;;) {
        const ComponentItem *item = component_item(c, ref);
        if (item && item->kind == COMPONENT_ITEM_EXPORT) {
            ref = item->export->ref;
        } else if (item && item->kind == COMPONENT_ITEM_ALIAS && item->alias->kind == ALIAS_OUTER) {
            for (uint32_t up = item->alias->up; up && c; up--)
                c = c->parent;
            ref.index = item->alias->index;
        } else {
            *in = c;
            bool defined =
                item && item->kind != COMPONENT_ITEM_ALIAS && item->kind != COMPONENT_ITEM_IMPORT;
            return defined ? item : NULL;
        }
        if (!c)
            return NULL;
    }
}

ComponentRef component_defines(const Component *c, uint32_t item) {
    ComponentSpace space = COMPONENT_SPACE_COUNT;
    component_adds(&c->items.at[item], &space);
    return (ComponentRef){(uint8_t)space, c->items.at[item].first};
}

/* ---- basic items ---- */

uint8_t component_peek(const ComponentReader *r) {
    return r->r.c.at < r->r.c.end ? *r->r.c.at : 0;
}

bool component_bad_byte(ComponentReader *r, const char *what) {
    return wasm_read_fail(&r->r, DIAG_MALFORMED, r->r.c.at - 1, "malformed %s 0x%02x", what,
                          r->r.c.at[-1]);
}

static bool get_byte(ComponentReader *r, uint8_t *byte) {
    return wasm_get_u8(&r->r.c, byte) || wasm_read_error(&r->r);
}

static bool get_flag(ComponentReader *r, const char *what, bool *flag) {
    uint8_t byte;
    if (!wasm_read_flag(&r->r, 2, what, &byte))
        return false;
    *flag = byte;
    return true;
}

/* Notes that the index at `at`, which ends at the cursor, names something `up` scopes outward. */
static void note_index(ComponentReader *r, const uint8_t *at, ComponentRef ref, uint32_t up) {
    const ComponentScope *scope = r->scope;
    for (; up && scope; up--)
        scope = scope->up;
    if (!scope || scope->of_type)
        return;
    uint32_t components = 0;
    for (const Component *c = r->scope->component; c != scope->component; c = c->parent)
        components++;
    vec_push(&r->scope->component->uses, (ComponentUse){.at = (uint32_t)(at - r->r.m->bytes),
                                                        .width = (uint8_t)(r->r.c.at - at),
                                                        .space = ref.space,
                                                        .index = ref.index,
                                                        .up = components});
}

bool component_get_outer(ComponentReader *r, ComponentSpace space, uint32_t up, uint32_t *index) {
    const uint8_t *at = r->r.c.at;
    if (!wasm_read_u32(&r->r, index))
        return false;
    note_index(r, at, (ComponentRef){(uint8_t)space, *index}, up);
    return true;
}

bool component_get_index(ComponentReader *r, ComponentSpace space, uint32_t *index) {
    return component_get_outer(r, space, 0, index);
}

bool component_get_items(ComponentReader *r, size_t size, void *items, uint32_t *n) {
    if (!wasm_read_count(&r->r, n))
        return false;
    void *at = arena_alloc(r->arena, size * *n);
    memcpy(items, &at, sizeof at);
    return true;
}

/* ---- names and sorts ---- */

uint8_t component_space_of(bool core, uint8_t code) {
#define SPACE(id, of_core, of_code, name)                                                          \
    if (core == of_core && code == of_code)                                                        \
        return COMPONENT_SPACE_##id;
#include "component/component.def"
    return COMPONENT_SPACE_COUNT;
}

void component_put_sort(Buf *b, uint8_t space, bool core) {
    static const struct {
        bool core;
        uint8_t code;
    } sorts[] = {
#define SPACE(id, of_core, of_code, name) {of_core, of_code},
#include "component/component.def"
    };
    assert(space < COMPONENT_SPACE_COUNT && (!core || sorts[space].core));
    if (sorts[space].core && !core)
        buf_u8(b, 0);
    buf_u8(b, sorts[space].code);
}

static bool get_core_sort(ComponentReader *r, uint8_t *space) {
    uint8_t code;
    if (!get_byte(r, &code))
        return false;
    *space = component_space_of(true, code);
    return *space != COMPONENT_SPACE_COUNT || component_bad_byte(r, "core sort");
}

bool component_get_sort(ComponentReader *r, uint8_t *space) {
    uint8_t code;
    if (!get_byte(r, &code))
        return false;
    if (code == 0)
        return get_core_sort(r, space);
    *space = component_space_of(false, code);
    return *space != COMPONENT_SPACE_COUNT || component_bad_byte(r, "sort");
}

static bool get_attribute(ComponentReader *r, ComponentName *name) {
    uint8_t kind;
    Str *to[] = {&name->implements, &name->version_suffix, &name->external_id}, value;
    const uint8_t *at = r->r.c.at;
    if (!wasm_read_flag(&r->r, 3, "attribute of a name", &kind) || !wasm_read_name(&r->r, &value))
        return false;
    if (to[kind]->ptr)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "duplicate attribute of a name");
    *to[kind] = value;
    return true;
}

bool component_get_name(ComponentReader *r, ComponentName *name) {
    uint8_t form;
    uint32_t n = 0;
    *name = (ComponentName){0};
    if (!wasm_read_flag(&r->r, 3, "form of a name", &form) || !wasm_read_name(&r->r, &name->name))
        return false;
    if (form == 2 && !wasm_read_count(&r->r, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!get_attribute(r, name))
            return false;
    return true;
}

/* ---- what imports and exports are ---- */

static bool get_value_bound(ComponentReader *r, ComponentExtern *type) {
    if (!get_flag(r, "value bound", &type->fresh))
        return false;
    if (type->fresh)
        return component_get_val(r, &type->value);
    return component_get_index(r, COMPONENT_SPACE_VALUE, &type->index);
}

bool component_get_extern(ComponentReader *r, ComponentExtern *type) {
    const uint8_t *at = r->r.c.at;
    *type = (ComponentExtern){0};
    if (!component_get_sort(r, &type->space))
        return false;
    switch (type->space) {
    case COMPONENT_SPACE_CORE_MODULE:
        return component_get_index(r, COMPONENT_SPACE_CORE_TYPE, &type->index);
    case COMPONENT_SPACE_VALUE: return get_value_bound(r, type);
    case COMPONENT_SPACE_TYPE:
        if (!get_flag(r, "type bound", &type->fresh))
            return false;
        return type->fresh || component_get_index(r, COMPONENT_SPACE_TYPE, &type->index);
    case COMPONENT_SPACE_FUNC:
    case COMPONENT_SPACE_COMPONENT:
    case COMPONENT_SPACE_INSTANCE:
        return component_get_index(r, COMPONENT_SPACE_TYPE, &type->index);
    default:
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "a %s cannot be imported or exported",
                              component_space_name(type->space));
    }
}

bool component_get_import(ComponentReader *r, ComponentItem *item) {
    ComponentImport *import = arena_new(r->arena, ComponentImport);
    item->import = import;
    return component_get_name(r, &import->name) && component_get_extern(r, &import->type);
}

bool component_get_export(ComponentReader *r, ComponentItem *item) {
    ComponentExport *export = arena_new(r->arena, ComponentExport);
    item->export = export;
    export->typed = true;
    if (!component_get_name(r, &export->name) || !component_get_extern(r, &export->type))
        return false;
    export->ref.space = export->type.space;
    return true;
}

static bool get_ref(ComponentReader *r, ComponentRef *ref) {
    return component_get_sort(r, &ref->space) && component_get_index(r, ref->space, &ref->index);
}

static bool get_definition_export(ComponentReader *r, ComponentItem *item) {
    ComponentExport *export = arena_new(r->arena, ComponentExport);
    item->export = export;
    return component_get_name(r, &export->name) && get_ref(r, &export->ref) &&
           get_flag(r, "type of an export", &export->typed) &&
           (!export->typed || component_get_extern(r, &export->type));
}

/* ---- aliases and instances ---- */

bool component_get_alias(ComponentReader *r, ComponentItem *item) {
    ComponentAlias *alias = arena_new(r->arena, ComponentAlias);
    uint8_t kind;
    item->alias = alias;
    if (!component_get_sort(r, &alias->space) || !wasm_read_flag(&r->r, 3, "alias", &kind))
        return false;
    alias->kind = kind;
    if (kind != ALIAS_OUTER)
        return component_get_index(r,
                                   kind == ALIAS_EXPORT ? COMPONENT_SPACE_INSTANCE
                                                        : COMPONENT_SPACE_CORE_INSTANCE,
                                   &alias->instance) &&
               wasm_read_name(&r->r, &alias->name);
    return wasm_read_u32(&r->r, &alias->up) &&
           component_get_outer(r, alias->space, alias->up, &alias->index);
}

static bool get_core_argument(ComponentReader *r, ComponentArg *arg) {
    uint8_t sort;
    arg->ref.space = COMPONENT_SPACE_CORE_INSTANCE;
    if (!wasm_read_name(&r->r, &arg->name.name) || !get_byte(r, &sort))
        return false;
    if (sort != 0x12)
        return component_bad_byte(r, "argument of a core instance");
    return component_get_index(r, COMPONENT_SPACE_CORE_INSTANCE, &arg->ref.index);
}

static bool get_core_export(ComponentReader *r, ComponentArg *arg) {
    return wasm_read_name(&r->r, &arg->name.name) && get_core_sort(r, &arg->ref.space) &&
           component_get_index(r, arg->ref.space, &arg->ref.index);
}

static bool get_argument(ComponentReader *r, ComponentArg *arg) {
    return wasm_read_name(&r->r, &arg->name.name) && get_ref(r, &arg->ref);
}

static bool get_inline_export(ComponentReader *r, ComponentArg *arg) {
    return component_get_name(r, &arg->name) && get_ref(r, &arg->ref);
}

static bool get_instance(ComponentReader *r, ComponentItem *item, bool core) {
    ComponentInstance *instance = arena_new(r->arena, ComponentInstance);
    bool exports;
    item->instance = instance;
    if (!get_flag(r, "instance", &exports))
        return false;
    instance->instantiates = !exports;
    ComponentSpace of = core ? COMPONENT_SPACE_CORE_MODULE : COMPONENT_SPACE_COMPONENT;
    if (!exports && !component_get_index(r, of, &instance->of))
        return false;
    if (!component_get_items(r, sizeof *instance->args, &instance->args, &instance->nargs))
        return false;
    bool (*get)(ComponentReader *, ComponentArg *) =
        core ? exports ? get_core_export : get_core_argument
             : (exports ? get_inline_export : get_argument);
    for (uint32_t i = 0; i < instance->nargs; i++)
        if (!get(r, &instance->args[i]))
            return false;
    return true;
}

/* ---- canonical definitions ---- */

static bool get_option(ComponentReader *r, ComponentOption *option) {
    static const char items[CANON_OPTION_COUNT][2] = {
#define OPTION(id, code, name, item) [code] = item,
#include "component/component.def"
    };
    option->at = (uint32_t)(r->r.c.at - r->r.m->bytes);
    if (!wasm_read_flag(&r->r, CANON_OPTION_COUNT, "canonical option", &option->code))
        return false;
    switch (*items[option->code]) {
    case 'm': return component_get_index(r, COMPONENT_SPACE_CORE_MEMORY, &option->index);
    case 'F': return component_get_index(r, COMPONENT_SPACE_CORE_FUNC, &option->index);
    case 'T': return component_get_index(r, COMPONENT_SPACE_CORE_TYPE, &option->index);
    default: return true;
    }
}

static bool get_options(ComponentReader *r, ComponentCanon *canon) {
    if (!component_get_items(r, sizeof *canon->options, &canon->options, &canon->noptions))
        return false;
    for (uint32_t i = 0; i < canon->noptions; i++)
        if (!get_option(r, &canon->options[i]))
            return false;
    return true;
}

/* An immediate, by its letter in component.def. */
static bool get_immediate(ComponentReader *r, char letter, ComponentCanon *canon) {
    uint8_t byte;
    switch (letter) {
    case '0':
        return get_byte(r, &byte) && (byte == 0 || component_bad_byte(r, "canonical function"));
    case 'F': return component_get_index(r, COMPONENT_SPACE_CORE_FUNC, &canon->func);
    case 'f': return component_get_index(r, COMPONENT_SPACE_FUNC, &canon->func);
    case 't': return component_get_index(r, COMPONENT_SPACE_TYPE, &canon->type);
    case 'T': return component_get_index(r, COMPONENT_SPACE_CORE_TYPE, &canon->type);
    case 'm': return component_get_index(r, COMPONENT_SPACE_CORE_MEMORY, &canon->memory);
    case 'b': return component_get_index(r, COMPONENT_SPACE_CORE_TABLE, &canon->table);
    case 'o': return get_options(r, canon);
    case 'a': return get_flag(r, "'async' flag", &canon->flag);
    case 'c': return get_flag(r, "'cancellable' flag", &canon->flag);
    case 's': return get_flag(r, "'shared' flag", &canon->flag);
    case 'v': return wasm_read_type(&r->r, &canon->value);
    case 'u': return wasm_read_u32(&r->r, &canon->slot);
    default: assert(letter == 'r'); return component_get_result(r, &canon->result);
    }
}

static const char *immediates_of(uint8_t code) {
    static const char *const immediates[] = {
#define CANON(id, code, name, items) [code] = items,
#include "component/component.def"
    };
    return code < sizeof immediates / sizeof *immediates ? immediates[code] : NULL;
}

static bool get_canon(ComponentReader *r, ComponentItem *item) {
    ComponentCanon *canon = arena_new(r->arena, ComponentCanon);
    item->canon = canon;
    if (!get_byte(r, &canon->code))
        return false;
    const char *letters = immediates_of(canon->code);
    if (!letters)
        return component_bad_byte(r, "canonical function");
    for (; *letters; letters++)
        if (!get_immediate(r, *letters, canon))
            return false;
    return true;
}

/* ---- start and values ---- */

static bool get_start(ComponentReader *r, ComponentItem *item) {
    ComponentStart *start = arena_new(r->arena, ComponentStart);
    item->start = start;
    if (!component_get_index(r, COMPONENT_SPACE_FUNC, &start->func) ||
        !component_get_items(r, sizeof *start->args, &start->args, &start->nargs))
        return false;
    for (uint32_t i = 0; i < start->nargs; i++)
        if (!component_get_index(r, COMPONENT_SPACE_VALUE, &start->args[i]))
            return false;
    enum { MOST_RESULTS = 1000 };
    const uint8_t *at = r->r.c.at;
    if (!wasm_read_u32(&r->r, &start->results))
        return false;
    return start->results <= MOST_RESULTS ||
           wasm_read_fail(&r->r, DIAG_MALFORMED, at, "%u results; at most %d are possible",
                          start->results, MOST_RESULTS);
}

static bool get_value(ComponentReader *r, ComponentItem *item) {
    uint32_t n;
    const uint8_t *bytes;
    return component_get_val(r, &item->value) && wasm_read_u32(&r->r, &n) &&
           (wasm_get_bytes(&r->r.c, n, &bytes) || wasm_read_error(&r->r));
}

/* ---- sections ---- */

static bool get_item(ComponentReader *r, ComponentItem *item) {
    switch ((ComponentItemKind)item->kind) {
    case COMPONENT_ITEM_CORE_INSTANCE: return get_instance(r, item, true);
    case COMPONENT_ITEM_INSTANCE: return get_instance(r, item, false);
    case COMPONENT_ITEM_CORE_TYPE: return component_get_core_type(r, item);
    case COMPONENT_ITEM_TYPE: return component_get_type(r, item);
    case COMPONENT_ITEM_ALIAS: return component_get_alias(r, item);
    case COMPONENT_ITEM_CANON: return get_canon(r, item);
    case COMPONENT_ITEM_START: return get_start(r, item);
    case COMPONENT_ITEM_IMPORT: return component_get_import(r, item);
    case COMPONENT_ITEM_EXPORT: return get_definition_export(r, item);
    case COMPONENT_ITEM_VALUE: return get_value(r, item);
    default: assert(!"an item that is a section"); return false;
    }
}

static void append_item(Component *c, ComponentItem item) {
    ComponentSpace space;
    uint32_t n = component_adds(&item, &space);
    if (n)
        item.first = c->count[space];
    for (uint32_t i = 0; i < n; i++)
        vec_push(&c->defined[space], c->items.len);
    if (n)
        c->count[space] += n;
    vec_push(&c->items, item);
}

static bool get_component(ComponentReader *r, Component *c);

/* A section that is one item: a module, a component, or a custom section. */
static bool get_whole(ComponentReader *r, Component *c, const ComponentSection *s) {
    ComponentItem item = {.kind = s->id, .from = s->payload, .to = s->end};
    if (s->id == COMPONENT_ITEM_CUSTOM && !wasm_read_name(&r->r, &item.name))
        return false;
    if (s->id == COMPONENT_ITEM_CUSTOM)
        item.from = (uint32_t)(r->r.c.at - r->r.m->bytes);
    bool ok = true;
    if (s->id == COMPONENT_ITEM_COMPONENT) {
        Component *inner = arena_new(r->arena, Component);
        *inner = (Component){.bytes = c->bytes,
                             .size = c->size,
                             .from = s->payload,
                             .to = s->end,
                             .file = c->file,
                             .parent = c,
                             .arena = r->arena};
        item.component = inner;
        ok = get_component(r, inner);
    }
    append_item(c, item);
    r->r.c.at = r->r.c.end;
    return ok;
}

static bool get_section(ComponentReader *r, Component *c, const ComponentSection *s) {
    uint32_t n = 1;
    if (s->id <= COMPONENT_ITEM_CORE_MODULE || s->id == COMPONENT_ITEM_COMPONENT)
        return get_whole(r, c, s);
    if (s->id != COMPONENT_ITEM_START && !wasm_read_count(&r->r, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        ComponentItem item = {.kind = s->id, .from = (uint32_t)(r->r.c.at - r->r.m->bytes)};
        if (!get_item(r, &item))
            return false;
        item.to = (uint32_t)(r->r.c.at - r->r.m->bytes);
        append_item(c, item);
    }
    return r->r.c.at == r->r.c.end ||
           wasm_read_fail(&r->r, DIAG_MALFORMED, r->r.c.at, "unexpected bytes at the end");
}

/* Reads the section at the cursor. */
static bool get_next_section(ComponentReader *r, Component *c) {
    const uint8_t *bytes = r->r.m->bytes, *payload;
    ComponentSection s = {.header = (uint32_t)(r->r.c.at - bytes), .first = c->items.len};
    uint32_t size;
    r->r.section = NULL;
    if (!wasm_read_flag(&r->r, COMPONENT_ITEM_COUNT, "section id", &s.id) ||
        !wasm_read_u32(&r->r, &size))
        return false;
    if (!wasm_get_bytes(&r->r.c, size, &payload))
        return wasm_read_error(&r->r);
    s.payload = (uint32_t)(payload - bytes);
    s.end = s.payload + size;
    WasmCode outer = r->r.c;
    r->r.c = wasm_code(bytes, s.end, s.payload);
    r->r.section = section_name(s.id);
    bool ok = get_section(r, c, &s);
    r->r.c = outer;
    s.last = c->items.len;
    vec_push(&c->sections, s);
    return ok;
}

/* Reads the component [c->from, c->to). */
static bool get_component(ComponentReader *r, Component *c) {
    static const uint8_t preamble[] = {0, 'a', 's', 'm', 0x0d, 0, 1, 0};
    WasmCode outer = r->r.c;
    ComponentScope scope = {.up = r->scope, .component = c};
    const uint8_t *at = c->bytes + c->from;
    if (c->to - c->from < sizeof preamble || memcmp(at, preamble, 4) != 0)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "not a component");
    if (memcmp(at, preamble, sizeof preamble) != 0)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at + 4,
                              "unknown version of components %u (13 is known)",
                              at[4] | (uint32_t)at[5] << 8);
    if (++r->depth > COMPONENT_MAX_DEPTH)
        return wasm_read_fail(&r->r, DIAG_MALFORMED, at, "components are nested too deeply");
    r->scope = &scope;
    r->r.c = wasm_code(c->bytes, c->to, c->from + sizeof preamble);
    bool ok = true;
    while (ok && r->r.c.at < r->r.c.end)
        ok = get_next_section(r, c);
    component_names_read(c);
    r->depth--;
    r->scope = scope.up;
    r->r.c = outer;
    return ok;
}

bool component_read(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                    Diags *diags) {
    *c = (Component){.bytes = bytes, .size = size, .to = (uint32_t)size, .file = file};
    c->arena = &c->own;
    WasmModule none = {.bytes = bytes, .size = size, .file = file};
    ComponentReader r = {.r = {.m = &none, .diags = diags}, .arena = &c->own};
    if (size > INT32_MAX) {
        diag(diags, DIAG_MALFORMED, (Span){file, 0, 0},
             "the file is too large (2 GiB are the limit)");
        return false;
    }
    r.r.c = wasm_code(bytes, size, 0);
    bool ok = get_component(&r, c);
    wasm_module_free(&none);
    return ok;
}

static void free_lists(Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_COMPONENT)
            free_lists(c->items.at[i].component);
    vec_free(&c->sections);
    vec_free(&c->items);
    vec_free(&c->uses);
    for (uint32_t s = 0; s < COMPONENT_SPACE_COUNT; s++)
        vec_free(&c->defined[s]);
}

void component_free(Component *c) {
    free_lists(c);
    arena_free(&c->own);
}
