/*
 * tests/unit/test_emit.c - code from its text is what the decoder reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "wasm/emit.h"
#include "wasm/op_text.h"

/* The text of each instruction, one after the other. */
static void expect(const Buf *code, const char *const *texts, size_t n) {
    WasmCode c = wasm_code(code->data, code->len, 0);
    WasmInstr i;
    for (size_t k = 0; k < n; k++) {
        Buf text = {0};
        assert_true(wasm_next(&c, &i));
        wasm_instr_text(&text, &i);
        assert_string_equal(buf_cstr(&text), texts[k]);
        buf_free(&text);
    }
    assert_false(wasm_next(&c, &i));
    assert_null(c.error);
}

static void instructions(void **state) {
    static const char *const texts[] = {"local.get 3",
                                        "i32.const -5",
                                        "i64.const 4611686018427387905",
                                        "i32.const -1",
                                        "global.set 300",
                                        "call 7",
                                        "memory.copy 1 2",
                                        "call_indirect 1 (type 4)",
                                        "ref.null funcref"};
    Buf b = {0};
    (void)state;
    emit(&b,
         "local.get %u i32.const -5\n i64.const %" PRIu64 " i32.const %d  global.set 300 call %u",
         3u, (uint64_t)1 << 62 | 1, -1, 7u);
    emit(&b, "memory.copy 1 %u call_indirect 4 1 ref.null func", 2u);
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

static void constructs(void **state) {
    static const char *const texts[] = {"block",       "loop",    "local.get 0", "if (result i64)",
                                        "i64.const 1", "else",    "br 2",        "end",
                                        "drop",        "br_if 1", "end",         "end"};
    Buf b = {0};
    (void)state;
    emit(&b, "block loop local.get 0 if i64 i64.const 1 else br 2 end drop br_if 1 end end");
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

/* Each instruction whose immediates are numbers, or none, by its mnemonic. */
static void mnemonics(void **state) {
    (void)state;
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        WasmImm imm = (WasmImm)wasm_ops[op].imm;
        uint32_t n = wasm_imm_indices(imm);
        if (imm != WASM_IMM_NONE && !n && imm != WASM_IMM_MEMARG)
            continue;
        Buf b = {0};
        emit(&b, n == 1 ? "%s 0" : n || imm ? "%s 0 0" : "%s", wasm_ops[op].mnemonic);
        WasmCode c = wasm_code(b.data, b.len, 0);
        WasmInstr i;
        assert_true(wasm_next(&c, &i));
        assert_int_equal(i.op, op);
        assert_ptr_equal(c.at, c.end);
        buf_free(&b);
    }
}

static void parts(void **state) {
    static const char *const texts[] = {"i64.add", "i32.wrap_i64", "local.get 1"};
    Buf b = {0};
    (void)state;
    emit(&b, "%s.add %s %s local.get %u", "i64", "", "i32.wrap_i64", 1u);
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

static void accesses(void **state) {
    static const char *const texts[] = {"i32.load offset=4 align=1", "i64.store 2 offset=16",
                                        "i32.load8_u 1"};
    Buf b = {0};
    (void)state;
    emit(&b, "i32.load 0 4 i64.store 2 %u align=8 i32.load8_u 1 0", 16u);
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

static void names(void **state) {
    static const char *const texts[] = {"local.get 0",  "local.get 1",
                                        "i64.const -1", "i32.const 7",
                                        "call 300",     "i64.store 1 offset=8 align=1",
                                        "local.set 1"};
    Buf b = {0};
    (void)state;
    emit(&b,
         "$n $all=%" PRIu64 " $sum $nn=7 $add=%u $memory=%u"
         " local.get $n local.get $sum i64.const $all i32.const $nn call $add"
         " i64.store $memory %u local.set $sum",
         UINT64_MAX, 300u, 1u, 8u);
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

static void locals(void **state) {
    Buf b = {0};
    (void)state;
    emit_locals(&b, 2, 1);
    assert_memory_equal(b.data, "\2\2\x7f\1\x7e", 5);
    b.len = 0;
    emit_locals(&b, 0, 0);
    assert_int_equal(b.len, 1);
    assert_int_equal(b.data[0], 0);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions), cmocka_unit_test(constructs),
                                       cmocka_unit_test(mnemonics),    cmocka_unit_test(parts),
                                       cmocka_unit_test(accesses),     cmocka_unit_test(names),
                                       cmocka_unit_test(locals)};
    return cmocka_run_group_tests_name("emit", tests, NULL, NULL);
}
