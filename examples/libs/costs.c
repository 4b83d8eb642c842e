/*
 * costs.c - a library for scripts: what instructions cost, roughly, in simple ones. `of` is meant
 * for
 * @static calls, `found` for @init.
 *
 *     clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o costs.wasm costs.c
 */
#define EXPORT(name) __attribute__((export_name(name)))

/* The cost of an instruction, given its opcode. */
EXPORT("of") int of(int bytecode) {
    switch (bytecode) {
    case 0x6d: /* i32.div_s */
    case 0x6e: /* i32.div_u */
    case 0x6f: /* i32.rem_s */
    case 0x70: /* i32.rem_u */ return 20;
    case 0xa3: /* f64.div */ return 15;
    case 0x11: /* call_indirect */ return 10;
    case 0x10: /* call */ return 5;
    default: return 1;
    }
}

static int sites;

/* Notes a site. */
EXPORT("found") void found(void) {
    sites++;
}

/* How many sites were noted. */
EXPORT("how_many") int how_many(void) {
    return sites;
}
