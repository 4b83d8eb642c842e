/*
 * runtime/site/site_names.c - names of functions, and facts about the whole module.
 */
#include "site_state.h"

/* "#5". */
static uint32_t number_name(uint32_t fid) {
    uint32_t digits = 1;
    for (uint32_t n = fid; n > 9; n /= 10)
        digits++;
    uint32_t s = values_str_new(digits + 1);
    uint8_t *text = at(s + 4);
    text[0] = '#';
    for (uint32_t k = digits; k; k--, fid /= 10)
        text[k] = (uint8_t)('0' + fid % 10);
    return values_str_intern(s);
}

/* As wasm_shown_name of the compiler (wasm/module.c), but the engine supplies the names of the
 * name section. */
SITE_EXPORT(fname)
uint32_t site_fname(uint32_t fid) {
    uint32_t len = reflect_read_function_name(fid, 0, 0);
    if (!len) {
        uint32_t name = site_export_name(fid);
        return name ? name : number_name(fid);
    }
    uint32_t s = values_str_new(len);
    reflect_read_function_name(fid, s + 4, len);
    return values_str_intern(s);
}

/* ---- what is called ---- */

SITE_EXPORT(target_fn_name)
uint32_t site_target_fn_name(uint32_t fid, uint32_t pc) {
    uint32_t func = site_at(fid, pc)->a, module, name;
    return site_import_names(func, &module, &name) ? name : site_fname(func);
}

SITE_EXPORT(target_fn_type)
uint32_t site_target_fn_type(uint32_t fid, uint32_t pc) {
    uint32_t func = site_at(fid, pc)->a, module, name;
    bool import = site_import_names(func, &module, &name);
    uint64_t text = import ? WORD("import") : WORD("local");
    uint32_t s = values_str_new(import ? 6 : 5);
    __builtin_memcpy(at(s + 4), &text, import ? 6 : 5);
    return values_str_intern(s);
}

static uint32_t module_name(uint32_t len) {
    uint32_t s = values_str_new(len);
    if (len)
        reflect_read_module_name(s + 4, len);
    return values_str_intern(s);
}

SITE_EXPORT(target_imp_module)
uint32_t site_target_imp_module(uint32_t fid, uint32_t pc) {
    uint32_t func = site_at(fid, pc)->a, module, name;
    if (site_import_names(func, &module, &name))
        return module;
    return module_name(reflect_read_module_name(0, 0));
}

SITE_EXPORT(ends_program)
uint32_t site_ends_program(uint32_t fid, uint32_t pc) {
    const WasmInstr *i = site_at(fid, pc);
    bool call = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL;
    return call && site_proc_exit() == i->a + 1;
}

/* ---- the module ---- */

/* As wasm_shown_module of the compiler; the engine tells the path. */
SITE_EXPORT(module_name)
uint32_t site_module_name(void) {
    uint32_t len = reflect_read_module_name(0, 0);
    if (len)
        return module_name(len);
    len = reflect_read_module_path(0, 0);
    if (!len)
        return module_name(0);
    uint32_t s = values_str_new(len), start = len;
    uint8_t *text = at(s + 4);
    reflect_read_module_path(s + 4, len);
    while (start && text[start - 1] != '/')
        start--;
    __builtin_memmove(text, text + start, len - start);
    values_str_drop(s);
    return values_str_intern(values_str_new(len - start)); /* at the same address */
}

SITE_EXPORT(app_memid)
uint32_t site_app_memid(void) {
    const WasmModule *m = site_module(SITE_MEMORY);
    return S->imported_memories < m->memories.len ? S->imported_memories : 0;
}

/* That of an ordinary one if there is none. */
SITE_EXPORT(page_size)
uint64_t site_page_size(uint32_t memory) {
    enum { ORDINARY = 16 };
    const WasmModule *m = site_module(SITE_MEMORY);
    uint32_t log2 = ORDINARY;
    if (memory < m->memories.len)
        log2 = m->memories.at[memory].limits.page_log2;
    return (uint64_t)1 << log2;
}

SITE_EXPORT(item_size)
uint32_t site_item_size(uint32_t fid, uint32_t pc) {
    const WasmModule *m = site_module(SITE_TYPE);
    uint32_t type = site_at(fid, pc)->a;
    if (type >= m->types.len || m->types.at[type].kind != WASM_TYPE_ARRAY)
        return 0;
    switch (m->types.at[type].fields[0].type) {
    case WASM_I8: return 1;
    case WASM_I16: return 2;
    case WASM_I64:
    case WASM_F64: return 8;
    case WASM_V128: return 16;
    default: return 4;
    }
}

static void drop_model(SiteModel *x) {
    vec_free(&x->m.types);
    vec_free(&x->m.funcs);
    vec_free(&x->m.tables);
    vec_free(&x->m.memories);
    vec_free(&x->m.globals);
    vec_free(&x->m.tags);
    vec_free(&x->typer.locals);
    vec_free(&x->typer.stack);
    vec_free(&x->typer.frames);
    vec_free(&x->typer.params);
    vec_free(&x->typer.results);
    vec_free(&x->flow.frames);
    *x = (SiteModel){0};
}

SITE_EXPORT(done)
void site_done(void) {
    if (S->model) {
        drop_model(site_model());
        values_block_free(S->model, sizeof(SiteModel));
    }
    site_drop(&S->body);
    site_drop(&S->types);
    site_drop(&S->import_names);
    site_drop(&S->export_names);
    uint32_t table = S->table;
    __builtin_memset(S, 0, sizeof *S);
    S->table = table;
}
