/*
 * wasm/op.c - the instruction table.
 *
 * wasm_next is the inner loop of the compiler: the short form of an instruction is decoded inline
 * from a table by its first byte; everything else goes through wasm_next_long (decode.c).
 */
#include "wasm/op.h"

#include <assert.h>
#include <stdio.h>

#include "wasm/leb.h"

const WasmOpInfo wasm_ops[WASM_OP_COUNT] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    {mnemonic,       prefix,           code,          WASM_CAT_##category,                         \
     WASM_IMM_##imm, WASM_FLOW_##flow, MODES_##modes, event,                                       \
     operands,       results,          names},
#include "wasm/opcode.def"
};

const char *const wasm_category_names[WASM_CAT_COUNT] = {
#define CATEGORY(id, name) name,
    WASM_CATEGORIES(CATEGORY)
#undef CATEGORY
};

/* The common forms of immediates, if their numbers have one byte, are decoded without a switch. */
#define IS_CONST(imm) ((imm) == WASM_IMM_I32 || (imm) == WASM_IMM_I64)
#define IS_INDEX(imm)                                                                              \
    (((imm) >= WASM_IMM_FUNC && (imm) <= WASM_IMM_ELEM && (imm) != WASM_IMM_TYPE_TABLE) ||         \
     (imm) == WASM_IMM_LABEL)
#define IS_MEMARG(imm) ((imm) == WASM_IMM_MEMARG)
#define IS_BLOCK(imm)  ((imm) == WASM_IMM_BLOCK) /* short without a type */
#define SHORT_SIZE(imm)                                                                            \
    ((imm) == WASM_IMM_NONE                            ? 1                                         \
     : IS_CONST(imm) || IS_INDEX(imm) || IS_BLOCK(imm) ? 2                                         \
     : IS_MEMARG(imm)                                  ? 3                                         \
                                                       : 0)

#define SHORT_STOP(imm)                                                                            \
    (IS_MEMARG(imm) ? 0x80c0 : IS_BLOCK(imm) ? 0xff : SHORT_SIZE(imm) == 2 ? 0x80 : 0)

/* WasmPlain */
#define IS_PLAIN_INDEX(imm)                                                                        \
    ((imm) == WASM_IMM_LOCAL || (imm) == WASM_IMM_GLOBAL || (imm) == WASM_IMM_MEMORY)
#define PLAIN(imm, flow)                                                                           \
    ((flow) != WASM_FLOW_NEXT               ? WASM_NOT_PLAIN                                       \
     : (imm) == WASM_IMM_NONE               ? WASM_PLAIN_ALONE                                     \
     : IS_CONST(imm) || IS_PLAIN_INDEX(imm) ? WASM_PLAIN_NUMBER                                    \
     : IS_MEMARG(imm)                       ? WASM_PLAIN_MEMARG                                    \
     : (imm) == WASM_IMM_F32                ? WASM_PLAIN_F32                                       \
     : (imm) == WASM_IMM_F64                ? WASM_PLAIN_F64                                       \
                                            : WASM_NOT_PLAIN)

const WasmShortOp wasm_short_ops[256] = {
#define SHORT_OP(id, imm, flow)                                                                    \
    {WASM_OP_##id,                                                                                 \
     imm,                                                                                          \
     SHORT_SIZE(imm),                                                                              \
     SHORT_STOP(imm),                                                                              \
     IS_BLOCK(imm) ? WASM_NONE : 0,                                                                \
     IS_INDEX(imm)    ? 0x7f                                                                       \
     : IS_MEMARG(imm) ? 0x3f                                                                       \
                      : 0,                                                                         \
     IS_BLOCK(imm) ? 0xff : 0,                                                                     \
     IS_MEMARG(imm) ? 0x7f : 0,                                                                    \
     IS_CONST(imm) ? -1 : 0,                                                                       \
     PLAIN(imm, flow)},
#define OP_0x00(id, code, imm, flow) [code] = SHORT_OP(id, imm, flow)
#define OP_0xfb(id, code, imm, flow)
#define OP_0xfc(id, code, imm, flow)
#define OP_0xfd(id, code, imm, flow)
#define OP_0xfe(id, code, imm, flow)
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    OP_##prefix(id, code, WASM_IMM_##imm, WASM_FLOW_##flow)
#include "wasm/opcode.def"
};

/* By opcode: the one-byte ones, then MAX_CODE codes after each prefix. WasmOp + 1, 0 = unknown. */
enum { MAX_CODE = 0x150 };
#define OPCODE_SLOT(prefix, code)                                                                  \
    ((prefix) ? 0x100 + ((prefix)-WASM_FIRST_PREFIX) * MAX_CODE + (code) : (code))
static const uint16_t by_opcode[0x100 + (WASM_LAST_PREFIX - WASM_FIRST_PREFIX + 1) * MAX_CODE] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    [OPCODE_SLOT(prefix, code)] = WASM_OP_##id + 1,
#include "wasm/opcode.def"
};

uint32_t wasm_find_op(uint8_t prefix, uint32_t code) {
    return !prefix || code < MAX_CODE ? by_opcode[OPCODE_SLOT(prefix, code)] : 0;
}

/* ---- the next instruction ---- */

static bool next_decoded(WasmCode *c, WasmInstr *i) {
    if (!c->decoded->size)
        return false;
    *i = *c->decoded++;
    c->at = c->start + i->offset + i->size;
    return true;
}

/* An instruction whose immediates are those of the short form, but for a number of two to five
 * bytes; false if it is another one, or among the last bytes. */
static bool next_wide(WasmCode *c, WasmInstr *i, const uint8_t *from) {
    enum { LONGEST = 10 };
    const WasmShortOp *op = &wasm_short_ops[*from];
    uint64_t number;
    uint32_t n;
    if (op->size < 2 || op->type || c->end - from < LONGEST)
        return false;
    const uint8_t *last = from + op->size - 1; /* of the immediates */
    if ((op->offset && from[1] >= 0x40) || !(n = wasm_uleb_of_5(last, &number)))
        return false;
    int64_t value = op->constant ? wasm_sleb_of_5(number, n) : (int64_t)number;
    if (n == 5 && (op->constant ? value != (int32_t)value : number > UINT32_MAX))
        return false;
    c->at = last + n;
    *i = (WasmInstr){.offset = (uint32_t)(from - c->start),
                     .size = (uint32_t)(c->at - from),
                     .op = op->op,
                     .opcode_size = 1,
                     .a = op->offset     ? from[1]
                          : op->constant ? 0
                                         : (uint32_t)number,
                     .c = op->offset || op->constant ? (uint64_t)value : 0};
    return true;
}

bool wasm_next(WasmCode *c, WasmInstr *i) {
    if (c->decoded)
        return next_decoded(c, i);
    const uint8_t *from = c->at;
    if (from == c->end || c->error)
        return false;
    return wasm_next_short(c, i) || next_wide(c, i, from) || wasm_next_long(c, i);
}

bool wasm_decode(WasmDecoded *d, uint32_t func, WasmCode *code) {
    WasmCode c = *code;
    d->func = func;
    d->at.len = 0;
    do
        vec_reserve(&d->at, 1);
    while ((wasm_next_short(&c, &d->at.at[d->at.len]) || wasm_next(&c, &d->at.at[d->at.len])) &&
           ++d->at.len);
    if (c.error) {
        *code = c;
        d->at.len = 0;
        return false;
    }
    vec_push(&d->at, ((WasmInstr){.offset = (uint32_t)(c.at - c.start)}));
    code->decoded = d->at.at;
    return true;
}

void wasm_use_decoded(const WasmDecoded *d, uint32_t func, WasmCode *code) {
    assert(!code->decoded);
    if (d && d->at.len && d->func == func)
        code->decoded = d->at.at;
}

/* ---- errors ---- */

const char *wasm_proposal(const char *what, uint8_t prefix, uint32_t code) {
    static const struct {
        const char *what;
        uint8_t prefix;
        uint16_t first, last;
        const char *name;
    } proposals[] = {
#define UNKNOWN(name, what, prefix, first, last)                                                   \
    {what, prefix, first, last, " (proposal " name ")"},
#include "wasm/proposal.def"
    };
    for (size_t i = 0; i < sizeof proposals / sizeof *proposals; i++)
        if (strcmp(proposals[i].what, what) == 0 && proposals[i].prefix == prefix &&
            proposals[i].first <= code && code <= proposals[i].last)
            return proposals[i].name;
    return "";
}

const char *wasm_code_error(const WasmCode *c, char buf[WASM_CODE_ERROR_SIZE]) {
    if (!c->error || !c->error_found)
        return c->error;
    char prefix[8] = "";
    if (c->error_prefix)
        snprintf(prefix, sizeof prefix, " 0x%02x", c->error_prefix);
    snprintf(buf, WASM_CODE_ERROR_SIZE, "%s%s 0x%02x%s", c->error, prefix, c->error_code,
             wasm_proposal(strchr(c->error, ' ') + 1, c->error_prefix, c->error_code));
    return buf;
}

/* ---- the table ---- */

WasmType wasm_letter_type(char letter) {
    switch (letter) {
    case 'i': return WASM_I32;
    case 'l': return WASM_I64;
    case 'f': return WASM_F32;
    case 'd': return WASM_F64;
    case 'v': return WASM_V128;
    default: return WASM_BOT;
    }
}

uint32_t wasm_access_bytes(WasmOp op) {
    assert(op < WASM_OP_COUNT);
    const char *names = wasm_ops[op].names;
    uint32_t bytes = 0;
    if (strncmp(names, "mem(", 4) == 0)
        for (const char *digit = names + 4; *digit != ','; digit++)
            bytes = 10 * bytes + (uint32_t)(*digit - '0');
    return bytes;
}

/* ---- traps ---- */

const bool wasm_op_traps[WASM_OP_COUNT] = {
#define TRAP(op, when) [WASM_OP_##op] = true,
#include "wasm/trap.def"
};

const bool wasm_op_steps[WASM_OP_COUNT] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    WASM_FLOW_##flow != WASM_FLOW_NEXT || IS_MEMARG(WASM_IMM_##imm) ||                             \
        WASM_IMM_##imm == WASM_IMM_MEMARG_LANE || WASM_OP_##id == WASM_OP_ARRAY_NEW ||             \
        WASM_OP_##id == WASM_OP_ARRAY_NEW_DEFAULT || WASM_OP_##id == WASM_OP_CONT_BIND,
#include "wasm/opcode.def"
};

bool op_hides_trap(WasmOp op) {
    switch (wasm_ops[op].category) {
    case WASM_CAT_TABLE:
    case WASM_CAT_ATOMIC: return true;
    case WASM_CAT_SIMD: return op != WASM_OP_V128_LOAD && op != WASM_OP_V128_STORE;
    default: return false;
    }
}

/* ---- text and bytes ---- */

static const char *const heap_names[] = {
    "cont",   "exn",  "array", "struct",   "i31",    "eq",    "any",
    "extern", "func", "none",  "noextern", "nofunc", "noexn", "nocont",
};

const char *wasm_type_text(WasmType t, char buf[32]) {
    static const char *const short_names[] = {
        "contref",       "exnref",      "arrayref",   "structref",   "i31ref",
        "eqref",         "anyref",      "externref",  "funcref",     "nullref",
        "nullexternref", "nullfuncref", "nullexnref", "nullcontref",
    };
    switch (t) {
    case WASM_BOT: return "any";
    case WASM_NONE: return "none";
    case WASM_I32: return "i32";
    case WASM_I64: return "i64";
    case WASM_F32: return "f32";
    case WASM_F64: return "f64";
    case WASM_V128: return "v128";
    case WASM_I8: return "i8";
    case WASM_I16: return "i16";
    default: break;
    }
    const char *null = t & WASM_NULL_BIT ? "null " : "";
    if (!WASM_IS_REF(t)) {
        snprintf(buf, 32, "(type %u)", t & WASM_MAX_TYPE_INDEX);
    } else if (t & WASM_ABSTRACT_BIT) {
        uint32_t byte = (t & 0xff) - WASM_HEAP_FIRST;
        if (byte > WASM_HEAP_LAST - WASM_HEAP_FIRST)
            return "unknown";
        if (*null)
            return short_names[byte];
        snprintf(buf, 32, "(ref %s)", heap_names[byte]);
    } else {
        snprintf(buf, 32, t & WASM_EXACT_BIT ? "(ref %s(exact %u))" : "(ref %s%u)", null,
                 WASM_HEAP_OF(t));
    }
    return buf;
}

void wasm_put_heap(Buf *b, WasmType t) {
    if (t & WASM_ABSTRACT_BIT) {
        buf_u8(b, (uint8_t)t);
    } else if (t & WASM_EXACT_BIT) {
        buf_u8(b, 0x62);
        buf_uleb(b, WASM_HEAP_OF(t));
    } else {
        buf_sleb(b, WASM_HEAP_OF(t));
    }
}

void wasm_put_type(Buf *b, WasmType t) {
    if (!WASM_IS_REF(t)) {
        if (t & WASM_FUNC_TYPE_BIT)
            buf_sleb(b, t & WASM_MAX_TYPE_INDEX);
        else
            buf_u8(b, (uint8_t)t);
        return;
    }
    bool abstract = t & WASM_ABSTRACT_BIT;
    if (abstract && (t & WASM_NULL_BIT)) {
        buf_u8(b, (uint8_t)t);
        return;
    }
    buf_u8(b, t & WASM_NULL_BIT ? 0x63 : 0x64);
    wasm_put_heap(b, t);
}

void wasm_put_const(Buf *b, WasmType type, uint64_t bits) {
    switch (type) {
    case WASM_I64:
        wasm_put_op(b, WASM_OP_I64_CONST);
        buf_sleb(b, (int64_t)bits);
        break;
    case WASM_F32:
        wasm_put_op(b, WASM_OP_F32_CONST);
        buf_u32le(b, (uint32_t)bits);
        break;
    case WASM_F64:
        wasm_put_op(b, WASM_OP_F64_CONST);
        buf_u64le(b, bits);
        break;
    default: wasm_put_op(b, WASM_OP_I32_CONST); buf_sleb(b, (int32_t)bits);
    }
}

void wasm_put_prefixed_(Buf *b, WasmOp op) {
    buf_u8(b, wasm_ops[op].prefix);
    buf_uleb(b, wasm_ops[op].code);
}
