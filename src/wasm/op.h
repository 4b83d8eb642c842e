/*
 * wasm/op.h - the instruction table (from opcode.def) and the decoded instruction.
 */
#ifndef WHAMMC_WASM_OP_H
#define WHAMMC_WASM_OP_H

#include "base/buf.h"

/* WASM_OP_<id>, dense, in the order of opcode.def. */
typedef enum WasmOp {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, modes, event, names)      \
    WASM_OP_##id,
#include "wasm/opcode.def"
    WASM_OP_COUNT
} WasmOp;

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

/* The shape of the immediates and where WasmInstr keeps them (see there). */
typedef enum WasmImm {
    WASM_IMM_NONE,
    WASM_IMM_BLOCK,         /* type = block type */
    WASM_IMM_TRY_TABLE,     /* type = block type; count catches at vec */
    WASM_IMM_LABEL,         /* a = depth */
    WASM_IMM_BR_TABLE,      /* count labels at vec (LEB128 each), a = default depth */
    WASM_IMM_FUNC,          /* a */
    WASM_IMM_TYPE,          /* a */
    WASM_IMM_TYPE_TABLE,    /* a = type, b = table */
    WASM_IMM_LOCAL,         /* a */
    WASM_IMM_GLOBAL,        /* a */
    WASM_IMM_TABLE,         /* a */
    WASM_IMM_TAG,           /* a */
    WASM_IMM_MEMORY,        /* a */
    WASM_IMM_DATA,          /* a */
    WASM_IMM_ELEM,          /* a */
    WASM_IMM_MEMARG,        /* a = log2 alignment, b = memory, c = offset */
    WASM_IMM_MEMARG_LANE,   /* the same, count = lane */
    WASM_IMM_LANE,          /* a */
    WASM_IMM_LANES16,       /* 16 bytes at vec */
    WASM_IMM_I32,           /* c, sign-extended to 64 bits */
    WASM_IMM_I64,           /* c */
    WASM_IMM_F32,           /* c = the bits */
    WASM_IMM_F64,           /* c = the bits */
    WASM_IMM_V128,          /* 16 bytes at vec */
    WASM_IMM_HEAP,          /* type = heap type as a nullable reference type */
    WASM_IMM_SELECT,        /* count types at vec; type = the first */
    WASM_IMM_DATA_MEMORY,   /* a = data segment, b = memory */
    WASM_IMM_MEMORY_MEMORY, /* a = destination, b = source */
    WASM_IMM_ELEM_TABLE,    /* a = element segment, b = table */
    WASM_IMM_TABLE_TABLE,   /* a = destination, b = source */
    WASM_IMM_TYPE_FIELD,    /* a = type, b = field */
    WASM_IMM_TYPE_U32,      /* a = type, b = number */
    WASM_IMM_TYPE_DATA,     /* a = type, b = data segment */
    WASM_IMM_TYPE_ELEM,     /* a = type, b = element segment */
    WASM_IMM_TYPE_TYPE,     /* a = destination type, b = source type */
    WASM_IMM_CAST, /* a = label, type = source, type2 = target (nullability from the flags) */
    WASM_IMM_ZERO, /* the reserved byte of atomic.fence */
} WasmImm;

/* Which modes of the language an instruction has. */
typedef enum WasmModes {
    MODES_ORDINARY,
    MODES_BRANCH,
    MODES_BLOCK,
    MODES_END,
    MODES_UNREACHABLE,
} WasmModes;

typedef struct WasmOpInfo {
    const char *mnemonic;
    uint8_t prefix;
    uint16_t code;
    uint8_t category; /* WasmCategory */
    uint8_t imm;      /* WasmImm */
    uint8_t modes;    /* WasmModes */
    uint16_t event;
    const char *operands, *results; /* see opcode.def */
    const char *names;
} WasmOpInfo;

extern const WasmOpInfo wasm_ops[WASM_OP_COUNT];
extern const char *const wasm_category_names[WASM_CAT_COUNT];

/*
 * Value, reference, heap and storage types in one word.
 *
 * - numbers, v128, packed: the byte of the binary format (0x7f i32 ... 0x7b v128, 0x78 i8 ...)
 * - references: WASM_REF(nullable, heap); heap: a type index, or WASM_HEAP(byte) if abstract
 * - WASM_BOT: "any type", popped from the stack of unreachable code
 * - WASM_NONE: no type (the empty block type)
 *
 * A type equals another iff the words are equal, once type indices are canonical (wasm_canonical).
 */
typedef uint32_t WasmType;
enum {
    WASM_BOT = 0,
    WASM_NONE = 0x40,
    WASM_I32 = 0x7f,
    WASM_I64 = 0x7e,
    WASM_F32 = 0x7d,
    WASM_F64 = 0x7c,
    WASM_V128 = 0x7b,
    WASM_I8 = 0x78,
    WASM_I16 = 0x77,
};
#define WASM_REF_BIT             0x80000000u
#define WASM_NULL_BIT            0x40000000u
#define WASM_ABSTRACT_BIT        0x20000000u
#define WASM_FUNC_TYPE_BIT       0x10000000u /* block types only: the rest is a type index */
#define WASM_HEAP(byte)          (WASM_ABSTRACT_BIT | (byte))
#define WASM_REF(nullable, heap) (WASM_REF_BIT | ((nullable) ? WASM_NULL_BIT : 0u) | (heap))
#define WASM_HEAP_OF(type)       ((type)&0x2fffffffu)
#define WASM_IS_REF(type)        (((type)&WASM_REF_BIT) != 0)
/* Bytes of the abstract heap types. */
enum {
    WASM_HEAP_NOEXN = 0x74,
    WASM_HEAP_NOFUNC = 0x73,
    WASM_HEAP_NOEXTERN = 0x72,
    WASM_HEAP_NONE = 0x71,
    WASM_HEAP_FUNC = 0x70,
    WASM_HEAP_EXTERN = 0x6f,
    WASM_HEAP_ANY = 0x6e,
    WASM_HEAP_EQ = 0x6d,
    WASM_HEAP_I31 = 0x6c,
    WASM_HEAP_STRUCT = 0x6b,
    WASM_HEAP_ARRAY = 0x6a,
    WASM_HEAP_EXN = 0x69,
};
#define WASM_FUNCREF WASM_REF(1, WASM_HEAP(WASM_HEAP_FUNC))

/* One decoded instruction. Immediates are where WasmImm says; vec points into the code. */
typedef struct WasmInstr {
    uint32_t offset; /* of its first byte, from the start of what is read (for a body: the `pc`) */
    uint32_t size;   /* in bytes, immediates included */
    uint16_t op;     /* WasmOp */
    uint16_t opcode_size; /* bytes of the opcode itself */
    uint32_t a, b, count;
    WasmType type, type2;
    uint64_t c;
    const uint8_t *vec;
} WasmInstr;

/* A cursor over code bytes. */
typedef struct WasmCode {
    const uint8_t *start, *at, *end;
    const char *error;     /* what went wrong, NULL = nothing; static text */
    uint32_t error_offset; /* where, from start */
    uint8_t error_prefix;  /* unknown opcodes: see wasm_code_error */
    uint32_t error_code;
} WasmCode;

/* A cursor over `size` bytes, standing at byte `from`. */
WasmCode wasm_code(const uint8_t *bytes, size_t size, size_t from);

/*
 * Decodes the instruction at the cursor and steps over it. False at the end of the code (error
 * NULL) or on malformed code (error set). Checks the encoding only, not types and not that indices
 * exist.
 */
bool wasm_next(WasmCode *c, WasmInstr *i);

/* The text of the error with the number of an unknown opcode, in buf if it has one. */
const char *wasm_code_error(const WasmCode *c, char buf[64]);

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
void wasm_put_op(Buf *b, WasmOp op);

#endif
