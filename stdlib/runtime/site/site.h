/*
 * runtime/site/site.h - answers a monitor's questions about locations in the program while an
 * engine attaches it.
 *
 * All information comes from `whamm:reflect`: function bodies, types, imports, names. The first
 * question about a function decodes its body, in one pass, and keeps what it found until another
 * function is asked about (engines go through the program function by function). There are no
 * questions after the program has started.
 *
 * A location is a function index (imports included) and a pc: the offset of an instruction in the
 * body, local declarations included; 0 is the function's entry. If there is no instruction at the
 * offset, that is a trap. Strings are objects of runtime/values.h.
 *
 * If something cannot be decoded, such as an unknown instruction, attaching ends with a message and
 * a trap: counts would be wrong.
 */
#ifndef WHAMMC_RUNTIME_SITE_H
#define WHAMMC_RUNTIME_SITE_H

#include <stdint.h>

/*
 * The state is at this address of the monitor's memory, zeros at start but for its first word,
 * which the compiler writes: the address of the table of instructions (valid/op_table.h), as
 * initial data.
 */
enum { SITE_STATE = 3136 };

/*
 * The table: by WasmOp, three bytes: WasmImm, WasmFlow, number of its fixed types. Then u16 each for
 * five pages (no prefix, 0xfb, 0xfc, 0xfd, 0xfe) the number of the page's first code, and how many
 * codes there are in all; by page and code, WasmOp + 1 as u16 (0 = unknown). Then the fixed types
 * (WasmSimpleSig, valid/signature.h), number 0: they are not fixed.
 */
enum { SITE_OP_IMM, SITE_OP_FLOW, SITE_OP_SIGNATURE, SITE_OP_SIZE };
enum { SITE_TABLE_PAGES = 5, SITE_TABLE_CODES = 12 };

/* ---- the instruction; at pc 0 there is none, but opidx is 0 and live 1 ---- */

uint32_t site_op(uint32_t fid, uint32_t pc);    /* WasmOp of the compiler's table */
uint32_t site_opidx(uint32_t fid, uint32_t pc); /* number of the instruction in the body */
uint32_t site_last(uint32_t fid, uint32_t pc);  /* 1: the function's last `end` */
uint32_t site_live(uint32_t fid, uint32_t pc);  /* 1: the validator says it can be reached */
uint64_t site_imm(uint32_t fid, uint32_t pc, uint32_t n); /* immediate n as the language counts;
                                                             bits of a number */
/* 1: there is an immediate n. */
uint32_t site_has_imm(uint32_t fid, uint32_t pc, uint32_t n);
uint32_t site_num_targets(uint32_t fid, uint32_t pc); /* of br_table; its default is immediate
                                                         number num_targets */
uint64_t site_table_target(uint32_t fid, uint32_t pc,
                           uint32_t n); /* the label of target n; beyond them 0 */
uint32_t site_table_targets(uint32_t fid,
                            uint32_t pc); /* the labels of the targets and a 0, as a str of u32s */
/* The static offset of a memory access. */
uint64_t site_offset(uint32_t fid, uint32_t pc);
uint32_t site_memory(uint32_t fid, uint32_t pc);    /* accessed; by memory.copy: written */
uint32_t site_item_size(uint32_t fid, uint32_t pc); /* in the array whose type is immediate 0; 0 =
                                                       it is no array */
/* The function of ref.func, of this instruction or the one before; -1 = not known. */
uint32_t site_resolved_fid(uint32_t fid, uint32_t pc);

/* ---- types: the byte of the binary format (0x7f = i32 ...) ---- */

enum {
    SITE_NONE = 0, /* there is no such operand or local */
    SITE_REF = 1,  /* a reference whose type has more than one byte */
    SITE_ANY = 2,  /* not known, in unreachable code: matches any type */
};

uint32_t site_arg(uint32_t fid, uint32_t pc,
                  uint32_t n);                 /* operand n of the instruction, from the top */
uint32_t site_local(uint32_t fid, uint32_t n); /* parameters first */

/* ---- control flow, as src/analysis/flow.h defines it ---- */

uint32_t site_block_first(uint32_t fid,
                          uint32_t pc); /* 1: the first instruction of a basic block */
uint32_t site_block_last(uint32_t fid, uint32_t pc);
/* 1: inside the body of a try or try_table of the function, not inside a catch of it */
uint32_t site_in_try(uint32_t fid, uint32_t pc);
uint32_t site_instr_count(uint32_t fid, uint32_t pc); /* of the block that starts or ends here */
/* 1: a branch, or a try_table, one of whose targets is a loop */
uint32_t site_goes_to_loop(uint32_t fid, uint32_t pc);
/* Which targets of a branch are loops, as a str: target k is bit k & 7 of byte k / 8. The default
 * of a br_table is after its others. */
uint32_t site_loop_map(uint32_t fid, uint32_t pc);
uint32_t site_ends_program(uint32_t fid, uint32_t pc); /* 1: a call of WASI's proc_exit */

/* ---- names ---- */

/* The name of a function: from the name section, else of an export, else its number. */
uint32_t site_fname(uint32_t fid);
/* The first name by which a function is exported; 0 = none. */
uint32_t site_export_name(uint32_t fid);
uint32_t site_target_fn_name(uint32_t fid, uint32_t pc); /* of call and return_call */
uint32_t site_target_fn_type(uint32_t fid, uint32_t pc);
uint32_t site_target_imp_module(uint32_t fid, uint32_t pc);

/* Ends the attaching with a message that ends in `why` (a str), and a trap. */
void site_refuse(uint32_t fid, uint32_t pc, uint32_t why);

/* ---- the function ---- */

uint32_t site_fn_size(uint32_t fid);   /* bytes of its body */
uint32_t site_fn_params(uint32_t fid); /* how many parameters it has */
/* Whether it has instructions of a kind. */
enum { SITE_HAS_CALLS = 1, SITE_HAS_LOOPS = 2, SITE_HAS_TAIL_CALLS = 4 };
uint32_t site_fn_has(uint32_t fid, uint32_t kind);

/* ---- the module ---- */

/* Its name: of the name section, else of its file, without folders. */
uint32_t site_module_name(void);
/* The number of the first memory that the program does not import, else 0. */
uint32_t site_app_memid(void);
/* The bytes in a page of a memory. */
uint64_t site_page_size(uint32_t memory);
uint32_t site_func_end(uint32_t fid); /* pc of the function's last `end` */

/* Frees, and clears, what was read of the program; later questions read it again. */
void site_done(void);

#endif
