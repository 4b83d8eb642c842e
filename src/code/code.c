/*
 * code/code.c - building trees of expressions, and their effects.
 */
#include "code/code.h"

#include <assert.h>

void code_free(CodeModule *c) {
    for (uint32_t i = 0; i < c->fns.len; i++)
        vec_free(&c->fns.at[i].locals);
    vec_free(&c->fns);
    vec_free(&c->names);
    map_free(&c->name_numbers);
    map_free(&c->fn_numbers);
    arena_free(&c->arena);
}

/* ---- names ---- */

static CodeName *code_name_of(CodeModule *c, const char *text, bool *added) {
    uint64_t n = *map_put(&c->name_numbers, str_of(text), c->names.len, added);
    if (*added)
        vec_push(&c->names, ((CodeName){.text = arena_strndup(&c->arena, text, strlen(text))}));
    return &c->names.at[n];
}

static uint32_t code_number_of(const CodeModule *c, const CodeName *name) {
    return (uint32_t)(name - c->names.at);
}

uint32_t code_name(CodeModule *c, const char *text, WasmType type, bool mutable) {
    bool added;
    CodeName *name = code_name_of(c, text, &added);
    if (added) {
        name->type = type;
        name->mutable = mutable;
    }
    return code_number_of(c, name);
}

static void code_import(CodeModule *c, CodeName *name, const char *module, const char *base) {
    name->module = arena_strndup(&c->arena, module, strlen(module));
    name->base = arena_strndup(&c->arena, base, strlen(base));
}

void code_import_global(CodeModule *c, const char *text, const char *module, const char *base,
                        WasmType type) {
    bool added;
    CodeName *name = code_name_of(c, text, &added);
    if (!added)
        return;
    name->type = type;
    name->mutable = true;
    code_import(c, name, module, base);
}

static const WasmType *code_copy_types(CodeModule *c, const WasmType *types, uint32_t n) {
    WasmType *copy = arena_array(&c->arena, WasmType, n + 1);
    if (n)
        memcpy(copy, types, n * sizeof *types);
    return copy;
}

void code_import_func(CodeModule *c, const char *text, const char *module, const char *base,
                      const WasmTypeDef *type) {
    bool added;
    CodeName *name = code_name_of(c, text, &added);
    if (!added)
        return;
    name->func = true;
    name->type = type->nresults == 1 ? type->results[0] : WASM_NONE;
    name->params = code_copy_types(c, type->params, type->nparams);
    name->results = code_copy_types(c, type->results, type->nresults);
    name->nparams = type->nparams;
    name->nresults = type->nresults;
    code_import(c, name, module, base);
}

/* ---- building ---- */

uint32_t code_label(CodeModule *c) {
    return ++c->nlabels;
}

void code_note_leaves(CodeNode *e) {
    if (e->kind == CODE_IF) {
        e->leaves =
            e->kids[0]->leaves || (e->nkids == 3 && e->kids[1]->leaves && e->kids[2]->leaves);
        return;
    }
    e->leaves =
        e->kind == CODE_TRAP || e->kind == CODE_RETURN || (e->kind == CODE_BRANCH && !e->nkids);
    for (uint32_t i = 0; i < e->nkids; i++)
        e->leaves |= e->kids[i]->leaves;
    if (e->kind == CODE_BLOCK && e->n)
        e->leaves = false; /* there may be branches to its end */
}

CodeNode *code_node(CodeModule *c, CodeKind kind, WasmType type, CodeNode *const *kids,
                    uint32_t nkids) {
    CodeNode *e = arena_new(&c->arena, CodeNode);
    e->kind = (uint8_t)kind;
    e->type = type;
    e->nkids = nkids;
    if (nkids)
        e->kids = memcpy(arena_array(&c->arena, CodeNode *, nkids), kids, nkids * sizeof *kids);
    code_note_leaves(e);
    return e;
}

/* A node with a number and at most one kid, which may be NULL. */
static CodeNode *code_numbered(CodeModule *c, CodeKind kind, WasmType type, uint32_t n,
                               CodeNode *kid) {
    CodeNode *e = code_node(c, kind, type, &kid, kid ? 1 : 0);
    e->n = n;
    return e;
}

/* Whether an expression can be an operand of this type. Unreachable code fits any. */
static bool code_has_type(const CodeNode *e, WasmType type) {
    return e->leaves || e->type == type;
}

/* Whether it can be an operand of any type. */
static bool code_has_value(const CodeNode *e) {
    return e->leaves || e->type != WASM_NONE;
}

CodeNode *code_nop(CodeModule *c) {
    return code_node(c, CODE_NOP, WASM_NONE, NULL, 0);
}

CodeNode *code_trap(CodeModule *c) {
    return code_node(c, CODE_TRAP, WASM_NONE, NULL, 0);
}

CodeNode *code_const(CodeModule *c, WasmType type, uint64_t bits) {
    CodeNode *e = code_node(c, CODE_CONST, type, NULL, 0);
    e->bits = type == WASM_I32 || type == WASM_F32 ? (uint32_t)bits : bits;
    return e;
}

CodeNode *code_i32(CodeModule *c, uint32_t value) {
    return code_const(c, WASM_I32, value);
}

CodeNode *code_i64(CodeModule *c, uint64_t value) {
    return code_const(c, WASM_I64, value);
}

CodeNode *code_f64(CodeModule *c, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return code_const(c, WASM_F64, bits);
}

CodeNode *code_null(CodeModule *c) {
    return code_node(c, CODE_NULL, WASM_FUNCREF, NULL, 0);
}

CodeNode *code_get(CodeModule *c, uint32_t local, WasmType type) {
    return code_numbered(c, CODE_LOCAL_GET, type, local, NULL);
}

CodeNode *code_set(CodeModule *c, uint32_t local, CodeNode *value) {
    assert(code_has_value(value));
    return code_numbered(c, CODE_LOCAL_SET, WASM_NONE, local, value);
}

CodeNode *code_tee(CodeModule *c, uint32_t local, CodeNode *value) {
    assert(code_has_value(value));
    return code_numbered(c, CODE_LOCAL_TEE, value->type, local, value);
}

CodeNode *code_global(CodeModule *c, const char *name, WasmType type) {
    uint32_t n = code_name(c, name, type, true);
    assert(c->names.at[n].type == type && !c->names.at[n].func);
    return code_numbered(c, CODE_NAME_GET, type, n, NULL);
}

CodeNode *code_set_global(CodeModule *c, const char *name, CodeNode *value) {
    uint32_t n = code_name(c, name, value->type, true);
    assert(code_has_type(value, c->names.at[n].type) && c->names.at[n].mutable);
    return code_numbered(c, CODE_NAME_SET, WASM_NONE, n, value);
}

/* A function that was not imported is defined here. */
static uint32_t code_called_name(CodeModule *c, const char *text, WasmType result) {
    bool added;
    CodeName *name = code_name_of(c, text, &added);
    if (added) {
        name->func = true;
        name->type = result;
    }
    assert(name->func);
    return code_number_of(c, name);
}

CodeNode *code_call(CodeModule *c, const char *name, CodeNode *const *args, uint32_t nargs,
                    WasmType result) {
    CodeNode *e = code_node(c, CODE_CALL, result, args, nargs);
    e->n = code_called_name(c, name, result);
    assert(c->names.at[e->n].type == result);
    assert(!c->names.at[e->n].module || c->names.at[e->n].nparams == nargs);
    return e;
}

CodeNode *code_call_into(CodeModule *c, const char *name, CodeNode *const *args, uint32_t nargs,
                         const char *const *globals, const WasmType *types, uint32_t nresults) {
    CodeNode **kids = arena_array(&c->arena, CodeNode *, nargs + nresults + 1);
    if (nargs)
        memcpy(kids, args, nargs * sizeof *args);
    for (uint32_t i = nresults; i-- > 0;)
        kids[nargs + nresults - 1 - i] = code_numbered(
            c, CODE_NAME_SET, WASM_NONE, code_name(c, globals[i], types[i], true), NULL);
    CodeNode *e = code_node(c, CODE_CALL, WASM_NONE, kids, nargs + nresults);
    e->n = code_called_name(c, name, WASM_NONE);
    assert(c->names.at[e->n].nresults == nresults);
    return e;
}

WasmType code_letter_type(char letter) {
    switch (letter) {
    case 'l': return WASM_I64;
    case 'f': return WASM_F32;
    case 'd': return WASM_F64;
    case 0: return WASM_NONE;
    default: return WASM_I32;
    }
}

/* The type of an instruction's operand; WASM_NONE = it has fewer. */
static WasmType code_operand_type(WasmOp op, uint32_t n) {
    const char *operands = wasm_ops[op].operands;
    return strlen(operands) > n ? code_letter_type(operands[n]) : WASM_NONE;
}

static WasmType result_type(WasmOp op) {
    return code_letter_type(wasm_ops[op].results[0]);
}

static CodeNode *plain(CodeModule *c, CodeKind kind, WasmOp op, CodeNode *const *kids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        assert(code_has_type(kids[i], code_operand_type(op, i)));
    assert(code_operand_type(op, n) == WASM_NONE);
    CodeNode *e = code_node(c, kind, result_type(op), kids, n);
    e->op = (uint16_t)op;
    return e;
}

CodeNode *code_op1(CodeModule *c, WasmOp op, CodeNode *x) {
    return plain(c, CODE_PLAIN, op, &x, 1);
}

CodeNode *code_op2(CodeModule *c, WasmOp op, CodeNode *x, CodeNode *y) {
    return plain(c, CODE_PLAIN, op, (CodeNode *[]){x, y}, 2);
}

CodeNode *code_load(CodeModule *c, WasmOp op, CodeNode *at, uint32_t offset) {
    CodeNode *e = plain(c, CODE_LOAD, op, &at, 1);
    e->bits = offset;
    return e;
}

CodeNode *code_store(CodeModule *c, WasmOp op, CodeNode *at, uint32_t offset, CodeNode *value) {
    CodeNode *e = plain(c, CODE_STORE, op, (CodeNode *[]){at, value}, 2);
    e->bits = offset;
    return e;
}

CodeNode *code_memory(CodeModule *c, WasmOp op, CodeNode *to, CodeNode *from, CodeNode *bytes) {
    return plain(c, CODE_MEMORY, op, (CodeNode *[]){to, from, bytes}, 3);
}

CodeNode *code_select(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no) {
    assert(code_has_type(condition, WASM_I32) && code_has_type(no, yes->type));
    return code_node(c, CODE_SELECT, yes->type, (CodeNode *[]){yes, no, condition}, 3);
}

CodeNode *code_drop(CodeModule *c, CodeNode *x) {
    assert(code_has_value(x));
    return code_node(c, CODE_DROP, WASM_NONE, &x, 1);
}

CodeNode *code_block(CodeModule *c, uint32_t label, CodeNode *const *kids, uint32_t nkids) {
    assert(!nkids || kids[nkids - 1]);
    CodeNode *e = code_node(c, CODE_BLOCK, nkids ? kids[nkids - 1]->type : WASM_NONE, kids, nkids);
    e->n = label;
    code_note_leaves(e);
    return e;
}

CodeNode *code_loop(CodeModule *c, uint32_t label, CodeNode *body) {
    assert(label && code_has_type(body, WASM_NONE));
    return code_numbered(c, CODE_LOOP, WASM_NONE, label, body);
}

CodeNode *code_if(CodeModule *c, CodeNode *condition, CodeNode *yes, CodeNode *no) {
    CodeNode *kids[] = {condition, yes, no};
    WasmType type = !no ? WASM_NONE : yes->leaves ? no->type : yes->type;
    assert(code_has_type(condition, WASM_I32) && code_has_type(yes, type) &&
           (!no || code_has_type(no, type)));
    return code_node(c, CODE_IF, type, kids, no ? 3 : 2);
}

CodeNode *code_branch(CodeModule *c, uint32_t label, CodeNode *condition) {
    assert(label && (!condition || code_has_type(condition, WASM_I32)));
    return code_numbered(c, CODE_BRANCH, WASM_NONE, label, condition);
}

CodeNode *code_return(CodeModule *c, CodeNode *value) {
    return code_node(c, CODE_RETURN, WASM_NONE, &value, value ? 1 : 0);
}

void code_add(CodeModule *c, const char *name, const WasmType *params, uint32_t nparams,
              WasmType result, const WasmType *locals, uint32_t nlocals, CodeNode *body) {
    assert(!code_find(c, str_of(name))); /* names are unique */
    CodeFn f = {.name = arena_strndup(&c->arena, name, strlen(name)),
                .nparams = nparams,
                .params = code_copy_types(c, params, nparams),
                .result = result,
                .body = body};
    assert(code_has_type(body, result));
    for (uint32_t i = 0; i < nlocals; i++)
        vec_push(&f.locals, locals[i]);
    map_put(&c->fn_numbers, str_of(name), c->fns.len, NULL);
    vec_push(&c->fns, f);
}

CodeFn *code_find(CodeModule *c, Str name) {
    const uint64_t *n = map_get(&c->fn_numbers, name);
    return n ? &c->fns.at[*n] : NULL;
}

/* ---- effects ---- */

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
    case CODE_MEMORY: fx->loads = fx->stores = fx->traps = true; break;
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
    assert(all != fx);
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

/* Whether a changes anything that b reads or changes, or whether b is evaluated at all. */
static bool disturbs(const CodeEffects *a, const CodeEffects *b) {
    bool outside = b->names_set || b->stores || b->calls; /* b's effects are visible to others */
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
