/*
 * runtime/site/site.c - the cursor that knows an instruction, and questions about it.
 */
#include "site_state.h"

/* ---- cursors ---- */

void site_decode(WasmCode *c, WasmInstr *i) {
    bool more = c->at != c->end || wasm_code_fail(c, c->end, "unexpected end");
    if (!more || !wasm_next_long(c, i))
        site_read_fail(c);
}

bool site_restart(SiteCursor *c, uint32_t fid, uint32_t pc) {
    if (c->func == fid + 1 && (c->index == 0 || c->i.offset <= pc))
        return false;
    *c = (SiteCursor){.func = fid + 1};
    return true;
}

void site_next(SiteCursor *c, WasmCode *r) {
    r->at = r->start + (c->index ? c->i.offset + c->i.size : S->code);
    if (r->at == r->end)
        site_fail(SITE_NO_INSTRUCTION, c->func, (uint32_t)(r->at - r->start));
    site_decode(r, &c->i);
    c->index++;
}

void site_arrived(const SiteCursor *c, uint32_t pc) {
    if (c->i.offset != pc)
        site_fail(SITE_NO_INSTRUCTION, c->func, pc);
}

/* The cursor with the shortest way to the location; if all are after it, one that is not needed. */
static SiteCursor *nearest(uint32_t fid, uint32_t pc) {
    SiteCursor *best = NULL, *spare = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        SiteCursor *c = &S->plain[k];
        bool here = c->func == fid + 1;
        if (here && c->i.offset <= pc && (!best || c->i.offset > best->i.offset))
            best = c;
        if (!spare || (spare->func == fid + 1 && (!here || c->i.offset < spare->i.offset)))
            spare = c;
    }
    return best ? best : spare;
}

const SiteCursor *site_plain(uint32_t fid, uint32_t pc) {
    SiteCursor *c = nearest(fid, pc);
    site_restart(c, fid, pc);
    if (site_before(c, pc)) {
        WasmCode r = site_body(fid);
        while (site_before(c, pc)) {
            c->previous = c->index ? c->i.op + 1u : 0;
            c->previous_a = c->i.a;
            site_next(c, &r);
        }
    }
    site_arrived(c, pc);
    return c;
}

const WasmInstr *site_at(uint32_t fid, uint32_t pc) {
    return &site_plain(fid, pc)->i;
}

/* ---- questions ---- */

SITE_EXPORT(op)
uint32_t site_op(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->op;
}

SITE_EXPORT(opidx)
uint32_t site_opidx(uint32_t fid, uint32_t pc) {
    if (pc == 0) /* the function's entry */
        return 0;
    return site_plain(fid, pc)->index - 1;
}

SITE_EXPORT(fn_size)
uint32_t site_fn_size(uint32_t fid) {
    uint32_t size = reflect_read_function_body(fid, 0, 0);
    if (!size)
        site_fail(SITE_NO_BODY, fid + 1, 0);
    return size;
}

SITE_EXPORT(fn_params)
uint32_t site_fn_params(uint32_t fid) {
    return site_func_type(fid)->nparams;
}

SITE_EXPORT(func_end)
uint32_t site_func_end(uint32_t fid) {
    return site_fn_size(fid) - 1;
}

SITE_EXPORT(last)
uint32_t site_last(uint32_t fid, uint32_t pc) {
    return pc == site_func_end(fid);
}

/* Label n of a br_table; the default is after the others. */
static uint32_t table_label(const WasmInstr *i, uint32_t n) {
    const uint8_t *p = i->vec;
    uint32_t label = i->a;
    for (uint32_t k = 0; n < i->count && k <= n; k++)
        label = wasm_vec_u32(&p);
    return label;
}

/* Immediate n, as the language counts. */
static bool immediate(const WasmInstr *i, uint32_t n, uint64_t *out) {
    WasmImm imm = wasm_imm(i->op);
    *out = 0;
    switch (imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_ZERO:
    case WASM_IMM_BLOCK:
    case WASM_IMM_TRY_TABLE:
    case WASM_IMM_SELECT:
    case WASM_IMM_HEAP: return false;
    case WASM_IMM_I32:
    case WASM_IMM_I64:
    case WASM_IMM_F32:
    case WASM_IMM_F64: *out = i->c; return n == 0;
    case WASM_IMM_BR_TABLE: *out = table_label(i, n); return n <= i->count;
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE:
        *out = n == 0 ? i->a : n == 1 ? i->b : n == 2 ? i->c : i->count;
        return n < (imm == WASM_IMM_MEMARG ? 3u : 4u);
    case WASM_IMM_LANES16:
    case WASM_IMM_V128:
        if (n < 16)
            *out = i->vec[n];
        return n < 16;
    case WASM_IMM_LANE:
    case WASM_IMM_CAST:
    case WASM_IMM_RESUME: *out = i->a; return n == 0;
    case WASM_IMM_RESUME_TAG: *out = n == 0 ? i->a : i->b; return n < 2;
    default: *out = n == 0 ? i->a : i->b; return n < wasm_imm_indices(imm);
    }
}

SITE_EXPORT(imm)
uint64_t site_imm(uint32_t fid, uint32_t pc, uint32_t n) {
    uint64_t v;
    return immediate(site_at(fid, pc), n, &v) ? v : 0;
}

SITE_EXPORT(has_imm)
uint32_t site_has_imm(uint32_t fid, uint32_t pc, uint32_t n) {
    uint64_t v;
    return immediate(site_at(fid, pc), n, &v);
}

SITE_EXPORT(num_targets)
uint32_t site_num_targets(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->count;
}

SITE_EXPORT(table_target)
uint64_t site_table_target(uint32_t fid, uint32_t pc, uint32_t n) {
    const WasmInstr *i = site_at(fid, pc);
    return n < i->count ? table_label(i, n) : 0;
}

SITE_EXPORT(table_targets)
uint32_t site_table_targets(uint32_t fid, uint32_t pc) {
    const WasmInstr *i = site_at(fid, pc);
    const uint8_t *p = i->vec;
    uint32_t n = i->count, list = values_str_new(4 * (n + 1));
    for (uint32_t k = 0; k <= n; k++)
        words_at(list + 4)[k] = k < n ? wasm_vec_u32(&p) : 0;
    return values_str_intern(list);
}

SITE_EXPORT(offset)
uint64_t site_offset(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->c;
}

/* As accessed_memory of the compiler (event/fold.c). */
SITE_EXPORT(memory)
uint32_t site_memory(uint32_t fid, uint32_t pc) {
    const WasmInstr *i = site_at(fid, pc);
    WasmImm imm = wasm_imm(i->op);
    return imm == WASM_IMM_MEMORY || imm == WASM_IMM_MEMORY_MEMORY ? i->a : i->b;
}

SITE_EXPORT(resolved_fid)
uint32_t site_resolved_fid(uint32_t fid, uint32_t pc) {
    const SiteCursor *c = site_plain(fid, pc);
    if (c->i.op == WASM_OP_REF_FUNC)
        return c->i.a;
    return c->previous == WASM_OP_REF_FUNC + 1 ? c->previous_a : UINT32_MAX;
}
