/*
 * wasm/op_table.c - the instruction table as bytes.
 */
#include "wasm/op_table.h"

#include "wasm/typer.h"

enum { PAGES = 5, FIRST_PREFIX = 0xfb };

static uint32_t page_of(const WasmOpInfo *info) {
    return info->prefix ? info->prefix - FIRST_PREFIX + 1u : 0;
}

static void put_u16(Buf *out, uint32_t v) {
    buf_u8(out, (uint8_t)v);
    buf_u8(out, (uint8_t)(v >> 8));
}

static void put_codes(Buf *out) {
    uint32_t counts[PAGES] = {0}, from[PAGES], all = 0;
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const WasmOpInfo *info = &wasm_ops[op];
        uint32_t *count = &counts[page_of(info)];
        *count = *count > info->code ? *count : info->code + 1u;
    }
    for (uint32_t p = 0; p < PAGES; all += counts[p++]) {
        from[p] = all;
        put_u16(out, all);
    }
    put_u16(out, all);
    size_t codes = out->len;
    for (uint32_t k = 0; k < all; k++)
        put_u16(out, 0);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        uint8_t *to = out->data + codes + 2 * (from[page_of(&wasm_ops[op])] + wasm_ops[op].code);
        to[0] = (uint8_t)(op + 1);
        to[1] = (uint8_t)((op + 1) >> 8);
    }
}

static void put_signature(Buf *out, const WasmSimpleSig *g) {
    buf_u8(out, g->nparams);
    buf_u8(out, g->nresults);
    buf_bytes(out, g->params, sizeof g->params);
    buf_u8(out, g->result);
}

/* The number of an instruction's signature; new ones are appended to `signatures`, which `known`
 * tells apart. */
static uint8_t signature(const WasmSimpleSig *g, Buf *signatures, Map *known) {
    if (g->kind == WASM_SIG_OTHER)
        return 0;
    bool added;
    Buf bytes = {0};
    put_signature(&bytes, g);
    Str key = {(const char *)bytes.data, (uint32_t)bytes.len};
    uint64_t n = *map_put(known, key, known->len + 1u, &added);
    if (added)
        buf_bytes(signatures, bytes.data, bytes.len);
    buf_free(&bytes);
    return (uint8_t)n;
}

void wasm_op_table(Buf *out) {
    Buf signatures = {0};
    Map known = {0};
    put_codes(out);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        buf_u8(out, wasm_ops[op].imm);
        buf_u8(out, signature(&wasm_simple_sigs[op], &signatures, &known));
    }
    buf_bytes(out, signatures.data, signatures.len);
    buf_free(&signatures);
    map_free(&known);
}
