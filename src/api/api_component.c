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

/* A core module of the component that is instrumented. */
typedef struct ComponentPart {
    uint32_t item;
    const char *name;
    Buf bytes;    /* instrumented */
    WasmModule m; /* the same, read */
    bool read;
} ComponentPart;

typedef struct ComponentWork {
    whammc *w;
    const ApiModule *given;
    const whammc_options *options;
    RewriteOptions rewrite;
    Component c;
    Vec(ComponentPart) parts;
    Vec(HubInstance) instances;
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

static const char *module_name(const Component *c, uint32_t index) {
    Str name = component_name_of(c, (ComponentRef){COMPONENT_SPACE_CORE_MODULE, index});
    if (name.len)
        return arena_strndup(c->arena, name.ptr, name.len);
    return arena_printf(c->arena, "module %u", index);
}

static Str module_bytes(const Component *c, const ComponentItem *item) {
    return (Str){(const char *)c->bytes + item->from, item->to - item->from};
}

/* Finds the core modules to be instrumented. */
static bool choose_modules(ComponentWork *work) {
    const Component *c = &work->c;
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        if (item->kind != COMPONENT_ITEM_CORE_MODULE)
            continue;
        Str bytes = module_bytes(c, item);
        WasmModule m;
        const char *name = module_name(c, component_defines(c, i).index);
        DiagFileId file = diag_file(&work->w->diags, name, bytes.ptr, bytes.len, true);
        if (!wasm_load(&m, (const uint8_t *)bytes.ptr, bytes.len, file, &work->w->diags))
            return false;
        if (!is_adapter(name, &m))
            vec_push(&work->parts, (ComponentPart){.item = i, .name = name});
        wasm_module_free(&m);
    }
    return true;
}

/* ---- instrumenting ---- */

static bool instrument_parts(ComponentWork *work) {
    for (uint32_t i = 0; i < work->parts.len; i++) {
        ComponentPart *p = &work->parts.at[i];
        const char *name = arena_printf(work->c.arena, "%s:%s", work->given->name, p->name);
        ApiModule module = {.name = name,
                            .bytes = module_bytes(&work->c, &work->c.items.at[p->item]),
                            .further = i > 0};
        if (!api_instrument_module(work->w, &module, work->options, &work->rewrite, &p->bytes))
            return false;
        wasm_load_again(&p->m, p->bytes.data, p->bytes.len);
        p->read = true;
    }
    return true;
}

/* The line before the reports of an instance, if there are several. */
static Str part_line(ComponentWork *work, const ComponentPart *p, uint32_t instance) {
    char hash[FIT_HASH];
    Str bytes = module_bytes(&work->c, &work->c.items.at[p->item]);
    Buf line = {0}, name = {0};
    fit_hash(bytes.ptr, bytes.len, hash);
    escape_json(&name, str_of(p->name));
    buf_printf(&line,
               "{\"whammc\":1,\"module\":\"%s\",\"name\":\"%s\",\"hash\":\"%s\",\"instance\":%u}\n",
               hash, buf_cstr(&name), hash, instance);
    Str text = {arena_strndup(work->c.arena, (const char *)line.data, line.len),
                (uint32_t)line.len};
    buf_free(&line);
    buf_free(&name);
    return text;
}

/* Finds the instances of instrumented modules that need a hub. */
static void find_instances(ComponentWork *work) {
    const Component *c = &work->c;
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        if (item->kind != COMPONENT_ITEM_CORE_INSTANCE || !item->instance->instantiates)
            continue;
        for (uint32_t k = 0; k < work->parts.len; k++) {
            const ComponentPart *p = &work->parts.at[k];
            if (component_defines(c, p->item).index == item->instance->of && hub_serves(&p->m))
                vec_push(&work->instances,
                         (HubInstance){.item = i,
                                       .module = &p->m,
                                       .line = part_line(work, p, work->instances.len)});
        }
    }
    if (work->instances.len == 1)
        work->instances.at[0].line = (Str){0};
}

static void write_output(ComponentWork *work, Buf *out) {
    ComponentEdit *edit = component_edit_new(&work->c);
    Hub hub = {.edit = edit,
               .instances = work->instances.at,
               .ninstances = work->instances.len,
               .report = work->rewrite.report,
               .file = str_of(work->rewrite.report_file)};
    if (hub.ninstances)
        hub_add(&hub);
    for (uint32_t i = 0; i < work->parts.len; i++)
        component_edit_module(edit, work->parts.at[i].item, &work->parts.at[i].bytes);
    component_edit_write(edit, out);
    component_edit_free(edit);
}

bool api_instrument_component(whammc *w, const ApiModule *component, const whammc_options *given,
                              Buf *out) {
    ComponentWork work = {.w = w, .given = component, .options = given};
    work.rewrite = api_options(given);
    work.rewrite.host = HOST_COMPONENT;
    work.rewrite.alone = true;
    api_reset(w);
    DiagFileId file =
        diag_file(&w->diags, component->name, component->bytes.ptr, component->bytes.len, true);
    bool ok = component_read(&work.c, (const uint8_t *)component->bytes.ptr, component->bytes.len,
                             file, &w->diags);
    ok = ok && choose_modules(&work) && instrument_parts(&work);
    if (ok) {
        find_instances(&work);
        write_output(&work, out);
        w->hosted = (Hosted){HOST_COMPONENT, STR("it is a component")};
    }
    for (uint32_t i = 0; i < work.parts.len; i++) {
        if (work.parts.at[i].read)
            wasm_module_free(&work.parts.at[i].m);
        buf_free(&work.parts.at[i].bytes);
    }
    vec_free(&work.parts);
    vec_free(&work.instances);
    component_free(&work.c);
    if (ok && w->sink.put)
        w->sink.put(w->sink.ctx, out->data, 0, out->len);
    return ok;
}
