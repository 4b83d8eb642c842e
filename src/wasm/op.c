/*
 * wasm/op.c - the instruction table and the decoder.
 *
 * wasm_next is the inner loop of the compiler: the short form of an instruction is decoded inline
 * from a table by its first byte; everything else goes through decode().
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

/* By opcode: the one-byte ones, then MAX_CODE codes after each prefix. */
enum { FIRST_PREFIX = 0xfb, LAST_PREFIX = 0xfe, MAX_CODE = 0x120 };
#define OPCODE_SLOT(prefix, code)                                                                  \
    ((prefix) ? 0x100 + ((prefix)-FIRST_PREFIX) * MAX_CODE + (code) : (code))
static const struct Opcode {
    uint16_t op; /* WasmOp + 1, 0 = unknown */
    uint8_t imm; /* WasmImm */
} by_opcode[0x100 + (LAST_PREFIX - FIRST_PREFIX + 1) * MAX_CODE] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    [OPCODE_SLOT(prefix, code)] = {WASM_OP_##id + 1, WASM_IMM_##imm},
#include "wasm/opcode.def"
};

/* ---- the decoder ---- */

static bool block_type(WasmCode *c, WasmType *t) {
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

/* A list of clauses, of so many kinds; those of the first `tagged` kinds have a tag and a label,
 * others only one index. */
static bool clauses(WasmCode *c, WasmInstr *i, uint8_t kinds, uint8_t tagged, const char *unknown) {
    if (!wasm_get_u32(c, &i->count))
        return false;
    i->vec = c->at;
    for (uint32_t n = 0; n < i->count; n++) {
        uint8_t kind;
        uint32_t index;
        if (!wasm_get_u8(c, &kind))
            return false;
        if (kind >= kinds)
            return wasm_code_found(c, c->at - 1, unknown, kind);
        if ((kind < tagged && !wasm_get_u32(c, &index)) || !wasm_get_u32(c, &index))
            return false;
    }
    return true;
}

static bool catches(WasmCode *c, WasmInstr *i) {
    return block_type(c, &i->type) && clauses(c, i, 4, 2, "unknown catch kind");
}

static bool handlers(WasmCode *c, WasmInstr *i, bool throws) {
    return wasm_get_u32(c, &i->a) && (!throws || wasm_get_u32(c, &i->b)) &&
           clauses(c, i, 2, 1, "unknown handler kind");
}

static bool br_table(WasmCode *c, WasmInstr *i) {
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

static bool cast(WasmCode *c, WasmInstr *i) {
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
static bool immediates(WasmCode *c, WasmInstr *i, uint8_t imm) {
    int64_t v;
    switch ((WasmImm)imm) {
    case WASM_IMM_NONE: return true;
    case WASM_IMM_BLOCK: return block_type(c, &i->type);
    case WASM_IMM_TRY_TABLE: return catches(c, i);
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: return handlers(c, i, imm == WASM_IMM_RESUME_TAG);
    case WASM_IMM_BR_TABLE: return br_table(c, i);
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
    case WASM_IMM_CAST: return cast(c, i);
    case WASM_IMM_ZERO:
        if (!lane(c, &i->a))
            return false;
        return i->a == 0 || wasm_code_fail(c, c->at - 1, "zero byte expected");
    default:
        return wasm_get_u32(c, &i->a) &&
               (wasm_imm_indices((WasmImm)imm) == 1 || wasm_get_u32(c, &i->b));
    }
}

static bool unknown(WasmCode *c, const uint8_t *at, uint8_t prefix, uint32_t code) {
    c->error_prefix = prefix;
    return wasm_code_found(c, at, "unknown opcode", code);
}

/* An opcode after a prefix, or an unknown one (NULL). */
static const struct Opcode *prefixed(WasmCode *c, const uint8_t *from) {
    uint32_t code;
    if (*from < FIRST_PREFIX || *from > LAST_PREFIX) {
        unknown(c, from, 0, *from);
        return NULL;
    }
    if (!wasm_get_u32(c, &code))
        return NULL;
    const struct Opcode *op = code < MAX_CODE ? &by_opcode[OPCODE_SLOT(*from, code)] : NULL;
    if (op && op->op)
        return op;
    unknown(c, from, *from, code);
    return NULL;
}

static bool decode(WasmCode *c, WasmInstr *i, const struct Opcode *op, const uint8_t *from) {
    c->at = from + 1;
    if ((!op->op && !(op = prefixed(c, from)))) {
        c->at = from;
        return false;
    }
    i->op = (uint16_t)(op->op - 1);
    i->opcode_size = (uint16_t)(c->at - from);
    if (!immediates(c, i, op->imm)) {
        c->at = from;
        return false;
    }
    i->size = (uint32_t)(c->at - from);
    return true;
}

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
    if (wasm_next_short(c, i) || next_wide(c, i, from))
        return true;
    *i = (WasmInstr){.offset = (uint32_t)(from - c->start)};
    return decode(c, i, &by_opcode[*from], from);
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

const char *wasm_proposal(const char *what, uint8_t prefix, uint32_t code) {
    static const struct {
        const char *what;
        uint8_t prefix;
        uint16_t first, last;
        const char *name;
    } proposals[] = {
#define PROPOSAL(what, prefix, first, last, name)                                                  \
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
        snprintf(buf, 32, "(ref %s%u)", null, WASM_HEAP_OF(t));
    }
    return buf;
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
    if (abstract)
        buf_u8(b, (uint8_t)t);
    else
        buf_sleb(b, WASM_HEAP_OF(t));
}

void wasm_put_heap(Buf *b, WasmType t) {
    if (t & WASM_ABSTRACT_BIT)
        buf_u8(b, (uint8_t)t);
    else
        buf_sleb(b, WASM_HEAP_OF(t));
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
