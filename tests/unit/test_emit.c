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

/* %s stands for code that uses the names of what it is in, %p for instructions. */
static void pieces(void **state) {
    static const char *const texts[] = {
        "local.get 0", "local.get 1", "i32.add",     "block",
        "drop",        "end",         "local.set 1", "ref.test (ref null 5)"};
    Buf b = {0}, inner = {0};
    (void)state;
    emit(&inner, "block drop end");
    emit(&b, "$a $b %s %p local.set $b ref.test %u", "local.get $a local.get $b i32.add", &inner,
         WASM_REF(0, 5));
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&inner);
    buf_free(&b);
}

/* Types and locals are declared, names count on from parameters to locals, `end` is added. */
static void functions(void **state) {
    WasmModule m = {0};
    (void)state;
    uint32_t func = emit_function(&m, "f",
                                  "param $a i32 %s $b %u $seven=%u result i32"
                                  " local $x i32 $y i32 $z i64 i32 $w f64"
                                  " local.get $b local.get $z local.get $w i32.const $seven",
                                  "i64 i64", WASM_FUNCREF, 7u);
    const WasmTypeDef *type = wasm_func_type(&m, func);
    static const WasmType params[] = {WASM_I32, WASM_I64, WASM_I64, WASM_FUNCREF};
    assert_int_equal(type->nparams, 4);
    assert_memory_equal(type->params, params, sizeof params);
    assert_int_equal(type->nresults, 1);
    assert_int_equal(type->results[0], WASM_I32);
    const Buf *code = &m.funcs.at[func].code;
    static const uint8_t bytes[] = {4,    2, 0x7f, 1, 0x7e, 1, 0x7f, 1, 0x7c,
                                    0x20, 3, 0x20, 6, 0x20, 8, 0x41, 7, 0x0b};
    assert_int_equal(code->len, sizeof bytes);
    assert_memory_equal(code->data, bytes, sizeof bytes);

    Buf before = {0};
    emit_calls(&before, &m, &func, 1);
    uint32_t wrapper = emit_wrapper(&m, STR("w"), func, &before, NULL);
    static const uint8_t wrapped[] = {0,    0x10, 0,    0x20, 0,    0x20, 1,
                                      0x20, 2,    0x20, 3,    0x10, 0,    0x0b};
    assert_int_equal(m.funcs.at[wrapper].type, m.funcs.at[func].type);
    assert_int_equal(m.funcs.at[wrapper].code.len, sizeof wrapped);
    assert_memory_equal(m.funcs.at[wrapper].code.data, wrapped, sizeof wrapped);
    buf_free(&before);
    wasm_module_free(&m);
}

/* In globals and in memories, aligned as far as the address is. */
static void numbers(void **state) {
    static const char *const texts[] = {"global.get 3",
                                        "i64.const 2",
                                        "i64.add",
                                        "global.set 3",
                                        "i32.const 0",
                                        "i32.const 0",
                                        "i64.load32_u 1 offset=6 align=2",
                                        "local.get 0",
                                        "i64.add",
                                        "i64.store32 1 offset=6 align=2",
                                        "i32.const 0",
                                        "i32.const 0",
                                        "i32.load offset=64",
                                        "local.get 0",
                                        "i32.wrap_i64",
                                        "i32.add",
                                        "i32.store offset=64"};
    EmitNumber narrow = {.in_memory = true, .size_log2 = 2, .type = WASM_I64, .index = 1, .at = 6};
    EmitNumber aligned = {.in_memory = true, .size_log2 = 2, .type = WASM_I32, .at = 64};
    Buf b = {0};
    (void)state;
    emit_increment(&b, emit_global(WASM_I64, 3), 2);
    emit_update(&b, narrow, "local.get 0 %s i64.add", emit_resized(WASM_I64, WASM_I64));
    emit_update(&b, aligned, "local.get 0 %s i32.add", emit_resized(WASM_I64, WASM_I32));
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

static void conditions(void **state) {
    static const char *const texts[] = {"local.get 1", "i32.eqz",     "if",          "local.get 1",
                                        "i32.const 3", "i32.eq",      "if",          "local.get 2",
                                        "if",          "i32.const 9", "local.set 4", "end",
                                        "drop",        "drop",        "end",         "end"};
    Buf b = {0};
    (void)state;
    emit_if_equal(&b, 1, 0);
    emit_if_equal(&b, 1, 3);
    emit_if_set(&b, 2);
    emit_assign(&b, 4, 9);
    emit(&b, "end");
    emit_drops(&b, 2);
    emit(&b, "end end");
    expect(&b, texts, sizeof texts / sizeof *texts);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions), cmocka_unit_test(constructs), cmocka_unit_test(mnemonics),
        cmocka_unit_test(parts),        cmocka_unit_test(accesses),   cmocka_unit_test(names),
        cmocka_unit_test(pieces),       cmocka_unit_test(functions),  cmocka_unit_test(numbers),
        cmocka_unit_test(conditions)};
    return cmocka_run_group_tests_name("emit", tests, NULL, NULL);
}
