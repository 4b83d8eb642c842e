/*
 * gas.c - a library for scripts: what instructions cost, and how much is left. For
 * ../scripts/gas.whamm.
 *
 * The host sets the limit and reads the rest by the exports `gas:set` and `gas:left` of the
 * instrumented program.
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o gas.wasm gas.c
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

/* ---- while a program runs ---- */

static int64_t left;

/* Pays for the instructions of a block. Traps if there is not enough. */
EXPORT("charge") void charge(int64_t cost) {
    left -= cost;
    if (left < 0)
        __builtin_trap();
}

EXPORT("set") void set(int64_t limit) {
    left = limit;
}

/* Negative = the program has ended because there was not enough. */
EXPORT("rest") int64_t rest(void) {
    return left;
}

EXPORT("host:set") void host_set(int64_t limit) {
    set(limit);
}

EXPORT("host:left") int64_t host_left(void) {
    return rest();
}

/* ---- while it is instrumented ---- */

static int64_t unpaid, taken;
static bool in_block;

/* The cost of an instruction, by its opcode. Change it as you like. */
static int64_t cost_of(int32_t bytecode) {
    switch (bytecode) {
    case 0x01: /* nop */
    case 0x02: /* block */
    case 0x03: /* loop */
    case 0x05: /* else */
    case 0x0b: /* end */ return 0;
    case 0x10: /* call */
    case 0x11: /* call_indirect */ return 5;
    case 0x40: /* memory.grow */ return 1000;
    case 0x6d: /* i32.div_s */
    case 0x6e: /* i32.div_u */
    case 0x6f: /* i32.rem_s */
    case 0x70: /* i32.rem_u */
    case 0x7f: /* i64.div_s */
    case 0x80: /* i64.div_u */
    case 0x81: /* i64.rem_s */
    case 0x82: /* i64.rem_u */ return 20;
    default: return 1;
    }
}

/* An instruction. The first one of a block comes before its beginning. */
EXPORT("add") void add(int32_t bytecode) {
    unpaid = cost_of(bytecode) + (in_block ? unpaid : 0);
}

/* A block begins. What was between two blocks is never executed. */
EXPORT("begin") void begin(void) {
    in_block = true;
}

/* Returns what is to be paid for here. */
EXPORT("take") int64_t take(void) {
    taken = unpaid;
    unpaid = 0;
    return taken;
}

/* The same at the end of a block. */
EXPORT("end") int64_t end(void) {
    in_block = false;
    return take();
}

/* Returns it again. */
EXPORT("cost") int64_t cost(void) {
    return taken;
}
