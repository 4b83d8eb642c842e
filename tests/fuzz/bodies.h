/*
 * tests/fuzz/bodies.h - where the bodies of a module are that nobody has checked.
 */
#ifndef WHAMMC_TESTS_FUZZ_BODIES_H
#define WHAMMC_TESTS_FUZZ_BODIES_H

#include "dwarf/dwarf.h"
#include "wasm/leb.h"

enum { BODIES_MAX = 64 };

/* The bodies of a code section, as far as it can be read. */
static uint32_t find_bodies(Str code, DwarfBody bodies[BODIES_MAX]) {
    uint32_t n = 0, count, size;
    const uint8_t *at;
    if (!code.len)
        return 0;
    WasmCode c = wasm_code((const uint8_t *)code.ptr, code.len, 0);
    if (!wasm_get_u32(&c, &count))
        return 0;
    while (n < BODIES_MAX && n < count && wasm_get_u32(&c, &size) &&
           wasm_get_bytes(&c, size, &at)) {
        uint32_t start = (uint32_t)(at - c.start);
        bodies[n++] = (DwarfBody){start, start + size};
    }
    return n;
}

#endif
