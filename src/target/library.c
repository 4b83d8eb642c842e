/*
 * target/library.c - user libraries become imports or parts of the program.
 */
#include "target/library.h"

/* The type of a library's function in the program. */
static uint32_t type_in_program(Flush *f, const LibraryFn *fn) {
    const WasmTypeDef *t = wasm_func_type(&fn->library->module, fn->func);
    return wasm_add_func_type(f->m, t->params, t->nparams, t->results, t->nresults);
}

/* --link=import: each function is an import. */
static void import_functions(Flush *f, Plan *plan) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        LibraryFn *fn = &plan->library_fns.at[i];
        if (!fn->runs)
            continue;
        int64_t have = wasm_find_import(f->m, fn->library->import_as, fn->name);
        uint32_t type = type_in_program(f, fn);
        if (have >= 0 && f->m->funcs.at[have].type == type)
            fn->handle = (uint32_t)have;
        else
            fn->handle = wasm_add_import_func(f->m, fn->library->import_as, fn->name, type);
    }
}

bool libraries_link(Flush *f) {
    Plan *plan = f->matcher->plan;
    bool any = false;
    for (uint32_t i = 0; i < plan->library_fns.len; i++)
        any |= plan->library_fns.at[i].runs;
    if (any && f->options->link != LINK_IMPORT) {
        Diag *d = diag(f->diags, DIAG_UNSUPPORTED, (Span){f->file, 0, 0},
                       "libraries cannot be made part of the program yet");
        diag_hint(f->diags, d, "let the program import them: --link=import");
        return false;
    }
    import_functions(f, plan);
    return true;
}
