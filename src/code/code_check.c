/*
 * code/code_check.c - the invariants of a function between steps: operands have the types that
 * their instructions take, locals their declared types, and branches go to enclosing labels.
 * Unreachable code is not checked.
 */
#include "code/code.h"

typedef struct Checker {
    const CodeModule *c;
    const CodeFn *f;
    Vec(uint32_t) labels; /* around the node */
} Checker;

static bool check_node(Checker *k, const CodeNode *e);

static bool is_of_type(const CodeNode *e, WasmType type) {
    return e->leaves || e->type == type;
}

static bool is_label_around(const Checker *k, uint32_t label) {
    for (uint32_t i = 0; i < k->labels.len; i++)
        if (k->labels.at[i] == label)
            return true;
    return false;
}

static bool is_local(const Checker *k, uint32_t local, WasmType type) {
    const CodeFn *f = k->f;
    if (local >= f->nparams + f->locals.len)
        return false;
    return type == (local < f->nparams ? f->params[local] : f->locals.at[local - f->nparams]);
}

/* Kids are of the types that the letters stand for (wasm_ops). */
static bool code_check_check_operands(const CodeNode *e) {
    const char *operands = wasm_ops[e->op].operands;
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!operands[i] || !is_of_type(e->kids[i], code_letter_type(operands[i])))
            return false;
    return !operands[e->nkids];
}

static bool code_check_check_if(const CodeNode *e) {
    bool both = e->nkids == 3, value = e->type != WASM_NONE;
    return (both || (e->nkids == 2 && !value)) && is_of_type(e->kids[0], WASM_I32) &&
           is_of_type(e->kids[1], e->type) && (!both || is_of_type(e->kids[2], e->type));
}

static bool check_own(const Checker *k, const CodeNode *e) {
    const CodeNode *kid = e->nkids ? e->kids[0] : NULL;
    switch ((CodeKind)e->kind) {
    case CODE_LOCAL_GET: return is_local(k, e->n, e->type);
    case CODE_LOCAL_SET: return kid->leaves || is_local(k, e->n, kid->type);
    case CODE_LOCAL_TEE: return kid->leaves || (kid->type == e->type && is_local(k, e->n, e->type));
    case CODE_NAME_GET: return k->c->names.at[e->n].type == e->type;
    case CODE_NAME_SET: return !kid || is_of_type(kid, k->c->names.at[e->n].type);
    case CODE_CALL: return k->c->names.at[e->n].func;
    case CODE_PLAIN:
    case CODE_LOAD:
    case CODE_STORE:
    case CODE_MEMORY: return code_check_check_operands(e);
    case CODE_SELECT:
        return is_of_type(kid, e->type) && is_of_type(e->kids[1], e->type) &&
               is_of_type(e->kids[2], WASM_I32);
    case CODE_DROP: return kid->leaves || kid->type != WASM_NONE;
    case CODE_IF: return code_check_check_if(e);
    case CODE_BRANCH: return is_label_around(k, e->n) && (!kid || is_of_type(kid, WASM_I32));
    case CODE_RETURN:
        return k->f->result == WASM_NONE ? !kid : kid && is_of_type(kid, k->f->result);
    default: return true;
    }
}

static bool check_node(Checker *k, const CodeNode *e) {
    bool labels = (e->kind == CODE_BLOCK || e->kind == CODE_LOOP) && e->n, ok = true;
    if (labels)
        vec_push(&k->labels, e->n);
    uint32_t n = 0;
    while (n < e->nkids && ok && !(n && e->kids[n - 1]->leaves && !(e->kind == CODE_IF && n > 1)))
        ok = check_node(k, e->kids[n++]);
    k->labels.len -= labels;
    return ok && (n < e->nkids || check_own(k, e));
}

bool code_is_sound(const CodeModule *c, const CodeFn *f) {
    Checker k = {.c = c, .f = f};
    bool ok = is_of_type(f->body, f->result) && check_node(&k, f->body);
    vec_free(&k.labels);
    return ok;
}
