/*
 * tests/fuzz/fuzz_options.c - fuzz target: what options of the command line read. The input is a
 * byte and, if it is even, the value of a constant (-D NAME=VALUE): each type of constant gets it;
 * where it is one of that type the script compiles, and lists of numbers are looked into at a site.
 * If it is odd, the names of a program's functions (--names), a symbol map or another build: the
 * program with its new names is valid, and has as many functions as before.
 */
#include <stdlib.h>

#include "base/diag.h"
#include "valid/valid.h"
#include "whammc/whammc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- constants ---- */

/* (memory) (func (export "f") (nop)) */
static const uint8_t program[] = {
    0, 'a', 's', 'm', 1, 0, 0, 0,          /* */
    1, 4,   1,   96,  0, 0, 3, 2, 1,  0,   /* type, function */
    5, 3,   1,   0,   1, 7, 5, 1, 1,  'f', /* memory, export */
    0, 0,   10,  5,   1, 3, 0, 1, 11,      /* code */
};

static void define(const char *type, const char *value) {
    Buf script = {0};
    whammc *w = whammc_new();
    uint8_t *out;
    size_t size;
    bool is_list = strcmp(type, "str") == 0;
    buf_printf(&script,
               "const C: %s = %s;\nwasm:opcode:nop:before / %s / "
               "{ report var n: u32; n++; report var v: %s; v = C; }\n",
               type,
               is_list                     ? "\"\""
               : strcmp(type, "bool") == 0 ? "false"
                                           : "0",
               is_list ? "C.lists(fid) || C.lists(4000000000)" : "true", type);
    whammc_add_script(w, "define.whamm", (const char *)script.data, script.len);
    whammc_define(w, "C", value);
    whammc_define(w, "NONE", "1");
    whammc_status status =
        whammc_instrument(w, "app.wasm", program, sizeof program, NULL, &out, &size);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_OK) != (whammc_error_count(w) == 0))
        abort();
    whammc_messages(w, 0);
    whammc_messages(w, WHAMMC_JSON);
    whammc_release(out);
    whammc_free(w);
    buf_free(&script);
}

static void define_all(const uint8_t *data, size_t size) {
    static const char *const types[] = {"u8", "i32", "u64", "i64", "f32", "f64", "bool", "str"};
    Buf value = {0};
    buf_bytes(&value, data, size);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        define(types[i], buf_cstr(&value));
    buf_free(&value);
}

/* ---- names ---- */

/* (import "m" "f" (func)) (func (call 0)) (func (export "g") (call 1)) (func (nop)) */
static const uint8_t named[] = {
    0,  'a', 's', 'm', 1,   0,  0,   0,                                   /* */
    1,  4,   1,   96,  0,   0,                                            /* type */
    2,  7,   1,   1,   'm', 1,  'f', 0,  0,                               /* import */
    3,  4,   3,   0,   0,   0,                                            /* functions */
    7,  5,   1,   1,   'g', 0,  2,                                        /* export */
    10, 16,  3,   4,   0,   16, 0,   11, 4, 0, 16, 1, 11, 4, 0, 1, 1, 11, /* code */
};

static void check_output(const uint8_t *bytes, size_t size) {
    Diags diags = {0};
    WasmModule m;
    DiagFileId file = diag_file(&diags, "out.wasm", bytes, size, true);
    if (!wasm_load(&m, bytes, size, file, &diags) || m.funcs.len != 4)
        abort();
    wasm_module_free(&m);
    diag_free(&diags);
}

static void name_functions(const uint8_t *data, size_t size) {
    whammc *w = whammc_new();
    uint8_t *out;
    size_t len;
    whammc_status status =
        whammc_name_functions(w, "app.wasm", named, sizeof named, "names", data, size, &out, &len);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_OK) != (whammc_error_count(w) == 0))
        abort();
    if (status == WHAMMC_OK)
        check_output(out, len);
    whammc_messages(w, 0);
    whammc_messages(w, WHAMMC_JSON);
    whammc_release(out);
    whammc_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && *data & 1)
        name_functions(data + 1, size - 1);
    else if (size)
        define_all(data + 1, size - 1);
    return 0;
}
