/*
 * tests/unit/test_frame_liveness.c - how soon control comes to a call or to the function's end, and
 * where ways that are long begin.
 */
#include "wasm_fixture.h"

#include "rewrite/frame_liveness.h"
#include "wasm/emit.h"

enum { SOON = -1 };

static bool covers(const void *ctx, const WasmInstr *i) {
    (void)ctx;
    return i->op == WASM_OP_CALL;
}

/* After the first call of a body: SOON if control soon comes to another call or to the end, else
 * how many instructions after it what is long begins. */
static int after_call(const WasmModule *m) {
    Liveness s = {.covers = covers};
    liveness_begin(&s, m, 0);
    uint32_t k = 0;
    while (s.body.at.at[k].op != WASM_OP_CALL)
        k++;
    int found = liveness_ends(&s, k) ? SOON : (int)(liveness_fork(&s, k) - k);
    liveness_free(&s);
    return found;
}

/* In a function with a local and a result that is left out, as nothing is validated. */
static void expect(int expected, const char *code) {
    Buf b = header(), body = {0};
    Fixture f;
    emit(&body, "%s end", code);
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "01 00");
    buf_u8(&b, 10);
    buf_uleb_padded(&b, 8 + body.len, 3);
    buf_u8(&b, 1);
    buf_uleb_padded(&b, 3 + body.len, 4);
    put_hex(&b, "01 01 7f"); /* a local */
    buf_bytes(&b, body.data, body.len);
    load(&f, b);
    int found = after_call(&f.m);
    if (found != expected)
        print_error("%s\n", code);
    assert_int_equal(found, expected);
    unload(&f);
    buf_free(&body);
}

#define TEN   "nop nop nop nop nop nop nop nop nop nop "
#define FORTY TEN TEN TEN TEN

static void test_soon(void **unused) {
    (void)unused;
    expect(SOON, "call 0");
    expect(SOON, "call 0 " TEN "call 0 " FORTY);
    expect(SOON, "call 0 local.get 0 br_if 0 " TEN "return");
    expect(SOON, "call 0 local.get 0 if nop else " TEN "end call 0 " FORTY);
    expect(SOON, "loop nop call 0 local.get 0 br_if 0 end");
    expect(0, "call 0 " FORTY);
    expect(0, "call 0 loop nop br 0 end");
    expect(0, "call 0 loop " TEN "local.get 0 br_if 0 end");
    expect(0, "call 0 ref.null func drop call 0");
}

/* What is to be done after the call can be done where one way is left. */
static void test_forks(void **unused) {
    (void)unused;
    expect(2, "call 0 local.get 0 br_if 0 " FORTY);
    expect(2, "call 0 local.get 0 if " FORTY "else end");
    expect(4, "call 0 local.get 0 if nop else " FORTY "end");
    expect(2, "loop call 0 local.get 0 br_if 0 " FORTY "end");
    /* the long way is that of the branch */
    expect(5, "call 0 block local.get 0 br_if 0 return end " FORTY);
    expect(6, "call 0 block local.get 0 br_if 0 call 0 return end " FORTY);
    /* one fork after another */
    expect(4, "call 0 local.get 0 br_if 0 local.get 0 br_if 0 " FORTY);
    /* both ways are long; the fork is far away */
    expect(0, "call 0 local.get 0 if " FORTY "else " FORTY "end");
    expect(0, "call 0 " TEN TEN "local.get 0 br_if 0 " FORTY);
    /* others come that way back */
    expect(0, "loop " FORTY "call 0 block local.get 0 br_if 1 " FORTY "end end");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soon), cmocka_unit_test(test_forks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
