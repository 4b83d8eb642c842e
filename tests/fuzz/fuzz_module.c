/*
 * tests/fuzz/fuzz_module.c - libFuzzer target for the module model: what can be read is written
 * back byte for byte; what is valid stays valid when imports and code are put in.
 *
 */
#include "analysis/survey.h"
#include "edit/catch_all.h"
#include "edit/edit.h"
#include "edit/write.h"
#include "valid/valid.h"
#include "wasm/read.h"

typedef struct Edit {
    const WasmModule *m;
    Buf code;
    bool ok;
} Edit;

/* Code at the entry, at every exit, where exceptions leave, before and behind every instruction. */
static bool edit_body(void *ctx, uint32_t func, Buf *out) {
    Edit *e = ctx;
    const WasmModule *m = e->m;
    WasmTypes locals = {0};
    Vec(WasmPatch) patches = {0};
    const char *error;
    uint32_t offset, len = (uint32_t)e->code.len;
    uint32_t at = wasm_func_locals(m, func, &locals, &error);
    vec_push(&patches, (WasmPatch){.where = WASM_ENTRY, .len = len});
    vec_push(&patches, (WasmPatch){.where = WASM_EXIT, .exits = WASM_EXIT_ALL, .len = len});
    vec_push(&patches, (WasmPatch){.where = WASM_UNWIND, .len = len});
    WasmCode c = wasm_code(wasm_func_body(m, func), m->funcs.at[func].body_size, at);
    for (WasmInstr i; at && wasm_next(&c, &i);) {
        vec_push(&patches, (WasmPatch){.at = i.offset, .where = WASM_BEFORE, .len = len});
        vec_push(&patches, (WasmPatch){.at = i.offset, .where = WASM_AFTER, .len = len});
    }
    WasmType added = WASM_I64;
    WasmBodyEdit edit = {.patches = patches.at,
                         .npatches = patches.len,
                         .code = e->code.data,
                         .locals = &added,
                         .nlocals = 1,
                         .exceptions = func & 1 ? WASM_EXCEPTIONS_REFS : WASM_EXCEPTIONS_LEGACY};
    e->ok = wasm_edit_body(m, func, &edit, out, &error, &offset);
    vec_free(&patches);
    vec_free(&locals);
    return e->ok;
}

static Str local_name(void *ctx, uint32_t func, uint32_t nth) {
    (void)ctx;
    (void)func;
    (void)nth;
    return STR("added");
}

static uint32_t locals_added(void *ctx, uint32_t func) {
    (void)ctx;
    (void)func;
    return 1;
}

static void write_edited(WasmModule *m) {
    uint32_t type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    wasm_add_import_func(m, STR("w"), STR("f"), type);
    wasm_add_import_global(m, STR("w"), STR("g"), WASM_I32, true);
    wasm_add_import_memory(m, STR("w"), STR("m"), (WasmLimits){.min = 1, .page_log2 = 16});
    uint32_t global = wasm_add_global_i32(m, true, STR("counter"), 0);
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        wasm_exit_block_type(m, f);
    WasmSurvey survey = {0};
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        wasm_survey_unwinds(&survey, m, f);
    wasm_survey_free(&survey);
    wasm_layout(m);
    Edit e = {.m = m};
    wasm_put_op(&e.code, WASM_OP_GLOBAL_GET);
    buf_uleb(&e.code, wasm_final(m, WASM_SPACE_GLOBAL, global));
    wasm_put_op(&e.code, WASM_OP_DROP);
    WasmWriter w = {
        .body = edit_body, .ctx = &e, .local_name = local_name, .locals_added = locals_added};
    Buf out = {0};
    Diags diags = {0};
    WasmModule again;
    if (!wasm_write(m, &w, &out) || !wasm_load(&again, out.data, out.len, 0, &diags))
        abort();
    wasm_module_free(&again);
    diag_free(&diags);
    buf_free(&out);
    buf_free(&e.code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diags diags = {0};
    WasmUnvalidated read;
    WasmModule m;
    if (wasm_read(&read, bytes, size, 0, NULL, &diags)) {
        Buf out = {0};
        if (!wasm_write(&read.m, NULL, &out) || out.len != size ||
            memcmp(out.data, bytes, size) != 0)
            abort();
        buf_free(&out);
    }
    wasm_module_free(&read.m);
    if (wasm_load(&m, bytes, size, 0, &diags))
        write_edited(&m);
    wasm_module_free(&m);
    diag_free(&diags);
    return 0;
}
