/*
 * monitor/read/imm.c - the immediates of instructions as engines number them.
 */
#include "monitor/read/imm.h"

static bool i32(MonitorValue *out, uint64_t v) {
    *out = (MonitorValue){WASM_I32, {(uint32_t)v, 0}};
    return true;
}

/* Immediates that are numbers of 32 bits. */
static bool imm_pick(MonitorValue *out, uint32_t n, const uint32_t *list, uint32_t count) {
    return n < count && i32(out, list[n]);
}

/* The first byte of a type as a signed number of 7 bits. */
static uint32_t short_form(uint32_t byte) {
    return byte - 0x80;
}

static uint32_t heap_number(WasmType t) {
    uint32_t heap = WASM_HEAP_OF(t);
    return heap & WASM_ABSTRACT_BIT ? short_form(heap & 0xff) : heap;
}

static uint32_t block_number(WasmType t) {
    if (t & WASM_FUNC_TYPE_BIT && !WASM_IS_REF(t))
        return t & ~WASM_FUNC_TYPE_BIT;
    if (!WASM_IS_REF(t))
        return short_form(t);
    bool nullable = t & WASM_NULL_BIT;
    if (nullable && WASM_HEAP_OF(t) & WASM_ABSTRACT_BIT)
        return heap_number(t);
    return short_form(nullable ? 0x63 : 0x64);
}

static bool imm_br_table(const WasmInstr *i, uint32_t n, MonitorValue *out) {
    const uint8_t *at = i->vec;
    uint32_t label = i->count;
    if (n > i->count)
        return n == i->count + 1 && i32(out, i->a);
    for (uint32_t k = 0; k < n; k++)
        label = wasm_vec_u32(&at);
    return i32(out, label);
}

static uint64_t imm_word(const uint8_t *p) {
    uint64_t v = 0;
    for (uint32_t k = 0; k < 8; k++)
        v |= (uint64_t)p[k] << 8 * k;
    return v;
}

static bool imm_constant(const WasmInstr *i, WasmType type, uint32_t n, MonitorValue *out) {
    uint64_t bits = type == WASM_I32 || type == WASM_F32 ? (uint32_t)i->c : i->c;
    *out = (MonitorValue){type, {bits, 0}};
    if (type == WASM_V128)
        *out = (MonitorValue){type, {imm_word(i->vec), imm_word(i->vec + 8)}};
    return n == 0;
}

bool monitor_imm(const WasmInstr *i, uint32_t n, MonitorValue *out) {
    WasmImm imm = wasm_ops[i->op].imm;
    switch (imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_CAST:
    case WASM_IMM_SELECT: return false;
    case WASM_IMM_ZERO: return n == 0 && i32(out, 0);
    case WASM_IMM_BLOCK:
    case WASM_IMM_TRY_TABLE: return n == 0 && i32(out, block_number(i->type));
    case WASM_IMM_BR_TABLE: return imm_br_table(i, n, out);
    case WASM_IMM_LANE: return n == 0 && i32(out, i->a);
    case WASM_IMM_MEMARG: return imm_pick(out, n, (uint32_t[]){i->a, i->b, (uint32_t)i->c}, 3);
    case WASM_IMM_MEMARG_LANE:
        return imm_pick(out, n, (uint32_t[]){i->a, i->b, (uint32_t)i->c, i->count}, 4);
    case WASM_IMM_LANES16: return n < 16 && i32(out, i->vec[n]);
    case WASM_IMM_I32: return imm_constant(i, WASM_I32, n, out);
    case WASM_IMM_I64: return imm_constant(i, WASM_I64, n, out);
    case WASM_IMM_F32: return imm_constant(i, WASM_F32, n, out);
    case WASM_IMM_F64: return imm_constant(i, WASM_F64, n, out);
    case WASM_IMM_V128: return imm_constant(i, WASM_V128, n, out);
    case WASM_IMM_HEAP: return n == 0 && i32(out, heap_number(i->type));
    case WASM_IMM_RESUME: return n == 0 && i32(out, i->a);
    case WASM_IMM_RESUME_TAG: return imm_pick(out, n, (uint32_t[]){i->a, i->b}, 2);
    default: return imm_pick(out, n, (uint32_t[]){i->a, i->b}, wasm_imm_indices(imm));
    }
}
