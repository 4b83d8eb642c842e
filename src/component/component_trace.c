/*
 * component/component_trace.c - what becomes of the core modules and components inside.
 */
#include "component/component.h"

static void trace_pass(const Component *c, ComponentRef ref) {
    const Component *in;
    const ComponentItem *item;
    if (ref.space != COMPONENT_SPACE_CORE_MODULE && ref.space != COMPONENT_SPACE_COMPONENT)
        return;
    item = component_resolve(c, ref, &in);
    if (item)
        in->items.at[item - in->items.at].passed = true;
}

/* Notes what is passed by the items of a component, and by those inside of it. */
static void trace_passed(const Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        if (item->kind == COMPONENT_ITEM_COMPONENT)
            trace_passed(item->component);
        if (item->kind == COMPONENT_ITEM_EXPORT)
            trace_pass(c, item->export->ref);
        for (uint32_t k = 0; item->kind == COMPONENT_ITEM_INSTANCE && k < item->instance->nargs;
             k++)
            trace_pass(c, item->instance->args[k].ref);
    }
}

/* Notes what a component that runs instantiates. */
static void trace_running(const Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        bool core = item->kind == COMPONENT_ITEM_CORE_INSTANCE;
        if ((!core && item->kind != COMPONENT_ITEM_INSTANCE) || !item->instance->instantiates)
            continue;
        uint8_t space = core ? COMPONENT_SPACE_CORE_MODULE : COMPONENT_SPACE_COMPONENT;
        const Component *in;
        const ComponentItem *of =
            component_resolve(c, (ComponentRef){space, item->instance->of}, &in);
        if (!of || of->runs || of->passed)
            continue;
        in->items.at[of - in->items.at].runs = true;
        if (!core)
            trace_running(of->component);
    }
}

void component_trace(Component *c) {
    trace_passed(c);
    trace_running(c);
}
