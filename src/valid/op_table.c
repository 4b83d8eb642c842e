/*
 * valid/op_table.c - the instruction table as bytes.
 */
#include "valid/op_table.h"

#include "valid/signature.h"

enum { PAGES = 5, FIRST_PREFIX = 0xfb };

static uint32_t page_of(const WasmOpInfo *info) {
    return info->prefix ? info->prefix - FIRST_PREFIX + 1u : 0;
}

static void put_u16(Buf *out, uint32_t v) {
    buf_u8(out, (uint8_t)v);
    buf_u8(out, (uint8_t)(v >> 8));
}

static void put_signature(Buf *out, const WasmSimpleSig *g) {
    buf_u8(out, g->nparams);
    buf_u8(out, g->nresults);
    buf_bytes(out, g->params, 3);
    buf_u8(out, g->results[0]);
}

/* The number of an instruction's signature; new ones are appended to `signatures`, which `known`
 * tells apart. */
static uint8_t signature(const WasmSimpleSig *g, Buf *signatures, Map *known) {
    if (g->kind == WASM_SIG_OTHER || g->nresults > 1)
        return 0;
    bool added;
    Buf bytes = {0};
    put_signature(&bytes, g);
    Str key = buf_view(&bytes);
    uint64_t n = *map_put(known, key, known->len + 1u, &added);
    if (added)
        buf_bytes(signatures, bytes.data, bytes.len);
    buf_free(&bytes);
    return (uint8_t)n;
}

/* The numbers of the first codes of the pages, and of all. */
static void put_pages(Buf *out, uint32_t from[PAGES + 1]) {
    memset(from, 0, (PAGES + 1) * sizeof *from);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        uint32_t *count = &from[page_of(&wasm_ops[op]) + 1], code = wasm_ops[op].code;
        *count = *count > code ? *count : code + 1;
    }
    for (uint32_t p = 0; p <= PAGES; p++) {
        from[p] += p ? from[p - 1] : 0;
        put_u16(out, from[p]);
    }
}

void wasm_op_table(Buf *out) {
    enum { ENTRY = 4 };
    uint32_t from[PAGES + 1];
    Buf signatures = {0};
    Map known = {0};
    put_pages(out, from);
    size_t start = out->len;
    for (uint32_t k = 0; k < from[PAGES]; k++)
        buf_u32le(out, 0);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const WasmOpInfo *info = &wasm_ops[op];
        uint8_t *to = out->data + start + ENTRY * (size_t)(from[page_of(info)] + info->code);
        to[0] = (uint8_t)(op + 1);
        to[1] = (uint8_t)((op + 1) >> 8);
        to[2] = info->imm;
        to[3] = signature(&wasm_simple_sigs[op], &signatures, &known);
    }
    buf_bytes(out, signatures.data, signatures.len);
    buf_free(&signatures);
    map_free(&known);
}
