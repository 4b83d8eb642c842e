/*
 * wasm/op.h - the instruction table (from opcode.def) and the decoded instruction.
 */
#ifndef WHAMMC_WASM_OP_H
#define WHAMMC_WASM_OP_H

#include "base/buf.h"
#include "wasm/leb.h"

/* Instruction categories, numbered as the language's category_id. */
/* clang-format off */
#define WASM_CATEGORIES(X)                                                                         \
    X(ARITH, "arith") X(ATOMIC, "atomic") X(COMPARE, "compare") X(CONST, "const")                  \
    X(CONTROL, "control") X(CONVERT, "convert") X(EXN, "exn") X(GC, "gc") X(GLOBAL, "global")      \
    X(LOAD, "load") X(LOCAL, "local") X(MEMORY, "memory") X(MISC, "misc") X(REF, "ref")            \
    X(SIMD, "simd") X(STORE, "store") X(TABLE, "table")
/* clang-format on */
typedef enum WasmCategory {
#define CATEGORY(id, name) WASM_CAT_##id,
    WASM_CATEGORIES(CATEGORY)
#undef CATEGORY
        WASM_CAT_COUNT
} WasmCategory;

/* Which modes of the language an instruction has. */
typedef enum WasmModes {
    MODES_ORDINARY,
    MODES_BRANCH,
    MODES_BLOCK,
    MODES_END,
    MODES_UNREACHABLE,
    MODES_CALL,
} WasmModes;

typedef struct WasmOpInfo {
    const char *mnemonic;
    uint8_t prefix;
    uint16_t code;
    uint8_t category; /* WasmCategory */
    uint8_t imm;      /* WasmImm */
    uint8_t flow;     /* WasmFlow */
    uint8_t modes;    /* WasmModes */
    uint16_t event;
    const char *operands, *results; /* see opcode.def */
    const char *names;
} WasmOpInfo;

extern const WasmOpInfo wasm_ops[WASM_OP_COUNT];
extern const char *const wasm_category_names[WASM_CAT_COUNT];

/* Kinds of instructions: a bit for each WasmOp. */
enum { WASM_OP_SET_WORDS = (WASM_OP_COUNT + 63) / 64, WASM_OP_SET_SIZE = 64 * WASM_OP_SET_WORDS };
typedef struct WasmOpSet {
    uint64_t bits[WASM_OP_SET_WORDS];
} WasmOpSet;

static inline void op_set_add(WasmOpSet *set, uint16_t op) {
    set->bits[op / 64] |= UINT64_C(1) << op % 64;
}

static inline bool op_set_has(const WasmOpSet *set, uint16_t op) {
    return set->bits[op / 64] >> op % 64 & 1;
}

/* Whether two sets have a kind in common. */
static inline bool op_sets_meet(const WasmOpSet *a, const WasmOpSet *b) {
    uint64_t common = 0;
    for (uint32_t k = 0; k < WASM_OP_SET_WORDS; k++)
        common |= a->bits[k] & b->bits[k];
    return common != 0;
}

/* Where control goes from an instruction. */
static inline WasmFlow wasm_flow(uint16_t op) {
    return (WasmFlow)wasm_ops[op].flow;
}

static inline WasmImm wasm_imm(uint16_t op) {
    return (WasmImm)wasm_ops[op].imm;
}

/* The instruction of an opcode, prefix 0: of one byte: WasmOp + 1, 0 = unknown. */
uint32_t wasm_find_op(uint8_t prefix, uint32_t code);

/* What the first byte says of instructions whose opcode has one byte. The short form has two bytes
 * of immediates at most, each a number by itself. */
typedef struct WasmShortOp {
    uint16_t op;  /* WasmOp */
    uint8_t imm;  /* WasmImm */
    uint8_t size; /* of the short form; 0 = there is none */
    uint16_t
        stop;     /* bits of the two bytes after the opcode that say that it is another form, ... */
    uint8_t flip; /* ... once these bits of the first are flipped */
    uint8_t index;   /* bits of the first that are `a` */
    uint8_t type;    /* bits of the first that are `type` */
    uint8_t offset;  /* bits of the second that are `c` */
    int8_t constant; /* -1: the first is `c`, a signed number */
    uint8_t plain;   /* WasmPlain */
} WasmShortOp;
extern const WasmShortOp wasm_short_ops[256];

/* The immediates of a plain instruction, which neither transfers control nor names a function. */
typedef enum WasmPlain {
    WASM_NOT_PLAIN,
    WASM_PLAIN_ALONE,
    WASM_PLAIN_NUMBER, /* LEB128 */
    WASM_PLAIN_MEMARG, /* two of these, or three */
    WASM_PLAIN_F32,
    WASM_PLAIN_F64
} WasmPlain;

static inline const uint8_t *wasm_skip_number(const uint8_t *at) {
    while (*at++ & 0x80)
        continue;
    return at;
}

/* Steps over a plain instruction of valid code: it is known which it is, and no more is asked. All
 * sizes are constants, chosen by branches, which are predicted: a size that is loaded would have to
 * be waited for before the next instruction can be looked at. */
static inline const uint8_t *wasm_plain_next(WasmPlain plain, const uint8_t *at) {
    enum { FURTHER = 0x40 };
    at++;
    switch (plain) {
    case WASM_PLAIN_NUMBER: return wasm_skip_number(at);
    case WASM_PLAIN_MEMARG:
        if (*at & FURTHER)
            at = wasm_skip_number(at);
        return wasm_skip_number(wasm_skip_number(at));
    case WASM_PLAIN_F32: return at + 4;
    case WASM_PLAIN_F64: return at + 8;
    default: return at;
    }
}

/* One decoded instruction. Immediates are where WasmImm says; vec points into the code. */
typedef struct WasmInstr {
    uint32_t
        offset;    /* of its first byte, from the start of the bytes read (for a body: the `pc`) */
    uint32_t size; /* in bytes, immediates included */
    uint16_t op;   /* WasmOp */
    uint16_t opcode_size; /* bytes of the opcode itself */
    uint32_t a, b, count;
    WasmType type, type2;
    uint64_t c;
    const uint8_t *vec;
} WasmInstr;

/*
 * Decodes the instruction at the cursor and steps over it. False at the end of the code (error
 * NULL) or on malformed code (error set). Checks the encoding only, not types and not that indices
 * exist.
 */
bool wasm_next(WasmCode *c, WasmInstr *i);

/* The same for any form, if there is an instruction that is not decoded already. */
bool wasm_next_long(WasmCode *c, WasmInstr *i);

/* The size of an instruction of the short form; 0: it is another one, or among the last bytes. */
static inline uint32_t wasm_short_size(const uint8_t *at, const uint8_t *end) {
    if (end - at < 3)
        return 0;
    const WasmShortOp *op = &wasm_short_ops[*at];
    return ((at[1] | (uint32_t)at[2] << 8) ^ op->flip) & op->stop ? 0 : op->size;
}

/* wasm_next for an instruction of the short form; false, and nothing has happened, if it is another
 * one, or among the last bytes. The code is not decoded already. */
static inline bool wasm_next_short(WasmCode *c, WasmInstr *i) {
    const uint8_t *from = c->at;
    uint32_t size = wasm_short_size(from, c->end);
    if (!size)
        return false;
    const WasmShortOp *op = &wasm_short_ops[*from];
    uint32_t bytes = from[1] | (uint32_t)from[2] << 8;
    int64_t number = (int64_t)((bytes & 0x7f) ^ 0x40) - 0x40;
    c->at = from + size;
    *i = (WasmInstr){.offset = (uint32_t)(from - c->start),
                     .size = size,
                     .op = op->op,
                     .opcode_size = 1,
                     .a = bytes & op->index,
                     .type = bytes & op->type,
                     .c = (uint64_t)(number & op->constant) | (bytes >> 8 & op->offset)};
    return true;
}

/* wasm_next without copying an instruction that is decoded already: the result is in `room` if it
 * had to be decoded; NULL at the end. */
static inline const WasmInstr *wasm_step(WasmCode *c, WasmInstr *room) {
    const WasmInstr *i = c->decoded;
    if (!i)
        return wasm_next(c, room) ? room : NULL;
    if (!i->size)
        return NULL;
    c->decoded++;
    c->at = c->start + i->offset + i->size;
    return i;
}

/* The instructions of one body, then one of size 0. A zeroed one is empty; vec_free(&d.at). */
typedef struct WasmDecoded {
    uint32_t func;
    Vec(WasmInstr) at;
} WasmDecoded;

/* Of larger bodies the instructions would take too much memory. */
enum { WASM_MAX_DECODED = 1 << 20 };

/* Decodes all that the cursor has still to come; wasm_next takes the instructions from there as
 * long as `d` is not changed. False on malformed code (code->error). */
bool wasm_decode(WasmDecoded *d, uint32_t func, WasmCode *code);

/* Attaches a cached decoding to a cursor at the first instruction of a function, if it is of this
 * function. */
void wasm_use_decoded(const WasmDecoded *d, uint32_t func, WasmCode *code);

/* " (proposal NAME)" for features of a proposal (proposal.def), or "". */
const char *wasm_proposal(const char *what, uint8_t prefix, uint32_t code);

/* The text of the error; in buf if it has a number that was found, perhaps with its proposal. */
enum { WASM_CODE_ERROR_SIZE = 96 };
const char *wasm_code_error(const WasmCode *c, char buf[WASM_CODE_ERROR_SIZE]);

/* The label depth at position `k` of a br_table's vec, stepping *at; start with *at = i->vec. */
uint32_t wasm_vec_u32(const uint8_t **at);

/* The same for a type of select's vec. */
WasmType wasm_vec_type(const uint8_t **at);

/* One catch clause of a try_table, stepping *at from i->vec. tag is 0 for catch_all. */
typedef struct WasmCatch {
    uint8_t kind; /* 0 catch, 1 catch_ref, 2 catch_all, 3 catch_all_ref */
    uint32_t tag, label;
} WasmCatch;
WasmCatch wasm_vec_catch(const uint8_t **at);

/* One handler of a resume, stepping *at from i->vec: a suspended continuation goes to the label, or
 * it may switch to another one. */
typedef struct WasmHandler {
    bool switches; /* there is no label */
    uint32_t tag, label;
} WasmHandler;
WasmHandler wasm_vec_handler(const uint8_t **at);

/* The type for a letter of the instruction table; WASM_BOT: an address, or a type that depends on
 * the site. */
WasmType wasm_letter_type(char letter);

/* The number of bytes that an instruction with an address reads or writes in a memory; 0: it has
 * none. */
uint32_t wasm_access_bytes(WasmOp op);

/* Whether it is an instruction whose trap can be told beforehand from its operands. */
extern const bool wasm_op_traps[WASM_OP_COUNT]; /* but for accesses to memory */
static inline bool op_can_trap(WasmOp op) {
    uint8_t imm = wasm_ops[op].imm;
    return wasm_op_traps[op] || imm == WASM_IMM_MEMARG || imm == WASM_IMM_MEMARG_LANE;
}

/* Whether control always goes on from an instruction to the next one: it is not of the control flow
 * and cannot trap. Besides those of op_can_trap, arrays can be too large, and continuations used
 * up. */
extern const bool wasm_op_steps[WASM_OP_COUNT]; /* others, but for wasm_op_traps */
static inline bool wasm_is_straight(uint16_t op) {
    return !wasm_op_steps[op] && !wasm_op_traps[op];
}

/* Whether optimised code of some engines (V8 11) cannot tell where such an instruction trapped. */
bool op_hides_trap(WasmOp op);

/* Text of a type as in the text format ("i32", "(ref null 3)", "funcref") into buf. */
const char *wasm_type_text(WasmType t, char buf[32]);
/* Appends the binary form of a value type. */
void wasm_put_type(Buf *b, WasmType t);
/* Appends the immediate of ref.null, ref.test ...: the heap type of a reference type. */
void wasm_put_heap(Buf *b, WasmType t);
/* Appends the instruction that leaves a constant of type i32, i64, f32 or f64; floats by their
 * bits. */
void wasm_put_const(Buf *b, WasmType type, uint64_t bits);
/* Appends an opcode (prefix and code). */
void wasm_put_prefixed_(Buf *b, WasmOp op);
static inline void wasm_put_op(Buf *b, WasmOp op) {
    if (wasm_ops[op].prefix)
        wasm_put_prefixed_(b, op);
    else
        buf_u8(b, (uint8_t)wasm_ops[op].code);
}

#endif
