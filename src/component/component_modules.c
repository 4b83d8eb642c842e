/*
 * component/component_modules.c - the core modules inside of a component.
 */
#include "component/component_modules.h"

#include "component/component_names.h"
#include "wasm/read.h"

/* The name of a component: that which the one around it has for it, its own, or its number. */
static const char *component_title(const Component *c) {
    const Component *p = c->parent;
    uint32_t item = 0;
    Str name = {0};
    while (p &&
           (p->items.at[item].kind != COMPONENT_ITEM_COMPONENT || p->items.at[item].component != c))
        item++;
    ComponentRef ref = p ? component_defines(p, item) : (ComponentRef){0};
    if (p)
        name = component_name_of(p, ref);
    if (!name.len)
        name = component_own_name(c);
    return name.len || !p ? arena_printf(c->arena, "%.*s", STR_ARG(name))
                          : arena_printf(c->arena, "component %u", ref.index);
}

/* What stands before the names in a component: the names of the components around it. */
static const char *name_prefix(const Component *c) {
    return c->parent ? arena_printf(c->arena, "%s%s.", name_prefix(c->parent), component_title(c))
                     : "";
}

/* Whether tools have made a core module to connect others: by its name, or by what it exports and
 * imports. */
static bool is_adapter(Str name, ComponentModule *module) {
    WasmUnvalidated u = {0};
    bool read = wasm_read_apart(&u, (const uint8_t *)module->bytes.ptr, module->bytes.len,
                                module->in->file, NULL);
    bool found = read && wasm_find_export(&u.m, WASM_SPACE_TABLE, STR("$imports")) != NULL;
    for (uint32_t i = 0; read && !found && i < u.m.imports.len; i++)
        found = str_is(u.m.imports.at[i].module, "__main_module__") ||
                str_is(u.m.imports.at[i].name, "$imports");
    module->tags = read && u.m.tags.len > 0;
    wasm_unvalidated_free(&u);
    return found || str_begins(name, STR("wit-component:")) ||
           str_begins(name, STR("wit-component-"));
}

static void component_modules_add(const Component *c, uint32_t item, ComponentModules *out) {
    const ComponentItem *at = &c->items.at[item];
    ComponentModule m = {.in = c, .item = item};
    ComponentRef ref = component_defines(c, item);
    Str name = component_name_of(c, ref);
    const char *prefix = name_prefix(c);
    m.name = name.len ? arena_printf(c->arena, "%s%.*s", prefix, STR_ARG(name))
                      : arena_printf(c->arena, "%smodule %u", prefix, ref.index);
    m.component = component_title(c);
    m.bytes = (Str){(const char *)c->bytes + at->from, at->to - at->from};
    m.adapter = is_adapter(name, &m);
    vec_push(out, m);
}

void component_modules(const Component *c, ComponentModules *out) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        if (c->items.at[i].kind == COMPONENT_ITEM_COMPONENT)
            component_modules(c->items.at[i].component, out);
        if (c->items.at[i].kind == COMPONENT_ITEM_CORE_MODULE)
            component_modules_add(c, i, out);
    }
}
