/*
 * inject/unwind.c - the region around a call that catches exceptions leaving it. (Functions with
 * many calls have one region for all of them: splice_wants_one_region in splice.h.)
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

#include "edit/catch_all.h"
#include "valid/typer.h"
#include "wasm/emit.h"

/* Parameters and results of a region, deepest first. */
static void region_types(const UnwindCall *u, WasmTypes *params, WasmTypes *results) {
    wasm_call_types(u->m, u->instr, params, results);
    if (u->popped)
        params->len = 0;
}

/* Returns the block type; adds it to `add` unless that is NULL. */
static WasmType unwind_block_type(const UnwindCall *u, WasmModule *add, const WasmTypes *params,
                                  const WasmType *results, uint32_t n) {
    if (!params->len && n < 2)
        return n ? results[0] : WASM_NONE;
    if (add)
        return WASM_FUNC_TYPE_BIT | wasm_add_func_type(add, params->at, params->len, results, n);
    return WASM_FUNC_TYPE_BIT |
           (uint32_t)wasm_find_func_type(u->m, params->at, params->len, results, n);
}

static WasmType region_type(const UnwindCall *u, WasmModule *add) {
    if (u->instr->op == WASM_OP_CALL && !u->popped) {
        uint32_t callee = u->m->funcs.at[u->instr->a].type;
        const WasmTypeDef *d = &u->m->types.at[callee];
        if (d->nparams || d->nresults > 1)
            return WASM_FUNC_TYPE_BIT | callee;
    }
    WasmTypes params = {0}, results = {0};
    region_types(u, &params, &results);
    WasmType type = unwind_block_type(u, add, &params, results.at, results.len);
    vec_free(&params);
    vec_free(&results);
    return type;
}

static WasmType caught_type(const UnwindCall *u, WasmModule *add) {
    static const WasmType exception = WASM_EXNREF;
    WasmTypes params = {0}, results = {0};
    region_types(u, &params, &results);
    WasmType type = unwind_block_type(u, add, &params, &exception, 1);
    vec_free(&params);
    vec_free(&results);
    return type;
}

uint32_t unwind_blocks(const UnwindCall *u) {
    return u->form == WASM_EXCEPTIONS_REFS ? 3 : 1;
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
