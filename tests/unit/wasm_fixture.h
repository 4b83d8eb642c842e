/*
 * tests/unit/wasm_fixture.h - modules for the tests of the module model, written as hexadecimal
 * bytes.
 */
#ifndef WHAMMC_TESTS_WASM_FIXTURE_H
#define WHAMMC_TESTS_WASM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "valid/valid.h"

static inline int hex_digit(char c) {
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Bytes as hexadecimal digits with blanks between; 'text' stands for its characters. */
static inline void put_hex(Buf *b, const char *hex) {
    while (*hex) {
        if (*hex == ' ') {
            hex++;
        } else if (*hex == '\'') {
            for (hex++; *hex != '\''; hex++)
                buf_u8(b, (uint8_t)*hex);
            hex++;
        } else {
            buf_u8(b, (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1])));
            hex += 2;
        }
    }
}

static inline Buf header(void) {
    Buf b = {0};
    put_hex(&b, "00 61 73 6d 01 00 00 00");
    return b;
}

static inline void section(Buf *b, uint8_t id, const char *hex) {
    Buf content = {0};
    put_hex(&content, hex);
    buf_u8(b, id);
    buf_uleb(b, content.len);
    buf_bytes(b, content.data, content.len);
    buf_free(&content);
}

/* A module with something in every section. */
static inline Buf fixture(void) {
    Buf b = header();
    /* 0 () -> (), 1 (i32) -> i32, 2 () -> i32, 3 () -> (i32, i64) */
    section(&b, 1, "04 60 00 00 60 01 7f 01 7f 60 00 01 7f 60 00 02 7f 7e");
    section(&b, 2, "02 03 'env' 01 'f' 00 00 03 'env' 01 'g' 03 7f 00");
    section(&b, 3, "04 00 01 02 03");
    section(&b, 4, "01 70 00 03");
    section(&b, 5, "01 00 01");
    section(&b, 13, "01 00 00");
    section(&b, 6, "02 7f 01 23 00 0b 70 00 d2 01 0b"); /* global.get 0, ref.func 1 */
    section(&b, 7, "03 03 'run' 00 02 03 'mem' 02 00 02 'gl' 03 01");
    section(&b, 8, "01");
    section(&b, 9, "01 00 41 00 0b 03 00 01 02");
    section(&b, 12, "01");
    /* A hint for the br_if at offset 9 of function 2. */
    section(&b, 0, "19 'metadata.code.branch_hint' 01 02 01 09 01 01");
    section(&b, 10,
            "04"
            " 04 00 10 00 0b"                                        /* 1: call 0 */
            " 11 01 02 7e 20 00 02 40 20 00 0d 00 10 00 01 0b 0f 0b" /* 2: block, br_if, call 0,
                                                                        nop, return */
            " 04 00 23 01 0b"                                        /* 3: global.get 1 */
            " 06 00 41 01 42 02 0b");                                /* 4 */
    section(&b, 11, "01 00 41 00 0b 02 'hi'");
    section(&b, 0,
            "04 'name' 00 04 03 'mod' 01 0a 02 02 03 'two' 03 02 'th'"
            " 02 07 01 02 01 00 02 'p0'"
            " 07 05 01 01 02 'gl'");
    return b;
}

typedef struct Fixture {
    Buf bytes;
    WasmModule m;
    Diags diags;
} Fixture;

/* Reads a valid module; takes the bytes over. */
static inline void load(Fixture *f, Buf bytes) {
    *f = (Fixture){.bytes = bytes};
    DiagFileId file = diag_file(&f->diags, "module", bytes.data, bytes.len, true);
    bool ok = wasm_load(&f->m, bytes.data, bytes.len, file, &f->diags);
    if (!ok)
        print_error("%s at %u\n", f->diags.list.at[0]->message, f->diags.list.at[0]->span.start);
    assert_true(ok);
}

static inline void unload(Fixture *f) {
    wasm_module_free(&f->m);
    diag_free(&f->diags);
    buf_free(&f->bytes);
}

#endif
