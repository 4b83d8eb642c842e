/*
 * api/api_component.c - components: their core modules are instrumented, each as a program of its
 * own, and connected to a hub that writes their reports.
 */
#include "api/api.h"
#include "base/escape.h"
#include "link/hub.h"
#include "merge/fit.h"
#include "valid/valid.h"

/* A core module that is instrumented. */
typedef struct ComponentPart {
    const CorePart *part;
    Buf bytes;    /* instrumented */
    WasmModule m; /* the same, read */
    bool read;
    Str head; /* HubInstance.head */
} ComponentPart;

typedef struct ComponentWork {
    whammc *w;
    const CoreProgram *program;
    const whammc_options *options;
    RewriteOptions rewrite;
    Vec(ComponentPart) parts;
    Vec(HubNode *) nodes; /* of components, those inside before what has them */
} ComponentWork;

/* ---- instrumenting ---- */

static bool instrument_part(ComponentWork *work, const CorePart *part) {
    ComponentPart *p = vec_add(&work->parts);
    *p = (ComponentPart){.part = part};
    if (!api_instrument_module(work->w, part, work->options, &work->rewrite, &p->bytes))
        return false;
    wasm_load_again(&p->m, p->bytes.data, p->bytes.len);
    p->read = true;
    return true;
}

static bool instrument_parts(ComponentWork *work) {
    bool ok = true;
    vec_reserve(&work->parts, work->program->parts.len); /* modules do not move */
    for (uint32_t i = 0; ok && i < work->program->parts.len; i++) {
        const CorePart *part = &work->program->parts.at[i];
        ok = !part->chosen || instrument_part(work, part);
    }
    return ok;
}

/* ---- connecting them ---- */

/* The line before the reports of an instance, up to its number. */
static Str part_head(const ComponentWork *work, ComponentPart *p) {
    if (p->head.len)
        return p->head;
    char hash[FIT_HASH];
    Buf line = {0}, name = {0};
    fit_hash(p->part->bytes, p->part->size, hash);
    escape_json(&name, str_of(p->part->name));
    buf_printf(&line, "{\"whammc\":1,\"module\":\"%s\",\"name\":\"%s\",\"hash\":\"%s\",", hash,
               buf_cstr(&name), hash);
    Str text = {arena_strndup(work->program->component.arena, (const char *)line.data, line.len),
                (uint32_t)line.len};
    buf_free(&line);
    buf_free(&name);
    return p->head = text;
}

/* The part of the module that an item instantiates, if it needs a hub. */
static ComponentPart *api_component_part_of(const ComponentWork *work, const Component *c,
                                            const ComponentInstance *instance) {
    const Component *in;
    const ComponentItem *item =
        component_resolve(c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, instance->of}, &in);
    ComponentPart *p = item && item->note ? &work->parts.at[item->note - 1] : NULL;
    return p && hub_serves(&p->m) ? p : NULL;
}

static HubNode *node_of(const ComponentWork *work, const Component *c,
                        const ComponentInstance *instance) {
    const Component *in;
    const ComponentItem *item =
        component_resolve(c, (ComponentRef){COMPONENT_SPACE_COMPONENT, instance->of}, &in);
    HubNode *node = item && item->runs && item->note ? work->nodes.at[item->note - 1] : NULL;
    return node && node->slots ? node : NULL;
}

/* Finds the instances that need a hub, of a component and all inside of it. The node is in the
 * arena. */
static HubNode *find_instances(ComponentWork *work, const Component *c, ComponentEdit *edit) {
    HubNode *self = arena_new(work->program->component.arena, HubNode);
    self->edit = edit;
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        bool core = item->kind == COMPONENT_ITEM_CORE_INSTANCE;
        if (item->kind == COMPONENT_ITEM_COMPONENT) {
            find_instances(work, item->component, component_edit_inner(edit, i));
            c->items.at[i].note = work->nodes.len; /* the last one */
        }
        if ((!core && item->kind != COMPONENT_ITEM_INSTANCE) || !item->instance->instantiates)
            continue;
        ComponentPart *p = core ? api_component_part_of(work, c, item->instance) : NULL;
        HubNode *node = core ? NULL : node_of(work, c, item->instance);
        if (p)
            vec_push(&self->instances, (HubInstance){i, &p->m, part_head(work, p)});
        if (node)
            vec_push(&self->children, (HubChild){i, node});
    }
    hub_count(self);
    vec_push(&work->nodes, self);
    return self;
}

static bool write_component_output(ComponentWork *work, Buf *out) {
    const Component *c = &work->program->component;
    ComponentEdit *edit = component_edit_new(c);
    for (uint32_t i = 0; i < work->parts.len; i++) {
        const ComponentModule *m = work->parts.at[i].part->inside;
        m->in->items.at[m->item].note = i + 1;
    }
    HubNode *root = find_instances(work, c, edit);
    bool ok = root->slots <= HUB_MAX_SLOTS;
    if (!ok)
        diag(&work->w->diags, DIAG_CANNOT_HOST, NO_SPAN,
             "%s: the component has more than %d instances of instrumented core modules",
             work->program->name, HUB_MAX_SLOTS);
    enum { EVERY = 1000000000 }; /* nanoseconds */
    Hub hub = {root, work->rewrite.report, str_of(work->rewrite.report_file), EVERY};
    if (ok && root->slots && !hub_add(&hub))
        diag(&work->w->diags, DIAG_NO_FLUSH_POINT, (Span){c->file, 0, 0},
             "the component exports no function of an instrumented module: the report is written "
             "when the host calls 'whammc-flush'");
    for (uint32_t i = 0; i < work->parts.len && ok; i++) {
        ComponentPart *p = &work->parts.at[i];
        const ComponentModule *m = p->part->inside;
        component_edit_module(component_edit_within(edit, m->in), m->item, &p->bytes);
    }
    if (ok)
        component_edit_write(edit, out);
    component_edit_free(edit);
    return ok;
}

/* Validates the output. False after a message. */
static bool check_output(const ComponentWork *work, const Buf *out) {
    Component c;
    Diags found = {0};
    DiagFileId file = diag_file(&found, work->program->name, out->data, out->len, true);
    bool ok = component_load_output(&c, out->data, out->len, file, &found);
    if (!ok)
        diag(&work->w->diags, DIAG_INTERNAL, NO_SPAN, "the component would be invalid: %s",
             found.list.len ? found.list.at[0]->message : "");
    component_free(&c);
    diag_free(&found);
    return ok;
}

/* Whether exceptions may be thrown in the component, also by core modules that it imports. */
static bool component_may_throw(const CoreProgram *component) {
    const Component *c = &component->component;
    bool any = false;
    for (uint32_t i = 0; i < c->items.len; i++)
        any |= c->items.at[i].kind == COMPONENT_ITEM_IMPORT &&
               c->items.at[i].import->type.space == COMPONENT_SPACE_CORE_MODULE;
    for (uint32_t i = 0; i < component->inside.len; i++)
        any |= component->inside.at[i].tags;
    return any;
}

static void free_work(ComponentWork *work) {
    for (uint32_t i = 0; i < work->parts.len; i++) {
        if (work->parts.at[i].read)
            wasm_module_free(&work->parts.at[i].m);
        buf_free(&work->parts.at[i].bytes);
    }
    for (uint32_t i = 0; i < work->nodes.len; i++) {
        vec_free(&work->nodes.at[i]->instances);
        vec_free(&work->nodes.at[i]->children);
    }
    vec_free(&work->parts);
    vec_free(&work->nodes);
}

/* The option that needs a core module; NULL = none does. */
static const char *unfit_option(const whammc_options *o, const RewriteOptions *r) {
    return r->host != HOST_AUTO && r->host != HOST_WASI ? "another host than WASI"
           : r->link == LINK_IMPORT                     ? "--link=import"
           : r->several                                 ? "--linked"
           : r->polls                                   ? "--polls"
           : o && o->source_map_url                     ? "--source-map"
                                                        : NULL;
}

static bool options_fit(whammc *w, const CoreProgram *component, const whammc_options *given,
                        const RewriteOptions *r) {
    const char *unfit = unfit_option(given, r);
    if (unfit)
        diag_hint(&w->diags,
                  diag(&w->diags, DIAG_COMPONENT, NO_SPAN,
                       "%s: expected a core module for %s, found a component", component->name,
                       unfit),
                  "core modules of components contain the runtime, and report through WASI");
    return !unfit;
}

bool api_instrument_component(whammc *w, const CoreProgram *component, const whammc_options *given,
                              Buf *out) {
    ComponentWork work = {.w = w, .program = component, .options = given};
    work.rewrite = api_options(given);
    bool ok = options_fit(w, component, given, &work.rewrite);
    work.rewrite.host = HOST_COMPONENT;
    work.rewrite.link = LINK_MERGE;
    work.rewrite.alone = true;
    work.rewrite.quiet = !component_may_throw(component);
    ok = ok && instrument_parts(&work);
    if (ok) {
        ok = write_component_output(&work, out) && check_output(&work, out);
        w->hosted = (Hosted){HOST_COMPONENT, STR("it is a component")};
    }
    free_work(&work);
    if (ok && w->sink.put)
        w->sink.put(w->sink.ctx, out->data, 0, out->len);
    return ok;
}
