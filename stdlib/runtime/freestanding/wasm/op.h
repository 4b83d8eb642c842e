/*
 * runtime/freestanding/wasm/op.h - columns of wasm/opcode.def from the table that the compiler
 * writes into the monitor's memory.
 */
#ifndef WHAMMC_FREESTANDING_OP_H
#define WHAMMC_FREESTANDING_OP_H

#include_next "wasm/op.h"

#include "site/site.h"

static inline const uint8_t *site_op_info(uint32_t op) {
    uint32_t table = *(const uint32_t *)SITE_STATE;
    return (const uint8_t *)table + SITE_OP_SIZE * op;
}
#define wasm_imm(op)  ((WasmImm)site_op_info(op)[SITE_OP_IMM])
#define wasm_flow(op) ((WasmFlow)site_op_info(op)[SITE_OP_FLOW])

/* Whether an instruction can trap; false if that does not matter here (site/site_count.c). */
bool site_can_trap(uint32_t op);
#define op_can_trap(op) site_can_trap(op)

static inline bool site_is_straight(uint32_t op) {
    return wasm_flow(op) == WASM_FLOW_NEXT && !site_can_trap(op) && op != WASM_OP_ARRAY_NEW &&
           op != WASM_OP_ARRAY_NEW_DEFAULT && op != WASM_OP_CONT_BIND;
}
#define wasm_is_straight(op) site_is_straight(op)

/* Only hosts of programs need the location. */
#define op_hides_trap(op) false

#endif
