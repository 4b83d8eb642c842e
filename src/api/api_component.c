/*
 * api/api_component.c - components: their core modules are instrumented, each as a program of its
 * own, and connected to a hub that writes their reports.
 */
#include "api/api.h"
#include "base/escape.h"
#include "component/component_names.h"
#include "link/hub.h"
#include "merge/fit.h"
#include "valid/valid.h"

#include <stdio.h>

/* A core module that is instrumented. */
typedef struct ComponentPart {
    const Component *in;
    uint32_t item;
    const char *name;
    Buf bytes;    /* instrumented */
    WasmModule m; /* the same, read */
    bool read;
} ComponentPart;

/* A component: the given one, or one inside. */
typedef struct ComponentScopePart {
    const Component *c;
    HubNode node;
} ComponentScopePart;

typedef struct ComponentWork {
    whammc *w;
    const ApiModule *given;
    const whammc_options *options;
    RewriteOptions rewrite;
    Component c;
    Vec(ComponentPart) parts;
    Vec(ComponentScopePart *) nodes; /* those inside before what has them */
} ComponentWork;

/* ---- which modules ---- */

/* Whether tools have made a core module to connect others: by its name, or by what it exports and
 * imports. */
static bool is_adapter(const char *name, const WasmModule *m) {
    if (strncmp(name, "wit-component:", 14) == 0 || strncmp(name, "wit-component-", 14) == 0)
        return true;
    for (uint32_t i = 0; i < m->imports.len; i++)
        if (str_is(m->imports.at[i].module, "__main_module__") ||
            str_is(m->imports.at[i].name, "$imports"))
            return true;
    return wasm_find_export(m, WASM_SPACE_TABLE, STR("$imports")) != NULL;
}

/* The name of a component inside, with a point after it; "" of the outermost. */
static const char *component_prefix(const Component *c) {
    if (!c->parent)
        return "";
    const Component *p = c->parent;
    uint32_t item = 0;
    while (p->items.at[item].kind != COMPONENT_ITEM_COMPONENT || p->items.at[item].component != c)
        item++;
    ComponentRef ref = component_defines(p, item);
    Str name = component_name_of(p, ref);
    if (!name.len)
        name = component_own_name(c);
    const char *outer = component_prefix(p);
    return name.len ? arena_printf(c->arena, "%s%.*s.", outer, STR_ARG(name))
                    : arena_printf(c->arena, "%scomponent %u.", outer, ref.index);
}

static const char *module_name(const Component *c, uint32_t index) {
    Str name = component_name_of(c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, index});
    const char *prefix = component_prefix(c);
    return name.len ? arena_printf(c->arena, "%s%.*s", prefix, STR_ARG(name))
                    : arena_printf(c->arena, "%smodule %u", prefix, index);
}

static Str module_bytes(const ComponentPart *p) {
    const ComponentItem *item = &p->in->items.at[p->item];
    return (Str){(const char *)p->in->bytes + item->from, item->to - item->from};
}

/* Says that a module is used, but cannot be changed. */
static void leave_out(const ComponentWork *work, const Component *c, uint32_t item,
                      const char *name) {
    Span place = {c->file, c->items.at[item].from, c->items.at[item].from};
    Diag *d =
        diag(&work->w->diags, DIAG_LEFT_OUT, place,
             "the core module '%s' is not instrumented: the component exports it, or passes it "
             "to others, which rely on its imports",
             name);
    diag_hint(&work->w->diags, d, "instrument the component that it is passed to");
}

static void consider_module(ComponentWork *work, const Component *c, uint32_t item) {
    ComponentPart p = {.in = c, .item = item};
    Str bytes = module_bytes(&p), name;
    uint32_t index = component_defines(c, item).index;
    p.name = module_name(c, index);
    name = component_name_of(c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, index});
    if (c->items.at[item].passed)
        leave_out(work, c, item, p.name);
    WasmModule m;
    wasm_load_again(&m, (const uint8_t *)bytes.ptr, bytes.len);
    work->rewrite.quiet &= m.tags.len == 0;
    if (c->items.at[item].runs && !is_adapter(arena_strndup(c->arena, name.ptr, name.len), &m))
        vec_push(&work->parts, p);
    wasm_module_free(&m);
}

/* Finds the core modules to be instrumented, those of components inside, too. */
static void choose_modules(ComponentWork *work, const Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        if (item->kind == COMPONENT_ITEM_COMPONENT)
            choose_modules(work, item->component);
        if (item->kind == COMPONENT_ITEM_CORE_MODULE)
            consider_module(work, c, i);
    }
}

/* ---- instrumenting ---- */

static bool instrument_parts(ComponentWork *work) {
    for (uint32_t i = 0; i < work->parts.len; i++) {
        ComponentPart *p = &work->parts.at[i];
        const char *name = arena_printf(work->c.arena, "%s:%s", work->given->name, p->name);
        ApiModule module = {.name = name, .bytes = module_bytes(p), .further = i > 0};
        if (!api_instrument_module(work->w, &module, work->options, &work->rewrite, &p->bytes))
            return false;
        wasm_load_again(&p->m, p->bytes.data, p->bytes.len);
        p->read = true;
    }
    return true;
}

/* ---- connecting them ---- */

/* The line before the reports of an instance, up to its number. */
static Str part_head(const ComponentWork *work, const ComponentPart *p) {
    char hash[FIT_HASH];
    Str bytes = module_bytes(p);
    Buf line = {0}, name = {0};
    fit_hash(bytes.ptr, bytes.len, hash);
    escape_json(&name, str_of(p->name));
    buf_printf(&line, "{\"whammc\":1,\"module\":\"%s\",\"name\":\"%s\",\"hash\":\"%s\",", hash,
               buf_cstr(&name), hash);
    Str text = {arena_strndup(work->c.arena, (const char *)line.data, line.len),
                (uint32_t)line.len};
    buf_free(&line);
    buf_free(&name);
    return text;
}

/* The part of the module that an item instantiates, if it needs a hub. */
static const ComponentPart *part_of(const ComponentWork *work, const Component *c,
                                    const ComponentInstance *instance) {
    const Component *in;
    const ComponentItem *item =
        component_resolve(c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, instance->of}, &in);
    for (uint32_t k = 0; item && k < work->parts.len; k++) {
        const ComponentPart *p = &work->parts.at[k];
        if (p->in == in && &in->items.at[p->item] == item && hub_serves(&p->m))
            return p;
    }
    return NULL;
}

static HubNode *node_of(const ComponentWork *work, const Component *c,
                        const ComponentInstance *instance) {
    const Component *in;
    const ComponentItem *item =
        component_resolve(c, (ComponentRef){COMPONENT_SPACE_COMPONENT, instance->of}, &in);
    for (uint32_t k = 0; item && item->runs && k < work->nodes.len; k++)
        if (work->nodes.at[k]->c == item->component && hub_slots(&work->nodes.at[k]->node))
            return &work->nodes.at[k]->node;
    return NULL;
}

/* Finds the instances that need a hub, of a component and all inside of it. */
static ComponentScopePart *find_instances(ComponentWork *work, const Component *c,
                                          ComponentEdit *edit) {
    ComponentScopePart *self = arena_new(work->c.arena, ComponentScopePart);
    self->c = c;
    self->node.edit = edit;
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        bool core = item->kind == COMPONENT_ITEM_CORE_INSTANCE;
        if (item->kind == COMPONENT_ITEM_COMPONENT)
            find_instances(work, item->component, component_edit_inner(edit, i));
        if ((!core && item->kind != COMPONENT_ITEM_INSTANCE) || !item->instance->instantiates)
            continue;
        const ComponentPart *p = core ? part_of(work, c, item->instance) : NULL;
        HubNode *node = core ? NULL : node_of(work, c, item->instance);
        if (p)
            vec_push(&self->node.instances, (HubInstance){i, &p->m, part_head(work, p)});
        if (node)
            vec_push(&self->node.children, (HubChild){i, node});
    }
    vec_push(&work->nodes, self);
    return self;
}

/* The edit of the component that has a module. */
static ComponentEdit *edit_of(const ComponentWork *work, const Component *c) {
    uint32_t k = 0;
    while (work->nodes.at[k]->c != c)
        k++;
    return work->nodes.at[k]->node.edit;
}

static void write_component_output(ComponentWork *work, Buf *out) {
    ComponentEdit *edit = component_edit_new(&work->c);
    ComponentScopePart *root = find_instances(work, &work->c, edit);
    enum { EVERY = 1000000000 }; /* nanoseconds */
    Hub hub = {&root->node, work->rewrite.report, str_of(work->rewrite.report_file), EVERY};
    if (hub_slots(&root->node))
        hub_add(&hub);
    for (uint32_t i = 0; i < work->parts.len; i++) {
        ComponentPart *p = &work->parts.at[i];
        component_edit_module(edit_of(work, p->in), p->item, &p->bytes);
    }
    component_edit_write(edit, out);
    component_edit_free(edit);
}

/* Validates the output. False after a message. */
static bool check_output(const ComponentWork *work, const Buf *out) {
    Component c;
    Diags found = {0};
    DiagFileId file = diag_file(&found, work->given->name, out->data, out->len, true);
    bool ok = component_load_output(&c, out->data, out->len, file, &found);
    if (!ok)
        diag(&work->w->diags, DIAG_INTERNAL, NO_SPAN, "the component would be invalid: %s",
             found.list.len ? found.list.at[0]->message : "");
    component_free(&c);
    diag_free(&found);
    return ok;
}

static void free_work(ComponentWork *work) {
    for (uint32_t i = 0; i < work->parts.len; i++) {
        if (work->parts.at[i].read)
            wasm_module_free(&work->parts.at[i].m);
        buf_free(&work->parts.at[i].bytes);
    }
    for (uint32_t i = 0; i < work->nodes.len; i++) {
        vec_free(&work->nodes.at[i]->node.instances);
        vec_free(&work->nodes.at[i]->node.children);
    }
    vec_free(&work->parts);
    vec_free(&work->nodes);
    component_free(&work->c);
}

bool api_instrument_component(whammc *w, const ApiModule *component, const whammc_options *given,
                              Buf *out) {
    ComponentWork work = {.w = w, .given = component, .options = given};
    work.rewrite = api_options(given);
    work.rewrite.host = HOST_COMPONENT;
    work.rewrite.alone = true;
    work.rewrite.quiet = true; /* until there is a tag */
    api_reset(w);
    DiagFileId file =
        diag_file(&w->diags, component->name, component->bytes.ptr, component->bytes.len, true);
    bool ok = component_load(&work.c, (const uint8_t *)component->bytes.ptr, component->bytes.len,
                             file, work.rewrite.threads, &w->diags);
    if (ok) {
        component_trace(&work.c);
        choose_modules(&work, &work.c);
        ok = instrument_parts(&work);
    }
    if (ok) {
        write_component_output(&work, out);
        ok = check_output(&work, out);
        w->hosted = (Hosted){HOST_COMPONENT, STR("it is a component")};
    }
    free_work(&work);
    if (ok && w->sink.put)
        w->sink.put(w->sink.ctx, out->data, 0, out->len);
    return ok;
}
