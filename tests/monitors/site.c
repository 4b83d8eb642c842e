/*
 * tests/monitors/site.c - a monitor that asks the decoder about every instruction and prints
 * a number made of the answers, for tests/checks/site: linked with the runtime, but not by whammc.
 * TABLE is a header with the bytes of the table of instructions.
 */
#include TABLE
#include "stdlib/runtime/site_state.h"

extern uint8_t __heap_base; /* of the linker */
static uint64_t checksum = 0xcbf29ce484222325;

static void mix(uint64_t v) {
    checksum = (checksum ^ v) * 0x100000001b3;
}

/* What the compiler lays out. */
static void lay_out(void) {
    V->heap = ((uint32_t)(uintptr_t)&__heap_base + 7) & ~7u;
    S->table = (uint32_t)(uintptr_t)table;
}

EXPORT("$ask") uint32_t ask(uint32_t fid, uint32_t pc) {
    if (!S->table)
        lay_out();
    mix(site_op(fid, pc));
    mix(site_opidx(fid, pc));
    mix(site_live(fid, pc));
    mix(site_block_first(fid, pc));
    mix(site_block_last(fid, pc));
    mix(site_goes_to_loop(fid, pc));
    mix(site_arg(fid, pc, 0));
    mix(site_arg(fid, pc, 1));
    mix(site_imm(fid, pc, 0));
    return 0;
}

EXPORT("wasm:opcode:* /$ask(fid, pc)/") void probe(void) {}

EXPORT("wasm:exit") void at_exit(void) {
    values_puts((uint32_t)(uintptr_t) "checksum ", 9);
    values_putu64(checksum);
    values_putc('\n');
    values_flush();
}

/* Without an engine: asks about all instructions of the functions from `first` on. */
EXPORT("walk") void walk(uint32_t first, uint32_t functions) {
    if (!S->table)
        lay_out();
    for (uint32_t fid = first; fid < functions; fid++) {
        uint32_t end = site_func_end(fid), pc;
        site_body(fid);
        for (pc = S->code; pc <= end; pc += site_at(fid, pc)->size)
            ask(fid, pc);
    }
}

/* Asks one question about them: 0 op, 1 arg0, 2 block_last. */
EXPORT("measure") void measure(uint32_t question, uint32_t first, uint32_t functions) {
    if (!S->table)
        lay_out();
    for (uint32_t fid = first; fid < functions; fid++) {
        uint32_t end = site_func_end(fid);
        if (question == 0)
            site_op(fid, end);
        else if (question == 1)
            site_arg(fid, end, 0);
        else
            site_block_last(fid, end);
    }
}
