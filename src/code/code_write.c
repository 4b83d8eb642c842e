/*
 * code/code_write.c - trees to bytes. Blocks without a label are only their kids, wherever they
 * are. Unreachable code is not written.
 */
#include "code/code.h"

#include "wasm/emit.h"

#include <assert.h>

typedef struct Writer {
    Buf *out;
    const uint32_t *handles; /* of names; or NULL */
    Vec(uint32_t) labels;    /* of the constructs that are open */
} Writer;

static bool code_write_put(Writer *w, const CodeNode *e);

/* False if control does not go on after one of them. */
static bool put_kids(Writer *w, const CodeNode *e) {
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!code_write_put(w, e->kids[i]))
            return false;
    return true;
}

static void code_write_open(Writer *w, WasmOp op, WasmType type, uint32_t label) {
    wasm_put_op(w->out, op);
    wasm_put_type(w->out, type);
    vec_push(&w->labels, label);
}

/* Control may reach the end of the construct; else the following code is unreachable. */
static bool close(Writer *w, bool reached) {
    wasm_put_op(w->out, WASM_OP_END);
    w->labels.len--;
    if (!reached)
        wasm_put_op(w->out, WASM_OP_UNREACHABLE);
    return reached;
}

static bool code_write_put_if(Writer *w, const CodeNode *e) {
    if (!code_write_put(w, e->kids[0]))
        return false;
    code_write_open(w, WASM_OP_IF, e->type, 0);
    bool reached = code_write_put(w, e->kids[1]);
    if (e->nkids > 2 && !code_is_nothing(e->kids[2])) {
        wasm_put_op(w->out, WASM_OP_ELSE);
        reached |= code_write_put(w, e->kids[2]);
    } else {
        reached = true;
    }
    return close(w, reached);
}

static bool code_write_put_branch(Writer *w, const CodeNode *e) {
    uint32_t depth = 0;
    if (!put_kids(w, e))
        return false;
    while (w->labels.at[w->labels.len - 1 - depth] != e->n)
        depth++;
    put_index(w->out, e->nkids ? WASM_OP_BR_IF : WASM_OP_BR, depth);
    return e->nkids > 0;
}

static bool code_write_put_block(Writer *w, const CodeNode *e) {
    if (!e->n)
        return put_kids(w, e);
    code_write_open(w, WASM_OP_BLOCK, e->type, e->n);
    put_kids(w, e);
    return close(w, true);
}

static bool put_loop(Writer *w, const CodeNode *e) {
    code_write_open(w, WASM_OP_LOOP, WASM_NONE, e->n);
    return close(w, code_write_put(w, e->kids[0]));
}

static void code_write_put_name(Writer *w, WasmOp op, const CodeNode *e) {
    put_index(w->out, op, w->handles ? w->handles[e->n] : e->n);
}

/* The call, then the instructions that take its results, the last one first. */
static bool code_write_put_call(Writer *w, const CodeNode *e) {
    uint32_t nargs = e->nkids;
    while (nargs && e->kids[nargs - 1]->kind == CODE_NAME_SET && !e->kids[nargs - 1]->nkids)
        nargs--;
    for (uint32_t i = 0; i < nargs; i++)
        if (!code_write_put(w, e->kids[i]))
            return false;
    code_write_put_name(w, WASM_OP_CALL, e);
    for (uint32_t i = nargs; i < e->nkids; i++)
        code_write_put(w, e->kids[i]);
    return true;
}

static void code_write_put_access(Writer *w, const CodeNode *e) {
    uint32_t log2 = wasm_ops[e->op].mnemonic[1] == '6' ? 3 : 2;
    wasm_put_op(w->out, (WasmOp)e->op);
    emit_memarg(w->out, e->op == WASM_OP_I32_LOAD8_U ? 0 : log2, 0, e->bits);
}

static void code_write_put_memory(Writer *w, const CodeNode *e) {
    wasm_put_op(w->out, (WasmOp)e->op);
    buf_uleb(w->out, 0);
    if (e->op == WASM_OP_MEMORY_COPY)
        buf_uleb(w->out, 0);
}

/* False if control does not go on after it. */
static bool code_write_put(Writer *w, const CodeNode *e) {
    switch ((CodeKind)e->kind) {
    case CODE_BLOCK: return code_write_put_block(w, e);
    case CODE_IF: return code_write_put_if(w, e);
    case CODE_LOOP: return put_loop(w, e);
    case CODE_BRANCH: return code_write_put_branch(w, e);
    case CODE_CALL: return code_write_put_call(w, e);
    default: break;
    }
    if (!put_kids(w, e))
        return false;
    switch ((CodeKind)e->kind) {
    case CODE_TRAP: wasm_put_op(w->out, WASM_OP_UNREACHABLE); return false;
    case CODE_RETURN: wasm_put_op(w->out, WASM_OP_RETURN); return false;
    case CODE_CONST: wasm_put_const(w->out, e->type, e->bits); break;
    case CODE_NULL: wasm_put_zero(w->out, e->type); break;
    case CODE_LOCAL_GET: put_index(w->out, WASM_OP_LOCAL_GET, e->n); break;
    case CODE_LOCAL_SET: put_index(w->out, WASM_OP_LOCAL_SET, e->n); break;
    case CODE_LOCAL_TEE: put_index(w->out, WASM_OP_LOCAL_TEE, e->n); break;
    case CODE_NAME_GET: code_write_put_name(w, WASM_OP_GLOBAL_GET, e); break;
    case CODE_NAME_SET: code_write_put_name(w, WASM_OP_GLOBAL_SET, e); break;
    case CODE_PLAIN: wasm_put_op(w->out, (WasmOp)e->op); break;
    case CODE_LOAD:
    case CODE_STORE: code_write_put_access(w, e); break;
    case CODE_MEMORY: code_write_put_memory(w, e); break;
    case CODE_SELECT: wasm_put_op(w->out, WASM_OP_SELECT); break;
    case CODE_DROP: wasm_put_op(w->out, WASM_OP_DROP); break;
    default: break;
    }
    return true;
}

void code_write(const CodeFn *f, const uint32_t *handles, Buf *out) {
    assert(f->body);
    Writer w = {.out = out, .handles = handles};
    vec_push(&w.labels, UINT32_MAX);
    code_write_put(&w, f->body);
    wasm_put_op(out, WASM_OP_END);
    vec_free(&w.labels);
}
