/*
 * runtime/site.h - what a monitor finds out about places in the program while an engine attaches
 * it.
 *
 * Everything comes through `whamm:reflect`: function bodies, types, imports, names. The first
 * question about a function decodes its body, in one pass, and keeps what it found until another
 * function is asked about (engines go through the program function by function). Nothing is asked
 * after the program has begun to run.
 *
 * A place is a function index (imports included) and a pc: the offset of an instruction in the body,
 * local declarations included; 0 is the function's entry. A place at which there is no instruction
 * traps. Strings are objects of values.h.
 *
 * What is not decodable (an instruction nobody knows) ends the attaching with a message and a trap:
 * counts would be wrong.
 */
#ifndef WHAMMC_RUNTIME_SITE_H
#define WHAMMC_RUNTIME_SITE_H

#include <stdint.h>

/* ---- the instruction ---- */

uint32_t site_op(uint32_t fid, uint32_t pc);          /* WasmOp of the compiler's table */
uint32_t site_opidx(uint32_t fid, uint32_t pc);       /* number of the instruction in the body */
uint32_t site_last(uint32_t fid, uint32_t pc);        /* 1: the function's last `end` */
uint32_t site_live(uint32_t fid, uint32_t pc);        /* 1: the validator says it can be reached */
uint64_t site_imm(uint32_t fid, uint32_t pc, uint32_t n); /* immediate n as the language counts;
                                                             bits of a number */
uint32_t site_has_imm(uint32_t fid, uint32_t pc, uint32_t n);
uint64_t site_offset(uint32_t fid, uint32_t pc);
uint32_t site_memory(uint32_t fid, uint32_t pc);

/* ---- types: the byte of the binary format (0x7f = i32 ...); 0 = there is none; other references
 * are 0x01; 0x02 = any, taken from the stack of code that cannot be reached ---- */

uint32_t site_arg(uint32_t fid, uint32_t pc, uint32_t n);   /* operand n from the top */
uint32_t site_local(uint32_t fid, uint32_t n);              /* local n, parameters first */

/* ---- control flow, as src/probe/flow.h defines it ---- */

uint32_t site_block_first(uint32_t fid, uint32_t pc); /* 1: the first instruction of a basic block */
uint32_t site_block_last(uint32_t fid, uint32_t pc);
/* 1: an `end` to which branches lead (FlowStep.branched_end) */
uint32_t site_branched(uint32_t fid, uint32_t pc);
uint32_t site_has_else(uint32_t fid, uint32_t pc); /* 1: an `if` that has an `else` */
/* 1: inside the body of a try or try_table of the function, not inside a catch */
uint32_t site_in_try(uint32_t fid, uint32_t pc);
uint32_t site_instr_count(uint32_t fid, uint32_t pc); /* of the block that ends here */
/* Bit k: target k of the branch (bit 0 for br, br_if and br_on_*; of a br_table the default is
 * behind the others; of a try_table any of its labels is bit 0) is a loop. More than 63 targets, one of them a loop: trap with a message. */
uint64_t site_to_loop(uint32_t fid, uint32_t pc);
uint32_t site_ends_program(uint32_t fid, uint32_t pc); /* 1: a call of WASI's proc_exit */

/* ---- names ---- */

uint32_t site_fname(uint32_t fid);
uint32_t site_target_fn_name(uint32_t fid, uint32_t pc); /* of call and return_call */
uint32_t site_target_fn_type(uint32_t fid, uint32_t pc);
uint32_t site_target_imp_module(uint32_t fid, uint32_t pc);

/* ---- the module ---- */

uint32_t site_app_memid(void);
uint64_t site_page_size(uint32_t memory);
uint32_t site_memory_shared(uint32_t memory);
uint32_t site_func_end(uint32_t fid); /* pc of the function's last `end` */
uint32_t site_has_exceptions(void);   /* 1: the module declares or imports tags */

#endif
