/*
 * code/code_module.c - functions to a module.
 */
#include "code/code.h"

#include "edit/write.h"
#include "wasm/emit.h"

#include <assert.h>

/* Adds the global or function of the name; returns its handle. Functions that are defined here
 * follow the imports. */
static uint32_t code_module_add_name(const CodeModule *c, const CodeName *name, WasmModule *m,
                                     uint32_t first_fn) {
    if (name->module && name->func)
        return wasm_add_import_func(
            m, str_of(name->module), str_of(name->base),
            wasm_add_func_type(m, name->params, name->nparams, name->results, name->nresults));
    if (name->module)
        return wasm_add_import_global(m, str_of(name->module), str_of(name->base), name->type,
                                      name->mutable);
    if (!name->func)
        return wasm_add_global_zero(m, name->type, name->mutable, str_of(""));
    const uint64_t *fn = map_get(&c->fn_numbers, str_of(name->text));
    assert(fn); /* who calls a function adds it */
    return first_fn + (uint32_t)*fn;
}

/* Adds a function. Of equal ones the first is exported under all their names. */
static void code_module_add_fn(const CodeFn *f, const uint32_t *handles, WasmModule *m, Map *same) {
    Buf code = {0}, key = {0};
    emit_locals(&code, f->locals.at, f->locals.len);
    code_write(f, handles, &code);
    uint32_t type =
        wasm_add_func_type(m, f->params, f->nparams, &f->result, f->result != WASM_NONE);
    buf_uleb(&key, type);
    buf_bytes(&key, code.data, code.len);
    uint32_t func = wasm_add_func(m, type, str_of(""), &code, false);
    func = (uint32_t)*map_put(same, buf_view(&key), func, NULL);
    wasm_add_export(m, str_of(f->name), WASM_SPACE_FUNC, func);
    buf_free(&key);
}

void code_write_module(const CodeModule *c, Buf *out) {
    WasmModule m;
    Map same = {0};
    uint32_t *handles = mem_alloc((c->names.len + 1u) * sizeof *handles), imported = 0;
    wasm_module_init(&m);
    wasm_add_memory(&m, (WasmLimits){.min = 1, .page_log2 = 16}, str_of(""));
    for (uint32_t i = 0; i < c->names.len; i++)
        imported += c->names.at[i].module && c->names.at[i].func;
    for (uint32_t i = 0; i < c->names.len; i++)
        handles[i] = code_module_add_name(c, &c->names.at[i], &m, imported);
    for (uint32_t i = 0; i < c->fns.len; i++)
        code_module_add_fn(&c->fns.at[i], handles, &m, &same);
    wasm_write(&m, &(WasmWriter){0}, out);
    wasm_module_free(&m);
    map_free(&same);
    free(handles);
}
