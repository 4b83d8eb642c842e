/*
 * monitor/read/operand.c - operands and immediates of instructions as engines count them.
 *
 * Operands are the values that an instruction itself takes: of a branch the condition or index, not
 * the values for its target.
 */
#include "monitor/read/operand.h"

#include <assert.h>

WasmType value_type(char letter) {
    if (letter == 'r')
        return WASM_REF(1, WASM_HEAP(WASM_HEAP_EXTERN));
    WasmType t = wasm_letter_type(letter);
    return t == WASM_BOT ? WASM_NONE : t;
}

/* varying_operands of the instructions on structures, arrays and descriptors. */
static const char *gc_operands(WasmOp op) {
    if (wasm_compares_descriptors(op))
        return "??";
    switch (op) {
    case WASM_OP_STRUCT_GET:
    case WASM_OP_STRUCT_GET_S:
    case WASM_OP_STRUCT_GET_U:
    case WASM_OP_STRUCT_NEW_DEFAULT_DESC:
    case WASM_OP_REF_GET_DESC:
    case WASM_OP_ARRAY_LEN: return "?";
    case WASM_OP_STRUCT_SET: return "??";
    case WASM_OP_ARRAY_GET:
    case WASM_OP_ARRAY_GET_S:
    case WASM_OP_ARRAY_GET_U: return "?i";
    case WASM_OP_ARRAY_SET: return "?i?";
    case WASM_OP_ARRAY_FILL: return "?i?i";
    case WASM_OP_ARRAY_COPY: return "?i?ii";
    case WASM_OP_ARRAY_INIT_DATA:
    case WASM_OP_ARRAY_INIT_ELEM: return "?iii";
    case WASM_OP_ARRAY_NEW: return "?i";
    case WASM_OP_STRUCT_NEW_DESC: return "+?";
    default: return "+"; /* struct.new, array.new_fixed, and what is none of these */
    }
}

/* Operands of instructions that wasm/opcode.def leaves to the validator ("*"), deepest first:
 * letters as there, ? = a type that varies; a leading + = and any number of others below. */
static const char *varying_operands(WasmOp op) {
    switch (op) {
    case WASM_OP_ELSE:
    case WASM_OP_CATCH:
    case WASM_OP_DELEGATE:
    case WASM_OP_END:
    case WASM_OP_BR: return "";
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE: return "i";
    case WASM_OP_IF: return "+i";
    case WASM_OP_SELECT: return "?\?i";
    case WASM_OP_TYPED_SELECT: return "+i";
    case WASM_OP_CALL_INDIRECT:
    case WASM_OP_RETURN_CALL_INDIRECT: return "+a";
    case WASM_OP_TABLE_SET: return "a?";
    case WASM_OP_TABLE_FILL: return "a?a";
    case WASM_OP_TABLE_GROW: return "?a";
    case WASM_OP_THROW_REF:
    case WASM_OP_CONT_NEW:
    case WASM_OP_BR_ON_NULL:
    case WASM_OP_BR_ON_NON_NULL:
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL:
    case WASM_OP_DROP:
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE:
    case WASM_OP_GLOBAL_SET:
    case WASM_OP_REF_IS_NULL:
    case WASM_OP_REF_AS_NON_NULL:
    case WASM_OP_REF_TEST:
    case WASM_OP_REF_TEST_NULL:
    case WASM_OP_REF_CAST:
    case WASM_OP_REF_CAST_NULL:
    case WASM_OP_ANY_CONVERT_EXTERN:
    case WASM_OP_EXTERN_CONVERT_ANY:
    case WASM_OP_I31_GET_S:
    case WASM_OP_I31_GET_U: return "?";
    case WASM_OP_REF_EQ:
    case WASM_OP_RESUME_THROW_REF: return "??";
    case WASM_OP_CONT_BIND:
    case WASM_OP_RESUME:
    case WASM_OP_RESUME_THROW:
    case WASM_OP_SWITCH: return "+?";
    default: return gc_operands(op); /* blocks, calls, return, throw, suspend: "+" */
    }
}

ValueIs value_arg(WasmOp op, uint32_t n, WasmType *type) {
    const char *letters = wasm_ops[op].operands;
    if (*letters == '*')
        letters = varying_operands(op);
    bool more = *letters == '+';
    letters += more;
    size_t count = strlen(letters);
    if (n >= count)
        return more ? VALUE_VARIES : VALUE_NONE;
    char letter = letters[count - 1 - n];
    if (letter == 'a')
        return VALUE_ADDRESS;
    if (letter == '?')
        return VALUE_VARIES;
    *type = value_type(letter);
    return VALUE_TYPE;
}

/* The types of immediates by WasmImm; a trailing * = and any number more. */
static const char *operand_immediates(WasmImm imm) {
    switch (imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_SELECT:
    case WASM_IMM_CAST: return "";
    case WASM_IMM_BLOCK:
    case WASM_IMM_LANE:
    case WASM_IMM_HEAP:
    case WASM_IMM_ZERO:
    case WASM_IMM_RESUME:
    case WASM_IMM_I32: return "i";
    case WASM_IMM_RESUME_TAG: return "ii";
    case WASM_IMM_I64: return "l";
    case WASM_IMM_F32: return "f";
    case WASM_IMM_F64: return "d";
    case WASM_IMM_V128: return "v";
    case WASM_IMM_TRY_TABLE: /* beyond the first there is nothing; but engines do not mind */
    case WASM_IMM_BR_TABLE: return "i*";
    case WASM_IMM_MEMARG: return "iii";
    case WASM_IMM_MEMARG_LANE: return "iiii";
    case WASM_IMM_LANES16: return "iiiiiiiiiiiiiiii";
    default: return wasm_imm_indices(imm) == 1 ? "i" : "ii";
    }
}

ValueIs value_imm(WasmOp op, uint32_t n, WasmType *type) {
    const char *letters = operand_immediates((WasmImm)wasm_ops[op].imm);
    size_t count = strlen(letters);
    bool more = count && letters[count - 1] == '*';
    count -= more;
    if (n >= count && !more)
        return VALUE_NONE;
    *type = value_type(letters[n < count ? n : count - 1]);
    return VALUE_TYPE;
}

bool value_has_offset(WasmOp op) {
    assert(op < WASM_OP_COUNT);
    return wasm_ops[op].imm == WASM_IMM_MEMARG || wasm_ops[op].imm == WASM_IMM_MEMARG_LANE;
}
