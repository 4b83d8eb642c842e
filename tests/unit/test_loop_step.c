/*
 * tests/unit/test_loop_step.c - which loops have a local that tells how often they are executed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/loop_step.h"
#include "wasm/emit.h"

/* The step of "loop CODE end"; local UINT32_MAX = none was found. */
static LoopStep step_of(const char *code) {
    Buf b = {0};
    LoopStep step = {.local = UINT32_MAX};
    emit(&b, "%s end end", code);
    if (!loop_step_find(wasm_code(b.data, b.len, 0), &step))
        step.local = UINT32_MAX;
    buf_free(&b);
    return step;
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
    /* too few accesses; none along it; one whose address jumps too far */
    expect_none(UP);
    expect_none("local.get 0 i32.load 0 0 drop " UP);
    expect_none("local.get 1 i32.load 0 0 drop local.get 1 i32.load 0 4 drop " UP);
    expect_none("local.get 0 i32.const 14 i32.shl local.tee 2 i32.load 0 0 drop"
                " local.get 2 i32.load 0 4 drop " UP);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
