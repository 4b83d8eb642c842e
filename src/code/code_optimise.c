/*
 * code/code_optimise.c - the order of the steps.
 */
#include "code/code.h"

#include <assert.h>

/* Replaces a final `return` by its value. */
static CodeNode *at_end(CodeModule *c, CodeNode *e, WasmType result) {
    if (e->kind == CODE_RETURN)
        return e->nkids ? e->kids[0] : code_node(c, CODE_NOP, WASM_NONE, NULL, 0);
    if (e->kind == CODE_BLOCK && e->nkids && (!e->n || result == WASM_NONE)) {
        e->kids[e->nkids - 1] = at_end(c, e->kids[e->nkids - 1], result);
        return code_block(c, e->n, e->kids, e->nkids);
    }
    bool ends = result == WASM_NONE || (e->leaves && e->nkids == 3 && !e->kids[0]->leaves);
    if (e->kind == CODE_IF && e->type == WASM_NONE && ends)
        return code_if(c, e->kids[0], at_end(c, e->kids[1], result),
                       e->nkids == 3 ? at_end(c, e->kids[2], result) : NULL);
    return e;
}

/* After the first round there is little left. */
enum { ROUNDS = 2 };

void code_optimise(CodeModule *c, CodeFn *f) {
    assert(code_is_sound(c, f));
    f->body = at_end(c, code_fold(c, f->body), f->result);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f->body = code_fold(c, f->body);
        assert(code_is_sound(c, f));
        code_sink(c, f);
        assert(code_is_sound(c, f));
    }
    f->body = code_fold(c, f->body);
}
