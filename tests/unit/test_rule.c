/*
 * tests/unit/test_rule.c - the export names of monitor modules: each name with what becomes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "monitor/read/rule.h"

/* A name that is understood: how it is printed, and what follows the rule. */
typedef struct Good {
    const char *name, *printed, *rest;
} Good;

/* A name that is not: why, and at which part of it. */
typedef struct Wrong {
    const char *name;
    RuleStatus status;
    const char *at, *text, *hint;
} Wrong;

#define NOP "wasm:opcode:nop"

static const Good good[] = {
    /* events */
    {NOP, NOP, ""},
    {"wasm:opcode:*", "wasm:opcode:*", ""},
    {"wasm:func:entry", "wasm:func:entry", ""},
    {"wasm:func:exit", "wasm:func:exit", ""},
    {"wasm:block:start", "wasm:block:start", ""},
    {"wasm:block:end", "wasm:block:end", ""},
    {"wasm:opcode:i32.add", "wasm:opcode:i32.add", ""},
    {"wasm:opcode:select", "wasm:opcode:select", ""},
    {"wasm:opcode:i64.atomic.rmw32.cmpxchg_u", "wasm:opcode:i64.atomic.rmw32.cmpxchg_u", ""},
    {"wasm:opcode:f32x4.relaxed_madd", "wasm:opcode:f32x4.relaxed_madd", ""},
    {"wasm:opcode:struct.get_u", "wasm:opcode:struct.get_u", ""},
    /* spellings of engines */
    {"wasm:opcode:v128.anytrue", "wasm:opcode:v128.anytrue", ""},
    {"wasm:opcode:i64x2.alltrue", "wasm:opcode:i64x2.alltrue", ""},
    {"wasm:opcode:i16x8.q15mulrsat_s", "wasm:opcode:i16x8.q15mulrsat_s", ""},
    {"wasm:opcode:v128.load8_lane", "wasm:opcode:v128.load8_lane", ""},
    {"wasm:opcode:v128.load_8_lane", "wasm:opcode:v128.load_8_lane", ""},
    {"wasm:opcode:v128.store_64_lane", "wasm:opcode:v128.store_64_lane", ""},
    {"wasm:opcode:ref.test null (pc)", "wasm:opcode:ref.test null (pc)", ""},
    {"wasm:opcode:ref.cast null(pc)", "wasm:opcode:ref.cast null (pc)", ""},
    {"wasm:opcode:ref.cast nullable", "wasm:opcode:ref.cast null", "able"},
    {"wasm:opcode:ref.test  null", "wasm:opcode:ref.test", "null"},
    {"wasm:opcode:ref.test", "wasm:opcode:ref.test", ""},
    /* white space */
    {" \t\nwasm: \topcode: \nnop ", NOP, ""},
    {"wasm:\nfunc:entry\t", "wasm:func:entry", ""},
    {NOP " / $p ( ) / ( pc , fid ) ", NOP " / $p() / (pc, fid)", ""},
    {"wasm:opcode:*\n(\n)", "wasm:opcode:*", ""},
    /* values */
    {NOP "()", NOP, ""},
    {NOP "(pc,)", NOP " (pc)", ""},
    {NOP "(pc, pc, pc)", NOP " (pc, pc, pc)", ""},
    {NOP "(pc,fid,frame,probe_id,num_targets,offset,instr_count)",
     NOP " (pc, fid, frame, probe_id, num_targets, offset, instr_count)", ""},
    {NOP "(fname,opname,at_func_end)", NOP " (fname, opname, at_func_end)", ""},
    {NOP "(fname,op_name,is_func_end)", NOP " (fname, op_name, is_func_end)", ""},
    {NOP "(arg0,imm10,local2147483647)", NOP " (arg0, imm10, local2147483647)", ""},
    /* calls */
    {NOP "/$p()/", NOP " / $p() /", ""},
    {NOP "/ $p /(pc)", NOP " / $p() / (pc)", ""},
    {NOP "/$p(pc,imm0,)/(arg1)", NOP " / $p(pc, imm0) / (arg1)", ""},
    {NOP "/p(arg0)/", NOP " / p(arg0) /", ""},
    {NOP "(f(), g(fid), pc)", NOP " (f(), g(fid), pc)", ""},
    {NOP "($f (pc))", NOP " ($f(pc))", ""},
    {NOP "(pc(pc))", NOP " (pc(pc))", ""},
    {NOP "(1a(), _(), $(), 0())", NOP " (1a(), _(), $(), 0())", ""},
    {NOP "(args(), arguments(pc), $arg0(), immediate(), locals())",
     NOP " (args(), arguments(pc), $arg0(), immediate(), locals())", ""},
    /* what follows a complete rule */
    {NOP ":after", NOP, ":after"},
    {"wasm:opcode:br-if", "wasm:opcode:br", "-if"},
    {"wasm:opcode:*foo", "wasm:opcode:*", "foo"},
    {"wasm:func:entryXYZ", "wasm:func:entry", "XYZ"},
    {NOP "(pc)/$p()/", NOP " (pc)", "/$p()/"},
    {NOP "/$p()//(pc)", NOP " / $p() /", "/(pc)"},
    {NOP "/$p()/)", NOP " / $p() /", ")"},
    {NOP "(arg0 ) x", NOP " (arg0)", "x"},
    {NOP " \r", NOP, "\r"},
    {NOP "\xc3\xa9", NOP, "\xc3\xa9"},
    /* the spelling of the instruction stays what it was, whoever knows the values */
    {"wasm:opcode:v128.load8_lane(is_func_end)", "wasm:opcode:v128.load8_lane (is_func_end)", ""},
    {"wasm:opcode:v128.load_8_lane(at_func_end)", "wasm:opcode:v128.load_8_lane (at_func_end)", ""},
    {"wasm:opcode:v128.load8_lane/p(op_name)/", "wasm:opcode:v128.load8_lane / p(op_name) /", ""},
};

static const Wrong wrong[] = {
    /* no rules */
    {"", RULE_OTHER, "", "", ""},
    {" ", RULE_OTHER, "", "", ""},
    {"_start", RULE_OTHER, "", "", ""},
    {"$p", RULE_OTHER, "", "", ""},
    {"wasm", RULE_OTHER, "", "", ""},
    {"wasm :opcode:nop", RULE_OTHER, "", "", ""},
    {"WASM:opcode:nop", RULE_OTHER, "", "", ""},
    {"\rwasm:opcode:nop", RULE_OTHER, "", "", ""},
    {"\xff", RULE_OTHER, "", "", ""},
    /* unknown events and instructions */
    {"wasm:", RULE_UNKNOWN, "", "unknown event", ""},
    {"wasm:begin", RULE_UNKNOWN, "begin", "unknown event 'begin'", ""},
    {"wasm:exit()", RULE_UNKNOWN, "exit", "unknown event 'exit'",
     "the export that runs at the end is called wasm:exit"},
    {"wasm:func:entr", RULE_UNKNOWN, "func:entr", "unknown event 'func:entr'",
     "did you mean 'wasm:func:entry'?"},
    {"wasm:block:exit (pc)", RULE_UNKNOWN, "block:exit", "unknown event 'block:exit'",
     "did you mean 'wasm:block:end'?"},
    {"wasm:func: entry", RULE_UNKNOWN, "func:", "unknown event 'func:'", ""},
    {"wasm:opcode:", RULE_UNKNOWN, "", "unknown instruction", ""},
    {"wasm:opcode: *", RULE_UNKNOWN, "*", "unknown instruction '*'",
     "the only pattern is wasm:opcode:*, every instruction"},
    {"wasm:opcode:i32.*", RULE_UNKNOWN, "i32.*", "unknown instruction 'i32.*'",
     "the only pattern is wasm:opcode:*, every instruction"},
    {"wasm:opcode:NOP", RULE_UNKNOWN, "NOP", "unknown instruction 'NOP'", ""},
    {"wasm:opcode:br.if", RULE_UNKNOWN, "br.if", "unknown instruction 'br.if'",
     "did you mean 'br_if'?"},
    {"wasm:opcode:nopx(pc)", RULE_UNKNOWN, "nopx", "unknown instruction 'nopx'",
     "did you mean 'nop'?"},
    {"wasm:opcode:v128.any_true", RULE_UNKNOWN, "v128.any_true",
     "unknown instruction 'v128.any_true'", "engines call it 'v128.anytrue'"},
    {"wasm:opcode:ref.test_null", RULE_UNKNOWN, "ref.test_null",
     "unknown instruction 'ref.test_null'", "engines call it 'ref.test null'"},
    {"wasm:opcode:typed_select", RULE_UNKNOWN, "typed_select", "unknown instruction 'typed_select'",
     "engines have no name for it; wasm:opcode:* matches it"},
    {"wasm:opcode:\rnop", RULE_UNKNOWN, "\rnop", "unknown instruction the byte 0x0d", ""},
    /* what cannot be understood */
    {NOP "(pc", RULE_BAD, "", "expected ',' or ')', found the end", ""},
    {NOP "(", RULE_BAD, "", "expected a value or ')', found the end", ""},
    {NOP "(,)", RULE_BAD, ",", "expected a value or ')', found ','", ""},
    {NOP "(pc,,fid)", RULE_BAD, ",", "expected a value or ')', found ','", ""},
    {NOP "(pc fid)", RULE_BAD, "fid", "expected ',' or ')', found 'fid'", ""},
    {NOP "(arg0x)", RULE_BAD, "x", "expected ',' or ')', found 'x'", ""},
    {NOP "(arg00)", RULE_BAD, "0", "expected ',' or ')', found '0'", ""},
    {NOP "(arg0())", RULE_BAD, "(", "expected ',' or ')', found '('", ""},
    {NOP "(pc/)", RULE_BAD, "/", "expected ',' or ')', found '/'", ""},
    {NOP "(foo)", RULE_BAD, "foo", "'foo' is not a value that engines supply",
     "a call of the monitor's own function needs parentheses, even if empty"},
    {NOP "(func_end)", RULE_BAD, "func_end",
     "'func_end' is not a value that engines supply", "did you mean 'at_func_end'?"},
    {NOP "(Pc)", RULE_BAD, "Pc", "'Pc' is not a value that engines supply",
     "did you mean 'pc'?"},
    {NOP "/$p()(pc)", RULE_BAD, "(", "expected '/', found '('", ""},
    {NOP "/$p()", RULE_BAD, "", "expected '/', found the end", ""},
    {NOP "//", RULE_BAD, "/", "expected a call of a predicate, such as $p(), found '/'", ""},
    {NOP "/arg0/", RULE_BAD, "arg0", "expected a call of a predicate, such as $p(), found 'arg0'",
     ""},
    {NOP "/)/", RULE_BAD, ")", "expected a call of a predicate, such as $p(), found ')'", ""},
    {NOP "($a.b())", RULE_BAD, ".", "expected ',' or ')', found '.'",
     "names consist of letters, digits, '_' and '$'"},
    {NOP "(\x01)", RULE_BAD, "\x01", "expected a value or ')', found the byte 0x01", ""},
    {NOP "(\xc3\xa9)", RULE_BAD, "\xc3", "expected a value or ')', found a character outside ASCII",
     ""},
    /* what engines give up at, or crash */
    {NOP "(f(g()))", RULE_FATAL, "g()", "a call among the arguments of a call; engines abort there",
     ""},
    {NOP "/p(f(pc))/", RULE_FATAL, "f(pc)",
     "a call among the arguments of a call; engines abort there", ""},
    {NOP "(f(g(h(i(), pc))))", RULE_FATAL, "i()",
     "a call among the arguments of a call; engines abort there", ""},
    {NOP "(f(g(), foo))", RULE_BAD, "foo", "'foo' is not a value that engines supply",
     "a call of the monitor's own function needs parentheses, even if empty"},
    {NOP "(arg)", RULE_FATAL, "arg", "'arg' without a number; engines may crash",
     "'arg0' is the first"},
    {NOP "(imm(pc))", RULE_FATAL, "imm", "'imm' without a number; engines may crash",
     "'imm0' is the first"},
    {NOP "(local$x())", RULE_FATAL, "local", "'local' without a number; engines may crash",
     "'local0' is the first"},
    {NOP "(arg2147483648)", RULE_FATAL, "arg2147483648",
     "the number is too large; engines may crash", ""},
    {NOP "(arg99999999999999999999999999)", RULE_FATAL, "arg99999999999999999999999999",
     "the number is too large; engines may crash", ""},
};

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Arena arena = {0};
        MonitorRule rule;
        RuleError error;
        uint32_t rest;
        Buf printed = {0};
        if (rule_parse(str_of(good[i].name), true, &arena, &rule, &rest, &error) != RULE_OK)
            fail_msg("%s: %s", good[i].name, error.text);
        rule_print(&rule, &printed);
        assert_string_equal(buf_cstr(&printed), good[i].printed);
        assert_string_equal(good[i].name + rest, good[i].rest);
        /* What is printed means the same. */
        Str again = {(const char *)printed.data, (uint32_t)printed.len};
        Buf twice = {0};
        assert_int_equal(rule_parse(again, true, &arena, &rule, &rest, &error), RULE_OK);
        rule_print(&rule, &twice);
        assert_string_equal(buf_cstr(&twice), good[i].printed);
        buf_free(&printed);
        buf_free(&twice);
        arena_free(&arena);
    }
}

static void test_wrong(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const Wrong *w = &wrong[i];
        Arena arena = {0};
        MonitorRule rule;
        RuleError error;
        uint32_t rest;
        RuleStatus status = rule_parse(str_of(w->name), true, &arena, &rule, &rest, &error);
        if (status != w->status)
            fail_msg("%s: status %d, %s", w->name, (int)status, error.text);
        assert_string_equal(error.text, w->text);
        assert_string_equal(error.hint, w->hint);
        char at[64];
        snprintf(at, sizeof at, "%.*s", (int)(error.end - error.start), w->name + error.start);
        assert_string_equal(at, w->at);
        arena_free(&arena);
    }
}

/* Which engines know the names in a rule. */
static void test_engines(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint8_t engines;
    } cases[] = {
        {NOP "(pc, fname)", ENGINES_ANY},
        {NOP "(at_func_end)", ENGINES_Y2026},
        {NOP "(is_func_end)", ENGINES_Y2025},
        {NOP "/p(op_name)/", ENGINES_Y2025},
        {NOP "(f(opname))", ENGINES_Y2026},
        {"wasm:opcode:v128.load8_splat", ENGINES_Y2026},
        {"wasm:opcode:v128.load_8_splat", ENGINES_Y2025},
        {"wasm:opcode:v128.load_8_splat(at_func_end)", ENGINES_Y2025 | ENGINES_Y2026},
        {"wasm:opcode:v128.load", ENGINES_ANY},
        {"wasm:opcode:v128.anytrue", ENGINES_ANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = {0};
        MonitorRule rule;
        RuleError error;
        uint32_t rest;
        assert_int_equal(rule_parse(str_of(cases[i].name), true, &arena, &rule, &rest, &error),
                         RULE_OK);
        assert_int_equal(rule.engines, cases[i].engines);
        arena_free(&arena);
    }
}

/* Every instruction but one has a name, which means it and nothing else. */
static void test_mnemonics(void **state) {
    (void)state;
    uint32_t older = 0;
    for (uint32_t i = 0; i < WASM_OP_COUNT; i++) {
        const char *names[] = {rule_mnemonic((WasmOp)i, false), rule_mnemonic((WasmOp)i, true)};
        assert_true(names[0] || i == WASM_OP_TYPED_SELECT);
        older += names[1] != NULL;
        for (uint32_t k = 0; k < 2; k++) {
            WasmOp op;
            RuleEngines engines;
            if (!names[k])
                continue;
            assert_true(rule_op(str_of(names[k]), &op, &engines));
            assert_int_equal(op, i);
            assert_int_equal(engines, !names[1] ? ENGINES_ANY
                                      : k == 0  ? ENGINES_Y2026
                                                : ENGINES_Y2025);
        }
    }
    assert_int_equal(older, 20);
}

static void test_large(void **state) {
    (void)state;
    Arena arena = {0};
    MonitorRule rule;
    RuleError error;
    uint32_t rest;
    Buf name = {0};
    buf_str(&name, STR(NOP "("));
    for (uint32_t i = 0; i < 100000; i++)
        buf_str(&name, STR("pc,"));
    buf_u8(&name, ')');
    Str text = {(const char *)name.data, (uint32_t)name.len};
    assert_int_equal(rule_parse(text, true, &arena, &rule, &rest, &error), RULE_OK);
    assert_int_equal(rule.nparams, 100000);

    name.len = strlen(NOP "(");
    for (uint32_t i = 0; i < 100000; i++)
        buf_str(&name, STR("f("));
    text = (Str){(const char *)name.data, (uint32_t)name.len};
    assert_int_equal(rule_parse(text, true, &arena, &rule, &rest, &error), RULE_FATAL);
    assert_string_equal(error.text, "calls are nested too deeply");

    name.len = strlen(NOP);
    while (name.len <= RULE_MAX_BYTES)
        buf_u8(&name, ' ');
    text = (Str){(const char *)name.data, (uint32_t)name.len};
    assert_int_equal(rule_parse(text, true, &arena, &rule, &rest, &error), RULE_BAD);
    assert_string_equal(error.text, "the name has 1048577 bytes, more than 1048576");
    buf_free(&name);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),    cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_engines), cmocka_unit_test(test_mnemonics),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
