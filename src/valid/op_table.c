/*
 * valid/op_table.c - the instruction table as bytes.
 */
#include "valid/op_table.h"

#include "valid/signature.h"

enum { PAGES = 5 };

static uint32_t page_of(const WasmOpInfo *info) {
    return info->prefix ? info->prefix - WASM_FIRST_PREFIX + 1u : 0;
}

static void put_u16(Buf *out, uint32_t v) {
    buf_u8(out, (uint8_t)v);
    buf_u8(out, (uint8_t)(v >> 8));
}

/* The number of an instruction's fixed types; new ones are appended to `signatures`, which `known`
 * tells apart. */
static uint8_t signature(const WasmSimpleSig *g, Buf *signatures, Map *known) {
    bool added;
    if (g->kind == WASM_SIG_OTHER)
        return 0;
    uint64_t n = *map_put(known, (Str){(const char *)g, sizeof *g}, known->len + 1, &added);
    if (added)
        buf_bytes(signatures, g, sizeof *g);
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
    static const WasmSimpleSig other;
    uint32_t from[PAGES + 1];
    Buf signatures = {0};
    Map known = {0};
    buf_bytes(&signatures, &other, sizeof other);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        buf_u8(out, wasm_ops[op].imm);
        buf_u8(out, wasm_ops[op].flow);
        buf_u8(out, signature(&wasm_simple_sigs[op], &signatures, &known));
    }
    put_pages(out, from);
    size_t start = out->len;
    for (uint32_t k = 0; k < from[PAGES]; k++)
        put_u16(out, 0);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const WasmOpInfo *info = &wasm_ops[op];
        uint8_t *to = out->data + start + 2 * (size_t)(from[page_of(info)] + info->code);
        to[0] = (uint8_t)(op + 1);
        to[1] = (uint8_t)((op + 1) >> 8);
    }
    buf_bytes(out, signatures.data, signatures.len);
    buf_free(&signatures);
    map_free(&known);
}
