/*
 * link/hub_held.c - functions that must not call out of their component.
 */
#include "link/hub_parts.h"

#include "valid/valid.h"

/* A core module of the component, read to know the types of its exports. */
typedef struct HeldModule {
    const ComponentItem *item;
    WasmModule m;
} HeldModule;

typedef struct Holding {
    const HubConnection *con;
    Vec(HeldModule *) modules;
    uint32_t *by; /* by core function: the one that takes its place + 1; 0 = none yet */
} Holding;

static const WasmModule *module_of(Holding *h, uint32_t index) {
    const Component *in;
    const ComponentItem *item =
        component_resolve(h->con->c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, index}, &in);
    for (uint32_t i = 0; i < h->modules.len; i++)
        if (h->modules.at[i]->item == item)
            return &h->modules.at[i]->m;
    if (!item)
        return NULL;
    HeldModule *held = mem_zalloc(sizeof *held);
    held->item = item;
    wasm_load_again(&held->m, in->bytes + item->from, item->to - item->from);
    vec_push(&h->modules, held);
    return &held->m;
}

/* The type of a core function that a core instance exports; NULL = it comes from elsewhere. */
static const WasmTypeDef *core_type(Holding *h, uint32_t func) {
    const Component *c = h->con->c;
    for (;;) {
        const ComponentAlias *alias =
            hub_alias_of(c, (ComponentRef){COMPONENT_SPACE_CORE_FUNC, func});
        if (!alias)
            return NULL;
        const ComponentItem *item =
            component_item(c, (ComponentRef){COMPONENT_SPACE_CORE_INSTANCE, alias->instance});
        if (!item || item->kind != COMPONENT_ITEM_CORE_INSTANCE)
            return NULL;
        if (item->instance->instantiates) {
            const WasmModule *m = module_of(h, item->instance->of);
            const WasmExport *e = m ? wasm_find_export(m, WASM_SPACE_FUNC, alias->name) : NULL;
            return e ? wasm_func_type(m, e->handle) : NULL;
        }
        uint32_t k = 0;
        while (k < item->instance->nargs && !str_eq(item->instance->args[k].name.name, alias->name))
            k++;
        if (k == item->instance->nargs)
            return NULL;
        func = item->instance->args[k].ref.index; /* of an earlier item */
    }
}

/* In item `at`, another function takes the place of `func`. */
static void hold_func(Holding *h, uint32_t at, uint32_t func) {
    const HubConnection *con = h->con;
    const WasmTypeDef *type = h->by[func] ? NULL : core_type(h, func);
    if (type) {
        WasmModule m;
        hub_make_holder(type, &m);
        ComponentArg program = hub_func_arg("func", func);
        ComponentArg args[] = {hub_core_arg("program", hub_core_functions(con->e, at, &program, 1)),
                               hub_core_arg("roll", con->roll)};
        uint32_t holder = hub_core_instance(con->e, at, hub_add_module(con->e, at, &m), args, 2);
        h->by[func] = 1 + hub_core_alias(con->e, at, holder, "func");
    }
    if (h->by[func])
        hub_replace(con, at, at + 1, func, h->by[func] - 1);
}

void hub_hold(const HubConnection *con) {
    const Component *c = con->c;
    Holding h = {.con = con};
    h.by = mem_zalloc(sizeof *h.by * (c->count[COMPONENT_SPACE_CORE_FUNC] + 1u));
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        for (uint32_t k = 0; item->kind == COMPONENT_ITEM_CANON && k < item->canon->noptions; k++) {
            const ComponentOption *option = &item->canon->options[k];
            if (option->code == CANON_OPTION_REALLOC || option->code == CANON_OPTION_POST_RETURN)
                hold_func(&h, i, option->index);
        }
    }
    for (uint32_t i = 0; i < h.modules.len; i++) {
        wasm_module_free(&h.modules.at[i]->m);
        free(h.modules.at[i]);
    }
    vec_free(&h.modules);
    free(h.by);
}
