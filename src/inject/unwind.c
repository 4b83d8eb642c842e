/*
 * inject/unwind.c - the region around a call that catches what leaves it. (Functions with many
 * calls have one region for all of them: splice_wants_one_region in splice.h.)
 *
 *     try (P -> R)  call  catch_all  ...handler...  rethrow 0  end
 *
 *     block (P -> R)
 *       block (P -> exnref)
 *         try_table (P -> R) (catch_all_ref 0)  call  end
 *         br 1
 *       end  ...handler...  throw_ref
 *     end
 */
#include "inject/unwind.h"

#include "wasm/emit.h"
#include "edit/catch_all.h"

/* Parameters of a region, deepest first. */
static void region_params(const UnwindCall *u, const WasmTypeDef *callee, WasmTypes *params) {
    const WasmInstr *i = u->instr;
    if (u->popped)
        return;
    for (uint32_t k = 0; k < callee->nparams; k++)
        vec_push(params, callee->params[k]);
    if (i->op == WASM_OP_CALL_INDIRECT)
        vec_push(params, wasm_table_address(u->m, i->b));
    else if (i->op == WASM_OP_CALL_REF)
        vec_push(params, WASM_REF(1, i->a));
}

static uint32_t callee_type(const UnwindCall *u) {
    const WasmInstr *i = u->instr;
    return i->op == WASM_OP_CALL ? u->m->funcs.at[i->a].type : i->a;
}

/* The block type; added to `add` unless that is NULL. */
static WasmType block_type(const UnwindCall *u, WasmModule *add, const WasmTypes *params,
                           const WasmType *results, uint32_t n) {
    if (!params->len && n < 2)
        return n ? results[0] : WASM_NONE;
    if (add)
        return WASM_FUNC_TYPE_BIT | wasm_add_func_type(add, params->at, params->len, results, n);
    return WASM_FUNC_TYPE_BIT |
           (uint32_t)wasm_find_func_type(u->m, params->at, params->len, results, n);
}

static WasmType region_type(const UnwindCall *u, WasmModule *add) {
    const WasmTypeDef *d = &u->m->types.at[callee_type(u)];
    if (u->instr->op == WASM_OP_CALL && !u->popped && (d->nparams || d->nresults > 1))
        return WASM_FUNC_TYPE_BIT | callee_type(u);
    WasmTypes params = {0};
    region_params(u, d, &params);
    WasmType type = block_type(u, add, &params, d->results, d->nresults);
    vec_free(&params);
    return type;
}

static WasmType caught_type(const UnwindCall *u, WasmModule *add) {
    static const WasmType exception = WASM_EXNREF;
    WasmTypes params = {0};
    region_params(u, &u->m->types.at[callee_type(u)], &params);
    WasmType type = block_type(u, add, &params, &exception, 1);
    vec_free(&params);
    return type;
}

void unwind_add_types(const UnwindCall *u, WasmModule *m) {
    region_type(u, m);
    if (u->form == WASM_EXCEPTIONS_REFS)
        caught_type(u, m);
}

void unwind_open(const UnwindCall *u, Buf *out) {
    WasmType type = region_type(u, NULL);
    if (u->form == WASM_EXCEPTIONS_REFS) {
        wasm_put_op(out, WASM_OP_BLOCK);
        wasm_put_type(out, type);
    }
    wasm_put_catch(out, u->form, type,
                   u->form == WASM_EXCEPTIONS_REFS ? caught_type(u, NULL) : WASM_NONE);
}

void unwind_caught(const UnwindCall *u, Buf *out) {
    if (u->form == WASM_EXCEPTIONS_REFS) {
        wasm_put_op(out, WASM_OP_END);
        put_index(out, WASM_OP_BR, 1);
    }
    wasm_put_caught(out, u->form);
}

void unwind_close(const UnwindCall *u, Buf *out) {
    wasm_put_rethrow(out, u->form);
    wasm_put_op(out, WASM_OP_END);
}
