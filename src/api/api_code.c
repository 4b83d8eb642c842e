/*
 * api/api_code.c - the public builder of code (include/whammc/module.h).
 */
#include "api/api_module.h"

WhammcCode *whammc_code_new(void) {
    return mem_zalloc(sizeof(WhammcCode));
}

void whammc_code_clear(WhammcCode *c) {
    c->bytes.len = 0;
}

void whammc_code_free(WhammcCode *c) {
    if (c)
        buf_free(&c->bytes);
    free(c);
}

void whammc_code_bytes(WhammcCode *c, const void *bytes, size_t size) {
    buf_bytes(&c->bytes, bytes, size);
}

static void put_index_op(WhammcCode *c, WasmOp op, uint32_t index) {
    wasm_put_op(&c->bytes, op);
    buf_uleb(&c->bytes, index);
}

void whammc_code_i32_const(WhammcCode *c, int32_t v) {
    wasm_put_op(&c->bytes, WASM_OP_I32_CONST);
    buf_sleb(&c->bytes, v);
}

void whammc_code_i64_const(WhammcCode *c, int64_t v) {
    wasm_put_op(&c->bytes, WASM_OP_I64_CONST);
    buf_sleb(&c->bytes, v);
}

void whammc_code_f32_const(WhammcCode *c, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    wasm_put_op(&c->bytes, WASM_OP_F32_CONST);
    buf_u32le(&c->bytes, bits);
}

void whammc_code_f64_const(WhammcCode *c, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    wasm_put_op(&c->bytes, WASM_OP_F64_CONST);
    buf_u64le(&c->bytes, bits);
}

void whammc_code_call(WhammcCode *c, uint32_t func) {
    put_index_op(c, WASM_OP_CALL, func);
}

void whammc_code_global_get(WhammcCode *c, uint32_t global) {
    put_index_op(c, WASM_OP_GLOBAL_GET, global);
}

void whammc_code_global_set(WhammcCode *c, uint32_t global) {
    put_index_op(c, WASM_OP_GLOBAL_SET, global);
}

void whammc_code_local_get(WhammcCode *c, uint32_t local) {
    put_index_op(c, WASM_OP_LOCAL_GET, local);
}

void whammc_code_local_set(WhammcCode *c, uint32_t local) {
    put_index_op(c, WASM_OP_LOCAL_SET, local);
}

void whammc_code_local_tee(WhammcCode *c, uint32_t local) {
    put_index_op(c, WASM_OP_LOCAL_TEE, local);
}

static void api_code_put_memarg(Buf *b, const uint64_t *imms) {
    buf_uleb(b, imms[0] | (imms[1] ? 0x40 : 0));
    if (imms[1])
        buf_uleb(b, imms[1]);
    buf_uleb(b, imms[2]);
}

/* Encodes `n` immediates; false if the shape has another number of them, or lists. */
static bool api_code_put_imms(Buf *b, uint8_t imm, const uint64_t *imms, uint32_t n) {
    switch ((WasmImm)imm) {
    case WASM_IMM_NONE: return n == 0;
    case WASM_IMM_ZERO: buf_u8(b, 0); return n == 0;
    case WASM_IMM_BLOCK: {
        if (n != 1)
            return false;
        buf_u8(b, (uint8_t)imms[0]);
        return true;
    }
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE:
        if (n != (imm == WASM_IMM_MEMARG ? 3 : 4))
            return false;
        api_code_put_memarg(b, imms);
        if (n == 4)
            buf_u8(b, (uint8_t)imms[3]);
        return true;
    case WASM_IMM_I32:
    case WASM_IMM_I64:
        if (n == 1)
            buf_sleb(b, imm == WASM_IMM_I32 ? (int32_t)(uint32_t)imms[0] : (int64_t)imms[0]);
        return n == 1;
    case WASM_IMM_F32:
        if (n == 1)
            buf_u32le(b, (uint32_t)imms[0]);
        return n == 1;
    case WASM_IMM_F64:
        if (n == 1)
            buf_u64le(b, imms[0]);
        return n == 1;
    case WASM_IMM_LANE:
        if (n == 1)
            buf_u8(b, (uint8_t)imms[0]);
        return n == 1;
    default:
        if (!n || n != wasm_imm_indices((WasmImm)imm))
            return false;
        for (uint32_t k = 0; k < n; k++)
            buf_uleb(b, (uint32_t)imms[k]);
        return true;
    }
}

bool whammc_code_op(WhammcCode *c, const char *mnemonic, const uint64_t *imms, uint32_t nimms) {
    uint32_t op = 0;
    while (op < WASM_OP_COUNT && strcmp(wasm_ops[op].mnemonic, mnemonic) != 0)
        op++;
    if (op == WASM_OP_COUNT)
        return false;
    size_t before = c->bytes.len;
    wasm_put_op(&c->bytes, (WasmOp)op);
    if (api_code_put_imms(&c->bytes, wasm_ops[op].imm, imms, nimms))
        return true;
    c->bytes.len = before;
    return false;
}
