/*
 * monitor/read/operand.h - operands and immediates of instructions as engines count them.
 */
#ifndef WHAMMC_MONITOR_OPERAND_H
#define WHAMMC_MONITOR_OPERAND_H

#include "wasm/op.h"

/* Facts about argN or immN of an instruction that need no program. */
typedef enum ValueIs {
    VALUE_NONE,    /* the instruction never has it */
    VALUE_TYPE,    /* it is of one type, if it is there */
    VALUE_ADDRESS, /* i32 or i64, by the memory or table */
    VALUE_VARIES,  /* its existence and type differ from location to location */
} ValueIs;

/* Operand n, counted from the top of the stack. *type only with VALUE_TYPE. */
ValueIs value_arg(WasmOp op, uint32_t n, WasmType *type);
/* Immediate n in the order of engines: of memory accesses alignment, memory, offset, lane; of
 * br_table the number of targets, the targets, the default. */
ValueIs value_imm(WasmOp op, uint32_t n, WasmType *type);
/* Whether the instruction has a static offset. */
bool value_has_offset(WasmOp op);

/* A type as a letter of wasm/opcode.def and param.def: i l f d v, r = externref. */
WasmType value_type(char letter);

#endif
