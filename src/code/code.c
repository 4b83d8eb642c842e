/*
 * code/code.c - building trees of expressions, and what they do.
 */
#include "code/code.h"

#include "wasm/op.h"

void code_free(CodeModule *c) {
    for (uint32_t i = 0; i < c->fns.len; i++)
        vec_free(&c->fns.at[i].locals);
    vec_free(&c->fns);
    vec_free(&c->names);
    map_free(&c->name_numbers);
    map_free(&c->labels);
    map_free(&c->fn_numbers);
    arena_free(&c->arena);
}

/* ---- building ---- */

uint32_t code_name(CodeModule *c, const char *text, WasmType type, bool mutable) {
    bool added;
    uint32_t n = (uint32_t)*map_put(&c->name_numbers, str_of(text), c->names.len, &added);
    if (added)
        vec_push(&c->names,
                 ((CodeName){arena_strndup(&c->arena, text, strlen(text)), type, mutable}));
    return n;
}

uint32_t code_label(CodeModule *c, const char *name) {
    return name ? (uint32_t)*map_put(&c->labels, str_of(name), c->labels.len + 1, NULL) : 0;
}

CodeNode *code_node(CodeModule *c, CodeKind kind, WasmType type, CodeNode *const *kids,
                    uint32_t nkids) {
    CodeNode *e = arena_new(&c->arena, CodeNode);
    e->kind = (uint8_t)kind;
    e->type = type;
    e->nkids = nkids;
    if (nkids)
        e->kids = memcpy(arena_array(&c->arena, CodeNode *, nkids), kids, nkids * sizeof *kids);
    e->leaves = kind == CODE_TRAP || kind == CODE_RETURN || (kind == CODE_BRANCH && !nkids);
    for (uint32_t i = 0; i < nkids; i++)
        e->leaves |= kids[i]->leaves;
    return e;
}

CodeNode *code_const(CodeModule *c, WasmType type, uint64_t bits) {
    CodeNode *e = code_node(c, CODE_CONST, type, NULL, 0);
    e->bits = type == WASM_I32 || type == WASM_F32 ? (uint32_t)bits : bits;
    return e;
}

static WasmType type_of_letter(char letter) {
    switch (letter) {
    case 'l': return WASM_I64;
    case 'f': return WASM_F32;
    case 'd': return WASM_F64;
    case 0: return WASM_NONE;
    default: return WASM_I32;
    }
}

CodeNode *code_plain(CodeModule *c, WasmOp op, CodeNode *x, CodeNode *y) {
    CodeNode *kids[] = {x, y};
    CodeNode *e =
        code_node(c, CODE_PLAIN, type_of_letter(wasm_ops[op].results[0]), kids, y ? 2 : 1);
    e->op = (uint16_t)op;
    return e;
}

CodeNode *code_block(CodeModule *c, uint32_t label, CodeNode *const *kids, uint32_t nkids) {
    CodeNode *e = code_node(c, CODE_BLOCK, nkids ? kids[nkids - 1]->type : WASM_NONE, kids, nkids);
    e->n = label;
    if (label)
        e->leaves = false; /* there may be branches to its end */
    return e;
}

CodeNode *code_if(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no) {
    CodeNode *kids[] = {condition, yes, no};
    WasmType type = !no ? WASM_NONE : yes->leaves ? no->type : yes->type;
    CodeNode *e = code_node(c, CODE_IF, type, kids, no ? 3 : 2);
    e->leaves = condition->leaves || (no && yes->leaves && no->leaves);
    return e;
}

void code_add(CodeModule *c, const char *name, uint32_t nparams, WasmType result,
              const WasmType *locals, uint32_t nlocals, CodeNode *body) {
    CodeFn f = {arena_strndup(&c->arena, name, strlen(name)), nparams, result, body, {0}, NULL};
    for (uint32_t i = 0; i < nlocals; i++)
        vec_push(&f.locals, locals[i]);
    map_put(&c->fn_numbers, str_of(name), c->fns.len, NULL);
    vec_push(&c->fns, f);
}

CodeFn *code_find(CodeModule *c, Str name) {
    const uint64_t *n = map_get(&c->fn_numbers, name);
    return n ? &c->fns.at[*n] : NULL;
}

/* ---- what expressions do ---- */

static uint64_t bit(uint32_t n) {
    return UINT64_C(1) << n % 64;
}

void code_add_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx) {
    switch ((CodeKind)e->kind) {
    case CODE_TRAP: fx->traps = true; break;
    case CODE_LOCAL_GET: fx->locals_read |= bit(e->n); break;
    case CODE_LOCAL_SET:
    case CODE_LOCAL_TEE: fx->locals_set |= bit(e->n); break;
    case CODE_NAME_GET: fx->names_read |= c->names.at[e->n].mutable ? bit(e->n) : 0; break;
    case CODE_NAME_SET: fx->names_set |= bit(e->n); break;
    case CODE_CALL: fx->calls = true; break;
    case CODE_PLAIN: fx->traps |= op_can_trap((WasmOp)e->op); break;
    case CODE_LOAD: fx->loads = fx->traps = true; break;
    case CODE_STORE: fx->stores = fx->traps = true; break;
    case CODE_BRANCH:
    case CODE_RETURN: fx->branches = true; break;
    default: break;
    }
}

void code_all_effects(const CodeModule *c, const CodeNode *e, CodeEffects *fx) {
    for (uint32_t i = 0; i < e->nkids; i++)
        code_all_effects(c, e->kids[i], fx);
    code_add_effects(c, e, fx);
}

void code_join_effects(CodeEffects *all, const CodeEffects *fx) {
    all->locals_read |= fx->locals_read;
    all->locals_set |= fx->locals_set;
    all->names_read |= fx->names_read;
    all->names_set |= fx->names_set;
    all->loads |= fx->loads;
    all->stores |= fx->stores;
    all->calls |= fx->calls;
    all->traps |= fx->traps;
    all->branches |= fx->branches;
}

/* Whether a changes what b reads or changes, or whether b is evaluated at all. */
static bool disturbs(const CodeEffects *a, const CodeEffects *b) {
    bool outside = b->names_set || b->stores || b->calls; /* others see what b does */
    return a->locals_set & (b->locals_read | b->locals_set) ||
           a->names_set & (b->names_read | b->names_set) ||
           (a->stores && (b->loads || b->stores)) ||
           (a->calls && (b->names_read || b->loads || outside || b->traps)) ||
           (a->traps && outside) ||
           (a->branches && (outside || b->locals_set || b->traps || b->branches));
}

bool code_conflict(const CodeEffects *a, const CodeEffects *b) {
    return disturbs(a, b) || disturbs(b, a);
}

bool code_is_pure(const CodeModule *c, const CodeNode *e) {
    CodeEffects fx = {0};
    code_all_effects(c, e, &fx);
    return !(fx.locals_set || fx.names_set || fx.stores || fx.calls || fx.traps || fx.branches);
}
