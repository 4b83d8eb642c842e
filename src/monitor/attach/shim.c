/*
 * monitor/attach/shim.c - a monitor becomes part of the program it was attached to.
 */
#include "monitor/attach/shim_imports.h"

#include <assert.h>

/* ---- code ---- */

int64_t bind_memory(const Frozen *module) {
    int64_t index = bind_host_memory(module->merge.from);
    if (index < 0)
        return -1;
    return module->merge.handles[WASM_SPACE_MEMORY][index];
}

uint32_t bind_add_func(const Frozen *module, const WasmImport *im, Buf *code) {
    const char *name = arena_printf(&module->merge.to->arena, "whammc.%.*s.%.*s",
                                    STR_ARG(im->module), STR_ARG(im->name));
    return wasm_merge_func(&module->merge, im, name, code);
}

const char *bind_check(WasmModule *m, uint32_t memory, const char *at, const char *len) {
    assert(memory < m->memories.len);
    return arena_printf(&m->arena,
                        "local.get %s i64.extend_i32_u local.get %s i64.extend_i32_u i64.add"
                        " memory.size %u %s i64.const %u i64.shl i64.gt_u"
                        " if unreachable end",
                        at, len, memory, emit_resized(wasm_memory_address(m, memory), WASM_I64),
                        (unsigned)m->memories.at[memory].limits.page_log2);
}

/* ---- imports ---- */

/* WASI for one of a part's modules. */
static Bridge *bridge_of(BindPart *p, const Frozen *module) {
    for (uint32_t k = 0; k < p->bridges.len; k++)
        if (p->bridges.at[k]->library == &module->merge)
            return p->bridges.at[k];
    Bridge *b = mem_alloc(sizeof *b);
    bridge_init(b, &module->merge, p->shim->diags);
    b->of_monitor = true;
    b->memory = bind_memory(module);
    vec_push(&p->bridges, b);
    return b;
}

static int64_t shim_resolve(void *ctx, const Frozen *module, const WasmImport *im) {
    BindPart *p = ctx;
    BindShim *s = p->shim;
    if (str_is(im->module, "wizeng"))
        return bind_wizeng(s, module, im);
    if (str_is(im->module, REFLECT_MODULE))
        return bind_answer(s, module, bind_host_reflect(p->host), im);
    if (str_is(im->module, "whamm:dyninstr"))
        return s->options.dyninstr ? s->options.dyninstr(s->options.ctx, p, im) : -1;
    if (!wasm_is_wasi(im->module))
        return -1;
    return bind_replaces_wasi(s, module) ? bind_wasi(s, module, im)
                                         : bridge_import(bridge_of(p, module), im);
}

/* ---- parts ---- */

void bind_shim_init(BindShim *s, WasmModule *to, const BindShimOptions *options, Diags *diags) {
    *s = (BindShim){.to = to, .options = *options, .diags = diags};
}

BindPart *bind_part_new(BindShim *s, BindHost *host, Str prefix) {
    assert(host && s->to);
    BindPart *p = mem_zalloc(sizeof *p);
    p->shim = s;
    p->host = host;
    p->freeze = (Freeze){.to = s->to, .resolve = shim_resolve, .ctx = p, .diags = s->diags};
    for (uint32_t k = 0; k < bind_host_count(host); k++)
        p->monitor = freeze_add(&p->freeze, bind_host_instance(host, k), prefix);
    vec_push(&s->parts, p);
    return p;
}

bool bind_part_merge(BindPart *p, const uint32_t *roots, uint32_t nroots) {
    return freeze_merge(&p->freeze, p->monitor, roots, nroots);
}

bool bind_shim_finish(BindShim *s) {
    bool ok = true;
    for (uint32_t k = 0; ok && k < s->parts.len; k++)
        ok = freeze_finish(&s->parts.at[k]->freeze);
    bind_answer_finish(s);
    return ok;
}

HostChoice bind_shim_host(const BindShim *s) {
    return bind_text_host(s);
}

bool bind_shim_clockless(const BindShim *s) {
    return bind_text_clockless(s);
}

int64_t bind_shim_flush(const BindShim *s) {
    return bind_text_flush(s);
}

static void part_free(BindPart *p) {
    for (uint32_t k = 0; k < p->bridges.len; k++) {
        bridge_free(p->bridges.at[k]);
        free(p->bridges.at[k]);
    }
    vec_free(&p->bridges);
    freeze_free(&p->freeze);
    free(p);
}

void bind_shim_free(BindShim *s) {
    for (uint32_t k = 0; k < s->parts.len; k++)
        part_free(s->parts.at[k]);
    vec_free(&s->parts);
    bind_text_free(s);
    bind_answer_free(s);
}
