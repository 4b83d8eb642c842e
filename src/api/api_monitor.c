/*
 * api/api_monitor.c - a monitor as the public interface describes it: texts of the values that its
 * probes request, and whether engines will inline them.
 */
#include "api/api_monitor.h"

#include "monitor/read/inline.h"

/* The state of describing a monitor. */
typedef struct Describe {
    const WasmModule *m;
    Arena *arena;
    Buf buf;
} Describe;

static const char *api_monitor_copy(Describe *d, Str s) {
    return arena_strndup(d->arena, s.ptr, s.len);
}

/* A copy of the buffer in the arena; empties the buffer. */
static const char *api_monitor_keep(Describe *d) {
    const char *text = arena_strndup(d->arena, (const char *)d->buf.data, d->buf.len);
    d->buf.len = 0;
    return text;
}

static void api_monitor_put_types(Buf *out, const WasmType *types, uint32_t n) {
    char text[32];
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", wasm_type_text(types[i], text));
}

static const char *api_monitor_func_type(Describe *d, const WasmTypeDef *t) {
    buf_u8(&d->buf, '(');
    api_monitor_put_types(&d->buf, t->params, t->nparams);
    buf_u8(&d->buf, ')');
    if (t->nresults)
        buf_str(&d->buf, t->nresults == 1 ? STR(" -> ") : STR(" -> ("));
    api_monitor_put_types(&d->buf, t->results, t->nresults);
    if (t->nresults > 1)
        buf_u8(&d->buf, ')');
    return api_monitor_keep(d);
}

/* ---- requested values ---- */

/* The meaning of a value; numbered ones with their number. */
static const char *value_doc(Describe *d, const MonitorParam *p) {
    const char *doc = param_info[p->kind].doc, *n = strstr(doc, " N");
    if (*param_info[p->kind].type != '*' || !n)
        return doc;
    return arena_printf(d->arena, "%.*s%u%s", (int)(n + 1 - doc), doc, p->n, n + 2);
}

static const whammc_monitor_value *describe_values(Describe *d, const MonitorParam *params,
                                                   uint32_t n, const MonitorFunc *callbacks,
                                                   const WasmTypeDef *t);

static const whammc_monitor_call *describe_call(Describe *d, const MonitorFunc *f) {
    whammc_monitor_call *call = arena_new(d->arena, whammc_monitor_call);
    const WasmTypeDef *t = wasm_func_type(d->m, f->func);
    call->name = api_monitor_copy(d, f->call->name);
    call->type = api_monitor_func_type(d, t);
    call->values = describe_values(d, f->call->params, f->call->nparams, NULL, t);
    call->nvalues = f->call->nparams;
    return call;
}

/* `t`: the type of the function that gets them: its parameters are exactly these values. */
static const whammc_monitor_value *describe_values(Describe *d, const MonitorParam *params,
                                                   uint32_t n, const MonitorFunc *callbacks,
                                                   const WasmTypeDef *t) {
    whammc_monitor_value *values = arena_array(d->arena, whammc_monitor_value, n);
    uint32_t slot = 0;
    for (uint32_t i = 0; i < n; i++) {
        const MonitorParam *p = &params[i];
        bool call = p->kind == PARAM_CALL;
        uint32_t takes = call ? 1 : (uint32_t)strlen(param_info[p->kind].type);
        rule_print_param(p, &d->buf);
        values[i].text = api_monitor_keep(d);
        if (slot + takes <= t->nparams)
            api_monitor_put_types(&d->buf, t->params + slot, takes);
        values[i].type = api_monitor_keep(d);
        values[i].doc = call ? "" : value_doc(d, p);
        if (call)
            values[i].call = describe_call(d, &callbacks[i]);
        slot += takes;
    }
    return values;
}

/* ---- probe functions ---- */

static const char *not_inlined(Describe *d, uint32_t func) {
    const WasmFunc *f = &d->m->funcs.at[func];
    uint32_t nparams = wasm_func_type(d->m, func)->nparams;
    if (f->import >= 0)
        return "it is imported";
    if (f->body_size > INLINE_MAX_BYTES)
        return arena_printf(d->arena, "more than %d bytes", INLINE_MAX_BYTES);
    if (nparams > INLINE_MAX_PARAMS)
        return arena_printf(d->arena, "more than %d parameters", INLINE_MAX_PARAMS);
    WasmTypes locals = {0};
    const char *error;
    uint32_t from = wasm_func_locals(d->m, func, &locals, &error);
    InlineLook look = inline_look(wasm_code(wasm_func_body(d->m, func), f->body_size, from));
    vec_free(&locals);
    if (look.branches)
        return "branches";
    return look.blocks ? "a block without branches, which crashes engines from 2025" : NULL;
}

static void describe_probe(Describe *d, const MonitorProbe *p, whammc_monitor_probe *out) {
    const WasmTypeDef *t = wasm_func_type(d->m, p->func);
    out->name = api_monitor_copy(d, p->name);
    rule_print_event(&p->rule, &d->buf);
    out->event = api_monitor_keep(d);
    rule_print(&p->rule, &d->buf);
    out->rule = api_monitor_keep(d);
    if (p->rule.predicate)
        out->predicate = describe_call(d, &p->predicate);
    out->values = describe_values(d, p->rule.params, p->rule.nparams, p->callbacks, t);
    out->nvalues = p->rule.nparams;
    out->fid = p->func;
    out->fname = api_monitor_copy(d, wasm_func_name(d->m, p->func));
    out->type = api_monitor_func_type(d, t);
    out->size = d->m->funcs.at[p->func].body_size;
    out->not_inlined = not_inlined(d, p->func);
}

/* Numbers the groups in the order of their first probes. */
static void group_probes(Describe *d, const MonitorProbes *probes, whammc_monitor_probe *out,
                         Map *seen) {
    for (uint32_t i = 0; i < probes->len; i++) {
        const WasmFunc *f = &d->m->funcs.at[out[i].fid];
        buf_printf(&d->buf, "%d %s %s ", out[i].is_older, out[i].type,
                   out[i].rule + strlen(out[i].event));
        if (f->import >= 0)
            buf_printf(&d->buf, "%u", out[i].fid);
        else
            buf_bytes(&d->buf, wasm_func_body(d->m, out[i].fid), f->body_size);
        Str key = buf_view(&d->buf);
        out[i].group = (uint32_t)*map_put(seen, key, seen->len, NULL);
        d->buf.len = 0;
    }
}

/* ---- imports ---- */

static const char *import_type(Describe *d, const WasmImport *i) {
    if (i->space == WASM_SPACE_FUNC)
        return api_monitor_func_type(d, wasm_func_type(d->m, i->handle));
    return wasm_space_name((WasmSpace)i->space);
}

static const char *import_source(Str module) {
    static const char *const engine[] = {"wizeng", "whamm:reflect", "whamm:dyninstr"};
    for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
        if (str_is(module, engine[i]))
            return "the engine";
    return str_is(module, "wasi_snapshot_preview1") ? "WASI" : "a library";
}

static const whammc_monitor_import *describe_imports(Describe *d) {
    whammc_monitor_import *imports =
        arena_array(d->arena, whammc_monitor_import, d->m->imports.len);
    for (uint32_t i = 0; i < d->m->imports.len; i++) {
        const WasmImport *im = &d->m->imports.at[i];
        imports[i] =
            (whammc_monitor_import){api_monitor_copy(d, im->module), api_monitor_copy(d, im->name),
                                    import_type(d, im), import_source(im->module)};
    }
    return imports;
}

void monitor_describe(const Monitor *monitor, Arena *arena, whammc_monitor *out) {
    Describe d = {.m = &monitor->m, .arena = arena};
    uint32_t n = monitor->probes.len, older = monitor->older.len;
    whammc_monitor_probe *probes = arena_array(arena, whammc_monitor_probe, n + older);
    for (uint32_t i = 0; i < n; i++)
        describe_probe(&d, &monitor->probes.at[i], &probes[i]);
    for (uint32_t i = 0; i < older; i++) {
        describe_probe(&d, &monitor->older.at[i], &probes[n + i]);
        probes[n + i].is_older = 1;
    }
    Map groups = {0};
    group_probes(&d, &monitor->probes, probes, &groups);
    group_probes(&d, &monitor->older, probes + n, &groups);
    map_free(&groups);
    *out = (whammc_monitor){.probes = probes,
                            .nprobes = n + older,
                            .imports = describe_imports(&d),
                            .nimports = d.m->imports.len,
                            .has_exit = monitor->exit >= 0,
                            .exit_fid = monitor->exit >= 0 ? (uint32_t)monitor->exit : 0};
    buf_free(&d.buf);
}
