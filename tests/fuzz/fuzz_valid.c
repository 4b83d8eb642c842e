/*
 * tests/fuzz/fuzz_valid.c - reads and validates any bytes; what is valid has types at each
 * instruction.
 */
#include "valid/frame.h"
#include "valid/subtype.h"
#include "valid/typer.h"
#include "valid/valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walks over a valid module's bodies as the compiler does: nothing may fail. */
static void walk(const WasmModule *m) {
    WasmTyper t = {0};
    WasmTypes params = {0}, results = {0};
    for (uint32_t func = 0; func < m->funcs.len; func++) {
        WasmCode code;
        WasmInstr i;
        if (m->funcs.at[func].import >= 0)
            continue;
        if (!wasm_typer_begin(&t, m, func, &code))
            abort();
        while (wasm_next(&code, &i)) {
            params.len = results.len = 0;
            wasm_instr_types(&t, &i, &params, &results);
            for (uint32_t k = 0; k < params.len && !wasm_typer_dead(&t); k++) {
                WasmType have = wasm_typer_operand(&t, params.len - 1 - k);
                if (!wasm_subtype(m, have, params.at[k]))
                    abort();
            }
            if (!wasm_typer_step(&t, &i))
                abort();
        }
        if (!wasm_typer_end(&t))
            abort();
    }
    vec_free(&params);
    vec_free(&results);
    wasm_typer_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags diags = {0};
    WasmModule m;
    if (wasm_load(&m, data, size, 0, &diags))
        walk(&m);
    wasm_module_free(&m);
    diag_free(&diags);
    return 0;
}
