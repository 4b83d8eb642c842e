/*
 * wasm/decode.c - reads numbers, types and instructions from bytes of a module. It is compiled into
 * the runtime of monitors, too.
 */
#include <assert.h>

#include "wasm/op.h"

/* ---- numbers and types ---- */

WasmCode wasm_code(const uint8_t *bytes, size_t size, size_t from) {
    assert(from <= size);
    if (!size)
        return (WasmCode){.start = bytes, .at = bytes, .end = bytes}; /* maybe NULL */
    return (WasmCode){.start = bytes, .at = bytes + from, .end = bytes + size};
}

/* In the runtime of monitors macros have these names. */
bool(wasm_code_fail)(WasmCode *c, const uint8_t *at, const char *error) {
    assert(at >= c->start);
    if (!c->error) {
        c->error = error;
        c->error_offset = (uint32_t)(at - c->start);
    }
    return false;
}

bool(wasm_code_found)(WasmCode *c, const uint8_t *at, const char *error, uint32_t code) {
    if (!c->error) {
        c->error_found = true;
        c->error_code = code;
    }
    return (wasm_code_fail)(c, at, error);
}

static bool fail_end(WasmCode *c) {
    return wasm_code_fail(c, c->end, "unexpected end");
}

/* A number of five bytes, which is what linkers make of each one that they fill in. */
static bool get_linked(WasmCode *c, uint32_t bits, uint64_t *v) {
    enum { SIZE = 5, MORE = 0x80 };
    const uint8_t *p = c->at;
    if (c->end - p < SIZE || !(p[0] & p[1] & p[2] & p[3] & MORE) ||
        p[4] >= (bits == 32 ? 16 : MORE))
        return false;
    *v = (p[0] & 0x7fu) | (p[1] & 0x7fu) << 7 | (p[2] & 0x7fu) << 14 | (p[3] & 0x7fu) << 21 |
         (uint64_t)p[4] << 28;
    c->at += SIZE;
    return true;
}

bool wasm_get_uleb_slow(WasmCode *c, uint32_t bits, uint64_t *v) {
    if (get_linked(c, bits, v))
        return true;
    const uint8_t *p = c->at;
    uint64_t out = 0;
    for (uint32_t shift = 0;; shift += 7) {
        if (p == c->end)
            return fail_end(c);
        uint8_t byte = *p++;
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (shift + 7 >= bits) {
            if (byte & 0x80)
                return wasm_code_fail(c, c->at, "integer representation too long");
            if (byte >> (bits - shift))
                return wasm_code_fail(c, c->at, "integer too large");
            break;
        }
        if (byte < 0x80)
            break;
    }
    c->at = p;
    *v = out;
    return true;
}

bool wasm_get_sleb(WasmCode *c, uint32_t bits, int64_t *v) {
    uint32_t low, n = wasm_short_uleb(c, &low);
    if (n) {
        *v = wasm_sleb_of_4(low, n);
        c->at += n;
        return true;
    }
    const uint8_t *p = c->at;
    uint64_t out = 0;
    for (uint32_t shift = 0;; shift += 7) {
        if (p == c->end)
            return fail_end(c);
        uint8_t byte = *p++;
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (shift + 7 >= bits) {
            if (byte & 0x80)
                return wasm_code_fail(c, c->at, "integer representation too long");
            /* The unused bits must all be copies of the sign bit. */
            uint8_t sign = (uint8_t)(0x7f & ~((1u << (bits - shift - 1)) - 1));
            if ((byte & sign) != 0 && (byte & sign) != sign)
                return wasm_code_fail(c, c->at, "integer too large");
        } else if (byte & 0x80) {
            continue;
        }
        if ((byte & 0x40) && shift + 7 < 64)
            out |= ~(uint64_t)0 << (shift + 7);
        break;
    }
    c->at = p;
    *v = (int64_t)out;
    return true;
}

bool wasm_get_u8(WasmCode *c, uint8_t *v) {
    if (c->at == c->end)
        return fail_end(c);
    *v = *c->at++;
    return true;
}

bool wasm_get_bytes(WasmCode *c, size_t n, const uint8_t **at) {
    if ((size_t)(c->end - c->at) < n)
        return fail_end(c);
    *at = c->at;
    c->at += n;
    return true;
}

/* The index after the byte. */
static bool get_exact(WasmCode *c, WasmType *t) {
    const uint8_t *from = c->at;
    uint32_t index;
    if (!wasm_get_u32(c, &index))
        return false;
    if (index > WASM_MAX_TYPE_INDEX)
        return wasm_code_fail(c, from, "type index too large");
    c->exact = true;
    *t = WASM_REF(1, index) | WASM_EXACT_BIT;
    return true;
}

bool wasm_get_heap(WasmCode *c, WasmType *t) {
    const uint8_t *from = c->at;
    int64_t v;
    if (!wasm_get_sleb(c, 33, &v))
        return false;
    if (v >= 0) {
        if (v > WASM_MAX_TYPE_INDEX)
            return wasm_code_fail(c, from, "type index too large");
        *t = WASM_REF(1, (uint32_t)v);
        return true;
    }
    enum { EXACT = 0x62 };
    uint8_t byte = (uint8_t)(v & 0x7f);
    if (byte == EXACT && c->at == from + 1)
        return get_exact(c, t);
    if (c->at != from + 1 || byte < WASM_HEAP_FIRST || byte > WASM_HEAP_LAST)
        return wasm_code_found(c, from, "unknown heap type", *from);
    *t = WASM_REF(1, WASM_HEAP(byte));
    return true;
}

bool wasm_get_type(WasmCode *c, bool packed, WasmType *t) {
    if (c->at == c->end)
        return fail_end(c);
    uint8_t byte = *c->at;
    if ((byte >= WASM_V128 && byte <= WASM_I32) ||
        (packed && (byte == WASM_I8 || byte == WASM_I16))) {
        c->at++;
        *t = byte;
        return true;
    }
    if (byte >= WASM_HEAP_FIRST && byte <= WASM_HEAP_LAST) {
        c->at++;
        *t = WASM_REF(1, WASM_HEAP(byte));
        return true;
    }
    if (byte == 0x63 || byte == 0x64) {
        c->at++;
        if (!wasm_get_heap(c, t))
            return false;
        if (byte == 0x64)
            *t &= ~WASM_NULL_BIT;
        return true;
    }
    return wasm_code_found(c, c->at, "unknown value type", byte);
}

/* ---- instructions ---- */

static bool decode_block_type(WasmCode *c, WasmType *t) {
    const uint8_t *from = c->at;
    if (from == c->end)
        return wasm_code_fail(c, c->end, "unexpected end");
    if (*from == WASM_NONE) {
        c->at++;
        *t = WASM_NONE;
        return true;
    }
    if (*from > 0x40 && *from < 0x80)
        return wasm_get_type(c, false, t);
    int64_t v;
    if (!wasm_get_sleb(c, 33, &v))
        return false;
    if (v < 0)
        return wasm_code_found(c, from, "unknown block type", *from);
    if (v > WASM_MAX_TYPE_INDEX)
        return wasm_code_fail(c, from, "type index too large");
    *t = WASM_FUNC_TYPE_BIT | (uint32_t)v;
    return true;
}

static bool memarg(WasmCode *c, WasmInstr *i) {
    const uint8_t *from = c->at;
    if (!wasm_get_u32(c, &i->a))
        return false;
    if (i->a >= 0x80)
        return wasm_code_found(c, from, "malformed memop flags", i->a);
    i->b = 0;
    if (i->a & 0x40) {
        i->a &= 0x3f;
        if (!wasm_get_u32(c, &i->b))
            return false;
    }
    return wasm_get_u64(c, &i->c);
}

enum { CATCHES = 4, HANDLERS = 2 }; /* kinds */

/* A list of clauses, of so many kinds; those of the first `tagged` kinds have a tag and a label,
 * others only one index. */
static bool clauses(WasmCode *c, WasmInstr *i, uint8_t kinds, uint8_t tagged) {
    if (!wasm_get_u32(c, &i->count))
        return false;
    i->vec = c->at;
    for (uint32_t n = 0; n < i->count; n++) {
        uint8_t kind;
        uint32_t index;
        if (!wasm_get_u8(c, &kind))
            return false;
        if (kind >= kinds)
            return kinds == CATCHES ? wasm_code_found(c, c->at - 1, "unknown catch kind", kind)
                                    : wasm_code_found(c, c->at - 1, "unknown handler kind", kind);
        if ((kind < tagged && !wasm_get_u32(c, &index)) || !wasm_get_u32(c, &index))
            return false;
    }
    return true;
}

static bool decode_catches(WasmCode *c, WasmInstr *i) {
    return decode_block_type(c, &i->type) && clauses(c, i, CATCHES, 2);
}

static bool decode_handlers(WasmCode *c, WasmInstr *i, bool throws) {
    return wasm_get_u32(c, &i->a) && (!throws || wasm_get_u32(c, &i->b)) &&
           clauses(c, i, HANDLERS, 1);
}

static bool decode_br_table(WasmCode *c, WasmInstr *i) {
    if (!wasm_get_u32(c, &i->count))
        return false;
    i->vec = c->at;
    uint32_t label;
    for (uint32_t n = 0; n < i->count; n++)
        if (!wasm_get_u32(c, &label))
            return false;
    return wasm_get_u32(c, &i->a);
}

static bool select_types(WasmCode *c, WasmInstr *i) {
    if (!wasm_get_u32(c, &i->count))
        return false;
    i->vec = c->at;
    i->type = WASM_NONE;
    for (uint32_t n = 0; n < i->count; n++) {
        WasmType t;
        if (!wasm_get_type(c, false, &t))
            return false;
        if (n == 0)
            i->type = t;
    }
    return true;
}

static bool decode_cast(WasmCode *c, WasmInstr *i) {
    uint8_t flags;
    if (!wasm_get_u8(c, &flags))
        return false;
    if (flags > 3)
        return wasm_code_found(c, c->at - 1, "malformed br_on_cast flags", flags);
    if (!wasm_get_u32(c, &i->a) || !wasm_get_heap(c, &i->type) || !wasm_get_heap(c, &i->type2))
        return false;
    if (!(flags & 1))
        i->type &= ~WASM_NULL_BIT;
    if (!(flags & 2))
        i->type2 &= ~WASM_NULL_BIT;
    return true;
}

static bool fixed(WasmCode *c, WasmInstr *i, uint32_t n) {
    const uint8_t *p;
    if (!wasm_get_bytes(c, n, &p))
        return false;
    for (uint32_t k = 0; k < n; k++)
        i->c |= (uint64_t)p[k] << (8 * k);
    return true;
}

static bool lane(WasmCode *c, uint32_t *v) {
    uint8_t byte;
    bool ok = wasm_get_u8(c, &byte);
    *v = ok ? byte : 0;
    return ok;
}

/* The immediates of instruction i at c->at. */
static bool decode_immediates(WasmCode *c, WasmInstr *i, uint8_t imm) {
    int64_t v;
    switch ((WasmImm)imm) {
    case WASM_IMM_NONE: return true;
    case WASM_IMM_BLOCK: return decode_block_type(c, &i->type);
    case WASM_IMM_TRY_TABLE: return decode_catches(c, i);
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: return decode_handlers(c, i, imm == WASM_IMM_RESUME_TAG);
    case WASM_IMM_BR_TABLE: return decode_br_table(c, i);
    case WASM_IMM_MEMARG: return memarg(c, i);
    case WASM_IMM_MEMARG_LANE: return memarg(c, i) && lane(c, &i->count);
    case WASM_IMM_LANE: return lane(c, &i->a);
    case WASM_IMM_LANES16:
    case WASM_IMM_V128: return wasm_get_bytes(c, 16, &i->vec);
    case WASM_IMM_I32:
    case WASM_IMM_I64:
        if (!wasm_get_sleb(c, imm == WASM_IMM_I32 ? 32 : 64, &v))
            return false;
        i->c = (uint64_t)v;
        return true;
    case WASM_IMM_F32: return fixed(c, i, 4);
    case WASM_IMM_F64: return fixed(c, i, 8);
    case WASM_IMM_HEAP: return wasm_get_heap(c, &i->type);
    case WASM_IMM_SELECT: return select_types(c, i);
    case WASM_IMM_CAST: return decode_cast(c, i);
    case WASM_IMM_ZERO:
        if (!lane(c, &i->a))
            return false;
        return i->a == 0 || wasm_code_fail(c, c->at - 1, "zero byte expected");
    default:
        return wasm_get_u32(c, &i->a) &&
               (wasm_imm_indices((WasmImm)imm) == 1 || wasm_get_u32(c, &i->b));
    }
}

static bool opcode(WasmCode *c, WasmInstr *i) {
    const uint8_t *from = c->at++;
    uint32_t code = *from;
    uint8_t prefix = 0;
    if (code >= WASM_FIRST_PREFIX && code <= WASM_LAST_PREFIX) {
        prefix = *from;
        if (!wasm_get_u32(c, &code))
            return false;
    }
    uint32_t op = wasm_find_op(prefix, code);
    if (!op) {
        c->error_prefix = prefix;
        return wasm_code_found(c, from, "unknown opcode", code);
    }
    i->op = (uint16_t)(op - 1);
    i->opcode_size = (uint16_t)(c->at - from);
    return true;
}

bool wasm_next_long(WasmCode *c, WasmInstr *i) {
    const uint8_t *from = c->at;
    *i = (WasmInstr){.offset = (uint32_t)(from - c->start)};
    if (!opcode(c, i) || !decode_immediates(c, i, wasm_imm(i->op))) {
        c->at = from;
        return false;
    }
    i->size = (uint32_t)(c->at - from);
    return true;
}

/* ---- lists ---- */

uint32_t wasm_vec_u32(const uint8_t **at) {
    return (uint32_t)wasm_uleb(at);
}

WasmType wasm_vec_type(const uint8_t **at) {
    /* Checked when it was decoded, so it cannot run over the end. */
    WasmCode c = {.start = *at, .at = *at, .end = *at + 16};
    WasmType t = WASM_NONE;
    wasm_get_type(&c, false, &t);
    *at = c.at;
    return t;
}

WasmCatch wasm_vec_catch(const uint8_t **at) {
    WasmCatch k = {.kind = *(*at)++};
    if (k.kind < 2)
        k.tag = wasm_vec_u32(at);
    k.label = wasm_vec_u32(at);
    return k;
}

WasmHandler wasm_vec_handler(const uint8_t **at) {
    WasmHandler h = {.switches = *(*at)++ != 0};
    h.tag = wasm_vec_u32(at);
    if (!h.switches)
        h.label = wasm_vec_u32(at);
    return h;
}
