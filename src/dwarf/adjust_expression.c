/*
 * dwarf/adjust_expression.c - the indices of globals in expressions.
 *
 * Locals and operands stay the same: instrumentation adds its own after them.
 */
#include "dwarf/adjust_parts.h"

#include <assert.h>

enum { OP_WASM_LOCATION = 0xed, OP_NOP = 0x96, OP_ENTRY_VALUE = 0xa3, OP_GNU_ENTRY_VALUE = 0xf3 };
enum { IN_LOCAL, IN_GLOBAL, IN_OPERANDS, IN_GLOBAL_U32 };
/* Nesting of values at a function's entry. */
enum { DEPTH_MAX = 4 };

/* The operands of an operation: 1, 2, 4, 8 bytes, a(ddress), o(ffset), u and s: LEB128, b(lock), t:
 * a block whose length has one byte. NULL: there is no such operation, or it has a case of its own.
 */
static const char *operands(uint8_t op) {
    static const char *const some[256] = {
        [0x03] = "a",  [0x06] = "",   [0x08] = "1",  [0x09] = "1",  [0x0a] = "2",  [0x0b] = "2",
        [0x0c] = "4",  [0x0d] = "4",  [0x0e] = "8",  [0x0f] = "8",  [0x10] = "u",  [0x11] = "s",
        [0x15] = "1",  [0x23] = "u",  [0x28] = "2",  [0x2f] = "2",  [0x90] = "u",  [0x91] = "s",
        [0x92] = "us", [0x93] = "u",  [0x94] = "1",  [0x95] = "1",  [0x98] = "2",  [0x99] = "4",
        [0x9a] = "o",  [0x9d] = "uu", [0x9e] = "b",  [0xa0] = "os", [0xa1] = "u",  [0xa2] = "u",
        [0xa4] = "ut", [0xa5] = "uu", [0xa6] = "1u", [0xa7] = "1u", [0xa8] = "u",  [0xa9] = "u",
        [0xe0] = "",   [0xf0] = "",   [0xf2] = "os", [0xf4] = "ut", [0xf5] = "uu", [0xf6] = "1u",
        [0xf7] = "u",  [0xf9] = "u",  [0xfa] = "4",  [0xfb] = "u",  [0xfc] = "u",  [0xfd] = "o",
    };
    bool alone = (op >= 0x12 && op <= 0x2e) || (op >= 0x30 && op <= 0x6f) ||
                 (op >= 0x96 && op <= 0x97) || (op >= 0x9b && op <= 0x9c) || op == 0x9f;
    if (some[op])
        return some[op];
    if (op >= 0x70 && op <= 0x8f)
        return "s";
    return alone ? "" : NULL;
}

static void skip_operand(DwarfCursor *c, const DwarfUnit *u, char kind) {
    switch (kind) {
    case 'a': dwarf_skip(c, u->address_size); break;
    case 'o': dwarf_skip(c, u->offset_size); break;
    case 'u':
    case 's': dwarf_uleb(c); break;
    case 'b': dwarf_skip(c, dwarf_uleb(c)); break;
    case 't': dwarf_skip(c, dwarf_u8(c)); break;
    default: dwarf_skip(c, (uint64_t)(kind - '0')); break;
    }
}

/* The operand of DW_OP_WASM_location. */
static bool adjust_expression_change_place(const Adjuster *r, DwarfCursor *c, Buf *out,
                                           bool *lost) {
    uint8_t kind = dwarf_u8(c);
    const uint8_t *before = c->at;
    if (kind == IN_LOCAL || kind == IN_OPERANDS)
        return dwarf_uleb(c), true;
    if (kind != IN_GLOBAL && kind != IN_GLOBAL_U32)
        return false;
    uint64_t index = kind == IN_GLOBAL ? dwarf_uleb(c) : dwarf_u32(c);
    if (kind == IN_GLOBAL_U32 && index == UINT32_MAX) /* the linker has removed it */
        return !c->failed;
    *lost = !c->failed && index >= r->moves->nglobals;
    if (c->failed || *lost)
        return false;
    uint32_t new = r->moves->globals[index], at = (uint32_t)(before - out->data);
    return kind == IN_GLOBAL_U32 ? adjust_number(out, at, 4, new)
                                 : adjust_uleb(out, at, (uint32_t)(c->at - out->data), new);
}

/* *lost: it names a global that the program does not have, as Binaryen leaves them. */
static bool adjust_expression_change(const Adjuster *r, const DwarfUnit *u, DwarfCursor c, Buf *out,
                                     uint32_t depth, bool *lost) {
    while (c.at < c.end) {
        uint8_t op = dwarf_u8(&c);
        if (op == OP_WASM_LOCATION) {
            if (!adjust_expression_change_place(r, &c, out, lost))
                return false;
        } else if (op == OP_ENTRY_VALUE || op == OP_GNU_ENTRY_VALUE) {
            DwarfCursor inner = c;
            uint64_t length = dwarf_uleb(&c);
            inner.at = c.at;
            dwarf_skip(&c, length);
            inner.end = c.at;
            if (c.failed || depth == DEPTH_MAX ||
                !adjust_expression_change(r, u, inner, out, depth + 1, lost))
                return false;
        } else {
            const char *kinds = operands(op);
            for (; kinds && *kinds; kinds++)
                skip_operand(&c, u, *kinds);
            if (!kinds)
                return false;
        }
    }
    return !c.failed;
}

void adjust_expression(Adjuster *r, const DwarfUnit *u, AdjustKind kind, Buf *out, uint32_t at,
                       uint32_t length) {
    assert(at + (size_t)length <= out->len);
    const uint8_t *from = out->data + at;
    DwarfCursor c = {.start = from, .at = from, .end = from + length};
    bool lost = false;
    if (!length || adjust_expression_change(r, u, c, out, 0, &lost))
        return;
    memset(out->data + at, OP_NOP, length);
    if (!lost)
        adjust_problem(r, kind, at, "an expression has an operation that is not known");
}
