/*
 * runtime/site/site_ops.h - columns of src/wasm/opcode.def as code, since the runtime has no data.
 */
#ifndef WHAMMC_RUNTIME_SITE_OPS_H
#define WHAMMC_RUNTIME_SITE_OPS_H

#include "wasm/opcode.h"

/* clang-format off */
#define FLOW_NEXT(id)
#define FLOW_OPEN(id)         case WASM_OP_##id: return WASM_FLOW_OPEN;
#define FLOW_LOOP(id)         case WASM_OP_##id: return WASM_FLOW_LOOP;
#define FLOW_IF(id)           case WASM_OP_##id: return WASM_FLOW_IF;
#define FLOW_ARM(id)          case WASM_OP_##id: return WASM_FLOW_ARM;
#define FLOW_END(id)          case WASM_OP_##id: return WASM_FLOW_END;
#define FLOW_CALL(id)         case WASM_OP_##id: return WASM_FLOW_CALL;
#define FLOW_BRANCH_IF(id)    case WASM_OP_##id: return WASM_FLOW_BRANCH_IF;
#define FLOW_BRANCH(id)       case WASM_OP_##id: return WASM_FLOW_BRANCH;
#define FLOW_BRANCH_TABLE(id) case WASM_OP_##id: return WASM_FLOW_BRANCH_TABLE;
#define FLOW_TAIL_CALL(id)    case WASM_OP_##id: return WASM_FLOW_TAIL_CALL;
#define FLOW_RETURN(id)       case WASM_OP_##id: return WASM_FLOW_RETURN;
#define FLOW_THROW(id)        case WASM_OP_##id: return WASM_FLOW_THROW;
#define FLOW_TRAP(id)         case WASM_OP_##id: return WASM_FLOW_TRAP;

/* clang-format on */

/* Where control goes from an instruction. */
static inline WasmFlow wasm_flow(uint32_t op) {
    switch ((WasmOp)op) {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    FLOW_##flow(id)
#include "wasm/opcode.def"
    default: return WASM_FLOW_NEXT;
    }
}

#endif
