/*
 * rewrite/print_order.c - lines of `print` appear where they belong between the program's own
 * output: before the program calls an import that may write something, or wait, or end the program,
 * the lines so far are written. So such imports are called through functions of the program.
 */
#include "rewrite/pass.h"

#include "link/host.h"
#include "wasm/emit.h"

static bool print_order_begin(Rewrite *r, void *self) {
    (void)self;
    return plan_prints(r->p.plan);
}

/* Calls of the imports become calls of their wrappers, in all bodies. */
static void print_order_decide(Rewrite *r, void *self) {
    (void)self;
    for (uint32_t f = 0; f < r->p.m.input_count[WASM_SPACE_FUNC]; f++)
        if (r->p.m.funcs.at[f].import < 0)
            r->p.touched[f] |= TOUCHED_ENDS;
}

static void print_order_fill(Rewrite *r, void *self) {
    (void)self;
    WasmModule *m = &r->p.m;
    uint32_t flush = r->helpers[HELPER_PRINT_FLUSH];
    if (!r->flush.writes.lines)
        return;
    for (uint32_t i = 0; i < m->input_import_count; i++) {
        const WasmImport *im = &m->imports.at[i];
        if (im->space != WASM_SPACE_FUNC || host_is_quiet(im) ||
            (int64_t)im->handle == r->flush.proc_exit) /* it makes a report before */
            continue;
        uint32_t type = m->funcs.at[im->handle].type;
        Buf body = {0};
        buf_uleb(&body, 0); /* locals */
        emit(&body, "call %u", wasm_final(m, WASM_SPACE_FUNC, flush));
        for (uint32_t k = 0; k < m->types.at[type].nparams; k++)
            emit(&body, "local.get %u", k);
        emit(&body, "call %u end", wasm_called(m, im->handle));
        wasm_wrap_func(m, im->handle, wasm_add_func(m, type, STR("whammc.ordered"), &body, true));
    }
}

const RewritePass print_order_pass = {.name = "print_order",
                                      .begin = print_order_begin,
                                      .decide = print_order_decide,
                                      .fill = print_order_fill};
