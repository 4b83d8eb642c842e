/*
 * tests/unit/test_loop_step.c - which loops have a local that tells how often they are executed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/loop_step.h"
#include "wasm/emit.h"

enum { PAGE = 16 };

static WasmMemory memories[] = {{.limits = {.max = 1, .has_max = true, .page_log2 = PAGE}}};
static WasmModule module = {.memories = {memories, 1, 1}};

/* The step of "loop CODE end" after BEFORE; local UINT32_MAX = none was found. */
static LoopStep step_after(const char *before, const char *code, bool grows) {
    Buf b = {0}, start = {0};
    LoopStep step = {.local = UINT32_MAX};
    emit(&start, "%s", before);
    emit(&b, "%s end end", code);
    LoopPlace place = {&module, grows, wasm_code((const uint8_t *)buf_cstr(&start), start.len, 0)};
    if (!loop_step_find(&place, wasm_code(b.data, b.len, 0), &step))
        step.local = UINT32_MAX;
    buf_free(&b);
    buf_free(&start);
    return step;
}

static LoopStep step_of(const char *code) {
    return step_after("", code, false);
}

static void expect(const char *code, uint32_t local, uint8_t log2, bool down) {
    LoopStep step = step_of(code);
    if (step.local != local)
        print_error("%s\n", code);
    assert_int_equal(step.local, local);
    assert_int_equal(step.log2, log2);
    assert_int_equal(step.down, down);
}

static void expect_none(const char *code) {
    if (step_of(code).local != UINT32_MAX)
        fail_msg("%s", code);
}

/* Two accesses along local 0, then more. */
#define ACCESSES "local.get 0 i32.load 0 0 drop local.get 0 f64.load 0 8 drop "
#define UP       "local.get 0 i32.const 8 i32.add local.tee 0 local.get 1 i32.ne br_if 0 "

static void test_steps(void **unused) {
    (void)unused;
    expect(ACCESSES UP, 0, 3, false);
    expect(ACCESSES
           "i32.const 1 local.get 0 i32.add local.set 0 local.get 0 i32.const 90 i32.lt_u br_if 0",
           0, 0, false);
    expect(ACCESSES "local.get 0 i32.const -4 i32.add local.tee 0 br_if 0", 0, 2, true);
    expect(ACCESSES "local.get 0 i32.const 16 i32.sub local.tee 0 i32.eqz br_if 0", 0, 4, true);
    /* through another local, in two steps, and past an exit */
    expect(ACCESSES "local.get 0 i32.const 3 i32.add local.set 2 local.get 1 br_if 1"
                    " local.get 2 i32.const 1 i32.add local.tee 0 local.get 1 i32.lt_s br_if 0",
           0, 2, false);
    /* the address is a multiple of it, and of something that does not change */
    expect("local.get 3 local.get 0 i32.const 3 i32.shl i32.add local.tee 2"
           " local.get 2 i64.load 0 0 i64.store 0 16 " UP,
           0, 3, false);
    expect("i32.const 100 local.get 0 i32.const 12 i32.mul i32.sub local.tee 2 i32.load 0 0 drop"
           " local.get 2 i32.load 0 4 drop " UP,
           0, 3, false);
}

static void test_none(void **unused) {
    (void)unused;
    /* too few accesses; none along it */
    expect_none(UP);
    expect_none("local.get 0 i32.load 0 0 drop " UP);
    expect_none("local.get 1 i32.load 0 0 drop local.get 1 i32.load 0 4 drop " UP);
    expect_none("local.get 0 i32.const 255 i32.and local.tee 2 i32.load 0 0 drop"
                " local.get 2 i32.load 0 4 drop " UP);
    /* no power of two; not the same each time; nothing; of memory; of another local that changes */
    expect_none(ACCESSES "local.get 0 i32.const 3 i32.add local.tee 0 br_if 0");
    expect_none(ACCESSES "local.get 0 local.get 1 i32.add local.tee 0 br_if 0");
    expect_none(ACCESSES "local.get 0 local.get 1 i32.add i32.const 4 i32.add local.tee 0 br_if 0");
    expect_none(ACCESSES "local.get 1 br_if 0");
    expect_none(ACCESSES "local.get 0 i32.load 0 0 local.tee 0 br_if 0");
    expect_none(ACCESSES "local.get 2 i32.const 8 i32.add local.set 0 " UP);
    /* whether it goes on depends on memory */
    expect_none(ACCESSES
                "local.get 0 i32.const 8 i32.add local.set 0 local.get 1 i32.load 0 0 br_if 0");
    /* other forms: a call, a construct, something after the branch, a branch back before, none */
    expect_none("call 0 " ACCESSES UP);
    expect_none("block end " ACCESSES UP);
    expect_none(ACCESSES UP "nop");
    expect_none("local.get 1 br_if 0 " ACCESSES UP);
    expect_none(ACCESSES "local.get 0 i32.const 8 i32.add local.set 0");
    expect_none(ACCESSES "local.get 0 i32.const 8 i32.add local.set 0 br 0");
}

/* Whether local 0 counts the iterations if memory 0 has these limits. */
static bool follows(WasmLimits limits, const char *code) {
    WasmLimits before = memories[0].limits;
    memories[0].limits = limits;
    uint32_t local = step_of(code).local;
    memories[0].limits = before;
    return local == 0;
}

static bool follows_pages(uint64_t pages, const char *code) {
    return follows((WasmLimits){.max = pages, .has_max = true, .page_log2 = PAGE}, code);
}

static bool follows_bytes(uint64_t bytes, const char *code) {
    return follows((WasmLimits){.max = bytes, .has_max = true}, code);
}

/* Only a trap ends the loop for certain: it has another exit, and a condition that can be true
 * always. */
#define ENDLESS(by)                                                                                \
    "local.get 1 br_if 1 local.get 0 i32.const " by " i32.add local.tee 0 local.get 1 i32.le_u "   \
    "br_if 0 "
#define BYTES "local.get 0 i32.load8_u 0 0 drop local.get 0 i32.load8_u 0 1 drop "

static void test_memories(void **unused) {
    (void)unused;
    const char *words = ACCESSES ENDLESS("8"), *bytes = BYTES ENDLESS("1");
    WasmLimits unlimited = {.page_log2 = PAGE}, most_bytes = {.page_log2 = 0};
    for (uint64_t pages = 0; pages <= 1; pages++)
        assert_true(follows_pages(pages, words) && follows_pages(pages, bytes));
    assert_true(follows_pages(65535, words));
    /* in 4 GiB, the address is the highest multiple of 8, but f64.load has an offset of 8 */
    assert_true(follows_pages(65536, words) && follows(unlimited, words));
    const char *within = "local.get 0 i32.load 0 0 drop local.get 0 i32.load 0 4 drop ";
    char loop[256];
    snprintf(loop, sizeof loop, "%s%s", within, ENDLESS("8"));
    assert_true(follows_pages(65535, loop));
    assert_false(follows_pages(65536, loop));
    assert_false(follows(unlimited, loop));
    /* steps of a page and more need as much beyond the memory */
    assert_true(follows_pages(65535, BYTES ENDLESS("65536")));
    assert_false(follows_pages(65535, BYTES ENDLESS("131072")));
    assert_true(follows_pages(65534, BYTES ENDLESS("131072")));
    assert_true(follows_pages(32768, BYTES ENDLESS("-2147483648")));
    assert_false(follows_pages(32769, BYTES ENDLESS("-2147483648")));
    /* page size 1: 2^32 - 1 bytes; the second access ends at address + 2 */
    assert_true(follows(most_bytes, bytes));
    assert_true(follows(most_bytes, BYTES ENDLESS("2")));
    assert_false(follows(most_bytes, BYTES ENDLESS("4")));
    assert_true(follows_bytes(UINT32_MAX - 2, BYTES ENDLESS("4")));
    assert_true(follows_bytes(0, bytes));
    /* the runtime may raise the limit */
    assert_int_equal(step_after("", BYTES ENDLESS("1024"), false).local, 0);
    assert_int_equal(step_after("", BYTES ENDLESS("1024"), true).local, UINT32_MAX);
    /* addresses of 64 bits do not follow an i32 */
    WasmLimits wide = {.max = 1, .has_max = true, .page_log2 = PAGE, .is64 = true};
    assert_false(follows(wide, "local.get 0 i64.extend_i32_u local.tee 2 i32.load 0 0 drop"
                               " local.get 2 i32.load 0 1 drop " ENDLESS("1")));
}

/* What the program's memory does not end. */
#define FULL_LOOP(more) "local.get 0 i32.load8_u 0 0 drop local.get 0 i32.load8_u 0 0 drop " more
#define STEP(by)        "local.get 0 i32.const " by " i32.add local.tee 0 "

static void expect_full(bool is_counted, const char *before, const char *code) {
    WasmLimits limits = memories[0].limits;
    memories[0].limits.has_max = false;
    if ((step_after(before, code, false).local == 0) != is_counted)
        fail_msg("%s / %s", before, code);
    memories[0].limits = limits;
}

static void test_conditions(void **unused) {
    (void)unused;
    enum { CASES = 27 };
    static const struct {
        bool counted;
        const char *by, *condition;
    } cases[CASES] = {
        {true, "1", "local.get 1 i32.ne"},
        {true, "-1", "local.get 1 i32.ne"},
        {true, "3", "local.get 1 i32.eq"},
        {false, "0", "local.get 1 i32.ne"},
        {false, "4", "local.get 1 i32.ne"},
        {true, "1", "local.get 1 i32.lt_u"},
        {true, "1", "local.get 1 i32.gt_s"},
        {false, "1", "local.get 1 i32.le_u"},
        {false, "1", "local.get 1 i32.ge_s"},
        {true, "4", "i32.const -4 i32.lt_u"},
        {false, "4", "i32.const -3 i32.lt_u"},
        {true, "4", "i32.const -5 i32.le_u"},
        {false, "4", "i32.const -4 i32.le_u"},
        {true, "-4", "i32.const 3 i32.gt_u"},
        {false, "-4", "i32.const 2 i32.gt_u"},
        {true, "4", "i32.const 4 i32.ge_u"},
        {false, "4", "i32.const 3 i32.ge_u"},
        {true, "4", "i32.const 2147483644 i32.lt_s"},
        {false, "4", "i32.const 2147483645 i32.lt_s"},
        {true, "4", "i32.const 2147483643 i32.le_s"},
        {false, "4", "i32.const 2147483644 i32.le_s"},
        {true, "4", "i32.const -2147483645 i32.gt_s"},
        {false, "4", "i32.const -2147483646 i32.gt_s"},
        {true, "4", "i32.const -2147483644 i32.ge_s"},
        {false, "4", "i32.const -2147483645 i32.ge_s"},
        {true, "-2147483648", "i32.const 1 i32.lt_u"},
        {false, "-2147483648", "i32.const -2147483647 i32.lt_u"},
    };
    for (uint32_t k = 0; k < CASES; k++) {
        char code[256];
        snprintf(code, sizeof code, FULL_LOOP("local.get 1 br_if 1 ") STEP("%s") "%s br_if 0",
                 cases[k].by, cases[k].condition);
        /* 3 is no power of two, and 0 no step */
        bool steps = strcmp(cases[k].by, "3") != 0;
        expect_full(cases[k].counted && steps, "", code);
    }
}

static void test_starts(void **unused) {
    (void)unused;
    const char *loop = FULL_LOOP("local.get 1 br_if 1 ") STEP("8") "i32.const 80 i32.ne br_if 0";
    expect_full(false, "", loop);
    expect_full(true, "i32.const 0 local.set 0", loop);
    expect_full(true, "i32.const 16 local.tee 3 local.set 0 local.get 3 drop", loop);
    expect_full(false, "i32.const 4 local.set 0", loop);
    expect_full(false, "i32.const 0 local.set 0 local.get 1 local.set 0", loop);
    expect_full(false, "i32.const 0 local.set 1", loop);
}

/* Loops that their condition ends, or nothing. */
static void test_spins(void **unused) {
    (void)unused;
    expect_full(true, "", FULL_LOOP("") STEP("8") "local.get 1 i32.ne br_if 0");
    expect_full(true, "", FULL_LOOP("") STEP("8") "local.get 1 i32.le_u br_if 0");
    /* another exit, an access anywhere, a trap; a condition or an access that repeats later */
    expect_full(false, "",
                FULL_LOOP("local.get 1 br_if 1 ") STEP("8") "local.get 1 i32.ne br_if 0");
    expect_full(false, "",
                FULL_LOOP("local.get 1 i32.load 0 0 i32.load 0 0 drop ")
                    STEP("8") "local.get 1 i32.ne br_if 0");
    expect_full(false, "",
                FULL_LOOP("local.get 1 local.get 1 i32.div_u drop ")
                    STEP("8") "local.get 1 i32.ne br_if 0");
    expect_full(false, "",
                FULL_LOOP("local.get 2 i32.const 3 i32.add local.set 2 ")
                    STEP("8") "local.get 2 i32.ne br_if 0");
    expect_full(false, "",
                FULL_LOOP("local.get 2 i32.load 0 0 drop"
                          " local.get 2 i32.const 3 i32.add local.set 2 ")
                    STEP("8") "local.get 1 i32.ne br_if 0");
    expect_full(false, "",
                FULL_LOOP("local.get 2 i32.const 3 i32.mul local.set 2 ")
                    STEP("8") "local.get 2 i32.ne br_if 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_none),
        cmocka_unit_test(test_memories), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_starts),   cmocka_unit_test(test_spins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
