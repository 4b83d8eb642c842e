/*
 * flush/flush_stack.c - the functions that run probes when a stack is left or resumed.
 */
#include "flush/flush_code.h"

static uint32_t flush_stack_add(Flush *f, Splicer *s, const ShapeList *list, const char *name) {
    WasmType id = WASM_I32;
    Buf body = {0};
    if (!list->len)
        return UINT32_MAX;
    s->out = &body;
    splicer_begin(s, 1);
    flush_splice_shapes(s, list, TEMPLATE_BODY);
    uint32_t func = flush_add_code(f, s, wasm_add_func_type(f->m, &id, 1, NULL, 0), name, &body);
    buf_free(&body);
    return func;
}

void flush_add_stacks(Flush *f, Splicer *s, const OnceShapes *once) {
    f->at.suspend = flush_stack_add(f, s, &once->suspend, "whammc.suspend");
    f->at.resume = flush_stack_add(f, s, &once->resume, "whammc.resume");
}
