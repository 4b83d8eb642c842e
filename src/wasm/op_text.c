/*
 * wasm/op_text.c - one instruction as text, close to the text format (indices as numbers, defaults
 * left out).
 */
#include "wasm/op_text.h"

#include <math.h>
#include <stdio.h>

enum { LIST_MAX = 8 }; /* of longer lists only the beginning is shown */

static void op_text_put_type(Buf *out, WasmType t) {
    char buf[32];
    if (WASM_IS_REF(t) || !(t & WASM_FUNC_TYPE_BIT))
        buf_printf(out, " %s", wasm_type_text(t, buf));
    else
        buf_printf(out, " (type %u)", t & ~WASM_FUNC_TYPE_BIT);
}

/* A block's type: a result, or a function type. */
static void op_text_put_block(Buf *out, const WasmInstr *i) {
    char buf[32];
    if (i->type == WASM_NONE)
        return;
    if (WASM_IS_REF(i->type) || !(i->type & WASM_FUNC_TYPE_BIT))
        buf_printf(out, " (result %s)", wasm_type_text(i->type, buf));
    else
        op_text_put_type(out, i->type);
}

static void put_catches(Buf *out, const WasmInstr *i) {
    static const char *const kinds[] = {"catch", "catch_ref", "catch_all", "catch_all_ref"};
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count && k < LIST_MAX; k++) {
        WasmCatch c = wasm_vec_catch(&at);
        buf_printf(out, " (%s", kinds[c.kind & 3]);
        if (c.kind < 2)
            buf_printf(out, " %u", c.tag);
        buf_printf(out, " %u)", c.label);
    }
    if (i->count > LIST_MAX)
        buf_printf(out, " ... (%u)", i->count);
}

static void op_text_put_handlers(Buf *out, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    buf_printf(out, " %u", i->a);
    if (wasm_ops[i->op].imm == WASM_IMM_RESUME_TAG)
        buf_printf(out, " %u", i->b);
    for (uint32_t k = 0; k < i->count && k < LIST_MAX; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        if (h.switches)
            buf_printf(out, " (on %u switch)", h.tag);
        else
            buf_printf(out, " (on %u %u)", h.tag, h.label);
    }
    if (i->count > LIST_MAX)
        buf_printf(out, " ... (%u)", i->count);
}

static void put_select_types(Buf *out, const WasmInstr *i) {
    char buf[32];
    const uint8_t *at = i->vec;
    buf_str(out, STR(" (result"));
    for (uint32_t k = 0; k < i->count && k < LIST_MAX; k++)
        buf_printf(out, " %s", wasm_type_text(wasm_vec_type(&at), buf));
    buf_u8(out, ')');
}

static void op_text_put_memarg(Buf *out, const WasmInstr *i) {
    unsigned long long align = 1ull << (i->a & 63);
    if (i->b)
        buf_printf(out, " %u", i->b);
    if (i->c)
        buf_printf(out, " offset=%llu", (unsigned long long)i->c);
    if (align != wasm_access_bytes((WasmOp)i->op))
        buf_printf(out, " align=%llu", align);
}

static void put_float(Buf *out, double v) {
    if (isnan(v))
        buf_printf(out, " nan");
    else if (isinf(v))
        buf_printf(out, v < 0 ? " -inf" : " inf");
    else
        buf_printf(out, " %.17g", v);
}

static void put_labels(Buf *out, const WasmInstr *i) {
    const uint8_t *at = i->vec;
    for (uint32_t k = 0; k < i->count && k < LIST_MAX; k++)
        buf_printf(out, " %u", wasm_vec_u32(&at));
    if (i->count > LIST_MAX)
        buf_printf(out, " ... (%u)", i->count);
    buf_printf(out, " %u", i->a);
}

void wasm_instr_text(Buf *out, const WasmInstr *i) {
    float f;
    double d;
    uint32_t bits = (uint32_t)i->c;
    buf_printf(out, "%s", wasm_ops[i->op].mnemonic);
    switch ((WasmImm)wasm_ops[i->op].imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_ZERO: break;
    case WASM_IMM_BLOCK: op_text_put_block(out, i); break;
    case WASM_IMM_TRY_TABLE:
        op_text_put_block(out, i);
        put_catches(out, i);
        break;
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: op_text_put_handlers(out, i); break;
    case WASM_IMM_SELECT: put_select_types(out, i); break;
    case WASM_IMM_HEAP: op_text_put_type(out, i->type); break;
    case WASM_IMM_CAST:
        buf_printf(out, " %u", i->a);
        op_text_put_type(out, i->type);
        op_text_put_type(out, i->type2);
        break;
    case WASM_IMM_BR_TABLE: put_labels(out, i); break;
    case WASM_IMM_MEMARG: op_text_put_memarg(out, i); break;
    case WASM_IMM_MEMARG_LANE:
        op_text_put_memarg(out, i);
        buf_printf(out, " %u", i->count);
        break;
    case WASM_IMM_I32:
    case WASM_IMM_I64: buf_printf(out, " %lld", (long long)i->c); break;
    case WASM_IMM_F32:
        memcpy(&f, &bits, sizeof f);
        put_float(out, (double)f);
        break;
    case WASM_IMM_F64:
        memcpy(&d, &i->c, sizeof d);
        put_float(out, d);
        break;
    case WASM_IMM_TYPE_TABLE:
        if (i->b)
            buf_printf(out, " %u", i->b);
        buf_printf(out, " (type %u)", i->a);
        break;
    case WASM_IMM_V128:
    case WASM_IMM_LANES16:
        if (wasm_ops[i->op].imm == WASM_IMM_V128)
            buf_str(out, STR(" i8x16"));
        for (uint32_t k = 0; k < 16; k++)
            buf_printf(out, " %u", i->vec[k]);
        break;
    default:
        buf_printf(out, " %u", i->a);
        if (wasm_imm_indices((WasmImm)wasm_ops[i->op].imm) == 2)
            buf_printf(out, " %u", i->b);
    }
}
