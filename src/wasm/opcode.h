/*
 * wasm/opcode.h - the numbers of instructions, of the shapes of their immediates, and of types, for
 * the compiler and for the decoder in the runtime of monitors (stdlib/runtime/site/site.c). Needs
 * no C library.
 */
#ifndef WHAMMC_WASM_OPCODE_H
#define WHAMMC_WASM_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* WASM_OP_<id>, dense, in the order of opcode.def. */
typedef enum WasmOp {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    WASM_OP_##id,
#include "wasm/opcode.def"
    WASM_OP_COUNT
} WasmOp;

/* The first bytes of opcodes that have more. */
enum { WASM_FIRST_PREFIX = 0xfb, WASM_LAST_PREFIX = 0xfe };

/* Whether an instruction is on continuations. */
static inline bool wasm_is_of_stacks(uint32_t op) {
    return op >= WASM_OP_CONT_NEW && op <= WASM_OP_SWITCH;
}
/* Whether another stack becomes the current one. */
static inline bool wasm_leaves_stack(uint32_t op) {
    return op >= WASM_OP_SUSPEND && op <= WASM_OP_SWITCH;
}
/* Whether it resumes a stack, which may end, and has handlers. */
static inline bool wasm_has_handlers(uint32_t op) {
    return op >= WASM_OP_RESUME && op <= WASM_OP_RESUME_THROW_REF;
}

/* Whether the operand on top is a descriptor that those of references are compared with. */
static inline bool wasm_compares_descriptors(uint32_t op) {
    return op >= WASM_OP_REF_CAST_DESC_EQ && op <= WASM_OP_BR_ON_CAST_DESC_EQ_FAIL;
}

/* Where control goes from an instruction: column `flow` of opcode.def. */
typedef enum WasmFlow {
    WASM_FLOW_NEXT,
    WASM_FLOW_OPEN, /* a construct whose label is at its end: block, try, try_table */
    WASM_FLOW_LOOP,
    WASM_FLOW_IF,
    WASM_FLOW_ARM, /* else, catch, catch_all */
    WASM_FLOW_END, /* end, delegate */
    WASM_FLOW_CALL,
    WASM_FLOW_BRANCH_IF,
    WASM_FLOW_BRANCH, /* from here on: control does not go on to the next */
    WASM_FLOW_BRANCH_TABLE,
    WASM_FLOW_TAIL_CALL, /* from here on: it leaves the function, or the construct by an exception
                          */
    WASM_FLOW_RETURN,
    WASM_FLOW_THROW,
    WASM_FLOW_TRAP, /* unreachable */
} WasmFlow;

/* A construct begins. */
static inline bool wasm_flow_opens(WasmFlow f) {
    return f == WASM_FLOW_OPEN || f == WASM_FLOW_LOOP || f == WASM_FLOW_IF;
}
/* It only structures the code: how often it is executed says nothing about its line. An `if`
 * decides, too. */
static inline bool wasm_flow_is_structure(WasmFlow f) {
    return f == WASM_FLOW_OPEN || f == WASM_FLOW_LOOP || f == WASM_FLOW_ARM || f == WASM_FLOW_END;
}
/* Control does not go on to the next instruction. */
static inline bool wasm_flow_stops(WasmFlow f) {
    return f >= WASM_FLOW_BRANCH;
}

/* The shape of the immediates and where WasmInstr keeps them (see there). */
typedef enum WasmImm {
    WASM_IMM_NONE,
    WASM_IMM_BLOCK,         /* type = block type */
    WASM_IMM_TRY_TABLE,     /* type = block type; count catches at vec */
    WASM_IMM_RESUME,        /* a = type; count handlers at vec */
    WASM_IMM_RESUME_TAG,    /* a = type, b = tag; count handlers at vec */
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
    WASM_IMM_TYPE_TYPE,     /* a = destination type, b = source type; of cont.bind the other way */
    WASM_IMM_TYPE_TAG,      /* a = type, b = tag */
    WASM_IMM_CAST, /* a = label, type = source, type2 = target (nullability from the flags) */
    WASM_IMM_ZERO, /* the reserved byte of atomic.fence */
} WasmImm;

/* How many indices, or numbers like them, a shape has that is nothing else: `a`, or `a` and `b`; 0
 * = it is another shape. */
static inline uint32_t wasm_imm_indices(WasmImm imm) {
    switch (imm) {
    case WASM_IMM_LABEL:
    case WASM_IMM_FUNC:
    case WASM_IMM_TYPE:
    case WASM_IMM_LOCAL:
    case WASM_IMM_GLOBAL:
    case WASM_IMM_TABLE:
    case WASM_IMM_TAG:
    case WASM_IMM_MEMORY:
    case WASM_IMM_DATA:
    case WASM_IMM_ELEM: return 1;
    case WASM_IMM_TYPE_TABLE:
    case WASM_IMM_DATA_MEMORY:
    case WASM_IMM_MEMORY_MEMORY:
    case WASM_IMM_ELEM_TABLE:
    case WASM_IMM_TABLE_TABLE:
    case WASM_IMM_TYPE_FIELD:
    case WASM_IMM_TYPE_U32:
    case WASM_IMM_TYPE_DATA:
    case WASM_IMM_TYPE_ELEM:
    case WASM_IMM_TYPE_TYPE:
    case WASM_IMM_TYPE_TAG: return 2;
    default: return 0;
    }
}

/*
 * Value, reference, heap and storage types in one word.
 *
 * - numbers, v128, packed: the byte of the binary format (0x7f i32 ... 0x7b v128, 0x78 i8 ...)
 * - references: WASM_REF(nullable, heap); heap: a type index, or WASM_HEAP(byte) if abstract; with
 *   WASM_EXACT_BIT: to the type with that index, and not to its subtypes
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
#define WASM_EXACT_BIT           0x10000000u /* references only */
#define WASM_HEAP(byte)          (WASM_ABSTRACT_BIT | (byte))
#define WASM_REF(nullable, heap) (WASM_REF_BIT | ((nullable) ? WASM_NULL_BIT : 0u) | (heap))
#define WASM_HEAP_OF(type)       ((type)&0x2fffffffu)
#define WASM_IS_REF(type)        (((type)&WASM_REF_BIT) != 0)
/* The reference type with another type index. */
static inline WasmType wasm_with_index(WasmType t, uint32_t index) {
    return (t & (WASM_REF_BIT | WASM_NULL_BIT | WASM_EXACT_BIT)) | index;
}
/* A local or field of this type has a default value. */
static inline bool wasm_defaultable(WasmType t) {
    return !WASM_IS_REF(t) || (t & WASM_NULL_BIT) != 0;
}
/* The same type; for a reference, its nullable type. */
static inline WasmType wasm_nullable(WasmType t) {
    return WASM_IS_REF(t) ? t | WASM_NULL_BIT : t;
}
/* The largest type index that fits WasmType. */
enum { WASM_MAX_TYPE_INDEX = 0x0fffffff };
/* Bytes of the abstract heap types. */
enum {
    WASM_HEAP_NOCONT = 0x75,
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
    WASM_HEAP_CONT = 0x68,
    WASM_HEAP_FIRST = WASM_HEAP_CONT,
    WASM_HEAP_LAST = WASM_HEAP_NOCONT,
};
#define WASM_FUNCREF WASM_REF(1, WASM_HEAP(WASM_HEAP_FUNC))
#define WASM_EXNREF  WASM_REF(1, WASM_HEAP(WASM_HEAP_EXN))

#endif
